// What the core offers to module.cpp: functions on one graph, in plain types.
//
// kernels.cpp is compiled once for every instruction set (CMakeLists.txt), each time with another
// ARBORAND_ISA namespace, and the best one the machine can run is chosen when the module is loaded.
// All of them give the same bits: vectors run over independent entries, and nothing is fused.
// Whatever kernels.cpp includes lives in that namespace or is always inlined: a function shared by
// two instruction sets would be merged by the linker, and might then hold instructions that an
// older machine does not have.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#define ARBORAND_INLINE inline __attribute__((always_inline))

namespace arborand {

using Index = std::ptrdiff_t;

enum class Status {
    ok,
    left_range,   // of double; never leaves the core
    interrupted,  // the caller gave up
    no_tree,      // cannot happen to a graph that the gate let through
    no_memory,
};

// One graph as the gate let it through: log_weights[head * stride + dependent], node 0 the root;
// column 0 and the diagonal are -inf.
struct Graph {
    const double* log_weights;
    Index stride;
    Index num_words;
    bool single_root;

    ARBORAND_INLINE double score(Index head, Index dependent) const {
        return log_weights[head * stride + dependent];
    }
};

// Memory of one thread, kept from graph to graph; freed by the caller.
struct Scratch {
    char* memory = nullptr;
    std::size_t capacity = 0;
};

// How long work learns that its caller has given up (Ctrl-C), without knowing who calls.  `stop` is
// shared by the threads of one call; `poll` may look for signals (only the calling thread's does).
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
    ARBORAND_INLINE bool requested(Index size) const { return size >= 128 && requested(); }
};

// log Z = log_shift + reduced + reduced_error; see graph.hpp for the shifts (num_words + 1
// entries).
struct PartitionOutput {
    double log_partition;
    double reduced;
    double reduced_error;  // what rounding took from `reduced` and from `root_shift`
    double root_shift;
    double* column_shift;
};

// The key of a call's random numbers, and which draws of which graph to make; see philox.hpp.
struct StreamKey {
    std::uint64_t words[2];
};

struct DrawRange {
    std::uint64_t graph;
    std::uint64_t first;
    Index count;
};

enum class Method { wilson, wilson_reject, colbourn, wilson_rc };

// How the draws went; the tests count on it.
struct SampleCounts {
    std::int64_t steps = 0;      // of all walks
    std::int64_t walks = 0;      // more than one a tree where trees are rejected
    std::int64_t ancestral = 0;  // trees drawn by the ancestral sampler
};

// When draws without replacement stop rejecting repeats: once no more than `below` of the mass is
// left, or after so many trees (negative: no such limit).
struct SwitchRule {
    double below;
    Index after;
};

// One draw without replacement.
struct DistinctTree {
    const std::int32_t* heads;  // valid until the next draw
    double log_prob;
    double log_remaining;  // of the mass not drawn before this draw
    double perturbed_log_prob;
    bool exhausted;  // there was no tree left
};

struct Kernels {
    const char* name;
    Status (*log_partition)(const Graph&, Scratch&, const Interrupt&, PartitionOutput&);
    // The log-probability of a tree in the support; -inf for one that uses a forbidden arc.
    double (*log_prob)(const Graph&, const PartitionOutput&, const std::int32_t* heads);
    // marginals[head * stride + dependent]
    Status (*arc_marginals)(const Graph&, Scratch&, const Interrupt&, double* marginals,
                            Index stride);
    // marginals[dependent]; expected_steps is written for spanning trees only
    Status (*root_marginals)(const Graph&, Scratch&, const Interrupt&, double* marginals,
                             double* expected_steps);
    Status (*entropy)(const Graph&, Scratch&, const Interrupt&, double* entropy);
    Status (*mean_hitting_time)(const Graph&, Scratch&, const Interrupt&, double* mean);
    // Prepare in `memory`, which starts with the sampler; a negative budget means the default.
    Status (*prepare)(const Graph&, Method, std::int64_t budget, Scratch& memory, Scratch& work,
                      const Interrupt&);
    // heads[draw * stride + node]
    Status (*draw)(const Scratch& memory, const StreamKey&, const DrawRange&, std::int32_t* heads,
                   Index stride, Scratch& work, const Interrupt&, SampleCounts&);
    // A sequence of distinct trees; null: no memory.
    void* (*make_distinct)(const Graph&, const StreamKey&, std::uint64_t graph, const SwitchRule&);
    Status (*next_distinct)(void* sequence, const Interrupt&, DistinctTree&);
    void (*free_distinct)(void* sequence);
};

namespace baseline {
const Kernels& kernels();
}
namespace avx2 {
const Kernels& kernels();
}

}  // namespace arborand
