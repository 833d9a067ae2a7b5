// The entropy of the distribution over trees.
#pragma once

#include "elimination/recursion.hpp"
#include "inference/marginals.hpp"
#include "numbers/logarithm.hpp"
#include "numbers/sums.hpp"
#include "walk/problem.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// The greedy tree: at every node the most probable head given the heads chosen so far.
template <class Scalar>
struct GreedyLeaf : DecidingLeaf {
    Index n;
    Scalar* chance;         // n + 1
    double surprise = 0.0;  // -log of the chance of the heads chosen so far

    void visit(Index j, const LeafView<Scalar>& leaf) {
        head_chances(n, leaf, chance);
        Index best = 0;
        for (Index i = 1; i <= n; ++i) {
            if (to_double(chance[i]) > to_double(chance[best])) best = i;
        }
        const double kept = to_double(chance[best]);
        chance[best] = Scalar(0.0);
        const double others = to_double(sum(chance, n + 1));
        // Where the choice is nearly certain, what speaks against it is what is known accurately.
        surprise += others < 0.5 ? -log1p_of(-others) : -log_of(kept);
        heads[j] = best - 1;
    }
};

// With t the greedy tree, H = -log p(t) + sum over arcs of P(i -> j) * (score of t's arc - score).
// Subtracting nothing from 1, it keeps its digits when t has nearly all the mass: then both terms
// are sums of small numbers, each known to full relative accuracy.  Shifted scores do as well: all
// heads of a node share one shift, and all trees have one root arc if those have one of their own.
struct Entropy {
    double entropy;

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return Arena::rounded<double>(n * (n + 1)) + 2 * Arena::rounded<Scalar>(n + 1) +
               Arena::rounded<Index>(n) + Recursion<Scalar, MarginalLeaf<Scalar>>::workspace(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        const Graph& graph = problem.graph;
        const Index n = graph.num_words;
        double* marginals = problem.arena.template take<double>(n * (n + 1));
        Index* heads = problem.arena.template take<Index>(n);
        for (Index j = 0; j < n; ++j) heads[j] = undecided;
        GreedyLeaf<Scalar> greedy{{heads}, n, problem.arena.template take<Scalar>(n + 1)};
        const std::size_t mark = problem.arena.mark();
        if (!marginals_by_dependent(problem, marginals, n + 1)) return false;
        problem.arena.release(mark);
        if (!Recursion<Scalar, GreedyLeaf<Scalar>>(problem.walk, n, greedy, problem.arena,
                                                   problem.interrupt)
                 .run()) {
            return false;
        }
        CompensatedSum total;
        total.add(greedy.surprise);
        for (Index j = 0; j < n; ++j) {
            const double kept = log_entry(graph, problem.shift, heads[j] + 1, j + 1);
            for (Index i = 0; i <= n; ++i) {
                const double chance = marginals[j * (n + 1) + i];
                if (chance > 0) {
                    total.add(chance * (kept - log_entry(graph, problem.shift, i, j + 1)));
                }
            }
        }
        // Not negative, though rounding of marginals beside masks that all trees need could make it
        // so.
        entropy = total.value() > 0 ? total.value() : 0.0;
        return true;
    }
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
