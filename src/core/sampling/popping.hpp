// Wilson's algorithm where most steps are the heaviest: all nodes step at once, then cycles are
// popped.
//
// Every node has a pile of steps, drawn independently; a tree is what is left on top when all
// cycles have been popped, in any order (Propp and Wilson 1998; docs/mathematics.md).  A walk goes
// down the piles node by node, and draws every step.  Here all tops are laid out at once: the
// heaviest steps, but for nodes that *surprise* with another one.  One random number tells of many
// nodes which of them surprises first, so that a draw takes as many numbers as there are surprises,
// and one or two more.  If the heaviest steps alone are a tree, then every cycle has a surprise in
// it, and is found from there.
#pragma once

#include <cstdint>
#include <cstring>

#include "memory/arena.hpp"
#include "numbers/integer_128.hpp"
#include "numbers/sums.hpp"
#include "randomness/alias_table.hpp"
#include "randomness/philox.hpp"
#include "sampling/heaviest_steps.hpp"
#include "sampling/wilson.hpp"
#include "types/draws.hpp"
#include "types/scratch.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// What is prepared of a graph.  Chances are integers, in units of 2^-63, rounded down: as alias
// tables do it.
struct FirstSteps {
    Index num_segments = 0;                // 0: draws walk
    std::int32_t* heads = nullptr;         // [node]: where the heaviest step leads; -1 for the root
    std::uint64_t* surprise = nullptr;     // [node]: the chance of another step
    std::uint64_t* surprise_by = nullptr;  // [node]: that of any in its segment, from its start on
    std::int32_t* ends = nullptr;          // [segment]: the node after its last one
    // [node][head]: the chance that a step which surprises leads to this head or one before it.
    std::uint64_t* others_by = nullptr;
    // The likeliest child of the root, which then has no use for its step; 0 if the child is not
    // drawn first.
    Index usual_child = 0;

    Index num_cycles = 0;            // of the heaviest steps
    std::int32_t* cycles = nullptr;  // the first node of each
    std::int32_t* cycle = nullptr;   // [node]: the first node of the cycle that it is on, or 0
    // [first node]: which node of the cycle is the first to surprise, counted from this one, if any
    // is.  Null: there is no such table.
    const Slot** exits = nullptr;

    static constexpr std::uint64_t one = std::uint64_t{1} << 63;

    // Whether the heaviest steps are a tree once a node hangs from the root; 0: if none does.
    // The node breaks the cycle that it is on.
    bool are_tree(Index child) const {
        return num_cycles == 0 || (num_cycles == 1 && cycle[child] != 0);
    }

    // There are no segments if popping does not pay.  False: no memory.
    bool prepare(const Steps& steps, const double* child_chance, const DrawRule& rule,
                 Scratch& memory, double* weights, AliasWorkspace workspace) {
        const Index num_nodes = steps.num_words + 1;
        Arena arena(memory);
        if (!arena.reserve(4 * Arena::rounded<std::int32_t>(num_nodes) +
                           2 * Arena::rounded<std::uint64_t>(num_nodes) +
                           2 * Arena::rounded<double>(num_nodes) +
                           Arena::rounded<const Slot*>(num_nodes) +
                           Arena::rounded<Slot>(num_nodes) +
                           Arena::rounded<std::uint64_t>(num_nodes * num_nodes))) {
            return false;
        }
        heads = arena.take<std::int32_t>(num_nodes);
        ends = arena.take<std::int32_t>(num_nodes);
        cycles = arena.take<std::int32_t>(num_nodes);
        cycle = arena.take<std::int32_t>(num_nodes);
        surprise = arena.take<std::uint64_t>(num_nodes);
        surprise_by = arena.take<std::uint64_t>(num_nodes);
        double* along = arena.take<double>(num_nodes);
        double* off = arena.take<double>(num_nodes);
        exits = arena.take<const Slot*>(num_nodes);
        Slot* slots = arena.take<Slot>(num_nodes);
        others_by = arena.take<std::uint64_t>(num_nodes * num_nodes);

        heads[0] = -1;
        for (Index j = 1; j < num_nodes; ++j) {
            heads[j] = static_cast<std::int32_t>(steps.heaviest_of(j, weights));
        }
        find_cycles(num_nodes, workspace);
        // Where many cycles must be popped in every draw, walks that jump are faster.
        if (rule.pops != Pops::always && num_cycles > 1 + num_nodes / 16) return true;
        for (Index j = 1; j < num_nodes; ++j) {
            const double step = steps.others_of(j, heads[j], weights);
            const double others = sum(weights, num_nodes), total = step + others;
            along[j] = total > 0 ? step / total : 1.0;
            off[j] = total > 0 ? others / total : 0.0;
            // Below 1, because no other step is heavier.
            surprise[j] = to_integer(off[j]);
            std::uint64_t by = 0;
            for (Index i = 0; i < num_nodes; ++i) {
                by += others > 0 ? to_integer(weights[i] / others) : 0;
                others_by[j * num_nodes + i] = by;
            }
        }
        for (Index c = 0; c < num_cycles; ++c) {
            slots = build_exits(cycles[c], along, off, rule.jumps, weights, slots, workspace);
        }
        usual_child = 0;
        for (Index j = 1; j < num_nodes && child_chance != nullptr; ++j) {
            if (child_chance[j] > ahead * child_chance[usual_child]) usual_child = j;
        }
        find_segments(num_nodes);
        return true;
    }

