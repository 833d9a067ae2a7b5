// From the scores of four graphs of the same size to the rows of their walks, side by side.
#pragma once

#include "numbers/of_four_graphs.hpp"
#include "numbers/row_copies.hpp"
#include "walk/problem.hpp"
#include "walk/rows.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// The first of four words, for all words: the last four for the second time where fewer are left.
template <class Do>
ARBORAND_INLINE void for_four_words(Index num_words, const Do& of_words) {
    const Index last = num_words - vector_length;
    for (Index j = 0; j < num_words; j += vector_length) of_words(j < last ? j : last);
}

// As fill_walk of rows.hpp, for problems whose shifts are known.  `buffer` has room for the words.
inline void fill_walks(Problem<double>* problems, OfFourGraphs* rows, double* buffer) {
    const Index n = problems[0].graph.num_words, stride = walk_stride(n);
    FourDoubles highest_lost[graphs_at_once];
    for (FourDoubles& highest : highest_lost) highest = broadcast(none_lost);
    for_four_words(n, [&](Index j) {
        FourDoubles scores[graphs_at_once], shifts[graphs_at_once], weights[graphs_at_once];
        for (Index g = 0; g < graphs_at_once; ++g)
            shifts[g] = load(problems[g].shift.column + j + 1);
        for (Index i = 0; i < n; ++i) {
            for (Index g = 0; g < graphs_at_once; ++g) {
                const Graph& graph = problems[g].graph;
                scores[g] = load(graph.log_weights + (i + 1) * graph.stride + j + 1);
            }
            convert_block(scores, shifts, weights, highest_lost);
            store_transposed(reinterpret_cast<double*>(rows + j * stride + i),
                             graphs_at_once * stride, weights);
        }
    });
    for (Index g = 0; g < graphs_at_once; ++g) {
        Problem<double>& problem = problems[g];
        const double lost_with_root =
            convert_root(problem.graph, problem.shift, reinterpret_cast<double*>(rows) + g,
                         graphs_at_once * stride, graphs_at_once, buffer);
        problem.highest_lost = higher(highest_of(highest_lost[g]), lost_with_root);
    }
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
