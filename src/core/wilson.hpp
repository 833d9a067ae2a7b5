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

// Complete heads to a tree.  On entry in_tree marks the nodes that are in it already, whose heads
// are set.  What is left of `budget` is written back.
inline WalkEnd walk(const WalkTables& tables, Stream& stream, std::int32_t* heads, char* in_tree,
                    std::int64_t& budget, bool single_root) {
    const Index num_nodes = tables.num_nodes;
    const std::uint64_t count = static_cast<std::uint64_t>(num_nodes);
    std::int64_t left = budget;
    bool has_root_arc = false;
    for (Index start = 1; start < num_nodes; ++start) {
        Index node = start;
        while (!in_tree[node]) {
            if (left == 0) {
                budget = 0;
                return WalkEnd::budget_spent;
            }
            --left;
            // Overwriting the head erases the loop that led back to this node.
            const std::uint32_t head = draw_alias(tables.of(node), count, stream.next());
            heads[node] = static_cast<std::int32_t>(head);
            node = head;
        }
        // The walk has reached the root itself, through an arc that is new and will stay.
        if (single_root && node == 0 && !in_tree[start]) {
            if (has_root_arc) {
                budget = left;
                return WalkEnd::second_root_arc;
            }
            has_root_arc = true;
        }
        for (node = start; !in_tree[node]; node = heads[node]) in_tree[node] = 1;
    }
    budget = left;
    return WalkEnd::tree;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
