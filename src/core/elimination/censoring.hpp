// Censoring: take nodes out of the walk one by one, without a single subtraction.
//
// `Rows` hold the walk of walk/rows.hpp: row j lists the weights of the steps that leave j, first
// to the nodes, then to the root, which has a column a for order 0 and a column b for order 1.
//
// Watching the walk only while it is outside node k leaves a walk on one node fewer.  With
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
// (1) Spanning trees.  The Laplacian of the walk has off-diagonal entries -(row j, entry i).  Its
//     rows sum to a_j.  Elimination preserves both properties, with the updates above, so its
//     pivots are the s_k and Z = det = product of the s_k by the matrix-tree theorem.  Arcs are
//     only created along existing walks, so s_k = 0 means that k leads nowhere any more: it
//     cannot reach the root, and there is no tree.
// (2) Dependency trees.  Give every root arc the weight epsilon * b_j.  Then Z(epsilon) is a
//     polynomial whose term of degree d sums the trees with d root arcs: Z of the dependency trees
//     is the coefficient of epsilon^1, and it is the leading one, as there is no tree without a
//     root arc.  Leading terms of sums, products and quotients of non-negative quantities are sums,
//     products and quotients of leading terms, so it suffices to know each quantity's order and
//     leading coefficient.  Entries between nodes start at order 0.  While the pivot is positive at
//     order 0, division by it keeps orders, and the column b is the first-order part of what a
//     column of order 0 would be: both columns are passed on alike.  (Where a_j > 0 the leading
//     term is a_j and b_j is never read.)
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
#include "types/status.hpp"
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
template <class Scalar>
struct Pivots {
    decltype(to_unbounded(Scalar())) product = to_unbounded(Scalar(1.0));
    decltype(order_of(Scalar())) first_order{};  // how many of them were of order epsilon
    bool wants_product = true;
    bool dead_end = false;

    void multiply(const Scalar& pivot, decltype(first_order) order) {
        if (!wants_product) return;
        product = product * to_unbounded(pivot);
        first_order += order;
    }

    // Take the pivot of a node, or, where it vanishes, what is left to the node: there the node
    // walks to the root at once, with certainty.  If the answer is true, the node's steps are then
    // to be divided by `pivot`.
    bool take(Scalar& pivot, Scalar& at_once, Scalar& first_order_weight) {
        if (is_positive(pivot)) {
            multiply(pivot, {});
            return true;
        }
        const Scalar leading = where_positive(pivot, pivot, first_order_weight);
        multiply(leading, order_of(pivot));
        dead_end |= !is_positive(leading);
        at_once = where_positive(pivot, at_once, Scalar(1.0));
        first_order_weight = where_positive(pivot, first_order_weight, Scalar(0.0));
        if (is_zero(pivot)) return false;
        // Not where_positive(pivot, pivot, 1): of a division by that, compilers may make one by 0
        // and throw it away, which raises a flag.
        pivot += where_positive(pivot, Scalar(0.0), Scalar(1.0));
        return true;
    }
};

