// log Z, alone or with its gradient, and the log-probability of a tree.
#pragma once

#include <cmath>
#include <cstdint>

#include "elimination/censoring.hpp"
#include "inference/greedy_tree.hpp"
#include "inference/marginals.hpp"
#include "numbers/exact_arithmetic.hpp"
#include "numbers/fixed_point.hpp"
#include "numbers/floating_point_guard.hpp"
#include "numbers/logarithm.hpp"
#include "numbers/sums.hpp"
#include "projective/chart.hpp"
#include "types/requests.hpp"
#include "walk/problem.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// What PartitionOutput stands for: +-inf where it is beyond the range of double.
inline double log_partition_of(const PartitionOutput& output, Index n) {
    CompensatedSum total;
    bool is_large = false;
    const auto add = [&](double x) {
        total.add(x);
        is_large |= std::fabs(x) > largest_unbounded_score;
    };
    for (Index j = 1; j <= n; ++j) add(output.column_shift[j]);
    add(output.root_shift);
    add(output.reduced);
    add(output.reduced_error);
    if (!is_large) return total.value();
    ExactSum exact(output.root_shift);
    for (Index j = 1; j <= n; ++j) exact += ExactSum(output.column_shift[j]);
    exact += ExactSum(output.reduced);
    exact += ExactSum(output.reduced_error);
    return exact.value();
}

// Z alone, as the partition of the problem.
struct Partition {
    template <class Scalar>
    static std::size_t workspace(Index n) {
        return Chart<Scalar>::workspace(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) const {
        const Graph& graph = problem.graph;
        const Index n = graph.num_words;
        if (graph.is_projective()) {
            Chart<Scalar> chart(ArcWeights<Scalar>::of_walk(problem.walk, graph), n,
                                graph.has_single_root(), problem.arena);
            if (!chart.inward(problem.interrupt)) return false;
            set_partition(problem, to_unbounded(chart.partition()));
            return is_positive(chart.partition());
        }
        Pivots<Scalar> pivots;
        censor(Rows<Scalar>{problem.walk, n, n, n + num_root_columns, walk_stride(n)}, pivots,
               problem.interrupt);
        set_partition(problem, pivots.product);
        if (problem.interrupt.requested(n)) return false;
        return !pivots.dead_end && pivots.first_order == (graph.has_single_root() ? 1 : 0);
    }
};

struct LogPartition {
    PartitionOutput* outputs;  // of each graph

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return std::is_same<Scalar, ExactlyScaled>::value ? GreedyTree::workspace<ExactlyScaled>(n)
                                                          : Partition::workspace<Scalar>(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        const bool finished = Partition()(problem);
        report(problem);
        return finished;
    }

    // From Z of the walk.  If log Z itself is beyond the range of double, that is no reason to
    // compute the rest once more.
    template <class Scalar>
    void report(Problem<Scalar>& problem) const {
        const RangeFlags flags;
        for (Index g = 0; g < num_graphs<Scalar>; ++g) report(of_graph(problem, g), outputs[g]);
        flags.restore();
    }

    template <class Scalar>
    static void report(const Problem<Scalar>& problem, PartitionOutput& output) {
        const Index n = problem.graph.num_words;
        const Logarithm reduced = log_parts(problem.partition);
        output.reduced = reduced.high;
        // Every dependency tree has one root arc: the rest of its shift is the same for all.
        output.reduced_error = reduced.low + problem.shift.root_rest;
        output.root_shift = problem.shift.root;
        for (Index j = 0; j <= n; ++j) output.column_shift[j] = problem.shift.column[j];
        output.log_partition = log_partition_of(output, n);
    }

    // Scores that are far apart are measured from those of one tree: log Z is its score minus its
    // log-probability, which is a moderate number.
    bool operator()(Problem<ExactlyScaled>& problem) {
        const Index n = problem.graph.num_words;
        GreedyTree tree;
        if (!tree.find(problem)) return false;
        PartitionOutput& output = outputs[0];
        output.column_shift[0] = 0.0;
        for (Index j = 0; j < n; ++j) {
            output.column_shift[j + 1] = problem.graph.score(tree.heads[j] + 1, j + 1);
        }
        output.root_shift = 0.0;
        output.reduced = tree.surprisal;
        output.reduced_error = 0.0;
        output.log_partition = log_partition_of(output, n);
        return true;
    }
};

// The gradient of log Z is the marginals, on the way to which Z is found.
struct LogPartitionAndMarginals {
    LogPartition log_partition;
    ArcMarginals marginals;

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return LogPartition::workspace<Scalar>(n) + ArcMarginals::workspace<Scalar>(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        if (!marginals(problem)) return false;
        log_partition.report(problem);
        return true;
    }

    bool operator()(Problem<ExactlyScaled>& problem) {
        return marginals(problem) && log_partition(problem);
    }
};

// Shifted scores minus the shifted log Z, with all rounding errors kept: the terms may be large and
// cancel (a tree whose arcs all have tiny weights, where no others exist).
inline double log_prob_of(const Graph& graph, const PartitionOutput& partition,
                          const std::int32_t* heads) {
    CompensatedSum sum;
    bool is_large = false;
    for (Index j = 1; j <= graph.num_words; ++j) {
        const double score = graph.score(heads[j], j);
        if (score == -HUGE_VAL) return -HUGE_VAL;
        const Difference d = exact_difference(score, partition.column_shift[j]);
        is_large |= !(std::fabs(d.high) <= largest_unbounded_score);
        sum.add(d.high);
        sum.add(d.low);
        if (graph.has_single_root() && heads[j] == 0) sum.add(-partition.root_shift);
    }
    sum.add(-partition.reduced);
    sum.add(-partition.reduced_error);
    double value = sum.value();
    if (is_large) {
        ExactSum exact;
        for (Index j = 1; j <= graph.num_words; ++j) {
            exact += ExactSum(graph.score(heads[j], j));
            exact -= ExactSum(partition.column_shift[j]);
            if (graph.has_single_root() && heads[j] == 0) exact -= ExactSum(partition.root_shift);
        }
        exact -= ExactSum(partition.reduced);
        exact -= ExactSum(partition.reduced_error);
        value = exact.value();
    }
    return value < 0 ? value : 0.0;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
