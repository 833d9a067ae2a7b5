// The best trees of every graph of a batch, in order.
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <tuple>

#include "python/batch.hpp"
#include "python/registration.hpp"

namespace arborand {
namespace {

// How a call's searches for best trees ended, over all threads.
class BestTotals {
  public:
    void add(const BestCounts& counts) {
        greedy_ += counts.greedy;
        certified_ += counts.certified;
        exact_ += counts.exact;
    }
    std::tuple<std::int64_t, std::int64_t, std::int64_t> get() const {
        return {greedy_.load(), certified_.load(), exact_.load()};
    }

  private:
    std::atomic<std::int64_t> greedy_{0}, certified_{0}, exact_{0};
};

// The best tree of every graph: heads[graph, node].  Counts of searches: greedy, certified, exact.
std::tuple<std::int64_t, std::int64_t, std::int64_t> best_tree(const Batch& batch, int workers,
                                                               double caution,
                                                               Contiguous<std::int32_t> heads) {
    expect_size(heads, batch.num_rows());
    BestTotals totals;
    for_each_graph(
        batch, workers,
        [&](Index g, const Graph& graph, Workspace& workspace, const Interrupt& interrupt) {
            BestCounts counts;
            std::int32_t* const row = heads.data() + batch.first_row(g);
            const Status status =
                kernels->best_tree(graph, workspace.scratch, interrupt, caution, row, counts);
            std::fill(row + graph.num_words + 1, row + batch.width(g), -1);
            totals.add(counts);
            return status;
        });
    return totals.get();
}

// Owns a sequence of best trees of the core.
class BestSequence {
  public:
    BestSequence(const Graph& graph, double caution)
        : kernels_(kernels),
          num_words_(graph.num_words),
          sequence_(kernels->make_best_trees(graph, caution), kernels->free_best_trees) {}

    // Write trees into heads[tree, node] until `count` are found or none is left.
    Status find(const Interrupt& interrupt, Index count, Index width, std::int32_t* heads,
                std::int64_t& num_found, BestCounts& counts) const {
        if (sequence_ == nullptr) return Status::no_memory;
        for (num_found = 0; num_found < count; ++num_found) {
            const std::int32_t* tree;
            const Status status =
                kernels_->next_best_tree(sequence_.get(), interrupt, tree, counts);
            if (status != Status::ok) return status;
            if (tree == nullptr) break;
            std::int32_t* row = heads + num_found * width;
            for (Index j = 0; j < width; ++j) row[j] = j <= num_words_ ? tree[j] : -1;
        }
        return Status::ok;
    }

  private:
    const Kernels* kernels_;  // those that made it, should others be chosen meanwhile
    Index num_words_;
    std::unique_ptr<void, void (*)(void*)> sequence_;
};

// The best trees of every graph in order: heads[graph, tree, node]; num_found[graph] tells how many
// there were.  Counts of searches as above.
std::tuple<std::int64_t, std::int64_t, std::int64_t> best_trees(const Batch& batch, int workers,
                                                                double caution,
                                                                Contiguous<std::int32_t> heads,
                                                                Array<std::int64_t, 1> num_found) {
    const Index count = num_trees(heads, batch.num_rows());
    expect_size(num_found, batch.count());
    BestTotals totals;
    for_each_graph(
        batch, workers, [&](Index g, const Graph& graph, Workspace&, const Interrupt& interrupt) {
            BestCounts counts;
            const Status status =
                BestSequence(graph, caution)
                    .find(interrupt, count, batch.width(g),
                          heads.data() + count * batch.first_row(g), num_found.data()[g], counts);
            totals.add(counts);
            return status;
        });
    return totals.get();
}

// The same for one graph of a batch, a few trees at a time.
class BestIterator {
  public:
    BestIterator(const Batch& batch, Index g) : sequence_(batch.load(g, scores_), 1.0) {}

    // `numbers` is empty: best trees are fetched as draws without replacement are.
    std::int64_t find(Array<std::int32_t, 2> heads, Array<double, 2>) {
        std::int64_t count = 0;
        BestCounts counts;
        run(1, 1, [&](Index, Workspace&, const Interrupt& interrupt) {
            return sequence_.find(interrupt, static_cast<Index>(heads.shape(0)),
                                  static_cast<Index>(heads.shape(1)), heads.data(), count, counts);
        });
        return count;
    }

  private:
    Scratch scores_;  // before what refers to it
    BestSequence sequence_;
};

}  // namespace

void register_best_trees(nb::module_& m) {
    m.def("best_tree", &best_tree, nb::arg("batch"), nb::arg("workers"), nb::arg("caution"),
          nb::arg("heads"));
    m.def("best_trees", &best_trees, nb::arg("batch"), nb::arg("workers"), nb::arg("caution"),
          nb::arg("heads"), nb::arg("num_found"));
    nb::class_<BestIterator>(m, "BestIterator",
                             "The best trees of one graph, in order, a few at a time.")
        .def(nb::init<const Batch&, Index>(), nb::keep_alive<1, 2>(), nb::arg("batch"),
             nb::arg("graph"))
        .def("find", &BestIterator::find, nb::arg("heads"), nb::arg("numbers"));
}

}  // namespace arborand
