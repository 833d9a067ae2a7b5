// The gradient of the entropy with respect to all scores, without any score.
//
// With H_e the entropy of the trees that contain the arc e,
//
//     dH / dscore(e) = P(e) (H_e - log P(e) - H).
//
// The recursion of the marginals, on numbers that carry entropies, gives at the leaf of node j a
// number x_i for each head: P(i -> j) is proportional to x_i, and H_e is the entropy that x_i
// carries plus something that all heads of j share.  What is shared cancels.
//
// Where scores are moderate there is a faster way to the same: the gradient is minus the covariance
// of each arc with the tree's score.
#pragma once

#include "elimination/recursion.hpp"
#include "inference/covariances.hpp"
#include "inference/entropy.hpp"
#include "inference/marginals.hpp"
#include "numbers/with_entropy.hpp"
#include "walk/problem.hpp"

namespace arborand {
namespace ARBORAND_ISA {

template <class Value>
struct EntropyGradientLeaf : ReadingLeaf {
    Index n;
    WithEntropy<Value>* weight;  // n + 1
    double* chance;              // n + 1
    double* surprisal;           // n + 1: entropies minus log-probabilities, up to a constant
    double* gradient;            // row j: the heads of node j
    Index stride;

    void visit(Index j, const LeafView<WithEntropy<Value>>& leaf) {
        weight[0] = leaf.root_weight;
        for (Index i = 0; i < n; ++i) weight[i + 1] = leaf.row[i] * leaf.h[i];
        Value total = weight[0].value;
        for (Index i = 1; i <= n; ++i) total += weight[i].value;
        Index best = 0;
        for (Index i = 0; i <= n; ++i) {
            const Value share = weight[i].value / total;
            chance[i] = is_positive(weight[i]) ? to_double(share) : 0.0;
            surprisal[i] = chance[i] > 0 ? weight[i].entropy - log_of(share) : 0.0;
            if (chance[i] > chance[best]) best = i;
        }
        // Relative to the most probable head, as in covariances.hpp.
        const double base = surprisal[best];
        double mean = 0.0;
        for (Index i = 0; i <= n; ++i) {
            if (chance[i] > 0) mean += chance[i] * (surprisal[i] - base);
        }
        for (Index i = 0; i <= n; ++i) {
            gradient[j * stride + i] =
                chance[i] > 0 ? chance[i] * ((surprisal[i] - base) - mean) : 0.0;
        }
    }
};

// For UnboundedDouble and ExactlyScaled.
struct CarriedEntropyGradient {
    double* gradient;  // [head * stride + dependent]; all other entries are left alone
    Index stride;

    template <class Scalar>
    using Number = WithEntropy<Scalar>;
    template <class Scalar>
    using Leaf = EntropyGradientLeaf<Scalar>;

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return Arena::rounded<Number<Scalar>>(n * walk_stride(n)) +
               Arena::rounded<Number<Scalar>>(n + 1) + 2 * Arena::rounded<double>(n + 1) +
               Arena::rounded<double>(n * (n + 1)) +
               Recursion<Number<Scalar>, Leaf<Scalar>>::workspace(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        const Index n = problem.graph.num_words, size = n * walk_stride(n);
        Number<Scalar>* walk = problem.arena.template take<Number<Scalar>>(size);
        for (Index i = 0; i < size; ++i) walk[i] = {problem.walk[i], 0.0};
        for (Index j = 0; j < n; ++j) walk[j * walk_stride(n) + j] = Number<Scalar>();
        Number<Scalar>* weight = problem.arena.template take<Number<Scalar>>(n + 1);
        double* chance = problem.arena.template take<double>(n + 1);
        double* surprisal = problem.arena.template take<double>(n + 1);
        double* by_dependent = problem.arena.template take<double>(n * (n + 1));
        Leaf<Scalar> leaf{{}, n, weight, chance, surprisal, by_dependent, n + 1};
        if (!recurse(walk, leaf, problem)) return false;
        write_by_head(by_dependent, n, gradient, stride);
        return true;
    }
};

// Whether every score is within 300 of the best of its column.  The error of a covariance with the
// scores, a few 2^-53 times n times that gap, is then below 1e-12 n.
inline bool has_moderate_scores(const Graph& graph) {
    constexpr double largest_gap = 300.0;
    for (Index j = 1; j <= graph.num_words; ++j) {
        double highest = -HUGE_VAL;
        for (Index i = 0; i <= graph.num_words; ++i) {
            highest = graph.score(i, j) > highest ? graph.score(i, j) : highest;
        }
        for (Index i = 0; i <= graph.num_words; ++i) {
            const double score = graph.score(i, j);
            if (score > -HUGE_VAL && !(highest - score <= largest_gap)) return false;
        }
    }
    return true;
}

// The covariances come with the marginals, and these with the entropy where they are enough for it.
struct CovariancesWithScores {
    ArcCovariances covariances;
    double entropy = 0.0;
    bool has_entropy = false;

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return ArcCovariances::workspace<Scalar>(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        if (!covariances(problem)) return false;
        double magnitude;
        has_entropy = entropy_from_partition(problem, covariances.marginals, entropy, magnitude);
        return true;
    }
};

// The gradient, and the entropy itself unless null.
inline Status find_entropy_gradient(const Graph& graph, double* gradient, Index stride,
                                    double* entropy, Arena& arena, const Interrupt& interrupt) {
    if (!has_moderate_scores(graph)) {
        CarriedEntropyGradient carried{gradient, stride};
        const Status status = solve_beyond_double(graph, carried, arena, interrupt);
        if (status != Status::ok || entropy == nullptr) return status;
        return find_entropy(graph, *entropy, arena, interrupt);
    }
    CovariancesWithScores work{{{graph.log_weights, graph.stride}, gradient, stride}};
    Status status = solve(graph, work, arena, interrupt);
    if (status == Status::ok && entropy != nullptr) {
        *entropy = work.entropy;
        if (!work.has_entropy) status = find_entropy(graph, *entropy, arena, interrupt);
    }
    for (Index i = 0; i <= graph.num_words; ++i) {
        for (Index j = 1; j <= graph.num_words; ++j) {
            // Subtracted from 0, so that arcs of no tree get 0 and not -0.
            gradient[i * stride + j] = 0.0 - gradient[i * stride + j];
        }
    }
    return status;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
