// Draws with replacement from every graph of a batch.
#include "python/sampling.hpp"

#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "python/registration.hpp"

namespace arborand {
namespace {

// The heads of words alone, without gaps, from rows of `width`.
template <class Head>
void write_words(const std::int32_t* heads, Index num_draws, Index num_words, Index width,
                 Head* out) {
    for (Index draw = 0; draw < num_draws; ++draw, heads += width) {
        for (Index j = 1; j <= num_words; ++j) *out++ = static_cast<Head>(heads[j]);
    }
}

// Trees and their log-probabilities, graph by graph and draw by draw.  Of the trees the heads of
// words alone, which must fit into their type: uint8 or int32.
void sample_with_log_prob(const Batch& batch, int workers, int method, std::uint64_t key0,
                          std::uint64_t key1, std::uint64_t first_graph, std::uint64_t first_draw,
                          nb::ndarray<nb::c_contig, nb::device::cpu> heads,
                          Array<double, 1> log_prob) {
    const bool are_bytes = heads.dtype() == nb::dtype<std::uint8_t>();
    if (!are_bytes && heads.dtype() != nb::dtype<std::int32_t>()) {
        throw std::invalid_argument("heads must be uint8 or int32");
    }
    std::vector<Index> first_word{0};
    for (const Index length : batch.lengths()) first_word.push_back(first_word.back() + length);
    const Index num_draws = num_trees(log_prob, batch.count());
    expect_size(heads, num_draws * first_word.back());
    const Draws draws{
        static_cast<Method>(method), {{key0, key1}}, first_graph, first_draw, DrawRule{}};
    for_each_graph(
        batch, workers,
        [&](Index g, const Graph& graph, Workspace& workspace, const Interrupt& interrupt) {
            const Index n = graph.num_words, width = graph.stride;
            // The shifts of log Z, then the trees.
            Scratch& memory = workspace.answers;
            if (!memory.reserve(static_cast<std::size_t>(width) *
                                (sizeof(double) +
                                 static_cast<std::size_t>(num_draws) * sizeof(std::int32_t)))) {
                return Status::no_memory;
            }
            double* const shifts = reinterpret_cast<double*>(memory.memory());
            std::int32_t* const drawn = reinterpret_cast<std::int32_t*>(shifts + width);
            PartitionOutput partition{0, 0, 0, 0, shifts};
            Status status = kernels->log_partition(&graph, 1, workspace.scratch, interrupt,
                                                   &partition, nullptr, 0);
            if (status != Status::ok) return status;
            status = draws.prepare(graph, workspace.prepared, workspace.scratch, interrupt);
            if (status != Status::ok) return status;
            SampleCounts counts;
            status = draws.draw(workspace.prepared, g, 0, num_draws, drawn, width, workspace,
                                interrupt, counts);
            if (status != Status::ok) return status;
            for (Index draw = 0; draw < num_draws; ++draw) {
                std::fill(drawn + draw * width + n + 1, drawn + (draw + 1) * width, -1);
            }
            const Index first = num_draws * first_word[static_cast<std::size_t>(g)];
            if (are_bytes) {
                write_words(drawn, num_draws, n, width,
                            static_cast<std::uint8_t*>(heads.data()) + first);
            } else {
                write_words(drawn, num_draws, n, width,
                            static_cast<std::int32_t*>(heads.data()) + first);
            }
            Index sound = num_draws;
            return kernels->log_prob(graph, partition, workspace.scratch, drawn, width, num_draws,
                                     log_prob.data() + g * num_draws, 1, sound);
        });
}

}  // namespace

SampleCounts sample(const Batch& batch, int workers, const Draws& draws, Index num_draws,
                    std::int32_t* heads) {
    const Index stride = batch.num_rows();
    std::atomic<std::int64_t> steps{0}, walks{0}, ancestral{0}, beyond_double{0};

    const auto draw = [&](Index g, Index first, Index count, const Prepared& prepared,
                          Workspace& workspace, const Interrupt& interrupt) {
        SampleCounts counts;
        std::int32_t* const target = heads + first * stride + batch.first_row(g);
        const Status status =
            draws.draw(prepared, g, first, count, target, stride, workspace, interrupt, counts);
        const Index num_nodes = batch.num_words(g) + 1;
        for (Index i = 0; i < count; ++i) {
            std::fill(target + i * stride + num_nodes, target + i * stride + batch.width(g), -1);
        }
        steps += counts.steps;
        walks += counts.walks;
        ancestral += counts.ancestral;
        beyond_double += counts.beyond_double;
        return status;
    };

    if (batch.count() >= 2 * workers || workers == 1) {
        for_each_graph(
            batch, workers,
            [&](Index g, const Graph& graph, Workspace& workspace, const Interrupt& interrupt) {
                const Status status =
                    draws.prepare(graph, workspace.prepared, workspace.scratch, interrupt);
                if (status != Status::ok) return status;
                return draw(g, 0, num_draws, workspace.prepared, workspace, interrupt);
            });
    } else {
        // Few graphs: prepare one after the other, and share out the draws of each.
        constexpr Index draws_at_once = 64;
        for (Index g = 0; g < batch.count(); ++g) {
            Workspace shared;
            run(
                1, 1,
                [&](Index, Workspace&, const Interrupt& interrupt) {
                    return draws.prepare(batch.load(g, shared.scores), shared.prepared,
                                         shared.scratch, interrupt);
                },
                batch.caller());
            const Index num_pieces = (num_draws + draws_at_once - 1) / draws_at_once;
            run(
                num_pieces, workers,
                [&](Index piece, Workspace& workspace, const Interrupt& interrupt) {
                    const Index first = piece * draws_at_once;
                    const Index count = std::min(num_draws - first, draws_at_once);
                    return draw(g, first, count, shared.prepared, workspace, interrupt);
                },
                batch.caller());
        }
    }
    return {steps.load(), walks.load(), ancestral.load(), beyond_double.load()};
}

void register_sampling(nb::module_& m) {
    // Counts, one row for the whole call: those of SampleCounts.
    m.def(
        "sample",
        [](const Batch& batch, int workers, int method, std::uint64_t key0, std::uint64_t key1,
           std::uint64_t first_graph, std::uint64_t first_draw, std::int64_t step_budget,
           Contiguous<std::int32_t> heads, int pops, bool trusts_double) {
            const Draws draws{static_cast<Method>(method),
                              {{key0, key1}},
                              first_graph,
                              first_draw,
                              {step_budget, static_cast<Pops>(pops), trusts_double}};
            const SampleCounts counts =
                sample(batch, workers, draws, num_trees(heads, batch.num_rows()), heads.data());
            return std::make_tuple(counts.steps, counts.walks, counts.ancestral,
                                   counts.beyond_double);
        },
        nb::arg("batch"), nb::arg("workers"), nb::arg("method"), nb::arg("key0"), nb::arg("key1"),
        nb::arg("first_graph"), nb::arg("first_draw"), nb::arg("step_budget"), nb::arg("heads"),
        nb::arg("pops") = 0, nb::arg("trusts_double") = true);
    m.def("sample_with_log_prob", &sample_with_log_prob, nb::arg("batch"), nb::arg("workers"),
          nb::arg("method"), nb::arg("key0"), nb::arg("key1"), nb::arg("first_graph"),
          nb::arg("first_draw"), nb::arg("heads"), nb::arg("log_prob"));
}

}  // namespace arborand
