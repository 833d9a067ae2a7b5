// A sum of doubles without any rounding: a fixed-point number over the whole range of double.
//
// Scores may be 1e308 or 1e-320, and a tree's score is the sum of its arcs' scores.  Here such sums
// and their differences are exact, so that two trees whose scores differ in the last bit of the
// smallest one are told apart.  Slow beside a double (34 limbs of 64 bits), and only used where a
// double is not enough.
#pragma once

#include <cmath>
#include <cstdint>

#include "numbers/exact_difference.hpp"
#include "numbers/fixed_point.hpp"

namespace arborand {
namespace ARBORAND_ISA {

class ExactSum {
  public:
    ExactSum() = default;

    // x must be finite.
    explicit ExactSum(double x) : number_(Number::of(x, lowest_exponent)) {}

    ExactSum& operator+=(const ExactSum& other) {
        number_ = number_ + other.number_;
        return *this;
    }
    ExactSum& operator-=(const ExactSum& other) {
        number_ = number_ - other.number_;
        return *this;
    }

    bool is_negative() const { return number_.limb[num_limbs - 1] >> 63 != 0; }

    // The number as high + low, to 2^-104 relative; infinite beyond the range of double.
    Difference rounded() const {
        const Number magnitude = is_negative() ? Number{} - number_ : number_;
        int top = num_limbs - 1;
        while (top > 0 && magnitude.limb[top] == 0) --top;
        const std::uint64_t first = magnitude.limb[top];
        if (first == 0) return {0.0, 0.0};
        // The 128 bits that begin with the leading one.
        const std::uint64_t second = top > 0 ? magnitude.limb[top - 1] : 0;
        const std::uint64_t third = top > 1 ? magnitude.limb[top - 2] : 0;
        const int zeros = __builtin_clzll(first);
        const std::uint64_t high = joined(first, second, zeros);
        const std::uint64_t low = joined(second, third, zeros);
        // 53 bits, then the next 64: both conversions are exact, or round the last bits alone.
        const double sign = is_negative() ? -1.0 : 1.0;
        const int exponent = lowest_exponent + 64 * top - zeros;
        const std::uint64_t next = high << 53 | low >> 11;
        return {std::ldexp(sign * static_cast<double>(high >> 11), exponent + 11),
                std::ldexp(sign * static_cast<double>(next), exponent - 53)};
    }

    // To the nearest double, but for a double rounding; infinite beyond the range.
    double value() const {
        const Difference d = rounded();
        return std::isinf(d.high) ? d.high : d.high + d.low;
    }

  private:
    static constexpr int num_limbs = 34;
    static constexpr int lowest_exponent = -1088;  // of the last bit; the sign's is that of 2^1087
    using Number = Fixed<num_limbs>;

    // The 64 bits of (high, low) that begin `zeros` bits into high.
    static std::uint64_t joined(std::uint64_t high, std::uint64_t low, int zeros) {
        return zeros == 0 ? high : high << zeros | low >> (64 - zeros);
    }

    Number number_{};
};

inline ExactSum operator+(ExactSum x, const ExactSum& y) { return x += y; }
inline ExactSum operator-(ExactSum x, const ExactSum& y) { return x -= y; }

}  // namespace ARBORAND_ISA
}  // namespace arborand
