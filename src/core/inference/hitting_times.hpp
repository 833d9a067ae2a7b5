// The mean hitting time of the walk among the words.
#pragma once

#include "elimination/recursion.hpp"
#include "numbers/sums.hpp"
#include "walk/problem.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// H = sum over i, j of pi_i pi_j h(i, j) for the walk on the words alone, where h(i, j) is the
// expected number of steps from i to j and pi the stationary distribution.
//
// The expected time is a first-order absorption: let every step lead to the root with chance
// epsilon, and the chance of ending there before reaching j is epsilon times the expected number of
// steps.  So the recursion for dependency trees, with every root weight set to the sum of the row,
// has h_i = h(i, j) at the leaf j, and the root's share there is pi_j.  A leaf of order 0 is a node
// that the walk leaves for good: it has no root weight of that order, so its pi is 0.
struct MeanHittingTime {
    double mean;

    template <class Scalar>
    struct Leaf : ReadingLeaf {
        Index n;
        Scalar* times;       // n x n, row j: h(i, j)
        Scalar* stationary;  // n
        void visit(Index j, const LeafView<Scalar>& leaf) {
            stationary[j] = leaf.root_weight / leaf.escape;
            for (Index i = 0; i < n; ++i) times[j * n + i] = leaf.h[i];
        }
    };

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return Arena::rounded<Scalar>(n * n) + Arena::rounded<Scalar>(n) +
               Recursion<Scalar, Leaf<Scalar>>::workspace(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        const Index n = problem.graph.num_words;
        for (Index j = 0; j < n; ++j) {
            Scalar* row = problem.walk + j * walk_stride(n);
            row[n] = Scalar(0.0);
            row[n + 1] = sum(row, n);
            if (!is_positive(row[n + 1])) row[n + 1] = Scalar(1.0);  // it stays where it is
        }
        Leaf<Scalar> leaf{{},
                          n,
                          problem.arena.template take<Scalar>(n * n),
                          problem.arena.template take<Scalar>(n)};
        // Not `recurse`, which would say that arcs may be left out: a time is not a ratio of sums
        // over trees, and rests on the rarest steps most of all.
        if (!Recursion<Scalar, Leaf<Scalar>>(problem.walk, n, leaf, problem.arena,
                                             problem.interrupt)
                 .run()) {
            return false;
        }
        Scalar total(0.0);
        for (Index j = 0; j < n; ++j) {
            if (!is_positive(leaf.stationary[j])) continue;
            for (Index i = 0; i < n; ++i) {
                if (!is_positive(leaf.stationary[i])) continue;
                total += leaf.stationary[i] * leaf.stationary[j] * leaf.times[j * n + i];
            }
        }
        mean = to_double(total);
        return true;
    }
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
