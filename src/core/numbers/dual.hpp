// Dual numbers: they carry their derivative in one direction of the scores.
//
// The elimination only adds, multiplies and divides, so it runs on these as it does on plain
// numbers, and gives each result together with its derivative.
//
// Why it is accurate.  Every entry x of the elimination is a ratio of two sums over forests with
// non-negative terms, so its logarithmic derivative x' / x is a difference of two means of the
// direction's sum over a forest: at most 2 n max|direction|, whatever the weights.  A sum averages
// logarithmic derivatives, a product adds them, a quotient subtracts them; each operation adds an
// error of a few units in the last place of n max|direction|, never more.
#pragma once

#include "numbers/exactly_scaled.hpp"
#include "numbers/four_doubles.hpp"
#include "numbers/matrix_product.hpp"
#include "numbers/of_four_graphs.hpp"
#include "numbers/unbounded_double.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// Within the range of double: the value and its derivative.
template <class Real>  // double or OfFourGraphs
struct Dual {
    Real value, tangent;

    Dual() : value(0.0), tangent(0.0) {}
    explicit Dual(double v) : value(v), tangent(0.0) {}
    Dual(Real v, Real t) : value(v), tangent(t) {}
};

template <class Real>
inline Dual<Real> operator+(const Dual<Real>& x, const Dual<Real>& y) {
    return {x.value + y.value, x.tangent + y.tangent};
}
template <class Real>
inline Dual<Real>& operator+=(Dual<Real>& x, const Dual<Real>& y) {
    return x = x + y;
}
template <class Real>
inline Dual<Real> operator*(const Dual<Real>& x, const Dual<Real>& y) {
    return {x.value * y.value, x.value * y.tangent + x.tangent * y.value};
}
template <class Real>
inline Dual<Real> operator/(const Dual<Real>& x, const Dual<Real>& y) {
    const Real quotient = x.value / y.value;
    return {quotient, (x.tangent - quotient * y.tangent) / y.value};
}
template <class Real>
inline bool is_positive(const Dual<Real>& x) {
    return is_positive(x.value);
}
template <class Real>
inline bool is_zero(const Dual<Real>& x) {
    return is_zero(x.value);
}
template <class Real>
inline auto order_of(const Dual<Real>& x) {
    return order_of(x.value);
}
template <class Real>
inline Dual<Real> where_positive(const Dual<Real>& x, const Dual<Real>& y, const Dual<Real>& z) {
    return {where_positive(x.value, y.value, z.value),
            where_positive(x.value, y.tangent, z.tangent)};
}
template <class Real>
inline auto to_unbounded(const Dual<Real>& x) {
    return to_unbounded(x.value);
}

// Beyond that range: the value and its logarithmic derivative, which never leaves it.
template <class Value>
struct WithRate {
    Value value;
    double rate;

    WithRate() : value(), rate(0.0) {}
    explicit WithRate(double v) : value(v), rate(0.0) {}
    WithRate(const Value& v, double r) : value(v), rate(r) {}
};

template <class Value>
inline WithRate<Value>& operator+=(WithRate<Value>& x, const WithRate<Value>& y) {
    if (!is_positive(y.value)) return x;
    if (!is_positive(x.value)) return x = y;
    const Value total = x.value + y.value;
    // Away from the larger part's rate by the smaller part's share.
    const double share_x = to_double(x.value / total);
    x.rate = share_x < 0.5 ? y.rate + share_x * (x.rate - y.rate)
                           : x.rate + to_double(y.value / total) * (y.rate - x.rate);
    x.value = total;
    return x;
}
template <class Value>
inline WithRate<Value> operator*(const WithRate<Value>& x, const WithRate<Value>& y) {
    if (!is_positive(x.value) || !is_positive(y.value)) return {};
    return {x.value * y.value, x.rate + y.rate};
}
template <class Value>
inline WithRate<Value> operator/(const WithRate<Value>& x, const WithRate<Value>& y) {
    if (!is_positive(x.value)) return {};
    return {x.value / y.value, x.rate - y.rate};
}
template <class Value>
inline bool is_positive(const WithRate<Value>& x) {
    return is_positive(x.value);
}
template <class Value>
inline UnboundedDouble to_unbounded(const WithRate<Value>& x) {
    return to_unbounded(x.value);
}

// The logarithmic derivative of a positive number, in graph g.
inline double rate_of(const Dual<double>& x, Index) { return x.tangent / x.value; }
inline double rate_of(const Dual<OfFourGraphs>& x, Index g) {
    return x.tangent.values[g] / x.value.values[g];
}
template <class Value>
inline double rate_of(const WithRate<Value>& x, Index) {
    return x.rate;
}

