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

// to[i] = from[i * stride]
template <class Scalar>
inline void copy_column(Scalar* to, const Scalar* from, Index stride, Index count) {
    for (Index i = 0; i < count; ++i) to[i] = from[i * stride];
}
inline FourDoubles load_column(const double* from, Index stride) {
    return FourDoubles{from[0], from[stride], from[2 * stride], from[3 * stride]};
}
ARBORAND_INLINE void copy_column(double* to, const double* from, Index stride, Index count) {
    in_vectors(
        count, [=](Index i) { store(to + i, load_column(from + i * stride, stride)); },
        [=](Index i) { to[i] = from[i * stride]; });
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
