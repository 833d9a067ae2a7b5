// What Python and XLA both ask for: log Z, the entropy, and their derivatives.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "numbers/floating_point_guard.hpp"
#include "python/batch.hpp"

namespace arborand {

// Where answers go that the caller wants in float32 or float64, or not at all.
class Answers {
  public:
    Answers() = default;
    Answers(void* data, bool is_float32) : data_(data), is_float32_(is_float32) {}

    bool are_wanted() const { return data_ != nullptr; }
    bool is_float32() const { return is_float32_; }
    double* in_float64(Index place) const { return static_cast<double*>(data_) + place; }

    void write(Index place, const double* numbers, Index count) const {
        if (is_float32_) {
            const ARBORAND_ISA::FloatingPointGuard guard;  // it may round elsewhere
            std::copy_n(numbers, count, static_cast<float*>(data_) + place);
        } else if (in_float64(place) != numbers) {
            std::copy_n(numbers, count, in_float64(place));
        }
    }
    void fill_with_zeros(Index place, Index count) const {
        if (is_float32_) {
            std::fill_n(static_cast<float*>(data_) + place, count, 0.0F);
        } else {
            std::fill_n(in_float64(place), count, 0.0);
        }
    }

  private:
    void* data_ = nullptr;
    bool is_float32_ = false;
};

// A number per graph, log Z or the entropy, and its gradient.
void log_partition(const Batch&, int workers, const Answers& values, const Answers& marginals,
                   bool one_by_one = false);
void entropy(const Batch&, int workers, const Answers& values, const Answers& gradients);

// Derivatives in directions of the scores, which are laid out as the answers are.  Directions are
// read where there is an arc; a number there that is not finite is refused.
using Directions = std::initializer_list<Matrices>;
void arc_covariances(const Batch&, int workers, Directions, const Answers&);
void arc_cumulants(const Batch&, int workers, Directions, const Answers&);
void entropy_gradient_tangents(const Batch&, int workers, Directions, const Answers&);

}  // namespace arborand
