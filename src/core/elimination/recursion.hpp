// One recursion for all marginals and for the ancestral sampler.
//
// Halve the nodes.  Censor the right half and recurse on the left; censor the left half and recurse
// on the right.  On the way down, `landing` carries, for every node i outside the current ones,
// where its walk first lands among them, and the chance h_i that it reaches the root before it
// does.  When one node j is left, the chance of each head follows from the tree's own structure: i
// is the head of j in a tree if the walk uses the arc and i's path to the root avoids j, so
//
//     P(i -> j)    is proportional to w_ij * h_i,
//     P(root -> j) is proportional to the root weight of j.
//
// Both in the leading order (see censoring.hpp): order 0 if j can reach the root at order 0, as its
// column a shows, else order 1.
//
// The leaf decides what happens there.  One that only reads gives all marginals.  One that draws a
// head gives the ancestral sampler of Colbourn, Myrvold and Neufeld (Journal of Algorithms 20,
// 1996): leaves come in the order of the nodes, and `head` of the leaf makes the recursion replace
// the row of each node already decided by the walk of its head, which is the walk of the graph
// conditioned on that arc.  The recursion thus visits node j with exactly the conditionals p(e_j |
// e_1 .. e_j-1) of the paper's Sherman-Morrison version, also in O(n^3), but without its
// cancellation.
//
// Cost: about 2.2 n^3 floating-point operations, nearly all in matrix products, and 2 n^2 numbers
// of scratch memory.  A leaf that decides heads makes it 1.4 n^3: at the top, the walk from a node
// of the left half, whose heads are all decided then, simply follows these heads.
// Nodes are numbered from 0 here: node j is word j + 1, and `root` is -1.
#pragma once

#include <initializer_list>
#include <type_traits>
#include <utility>

#include "elimination/censoring.hpp"
#include "elimination/small_sets.hpp"
#include "memory/arena.hpp"
#include "numbers/floating_point_guard.hpp"
#include "numbers/four_doubles.hpp"
#include "numbers/matrix_product.hpp"
#include "numbers/row_copies.hpp"
#include "projective/chart.hpp"
#include "types/status.hpp"
#include "walk/problem.hpp"
#include "walk/rows.hpp"

namespace arborand {
namespace ARBORAND_ISA {

constexpr Index root = -1;
constexpr Index undecided = -2;

// What a leaf sees of its node j.
template <class Scalar>
struct LeafView {
    const Scalar* row;   // the original row of j: weights of the heads 0 .. n - 1
    const Scalar* h;     // h_i of the leading order, 0 for j itself; for leaves that need landing
    Scalar root_weight;  // of the leading order
    Scalar escape;       // the weight with which j reaches the root: the sum of all of the above
};

// What the last levels work on: four nodes side by side where they can.
template <class Scalar, bool decides>
struct AtOnce {
    using Number = Scalar;
};
template <>
struct AtOnce<double, false> {
    using Number = FourDoubles;
};

template <class Scalar, class Leaf>
class Recursion {
  public:
    Recursion(const Scalar* walk, Index num_nodes, Leaf& leaf, Arena& arena,
              const Interrupt& interrupt)
        : walk_(walk),
          n_(num_nodes),
          landing_stride_(padded(num_nodes)),
          leaf_(leaf),
          arena_(arena),
          interrupt_(interrupt) {}

    // Scratch memory that `run` takes from the arena.
    static std::size_t workspace(Index num_nodes) {
        std::size_t bytes = Arena::rounded<Scalar>(num_nodes + num_root_columns) +
                            Arena::rounded<Scalar>(vector_length * padded(num_nodes)) +
                            Arena::rounded<Scalar>(padded(num_nodes));
        for (Index size = num_nodes; size > largest_small_set; size -= size / 2) {
            const Index larger_half = size - size / 2;
            bytes += Arena::rounded<Scalar>(larger_half * walk_stride(larger_half));
            if (Leaf::needs_landing) {
                bytes +=
                    Arena::rounded<Scalar>((larger_half + num_root_columns) * padded(num_nodes));
            }
            if (size == num_nodes) {
                bytes += Arena::rounded<Scalar>(larger_half *
                                                (padded(larger_half) + walk_stride(larger_half)));
            }
        }
        const std::size_t bytes_of_chart = Arena::rounded<Scalar>(num_nodes * (num_nodes + 1)) +
                                           Arena::rounded<Scalar>(num_nodes) +
                                           Chart<Scalar>::workspace(num_nodes) +
                                           outward_workspace<Scalar>(num_nodes);
        return Leaf::decides || bytes > bytes_of_chart ? bytes : bytes_of_chart;
    }

