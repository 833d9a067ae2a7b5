// Wilson's algorithm where most steps are the heaviest: all nodes step at once, then cycles are
// popped.
//
// Every node has a stack of steps, drawn independently; the tree is what is left on top when all
// cycles have been popped, in any order (Propp and Wilson 1998; docs/mathematics.md).  A walk goes
// down the stacks node by node, and draws every step.  Here the tops of all stacks are drawn at
// once: the heaviest steps, except where a node *deviates* and takes another one.  One random
// number tells which of many nodes deviates first, so a draw takes two numbers per deviation and
// one or two more.  If the heaviest steps alone are a tree, then every cycle has a deviation in it,
// and is found from there.  A cycle of heaviest steps is popped until it is gone, all at once,
// however tightly it is bound.
#pragma once

#include <cstdint>
#include <cstring>

#include "memory/arena.hpp"
#include "numbers/bits.hpp"
#include "numbers/logarithm.hpp"
#include "numbers/sums.hpp"
#include "randomness/alias_table.hpp"
#include "randomness/philox.hpp"
#include "randomness/rare_events.hpp"
#include "sampling/wilson.hpp"
#include "types/scratch.hpp"
#include "walk/rows.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// The steps of a walk: those between words, and those to the root unless its child is drawn first.
struct Steps {
    const double* rows;  // walk/rows.hpp
    Index num_words;
    bool lead_to_root;

    // weights[i]: from `node` to node i, for i = 0 .. num_words.
    void of(Index node, double* weights) const {
        const double* row = rows + (node - 1) * walk_stride(num_words);
        weights[0] = lead_to_root ? row[num_words] : 0.0;
        for (Index i = 1; i <= num_words; ++i) weights[i] = row[i - 1];
        weights[node] = 0.0;
    }

    // Where the heaviest one leads: to the first of several; to the root if there are none.
    // `weights` has room for all nodes.
    Index heaviest_of(Index node, double* weights) const {
        of(node, weights);
        Index heaviest = 0;
        double weight = weights[0];
        for (Index i = 1; i <= num_words; ++i) {
            heaviest = weights[i] > weight ? i : heaviest;
            weight = weights[i] > weight ? weights[i] : weight;
        }
        return heaviest;
    }
};

// The chances of a node to take its heaviest step, and to deviate.
struct StepChances {
    double heaviest, others;
};

// The heaviest steps out of all nodes, the cycles they close, and the chances of other steps.
// Integer chances are in units of 2^-63, rounded down, as in alias tables.
class HeaviestSteps {
  public:
    RareEvents deviations;               // of all nodes; none: draws do not pop
    std::int32_t* heads = nullptr;       // [node]: where the heaviest step leads; -1 for the root
    std::uint64_t* deviation = nullptr;  // [node]: the chance of another step
    // [node][head]: the chance that a step which deviates leads to this head or one before it.
    std::uint64_t* others_by = nullptr;
    // The likeliest child of the root, whose own step is then not needed; 0 if the child is not
    // drawn first.
    Index likeliest_child = 0;

    Index num_cycles = 0;            // of the heaviest steps
    std::int32_t* cycles = nullptr;  // the first node of each
    std::int32_t* cycle = nullptr;   // [node]: the first node of the cycle that it is on, or 0
    // [first node]: which node of the cycle is the first to deviate, counted from this one, given
    // that one does.  Null: there is no such table.
    const Slot** exits = nullptr;

    // Whether the heaviest steps are a tree once a node hangs from the root; 0: if none does.
    // The node breaks the cycle that it is on.
    bool are_tree(Index child) const {
        return num_cycles == 0 || (num_cycles == 1 && cycle[child] != 0);
    }

