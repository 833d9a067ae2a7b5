// From log-weights to the rows of the walk.
//
// Multiplying all arcs into a node by a constant changes no probability, so each column of scores
// is shifted by its maximum: the best step that leaves a node has weight 1.  Dependency trees use
// exactly one root arc, so their root weights may be scaled together as well.
#pragma once

#include "censoring.hpp"
#include "exponential.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// What was divided out of the weights: score - column[dependent] (- root for a root arc, in a
// dependency tree) is the logarithm of the entry in the rows.
struct Shift {
    double* column;  // num_words + 1 entries, the first unused
    double root = 0.0;
    double root_rest = 0.0;  // root + root_rest: a difference of scores may not fit one double
};

// A sum of doubles that keeps the rounding errors (Neumaier).
class CompensatedSum {
  public:
    void add(double x) {
        const double sum = high_ + x;
        low_ += std::fabs(high_) >= std::fabs(x) ? (high_ - sum) + x : (x - sum) + high_;
        high_ = sum;
    }
    double value() const { return std::isinf(high_) ? high_ : high_ + low_; }

  private:
    double high_ = 0.0, low_ = 0.0;
};

inline void compute_shift(const Graph& graph, Shift& shift) {
    const Index n = graph.num_words;
    shift.column[0] = 0.0;
    for (Index j = 1; j <= n; ++j) shift.column[j] = -HUGE_VAL;
    for (Index i = graph.single_root ? 1 : 0; i <= n; ++i) {
        const double* scores = graph.log_weights + i * graph.stride;
        for (Index j = 1; j <= n; ++j) {
            shift.column[j] = scores[j] > shift.column[j] ? scores[j] : shift.column[j];
        }
    }
    shift.root = shift.root_rest = 0.0;
    if (!graph.single_root) return;
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
    const double score = graph.score(head, dependent), column = shift.column[dependent];
    const Difference d = head == 0 ? shifted<true>(score, column, shift.root, shift.root_rest)
                                   : shifted<false>(score, column, 0.0, 0.0);
    return d.high + d.low;
}

// The weight of an arc whose shifted score is d; false if it is not a normal double.
inline bool convert(bool absent, Difference d, double& weight) {
    const bool fits = d.high >= smallest_exponent;
    weight = fits ? exp_in_range(d) : 0.0;
    return fits || absent;
}

inline bool convert(bool absent, Difference d, Wide& weight) {
    // A difference that overflowed may have become NaN on the way.
    if (std::isnan(d.high)) d = {-HUGE_VAL, 0.0};
    weight = absent ? Wide() : wide_exp(d);
    return true;
}

// Four at a time; `too_small` collects the finite scores that do not fit.
inline Lanes convert(Lanes scores, DifferenceOf<Lanes> d, IntegerLanes& too_small) {
    const IntegerLanes fits = d.high >= smallest_exponent;
    too_small |= ~fits & (scores > -HUGE_VAL);
    const Lanes weights = exp_in_range(DifferenceOf<Lanes>{select(fits, d.high, broadcast(0.0)),
                                                           select(fits, d.low, broadcast(0.0))});
    return select(fits, weights, broadcast(0.0));
}

// The weights of all arcs that leave one head: `count` of them, from node 1 on.
template <bool is_root>
inline bool convert_row(const double* scores, const Shift& shift, Index count, double* weights) {
    IntegerLanes too_small = {0, 0, 0, 0};
    const Lanes root_shift = broadcast(shift.root), root_rest = broadcast(shift.root_rest);
    const auto convert_four = [&](Lanes score, Lanes column_shift) {
        return convert(score, shifted<is_root>(score, column_shift, root_shift, root_rest),
                       too_small);
    };
    const double* column = shift.column + 1;
    Index j = 0;
    for (; j + lanes <= count; j += lanes) {
        store(weights + j, convert_four(load(scores + j), load(column + j)));
    }
    if (j < count && count >= lanes) {  // the last vector, some of it for the second time
        j = count - lanes;
        store(weights + j, convert_four(load(scores + j), load(column + j)));
    } else {
        for (; j < count; ++j) {
            weights[j] = convert_four(broadcast(scores[j]), broadcast(column[j]))[0];
        }
    }
    return (too_small[0] | too_small[1] | too_small[2] | too_small[3]) == 0;
}

template <bool is_root>
inline bool convert_row(const double* scores, const Shift& shift, Index count, Wide* weights) {
    for (Index j = 0; j < count; ++j) {
        convert(scores[j] == -HUGE_VAL,
                shifted<is_root>(scores[j], shift.column[j + 1], shift.root, shift.root_rest),
                weights[j]);
    }
    return true;
}

inline Index walk_stride(Index num_words) { return padded(num_words + num_root_columns); }

// Fill rows (num_words of them, walk_stride apart) with the walk: row j - 1 lists the weights of
// all heads of node j.  `buffer` has room for num_words.  False: a finite score does not fit a
// Scalar.
template <class Scalar>
bool fill_walk(const Graph& graph, const Shift& shift, Scalar* rows, Scalar* buffer) {
    const Index n = graph.num_words;
    const Index stride = walk_stride(n);
    bool fits = true;
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