    // False: interrupted, or there is no tree.
    bool run() {
        decided_row_ = arena_.take<Scalar>(n_ + num_root_columns);
        root_landing_ = arena_.take<Scalar>(vector_length * landing_stride_);
        direct_landing_ = arena_.take<Scalar>(landing_stride_);
        if (leaf_.wants(0, n_)) descend(0, n_, walk_, nullptr);
        // Matrix products of large graphs also stop when asked to, and leave it to us to notice.
        return !pivots_.dead_end && !interrupted_ && !interrupt_.requested(n_);
    }

    // Z of the walk, after a run that visited the first node: on the way to it all others were
    // censored, once each, so Z is the product of their pivots and of what is left to that node.
    // 0 after any other run, and where there is no tree: a second pivot of order epsilon says that
    // no dependency tree has a single root arc.
    decltype(Pivots<Scalar>::product) partition() const {
        const bool is_known = visited_first_ && pivots_.first_order <= 1;
        return is_known ? pivots_.product : to_unbounded(Scalar(0.0));
    }

  private:
    // A leaf that asks sees the flags of the work that led to it, whatever was visited before.
    using Flags = std::conditional_t<Leaf::asks_range, RangeFlags, NoRangeFlags>;

    // Of the current nodes [begin, begin + size), where those that stay and those to be censored
    // begin, and how many they are.
    struct Split {
        Index begin, size, kept, num_kept, censored, num_censored;
    };

    void descend(Index begin, Index size, const Scalar* rows, const Scalar* landing) {
        if (size <= largest_small_set) return visit_small_set(begin, size, rows, landing);
        const Index left = size / 2, middle = begin + left;
        censor_half({begin, size, begin, left, middle, size - left}, rows, landing);
        censor_half({begin, size, middle, size - left, begin, left}, rows, landing);
    }

    // Censor one half, recurse on the other.  `rows` and `landing` are of the current nodes;
    // landing is null at the top, where no node is outside.
    void censor_half(const Split& split, const Scalar* rows, const Scalar* landing) {
        if (pivots_.dead_end || interrupted_) return;
        if ((interrupted_ = interrupt_.requested(split.size))) return;
        if (!leaf_.wants(split.kept, split.kept + split.num_kept)) return;
        const std::size_t mark = arena_.mark();
        const Flags flags;
        Scalar* kept_rows = arena_.take<Scalar>(split.num_kept * walk_stride(split.num_kept));
        Scalar* kept_landing = nullptr;
        if (Leaf::needs_landing) {
            kept_landing =
                arena_.take<Scalar>((split.num_kept + num_root_columns) * landing_stride_);
        }
        const std::size_t scratch = arena_.mark();
        fill_kept(split, rows, landing, kept_rows, kept_landing);
        arena_.release(scratch);
        descend(split.kept, split.num_kept, kept_rows, kept_landing);
        flags.restore();
        arena_.release(mark);
    }

    void fill_kept(const Split& split, const Scalar* rows, const Scalar* landing, Scalar* kept_rows,
                   Scalar* kept_landing) {
        copy_kept_rows(split, rows, kept_rows);
        if (Leaf::decides && landing == nullptr && is_decided(split.censored, split.num_censored)) {
            return follow_heads(split, rows, kept_rows, kept_landing);
        }
        const Index others = padded(split.num_censored);
        const Index stride = others + walk_stride(split.num_kept);
        const Rows<Scalar> dropped{arena_.take<Scalar>(split.num_censored * stride),
                                   split.num_censored, others,
                                   others + split.num_kept + num_root_columns, stride};
        for (Index j = 0; j < split.num_censored; ++j) {
            fill_censored(split, split.censored + j, rows, landing, dropped[j], others, stride);
        }
        pivots_.wants_product = split.kept == 0;
        absorb(dropped, pivots_, interrupt_);
        add_detours(split, rows, dropped, kept_rows);
        if (Leaf::needs_landing) fill_kept_landing(split, landing, dropped, kept_landing);
    }

    bool is_decided(Index begin, Index count) const {
        for (Index j = begin; j < begin + count; ++j) {
            if (leaf_.head(j) == undecided) return false;
        }
        return true;
    }

