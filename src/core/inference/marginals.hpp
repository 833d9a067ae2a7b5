// The probabilities of arcs: all of them, or those of the root alone.
#pragma once

#include <type_traits>

#include "elimination/censoring.hpp"
#include "elimination/recursion.hpp"
#include "numbers/of_four_graphs.hpp"
#include "numbers/row_copies.hpp"
#include "numbers/sums.hpp"
#include "walk/problem.hpp"
#include "walk/problem_of_four_graphs.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// The chances of all heads of one node: chance[0] the root, chance[i + 1] node i.
template <class Scalar>
inline void head_chances(Index n, const LeafView<Scalar>& leaf, Scalar* chance) {
    chance[0] = leaf.root_weight;
    for (Index i = 0; i < n; ++i) chance[i + 1] = leaf.row[i] * leaf.h[i];
    normalise(chance, n + 1);
}

// The same in two passes over vectors that begin with the root, as the sum needs them.
inline void head_chances(Index n, const LeafView<double>& leaf, double* chance) {
    chance[0] = leaf.root_weight;
    for (Index i = 0; i < n && i < vector_length - 1; ++i) chance[i + 1] = leaf.row[i] * leaf.h[i];
    in_vectors(
        n - (vector_length - 1),
        [&](Index i) {
            const Index k = i + vector_length - 1;
            store(chance + k + 1, load(leaf.row + k) * load(leaf.h + k));
        },
        [&](Index i) {
            const Index k = i + vector_length - 1;
            chance[k + 1] = leaf.row[k] * leaf.h[k];
        });
    const double total = sum(chance, n + 1);
    Index i = 0;
    for (; i + vector_length <= n + 1; i += vector_length) {
        store(chance + i, load(chance + i) / total);
    }
    for (; i <= n; ++i) chance[i] = chance[i] / total;
}

template <class Scalar>
struct MarginalLeaf : ReadingLeaf {
    Index n;
    Scalar* chance;             // n + 1
    Result<Scalar>* marginals;  // row j: the n + 1 heads of node j

    void visit(Index j, const LeafView<Scalar>& leaf) {
        Result<Scalar>* row = marginals + j * (n + 1);
        if constexpr (std::is_same<Scalar, Result<Scalar>>::value) {
            head_chances(n, leaf, row);
        } else {
            head_chances(n, leaf, chance);
            for (Index i = 0; i <= n; ++i) row[i] = to_double(chance[i]);
        }
    }
};

template <class Scalar>
bool marginals_by_dependent(Problem<Scalar>& problem, Result<Scalar>* marginals) {
    const Index n = problem.graph.num_words;
    MarginalLeaf<Scalar> leaf{{}, n, problem.arena.template take<Scalar>(n + 1), marginals};
    return recurse(problem.walk, leaf, problem);
}

// From a row per dependent to [head * stride + dependent] of each graph.
inline void write_by_head(const double* by_dependent, Index n, double* const* by_head,
                          Index stride) {
    constexpr Index at_once = 64;  // dependents, to write whole cache lines
    for (Index j = 0; j < n; j += at_once) {
        copy_transposed(by_head[0] + j + 1, stride, by_dependent + j * (n + 1), n + 1,
                        j + at_once < n ? at_once : n - j, n + 1);
    }
}
inline void write_by_head(const OfFourGraphs* by_dependent, Index n, double* const* by_head,
                          Index stride) {
    for_four_words(n, [&](Index j) {
        for (Index i = 0; i <= n; ++i) {
            FourDoubles of_graphs[vector_length];
            for (Index k = 0; k < vector_length; ++k) {
                of_graphs[k] = by_dependent[(j + k) * (n + 1) + i].values;
            }
            const Index place = i * stride + j + 1;
            store_columns(by_head[0] + place, by_head[1] + place, by_head[2] + place,
                          by_head[3] + place, of_graphs);
        }
    });
}