    // Find the heaviest steps and their cycles.  `weights` has room for all nodes.  False: no
    // memory.
    bool find(const Steps& steps, Scratch& memory, double* weights, AliasWorkspace workspace) {
        const Index num_nodes = steps.num_words + 1;
        Arena arena(memory);
        if (!arena.reserve(
                3 * Arena::rounded<std::int32_t>(num_nodes) +
                Arena::rounded<std::uint64_t>(num_nodes) + RareEvents::workspace(num_nodes) +
                Arena::rounded<StepChances>(num_nodes) + Arena::rounded<const Slot*>(num_nodes) +
                Arena::rounded<Slot>(num_nodes) +
                Arena::rounded<std::uint64_t>(num_nodes * num_nodes))) {
            return false;
        }
        heads = arena.take<std::int32_t>(num_nodes);
        cycles = arena.take<std::int32_t>(num_nodes);
        cycle = arena.take<std::int32_t>(num_nodes);
        deviation = arena.take<std::uint64_t>(num_nodes);
        deviations.begin(num_nodes, arena);
        chances_ = arena.take<StepChances>(num_nodes);
        exits = arena.take<const Slot*>(num_nodes);
        slots_ = arena.take<Slot>(num_nodes);
        others_by = arena.take<std::uint64_t>(num_nodes * num_nodes);

        heads[0] = -1;
        for (Index j = 1; j < num_nodes; ++j) {
            heads[j] = static_cast<std::int32_t>(steps.heaviest_of(j, weights));
        }
        find_cycles(num_nodes, reinterpret_cast<std::int32_t*>(workspace.stack));
        return true;
    }

    // How many steps a walk is expected to take round near-closed cycles.  child_chance[node], null
    // if the root's child is not drawn first: the child breaks its cycle.
    double expected_lap_steps(const Steps& steps, const double* child_chance, double* weights) {
        double expected = 0.0;
        for (Index c = 0; c < num_cycles; ++c) {
            double length = 0.0;
            for_each_on(cycles[c], [&](Index j) {
                find_chances(steps, j, weights);
                length += 1.0;
            });
            const double leaving = chance_to_leave(cycles[c]);
            // Leaving so often, or so seldom that double may have lost it, is not near-closed.
            if (!(leaving >= least_leaving && leaving <= most_leaving)) continue;
            expected += chance_unbroken(cycles[c], child_chance) * length / leaving;
        }
        return expected;
    }

    // Build the tables, after `find`.
    void build_tables(const Steps& steps, const double* child_chance, double* weights,
                      AliasWorkspace workspace) {
        const Index num_nodes = steps.num_words + 1;
        for (Index j = 1; j < num_nodes; ++j) {
            const double others = find_chances(steps, j, weights);
            // Below 1, because no other step is heavier.
            deviation[j] = to_integer(chances_[j].others);
            std::uint64_t by = 0;
            for (Index i = 0; i < num_nodes; ++i) {
                by += others > 0 ? to_integer(weights[i] / others) : 0;
                others_by[j * num_nodes + i] = by;
            }
        }
        Slot* slots = slots_;
        for (Index c = 0; c < num_cycles; ++c) {
            slots = build_exits(cycles[c], weights, slots, workspace);
        }
        for (Index j = 1; j < num_nodes && child_chance != nullptr; ++j) {
            if (child_chance[j] > ahead * child_chance[likeliest_child]) likeliest_child = j;
        }
        deviations.add(0);  // of the root
        for (Index j = 1; j < num_nodes; ++j) {
            deviations.add(j == likeliest_child ? 0 : deviation[j]);
        }
        deviations.end_segment();
    }

    // The logarithm of the chance to leave all cycles that are popped at once, on their first lap.
    double log_chance_to_leave(const double* child_chance) const {
        double log_chance = 0.0;
        for (Index c = 0; c < num_cycles; ++c) {
            if (exits[cycles[c]] == nullptr) continue;
            log_chance +=
                chance_unbroken(cycles[c], child_chance) * log_of(chance_to_leave(cycles[c]));
        }
        return log_chance;
    }

  private:
    // By this a child must be likelier than one before it: number types round chances that are
    // equal in their own ways, and which one is used must not show in the trees.
    static constexpr double ahead = 1.000001;
    // With a chance to leave above this, a lap more or less costs little.
    static constexpr double most_leaving = 0.125;
    // Below this, the weights of exits may be lost in double.
    static constexpr double least_leaving = 1e-280;

    static std::uint64_t to_integer(double chance) {
        return static_cast<std::uint64_t>(chance * static_cast<double>(RareEvents::one));
    }

    // Writes the weights of the steps other than the heaviest, and returns their sum.
    double find_chances(const Steps& steps, Index node, double* weights) {
        steps.of(node, weights);
        const double heaviest = weights[heads[node]];
        weights[heads[node]] = 0.0;
        const double others = sum(weights, steps.num_words + 1), total = heaviest + others;
        chances_[node] = {1.0, 0.0};
        if (total > 0) chances_[node] = {heaviest / total, others / total};
        return others;
    }

