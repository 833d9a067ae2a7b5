// Dense graphs between Python and the core: it wires, and loops over batches.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "border/kernels.hpp"
#include "python/calls.hpp"
#include "python/groups.hpp"
#include "python/inspection.hpp"
#include "python/scores.hpp"
#include "python/suspicion.hpp"

namespace arborand {

void bind_sparse(nb::module_& m);  // python/sparse.cpp

namespace {

const Kernels& chosen_kernels() {
#ifdef ARBORAND_HAS_AVX2
    static const bool has_avx2 = __builtin_cpu_supports("avx2");
    if (has_avx2) return avx2::kernels();
#endif
    return baseline::kernels();
}

const Kernels* kernels = &chosen_kernels();

using LogWeights = Array<const double, 3>;
using Lengths = Array<const std::int32_t, 1>;

// A batch as Python passes it: (graphs, m, m) log-weights and the number of words of each graph.
struct Batch {
    const double* log_weights;
    const std::int32_t* lengths;
    Index count, size;
    bool single_root;

    Batch(const LogWeights& log_weights, const Lengths& lengths, bool single_root)
        : log_weights(log_weights.data()),
          lengths(lengths.data()),
          count(static_cast<Index>(log_weights.shape(0))),
          size(static_cast<Index>(log_weights.shape(1))),
          single_root(single_root) {}

    Graph operator[](Index g) const {
        return {log_weights + g * size * size, size, lengths[g], tree_kind(single_root)};
    }

