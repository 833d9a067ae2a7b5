// Censoring: take nodes out of the walk one by one, without a single subtraction.
//
// `Rows` hold the walk of walk/rows.hpp: row j lists the weights of the steps that leave j, first
// to the nodes, then to the root, which has a column a for order 0 and a column b for order 1.
//
// Watching the walk only while it is outside node k leaves a walk on one node less.  With
//
//     s_k = (sum of row k over the other remaining nodes) + a_k            the pivot
//
// each remaining row j receives row j's entry k, times row k divided by s_k.  The diagonal is never
// read: returning to a node at once is a loop, and loops are erased.  This is Gaussian elimination
// of the Laplacian in the form of Grassmann, Taksar and Heyman (Operations Research 33, 1985):
// their pivot is a sum of what is there instead of a difference of what was there, so that nothing
// can cancel and every entry keeps a small *relative* error (O'Cinneide, Numerische Mathematik 65,
// 1993; Alfa, Xue and Ye, Mathematics of Computation 71, 2002).
//
// Why it is right, zero pivots included.
//
// (1) Spanning trees.  The Laplacian of the walk has off-diagonal entries -(row j, entry i), and
// its
//     rows sum to a_j.  Elimination preserves both properties, with the updates above, so its
//     pivots are the s_k and Z = det = product of the s_k by the matrix-tree theorem.  Arcs are
//     only created along existing walks, so s_k = 0 says that from k nothing is left to walk to: k
//     cannot reach the root and there is no tree.
// (2) Dependency trees.  Give every root arc the weight epsilon * b_j.  Then Z(epsilon) is a
//     polynomial whose term of degree d sums the trees with d root arcs: Z of the dependency trees
//     is the coefficient of epsilon^1, and it is the leading one, as there is no tree without a
//     root arc.  Leading terms of sums, products and quotients of non-negative quantities are sums,
//     products and quotients of leading terms, so it suffices to know each quantity's order and
//     leading coefficient.  Entries between nodes start at order 0.  While the pivot is positive at
//     order 0, division by it keeps orders, and the column b is the first-order part of what a
//     column of order 0 would be: both columns are passed on alike.  (Where a_j > 0 the leading
//     term is a_j and b_j is never looked at.)
//     If the pivot is 0 at order 0 while b_k > 0, the only step that leaves k goes to the root, at
//     order 1: the pivot is epsilon * b_k, and after normalisation k walks to the root with
//     certainty, at order 0.  So row k becomes (a = 1, all else 0), and rows that lead to k receive
//     their weight in a.  That spends the one factor epsilon a dependency tree has: a second such
//     pivot means Z = O(epsilon^2), that is, no dependency tree.  The last node of all is no
//     exception: its pivot is a if positive, else epsilon * b.
#pragma once

#include "numbers/four_doubles.hpp"
#include "numbers/matrix_product.hpp"
#include "numbers/sums.hpp"
#include "numbers/unbounded_double.hpp"
#include "types/interrupt.hpp"
#include "walk/rows.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// A set of rows as laid out in memory.  Columns: the nodes to be censored (as many as rows), zeros
// up to `others`, the nodes that stay, a, b, and zeros up to the stride.  `others` and `stride` are
// multiples of four, so that vectors never end in the middle of a row.
template <class Scalar>
struct Rows {
    Scalar* data;
    Index count;   // of the rows, and of the nodes to be censored
    Index others;  // where the columns of the nodes that stay begin
    Index end;     // one past b
    Index stride;

    Scalar* operator[](Index j) const { return data + j * stride; }
};

// What elimination leaves besides the matrix: Z, as the product of the pivots.
struct Pivots {
    UnboundedDouble product = UnboundedDouble(1.0, 0.0);
    int first_order = 0;  // how many of them were of order epsilon
    bool wants_product = true;
    bool dead_end = false;

