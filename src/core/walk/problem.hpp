// One graph, made ready for work: in double where that is enough, in UnboundedDouble where it is
// not.
#pragma once

#include <type_traits>

#include "memory/arena.hpp"
#include "numbers/floating_point_guard.hpp"
#include "types/graph.hpp"
#include "types/interrupt.hpp"
#include "types/status.hpp"
#include "walk/negligible.hpp"
#include "walk/rows.hpp"
#include "walk/shift.hpp"

namespace arborand {
namespace ARBORAND_ISA {

template <class Scalar>
struct Problem {
    const Graph& graph;
    Shift shift;
    Scalar* walk;  // num_words rows, walk_stride(num_words) apart
    Arena& arena;
    const Interrupt& interrupt;
    double highest_lost = none_lost;  // of the shifted scores of arcs that the walk lacks
    // Z of the walk, which the work writes here.  Work whose results are no ratios of sums over
    // trees does not: then nothing may be lost.
    UnboundedDouble partition{};
};

// A Work has `template <class Scalar> static std::size_t workspace(Index num_words)` and a call
// operator that takes a Problem<Scalar>& and returns false if it could not finish.
template <class Scalar, class Work>
Status finish(Problem<Scalar>& problem, Work& work) {
    watch_range();
    const bool finished = work(problem);
    // With UnboundedDouble, flags tell of conversions of tiny results to double, which do not
    // matter.
    if (std::is_same<Scalar, double>::value && left_range(&work)) return Status::left_range;
    if (!finished && problem.interrupt.requested()) return Status::interrupted;
    if (problem.highest_lost > none_lost) {
        const bool is_right = finished && is_negligible(problem.highest_lost, problem.partition,
                                                        problem.graph.num_words);
        return is_right ? Status::ok : Status::left_range;
    }
    return finished ? Status::ok : Status::no_tree;
}

template <class Scalar, class Work>
Status attempt(const Graph& graph, Work& work, Arena& arena, const Interrupt& interrupt) {
    const Index n = graph.num_words;
    const std::size_t bytes = Arena::rounded<double>(n + 1) + Arena::rounded<Scalar>(n) +
                              Arena::rounded<Scalar>(n * walk_stride(n)) +
                              Work::template workspace<Scalar>(n);
    if (!arena.reserve(bytes)) return Status::no_memory;
    Problem<Scalar> problem{graph, {arena.take<double>(n + 1)}, nullptr, arena, interrupt};
    Scalar* buffer = arena.take<Scalar>(n);
    problem.walk = arena.take<Scalar>(n * walk_stride(n));
    compute_shift(graph, problem.shift);
    problem.highest_lost = fill_walk(graph, problem.shift, problem.walk, buffer);
    if (problem.highest_lost == HUGE_VAL) return Status::left_range;
    return finish(problem, work);
}

// In the narrowest number type beyond double that holds the scores.
template <class Work>
Status solve_beyond_double(const Graph& graph, Work& work, Arena& arena,
                           const Interrupt& interrupt) {
    const Status status = attempt<UnboundedDouble>(graph, work, arena, interrupt);
    return status == Status::left_range ? attempt<ExactlyScaled>(graph, work, arena, interrupt)
                                        : status;
}

template <class Work>
Status solve(const Graph& graph, Work& work, Arena& arena, const Interrupt& interrupt) {
    const Status status = attempt<double>(graph, work, arena, interrupt);
    return status == Status::left_range ? solve_beyond_double(graph, work, arena, interrupt)
                                        : status;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
