// log Z, and the log-probability of a tree.
#pragma once

#include <cmath>
#include <cstdint>

#include "elimination/censoring.hpp"
#include "numbers/exact_difference.hpp"
#include "numbers/logarithm.hpp"
#include "numbers/sums.hpp"
#include "types/partition.hpp"
#include "walk/problem.hpp"

namespace arborand {
namespace ARBORAND_ISA {

struct LogPartition {
    PartitionOutput& output;

    template <class Scalar>
    static std::size_t workspace(Index) {
        return 0;
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        const Index n = problem.graph.num_words;
        Pivots pivots;
        censor(Rows<Scalar>{problem.walk, n, n, n + num_root_columns, walk_stride(n)}, pivots,
               problem.interrupt);
        const Logarithm reduced = log_parts(pivots.product);
        output.reduced = reduced.high;
        // Every dependency tree has one root arc: the rest of its shift is the same for all.
        output.reduced_error = reduced.low + problem.shift.root_rest;
        CompensatedSum total;
        for (Index j = 1; j <= n; ++j) total.add(problem.shift.column[j]);
        total.add(problem.shift.root);
        total.add(output.reduced);
        total.add(output.reduced_error);
        output.log_partition = total.value();
        output.root_shift = problem.shift.root;
        for (Index j = 0; j <= n; ++j) output.column_shift[j] = problem.shift.column[j];
        if (problem.interrupt.requested(n)) return false;
        return !pivots.dead_end && pivots.first_order == (problem.graph.single_root ? 1 : 0);
    }
};

// Shifted scores minus the shifted log Z, with all rounding errors kept: the terms may be large and
// cancel (a tree whose arcs all have tiny weights, where no others exist).
inline double log_prob_of(const Graph& graph, const PartitionOutput& partition,
                          const std::int32_t* heads) {
    CompensatedSum sum;
    for (Index j = 1; j <= graph.num_words; ++j) {
        const double score = graph.score(heads[j], j);
        const Difference d = exact_difference(score, partition.column_shift[j]);
        if (d.high == -HUGE_VAL) return -HUGE_VAL;  // forbidden, or beyond the range of doubles
        sum.add(d.high);
        sum.add(d.low);
        if (graph.single_root && heads[j] == 0) sum.add(-partition.root_shift);
    }
    sum.add(-partition.reduced);
    sum.add(-partition.reduced_error);
    const double value = sum.value();
    return value < 0 ? value : 0.0;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
