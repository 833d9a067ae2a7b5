// What draws of projective trees prepare once per graph, and these draws: each of the 2 n choices
// of a tree is drawn in proportion to the terms of its entry in a chart.
#pragma once

#include <cstdint>
#include <new>

#include "inference/log_partition.hpp"
#include "memory/arena.hpp"
#include "projective/deviations.hpp"
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
        in_double = nullptr;  // an earlier attempt
        unbounded = nullptr;
        keep(chart);
        return is_positive(chart->partition());
    }

    // Of the chart that there is.
    template <class Work>
    void with_chart(const Work& work) const {
        if (in_double != nullptr) return work(*in_double);
        if (unbounded != nullptr) return work(*unbounded);
        work(*exact);
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
    LikeliestDerivation likeliest;

    static const ProjectiveSampler& in(const Prepared& memory) {
        return *reinterpret_cast<const ProjectiveSampler*>(memory.tables.memory());
    }

    static Status prepare(const Graph& graph, const DrawRule& rule, Prepared& memory, Scratch& work,
                          const Interrupt& interrupt);

    Status draw(const StreamKey& key, const DrawRange& range, std::int32_t* heads, Index stride,
                Scratch& work, const Interrupt& interrupt, SampleCounts& counts) const;

  private:
    // Room to derive a tree; null: no memory.
    static Span* room_to_derive(Index n, Scratch& work) {
        Arena arena(work);
        if (!arena.reserve(Arena::rounded<Span>(num_choices(n) + 1))) return nullptr;
        return arena.take<Span>(num_choices(n) + 1);
    }
};

inline Status ProjectiveSampler::prepare(const Graph& graph, const DrawRule& rule, Prepared& memory,
                                         Scratch& work, const Interrupt& interrupt) {
    const Index n = graph.num_words;
    Arena arena(memory.tables), chart_arena(memory.chart);
    Span* waiting = room_to_derive(n, work);
    if (waiting == nullptr ||
        !arena.reserve(Arena::rounded<ProjectiveSampler>(1) + LikeliestDerivation::workspace(n))) {
        return Status::no_memory;
    }
    auto& sampler = *new (arena.take<ProjectiveSampler>(1)) ProjectiveSampler{graph, {true}, {}};
    KeptChart& chart = sampler.chart;
    const Status status = rule.trusts_double
                              ? solve_as_a_whole(graph, chart, chart_arena, interrupt)
                              : solve_beyond_double(graph, chart, chart_arena, interrupt);
    if (status != Status::ok) return status;
    chart.with_chart([&](const auto& found) { sampler.likeliest.find(found, waiting, arena); });
    return Status::ok;
}

inline Status ProjectiveSampler::draw(const StreamKey& key, const DrawRange& range,
                                      std::int32_t* heads, Index stride, Scratch& work,
                                      const Interrupt& interrupt, SampleCounts& counts) const {
    const Index n = graph.num_words;
    Span* waiting = room_to_derive(n, work);
    if (waiting == nullptr) return Status::no_memory;
    Status status = Status::ok;
    chart.with_chart([&](const auto& found) {
        for (Index i = 0; i < range.count; ++i) {
            if ((n >= 128 || i % 64 == 63) && interrupt.requested()) {
                status = Status::interrupted;
                return;
            }
            Stream stream(key, range.graph, range.first + static_cast<std::uint64_t>(i));
            likeliest.draw(found, waiting, stream, heads + i * stride);
            ++counts.ancestral;
            counts.beyond_double += chart.in_double == nullptr;
        }
    });
    return status;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
