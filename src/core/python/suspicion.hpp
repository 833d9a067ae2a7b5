// Valid scores that are probably not what the caller thinks they are.
//
// Checks only the arcs, in a graph that is clean (inspection.hpp); validation.py looks at the array
// as it was given before it warns.  Scores of models need no such check: they have neither an exact
// 0 nor a very low score, which a kernel finds out quickly.
#pragma once

#include <cmath>

#include "python/inspection.hpp"
#include "types/graph.hpp"

namespace arborand {

// Counted on from Finding; the order is that of validation.py.
enum class Suspicion {
    none = 0,
    padding = static_cast<int>(Finding::negative) + 1,
    adjacency,
    transposed
};

inline bool is_suspicion(int code) { return code >= static_cast<int>(Suspicion::padding); }

// No model scores an arc this low, but people who forbid one by a large number do.
constexpr double mask_score = -1000.0;

namespace suspicion_detail {

// Some word has one and the same mask on the arcs from all heads, and another has not.
inline bool has_padding(const Graph& graph) {
    const Index n = graph.num_words;
    bool some_masked = false, some_not = false;
    for (Index j = 1; j <= n; ++j) {
        const double first = graph.score(j == 1 ? 2 : 1, j);
        bool masked = first <= mask_score && first > -HUGE_VAL;
        for (Index i = 0; i <= n && masked; ++i) masked = i == j || graph.score(i, j) == first;
        (masked ? some_masked : some_not) = true;
    }
    return some_masked && some_not;
}

// All arcs of the root have score 0, or one and the same mask; those of the words have not.
inline bool has_flat_root(const Graph& graph) {
    const Index n = graph.num_words;
    if (n < 3) return false;  // two scores may be alike by chance
    const double first = graph.score(0, 1);
    if (first != 0 && !(first <= mask_score)) return false;
    for (Index j = 2; j <= n; ++j) {
        if (graph.score(0, j) != first) return false;
    }
    for (Index i = 1; i <= n; ++i) {
        for (Index j = 1; j <= n; ++j) {
            if (i != j && graph.score(i, j) != first) return true;
        }
    }
    return false;
}

// At least a third of the scores are 0 and none is negative; and they are symmetric, or integers
// with a node that is nobody's head.
inline bool is_adjacency(const Graph& graph) {
    const Index n = graph.num_words;
    if (n < 3) return false;  // a few numbers written by hand
    Index zeros = 0;
    bool symmetric = true, integers = true, empty_row = false;
    for (Index i = 0; i <= n; ++i) {
        bool empty = true;
        for (Index j = 1; j <= n; ++j) {
            if (i == j) continue;
            const double score = graph.score(i, j);
            if (!(score >= 0)) return false;
            zeros += score == 0;
            empty &= score == 0;
            integers &= score == std::floor(score);
            symmetric &= i == 0 || score == graph.score(j, i);
        }
        empty_row |= empty;
    }
    return 3 * zeros >= n * n && zeros < n * n && (symmetric || (integers && empty_row));
}

}  // namespace suspicion_detail

// What is odd about a clean graph; nothing if it has one word.
inline Suspicion suspect(const Graph& graph) {
    if (graph.num_words < 2) return Suspicion::none;
    if (suspicion_detail::has_padding(graph)) return Suspicion::padding;
    if (suspicion_detail::is_adjacency(graph)) return Suspicion::adjacency;
    return suspicion_detail::has_flat_root(graph) ? Suspicion::transposed : Suspicion::none;
}

}  // namespace arborand
