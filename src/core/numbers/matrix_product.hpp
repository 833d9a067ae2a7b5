// C += A * B for non-negative matrices: where nearly all the time of O(n^3) work is spent.
//
// Every entry of C is accumulated in the order of k, one product after the other, whatever the
// tiling or the vector width: results are the same bits on every machine.  Vectors run along the
// rows of B and C; A is read one element at a time and may have any strides (so that a transposed A
// costs nothing).  The number of columns is a multiple of four: callers pad their matrices with
// zeros, which cost less than a loop over the last odd columns.
#pragma once

#include "numbers/four_doubles.hpp"
#include "numbers/unbounded_double.hpp"
#include "types/interrupt.hpp"

namespace arborand {
namespace ARBORAND_ISA {

template <class Scalar>
struct Strided {  // the left operand: element (i, k) is at data[i * row + k * column]
    const Scalar* data;
    Index row, column;
};

// The plain loop, for UnboundedDouble.
template <class Scalar>
void add_product(Scalar* c, Index c_stride, Strided<Scalar> a, const Scalar* b, Index b_stride,
                 Index rows, Index depth, Index columns) {
    for (Index i = 0; i < rows; ++i) {
        for (Index k = 0; k < depth; ++k) {
            const Scalar factor = a.data[i * a.row + k * a.column];
            if (!is_positive(factor)) continue;
            for (Index j = 0; j < columns; ++j) {
                c[i * c_stride + j] += factor * b[k * b_stride + j];
            }
        }
    }
}

namespace product_detail {

constexpr Index tile_rows = 4;
constexpr Index tile_columns = 8;
// A packed sliver of B (depth x 8 doubles) fills half of a 32 KiB cache; the rows of A used with it
// (128 x 256 doubles) half of a 512 KiB one.
constexpr Index depth_block = 256;
constexpr Index row_block = 128;

template <int Rows, int Vectors>
inline void tile(double* c, Index c_stride, Strided<double> a, const double* b, Index b_stride,
                 Index depth) {
    FourDoubles sum[Rows][Vectors];
    for (int i = 0; i < Rows; ++i) {
        for (int v = 0; v < Vectors; ++v) {
            sum[i][v] = load(c + i * c_stride + v * vector_length);
        }
    }
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

template <int Vectors>
inline void strip(double* c, Index c_stride, Strided<double> a, const double* b, Index b_stride,
                  Index rows, Index depth) {
    Index i = 0;
    for (; i + tile_rows <= rows; i += tile_rows) {
        tile<tile_rows, Vectors>(c + i * c_stride, c_stride, {a.data + i * a.row, a.row, a.column},
                                 b, b_stride, depth);
    }
    for (; i < rows; ++i) {
        tile<1, Vectors>(c + i * c_stride, c_stride, {a.data + i * a.row, a.row, a.column}, b,
                         b_stride, depth);
    }
}

inline void block(double* c, Index c_stride, Strided<double> a, const double* b, Index b_stride,
                  Index rows, Index depth, Index columns) {
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
            strip<2>(c + j, c_stride, a, packed, tile_columns, rows, depth);
        } else {
            strip<2>(c + j, c_stride, a, b + j, b_stride, rows, depth);
        }
    }
    if (j < columns) strip<1>(c + j, c_stride, a, b + j, b_stride, rows, depth);
}

}  // namespace product_detail

inline void add_product(double* c, Index c_stride, Strided<double> a, const double* b,
                        Index b_stride, Index rows, Index depth, Index columns) {
    using namespace product_detail;
    for (Index k = 0; k < depth; k += depth_block) {
        const Index block_depth = depth - k < depth_block ? depth - k : depth_block;
        for (Index i = 0; i < rows; i += row_block) {
            const Index block_rows = rows - i < row_block ? rows - i : row_block;
            block(c + i * c_stride, c_stride, {a.data + i * a.row + k * a.column, a.row, a.column},
                  b + k * b_stride, b_stride, block_rows, block_depth, columns);
        }
    }
}

// The same in pieces of some milliseconds, between which the caller may give up.
template <class Scalar>
void add_product(Scalar* c, Index c_stride, Strided<Scalar> a, const Scalar* b, Index b_stride,
                 Index rows, Index depth, Index columns, const Interrupt& interrupt) {
    constexpr Index piece = Index{1} << 23;
    const Index at_once = 1 + piece / (depth * columns + 1);
    if (rows <= at_once) return add_product(c, c_stride, a, b, b_stride, rows, depth, columns);
    for (Index i = 0; i < rows && !interrupt.requested(); i += at_once) {
        add_product(c + i * c_stride, c_stride, {a.data + i * a.row, a.row, a.column}, b, b_stride,
                    rows - i < at_once ? rows - i : at_once, depth, columns);
    }
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
