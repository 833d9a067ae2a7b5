// A queue of candidates, the best first: a heap of their places.
#pragma once

#include <cstdint>

#include "memory/growing_array.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// comes_before(a, b) is a total order of the candidates.
class Queue {
  public:
    bool is_empty() const { return heap_.size() == 0; }

    // False: no memory.
    template <class ComesBefore>
    bool push(std::int32_t added, const ComesBefore& comes_before) {
        Index place = heap_.size();
        if (!heap_.resize(place + 1)) return false;
        for (; place > 0 && comes_before(added, heap_[(place - 1) / 2]); place = (place - 1) / 2) {
            heap_[place] = heap_[(place - 1) / 2];
        }
        heap_[place] = added;
        return true;
    }

    template <class ComesBefore>
    std::int32_t pop(const ComesBefore& comes_before) {
        const std::int32_t first = heap_[0];
        const Index size = heap_.size() - 1;
        const std::int32_t moved = heap_[size];
        heap_.resize(size);
        for (Index place = 0; size > 0;) {
            Index child = 2 * place + 1;
            if (child + 1 < size && comes_before(heap_[child + 1], heap_[child])) ++child;
            if (child >= size || comes_before(moved, heap_[child])) {
                heap_[place] = moved;
                break;
            }
            heap_[place] = heap_[child];
            place = child;
        }
        return first;
    }

  private:
    GrowingArray<std::int32_t> heap_;
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