    template <class Scalar>
    void multiply(const Scalar& pivot, int order) {
        if (!wants_product) return;
        product = product * to_unbounded(pivot);
        first_order += order;
    }
};

namespace censoring_detail {

constexpr Index base_size = 4;

// Entries [begin, end) of a row += factor * those of another.
template <class Scalar>
inline void add_multiple(Scalar* to, Scalar factor, const Scalar* from, Index begin, Index end) {
    for (Index i = begin; i < end; ++i) to[i] += factor * from[i];
}

template <class Scalar>
inline void divide(Scalar* row, Scalar divisor, Index begin, Index end) {
    for (Index i = begin; i < end; ++i) row[i] = row[i] / divisor;
}

// The same in whole vectors: `end` is a multiple of four, and what the first vector holds before
// `begin` is left as it is.
inline FourIntegers places_from(Index begin, Index i) {
    return FourIntegers{i, i + 1, i + 2, i + 3} >= begin;
}

inline void add_multiple(double* to, double factor, const double* from, Index begin, Index end) {
    Index i = begin / vector_length * vector_length;
    if (i >= end) return;
    const FourDoubles first = select(places_from(begin, i), load(from + i), broadcast(0.0));
    store(to + i, load(to + i) + factor * first);
    for (i += vector_length; i < end; i += vector_length)
        store(to + i, load(to + i) + factor * load(from + i));
}

// Entries [begin, end) of a row += factors[k] * those of row k, for k = 0 .. count - 1; both ends
// are multiples of four.
template <class Scalar>
inline void add_multiples(Scalar* to, const Scalar* factors, const Scalar* rows, Index stride,
                          Index count, Index begin, Index end) {
    for (Index k = 0; k < count; ++k) add_multiple(to, factors[k], rows + k * stride, begin, end);
}

template <Index Count>
inline void add_multiples(double* to, const double* factors, const double* rows, Index stride,
                          Index begin, Index end) {
    FourDoubles factor[Count];
    for (Index k = 0; k < Count; ++k) factor[k] = broadcast(factors[k]);
    for (Index i = begin; i < end; i += vector_length) {
        FourDoubles entries = load(to + i);
        for (Index k = 0; k < Count; ++k) entries += factor[k] * load(rows + k * stride + i);
        store(to + i, entries);
    }
}

inline void add_multiples(double* to, const double* factors, const double* rows, Index stride,
                          Index count, Index begin, Index end) {
    static_assert(base_size == 4, "one case for each number of rows");
    if (count == 1) add_multiples<1>(to, factors, rows, stride, begin, end);
    if (count == 2) add_multiples<2>(to, factors, rows, stride, begin, end);
    if (count == 3) add_multiples<3>(to, factors, rows, stride, begin, end);
}

inline void divide(double* row, double divisor, Index begin, Index end) {
    Index i = begin / vector_length * vector_length;
    if (i >= end) return;
    const FourDoubles divisors = select(places_from(begin, i), broadcast(divisor), broadcast(1.0));
    store(row + i, load(row + i) / divisors);
    for (i += vector_length; i < end; i += vector_length) store(row + i, load(row + i) / divisor);
}

template <class Scalar>
class Elimination {
  public:
    Elimination(Rows<Scalar> rows, Pivots& pivots, const Interrupt& interrupt)
        : row_(rows), pivots_(pivots), interrupt_(interrupt) {}

    // Rows [begin, end) already carry the censoring of all nodes before `begin`.
    void eliminate(Index begin, Index end) {
        if (end - begin <= base_size) return eliminate_base(begin, end);
        if (interrupt_.requested(end - begin)) return;
        const Index middle = begin + halved(end - begin);
        eliminate(begin, middle);
        for (Index k = begin; k < middle; k += base_size) {
            const Index k_end = k + base_size < middle ? k + base_size : middle;
            for (Index j = middle; j < end; ++j) solve_row(j, k, k_end);
            if (k_end < middle) update(middle, end, k, k_end, k_end, middle);
        }
        update(middle, end, begin, middle, middle, row_.stride);
        eliminate(middle, end);
    }

