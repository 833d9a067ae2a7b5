// Copies of rows and columns: in whole vectors where the numbers are doubles, because loops over a
// few entries take longer to begin than to run.  Nothing beyond `count` is read or written.
#pragma once

#include "numbers/four_doubles.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// move(i) for all entries: four at a time, the last ones for the second time where they are fewer.
template <class Move, class MoveOne>
ARBORAND_INLINE void in_vectors(Index count, const Move& move, const MoveOne& move_one) {
    Index i = 0;
    for (; i + vector_length <= count; i += vector_length) move(i);
    if (i == count) return;
    if (count >= vector_length) return move(count - vector_length);
    for (; i < count; ++i) move_one(i);
}

// The same in two dimensions: block(i, j) for the sixteen entries from there on, column by column.
template <class Block, class MoveOne>
ARBORAND_INLINE void in_blocks(Index rows, Index columns, const Block& block,
                               const MoveOne& move_one) {
    if (rows < vector_length || columns < vector_length) {
        for (Index j = 0; j < columns; ++j) {
            for (Index i = 0; i < rows; ++i) move_one(i, j);
        }
        return;
    }
    const Index last_row = rows - vector_length, last_column = columns - vector_length;
    for (Index j = 0; j < columns; j += vector_length) {
        const Index column = j < last_column ? j : last_column;
        for (Index i = 0; i < last_row; i += vector_length) block(i, column);
        block(last_row, column);
    }
}

// Store the columns of a block, each in a place of its own.
ARBORAND_INLINE void store_columns(double* to_0, double* to_1, double* to_2, double* to_3,
                                   const FourDoubles* row) {
    const FourDoubles even_above = shuffle<0, 4, 2, 6>(row[0], row[1]);
    const FourDoubles odd_above = shuffle<1, 5, 3, 7>(row[0], row[1]);
    const FourDoubles even_below = shuffle<0, 4, 2, 6>(row[2], row[3]);
    const FourDoubles odd_below = shuffle<1, 5, 3, 7>(row[2], row[3]);
    store(to_0, shuffle<0, 1, 4, 5>(even_above, even_below));
    store(to_1, shuffle<0, 1, 4, 5>(odd_above, odd_below));
    store(to_2, shuffle<2, 3, 6, 7>(even_above, even_below));
    store(to_3, shuffle<2, 3, 6, 7>(odd_above, odd_below));
}

// Store the columns of a block as rows.
ARBORAND_INLINE void store_transposed(double* to, Index stride, const FourDoubles* row) {
    store_columns(to, to + stride, to + 2 * stride, to + 3 * stride, row);
}

// to[j * to_stride + i] = from[i * from_stride + j] for i < rows and j < columns
template <class Scalar>
inline void copy_transposed(Scalar* to, Index to_stride, const Scalar* from, Index from_stride,
                            Index rows, Index columns) {
    for (Index j = 0; j < columns; ++j) {
        for (Index i = 0; i < rows; ++i) to[j * to_stride + i] = from[i * from_stride + j];
    }
}
inline void copy_transposed(double* to, Index to_stride, const double* from, Index from_stride,
                            Index rows, Index columns) {
    in_blocks(
        rows, columns,
        [=](Index i, Index j) {
            const double* row = from + i * from_stride + j;
            const FourDoubles block[] = {load(row), load(row + from_stride),
                                         load(row + 2 * from_stride), load(row + 3 * from_stride)};
            store_transposed(to + j * to_stride + i, to_stride, block);
        },
        [=](Index i, Index j) { to[j * to_stride + i] = from[i * from_stride + j]; });
}

template <class Scalar>
inline void copy_row(Scalar* to, const Scalar* from, Index count) {
    for (Index i = 0; i < count; ++i) to[i] = from[i];
}
ARBORAND_INLINE void copy_row(double* to, const double* from, Index count) {
    in_vectors(
        count, [=](Index i) { store(to + i, load(from + i)); }, [=](Index i) { to[i] = from[i]; });
}

template <class Scalar>
inline void clear_row(Scalar* to, Index count) {
    for (Index i = 0; i < count; ++i) to[i] = Scalar(0.0);
}
ARBORAND_INLINE void clear_row(double* to, Index count) {
    in_vectors(
        count, [=](Index i) { store(to + i, broadcast(0.0)); }, [=](Index i) { to[i] = 0.0; });
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
