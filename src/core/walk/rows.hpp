// From log-weights to the rows of the walk.
//
// The walk of Wilson's algorithm goes from a node to one of its possible heads, in proportion to
// the arc's weight, until it reaches the root.  Row j lists the weights of the steps that leave j,
// first to the nodes, then to the root.  The root has two columns, because dependency trees are the
// limit of spanning trees whose root weights go to zero (elimination/censoring.hpp):
//
//     a   the weight of reaching the root at once            (order 0)
//     b   the same to first order in the vanishing weights   (order 1)
//
// Spanning trees start with their root weights in a, dependency trees in b.
#pragma once

#include <cfloat>
#include <cmath>
#include <type_traits>

#include "numbers/exactly_scaled.hpp"
#include "numbers/exponential.hpp"
#include "numbers/four_doubles.hpp"
#include "numbers/leading_term.hpp"
#include "numbers/row_copies.hpp"
#include "numbers/unbounded_double.hpp"
#include "types/graph.hpp"
#include "walk/shift.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// The highest of the shifted scores whose weights do not fit a number type, which are left out of
// the rows; walk/negligible.hpp says when that changes nothing.
constexpr double none_lost = -HUGE_VAL;

// A difference that overflowed is lower than any double.
inline double lost(double highest, Difference d) {
    return higher(higher(d.high, -DBL_MAX), highest);
}

// Scores further apart than this are for ExactlyScaled.
constexpr double largest_unbounded_score = 1e13;

// Four at a time.
inline FourDoubles convert(FourDoubles scores, DifferenceOf<FourDoubles> d,
                           FourDoubles& highest_lost) {
    const FourIntegers fits = d.high >= smallest_exponent;
    const FourDoubles lowest = broadcast(-DBL_MAX);
    const FourDoubles score = select(d.high > lowest, d.high, lowest);
    highest_lost =
        select(~fits & (scores > -HUGE_VAL) & (score > highest_lost), score, highest_lost);
    const FourDoubles weights = exp_in_range(DifferenceOf<FourDoubles>{
        select(fits, d.high, broadcast(0.0)), select(fits, d.low, broadcast(0.0))});
    return select(fits, weights, broadcast(0.0));
}

// Sixteen at a time, nearly all of which fit: vector k is of the scores of one head, measured from
// shifts[k].
inline void convert_block(const FourDoubles* scores, const FourDoubles* shifts,
                          FourDoubles* weights, FourDoubles* highest_lost) {
    DifferenceOf<FourDoubles> d[vector_length];
    FourIntegers fit = {-1, -1, -1, -1};
    for (Index k = 0; k < vector_length; ++k) {
        d[k] = exact_difference(scores[k], shifts[k]);
        fit &= d[k].high >= smallest_exponent;
    }
    if (all(fit)) {
        for (Index k = 0; k < vector_length; ++k) weights[k] = exp_in_range(d[k]);
    } else {
        for (Index k = 0; k < vector_length; ++k) {
            weights[k] = convert(scores[k], d[k], highest_lost[k]);
        }
    }
}

// The weights of all arcs that leave one head: `count` of them, from node 1 on.
template <bool is_root>
inline double convert_row(const double* scores, const Shift& shift, Index count, double* weights) {
    FourDoubles highest_lost = broadcast(none_lost);
    const FourDoubles root_shift = broadcast(shift.root), root_rest = broadcast(shift.root_rest);
    const auto convert_four = [&](FourDoubles score, FourDoubles column_shift) {
        return convert(score, shifted<is_root>(score, column_shift, root_shift, root_rest),
                       highest_lost);
    };
    const double* column = shift.column + 1;
    in_vectors(
        count,
        [&](Index j) { store(weights + j, convert_four(load(scores + j), load(column + j))); },
        [&](Index j) { weights[j] = convert_four(broadcast(scores[j]), broadcast(column[j]))[0]; });
    return highest_of(highest_lost);
}

template <bool is_root>
inline double convert_row(const double* scores, const Shift& shift, Index count,
                          UnboundedDouble* weights) {
    double highest_lost = none_lost;
    for (Index j = 0; j < count; ++j) {
        const Difference d =
            shifted<is_root>(scores[j], shift.column[j + 1], shift.root, shift.root_rest);
        const bool fits = std::fabs(d.high) <= largest_unbounded_score;  // not NaN: an overflow
        const bool absent = scores[j] == -HUGE_VAL;
        weights[j] = absent || !fits ? UnboundedDouble() : unbounded_exp(d);
        if (!absent && !fits) highest_lost = lost(highest_lost, d);
    }
    return highest_lost;
}

// Scores are kept as they are, so nothing needs to be shifted.
template <bool is_root>
inline double convert_row(const double* scores, const Shift&, Index count, ExactlyScaled* weights) {
    for (Index j = 0; j < count; ++j) {
        weights[j] = scores[j] == -HUGE_VAL ? ExactlyScaled() : ExactlyScaled::exp_of(scores[j]);
    }
    return none_lost;
}