// ---- the number type with a tangent that belongs to a plain one, and how weights become one

template <class Scalar>
struct TangentOf {
    using Number = WithRate<Scalar>;
    static Number make(const Scalar& weight, double direction) {
        return {weight, is_positive(weight) ? direction : 0.0};
    }
};
template <class Real>
struct TangentWithin {
    using Number = Dual<Real>;
    static Number make(Real weight, Real direction) {
        return {weight, where_positive(weight, weight * direction, Real(0.0))};
    }
};
template <>
struct TangentOf<double> : TangentWithin<double> {};
template <>
struct TangentOf<OfFourGraphs> : TangentWithin<OfFourGraphs> {};

// ---- C = D + A * B -----------------------------------------------------------------------------
//
// A sliver of B is taken apart once into values and tangents, so that the inner loop is three
// products of doubles: value += a b, tangent += a b' + a' b.

namespace tangent_product_detail {

constexpr Index depth_block = 128;           // two packed slivers of 8 columns: 16 KiB
constexpr int tile_rows = running_sums / 4;  // of two vectors, with their tangents

template <int Rows, int Vectors>
inline void tile(Dual<double>* c, Index c_stride, Strided<Dual<double>> a, const double* values,
                 const double* tangents, Index depth) {
    FourDoubles value[Rows][Vectors], tangent[Rows][Vectors];
    for (int i = 0; i < Rows; ++i) {
        for (int v = 0; v < Vectors; ++v) {
            const double* from = &c[i * c_stride + vector_length * v].value;
            const FourDoubles first = load(from), second = load(from + vector_length);
            value[i][v] = shuffle<0, 2, 4, 6>(first, second);
            tangent[i][v] = shuffle<1, 3, 5, 7>(first, second);
        }
    }
    for (Index k = 0; k < depth; ++k) {
        FourDoubles b[Vectors], b_tangent[Vectors];
        for (int v = 0; v < Vectors; ++v) {
            b[v] = load(values + (k * Vectors + v) * vector_length);
            b_tangent[v] = load(tangents + (k * Vectors + v) * vector_length);
        }
        for (int i = 0; i < Rows; ++i) {
            const Dual<double> factor = a.data[i * a.row + k * a.column];
            for (int v = 0; v < Vectors; ++v) {
                value[i][v] += factor.value * b[v];
                tangent[i][v] += factor.value * b_tangent[v];
                tangent[i][v] += factor.tangent * b[v];
            }
        }
    }
    for (int i = 0; i < Rows; ++i) {
        for (int v = 0; v < Vectors; ++v) {
            double* to = &c[i * c_stride + vector_length * v].value;
            store(to, shuffle<0, 4, 1, 5>(value[i][v], tangent[i][v]));
            store(to + vector_length, shuffle<2, 6, 3, 7>(value[i][v], tangent[i][v]));
        }
    }
}

template <int Vectors>
inline void strip(Dual<double>* c, Index c_stride, Strided<Dual<double>> a, const Dual<double>* b,
                  Index b_stride, Index rows, Index depth) {
    alignas(64) double values[depth_block * Vectors * vector_length];
    alignas(64) double tangents[depth_block * Vectors * vector_length];
    for (Index k = 0; k < depth; ++k) {
        for (Index v = 0; v < Vectors * vector_length; ++v) {
            values[k * Vectors * vector_length + v] = b[k * b_stride + v].value;
            tangents[k * Vectors * vector_length + v] = b[k * b_stride + v].tangent;
        }
    }
    Index i = 0;
    for (; i + tile_rows <= rows; i += tile_rows) {
        tile<tile_rows, Vectors>(c + i * c_stride, c_stride, {a.data + i * a.row, a.row, a.column},
                                 values, tangents, depth);
    }
    if (i < rows) {
        tile<1, Vectors>(c + i * c_stride, c_stride, {a.data + i * a.row, a.row, a.column}, values,
                         tangents, depth);
    }
}

// Few rows are not worth taking B apart.  On values and tangents side by side a row is
// c += a (b, b'), then c += a' (0, b): the same sums in the same order.
inline void few_rows(Dual<double>* c, Index c_stride, Strided<Dual<double>> a,
                     const Dual<double>* b, Index b_stride, Index rows, Index depth,
                     Index columns) {
    constexpr Index width = vector_length / 2;
    for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < columns; j += 2 * width) {
            double* to = &c[i * c_stride + j].value;
            FourDoubles first = load(to), second = load(to + vector_length);
            for (Index k = 0; k < depth; ++k) {
                const Dual<double> factor = a.data[i * a.row + k * a.column];
                const FourDoubles tangent = {0.0, factor.tangent, 0.0, factor.tangent};
                const double* from = &b[k * b_stride + j].value;
                const FourDoubles x = load(from), y = load(from + vector_length);
                first += factor.value * x;
                first += tangent * shuffle<0, 0, 2, 2>(x, x);
                second += factor.value * y;
                second += tangent * shuffle<0, 0, 2, 2>(y, y);
            }
            store(to, first);
            store(to + vector_length, second);
        }
    }
}

}  // namespace tangent_product_detail

