// Scratch memory for one thread: allocated once, handed out and taken back in stack order.
#pragma once

#include <cstddef>

#include "types/scratch.hpp"

namespace arborand {
namespace ARBORAND_ISA {

class Arena {
  public:
    explicit Arena(Scratch& scratch) : scratch_(scratch) {}

    // Make room for `bytes` in all.  What was handed out before is lost.  False: out of memory.
    bool reserve(std::size_t bytes) {
        used_ = 0;
        return scratch_.reserve(bytes);
    }

    template <class T>
    T* take(std::size_t count) {
        T* result = reinterpret_cast<T*>(scratch_.memory() + used_);
        used_ += rounded<T>(count);
        return result;
    }

    template <class T>
    static std::size_t rounded(std::size_t count) {
        return (count * sizeof(T) + Scratch::alignment - 1) / Scratch::alignment *
               Scratch::alignment;
    }

    std::size_t mark() const { return used_; }
    void release(std::size_t mark) { used_ = mark; }

  private:
    Scratch& scratch_;
    std::size_t used_ = 0;
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
