// The leaf that draws: Colbourn's ancestral sampler on the recursion of elimination/recursion.hpp.
//
// The head of each node is drawn from its conditional distribution given the heads drawn before it,
// by an exact choice (randomness/exact_choice.hpp).
#pragma once

#include "elimination/recursion.hpp"
#include "inference/marginals.hpp"
#include "memory/arena.hpp"
#include "randomness/exact_choice.hpp"
#include "randomness/philox.hpp"
#include "walk/problem.hpp"

namespace arborand {
namespace ARBORAND_ISA {

template <class Scalar>
struct DrawingLeaf : DecidingLeaf {
    Index n;
    Scalar* chance;  // n + 1
    Stream& stream;

    void visit(Index j, const LeafView<Scalar>& leaf) {
        head_chances(n, leaf, chance);
        const Index drawn = draw_index(chance, n + 1, stream);
        heads[j] = drawn - 1;
    }
};

// Draw the heads that are undecided.  The caller takes over the result only if the range was not
// left; a draw repeated in a wider scalar begins again at the same random number.
struct AncestralDraw {
    const std::int32_t* given;  // of nodes 0 .. n: a head, or `undecided`
    const Stream& start;
    Stream stream;  // after the draw
    Index* drawn;   // heads of nodes 0 .. n - 1

    AncestralDraw(const std::int32_t* given, const Stream& start)
        : given(given), start(start), stream(start), drawn(nullptr) {}

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return Arena::rounded<Index>(n) + Arena::rounded<Scalar>(n + 1) +
               Recursion<Scalar, DrawingLeaf<Scalar>>::workspace(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        const Index n = problem.graph.num_words;
        drawn = problem.arena.template take<Index>(n);
        for (Index j = 0; j < n; ++j) {
            drawn[j] = given[j + 1] == undecided ? undecided : given[j + 1] - 1;
        }
        stream = start;
        DrawingLeaf<Scalar> leaf{{drawn}, n, problem.arena.template take<Scalar>(n + 1), stream};
        return recurse(problem.walk, leaf, problem);
    }
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
