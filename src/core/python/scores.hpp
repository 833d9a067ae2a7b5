// A number of every graph and its gradient, straight from scores that nobody has looked at yet.
//
// Each graph, or group of them, is copied, inspected and solved by one thread while it is in that
// thread's cache.  So a batch costs no pass over memory beyond those of the work itself, and
// nothing is done by one thread alone.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "border/kernels.hpp"
#include "numbers/floating_point_guard.hpp"
#include "python/calls.hpp"
#include "python/groups.hpp"
#include "python/inspection.hpp"

namespace arborand {

// Scores of shape (..., m, m), and for each graph its number of words, by default m - 1, and where
// the answers go.  Nobody asks for a gradient if there is no place for it.
template <class Number>
struct ScoreBatch {
    Contiguous<const Number> scores;
    std::optional<Contiguous<const std::int64_t>> lengths;
    int kind;
    Contiguous<Number> values;
    std::optional<Contiguous<Number>> gradients;

    Index size() const { return static_cast<Index>(scores.shape(scores.ndim() - 1)); }
    Index count() const { return static_cast<Index>(scores.size()) / (size() * size()); }
    Index length(Index g) const { return lengths ? lengths->data()[g] : size() - 1; }
};

// Copy what is read of a graph, in rows of num_words + 1.  False if an entry of it is NaN or +inf.
template <class Number>
bool copy_clean(const Number* scores, double* copy, Index size, Index num_words,
                const Kernels& kernels) {
    const Index width = num_words + 1;
    if (width == size) {
        std::copy(scores, scores + size * size, copy);
    } else {
        for (Index i = 0; i < width; ++i) {
            std::copy(scores + i * size, scores + i * size + width, copy + i * width);
        }
    }
    clear_unread(copy, width, num_words, -HUGE_VAL);
    return kernels.all_below_infinity(copy, width * width);
}

// Entries that stand for no arc become 0, all others those of `solved`, which may be `gradient`.
template <class Number>
void write_gradient(const double* solved, Index stride, Number* gradient, Index size,
                    Index num_words) {
    for (Index i = 0; i <= num_words; ++i) {
        Number* row = gradient + i * size;
        row[0] = 0;
        if constexpr (!std::is_same<Number, double>::value) {
            const double* from = solved + i * stride;
            std::copy(from + 1, from + num_words + 1, row + 1);
        }
        std::fill(row + num_words + 1, row + size, Number(0));
    }
    std::fill(gradient + (num_words + 1) * size, gradient + size * size, Number(0));
}

// solve(graphs, count, workspace, interrupt, values, gradients, stride) solves a group of `groups`,
// which have the same number of words, and writes gradients[k][head * stride + dependent] for all
// nodes of its graphs, unless `gradients` is null.  False: some graph does not pass the inspection,
// or its length is none; what was written is then void.
template <class Number, class Solve>
bool solve_scores(const ScoreBatch<Number>& batch, const Groups& groups, int workers,
                  const Kernels& kernels, const Solve& solve) {
    constexpr bool is_double = std::is_same<Number, double>::value;
    const Index size = batch.size();
    std::atomic<bool> is_sound{true};
    const auto give_up = [&] {
        is_sound.store(false, std::memory_order_relaxed);
        return Status::ok;
    };
    run(groups.count(), workers, [&](Index i, Workspace& workspace, const Interrupt& interrupt) {
        // Numbers are converted here, outside the kernels.
        const ARBORAND_ISA::FloatingPointGuard guard;
        if (!is_sound.load(std::memory_order_relaxed)) return Status::ok;
        const Group group = groups[i];
        const Index n = batch.length(group.graphs[0]), width = n + 1;
        if (n < 1 || n >= size) return give_up();
        const Index num_doubles = (is_double ? 1 : 2) * group.count * width * width;
        Scratch& memory = workspace.prepared.tables;
        if (!memory.reserve(static_cast<std::size_t>(num_doubles) * sizeof(double))) {
            return Status::no_memory;
        }
        double* clean_scores = reinterpret_cast<double*>(memory.memory());
        Graph graphs[graphs_at_once];
        Number* gradients[graphs_at_once];
        double* solved[graphs_at_once];
        for (Index k = 0; k < group.count; ++k, clean_scores += width * width) {
            const Index place = group.graphs[k] * size * size;
            graphs[k] = {clean_scores, width, n, static_cast<TreeKind>(batch.kind)};
            if (!copy_clean(batch.scores.data() + place, clean_scores, size, n, kernels) ||
                find_trees(graphs[k]) != Finding::none) {
                return give_up();
            }
            gradients[k] = batch.gradients ? batch.gradients->data() + place : nullptr;
            if constexpr (is_double) {
                solved[k] = gradients[k];
            } else {
                solved[k] = clean_scores + group.count * width * width;
            }
        }
        const Index stride = is_double ? size : width;
        double values[graphs_at_once];
        const Status status = solve(graphs, group.count, workspace, interrupt, values,
                                    batch.gradients ? solved : nullptr, stride);
        if (status != Status::ok) return status;
        for (Index k = 0; k < group.count; ++k) {
            batch.values.data()[group.graphs[k]] = static_cast<Number>(values[k]);
            if (batch.gradients) write_gradient(solved[k], stride, gradients[k], size, n);
        }
        return Status::ok;
    });
    return is_sound.load();
}

}  // namespace arborand
