// Draws with replacement, for Python and XLA.
#pragma once

#include <cstdint>

#include "python/batch.hpp"

namespace arborand {

// Which draws of which method, and how (types/requests.hpp).
struct Draws {
    Method method;
    StreamKey key;
    std::uint64_t first_graph, first_draw;
    DrawRule rule;

    Status prepare(const Graph& graph, Prepared& prepared, Scratch& scratch,
                   const Interrupt& interrupt) const {
        return kernels->prepare(graph, method, rule, prepared, scratch, interrupt);
    }

    // Draws first_draw + first ... from graph g, which reads the streams of graph first_graph + g.
    Status draw(const Prepared& prepared, Index g, Index first, Index count, std::int32_t* heads,
                Index stride, Workspace& workspace, const Interrupt& interrupt,
                SampleCounts& counts) const {
        const DrawRange range{first_graph + static_cast<std::uint64_t>(g),
                              first_draw + static_cast<std::uint64_t>(first), count};
        return kernels->draw(prepared, key, range, heads, stride, workspace.scratch, interrupt,
                             counts);
    }
};

// Draw trees: heads[draw, graph, node].  Gives back what it took.
SampleCounts sample(const Batch&, int workers, const Draws&, Index num_draws, std::int32_t* heads);

}  // namespace arborand
