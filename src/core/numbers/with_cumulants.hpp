// Numbers that carry the means of two functions of a forest, and their covariance.
//
// A number x stands for a sum over forests, of which one is chosen in proportion to its weight.
// Functions that are sums over arcs, of u and of v, have the means and the covariance
//
//     d log x / du,   d log x / dv,   d^2 log x / du dv,
//
// where d / du is the derivative in the direction u of the scores.  Of a product all three add, of
// a quotient they subtract, and of a sum they follow the law of total covariance: so every
// operation is as accurate as in dual.hpp, with n^2 max|u| max|v| for n max|direction|.
//
// With `of_surprisal` the second function is minus the logarithm of the forest's probability: its
// mean is the entropy (see with_entropy.hpp), and the covariance is the derivative of the entropy
// in the direction u.
#pragma once

#include "numbers/exactly_scaled.hpp"
#include "numbers/unbounded_double.hpp"
#include "numbers/with_entropy.hpp"

namespace arborand {
namespace ARBORAND_ISA {

template <class Value, bool of_surprisal>
struct WithCumulants {
    Value value;
    double first, second, joint;

    WithCumulants() : value(), first(0.0), second(0.0), joint(0.0) {}
    explicit WithCumulants(double v) : value(v), first(0.0), second(0.0), joint(0.0) {}
    WithCumulants(const Value& v, double f, double s, double j)
        : value(v), first(f), second(s), joint(j) {}
};

template <class Value, bool of_surprisal>
inline WithCumulants<Value, of_surprisal>& operator+=(WithCumulants<Value, of_surprisal>& x,
                                                      const WithCumulants<Value, of_surprisal>& y) {
    if (!is_positive(y.value)) return x;
    if (!is_positive(x.value)) return x = y;
    const Value total = x.value + y.value;
    const double share_x = to_double(x.value / total);
    const bool x_is_small = share_x < 0.5;
    const WithCumulants<Value, of_surprisal>& small = x_is_small ? x : y;
    const WithCumulants<Value, of_surprisal>& large = x_is_small ? y : x;
    const double p = x_is_small ? share_x : to_double(y.value / total);
    const double first = small.first - large.first;
    double second = small.second - large.second, mean_second = large.second + p * second;
    if (of_surprisal && p > 0) {
        second += log1p_of(-p) - log_of(p);
        mean_second += binary_entropy(p);
    }
    x = {total, large.first + p * first, mean_second,
         large.joint + p * (small.joint - large.joint) + p * (1.0 - p) * first * second};
    return x;
}
template <class Value, bool of_surprisal>
inline WithCumulants<Value, of_surprisal> operator*(const WithCumulants<Value, of_surprisal>& x,
                                                    const WithCumulants<Value, of_surprisal>& y) {
    if (!is_positive(x.value) || !is_positive(y.value)) return {};
    return {x.value * y.value, x.first + y.first, x.second + y.second, x.joint + y.joint};
}
template <class Value, bool of_surprisal>
inline WithCumulants<Value, of_surprisal> operator/(const WithCumulants<Value, of_surprisal>& x,
                                                    const WithCumulants<Value, of_surprisal>& y) {
    if (!is_positive(x.value)) return {};
    return {x.value / y.value, x.first - y.first, x.second - y.second, x.joint - y.joint};
}
template <class Value, bool of_surprisal>
inline bool is_positive(const WithCumulants<Value, of_surprisal>& x) {
    return is_positive(x.value);
}
template <class Value, bool of_surprisal>
inline UnboundedDouble to_unbounded(const WithCumulants<Value, of_surprisal>& x) {
    return to_unbounded(x.value);
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