// The weights of all arcs between nodes, into rows[dependent * stride + head].  `buffer` has room
// for one of the rows' columns.
template <class Scalar>
inline double convert_nodes(const Graph& graph, const Shift& shift, Scalar* rows, Index stride,
                            Scalar* buffer) {
    const Index n = graph.num_words;
    double highest_lost = none_lost;
    for (Index i = 0; i < n; ++i) {
        const double* scores = graph.log_weights + (i + 1) * graph.stride + 1;
        highest_lost = higher(highest_lost, convert_row<false>(scores, shift, n, buffer));
        for (Index j = 0; j < n; ++j) rows[j * stride + i] = buffer[j];
    }
    return highest_lost;
}

// In blocks of four heads and four dependents, nearly all of which fit.
inline double convert_nodes(const Graph& graph, const Shift& shift, double* rows, Index stride,
                            double*) {
    const double* scores = graph.log_weights + graph.stride + 1;
    const double* column = shift.column + 1;
    FourDoubles highest_lost[vector_length];
    for (FourDoubles& highest : highest_lost) highest = broadcast(none_lost);
    in_blocks(
        graph.num_words, graph.num_words,
        [&](Index i, Index j) {
            FourDoubles score[vector_length], shifts[vector_length], weights[vector_length];
            for (Index k = 0; k < vector_length; ++k) {
                score[k] = load(scores + (i + k) * graph.stride + j);
                shifts[k] = load(column + j);
            }
            convert_block(score, shifts, weights, highest_lost);
            store_transposed(rows + j * stride + i, stride, weights);
        },
        [&](Index i, Index j) {
            const FourDoubles score = broadcast(scores[i * graph.stride + j]);
            const auto d = exact_difference(score, broadcast(column[j]));
            rows[j * stride + i] = convert(score, d, highest_lost[0])[0];
        });
    double highest = none_lost;
    for (const FourDoubles& lost_here : highest_lost)
        highest = higher(highest, highest_of(lost_here));
    return highest;
}

// Whether scores may be so far apart that only ExactlyScaled holds them.  No: UnboundedDouble does.
// Half of the limit, because root arcs are shifted twice.
inline bool needs_exact_scale(const Graph& graph) {
    constexpr double largest_gap = largest_unbounded_score / 2;
    for (Index j = 1; j <= graph.num_words; ++j) {
        double lowest = HUGE_VAL, highest = -HUGE_VAL;
        for (Index i = 0; i <= graph.num_words; ++i) {
            const double score = graph.score(i, j);
            if (score == -HUGE_VAL) continue;
            lowest = score < lowest ? score : lowest;
            highest = score > highest ? score : highest;
        }
        if (!(highest - lowest <= largest_gap)) return true;
    }
    return false;
}

constexpr Index num_root_columns = 2;

inline Index walk_stride(Index num_words) { return padded(num_words + num_root_columns); }

// The columns of the root, and zeros up to the stride: entry i of row j is rows[j * stride + i *
// step].
template <class Scalar>
double convert_root(const Graph& graph, const Shift& shift, Scalar* rows, Index stride, Index step,
                    Scalar* buffer) {
    const Index n = graph.num_words;
    const double highest_lost = convert_row<true>(graph.log_weights + 1, shift, n, buffer);
    for (Index j = 0; j < n; ++j) {
        Scalar* row = rows + j * stride;
        row[n * step] = graph.has_single_root() ? Scalar(0.0) : buffer[j];
        row[(n + 1) * step] = graph.has_single_root() ? buffer[j] : Scalar(0.0);
        for (Index i = (n + num_root_columns) * step; i < stride; i += step) row[i] = Scalar(0.0);
    }
    // The root shift is -inf where the root has no arcs (inference/hitting_times.hpp).
    const bool fits = std::is_same<Scalar, ExactlyScaled>::value || shift.root == -HUGE_VAL ||
                      std::fabs(shift.root) <= largest_unbounded_score;
    return fits ? highest_lost : HUGE_VAL;
}

// Fill rows (num_words of them, walk_stride apart) with the walk: row j - 1 lists the weights of
// all heads of node j.  `buffer` has room for num_words.  Returns the highest of the shifted scores
// that a Scalar does not hold: `none_lost`, or a finite number, or infinity if nothing may be lost.
template <class Scalar>
double fill_walk(const Graph& graph, const Shift& shift, Scalar* rows, Scalar* buffer) {
    const Index stride = walk_stride(graph.num_words);
    const double highest_lost = convert_nodes(graph, shift, rows, stride, buffer);
    return higher(highest_lost, convert_root(graph, shift, rows, stride, 1, buffer));
}

// The step from node j to node i of a walk, or to the root for i = n, as one number.
template <class Scalar>
LeadingTerm<Scalar> leading_term(const Scalar* walk, Index n, Index j, Index i) {
    const Scalar* row = walk + j * walk_stride(n);
    if (i == j) return LeadingTerm<Scalar>();
    if (i < n || is_positive(row[n])) return {row[i], 0};
    return {row[n + 1], 1};
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
