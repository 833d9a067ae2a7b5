// Distinct trees of every graph of a batch: draws without replacement.
#include <atomic>
#include <memory>

#include "python/batch.hpp"
#include "python/registration.hpp"

namespace arborand {
namespace {

// Owns a sequence of distinct trees of the core.
class DistinctSequence {
  public:
    DistinctSequence(const Graph& graph, const StreamKey& key, std::uint64_t graph_index,
                     const SwitchRule& rule)
        : kernels_(kernels),
          sequence_(kernels->make_distinct(graph, key, graph_index, rule), kernels->free_distinct) {
    }

    Status next(const Interrupt& interrupt, DistinctTree& tree) const {
        return sequence_ == nullptr ? Status::no_memory
                                    : kernels_->next_distinct(sequence_.get(), interrupt, tree);
    }

  private:
    const Kernels* kernels_;  // those that made it, should others be chosen meanwhile
    std::unique_ptr<void, void (*)(void*)> sequence_;
};

// Draw into heads[draw, node] and numbers[draw, 3] until `count` trees are drawn or none is left.
Status draw_distinct(const DistinctSequence& sequence, Index num_words, const Interrupt& interrupt,
                     Index count, Index width, std::int32_t* heads, double* numbers,
                     std::int64_t& num_drawn, std::int64_t& num_repeats) {
    for (num_drawn = 0; num_drawn < count; ++num_drawn) {
        DistinctTree tree;
        const Status status = sequence.next(interrupt, tree);
        if (status != Status::ok) return status;
        num_repeats += tree.repeats;
        if (tree.exhausted) break;
        std::int32_t* row = heads + num_drawn * width;
        for (Index j = 0; j < width; ++j) row[j] = j <= num_words ? tree.heads[j] : -1;
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
std::int64_t sample_distinct(const Batch& batch, int workers, std::uint64_t key0,
                             std::uint64_t key1, std::uint64_t first_graph,
                             Array<const double, 1> switch_below, Index switch_after,
                             Contiguous<std::int32_t> heads, Array<double, 3> numbers,
                             Array<std::int64_t, 1> num_drawn, std::int64_t most_repeats) {
    const Index num_draws = static_cast<Index>(numbers.shape(1));
    expect_size(switch_below, batch.count());
    expect_size(heads, num_draws * batch.num_rows());
    expect_size(numbers, num_draws * batch.count() * 3);
    expect_size(num_drawn, batch.count());
    std::atomic<std::int64_t> num_repeats{0};
    for_each_graph(
        batch, workers, [&](Index g, const Graph& graph, Workspace&, const Interrupt& interrupt) {
            const DistinctSequence sequence(
                graph, StreamKey{{key0, key1}}, first_graph + static_cast<std::uint64_t>(g),
                SwitchRule{switch_below.data()[g], switch_after, most_repeats});
            std::int64_t repeats = 0;
            const Status status =
                draw_distinct(sequence, graph.num_words, interrupt, num_draws, batch.width(g),
                              heads.data() + num_draws * batch.first_row(g),
                              numbers.data() + g * num_draws * 3, num_drawn.data()[g], repeats);
            num_repeats += repeats;
            return status;
        });
    return num_repeats.load();
}

// The same for one graph of a batch, a few draws at a time.
class DistinctIterator {
  public:
    DistinctIterator(const Batch& batch, Index g, std::uint64_t key0, std::uint64_t key1,
                     std::uint64_t graph_index, double switch_below, Index switch_after)
        : graph_(batch.load(g, scores_)),
          sequence_(graph_, StreamKey{{key0, key1}}, graph_index,
                    SwitchRule{switch_below, switch_after, -1}) {}

    std::int64_t draw(Array<std::int32_t, 2> heads, Array<double, 2> numbers) {
        std::int64_t count = 0, repeats = 0;
        run(1, 1, [&](Index, Workspace&, const Interrupt& interrupt) {
            return draw_distinct(
                sequence_, graph_.num_words, interrupt, static_cast<Index>(heads.shape(0)),
                static_cast<Index>(heads.shape(1)), heads.data(), numbers.data(), count, repeats);
        });
        return count;
    }

  private:
    Scratch scores_;  // before what refers to it
    Graph graph_;
    DistinctSequence sequence_;
};

}  // namespace

void register_distinct_trees(nb::module_& m) {
    m.def("sample_distinct", &sample_distinct, nb::arg("batch"), nb::arg("workers"),
          nb::arg("key0"), nb::arg("key1"), nb::arg("first_graph"), nb::arg("switch_below"),
          nb::arg("switch_after"), nb::arg("heads"), nb::arg("numbers"), nb::arg("num_drawn"),
          nb::arg("most_repeats") = -1);
    nb::class_<DistinctIterator>(m, "DistinctIterator",
                                 "Draws without replacement from one graph, a few at a time.")
        .def(nb::init<const Batch&, Index, std::uint64_t, std::uint64_t, std::uint64_t, double,
                      Index>(),
             nb::keep_alive<1, 2>(), nb::arg("batch"), nb::arg("graph"), nb::arg("key0"),
             nb::arg("key1"), nb::arg("stream"), nb::arg("switch_below"), nb::arg("switch_after"))
        .def("draw", &DistinctIterator::draw, nb::arg("heads"), nb::arg("numbers"));
}

}  // namespace arborand
