// Distinct trees of every graph of a batch: draws without replacement.
#include <atomic>

#include "python/batch.hpp"
#include "python/registration.hpp"

namespace arborand {
namespace {

// Owns a sequence of distinct trees of the core.
class DistinctSequence {
  public:
    DistinctSequence(const Graph& graph, const StreamKey& key, std::uint64_t graph_index,
                     const SwitchRule& rule)
        : kernels_(kernels), sequence_(kernels->make_distinct(graph, key, graph_index, rule)) {}
    ~DistinctSequence() { kernels_->free_distinct(sequence_); }
    DistinctSequence(const DistinctSequence&) = delete;
    DistinctSequence& operator=(const DistinctSequence&) = delete;

    Status next(const Interrupt& interrupt, DistinctTree& tree) const {
        return sequence_ == nullptr ? Status::no_memory
                                    : kernels_->next_distinct(sequence_, interrupt, tree);
    }

  private:
    const Kernels* kernels_;  // those that made it, should others be chosen meanwhile
    void* sequence_;
};

// Draw into heads[draw, node] and numbers[draw, 3] until `count` trees are drawn or none is left.
Status draw_distinct(const DistinctSequence& sequence, const Graph& graph,
                     const Interrupt& interrupt, Index count, std::int32_t* heads, double* numbers,
                     std::int64_t& num_drawn, std::int64_t& num_repeats) {
    for (num_drawn = 0; num_drawn < count; ++num_drawn) {
        DistinctTree tree;
        const Status status = sequence.next(interrupt, tree);
        if (status != Status::ok) return status;
        num_repeats += tree.repeats;
        if (tree.exhausted) break;
        std::int32_t* row = heads + num_drawn * graph.stride;
        for (Index j = 0; j < graph.stride; ++j) row[j] = j <= graph.num_words ? tree.heads[j] : -1;
        double* number = numbers + num_drawn * 3;
        number[0] = tree.log_prob;
        number[1] = tree.log_remaining;
        number[2] = tree.perturbed_log_prob;
    }
    return Status::ok;
}

// Draws without replacement: heads[graph, draw, node] and three numbers each (log-probability, log
// of the remaining mass, perturbed log-probability); num_drawn[graph] tells how many there were.
// Returns how many draws of the whole call were in vain.
std::int64_t sample_distinct(LogWeights log_weights, Lengths lengths, int kind, int workers,
                             std::uint64_t key0, std::uint64_t key1, std::uint64_t first_graph,
                             Array<const double, 1> switch_below, Index switch_after,
                             Array<std::int32_t, 3> heads, Array<double, 3> numbers,
                             Array<std::int64_t, 1> num_drawn, std::int64_t most_repeats) {
    const Batch batch(log_weights, lengths, kind);
    const Index num_draws = static_cast<Index>(heads.shape(1));
    std::atomic<std::int64_t> num_repeats{0};
    run(batch.count, workers, [&](Index g, Workspace&, const Interrupt& interrupt) {
        const Graph graph = batch[g];
        const DistinctSequence sequence(
            graph, StreamKey{{key0, key1}}, first_graph + static_cast<std::uint64_t>(g),
            SwitchRule{switch_below.data()[g], switch_after, most_repeats});
        std::int64_t repeats = 0;
        const Status status = draw_distinct(
            sequence, graph, interrupt, num_draws, heads.data() + g * num_draws * batch.size,
            numbers.data() + g * num_draws * 3, num_drawn.data()[g], repeats);
        num_repeats += repeats;
        return status;
    });
    return num_repeats.load();
}

// The same for one graph, a few draws at a time.
class DistinctIterator {
  public:
    DistinctIterator(LogWeights log_weights, Lengths lengths, int kind, std::uint64_t key0,
                     std::uint64_t key1, std::uint64_t graph, double switch_below,
                     Index switch_after)
        : log_weights_(log_weights),
          graph_(Batch(log_weights, lengths, kind)[0]),
          sequence_(graph_, StreamKey{{key0, key1}}, graph,
                    SwitchRule{switch_below, switch_after, -1}) {}

    std::int64_t draw(Array<std::int32_t, 2> heads, Array<double, 2> numbers) {
        std::int64_t count = 0, repeats = 0;
        run(1, 1, [&](Index, Workspace&, const Interrupt& interrupt) {
            return draw_distinct(sequence_, graph_, interrupt, static_cast<Index>(heads.shape(0)),
                                 heads.data(), numbers.data(), count, repeats);
        });
        return count;
    }

  private:
    LogWeights log_weights_;  // keeps the array alive
    Graph graph_;
    DistinctSequence sequence_;
};

}  // namespace

void register_distinct_trees(nb::module_& m) {
    m.def("sample_distinct", &sample_distinct, nb::arg("log_weights"), nb::arg("lengths"),
          nb::arg("kind"), nb::arg("workers"), nb::arg("key0"), nb::arg("key1"),
          nb::arg("first_graph"), nb::arg("switch_below"), nb::arg("switch_after"),
          nb::arg("heads"), nb::arg("numbers"), nb::arg("num_drawn"), nb::arg("most_repeats") = -1);
    nb::class_<DistinctIterator>(m, "DistinctIterator",
                                 "Draws without replacement from one graph, a few at a time.")
        .def(nb::init<LogWeights, Lengths, int, std::uint64_t, std::uint64_t, std::uint64_t, double,
                      Index>(),
             nb::arg("log_weights"), nb::arg("lengths"), nb::arg("kind"), nb::arg("key0"),
             nb::arg("key1"), nb::arg("graph"), nb::arg("switch_below"), nb::arg("switch_after"))
        .def("draw", &DistinctIterator::draw, nb::arg("heads"), nb::arg("numbers"));
}

}  // namespace arborand
