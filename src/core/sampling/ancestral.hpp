// The leaf that draws: Colbourn's ancestral sampler on the recursion of elimination/recursion.hpp.
//
// The head of each node is drawn from its conditional distribution given the heads drawn before it,
// by an exact choice (randomness/exact_choice.hpp).
#pragma once

#include <type_traits>

#include "elimination/recursion.hpp"
#include "inference/marginals.hpp"
#include "memory/arena.hpp"
#include "randomness/exact_choice.hpp"
#include "randomness/philox.hpp"
#include "walk/problem.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// Double is enough for the prefixes that have at least these chances.
struct LeastChances {
    double after_losses;  // where numbers too small for double were lost on the way to the leaf
    double always;        // more than 0 if the rows lack arcs
};

template <class Scalar>
struct DrawingLeaf : DecidingLeaf {
    static constexpr bool asks_range = std::is_same<Scalar, double>::value;
    Index n;
    Scalar* chance;  // n + 1
    Stream& stream;
    double prefix_chance;  // of the heads so far
    LeastChances least_chances;
    bool gave_up = false;

    bool wants(Index begin, Index end) const { return !gave_up && DecidingLeaf::wants(begin, end); }

    void visit(Index j, const LeafView<Scalar>& leaf) {
        head_chances(n, leaf, chance);
        if (asks_range && !is_enough()) {
            gave_up = true;
            return;
        }
        const Index drawn = draw_index(chance, n + 1, stream);
        heads[j] = drawn - 1;
        prefix_chance *= to_double(chance[drawn]);
    }

    bool is_enough() const {
        if (overflowed(chance) || prefix_chance < least_chances.always) return false;
        return prefix_chance >= least_chances.after_losses || !left_range(chance);
    }
};

// Draw the heads that are undecided.  A draw that gave up is repeated in a wider number type, from
// the same random number on.
struct AncestralDraw {
    const std::int32_t* given;  // of nodes 0 .. n: a head, or `undecided`
    Stream& stream;
    double prefix_chance;  // of what is given
    LeastChances least_chances;
    Index* drawn = nullptr;  // heads of nodes 0 .. n - 1

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
        DrawingLeaf<Scalar> leaf{
            {drawn},      n, problem.arena.template take<Scalar>(n + 1), stream, prefix_chance,
            least_chances};
        return recurse(problem.walk, leaf, problem) && !leaf.gave_up;
    }
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
