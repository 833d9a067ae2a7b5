// The leading term of a power series in epsilon: value * epsilon^order.
//
// Dependency trees are the limit of spanning trees whose root weights are epsilon times themselves
// (elimination/censoring.hpp).  Leading terms of sums, products and quotients of non-negative
// quantities are sums, products and quotients of leading terms, so a number that knows its order
// makes any elimination of spanning trees one of dependency trees.
#pragma once

#include "numbers/exactly_scaled.hpp"
#include "numbers/unbounded_double.hpp"

namespace arborand {
namespace ARBORAND_ISA {

template <class Value>
struct LeadingTerm {
    Value value;
    int order;

    LeadingTerm() : value(), order(0) {}
    explicit LeadingTerm(double v) : value(v), order(0) {}
    LeadingTerm(const Value& v, int o) : value(v), order(o) {}
};

template <class Value>
inline bool is_positive(const LeadingTerm<Value>& x) {
    return is_positive(x.value);
}

template <class Value>
inline LeadingTerm<Value>& operator+=(LeadingTerm<Value>& x, const LeadingTerm<Value>& y) {
    if (!is_positive(y)) return x;
    if (!is_positive(x) || y.order < x.order) return x = y;
    if (y.order == x.order) x.value += y.value;
    return x;
}
template <class Value>
inline LeadingTerm<Value> operator+(LeadingTerm<Value> x, const LeadingTerm<Value>& y) {
    return x += y;
}
template <class Value>
inline LeadingTerm<Value> operator*(const LeadingTerm<Value>& x, const LeadingTerm<Value>& y) {
    return {x.value * y.value, x.order + y.order};
}
template <class Value>
inline LeadingTerm<Value> operator/(const LeadingTerm<Value>& x, const LeadingTerm<Value>& y) {
    return {x.value / y.value, x.order - y.order};
}

// The part of x in a total that contains it: x / total where both have the same order, else 0.
template <class Value>
inline double share_of(const LeadingTerm<Value>& x, const LeadingTerm<Value>& total) {
    return is_positive(x) && x.order == total.order ? to_double(x.value / total.value) : 0.0;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
