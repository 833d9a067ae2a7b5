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

// mantissa * 2^exponent, with 1 <= mantissa < 2 and an integral exponent; zero is (0, -inf).
// The exponent is a double: integers up to 2^53 are exact, and larger ones (scores beyond 1e15)
// degrade gracefully instead of overflowing.
struct Wide {
    double mantissa;
    double exponent;

    Wide() : mantissa(0.0), exponent(-HUGE_VAL) {}
    Wide(double m, double e) : mantissa(m), exponent(e) {}
    explicit Wide(double x) : mantissa(0.0), exponent(-HUGE_VAL) {
        constexpr std::uint64_t fraction = (std::uint64_t{1} << 52) - 1;
        const std::uint64_t bits = bits_of(x);
        if (bits > fraction) {  // normal
            mantissa = double_of((bits & fraction) | bits_of(1.0));
            exponent = static_cast<double>(static_cast<int>(bits >> 52) - 1023);
        } else if (bits > 0) {
            mantissa = std::ldexp(x, 1074);
            int e;
            mantissa = 2 * std::frexp(mantissa, &e);
            exponent = e - 1 - 1074;
        }
    }
};

inline Wide operator+(Wide x, Wide y) {
    const bool swap = x.exponent < y.exponent;
    const Wide large = swap ? y : x;
    const Wide small = swap ? x : y;
    const double gap = small.exponent - large.exponent;  // NaN when both are zero
    if (!(gap > -64)) return large;                      // below half an ulp, or zero
    const double sum = large.mantissa + small.mantissa * power_of_two(static_cast<int>(gap));
    return sum < 2 ? Wide(sum, large.exponent) : Wide(0.5 * sum, large.exponent + 1);
}

inline Wide operator*(Wide x, Wide y) {
    const double product = x.mantissa * y.mantissa;
    const double exponent = x.exponent + y.exponent;
    return product < 2 ? Wide(product, exponent) : Wide(0.5 * product, exponent + 1);
}

inline Wide operator/(Wide x, Wide y) {
    const double quotient = x.mantissa / y.mantissa;
    const double exponent = x.exponent - y.exponent;
    if (quotient >= 1 || quotient == 0) return Wide(quotient, exponent);
    return Wide(2 * quotient, exponent - 1);
}

inline Wide& operator+=(Wide& x, Wide y) { return x = x + y; }

inline bool is_positive(double x) { return x > 0; }
inline bool is_positive(Wide x) { return x.mantissa > 0; }

inline double to_double(double x) { return x; }

// Values below the range of double become 0, as they must: they are results, no longer operands.
inline double to_double(Wide x) {
    if (!(x.exponent > -1080)) return 0.0;
    if (x.exponent > 1023) return HUGE_VAL;
    return std::ldexp(x.mantissa, static_cast<int>(x.exponent));
}

inline double log_of(Wide x) {
    return std::log(x.mantissa) + x.exponent * 0.693147180559945309417232121458;
}

inline Wide widened(double x) { return Wide(x); }
inline Wide widened(Wide x) { return x; }

}  // namespace ARBORAND_ISA
}  // namespace arborand
