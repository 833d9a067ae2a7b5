// The Kullback-Leibler divergence of two distributions over trees, carried through the elimination.
//
// A number holds the same sum over forests under both distributions, x_p and x_q, and the
// divergence of choosing a forest by p from choosing it by q.  Of a product divergences add, of a
// quotient they subtract, and of a sum whose parts have the shares a, b under p and c, d under q
//
//     D(x + y) = a D(x) + b D(y) + a log(a / c) + b log(b / d).
//
// Equal weights give equal shares and exactly 0; close ones a sum of small terms, each with its own
// relative accuracy.
//
// Dependency trees: x_p and x_q have orders in epsilon of their own (they differ where one
// distribution forbids what the other allows, or where one is over spanning trees).  Under p only
// the leading parts have a share.  Under q a part may be of a higher order than the sum; its share
// is then c epsilon^k, and -k log epsilon enters the divergence, weighted by the share under p.
// Operations are linear in divergences, so the coefficient of log epsilon keeps to itself; and in
// the sum over all trees it is 0.  So it need not be carried: only what c adds is.
#pragma once

#include <cmath>

#include "elimination/carrying.hpp"
#include "numbers/leading_term.hpp"
#include "numbers/logarithm.hpp"
#include "walk/problem.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// u - log(1 + u), without cancellation for small u: with r = u / (2 + u) it is
// u r - 2 (r^3 / 3 + r^5 / 5 + ..).
inline double log1p_deficit(double u) {
    if (std::fabs(u) > 0.125) return u - log1p_of(u);
    const double r = u / (2.0 + u), s = r * r;
    // |r| < 0.067: the first term left out is below 2^-58 of the sum.
    double series = 1.0 / 17;
    for (int k = 15; k >= 3; k -= 2) series = 1.0 / k + s * series;
    return u * r - 2.0 * r * s * series;
}

template <class Value>
struct DivergenceAlgebra {
    struct Number {
        LeadingTerm<Value> p, q;
        double divergence = 0.0;
    };

    static bool is_zero(const Number& x) { return !is_positive(x.p) && !is_positive(x.q); }
    static Number multiply(const Number& x, const Number& y) {
        return {x.p * y.p, x.q * y.q, x.divergence + y.divergence};
    }
    static Number divide(const Number& x, const Number& y) {
        return {x.p / y.p, x.q / y.q, x.divergence - y.divergence};
    }

    double* magnitude;  // of the largest term met: errors are a few 2^-53 times that

    void add_to(Number& x, const Number& y) const {
        if (is_zero(y)) return;
        note(y.divergence);
        if (is_zero(x)) {
            x = y;
            return;
        }
        const LeadingTerm<Value> p = x.p + y.p, q = x.q + y.q;
        const double share_x = share_of(x.p, p), share_y = share_of(y.p, p);
        if (is_positive(p)) {
            x.divergence =
                share_x < share_y ? combined(x, share_x, y, q) : combined(y, share_y, x, q);
            note(x.divergence);
        }
        x.p = p;
        x.q = q;
    }

  private:
    // NaN counts as infinitely large.
    void note(double term) const {
        const double size = std::fabs(term);
        if (!(size <= *magnitude)) *magnitude = size > *magnitude ? size : HUGE_VAL;
    }

    // The divergence of a sum; `small` has the share b <= 1/2 under p, q is the sum under q.
    double combined(const Number& small, double b, const Number& large,
                    const LeadingTerm<Value>& q) const {
        const double a = 1.0 - b, c = share_of(large.q, q), d = share_of(small.q, q);
        if (!(b > 0)) return large.divergence - log_share(large.q, q, d);
        const double mean = large.divergence + b * (small.divergence - large.divergence);
        const double t = d - b;
        if (small.q.order == large.q.order && std::fabs(t) <= 0.125 * b) {
            // a log(a / c) + b log(b / d) with c = a - t and d = b + t; the terms in t cancel.
            note(t);  // of shares whose errors are relative ones
            return mean + b * log1p_deficit(t / b) + a * log1p_deficit(-t / a);
        }
        const double of_large = a * (log1p_of(-b) - log_share(large.q, q, d));
        const double of_small = b * (log_of(b) - log_share(small.q, q, c));
        note(of_large);
        note(of_small);
        return mean + of_large + of_small;
    }

    // log(x / q), where `rest` is the share of the other part; of a part of a higher order than q
    // that of its coefficient.
    static double log_share(const LeadingTerm<Value>& x, const LeadingTerm<Value>& q, double rest) {
        if (x.order == q.order && rest < 0.5) return log1p_of(-rest);
        return log_of(x.value / q.value);
    }
};

// KL(p || q) of the trees of one graph under the scores of two, where q allows every arc that p
// does. The Problem is that of p; for UnboundedDouble and ExactlyScaled.
struct Divergence {
    const Graph& other;
    double divergence;
    double magnitude;  // of the terms that it is the sum of

    template <class Scalar>
    using Number = typename DivergenceAlgebra<Scalar>::Number;

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return Arena::rounded<double>(n + 1) + Arena::rounded<Scalar>(n) +
               Arena::rounded<Scalar>(n * walk_stride(n)) +
               Arena::rounded<Number<Scalar>>(n * (n + 1));
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        const Index n = problem.graph.num_words;
        Shift shift{problem.arena.template take<double>(n + 1)};
        Scalar* buffer = problem.arena.template take<Scalar>(n);
        Scalar* walk = problem.arena.template take<Scalar>(n * walk_stride(n));
        compute_shift(other, shift);
        fits = fill_walk(other, shift, walk, buffer) == none_lost;
        if (!fits) return false;
        Number<Scalar>* rows = problem.arena.template take<Number<Scalar>>(n * (n + 1));
        for (Index j = 0; j < n; ++j) {
            for (Index i = 0; i <= n; ++i) {
                rows[j * (n + 1) + i] = {leading_term(problem.walk, n, j, i),
                                         leading_term(walk, n, j, i), 0.0};
            }
        }
        Number<Scalar> total;
        magnitude = 0.0;
        if (!eliminate_carrying(DivergenceAlgebra<Scalar>{&magnitude}, rows, n, total,
                                problem.interrupt)) {
            return false;
        }
        divergence = total.divergence > 0 ? total.divergence : 0.0;
        return true;
    }

    bool fits = true;  // whether the other graph's scores fit the Scalar
};

inline Status find_divergence(const Graph& graph, Divergence& work, Arena& arena,
                              const Interrupt& interrupt) {
    const Status status = attempt<UnboundedDouble>(graph, work, arena, interrupt);
    return status == Status::left_range || !work.fits
               ? attempt<ExactlyScaled>(graph, work, arena, interrupt)
               : status;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
