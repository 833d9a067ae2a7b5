// Sets of trees that share the heads of their first nodes, and draws from them.
//
// A subspace is "the heads of nodes 0 .. j - 1 are these, the head of j is none of X".  Drawing a
// tree in it by the ancestral sampler passes by all that is needed to split it: at each later node,
// the conditional of the head that was drawn and the sum of the conditionals of the others.
#pragma once

#include <cstdint>

#include "elimination/recursion.hpp"
#include "inference/marginals.hpp"
#include "memory/arena.hpp"
#include "memory/growing_array.hpp"
#include "numbers/sums.hpp"
#include "numbers/unbounded_double.hpp"
#include "randomness/exact_choice.hpp"
#include "randomness/philox.hpp"
#include "walk/problem.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// Masses are UnboundedDouble, or ExactlyScaled for graphs that need it.
template <class Mass>
struct Prefix {
    Mass chance;              // of the heads of nodes 0 .. position - 1
    std::int32_t tree;        // a drawn tree with these heads
    std::int32_t position;    // the first node whose head is open
    std::int32_t first_link;  // the heads it has in drawn trees: X, as a list
};

struct Link {
    std::int32_t head;    // of the open node; -1 is the root
    std::int32_t prefix;  // the prefix continued by it; -1 after the last node
    std::int32_t next;
};

// The leaf that draws in a subspace, or follows a given tree, and records what it passes by.
template <class Scalar, class Mass>
struct SplittingLeaf : DecidingLeaf {
    Index n;
    Scalar* chance;             // n + 1
    const std::int32_t* given;  // the tree to follow, or null to draw
    Index position;
    const GrowingArray<Link>& links;
    std::int32_t first_link;
    Stream& stream;
    Mass* kept;    // [node]: the conditional of its head
    Mass* passed;  // [node]: the sum of the conditionals of all heads that are still open

    void visit(Index j, const LeafView<Scalar>& leaf) {
        head_chances(n, leaf, chance);
        if (j == position) {
            for (std::int32_t link = first_link; link >= 0; link = links[link].next) {
                chance[links[link].head + 1] = Scalar(0.0);
            }
        }
        Index drawn;
        if (given != nullptr) {
            drawn = given[j + 1];
        } else if (j == position) {
            // What is left may be a tiny part of 1: scale it up before it is drawn from.
            const Scalar left = sum(chance, n + 1);
            drawn = draw_scaled(left);
        } else {
            drawn = draw_index(chance, n + 1, stream);
        }
        kept[j] = Mass(chance[drawn]);
        chance[drawn] = Scalar(0.0);
        passed[j] = Mass(sum(chance, n + 1));
        heads[j] = drawn - 1;
    }

    Index draw_scaled(Scalar total) {
        ScaledChances scaled{chance, total};
        return draw_index(scaled, n + 1, stream);
    }

    struct ScaledChances {
        const Scalar* chance;
        Scalar total;
        Scalar operator[](Index i) const { return chance[i] / total; }
    };
};

template <class Mass>
struct SplittingDraw {
    const Prefix<Mass>& prefix;
    const std::int32_t* prefix_heads;  // a tree with the prefix
    const std::int32_t* given;
    const GrowingArray<Link>& links;
    const Stream start;
    Index* heads;
    Mass* kept;
    Mass* passed;

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return Arena::rounded<Index>(n) + 2 * Arena::rounded<Mass>(n) +
               Arena::rounded<Scalar>(n + 1) +
               Recursion<Scalar, SplittingLeaf<Scalar, Mass>>::workspace(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        const Index n = problem.graph.num_words;
        heads = problem.arena.template take<Index>(n);
        kept = problem.arena.template take<Mass>(n);
        passed = problem.arena.template take<Mass>(n);
        for (Index j = 0; j < n; ++j) {
            heads[j] = j < prefix.position ? prefix_heads[j + 1] - 1 : undecided;
        }
        Stream stream = start;
        SplittingLeaf<Scalar, Mass> leaf{{heads},
                                         n,
                                         problem.arena.template take<Scalar>(n + 1),
                                         given,
                                         prefix.position,
                                         links,
                                         prefix.first_link,
                                         stream,
                                         kept,
                                         passed};
        // Masses of what is left may be smaller than what is negligible beside Z: not `recurse`.
        return Recursion<Scalar, SplittingLeaf<Scalar, Mass>>(problem.walk, n, leaf, problem.arena,
                                                              problem.interrupt)
            .run();
    }
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
