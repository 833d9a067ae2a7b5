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
// Both in the leading order (see censoring.hpp): order 0 if j can reach the root at order 0, which
// its column a tells, else order 1.
//
// The leaf decides what happens there.  One that only reads gives all marginals.  One that draws a
// head gives the ancestral sampler of Colbourn, Myrvold and Neufeld (Journal of Algorithms 20,
// 1996): leaves come in the order of the nodes, and `head` of the leaf makes the recursion replace
// the row of each node already decided by the walk of its head, which is the walk of the graph
// conditioned on that arc.  The recursion thus visits node j with exactly the conditionals p(e_j |
// e_1 .. e_j-1) of the paper's Sherman-Morrison version, in O(n^3) too, but without its
// cancellation.
//
// Cost: about 2.2 n^3 floating-point operations, nearly all in matrix products, and 2 n^2 numbers
// of scratch memory.  Nodes are numbered from 0 here: node j is word j + 1, and `root` is -1.
#pragma once

#include "arena.hpp"
#include "censoring.hpp"
#include "graph.hpp"

namespace arborand {
namespace ARBORAND_ISA {

constexpr Index root = -1;
constexpr Index undecided = -2;

// What a leaf sees of its node j.
template <class Scalar>
struct LeafView {
    const Scalar* row;    // the original row of j: weights of the heads 0 .. n - 1
    const Scalar* h;      // h_i of the leading order for every node i but j; null if none is known
    Scalar root_weight;   // of the leading order
    Scalar escape;        // the weight with which j reaches the root: the sum of all of the above
    bool at_first_order;  // is the leading order 1?
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
        std::size_t bytes = Arena::rounded<Scalar>(padded(num_nodes));
        for (Index size = num_nodes; size > 1; size -= size / 2) {
            const Index keep = size - size / 2;
            bytes += Arena::rounded<Scalar>(keep * walk_stride(keep));
            if (Leaf::needs_landing) {
                bytes += Arena::rounded<Scalar>((keep + num_root_columns) * padded(num_nodes));
            }
            if (size == num_nodes) {
                bytes += Arena::rounded<Scalar>(keep * (padded(keep) + walk_stride(keep)));
            }
        }
        return bytes;
    }

    // False: interrupted, or there is no tree.
    bool run() {
        if (leaf_.wants(0, n_))
            descend(0, n_, walk_, nullptr);  // no node is outside: there is nothing to land
        return !pivots_.dead_end && !interrupted_;
    }

  private:
    void descend(Index begin, Index end, const Scalar* rows, const Scalar* landing) {
        if (end - begin == 1) return visit_leaf(begin, rows, landing);
        const Index middle = begin + (end - begin) / 2;
        keep(begin, end, begin, middle, middle, end, rows, landing);
        keep(begin, end, middle, end, begin, middle, rows, landing);
    }

    // Censor [drop, drop_end), recurse on [kept, kept_end).
    void keep(Index begin, Index end, Index kept, Index kept_end, Index drop, Index drop_end,
              const Scalar* rows, const Scalar* landing) {
        if (interrupted_ || (interrupted_ = interrupt_.requested(end - begin))) return;
        if (!leaf_.wants(kept, kept_end)) return;
        const Index size = end - begin;
        const Index num_kept = kept_end - kept;
        const Index num_dropped = drop_end - drop;
        const Index stride = walk_stride(size);
        const Index kept_stride = walk_stride(num_kept);
        const std::size_t mark = arena_.mark();
        Scalar* kept_rows = arena_.take<Scalar>(num_kept * kept_stride);
        Scalar* kept_landing = nullptr;
        if (Leaf::needs_landing) {
            kept_landing = arena_.take<Scalar>((num_kept + num_root_columns) * landing_stride_);
        }
        const std::size_t scratch = arena_.mark();

        const Index others = padded(num_dropped);
        Rows<Scalar> dropped{nullptr, num_dropped, others, others + num_kept + num_root_columns,
                             others + kept_stride};
        dropped.data = arena_.take<Scalar>(num_dropped * dropped.stride);
        for (Index j = 0; j < num_dropped; ++j) {
            const Index head = leaf_.head(drop + j);
            if (head == undecided) {
                copy_row(rows + (drop - begin + j) * stride, 1, size, drop - begin, num_dropped,
                         kept - begin, num_kept, dropped[j], others);
            } else if (head >= begin && head < end) {
                step_to(dropped[j], dropped.stride,
                        head >= drop && head < drop_end ? head - drop : others + head - kept);
            } else if (head == root) {
                step_to(dropped[j], dropped.stride, others + num_kept);
            } else {
                copy_row(landing + head, landing_stride_, size, drop - begin, num_dropped,
                         kept - begin, num_kept, dropped[j], others);
            }
        }
        absorb(dropped, pivots_, interrupt_);
        const Scalar* absorption = dropped.data + others;  // num_dropped x kept_stride

        for (Index j = 0; j < num_kept; ++j) {
            const Scalar* from = rows + (kept - begin + j) * stride;
            Scalar* to = kept_rows + j * kept_stride;
            for (Index i = 0; i < num_kept; ++i) to[i] = from[kept - begin + i];
            for (Index i = 0; i < num_root_columns; ++i) to[num_kept + i] = from[size + i];
            for (Index i = num_kept + num_root_columns; i < kept_stride; ++i) to[i] = Scalar(0.0);
        }
        add_product(kept_rows, kept_stride,
                    Strided<Scalar>{rows + (kept - begin) * stride + drop - begin, stride, 1},
                    absorption, dropped.stride, num_kept, num_dropped, kept_stride);

        if (Leaf::needs_landing) {
            const Scalar* dropped_landing = landing + (drop - begin) * landing_stride_;
            for (Index i = 0; i < num_kept + num_root_columns; ++i) {
                const Index from = i < num_kept ? kept - begin + i : size + i - num_kept;
                copy(landing == nullptr ? nullptr : landing + from * landing_stride_,
                     kept_landing + i * landing_stride_);
            }
            // Nodes before `begin` and from `end` on, rounded outwards to whole vectors.
            land(kept_landing, dropped_landing, absorption, dropped.stride, num_kept, num_dropped,
                 0, padded(begin));
            if (end < n_) {
                land(kept_landing, dropped_landing, absorption, dropped.stride, num_kept,
                     num_dropped, end / lanes * lanes, landing_stride_);
            }
            for (Index i = 0; i < num_kept + num_root_columns; ++i) {
                for (Index j = 0; j < num_dropped; ++j) {
                    kept_landing[i * landing_stride_ + drop + j] =
                        absorption[j * dropped.stride + i];
                }
            }
        }
        arena_.release(scratch);
        descend(kept, kept_end, kept_rows, kept_landing);
        arena_.release(mark);
    }