  private:
    // By this a child must be likelier than one before it: number types round chances that are
    // equal in their own ways, and which one is used must not show in the trees.
    static constexpr double ahead = 1.000001;
    // Below this, the weights of exits may be lost in double.
    static constexpr double least_leaving = 1e-280;

    static std::uint64_t to_integer(double chance) {
        return static_cast<std::uint64_t>(chance * static_cast<double>(one));
    }

    // A segment goes on while it is likely to have no surprise.  So what is rounded in units of
    // 2^-63 of its start is at most twice as much in units of its end.
    void find_segments(Index num_nodes) {
        std::uint64_t before = 0;
        for (Index j = 1; j < num_nodes; ++j) {
            const std::uint64_t chance = j == usual_child ? 0 : surprise[j];
            const UInt128 here = static_cast<UInt128>(one - before) * chance;
            std::uint64_t by = before + static_cast<std::uint64_t>(here >> 63);
            if (by > one / 2 && before > 0) {
                ends[num_segments++] = static_cast<std::int32_t>(j);
                by = chance;
            }
            surprise_by[j] = before = by;
        }
        ends[num_segments++] = static_cast<std::int32_t>(num_nodes);
    }

    void find_cycles(Index num_nodes, AliasWorkspace workspace) {
        for (Index j = 0; j < num_nodes; ++j) cycle[j] = 0;
        for_each_cycle(heads, num_nodes, reinterpret_cast<std::int32_t*>(workspace.stack),
                       [&](Index first) {
                           cycles[num_cycles++] = static_cast<std::int32_t>(first);
                           Index j = first;
                           do {
                               cycle[j] = static_cast<std::int32_t>(first);
                               j = heads[j];
                           } while (j != first);
                       });
    }

    Slot* build_exits(Index first, const double* along, const double* off, Jumps jumps,
                      double* weights, Slot* slots, AliasWorkspace workspace) {
        Index length = 0;
        double leaving = 0.0, reached = 1.0;
        Index j = first;
        do {
            weights[length] = reached * off[j];
            leaving += weights[length++];
            reached *= along[j];
            j = heads[j];
        } while (j != first);
        exits[first] = nullptr;
        if (jumps == Jumps::never || !(leaving >= least_leaving)) return slots;
        build_alias(weights, length, slots, workspace);
        exits[first] = slots;
        return slots + length;
    }
};

// One draw.
class Popping {
  public:
    // Bytes.
    static constexpr std::size_t room(Index num_nodes) {
        return 2 * static_cast<std::size_t>(num_nodes) * sizeof(std::int32_t);
    }

    Popping(const FirstSteps& first, Index num_nodes, Stream& stream, std::int32_t* heads,
            char* room, std::int64_t budget)
        : first_(first),
          num_nodes_(num_nodes),
          stream_(stream),
          heads_(heads),
          to_follow_(reinterpret_cast<std::int32_t*>(room)),
          mark_(to_follow_ + num_nodes),
          left_(budget) {}

    // `child`, if there is one, hangs from the root.
    WalkEnd draw(Index child) {
        left_ -= num_nodes_ - 1 - (child > 0 ? 1 : 0);
        if (left_ < 0) return WalkEnd::budget_spent;
        take_first_steps(child);
        // Every cycle has a node that surprised, or is one of heaviest steps.
        if (!first_.are_tree(child)) {
            for (Index c = 0; c < first_.num_cycles; ++c) will_follow(first_.cycles[c]);
        }
        if (num_to_follow_ == 0) return WalkEnd::tree;
        for (Index j = 0; j < num_nodes_; ++j) mark_[j] = unseen;
        mark_[0] = root;
        for (Index k = 0; k < num_to_follow_ && k < most_to_follow(); ++k) {
            if (!follow(to_follow_[k])) return WalkEnd::budget_spent;
        }
        if (num_to_follow_ <= most_to_follow()) return WalkEnd::tree;
        for (Index j = 1; j < num_nodes_; ++j) {
            if (!follow(j)) return WalkEnd::budget_spent;
        }
        return WalkEnd::tree;
    }