    // Call visit(node) for the nodes of the cycle that `first` is on, from there on.
    template <class Visit>
    void for_each_on(Index first, const Visit& visit) const {
        Index j = first;
        do {
            visit(j);
            j = heads[j];
        } while (j != first);
    }

    double chance_to_leave(Index first) const {
        double leaving = 0.0, reached = 1.0;
        for_each_on(first, [&](Index j) {
            leaving += reached * chances_[j].others;
            reached *= chances_[j].heaviest;
        });
        return leaving;
    }

    double chance_unbroken(Index first, const double* child_chance) const {
        double broken = 0.0;
        if (child_chance != nullptr)
            for_each_on(first, [&](Index j) { broken += child_chance[j]; });
        return broken < 1.0 ? 1.0 - broken : 0.0;
    }

    // `seen` has room for all nodes.
    void find_cycles(Index num_nodes, std::int32_t* seen) {
        for (Index j = 0; j < num_nodes; ++j) seen[j] = cycle[j] = 0;
        for (Index start = 1; start < num_nodes; ++start) {
            Index first = start;
            while (first != 0 && seen[first] == 0) {
                seen[first] = static_cast<std::int32_t>(start);
                first = heads[first];
            }
            if (first == 0 || seen[first] != start) continue;
            cycles[num_cycles++] = static_cast<std::int32_t>(first);
            for_each_on(first, [&](Index j) { cycle[j] = static_cast<std::int32_t>(first); });
        }
    }

    Slot* build_exits(Index first, double* weights, Slot* slots, AliasWorkspace workspace) {
        Index length = 0;
        double reached = 1.0;
        for_each_on(first, [&](Index j) {
            weights[length++] = reached * chances_[j].others;
            reached *= chances_[j].heaviest;
        });
        exits[first] = nullptr;
        if (!(chance_to_leave(first) >= least_leaving)) return slots;
        build_alias(weights, length, slots, workspace);
        exits[first] = slots;
        return slots + length;
    }

    StepChances* chances_ = nullptr;  // [node]
    Slot* slots_ = nullptr;           // room for the exits
};

// One draw.
class Popping {
  public:
    // Bytes.
    static constexpr std::size_t room(Index num_nodes) {
        return 2 * static_cast<std::size_t>(num_nodes) * sizeof(std::int32_t);
    }

    Popping(const HeaviestSteps& heaviest, Index num_nodes, Stream& stream, std::int32_t* heads,
            char* room, std::int64_t budget)
        : heaviest_(heaviest),
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
        lay_out_tops(child);
        // Every cycle has a node that deviated, or is one of heaviest steps.
        if (!heaviest_.are_tree(child)) {
            for (Index c = 0; c < heaviest_.num_cycles; ++c) will_follow(heaviest_.cycles[c]);
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

    void lay_out_tops(Index child) {
        std::memcpy(heads_, heaviest_.heads,
                    static_cast<std::size_t>(num_nodes_) * sizeof(std::int32_t));
        const Index likeliest = heaviest_.likeliest_child;
        if (child != likeliest) {
            heads_[likeliest] = step_again(likeliest);
            will_follow(likeliest);
        }
        const RareEvents& deviations = heaviest_.deviations;
        Index node = deviations.next(0, num_nodes_, stream_);
        while (node < num_nodes_) {
            heads_[node] = deviating_step(node);
            will_follow(node);
            node = deviations.next(node + 1, num_nodes_, stream_);
        }
        if (child > 0) heads_[child] = 0;
    }

    std::int32_t deviating_step(Index node) {
        const std::uint64_t* by = heaviest_.others_by + node * num_nodes_;
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
        const bool deviates = stream_.next() >> 1 < heaviest_.deviation[node];
        return deviates ? deviating_step(node) : heaviest_.heads[node];
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
        const Index first = heaviest_.cycle[node];
        if (first == 0 || heaviest_.exits[first] == nullptr) return false;
        std::uint64_t length = 0;
        node = first;
        do {
            if (heads_[node] != heaviest_.heads[node]) return false;
            node = heads_[node];
            ++length;
        } while (node != first);
        std::uint32_t until_deviation = draw_alias(heaviest_.exits[first], length, stream_.next());
        for (; until_deviation > 0; --until_deviation) {
            mark_[node] = unseen;
            node = heads_[node];
        }
        Index next = heads_[node];
        take_step(node, deviating_step(node));
        while (next != first) {
            node = next;
            next = heads_[node];
            take_step(node, step_again(node));
        }
        return true;
    }

    const HeaviestSteps& heaviest_;
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
