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

// The plain number in a number with a tangent.
inline double value_of(Dual x) { return x.value; }
template <class Number>
inline const auto& value_of(const Number& x) {
    return x.value;
}

// P (y - base), for a number x with the chance P = x * inverse and the logarithmic derivative y.
inline double excess(Dual x, double base, double inverse, double) {
    return (x.tangent - base * x.value) * inverse;
}
template <class Value>
inline double excess(const WithRate<Value>& x, double base, const Value&, double chance) {
    return chance * (x.rate - base);
}

// With P_i proportional to x_i, the derivative of P_i is P_i (y_i - sum over k of P_k y_k), where y
// are the logarithmic derivatives.  They are taken relative to that of the most probable head: its
// own is then 0, so that where it has nearly all the mass the mean is a sum of small terms.
template <class Number>
struct CovarianceLeaf : ReadingLeaf {
    Index n;
    Number* weight;       // n + 1
    double* chance;       // row j: the heads of node j
    double* covariances;  // likewise
    Index stride;

    void visit(Index j, const LeafView<Number>& leaf) {
        weight[0] = leaf.root_weight;
        for (Index i = 0; i < n; ++i) weight[i + 1] = leaf.row[i] * leaf.h[i];
        auto total = value_of(weight[0]);
        for (Index i = 1; i <= n; ++i) total += value_of(weight[i]);
        const auto inverse = decltype(total)(1.0) / total;
        double* chances = chance + j * stride;
        Index best = 0;
        for (Index i = 0; i <= n; ++i) {
            chances[i] = to_double(value_of(weight[i]) * inverse);
            if (chances[i] > chances[best]) best = i;
        }
        const double base = rate_of(weight[best]);
        double* excesses = covariances + j * stride;
        for (Index i = 0; i <= n; ++i) excesses[i] = excess(weight[i], base, inverse, chances[i]);
        excesses[best] = 0.0;
        const double mean = sum(excesses, n + 1);
        for (Index i = 0; i <= n; ++i) excesses[i] -= chances[i] * mean;
    }
};

struct ArcCovariances {
    Direction direction;
    double* covariances;  // [head * stride + dependent]; all other entries are left alone
    Index stride;
    double* marginals = nullptr;  // a row of n + 1 heads per node, found on the way

    template <class Scalar>
    using Number = typename TangentOf<Scalar>::Number;

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return Arena::rounded<Number<Scalar>>(n * walk_stride(n)) +
               Arena::rounded<Number<Scalar>>(n + 1) + Arena::rounded<double>(n + 1) +
               2 * Arena::rounded<double>(n * (n + 1)) +
               Recursion<Number<Scalar>, CovarianceLeaf<Number<Scalar>>>::workspace(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        const Index n = problem.graph.num_words, width = walk_stride(n);
        Number<Scalar>* walk = problem.arena.template take<Number<Scalar>>(n * width);
        direction.prepare(problem.graph, problem.arena.template take<double>(n + 1));
        fill_carrying(problem.walk, n, width, walk, [&](const Scalar& weight, Index i, Index j) {
            return TangentOf<Scalar>::make(weight, direction(i, j));
        });
        Number<Scalar>* weight = problem.arena.template take<Number<Scalar>>(n + 1);
        marginals = problem.arena.template take<double>(n * (n + 1));
        double* by_dependent = problem.arena.template take<double>(n * (n + 1));
        CovarianceLeaf<Number<Scalar>> leaf{{}, n, weight, marginals, by_dependent, n + 1};
        if (!recurse(walk, leaf, problem)) return false;
        for (Index i = 0; i < n * (n + 1); ++i) by_dependent[i] *= direction.scale();
        write_by_head(by_dependent, n, covariances, stride);
        return true;
    }
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
