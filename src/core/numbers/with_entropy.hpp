// Numbers that carry an entropy.
//
// A number stands for a sum over forests, and carries the entropy of choosing one of them in
// proportion to its weight.  For products the entropies add, for quotients they subtract, and for a
// sum it is the mean of both entropies plus that of choosing the part.  In other words, it is
// log x - (the derivative of log x as all scores are stretched); but no score enters, so a mask of
// -1e9 on an arc that every tree needs costs no digits.  The error is absolute: a few units in the
// last place of n log(n + 1).
#pragma once

#include "numbers/exactly_scaled.hpp"
#include "numbers/unbounded_double.hpp"

namespace arborand {
namespace ARBORAND_ISA {

template <class Value>
struct WithEntropy {
    Value value;
    double entropy;

    WithEntropy() : value(), entropy(0.0) {}
    explicit WithEntropy(double v) : value(v), entropy(0.0) {}
    WithEntropy(const Value& v, double h) : value(v), entropy(h) {}
};

// The entropy of choosing between parts of share p and 1 - p, of which p is the smaller.
inline double binary_entropy(double p) {
    return p > 0 ? -p * log_of(p) - (1.0 - p) * log1p_of(-p) : 0.0;
}

template <class Value>
inline WithEntropy<Value>& operator+=(WithEntropy<Value>& x, const WithEntropy<Value>& y) {
    if (!is_positive(y.value)) return x;
    if (!is_positive(x.value)) return x = y;
    const Value total = x.value + y.value;
    const double share_x = to_double(x.value / total);
    if (share_x < 0.5) {
        x.entropy = y.entropy + share_x * (x.entropy - y.entropy) + binary_entropy(share_x);
    } else {
        const double share_y = to_double(y.value / total);
        x.entropy = x.entropy + share_y * (y.entropy - x.entropy) + binary_entropy(share_y);
    }
    x.value = total;
    return x;
}
template <class Value>
inline WithEntropy<Value> operator*(const WithEntropy<Value>& x, const WithEntropy<Value>& y) {
    if (!is_positive(x.value) || !is_positive(y.value)) return {};
    return {x.value * y.value, x.entropy + y.entropy};
}
template <class Value>
inline WithEntropy<Value> operator/(const WithEntropy<Value>& x, const WithEntropy<Value>& y) {
    if (!is_positive(x.value)) return {};
    return {x.value / y.value, x.entropy - y.entropy};
}
template <class Value>
inline bool is_positive(const WithEntropy<Value>& x) {
    return is_positive(x.value);
}
template <class Value>
inline UnboundedDouble to_unbounded(const WithEntropy<Value>& x) {
    return to_unbounded(x.value);
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
