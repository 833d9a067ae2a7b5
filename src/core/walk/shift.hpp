// What is divided out of the weights before the walk is made.
//
// Multiplying all arcs into a node by a constant changes no probability, so each column of scores
// is shifted by its maximum: the best step that leaves a node has weight 1.  Dependency trees use
// exactly one root arc, so their root weights may be scaled together as well.
#pragma once

#include <cmath>

#include "numbers/exact_arithmetic.hpp"
#include "numbers/row_copies.hpp"
#include "types/graph.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// What was divided out of the weights: score - column[dependent] (- root for a root arc, in a
// dependency tree) is the logarithm of the entry in the rows.
struct Shift {
    double* column = nullptr;  // num_words + 1 entries, the first unused
    double root = 0.0;
    double root_rest = 0.0;  // root + root_rest: a difference of scores may not fit one double
};

inline void compute_shift(const Graph& graph, Shift& shift) {
    const Index n = graph.num_words;
    shift.column[0] = 0.0;
    const Index first_head = graph.has_single_root() ? 1 : 0;
    const auto highest = [&](const auto& at, Index j) {
        FourDoubles best = broadcast(-HUGE_VAL);
        for (Index i = first_head; i <= n; ++i) {
            const FourDoubles scores = at(graph.log_weights + i * graph.stride + j + 1);
            best = select(scores > best, scores, best);
        }
        return best;
    };
    in_vectors(
        n, [&](Index j) { store(shift.column + j + 1, highest(load, j)); },
        [&](Index j) { shift.column[j + 1] = highest(load_one, j)[0]; });
    shift.root = shift.root_rest = 0.0;
    if (!graph.has_single_root()) return;
    shift.root = -HUGE_VAL;
    for (Index j = 1; j <= n; ++j) {
        const double score = graph.score(0, j);
        if (shift.column[j] == -HUGE_VAL) shift.column[j] = score;  // only the root can be its head
        const Difference d = exact_difference(score, shift.column[j]);
        if (d.high > shift.root || (d.high == shift.root && d.low > shift.root_rest)) {
            shift.root = d.high;
            shift.root_rest = d.low;
        }
    }
}

// Root arcs are shifted a second time.  Where all their scores are huge, what is left may be in the
// low parts alone.
template <bool is_root, class Real>
inline DifferenceOf<Real> shifted(Real score, Real column_shift, Real root_shift, Real root_rest) {
    const DifferenceOf<Real> d = exact_difference(score, column_shift);
    if (!is_root) return d;
    const DifferenceOf<Real> high = exact_difference(d.high, root_shift);
    const DifferenceOf<Real> low = exact_difference(d.low, root_rest);
    const DifferenceOf<Real> sum = exact_difference(high.high, -low.high);
    return {sum.high, sum.low + (high.low + low.low)};
}

// The logarithm of an arc's entry in the rows.
inline double log_entry(const Graph& graph, const Shift& shift, Index head, Index dependent) {
    const double column = shift.column[dependent];
    // Compilers may compute the entry of an arc that is not there, and throw it away.  From -inf
    // that would raise a flag, as if numbers had left their range.
    const bool is_there = graph.score(head, dependent) > -HUGE_VAL;
    const double score = is_there ? graph.score(head, dependent) : column;
    const Difference d = head == 0 ? shifted<true>(score, column, shift.root, shift.root_rest)
                                   : shifted<false>(score, column, 0.0, 0.0);
    return d.high + d.low;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
