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
#include "sampling/popping.hpp"
#include "types/graph.hpp"
#include "types/requests.hpp"
#include "types/scratch.hpp"
#include "types/status.hpp"
#include "walk/problem.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// A walk that has taken this many steps has cost about as much as the ancestral draw that replaces
// it, so that the attempt at most doubles the time: 4 n^2 steps of 3 ns against n^3 operations.
inline std::int64_t walk_budget(Index n) { return 4 * n * n + 256; }
// A popped entry costs about ten times as much as a step, and few draws pop many.
inline std::int64_t popping_budget(Index n) { return n * n / 4 + 64; }

// It lives at the start of memory of its own, and is read by all threads that draw from it.
struct Sampler {
    Graph graph;
    Method method;
    DrawRule rule;
    std::int64_t budget;
    bool draws_child;      // whether the root's child is drawn first
    double* rows;          // the walk in double
    double highest_lost;   // of the shifted scores that the rows lack (walk/rows.hpp)
    double* child_chance;  // [node]: P(root -> node) if the child is drawn first
    // Z of the graph as the rows are shifted; 0 if it is not known.
    UnboundedDouble partition;
    LeastChances least_chances;
    HeaviestSteps heaviest_steps;  // only if cycles are popped
    // num_nodes tables of num_nodes slots; that of node 0 draws the root's child, the others the
    // steps of walks.  Null for colbourn, which has no use for them.
    Slot* slots;

    static const Sampler& in(const Prepared& memory) {
        return *reinterpret_cast<const Sampler*>(memory.tables.memory());
    }

    static Status prepare(const Graph& graph, Method method, const DrawRule& rule, Prepared& memory,
                          Scratch& work, const Interrupt& interrupt);

    bool pops() const { return heaviest_steps.deviations.count() > 0; }

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
        return least_chances.always < HUGE_VAL;
    }

  private:
    // What preparing takes, besides the sampler's own arrays.
    struct Room {
        double* column_shift;
        double* weights;  // num_nodes numbers
        AliasWorkspace alias;
    };

    static std::size_t bytes(Index num_words, Method method);
    Room begin(const Graph& graph, Method method, const DrawRule& rule, Arena& arena);
    void fill_rows(const Room& room);
    Status find_law(const Room& room, Scratch& work, const Interrupt& interrupt);
    template <class Work>
    Status solve(Work& work, Scratch& scratch, const Interrupt& interrupt);
    void build_child_table(const Room& room);
    void find_least_chances();
    Status decide_to_pop(const Room& room, Scratch& memory);
    void build_step_tables(const Room& room);
    void decide_to_walk();

    Steps steps() const { return {rows, graph.num_words, !draws_child}; }
    bool walks_fast(double* ends) const;
    double log_tree_chance() const;

    double log_sums_;  // the logarithm of the product of the rows' sums
};

inline Status Sampler::prepare(const Graph& graph, Method method, const DrawRule& rule,
                               Prepared& memory, Scratch& work, const Interrupt& interrupt) {
    Arena arena(memory.tables);
    if (!arena.reserve(bytes(graph.num_words, method))) return Status::no_memory;
    Sampler& sampler = *arena.take<Sampler>(1);
    const Room room = sampler.begin(graph, method, rule, arena);
    sampler.fill_rows(room);
    Status status = sampler.find_law(room, work, interrupt);
    if (status != Status::ok) return status;
    sampler.find_least_chances();
    status = sampler.decide_to_pop(room, memory.steps);
    if (status != Status::ok) return status;
    sampler.build_step_tables(room);
    sampler.decide_to_walk();
    return Status::ok;
}

inline std::size_t Sampler::bytes(Index num_words, Method method) {
    const Index num_nodes = num_words + 1;
    const bool has_tables = method != Method::colbourn;
    return Arena::rounded<Sampler>(1) + Arena::rounded<double>(num_words * walk_stride(num_words)) +
           3 * Arena::rounded<double>(num_nodes) + Arena::rounded<UInt128>(num_nodes) +
           Arena::rounded<std::uint32_t>(num_nodes) +
           (has_tables ? Arena::rounded<Slot>(num_nodes * num_nodes) : 0);
}

inline Sampler::Room Sampler::begin(const Graph& of, Method by, const DrawRule& how, Arena& arena) {
    const Index n = of.num_words, num_nodes = n + 1;
    *this = Sampler();
    graph = of;
    method = by;
    rule = how;
    budget = rule.budget >= 0 ? rule.budget : walk_budget(n);
    draws_child =
        graph.has_single_root() && (method == Method::wilson || method == Method::wilson_rc);
    rows = arena.take<double>(n * walk_stride(n));
    if (draws_child) child_chance = arena.take<double>(num_nodes);
    if (method != Method::colbourn) slots = arena.take<Slot>(num_nodes * num_nodes);
    return {arena.take<double>(num_nodes),
            arena.take<double>(num_nodes),
            {arena.take<UInt128>(num_nodes), arena.take<std::uint32_t>(num_nodes)}};
}

inline void Sampler::fill_rows(const Room& room) {
    // Rejection walks on the graph of the spanning trees; the ancestral draw that may replace it
    // fills its own rows.
    Graph walked = graph;
    if (method == Method::wilson_reject) walked.kind = TreeKind::spanning;
    Shift shift{room.column_shift};
    compute_shift(walked, shift);
    highest_lost = fill_walk(walked, shift, rows, room.weights);
    if (method != Method::wilson_reject) log_sums_ = log_of_sums(rows, graph.num_words);
}

