// Third derivatives of log Z, and second ones of the entropy, in given directions of the scores.
//
// The derivative of Cov(1_e, f) in a direction of the scores is the joint cumulant of 1_e, of f and
// of g, where f(t) and g(t) are the sums of the two directions over the arcs of the tree t.  It is
// symmetric in all three.  One pass of the recursion of the marginals, on numbers that carry means
// and covariances, gives it for all arcs: at the leaf of a node, with P_i proportional to x_i,
// means f_i and g_i and covariances c_i,
//
//     P_i ((f_i - E f)(g_i - E g) + c_i - E c - Cov(f, g)),
//
// where E and Cov are over the heads i.  Its error is a few units in the last place of
// n^2 max|f| max|g|, times P(e).
//
// The gradient of the entropy is the covariance of an arc with the surprisal -log P(t), which
// depends on the scores itself: its derivative has one more term, -P_i (f_i - E f).
#pragma once

#include "elimination/recursion.hpp"
#include "inference/direction.hpp"
#include "inference/marginals.hpp"
#include "numbers/with_cumulants.hpp"
#include "walk/problem.hpp"

namespace arborand {
namespace ARBORAND_ISA {

template <class Value, bool of_surprisal>
struct CumulantLeaf : ReadingLeaf {
    using Number = WithCumulants<Value, of_surprisal>;
    using Real = Result<Value>;

    Index n;
    Number* weight;   // n + 1
    Real* chance;     // n + 1
    Real* cumulants;  // row j: the n + 1 heads of node j

    void visit(Index j, const LeafView<Number>& leaf) {
        weight[0] = leaf.root_weight;
        for (Index i = 0; i < n; ++i) weight[i + 1] = leaf.row[i] * leaf.h[i];
        Value total = weight[0].value;
        for (Index i = 1; i <= n; ++i) total += weight[i].value;
        const Real zero(0.0);
        for (Index i = 0; i <= n; ++i) {
            const Value share = weight[i].value / total;
            chance[i] = to_double(share);
            if constexpr (of_surprisal) {
                if (chance[i] > 0) weight[i].second -= log_of(share);
            }
        }
        Index best[num_graphs<Real>];
        find_highest(chance, n + 1, best);
        // Relative to the most probable head, as in covariances.hpp.  Heads without a chance count
        // nothing.
        Number base;
        for (Index g = 0; g < num_graphs<Real>; ++g) {
            of_graph(base.first, g) = of_graph(weight[best[g]].first, g);
            of_graph(base.second, g) = of_graph(weight[best[g]].second, g);
            of_graph(base.joint, g) = of_graph(weight[best[g]].joint, g);
        }
        Real first = zero, second = zero, joint = zero, covariance = zero;
        for (Index i = 0; i <= n; ++i) {
            weight[i].first -= base.first;
            weight[i].second -= base.second;
            weight[i].joint -= base.joint;
            first += chance[i] * weight[i].first;
            second += chance[i] * weight[i].second;
            joint += chance[i] * weight[i].joint;
        }
        for (Index i = 0; i <= n; ++i) {
            covariance += chance[i] * (weight[i].first - first) * (weight[i].second - second);
        }
        for (Index i = 0; i <= n; ++i) {
            const Real excess = weight[i].first - first;
            const Real explicit_term = of_surprisal ? excess : zero;
            const Real cumulant =
                chance[i] * (excess * (weight[i].second - second) + (weight[i].joint - joint) -
                             covariance - explicit_term);
            cumulants[j * (n + 1) + i] = choose(chance[i] > zero, cumulant, zero);
        }
    }
};

template <bool of_surprisal>
struct CumulantPass {
    template <class Scalar>
    using Number = WithCumulants<Scalar, of_surprisal>;
    template <class Scalar>
    using Leaf = CumulantLeaf<Scalar, of_surprisal>;

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return Arena::rounded<Number<Scalar>>(n * walk_stride(n)) +
               Arena::rounded<Number<Scalar>>(n + 1) + 2 * Direction<Result<Scalar>>::workspace(n) +
               Arena::rounded<Result<Scalar>>(n + 1) + Arena::rounded<Result<Scalar>>(n * (n + 1)) +
               Recursion<Number<Scalar>, Leaf<Scalar>>::workspace(n);
    }

    // In units of `scales`, one after the other, so that their product need not be a double.
    template <class Scalar, class Make>
    static bool run(Problem<Scalar>& problem, const Make& make, const Result<Scalar> (&scales)[2],
                    double* const* out, Index stride) {
        using Real = Result<Scalar>;
        const Index n = problem.graph.num_words, width = walk_stride(n);
        Number<Scalar>* walk = problem.arena.template take<Number<Scalar>>(n * width);
        fill_carrying(problem.walk, n, width, walk, make);
        Number<Scalar>* weight = problem.arena.template take<Number<Scalar>>(n + 1);
        Real* chance = problem.arena.template take<Real>(n + 1);
        Real* by_dependent = problem.arena.template take<Real>(n * (n + 1));
        Leaf<Scalar> leaf{{}, n, weight, chance, by_dependent};
        if (!recurse(walk, leaf, problem)) return false;
        for (Index i = 0; i < n * (n + 1); ++i) {
            by_dependent[i] = by_dependent[i] * scales[0] * scales[1];
        }
        write_by_head(by_dependent, n, out, stride);
        return true;
    }
};

// Everything per graph is a list, as in covariances.hpp.
struct ArcCumulants {
    const double *const *directions, *const *others;  // [head * stride + dependent]
    double* const* cumulants;  // [head * stride + dependent]; all other entries are left alone
    Index stride;

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return CumulantPass<false>::workspace<Scalar>(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        using Real = Result<Scalar>;
        const Direction<Real> first(problem, directions, stride);
        const Direction<Real> second(problem, others, stride);
        const auto make = [&](const Scalar& weight, Index i, Index j) {
            return WithCumulants<Scalar, false>{weight, first(weight, i, j), second(weight, i, j),
                                                Real(0.0)};
        };
        return CumulantPass<false>::run(problem, make, {first.scale, second.scale}, cumulants,
                                        stride);
    }
};

// For UnboundedDouble and ExactlyScaled.
struct EntropyGradientTangents {
    const double* direction;  // [head * stride + dependent], finite on every arc
    double* tangents;         // [head * stride + dependent]; all other entries are left alone
    Index stride;

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return CumulantPass<true>::workspace<Scalar>(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        const Direction<double> first(problem, &direction, stride);
        const auto make = [&](const Scalar& weight, Index i, Index j) {
            return WithCumulants<Scalar, true>{weight, first(weight, i, j), 0.0, 0.0};
        };
        return CumulantPass<true>::run(problem, make, {first.scale, 1.0}, &tangents, stride);
    }
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
