// The conditionals that ancestral draws of one graph have met, kept for the draws that follow.
//
// Draws that begin with the same heads ask for the same conditionals.  These are kept as a trie.  A
// place in it stands for the root's child, if that was drawn first, for the number type, and for
// the heads of the first words.  Only prefixes that are likely to come again are kept, as long as
// there is room.  Draws whose prefixes differ still share the way down to the first word
// (elimination/first_descent.hpp), which depends on the child and the number type alone.
//
// What is drawn does not depend on what is kept.  The recursion gives the same bits for a prefix
// that it was given as for one that it has just drawn: when it censors one half of the nodes, these
// are either all before the ones it keeps, hence decided, or all after them, hence not.  Choices
// are made from the same 120-bit shares by the same random numbers.
#pragma once

#include <atomic>
#include <cstring>

#include "elimination/first_descent.hpp"
#include "numbers/integer_128.hpp"
#include "randomness/exact_choice.hpp"
#include "randomness/philox.hpp"
#include "types/remembered.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// A head that may follow a prefix.
struct KnownHead {
    UInt128 end;        // of its share, the shares of all heads before it included
    std::int32_t head;  // 0 .. n
    std::int32_t next;  // the word after this head: see PrefixMemory
    double chance;      // given the prefix
};

// The conditional distribution of a word's head given a prefix; its heads follow it in memory.
struct KnownWord {
    UInt128 total;
    double prefix_chance;
    std::int64_t num_heads;

    KnownHead* heads() { return reinterpret_cast<KnownHead*>(this + 1); }

    // As draw_index does it.
    KnownHead& draw(Stream& stream) {
        const UInt128 target = high_product(stream.next_128(), total);
        KnownHead* head = heads();
        while (!(target < head->end)) ++head;
        return *head;
    }
};

class PrefixMemory {
  public:
    static constexpr std::size_t most_bytes = std::size_t{8} << 20;
    static constexpr double least_chance = 1.0 / 2048;

    // Where something is: its offset in these units, or one of these numbers.
    static constexpr std::size_t unit = 16;
    static constexpr std::int32_t unknown = 0, beyond_number_type = -1;

    static constexpr Index num_number_types = 3;

    // `owner` is the preparation of the draws; what is known of another is forgotten.
    PrefixMemory(Remembered& remembered, std::uint64_t owner, Index num_nodes)
        : remembered_(remembered), num_nodes_(num_nodes) {
        const std::size_t first =
            Arena::rounded<std::int32_t>(static_cast<std::size_t>(2 * num_places()));
        works_ = first <= most_bytes / 4 && remembered.memory.reserve(most_bytes);
        if (!works_ || remembered.owner == owner) return;
        remembered.owner = owner;
        remembered.used = first;
        std::memset(remembered.memory.memory(), 0, first);
    }

    // Where the first word is found; null if nothing can be kept.  Child 0: none was drawn.
    std::int32_t* first_word(Index child, Index number_type) const {
        return works_ ? places() + number_type * num_nodes_ + child : nullptr;
    }

    // The way down to the first word; null if there is no room.
    template <class Scalar>
    FirstDescent<Scalar>* first_descent(Index child, Index number_type) {
        if (!works_) return nullptr;
        std::int32_t& place = places()[num_places() + number_type * num_nodes_ + child];
        if (place != unknown) return reinterpret_cast<FirstDescent<Scalar>*>(memory_at(place));
        const std::size_t begin = Arena::rounded<char>(remembered_.used);
        const std::size_t end = begin + FirstDescent<Scalar>::bytes(num_nodes_ - 1);
        if (end > most_bytes) return nullptr;
        remembered_.used = end;
        place = static_cast<std::int32_t>(begin / unit);
        return &FirstDescent<Scalar>::begin(memory_at(place), num_nodes_ - 1);
    }

    KnownWord& word(std::int32_t place) const {
        return *reinterpret_cast<KnownWord*>(memory_at(place));
    }

    // Keep the conditional of a word at a place, and say where the word after `drawn` belongs; null
    // if it is not worth it, or there is no room.
    template <class Chances>
    std::int32_t* keep(std::int32_t* place, const Chances& chance, Index count,
                       double prefix_chance, Index drawn) {
        if (place == nullptr || !(prefix_chance >= least_chance)) return nullptr;
        std::size_t num_heads = 0;
        for (Index i = 0; i < count; ++i) num_heads += fixed_point(to_double(chance[i])) != 0;
        const std::size_t bytes = sizeof(KnownWord) + num_heads * sizeof(KnownHead);
        if (remembered_.used + bytes > most_bytes) return nullptr;
        *place = static_cast<std::int32_t>(remembered_.used / unit);
        remembered_.used += bytes;
        KnownWord& kept = word(*place);
        kept = {0, prefix_chance, static_cast<std::int64_t>(num_heads)};
        std::int32_t* following = nullptr;
        KnownHead* head = kept.heads();
        for (Index i = 0; i < count; ++i) {
            const double share = to_double(chance[i]);
            if (fixed_point(share) == 0) continue;
            kept.total += fixed_point(share);
            *head = {kept.total, static_cast<std::int32_t>(i), unknown, share};
            if (i == drawn) following = &head->next;
            ++head;
        }
        return following;
    }

  private:
    Index num_places() const { return num_number_types * num_nodes_; }
    // Of the first words, then of the descents.
    std::int32_t* places() const {
        return reinterpret_cast<std::int32_t*>(remembered_.memory.memory());
    }
    char* memory_at(std::int32_t place) const {
        return remembered_.memory.memory() + static_cast<std::size_t>(place) * unit;
    }

    Remembered& remembered_;
    Index num_nodes_;
    bool works_;
};

// Memory of preparations is used again: an address does not tell them apart.
inline std::uint64_t next_owner() {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
