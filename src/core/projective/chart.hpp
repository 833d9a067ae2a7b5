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
// vectors are.  Three of them are done at once: most rows are short.
//
// Cost: n^3 / 2 products inward, n^3 more outward; four tables of n^2 numbers, and four more.
#pragma once

#include <type_traits>

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

// to[j] += factor * from[j]
template <class Number>
struct RowUpdate {
    const Number factor;
    const Number* from;
    Number* to;
};

// Its transpose: of_from[j] += factor * of_to[j], and the sum of of_to[j] from[j].
template <class Number>
struct RowUpdateBack {
    const Number factor;
    const Number* from;
    const Number* of_to;
    Number* of_from;
};

// Rows are padded by zeros, so that whole vectors can be taken from any entry on.
constexpr Index row_padding = vector_length - 1;

// Other numbers may have a quicker way.
template <class Number>
inline void add_row(Index first, Index end, const Number& factor, const Number* from, Number* to) {
    for (Index j = first; j < end; ++j) to[j] += factor * from[j];
}

// Do some updates at once, for first <= j < end.
template <class Number, class... Updates>
inline void update_rows(Index first, Index end, const RowUpdate<Number>& update,
                        const Updates&... others) {
    if constexpr (std::is_same<Number, double>::value) {
        const auto update_four = [](Index j, const RowUpdate<double>& u) {
            store(u.to + j, load(u.to + j) + broadcast(u.factor) * load(u.from + j));
        };
        for (Index j = first; j < end; j += vector_length) {
            update_four(j, update);
            (update_four(j, others), ...);
        }
    } else {
        const auto update_row = [=](const RowUpdate<Number>& u) {
            if (!is_zero(u.factor)) add_row(first, end, u.factor, u.from, u.to);
        };
        update_row(update);
        (update_row(others), ...);
    }
}

namespace chart_detail {

// The sums of graphs side by side run along four entries, as those of one graph do in a vector.
inline OfFourGraphs update_row_back(Index first, Index end,
                                    const RowUpdateBack<OfFourGraphs>& update) {
    FourDoubles sums[vector_length];
    for (FourDoubles& part : sums) part = broadcast(0.0);
    const FourDoubles factor = update.factor.values;
    for (Index j = first; j < end; j += vector_length) {
        for (Index k = 0; k < vector_length; ++k) {  // the padding is zeros
            const FourDoubles of_to = update.of_to[j + k].values;
            sums[k] += of_to * update.from[j + k].values;
            update.of_from[j + k].values += factor * of_to;
        }
    }
    return OfFourGraphs((sums[0] + sums[2]) + (sums[1] + sums[3]));
}
template <class Number>
inline Number update_row_back(Index first, Index end, const RowUpdateBack<Number>& update) {
    Number total(0.0);
    for (Index j = first; j < end; ++j) {
        if (is_zero(update.of_to[j])) continue;
        total += update.of_to[j] * update.from[j];
        update.of_from[j] += update.factor * update.of_to[j];
    }
    return total;
}

}  // namespace chart_detail