    // At the top, where the heads of all nodes to be censored are decided: censoring would work on
    // rows of a single 1, and find for each node, without any rounding, the first of its ancestors
    // that stays.  The same bits, as matrix products add in the order of the censored nodes.
    void follow_heads(const Split& split, const Scalar* rows, Scalar* kept_rows,
                      Scalar* kept_landing) {
        const Index kept_stride = walk_stride(split.num_kept), stride = walk_stride(split.size);
        Index* place = arena_.take<Index>(split.num_censored);
        for (Index k = 0; k < split.num_censored; ++k) {
            Index node = split.censored + k;
            for (Index steps = 0; is_censored(split, node); ++steps) {
                node = leaf_.head(node);
                if (steps == split.num_censored) {  // a cycle
                    pivots_.dead_end = true;
                    return;
                }
            }
            place[k] = node == root ? split.num_kept : node - split.kept;
        }
        for (Index j = 0; j < split.num_kept; ++j) {
            const Scalar* from = rows + (split.kept + j) * stride + split.censored;
            Scalar* to = kept_rows + j * kept_stride;
            for (Index k = 0; k < split.num_censored; ++k) to[place[k]] += from[k];
        }
        if (!Leaf::needs_landing) return;
        const Index num_places = split.num_kept + num_root_columns;
        for (Index i = 0; i < num_places * landing_stride_; ++i) kept_landing[i] = Scalar(0.0);
        for (Index k = 0; k < split.num_censored; ++k) {
            kept_landing[place[k] * landing_stride_ + split.censored + k] = Scalar(1.0);
        }
    }

    static bool is_censored(const Split& split, Index node) {
        return node >= split.censored && node < split.censored + split.num_censored;
    }

    // The row of a node to be censored, reordered: censored nodes, zeros up to `others`, kept
    // nodes, root, zeros up to `stride`.
    void fill_censored(const Split& split, Index node, const Scalar* rows, const Scalar* landing,
                       Scalar* to, Index others, Index stride) const {
        const Scalar* from = steps_of(node, split.begin, split.size, rows, landing, decided_row_);
        clear_row(to + others - vector_length, vector_length);  // less than that is left of it
        copy_row(to, from + (split.censored - split.begin), split.num_censored);
        copy_kept(split, from, to + others, stride - others);
    }

    // Of the steps that leave a node: those to kept nodes and to the root, and zeros up to `size`.
    static void copy_kept(const Split& split, const Scalar* from, Scalar* to, Index size) {
        clear_row(to + size - vector_length, vector_length);
        copy_row(to, from + (split.kept - split.begin), split.num_kept);
        for (Index i = 0; i < num_root_columns; ++i) to[split.num_kept + i] = from[split.size + i];
    }

    // The steps that leave one of the current nodes: its row, or, if its head is decided, the walk
    // of its head, for which there is `room`.
    const Scalar* steps_of(Index node, Index begin, Index size, const Scalar* rows,
                           const Scalar* landing, Scalar* room) const {
        const Index head = leaf_.head(node);
        if (head == undecided) return rows + (node - begin) * walk_stride(size);
        const bool is_outside = head != root && (head < begin || head >= begin + size);
        for (Index i = 0; i < size + num_root_columns; ++i) {
            room[i] = is_outside ? landing[i * landing_stride_ + head] : Scalar(0.0);
        }
        if (!is_outside) room[head == root ? size : head - begin] = Scalar(1.0);
        return room;
    }

    // Rows of the kept nodes: what they had ..
    void copy_kept_rows(const Split& split, const Scalar* rows, Scalar* kept_rows) const {
        const Index stride = walk_stride(split.size), kept_stride = walk_stride(split.num_kept);
        const Index kept = split.kept - split.begin;
        for (Index j = 0; j < split.num_kept; ++j) {
            copy_kept(split, rows + (kept + j) * stride, kept_rows + j * kept_stride, kept_stride);
        }
    }

    // .. and what reaches them through the censored ones.
    void add_detours(const Split& split, const Scalar* rows, const Rows<Scalar>& dropped,
                     Scalar* kept_rows) const {
        const Index stride = walk_stride(split.size), kept_stride = walk_stride(split.num_kept);
        const Index first_censored = split.censored - split.begin, kept = split.kept - split.begin;
        add_product(kept_rows, kept_stride,
                    Strided<Scalar>{rows + kept * stride + first_censored, stride, 1},
                    dropped.data + dropped.others, dropped.stride, split.num_kept,
                    split.num_censored, kept_stride, interrupt_);
    }

