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

// Without any particular tree: with Z' the total weight of the shifted graph, which comes with the
// marginals, H is log Z' minus the mean of a tree's shifted score.  This is the fastest way, and
// accurate unless one tree has much of the mass: log Z' is accurate to 2^-50 n.
// marginals[dependent * (n + 1) + head]; `magnitude` is as below.
template <class Real>  // double or OfFourGraphs
void find_entropy_from_partition(Problem<Real>& problem, const Real* marginals, Real& entropy,
                                 Real& magnitude) {
    const Index n = problem.graph.num_words;
    CompensatedSumOf<Real> total;
    Real high(0.0), low(0.0);
    for (Index g = 0; g < num_graphs<Real>; ++g) {
        const Logarithm log_partition = log_parts(of_graph(problem, g).partition);
        of_graph(high, g) = log_partition.high;
        of_graph(low, g) = log_partition.low;
    }
    total.add(high);
    total.add(low);
    const Real zero(0.0);
    magnitude = choose(high > zero, high, zero - high) + Real(static_cast<double>(n));
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i <= n; ++i) {
            const Real chance = marginals[j * (n + 1) + i];
            const Real term = chance * log_entry(problem, i, j + 1);
            const Real counted = choose(chance > zero, zero - term, zero);
            total.add(counted);
            magnitude += choose(counted > zero, counted, zero - counted);
        }
    }
    entropy = total.finite_value();
}

inline bool is_good(double entropy, double magnitude) { return magnitude <= 64.0 * entropy; }

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
        if (!marginals_by_dependent(problem, marginals)) return false;
        problem.arena.release(mark);
        if constexpr (std::is_same<Scalar, double>::value) {
            find_entropy_from_partition(problem, marginals, entropy, magnitude);
            if (is_good(entropy, magnitude)) return true;
        }
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
        return is_good(entropy, magnitude) || magnitude <= 2.0 * unit;
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

// The same of one graph or of four at once, where that is good enough.
struct EntropiesFromPartitions {
    double* entropies;
    bool are_good[graphs_at_once] = {};

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return ArcMarginals::workspace<Scalar>(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        const Index n = problem.graph.num_words;
        Scalar* marginals = problem.arena.template take<Scalar>(n * (n + 1));
        if (!marginals_by_dependent(problem, marginals)) return false;
        find(problem, marginals);
        return true;
    }

    template <class Real>
    void find(Problem<Real>& problem, const Real* marginals) {
        Real entropy(0.0), magnitude(0.0);
        find_entropy_from_partition(problem, marginals, entropy, magnitude);
        for (Index g = 0; g < num_graphs<Real>; ++g) {
            entropies[g] = of_graph(entropy, g);
            are_good[g] = is_good(entropies[g], of_graph(magnitude, g));
        }
    }

    // Find those of the graphs that are not good in other ways.
    Status find_others(const Graph* graphs, Index count, Arena& arena,
                       const Interrupt& interrupt) const {
        Status status = Status::ok;
        for (Index g = 0; g < count && status == Status::ok; ++g) {
            if (!are_good[g]) status = find_entropy(graphs[g], entropies[g], arena, interrupt);
        }
        return status;
    }
};

// Of one graph or of four.
inline Status find_entropies(const Graph* graphs, Index count, double* entropies, Arena& arena,
                             const Interrupt& interrupt) {
    return solve_all(
        count,
        [&] {
            EntropiesFromPartitions work{entropies};
            const Status status = attempt_four(graphs, work, arena, interrupt);
            return status == Status::ok ? work.find_others(graphs, count, arena, interrupt)
                                        : status;
        },
        [&](Index g) { return find_entropy(graphs[g], entropies[g], arena, interrupt); });
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
