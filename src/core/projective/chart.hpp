// Sums over all projective trees, by halves of subtrees (Eisner 1996).
//
// Nodes 0 .. n stand in a line, the root first.  A tree is projective if no two of its arcs cross.
// Then what hangs from a node on either side, with all that hangs from it, is an interval:
//
//     right(i, j)   all of i + 1 .. j hangs from i
//     left(i, j)    all of i .. j - 1 hangs from j
//     gap(i, j)     sum over k = i .. j - 1 of right(i, k) left(k + 1, j): all between i and j
//
//     right(i, j) = sum over k of  w(i -> k) gap(i, k)  right(k, j)      k the farthest dependent
//     left(i, j)  = sum over k of  left(i, k)  gap(k, j) w(j -> k)       likewise
//
// and right(i, i) = left(i, i) = 1.  Z is right(0, n).  The farthest dependent of a node, and where
// what hangs from it begins, are functions of the tree: every tree is counted once, as a sequence
// of 2 n choices (projective/derivation.hpp).  Of dependency trees, gap(0, k) is left(1, k):
// nothing else hangs from the root.
//
// The numbers may be any that add and multiply; nothing is subtracted or divided.  Outward, the
// derivatives of Z in all entries are found by the same loops in reverse.  Everything is one
// operation on rows, y += a x, and its transpose, in an order that does not depend on how wide
// vectors are.
//
// Cost: n^3 / 2 products inward, n^3 more outward; four tables of n^2 numbers, and four more.
#pragma once

#include "memory/arena.hpp"
#include "numbers/four_doubles.hpp"
#include "numbers/of_four_graphs.hpp"
#include "numbers/sums.hpp"
#include "numbers/unbounded_double.hpp"
#include "types/graph.hpp"
#include "types/status.hpp"
#include "walk/rows.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// Where the weights of arcs are: row j - 1 lists those of the heads of word j, first the words,
// then the root.
template <class Number>
struct ArcWeights {
    const Number* rows;
    Index width;
    Index root_column;

    // Of a walk as in walk/rows.hpp.
    static ArcWeights of_walk(const Number* walk, const Graph& graph) {
        const Index n = graph.num_words;
        return {walk, walk_stride(n), graph.has_single_root() ? n + 1 : n};
    }

    const Number& operator()(Index head, Index dependent) const {
        return rows[(dependent - 1) * width + (head == 0 ? root_column : head - 1)];
    }
};

namespace chart_detail {

// y[j] += a x[j] for first <= j < end
template <class Number>
inline void add_row(Index first, Index end, const Number& a, const Number* x, Number* y) {
    if (is_zero(a)) return;
    for (Index j = first; j < end; ++j) y[j] += a * x[j];
}
inline void add_row(Index first, Index end, double a, const double* __restrict x,
                    double* __restrict y) {
    const FourDoubles factor = broadcast(a);
    Index j = first;
    for (; j + vector_length <= end; j += vector_length) {
        store(y + j, load(y + j) + factor * load(x + j));
    }
    for (; j < end; ++j) y[j] += a * x[j];
}

// Its transpose: z[j] += a y[j], and the sum of y[j] x[j].
template <class Number>
inline Number add_row_back(Index first, Index end, const Number& a, const Number* x,
                           const Number* y, Number* z) {
    Number total(0.0);
    for (Index j = first; j < end; ++j) {
        if (is_zero(y[j])) continue;
        total += y[j] * x[j];
        z[j] += a * y[j];
    }
    return total;
}
inline double add_row_back(Index first, Index end, double a, const double* __restrict x,
                           const double* __restrict y, double* __restrict z) {
    const FourDoubles factor = broadcast(a);
    FourDoubles sums = broadcast(0.0);
    Index j = first;
    for (; j + vector_length <= end; j += vector_length) {
        const FourDoubles of_y = load(y + j);
        sums += of_y * load(x + j);
        store(z + j, load(z + j) + factor * of_y);
    }
    double total = sum_of(sums);
    for (; j < end; ++j) {
        total += y[j] * x[j];
        z[j] += a * y[j];
    }
    return total;
}
// The sum that each graph has alone.
inline OfFourGraphs add_row_back(Index first, Index end, OfFourGraphs a,
                                 const OfFourGraphs* __restrict x, const OfFourGraphs* __restrict y,
                                 OfFourGraphs* __restrict z) {
    FourDoubles sums[vector_length];
    for (FourDoubles& part : sums) part = broadcast(0.0);
    Index j = first;
    for (; j + vector_length <= end; j += vector_length) {
        for (Index k = 0; k < vector_length; ++k) {
            const FourDoubles of_y = y[j + k].values;
            sums[k] += of_y * x[j + k].values;
            z[j + k].values += a.values * of_y;
        }
    }
    FourDoubles total = (sums[0] + sums[2]) + (sums[1] + sums[3]);
    for (; j < end; ++j) {
        total += y[j].values * x[j].values;
        z[j].values += a.values * y[j].values;
    }
    return OfFourGraphs(total);
}

}  // namespace chart_detail

