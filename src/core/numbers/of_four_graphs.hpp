// One number of each of four graphs, side by side in a vector.
//
// Graphs of the same size are eliminated by the same operations in the same order, whatever their
// weights.  So four of them can share every operation: no sum runs across a vector, and nothing is
// too small to fill one.  Each graph gets the bits that it would get alone.
#pragma once

#include "numbers/four_doubles.hpp"
#include "numbers/matrix_product.hpp"
#include "numbers/unbounded_double.hpp"
#include "types/graph.hpp"

namespace arborand {
namespace ARBORAND_ISA {

static_assert(graphs_at_once == vector_length, "a number of each graph is one vector");

struct OfFourGraphs {
    FourDoubles values;

    OfFourGraphs() = default;  // not set, as with double
    explicit OfFourGraphs(double x) : values(broadcast(x)) {}
    explicit OfFourGraphs(FourDoubles x) : values(x) {}
};

inline OfFourGraphs operator+(OfFourGraphs x, OfFourGraphs y) {
    return OfFourGraphs(x.values + y.values);
}
inline OfFourGraphs& operator+=(OfFourGraphs& x, OfFourGraphs y) { return x = x + y; }
inline OfFourGraphs operator-(OfFourGraphs x, OfFourGraphs y) {
    return OfFourGraphs(x.values - y.values);
}
inline OfFourGraphs& operator-=(OfFourGraphs& x, OfFourGraphs y) { return x = x - y; }
inline OfFourGraphs operator*(OfFourGraphs x, OfFourGraphs y) {
    return OfFourGraphs(x.values * y.values);
}
inline OfFourGraphs operator/(OfFourGraphs x, OfFourGraphs y) {
    return OfFourGraphs(x.values / y.values);
}

// In all graphs, in none, and in each.
inline bool is_positive(OfFourGraphs x) { return all(x.values > broadcast(0.0)); }
inline bool is_zero(OfFourGraphs x) { return all(x.values == broadcast(0.0)); }
inline OfFourGraphs where_positive(OfFourGraphs x, OfFourGraphs y, OfFourGraphs z) {
    return OfFourGraphs(select(x.values > broadcast(0.0), y.values, z.values));
}

// In which graphs: a mask, or a truth value where there is one graph.
inline FourIntegers operator>(OfFourGraphs x, OfFourGraphs y) { return x.values > y.values; }
inline FourIntegers are_positive(OfFourGraphs x) { return x.values > broadcast(0.0); }
template <class Scalar>
inline bool are_positive(const Scalar& x) {
    return is_positive(x);
}
inline bool all(bool holds) { return holds; }
// y where that is set, else z
inline OfFourGraphs choose(FourIntegers holds, OfFourGraphs y, OfFourGraphs z) {
    return OfFourGraphs(select(holds, y.values, z.values));
}
template <class Number>
inline const Number& choose(bool holds, const Number& y, const Number& z) {
    return holds ? y : z;
}

// A number to divide by that is not 0 in any graph: 1 where it was.
inline OfFourGraphs as_divisor(OfFourGraphs x) {
    return x + where_positive(x, OfFourGraphs(0.0), OfFourGraphs(1.0));
}
template <class Scalar>
inline const Scalar& as_divisor(const Scalar& x) {
    return x;
}

inline OfFourGraphs to_double(OfFourGraphs x) { return x; }

// What results of a Scalar are: doubles, one of each graph.
template <class Scalar>
struct ResultOf {
    using Type = double;
};
template <>
struct ResultOf<OfFourGraphs> {
    using Type = OfFourGraphs;
};
template <class Scalar>
using Result = typename ResultOf<Scalar>::Type;
template <class Scalar>
constexpr Index num_graphs = 1;
template <>
inline constexpr Index num_graphs<OfFourGraphs> = graphs_at_once;

// The result that belongs to graph g.
inline double& of_graph(double& x, Index) { return x; }
inline double& of_graph(OfFourGraphs& x, Index g) { return reinterpret_cast<double*>(&x)[g]; }

// Where the highest of several results is, the first if there are several, in each graph.
inline void find_highest(const double* x, Index count, Index* places) {
    places[0] = 0;
    for (Index i = 1; i < count; ++i) {
        if (x[i] > x[places[0]]) places[0] = i;
    }
}
inline void find_highest(const OfFourGraphs* x, Index count, Index* places) {
    FourDoubles highest = x[0].values;
    FourIntegers place = {0, 0, 0, 0};
    for (Index i = 1; i < count; ++i) {
        const FourIntegers is_higher = x[i].values > highest;
        highest = select(is_higher, x[i].values, highest);
        place = select(is_higher, FourIntegers{i, i, i, i}, place);
    }
    for (Index g = 0; g < graphs_at_once; ++g) places[g] = place[g];
}

// Entry `place` of the arrays of all graphs.
template <class Real>
inline Real entry_of(const double* const* arrays, Index place) {
    Real entry;
    for (Index g = 0; g < num_graphs<Real>; ++g) of_graph(entry, g) = arrays[g][place];
    return entry;
}
template <>
inline OfFourGraphs entry_of(const double* const* arrays, Index place) {
    return OfFourGraphs(
        FourDoubles{arrays[0][place], arrays[1][place], arrays[2][place], arrays[3][place]});
}

struct OrdersOfFourGraphs {
    FourIntegers of = {0, 0, 0, 0};
};

inline OrdersOfFourGraphs order_of(OfFourGraphs x) {
    return {1 + (x.values > broadcast(0.0))};  // a comparison that holds is -1
}
inline OrdersOfFourGraphs& operator+=(OrdersOfFourGraphs& x, OrdersOfFourGraphs y) {
    x.of += y.of;
    return x;
}
// Of all graphs.
inline bool operator==(OrdersOfFourGraphs x, int y) { return all(x.of == y); }
inline bool operator<=(OrdersOfFourGraphs x, int y) { return all(x.of <= y); }

struct UnboundedOfFourGraphs {
    UnboundedDouble of[graphs_at_once];

