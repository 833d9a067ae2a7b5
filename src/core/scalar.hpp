// The two number types of the core: double, and a double with an unbounded exponent.
//
// Everything in censoring.hpp and recursion.hpp is written for a `Scalar` that can only be added,
// multiplied and divided, and never holds a negative value.  Without subtraction every operation
// keeps the relative error of its operands, so the only thing double can do wrong is to run out of
// exponent.  When it does (see range.hpp) the same templates run on `Wide`.
//
// Why Wide stores a mantissa and an exponent rather than a logarithm: the logarithm of 2^-7000 is
// about -4852, and the spacing of doubles there is 9e-13, so a logarithmic scalar would carry
// relative errors of 1e-12 into every product.  A mantissa keeps 53 bits whatever the magnitude.
#pragma once

#include <cmath>
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

// mantissa * 2^(512 * exponent), with 2^-256 <= mantissa < 2^256 and an integral exponent; zero is
// (0, -inf).  Coarse steps of the exponent make operations cheap: the mantissa is an ordinary
// double with room on both sides, and it is rarely out of its bounds, so the branches are
// predicted.  The exponent is a double itself: integers up to 2^53 are exact, and larger ones
// (scores beyond 1e18) degrade gracefully instead of overflowing.
struct Wide {
    double mantissa;
    double exponent;

    Wide() : mantissa(0.0), exponent(-HUGE_VAL) {}
    // With a mantissa out of its bounds by less than a factor 2^512.
    Wide(double m, double e) : mantissa(m), exponent(e) {
        if (m >= upper()) {
            mantissa = m * down();
            exponent = e + 1;
        } else if (m < lower()) {
            mantissa = m * up();
            exponent = e - 1;
        }
    }
    explicit Wide(double x) : Wide(x, x > 0 ? 0.0 : -HUGE_VAL) {
        if (x > 0 && x < lower() * down()) *this = Wide(x * up() * up(), -2.0);  // subnormal
    }

    static double upper() { return power_of_two(256); }
    static double lower() { return power_of_two(-256); }
    static double up() { return power_of_two(512); }
    static double down() { return power_of_two(-512); }
};

inline Wide operator+(Wide x, Wide y) {
    if (x.exponent == y.exponent) return Wide(x.mantissa + y.mantissa, x.exponent);
    const Wide large = x.exponent < y.exponent ? y : x;
    const Wide small = x.exponent < y.exponent ? x : y;
    // Two steps apart the smaller one is below 2^-512 times the larger.
    if (small.exponent + 1 < large.exponent) return large;
    return Wide(large.mantissa + small.mantissa * Wide::down(), large.exponent);
}

inline Wide operator*(Wide x, Wide y) {
    return Wide(x.mantissa * y.mantissa, x.exponent + y.exponent);
}

inline Wide operator/(Wide x, Wide y) {
    return Wide(x.mantissa / y.mantissa, x.exponent - y.exponent);
}

inline Wide& operator+=(Wide& x, Wide y) { return x = x + y; }

inline bool is_positive(double x) { return x > 0; }
inline bool is_positive(Wide x) { return x.mantissa > 0; }

inline double to_double(double x) { return x; }

// Values below the range of double become 0, as they must: they are results, no longer operands.
inline double to_double(Wide x) {
    if (x.exponent == 0) return x.mantissa;
    if (!(x.exponent > -4)) return 0.0;
    if (x.exponent > 3) return HUGE_VAL;
    return std::ldexp(x.mantissa, 512 * static_cast<int>(x.exponent));
}

// log x = high + low, without rounding away the logarithm of the mantissa beside a large exponent.
inline void log_of(Wide x, double& high, double& low) {
    constexpr double step = 354.891356446692;              // 512 log 2
    constexpr double step_error = 1.1873519686893054e-14;  // 512 log 2 - step
    const double mantissa = std::log(x.mantissa);
    if (x.exponent == 0) {
        high = mantissa;
        low = 0.0;
        return;
    }
    const double whole = x.exponent * step;
    const double whole_error = std::fma(x.exponent, step, -whole) + x.exponent * step_error;
    high = whole + mantissa;
    low = std::isinf(high) ? 0.0 : ((whole - high) + mantissa) + whole_error;
}

inline double log_of(Wide x) {
    double high, low;
    log_of(x, high, low);
    return high + low;
}

inline Wide widened(double x) { return Wide(x); }
inline Wide widened(Wide x) { return x; }

}  // namespace ARBORAND_ISA
}  // namespace arborand
