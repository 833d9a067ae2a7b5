// Draws of projective trees, as deviations from the likeliest derivation.
//
// That derivation makes the likeliest choice at every entry that it comes to.  With the scores of
// trained parsers, a tree deviates from it in a few choices.  One random number tells which of many
// choices deviates first.  What is below a choice that deviates is derived from the chart, until it
// comes to an entry of the likeliest derivation again: from there on, deviations are looked for as
// before.  All other heads are those of the likeliest derivation.
//
// The law is that of 2 n choices from the chart, because these are independent given their entries.
#pragma once

#include <cstdint>
#include <cstring>

#include "memory/arena.hpp"
#include "projective/choices.hpp"
#include "projective/derivation.hpp"
#include "randomness/philox.hpp"
#include "randomness/rare_events.hpp"

namespace arborand {
namespace ARBORAND_ISA {

class LikeliestDerivation {
  public:
    static std::size_t workspace(Index n) {
        return Arena::rounded<Choice>(num_choices(n)) + RareEvents::workspace(num_choices(n)) +
               Arena::rounded<std::int32_t>((n + 1) * (n + 1)) +
               Arena::rounded<std::int32_t>(n + 1);
    }

    // `waiting` is room as for `derive`.
    template <class Number>
    void find(const Chart<Number>& chart, Span* waiting, Arena& arena) {
        num_nodes_ = chart.n + 1;
        choices_ = arena.take<Choice>(num_choices(chart.n));
        places_ = arena.take<std::int32_t>(num_nodes_ * num_nodes_);
        heads_ = arena.take<std::int32_t>(num_nodes_);
        deviations_.begin(num_choices(chart.n), arena);
        for (Index x = 0; x < num_nodes_ * num_nodes_; ++x) places_[x] = -1;
        derive(chart, waiting, heads_, [&](const Terms<Number>& terms) {
            const Index place = deviations_.count();
            Choice& choice = choices_[place];
            choice.span = terms.span;
            deviations_.add(find_likeliest(terms, choice.likeliest));
            if (terms.span.part != Part::gap) {
                places_[index_of(terms.span)] = static_cast<std::int32_t>(place);
            }
            return static_cast<Index>(choice.likeliest);
        });
        deviations_.end_segment();
    }

    template <class Number>
    void draw(const Chart<Number>& chart, Span* waiting, Stream& stream,
              std::int32_t* heads) const {
        std::memcpy(heads, heads_, static_cast<std::size_t>(num_nodes_) * sizeof(std::int32_t));
        Index depth = 0;
        waiting[depth++] = choices_[0].span;
        while (depth > 0) {
            const Span span = waiting[--depth];
            const Index first = span.part == Part::gap ? -1 : places_[index_of(span)];
            if (first < 0) {
                const Index chosen = draw_choice(terms_of(chart, span), stream);
                depth += follow(span, chosen, heads, waiting + depth);
                continue;
            }
            // The heads that the entry decides are still the likeliest.
            const Index end = first + num_choices(span);
            Index place = deviations_.next(first, end, stream);
            while (place < end) {
                const Choice& choice = choices_[place];
                const Index chosen =
                    draw_other_choice(terms_of(chart, choice.span), choice.likeliest, stream);
                depth += follow(choice.span, chosen, heads, waiting + depth);
                place = deviations_.next(place + num_choices(choice.span), end, stream);
            }
        }
    }

  private:
    struct Choice {
        Span span;
        std::int32_t likeliest;
    };

    // Returns the chance of all other choices together, in units of 2^-63.
    template <class Number>
    static std::uint64_t find_likeliest(const Terms<Number>& terms, std::int32_t& likeliest) {
        // By this one must be likelier than those before it: number types round chances that are
        // equal in their own ways, and which one is used must not show in the trees.
        constexpr double ahead = 1.000001;
        likeliest = 0;
        return with_shares(terms.total, [&](const auto& share) {
            double best = share(terms[0]), others = 0.0;
            for (Index k = 1; k < terms.count; ++k) {
                const double part = share(terms[k]);
                const bool is_ahead = part > ahead * best;
                others += is_ahead ? best : part;
                if (!is_ahead) continue;
                best = part;
                likeliest = static_cast<std::int32_t>(k);
            }
            return static_cast<std::uint64_t>(2.0 * others);
        });
    }

    // Of right(i, j) the place [i][j], of left(i, j) the place [j][i].
    Index index_of(const Span& span) const {
        return span.part == Part::right ? span.first * num_nodes_ + span.last
                                        : span.last * num_nodes_ + span.first;
    }

    Index num_nodes_;
    Choice* choices_;       // in the order of `derive`
    std::int32_t* places_;  // of entries among them; -1: none
    RareEvents deviations_;
    std::int32_t* heads_;
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
