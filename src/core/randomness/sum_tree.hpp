// Masses that are added up, changed and drawn from: a binary tree of sums that only ever adds.
#pragma once

#include "memory/growing_array.hpp"
#include "numbers/unbounded_double.hpp"
#include "randomness/exact_choice.hpp"
#include "randomness/philox.hpp"

namespace arborand {
namespace ARBORAND_ISA {

template <class Mass>
class SumTree {
  public:
    Mass total() const { return sums_.size() > 1 ? sums_[1] : Mass(); }

    // Make room for `count` masses; new ones are 0.
    bool reserve(Index count) {
        if (count <= capacity_) return true;
        const Index old = capacity_;
        Index capacity = old > 0 ? old : 64;
        while (capacity < count) capacity *= 2;
        if (!sums_.resize(2 * capacity)) return false;
        capacity_ = capacity;
        // The leaves move to the new second half, which begins where the old array ended or later.
        for (Index i = 0; i < capacity; ++i) {
            sums_[capacity + i] = i < old ? sums_[old + i] : Mass();
        }
        for (Index i = capacity - 1; i >= 1; --i) sums_[i] = sums_[2 * i] + sums_[2 * i + 1];
        return true;
    }

    void set(Index i, const Mass& mass) {
        i += capacity_;
        sums_[i] = mass;
        // Sums are computed again, never corrected: nothing is ever subtracted.
        for (i /= 2; i >= 1; i /= 2) sums_[i] = sums_[2 * i] + sums_[2 * i + 1];
    }

    // An index drawn in proportion to the masses, by one exact choice between two halves after the
    // other: a mass of 1e-30 beside one of 1 is neither lost nor inflated.
    Index draw(Stream& stream) const {
        Index i = 1;
        while (i < capacity_) {
            const Mass total = sums_[i];
            const double halves[2] = {to_double(sums_[2 * i] / total),
                                      to_double(sums_[2 * i + 1] / total)};
            const bool certain = !is_positive(sums_[2 * i]) || !is_positive(sums_[2 * i + 1]);
            const Index right =
                certain ? is_positive(sums_[2 * i + 1]) : draw_index(halves, 2, stream);
            i = 2 * i + right;
        }
        return i - capacity_;
    }

  private:
    GrowingArray<Mass> sums_;  // node i has the children 2 i and 2 i + 1; leaves in the second half
    Index capacity_ = 0;
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
