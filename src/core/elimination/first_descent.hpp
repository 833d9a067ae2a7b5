// What the recursion makes on its way down to the first node, kept for runs that follow.
//
// On this way it censors the right half of the nodes, then the right half of those that are left,
// and so on.  No leaf has decided anything yet, so all this depends on the walk and on the heads
// that were given at the start, of nodes that are censored on this way.  It takes two thirds of the
// arithmetic of a run that decides heads.
#pragma once

#include <type_traits>

#include "memory/arena.hpp"
#include "numbers/floating_point_guard.hpp"
#include "types/index.hpp"
#include "walk/rows.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// Of the nodes that stay when one half is censored; see elimination/recursion.hpp.
template <class Scalar>
struct KeptHalf {
    Scalar* rows;
    Scalar* landing;
};

// It lives at the start of memory of its own.  For leaves that need landing, and that ask for the
// range if they work in double.
template <class Scalar>
class FirstDescent {
  public:
    static std::size_t bytes(Index num_nodes) {
        std::size_t total = Arena::rounded<FirstDescent>(1);
        for (Index size = num_nodes / 2; size > 0; size /= 2) {
            total += rows_bytes(size) + landing_bytes(size, num_nodes);
        }
        return total;
    }

    static FirstDescent& begin(char* memory, Index num_nodes) {
        FirstDescent& descent = *reinterpret_cast<FirstDescent*>(memory);
        descent.num_nodes_ = num_nodes;
        descent.num_kept_levels_ = 0;
        return descent;
    }

    // The half of so many nodes, if it is known: with the flags that were up when it was made.
    bool find(Index size, KeptHalf<Scalar>& half) {
        const Index level = level_of(size);
        if (level >= num_kept_levels_) return false;
        flags_[level].restore();
        half = room(size);
        return true;
    }

    KeptHalf<Scalar> room(Index size) {
        char* memory = reinterpret_cast<char*>(this) + Arena::rounded<FirstDescent>(1);
        for (Index larger = num_nodes_ / 2; larger > size; larger /= 2) {
            memory += rows_bytes(larger) + landing_bytes(larger, num_nodes_);
        }
        return {reinterpret_cast<Scalar*>(memory),
                reinterpret_cast<Scalar*>(memory + rows_bytes(size))};
    }

    // What was written into its room is complete.
    void keep(Index size) {
        const Index level = level_of(size);
        flags_[level] = Flags();
        num_kept_levels_ = level + 1;
    }

  private:
    using Flags = std::conditional_t<std::is_same<Scalar, double>::value, RangeFlags, NoRangeFlags>;
    static constexpr Index most_levels = 64;

    static std::size_t rows_bytes(Index size) {
        return Arena::rounded<Scalar>(static_cast<std::size_t>(size * walk_stride(size)));
    }
    static std::size_t landing_bytes(Index size, Index num_nodes) {
        return Arena::rounded<Scalar>(
            static_cast<std::size_t>((size + num_root_columns) * padded(num_nodes)));
    }

    Index level_of(Index size) const {
        Index level = 0;
        for (Index larger = num_nodes_ / 2; larger > size; larger /= 2) ++level;
        return level;
    }

    Index num_nodes_;
    Index num_kept_levels_;  // from the top
    Flags flags_[most_levels];
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
