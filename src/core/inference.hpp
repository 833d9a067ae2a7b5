// log Z, marginals, entropy and hitting times of one graph: the leaves of the recursion that read.
#pragma once

#include "problem.hpp"
#include "recursion.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// ---- log Z ------------------------------------------------------------------------------------

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
        log_of(pivots.product, output.reduced, output.reduced_error);
        // Every dependency tree has one root arc: the rest of its shift is the same for all.
        output.reduced_error += problem.shift.root_rest;
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

// ---- marginals --------------------------------------------------------------------------------

// The chances of all heads of one node: chance[0] the root, chance[i + 1] node i.
template <class Scalar>
inline void head_chances(Index n, const LeafView<Scalar>& leaf, Scalar* chance) {
    chance[0] = leaf.root_weight;
    for (Index i = 0; i < n; ++i) chance[i + 1] = leaf.row[i] * leaf.h[i];
    const Scalar total = censoring_detail::sum(chance, n + 1);
    censoring_detail::divide(chance, n + 1, total);
}

template <class Scalar>
struct MarginalLeaf : ReadingLeaf {
    Index n;
    Scalar* chance;     // n + 1
    double* marginals;  // row j: the heads of node j
    Index stride;

    void visit(Index j, const LeafView<Scalar>& leaf) {
        head_chances(n, leaf, chance);
        for (Index i = 0; i <= n; ++i) marginals[j * stride + i] = to_double(chance[i]);
    }
};

template <class Scalar>
bool marginals_by_dependent(Problem<Scalar>& problem, double* marginals, Index stride) {
    const Index n = problem.graph.num_words;
    MarginalLeaf<Scalar> leaf{{}, n, problem.arena.template take<Scalar>(n + 1), marginals, stride};
    return Recursion<Scalar, MarginalLeaf<Scalar>>(problem.walk, n, leaf, problem.arena,
                                                   problem.interrupt)
        .run();
}

struct ArcMarginals {
    double* marginals;  // [head * stride + dependent], all other entries left alone
    Index stride;

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return Arena::rounded<double>(n * (n + 1)) + Arena::rounded<Scalar>(n + 1) +
               Recursion<Scalar, MarginalLeaf<Scalar>>::workspace(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        const Index n = problem.graph.num_words;
        double* by_dependent = problem.arena.template take<double>(n * (n + 1));
        if (!marginals_by_dependent(problem, by_dependent, n + 1)) return false;
        constexpr Index block = 16;  // transposed block by block, to use whole cache lines
        for (Index j = 0; j < n; j += block) {
            const Index j_end = j + block < n ? j + block : n;
            for (Index i = 0; i <= n; ++i) {
                for (Index k = j; k < j_end; ++k) {
                    marginals[i * stride + k + 1] = by_dependent[k * (n + 1) + i];
                }
            }
        }
        return true;
    }
};

// The root's arcs alone, spanning trees: P(root -> j) is the share of the root's weight in the
// weight with which j reaches the root at all.  No landing is needed, so this is less work.
struct SpanningRootMarginals {
    double* marginals;      // [dependent], entries 1 .. n
    double expected_steps;  // of Wilson's walk, all nodes together

    template <class Scalar>
    struct Leaf {
        static constexpr bool needs_landing = false;
        static constexpr bool decides = false;
        Index n;
        SpanningRootMarginals& out;
        static Index head(Index) { return undecided; }
        static bool wants(Index, Index) { return true; }
        void visit(Index j, const LeafView<Scalar>& leaf) {
            out.marginals[j + 1] = to_double(leaf.root_weight / leaf.escape);
            // From j the walk leaves for good with chance escape / (weight of all steps).
            Scalar steps = leaf.root_weight;
            for (Index i = 0; i < n; ++i) steps += leaf.row[i];
            out.expected_steps += to_double(steps / leaf.escape);
        }
    };

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return Recursion<Scalar, Leaf<Scalar>>::workspace(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        expected_steps = 0.0;
        Leaf<Scalar> leaf{problem.graph.num_words, *this};
        return Recursion<Scalar, Leaf<Scalar>>(problem.walk, problem.graph.num_words, leaf,
                                               problem.arena, problem.interrupt)
            .run();
    }
};