namespace censoring_detail {

constexpr Index base_size = 4;

// Entries [begin, end) of a row += factor * those of another.
template <class Scalar>
inline void add_multiple(Scalar* to, Scalar factor, const Scalar* from, Index begin, Index end) {
    for (Index i = begin; i < end; ++i) to[i] += factor * from[i];
}

// The entries [k, k + base_size) of rows [j, j_end) as they are when those nodes are censored.
template <class Scalar>
void solve_rows(const Rows<Scalar>& row, Index j, Index j_end, Index k) {
    for (; j < j_end; ++j) {
        for (Index i = k; i < k + base_size; ++i) {
            add_multiple(row[j], row[j][i], row[i], i + 1, k + base_size);
        }
    }
}

// Elimination::eliminate for at most base_size rows, and Elimination::substitute.
template <class Scalar>
void eliminate_base(const Rows<Scalar>& row, Index begin, Index end, Pivots<Scalar>& pivots) {
    for (Index j = begin; j < end; ++j) {
        for (Index k = begin; k < j; ++k) {
            add_multiple(row[j], row[j][k], row[k], k + 1, row.end);
        }
        Scalar* from = row[j] + j + 1;
        const Index count = row.end - j - 1;
        Scalar pivot = sum(from, count - 1);
        row[j][j] = pivot;
        if (!pivots.take(pivot, from[count - 2], from[count - 1])) continue;
        for (Index i = 0; i < count; ++i) from[i] = from[i] / pivot;
    }
}

template <class Scalar>
void substitute_base(const Rows<Scalar>& row, Index begin, Index end) {
    for (Index j = end - 2; j >= begin; --j) {
        for (Index k = j + 1; k < end; ++k) {
            add_multiple(row[j], row[j][k], row[k], row.others, row.end);
        }
    }
}

// The same for doubles, with the same bits.  What the nodes of a base lead to among each other is
// one vector per row and stays in registers; everything else is read and written once.
static_assert(base_size == vector_length, "a base is as wide as a vector");

// Which of the columns i .. i + 3 are in [begin, end).
inline FourIntegers columns_in(Index begin, Index end, Index i) {
    const FourIntegers column = {i, i + 1, i + 2, i + 3};
    return (column >= begin) & (column < end);
}

// A row's steps to the nodes of a base, of which the first `Count` lead on to the later ones.
template <Index Count>
inline FourDoubles solved(FourDoubles steps, const FourDoubles* leads_to) {
    for (Index k = 0; k < Count; ++k) steps += broadcast(steps[k]) * leads_to[k];
    return steps;
}

inline void solve_rows(const Rows<double>& row, Index j, Index j_end, Index k) {
    constexpr Index count = base_size - 1;
    FourDoubles leads_to[count];
    for (Index i = 0; i < count; ++i) {
        const FourIntegers is_later = columns_in(k + i + 1, k + base_size, k);
        leads_to[i] = select(is_later, load(row[k + i] + k), broadcast(0.0));
    }
    for (; j < j_end; ++j) store(row[j] + k, solved<count>(load(row[j] + k), leads_to));
}

// Censor a base's node number `Count`.  `leads_to` is of the nodes before it, and then of this one.
template <Index Count>
inline void eliminate_row(const Rows<double>& row, Index begin, FourDoubles* leads_to,
                          Pivots<double>& pivots) {
    const Index j = begin + Count, rest = begin + base_size, a = row.end - 2, b = row.end - 1;
    const FourDoubles zero = broadcast(0.0);
    double* to = row[j];
    FourDoubles steps = solved<Count>(load(to + begin), leads_to);
    // The pivot in the order of `sum`, but for a rotation of the lanes that its end does not notice
    // and for zeros that are added.
    FourDoubles total = select(columns_in(j + 1, b, begin), steps, zero), other_total = zero;
    const auto follow = [&](Index i) {
        FourDoubles entries = load(to + i);
        for (Index k = 0; k < Count; ++k) {
            entries += broadcast(steps[k]) * load(row[begin + k] + i);
        }
        store(to + i, entries);
        return entries;
    };
    const auto add = [&](FourDoubles entries) {
        const FourDoubles sum = other_total + entries;
        other_total = total;
        total = sum;
    };
    const Index last = row.stride - vector_length;
    for (Index i = rest; i < last; i += vector_length) add(follow(i));
    if (rest <= last) add(select(columns_in(0, b, last), follow(last), zero));
    double pivot = sum_of(total + other_total);

    const FourIntegers is_later = columns_in(j + 1, rest, begin);
    const FourIntegers is_pivot = columns_in(j, j + 1, begin);
    if (pivot > 0) {
        const FourDoubles divisor = select(is_later, broadcast(pivot), broadcast(1.0));
        steps = select(is_pivot, broadcast(pivot), steps / divisor);
        for (Index i = rest; i <= last; i += vector_length) store(to + i, load(to + i) / pivot);
        store(to + begin, steps);
        pivots.multiply(pivot, 0);
    } else {
        store(to + begin, select(is_pivot, zero, steps));
        pivots.take(pivot, to[a], to[b]);
        steps = load(to + begin);
    }
    if (Count < base_size - 1) leads_to[Count] = select(is_later, steps, zero);
}

inline void eliminate_base(const Rows<double>& row, Index begin, Index end,
                           Pivots<double>& pivots) {
    FourDoubles leads_to[base_size - 1];
    eliminate_row<0>(row, begin, leads_to, pivots);
    if (end - begin > 1) eliminate_row<1>(row, begin, leads_to, pivots);
    if (end - begin > 2) eliminate_row<2>(row, begin, leads_to, pivots);
    if (end - begin > 3) eliminate_row<3>(row, begin, leads_to, pivots);
}

template <Index Count>
inline void substitute_rows(const Rows<double>& row, Index begin) {
    FourDoubles step[Count][Count];
    for (Index j = 0; j < Count; ++j) {
        for (Index k = j + 1; k < Count; ++k) step[j][k] = broadcast(row[begin + j][begin + k]);
    }
    for (Index i = row.others; i < row.stride; i += vector_length) {
        FourDoubles lands[Count];
        for (Index j = Count - 1; j >= 0; --j) {
            lands[j] = load(row[begin + j] + i);
            for (Index k = j + 1; k < Count; ++k) lands[j] += step[j][k] * lands[k];
            if (j < Count - 1) store(row[begin + j] + i, lands[j]);
        }
    }
}

inline void substitute_base(const Rows<double>& row, Index begin, Index end) {
    if (end - begin == 2) substitute_rows<2>(row, begin);
    if (end - begin == 3) substitute_rows<3>(row, begin);
    if (end - begin == 4) substitute_rows<4>(row, begin);
}

template <class Scalar>
class Elimination {
  public:
    Elimination(Rows<Scalar> rows, Pivots<Scalar>& pivots, const Interrupt& interrupt)
        : row_(rows), pivots_(pivots), interrupt_(interrupt) {}

