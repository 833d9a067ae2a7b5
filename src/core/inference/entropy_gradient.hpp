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
// For moderate scores there is a faster way: the gradient is minus the covariance of each arc with
// the tree's score.
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
    double* gradient;            // row j: the n + 1 heads of node j

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
            gradient[j * (n + 1) + i] =
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
        Leaf<Scalar> leaf{{}, n, weight, chance, surprisal, by_dependent};
        if (!recurse(walk, leaf, problem)) return false;
        write_by_head(by_dependent, n, &gradient, stride);
        return true;
    }
};

// Whether every score is within 300 of the best of its column.  The error of a covariance with the
// scores, a few 2^-53 times n times that gap, is then below 1e-12 n.
inline bool has_moderate_scores(const Graph& graph) {
    const FourDoubles absent = broadcast(-HUGE_VAL), largest_gap = broadcast(300.0);
    FourIntegers are_moderate = {-1, -1, -1, -1};
    const auto look_at = [&](const auto& at, Index j) {
        FourDoubles highest = absent, lowest = broadcast(HUGE_VAL);
        for (Index i = 0; i <= graph.num_words; ++i) {
            const FourDoubles score = at(graph.log_weights + i * graph.stride + j + 1);
            highest = select(score > highest, score, highest);
            lowest = select((score > absent) & (score < lowest), score, lowest);
        }
        are_moderate &= highest - lowest <= largest_gap;
    };
    in_vectors(
        graph.num_words, [&](Index j) { look_at(load, j); },
        [&](Index j) { look_at(load_one, j); });
    return all(are_moderate);
}

// The covariances come with the marginals, and these with the entropies where they are enough.
struct CovariancesWithScores {
    ArcCovariances covariances;
    EntropiesFromPartitions entropies;

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return ArcCovariances::workspace<Scalar>(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        const Index n = problem.graph.num_words;
        Result<Scalar>* marginals = problem.arena.template take<Result<Scalar>>(n * (n + 1));
        if (!covariances.find(problem, marginals)) return false;
        if constexpr (std::is_same<Scalar, Result<Scalar>>::value) {
            if (entropies.entropies != nullptr) entropies.find(problem, marginals);
        }
        return true;
    }
};

// The gradients of one graph or of four, and the entropies themselves unless null.
inline Status find_entropy_gradients(const Graph* graphs, Index count, double* const* gradients,
                                     Index stride, double* entropies, Arena& arena,
                                     const Interrupt& interrupt) {
    const double* scores[graphs_at_once] = {};
    for (Index g = 0; g < count; ++g) scores[g] = graphs[g].log_weights;
    // The gradient of graphs from `g` on, by `solve`.
    const auto from_covariances = [&](Index g, Index some, const auto& solve) {
        double* values = entropies == nullptr ? nullptr : entropies + g;
        CovariancesWithScores work{{scores + g, graphs[g].stride, gradients + g, stride, -1.0},
                                   {values}};
        const Status status = solve(work);
        if (status != Status::ok || values == nullptr) return status;
        return work.entropies.find_others(graphs + g, some, arena, interrupt);
    };
    return solve_all(
        count,
        [&] {
            for (Index g = 0; g < count; ++g) {
                if (!has_moderate_scores(graphs[g])) return Status::left_range;
            }
            return from_covariances(0, count, [&](CovariancesWithScores& work) {
                return attempt_four(graphs, work, arena, interrupt);
            });
        },
        [&](Index g) {
            if (has_moderate_scores(graphs[g])) {
                return from_covariances(g, 1, [&](CovariancesWithScores& work) {
                    return solve(graphs[g], work, arena, interrupt);
                });
            }
            CarriedEntropyGradient carried{gradients[g], stride};
            const Status status = solve_beyond_double(graphs[g], carried, arena, interrupt);
            if (status != Status::ok || entropies == nullptr) return status;
            return find_entropy(graphs[g], entropies[g], arena, interrupt);
        });
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
