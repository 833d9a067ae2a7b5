// Four doubles side by side, in the vector extension of GCC and Clang.
//
// The compiler makes one register of them where it has wide ones and two where it does not (SSE2,
// NEON); the results are the same bits either way.
#pragma once

#include <cstdint>

#include "types/index.hpp"

namespace arborand {
namespace ARBORAND_ISA {

constexpr Index vector_length = 4;

inline Index padded(Index count) {
    return (count + vector_length - 1) / vector_length * vector_length;
}

typedef double FourDoubles __attribute__((vector_size(32)));
typedef std::int64_t FourIntegers __attribute__((vector_size(32)));
typedef std::uint64_t FourUnsigned __attribute__((vector_size(32)));
typedef double UnalignedFourDoubles __attribute__((vector_size(32), aligned(8), may_alias));

inline FourDoubles load(const double* from) {
    return *reinterpret_cast<const UnalignedFourDoubles*>(from);
}
inline void store(double* to, FourDoubles x) { *reinterpret_cast<UnalignedFourDoubles*>(to) = x; }

inline FourDoubles broadcast(double x) { return FourDoubles{x, x, x, x}; }

// Where the mask is set, x; elsewhere y.
inline FourDoubles select(FourIntegers mask, FourDoubles x, FourDoubles y) { return mask ? x : y; }

inline bool all(FourIntegers mask) { return (mask[0] & mask[1] & mask[2] & mask[3]) != 0; }

}  // namespace ARBORAND_ISA
}  // namespace arborand
