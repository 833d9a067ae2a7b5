// Shannon and Renyi entropies without scores: carried through the elimination, beside each number.
//
// For a sum x over forests t of weights w(t), let
//
//     R(x) = log(sum over t of (w(t) / x)^order) / (1 - order),
//
// the Renyi entropy of choosing a forest in proportion to its weight (at order 1 its limit, the
// Shannon entropy).  For products, R adds; for quotients, it subtracts; and for a sum of two parts
// with the shares p and q,
//
//     R(x + y) = log(p^order e^(delta R(x)) + q^order e^(delta R(y))) / delta,   delta = 1 - order,
//
// which has a limit at delta = 0: p (R(x) - log p) + q (R(y) - log q).  No score enters, so masked
// arcs cost no digits.
#pragma once

#include <cmath>

#include "elimination/carrying.hpp"
#include "numbers/exponential.hpp"
#include "numbers/leading_term.hpp"
#include "numbers/logarithm.hpp"
#include "walk/problem.hpp"

namespace arborand {
namespace ARBORAND_ISA {

template <class Value>
struct EntropyAlgebra {
    double order;
    double delta;  // 1 - order

    struct Number {
        LeadingTerm<Value> value;
        double entropy = 0.0;
    };

    static Number constant(double x) { return {LeadingTerm<Value>(x)}; }
    static bool is_zero(const Number& x) { return !is_positive(x.value); }
    static Number multiply(const Number& x, const Number& y) {
        return {x.value * y.value, x.entropy + y.entropy};
    }
    static Number divide(const Number& x, const Number& y) {
        return {x.value / y.value, x.entropy - y.entropy};
    }

    void add_to(Number& x, const Number& y) const {
        if (is_zero(y)) return;
        if (is_zero(x) || x.value.order != y.value.order) {
            if (is_zero(x) || y.value.order < x.value.order) x = y;
            return;
        }
        const LeadingTerm<Value> total = x.value + y.value;
        const double share_x = share_of(x.value, total);
        const Number& large = share_x < 0.5 ? y : x;
        const Number& small = share_x < 0.5 ? x : y;
        const Value small_share = small.value.value / total.value;
        x.entropy = large.entropy + combined(to_double(small_share), log_of(small_share),
                                             small.entropy - large.entropy);
        x.value = total;
    }

  private:
    // Of a part of share q <= 1/2 that carries the entropy r, and of the rest, which carries 0.
    double combined(double q, double log_q, double r) const {
        const double log_p = log1p_of(-q);
        const double rest = (1.0 - q) * -log_p;
        if (delta == 0.0) return rest + (q > 0 ? q * (r - log_q) : 0.0);
        const double exponent = delta * (r - log_q);
        if (std::fabs(exponent) < largest_expm1 && std::fabs(delta * log_p) < largest_expm1) {
            // p e^(-delta log p) + q e^exponent, minus 1, without cancellation.
            const double excess = (1.0 - q) * expm1_of(-delta * log_p) + q * expm1_of(exponent);
            return log1p_of(excess) / delta;
        }
        // A part beyond the range of double still counts at order 0.
        const double large = order * log_p;
        const double small = (order > 0 ? order * log_q : 0.0) + delta * r;
        const double top = large > small ? large : small;
        const double gap = large > small ? small - large : large - small;
        return (top + log1p_of(exp_of(gap))) / delta;
    }
};

// The Renyi entropy of one order (1: Shannon's), for UnboundedDouble and ExactlyScaled.
struct CarriedEntropy {
    double order;
    double entropy;

    template <class Scalar>
    using Number = typename EntropyAlgebra<Scalar>::Number;

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return Arena::rounded<Number<Scalar>>(n * (n + 1)) +
               carrying_workspace<EntropyAlgebra<Scalar>>(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        const Index n = problem.graph.num_words;
        Number<Scalar>* rows = problem.arena.template take<Number<Scalar>>(n * (n + 1));
        for (Index j = 0; j < n; ++j) {
            for (Index i = 0; i <= n; ++i) {
                rows[j * (n + 1) + i] = {leading_term(problem.walk, n, j, i), 0.0};
            }
        }
        Number<Scalar> total;
        const EntropyAlgebra<Scalar> algebra{order, 1.0 - order};
        if (!eliminate_carrying(algebra, rows, total, problem)) return false;
        entropy = total.entropy > 0 ? total.entropy : 0.0;
        return true;
    }
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
