// Trees head by head, and their log-probabilities without cancellation: the greedy tree, which
// takes the most probable head given those chosen so far, or a tree that is given.
#pragma once

#include <cmath>
#include <cstdint>

#include "elimination/recursion.hpp"
#include "inference/marginals.hpp"
#include "numbers/logarithm.hpp"
#include "numbers/sums.hpp"
#include "walk/problem.hpp"

namespace arborand {
namespace ARBORAND_ISA {

template <class Scalar>
struct TreeLeaf : DecidingLeaf {
    Index n;
    Scalar* chance;             // n + 1
    const std::int32_t* given;  // the heads to take, after that of the root; null: the greedy ones
    double surprisal = 0.0;     // -log of the chance of the heads chosen so far

    void visit(Index j, const LeafView<Scalar>& leaf) {
        head_chances(n, leaf, chance);
        const Index head = given != nullptr ? given[j + 1] : most_probable();
        const Scalar kept = chance[head];
        chance[head] = Scalar(0.0);
        const double others = to_double(sum(chance, n + 1));
        // Where the choice is nearly certain, what speaks against it is what is known accurately.
        surprisal += others < 0.5 ? -log1p_of(-others) : -log_of(kept);
        heads[j] = head - 1;
    }

  private:
    Index most_probable() const {
        Index best = 0;
        for (Index i = 1; i <= n; ++i) {
            if (to_double(chance[i]) > to_double(chance[best])) best = i;
        }
        return best;
    }
};

// The greedy tree is never improbable: its chance is at least (n + 1)^-n.
struct GreedyTree {
    const std::int32_t* given = nullptr;
    Index* heads = nullptr;  // of nodes 0 .. n - 1
    double surprisal = 0.0;  // minus its log-probability, to full relative accuracy

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return Arena::rounded<Index>(n) + Arena::rounded<Scalar>(n + 1) +
               Recursion<Scalar, TreeLeaf<Scalar>>::workspace(n);
    }

    template <class Scalar>
    bool find(Problem<Scalar>& problem) {
        const Index n = problem.graph.num_words;
        heads = problem.arena.template take<Index>(n);
        for (Index j = 0; j < n; ++j) heads[j] = undecided;
        TreeLeaf<Scalar> leaf{{heads}, n, problem.arena.template take<Scalar>(n + 1), given};
        const bool found = recurse(problem.walk, leaf, problem);
        surprisal = leaf.surprisal;
        return found;
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