    // Rows [begin, end) already carry the censoring of all nodes before `begin`.
    void eliminate(Index begin, Index end) {
        if (end - begin <= base_size) return eliminate_base(row_, begin, end, pivots_);
        if (interrupt_.requested(end - begin)) return;
        const Index middle = begin + halved(end - begin);
        eliminate(begin, middle);
        for (Index k = begin; k < middle; k += base_size) {
            const Index k_end = k + base_size;
            solve_rows(row_, middle, end, k);
            if (k_end < middle) update(middle, end, k, k_end, k_end, middle);
        }
        update(middle, end, begin, middle, middle, row_.stride);
        eliminate(middle, end);
    }

    // Follow the walk of rows [begin, end) through the later of these rows until it leaves them.
    void substitute(Index begin, Index end) {
        if (end - begin <= base_size) return substitute_base(row_, begin, end);
        if (interrupt_.requested(end - begin)) return;
        const Index middle = begin + halved(end - begin);
        substitute(middle, end);
        update(begin, middle, middle, end, row_.others, row_.stride);
        substitute(begin, middle);
    }

  private:
    // A multiple of base_size.
    static Index halved(Index size) { return (size / 2 + base_size - 1) / base_size * base_size; }

    // Rows [j, j_end) += their entries [k, k_end) times rows [k, k_end), in columns [c, c_end).
    void update(Index j, Index j_end, Index k, Index k_end, Index c, Index c_end) {
        add_product(row_[j] + c, row_.stride, Strided<Scalar>{row_[j] + k, row_.stride, 1},
                    row_[k] + c, row_.stride, j_end - j, k_end - k, c_end - c, interrupt_);
    }

    Rows<Scalar> row_;
    Pivots<Scalar>& pivots_;
    const Interrupt& interrupt_;
};

}  // namespace censoring_detail

// Censor the nodes of all rows, in place.  Afterwards row k holds, to the right of the diagonal,
// the normalised step that leaves k once all nodes before it are censored; on the diagonal its
// pivot at order 0; and to the left the weights with which k led to each of those when it was
// censored.
template <class Scalar>
void censor(Rows<Scalar> rows, Pivots<Scalar>& pivots, const Interrupt& interrupt) {
    censoring_detail::Elimination<Scalar>(rows, pivots, interrupt).eliminate(0, rows.count);
}

// The same, and then the columns from `others` on hold where the walk from each censored node first
// lands outside them: on a node that stays, or in the root.
template <class Scalar>
void absorb(Rows<Scalar> rows, Pivots<Scalar>& pivots, const Interrupt& interrupt) {
    censoring_detail::Elimination<Scalar> elimination(rows, pivots, interrupt);
    elimination.eliminate(0, rows.count);
    elimination.substitute(0, rows.count);
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
