// A sum of doubles without any rounding: a fixed-point number over the whole range of double.
//
// Scores may be 1e308 or 1e-320, and a tree's score is the sum of its arcs' scores.  Here such sums
// and their differences are exact, so that two trees whose scores differ in the last bit of the
// smallest one are told apart.  Slow beside a double (34 words of 64 bits), and only used where a
// double is not enough.
#pragma once

#include <cmath>
#include <cstdint>

#include "numbers/bits.hpp"
#include "numbers/exact_difference.hpp"
#include "numbers/integer_128.hpp"

namespace arborand {
namespace ARBORAND_ISA {

class ExactSum {
  public:
    ExactSum() = default;

    // x must be finite.
    explicit ExactSum(double x) {
        const std::uint64_t bits = bits_of(x);
        const int biased = static_cast<int>(bits >> 52 & 0x7ff);
        const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
        const std::uint64_t mantissa = biased > 0 ? fraction | std::uint64_t{1} << 52 : fraction;
        // x = mantissa * 2^(position - 1088); doubles end at 2^-1074.
        const int position = (biased > 0 ? biased : 1) - 1075 - lowest_exponent;
        const int word = position / 64, shift = position % 64;
        words_[word] = mantissa << shift;
        if (shift > 11) words_[word + 1] = mantissa >> (64 - shift);
        if (x < 0) negate();
    }

    ExactSum& operator+=(const ExactSum& other) {
        std::uint64_t carry = 0;
        for (int i = 0; i < num_words; ++i) {
            const UInt128 sum = static_cast<UInt128>(words_[i]) + other.words_[i] + carry;
            words_[i] = low_half(sum);
            carry = high_half(sum);
        }
        return *this;
    }

    ExactSum& operator-=(const ExactSum& other) {
        std::uint64_t carry = 1;  // minus y is the complement of y, plus 1
        for (int i = 0; i < num_words; ++i) {
            const UInt128 sum = static_cast<UInt128>(words_[i]) + ~other.words_[i] + carry;
            words_[i] = low_half(sum);
            carry = high_half(sum);
        }
        return *this;
    }

    bool is_negative() const { return words_[num_words - 1] >> 63 != 0; }

    // The number as high + low, to 2^-104 relative; infinite beyond the range of double.
    Difference rounded() const {
        ExactSum magnitude = *this;
        if (is_negative()) magnitude.negate();
        int top = num_words - 1;
        while (top > 0 && magnitude.words_[top] == 0) --top;
        const std::uint64_t first = magnitude.words_[top];
        if (first == 0) return {0.0, 0.0};
        // The 128 bits that begin with the leading one.
        const std::uint64_t second = top > 0 ? magnitude.words_[top - 1] : 0;
        const std::uint64_t third = top > 1 ? magnitude.words_[top - 2] : 0;
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
    static constexpr int num_words = 34;
    static constexpr int lowest_exponent =
        -1088;  // of the last bit; the sign bit is that of 2^1087

    // The 64 bits of (high, low) that begin `zeros` bits into high.
    static std::uint64_t joined(std::uint64_t high, std::uint64_t low, int zeros) {
        return zeros == 0 ? high : high << zeros | low >> (64 - zeros);
    }

    void negate() {
        const ExactSum positive = *this;
        *this = ExactSum();
        *this -= positive;
    }

    std::uint64_t words_[num_words] = {};  // the lowest first, two's complement
};

inline ExactSum operator+(ExactSum x, const ExactSum& y) { return x += y; }
inline ExactSum operator-(ExactSum x, const ExactSum& y) { return x -= y; }

}  // namespace ARBORAND_ISA
}  // namespace arborand
