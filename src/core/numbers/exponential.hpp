// exp for score differences, the same bits on every machine.
//
// The C library's exp differs between platforms, and draws must not: promise 4 of the library is
// that a seed gives the same trees everywhere.  This one uses only IEEE additions and
// multiplications (no fused ones), so that NumPy reproduces it bit for bit, and has no branches, so
// that it works on vectors.  Error: below 1.4 ulp for -708 <= x <= 0.
//
// A difference of scores does not fit one double: 1e3 - 1e-14 rounds.  Every function here takes
// the difference as an unevaluated sum high + low, from which the exponential keeps 53 good bits.
#pragma once

#include <cmath>

#include "numbers/exact_arithmetic.hpp"
#include "numbers/four_doubles.hpp"
#include "numbers/unbounded_double.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// log 2 in two parts.
constexpr double ln2_high = 6.93147180369123816490e-01;  // 33 bits: integer multiples are exact
constexpr double ln2_low = 1.90821492927058770002e-10;

// Where a difference leaves the range of `exp_in_range`; e^-708 is the last normal double.
constexpr double smallest_exponent = -708.0;

namespace exponential_detail {

constexpr double log2_e = 1.4426950408889634074;
constexpr double shifter = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer

// exp(r) - 1 for |r| <= ln2 / 2 by its Taylor series; the first term left out is below 2^-58.
// Estrin's scheme: pairs, then pairs of pairs, so that the processor need not wait for one product
// after another.
template <class Real>
inline Real reduced_expm1(Real r) {
    const Real r2 = r * r;
    const Real r4 = r2 * r2;
    const Real low = (r * (1.0 / 6) + 0.5) + r2 * (r * (1.0 / 120) + 1.0 / 24);
    const Real middle = (r * (1.0 / 5040) + 1.0 / 720) + r2 * (r * (1.0 / 362880) + 1.0 / 40320);
    const Real high =
        (r * (1.0 / 39916800) + 1.0 / 3628800) + r2 * (r * (1.0 / 6227020800.0) + 1.0 / 479001600);
    return r + r2 * (low + r4 * (middle + r4 * high));
}

template <class Real>
inline Real reduced_exp(Real r) {
    return 1.0 + reduced_expm1(r);
}

template <class Real>
inline Real as_power_of_two(Real shifted) {
    return double_of((bits_of(shifted) + 1023) << 52);
}

}  // namespace exponential_detail

// exp(high + low) for smallest_exponent <= high <= 0.
template <class Real>
inline Real exp_in_range(DifferenceOf<Real> d) {
    using namespace exponential_detail;
    const Real shifted = d.high * log2_e + shifter;
    const Real k = shifted - shifter;
    const Real r = ((d.high - k * ln2_high) - k * ln2_low) + d.low;
    // The low bits of `shifted` are k in two's complement.
    return reduced_exp(r) * as_power_of_two(shifted);
}

// The same for any high <= 0; 0 where it is not a normal double.
inline double exp_or_zero(Difference d) {
    return d.high >= smallest_exponent ? exp_in_range(d) : 0.0;
}

// exp(x) for huge x, where k * ln 2 takes more digits than the constants above have.
inline UnboundedDouble huge_exp(double x) {
    using namespace exponential_detail;
    constexpr double largest = 1.7976931348623157e308;
    constexpr double ln2 = 6.93147180559945286e-01, ln2_rest = 2.31904681384629956e-17;
    if (x < -largest) x = -largest;
    const double steps = std::nearbyint(x * (log2_e / 512));
    if (std::fabs(x) > 1e19) return UnboundedDouble(1.0, steps);  // known to whole steps only
    const double k = std::nearbyint(x * log2_e);
    const ProductOf<double> product = exact_product(k, ln2);
    double r = ((x - product.high) - product.low) - k * ln2_rest;
    // Beyond 2^53, k is not the nearest integer: what is left may be a few thousand.
    const double more = std::nearbyint(r * log2_e);
    const ProductOf<double> taken = exact_product(more, ln2);
    r = ((r - taken.high) - taken.low) - more * ln2_rest;
    double rest = (k - 512 * steps) + more;
    const double extra = std::nearbyint(rest / 512);
    rest -= 512 * extra;
    return UnboundedDouble(reduced_exp(r) * power_of_two(static_cast<int>(rest)), steps + extra);
}

// exp(high + low) for any non-positive difference of finite scores, even one that overflowed.
inline UnboundedDouble unbounded_exp(Difference d) {
    using namespace exponential_detail;
    if (d.high < -1e8) {
        // Beside a mask of -1e30 the low part holds the whole of an ordinary score.  A difference
        // that overflowed has none: it is NaN.
        const UnboundedDouble high = huge_exp(d.high);
        return d.low != 0 && d.high > -HUGE_VAL ? high * huge_exp(d.low) : high;
    }
    const double k = std::nearbyint(d.high * log2_e);
    // Beyond 2^20 the product k * ln2_high is no longer exact.
    const ProductOf<double> product = exact_product(k, ln2_high);
    const double r = (((d.high - product.high) - product.low) - k * ln2_low) + d.low;
    const double steps = std::nearbyint(k * (1.0 / 512));
    return UnboundedDouble(reduced_exp(r) * power_of_two(static_cast<int>(k - 512 * steps)), steps);
}

// exp(x) - 1 for |x| <= largest_expm1, to full relative accuracy.
constexpr double largest_expm1 = 0.34;
inline double expm1_of(double x) { return exponential_detail::reduced_expm1(x); }

// exp(x) for x <= 0.
inline double exp_of(double x) {
    if (x >= smallest_exponent) return exp_in_range(Difference{x, 0.0});
    if (x >= -746.0) return to_double(unbounded_exp(Difference{x, 0.0}));  // subnormal
    return x < 0 ? 0.0 : x;                                                // NaN stays NaN
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
