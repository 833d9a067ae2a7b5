// The logarithm of a double with an unbounded exponent.
#pragma once

#include <cmath>

#include "numbers/unbounded_double.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// log x = high + low, without rounding away the logarithm of the mantissa beside a large exponent.
inline void log_of(UnboundedDouble x, double& high, double& low) {
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

inline double log_of(UnboundedDouble x) {
    double high, low;
    log_of(x, high, low);
    return high + low;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
