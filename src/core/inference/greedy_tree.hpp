// The greedy tree: at every node the most probable head given the heads chosen so far.
#pragma once

#include <cmath>

#include "elimination/recursion.hpp"
#include "inference/marginals.hpp"
#include "numbers/logarithm.hpp"
#include "numbers/sums.hpp"
#include "walk/problem.hpp"

namespace arborand {
namespace ARBORAND_ISA {

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

// A tree that is never improbable: its chance is at least (n + 1)^-n.
struct GreedyTree {
    Index* heads;     // of nodes 0 .. n - 1
    double surprise;  // minus its log-probability, to full relative accuracy

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return Arena::rounded<Index>(n) + Arena::rounded<Scalar>(n + 1) +
               Recursion<Scalar, GreedyLeaf<Scalar>>::workspace(n);
    }

    template <class Scalar>
    bool find(Problem<Scalar>& problem) {
        const Index n = problem.graph.num_words;
        heads = problem.arena.template take<Index>(n);
        for (Index j = 0; j < n; ++j) heads[j] = undecided;
        GreedyLeaf<Scalar> leaf{{heads}, n, problem.arena.template take<Scalar>(n + 1)};
        const bool found = recurse(problem.walk, leaf, problem);
        surprise = leaf.surprise;
        return found;
    }
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
