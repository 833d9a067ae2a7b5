// Memory that one thread works in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "types/index.hpp"

namespace arborand {

// Kept from graph to graph.  It starts at a multiple of a cache line.
class Scratch {
  public:
    static constexpr std::size_t alignment = 64;

    Scratch() = default;
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ARBORAND_INLINE ~Scratch() { std::free(allocated_); }

    ARBORAND_INLINE char* memory() const { return memory_; }

    // Make sure that there are at least `bytes` bytes.  If there were fewer, what was there before
    // is lost.  False: out of memory, and nothing is left.
    ARBORAND_INLINE bool reserve(std::size_t bytes) {
        if (bytes <= capacity_) return true;
        std::free(allocated_);
        // Not every system has aligned_alloc.
        allocated_ = std::malloc(bytes + alignment);
        capacity_ = allocated_ == nullptr ? 0 : bytes;
        const std::size_t past = reinterpret_cast<std::uintptr_t>(allocated_) % alignment;
        memory_ = static_cast<char*>(allocated_);
        if (memory_ != nullptr) memory_ += alignment - past;
        return allocated_ != nullptr;
    }

  private:
    void* allocated_ = nullptr;
    char* memory_ = nullptr;
    std::size_t capacity_ = 0;
};

// Where a sampler lives that was prepared for one graph.
struct Prepared {
    Scratch tables;  // starts with the sampler
    Scratch steps;   // only used where cycles are popped
    Scratch chart;   // only used for projective trees
    bool is_projective = false;
};

}  // namespace arborand
