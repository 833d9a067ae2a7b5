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
inline constexpr Index choices_at_once<FourDoubles> = vector_length;

// A node, and what is known of it when all the others of a small set are censored.
template <class Scalar>
struct Survivor {
    Index node;
    Scalar at_once;  // the weight with which it reaches the root at order 0; where it is 0, the
                     // leading order is 1
    Scalar escape;   // the same at the leading order
};

namespace small_sets_detail {

template <class Scalar>
inline Scalar part(const Scalar& number, Index) {
    return number;
}
inline double part(const FourDoubles& number, Index r) { return number[r]; }

// The first-order pivot of censoring.hpp where the one of order 0 vanishes.
template <class Scalar>
inline void normalise(Scalar* steps, Index count, Scalar pivot, Pivots<Scalar>& pivots) {
    if (!pivots.take(pivot, steps[count - 2], steps[count - 1])) return;
    const Scalar inverse = Scalar(1.0) / pivot;
    for (Index i = 0; i < count; ++i) steps[i] = steps[i] * inverse;
}

inline void normalise(FourDoubles* steps, Index count, FourDoubles pivot, Pivots<double>& pivots) {
    FourDoubles& at_once = steps[count - 2];
    FourDoubles& first_order = steps[count - 1];
    const FourDoubles zero = broadcast(0.0), one = broadcast(1.0);
    const FourIntegers positive = pivot > zero;
    pivots.multiply(positive[0] ? pivot[0] : first_order[0], positive[0] ? 0 : 1);
    // Not 1 / select(positive, pivot, 1): see Pivots::take.
    const FourDoubles inverse = one / (pivot + select(positive, zero, one));
    for (Index i = 0; i < count; ++i) steps[i] *= inverse;
    if (all(positive)) return;
    pivots.dead_end |= !all(positive | (first_order > zero));
    at_once = select(positive, at_once, one);
    first_order = select(positive, first_order, zero);
}

inline FourDoubles where_positive(FourDoubles x, FourDoubles y, FourDoubles z) {
    return select(x > broadcast(0.0), y, z);
}

// Nodes are censored in their order, the survivor comes last.
inline Index node_at(Index place, Index survivor) { return place < survivor ? place : place + 1; }

// The rows in that order.
template <class Scalar>
inline void arrange(const Scalar* const* rows, Index size, const Survivor<Scalar>* survivor,
                    Scalar (*step)[small_set_columns]) {
    const Index node = survivor->node;
    for (Index j = 0; j < size; ++j) {
        const Scalar* row = rows[j < size - 1 ? node_at(j, node) : node];
        for (Index i = 0; i < size - 1; ++i) step[j][i] = row[node_at(i, node)];
        step[j][size - 1] = row[node];
        for (Index i = size; i < size + num_root_columns; ++i) step[j][i] = row[i];
    }
}

// The same for four survivors: for each of them one of two neighbours is at a place.
inline void arrange(const double* const* rows, Index size, const Survivor<double>* survivors,
                    FourDoubles (*step)[small_set_columns]) {
    const Index last = size - 1, num_columns = size + num_root_columns;
    const Index node[vector_length] = {survivors[0].node, survivors[1].node, survivors[2].node,
                                       survivors[3].node};
    const FourIntegers nodes = {node[0], node[1], node[2], node[3]};
    // First the columns.
    for (Index j = 0; j < size; ++j) {
        const double* row = rows[j];
        for (Index i = 0; i < last; ++i) {
            step[j][i] = select(nodes > i, broadcast(row[i]), broadcast(row[i + 1]));
        }
        step[j][last] = FourDoubles{row[node[0]], row[node[1]], row[node[2]], row[node[3]]};
        for (Index i = size; i < num_columns; ++i) step[j][i] = broadcast(row[i]);
    }
    FourDoubles of_survivors[small_set_columns];
    for (Index i = 0; i < num_columns; ++i) {
        of_survivors[i] = FourDoubles{step[node[0]][i][0], step[node[1]][i][1], step[node[2]][i][2],
                                      step[node[3]][i][3]};
    }
    for (Index j = 0; j < last; ++j) {
        for (Index i = 0; i < num_columns; ++i) {
            step[j][i] = select(nodes > j, step[j][i], step[j + 1][i]);
        }
    }
    for (Index i = 0; i < num_columns; ++i) step[last][i] = of_survivors[i];
}

}  // namespace small_sets_detail

// Rows of `size` nodes, whose columns are these nodes, a, b.  Censor all of them but the
// node of survivors[r], for as many r as a Number has parts.  chance[r] is, for each node, its
// chance to reach the root before that survivor (0 for the survivor itself), at the survivor's
// leading order.  The product of the pivots is that of the first survivor, its own escape included.
template <class Number, class Scalar>
void censor_all_but_one(const Scalar* const* rows, Index size, Survivor<Scalar>* survivors,
                        Scalar (*chance)[largest_small_set], Pivots<Scalar>& pivots) {
    using namespace small_sets_detail;
    if (size < 1 || size > largest_small_set)
        return;  // never happens: it tells the compiler the range
    constexpr Index num_survivors = choices_at_once<Number>;
    Number step[largest_small_set][small_set_columns];
    arrange(rows, size, survivors, step);

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
    const Number escape = where_positive(at_once, step[last][a], step[last][b]);
    Number to_root[largest_small_set];
    for (Index k = last - 1; k >= 0; --k) {
        to_root[k] = where_positive(at_once, step[k][a], step[k][b]);
        for (Index j = k + 1; j < last; ++j) to_root[k] += step[k][j] * to_root[j];
    }

    pivots.multiply(part(escape, 0), order_of(part(at_once, 0)));
    for (Index r = 0; r < num_survivors; ++r) {
        survivors[r].at_once = part(at_once, r);
        survivors[r].escape = part(escape, r);
        pivots.dead_end |= !is_positive(survivors[r].escape);
        const Index survivor = survivors[r].node;
        for (Index k = 0; k < last; ++k) {
            chance[r][node_at(k, survivor)] = part(to_root[k], r);
        }
        chance[r][survivor] = Scalar(0.0);
    }
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
