// Censoring of all but one of a few nodes: the last levels of the recursion.
//
// The walk is that of censoring.hpp, on matrices so small that its blocks would take longer to set
// up than to work on.  A `Number` is a scalar, or four doubles that belong to four choices of the
// node to keep: the work on one matrix then serves four, and no sum runs across a vector.
#pragma once

#include "censoring.hpp"

namespace arborand {
namespace ARBORAND_ISA {

constexpr Index few = 6;
constexpr Index few_columns = few + num_root_columns;

namespace few_detail {

template <class Number>
constexpr Index width = 1;
template <>
constexpr Index width<Lanes> = lanes;

template <class Scalar>
inline Scalar part(const Scalar& number, Index) {
    return number;
}
inline double part(const Lanes& number, Index r) { return number[r]; }

// The first-order pivot of censoring.hpp where the one of order 0 vanishes.
template <class Scalar>
inline void normalise(Scalar* steps, Index count, Scalar pivot, Pivots& pivots) {
    Scalar& at_once = steps[count - 2];
    Scalar& first_order = steps[count - 1];
    if (is_positive(pivot)) {
        const Scalar inverse = Scalar(1.0) / pivot;
        for (Index i = 0; i < count; ++i) steps[i] = steps[i] * inverse;
    } else {
        pivots.dead_end |= !is_positive(first_order);
        at_once = Scalar(1.0);
        first_order = Scalar(0.0);
    }
}

inline void normalise(Lanes* steps, Index count, Lanes pivot, Pivots& pivots) {
    Lanes& at_once = steps[count - 2];
    Lanes& first_order = steps[count - 1];
    const Lanes zero = broadcast(0.0), one = broadcast(1.0);
    const IntegerLanes positive = pivot > zero;
    const Lanes inverse = one / select(positive, pivot, one);
    for (Index i = 0; i < count; ++i) steps[i] *= inverse;
    if (all(positive)) return;
    pivots.dead_end |= !all(positive | (first_order > zero));
    at_once = select(positive, at_once, one);
    first_order = select(positive, first_order, zero);
}

// The one of two numbers that belongs to the leading order, which `at_once` tells.
template <class Scalar>
inline const Scalar& leading(const Scalar& at_once, const Scalar& order_0, const Scalar& order_1) {
    return is_positive(at_once) ? order_0 : order_1;
}
inline Lanes leading(Lanes at_once, Lanes order_0, Lanes order_1) {
    return select(at_once > broadcast(0.0), order_0, order_1);
}

}  // namespace few_detail

// A node, and what is known of it when all the others of a few are censored.
template <class Scalar>
struct Kept {
    Index node;
    Index order;    // the leading one
    Scalar escape;  // the weight with which it reaches the root, at that order
};

// Rows of `size` nodes, whose columns are these nodes, a, b.  Keep one node after the other, as
// many as a Number has parts; chance[r] tells of each node its chance to reach the root before the
// node kept[r] (0 for that itself), at that node's leading order.
template <class Number, class Scalar>
void keep_one(const Scalar* const* rows, Index size, Kept<Scalar>* kept, Scalar (*chance)[few],
              Pivots& pivots) {
    using namespace few_detail;
    if (size < 1 || size > few) return;  // never; the compiler wants to know
    constexpr Index num_kept = width<Number>;
    // In the order in which they are censored, the kept one last.
    Index place[num_kept][few_columns];
    for (Index r = 0; r < num_kept; ++r) {
        for (Index i = 0; i < size - 1; ++i) place[r][i] = i < kept[r].node ? i : i + 1;
        place[r][size - 1] = kept[r].node;
        for (Index i = size; i < size + num_root_columns; ++i) place[r][i] = i;
    }
    Number step[few][few_columns];
    for (Index j = 0; j < size; ++j) {
        for (Index i = 0; i < size + num_root_columns; ++i) {
            const auto entry = [&](Index r) { return rows[place[r][j]][place[r][i]]; };
            if constexpr (num_kept == 1) {
                step[j][i] = entry(0);
            } else {
                step[j][i] = Number{entry(0), entry(1), entry(2), entry(3)};
            }
        }
    }

    const Index last = size - 1, a = size, b = size + 1;
    for (Index k = 0; k < last; ++k) {
        Number pivot = step[k][k + 1];
        for (Index i = k + 2; i <= a; ++i) pivot += step[k][i];
        normalise(step[k] + k + 1, b - k, pivot, pivots);
        for (Index j = k + 1; j < size; ++j) {
            for (Index i = k + 1; i <= b; ++i) step[j][i] += step[j][k] * step[k][i];
        }
    }
    const Number at_once = step[last][a];
    const Number escape = leading(at_once, step[last][a], step[last][b]);
    Number to_root[few];
    for (Index k = last - 1; k >= 0; --k) {
        to_root[k] = leading(at_once, step[k][a], step[k][b]);
        for (Index j = k + 1; j < last; ++j) to_root[k] += step[k][j] * to_root[j];
    }

    for (Index r = 0; r < num_kept; ++r) {
        kept[r].order = is_positive(part(at_once, r)) ? 0 : 1;
        kept[r].escape = part(escape, r);
        pivots.dead_end |= !is_positive(kept[r].escape);
        for (Index k = 0; k < last; ++k) chance[r][place[r][k]] = part(to_root[k], r);
        chance[r][kept[r].node] = Scalar(0.0);
    }
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
