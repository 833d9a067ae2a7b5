// Integers modulo a prime: a whole number that is known to be smaller than the prime is found
// exactly, however large the numbers it is computed from.
#pragma once

#include <cmath>
#include <cstdint>

#include "numbers/bits.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// `prime` must be a prime below 2^62, so that sums of two fit.
template <std::uint64_t prime>
class Residue {
  public:
    Residue() = default;
    explicit Residue(double whole) {  // a whole number that is not negative, of any size
        int exponent;
        const double mantissa = std::frexp(whole, &exponent);  // 53 bits
        value_ = static_cast<std::uint64_t>(std::ldexp(mantissa, 53)) % prime;
        exponent -= 53;
        const Residue two(std::uint64_t{2});
        *this = exponent >= 0 ? *this * two.power(static_cast<std::uint64_t>(exponent))
                              : *this / two.power(static_cast<std::uint64_t>(-exponent));
    }

    std::uint64_t value() const { return value_; }

    friend Residue operator+(Residue a, Residue b) {
        const std::uint64_t sum = a.value_ + b.value_;
        return Residue(sum < prime ? sum : sum - prime);
    }
    friend Residue operator*(Residue a, Residue b) {
        return Residue(static_cast<std::uint64_t>(UInt128{a.value_} * b.value_ % prime));
    }
    // Fermat: b^(prime - 1) = 1.
    friend Residue operator/(Residue a, Residue b) { return a * b.power(prime - 2); }
    Residue& operator+=(Residue other) { return *this = *this + other; }

    friend bool is_positive(Residue a) { return a.value_ != 0; }

  private:
    explicit Residue(std::uint64_t value) : value_(value) {}

    Residue power(std::uint64_t exponent) const {
        Residue result(std::uint64_t{1}), square = *this;
        for (; exponent > 0; exponent /= 2) {
            if (exponent % 2 == 1) result = result * square;
            square = square * square;
        }
        return result;
    }

    std::uint64_t value_ = 0;
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
