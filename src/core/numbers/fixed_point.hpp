// Exact sums of doubles: fixed-point numbers of as many 64-bit limbs as a graph's scores need.
//
// Every double is an integer times 2^-1074, so all scores of a graph are integers times some power
// of two, and sums and differences of them are exact in two's complement with enough bits.
#pragma once

#include <cmath>
#include <cstdint>

#include "numbers/bits.hpp"
#include "numbers/exact_arithmetic.hpp"
#include "types/graph.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// A finite double other than 0, taken apart: |x| = mantissa * 2^exponent, with an integer mantissa.
struct Parts {
    std::uint64_t mantissa;
    int exponent;
    bool negative;

    explicit Parts(double x) {
        const std::uint64_t bits = bits_of(x);
        negative = bits >> 63 != 0;
        mantissa = bits & ((std::uint64_t{1} << 52) - 1);
        const int biased = static_cast<int>(bits >> 52 & 2047);
        if (biased != 0) mantissa |= std::uint64_t{1} << 52;
        exponent = (biased != 0 ? biased : 1) - 1075;
    }
};

template <int num_limbs>
struct Fixed {
    std::uint64_t limb[num_limbs];  // the lowest first

    // Less than any sum of scores; stands for "no arc".
    static Fixed absent() {
        Fixed x{};
        x.limb[num_limbs - 1] = std::uint64_t{1} << 63;
        return x;
    }
    bool is_absent() const { return limb[num_limbs - 1] == std::uint64_t{1} << 63; }

    // A finite score in units of 2^lowest.
    static Fixed of(double score, int lowest) {
        Fixed x{};
        if (score == 0.0) return x;
        Parts parts(score);
        int position = parts.exponent - lowest;
        if (position < 0) {  // the lowest bits of the mantissa are 0
            parts.mantissa >>= -position;
            position = 0;
        }
        const int first = position / 64, offset = position % 64;
        x.limb[first] = parts.mantissa << offset;
        if (offset > 11 && first + 1 < num_limbs) {
            x.limb[first + 1] = parts.mantissa >> (64 - offset);
        }
        return parts.negative ? Fixed{} - x : x;
    }
};

template <int num_limbs>
inline Fixed<num_limbs> operator+(const Fixed<num_limbs>& a, const Fixed<num_limbs>& b) {
    Fixed<num_limbs> result;
    std::uint64_t carry = 0;
    for (int i = 0; i < num_limbs; ++i) {
        const std::uint64_t sum = a.limb[i] + b.limb[i];
        result.limb[i] = sum + carry;
        carry = static_cast<std::uint64_t>(sum < a.limb[i]) | (result.limb[i] < sum);
    }
    return result;
}

template <int num_limbs>
inline Fixed<num_limbs> operator-(const Fixed<num_limbs>& a, const Fixed<num_limbs>& b) {
    Fixed<num_limbs> result;
    std::uint64_t borrow = 0;
    for (int i = 0; i < num_limbs; ++i) {
        const std::uint64_t difference = a.limb[i] - b.limb[i];
        result.limb[i] = difference - borrow;
        borrow = static_cast<std::uint64_t>(a.limb[i] < b.limb[i]) | (difference < borrow);
    }
    return result;
}

// Negative, zero or positive, like a - b.
template <int num_limbs>
inline int compare(const Fixed<num_limbs>& a, const Fixed<num_limbs>& b) {
    const auto top_a = static_cast<std::int64_t>(a.limb[num_limbs - 1]);
    const auto top_b = static_cast<std::int64_t>(b.limb[num_limbs - 1]);
    if (top_a != top_b) return top_a < top_b ? -1 : 1;
    for (int i = num_limbs - 2; i >= 0; --i) {
        if (a.limb[i] != b.limb[i]) return a.limb[i] < b.limb[i] ? -1 : 1;
    }
    return 0;
}

// What the scores of a graph need: their lowest bit, and the bits of sums of them.
struct FixedFormat {
    int lowest = 0;
    int bits = 2;

    static FixedFormat of(const Graph& graph) {
        return of_scores(
            [&](const auto& visit) {
                for (Index i = 0; i <= graph.num_words; ++i) {
                    for (Index j = 1; j <= graph.num_words; ++j) visit(graph.score(i, j));
                }
            },
            graph.num_words);
    }

    // for_each_score(visit) visits all scores of a graph with so many words.
    template <class ForEachScore>
    static FixedFormat of_scores(const ForEachScore& for_each_score, Index num_words) {
        int lowest = 2000, highest = -2000;
        for_each_score([&](double score) {
            if (score == -HUGE_VAL || score == 0.0) return;
            const Parts parts(score);
            const int low = parts.exponent + __builtin_ctzll(parts.mantissa);
            const int high = parts.exponent + 64 - __builtin_clzll(parts.mantissa);
            if (low < lowest) lowest = low;
            if (high > highest) highest = high;
        });
        if (lowest > highest) return {};  // all scores are 0
        // Values are differences of sums of at most n scores, added up at most twice more: below
        // 8 n scores; one bit for the sign, one to stay away from the absent value.
        int spare = 5;
        for (Index m = num_words; m > 0; m /= 2) ++spare;
        return {lowest, highest - lowest + spare};
    }
};

// Call work with an exact number of the format's size: work(Fixed<...>{}).
template <class Work>
auto with_exact_numbers(const FixedFormat& format, Work&& work) {
    if (format.bits <= 64) return work(Fixed<1>{});
    if (format.bits <= 128) return work(Fixed<2>{});
    if (format.bits <= 256) return work(Fixed<4>{});
    return work(Fixed<34>{});
}

// A sum of doubles without any rounding: a fixed-point number over the whole range of double.
//
// Scores may be 1e308 or 1e-320, and a tree's score is the sum of its arcs' scores.  Here such sums
// and their differences are exact, so that two trees whose scores differ in the last bit of the
// smallest one are told apart.  Slow beside a double (34 limbs of 64 bits), and only used where a
// double is not enough.
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
