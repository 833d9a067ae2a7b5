// The two number types of the core: double, and a double with an unbounded exponent.
//
// Everything in elimination/ is written for a `Scalar` that can only be added, multiplied and
// divided, and never holds a negative value.  Without subtraction every operation keeps the
// relative error of its operands, so the only thing double can do wrong is to run out of exponent.
// When it does (see floating_point_guard.hpp) the same templates run on `UnboundedDouble`.
//
// Why UnboundedDouble stores a mantissa and an exponent rather than a logarithm: the logarithm of
// 2^-7000 is about -4852, and the spacing of doubles there is 9e-13, so a logarithmic scalar would
// carry relative errors of 1e-12 into every product.  A mantissa keeps 53 bits whatever the
// magnitude.
#pragma once

#include <cmath>

#include "numbers/bits.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// mantissa * 2^(512 * exponent), with 2^-256 <= mantissa < 2^256 and an integral exponent; zero is
// (0, -inf).  Coarse steps of the exponent make operations cheap: the mantissa is an ordinary
// double with room on both sides, and it is rarely out of its bounds, so the branches are
// predicted.  The exponent is a double itself: integers up to 2^53 are exact, and larger ones
// (scores beyond 1e18) degrade gracefully instead of overflowing.
struct UnboundedDouble {
    double mantissa;
    double exponent;

    UnboundedDouble() : mantissa(0.0), exponent(-HUGE_VAL) {}
    // With a mantissa out of its bounds by less than a factor 2^512.
    UnboundedDouble(double m, double e) : mantissa(m), exponent(e) {
        if (m >= upper()) {
            mantissa = m * down();
            exponent = e + 1;
        } else if (m < lower()) {
            mantissa = m * up();
            exponent = e - 1;
        }
    }
    explicit UnboundedDouble(double x) : UnboundedDouble(x, x > 0 ? 0.0 : -HUGE_VAL) {
        if (x > 0 && x < lower() * down())
            *this = UnboundedDouble(x * up() * up(), -2.0);  // subnormal
    }

    static double upper() { return power_of_two(256); }
    static double lower() { return power_of_two(-256); }
    static double up() { return power_of_two(512); }
    static double down() { return power_of_two(-512); }
};

inline UnboundedDouble operator+(UnboundedDouble x, UnboundedDouble y) {
    if (x.exponent == y.exponent) return UnboundedDouble(x.mantissa + y.mantissa, x.exponent);
    const UnboundedDouble large = x.exponent < y.exponent ? y : x;
    const UnboundedDouble small = x.exponent < y.exponent ? x : y;
    // Two steps apart the smaller one is below 2^-512 times the larger.
    if (small.exponent + 1 < large.exponent) return large;
    return UnboundedDouble(large.mantissa + small.mantissa * UnboundedDouble::down(),
                           large.exponent);
}

inline UnboundedDouble operator*(UnboundedDouble x, UnboundedDouble y) {
    return UnboundedDouble(x.mantissa * y.mantissa, x.exponent + y.exponent);
}

inline UnboundedDouble operator/(UnboundedDouble x, UnboundedDouble y) {
    return UnboundedDouble(x.mantissa / y.mantissa, x.exponent - y.exponent);
}

inline UnboundedDouble& operator+=(UnboundedDouble& x, UnboundedDouble y) { return x = x + y; }

inline bool is_positive(double x) { return x > 0; }
inline bool is_positive(UnboundedDouble x) { return x.mantissa > 0; }

// Of numbers side by side (of_four_graphs.hpp) some may be positive and others not, so what depends
// on that is asked for in these words: is none of them positive?
template <class Scalar>
inline bool is_zero(const Scalar& x) {
    return !is_positive(x);
}
// y where x is positive, else z
template <class Scalar>
inline const Scalar& where_positive(const Scalar& x, const Scalar& y, const Scalar& z) {
    return is_positive(x) ? y : z;
}
// 0 where x is positive, else 1
template <class Scalar>
inline int order_of(const Scalar& x) {
    return is_positive(x) ? 0 : 1;
}

inline double to_double(double x) { return x; }

// Values below the range of double become 0, as they must: they are results, no longer operands.
inline double to_double(UnboundedDouble x) {
    if (x.exponent == 0) return x.mantissa;
    if (!(x.exponent > -3)) return 0.0;
    if (x.exponent > 2) return HUGE_VAL;
    // At most two products, and only the last one can round.
    for (; x.exponent < 0; x.exponent += 1) x.mantissa *= UnboundedDouble::down();
    for (; x.exponent > 0; x.exponent -= 1) x.mantissa *= UnboundedDouble::up();
    return x.mantissa;
}

inline UnboundedDouble to_unbounded(double x) { return UnboundedDouble(x); }
inline UnboundedDouble to_unbounded(UnboundedDouble x) { return x; }

}  // namespace ARBORAND_ISA
}  // namespace arborand