    // Follow the walk of rows [begin, end) through the later of these rows until it leaves them.
    void substitute(Index begin, Index end) {
        if (end - begin <= base_size) {
            for (Index j = end - 2; j >= begin; --j) {
                for (Index k = j + 1; k < end; ++k) add_multiple(j, k, row_.others, row_.stride);
            }
            return;
        }
        if (interrupt_.requested(end - begin)) return;
        const Index middle = begin + halved(end - begin);
        substitute(middle, end);
        update(begin, middle, middle, end, row_.others, row_.stride);
        substitute(begin, middle);
    }

  private:
    static Index halved(Index size) { return (size / 2 + base_size - 1) / base_size * base_size; }

    // Row j += its entry k times row k, in columns [c, c_end).
    void add_multiple(Index j, Index k, Index c, Index c_end) {
        censoring_detail::add_multiple(row_[j], row_[j][k], row_[k], c, c_end);
    }

    // The same for rows [j, j_end) and [k, k_end).
    void update(Index j, Index j_end, Index k, Index k_end, Index c, Index c_end) {
        add_product(row_[j] + c, row_.stride, Strided<Scalar>{row_[j] + k, row_.stride, 1},
                    row_[k] + c, row_.stride, j_end - j, k_end - k, c_end - c, interrupt_);
    }

    // The entries [k, k_end) of row j as they are when those nodes are censored.
    void solve_row(Index j, Index k, Index k_end) {
        for (; k < k_end; ++k) add_multiple(j, k, k + 1, k_end);
    }

    void eliminate_base(Index begin, Index end) {
        const Index rest = begin + base_size;
        for (Index j = begin; j < end; ++j) {
            // First what row j leads to among these nodes, then the same steps in all other
            // columns.
            for (Index k = begin; k < j; ++k) add_multiple(j, k, k + 1, rest);
            add_multiples(row_[j], row_[j] + begin, row_[begin], row_.stride, j - begin, rest,
                          row_.stride);
            normalise(j);
        }
    }

    void normalise(Index k) {
        Scalar* from = row_[k] + k + 1;
        const Index count = row_.end - k - 1;
        Scalar& at_once = from[count - 2];
        Scalar& first_order = from[count - 1];
        const Scalar pivot = sum(from, count - 1);
        row_[k][k] = pivot;
        if (is_positive(pivot)) {
            pivots_.multiply(pivot, 0);
            divide(row_[k], pivot, k + 1, row_.stride);
        } else {
            pivots_.multiply(first_order, 1);
            pivots_.dead_end |= !is_positive(first_order);
            at_once = Scalar(1.0);
            first_order = Scalar(0.0);
        }
    }

    Rows<Scalar> row_;
    Pivots& pivots_;
    const Interrupt& interrupt_;
};

}  // namespace censoring_detail

// Censor the nodes of all rows, in place.  Afterwards row k holds, to the right of the diagonal,
// the normalised step that leaves k once all nodes before it are censored; on the diagonal its
// pivot at order 0; and to the left the weights with which k led to each of those when it was
// censored.
template <class Scalar>
void censor(Rows<Scalar> rows, Pivots& pivots, const Interrupt& interrupt) {
    censoring_detail::Elimination<Scalar>(rows, pivots, interrupt).eliminate(0, rows.count);
}

// The same, and then the columns from `others` on hold where the walk from each censored node first
// lands outside them: on a node that stays, or in the root.
template <class Scalar>
void absorb(Rows<Scalar> rows, Pivots& pivots, const Interrupt& interrupt) {
    censoring_detail::Elimination<Scalar> elimination(rows, pivots, interrupt);
    elimination.eliminate(0, rows.count);
    elimination.substitute(0, rows.count);
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
