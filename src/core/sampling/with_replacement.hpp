// Draws with replacement.
//
// Every method ends: a walk that spends its budget is replaced by an ancestral draw, which leaves
// the law exact (docs/mathematics.md).
#pragma once

#include <cstdlib>

#include "memory/arena.hpp"
#include "randomness/alias_table.hpp"
#include "randomness/philox.hpp"
#include "sampling/ancestral.hpp"
#include "sampling/popping.hpp"
#include "sampling/sampler.hpp"
#include "sampling/wilson.hpp"
#include "types/requests.hpp"
#include "types/scratch.hpp"
#include "types/status.hpp"
#include "walk/problem.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// One ancestral draw in one number type; left_range where that is not enough.
template <class Scalar>
Status draw_ancestral_in(const Sampler& sampler, AncestralDraw& draw, Scratch& work,
                         const Interrupt& interrupt) {
    constexpr bool is_double = std::is_same<Scalar, double>::value;
    const Index n = sampler.graph.num_words;
    Arena arena(work);
    Problem<Scalar> problem{sampler.graph, arena, interrupt};
    if (is_double && sampler.method != Method::wilson_reject) {
        if (!arena.reserve(AncestralDraw::workspace<Scalar>(n))) return Status::no_memory;
        if constexpr (is_double) problem.walk = sampler.rows;
    } else {
        if (!set_up<AncestralDraw>(problem)) return Status::no_memory;
        const bool is_complete =
            problem.highest_lost == none_lost ||
            (!is_double && is_negligible(problem.highest_lost, sampler.partition, n));
        if (!is_complete) return Status::left_range;
    }
    watch_range();
    if (draw(problem)) return Status::ok;
    if (interrupt.requested()) return Status::interrupted;
    return is_double ? Status::left_range : Status::no_tree;
}

// Complete heads, of which only that of the root's child is decided, if it was drawn.
// Never inlined: it is seldom called, and would take registers from the walks.
__attribute__((noinline)) inline Status draw_ancestral(const Sampler& sampler, Stream& stream,
                                                       std::int32_t* heads, Index child,
                                                       Scratch& work, const Interrupt& interrupt,
                                                       SampleCounts& counts) {
    const Index n = sampler.graph.num_words;
    ++counts.ancestral;
    heads[0] = -1;
    for (Index j = 1; j <= n; ++j) heads[j] = undecided;
    if (child > 0) heads[child] = 0;
    const Stream start = stream;
    AncestralDraw draw{heads, stream, sampler.known_chance_of_child(child), sampler.least_chances};
    Status status = Status::left_range;
    if (sampler.tries_double(child)) {
        status = draw_ancestral_in<double>(sampler, draw, work, interrupt);
    }
    if (status == Status::left_range) {
        ++counts.beyond_double;
        stream = start;
        status = draw_ancestral_in<UnboundedDouble>(sampler, draw, work, interrupt);
    }
    if (status == Status::left_range) {
        stream = start;
        status = draw_ancestral_in<ExactlyScaled>(sampler, draw, work, interrupt);
    }
    if (status != Status::ok) return status;
    for (Index j = 0; j < n; ++j) heads[j + 1] = static_cast<std::int32_t>(draw.drawn[j] + 1);
    return Status::ok;
}

// Draw the root's child, if it is to be drawn, and walk until there is a tree or the budget is
// spent.
template <class Nodes>
ARBORAND_INLINE WalkEnd walk_to_tree(const Sampler& sampler, Stream& stream, std::int32_t* heads,
                                     char* room, Index& child, SampleCounts& counts) {
    const Index num_nodes = sampler.graph.num_words + 1;
    const WalkTables tables{sampler.slots, num_nodes};
    const bool rejects = sampler.method == Method::wilson_reject;
    heads[0] = 0;
    std::int64_t budget = sampler.budget;
    WalkEnd end = WalkEnd::budget_spent;
    child = 0;
    if (sampler.draws_child) {
        child = draw_alias(tables.of(0), static_cast<std::uint64_t>(num_nodes), stream.next());
    }
    if (sampler.method == Method::colbourn || budget == 0) return end;
    if (sampler.pops()) {
        ++counts.walks;
        Popping popping(sampler.heaviest_steps, num_nodes, stream, heads, room, budget);
        end = popping.draw(child);
        counts.steps += sampler.budget - popping.left();
        return end;
    }
    do {
        Nodes missing(room, num_nodes);
        if (child > 0) {
            missing.remove(child);
            heads[child] = 0;
        }
        end = walk(tables, stream, heads, missing, budget, rejects);
        ++counts.walks;
    } while (end == WalkEnd::second_root_arc);
    counts.steps += sampler.budget - budget;
    return end;
}

// One tree.
template <class Nodes>
inline Status draw_tree(const Sampler& sampler, Stream& stream, std::int32_t* heads, char* room,
                        Scratch& work, const Interrupt& interrupt, SampleCounts& counts) {
    Index child;
    if (walk_to_tree<Nodes>(sampler, stream, heads, room, child, counts) == WalkEnd::tree) {
        heads[0] = -1;
        return Status::ok;
    }
    // How often a walk runs out depends on the root's child, so the child stays as drawn.
    return draw_ancestral(sampler, stream, heads, child, work, interrupt, counts);
}

template <class Nodes>
inline Status draw_trees(const Sampler& sampler, const StreamKey& key, const DrawRange& range,
                         std::int32_t* heads, Index stride, char* room, Scratch& work,
                         const Interrupt& interrupt, SampleCounts& counts) {
    const Index num_nodes = sampler.graph.num_words + 1;
    for (Index i = 0; i < range.count; ++i) {
        // Asking costs as much as a small tree: not every time.
        if ((num_nodes >= 128 || i % 64 == 63) && interrupt.requested()) return Status::interrupted;
        Stream stream(key, range.graph, range.first + static_cast<std::uint64_t>(i));
        const Status status =
            draw_tree<Nodes>(sampler, stream, heads + i * stride, room, work, interrupt, counts);
        if (status != Status::ok) return status;
    }
    return Status::ok;
}

inline Status draw_trees(const Sampler& sampler, const StreamKey& key, const DrawRange& range,
                         std::int32_t* heads, Index stride, Scratch& work,
                         const Interrupt& interrupt, SampleCounts& counts) {
    const Index num_nodes = sampler.graph.num_words + 1;
    // What marks the nodes of a walk takes less.
    if (num_nodes <= MissingBits::most_nodes) {
        alignas(std::int64_t) char room[Popping::room(MissingBits::most_nodes)];
        return draw_trees<MissingBits>(sampler, key, range, heads, stride, room, work, interrupt,
                                       counts);
    }
    char* room = static_cast<char*>(std::malloc(Popping::room(num_nodes)));
    if (room == nullptr) return Status::no_memory;
    const Status status =
        draw_trees<MissingBytes>(sampler, key, range, heads, stride, room, work, interrupt, counts);
    std::free(room);
    return status;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