// The root's arcs alone, dependency trees: one censoring.  The weight of all trees of the words
// rooted at word j is proportional to the stationary flow x_j of the walk among the words (the
// Markov chain tree theorem), so P(root -> j) is proportional to the root weight of j times x_j.
// What flows into node k from the nodes that outlived it flows out of it: x_k times its pivot.  The
// flow starts at the node whose pivot vanished at order 0: the last node of the part of the graph
// that the walk cannot leave.
struct DependencyRootMarginals {
    double* marginals;  // [dependent], entries 1 .. n

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return 2 * Arena::rounded<Scalar>(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        const Index n = problem.graph.num_words;
        const Index stride = walk_stride(n);
        Scalar* chance = problem.arena.template take<Scalar>(n);  // first the root weights
        Scalar* flow = problem.arena.template take<Scalar>(n);
        for (Index j = 0; j < n; ++j) chance[j] = problem.walk[j * stride + n + 1];
        Pivots pivots;
        censor(Rows<Scalar>{problem.walk, n, n, n + num_root_columns, stride}, pivots,
               problem.interrupt);
        if (pivots.dead_end || pivots.first_order != 1 || problem.interrupt.requested(n)) {
            return false;
        }
        for (Index j = 0; j < n; ++j) flow[j] = Scalar(0.0);
        bool started = false;
        for (Index j = n - 1; j >= 0; --j) {
            const Scalar* row = problem.walk + j * stride;
            const bool starts = !is_positive(row[j]);
            started |= starts;
            flow[j] = starts ? Scalar(1.0) : flow[j] / row[j];
            if (!started) flow[j] = Scalar(0.0);
            for (Index k = 0; k < j; ++k) flow[k] += flow[j] * row[k];
            chance[j] = chance[j] * flow[j];
        }
        censoring_detail::divide(chance, n, censoring_detail::sum(chance, n));
        for (Index j = 0; j < n; ++j) marginals[j + 1] = to_double(chance[j]);
        return true;
    }
};

// ---- entropy ----------------------------------------------------------------------------------

// The greedy tree: at every node the most probable head given the heads chosen so far.
template <class Scalar>
struct GreedyLeaf : DecidingLeaf {
    Index n;
    Scalar* chance;         // n + 1
    double surprise = 0.0;  // -log of the chance of the heads chosen so far

    void visit(Index j, const LeafView<Scalar>& leaf) {
        head_chances(n, leaf, chance);
        Index best = 0;
        for (Index i = 1; i <= n; ++i) {
            if (to_double(chance[i]) > to_double(chance[best])) best = i;
        }
        const double kept = to_double(chance[best]);
        chance[best] = Scalar(0.0);
        const double others = to_double(censoring_detail::sum(chance, n + 1));
        // Where the choice is nearly certain, what speaks against it is what is known accurately.
        surprise += others < 0.5 ? -std::log1p(-others) : -std::log(kept);
        heads[j] = best - 1;
    }
};

