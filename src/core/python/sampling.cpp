// Draws with replacement from every graph of a batch.
#include <nanobind/stl/tuple.h>

#include <atomic>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "python/batch.hpp"
#include "python/registration.hpp"
#include "python/scores.hpp"

namespace arborand {
namespace {

// Draw trees: heads[draw, graph, node].  Graph g of the batch reads the streams of graph
// first_graph + g.  Counts, one row for the whole call: those of SampleCounts.
std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t> sample(
    LogWeights log_weights, Lengths lengths, int kind, int workers, int method, std::uint64_t key0,
    std::uint64_t key1, std::uint64_t first_graph, std::uint64_t first_draw,
    std::int64_t step_budget, Array<std::int32_t, 3> heads, int pops, bool trusts_double) {
    const Batch batch(log_weights, lengths, kind);
    const Index num_draws = static_cast<Index>(heads.shape(0));
    const Index stride = batch.count * batch.size;
    const StreamKey key{{key0, key1}};
    const DrawRule rule{step_budget, static_cast<Pops>(pops), trusts_double};
    std::atomic<std::int64_t> steps{0}, walks{0}, ancestral{0}, beyond_double{0};

    const auto draw = [&](Index g, Index first, Index count, const Prepared& prepared,
                          Workspace& workspace, const Interrupt& interrupt) {
        SampleCounts counts;
        std::int32_t* const target = heads.data() + first * stride + g * batch.size;
        const Status status =
            kernels->draw(prepared, key,
                          DrawRange{first_graph + static_cast<std::uint64_t>(g),
                                    first_draw + static_cast<std::uint64_t>(first), count},
                          target, stride, workspace.scratch, interrupt, counts);
        for (Index i = 0; i < count; ++i) {
            for (Index j = batch.lengths[g] + 1; j < batch.size; ++j) target[i * stride + j] = -1;
        }
        steps += counts.steps;
        walks += counts.walks;
        ancestral += counts.ancestral;
        beyond_double += counts.beyond_double;
        return status;
    };
    const auto prepare = [&](Index g, Prepared& memory, Scratch& scratch,
                             const Interrupt& interrupt) {
        return kernels->prepare(batch[g], static_cast<Method>(method), rule, memory, scratch,
                                interrupt);
    };

    if (batch.count >= 2 * workers || workers == 1) {
        run(batch.count, workers, [&](Index g, Workspace& workspace, const Interrupt& interrupt) {
            const Status status = prepare(g, workspace.prepared, workspace.scratch, interrupt);
            if (status != Status::ok) return status;
            return draw(g, 0, num_draws, workspace.prepared, workspace, interrupt);
        });
    } else {
        // Few graphs: prepare one after the other, and share out the draws of each.
        constexpr Index draws_at_once = 64;
        for (Index g = 0; g < batch.count; ++g) {
            Workspace shared;
            run(1, 1, [&](Index, Workspace& workspace, const Interrupt& interrupt) {
                return prepare(g, shared.prepared, workspace.scratch, interrupt);
            });
            const Index num_pieces = (num_draws + draws_at_once - 1) / draws_at_once;
            run(num_pieces, workers,
                [&](Index piece, Workspace& workspace, const Interrupt& interrupt) {
                    const Index first = piece * draws_at_once;
                    const Index left = num_draws - first;
                    return draw(g, first, left < draws_at_once ? left : draws_at_once,
                                shared.prepared, workspace, interrupt);
                });
        }
    }
    return {steps.load(), walks.load(), ancestral.load(), beyond_double.load()};
}

// Trees and their log-probabilities straight from scores that nobody has looked at yet: matrices
// one after the other, without padding.  heads and log_prob: graph by graph and draw by draw, heads
// of words alone, which must fit into their type.  False: the gate has something to say about some
// graph; what was written is void.
template <class Number, class Head>
bool sample_scores(Array<const Number, 1> scores, Lengths lengths, int kind, int workers,
                   int method, std::uint64_t key0, std::uint64_t key1, std::uint64_t first_graph,
                   std::uint64_t first_draw, Array<Head, 1> heads, Array<double, 1> log_prob) {
    const Index count = static_cast<Index>(lengths.shape(0));
    const Index num_draws = static_cast<Index>(log_prob.shape(0)) / (count > 0 ? count : 1);
    std::vector<Index> first_score(static_cast<std::size_t>(count) + 1), first_word(first_score);
    for (Index g = 0; g < count; ++g) {
        const Index n = lengths.data()[g];
        const std::size_t next = static_cast<std::size_t>(g) + 1;
        first_score[next] = first_score[next - 1] + (n + 1) * (n + 1);
        first_word[next] = first_word[next - 1] + n;
        if (n < 1) return false;
    }
    if (first_score.back() != static_cast<Index>(scores.shape(0)) ||
        first_word.back() * num_draws != static_cast<Index>(heads.shape(0))) {
        throw std::invalid_argument("the arrays do not have the sizes that the lengths ask for");
    }
    std::atomic<bool> is_sound{true};
    run(count, workers, [&](Index g, Workspace& workspace, const Interrupt& interrupt) {
        if (!is_sound.load(std::memory_order_relaxed)) return Status::ok;
        const std::size_t place = static_cast<std::size_t>(g);
        const Index n = lengths.data()[g], size = n + 1;
        const Number* given = scores.data() + first_score[place];
        std::vector<double> numbers(static_cast<std::size_t>(size * size + size));
        const Graph graph{numbers.data(), size, n, static_cast<TreeKind>(kind)};
        Judgement judgement{Finding::not_a_number, Suspicion::none};
        if (copy_clean(given, numbers.data(), size, n, *kernels)) judgement = judge(graph, true);
        if (judgement.finding != Finding::none || judgement.suspicion != Suspicion::none) {
            is_sound.store(false, std::memory_order_relaxed);
            return Status::ok;
        }
        PartitionOutput partition{0, 0, 0, 0, numbers.data() + size * size};
        Status status =
            kernels->log_partition(graph, workspace.scratch, interrupt, partition, nullptr, 0);
        if (status != Status::ok) return status;
        status = kernels->prepare(graph, static_cast<Method>(method), DrawRule{},
                                  workspace.prepared, workspace.scratch, interrupt);
        if (status != Status::ok) return status;
        std::vector<std::int32_t> drawn(static_cast<std::size_t>(num_draws * size));
        SampleCounts counts;
        status = kernels->draw(
            workspace.prepared, StreamKey{{key0, key1}},
            DrawRange{first_graph + static_cast<std::uint64_t>(g), first_draw, num_draws},
            drawn.data(), size, workspace.scratch, interrupt, counts);
        if (status != Status::ok) return status;
        Head* target = heads.data() + first_word[place] * num_draws;
        for (Index draw = 0; draw < num_draws; ++draw) {
            const std::int32_t* row = drawn.data() + draw * size + 1;
            for (Index j = 0; j < n; ++j) *target++ = static_cast<Head>(row[j]);
        }
        Index sound = num_draws;
        return kernels->log_prob(graph, partition, workspace.scratch, drawn.data(), size, num_draws,
                                 log_prob.data() + g * num_draws, 1, sound);
    });
    return is_sound.load();
}

}  // namespace

void register_sampling(nb::module_& m) {
    m.def("sample", &sample, nb::arg("log_weights"), nb::arg("lengths"), nb::arg("kind"),
          nb::arg("workers"), nb::arg("method"), nb::arg("key0"), nb::arg("key1"),
          nb::arg("first_graph"), nb::arg("first_draw"), nb::arg("step_budget"), nb::arg("heads"),
          nb::arg("pops") = 0, nb::arg("trusts_double") = true);
    const auto bind_sample_scores = [&](auto number, auto head) {
        m.def("sample_scores", &sample_scores<decltype(number), decltype(head)>, nb::arg("scores"),
              nb::arg("lengths"), nb::arg("kind"), nb::arg("workers"), nb::arg("method"),
              nb::arg("key0"), nb::arg("key1"), nb::arg("first_graph"), nb::arg("first_draw"),
              nb::arg("heads"), nb::arg("log_prob"));
    };
    bind_sample_scores(float(), std::uint8_t());
    bind_sample_scores(float(), std::int32_t());
    bind_sample_scores(double(), std::uint8_t());
    bind_sample_scores(double(), std::int32_t());
}

}  // namespace arborand
