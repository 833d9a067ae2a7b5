// Log-probabilities of trees, head by head and without cancellation: of the greedy tree, which
// takes the most probable head given those chosen so far, or of a given tree.
#pragma once

#include <cstdint>

#include "elimination/recursion.hpp"
#include "inference/marginals.hpp"
#include "numbers/logarithm.hpp"
#include "numbers/sums.hpp"
#include "projective/derivation.hpp"
#include "walk/problem.hpp"

namespace arborand {
namespace ARBORAND_ISA {

template <class Scalar>
inline Index most_probable(const Scalar* chance, Index count) {
    Index best = 0;
    for (Index i = 1; i < count; ++i) {
        if (to_double(chance[i]) > to_double(chance[best])) best = i;
    }
    return best;
}

// -log of one of several chances, which is then set to 0.  Where it is nearly certain, what speaks
// against it is what is known accurately.
template <class Scalar>
inline double surprisal_of(Scalar* chance, Index count, Index chosen) {
    const Scalar kept = chance[chosen];
    chance[chosen] = Scalar(0.0);
    const double others = to_double(sum(chance, count));
    return others < 0.5 ? -log1p_of(-others) : -log_of(kept);
}

template <class Scalar>
struct TreeLeaf : DecidingLeaf {
    Index n;
    Scalar* chance;             // n + 1
    const std::int32_t* given;  // the heads to take, after that of the root; null: the greedy ones
    double surprisal = 0.0;     // -log of the chance of the heads chosen so far

    void visit(Index j, const LeafView<Scalar>& leaf) {
        head_chances(n, leaf, chance);
        const Index head = given != nullptr ? given[j + 1] : most_probable(chance, n + 1);
        surprisal += surprisal_of(chance, n + 1, head);
        heads[j] = head - 1;
    }
};

// The greedy tree is never improbable: its chance is at least (n + 1)^-n; of a projective one,
// which is 2 n choices (projective/derivation.hpp), n^-2n.
struct GreedyTree {
    const std::int32_t* given = nullptr;
    Index* heads = nullptr;  // of nodes 0 .. n - 1
    double surprisal = 0.0;  // minus its log-probability, to full relative accuracy

    template <class Scalar>
    static std::size_t workspace(Index n) {
        const std::size_t by_nodes = Recursion<Scalar, TreeLeaf<Scalar>>::workspace(n);
        const std::size_t by_choices = Chart<Scalar>::workspace(n) +
                                       2 * Arena::rounded<std::int32_t>(n + 1) +
                                       Arena::rounded<Span>(num_choices(n) + 1);
        return Arena::rounded<Index>(n) + Arena::rounded<Scalar>(n + 1) +
               (by_nodes > by_choices ? by_nodes : by_choices);
    }

    template <class Scalar>
    bool find(Problem<Scalar>& problem) {
        const Index n = problem.graph.num_words;
        heads = problem.arena.template take<Index>(n);
        for (Index j = 0; j < n; ++j) heads[j] = undecided;
        Scalar* chance = problem.arena.template take<Scalar>(n + 1);
        if (problem.graph.is_projective()) return find_by_choices(problem, chance);
        TreeLeaf<Scalar> leaf{{heads}, n, chance, given};
        const bool found = recurse(problem.walk, leaf, problem);
        surprisal = leaf.surprisal;
        return found;
    }

  private:
    template <class Scalar>
    bool find_by_choices(Problem<Scalar>& problem, Scalar* chance) {
        const Graph& graph = problem.graph;
        const Index n = graph.num_words;
        Arena& arena = problem.arena;
        Chart<Scalar> chart(ArcWeights<Scalar>::of_walk(problem.walk, graph), n,
                            graph.has_single_root(), arena);
        if (!chart.inward(problem.interrupt)) return false;
        set_partition(problem, to_unbounded(chart.partition()));
        if (!is_positive(chart.partition())) return false;
        const GivenTree tree(given, n, arena.template take<std::int32_t>(n + 1));
        std::int32_t* found = arena.template take<std::int32_t>(n + 1);
        surprisal = 0.0;
        derive(chart, arena.template take<Span>(num_choices(n) + 1), found,
               [&](const Terms<Scalar>& terms) {
                   for (Index k = 0; k < terms.count; ++k) chance[k] = terms[k];
                   normalise(chance, terms.count);
                   const Index chosen =
                       given != nullptr ? tree(terms) : most_probable(chance, terms.count);
                   surprisal += surprisal_of(chance, terms.count, chosen);
                   return chosen;
               });
        for (Index j = 0; j < n; ++j) heads[j] = found[j + 1] - 1;
        return true;
    }
};

// Minus the log-probability of the greedy tree, whose heads are written, or of a tree of the graph.
struct TreeSurprise {
    std::int32_t* heads;  // n + 1, with that of the root
    bool is_given;
    double surprisal;

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return GreedyTree::workspace<Scalar>(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        // What the walk lacks may be an arc of the very tree that is given.
        if (is_given && problem.highest_lost > none_lost) return false;
        GreedyTree tree{is_given ? heads : nullptr};
        if (!tree.find(problem)) return false;
        surprisal = tree.surprisal;
        heads[0] = -1;
        for (Index j = 0; j < problem.graph.num_words; ++j) {
            heads[j + 1] = static_cast<std::int32_t>(tree.heads[j] + 1);
        }
        return true;
    }
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
