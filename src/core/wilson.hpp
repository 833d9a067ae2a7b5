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

// Which nodes are not in the tree yet, as bits: all in one number, which stays in a register, ..
class FewMissing {
  public:
    static constexpr Index most_nodes = 64;

    // All but the root are missing.
    FewMissing(std::uint64_t*, Index num_nodes)
        : bits_((~std::uint64_t{0} >> (most_nodes - num_nodes)) & ~std::uint64_t{1}) {}

    bool contains(Index node) const { return (bits_ >> node & 1) != 0; }
    void remove(Index node) { bits_ &= ~(std::uint64_t{1} << node); }
    bool none_from(Index) const { return bits_ == 0; }
    // The first one; there is one.
    Index first_from(Index) const { return __builtin_ctzll(bits_); }

  private:
    std::uint64_t bits_;
};

// .. or in memory: bits to find the next one, and a byte each for the walk, which asks about one
// node after the other.
class Missing {
  public:
    // In words of 64 bits.
    static Index room(Index num_nodes) { return num_words(num_nodes) + (num_nodes + 7) / 8; }

    Missing(std::uint64_t* room, Index num_nodes)
        : words_(room),
          num_words_(num_words(num_nodes)),
          contains_(reinterpret_cast<char*>(room + num_words_)) {
        for (Index w = 0; w < num_words_; ++w) words_[w] = ~std::uint64_t{0};
        words_[num_words_ - 1] >>= 64 * num_words_ - num_nodes;
        for (Index i = 0; i < num_nodes; ++i) contains_[i] = 1;
        remove(0);
    }

    bool contains(Index node) const { return contains_[node] != 0; }
    void remove(Index node) {
        contains_[node] = 0;
        words_[node / 64] &= ~(std::uint64_t{1} << (node % 64));
    }
    // Those before the word of `node` are known to be none.
    bool none_from(Index node) const { return first_word_from(node) == num_words_; }
    Index first_from(Index node) const {
        const Index w = first_word_from(node);
        return 64 * w + __builtin_ctzll(words_[w]);
    }

  private:
    static Index num_words(Index num_nodes) { return (num_nodes + 63) / 64; }

    Index first_word_from(Index node) const {
        Index w = node / 64;
        while (w < num_words_ && words_[w] == 0) ++w;
        return w;
    }

    std::uint64_t* words_;
    Index num_words_;
    char* contains_;
};

// Complete heads to a tree.  On entry the heads of the nodes that are not missing are set; heads[0]
// must be 0.  What is left of `budget` is written back.
// A function of its own, whatever calls it: the loop needs all registers there are.
template <class Nodes>
__attribute__((noinline)) WalkEnd walk(const WalkTables& tables, Stream& stream,
                                       std::int32_t* heads, Nodes missing, std::int64_t& budget,
                                       bool single_root) {
    const std::uint64_t count = static_cast<std::uint64_t>(tables.num_nodes);
    std::int64_t left = budget;
    bool has_root_arc = false;
    for (Index start = 0; !missing.none_from(start);) {
        start = missing.first_from(start);
        Index node = start;
        do {
            if (left == 0) {
                budget = 0;
                return WalkEnd::budget_spent;
            }
            --left;
            // Overwriting the head erases the loop that led back to this node.
            const std::uint32_t head = draw_alias(tables.of(node), count, stream.next());
            heads[node] = static_cast<std::int32_t>(head);
            node = head;
        } while (missing.contains(node));

        // Reaching the root itself means a new root arc, which will stay.
        if (single_root && node == 0) {
            if (has_root_arc) {
                budget = left;
                return WalkEnd::second_root_arc;
            }
            has_root_arc = true;
        }
        // What is left of the walk joins the tree.
        node = start;
        do {
            missing.remove(node);
            node = heads[node];
        } while (missing.contains(node));
    }
    budget = left;
    return WalkEnd::tree;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
