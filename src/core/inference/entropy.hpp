// The entropy of the distribution over trees.
#pragma once

#include <cmath>

#include "inference/carried_entropy.hpp"
#include "inference/greedy_tree.hpp"
#include "inference/marginals.hpp"
#include "numbers/logarithm.hpp"
#include "numbers/sums.hpp"
#include "walk/problem.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// With t the greedy tree, H = -log p(t) + sum over arcs of P(i -> j) * (score of t's arc - score).
// Subtracting nothing from 1, it keeps its digits when t has nearly all the mass: then both terms
// are sums of small numbers, each known to full relative accuracy.  Shifted scores do as well: all
// heads of a node share one shift, and all trees have one root arc if those have one of their own.
struct EntropyFromScores {
    double entropy;
    double magnitude;  // the sum of the absolute values of its terms: its error is 2^-50 of that

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return Arena::rounded<double>(n * (n + 1)) + Arena::rounded<Scalar>(n + 1) +
               GreedyTree::workspace<Scalar>(n) +
               Recursion<Scalar, MarginalLeaf<Scalar>>::workspace(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        const Graph& graph = problem.graph;
        const Index n = graph.num_words;
        double* marginals = problem.arena.template take<double>(n * (n + 1));
        const std::size_t mark = problem.arena.mark();
        if (!marginals_by_dependent(problem, marginals, n + 1)) return false;
        problem.arena.release(mark);
        GreedyTree tree;
        if (!tree.find(problem)) return false;
        CompensatedSum total;
        total.add(tree.surprise);
        magnitude = tree.surprise;
        for (Index j = 0; j < n; ++j) {
            const double kept = log_entry(graph, problem.shift, tree.heads[j] + 1, j + 1);
            for (Index i = 0; i <= n; ++i) {
                const double chance = marginals[j * (n + 1) + i];
                if (!(chance > 0)) continue;
                const double term = chance * (kept - log_entry(graph, problem.shift, i, j + 1));
                total.add(term);
                magnitude += std::fabs(term);
            }
        }
        entropy = total.value() > 0 ? total.value() : 0.0;
        return true;
    }

    // Where the terms are large beside their sum (masks that every tree needs, or scores too far
    // apart for double), scores are no way to the entropy.  What is carried through the elimination
    // instead has an absolute error of a few units in the last place of n log(n + 1).
    bool is_accurate(Index n) const {
        const double unit = static_cast<double>(n) * log_of(static_cast<double>(n) + 1.0);
        return magnitude <= 64.0 * entropy || magnitude <= 2.0 * unit;
    }
};

inline Status find_entropy(const Graph& graph, double& entropy, Arena& arena,
                           const Interrupt& interrupt) {
    EntropyFromScores from_scores{0.0, 0.0};
    if (!needs_exact_scale(graph)) {
        const Status status = solve(graph, from_scores, arena, interrupt);
        entropy = from_scores.entropy;
        if (status != Status::ok || from_scores.is_accurate(graph.num_words)) return status;
    }
    CarriedEntropy carried{1.0, 0.0};
    const Status status = solve_beyond_double(graph, carried, arena, interrupt);
    entropy = carried.entropy;
    return status;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
