// The floor of a draw from a sparse graph: a walk of as many steps on the same arrays, and nothing
// else.  No tree, no heads, no budget.
#include <cstdint>

#include "randomness/philox.hpp"
#include "sparse/step_tables.hpp"

extern "C" std::uint32_t walk(const std::uint32_t* begin, const std::uint32_t* heads,
                              std::int64_t steps, std::uint64_t seed, std::uint32_t node) {
    using namespace arborand::baseline;
    const sparse::StepTables tables{begin, heads, nullptr};
    Stream stream(arborand::StreamKey{{seed, 0}}, 0, 0);
    for (std::int64_t i = 0; i < steps; ++i) node = tables.step<true>(node, stream.next());
    return node;
}