    Groups groups(int workers) const {
        return Groups(count, workers, [this](Index g) { return lengths[g]; });
    }
};

// Every entry becomes its logarithm.
void logarithms(Array<double, 1> numbers) {
    constexpr Index at_once = 1 << 16;
    const Index count = static_cast<Index>(numbers.shape(0));
    run((count + at_once - 1) / at_once, 1, [&](Index piece, Workspace&, const Interrupt&) {
        const Index first = piece * at_once;
        const Index left = count - first;
        kernels->logarithms(numbers.data() + first, left < at_once ? left : at_once);
        return Status::ok;
    });
}

// What is wrong with a graph of clean log-weights, or odd.
struct Judgement {
    Finding finding = Finding::none;
    Suspicion suspicion = Suspicion::none;
};

Judgement judge(const Graph& graph, bool report_oddities) {
    Judgement judgement{find_trees(graph), Suspicion::none};
    const Index count = graph.stride * graph.stride;
    if (report_oddities && kernels->has_zero_or_low(graph.log_weights, count, mask_score)) {
        judgement.suspicion = suspect(graph);
    }
    return judgement;
}

// The clean log-weights of a graph whose weights are `from`; a bad entry is named as in clean().
Inspection clean_logarithms(const double* from, double* to, Index size, Index num_words) {
    if (!kernels->logarithms_of_weights(from, to, size * size)) {
        // Something is bad, or nearly 0, or is not read and may be anything.
        std::memcpy(to, from, static_cast<std::size_t>(size * size) * sizeof(double));
        const Inspection found = clean_weights(to, size, num_words);
        if (found.finding != Finding::none) return found;
        kernels->logarithms(to, size * size);
    }
    clear_unread(to, size, num_words, -HUGE_VAL);
    return {};
}

// The first finding of graphs as (code, graph, head, dependent).  `clean_graph(g, data)` cleans the
// log-weights of a graph.  If nothing is wrong and oddities are asked for, the first suspicion is
// what is found.
template <class Clean>
std::tuple<int, Index, Index, Index> inspect_with(const Array<double, 3>& log_weights,
                                                  const Lengths& lengths, bool single_root,
                                                  bool report_oddities, const Clean& clean_graph) {
    const Index count = static_cast<Index>(log_weights.shape(0));
    const Index size = static_cast<Index>(log_weights.shape(1));
    Inspection first;
    Suspicion suspicion = Suspicion::none;
    Index bad = 0, odd = 0;
    run(count, 1, [&](Index g, Workspace&, const Interrupt&) {
        if (first.finding != Finding::none) return Status::ok;
        double* data = log_weights.data() + g * size * size;
        const Index n = lengths.data()[g];
        first = clean_graph(g, data, size, n);
        bad = g;
        if (first.finding != Finding::none) return Status::ok;
        const bool asks = report_oddities && suspicion == Suspicion::none;
        const Judgement judgement = judge({data, size, n, tree_kind(single_root)}, asks);
        first.finding = judgement.finding;
        if (judgement.suspicion != Suspicion::none) {
            suspicion = judgement.suspicion;
            odd = g;
        }
        return Status::ok;
    });
    if (first.finding == Finding::none) return {static_cast<int>(suspicion), odd, 0, 0};
    return {static_cast<int>(first.finding), bad, first.head, first.dependent};
}

// Clean every graph in place.  A graph with a bad entry is left as it was but for what is never
// read.
std::tuple<int, Index, Index, Index> inspect(Array<double, 3> log_weights, Lengths lengths,
                                             bool single_root, bool report_oddities) {
    return inspect_with(
        log_weights, lengths, single_root, report_oddities,
        [](Index, double* data, Index size, Index n) { return clean(data, size, n); });
}

// The same for weights, whose clean logarithms are written to `log_weights`.
std::tuple<int, Index, Index, Index> inspect_weights(LogWeights weights,
                                                     Array<double, 3> log_weights, Lengths lengths,
                                                     bool single_root) {
    return inspect_with(
        log_weights, lengths, single_root, false, [&](Index g, double* data, Index size, Index n) {
            return clean_logarithms(weights.data() + g * size * size, data, size, n);
        });
}

// The same memory, as an array that nobody can make writable: its owner is not reachable from
// Python, and offers no buffer to write to.
template <class Number>
nb::ndarray<nb::numpy, const Number> frozen(Contiguous<Number> array) {
    std::size_t shape[8] = {};
    for (std::size_t axis = 0; axis < array.ndim(); ++axis) shape[axis] = array.shape(axis);
    const nb::capsule owner(new Contiguous<Number>(array), [](void* held) noexcept {
        delete static_cast<Contiguous<Number>*>(held);
    });
    return {array.data(), array.ndim(), shape, owner};
}

// The clean log-weights of a single graph, frozen, as (1, m, m): from an array of float64 in C
// order, with nothing wrong or odd about it.  None for anything else, which `inspect` is for.
std::optional<nb::ndarray<nb::numpy, const double>> sound_copy(nb::handle values, bool single_root,
                                                               bool are_weights) {
    Array<const double, 2> given;
    if (!nb::try_cast(values, given, false)) return std::nullopt;
    const std::size_t m = given.shape(0);
    const Index size = static_cast<Index>(m);
    // 3 x 3 may be a list of edges.
    if (m < 2 || m == 3 || m != given.shape(1)) return std::nullopt;
    std::unique_ptr<double[]> copy(new double[m * m]);
    {
        const GilReleased released;
        Inspection found;
        if (are_weights) {
            found = clean_logarithms(given.data(), copy.get(), size, size - 1);
        } else {
            std::memcpy(copy.get(), given.data(), m * m * sizeof(double));
            found = clean(copy.get(), size, size - 1);
        }
        if (found.finding != Finding::none) return std::nullopt;
        const Judgement judgement =
            judge({copy.get(), size, size - 1, tree_kind(single_root)}, !are_weights);
        if (judgement.finding != Finding::none || judgement.suspicion != Suspicion::none) {
            return std::nullopt;
        }
    }
    const nb::capsule owner(copy.get(),
                            [](void* held) noexcept { delete[] static_cast<double*>(held); });
    return nb::ndarray<nb::numpy, const double>(copy.release(), {1, m, m}, owner);
}

// log Z of the graphs of a group and their marginals[head * stride + dependent], each unless null.
Status solve_group(const Graph* graphs, Index count, Scratch& scratch, const Interrupt& interrupt,
                   PartitionOutput* outputs, double* const* marginals, Index stride) {
    if (count == graphs_at_once) {
        const Status status =
            kernels->solve_four(graphs, scratch, interrupt, outputs, marginals, stride);
        if (status != Status::left_range) return status;
    }
    Status status = Status::ok;
    for (Index k = 0; k < count && status == Status::ok; ++k) {
        double* out = marginals == nullptr ? nullptr : marginals[k];
        if (outputs == nullptr) {
            status = kernels->arc_marginals(graphs[k], scratch, interrupt, out, stride);
        } else {
            status = kernels->log_partition(graphs[k], scratch, interrupt, outputs[k], out, stride);
        }
    }
    return status;
}

// parts[graph]: log Z, and the numbers of PartitionOutput that log_prob needs.
void log_partition(LogWeights log_weights, Lengths lengths, bool single_root, int workers,
                   Array<double, 2> parts, Array<double, 2> column_shift) {
    const Batch batch(log_weights, lengths, single_root);
    const Groups groups = batch.groups(workers);
    run(groups.count(), workers, [&](Index i, Workspace& workspace, const Interrupt& interrupt) {
        const Group group = groups[i];
        Graph graphs[graphs_at_once];
        PartitionOutput outputs[graphs_at_once] = {};
        for (Index k = 0; k < group.count; ++k) {
            graphs[k] = batch[group.graphs[k]];
            outputs[k].column_shift = column_shift.data() + group.graphs[k] * batch.size;
        }
        const Status status =
            solve_group(graphs, group.count, workspace.scratch, interrupt, outputs, nullptr, 0);
        for (Index k = 0; k < group.count; ++k) {
            double* part = parts.data() + group.graphs[k] * 4;
            part[0] = outputs[k].log_partition;
            part[1] = outputs[k].reduced;
            part[2] = outputs[k].reduced_error;
            part[3] = outputs[k].root_shift;
        }
        return status;
    });
}

// log Z and marginals, or the entropy and its gradient, of scores as they come (python/scores.hpp).
template <class Number>
bool log_partition_of_scores(Contiguous<const Number> scores,
                             std::optional<Contiguous<const std::int64_t>> lengths,
                             bool single_root, int workers, Contiguous<Number> values,
                             std::optional<Contiguous<Number>> marginals) {
    const ScoreBatch<Number> batch{scores, lengths, single_root, values, marginals};
    const auto solve = [](const Graph* graphs, Index count, Workspace& workspace,
                          const Interrupt& interrupt, double* values, double* const* gradients,
                          Index stride) {
        // Nobody asks for the shifts.
        Scratch& shifts = workspace.prepared.steps;
        const std::size_t bytes = static_cast<std::size_t>(graphs->stride) * sizeof(double);
        if (!shifts.reserve(bytes)) return Status::no_memory;
        PartitionOutput outputs[graphs_at_once] = {};
        for (PartitionOutput& output : outputs) {
            output.column_shift = reinterpret_cast<double*>(shifts.memory());
        }
        const Status status =
            solve_group(graphs, count, workspace.scratch, interrupt, outputs, gradients, stride);
        for (Index k = 0; k < count; ++k) values[k] = outputs[k].log_partition;
        return status;
    };
    const Groups groups(batch.count(), workers, [&](Index g) { return batch.length(g); });
    return solve_scores(batch, groups, workers, *kernels, solve);
}

template <class Number>
bool entropy_of_scores(Contiguous<const Number> scores,
                       std::optional<Contiguous<const std::int64_t>> lengths, bool single_root,
                       int workers, Contiguous<Number> values,
                       std::optional<Contiguous<Number>> gradients) {
    const ScoreBatch<Number> batch{scores, lengths, single_root, values, gradients};
    const auto solve = [](const Graph* graph, Index, Workspace& workspace,
                          const Interrupt& interrupt, double* value, double* const* gradient,
                          Index stride) {
        if (gradient == nullptr) {
            return kernels->entropy(*graph, workspace.scratch, interrupt, value);
        }
        return kernels->entropy_gradient(*graph, workspace.scratch, interrupt, *gradient, stride,
                                         value);
    };
    return solve_scores(batch, Groups(batch.count()), workers, *kernels, solve);
}

// out[tree, graph] for heads[tree, graph, node].  The index of the first entry of `out` whose heads
// are no tree, or -1 if all are.
Index log_prob(LogWeights log_weights, Lengths lengths, bool single_root,
               Array<const double, 2> parts, Array<double, 2> column_shift,
               Array<const std::int32_t, 3> heads, Array<double, 2> out) {
    const Batch batch(log_weights, lengths, single_root);
    constexpr Index trees_at_once = 1024;
    const Index num_trees = static_cast<Index>(heads.shape(0));
    const Index num_pieces = (num_trees + trees_at_once - 1) / trees_at_once;
    Index first_bad = -1;
    run(num_pieces * batch.count, 1, [&](Index i, Workspace& workspace, const Interrupt&) {
        const Index g = i % batch.count, first = i / batch.count * trees_at_once;
        const Index count = num_trees - first < trees_at_once ? num_trees - first : trees_at_once;
        const double* part = parts.data() + g * 4;
        const PartitionOutput partition{part[0], part[1], part[2], part[3],
                                        column_shift.data() + g * batch.size};
        const Index tree = first * batch.count + g;
        Index sound = count;
        const Status status = kernels->log_prob(
            batch[g], partition, workspace.scratch, heads.data() + tree * batch.size,
            batch.count * batch.size, count, out.data() + tree, batch.count, sound);
        const Index bad = tree + sound * batch.count;
        if (sound < count && (first_bad < 0 || bad < first_bad)) first_bad = bad;
        return status;
    });
    return first_bad;
}

void arc_marginals(LogWeights log_weights, Lengths lengths, bool single_root, int workers,
                   Array<double, 3> out, bool one_by_one) {
    const Batch batch(log_weights, lengths, single_root);
    const Groups groups = one_by_one ? Groups(batch.count) : batch.groups(workers);
    run(groups.count(), workers, [&](Index i, Workspace& workspace, const Interrupt& interrupt) {
        const Group group = groups[i];
        Graph graphs[graphs_at_once];
        double* marginals[graphs_at_once];
        for (Index k = 0; k < group.count; ++k) {
            graphs[k] = batch[group.graphs[k]];
            marginals[k] = out.data() + group.graphs[k] * batch.size * batch.size;
        }
        return solve_group(graphs, group.count, workspace.scratch, interrupt, nullptr, marginals,
                           batch.size);
    });
}

void root_marginals(LogWeights log_weights, Lengths lengths, bool single_root, int workers,
                    Array<double, 2> out, Array<double, 1> expected_steps) {
    const Batch batch(log_weights, lengths, single_root);
    run(batch.count, workers, [&](Index g, Workspace& workspace, const Interrupt& interrupt) {
        return kernels->root_marginals(batch[g], workspace.scratch, interrupt,
                                       out.data() + g * batch.size, expected_steps.data() + g);
    });
}

void entropy(LogWeights log_weights, Lengths lengths, bool single_root, int workers,
             Array<double, 1> out) {
    const Batch batch(log_weights, lengths, single_root);
    run(batch.count, workers, [&](Index g, Workspace& workspace, const Interrupt& interrupt) {
        return kernels->entropy(batch[g], workspace.scratch, interrupt, out.data() + g);
    });
}

void renyi_entropy(LogWeights log_weights, Lengths lengths, bool single_root, int workers,
                   double order, Array<double, 1> out) {
    const Batch batch(log_weights, lengths, single_root);
    run(batch.count, workers, [&](Index g, Workspace& workspace, const Interrupt& interrupt) {
        return kernels->renyi_entropy(batch[g], workspace.scratch, interrupt, order,
                                      out.data() + g);
    });
}

// KL(graph || other) for pairs of graphs of the same lengths, and the magnitude of its terms.
void divergence(LogWeights log_weights, Lengths lengths, bool single_root, LogWeights other,
                bool other_single_root, int workers, Array<double, 2> out) {
    const Batch batch(log_weights, lengths, single_root);
    const Batch other_batch(other, lengths, other_single_root);
    run(batch.count, workers, [&](Index g, Workspace& workspace, const Interrupt& interrupt) {
        return kernels->divergence(batch[g], other_batch[g], workspace.scratch, interrupt,
                                   out.data() + 2 * g);
    });
}

void arc_covariances(LogWeights log_weights, Lengths lengths, bool single_root, int workers,
                     Array<const double, 3> direction, Array<double, 3> out) {
    const Batch batch(log_weights, lengths, single_root);
    const Index area = batch.size * batch.size;
    run(batch.count, workers, [&](Index g, Workspace& workspace, const Interrupt& interrupt) {
        return kernels->arc_covariances(batch[g], workspace.scratch, interrupt,
                                        direction.data() + g * area, out.data() + g * area,
                                        batch.size);
    });
}

void arc_cumulants(LogWeights log_weights, Lengths lengths, bool single_root, int workers,
                   Array<const double, 3> direction, Array<const double, 3> other,
                   Array<double, 3> out) {
    const Batch batch(log_weights, lengths, single_root);
    const Index area = batch.size * batch.size;
    run(batch.count, workers, [&](Index g, Workspace& workspace, const Interrupt& interrupt) {
        return kernels->arc_cumulants(batch[g], workspace.scratch, interrupt,
                                      direction.data() + g * area, other.data() + g * area,
                                      out.data() + g * area, batch.size);
    });
}

void entropy_gradient_tangents(LogWeights log_weights, Lengths lengths, bool single_root,
                               int workers, Array<const double, 3> direction,
                               Array<double, 3> out) {
    const Batch batch(log_weights, lengths, single_root);
    const Index area = batch.size * batch.size;
    run(batch.count, workers, [&](Index g, Workspace& workspace, const Interrupt& interrupt) {
        return kernels->entropy_gradient_tangents(batch[g], workspace.scratch, interrupt,
                                                  direction.data() + g * area,
                                                  out.data() + g * area, batch.size);
    });
}

void entropy_gradient(LogWeights log_weights, Lengths lengths, bool single_root, int workers,
                      Array<double, 3> out) {
    const Batch batch(log_weights, lengths, single_root);
    run(batch.count, workers, [&](Index g, Workspace& workspace, const Interrupt& interrupt) {
        return kernels->entropy_gradient(batch[g], workspace.scratch, interrupt,
                                         out.data() + g * batch.size * batch.size, batch.size,
                                         nullptr);
    });
}

// The first graph alone; out[i, j, k, l], zeros on entry.
void joint_marginals(LogWeights log_weights, Lengths lengths, bool single_root,
                     Array<double, 4> out) {
    const Batch batch(log_weights, lengths, single_root);
    run(1, 1, [&](Index g, Workspace& workspace, const Interrupt& interrupt) {
        return kernels->joint_marginals(batch[g], workspace.scratch, interrupt, out.data(),
                                        batch.size);
    });
}

void mean_hitting_time(LogWeights log_weights, Lengths lengths, int workers, Array<double, 1> out) {
    const Batch batch(log_weights, lengths, true);
    run(batch.count, workers, [&](Index g, Workspace& workspace, const Interrupt& interrupt) {
        return kernels->mean_hitting_time(batch[g], workspace.scratch, interrupt, out.data() + g);
    });
}

// Draw trees: heads[draw, graph, node].  Graph g of the batch reads the streams of graph
// first_graph + g.  Counts, one row for the whole call: those of SampleCounts.
std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t> sample(
    LogWeights log_weights, Lengths lengths, bool single_root, int workers, int method,
    std::uint64_t key0, std::uint64_t key1, std::uint64_t first_graph, std::uint64_t first_draw,
    std::int64_t step_budget, Array<std::int32_t, 3> heads, int jumps, int pops, bool remembers,
    bool trusts_double) {
    const Batch batch(log_weights, lengths, single_root);
    const Index num_draws = static_cast<Index>(heads.shape(0));
    const Index stride = batch.count * batch.size;
    const StreamKey key{{key0, key1}};
    const DrawRule rule{step_budget, static_cast<Jumps>(jumps), static_cast<Pops>(pops), remembers,
                        trusts_double};
    std::atomic<std::int64_t> steps{0}, walks{0}, ancestral{0}, beyond_double{0};

    const auto draw = [&](Index g, Index first, Index count, const Prepared& prepared,
                          Workspace& workspace, const Interrupt& interrupt) {
        SampleCounts counts;
        std::int32_t* const target = heads.data() + first * stride + g * batch.size;
        const Status status = kernels->draw(
            prepared, key,
            DrawRange{first_graph + static_cast<std::uint64_t>(g),
                      first_draw + static_cast<std::uint64_t>(first), count},
            target, stride, workspace.scratch, workspace.remembered, interrupt, counts);
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
bool sample_scores(Array<const Number, 1> scores, Lengths lengths, bool single_root, int workers,
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
        const Graph graph{numbers.data(), size, n, tree_kind(single_root)};
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
            drawn.data(), size, workspace.scratch, workspace.remembered, interrupt, counts);
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
std::int64_t sample_distinct(LogWeights log_weights, Lengths lengths, bool single_root, int workers,
                             std::uint64_t key0, std::uint64_t key1, std::uint64_t first_graph,
                             Array<const double, 1> switch_below, Index switch_after,
                             Array<std::int32_t, 3> heads, Array<double, 3> numbers,
                             Array<std::int64_t, 1> num_drawn, std::int64_t most_repeats) {
    const Batch batch(log_weights, lengths, single_root);
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
    DistinctIterator(LogWeights log_weights, Lengths lengths, bool single_root, std::uint64_t key0,
                     std::uint64_t key1, std::uint64_t graph, double switch_below,
                     Index switch_after)
        : log_weights_(log_weights),
          graph_(Batch(log_weights, lengths, single_root)[0]),
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
                                                               Lengths lengths, bool single_root,
                                                               int workers, double caution,
                                                               Contiguous<std::int32_t> heads) {
    const Batch batch(log_weights, lengths, single_root);
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
                                                                Lengths lengths, bool single_root,
                                                                int workers, double caution,
                                                                Array<std::int32_t, 3> heads,
                                                                Array<std::int64_t, 1> num_found) {
    const Batch batch(log_weights, lengths, single_root);
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
    BestIterator(LogWeights log_weights, Lengths lengths, bool single_root)
        : log_weights_(log_weights), sequence_(Batch(log_weights, lengths, single_root)[0], 1.0) {}

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

NB_MODULE(_core, m) {
    m.doc() =
        "The compiled core of arborand.  Arguments are not checked: validation.py is the gate.";
    m.def(
        "instruction_set", [] { return kernels->name; },
        "The name of the instruction set the kernels were compiled for.");
    m.def(
        "use_instruction_set",
        [](const char* name) {
            const std::string wanted(name);
            if (wanted == "baseline") {
                kernels = &baseline::kernels();
            } else if (wanted == chosen_kernels().name) {
                kernels = &chosen_kernels();
            } else {
                throw std::invalid_argument("name: this machine has no kernels called " + wanted);
            }
        },
        nb::arg("name"), "Choose the kernels by name; for tests that compare instruction sets.");
    m.def("logarithms", &logarithms, nb::arg("numbers"));
    m.def("inspect", &inspect, nb::arg("log_weights"), nb::arg("lengths"), nb::arg("single_root"),
          nb::arg("report_oddities") = false);
    m.def("inspect_weights", &inspect_weights, nb::arg("weights"), nb::arg("log_weights"),
          nb::arg("lengths"), nb::arg("single_root"));
    m.def("sound_copy", &sound_copy, nb::arg("values"), nb::arg("single_root"),
          nb::arg("are_weights"));
    m.def("frozen", &frozen<double>, nb::arg("array"));
    m.def("frozen", &frozen<std::int32_t>, nb::arg("array"));
    m.def("log_partition", &log_partition, nb::arg("log_weights"), nb::arg("lengths"),
          nb::arg("single_root"), nb::arg("workers"), nb::arg("parts"), nb::arg("column_shift"));
    m.def("log_partition_of_scores", &log_partition_of_scores<double>, nb::arg("scores"),
          nb::arg("lengths").none(), nb::arg("single_root"), nb::arg("workers"), nb::arg("values"),
          nb::arg("marginals").none());
    m.def("log_partition_of_scores", &log_partition_of_scores<float>, nb::arg("scores"),
          nb::arg("lengths").none(), nb::arg("single_root"), nb::arg("workers"), nb::arg("values"),
          nb::arg("marginals").none());
    m.def("entropy_of_scores", &entropy_of_scores<double>, nb::arg("scores"),
          nb::arg("lengths").none(), nb::arg("single_root"), nb::arg("workers"), nb::arg("values"),
          nb::arg("gradients").none());
    m.def("entropy_of_scores", &entropy_of_scores<float>, nb::arg("scores"),
          nb::arg("lengths").none(), nb::arg("single_root"), nb::arg("workers"), nb::arg("values"),
          nb::arg("gradients").none());
    m.def("log_prob", &log_prob, nb::arg("log_weights"), nb::arg("lengths"), nb::arg("single_root"),
          nb::arg("parts"), nb::arg("column_shift"), nb::arg("heads"), nb::arg("out"));
    m.def("arc_marginals", &arc_marginals, nb::arg("log_weights"), nb::arg("lengths"),
          nb::arg("single_root"), nb::arg("workers"), nb::arg("out"),
          nb::arg("one_by_one") = false);
    m.def("root_marginals", &root_marginals, nb::arg("log_weights"), nb::arg("lengths"),
          nb::arg("single_root"), nb::arg("workers"), nb::arg("out"), nb::arg("expected_steps"));
    m.def("entropy", &entropy, nb::arg("log_weights"), nb::arg("lengths"), nb::arg("single_root"),
          nb::arg("workers"), nb::arg("out"));
    m.def("renyi_entropy", &renyi_entropy, nb::arg("log_weights"), nb::arg("lengths"),
          nb::arg("single_root"), nb::arg("workers"), nb::arg("order"), nb::arg("out"));
    m.def("divergence", &divergence, nb::arg("log_weights"), nb::arg("lengths"),
          nb::arg("single_root"), nb::arg("other"), nb::arg("other_single_root"),
          nb::arg("workers"), nb::arg("out"));
    m.def("arc_covariances", &arc_covariances, nb::arg("log_weights"), nb::arg("lengths"),
          nb::arg("single_root"), nb::arg("workers"), nb::arg("direction"), nb::arg("out"));
    m.def("arc_cumulants", &arc_cumulants, nb::arg("log_weights"), nb::arg("lengths"),
          nb::arg("single_root"), nb::arg("workers"), nb::arg("direction"), nb::arg("other"),
          nb::arg("out"));
    m.def("entropy_gradient_tangents", &entropy_gradient_tangents, nb::arg("log_weights"),
          nb::arg("lengths"), nb::arg("single_root"), nb::arg("workers"), nb::arg("direction"),
          nb::arg("out"));
    m.def("entropy_gradient", &entropy_gradient, nb::arg("log_weights"), nb::arg("lengths"),
          nb::arg("single_root"), nb::arg("workers"), nb::arg("out"));
    m.def("joint_marginals", &joint_marginals, nb::arg("log_weights"), nb::arg("lengths"),
          nb::arg("single_root"), nb::arg("out"));
    m.def("mean_hitting_time", &mean_hitting_time, nb::arg("log_weights"), nb::arg("lengths"),
          nb::arg("workers"), nb::arg("out"));
    m.def("sample", &sample, nb::arg("log_weights"), nb::arg("lengths"), nb::arg("single_root"),
          nb::arg("workers"), nb::arg("method"), nb::arg("key0"), nb::arg("key1"),
          nb::arg("first_graph"), nb::arg("first_draw"), nb::arg("step_budget"), nb::arg("heads"),
          nb::arg("jumps") = 0, nb::arg("pops") = 0, nb::arg("remembers") = true,
          nb::arg("trusts_double") = true);
    const auto bind_sample_scores = [&](auto number, auto head) {
        m.def("sample_scores", &sample_scores<decltype(number), decltype(head)>, nb::arg("scores"),
              nb::arg("lengths"), nb::arg("single_root"), nb::arg("workers"), nb::arg("method"),
              nb::arg("key0"), nb::arg("key1"), nb::arg("first_graph"), nb::arg("first_draw"),
              nb::arg("heads"), nb::arg("log_prob"));
    };
    bind_sample_scores(float(), std::uint8_t());
    bind_sample_scores(float(), std::int32_t());
    bind_sample_scores(double(), std::uint8_t());
    bind_sample_scores(double(), std::int32_t());
    m.def("sample_distinct", &sample_distinct, nb::arg("log_weights"), nb::arg("lengths"),
          nb::arg("single_root"), nb::arg("workers"), nb::arg("key0"), nb::arg("key1"),
          nb::arg("first_graph"), nb::arg("switch_below"), nb::arg("switch_after"),
          nb::arg("heads"), nb::arg("numbers"), nb::arg("num_drawn"), nb::arg("most_repeats") = -1);
    nb::class_<DistinctIterator>(m, "DistinctIterator",
                                 "Draws without replacement from one graph, a few at a time.")
        .def(nb::init<LogWeights, Lengths, bool, std::uint64_t, std::uint64_t, std::uint64_t,
                      double, Index>(),
             nb::arg("log_weights"), nb::arg("lengths"), nb::arg("single_root"), nb::arg("key0"),
             nb::arg("key1"), nb::arg("graph"), nb::arg("switch_below"), nb::arg("switch_after"))
        .def("draw", &DistinctIterator::draw, nb::arg("heads"), nb::arg("numbers"));
    m.def("best_tree", &best_tree, nb::arg("log_weights"), nb::arg("lengths"),
          nb::arg("single_root"), nb::arg("workers"), nb::arg("caution"), nb::arg("heads"));
    m.def("best_trees", &best_trees, nb::arg("log_weights"), nb::arg("lengths"),
          nb::arg("single_root"), nb::arg("workers"), nb::arg("caution"), nb::arg("heads"),
          nb::arg("num_found"));
    nb::class_<BestIterator>(m, "BestIterator",
                             "The trees of one graph from the best one on, a few at a time.")
        .def(nb::init<LogWeights, Lengths, bool>(), nb::arg("log_weights"), nb::arg("lengths"),
             nb::arg("single_root"))
        .def("find", &BestIterator::find, nb::arg("heads"), nb::arg("numbers"));
    bind_sparse(m);
}

}  // namespace arborand
