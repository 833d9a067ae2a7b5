// How long work learns that its caller has given up (Ctrl-C), without knowing who calls.
#pragma once

#include <atomic>

#include "types/index.hpp"

namespace arborand {

// `stop` is shared by the threads of one call; `poll` may look for signals (only the calling
// thread's does).
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