    // Of the budget.
    std::int64_t left() const { return left_ > 0 ? left_ : 0; }

  private:
    static constexpr std::int32_t unseen = 0, root = -1;

    // More are not noted: then all nodes are followed.
    Index most_to_follow() const { return num_nodes_; }

    void will_follow(Index node) {
        if (num_to_follow_ < most_to_follow()) {
            to_follow_[num_to_follow_] = static_cast<std::int32_t>(node);
        }
        ++num_to_follow_;
    }

    void take_first_steps(Index child) {
        std::memcpy(heads_, first_.heads,
                    static_cast<std::size_t>(num_nodes_) * sizeof(std::int32_t));
        const Index usual = first_.usual_child;
        if (child != usual) {
            heads_[usual] = step_again(usual);
            will_follow(usual);
        }
        Index node = 1;
        for (Index segment = 0; segment < first_.num_segments; ++segment) {
            const Index end = first_.ends[segment];
            const std::uint64_t by_end = first_.surprise_by[end - 1];
            std::uint64_t target = stream_.next() >> 1;
            while (target < by_end) {
                while (target >= first_.surprise_by[node]) ++node;
                heads_[node] = surprising_step(node);
                will_follow(node);
                const std::uint64_t by = first_.surprise_by[node];
                if (by == by_end) break;
                const UInt128 beyond = static_cast<UInt128>(FirstSteps::one - by) * stream_.next();
                target = by + high_half(beyond);
            }
            node = end;
        }
        if (child > 0) heads_[child] = 0;
    }

    std::int32_t surprising_step(Index node) {
        const std::uint64_t* by = first_.others_by + node * num_nodes_;
        const UInt128 product = static_cast<UInt128>(stream_.next()) * by[num_nodes_ - 1];
        const std::uint64_t target = high_half(product);
        // Without a branch: no processor could predict it.
        Index head = 0;
        for (Index count = num_nodes_; count > 1;) {
            const Index half = count / 2;
            head += half & -static_cast<Index>(by[head + half - 1] <= target);
            count -= half;
        }
        return static_cast<std::int32_t>(head);
    }

    std::int32_t step_again(Index node) {
        const bool surprises = stream_.next() >> 1 < first_.surprise[node];
        return surprises ? surprising_step(node) : first_.heads[node];
    }

    // Follow the steps to the tree, and pop the cycles on the way.  False: the budget is spent.
    bool follow(Index node) {
        ++path_;
        for (;;) {
            while (mark_[node] == unseen) {
                mark_[node] = path_;
                node = heads_[node];
            }
            if (mark_[node] != path_) return true;
            if (!pop_to_the_end(node)) pop(node);
            if (left_ < 0) return false;
        }
    }

    // In place of one that was popped.
    void take_step(Index node, std::int32_t head) {
        heads_[node] = head;
        mark_[node] = unseen;
        will_follow(node);
    }

    // Pop the cycle that a node is on.
    void pop(Index first) {
        Index node = first;
        do {
            const Index next = heads_[node];
            take_step(node, step_again(node));
            node = next;
            --left_;
        } while (node != first);
    }

    // The same for a cycle of heaviest steps, until it is gone: that may take e^60 times.  The
    // budget does not count these.  False: it is another cycle.
    bool pop_to_the_end(Index node) {
        const Index first = first_.cycle[node];
        if (first == 0 || first_.exits[first] == nullptr) return false;
        std::uint64_t length = 0;
        node = first;
        do {
            if (heads_[node] != first_.heads[node]) return false;
            node = heads_[node];
            ++length;
        } while (node != first);
        std::uint32_t until_surprise = draw_alias(first_.exits[first], length, stream_.next());
        for (; until_surprise > 0; --until_surprise) {
            mark_[node] = unseen;
            node = heads_[node];
        }
        Index next = heads_[node];
        take_step(node, surprising_step(node));
        while (next != first) {
            node = next;
            next = heads_[node];
            take_step(node, step_again(node));
        }
        return true;
    }

    const FirstSteps& first_;
    Index num_nodes_;
    Stream& stream_;
    std::int32_t* heads_;
    std::int32_t* to_follow_;  // nodes
    std::int32_t* mark_;       // [node]: the path that it was last on
    std::int64_t left_;        // of the budget, which counts steps that stay and steps popped
    Index num_to_follow_ = 0;
    std::int32_t path_ = unseen;
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
