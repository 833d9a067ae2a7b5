// The table of kernels.hpp for one instruction set.
#include "border/kernels.hpp"

#include <cmath>
#include <new>

#include "inference/entropy.hpp"
#include "inference/hitting_times.hpp"
#include "inference/log_partition.hpp"
#include "inference/marginals.hpp"
#include "inference/tree_check.hpp"
#include "numbers/floating_point_guard.hpp"
#include "numbers/logarithm.hpp"
#include "sampling/with_replacement.hpp"
#include "sampling/without_replacement.hpp"

namespace arborand {
namespace ARBORAND_ISA {
namespace {

void logarithms(double* x, Index count) {
    const FloatingPointGuard guard;
    take_logarithms(x, count);
}

template <class Work>
Status run(const Graph& graph, Scratch& scratch, const Interrupt& interrupt, Work& work) {
    const FloatingPointGuard guard;
    Arena arena(scratch);
    return solve(graph, work, arena, interrupt);
}

Status log_partition(const Graph& graph, Scratch& scratch, const Interrupt& interrupt,
                     PartitionOutput& output) {
    LogPartition work{output};
    return run(graph, scratch, interrupt, work);
}

Status log_prob(const Graph& graph, const PartitionOutput& partition, Scratch& scratch,
                const std::int32_t* heads, Index stride, Index count, double* out, Index out_stride,
                Index& num_trees) {
    const FloatingPointGuard guard;
    Arena arena(scratch);
    if (!arena.reserve(TreeCheck::workspace(graph))) return Status::no_memory;
    TreeCheck tree(graph, arena);
    for (num_trees = 0; num_trees < count; ++num_trees) {
        if (!tree.take(heads + num_trees * stride)) break;
        const bool has_its_root = !graph.single_root || tree.num_root_arcs() == 1;
        out[num_trees * out_stride] =
            has_its_root ? log_prob_of(graph, partition, tree.heads()) : -HUGE_VAL;
    }
    return Status::ok;
}

Status arc_marginals(const Graph& graph, Scratch& scratch, const Interrupt& interrupt,
                     double* marginals, Index stride) {
    ArcMarginals work{marginals, stride};
    return run(graph, scratch, interrupt, work);
}

Status root_marginals(const Graph& graph, Scratch& scratch, const Interrupt& interrupt,
                      double* marginals, double* expected_steps) {
    if (graph.single_root) {
        DependencyRootMarginals work{marginals};
        return run(graph, scratch, interrupt, work);
    }
    SpanningRootMarginals work{marginals, 0.0};
    const Status status = run(graph, scratch, interrupt, work);
    *expected_steps = work.expected_steps;
    return status;
}

Status entropy(const Graph& graph, Scratch& scratch, const Interrupt& interrupt, double* entropy) {
    Entropy work{0.0};
    const Status status = run(graph, scratch, interrupt, work);
    *entropy = work.entropy;
    return status;
}

Status mean_hitting_time(const Graph& graph, Scratch& scratch, const Interrupt& interrupt,
                         double* mean) {
    MeanHittingTime work{0.0};
    const Status status = run(graph, scratch, interrupt, work);
    *mean = work.mean;
    return status;
}

Status prepare(const Graph& graph, Method method, std::int64_t budget, Scratch& memory,
               Scratch& work, const Interrupt& interrupt) {
    const FloatingPointGuard guard;
    return Sampler::prepare(graph, method, budget, memory, work, interrupt);
}

Status draw(const Scratch& memory, const StreamKey& key, const DrawRange& range,
            std::int32_t* heads, Index stride, Scratch& work, const Interrupt& interrupt,
            SampleCounts& counts) {
    const FloatingPointGuard guard;
    return draw_trees(Sampler::in(memory), key, range, heads, stride, work, interrupt, counts);
}

void* make_distinct(const Graph& graph, const StreamKey& key, std::uint64_t graph_index,
                    const SwitchRule& rule) {
    return new (std::nothrow) DistinctTrees(graph, key, graph_index, rule);
}

Status next_distinct(void* sequence, const Interrupt& interrupt, DistinctTree& output) {
    const FloatingPointGuard guard;
    return static_cast<DistinctTrees*>(sequence)->next(interrupt, output);
}

void free_distinct(void* sequence) { delete static_cast<DistinctTrees*>(sequence); }

}  // namespace

#define ARBORAND_STRING(name) #name
#define ARBORAND_NAME(name) ARBORAND_STRING(name)

const Kernels& kernels() {
    static const Kernels table = {ARBORAND_NAME(ARBORAND_ISA),
                                  logarithms,
                                  log_partition,
                                  log_prob,
                                  arc_marginals,
                                  root_marginals,
                                  entropy,
                                  mean_hitting_time,
                                  prepare,
                                  draw,
                                  make_distinct,
                                  next_distinct,
                                  free_distinct};
    return table;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
