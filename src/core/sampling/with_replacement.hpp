// Draws with replacement: the methods, and what each prepares once per graph.
//
// Every method ends: a walk that spends its budget of steps is replaced by an ancestral draw, which
// leaves the law exact (docs/mathematics.md).
#pragma once

#include <cstdlib>

#include "inference/marginals.hpp"
#include "memory/arena.hpp"
#include "randomness/alias_table.hpp"
#include "randomness/philox.hpp"
#include "sampling/ancestral.hpp"
#include "sampling/wilson.hpp"
#include "types/draws.hpp"
#include "types/graph.hpp"
#include "types/scratch.hpp"
#include "types/status.hpp"
#include "walk/problem.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// A walk that has taken this many steps has cost about as much as the ancestral draw that replaces
// it, so that the attempt at most doubles the time: 4 n^2 steps of 3 ns against n^3 operations.
inline std::int64_t default_budget(Index n) { return 4 * n * n + 256; }

// What is prepared for one graph.  It lives at the start of memory of its own, and is read by all
// threads that draw from it.
struct Sampler {
    Graph graph;
    Method method;
    std::int64_t budget;
    bool draws_child;  // whether the root's child is drawn first
    double* rows;      // the walk in double
    bool fits;         // whether double is enough for it
    // num_nodes tables of num_nodes slots; that of node 0 draws the root's child.  Null for
    // colbourn, which has no use for them.
    Slot* slots;

    static const Sampler& in(const Scratch& memory) {
        return *reinterpret_cast<const Sampler*>(memory.memory());
    }

    // A negative budget means the default.
    static Status prepare(const Graph& graph, Method method, std::int64_t budget, Scratch& memory,
                          Scratch& work, const Interrupt& interrupt);
};

inline Status Sampler::prepare(const Graph& graph, Method method, std::int64_t budget,
                               Scratch& memory, Scratch& work, const Interrupt& interrupt) {
    const Index n = graph.num_words;
    const Index num_nodes = n + 1;
    const Index stride = walk_stride(n);
    const bool walks = method != Method::colbourn;
    Arena arena(memory);
    if (!arena.reserve(Arena::rounded<Sampler>(1) + Arena::rounded<double>(n * stride) +
                       3 * Arena::rounded<double>(num_nodes) + Arena::rounded<UInt128>(num_nodes) +
                       Arena::rounded<std::uint32_t>(num_nodes) +
                       (walks ? Arena::rounded<Slot>(num_nodes * num_nodes) : 0))) {
        return Status::no_memory;
    }
    Sampler& sampler = *arena.take<Sampler>(1);
    sampler.graph = graph;
    sampler.method = method;
    sampler.budget = budget >= 0 ? budget : default_budget(n);
    sampler.draws_child =
        graph.single_root && (method == Method::wilson || method == Method::wilson_rc);
    sampler.rows = arena.take<double>(n * stride);
    Shift shift{arena.take<double>(num_nodes)};
    double* weights = arena.take<double>(num_nodes);
    double* buffer = arena.take<double>(num_nodes);
    // Rejection walks on the graph of the spanning trees; the ancestral draw that may replace it
    // fills its own rows.
    Graph walked = graph;
    if (method == Method::wilson_reject) walked.single_root = false;
    compute_shift(walked, shift);
    sampler.fits = fill_walk(walked, shift, sampler.rows, buffer) == none_lost;
    sampler.slots = nullptr;
    if (!walks) return Status::ok;

    const AliasWorkspace room{arena.take<UInt128>(num_nodes), arena.take<std::uint32_t>(num_nodes)};
    sampler.slots = arena.take<Slot>(num_nodes * num_nodes);
    for (Index j = 1; j <= n; ++j) {
        const double* row = sampler.rows + (j - 1) * stride;
        weights[0] = sampler.draws_child ? 0.0 : row[n];
        for (Index i = 1; i <= n; ++i) weights[i] = row[i - 1];
        weights[j] = 0.0;
        build_alias(weights, num_nodes, sampler.slots + j * num_nodes, room);
    }
    if (!sampler.draws_child) return Status::ok;

    DependencyRootMarginals child{weights};
    Arena work_arena(work);
    const Status status = solve(graph, child, work_arena, interrupt);
    if (status != Status::ok) return status;
    weights[0] = 0.0;
    if (method == Method::wilson_rc) {
        // The paper's line 1: the root's child by the weight of its arc.  Words that no tree has
        // under the root are left out, because from them the walk would never end.
        double best = -HUGE_VAL;
        for (Index j = 1; j <= n; ++j) {
            if (weights[j] > 0 && graph.score(0, j) > best) best = graph.score(0, j);
        }
        for (Index j = 1; j <= n; ++j) {
            const Difference d = exact_difference(graph.score(0, j), best);
            if (weights[j] > 0) weights[j] = weight_of(d);
        }
    }
    build_alias(weights, num_nodes, sampler.slots, room);
    return Status::ok;
}

