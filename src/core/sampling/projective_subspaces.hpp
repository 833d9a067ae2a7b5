// Draws from sets of projective trees that share their first choices; see subspaces.hpp.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "memory/arena.hpp"
#include "numbers/sums.hpp"
#include "projective/derivation.hpp"
#include "randomness/exact_choice.hpp"
#include "sampling/projective_sampler.hpp"
#include "sampling/subspaces.hpp"
#include "walk/problem.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// The choices are those of a derivation.
template <class Masses>
class ProjectiveChoices {
  public:
    using Mass = Masses;

    static Index num_choices(const Graph& graph) { return 2 * graph.num_words; }

    static Status prepare(const Graph& graph, bool rejects, Prepared& memory, Scratch& work,
                          const Interrupt& interrupt) {
        return rejects ? ProjectiveSampler::prepare(graph, DrawRule{}, memory, work, interrupt)
                       : Status::ok;
    }

    // The chart of subspaces lacks nothing.
    static bool lacks_arcs(const Prepared&) { return false; }

    static Status draw_any(const Prepared& memory, const StreamKey& key, const DrawRange& range,
                           std::int32_t* heads, Index stride, Scratch& work,
                           const Interrupt& interrupt) {
        SampleCounts counts;
        return ProjectiveSampler::in(memory).draw(key, range, heads, stride, work, interrupt,
                                                  counts);
    }

    // Make the chart: in double if no number at all is too small for it.
    Status begin(const Graph& graph, const Interrupt& interrupt) {
        Arena arena(memory_);
        Status status = attempt<double>(graph, chart_, arena, interrupt);
        if (status == Status::left_range) {
            status = attempt<Mass>(graph, chart_, arena, interrupt);
        }
        if (status != Status::ok) return status;
        const Index n = graph.num_words, length = num_choices(graph);
        Arena room(room_);
        if (!room.reserve(Arena::rounded<Span>(length + 1) + 2 * Arena::rounded<Mass>(length) +
                          Arena::rounded<Mass>(n + 1) + 2 * Arena::rounded<std::int32_t>(n + 1))) {
            return Status::no_memory;
        }
        waiting_ = room.take<Span>(length + 1);
        kept_ = room.take<Mass>(length);
        passed_ = room.take<Mass>(length);
        terms_ = room.take<Mass>(n + 1);
        heads_ = room.take<std::int32_t>(n + 1);
        tree_ = room.take<std::int32_t>(n + 1);
        return Status::ok;
    }

    void find_choices(const Graph& graph, const std::int32_t* heads, std::int32_t* choices) {
        const GivenTree tree(heads, graph.num_words, tree_);
        with_chart([&](const auto& chart) {
            derive(chart, waiting_, heads_, [&](const auto& terms) {
                *choices = static_cast<std::int32_t>(tree(terms));
                return *choices++;
            });
        });
    }

    Status draw(const Graph& graph, const Prepared&, SplittingDraw<Mass>& request, bool, Scratch&,
                const Interrupt&, Path<Mass>& path) {
        path.kept = kept_;
        path.passed = passed_;
        // Before they are drawn in, the heads may be those of the tree to follow.
        const bool is_given = request.given != nullptr;
        if (is_given)
            std::memcpy(heads_, request.given, sizeof(std::int32_t) * (graph.num_words + 1));
        const GivenTree tree(is_given ? heads_ : nullptr, graph.num_words, tree_);
        Stream stream = request.start;
        Index place = 0;
        with_chart([&](const auto& chart) {
            derive(chart, waiting_, path.heads, [&](const auto& terms) {
                Index chosen;
                if (place < request.prefix.position) {
                    chosen = request.prefix_choices[place];
                } else {
                    const Index given = is_given ? tree(terms) : -1;
                    chosen = split(terms, request, place, given, stream);
                }
                path.choices[place++] = static_cast<std::int32_t>(chosen);
                return chosen;
            });
        });
        return Status::ok;
    }

  private:
    // Choose, and write down what is kept and what is passed by.
    template <class Number>
    Index split(const Terms<Number>& terms, const SplittingDraw<Mass>& request, Index place,
                Index given, Stream& stream) {
        // The terms fit, for masses are no smaller than the numbers of the chart.
        Number* values = reinterpret_cast<Number*>(terms_);
        for (Index k = 0; k < terms.count; ++k) values[k] = terms[k];
        const Mass total(sum(values, terms.count));
        if (place == request.prefix.position) {
            for (std::int32_t link = request.prefix.first_link; link >= 0;
                 link = request.links[link].next) {
                values[request.links[link].choice] = Number(0.0);
            }
        }
        const Number left = sum(values, terms.count);
        const Index chosen =
            given >= 0 ? given : draw_index(Shares<Number>{values, left}, terms.count, stream);
        // Divided as masses: a share may be smaller than any double.
        kept_[place] = Mass(values[chosen]) / total;
        values[chosen] = Number(0.0);
        passed_[place] = Mass(sum(values, terms.count)) / total;
        return chosen;
    }

    template <class Work>
    void with_chart(const Work& work) const {
        if (chart_.in_double != nullptr) return work(*chart_.in_double);
        if constexpr (std::is_same<Mass, ExactlyScaled>::value) {
            work(*chart_.exact);
        } else {
            work(*chart_.unbounded);
        }
    }

    Scratch memory_, room_;
    KeptChart chart_{false};
    Span* waiting_ = nullptr;
    Mass *kept_ = nullptr, *passed_ = nullptr, *terms_ = nullptr;
    std::int32_t *heads_ = nullptr, *tree_ = nullptr;
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
