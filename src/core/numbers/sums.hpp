// Sums: in an order that every vector width can follow, and with the rounding errors kept.
#pragma once

#include <cmath>

#include "numbers/four_doubles.hpp"

namespace arborand {
namespace ARBORAND_ISA {

inline double sum_of(FourDoubles x) { return (x[0] + x[2]) + (x[1] + x[3]); }

// Eight running sums: a fixed order that every vector width can follow.
ARBORAND_INLINE double sum(const double* x, Index count) {
    FourDoubles low = broadcast(0.0), high = broadcast(0.0);
    Index i = 0;
    for (; i + 2 * vector_length <= count; i += 2 * vector_length) {
        low += load(x + i);
        high += load(x + i + vector_length);
    }
    const auto last = [&]() {
        const Index left = count - i;
        return FourDoubles{left > 0 ? x[i] : 0.0, left > 1 ? x[i + 1] : 0.0,
                           left > 2 ? x[i + 2] : 0.0, 0.0};
    };
    if (i + vector_length <= count) {
        low += load(x + i);
        i += vector_length;
        high += last();
    } else {
        low += last();
    }
    return sum_of(low + high);
}

template <class Scalar>
inline Scalar sum(const Scalar* x, Index count) {
    Scalar total;
    for (Index i = 0; i < count; ++i) total += x[i];
    return total;
}

// Divide numbers by their sum.
template <class Scalar>
inline void normalise(Scalar* x, Index count) {
    const Scalar total = sum(x, count);
    for (Index i = 0; i < count; ++i) x[i] = x[i] / total;
}

// A sum of doubles that keeps the rounding errors (Neumaier's, with the errors by Knuth's TwoSum:
// the same numbers without a comparison, which the processor would often guess wrongly).
template <class Real>  // double or OfFourGraphs
class CompensatedSumOf {
  public:
    void add(Real x) {
        const Real sum = high_ + x;
        const Real back = sum - high_;
        low_ += (high_ - (sum - back)) + (x - back);
        high_ = sum;
    }
    double value() const { return std::isinf(high_) ? high_ : high_ + low_; }
    // Of numbers whose sum does not overflow.
    Real finite_value() const { return high_ + low_; }
    // What rounding took from `value`.
    double rest() const { return std::isinf(high_) ? 0.0 : (high_ - value()) + low_; }

  private:
    Real high_{0.0}, low_{0.0};
};

using CompensatedSum = CompensatedSumOf<double>;

}  // namespace ARBORAND_ISA
}  // namespace arborand
