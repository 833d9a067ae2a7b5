// Arguments of samplers and searches, and what they return besides heads, in plain types.
#pragma once

#include <cstdint>

#include "types/index.hpp"

namespace arborand {

// The key of the random numbers of one call; see randomness/philox.hpp.
struct StreamKey {
    std::uint64_t words[2];
};

// Which draws of which graph to make.
struct DrawRange {
    std::uint64_t graph;
    std::uint64_t first;
    Index count;
};

enum class Method { wilson, wilson_reject, colbourn, wilson_rc };

// Whether all nodes step at once and cycles are popped, so that nothing walks
// (sampling/popping.hpp).
enum class Pops { where_it_pays, never, always };

// How a sampler works.  The tests change it; every choice leaves the law as it is.
struct DrawRule {
    std::int64_t budget = -1;  // of a walk, or of popping; negative: the default
    Pops pops = Pops::where_it_pays;
    bool trusts_double = true;  // else wider numbers are used wherever there is a choice
};

// What the draws took, for tests that count work.
struct SampleCounts {
    std::int64_t steps = 0;          // of all walks
    std::int64_t walks = 0;          // more than one per tree where trees are rejected
    std::int64_t ancestral = 0;      // trees drawn by the ancestral sampler
    std::int64_t beyond_double = 0;  // those that took a wider number type
};

// When draws without replacement stop rejecting repeats: once no more than `below` of the mass is
// left, after `after` trees (negative: no such limit), or after `most_repeats` repeats in a row
// (negative: a number that follows from `below`).
struct SwitchRule {
    double below;
    Index after;
    std::int64_t most_repeats;
};

// One draw without replacement.
struct DistinctTree {
    const std::int32_t* heads;  // valid until the next draw
    double log_prob;
    double log_remaining;  // of the mass not drawn before this draw
    double perturbed_log_prob;
    bool exhausted;        // there was no tree left
    std::int64_t repeats;  // draws rejected before this one
};

// log Z, and what the log-probability of a tree needs besides:
// log Z = (the sum of column_shift) + root_shift + reduced + reduced_error; walk/shift.hpp says
// what the shifts are.
struct PartitionOutput {
    double log_partition;
    double reduced;
    double reduced_error;  // what rounding took from `reduced` and from `root_shift`
    double root_shift;
    double* column_shift;  // num_words + 1 entries
};

// How searches for a best (or second best) tree ended, for tests that count work.
struct BestCounts {
    std::int64_t greedy = 0;     // the best heads of all words were a tree
    std::int64_t certified = 0;  // cycles were contracted, in double
    std::int64_t exact = 0;      // some choice was too close for double
};

}  // namespace arborand