inline Status draw_ancestral(const Sampler& sampler, Stream& stream, std::int32_t* heads,
                             Scratch& work, const Interrupt& interrupt) {
    const Index n = sampler.graph.num_words;
    Arena arena(work);
    AncestralDraw draw(heads, stream);
    Status status = Status::left_range;
    if (sampler.method == Method::wilson_reject) {
        status = attempt<double>(sampler.graph, draw, arena, interrupt);
    } else if (sampler.fits) {
        if (!arena.reserve(AncestralDraw::workspace<double>(n))) return Status::no_memory;
        Problem<double> problem{sampler.graph, {nullptr}, sampler.rows, arena, interrupt};
        status = finish(problem, draw);
    }
    if (status == Status::left_range) {
        status = solve_beyond_double(sampler.graph, draw, arena, interrupt);
    }
    if (status != Status::ok) return status;
    for (Index j = 0; j < n; ++j) heads[j + 1] = static_cast<std::int32_t>(draw.drawn[j] + 1);
    stream = draw.stream;
    return Status::ok;
}

// One tree.
template <class Nodes>
inline Status draw_tree(const Sampler& sampler, Stream& stream, std::int32_t* heads, char* room,
                        Scratch& work, const Interrupt& interrupt, SampleCounts& counts) {
    const Index num_nodes = sampler.graph.num_words + 1;
    const WalkTables tables{sampler.slots, num_nodes};
    const bool rejects = sampler.method == Method::wilson_reject;
    heads[0] = 0;
    std::int64_t budget = sampler.budget;
    WalkEnd end = WalkEnd::budget_spent;
    Index child = 0;
    if (sampler.draws_child) {
        child = draw_alias(tables.of(0), static_cast<std::uint64_t>(num_nodes), stream.next());
    }
    if (sampler.method != Method::colbourn) {
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
        if (end == WalkEnd::tree) {
            heads[0] = -1;
            return Status::ok;
        }
    }
    // How often a walk runs out depends on the root's child, so the child stays as drawn.
    heads[0] = -1;
    for (Index j = 1; j < num_nodes; ++j) heads[j] = undecided;
    if (child > 0) heads[child] = 0;
    ++counts.ancestral;
    return draw_ancestral(sampler, stream, heads, work, interrupt);
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
    if (num_nodes <= MissingBits::most_nodes) {
        return draw_trees<MissingBits>(sampler, key, range, heads, stride, nullptr, work, interrupt,
                                       counts);
    }
    char* room =
        static_cast<char*>(std::malloc(static_cast<std::size_t>(MissingBytes::room(num_nodes))));
    if (room == nullptr) return Status::no_memory;
    const Status status =
        draw_trees<MissingBytes>(sampler, key, range, heads, stride, room, work, interrupt, counts);
    std::free(room);
    return status;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
