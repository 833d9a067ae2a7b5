// The bits of a double, powers of two made from them, and integers of 128 bits.
#pragma once

#include <cstdint>
#include <cstring>

namespace arborand {
namespace ARBORAND_ISA {

inline std::uint64_t bits_of(double x) {
    std::uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

inline double double_of(std::uint64_t bits) {
    double x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

// 2^e for an integer -1022 <= e <= 1023.
inline double power_of_two(int e) { return double_of(static_cast<std::uint64_t>(e + 1023) << 52); }

// ---- integers of 128 bits

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
