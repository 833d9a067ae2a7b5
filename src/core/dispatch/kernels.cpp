// The table of kernels.hpp for one instruction set.
#include "dispatch/kernels.hpp"

#include <cmath>

#include "best_trees/best_tree.hpp"
#include "best_trees/best_trees.hpp"
#include "best_trees/projective_best_trees.hpp"
#include "inference/covariances.hpp"
#include "inference/cumulants.hpp"
#include "inference/entropy.hpp"
#include "inference/entropy_gradient.hpp"
#include "inference/greedy_tree.hpp"
#include "inference/hitting_times.hpp"
#include "inference/joint_marginals.hpp"
#include "inference/log_partition.hpp"
#include "inference/marginals.hpp"
#include "inference/tree_check.hpp"
#include "numbers/floating_point_guard.hpp"
#include "numbers/logarithm.hpp"
#include "sampling/projective_sampler.hpp"
#include "sampling/with_replacement.hpp"
#include "sampling/without_replacement.hpp"
#include "walk/problem_of_four_graphs.hpp"

namespace arborand {
namespace ARBORAND_ISA {
namespace {

void logarithms(double* x, Index count) {
    const FloatingPointGuard guard;
    take_logarithms(x, count);
}

bool logarithms_of_weights(const double* weights, double* logarithms, Index count) {
    const FloatingPointGuard guard;
    return take_logarithms_of_weights(weights, logarithms, count);
}

// Whether is_found(four numbers) is set for any number.
template <class IsFound>
bool any_of(const double* x, Index count, const IsFound& is_found) {
    FourIntegers found = {0, 0, 0, 0};
    Index i = 0;
    for (; i + vector_length <= count; i += vector_length) found |= is_found(load(x + i));
    for (; i < count; ++i) found |= is_found(broadcast(x[i]));
    return any(found);
}

bool has_zero_or_low(const double* x, Index count, double low) {
    return any_of(x, count, [low](FourDoubles numbers) {
        return (numbers == 0.0) | ((numbers <= low) & (numbers > -HUGE_VAL));
    });
}

bool all_below_infinity(const double* x, Index count) {
    return !any_of(x, count, [](FourDoubles numbers) { return ~(numbers < HUGE_VAL); });
}

template <class Work>
Status run(const Graph& graph, Scratch& scratch, const Interrupt& interrupt, Work& work) {
    const FloatingPointGuard guard;
    Arena arena(scratch);
    return solve(graph, work, arena, interrupt);
}

// On one graph or on four; work_from(g) makes the work on the graphs from g on.
template <class WorkFrom>
Status run_all(const Graph* graphs, Index count, Scratch& scratch, const Interrupt& interrupt,
               const WorkFrom& work_from) {
    const FloatingPointGuard guard;
    Arena arena(scratch);
    return solve_all(
        count,
        [&] {
            auto work = work_from(0);
            return attempt_four(graphs, work, arena, interrupt);
        },
        [&](Index g) {
            auto work = work_from(g);
            return solve(graphs[g], work, arena, interrupt);
        });
}

Status log_partition(const Graph* graphs, Index count, Scratch& scratch, const Interrupt& interrupt,
                     PartitionOutput* outputs, double* const* marginals, Index stride) {
    if (marginals != nullptr) {
        return run_all(graphs, count, scratch, interrupt, [&](Index g) {
            return LogPartitionAndMarginals{{outputs + g}, {marginals + g, stride}};
        });
    }
    const FloatingPointGuard guard;
    Arena arena(scratch);
    return solve_all(
        count,
        [&] {
            LogPartition work{outputs};
            return attempt_four_as_a_whole(graphs, work, arena, interrupt);
        },
        [&](Index g) {
            LogPartition work{outputs + g};
            return solve_as_a_whole(graphs[g], work, arena, interrupt);
        });
}

Status log_prob(const Graph& graph, const PartitionOutput& partition, Scratch& scratch,
                const std::int32_t* heads, Index stride, Index count, double* out, Index out_stride,
                Index& num_trees) {
    const FloatingPointGuard guard;
    Arena arena(scratch);
    const Index n = graph.num_words;
    if (!arena.reserve(TreeCheck::workspace(graph) + Arena::rounded<std::int32_t>(2 * (n + 1)))) {
        return Status::no_memory;
    }
    TreeCheck tree(graph, arena);
    std::int32_t* room = arena.take<std::int32_t>(2 * (n + 1));
    for (num_trees = 0; num_trees < count; ++num_trees) {
        if (!tree.take(heads + num_trees * stride)) break;
        const bool is_of_kind = (!graph.has_single_root() || tree.num_root_arcs() == 1) &&
                                (!graph.is_projective() || is_projective(tree.heads(), n, room));
        out[num_trees * out_stride] =
            is_of_kind ? log_prob_of(graph, partition, tree.heads()) : -HUGE_VAL;
    }
    return Status::ok;
}

Status arc_marginals(const Graph* graphs, Index count, Scratch& scratch, const Interrupt& interrupt,
                     double* const* marginals, Index stride) {
    return run_all(graphs, count, scratch, interrupt,
                   [&](Index g) { return ArcMarginals{marginals + g, stride}; });
}

Status root_marginals(const Graph* graphs, Index count, Scratch& scratch,
                      const Interrupt& interrupt, double* const* marginals,
                      double* expected_steps) {
    if (graphs[0].has_single_root() && !graphs[0].is_projective()) {
        return run_all(graphs, count, scratch, interrupt,
                       [&](Index g) { return DependencyRootMarginals{marginals + g}; });
    }
    return run_all(graphs, count, scratch, interrupt, [&](Index g) {
        return SpanningRootMarginals{marginals + g, expected_steps + g};
    });
}

Status entropy(const Graph* graphs, Index count, Scratch& scratch, const Interrupt& interrupt,
               double* entropies) {
    const FloatingPointGuard guard;
    Arena arena(scratch);
    return find_entropies(graphs, count, entropies, arena, interrupt);
}

Status renyi_entropy(const Graph& graph, Scratch& scratch, const Interrupt& interrupt, double order,
                     double* entropy) {
    const FloatingPointGuard guard;
    CarriedEntropy work{order, 0.0};
    Arena arena(scratch);
    const Status status = solve_beyond_double(graph, work, arena, interrupt);
    *entropy = work.entropy;
    return status;
}

Status tree_surprisal(const Graph& graph, Scratch& scratch, const Interrupt& interrupt,
                      bool is_given, std::int32_t* heads, double* surprisal) {
    TreeSurprise work{heads, is_given, 0.0};
    const Status status = run(graph, scratch, interrupt, work);
    *surprisal = work.surprisal;
    return status;
}

Status arc_covariances(const Graph* graphs, Index count, Scratch& scratch,
                       const Interrupt& interrupt, const double* const* directions,
                       double* const* covariances, Index stride) {
    return run_all(graphs, count, scratch, interrupt, [&](Index g) {
        return ArcCovariances{directions + g, stride, covariances + g, stride};
    });
}

Status arc_cumulants(const Graph* graphs, Index count, Scratch& scratch, const Interrupt& interrupt,
                     const double* const* directions, const double* const* others,
                     double* const* cumulants, Index stride) {
    return run_all(graphs, count, scratch, interrupt, [&](Index g) {
        return ArcCumulants{directions + g, others + g, cumulants + g, stride};
    });
}

Status entropy_gradient(const Graph* graphs, Index count, Scratch& scratch,
                        const Interrupt& interrupt, double* const* gradients, Index stride,
                        double* entropies) {
    const FloatingPointGuard guard;
    Arena arena(scratch);
    return find_entropy_gradients(graphs, count, gradients, stride, entropies, arena, interrupt);
}

Status entropy_gradient_tangents(const Graph& graph, Scratch& scratch, const Interrupt& interrupt,
                                 const double* direction, double* tangents, Index stride) {
    const FloatingPointGuard guard;
    EntropyGradientTangents work{direction, tangents, stride};
    Arena arena(scratch);
    return solve_beyond_double(graph, work, arena, interrupt);
}

Status joint_marginals(const Graph& graph, Scratch& scratch, const Interrupt& interrupt,
                       double* joint, Index size) {
    JointMarginals work{joint, size};
    return run(graph, scratch, interrupt, work);
}

Status mean_hitting_time(const Graph& graph, Scratch& scratch, const Interrupt& interrupt,
                         double* mean) {
    MeanHittingTime work{0.0};
    const Status status = run(graph, scratch, interrupt, work);
    *mean = work.mean;
    return status;
}

Status prepare(const Graph& graph, Method method, const DrawRule& rule, Prepared& memory,
               Scratch& work, const Interrupt& interrupt) {
    const FloatingPointGuard guard;
    memory.is_projective = graph.is_projective();
    if (memory.is_projective) {
        return ProjectiveSampler::prepare(graph, rule, memory, work, interrupt);
    }
    return Sampler::prepare(graph, method, rule, memory, work, interrupt);
}

Status draw(const Prepared& memory, const StreamKey& key, const DrawRange& range,
            std::int32_t* heads, Index stride, Scratch& work, const Interrupt& interrupt,
            SampleCounts& counts) {
    const FloatingPointGuard guard;
    if (memory.is_projective) {
        return ProjectiveSampler::in(memory).draw(key, range, heads, stride, work, interrupt,
                                                  counts);
    }
    return draw_trees(Sampler::in(memory), key, range, heads, stride, work, interrupt, counts);
}

void* make_distinct(const Graph& graph, const StreamKey& key, std::uint64_t graph_index,
                    const SwitchRule& rule) {
    const FloatingPointGuard guard;
    return make_tree_sequence(graph, key, graph_index, rule);
}

Status next_distinct(void* sequence, const Interrupt& interrupt, DistinctTree& output) {
    const FloatingPointGuard guard;
    return static_cast<TreeSequence*>(sequence)->next(interrupt, output);
}

void free_distinct(void* sequence) { delete static_cast<TreeSequence*>(sequence); }

Status best_tree(const Graph& graph, Scratch& scratch, const Interrupt& interrupt, double caution,
                 std::int32_t* heads, BestCounts& counts) {
    const FloatingPointGuard guard;
    Arena arena(scratch);
    if (graph.is_projective()) {
        return find_best_projective(graph, arena, interrupt, caution, heads, counts);
    }
    return BestTreeSearch(graph, arena, interrupt, counts).best(caution, heads);
}

void* make_best_trees(const Graph& graph, double caution) {
    return make_best_tree_sequence(graph, caution);
}

Status next_best_tree(void* sequence, const Interrupt& interrupt, const std::int32_t*& heads,
                      BestCounts& counts) {
    const FloatingPointGuard guard;
    return static_cast<BestTreeSequence*>(sequence)->next(interrupt, heads, counts);
}

void free_best_trees(void* sequence) { delete static_cast<BestTreeSequence*>(sequence); }

}  // namespace

#define ARBORAND_STRING(name) #name
#define ARBORAND_NAME(name) ARBORAND_STRING(name)

const Kernels& kernels() {
    static const Kernels table = {ARBORAND_NAME(ARBORAND_ISA),
                                  logarithms,
                                  logarithms_of_weights,
                                  has_zero_or_low,
                                  all_below_infinity,
                                  log_partition,
                                  log_prob,
                                  arc_marginals,
                                  root_marginals,
                                  entropy,
                                  renyi_entropy,
                                  tree_surprisal,
                                  arc_covariances,
                                  arc_cumulants,
                                  entropy_gradient,
                                  entropy_gradient_tangents,
                                  joint_marginals,
                                  mean_hitting_time,
                                  prepare,
                                  draw,
                                  make_distinct,
                                  next_distinct,
                                  free_distinct,
                                  best_tree,
                                  make_best_trees,
                                  next_best_tree,
                                  free_best_trees};
    return table;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
