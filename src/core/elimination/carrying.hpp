// Elimination with numbers that carry something that is not a ratio of sums: an entropy.
//
// The same censoring as in censoring.hpp, in plain loops and in one root column: the numbers know
// their order in epsilon themselves (numbers/leading_term.hpp).  What they carry may depend on
// parameters, so their arithmetic is that of an `Algebra` object:
//
//     Number               an element; Number() is 0
//     constant(x)          x itself, which carries nothing
//     add_to(x, y)         x += y
//     multiply(x, y), divide(x, y)
//     is_zero(x)
//
// O(n^3) operations, each about ten times as slow as one on doubles.
#pragma once

#include "memory/arena.hpp"
#include "numbers/leading_term.hpp"
#include "projective/chart.hpp"
#include "types/graph.hpp"
#include "types/index.hpp"
#include "types/status.hpp"
#include "walk/problem.hpp"
#include "walk/rows.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// A number with its algebra, as a chart takes it.  0 and 1 are the same in all algebras.
template <class Algebra>
struct Carried {
    typename Algebra::Number number;
    const Algebra* algebra;

    Carried() : Carried(0.0) {}
    explicit Carried(double x) : number(Algebra::constant(x)), algebra(nullptr) {}
    Carried(const typename Algebra::Number& x, const Algebra* a) : number(x), algebra(a) {}
};
template <class Algebra>
inline bool is_zero(const Carried<Algebra>& x) {
    return Algebra::is_zero(x.number);
}
template <class Algebra>
inline Carried<Algebra>& operator+=(Carried<Algebra>& x, const Carried<Algebra>& y) {
    if (is_zero(y)) return x;
    if (is_zero(x)) return x = y;
    x.algebra = x.algebra == nullptr ? y.algebra : x.algebra;
    x.algebra->add_to(x.number, y.number);
    return x;
}
template <class Algebra>
inline Carried<Algebra> operator*(const Carried<Algebra>& x, const Carried<Algebra>& y) {
    if (is_zero(x) || is_zero(y)) return {};
    return {Algebra::multiply(x.number, y.number), x.algebra == nullptr ? y.algebra : x.algebra};
}

// Room for what eliminate_carrying takes from the problem's arena.
template <class Algebra>
std::size_t carrying_workspace(Index n) {
    return Arena::rounded<Carried<Algebra>>(n * (n + 1)) + Chart<Carried<Algebra>>::workspace(n);
}

// The sum over all projective trees.
template <class Algebra, class Scalar>
bool sum_carrying(const Algebra& algebra, const typename Algebra::Number* rows,
                  typename Algebra::Number& total, Problem<Scalar>& problem) {
    using Number = Carried<Algebra>;
    const Index n = problem.graph.num_words;
    Number* weights = problem.arena.template take<Number>(n * (n + 1));
    for (Index i = 0; i < n * (n + 1); ++i) weights[i] = {rows[i], &algebra};
    Chart<Number> chart(ArcWeights<Number>{weights, n + 1, n}, n, problem.graph.has_single_root(),
                        problem.arena);
    if (!chart.inward(problem.interrupt)) return false;
    total = chart.partition().number;
    return !is_zero(chart.partition());
}

// rows[j * (n + 1) + i]: the step from node j to node i, column n the root.  The product of the
// pivots, which stands for the sum over all trees.  False: interrupted, or there is no tree.
template <class Algebra, class Scalar>
bool eliminate_carrying(const Algebra& algebra, typename Algebra::Number* rows,
                        typename Algebra::Number& total, Problem<Scalar>& problem) {
    if (problem.graph.is_projective()) return sum_carrying(algebra, rows, total, problem);
    using Number = typename Algebra::Number;
    const Index n = problem.graph.num_words, stride = n + 1;
    for (Index k = 0; k < n; ++k) {
        if (problem.interrupt.requested(n)) return false;
        const Number* row = rows + k * stride;
        Number pivot = row[n];
        for (Index i = k + 1; i < n; ++i) algebra.add_to(pivot, row[i]);
        if (algebra.is_zero(pivot)) return false;
        total = k == 0 ? pivot : algebra.multiply(total, pivot);
        for (Index j = k + 1; j < n; ++j) {
            Number* other = rows + j * stride;
            if (algebra.is_zero(other[k])) continue;
            const Number factor = algebra.divide(other[k], pivot);
            for (Index i = k + 1; i <= n; ++i) {
                if (i != j && !algebra.is_zero(row[i])) {
                    algebra.add_to(other[i], algebra.multiply(factor, row[i]));
                }
            }
        }
    }
    return true;
}

// The step from node j to node i of a walk (walk/rows.hpp), or to the root for i = n.
template <class Scalar>
LeadingTerm<Scalar> leading_term(const Scalar* walk, Index n, Index j, Index i) {
    const Scalar* row = walk + j * walk_stride(n);
    if (i == j) return LeadingTerm<Scalar>();
    if (i < n || is_positive(row[n])) return {row[i], 0};
    return {row[n + 1], 1};
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
