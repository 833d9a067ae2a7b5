// Sets of trees that share their first choices, and draws from them.
//
// A tree is a sequence of choices: the heads of nodes 0, 1, ..  A subspace is "choices 0 .. j - 1
// are these, choice j is none of X".  Drawing a tree in it with the ancestral sampler yields all
// that is needed to split it: at each later choice, the conditional of what was drawn and the sum
// of the conditionals of the others.  Projective trees have choices of their own
// (projective_subspaces.hpp).
#pragma once

#include <cstdint>

#include "elimination/recursion.hpp"
#include "inference/marginals.hpp"
#include "memory/arena.hpp"
#include "memory/growing_array.hpp"
#include "numbers/sums.hpp"
#include "randomness/exact_choice.hpp"
#include "randomness/philox.hpp"
#include "sampling/sampler.hpp"
#include "sampling/with_replacement.hpp"
#include "walk/problem.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// Masses are UnboundedDouble, or ExactlyScaled for graphs that need it.
template <class Mass>
struct Prefix {
    Mass chance;              // of choices 0 .. position - 1
    std::int32_t tree;        // a drawn tree with these choices
    std::int32_t position;    // the first open choice
    std::int32_t first_link;  // what it is in drawn trees: X, as a list
};

struct Link {
    std::int32_t choice;
    std::int32_t prefix;  // the prefix continued by it; -1 after the last choice
    std::int32_t next;
};

// A draw in a subspace, or a given tree of it, and what it passes by.
template <class Mass>
struct Path {
    std::int32_t* choices;
    std::int32_t* heads;
    Mass* kept;    // [choice]: its conditional
    Mass* passed;  // [choice]: the sum of the conditionals of all others that are still open
};

// Numbers as shares of their total, which may be a tiny part of 1: scaled up to be drawn from.
template <class Number>
struct Shares {
    const Number* values;
    Number total;
    Number operator[](Index i) const { return values[i] / total; }
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
                chance[links[link].choice + 1] = Scalar(0.0);
            }
        }
        Index drawn;
        if (given != nullptr) {
            drawn = given[j + 1];
        } else if (j == position) {
            drawn = draw_index(Shares<Scalar>{chance, sum(chance, n + 1)}, n + 1, stream);
        } else {
            drawn = draw_index(chance, n + 1, stream);
        }
        kept[j] = Mass(chance[drawn]);
        chance[drawn] = Scalar(0.0);
        passed[j] = Mass(sum(chance, n + 1));
        heads[j] = drawn - 1;
    }
};

template <class Mass>
struct SplittingDraw {
    const Prefix<Mass>& prefix;
    const std::int32_t* prefix_choices;  // of a tree with the prefix
    const std::int32_t* given;           // the heads of a tree to follow, or null to draw
    const GrowingArray<Link>& links;
    const Stream start;
    Index* heads = nullptr;
    Mass* kept = nullptr;
    Mass* passed = nullptr;

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
            heads[j] = j < prefix.position ? prefix_choices[j] : undecided;
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

// The choices are the heads of the nodes, -1 for the root.
template <class Masses>
struct HeadChoices {
    using Mass = Masses;

    Index num_choices(const Graph& graph) const { return graph.num_words; }

    static Status prepare(const Graph& graph, bool rejects, Prepared& memory, Scratch& work,
                          const Interrupt& interrupt) {
        return Sampler::prepare(graph, rejects ? Method::wilson : Method::colbourn, DrawRule{},
                                memory, work, interrupt);
    }

    // Whether the sampler's rows lack arcs, which are negligible beside all trees.
    static bool lacks_arcs(const Prepared& memory) {
        const Sampler& sampler = Sampler::in(memory);
        return sampler.highest_lost > none_lost && sampler.is_complete_beside_all();
    }

    static Status draw_any(const Prepared& memory, const StreamKey& key, const DrawRange& range,
                           std::int32_t* heads, Index stride, Scratch& work,
                           const Interrupt& interrupt) {
        SampleCounts counts;
        return draw_trees(Sampler::in(memory), key, range, heads, stride, work, interrupt, counts);
    }

    static Status begin(const Graph&, const Interrupt&) { return Status::ok; }

    static void find_choices(const Graph& graph, const std::int32_t* heads, std::int32_t* choices) {
        for (Index j = 0; j < graph.num_words; ++j) choices[j] = heads[j + 1] - 1;
    }

    // In double where that is enough, also without negligible arcs if these may be missing.
    Status draw(const Graph& graph, const Prepared& memory, SplittingDraw<Mass>& draw,
                bool may_lack_arcs, Scratch& work, const Interrupt& interrupt, Path<Mass>& path) {
        const Sampler& sampler = Sampler::in(memory);
        const Index n = graph.num_words;
        Arena arena(work);
        Status status = Status::left_range;
        if (sampler.highest_lost == none_lost || may_lack_arcs) {
            if (!arena.reserve(SplittingDraw<Mass>::template workspace<double>(n))) {
                return Status::no_memory;
            }
            Problem<double> problem{graph, arena, interrupt, sampler.rows};
            status = finish(problem, draw);
        }
        if (status == Status::left_range) status = attempt<Mass>(graph, draw, arena, interrupt);
        if (status != Status::ok) return status;
        path.heads[0] = -1;
        for (Index j = 0; j < n; ++j) {
            path.choices[j] = static_cast<std::int32_t>(draw.heads[j]);
            path.heads[j + 1] = path.choices[j] + 1;
        }
        path.kept = draw.kept;
        path.passed = draw.passed;
        return Status::ok;
    }
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
