// What the core offers to the Python module: functions on one graph, in plain types.
//
// kernels.cpp is compiled once per instruction set (CMakeLists.txt), each time in a different
// ARBORAND_ISA namespace, and the best one the machine can run is chosen when the module is loaded.
// All of them give the same bits: vectors run over independent entries, and nothing is fused.
// Whatever kernels.cpp includes lives in that namespace or is always inlined: a function shared by
// two instruction sets would be merged by the linker, and might then hold instructions that an
// older machine does not have.
#pragma once

#include <cstdint>

#include "types/graph.hpp"
#include "types/index.hpp"
#include "types/requests.hpp"
#include "types/scratch.hpp"
#include "types/status.hpp"

namespace arborand {

// All of them work in the floating-point environment of IEEE 754, whatever the caller's is, and
// leave that as it was.
struct Kernels {
    const char* name;
    // x[i] becomes its logarithm.
    void (*logarithms)(double* x, Index count);
    // logarithms[i] of weights[i], which do not overlap, if all are 0 or finite and positive. False
    // if they are not, and sometimes if they are nearly 0; then logarithms[i] may be anything.
    bool (*logarithms_of_weights)(const double* weights, double* logarithms, Index count);
    // Whether some number is 0, or finite and at most `low`; none is NaN.
    bool (*has_zero_or_low)(const double* x, Index count, double low);
    // Whether all numbers are below +inf, and none is NaN.
    bool (*all_below_infinity)(const double* x, Index count);
    // Functions that take a list of graphs take one, or four of the same kind, number of words and
    // stride (types/graph.hpp), which are solved at once where that can be, with the bits
    // that each has alone.  Whatever else belongs to one graph is then a list, too.
    //
    // marginals[head * stride + dependent] as well, unless null
    Status (*log_partition)(const Graph*, Index count, Scratch&, const Interrupt&, PartitionOutput*,
                            double* const* marginals, Index stride);
    // The log-probabilities of `count` trees with heads[tree * stride + node], out[tree *
    // out_stride]; -inf for one outside the support.  Stops at the first that is not a tree, and
    // sets num_trees to the number before it.
    Status (*log_prob)(const Graph&, const PartitionOutput&, Scratch&, const std::int32_t* heads,
                       Index stride, Index count, double* out, Index out_stride, Index& num_trees);
    // marginals[head * stride + dependent]
    Status (*arc_marginals)(const Graph*, Index count, Scratch&, const Interrupt&,
                            double* const* marginals, Index stride);
    // marginals[dependent]; expected_steps is written for spanning trees only
    Status (*root_marginals)(const Graph*, Index count, Scratch&, const Interrupt&,
                             double* const* marginals, double* expected_steps);
    Status (*entropy)(const Graph*, Index count, Scratch&, const Interrupt&, double* entropies);
    // The Renyi entropy of an order that is neither negative nor infinite.
    Status (*renyi_entropy)(const Graph&, Scratch&, const Interrupt&, double order,
                            double* entropy);
    // -log P of a tree to full relative accuracy.  If it is not given, it is the greedy tree, and
    // its heads are written.
    Status (*tree_surprisal)(const Graph&, Scratch&, const Interrupt&, bool is_given,
                             std::int32_t* heads, double* surprisal);
    // covariances[head * stride + dependent] with the sum of direction[head * stride + dependent]
    Status (*arc_covariances)(const Graph*, Index count, Scratch&, const Interrupt&,
                              const double* const* directions, double* const* covariances,
                              Index stride);
    // cumulants[head * stride + dependent]: the derivative of the covariances with the sum of
    // `direction` in the direction `other` of the scores
    Status (*arc_cumulants)(const Graph*, Index count, Scratch&, const Interrupt&,
                            const double* const* directions, const double* const* others,
                            double* const* cumulants, Index stride);
    // gradient[head * stride + dependent], whatever the scores; and the entropies, unless null
    Status (*entropy_gradient)(const Graph*, Index count, Scratch&, const Interrupt&,
                               double* const* gradients, Index stride, double* entropies);
    // tangents[head * stride + dependent]: the derivative of that gradient in a direction
    Status (*entropy_gradient_tangents)(const Graph&, Scratch&, const Interrupt&,
                                        const double* direction, double* tangents, Index stride);
    // joint[i, j, k, l], each axis `size` long, zeros on entry: the probability of i -> j and k ->
    // l
    Status (*joint_marginals)(const Graph&, Scratch&, const Interrupt&, double* joint, Index size);
    Status (*mean_hitting_time)(const Graph&, Scratch&, const Interrupt&, double* mean);
    Status (*prepare)(const Graph&, Method, const DrawRule&, Prepared& memory, Scratch& work,
                      const Interrupt&);
    // heads[draw * stride + node]
    Status (*draw)(const Prepared& memory, const StreamKey&, const DrawRange&, std::int32_t* heads,
                   Index stride, Scratch& work, const Interrupt&, SampleCounts&);
    // A sequence of distinct trees; null: no memory.
    void* (*make_distinct)(const Graph&, const StreamKey&, std::uint64_t graph, const SwitchRule&);
    // After any status but ok the sequence is over: it may only be freed.
    Status (*next_distinct)(void* sequence, const Interrupt&, DistinctTree&);
    void (*free_distinct)(void* sequence);
    // `caution` is 1; see best_trees/certified_rows.hpp.
    Status (*best_tree)(const Graph&, Scratch&, const Interrupt&, double caution,
                        std::int32_t* heads, BestCounts&);
    // All trees from the best one on; null: no memory.  Heads are null where there are no more.
    void* (*make_best_trees)(const Graph&, double caution);
    Status (*next_best_tree)(void* sequence, const Interrupt&, const std::int32_t*& heads,
                             BestCounts&);
    void (*free_best_trees)(void* sequence);
};

namespace baseline {
const Kernels& kernels();
}
namespace avx2 {
const Kernels& kernels();
}

}  // namespace arborand
