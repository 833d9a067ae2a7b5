// Wilson's algorithm (STOC 1996; the paper's Figure 2): loop-erased random walks, with a budget.
//
// Changes to the paper's pseudocode: heads are drawn from alias tables, one random number a step;
// the walk ends when its budget of steps is spent (the caller then draws the tree another way,
// which leaves the law exact: see docs/mathematics.md on cycle popping); and it may stop as soon as
// a second arc leaves the root, for the rejection of Stanojevic (2022).
#pragma once

#include "alias.hpp"

namespace arborand {
namespace ARBORAND_ISA {

enum class WalkEnd { tree, budget_spent, second_root_arc };

// The tables of all nodes: slot i of node j's table stands for the head i.
struct WalkTables {
    const Slot* slots;
    Index num_nodes;  // root included; also the number of slots a node has

    const Slot* of(Index node) const { return slots + node * num_nodes; }
};

// Which nodes are in the tree: a byte each for the walk, which asks about one node after the other,
// and a bit each to find the next one that is not, both without branches that cannot be predicted.
class Membership {
  public:
    static std::size_t bytes(Index num_nodes) {
        return static_cast<std::size_t>(num_words(num_nodes) * 8 + num_nodes);
    }

    Membership(char* memory, Index num_nodes)
        : missing_(reinterpret_cast<std::uint64_t*>(memory)),
          contains_(memory + num_words(num_nodes) * 8),
          num_nodes_(num_nodes) {}

    // Only the root is in the tree.
    void reset() {
        for (Index i = 0; i < num_nodes_; ++i) contains_[i] = 0;
        for (Index w = 0; w < num_words(num_nodes_); ++w) missing_[w] = ~std::uint64_t{0};
        const int last = static_cast<int>(num_nodes_ % 64);
        if (last != 0) missing_[num_words(num_nodes_) - 1] = (std::uint64_t{1} << last) - 1;
        add(0);
    }

    bool contains(Index node) const { return contains_[node] != 0; }

    void add(Index node) {
        contains_[node] = 1;
        missing_[node / 64] &= ~(std::uint64_t{1} << (node % 64));
    }

    // The first node from the word of `node` on that is not in the tree, or num_nodes.
    Index first_missing(Index node) const {
        for (Index w = node / 64; w < num_words(num_nodes_); ++w) {
            if (missing_[w] != 0) return 64 * w + __builtin_ctzll(missing_[w]);
        }
        return num_nodes_;
    }

  private:
    static Index num_words(Index num_nodes) { return (num_nodes + 63) / 64; }

    std::uint64_t* missing_;
    char* contains_;
    Index num_nodes_;
};

// Complete heads to a tree.  On entry `members` are the nodes that are in it already, whose heads
// are set; heads[0] must be 0.  What is left of `budget` is written back.
inline WalkEnd walk(const WalkTables& tables, Stream& stream, std::int32_t* heads,
                    Membership& members, std::int64_t& budget, bool single_root) {
    const Index num_nodes = tables.num_nodes;
    const std::uint64_t count = static_cast<std::uint64_t>(num_nodes);
    std::int64_t left = budget;
    bool has_root_arc = false;
    Index start = members.first_missing(0);
    Index node = start;
    while (start < num_nodes) {
        if (left == 0) {
            budget = 0;
            return WalkEnd::budget_spent;
        }
        --left;
        // Overwriting the head erases the loop that led back to this node.
        const std::uint32_t head = draw_alias(tables.of(node), count, stream.next());
        heads[node] = static_cast<std::int32_t>(head);
        node = head;
        if (!members.contains(node)) continue;

        // Reaching the root itself means a new root arc, which will stay.
        if (single_root && node == 0) {
            if (has_root_arc) {
                budget = left;
                return WalkEnd::second_root_arc;
            }
            has_root_arc = true;
        }
        // What is left of the walk joins the tree.  Two nodes at a time: adding one that is in the
        // tree already does no harm, and most paths are short.
        node = start;
        do {
            members.add(node);
            node = heads[node];
            members.add(node);
            node = heads[node];
        } while (!members.contains(node));
        node = start = members.first_missing(start);
    }
    budget = left;
    return WalkEnd::tree;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