inline void set_to_product(Dual<double>* c, Index c_stride, Addend<Dual<double>> d,
                           Strided<Dual<double>> a, const Dual<double>* b, Index b_stride,
                           Index rows, Index depth, Index columns) {
    using namespace tangent_product_detail;
    set_to_addend(c, c_stride, d, rows, columns);
    constexpr Index few = 4;
    if (rows < few) return few_rows(c, c_stride, a, b, b_stride, rows, depth, columns);
    for (Index k = 0; k < depth; k += depth_block) {
        const Index block_depth = depth - k < depth_block ? depth - k : depth_block;
        const Strided<Dual<double>> from{a.data + k * a.column, a.row, a.column};
        Index j = 0;
        for (; j + 2 * vector_length <= columns; j += 2 * vector_length) {
            strip<2>(c + j, c_stride, from, b + k * b_stride + j, b_stride, rows, block_depth);
        }
        if (j < columns) {
            strip<1>(c + j, c_stride, from, b + k * b_stride + j, b_stride, rows, block_depth);
        }
    }
}

// Of four graphs: nothing has to be taken apart, and the sums are the same in the same order.
namespace tangent_product_detail {

constexpr int rows_of_four_graphs = running_sums / 4;  // of two columns, with their tangents

template <int Rows>
inline void tile_of_four_graphs(Dual<OfFourGraphs>* c, Index c_stride, Addend<Dual<OfFourGraphs>> d,
                                Strided<Dual<OfFourGraphs>> a, const Dual<OfFourGraphs>* b,
                                Index b_stride, Index depth) {
    constexpr int columns = 2;
    FourDoubles value[Rows][columns], tangent[Rows][columns];
    for (int i = 0; i < Rows; ++i) {
        for (int j = 0; j < columns; ++j) {
            value[i][j] = d.data[i * d.stride + j].value.values;
            tangent[i][j] = d.data[i * d.stride + j].tangent.values;
        }
    }
    for (Index k = 0; k < depth; ++k) {
        const Dual<OfFourGraphs>* row = b + k * b_stride;
        for (int i = 0; i < Rows; ++i) {
            const Dual<OfFourGraphs>& factor = a.data[i * a.row + k * a.column];
            for (int j = 0; j < columns; ++j) {
                value[i][j] += factor.value.values * row[j].value.values;
                tangent[i][j] += factor.value.values * row[j].tangent.values;
                tangent[i][j] += factor.tangent.values * row[j].value.values;
            }
        }
    }
    for (int i = 0; i < Rows; ++i) {
        for (int j = 0; j < columns; ++j) {
            c[i * c_stride + j].value.values = value[i][j];
            c[i * c_stride + j].tangent.values = tangent[i][j];
        }
    }
}

}  // namespace tangent_product_detail

inline void set_to_product(Dual<OfFourGraphs>* c, Index c_stride, Addend<Dual<OfFourGraphs>> d,
                           Strided<Dual<OfFourGraphs>> a, const Dual<OfFourGraphs>* b,
                           Index b_stride, Index rows, Index depth, Index columns) {
    using namespace tangent_product_detail;
    constexpr Index at_once = rows_of_four_graphs;
    for (Index i = 0; i < rows; i += at_once) {
        const Strided<Dual<OfFourGraphs>> from{a.data + i * a.row, a.row, a.column};
        for (Index j = 0; j < columns; j += 2) {
            Dual<OfFourGraphs>* to = c + i * c_stride + j;
            const Addend<Dual<OfFourGraphs>> addend{d.data + i * d.stride + j, d.stride};
            if (i + at_once <= rows) {
                tile_of_four_graphs<at_once>(to, c_stride, addend, from, b + j, b_stride, depth);
            } else {
                tile_of_four_graphs<1>(to, c_stride, addend, from, b + j, b_stride, depth);
            }
        }
    }
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
