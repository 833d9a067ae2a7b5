// The one way for scores into the core.
//
// A batch is either a checked copy, which is made once and read by many calls, or it refers to
// scores as they come.  Those are copied, cleaned and inspected graph by graph, by the thread that
// works on the graph, while it is in that thread's cache: so a single call costs no pass over
// memory beyond those of its work, and nothing is done by one thread alone.  Either way what a
// kernel reads is a copy that has passed the inspection, whatever happens to the caller's array
// meanwhile.
//
// Scores are padded to one size, or ragged: matrices one after the other, each of its own size.
// Answers are laid out as the scores are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "memory/large_pages.hpp"
#include "python/calls.hpp"
#include "python/groups.hpp"
#include "python/instruction_set.hpp"

namespace arborand {

// Of any type and shape.
using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;
// int32 or int64.
using Lengths = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

// Scores as they come have a graph that does not pass: the gate is to say what is wrong with it.
struct RefusedScores : std::runtime_error {
    RefusedScores() : std::runtime_error("the scores did not pass the gate") {}
};

// Numbers as Python holds them, float32 or float64, with a matrix for each graph.
struct Matrices {
    const void* data = nullptr;
    bool is_float32 = false;
    Index row_stride = 0, column_stride = 0;  // in numbers

    // Write the first `num_nodes` rows and columns of the matrix that begins at number `first` to
    // `to`, in rows of `width`.
    void copy(Index first, Index num_nodes, double* to, Index width) const;
};

// Numbers of many graphs, uninitialised: in large pages, or most of the time would go by until the
// system has found small ones.
class Numbers {
  public:
    Numbers() : data_(nullptr, Free{0}) {}
    explicit Numbers(Index count)
        : data_(Pages().allocate(static_cast<std::size_t>(count)),
                Free{static_cast<std::size_t>(count)}) {}

    double* get() const { return data_.get(); }
    explicit operator bool() const { return data_ != nullptr; }

  private:
    using Pages = ARBORAND_ISA::LargePages<double>;
    struct Free {
        std::size_t count;
        void operator()(double* data) const { Pages().deallocate(data, count); }
    };
    std::unique_ptr<double[], Free> data_;
};

class Batch {
  public:
    // Scores as they come: padded, (..., m, m), or ragged, in one row.  A graph that looks like a
    // mistake is refused if asked for.
    Batch(AnyArray scores, std::optional<Lengths> lengths, nb::int_ kind, bool refuses_odd);

    // The same from XLA, padded: `size` rows and columns for each of `lengths`, in C order.  Each
    // graph stands `repeats` times in the batch, for as many directions of its scores.
    Batch(const void* scores, bool is_float32, Index size, const std::int32_t* lengths, Index count,
          Index repeats, TreeKind kind);

    // A checked copy of padded weights or their logarithms, unless something is wrong; and what is
    // wrong or odd, if anything is: a code (inspection.hpp, suspicion.hpp), the graph, head and
    // dependent.  Neither, if these are not arrays of floats with such shapes.
    static nb::tuple check(nb::handle values, std::optional<Lengths> lengths, nb::int_ kind,
                           bool are_weights);

    // Some graphs of a checked copy.
    Batch take(Array<const std::int64_t, 1> chosen) const;

    Index count() const { return static_cast<Index>(lengths_.size()); }
    const std::vector<std::int32_t>& lengths() const { return lengths_; }
    Index num_words(Index g) const { return lengths_[static_cast<std::size_t>(g)]; }
    // The checked copy, of `size()` rows and columns per graph.
    const double* checked() const { return checked_.get(); }
    Index size() const { return size_; }
    Index repeats() const { return repeats_; }
    bool is_projective() const { return Graph{nullptr, 0, 0, kind_}.is_projective(); }
    Caller caller() const { return caller_; }

    // How many numbers a row of graph g has in arrays of answers, and where its row and its matrix
    // begin there; `num_rows` and `num_entries` are the sizes of such arrays.
    Index width(Index g) const { return is_ragged() ? num_words(g) + 1 : size_; }
    Index first_row(Index g) const { return is_ragged() ? first(g).row : g * size_; }
    Index first_entry(Index g) const { return is_ragged() ? first(g).entry : g * size_ * size_; }
    Index num_rows() const { return first_row(count()); }
    Index num_entries() const { return first_entry(count()); }

    // Which graphs are solved at once.
    Groups groups(int workers) const {
        return Groups(count(), workers, [this](Index g) { return num_words(g); });
    }

    // Give kernels the graphs of a group, which have the same number of words.  `memory` holds the
    // copies of scores as they come.
    void load(const Group& group, Scratch& memory, Graph* graphs) const;
    Graph load(Index g, Scratch& memory) const {
        Graph graph;
        load({{g}, 1}, memory, &graph);
        return graph;
    }

  private:
    struct Beginning {
        Index row, entry;
    };

    Batch() = default;

    bool is_ragged() const { return !beginnings_.empty(); }
    Beginning first(Index g) const { return beginnings_[static_cast<std::size_t>(g)]; }
    void set_lengths(const std::optional<Lengths>& lengths, Index count);

    TreeKind kind_ = TreeKind::spanning;
    Index size_ = 0;
    std::vector<std::int32_t> lengths_;
    std::vector<Beginning> beginnings_;  // of ragged graphs, and the end
    Numbers checked_;
    // Scores as they come, and what keeps them alive.
    AnyArray given_;
    Matrices scores_;
    Index graph_stride_ = 0;
    Index repeats_ = 1;
    bool refuses_odd_ = false;
    Caller caller_ = Caller::python;
};

// Solve a batch: solve(group, graphs, workspace, interrupt) for all its groups.
template <class Solve>
void for_each_group(const Batch& batch, const Groups& groups, int workers, const Solve& solve) {
    run(
        groups.count(), workers,
        [&](Index i, Workspace& workspace, const Interrupt& interrupt) {
            const Group group = groups[i];
            Graph graphs[graphs_at_once];
            batch.load(group, workspace.scores, graphs);
            return solve(group, graphs, workspace, interrupt);
        },
        batch.caller());
}

// The same one by one: solve(g, graph, workspace, interrupt).
template <class Solve>
void for_each_graph(const Batch& batch, int workers, const Solve& solve) {
    for_each_group(batch, Groups(batch.count()), workers,
                   [&](const Group& group, const Graph* graphs, Workspace& workspace,
                       const Interrupt& interrupt) {
                       return solve(group.graphs[0], graphs[0], workspace, interrupt);
                   });
}

// Raise unless an array has the size that the batch asks for.
template <class SomeArray>
void expect_size(const SomeArray& array, Index size) {
    if (static_cast<Index>(array.size()) != size) {
        throw std::invalid_argument("an array does not have the size that the lengths require");
    }
}

// How many trees of every graph an array has room for, if one of each takes `size` of its numbers.
template <class SomeArray>
Index num_trees(const SomeArray& array, Index size) {
    const Index count = size == 0 ? 0 : static_cast<Index>(array.size()) / size;
    expect_size(array, count * size);
    return count;
}

}  // namespace arborand