struct ArcMarginals {
    double* const* marginals;  // [head * stride + dependent], all other entries left alone
    Index stride;

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return Arena::rounded<Result<Scalar>>(n * (n + 1)) + Arena::rounded<Scalar>(n + 1) +
               Recursion<Scalar, MarginalLeaf<Scalar>>::workspace(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        const Index n = problem.graph.num_words;
        Result<Scalar>* by_dependent = problem.arena.template take<Result<Scalar>>(n * (n + 1));
        if (!marginals_by_dependent(problem, by_dependent)) return false;
        write_by_head(by_dependent, n, marginals, stride);
        return true;
    }
};

// The root's arcs alone, spanning trees: P(root -> j) is the share of the root's weight in the
// weight with which j reaches the root at all.  No landing is needed, so this is less work.
struct SpanningRootMarginals {
    double* const* marginals;  // [dependent], entries 1 .. n
    double* expected_steps;    // of Wilson's walk, all nodes together

    template <class Scalar>
    struct Leaf : ReadingLeaf {
        static constexpr bool needs_landing = false;
        Index n;
        double* const* marginals;
        Result<Scalar> expected_steps;
        void visit(Index j, const LeafView<Scalar>& leaf) {
            Result<Scalar> chance = to_double(leaf.root_weight / leaf.escape);
            for (Index g = 0; g < num_graphs<Scalar>; ++g) {
                // A chart's sum over all trees is rounded in another order than that over a part.
                const double share = of_graph(chance, g);
                marginals[g][j + 1] = share < 1.0 ? share : 1.0;
            }
            // From j the walk leaves for good with chance escape / (weight of all steps).
            Scalar steps = leaf.root_weight;
            for (Index i = 0; i < n; ++i) steps += leaf.row[i];
            expected_steps += to_double(steps / leaf.escape);
        }
    };

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return Recursion<Scalar, Leaf<Scalar>>::workspace(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        Leaf<Scalar> leaf{{}, problem.graph.num_words, marginals, Result<Scalar>(0.0)};
        const bool finished = recurse(problem.walk, leaf, problem);
        for (Index g = 0; g < num_graphs<Scalar>; ++g) {
            expected_steps[g] = of_graph(leaf.expected_steps, g);
        }
        return finished;
    }
};

// The root's arcs alone, dependency trees: one censoring.  The weight of all trees of the words
// rooted at word j is proportional to the stationary flow x_j of the walk among the words (the
// Markov chain tree theorem), so P(root -> j) is proportional to the root weight of j times x_j.
// What flows into node k from the nodes that outlived it flows out of it: x_k times its pivot.  The
// flow starts at the node whose pivot vanished at order 0: the last node of the part of the graph
// that the walk cannot leave.
struct DependencyRootMarginals {
    double* const* marginals;  // [dependent], entries 1 .. n

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
        Pivots<Scalar> pivots;
        censor(Rows<Scalar>{problem.walk, n, n, n + num_root_columns, stride}, pivots,
               problem.interrupt);
        set_partition(problem, pivots.product);
        if (pivots.dead_end || !(pivots.first_order == 1) || problem.interrupt.requested(n)) {
            return false;
        }
        for (Index j = 0; j < n; ++j) flow[j] = Scalar(0.0);
        for (Index j = n - 1; j >= 0; --j) {
            const Scalar* row = problem.walk + j * stride;
            // Not a division by 0, thrown away: it would raise a flag.
            const Scalar divisor = row[j] + where_positive(row[j], Scalar(0.0), Scalar(1.0));
            flow[j] = where_positive(row[j], flow[j] / divisor, Scalar(1.0));
            for (Index k = 0; k < j; ++k) flow[k] += flow[j] * row[k];
            chance[j] = chance[j] * flow[j];
        }
        normalise(chance, n);
        for (Index j = 0; j < n; ++j) {
            Result<Scalar> of_graphs = to_double(chance[j]);
            for (Index g = 0; g < num_graphs<Scalar>; ++g) {
                marginals[g][j + 1] = of_graph(of_graphs, g);
            }
        }
        return true;
    }
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
