// Unsigned integers of 128 bits.
#pragma once

#include <cstdint>

namespace arborand {
namespace ARBORAND_ISA {

typedef unsigned __int128 UInt128;

inline std::uint64_t high_half(UInt128 x) { return static_cast<std::uint64_t>(x >> 64); }
inline std::uint64_t low_half(UInt128 x) { return static_cast<std::uint64_t>(x); }

// floor(x * y / 2^128)
inline UInt128 high_product(UInt128 x, UInt128 y) {
    const UInt128 x0 = low_half(x), x1 = high_half(x), y0 = low_half(y), y1 = high_half(y);
    const UInt128 middle = x1 * y0 + high_half(x0 * y0);
    const UInt128 other = x0 * y1 + low_half(middle);
    return x1 * y1 + high_half(middle) + high_half(other);
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
