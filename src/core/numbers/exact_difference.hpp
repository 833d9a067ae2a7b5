// The difference of two doubles as an unevaluated sum of two, without rounding error.
#pragma once

namespace arborand {
namespace ARBORAND_ISA {

template <class Real>  // double or FourDoubles
struct DifferenceOf {
    Real high, low;
};

using Difference = DifferenceOf<double>;

// x - y without rounding error (Knuth's TwoSum; valid for any finite operands that do not
// overflow).
template <class Real>
inline DifferenceOf<Real> exact_difference(Real x, Real y) {
    const Real high = x - y;
    const Real back = high - x;
    return {high, (x - (high - back)) - (y + back)};
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
