// What may be wrong with a graph: an entry of its matrix, or that it has no tree.  validation.py
// turns what is found here into an error message.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "memory/arena.hpp"
#include "projective/chart.hpp"
#include "types/graph.hpp"
#include "types/scratch.hpp"
#include "types/status.hpp"

namespace arborand {

enum class Finding {
    none,
    not_a_number,
    plus_infinity,
    unreachable,
    no_single_root,
    crossing,  // there are trees, but each has arcs that cross
    negative
};

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

// A dependency tree hangs on one word that has an arc from the root and reaches all others.  Search
// from every word not yet seen: if any word reaches all, the last one searched from does.  Then so
// does the first word on the root's path to it, which has an arc from the root.
inline bool has_mother(const Graph& graph) {
    Search forward(graph);
    Index mother = 0;
    for (Index j = 1; j <= graph.num_words; ++j) {
        if (forward.seen(j)) continue;
        forward.reach(j);
        mother = j;
    }
    Search check(graph);
    check.reach(mother);
    return check.all_words();
}

// Whether something is possible, as a number: the sum is "or", the product "and".
struct Possible {
    unsigned char is_it;

    explicit Possible(double x) : is_it(x > 0) {}
};
inline bool is_positive(Possible x) { return x.is_it != 0; }
inline bool is_zero(Possible x) { return x.is_it == 0; }
inline Possible& operator+=(Possible& x, Possible y) {
    x.is_it |= y.is_it;
    return x;
}
inline Possible operator*(Possible x, Possible y) { return x.is_it != 0 ? y : x; }

// O(n^3), a byte per operation.
inline bool has_projective_tree(const Graph& graph) {
    using namespace ARBORAND_ISA;
    const Index n = graph.num_words;
    Scratch memory;
    Arena arena(memory);
    if (!arena.reserve(Arena::rounded<Possible>(n * (n + 1)) + Chart<Possible>::workspace(n))) {
        throw std::bad_alloc();
    }
    Possible* weights = arena.take<Possible>(n * (n + 1));
    for (Index j = 1; j <= n; ++j) {
        for (Index i = 0; i <= n; ++i) {
            const bool is_arc = graph.score(i, j) > -HUGE_VAL;
            weights[(j - 1) * (n + 1) + (i == 0 ? n : i - 1)] = Possible(is_arc ? 1.0 : 0.0);
        }
    }
    Chart<Possible> chart({weights, n + 1, n}, n, graph.has_single_root(), arena);
    chart.inward(Interrupt());
    return is_positive(chart.partition());
}

// Does the graph have a tree of its kind?  O(n^2), and O(n) where the root has an arc to every word
// (and, for dependency trees, the first word has an arc to every other); else O(n^3) for projective
// trees.
inline Finding find_trees(const Graph& graph) {
    const auto are_there = [&graph](Index head, Index first) {
        bool all = true;
        for (Index j = first; j <= graph.num_words; ++j) all &= graph.score(head, j) > -HUGE_VAL;
        return all;
    };
    const bool complete = are_there(0, 1);
    if (complete && (!graph.has_single_root() || are_there(1, 2))) return Finding::none;
    if (!complete) {
        Search from_root(graph);
        from_root.reach(0);
        if (!from_root.all_words()) return Finding::unreachable;
    }
    if (!graph.has_single_root() || has_mother(graph)) {
        return !graph.is_projective() || has_projective_tree(graph) ? Finding::none
                                                                    : Finding::crossing;
    }
    return Finding::no_single_root;
}

}  // namespace arborand
