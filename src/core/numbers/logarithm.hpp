// log, the same bits on every machine.
//
// As with exp (exponential.hpp), the C library's logarithms differ between platforms, and draws
// without replacement depend on them.  This one uses only IEEE additions and multiplications (no
// fused ones) in a fixed order, so that NumPy reproduces it bit for bit, and has no branches, so
// that it works on vectors.
//
// Write x = 2^k * z with 0.688 < z < 1.377.  A table (logarithm_table.hpp) has a number a that is
// nearly 1 / z, and log(1 / a).  With r = z a - 1, which is at most 2^-9,
//
//     log x = k log 2 + log(1 / a) + log(1 + r),
//     log(1 + r) = r - r^2 / 2 + r^3 / 3 - .. - r^6 / 6.
//
// Error: below 0.62 ulp.  Everything up to r is known to twice the digits of a double:
//
//   * a has 26 bits.  So r_high, the upper 27 bits of z times a, less 1, is exact, and so is r_low,
//     the rest of z times a.
//   * first = k log 2 + log(1 / a) + r is rounded twice, and first_rest is what that left.  To find
//     it, the terms are added to -first one by one, the largest first: k log 2 is 0 or at least
//     0.69, log(1 / a) is 0 or between 1.99 |r| and 0.38, and at least 2^-9.  After k log 2 the sum
//     is below 1/2 and a multiple of 2^-54, after log(1 / a) below 2^-8 and a multiple of 2^-61 (if
//     k is 0, it is the error of one sum, the larger term first), after r_high below 2^-25 and a
//     multiple of 2^-63: all are doubles.  Only the last step may round, what is below an ulp of
//     `first`.
//
// So rounding can only hurt in the terms after r.  With u = 2^-53 and relative to |r|, the first
// term left out is at most 2^-54 / 7 < 0.072 u; what rounding r costs its powers is 2^-9 u; the
// powers, at most 2^-10 in all and right to 4.3 u, cost 0.005 u; adding up costs 0.002 u.  So what
// is rounded in the end is wrong by less than 0.081 u |r|, and by what the table is.  The result is
// at least 0.99 |r|, as the sum before r is 0 or larger than 1.99 |r|: that makes 0.082 ulp.  And
// it is at least 0.49 times log(1 / a): the table's 0.008 ulp are at most 0.032 of the result.  The
// last rounding costs 0.5.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "numbers/bits.hpp"
#include "numbers/exact_arithmetic.hpp"
#include "numbers/exponential.hpp"
#include "numbers/four_doubles.hpp"
#include "numbers/logarithm_table.hpp"
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

constexpr double smallest_normal = 2.2250738585072014e-308;

// Added to the bits of x, it makes the exponent k + 1023 and the next eight bits the row of the
// table.
constexpr std::uint64_t to_rows = 0x3FF0000000000000 - logarithm_table::first_bits;

// The row of the table for the double at `x`.  It depends on the upper half of its bits alone.
inline const LogarithmRow& row_of(const double* x) {
    constexpr std::uint32_t upper_to_rows = to_rows >> 32;
    const std::uint32_t upper = static_cast<std::uint32_t>(bits_of(*x) >> 32);
    return logarithm_table::rows[((upper + upper_to_rows) >> 12) & 255];
}

template <class Real>
struct RowOf {
    Real inverse, log;
};

inline RowOf<FourDoubles> rows_of_four(const double* x) {
    const LogarithmRow &a = row_of(x), &b = row_of(x + 1), &c = row_of(x + 2), &d = row_of(x + 3);
    const FourDoubles inverse = {a.inverse, b.inverse, c.inverse, d.inverse};
    const FourDoubles log = {a.log, b.log, c.log, d.log};
    return {inverse, log};
}

// log(x * 2^more) for a normal x > 0 with its row of the table, and an integer |more| < 2^19.
template <class Real>
ARBORAND_INLINE LogarithmOf<Real> log_with(RowOf<Real> row, Real x, Real more) {
    constexpr std::uint64_t fraction = 0x000FFFFFFFFFFFFF, upper_27 = 0xFFFFFFFFFC000000;
    constexpr std::uint64_t two_52_bits = 0x4330000000000000;  // an integer below 2^52 in its low
    constexpr double two_52 = 4503599627370496.0;              // bits is added to it
    const auto shifted = bits_of(x) + to_rows;
    const Real k = double_of((shifted >> 52) | two_52_bits) - ((two_52 + 1023.0) - more);
    const Real z = double_of((shifted & fraction) + logarithm_table::first_bits);
    const Real z_high = double_of(bits_of(z) & upper_27);
    const Real r_high = z_high * row.inverse - 1.0;
    const Real r_low = (z - z_high) * row.inverse;
    const Real r = r_high + r_low;
    const Real whole = k * ln2_high;
    const Real first = (whole + row.log) + r;
    const Real first_rest = (((whole - first) + row.log) + r_high) + r_low;
    const Real r2 = r * r;
    const Real powers = r2 * ((r * (1.0 / 3) - 0.5) + r2 * ((r * 0.2 - 0.25) - r2 * (1.0 / 6)));
    const Real rest = (k * ln2_low + first_rest) + powers;
    const Real high = first + rest;
    return {high, (first - high) + rest};
}

}  // namespace logarithm_detail

// log(x * 2^more) for a normal x > 0 and an integer |more| < 2^19.
inline Logarithm log_in_range(double x, double more) {
    const LogarithmRow& row = logarithm_detail::row_of(&x);
    return logarithm_detail::log_with<double>({row.inverse, row.log}, x, more);
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

// to[i] = log(from[i]) for i = 0 .. count - 1, if all are 0 or finite and positive.  False if they
// are not, and sometimes if they are nearly 0; then to[i] may be anything, so `to` must not be
// `from`.
inline bool take_logarithms_of_weights(const double* from, double* to, Index count) {
    using namespace logarithm_detail;
    Index i = 0;
#if defined(__AVX2__)  // vectors that take two registers are slower than one number at a time
    FourIntegers bad = {0, 0, 0, 0};
    for (; i + vector_length <= count; i += vector_length) {
        const FourDoubles x = load(from + i);
        const FourIntegers small = x < smallest_normal, finite = x < HUGE_VAL;
        bad |= (small & reinterpret_cast<FourIntegers>(x)) | ~finite;
        const FourDoubles log = log_with(rows_of_four(from + i), x, broadcast(0.0)).high;
        store(to + i, select(small, broadcast(-HUGE_VAL), log));
    }
    if (any(bad)) return false;
#endif
    for (; i < count; ++i) {
        if (!(from[i] >= 0 && from[i] < HUGE_VAL)) return false;
        to[i] = log_of(from[i]);
    }
    return true;
}

// log(x[i]) for i = 0 .. count - 1, in place.
inline void take_logarithms(double* x, Index count) {
    constexpr Index at_once = 256;
    double logarithms[at_once];
    for (Index first = 0; first < count; first += at_once) {
        const Index some = count - first < at_once ? count - first : at_once;
        if (take_logarithms_of_weights(x + first, logarithms, some)) {
            std::memcpy(x + first, logarithms, static_cast<std::size_t>(some) * sizeof(double));
        } else {
            for (Index i = first; i < first + some; ++i) x[i] = log_of(x[i]);
        }
    }
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
