// Choices in 120-bit fixed point.
//
// An outcome of probability p is drawn with probability p up to the relative rounding of p in
// float64 and an absolute 2^-119, so that even one of probability 1e-30 is neither lost nor
// inflated.
#pragma once

#include <cstdint>

#include "numbers/bits.hpp"
#include "numbers/unbounded_double.hpp"
#include "randomness/philox.hpp"
#include "types/index.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// floor(x * 2^120) for 0 <= x <= 1.
inline UInt128 fixed_point(double x) {
    const std::uint64_t bits = bits_of(x);
    const int exponent = static_cast<int>(bits >> 52);  // x = (1 + fraction) * 2^(exponent - 1023)
    const int shift = exponent - 1023 + 120 - 52;
    if (shift <= -53) return 0;
    const UInt128 mantissa = (bits & ((std::uint64_t{1} << 52) - 1)) | (std::uint64_t{1} << 52);
    return shift >= 0 ? mantissa << shift : mantissa >> -shift;
}

// The index that a 128-bit number chooses, in proportion to chances that sum to 1 up to rounding.
template <class Chances>
inline Index chosen_index(const Chances& chance, Index count, UInt128 number) {
    UInt128 total = 0;
    for (Index i = 0; i < count; ++i) total += fixed_point(to_double(chance[i]));
    UInt128 target = high_product(number, total);
    Index chosen = 0;
    for (Index i = 0; i < count; ++i) {
        const UInt128 share = fixed_point(to_double(chance[i]));
        if (share == 0) continue;
        chosen = i;
        if (target < share) break;
        target -= share;
    }
    return chosen;
}

template <class Chances>
inline Index draw_index(const Chances& chance, Index count, Stream& stream) {
    return chosen_index(chance, count, stream.next_128());
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
