// The bits of a double, and powers of two made from them.
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

}  // namespace ARBORAND_ISA
}  // namespace arborand
