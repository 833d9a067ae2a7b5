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
//
// The elimination is that of elimination/censoring.hpp, in plain loops and in one root column: the
// numbers know their order in epsilon themselves (numbers/leading_term.hpp).  What they carry
// depends on the order of R, so their arithmetic is that of an object.  O(n^3) operations, each
// about ten times as slow as one on doubles.
#pragma once

#include <cmath>

#include "memory/arena.hpp"
#include "numbers/exponential.hpp"
#include "numbers/leading_term.hpp"
#include "numbers/logarithm.hpp"
#include "projective/chart.hpp"
#include "walk/problem.hpp"
#include "walk/rows.hpp"

namespace arborand {
namespace ARBORAND_ISA {

template <class Value>
struct EntropyAlgebra {
    double order;
    double delta;  // 1 - order

    struct Number {
        LeadingTerm<Value> value;
        double entropy = 0.0;

        bool is_zero() const { return !is_positive(value); }
        friend Number operator*(const Number& x, const Number& y) {
            return {x.value * y.value, x.entropy + y.entropy};
        }
        friend Number operator/(const Number& x, const Number& y) {
            return {x.value / y.value, x.entropy - y.entropy};
        }
    };

    void add_to(Number& x, const Number& y) const {
        if (y.is_zero()) return;
        if (x.is_zero() || x.value.order != y.value.order) {
            if (x.is_zero() || y.value.order < x.value.order) x = y;
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

// Such a number with its algebra, as a chart takes it.  0 and 1 are the same in all algebras.
template <class Value>
struct Carried {
    using Algebra = EntropyAlgebra<Value>;

    typename Algebra::Number number;
    const Algebra* algebra;

    Carried() : Carried(0.0) {}
    explicit Carried(double x) : number{LeadingTerm<Value>(x)}, algebra(nullptr) {}
    Carried(const typename Algebra::Number& x, const Algebra* a) : number(x), algebra(a) {}
};

template <class Value>
inline bool is_zero(const Carried<Value>& x) {
    return x.number.is_zero();
}
template <class Value>
inline Carried<Value>& operator+=(Carried<Value>& x, const Carried<Value>& y) {
    if (is_zero(y)) return x;
    if (is_zero(x)) return x = y;
    x.algebra = x.algebra == nullptr ? y.algebra : x.algebra;
    x.algebra->add_to(x.number, y.number);
    return x;
}
template <class Value>
inline Carried<Value> operator*(const Carried<Value>& x, const Carried<Value>& y) {
    if (is_zero(x) || is_zero(y)) return {};
    return {x.number * y.number, x.algebra == nullptr ? y.algebra : x.algebra};
}

// The Renyi entropy of one order (1: Shannon's), for UnboundedDouble and ExactlyScaled.
struct CarriedEntropy {
    double order;
    double entropy;

    template <class Scalar>
    using Number = typename EntropyAlgebra<Scalar>::Number;

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return Arena::rounded<Number<Scalar>>(n * (n + 1)) +
               Arena::rounded<Carried<Scalar>>(n * (n + 1)) + Chart<Carried<Scalar>>::workspace(n);
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
        const bool finished = problem.graph.is_projective()
                                  ? sum_projective(algebra, rows, total, problem)
                                  : eliminate(algebra, rows, total, problem);
        if (!finished) return false;
        entropy = total.entropy > 0 ? total.entropy : 0.0;
        return true;
    }

  private:
    // rows[j * (n + 1) + i]: the step from node j to node i, column n the root.  The product of the
    // pivots, which stands for the sum over all trees.  False: interrupted, or there is no tree.
    template <class Scalar>
    static bool eliminate(const EntropyAlgebra<Scalar>& algebra, Number<Scalar>* rows,
                          Number<Scalar>& total, const Problem<Scalar>& problem) {
        const Index n = problem.graph.num_words, stride = n + 1;
        for (Index k = 0; k < n; ++k) {
            if (problem.interrupt.requested(n)) return false;
            const Number<Scalar>* row = rows + k * stride;
            Number<Scalar> pivot = row[n];
            for (Index i = k + 1; i < n; ++i) algebra.add_to(pivot, row[i]);
            if (pivot.is_zero()) return false;
            total = k == 0 ? pivot : total * pivot;
            for (Index j = k + 1; j < n; ++j) {
                Number<Scalar>* other = rows + j * stride;
                if (other[k].is_zero()) continue;
                const Number<Scalar> factor = other[k] / pivot;
                for (Index i = k + 1; i <= n; ++i) {
                    if (i != j && !row[i].is_zero()) algebra.add_to(other[i], factor * row[i]);
                }
            }
        }
        return true;
    }

    // The same over projective trees.
    template <class Scalar>
    static bool sum_projective(const EntropyAlgebra<Scalar>& algebra, const Number<Scalar>* rows,
                               Number<Scalar>& total, Problem<Scalar>& problem) {
        const Index n = problem.graph.num_words;
        Carried<Scalar>* weights = problem.arena.template take<Carried<Scalar>>(n * (n + 1));
        for (Index i = 0; i < n * (n + 1); ++i) weights[i] = {rows[i], &algebra};
        Chart<Carried<Scalar>> chart({weights, n + 1, n}, n, problem.graph.has_single_root(),
                                     problem.arena);
        if (!chart.inward(problem.interrupt)) return false;
        total = chart.partition().number;
        return !total.is_zero();
    }
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