// The law of the root's child if it is drawn first; else Z, if walks may be long.
inline Status Sampler::find_law(const Room& room, Scratch& work, const Interrupt& interrupt) {
    if (draws_child) {
        child_chance[0] = 0.0;
        DependencyRootMarginals child{&child_chance};
        const Status status = solve(child, work, interrupt);
        if (status == Status::ok) build_child_table(room);
        return status;
    }
    if (method == Method::wilson_reject) return Status::ok;
    if (method == Method::wilson && walks_fast(room.weights)) return Status::ok;
    Partition all;
    return solve(all, work, interrupt);
}

// In double also where numbers too small for it were lost, if they do not matter.
template <class Work>
Status Sampler::solve(Work& work, Scratch& scratch, const Interrupt& interrupt) {
    const Index n = graph.num_words, size = n * walk_stride(n);
    Arena arena(scratch);
    Status status = Status::left_range;
    if (rule.trusts_double && highest_lost < HUGE_VAL) {
        if (!arena.reserve(Arena::rounded<double>(size) + Work::template workspace<double>(n))) {
            return Status::no_memory;
        }
        Problem<double> problem{graph, arena, interrupt, arena.take<double>(size)};
        problem.highest_lost = highest_lost;
        std::memcpy(problem.walk, rows, static_cast<std::size_t>(size) * sizeof(double));
        status = finish_as_a_whole(problem, work, [&] { return log_sums_; });
        partition = problem.partition;
    }
    if (status == Status::left_range) {
        status = solve_beyond_double(graph, work, arena, interrupt, &partition);
    }
    return status;
}

inline void Sampler::build_child_table(const Room& room) {
    const Index n = graph.num_words;
    double* weights = room.weights;
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
            if (weights[j] > 0) weights[j] = exp_or_zero(d);
        }
    }
    build_alias(weights, n + 1, slots, room.alias);
}

inline void Sampler::find_least_chances() {
    const double lost = log_lost_share(log_sums_, partition, graph.num_words);
    // A prefix has less weight than all trees, by its chance.  Z is at most n times the product of
    // the sums, so this is above e^-660, which double holds.
    least_chances.after_losses = lost < 0 ? exp_of(lost) : HUGE_VAL;
    // Arcs that are negligible beside all trees do not show in the law of a draw.
    least_chances.always = is_complete_beside_all() ? 0.0 : least_chances.after_losses;
    if (!rule.trusts_double || highest_lost == HUGE_VAL) least_chances = {HUGE_VAL, HUGE_VAL};
}

// Spanning trees: does the walk end soon?  A node leaves for good with the weight of its own step
// to the root, and of its steps to nodes whose next step goes there.  This bounds the expected
// number of steps.
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

// The chance that the first steps out of all nodes are a tree is Z over the product of the row
// sums.  On flat graphs it is about 1 / n; cycles that hold walks up make it small.  This is its
// logarithm; 0 if Z was not asked for.
inline double Sampler::log_tree_chance() const {
    return is_positive(partition) ? log_of(partition) - log_sums_ : 0.0;
}

// Cycles are popped where most nodes take their heaviest step, and few cycles close in every draw;
// and where a walk would go round near-closed cycles for long.
inline Status Sampler::decide_to_pop(const Room& room, Scratch& memory) {
    const Index num_nodes = graph.num_words + 1;
    const double n = static_cast<double>(graph.num_words);
    if (method != Method::wilson && method != Method::wilson_rc) return Status::ok;
    if (rule.pops == Pops::never) return Status::ok;
    // The chance that all nodes take their heaviest step is 1 over the product of the row sums.  On
    // flat graphs its logarithm is about -n; there, and where a walk takes no more than two steps,
    // looking for deviations would not pay.
    const bool is_steady = log_sums_ <= 0.25 * (n - 2.0);
    const bool is_sharp = log_tree_chance() < -log_of(4.0 * n);
    if (!is_steady && !is_sharp && rule.pops != Pops::always) return Status::ok;
    if (!heaviest_steps.find(steps(), memory, room.weights, room.alias)) return Status::no_memory;
    const bool closes_few = is_steady && heaviest_steps.num_cycles <= 1 + num_nodes / 16;
    const auto laps_are_long = [&] {
        return is_sharp && heaviest_steps.expected_lap_steps(steps(), child_chance, room.weights) >
                               4.0 * n + 64.0;
    };
    if (rule.pops != Pops::always && !closes_few && !laps_are_long()) return Status::ok;
    heaviest_steps.build_tables(steps(), child_chance, room.weights, room.alias);
    if (rule.budget < 0) budget = popping_budget(graph.num_words);
    return Status::ok;
}

// For walks.
inline void Sampler::build_step_tables(const Room& room) {
    if (method == Method::colbourn || pops()) return;
    const Index num_nodes = graph.num_words + 1;
    for (Index j = 1; j < num_nodes; ++j) {
        steps().of(j, room.weights);
        build_alias(room.weights, num_nodes, slots + j * num_nodes, room.alias);
    }
}

// Some graphs hold every walk up, such as groups of words that are all bound to each other.  The
// chance that the first steps are a tree is about the product of the chances to leave such groups.
// They have three words or more: a tight pair is popped at once, and holds nothing up.  If n / 3
// groups hold a walk up alike, it takes about n / 3 over the chance to leave one.  Where that
// exceeds the budget, no draw walks.  The decision depends on the graph alone, so the law stays
// exact.
inline void Sampler::decide_to_walk() {
    if (method == Method::colbourn || rule.budget >= 0) return;
    const double num_groups = static_cast<double>(graph.num_words) / 3.0;
    const double popped = pops() ? heaviest_steps.log_chance_to_leave(child_chance) : 0.0;
    const double log_chance = (log_tree_chance() - popped) / num_groups;
    if (log_of(num_groups) - log_chance <= log_of(static_cast<double>(budget))) return;
    budget = 0;
    // An ancestral draw finds the root's child as it finds any other head.
    if (method == Method::wilson) draws_child = false;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
