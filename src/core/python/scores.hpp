// A number of every graph and its gradient, straight from scores that nobody has looked at yet.
//
// Each graph is copied, inspected and solved by one thread while it is in that thread's cache.  So
// a batch costs no pass over memory beyond those of the work itself, and nothing is done by one
// thread alone.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "python/calls.hpp"
#include "python/inspection.hpp"

namespace arborand {

// False if an entry that is read is NaN or +inf.
template <class Number>
bool copy_clean(const Number* scores, double* copy, Index size, Index num_words) {
    std::int64_t bad = 0;  // as wide as a double, for vectors
    for (Index k = 0; k < size * size; ++k) {
        copy[k] = scores[k];
        bad |= copy[k] < HUGE_VAL ? 0 : 1;
    }
    // Where nothing is read, anything may stand.
    if (bad != 0) return clean(copy, size, num_words).finding == Finding::none;
    clear_unread(copy, size, num_words, -HUGE_VAL);
    return true;
}

// solve(graph, workspace, interrupt, value, gradient) writes gradient[head * size + dependent] for
// all nodes of the graph.  Entries that stand for no arc become 0.  False: some graph does not pass
// the inspection, or its length is none; what was written is then void.
template <class Number, class Solve>
bool solve_scores(const Array<const Number, 3>& scores, const Array<const std::int32_t, 1>& lengths,
                  bool single_root, int workers, const Array<Number, 1>& values,
                  const Array<Number, 3>& gradients, const Solve& solve) {
    const Index size = static_cast<Index>(scores.shape(1)), area = size * size;
    std::atomic<bool> is_sound{true};
    const auto give_up = [&] {
        is_sound.store(false, std::memory_order_relaxed);
        return Status::ok;
    };
    const auto body = [&](Index g, Workspace& workspace, const Interrupt& interrupt) {
        if (!is_sound.load(std::memory_order_relaxed)) return Status::ok;
        const Index n = lengths.data()[g];
        if (n < 1 || n >= size) return give_up();
        Scratch& memory = workspace.prepared.tables;
        if (!memory.reserve(2 * static_cast<std::size_t>(area) * sizeof(double))) {
            return Status::no_memory;
        }
        double* clean_scores = reinterpret_cast<double*>(memory.memory());
        const Graph graph{clean_scores, size, n, single_root};
        if (!copy_clean(scores.data() + g * area, clean_scores, size, n) ||
            find_trees(graph) != Finding::none) {
            return give_up();
        }
        double value = 0.0;
        double* gradient = clean_scores + area;
        Number* target = gradients.data() + g * area;
        if constexpr (std::is_same<Number, double>::value) gradient = target;
        const Status status = solve(graph, workspace, interrupt, value, gradient);
        if (status != Status::ok) return status;
        values.data()[g] = static_cast<Number>(value);
        for (Index i = 0; i <= n; ++i) {
            Number* row = target + i * size;
            row[0] = 0;
            if constexpr (!std::is_same<Number, double>::value) {
                for (Index j = 1; j <= n; ++j) row[j] = static_cast<Number>(gradient[i * size + j]);
            }
            std::fill(row + n + 1, row + size, Number(0));
        }
        std::fill(target + (n + 1) * size, target + area, Number(0));
        return Status::ok;
    };
    run(static_cast<Index>(scores.shape(0)), workers, body);
    return is_sound.load();
}

}  // namespace arborand
