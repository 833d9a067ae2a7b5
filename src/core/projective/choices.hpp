// Choices of a derivation, drawn in proportion to their terms.
#pragma once

#include <cstdint>
#include <type_traits>

#include "numbers/bits.hpp"
#include "projective/derivation.hpp"
#include "randomness/philox.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// Call work(share), where share(term) is the part of a term in the total, in units of 2^-62.
template <class Number, class Work>
inline auto with_shares(const Number& total, const Work& work) {
    const double unit = power_of_two(62);
    if constexpr (std::is_same<Number, double>::value) {
        if (total >= power_of_two(-900)) {  // or the factor might overflow
            const double factor = unit / total;
            return work([=](double term) { return term * factor; });
        }
    }
    return work([&](const Number& term) {
        return is_positive(term) ? to_double(term / total) * unit : 0.0;
    });
}

// Draw any choice but `without`; `total` is the sum of the terms of the others.  Beside the
// rounding of the terms, each chance is off by less than 2^-62; what is left over goes to the
// heaviest.
template <class Number>
inline Index draw_choice(const Terms<Number>& terms, const Number& total, Index without,
                         Stream& stream) {
    auto target = static_cast<std::int64_t>(stream.next() >> 2);
    return with_shares(total, [&](const auto& share) {
        std::int64_t largest = -1;
        Index heaviest = 0;
        for (Index k = 0; k < terms.count; ++k) {
            if (k == without) continue;
            const auto part = static_cast<std::int64_t>(share(terms[k]));
            if (target < part) return k;
            target -= part;
            if (part > largest) {
                largest = part;
                heaviest = k;
            }
        }
        return heaviest;
    });
}

template <class Number>
inline Index draw_choice(const Terms<Number>& terms, Stream& stream) {
    return terms.count == 1 ? 0 : draw_choice(terms, terms.total, -1, stream);
}

template <class Number>
inline Index draw_other_choice(const Terms<Number>& terms, Index than, Stream& stream) {
    Number total(0.0);
    for (Index k = 0; k < terms.count; ++k) {
        if (k != than) total += terms[k];
    }
    return draw_choice(terms, total, than, stream);
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
