// Four graphs of the same size, prepared for work side by side, in double.
//
// Work that runs on a Problem<double> runs on this as well, and each graph gets the bits that it
// gets alone.  What it reads and writes of one graph is then a list, with an entry for each.
#pragma once

#include "numbers/floating_point_guard.hpp"
#include "numbers/of_four_graphs.hpp"
#include "types/graph.hpp"
#include "walk/problem.hpp"
#include "walk/rows_of_four_graphs.hpp"

namespace arborand {
namespace ARBORAND_ISA {

static_assert(fewest_words_at_once >= vector_length, "four words are taken at once, too");
static_assert(!Interrupt::asks_within(most_words_at_once), "work would stop unnoticed");

template <>
struct Problem<OfFourGraphs> {
    const Graph& graph;      // the first: all are of its size and kind
    Problem<double>* alone;  // each of them, without a walk of its own
    OfFourGraphs* walk;
    Arena& arena;
    const Interrupt& interrupt;
};

inline Problem<double>& of_graph(Problem<OfFourGraphs>& problem, Index g) {
    return problem.alone[g];
}
inline void set_partition(Problem<OfFourGraphs>& problem, const UnboundedOfFourGraphs& partitions) {
    for (Index g = 0; g < graphs_at_once; ++g) problem.alone[g].partition = partitions.of[g];
}

// As log_entry of shift.hpp.
inline OfFourGraphs log_entry(const Problem<OfFourGraphs>& problem, Index head, Index dependent) {
    const auto of_all = [&](const auto& number) {
        const Problem<double>* of = problem.alone;
        return FourDoubles{number(of[0]), number(of[1]), number(of[2]), number(of[3])};
    };
    const FourDoubles column = of_all([=](const auto& one) { return one.shift.column[dependent]; });
    const FourDoubles given =
        of_all([=](const auto& one) { return one.graph.score(head, dependent); });
    const FourDoubles score = select(given > broadcast(-HUGE_VAL), given, column);
    const FourDoubles zero = broadcast(0.0);
    const auto d =
        head == 0
            ? shifted<true>(score, column, of_all([](const auto& one) { return one.shift.root; }),
                            of_all([](const auto& one) { return one.shift.root_rest; }))
            : shifted<false>(score, column, zero, zero);
    return OfFourGraphs(d.high + d.low);
}

// judge(problem, finished, buffer), after the work was done with the range watched; `buffer` has
// room for num_words numbers.
template <class Work, class Judge>
Status work_on_four(const Graph* graphs, Work& work, Arena& arena, const Interrupt& interrupt,
                    const Judge& judge) {
    const Index n = graphs[0].num_words;
    const std::size_t bytes =
        Arena::rounded<OfFourGraphs>(n * walk_stride(n)) + Arena::rounded<double>(n) +
        graphs_at_once * Arena::rounded<double>(n + 1) + Work::template workspace<OfFourGraphs>(n);
    if (!arena.reserve(bytes)) return Status::no_memory;
    Problem<double> alone[graphs_at_once] = {{graphs[0], arena, interrupt},
                                             {graphs[1], arena, interrupt},
                                             {graphs[2], arena, interrupt},
                                             {graphs[3], arena, interrupt}};
    OfFourGraphs* walk = arena.take<OfFourGraphs>(n * walk_stride(n));
    Problem<OfFourGraphs> problem{graphs[0], alone, walk, arena, interrupt};
    double* buffer = arena.take<double>(n);
    for (Problem<double>& one : alone) {
        one.shift.column = arena.take<double>(n + 1);
        compute_shift(one.graph, one.shift);
    }
    fill_walks(alone, walk, buffer);
    for (const Problem<double>& one : alone) {
        if (one.highest_lost == HUGE_VAL) return Status::left_range;
    }
    watch_range();
    const bool finished = work(problem);
    return judge(problem, finished, buffer) ? Status::ok : Status::left_range;
}

// left_range: a number of one of the graphs left the range of double, and they have to be solved
// one by one.
template <class Work>
Status attempt_four(const Graph* graphs, Work& work, Arena& arena, const Interrupt& interrupt) {
    return work_on_four(graphs, work, arena, interrupt,
                        [&](const Problem<OfFourGraphs>& problem, bool finished, double*) {
                            bool is_right = finished && !left_range(&work);
                            for (Index g = 0; g < graphs_at_once; ++g) {
                                is_right = is_right && is_complete(problem.alone[g]);
                            }
                            return is_right;
                        });
}

// The same for work as in `finish_as_a_whole`.
template <class Work>
Status attempt_four_as_a_whole(const Graph* graphs, Work& work, Arena& arena,
                               const Interrupt& interrupt) {
    return work_on_four(graphs, work, arena, interrupt,
                        [&](const Problem<OfFourGraphs>& problem, bool finished, double* buffer) {
                            const bool stayed_in_range = !left_range(&work);
                            bool is_right = finished && !overflowed(&work);
                            for (Index g = 0; g < graphs_at_once && is_right; ++g) {
                                const Problem<double>& one = problem.alone[g];
                                is_right = is_right_as_a_whole(one, stayed_in_range, [&] {
                                    // The walks are used up: there is room for this one.
                                    double* rows = reinterpret_cast<double*>(problem.walk);
                                    fill_walk(one.graph, one.shift, rows, buffer);
                                    return log_of_sums(rows, one.graph.num_words);
                                });
                            }
                            return is_right;
                        });
}

// Solve one graph, or four at once where double is enough for all of them: together() solves four,
// alone(g) one.
template <class Together, class Alone>
Status solve_all(Index count, const Together& together, const Alone& alone) {
    if (count == graphs_at_once) {
        const Status status = together();
        if (status != Status::left_range) return status;
    }
    Status status = Status::ok;
    for (Index g = 0; g < count && status == Status::ok; ++g) status = alone(g);
    return status;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
