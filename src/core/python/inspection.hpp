// What may be wrong with a graph: an entry of its matrix, or that it has no tree.  validation.py
// turns what is found here into an error that names it.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "types/graph.hpp"

namespace arborand {

enum class Finding { none, not_a_number, plus_infinity, unreachable, no_single_root, negative };

struct Inspection {
    Finding finding = Finding::none;
    Index head = 0, dependent = 0;
};

// Write `nothing` where nothing is read: column 0, the diagonal, padding.
inline void clear_unread(double* matrix, Index size, Index num_words, double nothing) {
    for (Index i = 0; i < size; ++i) {
        double* row = matrix + i * size;
        row[0] = nothing;
        row[i] = nothing;
        for (Index j = i > num_words ? 0 : num_words + 1; j < size; ++j) row[j] = nothing;
    }
}

// The first entry of a clean matrix that is NaN or +inf.
inline Inspection find_bad_score(const double* log_weights, Index size) {
    for (Index k = 0; k < size * size; ++k) {
        if (log_weights[k] < HUGE_VAL) continue;
        const bool is_nan = std::isnan(log_weights[k]);
        return {is_nan ? Finding::not_a_number : Finding::plus_infinity, k / size, k % size};
    }
    return {};
}

// The same for weights, which must not be negative either.  Their bits are compared as integers,
// because a processor told to take small numbers for 0 would overlook the smallest negative ones.
inline Inspection find_bad_weight(const double* weights, Index size) {
    constexpr std::uint64_t infinity = 0x7FF0000000000000u, minus_zero = 0x8000000000000000u;
    for (Index k = 0; k < size * size; ++k) {
        std::uint64_t bits;
        std::memcpy(&bits, weights + k, sizeof bits);
        if (bits < infinity || bits == minus_zero) continue;
        const Finding finding = std::isnan(weights[k])   ? Finding::not_a_number
                                : weights[k] == HUGE_VAL ? Finding::plus_infinity
                                                         : Finding::negative;
        return {finding, k / size, k % size};
    }
    return {};
}

// Search of a graph's nodes along its arcs.
class Search {
  public:
    explicit Search(const Graph& graph)
        : graph_(graph), seen_(static_cast<std::size_t>(graph.num_words + 1), 0) {}

    bool seen(Index node) const { return seen_[static_cast<std::size_t>(node)] != 0; }

    // Mark what can be reached from `start` (which is a word, or the root) through words.
    void reach(Index start) {
        push(start);
        while (!queue_.empty()) {
            const Index node = queue_.back();
            queue_.pop_back();
            for (Index other = 1; other <= graph_.num_words; ++other) {
                if (seen(other)) continue;
                if (graph_.score(node, other) > -HUGE_VAL) push(other);
            }
        }
    }

    bool all_words() const {
        for (Index j = 1; j <= graph_.num_words; ++j) {
            if (!seen(j)) return false;
        }
        return true;
    }

  private:
    void push(Index node) {
        seen_[static_cast<std::size_t>(node)] = 1;
        queue_.push_back(node);
    }

    const Graph& graph_;
    std::vector<char> seen_;
    std::vector<Index> queue_;
};

// Does the graph have a tree of its kind?  O(n^2), and O(n) where the root has an arc to every word
// (and, for dependency trees, a word has an arc to every other).
inline Finding find_trees(const Graph& graph) {
    const Index n = graph.num_words;
    bool complete = true;
    for (Index j = 1; j <= n; ++j) complete &= graph.score(0, j) > -HUGE_VAL;
    if (!complete) {
        Search from_root(graph);
        from_root.reach(0);
        if (!from_root.all_words()) return Finding::unreachable;
    }
    if (!graph.has_single_root()) return Finding::none;
    if (complete) {
        bool first_reaches_all = true;
        for (Index j = 2; j <= n; ++j) first_reaches_all &= graph.score(1, j) > -HUGE_VAL;
        if (first_reaches_all) return Finding::none;
    }

    // A dependency tree hangs on one word that has an arc from the root and reaches all others.
    // Search from every word not yet seen: if any word reaches all, the last one searched from
    // does. Then so does the first word on the root's path to it, which has an arc from the root.
    Search forward(graph);
    Index mother = 0;
    for (Index j = 1; j <= n; ++j) {
        if (forward.seen(j)) continue;
        forward.reach(j);
        mother = j;
    }
    Search check(graph);
    check.reach(mother);
    return check.all_words() ? Finding::none : Finding::no_single_root;
}

}  // namespace arborand