// With t the greedy tree, H = -log p(t) + sum over arcs of P(i -> j) * (score of t's arc - score).
// Subtracting nothing from 1, it keeps its digits when t has nearly all the mass: then both terms
// are sums of small numbers, each known to full relative accuracy.  Shifted scores do as well: all
// heads of a node share one shift, and all trees have one root arc if those have one of their own.
struct Entropy {
    double entropy;

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return Arena::rounded<double>(n * (n + 1)) + 2 * Arena::rounded<Scalar>(n + 1) +
               Arena::rounded<Index>(n) + Recursion<Scalar, MarginalLeaf<Scalar>>::workspace(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        const Graph& graph = problem.graph;
        const Index n = graph.num_words;
        double* marginals = problem.arena.template take<double>(n * (n + 1));
        Index* heads = problem.arena.template take<Index>(n);
        for (Index j = 0; j < n; ++j) heads[j] = undecided;
        GreedyLeaf<Scalar> greedy{{heads}, n, problem.arena.template take<Scalar>(n + 1)};
        const std::size_t mark = problem.arena.mark();
        if (!marginals_by_dependent(problem, marginals, n + 1)) return false;
        problem.arena.release(mark);
        if (!Recursion<Scalar, GreedyLeaf<Scalar>>(problem.walk, n, greedy, problem.arena,
                                                   problem.interrupt)
                 .run()) {
            return false;
        }
        CompensatedSum total;
        total.add(greedy.surprise);
        for (Index j = 0; j < n; ++j) {
            const double kept = log_entry(graph, problem.shift, heads[j] + 1, j + 1);
            for (Index i = 0; i <= n; ++i) {
                const double chance = marginals[j * (n + 1) + i];
                if (chance > 0) {
                    total.add(chance * (kept - log_entry(graph, problem.shift, i, j + 1)));
                }
            }
        }
        // Not negative, though rounding of marginals beside masks that all trees need could make it
        // so.
        entropy = total.value() > 0 ? total.value() : 0.0;
        return true;
    }
};

// ---- hitting times ----------------------------------------------------------------------------

// H = sum over i, j of pi_i pi_j h(i, j) for the walk on the words alone, where h(i, j) is the
// expected number of steps from i to j and pi the stationary distribution.
//
// The expected time is a first-order absorption: let every step lead to the root with chance
// epsilon, and the chance of ending there before reaching j is epsilon times the expected number of
// steps.  So the recursion for dependency trees, with every root weight set to the sum of the row,
// has h_i = h(i, j) at the leaf j, and the root's share there is pi_j.  A leaf of order 0 is a node
// that the walk leaves for ever: its pi is 0.
struct MeanHittingTime {
    double mean;

    template <class Scalar>
    struct Leaf : ReadingLeaf {
        Index n;
        Scalar* times;       // n x n, row j: h(i, j)
        Scalar* stationary;  // n
        void visit(Index j, const LeafView<Scalar>& leaf) {
            stationary[j] = leaf.at_first_order ? leaf.root_weight / leaf.escape : Scalar(0.0);
            for (Index i = 0; i < n; ++i) times[j * n + i] = leaf.h[i];
        }
    };

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return Arena::rounded<Scalar>(n * n) + Arena::rounded<Scalar>(n) +
               Recursion<Scalar, Leaf<Scalar>>::workspace(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        const Index n = problem.graph.num_words;
        for (Index j = 0; j < n; ++j) {
            Scalar* row = problem.walk + j * walk_stride(n);
            row[n] = Scalar(0.0);
            row[n + 1] = censoring_detail::sum(row, n);
            if (!is_positive(row[n + 1])) row[n + 1] = Scalar(1.0);  // it stays where it is
        }
        Leaf<Scalar> leaf{{},
                          n,
                          problem.arena.template take<Scalar>(n * n),
                          problem.arena.template take<Scalar>(n)};
        if (!Recursion<Scalar, Leaf<Scalar>>(problem.walk, n, leaf, problem.arena,
                                             problem.interrupt)
                 .run()) {
            return false;
        }
        Scalar total(0.0);
        for (Index j = 0; j < n; ++j) {
            if (!is_positive(leaf.stationary[j])) continue;
            for (Index i = 0; i < n; ++i) {
                if (!is_positive(leaf.stationary[i])) continue;
                total += leaf.stationary[i] * leaf.stationary[j] * leaf.times[j * n + i];
            }
        }
        mean = to_double(total);
        return true;
    }
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
