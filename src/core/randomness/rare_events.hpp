// Which of many independent events happen: one random number tells the first of many.
//
// Events are in segments.  A segment goes on while it is unlikely that one of its events happens.
// So what is rounded in units of 2^-63 of its start is at most twice as much in units of its end.
#pragma once

#include <cstdint>

#include "memory/arena.hpp"
#include "numbers/bits.hpp"
#include "randomness/philox.hpp"

namespace arborand {
namespace ARBORAND_ISA {

class RareEvents {
  public:
    // Chances are in units of 2^-63.
    static constexpr std::uint64_t one = std::uint64_t{1} << 63;

    static std::size_t workspace(Index most) {
        return Arena::rounded<std::uint64_t>(most) + Arena::rounded<std::int32_t>(most);
    }

    void begin(Index most, Arena& arena) {
        count_ = segment_ = 0;
        by_ = arena.take<std::uint64_t>(most);
        ends_ = arena.take<std::int32_t>(most);
    }

    Index count() const { return count_; }

    // Add an event, of a chance below 1.
    void add(std::uint64_t chance) {
        const std::uint64_t before = count_ > segment_ ? by_[count_ - 1] : 0;
        const UInt128 here = static_cast<UInt128>(one - before) * chance;
        by_[count_] = before + static_cast<std::uint64_t>(here >> 63);
        if (by_[count_] > one / 2 && before > 0) {
            end_segment();
            by_[count_] = chance;
        }
        ++count_;
    }

    // After the last event.
    void end_segment() {
        for (Index t = segment_; t < count_; ++t) ends_[t] = static_cast<std::int32_t>(count_);
        segment_ = count_;
    }

    // The first of the events first .. end - 1 that happens; `end` if none does.
    ARBORAND_INLINE Index next(Index first, Index end, Stream& stream) const {
        while (first < end) {
            const bool begins = first == 0 || ends_[first - 1] == first;
            const std::uint64_t before = begins ? 0 : by_[first - 1];
            const Index stop = ends_[first] < end ? ends_[first] : end;
            if (begins || before < by_[stop - 1]) {
                const UInt128 beyond = static_cast<UInt128>(one - before) * stream.next();
                const std::uint64_t target = before + high_half(beyond);
                if (target < by_[stop - 1]) {
                    while (target >= by_[first]) ++first;
                    return first;
                }
            }
            first = stop;
        }
        return end;
    }

  private:
    Index count_ = 0, segment_ = 0;  // the event that its last segment begins with
    std::uint64_t* by_ = nullptr;    // [event]: the chance of any in its segment, up to this one
    std::int32_t* ends_ = nullptr;   // [event]: the one after the last of its segment
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
