// One step of the walk: from a node to one of its heads, with one random number.
//
// Where every row's weights are equal, the high half of number * degree is the step; otherwise each
// row has an alias table (randomness/alias_table.hpp) whose slots hold both nodes they lead to, so
// that a step waits for memory twice: for where the row begins, and for the slot.
//
// Cost: O(arcs).  Memory: 16 bytes per arc where weights differ, nothing where they do not.
#pragma once

#include <cstdint>
#include <vector>

#include "randomness/alias_table.hpp"
#include "sparse/compressed_rows.hpp"

namespace arborand {
namespace ARBORAND_ISA {
namespace sparse {

struct Step {
    std::uint64_t threshold;
    Node own, alias;
};

// Rows as the walk reads them.  `steps` is null where all weights of every row are equal.
struct StepTables {
    const Node* begin;
    const Node* heads;
    const Step* steps;
    bool near = false;  // most steps lead to nodes nearby in memory

    struct Place {
        std::uint64_t slot, low;
    };

    // Where the step that a number stands for is written.
    ARBORAND_INLINE Place place(Node node, std::uint64_t number) const {
        const std::uint64_t first = begin[node];
        const UInt128 product = static_cast<UInt128>(number) * (begin[node + 1] - first);
        return {first + high_half(product), low_half(product)};
    }

    // Any slot, also one that is not there: it is only a guess what will be read.
    template <bool uniform>
    ARBORAND_INLINE void prefetch(std::uint64_t slot) const {
        const std::uintptr_t first =
            reinterpret_cast<std::uintptr_t>(uniform ? static_cast<const void*>(heads) : steps);
        const std::uint64_t size = uniform ? sizeof(Node) : sizeof(Step);
        __builtin_prefetch(reinterpret_cast<const void*>(first + size * slot));
    }

    template <bool uniform>
    ARBORAND_INLINE Node at(Place place) const {
        if (uniform) return heads[place.slot];
        const Step& step = steps[place.slot];
        // Without a branch: no processor could predict it.
        const Node keeps = -static_cast<Node>(place.low < step.threshold);
        return step.alias ^ ((step.alias ^ step.own) & keeps);
    }

    template <bool uniform>
    ARBORAND_INLINE Node step(Node node, std::uint64_t number) const {
        return at<uniform>(place(node, number));
    }
};

// Builds the tables of rows one after the other.
class StepTableBuilder {
  public:
    // Append the table of one row.  The weights are relative to the row's largest.
    void append(const double* weights, const Node* heads, Index count, LongArray<Step>& steps) {
        const std::size_t size = static_cast<std::size_t>(count);
        if (scaled_.size() < size) {
            scaled_.resize(size);
            stack_.resize(size);
            table_.resize(size);
        }
        build_alias(weights, count, table_.data(), {scaled_.data(), stack_.data()});
        for (std::size_t i = 0; i < size; ++i) {
            steps.push_back({table_[i].threshold, heads[i], heads[table_[i].alias]});
        }
    }

  private:
    std::vector<UInt128> scaled_;
    std::vector<std::uint32_t> stack_;
    std::vector<Slot> table_;
};

// The tables of all rows; empty where every row's weights are equal.
inline LongArray<Step> make_steps(const CompressedRows& rows) {
    LongArray<Step> steps;
    bool uniform = true;
    for (Index j = 0; uniform && rows.is_weighted() && j < rows.num_nodes(); ++j) {
        for (Index a = rows.begin(j) + 1; a < rows.end(j); ++a) {
            uniform &= rows.log_weight(a) == rows.log_weight(a - 1);
        }
    }
    if (uniform) return steps;
    steps.reserve(static_cast<std::size_t>(rows.num_arcs()));
    StepTableBuilder builder;
    std::vector<double> weights;
    for (Index j = 0; j < rows.num_nodes(); ++j) {
        const double largest = rows.largest(j);
        weights.clear();
        for (Index a = rows.begin(j); a < rows.end(j); ++a) {
            weights.push_back(relative_weight(rows.log_weight(a), largest));
        }
        builder.append(weights.data(), rows.heads() + rows.begin(j), rows.degree(j), steps);
    }
    return steps;
}

// Whether most steps lead far away in memory, beyond what a cache holds of the neighbourhood: then
// it pays to walk several draws side by side.  On a grid numbered row by row it does not: one walk
// stays where it is for long, and several would push each other out of the cache.
inline bool waits_for_memory(const CompressedRows& rows, bool has_steps) {
    constexpr Index cache = 1 << 19;  // bytes
    const Index bytes =
        rows.num_arcs() * static_cast<Index>(has_steps ? sizeof(Step) : sizeof(Node));
    if (bytes <= 2 * cache) return false;
    const Index near = cache / (bytes / rows.num_nodes() + 1);  // nodes
    Index far = 0, looked_at = 0;
    const Index stride = rows.num_nodes() / 4096 + 1;
    for (Index j = 0; j < rows.num_nodes(); j += stride) {
        for (Index a = rows.begin(j); a < rows.end(j); ++a, ++looked_at) {
            const Index distance = static_cast<Index>(rows.head(a)) - j;
            far += distance > near || distance < -near;
        }
    }
    return 2 * far > looked_at;
}

}  // namespace sparse
}  // namespace ARBORAND_ISA
}  // namespace arborand
