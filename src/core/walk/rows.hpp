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

#include <cmath>
#include <type_traits>

#include "numbers/exactly_scaled.hpp"
#include "numbers/exponential.hpp"
#include "numbers/four_doubles.hpp"
#include "numbers/unbounded_double.hpp"
#include "types/graph.hpp"
#include "walk/shift.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// The weight of an arc whose shifted score is d; false if it is not a normal double.
inline bool convert(bool absent, Difference d, double& weight) {
    const bool fits = d.high >= smallest_exponent;
    weight = fits ? exp_in_range(d) : 0.0;
    return fits || absent;
}

// Scores further apart than this are for ExactlyScaled.
constexpr double largest_unbounded_score = 1e13;

inline bool convert(bool absent, Difference d, UnboundedDouble& weight) {
    const bool fits = std::fabs(d.high) <= largest_unbounded_score;  // false for NaN: an overflow
    weight = absent || !fits ? UnboundedDouble() : unbounded_exp(d);
    return fits || absent;
}

// Four at a time; `too_small` collects the finite scores that do not fit.
inline FourDoubles convert(FourDoubles scores, DifferenceOf<FourDoubles> d,
                           FourIntegers& too_small) {
    const FourIntegers fits = d.high >= smallest_exponent;
    too_small |= ~fits & (scores > -HUGE_VAL);
    const FourDoubles weights = exp_in_range(DifferenceOf<FourDoubles>{
        select(fits, d.high, broadcast(0.0)), select(fits, d.low, broadcast(0.0))});
    return select(fits, weights, broadcast(0.0));
}

// The weights of all arcs that leave one head: `count` of them, from node 1 on.
template <bool is_root>
inline bool convert_row(const double* scores, const Shift& shift, Index count, double* weights) {
    FourIntegers too_small = {0, 0, 0, 0};
    const FourDoubles root_shift = broadcast(shift.root), root_rest = broadcast(shift.root_rest);
    const auto convert_four = [&](FourDoubles score, FourDoubles column_shift) {
        return convert(score, shifted<is_root>(score, column_shift, root_shift, root_rest),
                       too_small);
    };
    const double* column = shift.column + 1;
    Index j = 0;
    for (; j + vector_length <= count; j += vector_length) {
        store(weights + j, convert_four(load(scores + j), load(column + j)));
    }
    if (j < count && count >= vector_length) {  // the last vector, some of it for the second time
        j = count - vector_length;
        store(weights + j, convert_four(load(scores + j), load(column + j)));
    } else {
        for (; j < count; ++j) {
            weights[j] = convert_four(broadcast(scores[j]), broadcast(column[j]))[0];
        }
    }
    return (too_small[0] | too_small[1] | too_small[2] | too_small[3]) == 0;
}

template <bool is_root>
inline bool convert_row(const double* scores, const Shift& shift, Index count,
                        UnboundedDouble* weights) {
    bool fits = true;
    for (Index j = 0; j < count; ++j) {
        fits &=
            convert(scores[j] == -HUGE_VAL,
                    shifted<is_root>(scores[j], shift.column[j + 1], shift.root, shift.root_rest),
                    weights[j]);
    }
    return fits;
}

// Scores are kept as they are, so nothing needs to be shifted.
template <bool is_root>
inline bool convert_row(const double* scores, const Shift&, Index count, ExactlyScaled* weights) {
    for (Index j = 0; j < count; ++j) {
        weights[j] = scores[j] == -HUGE_VAL ? ExactlyScaled() : ExactlyScaled::exp_of(scores[j]);
    }
    return true;
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

// Fill rows (num_words of them, walk_stride apart) with the walk: row j - 1 lists the weights of
// all heads of node j.  `buffer` has room for num_words.  False: a finite score does not fit a
// Scalar.
template <class Scalar>
bool fill_walk(const Graph& graph, const Shift& shift, Scalar* rows, Scalar* buffer) {
    const Index n = graph.num_words;
    const Index stride = walk_stride(n);
    // The root shift is -inf where the root has no arcs (inference/hitting_times.hpp).
    bool fits = std::is_same<Scalar, ExactlyScaled>::value || shift.root == -HUGE_VAL ||
                std::fabs(shift.root) <= largest_unbounded_score;
    for (Index i = 1; i <= n; ++i) {
        const double* scores = graph.log_weights + i * graph.stride;
        fits &= convert_row<false>(scores + 1, shift, n, buffer);
        for (Index j = 0; j < n; ++j) rows[j * stride + i - 1] = buffer[j];
    }
    fits &= convert_row<true>(graph.log_weights + 1, shift, n, buffer);
    for (Index j = 0; j < n; ++j) {
        Scalar* root = rows + j * stride + n;
        root[0] = graph.single_root ? Scalar(0.0) : buffer[j];
        root[1] = graph.single_root ? buffer[j] : Scalar(0.0);
        for (Index pad = num_root_columns; pad < stride - n; ++pad) root[pad] = Scalar(0.0);
    }
    return fits;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
