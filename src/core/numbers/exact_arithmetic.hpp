// Differences and products of two doubles as unevaluated sums of two, without rounding error.
#pragma once

namespace arborand {
namespace ARBORAND_ISA {

template <class Real>  // double or FourDoubles
struct DifferenceOf {
    Real high, low;
};

using Difference = DifferenceOf<double>;

// x - y without rounding error (Knuth's TwoSum; valid for any finite operands that do not
// overflow).
template <class Real>
inline DifferenceOf<Real> exact_difference(Real x, Real y) {
    const Real high = x - y;
    const Real back = high - x;
    return {high, (x - (high - back)) - (y + back)};
}

template <class Real>  // double or FourDoubles
struct ProductOf {
    Real high, low;
};

// Dekker's product, from Veltkamp's halves of 26 bits.  Operands must be below 2^996, and the
// product must be neither infinite nor so small that its rounding error is subnormal.  A fused
// multiply-add would do it in one instruction, where the processor has one.  Where it has none, the
// C library has to emulate it, and not all of them do that right.
template <class Real>
inline ProductOf<Real> exact_product(Real x, Real y) {
    constexpr double splitter = 134217729.0;  // 2^27 + 1
    const Real x_scaled = x * splitter, y_scaled = y * splitter;
    const Real x_high = x_scaled - (x_scaled - x), y_high = y_scaled - (y_scaled - y);
    const Real x_low = x - x_high, y_low = y - y_high;
    const Real high = x * y;
    return {high, ((x_high * y_high - high) + x_high * y_low + x_low * y_high) + x_low * y_low};
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
