// How work on one graph ends, and how it learns that its caller has given up (Ctrl-C).
#pragma once

#include <atomic>

#include "types/index.hpp"

namespace arborand {

enum class Status {
    ok,
    left_range,   // of double; never leaves the core
    interrupted,  // the caller has given up
    no_tree,      // cannot happen to a graph that passed the inspection
    no_memory,
};

// `stop` is shared by the threads of one call.  `poll` looks for signals; only the calling thread
// has one.
struct Interrupt {
    std::atomic<bool>* stop = nullptr;
    bool (*poll)(void*) = nullptr;
    void* context = nullptr;

    ARBORAND_INLINE bool requested() const {
        if (stop == nullptr) return false;
        if (stop->load(std::memory_order_relaxed)) return true;
        if (poll == nullptr || !poll(context)) return false;
        stop->store(true, std::memory_order_relaxed);
        return true;
    }

    // For the inside of O(n^3) work: asks only where a piece of this many nodes takes long enough
    // (a millisecond or so) for the question to cost nothing.
    ARBORAND_INLINE bool requested(Index size) const { return asks_within(size) && requested(); }
    ARBORAND_INLINE static constexpr bool asks_within(Index size) { return size >= 128; }
};

}  // namespace arborand
