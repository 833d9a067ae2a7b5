// Four doubles side by side, in the vector extension of GCC and Clang.
//
// The compiler makes one register of them where it has wide ones and two where it does not (SSE2,
// NEON); the results are the same bits either way.
#pragma once

#include "kernels.hpp"

namespace arborand {
namespace ARBORAND_ISA {

constexpr Index lanes = 4;

inline Index padded(Index count) { return (count + lanes - 1) / lanes * lanes; }

typedef double Lanes __attribute__((vector_size(32)));
typedef std::int64_t IntegerLanes __attribute__((vector_size(32)));
typedef double UnalignedLanes __attribute__((vector_size(32), aligned(8), may_alias));

inline Lanes load(const double* from) { return *reinterpret_cast<const UnalignedLanes*>(from); }
inline void store(double* to, Lanes x) { *reinterpret_cast<UnalignedLanes*>(to) = x; }

inline Lanes broadcast(double x) { return Lanes{x, x, x, x}; }

// Where the mask is set, x; elsewhere y.
inline Lanes select(IntegerLanes mask, Lanes x, Lanes y) { return mask ? x : y; }

inline bool all(IntegerLanes mask) { return (mask[0] & mask[1] & mask[2] & mask[3]) != 0; }

}  // namespace ARBORAND_ISA
}  // namespace arborand
