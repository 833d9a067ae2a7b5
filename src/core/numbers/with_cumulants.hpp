// Numbers that carry the means of two functions of a forest, and their covariance.
//
// A number x stands for a sum over forests, of which one is chosen in proportion to its weight.
// Functions that are sums over arcs, of u and of v, have the means and the covariance
//
//     d log x / du,   d log x / dv,   d^2 log x / du dv,
//
// where d / du is the derivative in the direction u of the scores.  For products all three add, for
// quotients they subtract, and for sums they follow the law of total covariance: so every operation
// is as accurate as in dual.hpp, with n^2 max|u| max|v| for n max|direction|.
//
// With `of_surprisal` the second function is minus the logarithm of the forest's probability: its
// mean is the entropy (see with_entropy.hpp), and the covariance is the derivative of the entropy
// in the direction u.
#pragma once

#include "numbers/exactly_scaled.hpp"
#include "numbers/of_four_graphs.hpp"
#include "numbers/unbounded_double.hpp"
#include "numbers/with_entropy.hpp"

namespace arborand {
namespace ARBORAND_ISA {

template <class Value, bool of_surprisal>
struct WithCumulants {
    using Real = Result<Value>;

    Value value;
    Real first, second, joint;

    WithCumulants() : WithCumulants(0.0) {}
    explicit WithCumulants(double v) : value(v), first(0.0), second(0.0), joint(0.0) {}
    WithCumulants(const Value& v, Real f, Real s, Real j)
        : value(v), first(f), second(s), joint(j) {}
};

// Of four graphs, some may have 0 where others do not: its share is then 0, too.
template <class Value, bool of_surprisal>
inline WithCumulants<Value, of_surprisal>& operator+=(WithCumulants<Value, of_surprisal>& x,
                                                      const WithCumulants<Value, of_surprisal>& y) {
    if (is_zero(y.value)) return x;
    if (is_zero(x.value)) return x = y;
    using Real = Result<Value>;
    const Value total = x.value + y.value, divisor = as_divisor(total);
    const Real share_x = to_double(x.value / divisor);
    const auto x_is_small = Real(0.5) > share_x;
    const Real p =
        all(x_is_small) ? share_x : choose(x_is_small, share_x, to_double(y.value / divisor));
    const auto& small = choose(x_is_small, x, y);
    const auto& large = choose(x_is_small, y, x);
    const Real first = small.first - large.first;
    Real second = small.second - large.second, mean_second = large.second + p * second;
    if constexpr (of_surprisal) {
        if (p > 0) {
            second += log1p_of(-p) - log_of(p);
            mean_second += binary_entropy(p);
        }
    }
    x = {total, large.first + p * first, mean_second,
         large.joint + p * (small.joint - large.joint) + p * (Real(1.0) - p) * first * second};
    return x;
}
template <class Value, bool of_surprisal>
inline WithCumulants<Value, of_surprisal> operator*(const WithCumulants<Value, of_surprisal>& x,
                                                    const WithCumulants<Value, of_surprisal>& y) {
    if (is_zero(x.value) || is_zero(y.value)) return {};
    return {x.value * y.value, x.first + y.first, x.second + y.second, x.joint + y.joint};
}
template <class Value, bool of_surprisal>
inline WithCumulants<Value, of_surprisal> operator/(const WithCumulants<Value, of_surprisal>& x,
                                                    const WithCumulants<Value, of_surprisal>& y) {
    if (is_zero(x.value)) return {};
    return {x.value / y.value, x.first - y.first, x.second - y.second, x.joint - y.joint};
}
template <class Value, bool of_surprisal>
inline bool is_positive(const WithCumulants<Value, of_surprisal>& x) {
    return is_positive(x.value);
}
template <class Value, bool of_surprisal>
inline bool is_zero(const WithCumulants<Value, of_surprisal>& x) {
    return is_zero(x.value);
}
template <class Value, bool of_surprisal>
inline auto order_of(const WithCumulants<Value, of_surprisal>& x) {
    return order_of(x.value);
}
template <bool of_surprisal>
inline WithCumulants<OfFourGraphs, of_surprisal> choose(
    FourIntegers holds, const WithCumulants<OfFourGraphs, of_surprisal>& y,
    const WithCumulants<OfFourGraphs, of_surprisal>& z) {
    return {choose(holds, y.value, z.value), choose(holds, y.first, z.first),
            choose(holds, y.second, z.second), choose(holds, y.joint, z.joint)};
}
template <class Value, bool of_surprisal>
inline WithCumulants<Value, of_surprisal> where_positive(
    const WithCumulants<Value, of_surprisal>& x, const WithCumulants<Value, of_surprisal>& y,
    const WithCumulants<Value, of_surprisal>& z) {
    return choose(are_positive(x.value), y, z);
}
template <class Value, bool of_surprisal>
inline auto to_unbounded(const WithCumulants<Value, of_surprisal>& x) {
    return to_unbounded(x.value);
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
