// Scratch memory for one thread: allocated once, handed out and taken back in stack order.
#pragma once

#include <cstddef>
#include <cstdlib>

#include "types/scratch.hpp"

namespace arborand {
namespace ARBORAND_ISA {

class Arena {
  public:
    explicit Arena(Scratch& scratch) : scratch_(scratch) {}

    // Make room for `bytes` in all; what was handed out before is void.  False: no memory.
    bool reserve(std::size_t bytes) {
        used_ = 0;
        if (bytes <= scratch_.capacity) return true;
        std::free(scratch_.memory);
        scratch_.capacity = rounded<char>(bytes);
        scratch_.memory = static_cast<char*>(std::aligned_alloc(alignment, scratch_.capacity));
        if (scratch_.memory == nullptr) scratch_.capacity = 0;
        return scratch_.memory != nullptr;
    }

    template <class T>
    T* take(std::size_t count) {
        T* result = reinterpret_cast<T*>(scratch_.memory + used_);
        used_ += rounded<T>(count);
        return result;
    }

    template <class T>
    static std::size_t rounded(std::size_t count) {
        return (count * sizeof(T) + alignment - 1) / alignment * alignment;
    }

    std::size_t mark() const { return used_; }
    void release(std::size_t mark) { used_ = mark; }

  private:
    static constexpr std::size_t alignment = 64;
    Scratch& scratch_;
    std::size_t used_ = 0;
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