// Row i of each table begins at i * stride; entries j >= i are in use.
template <class Number>
struct Chart {
    ArcWeights<Number> weight;
    Index n, stride;
    bool has_single_root;
    Number *right, *left;
    Number *arc_right, *arc_left;  // gap(i, j) times the weight of i -> j, and of j -> i
    Number* gap;
    Index gap_stride;  // 0 where it is not kept: all rows in one place

    Chart(const ArcWeights<Number>& weights, Index num_words, bool single_root, Arena& arena,
          bool keeps_gap = false)
        : weight(weights),
          n(num_words),
          stride(padded(num_words + 1)),
          has_single_root(single_root),
          right(take_table(arena)),
          left(take_table(arena)),
          arc_right(take_table(arena)),
          arc_left(take_table(arena)),
          gap(keeps_gap ? take_table(arena) : arena.take<Number>(stride)),
          gap_stride(keeps_gap ? stride : 0) {}

    static std::size_t workspace(Index n, bool keeps_gap = false) {
        const Index size = (n + 1) * padded(n + 1);
        return (4 + keeps_gap) * Arena::rounded<Number>(size) +
               Arena::rounded<Number>(padded(n + 1));
    }

    const Number& partition() const { return right[n]; }

    // The root of a dependency tree has one dependent: nothing hangs from it before that.
    bool is_only_root(Index i) const { return i == 0 && has_single_root; }

    // False: interrupted.
    bool inward(const Interrupt& interrupt) {
        using chart_detail::add_row;
        for (Index i = n; i >= 0; --i) {
            if (interrupt.requested(n)) return false;
            const Index row = i * stride;
            Number* gaps = gap + i * gap_stride;
            right[row + i] = left[row + i] = Number(1.0);
            for (Index j = i + 1; j <= n; ++j) {
                right[row + j] = left[row + j] = Number(0.0);
                gaps[j] = left[row + stride + j];
            }
            for (Index k = i + 1; k <= n; ++k) {
                arc_right[row + k] = weight(i, k) * gaps[k];
                right[row + k] += arc_right[row + k];
                add_row(k + 1, n + 1, arc_right[row + k], right + k * stride, right + row);
                if (!is_only_root(i) && k < n) {
                    add_row(k + 1, n + 1, right[row + k], left + (k + 1) * stride, gaps);
                }
                if (i == 0) continue;
                arc_left[row + k] = weight(k, i) * gaps[k];
                left[row + k] += arc_left[row + k];
                add_row(k + 1, n + 1, left[row + k], arc_left + k * stride, left + row);
            }
        }
        return true;
    }

  private:
    Number* take_table(Arena& arena) const {
        return arena.take<Number>(static_cast<std::size_t>((n + 1) * stride));
    }
};

// Of a chart that has gone inward: report(head, dependent, x) for each arc, where x is the sum over
// all trees with the arc.  False: interrupted.
template <class Number, class Report>
bool go_outward(const Chart<Number>& chart, Arena& arena, const Interrupt& interrupt,
                const Report& report) {
    using chart_detail::add_row_back;
    const Index n = chart.n, stride = chart.stride, size = (n + 1) * stride;
    Number* right = arena.take<Number>(size);
    Number* left = arena.take<Number>(size);
    Number* arc_left = arena.take<Number>(size);
    Number* gap = arena.take<Number>(stride);
    for (Index x = 0; x < size; ++x) right[x] = left[x] = arc_left[x] = Number(0.0);
    right[n] = Number(1.0);
    for (Index i = 0; i < n; ++i) {
        if (interrupt.requested(n)) return false;
        const Index row = i * stride;
        for (Index k = n; k > i; --k) {
            const Index next = (k + 1) * stride;
            gap[k] = Number(0.0);
            if (!chart.is_only_root(i) && k < n) {
                right[row + k] += add_row_back(k + 1, n + 1, chart.right[row + k],
                                               chart.left + next, gap, left + next);
            }
            Number arc = add_row_back(k + 1, n + 1, chart.arc_right[row + k],
                                      chart.right + k * stride, right + row, right + k * stride);
            arc += right[row + k];
            gap[k] += arc * chart.weight(i, k);
            report(i, k, arc * chart.arc_right[row + k]);
            if (i == 0) continue;
            left[row + k] +=
                add_row_back(k + 1, n + 1, chart.left[row + k], chart.arc_left + k * stride,
                             left + row, arc_left + k * stride);
            arc_left[row + k] += left[row + k];
            gap[k] += arc_left[row + k] * chart.weight(k, i);
            report(k, i, arc_left[row + k] * chart.arc_left[row + k]);
        }
        for (Index j = i + 1; j <= n; ++j) left[row + stride + j] += gap[j];
    }
    return true;
}

template <class Number>
std::size_t outward_workspace(Index n) {
    const Index stride = padded(n + 1);
    return 3 * Arena::rounded<Number>((n + 1) * stride) + Arena::rounded<Number>(stride);
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
