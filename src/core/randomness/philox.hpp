// Philox4x64-10, the counter-based generator of Salmon, Moraes, Dror and Shaw (SC 2011).
//
// The stream of draw i of graph g under a key is the one that
// numpy.random.Philox(key=key, counter=[0, purpose, g, i]) gives: blocks of four numbers, block
// b = 1, 2, .. made from the counter (b, purpose, g, i); the purpose is 0 for draws with
// replacement. It depends on nothing else, which is what makes draws the same whatever the number
// of threads or the order in which they are drawn.
#pragma once

#include <cstdint>

#include "numbers/bits.hpp"
#include "types/requests.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// A block is made when the last number of the one before it is drawn.  It takes some 60 cycles from
// start to end, which pass while that number is used: a walk whose turns the processor guesses
// wrong would otherwise wait.  Short draws never need a second block.
class Stream {
  public:
    Stream(const StreamKey& key, std::uint64_t graph, std::uint64_t draw, std::uint64_t purpose = 0)
        : key_(key), purpose_(purpose), graph_(graph), draw_(draw) {
        make_block(numbers_);
    }

    std::uint64_t next() {
        if (position_ % 4 == 3) make_block(numbers_ + (position_ ^ 7));
        const std::uint64_t number = numbers_[position_];
        position_ = (position_ + 1) % 8;
        return number;
    }

    UInt128 next_128() {
        const std::uint64_t high = next();
        return static_cast<UInt128>(high) << 64 | next();
    }

  private:
    // Never inlined: its rounds would leave a walk's loop no registers.
    __attribute__((noinline)) void make_block(std::uint64_t* numbers) {
        std::uint64_t c0 = ++block_, c1 = purpose_, c2 = graph_, c3 = draw_;
        std::uint64_t k0 = key_.words[0], k1 = key_.words[1];
        for (int round = 0; round < 10; ++round) {
            const UInt128 p0 = static_cast<UInt128>(0xD2E7470EE14C6C93u) * c0;
            const UInt128 p1 = static_cast<UInt128>(0xCA5A826395121157u) * c2;
            c0 = high_half(p1) ^ c1 ^ k0;
            c1 = low_half(p1);
            c2 = high_half(p0) ^ c3 ^ k1;
            c3 = low_half(p0);
            k0 += 0x9E3779B97F4A7C15u;
            k1 += 0xBB67AE8584CAA73Bu;
        }
        numbers[0] = c0;
        numbers[1] = c1;
        numbers[2] = c2;
        numbers[3] = c3;
    }

    StreamKey key_;
    std::uint64_t purpose_, graph_, draw_, block_ = 0;
    std::uint64_t numbers_[8];
    unsigned position_ = 0;
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