    // Landings among the kept nodes, one row per place to land and one column per node.
    void fill_kept_landing(const Split& split, const Scalar* landing, const Rows<Scalar>& dropped,
                           Scalar* kept_landing) const {
        const Index stride = landing_stride_;
        const Index num_places = split.num_kept + num_root_columns;
        const Scalar* absorption = dropped.data + dropped.others;
        // Nodes before the current ones and after them, each rounded to whole vectors that may
        // reach into the columns of the current nodes, which hold zeros.  There are enough of these
        // for the two not to meet.
        static_assert(largest_small_set >= 2 * vector_length - 3, "the two may overlap");
        const Index end = split.begin + split.size;
        const Index before = padded(split.begin);
        const Index after = end < n_ ? end / vector_length * vector_length : stride;
        const auto fill = [&](Index column, Index end_column, Index first, Index count,
                              Index from) {
            if (column >= end_column) return;
            set_to_product(kept_landing + first * stride + column, stride,
                           {landing + from * stride + column, stride},
                           Strided<Scalar>{absorption + first, 1, dropped.stride},
                           landing + (split.censored - split.begin) * stride + column, stride,
                           count, split.num_censored, end_column - column, interrupt_);
        };
        for (const auto& range :
             {std::make_pair(Index{0}, before), std::make_pair(after, stride)}) {
            fill(range.first, range.second, 0, split.num_kept, split.kept - split.begin);
            fill(range.first, range.second, split.num_kept, num_root_columns, split.size);
        }
        const Index censored_end = split.censored + split.num_censored;
        for (Index i = 0; i < num_places; ++i) {
            Scalar* to = kept_landing + i * stride;
            clear_row(to + before, split.censored - before);
            clear_row(to + censored_end, after - censored_end);
        }
        copy_transposed(kept_landing + split.censored, stride, absorption, dropped.stride,
                        split.num_censored, num_places);
    }

    // The last levels at once: each node of a small set survives in turn.  Where visits decide
    // nothing, four choices of the survivor are worked on side by side.
    void visit_small_set(Index begin, Index size, const Scalar* rows, const Scalar* landing) {
        using Number = typename AtOnce<Scalar, Leaf::decides>::Number;
        constexpr Index group = choices_at_once<Number>;
        const Flags flags;
        for (Index first = 0; first < size; first += group) {
            if (!leaf_.wants(begin + first, begin + first + 1)) continue;
            flags.restore();
            Scalar decided[largest_small_set][small_set_columns];
            const Scalar* steps[largest_small_set];
            for (Index j = 0; j < size; ++j) {
                steps[j] = steps_of(begin + j, begin, size, rows, landing, decided[j]);
            }
            Survivor<Scalar> survivors[group];
            Scalar chance[group][largest_small_set];
            for (Index r = 0; r < group; ++r)
                survivors[r].node = first + r < size ? first + r : first;
            pivots_.wants_product = begin + first == 0;
            visited_first_ |= pivots_.wants_product;
            censor_all_but_one<Number>(steps, size, survivors, chance, pivots_);
            if (pivots_.dead_end) return;
            const Index num_survivors = size - first < group ? size - first : group;
            if (Leaf::needs_landing) {
                find_root_landing(begin, size, landing, survivors, chance, num_survivors);
            }
            for (Index r = 0; r < num_survivors; ++r) {
                const Index j = begin + survivors[r].node;
                const Scalar* row = walk_ + j * walk_stride(n_);
                leaf_.visit(
                    j, LeafView<Scalar>{row, root_landing_ + r * landing_stride_,
                                        where_positive(survivors[r].at_once, row[n_], row[n_ + 1]),
                                        survivors[r].escape});
            }
        }
    }

