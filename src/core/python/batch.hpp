// A batch as Python passes it, and what is wrong with one of its graphs, or odd.
#pragma once

#include "python/calls.hpp"
#include "python/groups.hpp"
#include "python/inspection.hpp"
#include "python/instruction_set.hpp"
#include "python/suspicion.hpp"

namespace arborand {

using LogWeights = Array<const double, 3>;
using Lengths = Array<const std::int32_t, 1>;

// A batch as Python passes it: (graphs, m, m) log-weights and the number of words of each graph.
struct Batch {
    const double* log_weights;
    const std::int32_t* lengths;
    Index count, size;
    int kind;

    Batch(const LogWeights& log_weights, const Lengths& lengths, int kind)
        : log_weights(log_weights.data()),
          lengths(lengths.data()),
          count(static_cast<Index>(log_weights.shape(0))),
          size(static_cast<Index>(log_weights.shape(1))),
          kind(kind) {}

    Graph operator[](Index g) const {
        return {log_weights + g * size * size, size, lengths[g], static_cast<TreeKind>(kind)};
    }

    Groups groups(int workers) const {
        return Groups(count, workers, [this](Index g) { return lengths[g]; });
    }
};

// What is wrong with a graph of clean log-weights, or odd.
struct Judgement {
    Finding finding = Finding::none;
    Suspicion suspicion = Suspicion::none;
};

inline Judgement judge(const Graph& graph, bool report_oddities) {
    Judgement judgement{find_trees(graph), Suspicion::none};
    const Index count = graph.stride * graph.stride;
    if (report_oddities && kernels->has_zero_or_low(graph.log_weights, count, mask_score)) {
        judgement.suspicion = suspect(graph);
    }
    return judgement;
}

}  // namespace arborand
