// What Python and XLA both call: log Z, the entropy, and their derivatives.
#pragma once

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "numbers/floating_point_guard.hpp"
#include "python/batch.hpp"

namespace arborand {

// Where answers go that the caller wants in float32 or float64, or not at all.
class Answers {
  public:
    Answers() = default;
    Answers(void* data, bool is_float32) : data_(data), is_float32_(is_float32) {}

    bool are_wanted() const { return data_ != nullptr; }
    bool is_float32() const { return is_float32_; }
    double* in_float64(Index place) const { return static_cast<double*>(data_) + place; }

    // Behind a FloatingPointGuard: the caller's environment may round elsewhere.
    void write(Index place, const double* numbers, Index count) const {
        if (is_float32_) {
            std::copy_n(numbers, count, static_cast<float*>(data_) + place);
        } else if (in_float64(place) != numbers) {
            std::copy_n(numbers, count, in_float64(place));
        }
    }
    void fill_with_zeros(Index place, Index count) const {
        if (is_float32_) {
            std::fill_n(static_cast<float*>(data_) + place, count, 0.0F);
        } else {
            std::fill_n(in_float64(place), count, 0.0);
        }
    }

  private:
    void* data_ = nullptr;
    bool is_float32_ = false;
};

// A number for each arc of the graphs of a group: kernels write to matrices()[k][head * stride() +
// dependent], all but column 0.
class ArcAnswers {
  public:
    ArcAnswers(const Answers& answers, const Batch& batch, const Group& group, Scratch& memory)
        : answers_(answers), batch_(batch), group_(group) {
        if (!answers.are_wanted()) return;
        const Index nodes = batch.num_words(group.graphs[0]) + 1, area = nodes * nodes;
        stride_ = answers.is_float32() ? nodes : batch.width(group.graphs[0]);
        if (answers.is_float32() &&
            !memory.reserve(static_cast<std::size_t>(group.count * area) * sizeof(double))) {
            throw std::bad_alloc();
        }
        for (Index k = 0; k < group.count; ++k) {
            matrices_[k] = answers.is_float32()
                               ? reinterpret_cast<double*>(memory.memory()) + k * area
                               : answers.in_float64(batch.first_entry(group.graphs[k]));
        }
    }

    double* const* matrices() const { return answers_.are_wanted() ? matrices_ : nullptr; }
    Index stride() const { return stride_; }

    // Entries that stand for no arc become 0.
    void write() const {
        if (!answers_.are_wanted()) return;
        const ARBORAND_ISA::FloatingPointGuard guard;
        const Index nodes = batch_.num_words(group_.graphs[0]) + 1;
        for (Index k = 0; k < group_.count; ++k) {
            const Index g = group_.graphs[k], width = batch_.width(g);
            Index place = batch_.first_entry(g);
            for (Index i = 0; i < nodes; ++i, place += width) {
                matrices_[k][i * stride_] = 0.0;
                answers_.write(place, matrices_[k] + i * stride_, nodes);
                answers_.fill_with_zeros(place + nodes, width - nodes);
            }
            answers_.fill_with_zeros(place, (width - nodes) * width);
        }
    }

  private:
    const Answers& answers_;
    const Batch& batch_;
    const Group& group_;
    double* matrices_[graphs_at_once] = {};
    Index stride_ = 0;
};

// In float32 or float64.
using AnyNumbers = std::optional<nb::ndarray<nb::c_contig, nb::device::cpu>>;

inline Answers answers(const AnyNumbers& array, Index size) {
    if (!array) return {};
    expect_size(*array, size);
    const bool is_float32 = array->dtype() == nb::dtype<float>();
    if (!is_float32 && array->dtype() != nb::dtype<double>()) {
        throw std::invalid_argument("answers must be float32 or float64");
    }
    return {array->data(), is_float32};
}

// A number per graph, log Z or the entropy, and its gradient.
void log_partition(const Batch&, int workers, const Answers& values, const Answers& marginals,
                   bool one_by_one = false);
void entropy(const Batch&, int workers, const Answers& values, const Answers& gradients);

// Derivatives in directions of the scores, which are laid out as the answers are.  Directions are
// read where there is an arc; a number there that is not finite is refused.
using Directions = std::initializer_list<Matrices>;
void arc_covariances(const Batch&, int workers, Directions, const Answers&);
void arc_cumulants(const Batch&, int workers, Directions, const Answers&);
void entropy_gradient_tangents(const Batch&, int workers, Directions, const Answers&);

}  // namespace arborand
