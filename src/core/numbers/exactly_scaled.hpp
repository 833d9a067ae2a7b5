// The third number type of the core: a mantissa times e to an exact sum of scores.
//
// UnboundedDouble can hold e^score as long as scores differ by less than about 1e13.  Beyond that,
// a double cannot tell 1e30 from 1e30 + 1, although trees that all contain an arc of score 1e30 may
// differ by that 1.  Here the scores stay as they are, in an ExactSum: products add them, quotients
// subtract them, and a sum compares them exactly before it drops what the mantissa cannot hold.
//
// The mantissa stays moderate: every entry of the elimination is a ratio of two sums over at most
// (n + 1)^n forests, each of which is at least its largest term.  So the logarithm of a mantissa is
// below 2 n log(n + 1), and terms whose scores are `negligible` apart are apart by more than that
// and 2^-53 (for up to 50,000 nodes).
#pragma once

#include "numbers/exponential.hpp"
#include "numbers/fixed_point.hpp"
#include "numbers/logarithm.hpp"

namespace arborand {
namespace ARBORAND_ISA {

struct ExactlyScaled {
    UnboundedDouble mantissa;
    ExactSum log_scale;

    ExactlyScaled() = default;  // zero
    explicit ExactlyScaled(double x) : mantissa(x) {}
    ExactlyScaled(UnboundedDouble m, const ExactSum& s) : mantissa(m), log_scale(s) {}

    static ExactlyScaled exp_of(double score) { return {UnboundedDouble(1.0), ExactSum(score)}; }

    static constexpr double negligible = 1.2e6;
};

inline bool is_positive(const ExactlyScaled& x) { return is_positive(x.mantissa); }

// e^d, clamped where a mantissa no longer matters.
inline UnboundedDouble clamped_exp(Difference d) {
    constexpr double most = ExactlyScaled::negligible;
    if (d.high < -most) return UnboundedDouble();
    if (d.high > most) return UnboundedDouble(1.0, HUGE_VAL);
    return d.high <= 0 ? unbounded_exp(d)
                       : UnboundedDouble(1.0) / unbounded_exp(Difference{-d.high, -d.low});
}

inline ExactlyScaled& operator+=(ExactlyScaled& x, const ExactlyScaled& y) {
    if (!is_positive(y)) return x;
    if (!is_positive(x)) return x = y;
    const Difference d = (y.log_scale - x.log_scale).rounded();
    if (d.high > 0) {
        x.mantissa = y.mantissa + x.mantissa * clamped_exp(Difference{-d.high, -d.low});
        x.log_scale = y.log_scale;
    } else {
        x.mantissa += y.mantissa * clamped_exp(d);
    }
    return x;
}

inline ExactlyScaled operator+(ExactlyScaled x, const ExactlyScaled& y) { return x += y; }

inline ExactlyScaled operator*(const ExactlyScaled& x, const ExactlyScaled& y) {
    if (!is_positive(x) || !is_positive(y)) return ExactlyScaled();
    return {x.mantissa * y.mantissa, x.log_scale + y.log_scale};
}

inline ExactlyScaled operator/(const ExactlyScaled& x, const ExactlyScaled& y) {
    if (!is_positive(x)) return ExactlyScaled();
    return {x.mantissa / y.mantissa, x.log_scale - y.log_scale};
}

inline double to_double(const ExactlyScaled& x) {
    return is_positive(x) ? to_double(x.mantissa * clamped_exp(x.log_scale.rounded())) : 0.0;
}

inline UnboundedDouble to_unbounded(const ExactlyScaled& x) {
    return x.mantissa * clamped_exp(x.log_scale.rounded());
}

inline double log_of(const ExactlyScaled& x) {
    const Difference d = x.log_scale.rounded();
    return std::isinf(d.high) ? d.high : d.high + (d.low + log_of(x.mantissa));
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
