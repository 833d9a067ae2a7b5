// A choice of a derivation, drawn in proportion to its terms.
#pragma once

#include <cstdint>
#include <type_traits>

#include "numbers/bits.hpp"
#include "projective/derivation.hpp"
#include "randomness/philox.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// share(term) is the part of a term in the total, in units of 2^-62.  Beside the rounding of the
// terms, each chance is off by less than 2^-62; what is left over goes to the heaviest.
template <class Number, class Share>
inline Index draw_choice(const Terms<Number>& terms, Stream& stream, const Share& share) {
    auto target = static_cast<std::int64_t>(stream.next() >> 2);
    std::int64_t largest = -1;
    Index heaviest = 0;
    for (Index k = 0; k < terms.count; ++k) {
        const auto part = static_cast<std::int64_t>(share(terms[k]));
        if (target < part) return k;
        target -= part;
        if (part > largest) {
            largest = part;
            heaviest = k;
        }
    }
    return heaviest;
}

template <class Number>
inline Index draw_choice(const Terms<Number>& terms, Stream& stream) {
    if (terms.count == 1) return 0;
    const double unit = power_of_two(62);
    if constexpr (std::is_same<Number, double>::value) {
        if (terms.total >= power_of_two(-900)) {  // or the factor might overflow
            const double factor = unit / terms.total;
            return draw_choice(terms, stream, [=](double term) { return term * factor; });
        }
    }
    return draw_choice(terms, stream, [&](const Number& term) {
        return is_positive(term) ? to_double(term / terms.total) * unit : 0.0;
    });
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
