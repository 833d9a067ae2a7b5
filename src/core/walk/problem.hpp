// One graph, prepared for work: in double if that is enough, in UnboundedDouble otherwise.
#pragma once

#include <type_traits>

#include "memory/arena.hpp"
#include "numbers/floating_point_guard.hpp"
#include "types/graph.hpp"
#include "types/status.hpp"
#include "walk/negligible.hpp"
#include "walk/rows.hpp"
#include "walk/shift.hpp"

namespace arborand {
namespace ARBORAND_ISA {

template <class Scalar>
struct Problem {
    const Graph& graph;
    Arena& arena;
    const Interrupt& interrupt;
    Scalar* walk = nullptr;  // num_words rows, walk_stride(num_words) apart
    Shift shift{};
    double highest_lost = none_lost;  // of the shifted scores of arcs that the walk lacks
    // Z of the walk, which the work writes here.  Work whose results are not ratios of
    // sums over trees does not: then nothing may be lost.
    UnboundedDouble partition{};
};

// Work may be on several graphs at once (problem_of_four_graphs.hpp): graph g by itself, and Z of
// all of them.
template <class Scalar>
Problem<Scalar>& of_graph(Problem<Scalar>& problem, Index) {
    return problem;
}
template <class Scalar>
void set_partition(Problem<Scalar>& problem, const UnboundedDouble& partition) {
    problem.partition = partition;
}

inline double log_entry(const Problem<double>& problem, Index head, Index dependent) {
    return log_entry(problem.graph, problem.shift, head, dependent);
}

// Whether what the walk lacks changes nothing, once Z is known.
template <class Scalar>
bool is_complete(const Problem<Scalar>& problem) {
    return problem.highest_lost == none_lost ||
           is_negligible(problem.highest_lost, problem.partition, problem.graph.num_words);
}

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
    if (finished && is_complete(problem)) return Status::ok;
    return problem.highest_lost > none_lost ? Status::left_range : Status::no_tree;
}

// For work that needs no entry by itself, but Z or a law as a whole: numbers too small for double
// may be lost where all of them together are too few to matter.  `log_sums()` is that of
// walk/negligible.hpp; it is only called if anything was lost.
template <class LogSums>
bool is_right_as_a_whole(const Problem<double>& problem, bool stayed_in_range,
                         const LogSums& log_sums) {
    if (stayed_in_range && is_complete(problem)) return true;
    return log_lost_share(log_sums(), problem.partition, problem.graph.num_words) < 0;
}

// `finish` for such work.
template <class Work, class LogSums>
Status finish_as_a_whole(Problem<double>& problem, Work& work, const LogSums& log_sums) {
    watch_range();
    const bool finished = work(problem);
    const bool stayed_in_range = !left_range(&work);
    if (overflowed(&work)) return Status::left_range;
    if (!finished) {
        if (problem.interrupt.requested()) return Status::interrupted;
        const bool is_whole = problem.highest_lost == none_lost && stayed_in_range;
        return is_whole ? Status::no_tree : Status::left_range;
    }
    return is_right_as_a_whole(problem, stayed_in_range, log_sums) ? Status::ok
                                                                   : Status::left_range;
}

// Make the walk of a problem, with room for the work on it.  False: no memory.
template <class Work, class Scalar>
bool set_up(Problem<Scalar>& problem) {
    const Index n = problem.graph.num_words;
    Arena& arena = problem.arena;
    const std::size_t bytes = Arena::rounded<double>(n + 1) + Arena::rounded<Scalar>(n) +
                              Arena::rounded<Scalar>(n * walk_stride(n)) +
                              Work::template workspace<Scalar>(n);
    if (!arena.reserve(bytes)) return false;
    problem.shift.column = arena.template take<double>(n + 1);
    problem.walk = arena.template take<Scalar>(n * walk_stride(n));
    const std::size_t mark = arena.mark();
    Scalar* buffer = arena.template take<Scalar>(n);
    compute_shift(problem.graph, problem.shift);
    problem.highest_lost = fill_walk(problem.graph, problem.shift, problem.walk, buffer);
    arena.release(mark);
    return true;
}

// `partition`, if asked for, becomes Z of the walk; 0 if that is not known.
template <class Scalar, class Work>
Status attempt(const Graph& graph, Work& work, Arena& arena, const Interrupt& interrupt,
               UnboundedDouble* partition = nullptr) {
    Problem<Scalar> problem{graph, arena, interrupt};
    if (!set_up<Work>(problem)) return Status::no_memory;
    if (problem.highest_lost == HUGE_VAL) return Status::left_range;
    const Status status = finish(problem, work);
    if (partition != nullptr) {
        // ExactlyScaled does not shift its scores.
        constexpr bool is_shifted = !std::is_same<Scalar, ExactlyScaled>::value;
        *partition = is_shifted ? problem.partition : UnboundedDouble();
    }
    return status;
}

// In the narrowest number type beyond double that holds the scores.
template <class Work>
Status solve_beyond_double(const Graph& graph, Work& work, Arena& arena, const Interrupt& interrupt,
                           UnboundedDouble* partition = nullptr) {
    const Status status = attempt<UnboundedDouble>(graph, work, arena, interrupt, partition);
    return status == Status::left_range
               ? attempt<ExactlyScaled>(graph, work, arena, interrupt, partition)
               : status;
}

template <class Work>
Status solve(const Graph& graph, Work& work, Arena& arena, const Interrupt& interrupt) {
    const Status status = attempt<double>(graph, work, arena, interrupt);
    return status == Status::left_range ? solve_beyond_double(graph, work, arena, interrupt)
                                        : status;
}

// For work as in `finish_as_a_whole`.
template <class Work>
Status solve_as_a_whole(const Graph& graph, Work& work, Arena& arena, const Interrupt& interrupt) {
    Problem<double> problem{graph, arena, interrupt};
    if (!set_up<Work>(problem)) return Status::no_memory;
    Status status = Status::left_range;
    if (problem.highest_lost < HUGE_VAL) {
        status = finish_as_a_whole(problem, work, [&] {
            // The work has used up the walk.
            set_up<Work>(problem);
            return log_of_sums(problem.walk, graph.num_words);
        });
    }
    return status == Status::left_range ? solve_beyond_double(graph, work, arena, interrupt)
                                        : status;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
