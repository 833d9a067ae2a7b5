// log, the same bits on every machine.
//
// As with exp (exponential.hpp), the C library's logarithms differ between platforms, and draws
// without replacement depend on them.  This one uses only IEEE operations in a fixed order, so that
// NumPy reproduces it bit for bit, and has no branches, so that it works on vectors.
//
// Write x = 2^k * m with sqrt(1/2) <= m < sqrt(2), and s = (m - 1) / (m + 1).  Then
//
//     log x = k log 2 + 2 atanh s,    2 atanh s = 2 s + s * (2/3 s^2 + 2/5 s^4 + ..).
//
// Error: below 0.67 ulp.  m - 1 is exact, and s is known to twice the digits of a double: `s_rest`
// is what the division left.  2 s is added to k log 2 without error, so that rounding can only hurt
// in the terms after it.  With u = 2^-53 these are right to 11 u relative (6 u because s^3 is made
// from s alone, 5 u from the operations), and at most 0.0101 times 2 s, as |s| < 0.1716.  Adding
// them up costs less than another 0.04 u times 2 s, and the first term left out is 0.006 u times 2
// s. So what is rounded in the end is wrong by less than 0.16 u |2 s|.  The result is never smaller
// than |2 s|: without k by the series itself, with k because |k log 2| is at least twice |2 atanh
// s|. Hence 0.16 ulp, and 0.5 for the last rounding.
#pragma once

#include <cmath>
#include <cstdint>

#include "numbers/bits.hpp"
#include "numbers/exact_difference.hpp"
#include "numbers/exact_product.hpp"
#include "numbers/four_doubles.hpp"
#include "numbers/ln2.hpp"
#include "numbers/unbounded_double.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// An unevaluated sum: `high` is the logarithm rounded once, `low` what that left.
template <class Real>  // double or FourDoubles
struct LogarithmOf {
    Real high, low;
};

using Logarithm = LogarithmOf<double>;

namespace logarithm_detail {

constexpr std::int64_t root_half_bits = 0x3FE6A09E667F3BCD;  // of sqrt(1/2), rounded up
constexpr std::int64_t shifter_bits = 0x4338000000000000;    // of 1.5 * 2^52
constexpr double shifter = 6755399441055744.0;  // an integer added to its bits is added to it
constexpr double smallest_normal = 2.2250738585072014e-308;

inline FourIntegers bits_of(FourDoubles x) { return reinterpret_cast<FourIntegers>(x); }
inline std::int64_t bits_of(double x) {
    return static_cast<std::int64_t>(ARBORAND_ISA::bits_of(x));
}
inline FourDoubles double_of(FourIntegers bits) { return reinterpret_cast<FourDoubles>(bits); }
inline double double_of(std::int64_t bits) {
    return ARBORAND_ISA::double_of(static_cast<std::uint64_t>(bits));
}

// x = 2^k * m for a normal x > 0.
template <class Real>
inline void split(Real x, Real& m, Real& k) {
    const auto exponent = (bits_of(x) - root_half_bits) >> 52;
    m = double_of(bits_of(x) - exponent * (std::int64_t{1} << 52));
    k = double_of(exponent + shifter_bits) - shifter;
}

// (2 atanh s - 2 s) / s^3, from z = s^2.  Pairs, then pairs of pairs (Estrin).
template <class Real>
inline Real series(Real z) {
    const Real z2 = z * z;
    const Real z4 = z2 * z2;
    const Real low = (z * (2.0 / 5) + 2.0 / 3) + z2 * (z * (2.0 / 9) + 2.0 / 7);
    const Real middle = (z * (2.0 / 13) + 2.0 / 11) + z2 * (z * (2.0 / 17) + 2.0 / 15);
    const Real high = z * (2.0 / 21) + 2.0 / 19;
    return low + z4 * (middle + z4 * high);
}

}  // namespace logarithm_detail

// log(x * 2^more) for a normal x > 0 and an integer |more| < 2^19.
template <class Real>
inline LogarithmOf<Real> log_in_range(Real x, Real more) {
    using namespace logarithm_detail;
    Real m, k;
    split(x, m, k);
    k += more;
    const Real f = m - 1.0;
    const Real d = f + 2.0;
    const Real d_rest = f - (d - 2.0);
    const Real s = f / d;
    const ProductOf<Real> back = exact_product(s, d);
    const Real s_rest = (((f - back.high) - back.low) - s * d_rest) / d;
    const Real z = s * s;
    const DifferenceOf<Real> first = exact_difference(k * ln2_high, s * -2.0);
    const Real rest = first.low + ((k * ln2_low + s_rest * 2.0) + s * (z * series(z)));
    const Real high = first.high + rest;
    return {high, (first.high - high) + rest};
}

// log(x) for any x: that of 0 is -inf, that of a negative number NaN.
inline double log_of(double x) {
    using namespace logarithm_detail;
    if (x >= smallest_normal) return x < HUGE_VAL ? log_in_range(x, 0.0).high : x;
    if (x > 0) return log_in_range(x * power_of_two(54), -54.0).high;
    return x == 0 ? -HUGE_VAL : std::nan("");
}

// log(1 + x) for x > -1, without losing the digits of a small x.
inline double log1p_of(double x) {
    if (!(x > -1)) return log_of(1 + x);
    const Difference sum = exact_difference(1.0, -x);
    const Logarithm log = log_in_range(sum.high, 0.0);
    return log.high + (log.low + sum.low / sum.high);
}

// log(x[i]) for i = 0 .. count - 1, in place.
inline void take_logarithms(double* x, Index count) {
    using namespace logarithm_detail;
    Index i = 0;
    for (; i + vector_length <= count; i += vector_length) {
        const FourDoubles four = load(x + i);
        if (all((four >= smallest_normal) & (four < HUGE_VAL))) {
            store(x + i, log_in_range(four, broadcast(0.0)).high);
        } else {
            for (Index j = i; j < i + vector_length; ++j) x[j] = log_of(x[j]);
        }
    }
    for (; i < count; ++i) x[i] = log_of(x[i]);
}

// log x for x > 0, without rounding away the logarithm of the mantissa beside a large exponent.
inline Logarithm log_parts(UnboundedDouble x) {
    constexpr double step = 354.891356446692;              // 512 log 2
    constexpr double step_error = 1.1873519686893054e-14;  // 512 log 2 - step
    if (std::fabs(x.exponent) <= 1000) return log_in_range(x.mantissa, x.exponent * 512);
    // An exponent beyond 2^53 is rounded itself, so that there is nothing to add to it.
    if (std::fabs(x.exponent) > 9007199254740992.0) return {x.exponent * step, 0.0};
    const ProductOf<double> whole = exact_product(x.exponent, step);
    const Logarithm mantissa = log_in_range(x.mantissa, 0.0);
    const Difference sum = exact_difference(whole.high, -mantissa.high);
    return {sum.high, sum.low + (mantissa.low + (whole.low + x.exponent * step_error))};
}

inline double log_of(UnboundedDouble x) {
    const Logarithm log = log_parts(x);
    return log.high + log.low;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
