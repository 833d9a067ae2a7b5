// Covariances of arcs with a sum over the tree's arcs: the Hessian of log Z times a direction.
//
// For f(t), the sum of `direction` over the arcs of the tree t, the derivative of the marginal of
// an arc e in that direction of the scores is
//
//     Cov(1_e, f) = P(e) (E[f | e] - E[f]).
//
// One pass of the recursion of the marginals, on numbers that carry a tangent.  Its error at e is
// that of E[f | e] - E[f], a few units in the last place of n max|direction|, times P(e).
#pragma once

#include "elimination/recursion.hpp"
#include "inference/direction.hpp"
#include "inference/marginals.hpp"
#include "numbers/dual.hpp"
#include "numbers/sums.hpp"
#include "walk/problem.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// P (y - base), for a number x with the chance P = x * inverse and the logarithmic derivative y.
template <class Real>
inline Real excess(const Dual<Real>& x, Real base, Real inverse, Real) {
    return (x.tangent - base * x.value) * inverse;
}
template <class Value>
inline double excess(const WithRate<Value>& x, double base, const Value&, double chance) {
    return chance * (x.rate - base);
}

// With P_i proportional to x_i, the derivative of P_i is P_i (y_i - sum over k of P_k y_k), where y
// are the logarithmic derivatives.  They are taken relative to that of the most probable head: its
// own is then 0, so that where it has nearly all the mass the mean is a sum of small terms.
template <class Number, class Real>  // Real: double or OfFourGraphs
struct CovarianceLeaf : ReadingLeaf {
    Index n;
    Number* weight;     // n + 1
    Real* chance;       // row j: the n + 1 heads of node j
    Real* covariances;  // likewise

    void visit(Index j, const LeafView<Number>& leaf) {
        weight[0] = leaf.root_weight;
        for (Index i = 0; i < n; ++i) weight[i + 1] = leaf.row[i] * leaf.h[i];
        auto total = weight[0].value;
        for (Index i = 1; i <= n; ++i) total += weight[i].value;
        const auto inverse = decltype(total)(1.0) / total;
        Real* chances = chance + j * (n + 1);
        for (Index i = 0; i <= n; ++i) chances[i] = to_double(weight[i].value * inverse);
        Index best[num_graphs<Real>];
        find_highest(chances, n + 1, best);
        Real base(0.0);
        for (Index g = 0; g < num_graphs<Real>; ++g) {
            of_graph(base, g) = rate_of(weight[best[g]], g);
        }
        Real* excesses = covariances + j * (n + 1);
        for (Index i = 0; i <= n; ++i) excesses[i] = excess(weight[i], base, inverse, chances[i]);
        for (Index g = 0; g < num_graphs<Real>; ++g) of_graph(excesses[best[g]], g) = 0.0;
        const Real mean = sum(excesses, n + 1);
        for (Index i = 0; i <= n; ++i) excesses[i] -= chances[i] * mean;
    }
};

// Everything per graph is a list, with an entry for each graph of the problem.
struct ArcCovariances {
    const double* const* directions;  // [head * stride + dependent], finite on every arc
    Index direction_stride;
    double* const* covariances;  // [head * stride + dependent]; all other entries are left alone
    Index stride;
    double sign = 1.0;  // with which they are written

    template <class Scalar>
    using Number = typename TangentOf<Scalar>::Number;
    template <class Scalar>
    using Leaf = CovarianceLeaf<Number<Scalar>, Result<Scalar>>;

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return Arena::rounded<Number<Scalar>>(n * walk_stride(n)) +
               Arena::rounded<Number<Scalar>>(n + 1) + Direction<Result<Scalar>>::workspace(n) +
               2 * Arena::rounded<Result<Scalar>>(n * (n + 1)) +
               Recursion<Number<Scalar>, Leaf<Scalar>>::workspace(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) const {
        const Index n = problem.graph.num_words;
        return find(problem, problem.arena.template take<Result<Scalar>>(n * (n + 1)));
    }

    // The marginals are found on the way: a row of n + 1 heads per node.
    template <class Scalar>
    bool find(Problem<Scalar>& problem, Result<Scalar>* marginals) const {
        const Index n = problem.graph.num_words, width = walk_stride(n);
        Number<Scalar>* walk = problem.arena.template take<Number<Scalar>>(n * width);
        const Direction<Result<Scalar>> direction(problem, directions, direction_stride);
        fill_carrying(problem.walk, n, width, walk, [&](const Scalar& weight, Index i, Index j) {
            return TangentOf<Scalar>::make(weight, direction(weight, i, j));
        });
        Number<Scalar>* weight = problem.arena.template take<Number<Scalar>>(n + 1);
        Result<Scalar>* by_dependent = problem.arena.template take<Result<Scalar>>(n * (n + 1));
        Leaf<Scalar> leaf{{}, n, weight, marginals, by_dependent};
        if (!recurse(walk, leaf, problem)) return false;
        const Result<Scalar> scale = direction.scale * Result<Scalar>(sign), zero(0.0);
        // Added to 0, so that arcs of no tree get 0 and not -0.
        for (Index i = 0; i < n * (n + 1); ++i) by_dependent[i] = zero + by_dependent[i] * scale;
        write_by_head(by_dependent, n, covariances, stride);
        return true;
    }
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
