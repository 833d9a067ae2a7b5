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

// Without any tree: with Z' the summed weights of the shifted graph, which the marginals came with,
// H is log Z' minus the mean of a tree's shifted score.  The quickest way, and good unless one tree
// has much of the mass: log Z' is right to 2^-50 n.  False: not good enough, or not in double.
// marginals[dependent * (n + 1) + head]; `magnitude` is as below.
inline bool entropy_from_partition(const Problem<double>& problem, const double* marginals,
                                   double& entropy, double& magnitude) {
    const Index n = problem.graph.num_words;
    CompensatedSum total;
    const Logarithm log_partition = log_parts(problem.partition);
    total.add(log_partition.high);
    total.add(log_partition.low);
    magnitude = std::fabs(log_partition.high) + static_cast<double>(n);
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i <= n; ++i) {
            const double chance = marginals[j * (n + 1) + i];
            if (!(chance > 0)) continue;
            const double term = -chance * log_entry(problem.graph, problem.shift, i, j + 1);
            total.add(term);
            magnitude += std::fabs(term);
        }
    }
    entropy = total.value();
    return magnitude <= 64.0 * entropy;
}

template <class Scalar>
bool entropy_from_partition(const Problem<Scalar>&, const double*, double&, double&) {
    return false;
}

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
        if (entropy_from_partition(problem, marginals, entropy, magnitude)) return true;
        GreedyTree tree;
        if (!tree.find(problem)) return false;
        CompensatedSum total;
        total.add(tree.surprisal);
        magnitude = tree.surprisal;
        for (Index j = 0; j < n; ++j) {
            for (Index i = 0; i <= n; ++i) {
                const double chance = marginals[j * (n + 1) + i];
                if (!(chance > 0)) continue;
                const double term = chance * gap(problem, tree.heads[j] + 1, i, j + 1);
                total.add(term);
                magnitude += std::fabs(term);
            }
        }
        entropy = total.value() > 0 ? total.value() : 0.0;
        return true;
    }

    // Where the terms are large beside their sum (masks that every tree needs, or scores too far
    // apart for double), scores do not lead to the entropy.  What is carried through the
    // elimination instead has an absolute error of a few units in the last place of n log(n + 1).
    bool is_accurate(Index n) const {
        const double unit = static_cast<double>(n) * log_of(static_cast<double>(n) + 1.0);
        return magnitude <= 64.0 * entropy || magnitude <= 2.0 * unit;
    }

  private:
    // How far the entry of one arc into a node is above that of another.
    static double gap(const Problem<double>& problem, Index head, Index other, Index dependent) {
        return log_entry(problem.graph, problem.shift, head, dependent) -
               log_entry(problem.graph, problem.shift, other, dependent);
    }

    // Beyond double both may be so far below the best of their column that they are alike when
    // rounded: subtract the scores themselves.  What overflows is NaN, and not accurate.
    template <class Scalar>
    static double gap(const Problem<Scalar>& problem, Index head, Index other, Index dependent) {
        const Graph& graph = problem.graph;
        const Difference d =
            exact_difference(graph.score(head, dependent), graph.score(other, dependent));
        if ((head == 0) == (other == 0)) return d.high + d.low;
        const double sign = head == 0 ? -1.0 : 1.0;
        return (d.high + sign * problem.shift.root) + (d.low + sign * problem.shift.root_rest);
    }
};

inline Status find_entropy(const Graph& graph, double& entropy, Arena& arena,
                           const Interrupt& interrupt) {
    EntropyFromScores from_scores{0.0, 0.0};
    Status status = solve(graph, from_scores, arena, interrupt);
    entropy = from_scores.entropy;
    if (status != Status::ok || from_scores.is_accurate(graph.num_words)) return status;
    CarriedEntropy carried{1.0, 0.0};
    status = solve_beyond_double(graph, carried, arena, interrupt);
    entropy = carried.entropy;
    return status;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