    void copy(const Scalar* from, Scalar* to) const {
        for (Index i = 0; i < landing_stride_; ++i) to[i] = from == nullptr ? Scalar(0.0) : from[i];
    }

    // A row over the current nodes and the root, reordered: dropped nodes, padding, kept nodes,
    // root.
    static void copy_row(const Scalar* from, Index step, Index size, Index drop, Index num_dropped,
                         Index kept, Index num_kept, Scalar* to, Index others) {
        for (Index i = 0; i < num_dropped; ++i) to[i] = from[(drop + i) * step];
        for (Index i = num_dropped; i < others; ++i) to[i] = Scalar(0.0);
        to += others;
        for (Index i = 0; i < num_kept; ++i) to[i] = from[(kept + i) * step];
        for (Index i = 0; i < num_root_columns; ++i) to[num_kept + i] = from[(size + i) * step];
        for (Index i = num_kept + num_root_columns; i < walk_stride(num_kept); ++i) {
            to[i] = Scalar(0.0);
        }
    }

    static void step_to(Scalar* row, Index width, Index column) {
        for (Index i = 0; i < width; ++i) row[i] = Scalar(0.0);
        row[column] = Scalar(1.0);
    }

    void land(Scalar* kept_landing, const Scalar* dropped_landing, const Scalar* absorption,
              Index absorption_stride, Index num_kept, Index num_dropped, Index first, Index last) {
        if (first >= last) return;
        add_product(kept_landing + first, landing_stride_,
                    Strided<Scalar>{absorption, 1, absorption_stride}, dropped_landing + first,
                    landing_stride_, num_kept + num_root_columns, num_dropped, last - first);
    }

    void visit_leaf(Index j, const Scalar* escape, const Scalar* landing) {
        const bool at_first_order = !is_positive(escape[1]);
        const Index order = at_first_order ? 1 : 0;
        if (!is_positive(escape[1 + order])) {
            pivots_.dead_end = true;
            return;
        }
        const Scalar* row = walk_ + j * walk_stride(n_);
        const Scalar* h = landing == nullptr ? nullptr : landing + (1 + order) * landing_stride_;
        leaf_.visit(j,
                    LeafView<Scalar>{row, h, row[n_ + order], escape[1 + order], at_first_order});
    }

    const Scalar* walk_;
    Index n_, landing_stride_;
    Leaf& leaf_;
    Arena& arena_;
    const Interrupt& interrupt_;
    Pivots pivots_;  // of many eliminations: only its dead ends mean anything here
    bool interrupted_ = false;
};

// A base for leaves that never decide anything.
struct ReadingLeaf {
    static constexpr bool needs_landing = true;
    static Index head(Index) { return undecided; }
    static bool wants(Index, Index) { return true; }
};

// A base for leaves that decide the heads of nodes one after the other.
struct DecidingLeaf {
    static constexpr bool needs_landing = true;
    Index* heads;  // of all nodes; `undecided` where the leaf has to be visited

    Index head(Index j) const { return heads[j]; }
    bool wants(Index begin, Index end) const {
        for (; begin < end; ++begin) {
            if (heads[begin] == undecided) return true;
        }
        return false;
    }
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
