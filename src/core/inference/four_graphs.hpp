// log Z and the probabilities of all arcs, of four graphs of the same size at once.
#pragma once

#include "elimination/censoring.hpp"
#include "elimination/recursion.hpp"
#include "inference/log_partition.hpp"
#include "inference/marginals.hpp"
#include "numbers/floating_point_guard.hpp"
#include "numbers/of_four_graphs.hpp"
#include "types/graph.hpp"
#include "types/requests.hpp"
#include "walk/problem.hpp"
#include "walk/rows_of_four_graphs.hpp"

namespace arborand {
namespace ARBORAND_ISA {

static_assert(fewest_words_at_once >= vector_length, "four words are taken at once, too");
static_assert(!Interrupt::asks_within(most_words_at_once),
              "nobody looks whether it was interrupted");

class FourGraphs {
  public:
    FourGraphs(const Graph* graphs, Arena& arena, const Interrupt& interrupt)
        : n_(graphs[0].num_words),
          arena_(arena),
          interrupt_(interrupt),
          problems_{{graphs[0], {nullptr}, nullptr, arena, interrupt},
                    {graphs[1], {nullptr}, nullptr, arena, interrupt},
                    {graphs[2], {nullptr}, nullptr, arena, interrupt},
                    {graphs[3], {nullptr}, nullptr, arena, interrupt}} {}

    // Marginals, where they are wanted, as `ArcMarginals` writes them.  left_range: a number of one
    // of the graphs left the range of double, and they have to be solved one by one.
    Status solve(PartitionOutput* outputs, double* const* marginals, Index stride) {
        if (!arena_.reserve(workspace(n_, marginals != nullptr))) return Status::no_memory;
        OfFourGraphs* walk = arena_.take<OfFourGraphs>(n_ * walk_stride(n_));
        double* buffer = arena_.take<double>(n_);
        for (Problem<double>& problem : problems_) {
            problem.shift.column = arena_.take<double>(n_ + 1);
            compute_shift(problem.graph, problem.shift);
        }
        fill_walks(problems_, walk, buffer);
        for (const Problem<double>& problem : problems_) {
            if (problem.highest_lost == HUGE_VAL) return Status::left_range;
        }
        const bool is_right = marginals == nullptr ? find_partitions(walk, buffer)
                                                   : find_marginals(walk, marginals, stride);
        if (!is_right) return Status::left_range;
        for (Index g = 0; g < graphs_at_once && outputs != nullptr; ++g) {
            LogPartition{outputs[g]}.report(problems_[g]);
        }
        return Status::ok;
    }

  private:
    struct Leaf : ReadingLeaf {
        Index n;
        OfFourGraphs* by_dependent;

        void visit(Index j, const LeafView<OfFourGraphs>& leaf) {
            head_chances(n, leaf, by_dependent + j * (n + 1));
        }
    };

    static std::size_t workspace(Index n, bool wants_marginals) {
        const std::size_t bytes = Arena::rounded<OfFourGraphs>(n * walk_stride(n)) +
                                  Arena::rounded<double>(n) +
                                  graphs_at_once * Arena::rounded<double>(n + 1);
        if (!wants_marginals) return bytes;
        return bytes + Arena::rounded<OfFourGraphs>(n * (n + 1)) +
               Recursion<OfFourGraphs, Leaf>::workspace(n);
    }

    // Z alone, of which double may lose a little: see walk/problem.hpp.
    bool find_partitions(OfFourGraphs* walk, double* buffer) {
        watch_range();
        Pivots<OfFourGraphs> pivots;
        censor(Rows<OfFourGraphs>{walk, n_, n_, n_ + num_root_columns, walk_stride(n_)}, pivots,
               interrupt_);
        take(pivots.product);
        const bool stayed_in_range = !left_range(walk);
        if (overflowed(walk) || pivots.dead_end) return false;
        if (!(pivots.first_order == (problems_[0].graph.has_single_root() ? 1 : 0))) return false;
        for (const Problem<double>& problem : problems_) {
            const auto log_sums = [&] {
                // The walks are used up: there is room for this one.
                double* rows = reinterpret_cast<double*>(walk);
                fill_walk(problem.graph, problem.shift, rows, buffer);
                return log_of_sums(rows, n_);
            };
            if (!is_right_as_a_whole(problem, stayed_in_range, log_sums)) return false;
        }
        return true;
    }

    bool find_marginals(const OfFourGraphs* walk, double* const* marginals, Index stride) {
        OfFourGraphs* by_dependent = arena_.take<OfFourGraphs>(n_ * (n_ + 1));
        watch_range();
        Leaf leaf{{}, n_, by_dependent};
        Recursion<OfFourGraphs, Leaf> recursion(walk, n_, leaf, arena_, interrupt_);
        const bool finished = recursion.run();
        take(recursion.partition());
        if (left_range(walk) || !finished) return false;
        for (const Problem<double>& problem : problems_) {
            if (!is_complete(problem)) return false;
        }
        write_by_head(by_dependent, marginals, stride);
        return true;
    }

    void take(const UnboundedOfFourGraphs& partitions) {
        for (Index g = 0; g < graphs_at_once; ++g) problems_[g].partition = partitions.of[g];
    }

    // From a row per dependent to [head * stride + dependent] of each graph.
    void write_by_head(const OfFourGraphs* by_dependent, double* const* by_head,
                       Index stride) const {
        for_four_words(n_, [&](Index j) {
            for (Index i = 0; i <= n_; ++i) {
                FourDoubles of_graphs[vector_length];
                for (Index k = 0; k < vector_length; ++k) {
                    of_graphs[k] = by_dependent[(j + k) * (n_ + 1) + i].values;
                }
                const Index place = i * stride + j + 1;
                store_columns(by_head[0] + place, by_head[1] + place, by_head[2] + place,
                              by_head[3] + place, of_graphs);
            }
        });
    }

    Index n_;
    Arena& arena_;
    const Interrupt& interrupt_;
    Problem<double> problems_[graphs_at_once];
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
