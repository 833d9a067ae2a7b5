// C = D + A * B for non-negative matrices: where nearly all the time of O(n^3) work is spent.
//
// Every entry of C is accumulated in the order of k, one product after the other, whatever the
// tiling or the vector width: results are the same bits on every machine.  Vectors run along the
// rows of B, C and D; A is read one element at a time and may have any strides (so that a
// transposed A costs nothing).  D may be C itself, or a matrix that C would have to be copied from,
// or one row for all (a stride of 0).  The number of columns is a multiple of four: callers pad
// their matrices with zeros, which cost less than a loop over the last odd columns.
#pragma once

#include "numbers/four_doubles.hpp"
#include "numbers/unbounded_double.hpp"
#include "types/status.hpp"

namespace arborand {
namespace ARBORAND_ISA {

template <class Scalar>
struct Strided {  // the left operand: element (i, k) is at data[i * row + k * column]
    const Scalar* data;
    Index row, column;
};

template <class Scalar>
struct Addend {  // D
    const Scalar* data;
    Index stride;
};

// C = D, unless D is C.
template <class Scalar>
void set_to_addend(Scalar* c, Index c_stride, Addend<Scalar> d, Index rows, Index columns) {
    if (d.data == c) return;
    for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < columns; ++j) c[i * c_stride + j] = d.data[i * d.stride + j];
    }
}

// The plain loop, for UnboundedDouble.
template <class Scalar>
void set_to_product(Scalar* c, Index c_stride, Addend<Scalar> d, Strided<Scalar> a, const Scalar* b,
                    Index b_stride, Index rows, Index depth, Index columns) {
    set_to_addend(c, c_stride, d, rows, columns);
    for (Index i = 0; i < rows; ++i) {
        for (Index k = 0; k < depth; ++k) {
            const Scalar factor = a.data[i * a.row + k * a.column];
            if (is_zero(factor)) continue;
            for (Index j = 0; j < columns; ++j) {
                c[i * c_stride + j] += factor * b[k * b_stride + j];
            }
        }
    }
}

namespace product_detail {

// As many running sums as hide how long an addition takes, in rows that are as wide as can be,
// because an element of A is then read for many of B.
template <int Vectors>
constexpr int tile_rows = running_sums / Vectors < 4 ? running_sums / Vectors : 4;
constexpr Index tile_columns = 8;
constexpr int widest = running_sums;  // in vectors
// As many rows of B of that width as leave room for the rest in a 32 KiB cache.
constexpr Index shallow = 48;
// A packed sliver of B (depth x 8 doubles) fills half of a 32 KiB cache; the rows of A used with it
// (128 x 256 doubles) half of a 512 KiB one.
constexpr Index depth_block = 256;
constexpr Index row_block = 128;

// Inlined into one function: matrices of half a sentence are small enough for calls to show.
template <int Rows, int Vectors>
ARBORAND_INLINE void tile(double* c, Index c_stride, Addend<double> d, Strided<double> a,
                          const double* b, Index b_stride, Index depth) {
    FourDoubles sum[Rows][Vectors];
    for (int i = 0; i < Rows; ++i) {
        for (int v = 0; v < Vectors; ++v) {
            sum[i][v] = load(d.data + i * d.stride + v * vector_length);
        }
    }
#pragma GCC unroll 2
    for (Index k = 0; k < depth; ++k) {
        FourDoubles row[Vectors];
        for (int v = 0; v < Vectors; ++v) {
            row[v] = load(b + k * b_stride + v * vector_length);
        }
        for (int i = 0; i < Rows; ++i) {
            const double factor = a.data[i * a.row + k * a.column];
            for (int v = 0; v < Vectors; ++v) sum[i][v] += factor * row[v];
        }
    }
    for (int i = 0; i < Rows; ++i) {
        for (int v = 0; v < Vectors; ++v) {
            store(c + i * c_stride + v * vector_length, sum[i][v]);
        }
    }
}

// A tile of as many rows as are left, at most `Rows`.
template <int Rows, int Vectors>
ARBORAND_INLINE void last_tile(double* c, Index c_stride, Addend<double> d, Strided<double> a,
                               const double* b, Index b_stride, Index rows, Index depth) {
    if constexpr (Rows > 0) {
        if (rows == Rows) return tile<Rows, Vectors>(c, c_stride, d, a, b, b_stride, depth);
        last_tile<Rows - 1, Vectors>(c, c_stride, d, a, b, b_stride, rows, depth);
    }
}

template <int Vectors>
ARBORAND_INLINE void strip(double* c, Index c_stride, Addend<double> d, Strided<double> a,
                           const double* b, Index b_stride, Index rows, Index depth) {
    constexpr int at_once = tile_rows<Vectors>;
    Index i = 0;
    for (; i + at_once <= rows; i += at_once) {
        tile<at_once, Vectors>(c + i * c_stride, c_stride, {d.data + i * d.stride, d.stride},
                               {a.data + i * a.row, a.row, a.column}, b, b_stride, depth);
    }
    last_tile<at_once - 1, Vectors>(c + i * c_stride, c_stride, {d.data + i * d.stride, d.stride},
                                    {a.data + i * a.row, a.row, a.column}, b, b_stride, rows - i,
                                    depth);
}

// A strip of as many vectors as are left, at most `Vectors`.
template <int Vectors>
ARBORAND_INLINE void last_strip(double* c, Index c_stride, Addend<double> d, Strided<double> a,
                                const double* b, Index b_stride, Index rows, Index depth,
                                Index vectors) {
    if constexpr (Vectors > 0) {
        if (vectors == Vectors) return strip<Vectors>(c, c_stride, d, a, b, b_stride, rows, depth);
        last_strip<Vectors - 1>(c, c_stride, d, a, b, b_stride, rows, depth, vectors);
    }
}

inline void shallow_block(double* c, Index c_stride, Addend<double> d, Strided<double> a,
                          const double* b, Index b_stride, Index rows, Index depth, Index columns) {
    constexpr Index width = widest * vector_length;
    Index j = 0;
    for (; j + width <= columns; j += width) {
        strip<widest>(c + j, c_stride, {d.data + j, d.stride}, a, b + j, b_stride, rows, depth);
    }
    last_strip<widest - 1>(c + j, c_stride, {d.data + j, d.stride}, a, b + j, b_stride, rows, depth,
                           (columns - j) / vector_length);
}

inline void block(double* c, Index c_stride, Addend<double> d, Strided<double> a, const double* b,
                  Index b_stride, Index rows, Index depth, Index columns) {
    // Long strides through B miss the cache and the page table: copy a sliver once, use it often.
    const bool pack = rows >= 32 && depth >= 32 && b_stride > 64;
    alignas(64) double packed[depth_block * tile_columns];
    Index j = 0;
    for (; j + tile_columns <= columns; j += tile_columns) {
        if (pack) {
            for (Index k = 0; k < depth; ++k) {
                for (Index v = 0; v < tile_columns; ++v) {
                    packed[k * tile_columns + v] = b[k * b_stride + j + v];
                }
            }
        }
        strip<2>(c + j, c_stride, {d.data + j, d.stride}, a, pack ? packed : b + j,
                 pack ? tile_columns : b_stride, rows, depth);
    }
    if (j < columns) {
        strip<1>(c + j, c_stride, {d.data + j, d.stride}, a, b + j, b_stride, rows, depth);
    }
}

}  // namespace product_detail