    // h of all nodes, one row per survivor: straight to the root, or by way of a node whose
    // own h is known.
    void find_root_landing(Index begin, Index size, const Scalar* landing,
                           const Survivor<Scalar>* survivors,
                           const Scalar (*chance)[largest_small_set], Index num_survivors) const {
        const Index stride = landing_stride_;
        // Survivors of one order have the same direct way to the root; nearly always all do.
        for (Index r = 0; r < num_survivors && landing != nullptr;) {
            Index end = r + 1;
            while (end < num_survivors &&
                   is_zero(survivors[end].at_once) == is_zero(survivors[r].at_once)) {
                ++end;
            }
            const Scalar* direct = direct_landing(landing + size * stride, survivors[r].at_once);
            set_to_product(root_landing_ + r * stride, stride, {direct, 0},
                           Strided<Scalar>{chance[r], largest_small_set, 1}, landing, stride,
                           end - r, size, stride);
            r = end;
        }
        for (Index r = 0; r < num_survivors; ++r) {
            copy_row(root_landing_ + r * stride + begin, chance[r], size);
        }
    }

    // Of the rows of the root, at order 0 and at order 1, the one of the leading order.
    const Scalar* direct_landing(const Scalar* of_root, const Scalar& at_once) const {
        if (is_positive(at_once)) return of_root;
        if (is_zero(at_once)) return of_root + landing_stride_;
        for (Index i = 0; i < landing_stride_; ++i) {
            direct_landing_[i] = where_positive(at_once, of_root[i], of_root[landing_stride_ + i]);
        }
        return direct_landing_;
    }

    const Scalar* walk_;
    Index n_, landing_stride_;
    Leaf& leaf_;
    Arena& arena_;
    const Interrupt& interrupt_;
    Scalar* decided_row_ = nullptr;     // room for steps_of
    Scalar* root_landing_ = nullptr;    // h of the leaves being visited, one row each
    Scalar* direct_landing_ = nullptr;  // for graphs side by side that differ in the leading order
    Pivots<Scalar> pivots_;
    bool visited_first_ = false;
    bool interrupted_ = false;
};

// A base for leaves that never decide anything.
struct ReadingLeaf {
    static constexpr bool decides = false;
    static constexpr bool needs_landing = true;
    static constexpr bool asks_range = false;
    static Index head(Index) { return undecided; }
    static bool wants(Index, Index) { return true; }
};

// A base for leaves that decide the heads of nodes one after the other.
struct DecidingLeaf {
    static constexpr bool decides = true;
    static constexpr bool needs_landing = true;
    static constexpr bool asks_range = false;
    Index* heads;  // of all nodes; `undecided` where the leaf has to be visited

    Index head(Index j) const { return heads[j]; }
    bool wants(Index begin, Index end) const {
        for (; begin < end; ++begin) {
            if (heads[begin] == undecided) return true;
        }
        return false;
    }
};

// The leaves of projective trees: a chart knows the sum over all trees with an arc, so there is
// nothing left to multiply the row by.
template <class Number, class Leaf, class Scalar>
bool visit_chart(const Number* walk, Leaf& leaf, Problem<Scalar>& problem) {
    const Graph& graph = problem.graph;
    const Index n = graph.num_words;
    Arena& arena = problem.arena;
    Number* sums =
        arena.template take<Number>(n * (n + 1));  // row j: the heads of j, then the root
    Number* ones = arena.template take<Number>(n);
    Chart<Number> chart(ArcWeights<Number>::of_walk(walk, graph), n, graph.has_single_root(),
                        arena);
    if (!chart.inward(problem.interrupt)) return false;
    set_partition(problem, to_unbounded(chart.partition()));
    if (!is_positive(chart.partition())) return false;
    for (Index j = 0; j < n; ++j) {
        sums[j * (n + 1) + j] = Number(0.0);
        ones[j] = Number(1.0);
    }
    const bool finished = go_outward(
        chart, arena, problem.interrupt, [=](Index head, Index dependent, const Number& sum) {
            sums[(dependent - 1) * (n + 1) + (head == 0 ? n : head - 1)] = sum;
        });
    for (Index j = 0; j < n && finished; ++j) {
        const Number* row = sums + j * (n + 1);
        leaf.visit(j, LeafView<Number>{row, ones, row[n], chart.partition()});
    }
    return finished;
}

// Run the recursion on the walk of a problem, or on one of other numbers made of it.
template <class Number, class Leaf, class Scalar>
bool recurse(const Number* walk, Leaf& leaf, Problem<Scalar>& problem) {
    if constexpr (!Leaf::decides) {
        if (problem.graph.is_projective()) return visit_chart(walk, leaf, problem);
    }
    Recursion<Number, Leaf> recursion(walk, problem.graph.num_words, leaf, problem.arena,
                                      problem.interrupt);
    const bool finished = recursion.run();
    set_partition(problem, recursion.partition());
    return finished;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
