// Censoring of all but one node of a small set: the last levels of the recursion.
//
// The walk is that of censoring.hpp, on matrices so small that its blocks would take longer to set
// up than to work on.  A `Number` is a scalar, or four doubles that belong to four choices of the
// surviving node: the work on one matrix then serves four, and no sum runs across a vector.
#pragma once

#include "elimination/censoring.hpp"
#include "numbers/four_doubles.hpp"
#include "walk/rows.hpp"

namespace arborand {
namespace ARBORAND_ISA {

constexpr Index largest_small_set = 6;
constexpr Index small_set_columns = largest_small_set + num_root_columns;

// How many choices of the surviving node a Number serves.
template <class Number>
constexpr Index choices_at_once = 1;
template <>
constexpr Index choices_at_once<FourDoubles> = vector_length;

namespace small_sets_detail {

template <class Scalar>
inline Scalar part(const Scalar& number, Index) {
    return number;
}
inline double part(const FourDoubles& number, Index r) { return number[r]; }

// The first-order pivot of censoring.hpp where the one of order 0 vanishes.
template <class Scalar>
inline void normalise(Scalar* steps, Index count, Scalar pivot, Pivots& pivots) {
    Scalar& at_once = steps[count - 2];
    Scalar& first_order = steps[count - 1];
    if (is_positive(pivot)) {
        pivots.multiply(pivot, 0);
        const Scalar inverse = Scalar(1.0) / pivot;
        for (Index i = 0; i < count; ++i) steps[i] = steps[i] * inverse;
    } else {
        pivots.multiply(first_order, 1);
        pivots.dead_end |= !is_positive(first_order);
        at_once = Scalar(1.0);
        first_order = Scalar(0.0);
    }
}

inline void normalise(FourDoubles* steps, Index count, FourDoubles pivot, Pivots& pivots) {
    FourDoubles& at_once = steps[count - 2];
    FourDoubles& first_order = steps[count - 1];
    const FourDoubles zero = broadcast(0.0), one = broadcast(1.0);
    const FourIntegers positive = pivot > zero;
    pivots.multiply(positive[0] ? pivot[0] : first_order[0], positive[0] ? 0 : 1);
    // Not 1 / select(positive, pivot, 1): of that, compilers make a division by 0 and throw it
    // away, which raises a flag.
    const FourDoubles inverse = one / (pivot + select(positive, zero, one));
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
inline FourDoubles leading(FourDoubles at_once, FourDoubles order_0, FourDoubles order_1) {
    return select(at_once > broadcast(0.0), order_0, order_1);
}

}  // namespace small_sets_detail

// A node, and what is known of it when all the others of a small set are censored.
template <class Scalar>
struct Survivor {
    Index node;
    Index order;    // the leading one
    Scalar escape;  // the weight with which it reaches the root, at that order
};

// Rows of `size` nodes, whose columns are these nodes, a, b.  Censor all of them but the
// node of survivors[r], for as many r as a Number has parts.  chance[r] is, for each node, its
// chance to reach the root before that survivor (0 for the survivor itself), at the survivor's
// leading order.  The product of the pivots is that of the first survivor, its own escape included.
template <class Number, class Scalar>
void censor_all_but_one(const Scalar* const* rows, Index size, Survivor<Scalar>* survivors,
                        Scalar (*chance)[largest_small_set], Pivots& pivots) {
    using namespace small_sets_detail;
    if (size < 1 || size > largest_small_set) return;  // never; the compiler wants to know
    constexpr Index num_survivors = choices_at_once<Number>;
    // In the order in which they are censored, the survivor last.
    Index place[num_survivors][small_set_columns];
    for (Index r = 0; r < num_survivors; ++r) {
        for (Index i = 0; i < size - 1; ++i) place[r][i] = i < survivors[r].node ? i : i + 1;
        place[r][size - 1] = survivors[r].node;
        for (Index i = size; i < size + num_root_columns; ++i) place[r][i] = i;
    }
    Number step[largest_small_set][small_set_columns];
    for (Index j = 0; j < size; ++j) {
        for (Index i = 0; i < size + num_root_columns; ++i) {
            const auto entry = [&](Index r) { return rows[place[r][j]][place[r][i]]; };
            if constexpr (num_survivors == 1) {
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
    Number to_root[largest_small_set];
    for (Index k = last - 1; k >= 0; --k) {
        to_root[k] = leading(at_once, step[k][a], step[k][b]);
        for (Index j = k + 1; j < last; ++j) to_root[k] += step[k][j] * to_root[j];
    }

    pivots.multiply(part(escape, 0), is_positive(part(at_once, 0)) ? 0 : 1);
    for (Index r = 0; r < num_survivors; ++r) {
        survivors[r].order = is_positive(part(at_once, r)) ? 0 : 1;
        survivors[r].escape = part(escape, r);
        pivots.dead_end |= !is_positive(survivors[r].escape);
        for (Index k = 0; k < last; ++k) chance[r][place[r][k]] = part(to_root[k], r);
        chance[r][survivors[r].node] = Scalar(0.0);
    }
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
