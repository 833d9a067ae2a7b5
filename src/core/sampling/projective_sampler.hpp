// What draws of projective trees prepare once per graph, and these draws.
//
// From a chart: each of the 2 n choices of a tree is drawn in proportion to the terms of its entry.
// Where many trees of the wider kind are projective, as with the scores of trained parsers, it is
// cheaper to draw those until one is.  The law is the same, and it stays so if the chart takes over
// after some tries.  What is done depends on the graph alone.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

#include "inference/log_partition.hpp"
#include "memory/arena.hpp"
#include "projective/choices.hpp"
#include "sampling/sampler.hpp"
#include "sampling/with_replacement.hpp"
#include "types/requests.hpp"
#include "types/scratch.hpp"
#include "walk/problem.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// Work that leaves its chart in the problem's memory, in the one number type that was enough.
struct KeptChart {
    bool may_lose;  // whether numbers may be too small to be kept, if they do not matter to Z
    const Chart<double>* in_double = nullptr;
    const Chart<UnboundedDouble>* unbounded = nullptr;
    const Chart<ExactlyScaled>* exact = nullptr;
    UnboundedDouble partition{};

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return Arena::rounded<Scalar>(n) + Arena::rounded<Chart<Scalar>>(1) +
               Chart<Scalar>::workspace(n, true);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        const Graph& graph = problem.graph;
        // `solve_as_a_whole` may fill the walk once more, with a buffer behind it.
        problem.arena.template take<Scalar>(graph.num_words);
        auto* chart = new (problem.arena.template take<Chart<Scalar>>(1))
            Chart<Scalar>(ArcWeights<Scalar>::of_walk(problem.walk, graph), graph.num_words,
                          graph.has_single_root(), problem.arena, true);
        if (!chart->inward(problem.interrupt)) return false;
        if (may_lose) set_partition(problem, to_unbounded(chart->partition()));
        partition = problem.partition;
        in_double = nullptr;  // an earlier attempt
        unbounded = nullptr;
        keep(chart);
        return is_positive(chart->partition());
    }

  private:
    void keep(const Chart<double>* chart) { in_double = chart; }
    void keep(const Chart<UnboundedDouble>* chart) { unbounded = chart; }
    void keep(const Chart<ExactlyScaled>* chart) { exact = chart; }
};

// It is read by all threads that draw from it.
struct ProjectiveSampler {
    Graph graph;
    KeptChart chart;
    bool tries_walks;  // whether trees of the wider kind are drawn first

    static const ProjectiveSampler& in(const Prepared& memory) {
        return *reinterpret_cast<const ProjectiveSampler*>(memory.projective.memory());
    }

    static Status prepare(const Graph& graph, const DrawRule& rule, Prepared& memory, Scratch& work,
                          const Interrupt& interrupt);

    Status draw(const Prepared& memory, const StreamKey& key, const DrawRange& range,
                std::int32_t* heads, Index stride, Scratch& work, const Interrupt& interrupt,
                SampleCounts& counts) const;

  private:
    void draw_by_chart(Span* waiting, Stream& stream, std::int32_t* heads) const;
};

inline Status ProjectiveSampler::prepare(const Graph& graph, const DrawRule& rule, Prepared& memory,
                                         Scratch& work, const Interrupt& interrupt) {
    if (!memory.projective.reserve(sizeof(ProjectiveSampler))) return Status::no_memory;
    auto& sampler = *new (memory.projective.memory()) ProjectiveSampler{graph, {true}, false};
    Arena arena(memory.chart);
    KeptChart& chart = sampler.chart;
    Status status = rule.trusts_double ? solve_as_a_whole(graph, chart, arena, interrupt)
                                       : solve_beyond_double(graph, chart, arena, interrupt);
    // To compare both Z they must be in the same units.
    if (status != Status::ok || chart.exact != nullptr || rule.budget == 0) return status;
    Graph wide = graph;
    wide.kind = graph.has_single_root() ? TreeKind::dependency : TreeKind::spanning;
    status = Sampler::prepare(wide, Method::wilson, rule, memory, work, interrupt);
    if (status != Status::ok) return status;
    const Sampler& walks = Sampler::in(memory);
    // Where spanning trees walk fast, nobody has asked for their Z, and most of them cross.
    if (!is_positive(walks.partition) || walks.budget == 0) return Status::ok;
    // What a draw of the wider kind costs, in draws from the chart: popping is quick, walks are
    // not.
    const double least_share = walks.pops() ? 0.3 : 0.5;
    sampler.tries_walks = to_double(chart.partition / walks.partition) > least_share;
    return Status::ok;
}

inline void ProjectiveSampler::draw_by_chart(Span* waiting, Stream& stream,
                                             std::int32_t* heads) const {
    const auto draw = [&](const auto& terms) { return draw_choice(terms, stream); };
    if (chart.in_double != nullptr) return derive(*chart.in_double, waiting, heads, draw);
    if (chart.unbounded != nullptr) return derive(*chart.unbounded, waiting, heads, draw);
    derive(*chart.exact, waiting, heads, draw);
}

inline Status ProjectiveSampler::draw(const Prepared& memory, const StreamKey& key,
                                      const DrawRange& range, std::int32_t* heads, Index stride,
                                      Scratch& work, const Interrupt& interrupt,
                                      SampleCounts& counts) const {
    const Index n = graph.num_words;
    Scratch room;
    Arena arena(room);
    if (!arena.reserve(Arena::rounded<Span>(num_choices(n) + 1) +
                       Arena::rounded<std::int32_t>(2 * (n + 1)))) {
        return Status::no_memory;
    }
    Span* waiting = arena.take<Span>(num_choices(n) + 1);
    std::int32_t* stack = arena.take<std::int32_t>(2 * (n + 1));
    const auto draw_instead = [&](Stream& stream, std::int32_t* tree) {
        ++counts.ancestral;
        counts.beyond_double += chart.in_double == nullptr;
        draw_by_chart(waiting, stream, tree);
    };
    if (tries_walks) {
        constexpr int most_tries = 32;
        const std::int32_t* known = nullptr;  // a tree that is projective: often many are the same
        const auto is_like = [n](const std::int32_t* one, const std::int32_t* other) {
            const std::size_t bytes = static_cast<std::size_t>(n + 1) * sizeof(std::int32_t);
            return one != nullptr && std::memcmp(one, other, bytes) == 0;
        };
        return draw_trees(Sampler::in(memory), key, range, heads, stride, work, interrupt, counts,
                          [&](Stream& stream, std::int32_t* tree, int tries) {
                              if (is_like(known, tree)) return true;
                              if (!is_projective(tree, n, stack)) {
                                  if (tries < most_tries) return false;
                                  draw_instead(stream, tree);
                              }
                              known = tree;
                              return true;
                          });
    }
    for (Index i = 0; i < range.count; ++i) {
        if ((n >= 128 || i % 64 == 63) && interrupt.requested()) return Status::interrupted;
        Stream stream(key, range.graph, range.first + static_cast<std::uint64_t>(i));
        draw_instead(stream, heads + i * stride);
    }
    return Status::ok;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
