// Which cycles hold a walk up, and what it takes to jump over their laps.
#pragma once

#include <cstdint>

#include "memory/arena.hpp"
#include "numbers/sums.hpp"
#include "randomness/alias_table.hpp"
#include "sampling/heaviest_steps.hpp"
#include "sampling/laps.hpp"
#include "types/draws.hpp"
#include "types/scratch.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// Finds the cycles of heaviest steps that a walk seldom leaves.
class NearClosedCycles {
  public:
    // With a chance to leave of more than this, a lap more or less costs little.
    static constexpr double most_leaving = 0.125;
    // Below this, the weights of the exits may be lost in double.
    static constexpr double least_leaving = 1e-280;

    NearClosedCycles(const Steps& steps, Jumps jumps)
        : steps_(steps), num_nodes_(steps.num_words + 1), jumps_(jumps) {}

    // child_chance[node], null if the root's child is not drawn first: it breaks its cycle.  `laps`
    // has no cycles if jumping would not pay.  False: no memory.
    bool find(const double* child_chance, Scratch& work, Scratch& memory, AliasWorkspace room,
              Laps& laps) {
        laps = Laps();
        if (jumps_ == Jumps::never) return true;
        Arena arena(work);
        if (!arena.reserve(4 * Arena::rounded<std::int32_t>(num_nodes_) +
                           3 * Arena::rounded<double>(num_nodes_))) {
            return false;
        }
        next_ = arena.take<std::int32_t>(num_nodes_);
        cycle_ = arena.take<std::int32_t>(num_nodes_);
        first_ = arena.take<std::int32_t>(num_nodes_);
        along_ = arena.take<double>(num_nodes_);
        off_ = arena.take<double>(num_nodes_);
        weights_ = arena.take<double>(num_nodes_);
        for (Index j = 1; j < num_nodes_; ++j) {
            next_[j] = static_cast<std::int32_t>(steps_.heaviest_of(j, weights_));
            cycle_[j] = -1;
        }
        for_each_cycle(next_, num_nodes_, arena.take<std::int32_t>(num_nodes_),
                       [&](Index first) { look_at(first, child_chance); });
        const bool pays =
            jumps_ == Jumps::always || wasted_ > 4.0 * static_cast<double>(steps_.num_words) + 64.0;
        return num_cycles_ == 0 || !pays || build(memory, room, laps);
    }

  private:
    // A cycle that begins at a node.
    void look_at(Index first, const double* child_chance) {
        double reached = 1.0, leaving = 0.0, broken = 0.0, length = 0.0;
        Index j = first;
        do {
            const double step = steps_.others_of(j, next_[j], weights_);
            const double others = sum(weights_, num_nodes_);
            along_[j] = step / (step + others);
            off_[j] = others / (step + others);
            leaving += reached * off_[j];
            reached *= along_[j];
            if (child_chance != nullptr) broken += child_chance[j];
            length += 1.0;
            j = next_[j];
        } while (j != first);
        const double most = jumps_ == Jumps::always ? 1.0 : most_leaving;
        if (!(leaving <= most && leaving >= least_leaving)) return;
        do {
            cycle_[j] = static_cast<std::int32_t>(num_cycles_);
            j = next_[j];
        } while (j != first);
        first_[num_cycles_++] = static_cast<std::int32_t>(first);
        // A lap takes `length` steps, and there are 1 / leaving of them unless the child is here.
        wasted_ += broken < 1.0 ? (1.0 - broken) * length / leaving : 0.0;
    }

    bool build(Scratch& memory, AliasWorkspace room, Laps& laps) {
        Index num_slots = 0;
        for (Index j = 1; j < num_nodes_; ++j) {
            if (cycle_[j] >= 0) num_slots += 2 * num_nodes_;
        }
        Arena arena(memory);
        if (!arena.reserve(4 * Arena::rounded<std::int32_t>(num_nodes_) +
                           2 * Arena::rounded<const Slot*>(num_nodes_) +
                           Arena::rounded<Slot>(num_slots))) {
            return false;
        }
        laps.num_cycles = num_cycles_;
        laps.cycle = arena.take<std::int32_t>(num_nodes_);
        laps.next = arena.take<std::int32_t>(num_nodes_);
        laps.length = arena.take<std::int32_t>(num_nodes_);
        laps.exits = arena.take<const Slot*>(num_nodes_);
        laps.others = arena.take<const Slot*>(num_nodes_);
        Slot* slots = arena.take<Slot>(num_slots);
        laps.cycle[0] = static_cast<std::int32_t>(num_cycles_);
        laps.next[0] = 0;
        for (Index c = 0; c < num_cycles_; ++c) {
            std::int32_t length = 0;
            Index j = first_[c];
            do {
                ++length;
                j = next_[j];
            } while (j != first_[c]);
            laps.length[c] = length;
        }
        for (Index j = 1; j < num_nodes_; ++j) {
            const bool is_on_cycle = cycle_[j] >= 0;
            laps.cycle[j] = is_on_cycle ? cycle_[j] : static_cast<std::int32_t>(num_cycles_);
            laps.next[j] = next_[j];
            if (!is_on_cycle) continue;
            steps_.others_of(j, next_[j], weights_);
            build_alias(weights_, num_nodes_, slots, room);
            laps.others[j] = slots;
            slots += num_nodes_;
            const Index length = laps.length[cycle_[j]];
            double reached = 1.0;
            Index at = j;
            for (Index k = 0; k < length; ++k) {
                weights_[k] = reached * off_[at];
                reached *= along_[at];
                at = next_[at];
            }
            build_alias(weights_, length, slots, room);
            laps.exits[j] = slots;
            slots += num_nodes_;
        }
        return true;
    }

    Steps steps_;
    Index num_nodes_;
    Jumps jumps_;
    std::int32_t* next_ = nullptr;   // [node]: the heaviest step
    std::int32_t* cycle_ = nullptr;  // [node]: not negative if it is on one
    std::int32_t* first_ = nullptr;  // [cycle]: one of its nodes
    double* along_ = nullptr;        // [node]: the chance of the step along its cycle
    double* off_ = nullptr;          // [node]: that of all others
    double* weights_ = nullptr;
    Index num_cycles_ = 0;
    double wasted_ = 0.0;  // the expected number of steps of laps
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