// Do some of them at once: totals[0], totals[1], ..
template <class Number, class... Updates>
inline void update_rows_back(Index first, Index end, Number* totals,
                             const RowUpdateBack<Number>& update, const Updates&... others) {
    if constexpr (std::is_same<Number, double>::value) {
        constexpr std::size_t count = 1 + sizeof...(others);
        const RowUpdateBack<double> updates[] = {update, others...};
        FourDoubles sums[count];
        for (FourDoubles& sum : sums) sum = broadcast(0.0);
        for (Index j = first; j < end; j += vector_length) {
            for (std::size_t u = 0; u < count; ++u) {
                const FourDoubles of_to = load(updates[u].of_to + j);
                sums[u] += of_to * load(updates[u].from + j);
                double* to = updates[u].of_from + j;
                store(to, load(to) + broadcast(updates[u].factor) * of_to);
            }
        }
        for (std::size_t u = 0; u < count; ++u) totals[u] = sum_of(sums[u]);
    } else {
        const auto update_back = [=](const RowUpdateBack<Number>& u) {
            return chart_detail::update_row_back(first, end, u);
        };
        *totals++ = update_back(update);
        ((*totals++ = update_back(others)), ...);
    }
}

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
          stride(stride_of(num_words)),
          has_single_root(single_root),
          right(take_table(arena)),
          left(take_table(arena)),
          arc_right(take_table(arena)),
          arc_left(take_table(arena)),
          gap(keeps_gap ? take_table(arena) : arena.take<Number>(stride)),
          gap_stride(keeps_gap ? stride : 0) {}

    static Index stride_of(Index n) { return padded(n + 1 + row_padding); }

    static std::size_t workspace(Index n, bool keeps_gap = false) {
        const Index stride = stride_of(n);
        return (4 + keeps_gap) * Arena::rounded<Number>((n + 1) * stride) +
               Arena::rounded<Number>(stride);
    }

    const Number& partition() const { return right[n]; }

    // The root of a dependency tree has one dependent: nothing hangs from it before that.
    bool is_only_root(Index i) const { return i == 0 && has_single_root; }

    // False: interrupted.
    bool inward(const Interrupt& interrupt) {
        for (Index i = n; i >= 0; --i) {
            if (interrupt.requested(n)) return false;
            const Index row = i * stride;
            Number* gaps = gap + i * gap_stride;
            right[row + i] = left[row + i] = Number(1.0);
            for (Index j = i + 1; j <= n + row_padding; ++j) {
                right[row + j] = left[row + j] = arc_left[row + j] = Number(0.0);
                gaps[j] = i < n ? left[row + stride + j] : Number(0.0);
            }
            for (Index k = i + 1; k <= n; ++k) {
                arc_right[row + k] = weight(i, k) * gaps[k];
                right[row + k] += arc_right[row + k];
                const RowUpdate<Number> of_right{arc_right[row + k], right + k * stride,
                                                 right + row};
                const RowUpdate<Number> of_gap{right[row + k], left + (k + 1) * stride, gaps};
                if (i == 0) {
                    update_rows(k + 1, n + 1, of_right);
                    if (!is_only_root(0)) update_rows(k + 1, n + 1, of_gap);
                    continue;
                }
                arc_left[row + k] = weight(k, i) * gaps[k];
                left[row + k] += arc_left[row + k];
                update_rows(k + 1, n + 1, of_right, of_gap,
                            RowUpdate<Number>{left[row + k], arc_left + k * stride, left + row});
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
        for (Index j = i + 1; j <= n + row_padding; ++j) gap[j] = Number(0.0);
        for (Index k = n; k > i; --k) {
            const Index below = k * stride, next = k < n ? below + stride : below;
            const RowUpdateBack<Number> of_right{chart.arc_right[row + k], chart.right + below,
                                                 right + row, right + below};
            const RowUpdateBack<Number> of_gap{chart.right[row + k], chart.left + next, gap,
                                               left + next};
            Number totals[3] = {Number(0.0), Number(0.0), Number(0.0)};
            if (i == 0) {
                update_rows_back(k + 1, n + 1, totals, of_right);
                if (!chart.is_only_root(0)) update_rows_back(k + 1, n + 1, totals + 1, of_gap);
            } else {
                update_rows_back(k + 1, n + 1, totals, of_right, of_gap,
                                 RowUpdateBack<Number>{chart.left[row + k], chart.arc_left + below,
                                                       left + row, arc_left + below});
            }
            right[row + k] += totals[1];
            Number arc = right[row + k];
            arc += totals[0];
            gap[k] += arc * chart.weight(i, k);
            report(i, k, arc * chart.arc_right[row + k]);
            if (i == 0) continue;
            left[row + k] += totals[2];
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
    const Index stride = Chart<Number>::stride_of(n);
    return 3 * Arena::rounded<Number>((n + 1) * stride) + Arena::rounded<Number>(stride);
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
