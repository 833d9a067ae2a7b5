// log Z, marginals, entropies and other numbers of every graph of a batch.
#include "python/inference.hpp"

#include <vector>

#include "projective/derivation.hpp"
#include "python/registration.hpp"

namespace arborand {
namespace {

using Answer = Contiguous<double>;
// parts[graph]: log Z, and the numbers of PartitionOutput that log_prob needs.
void normalise(const Batch& batch, int workers, Answer parts, Answer column_shift) {
    expect_size(parts, batch.count() * 4);
    expect_size(column_shift, batch.num_rows());
    for_each_group(batch, batch.groups(workers), workers,
                   [&](const Group& group, const Graph* graphs, Workspace& workspace,
                       const Interrupt& interrupt) {
                       PartitionOutput outputs[graphs_at_once] = {};
                       for (Index k = 0; k < group.count; ++k) {
                           outputs[k].column_shift =
                               column_shift.data() + batch.first_row(group.graphs[k]);
                       }
                       const Status status = kernels->log_partition(
                           graphs, group.count, workspace.scratch, interrupt, outputs, nullptr, 0);
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

// out[tree, graph] for heads[tree, graph, node].  The index of the first entry of `out` whose heads
// are no tree, or -1 if all are.
Index log_prob(const Batch& batch, Contiguous<const double> parts, Answer column_shift,
               Contiguous<const std::int32_t> heads, Answer out) {
    constexpr Index trees_at_once = 1024;
    const Index num_graphs = batch.count(), count = num_trees(out, num_graphs);
    expect_size(parts, num_graphs * 4);
    expect_size(column_shift, batch.num_rows());
    expect_size(heads, count * batch.num_rows());
    const Index num_pieces = (count + trees_at_once - 1) / trees_at_once;
    Index first_bad = -1;
    run(num_pieces * num_graphs, 1, [&](Index i, Workspace& workspace, const Interrupt&) {
        const Index g = i % num_graphs, first = i / num_graphs * trees_at_once;
        const Index some = std::min(count - first, trees_at_once);
        const Graph graph = batch.load(g, workspace.scores);
        const double* part = parts.data() + g * 4;
        const PartitionOutput partition{part[0], part[1], part[2], part[3],
                                        column_shift.data() + batch.first_row(g)};
        Index sound = some;
        const Status status = kernels->log_prob(
            graph, partition, workspace.scratch,
            heads.data() + first * batch.num_rows() + batch.first_row(g), batch.num_rows(), some,
            out.data() + first * num_graphs + g, num_graphs, sound);
        const Index bad = (first + sound) * num_graphs + g;
        if (sound < some && (first_bad < 0 || bad < first_bad)) first_bad = bad;
        return status;
    });
    return first_bad;
}

// Which of some trees are projective: out[tree] for heads[tree, node], -1 for the root and padding.
void are_projective(Contiguous<const std::int32_t> heads, Contiguous<bool> out) {
    const Index count = static_cast<Index>(out.size());
    const Index size = count == 0 ? 0 : static_cast<Index>(heads.size()) / count;
    expect_size(heads, count * size);
    std::vector<std::int32_t> room(static_cast<std::size_t>(2 * size));
    for (Index t = 0; t < count; ++t) {
        const std::int32_t* tree = heads.data() + t * size;
        Index num_words = size - 1;
        while (num_words > 0 && tree[num_words] < 0) --num_words;
        out.data()[t] = ARBORAND_ISA::is_projective(tree, num_words, room.data());
    }
}

// kernel(graph, scratch, interrupt, arguments(g)...) for every graph g.
template <class Kernel, class... Arguments>
void solve_each(const Batch& batch, int workers, Kernel kernel, const Arguments&... arguments) {
    for_each_graph(
        batch, workers,
        [&](Index g, const Graph& graph, Workspace& workspace, const Interrupt& interrupt) {
            return kernel(graph, workspace.scratch, interrupt, arguments(g)...);
        });
}

// Such arguments: where the numbers of a graph begin in an array that has `count` of them per
// graph, or one per node.
template <class SomeArray>
auto per_graph(const Batch& batch, const SomeArray& array, Index count = 1) {
    expect_size(array, batch.count() * count);
    return [=, data = array.data()](Index g) { return data + g * count; };
}
template <class SomeArray>
auto per_node(const Batch& batch, const SomeArray& array) {
    expect_size(array, batch.num_rows());
    return [&batch, data = array.data()](Index g) { return data + batch.first_row(g); };
}

// P(root -> dependent), and the expected steps of Wilson's walk.
void root_marginals(const Batch& batch, int workers, Answer out, Answer expected_steps) {
    const auto marginals = per_node(batch, out);
    const auto steps_of = per_graph(batch, expected_steps);
    for_each_group(batch, batch.groups(workers), workers,
                   [&](const Group& group, const Graph* graphs, Workspace& workspace,
                       const Interrupt& interrupt) {
                       double steps[graphs_at_once] = {};
                       double* rows[graphs_at_once] = {};
                       for (Index k = 0; k < group.count; ++k) rows[k] = marginals(group.graphs[k]);
                       const Status status = kernels->root_marginals(
                           graphs, group.count, workspace.scratch, interrupt, rows, steps);
                       for (Index k = 0; k < group.count && !graphs[0].has_single_root(); ++k) {
                           *steps_of(group.graphs[k]) = steps[k];
                       }
                       return status;
                   });
}

void renyi_entropy(const Batch& batch, int workers, double order, Answer out) {
    solve_each(
        batch, workers, kernels->renyi_entropy, [=](Index) { return order; },
        per_graph(batch, out));
}

// -log P of the greedy tree of each graph, or of a tree that is given.
void tree_surprisal(const Batch& batch, int workers, bool is_given, Contiguous<std::int32_t> heads,
                    Answer out) {
    solve_each(
        batch, workers, kernels->tree_surprisal, [=](Index) { return is_given; },
        per_node(batch, heads), per_graph(batch, out));
}

// Of a single graph: out[i, j, k, l], zeros on entry.
void joint_marginals(const Batch& batch, Array<double, 4> out) {
    const Index size = batch.width(0);
    solve_each(batch, 1, kernels->joint_marginals, per_graph(batch, out, size * size * size * size),
               [=](Index) { return size; });
}

void mean_hitting_time(const Batch& batch, int workers, Answer out) {
    solve_each(batch, workers, kernels->mean_hitting_time, per_graph(batch, out));
}

}  // namespace

// log Z and its gradient, the marginals.
void log_partition(const Batch& batch, int workers, const Answers& log_z, const Answers& gradient,
                   bool one_by_one) {
    const Groups groups = one_by_one ? Groups(batch.count()) : batch.groups(workers);
    for_each_group(
        batch, groups, workers,
        [&](const Group& group, const Graph* graphs, Workspace& workspace,
            const Interrupt& interrupt) {
            // Nobody asks for the shifts.
            Scratch& shifts = workspace.prepared.steps;
            const std::size_t bytes = static_cast<std::size_t>(graphs->stride) * sizeof(double);
            if (!shifts.reserve(bytes)) return Status::no_memory;
            PartitionOutput outputs[graphs_at_once] = {};
            for (PartitionOutput& output : outputs) {
                output.column_shift = reinterpret_cast<double*>(shifts.memory());
            }
            const ArcAnswers arcs(gradient, batch, group, workspace.answers);
            const Status status =
                log_z.are_wanted()
                    ? kernels->log_partition(graphs, group.count, workspace.scratch, interrupt,
                                             outputs, arcs.matrices(), arcs.stride())
                    : kernels->arc_marginals(graphs, group.count, workspace.scratch, interrupt,
                                             arcs.matrices(), arcs.stride());
            if (status != Status::ok) return status;
            arcs.write();
            if (!log_z.are_wanted()) return Status::ok;
            const ARBORAND_ISA::FloatingPointGuard guard;
            for (Index k = 0; k < group.count; ++k) {
                log_z.write(group.graphs[k], &outputs[k].log_partition, 1);
            }
            return Status::ok;
        });
}

// The entropy and its gradient.
void entropy(const Batch& batch, int workers, const Answers& entropies, const Answers& gradient) {
    for_each_group(
        batch, batch.groups(workers), workers,
        [&](const Group& group, const Graph* graphs, Workspace& workspace,
            const Interrupt& interrupt) {
            const ArcAnswers arcs(gradient, batch, group, workspace.answers);
            double found[graphs_at_once] = {};
            const Status status =
                gradient.are_wanted()
                    ? kernels->entropy_gradient(graphs, group.count, workspace.scratch, interrupt,
                                                arcs.matrices(), arcs.stride(),
                                                entropies.are_wanted() ? found : nullptr)
                    : kernels->entropy(graphs, group.count, workspace.scratch, interrupt, found);
            if (status != Status::ok) return status;
            arcs.write();
            if (!entropies.are_wanted()) return Status::ok;
            const ARBORAND_ISA::FloatingPointGuard guard;
            for (Index k = 0; k < group.count; ++k) {
                entropies.write(group.graphs[k], &found[k], 1);
            }
            return Status::ok;
        });
}

void register_inference(nb::module_& m) {
    m.def("normalise", &normalise, nb::arg("batch"), nb::arg("workers"), nb::arg("parts"),
          nb::arg("column_shift"));
    m.def(
        "log_partition",
        [](const Batch& batch, int workers, AnyNumbers values, AnyNumbers marginals,
           bool one_by_one) {
            log_partition(batch, workers, answers(values, batch.count()),
                          answers(marginals, batch.num_entries()), one_by_one);
        },
        nb::arg("batch"), nb::arg("workers"), nb::arg("values").none(), nb::arg("marginals").none(),
        nb::arg("one_by_one") = false);
    m.def(
        "entropy",
        [](const Batch& batch, int workers, AnyNumbers values, AnyNumbers gradients) {
            entropy(batch, workers, answers(values, batch.count()),
                    answers(gradients, batch.num_entries()));
        },
        nb::arg("batch"), nb::arg("workers"), nb::arg("values").none(),
        nb::arg("gradients").none());
    m.def("log_prob", &log_prob, nb::arg("batch"), nb::arg("parts"), nb::arg("column_shift"),
          nb::arg("heads"), nb::arg("out"));
    m.def("are_projective", &are_projective, nb::arg("heads"), nb::arg("out"));
    m.def("root_marginals", &root_marginals, nb::arg("batch"), nb::arg("workers"), nb::arg("out"),
          nb::arg("expected_steps"));
    m.def("renyi_entropy", &renyi_entropy, nb::arg("batch"), nb::arg("workers"), nb::arg("order"),
          nb::arg("out"));
    m.def("tree_surprisal", &tree_surprisal, nb::arg("batch"), nb::arg("workers"),
          nb::arg("is_given"), nb::arg("heads"), nb::arg("out"));
    m.def("joint_marginals", &joint_marginals, nb::arg("batch"), nb::arg("out"));
    m.def("mean_hitting_time", &mean_hitting_time, nb::arg("batch"), nb::arg("workers"),
          nb::arg("out"));
}

}  // namespace arborand
