// Elimination of numbers that carry what is not a ratio of sums: an entropy.
//
// The same censoring as in censoring.hpp, in plain loops and in one root column: the numbers know
// their order in epsilon themselves (numbers/leading_term.hpp).  What they carry may depend on
// parameters, so their arithmetic is that of an `Algebra` object:
//
//     Number               an element; Number() is 0
//     add_to(x, y)         x += y
//     multiply(x, y), divide(x, y)
//     is_zero(x)
//
// O(n^3) operations, each some ten times as slow as one of doubles.
#pragma once

#include "numbers/leading_term.hpp"
#include "types/index.hpp"
#include "types/status.hpp"
#include "walk/rows.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// rows[j * (n + 1) + i]: the step from node j to node i, column n the root.  The product of the
// pivots, which stands for the sum over all trees.  False: interrupted, or there is no tree.
template <class Algebra>
bool eliminate_carrying(const Algebra& algebra, typename Algebra::Number* rows, Index n,
                        typename Algebra::Number& total, const Interrupt& interrupt) {
    using Number = typename Algebra::Number;
    const Index stride = n + 1;
    for (Index k = 0; k < n; ++k) {
        if (interrupt.requested(n)) return false;
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
