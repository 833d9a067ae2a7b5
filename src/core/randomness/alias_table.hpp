// Alias tables (Walker 1974, in the form of Vose 1991) in exact integer arithmetic.
//
// Probabilities are first rounded down to multiples of 2^-64, and what is missing is given to the
// largest; from there on nothing is rounded.  A draw takes one 64-bit number u: the high half of
// u * slots chooses the slot, the low half is compared with the slot's threshold.  Apart from the
// rounding of the float64 it was computed from, each outcome's probability is off by less than
// 2^-63, and the largest one by as much for each of the others; an outcome of probability 0 is
// never drawn.
#pragma once

#include <cstdint>

#include "numbers/bits.hpp"
#include "numbers/sums.hpp"
#include "types/index.hpp"

namespace arborand {
namespace ARBORAND_ISA {

struct Slot {
    std::uint64_t threshold;
    std::uint32_t alias;
};

// Room that build_alias needs: for each slot a 128-bit number, and a place on one of two stacks.
struct AliasWorkspace {
    UInt128* scaled;
    std::uint32_t* stack;
};

// Build the table of `count` outcomes from their weights.  If all are 0, it may draw any of them.
inline void build_alias(const double* weights, Index count, Slot* table, AliasWorkspace room) {
    const double total = sum(weights, count);
    if (!(total > 0)) {
        for (Index i = 0; i < count; ++i) table[i] = {0, static_cast<std::uint32_t>(i)};
        return;
    }
    const UInt128 one = static_cast<UInt128>(1) << 64;
    Index largest = 0;
    for (Index i = 1; i < count; ++i) {
        if (weights[i] > weights[largest]) largest = i;
    }
    UInt128 rest = one;
    for (Index i = 0; i < count; ++i) {
        if (i == largest) continue;
        // Below 1, because some other weight is at least as large.
        const double share = weights[i] / total * 18446744073709551616.0;
        const std::uint64_t rounded = static_cast<std::uint64_t>(share);
        rest -= rounded;
        room.scaled[i] = static_cast<UInt128>(rounded) * static_cast<std::uint64_t>(count);
    }
    room.scaled[largest] = rest * static_cast<std::uint64_t>(count);

    // Slots with less than their share wait at the front of the stack, those with more at its back.
    Index small = 0, large = count;
    for (Index i = 0; i < count; ++i) {
        room.stack[room.scaled[i] < one ? small++ : --large] = static_cast<std::uint32_t>(i);
    }
    while (small > 0 && large < count) {
        const std::uint32_t under = room.stack[--small];
        const std::uint32_t over = room.stack[large];
        table[under] = {low_half(room.scaled[under]), over};
        room.scaled[over] -= one - room.scaled[under];
        if (room.scaled[over] < one) {
            ++large;
            room.stack[small++] = over;
        }
    }
    // All sums being exact, what is left has exactly its share.
    for (; large < count; ++large) table[room.stack[large]] = {0, room.stack[large]};
}

// The outcome that a 64-bit number draws.
inline std::uint32_t draw_alias(const Slot* table, std::uint64_t count, std::uint64_t number) {
    const UInt128 product = static_cast<UInt128>(number) * count;
    const std::uint32_t slot = static_cast<std::uint32_t>(high_half(product));
    const Slot& entry = table[slot];
    // Without a branch, which no processor could predict.
    const std::uint32_t keeps = -static_cast<std::uint32_t>(low_half(product) < entry.threshold);
    return entry.alias ^ ((entry.alias ^ slot) & keeps);
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