ARBORAND_INLINE void set_to_product(double* c, Index c_stride, Addend<double> d, Strided<double> a,
                                    const double* b, Index b_stride, Index rows, Index depth,
                                    Index columns) {
    using namespace product_detail;
    if (depth <= shallow) {
        return shallow_block(c, c_stride, d, a, b, b_stride, rows, depth, columns);
    }
    for (Index k = 0; k < depth; k += depth_block) {
        const Index block_depth = depth - k < depth_block ? depth - k : depth_block;
        for (Index i = 0; i < rows; i += row_block) {
            const Index block_rows = rows - i < row_block ? rows - i : row_block;
            block(c + i * c_stride, c_stride, {d.data + i * d.stride, d.stride},
                  {a.data + i * a.row + k * a.column, a.row, a.column}, b + k * b_stride, b_stride,
                  block_rows, block_depth, columns);
        }
        d = {c, c_stride};
    }
}

// The same in pieces of some milliseconds, between which the caller may give up.
template <class Scalar>
void set_to_product(Scalar* c, Index c_stride, Addend<Scalar> d, Strided<Scalar> a, const Scalar* b,
                    Index b_stride, Index rows, Index depth, Index columns,
                    const Interrupt& interrupt) {
    constexpr Index piece = Index{1} << 23;
    if (rows * (depth * columns + 1) <= piece) {
        return set_to_product(c, c_stride, d, a, b, b_stride, rows, depth, columns);
    }
    const Index at_once = 1 + piece / (depth * columns + 1);
    for (Index i = 0; i < rows && !interrupt.requested(); i += at_once) {
        set_to_product(c + i * c_stride, c_stride, {d.data + i * d.stride, d.stride},
                       {a.data + i * a.row, a.row, a.column}, b, b_stride,
                       rows - i < at_once ? rows - i : at_once, depth, columns);
    }
}

// C += A * B.
template <class Scalar>
void add_product(Scalar* c, Index c_stride, Strided<Scalar> a, const Scalar* b, Index b_stride,
                 Index rows, Index depth, Index columns, const Interrupt& interrupt) {
    set_to_product(c, c_stride, {c, c_stride}, a, b, b_stride, rows, depth, columns, interrupt);
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
