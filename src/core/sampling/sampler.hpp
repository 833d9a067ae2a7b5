// What each method prepares once per graph.
#pragma once

#include <cmath>
#include <cstring>

#include "inference/log_partition.hpp"
#include "inference/marginals.hpp"
#include "memory/arena.hpp"
#include "numbers/bits.hpp"
#include "numbers/exponential.hpp"
#include "randomness/alias_table.hpp"
#include "sampling/ancestral.hpp"
#include "sampling/heaviest_steps.hpp"
#include "sampling/laps.hpp"
#include "sampling/near_closed_cycles.hpp"
#include "sampling/popping.hpp"
#include "types/draws.hpp"
#include "types/graph.hpp"
#include "types/prepared.hpp"
#include "types/status.hpp"
#include "walk/problem.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// A walk that has taken this many steps has cost about as much as the ancestral draw that replaces
// it, so that the attempt at most doubles the time: 4 n^2 steps of 3 ns against n^3 operations.
inline std::int64_t default_budget(Index n) { return 4 * n * n + 256; }

// It lives at the start of memory of its own, and is read by all threads that draw from it.
struct Sampler {
    Graph graph;
    Method method;
    DrawRule rule;
    std::uint64_t id;  // of this preparation
    std::int64_t budget;
    bool draws_child;      // whether the root's child is drawn first
    double* rows;          // the walk in double
    double highest_lost;   // of the shifted scores that the rows lack (walk/rows.hpp)
    double* child_chance;  // [node]: P(root -> node) if the child is drawn first
    // Z of the graph as the rows are shifted; 0 if it is not known.
    UnboundedDouble partition;
    EnoughFor enough_for;
    Laps laps;               // no cycles: walks do not jump
    FirstSteps first_steps;  // no segments: they are not taken at once
    // num_nodes tables of num_nodes slots; that of node 0 draws the root's child, the others the
    // steps of walks.  Null for colbourn, which has no use for them.
    Slot* slots;

    static const Sampler& in(const Prepared& memory) {
        return *reinterpret_cast<const Sampler*>(memory.tables.memory());
    }

    static Status prepare(const Graph& graph, Method method, const DrawRule& rule, Prepared& memory,
                          Scratch& work, const Interrupt& interrupt);

    // Whether the rows lack nothing that counts beside all trees together.
    bool is_complete_beside_all() const {
        return highest_lost == none_lost || is_negligible(highest_lost, partition, graph.num_words);
    }

    // The chance of a child is right to 2^-64 of all; 1 if none was drawn.  The paper's biased
    // sampler may draw one of which that says nothing: 0 then, which no double is enough for if
    // numbers were lost.
    double known_chance_of_child(Index child) const {
        const double chance = child > 0 ? child_chance[child] : 1.0;
        return chance >= power_of_two(-32) ? chance : 0.0;
    }

    // Whether an ancestral draw may try double.  Arcs that are negligible beside all trees may not
    // be so beside the trees of a child of which nothing is known.
    bool tries_double(Index child) const {
        if (highest_lost > none_lost && known_chance_of_child(child) == 0) return false;
        return enough_for.always < HUGE_VAL;
    }

  private:
    template <class Work>
    Status find_law(Work& work, double log_sums, Scratch& scratch, const Interrupt& interrupt);
    void build_child_table(const AliasWorkspace& room, double* weights);
    void find_what_double_is_enough_for(double log_sums);
    bool walks_fast(double* escapes) const;
    bool is_sharp(double log_sums) const;
    bool may_pop(double log_sums) const;
};

// The law of the root's child, or Z alone: in double also where numbers too small for it were lost,
// if they do not matter.
template <class Work>
Status Sampler::find_law(Work& work, double log_sums, Scratch& scratch,
                         const Interrupt& interrupt) {
    const Index n = graph.num_words, size = n * walk_stride(n);
    Arena arena(scratch);
    Status status = Status::left_range;
    if (rule.trusts_double && highest_lost < HUGE_VAL) {
        if (!arena.reserve(Arena::rounded<double>(size) + Work::template workspace<double>(n))) {
            return Status::no_memory;
        }
        Problem<double> problem{graph, {nullptr}, arena.take<double>(size), arena, interrupt};
        problem.highest_lost = highest_lost;
        std::memcpy(problem.walk, rows, static_cast<std::size_t>(size) * sizeof(double));
        status = finish_as_a_whole(problem, work, [&] { return log_sums; });
        partition = problem.partition;
    }
    if (status == Status::left_range) {
        status = solve_beyond_double(graph, work, arena, interrupt, &partition);
    }
    return status;
}

inline void Sampler::find_what_double_is_enough_for(double log_sums) {
    const double lost = log_lost_share(log_sums, partition, graph.num_words);
    // A prefix has less weight than all trees, by its chance.  Z is at most n times the product of
    // the sums, so this is above e^-660, which double holds.
    enough_for.where_numbers_were_lost = lost < 0 ? exp_of(lost) : HUGE_VAL;
    // Arcs that are negligible beside all trees do not show in the law of a draw.
    enough_for.always = is_complete_beside_all() ? 0.0 : enough_for.where_numbers_were_lost;
    if (!rule.trusts_double || highest_lost == HUGE_VAL) enough_for = {HUGE_VAL, HUGE_VAL};
}

// Spanning trees: does the walk end soon?  A node leaves for good with the weight of its own step
// to the root, and of its steps to nodes whose next step goes there: so many expected steps at
// most.
inline bool Sampler::walks_fast(double* ends) const {
    const Index n = graph.num_words, stride = walk_stride(n);
    for (Index j = 0; j < n; ++j) ends[j] = rows[j * stride + n] / sum(rows + j * stride, n + 1);
    double steps = 0.0;
    for (Index j = 0; j < n; ++j) {
        const double* row = rows + j * stride;
        double total = row[n], escape = row[n];
        for (Index i = 0; i < n; ++i) {
            total += row[i];
            escape += row[i] * ends[i];
        }
        steps += total / escape;
    }
    return steps < static_cast<double>(budget);
}

