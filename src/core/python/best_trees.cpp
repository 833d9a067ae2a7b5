// The best trees of every graph of a batch, in order.
#include <nanobind/stl/tuple.h>

#include <atomic>
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

// The best tree of every graph: heads[.., node], whatever the axes of the batch.  Counts of
// searches: greedy, certified, exact.
std::tuple<std::int64_t, std::int64_t, std::int64_t> best_tree(LogWeights log_weights,
                                                               Lengths lengths, int kind,
                                                               int workers, double caution,
                                                               Contiguous<std::int32_t> heads) {
    const Batch batch(log_weights, lengths, kind);
    BestTotals totals;
    run(batch.count, workers, [&](Index g, Workspace& workspace, const Interrupt& interrupt) {
        BestCounts counts;
        std::int32_t* const row = heads.data() + g * batch.size;
        const Status status =
            kernels->best_tree(batch[g], workspace.scratch, interrupt, caution, row, counts);
        for (Index j = batch.lengths[g] + 1; j < batch.size; ++j) row[j] = -1;
        totals.add(counts);
        return status;
    });
    return totals.get();
}

// Owns a sequence of best trees of the core.
class BestSequence {
  public:
    BestSequence(const Graph& graph, double caution)
        : kernels_(kernels), graph_(graph), sequence_(kernels->make_best_trees(graph, caution)) {}
    ~BestSequence() { kernels_->free_best_trees(sequence_); }
    BestSequence(const BestSequence&) = delete;
    BestSequence& operator=(const BestSequence&) = delete;

    // Write trees into heads[tree, node] until `count` are found or none is left.
    Status find(const Interrupt& interrupt, Index count, std::int32_t* heads,
                std::int64_t& num_found, BestCounts& counts) const {
        if (sequence_ == nullptr) return Status::no_memory;
        for (num_found = 0; num_found < count; ++num_found) {
            const std::int32_t* tree;
            const Status status = kernels_->next_best_tree(sequence_, interrupt, tree, counts);
            if (status != Status::ok) return status;
            if (tree == nullptr) break;
            std::int32_t* row = heads + num_found * graph_.stride;
            for (Index j = 0; j < graph_.stride; ++j) row[j] = j <= graph_.num_words ? tree[j] : -1;
        }
        return Status::ok;
    }

  private:
    const Kernels* kernels_;  // those that made it, should others be chosen meanwhile
    Graph graph_;
    void* sequence_;
};

// The best trees of every graph in order: heads[graph, tree, node]; num_found[graph] tells how many
// there were.  Counts of searches as above.
std::tuple<std::int64_t, std::int64_t, std::int64_t> best_trees(LogWeights log_weights,
                                                                Lengths lengths, int kind,
                                                                int workers, double caution,
                                                                Array<std::int32_t, 3> heads,
                                                                Array<std::int64_t, 1> num_found) {
    const Batch batch(log_weights, lengths, kind);
    const Index num_trees = static_cast<Index>(heads.shape(1));
    BestTotals totals;
    run(batch.count, workers, [&](Index g, Workspace&, const Interrupt& interrupt) {
        BestCounts counts;
        const Status status =
            BestSequence(batch[g], caution)
                .find(interrupt, num_trees, heads.data() + g * num_trees * batch.size,
                      num_found.data()[g], counts);
        totals.add(counts);
        return status;
    });
    return totals.get();
}

// The same for one graph, a few trees at a time.
class BestIterator {
  public:
    BestIterator(LogWeights log_weights, Lengths lengths, int kind)
        : log_weights_(log_weights), sequence_(Batch(log_weights, lengths, kind)[0], 1.0) {}

    // `numbers` is empty: best trees are fetched as draws without replacement are.
    std::int64_t find(Array<std::int32_t, 2> heads, Array<double, 2>) {
        std::int64_t count = 0;
        BestCounts counts;
        run(1, 1, [&](Index, Workspace&, const Interrupt& interrupt) {
            return sequence_.find(interrupt, static_cast<Index>(heads.shape(0)), heads.data(),
                                  count, counts);
        });
        return count;
    }

  private:
    LogWeights log_weights_;  // keeps the array alive
    BestSequence sequence_;
};

}  // namespace

void register_best_trees(nb::module_& m) {
    m.def("best_tree", &best_tree, nb::arg("log_weights"), nb::arg("lengths"), nb::arg("kind"),
          nb::arg("workers"), nb::arg("caution"), nb::arg("heads"));
    m.def("best_trees", &best_trees, nb::arg("log_weights"), nb::arg("lengths"), nb::arg("kind"),
          nb::arg("workers"), nb::arg("caution"), nb::arg("heads"), nb::arg("num_found"));
    nb::class_<BestIterator>(m, "BestIterator",
                             "The trees of one graph from the best one on, a few at a time.")
        .def(nb::init<LogWeights, Lengths, int>(), nb::arg("log_weights"), nb::arg("lengths"),
             nb::arg("kind"))
        .def("find", &BestIterator::find, nb::arg("heads"), nb::arg("numbers"));
}

}  // namespace arborand