    UnboundedOfFourGraphs() = default;
    explicit UnboundedOfFourGraphs(FourDoubles x)
        : of{UnboundedDouble(x[0]), UnboundedDouble(x[1]), UnboundedDouble(x[2]),
             UnboundedDouble(x[3])} {}
};

inline UnboundedOfFourGraphs to_unbounded(OfFourGraphs x) {
    return UnboundedOfFourGraphs(x.values);
}
inline UnboundedOfFourGraphs operator*(UnboundedOfFourGraphs x, const UnboundedOfFourGraphs& y) {
    for (Index g = 0; g < graphs_at_once; ++g) x.of[g] = x.of[g] * y.of[g];
    return x;
}

// The sum that each graph has alone: sums.hpp runs eight sums along its numbers.
inline OfFourGraphs sum(const OfFourGraphs* x, Index count) {
    constexpr Index at_once = 2 * vector_length;
    FourDoubles total[at_once];
    for (FourDoubles& part : total) part = broadcast(0.0);
    Index i = 0;
    for (; i + at_once <= count; i += at_once) {
        for (Index k = 0; k < at_once; ++k) total[k] += x[i + k].values;
    }
#pragma GCC unroll 8
    for (Index k = 0; k < at_once; ++k) {
        if (i + k < count) total[k] += x[i + k].values;
    }
    for (Index k = 0; k < vector_length; ++k) total[k] += total[k + vector_length];
    return OfFourGraphs((total[0] + total[2]) + (total[1] + total[3]));
}

// ---- C = D + A * B

namespace four_graphs_product_detail {

constexpr int tile_rows = 2, tile_columns = running_sums / tile_rows;

template <int Rows, int Columns>
inline void tile(OfFourGraphs* c, Index c_stride, Addend<OfFourGraphs> d, Strided<OfFourGraphs> a,
                 const OfFourGraphs* b, Index b_stride, Index depth) {
    FourDoubles sum[Rows][Columns];
    for (int i = 0; i < Rows; ++i) {
        for (int j = 0; j < Columns; ++j) sum[i][j] = d.data[i * d.stride + j].values;
    }
#pragma GCC unroll 2
    for (Index k = 0; k < depth; ++k) {
        FourDoubles row[Columns];
        for (int j = 0; j < Columns; ++j) row[j] = b[k * b_stride + j].values;
        for (int i = 0; i < Rows; ++i) {
            const FourDoubles factor = a.data[i * a.row + k * a.column].values;
            for (int j = 0; j < Columns; ++j) sum[i][j] += factor * row[j];
        }
    }
    for (int i = 0; i < Rows; ++i) {
        for (int j = 0; j < Columns; ++j) c[i * c_stride + j].values = sum[i][j];
    }
}

// The number of columns is a multiple of four, as everywhere.
template <int Rows>
inline void strip(OfFourGraphs* c, Index c_stride, Addend<OfFourGraphs> d, Strided<OfFourGraphs> a,
                  const OfFourGraphs* b, Index b_stride, Index depth, Index columns) {
    for (Index j = 0; j < columns; j += tile_columns) {
        tile<Rows, tile_columns>(c + j, c_stride, {d.data + j, d.stride}, a, b + j, b_stride,
                                 depth);
    }
}

}  // namespace four_graphs_product_detail

inline void set_to_product(OfFourGraphs* c, Index c_stride, Addend<OfFourGraphs> d,
                           Strided<OfFourGraphs> a, const OfFourGraphs* b, Index b_stride,
                           Index rows, Index depth, Index columns) {
    using namespace four_graphs_product_detail;
    Index i = 0;
    for (; i + tile_rows <= rows; i += tile_rows) {
        strip<tile_rows>(c + i * c_stride, c_stride, {d.data + i * d.stride, d.stride},
                         {a.data + i * a.row, a.row, a.column}, b, b_stride, depth, columns);
    }
    if (i < rows) {
        strip<1>(c + i * c_stride, c_stride, {d.data + i * d.stride, d.stride},
                 {a.data + i * a.row, a.row, a.column}, b, b_stride, depth, columns);
    }
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
