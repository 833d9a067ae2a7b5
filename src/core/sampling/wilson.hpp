// Wilson's algorithm (STOC 1996; the paper's Figure 2): loop-erased random walks, with a budget.
//
// Changes to the paper's pseudocode: heads are drawn from alias tables, one random number per step;
// the walk ends when its budget of steps is spent (the caller then draws the tree another way,
// which leaves the law exact: see docs/mathematics.md on cycle popping); and it may stop as soon as
// a second arc leaves the root, for the rejection of Stanojevic (2022).
#pragma once

#include <cstring>

#include "randomness/alias_table.hpp"
#include "randomness/philox.hpp"

namespace arborand {
namespace ARBORAND_ISA {

enum class WalkEnd { tree, budget_spent, second_root_arc };

// The tables of all nodes: slot i of node j's table stands for the head i.
struct WalkTables {
    const Slot* slots;
    Index num_nodes;  // root included; also the number of slots a node has

    const Slot* of(Index node) const { return slots + node * num_nodes; }
};

// Which nodes are not in the tree yet: up to 64 of them as bits, which stay in a register, ..
class MissingBits {
  public:
    static constexpr Index most_nodes = 64;

    // All but the root are missing.
    MissingBits(char*, Index num_nodes)
        : bits_((~std::uint64_t{0} >> (most_nodes - num_nodes)) & ~std::uint64_t{1}) {}

    bool contains(Index node) const { return (bits_ >> node & 1) != 0; }
    void remove(Index node) { bits_ &= ~(std::uint64_t{1} << node); }
    bool any() const { return bits_ != 0; }
    Index first() const { return __builtin_ctzll(bits_); }  // there is one

  private:
    std::uint64_t bits_;
};

// .. or one byte each, and bits only for the 64 nodes among which the first one is.
class MissingBytes {
  public:
    // Bytes of memory, in whole words of 64 nodes.
    static constexpr std::size_t room(Index num_nodes) {
        return static_cast<std::size_t>((num_nodes + 63) / 64 * 64);
    }

    // More than 64 nodes.
    MissingBytes(char* memory, Index num_nodes)
        : contains_(memory), end_(static_cast<Index>(room(num_nodes))) {
        for (Index i = 0; i < num_nodes; ++i) contains_[i] = 1;
        for (Index i = num_nodes; i < end_; ++i) contains_[i] = 0;
        contains_[0] = 0;
    }

    bool contains(Index node) const { return contains_[node] != 0; }
    void remove(Index node) {
        contains_[node] = 0;
        // Without a branch: no processor could predict where a path goes.
        bits_ &= ~(static_cast<std::uint64_t>(node / 64 == begin_ / 64) << (node % 64));
    }
    bool any() {
        while (bits_ == 0 && begin_ + 64 < end_) {
            begin_ += 64;
            bits_ = gathered();
        }
        return bits_ != 0;
    }
    Index first() const { return begin_ + __builtin_ctzll(bits_); }  // after `any`

  private:
    std::uint64_t gathered() const {
        std::uint64_t bits = 0;
        for (Index i = 0; i < 64; i += 8) {
            std::uint64_t bytes;
            std::memcpy(&bytes, contains_ + begin_ + i, sizeof bytes);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
            bytes = __builtin_bswap64(bytes);
#endif
            // The product moves bit 8 k, that is byte k, to bit 56 + k.
            bits |= (bytes * 0x0102040810204080u >> 56) << i;
        }
        return bits;
    }

    char* contains_;
    Index end_;
    Index begin_ = 0;
    std::uint64_t bits_ = ~std::uint64_t{1};  // of the nodes from begin_ on
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
    while (missing.any()) {
        const Index start = missing.first();
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
