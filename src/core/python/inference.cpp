// log Z, marginals, entropies and other numbers of every graph of a batch.
#include <nanobind/stl/optional.h>

#include <optional>

#include "python/batch.hpp"
#include "python/registration.hpp"
#include "python/scores.hpp"

namespace arborand {
namespace {

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
void log_partition(LogWeights log_weights, Lengths lengths, int kind, int workers,
                   Array<double, 2> parts, Array<double, 2> column_shift) {
    const Batch batch(log_weights, lengths, kind);
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
                             std::optional<Contiguous<const std::int64_t>> lengths, int kind,
                             int workers, Contiguous<Number> values,
                             std::optional<Contiguous<Number>> marginals) {
    const ScoreBatch<Number> batch{scores, lengths, kind, values, marginals};
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
                       std::optional<Contiguous<const std::int64_t>> lengths, int kind, int workers,
                       Contiguous<Number> values, std::optional<Contiguous<Number>> gradients) {
    const ScoreBatch<Number> batch{scores, lengths, kind, values, gradients};
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
Index log_prob(LogWeights log_weights, Lengths lengths, int kind, Array<const double, 2> parts,
               Array<double, 2> column_shift, Array<const std::int32_t, 3> heads,
               Array<double, 2> out) {
    const Batch batch(log_weights, lengths, kind);
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

void arc_marginals(LogWeights log_weights, Lengths lengths, int kind, int workers,
                   Array<double, 3> out, bool one_by_one) {
    const Batch batch(log_weights, lengths, kind);
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

void root_marginals(LogWeights log_weights, Lengths lengths, int kind, int workers,
                    Array<double, 2> out, Array<double, 1> expected_steps) {
    const Batch batch(log_weights, lengths, kind);
    run(batch.count, workers, [&](Index g, Workspace& workspace, const Interrupt& interrupt) {
        return kernels->root_marginals(batch[g], workspace.scratch, interrupt,
                                       out.data() + g * batch.size, expected_steps.data() + g);
    });
}

void entropy(LogWeights log_weights, Lengths lengths, int kind, int workers, Array<double, 1> out) {
    const Batch batch(log_weights, lengths, kind);
    run(batch.count, workers, [&](Index g, Workspace& workspace, const Interrupt& interrupt) {
        return kernels->entropy(batch[g], workspace.scratch, interrupt, out.data() + g);
    });
}

void renyi_entropy(LogWeights log_weights, Lengths lengths, int kind, int workers, double order,
                   Array<double, 1> out) {
    const Batch batch(log_weights, lengths, kind);
    run(batch.count, workers, [&](Index g, Workspace& workspace, const Interrupt& interrupt) {
        return kernels->renyi_entropy(batch[g], workspace.scratch, interrupt, order,
                                      out.data() + g);
    });
}

// KL(graph || other) for pairs of graphs of the same lengths, and the magnitude of its terms.
void divergence(LogWeights log_weights, Lengths lengths, int kind, LogWeights other, int other_kind,
                int workers, Array<double, 2> out) {
    const Batch batch(log_weights, lengths, kind);
    const Batch other_batch(other, lengths, other_kind);
    run(batch.count, workers, [&](Index g, Workspace& workspace, const Interrupt& interrupt) {
        return kernels->divergence(batch[g], other_batch[g], workspace.scratch, interrupt,
                                   out.data() + 2 * g);
    });
}

void arc_covariances(LogWeights log_weights, Lengths lengths, int kind, int workers,
                     Array<const double, 3> direction, Array<double, 3> out) {
    const Batch batch(log_weights, lengths, kind);
    const Index area = batch.size * batch.size;
    run(batch.count, workers, [&](Index g, Workspace& workspace, const Interrupt& interrupt) {
        return kernels->arc_covariances(batch[g], workspace.scratch, interrupt,
                                        direction.data() + g * area, out.data() + g * area,
                                        batch.size);
    });
}

void arc_cumulants(LogWeights log_weights, Lengths lengths, int kind, int workers,
                   Array<const double, 3> direction, Array<const double, 3> other,
                   Array<double, 3> out) {
    const Batch batch(log_weights, lengths, kind);
    const Index area = batch.size * batch.size;
    run(batch.count, workers, [&](Index g, Workspace& workspace, const Interrupt& interrupt) {
        return kernels->arc_cumulants(batch[g], workspace.scratch, interrupt,
                                      direction.data() + g * area, other.data() + g * area,
                                      out.data() + g * area, batch.size);
    });
}

void entropy_gradient_tangents(LogWeights log_weights, Lengths lengths, int kind, int workers,
                               Array<const double, 3> direction, Array<double, 3> out) {
    const Batch batch(log_weights, lengths, kind);
    const Index area = batch.size * batch.size;
    run(batch.count, workers, [&](Index g, Workspace& workspace, const Interrupt& interrupt) {
        return kernels->entropy_gradient_tangents(batch[g], workspace.scratch, interrupt,
                                                  direction.data() + g * area,
                                                  out.data() + g * area, batch.size);
    });
}

void entropy_gradient(LogWeights log_weights, Lengths lengths, int kind, int workers,
                      Array<double, 3> out) {
    const Batch batch(log_weights, lengths, kind);
    run(batch.count, workers, [&](Index g, Workspace& workspace, const Interrupt& interrupt) {
        return kernels->entropy_gradient(batch[g], workspace.scratch, interrupt,
                                         out.data() + g * batch.size * batch.size, batch.size,
                                         nullptr);
    });
}

// The first graph alone; out[i, j, k, l], zeros on entry.
void joint_marginals(LogWeights log_weights, Lengths lengths, int kind, Array<double, 4> out) {
    const Batch batch(log_weights, lengths, kind);
    run(1, 1, [&](Index g, Workspace& workspace, const Interrupt& interrupt) {
        return kernels->joint_marginals(batch[g], workspace.scratch, interrupt, out.data(),
                                        batch.size);
    });
}

void mean_hitting_time(LogWeights log_weights, Lengths lengths, int workers, Array<double, 1> out) {
    const Batch batch(log_weights, lengths, static_cast<int>(TreeKind::dependency));
    run(batch.count, workers, [&](Index g, Workspace& workspace, const Interrupt& interrupt) {
        return kernels->mean_hitting_time(batch[g], workspace.scratch, interrupt, out.data() + g);
    });
}

}  // namespace

void register_inference(nb::module_& m) {
    m.def("log_partition", &log_partition, nb::arg("log_weights"), nb::arg("lengths"),
          nb::arg("kind"), nb::arg("workers"), nb::arg("parts"), nb::arg("column_shift"));
    m.def("log_partition_of_scores", &log_partition_of_scores<double>, nb::arg("scores"),
          nb::arg("lengths").none(), nb::arg("kind"), nb::arg("workers"), nb::arg("values"),
          nb::arg("marginals").none());
    m.def("log_partition_of_scores", &log_partition_of_scores<float>, nb::arg("scores"),
          nb::arg("lengths").none(), nb::arg("kind"), nb::arg("workers"), nb::arg("values"),
          nb::arg("marginals").none());
    m.def("entropy_of_scores", &entropy_of_scores<double>, nb::arg("scores"),
          nb::arg("lengths").none(), nb::arg("kind"), nb::arg("workers"), nb::arg("values"),
          nb::arg("gradients").none());
    m.def("entropy_of_scores", &entropy_of_scores<float>, nb::arg("scores"),
          nb::arg("lengths").none(), nb::arg("kind"), nb::arg("workers"), nb::arg("values"),
          nb::arg("gradients").none());
    m.def("log_prob", &log_prob, nb::arg("log_weights"), nb::arg("lengths"), nb::arg("kind"),
          nb::arg("parts"), nb::arg("column_shift"), nb::arg("heads"), nb::arg("out"));
    m.def("arc_marginals", &arc_marginals, nb::arg("log_weights"), nb::arg("lengths"),
          nb::arg("kind"), nb::arg("workers"), nb::arg("out"), nb::arg("one_by_one") = false);
    m.def("root_marginals", &root_marginals, nb::arg("log_weights"), nb::arg("lengths"),
          nb::arg("kind"), nb::arg("workers"), nb::arg("out"), nb::arg("expected_steps"));
    m.def("entropy", &entropy, nb::arg("log_weights"), nb::arg("lengths"), nb::arg("kind"),
          nb::arg("workers"), nb::arg("out"));
    m.def("renyi_entropy", &renyi_entropy, nb::arg("log_weights"), nb::arg("lengths"),
          nb::arg("kind"), nb::arg("workers"), nb::arg("order"), nb::arg("out"));
    m.def("divergence", &divergence, nb::arg("log_weights"), nb::arg("lengths"), nb::arg("kind"),
          nb::arg("other"), nb::arg("other_kind"), nb::arg("workers"), nb::arg("out"));
    m.def("arc_covariances", &arc_covariances, nb::arg("log_weights"), nb::arg("lengths"),
          nb::arg("kind"), nb::arg("workers"), nb::arg("direction"), nb::arg("out"));
    m.def("arc_cumulants", &arc_cumulants, nb::arg("log_weights"), nb::arg("lengths"),
          nb::arg("kind"), nb::arg("workers"), nb::arg("direction"), nb::arg("other"),
          nb::arg("out"));
    m.def("entropy_gradient_tangents", &entropy_gradient_tangents, nb::arg("log_weights"),
          nb::arg("lengths"), nb::arg("kind"), nb::arg("workers"), nb::arg("direction"),
          nb::arg("out"));
    m.def("entropy_gradient", &entropy_gradient, nb::arg("log_weights"), nb::arg("lengths"),
          nb::arg("kind"), nb::arg("workers"), nb::arg("out"));
    m.def("joint_marginals", &joint_marginals, nb::arg("log_weights"), nb::arg("lengths"),
          nb::arg("kind"), nb::arg("out"));
    m.def("mean_hitting_time", &mean_hitting_time, nb::arg("log_weights"), nb::arg("lengths"),
          nb::arg("workers"), nb::arg("out"));
}

}  // namespace arborand
