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
#include <optional>
#include <type_traits>

#include "border/kernels.hpp"
#include "numbers/floating_point_guard.hpp"
#include "python/calls.hpp"
#include "python/inspection.hpp"

namespace arborand {

// Scores of shape (..., m, m), and for each graph its number of words, by default m - 1, and where
// the answers go.  Nobody asks for a gradient if there is no place for it.
template <class Number>
struct ScoreBatch {
    Contiguous<const Number> scores;
    std::optional<Contiguous<const std::int64_t>> lengths;
    bool single_root;
    Contiguous<Number> values;
    std::optional<Contiguous<Number>> gradients;
};

// False if an entry that is read is NaN or +inf.
template <class Number>
bool copy_clean(const Number* scores, double* copy, Index size, Index num_words,
                const Kernels& kernels) {
    std::copy(scores, scores + size * size, copy);
    clear_unread(copy, size, num_words, -HUGE_VAL);
    return kernels.all_below_infinity(copy, size * size);
}

// Entries that stand for no arc become 0, all others those of `solved`, which may be `gradient`.
template <class Number>
void write_gradient(const double* solved, Number* gradient, Index size, Index num_words) {
    for (Index i = 0; i <= num_words; ++i) {
        Number* row = gradient + i * size;
        row[0] = 0;
        if constexpr (!std::is_same<Number, double>::value) {
            const double* from = solved + i * size;
            std::copy(from + 1, from + num_words + 1, row + 1);
        }
        std::fill(row + num_words + 1, row + size, Number(0));
    }
    std::fill(gradient + (num_words + 1) * size, gradient + size * size, Number(0));
}

// solve(graph, workspace, interrupt, value, gradient) writes gradient[head * size + dependent] for
// all nodes of the graph, unless it is null.  False: some graph does not pass the inspection, or
// its length is none; what was written is then void.
template <class Number, class Solve>
bool solve_scores(const ScoreBatch<Number>& batch, int workers, const Kernels& kernels,
                  const Solve& solve) {
    const Index size = static_cast<Index>(batch.scores.shape(batch.scores.ndim() - 1));
    const Index area = size * size, count = static_cast<Index>(batch.scores.size()) / area;
    std::atomic<bool> is_sound{true};
    const auto give_up = [&] {
        is_sound.store(false, std::memory_order_relaxed);
        return Status::ok;
    };
    run(count, workers, [&](Index g, Workspace& workspace, const Interrupt& interrupt) {
        // Numbers are converted here, outside the kernels.
        const ARBORAND_ISA::FloatingPointGuard guard;
        if (!is_sound.load(std::memory_order_relaxed)) return Status::ok;
        const std::int64_t n = batch.lengths ? batch.lengths->data()[g] : size - 1;
        if (n < 1 || n >= size) return give_up();
        Scratch& memory = workspace.prepared.tables;
        if (!memory.reserve(2 * static_cast<std::size_t>(area) * sizeof(double))) {
            return Status::no_memory;
        }
        double* clean_scores = reinterpret_cast<double*>(memory.memory());
        const Graph graph{clean_scores, size, n, batch.single_root};
        if (!copy_clean(batch.scores.data() + g * area, clean_scores, size, n, kernels) ||
            find_trees(graph) != Finding::none) {
            return give_up();
        }
        Number* gradient = batch.gradients ? batch.gradients->data() + g * area : nullptr;
        double* solved = gradient == nullptr ? nullptr : clean_scores + area;
        if constexpr (std::is_same<Number, double>::value) solved = gradient;
        double value = 0.0;
        const Status status = solve(graph, workspace, interrupt, value, solved);
        if (status != Status::ok) return status;
        batch.values.data()[g] = static_cast<Number>(value);
        if (gradient != nullptr) write_gradient(solved, gradient, size, n);
        return Status::ok;
    });
    return is_sound.load();
}

}  // namespace arborand