// The chance that the first steps out of all nodes are a tree is Z over the product of the column
// sums.  Near-closed cycles make it small, on flat graphs it is about 1 / n.
inline bool Sampler::is_sharp(double log_sums) const {
    if (rule.jumps == Jumps::always) return true;
    return is_positive(partition) &&
           log_sums - log_of(partition) > log_of(4.0 * static_cast<double>(graph.num_words));
}

// The chance that all nodes take their heaviest step is 1 over the product of the column sums.  On
// flat graphs its logarithm is about -n; there, and where a walk takes no more than two steps, to
// look for surprises would not pay.
inline bool Sampler::may_pop(double log_sums) const {
    if (rule.pops != Pops::where_they_pay) return rule.pops == Pops::always;
    return log_sums <= 0.25 * static_cast<double>(graph.num_words - 2);
}

inline void Sampler::build_child_table(const AliasWorkspace& room, double* weights) {
    const Index n = graph.num_words;
    for (Index j = 0; j <= n; ++j) weights[j] = child_chance[j];
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
    build_alias(weights, n + 1, slots, room);
}

// Is it worth while to walk?  Defined with the draws.
bool pilots_arrive(const Sampler& sampler, Scratch& work);

inline Status Sampler::prepare(const Graph& graph, Method method, const DrawRule& rule,
                               Prepared& memory, Scratch& work, const Interrupt& interrupt) {
    const Index n = graph.num_words;
    const Index num_nodes = n + 1;
    const Index stride = walk_stride(n);
    const bool walks = method != Method::colbourn;
    Arena arena(memory.tables);
    if (!arena.reserve(Arena::rounded<Sampler>(1) + Arena::rounded<double>(n * stride) +
                       4 * Arena::rounded<double>(num_nodes) + Arena::rounded<UInt128>(num_nodes) +
                       Arena::rounded<std::uint32_t>(num_nodes) +
                       (walks ? Arena::rounded<Slot>(num_nodes * num_nodes) : 0))) {
        return Status::no_memory;
    }
    Sampler& sampler = *arena.take<Sampler>(1);
    sampler = Sampler();
    sampler.graph = graph;
    sampler.method = method;
    sampler.rule = rule;
    sampler.id = next_owner();
    sampler.budget = rule.budget >= 0 ? rule.budget : default_budget(n);
    sampler.draws_child =
        graph.has_single_root() && (method == Method::wilson || method == Method::wilson_rc);
    sampler.rows = arena.take<double>(n * stride);
    Shift shift{arena.take<double>(num_nodes)};
    double* weights = arena.take<double>(num_nodes);
    double* buffer = arena.take<double>(num_nodes);
    // Rejection walks on the graph of the spanning trees; the ancestral draw that may replace it
    // fills its own rows.
    Graph walked = graph;
    if (method == Method::wilson_reject) walked.kind = TreeKind::spanning;
    compute_shift(walked, shift);
    sampler.highest_lost = fill_walk(walked, shift, sampler.rows, buffer);
    const AliasWorkspace room{arena.take<UInt128>(num_nodes), arena.take<std::uint32_t>(num_nodes)};
    const Steps steps{sampler.rows, n, !sampler.draws_child};
    if (walks) sampler.slots = arena.take<Slot>(num_nodes * num_nodes);
    const double log_sums = method == Method::wilson_reject ? 0.0 : log_of_sums(sampler.rows, n);
    Status status = Status::ok;
    if (sampler.draws_child) {
        sampler.child_chance = arena.take<double>(num_nodes);
        sampler.child_chance[0] = 0.0;
        DependencyRootMarginals child{sampler.child_chance};
        status = sampler.find_law(child, log_sums, work, interrupt);
        if (status == Status::ok) sampler.build_child_table(room, weights);
    } else if (method == Method::colbourn ||
               (method == Method::wilson && !sampler.walks_fast(buffer))) {
        Partition partition;
        status = sampler.find_law(partition, log_sums, work, interrupt);
    }
    if (status != Status::ok) return status;
    sampler.find_what_double_is_enough_for(log_sums);
    const bool may_jump = method == Method::wilson || method == Method::wilson_rc;
    const bool is_sharp = may_jump && sampler.is_sharp(log_sums);
    bool has_memory = true;
    if (may_jump && sampler.may_pop(log_sums)) {
        has_memory = sampler.first_steps.prepare(steps, sampler.child_chance, rule, memory.steps,
                                                 weights, room);
    }
    const bool pops = sampler.first_steps.num_segments > 0;
    if (is_sharp && !pops) {
        NearClosedCycles cycles(steps, rule.jumps);
        has_memory =
            has_memory && cycles.find(sampler.child_chance, work, memory.steps, room, sampler.laps);
    }
    if (!has_memory) return Status::no_memory;
    for (Index j = 1; j <= n && walks && !pops; ++j) {
        steps.of(j, weights);
        build_alias(weights, num_nodes, sampler.slots + j * num_nodes, room);
    }
    if (!is_sharp || rule.budget >= 0 || pilots_arrive(sampler, work)) return Status::ok;
    sampler.budget = 0;
    // Where no draw walks, the ancestral draw finds the root's child as it finds any other head.
    // So all draws share the way to the first word, which would depend on the child.
    if (method == Method::wilson) sampler.draws_child = false;
    return Status::ok;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
