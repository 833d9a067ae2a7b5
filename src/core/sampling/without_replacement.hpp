// Distinct trees in the order of sequential sampling without replacement, to the last one.
//
// While little of the mass has been drawn, draws with replacement are made and repeats dropped.
// When that no longer pays (or at once), the trees not yet drawn are kept as a disjoint union of
// subspaces
//
//     "choices 0 .. j - 1 are these, choice j is none of X"
//
// (the choices are heads, or those of projective/derivation.hpp), one for every prefix that a drawn
// tree has, so that the prefixes form a trie.  A draw picks a subspace in proportion to its mass,
// draws a tree in it by the ancestral sampler, and splits it along the tree's path.  The mass of
// each new subspace is the chance of its prefix times a *sum* of the conditionals of the heads not
// in X: never 1 - p, so nothing cancels.  The paper's `swor` subtracts the weights of the drawn
// trees from Z, so a tree of probability 1 - 1e-19 leaves it nothing; here the other trees keep
// their full relative accuracy, and the support is exhausted exactly when all masses are 0.
//
// The switch is exact because the state of both ways is the same, the set of trees drawn: the next
// tree that is not in it has the law P(t) / (mass not drawn), whether it is found by rejection or
// by subspaces.  It depends only on the trees drawn, so that a longer sequence continues a shorter
// one.
//
// Cost: O(n^3) per tree at most, O(n) memory per tree.
#pragma once

#include <cmath>
#include <cstring>
#include <new>

#include "inference/log_partition.hpp"
#include "memory/growing_array.hpp"
#include "numbers/exponential.hpp"
#include "numbers/logarithm.hpp"
#include "numbers/sums.hpp"
#include "randomness/philox.hpp"
#include "randomness/sum_tree.hpp"
#include "sampling/projective_subspaces.hpp"
#include "sampling/subspaces.hpp"
#include "sampling/with_replacement.hpp"
#include "types/requests.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// The streams of the contract (randomness/philox.hpp) in counter word 1: draws with replacement,
// draws from subspaces, and the perturbations that go with the order.
constexpr std::uint64_t partition_stream = 1;
constexpr std::uint64_t perturbation_stream = 2;

// The sequence of distinct trees of one graph, whatever its masses are made of.
class TreeSequence {
  public:
    virtual ~TreeSequence() = default;

    // The next tree; output.exhausted if there is none.
    virtual Status next(const Interrupt& interrupt, DistinctTree& output) = 0;
};

template <class Choices>  // HeadChoices or ProjectiveChoices
class DistinctTrees : public TreeSequence {
    using Mass = typename Choices::Mass;

  public:
    DistinctTrees(const Graph& graph, const StreamKey& key, std::uint64_t graph_index,
                  const SwitchRule& rule)
        : graph_(graph), key_(key), graph_index_(graph_index), rule_(rule) {}

    Status next(const Interrupt& interrupt, DistinctTree& output) override {
        if (!started_) {
            const Status status = start(interrupt);
            if (status != Status::ok) return status;
        }
        if (!partitioned_ && !stops_rejecting()) {
            const double log_remaining = log1p_of(-covered_.value());
            bool is_new = false;
            const Status status = draw_new(interrupt, is_new);
            if (status != Status::ok) return status;
            if (is_new) return describe_last(log_remaining, output);
        }
        if (!partitioned_) {
            const Status status = begin_partition(interrupt);
            if (status != Status::ok) return status;
        }
        if (lacks_arcs_ && is_nearly_exhausted()) {
            // Arcs that are negligible beside all trees are not beside what is left of them.
            lacks_arcs_ = false;
            const Status status = begin_partition(interrupt);
            if (status != Status::ok) return status;
        }
        output.exhausted = !is_positive(masses_.total());
        output.repeats = repeats_;
        if (output.exhausted) return Status::ok;
        const double log_remaining = log_of(masses_.total());
        const Status status = draw_in_partition(interrupt);
        return status == Status::ok ? describe_last(log_remaining, output) : status;
    }

  private:
    Index num_nodes() const { return graph_.num_words + 1; }
    Index num_choices() const { return choices_.num_choices(graph_); }
    std::int32_t* tree(Index t) { return &trees_[t * num_nodes()]; }
    std::int32_t* choices_of(Index t) { return &tree_choices_[t * num_choices()]; }

    Status start(const Interrupt& interrupt) {
        if (!column_shift_.resize(num_nodes())) return Status::no_memory;
        partition_.column_shift = &column_shift_[0];
        LogPartition log_partition{&partition_};
        Arena arena(work_);
        Status status = solve_as_a_whole(graph_, log_partition, arena, interrupt);
        if (status != Status::ok) return status;
        const bool rejects = rule_.below < 1.0 && rule_.after != 0;
        status = Choices::prepare(graph_, rejects, prepared_, work_, interrupt);
        if (status != Status::ok) return status;
        lacks_arcs_ = Choices::lacks_arcs(prepared_);
        started_ = true;
        return status;
    }

    // Write down what is known of the last tree.
    Status describe_last(double log_remaining, DistinctTree& output) {
        const std::int32_t* heads = tree(num_trees_ - 1);
        output.exhausted = false;
        output.repeats = repeats_;
        repeats_ = 0;
        output.log_remaining = log_remaining < 0 ? log_remaining : 0.0;
        output.heads = heads;
        output.log_prob = log_prob_of(graph_, partition_, heads);
        covered_.add(exp_of(output.log_prob));
        perturb(output);
        return Status::ok;
    }

    bool stops_rejecting() const {
        const double remaining = 1.0 - covered_.value();
        return remaining <= rule_.below || (rule_.after >= 0 && num_trees_ >= rule_.after);
    }

    // In the exponential race behind the order, the trees not yet drawn arrive at the rate of their
    // mass; -log of the arrival time is the tree's log-probability plus a Gumbel variable.
    void perturb(DistinctTree& output) {
        Stream stream(key_, graph_index_, static_cast<std::uint64_t>(num_trees_ - 1),
                      perturbation_stream);
        // In (0, 1): neither 0 nor 1, whose logarithms would be infinite or leave no wait.
        const double uniform =
            (static_cast<double>(stream.next() >> 12) + 0.5) * (1.0 / 4503599627370496.0);
        const double log_wait = log_of(-log_of(uniform)) - output.log_remaining;
        const double gap = log_wait - log_arrival_;
        // What has less mass than a double can say arrives later than a double can say.
        log_arrival_ = !(log_wait < HUGE_VAL) ? HUGE_VAL
                       : gap > 0              ? log_wait + log1p_of(exp_of(-gap))
                                              : log_arrival_ + log1p_of(exp_of(gap));
        output.perturbed_log_prob = -log_arrival_;
    }

    // ---- rejection

    // Rejection stops where a new tree takes 1 / below tries on average, because the partition then
    // costs no more.  Sixteen times as many in a row happen with a chance of e^-16 at most, unless
    // scores are so large that the mass itself is not known: so the work between two trees is that
    // of a few draws from the partition, whatever happens.  To give up leaves the law as it is,
    // because what was rejected says nothing about the next new tree; and it depends on the
    // graph and its draws alone, so that a longer sequence continues a shorter one.
    static std::int64_t most_repeats(const SwitchRule& rule) {
        if (rule.most_repeats >= 0) return rule.most_repeats;
        constexpr double most = 1 << 16;
        return static_cast<std::int64_t>(rule.below * most > 16.0 ? 16.0 / rule.below : most);
    }

    Status draw_new(const Interrupt& interrupt, bool& is_new) {
        if (!trees_.resize((num_trees_ + 1) * num_nodes())) return Status::no_memory;
        std::int32_t* heads = tree(num_trees_);
        is_new = false;
        for (repeats_ = 0; !is_new; repeats_ += !is_new) {
            if (repeats_ == most_repeats(rule_)) return Status::ok;
            const DrawRange range{graph_index_, tries_++, 1};
            const Status status =
                Choices::draw_any(prepared_, key_, range, heads, graph_.stride, work_, interrupt);
            if (status != Status::ok) return status;
            if ((tries_ % 64 == 0 || num_nodes() >= 128) && interrupt.requested()) {
                return Status::interrupted;
            }
            if (!insert(num_trees_, is_new)) return Status::no_memory;
        }
        ++num_trees_;
        return Status::ok;
    }

    std::uint64_t hash(const std::int32_t* heads) const {
        std::uint64_t h = 0;
        for (Index j = 1; j < num_nodes(); ++j) {
            h = (h ^ static_cast<std::uint32_t>(heads[j])) * 0x9E3779B97F4A7C15u;
            h ^= h >> 29;
        }
        return h;
    }

    // Open addressing, at most half full.
    bool insert(Index t, bool& is_new) {
        if (2 * (t + 1) > seen_.size()) {
            const Index old = seen_.size();
            const Index size = old == 0 ? 64 : 2 * old;
            if (!seen_.resize(size)) return false;
            for (Index i = 0; i < size; ++i) seen_[i] = -1;
            for (Index i = 0; i < t; ++i) seen_[place(i)] = static_cast<std::int32_t>(i);
        }
        const Index slot = place(t);
        is_new = seen_[slot] < 0;
        if (is_new) seen_[slot] = static_cast<std::int32_t>(t);
        return true;
    }

    // Where tree t is, or where it belongs.
    Index place(Index t) {
        const std::int32_t* heads = tree(t);
        const Index mask = seen_.size() - 1;
        Index slot = static_cast<Index>(hash(heads)) & mask;
        const std::size_t bytes = static_cast<std::size_t>(num_nodes()) * sizeof(std::int32_t);
        while (seen_[slot] >= 0 && std::memcmp(tree(seen_[slot]), heads, bytes) != 0) {
            slot = (slot + 1) & mask;
        }
        return slot;
    }

    // ---- partition

    // Arcs that are left out have e^-800 of all trees: little beside this.
    bool is_nearly_exhausted() const {
        constexpr double log_little = -650.0;
        return !is_positive(masses_.total()) || log_of(masses_.total()) < log_little;
    }

    // Again from the beginning, if there is a partition already.
    Status begin_partition(const Interrupt& interrupt) {
        const Status begun = choices_.begin(graph_, interrupt);
        if (begun != Status::ok) return begun;
        for (Index i = 0; i < prefixes_.size(); ++i) masses_.set(i, Mass());
        if (!prefixes_.resize(1) || !tree_choices_.resize(num_trees_ * num_choices()) ||
            !links_.resize(0) || !masses_.reserve(1)) {
            return Status::no_memory;
        }
        prefixes_[0] = {Mass(1.0), 0, 0, -1};
        masses_.set(0, Mass(1.0));
        // Take out the trees drawn so far, as if they had been drawn here.
        for (Index t = 0; t < num_trees_; ++t) {
            if (interrupt.requested()) return Status::interrupted;
            choices_.find_choices(graph_, tree(t), choices_of(t));
            const Status status = split(subspace_of(choices_of(t)), t, tree(t), interrupt);
            if (status != Status::ok) return status;
        }
        partitioned_ = true;
        return Status::ok;
    }

    Index subspace_of(const std::int32_t* choices) const {
        Index prefix = 0;
        for (;;) {
            std::int32_t link = prefixes_[prefix].first_link;
            const std::int32_t choice = choices[prefixes_[prefix].position];
            while (link >= 0 && links_[link].choice != choice) link = links_[link].next;
            if (link < 0) return prefix;
            prefix = links_[link].prefix;
        }
    }

    Status draw_in_partition(const Interrupt& interrupt) {
        if (!trees_.resize((num_trees_ + 1) * num_nodes()) ||
            !tree_choices_.resize((num_trees_ + 1) * num_choices())) {
            return Status::no_memory;
        }
        if (interrupt.requested()) return Status::interrupted;
        stream_ =
            Stream(key_, graph_index_, static_cast<std::uint64_t>(num_trees_), partition_stream);
        const Index prefix = masses_.draw(stream_);
        const Status status = split(prefix, num_trees_, nullptr, interrupt);
        if (status == Status::ok) ++num_trees_;
        return status;
    }

    // Draw a tree in a subspace (or take the given one), write it as tree t, and replace the
    // subspace by what is left of it.
    Status split(Index at, Index t, const std::int32_t* given, const Interrupt& interrupt) {
        const Prefix<Mass> prefix = prefixes_[at];
        SplittingDraw<Mass> draw{prefix, choices_of(prefix.tree), given, links_, stream_};
        Path<Mass> path{choices_of(t), tree(t), nullptr, nullptr};
        const Status status =
            choices_.draw(graph_, prepared_, draw, lacks_arcs_, work_, interrupt, path);
        if (status != Status::ok) return status;

        const Index n = num_choices();
        const Index added = n - prefix.position - 1;  // new prefixes, one for each later choice
        const Index first_new = prefixes_.size();
        const Index first_link = links_.size();
        if (!prefixes_.resize(first_new + added) || !links_.resize(first_link + added + 1) ||
            !masses_.reserve(first_new + added)) {
            return Status::no_memory;
        }
        Mass chance = prefix.chance;
        Index current = at;
        for (Index j = prefix.position; j < n; ++j) {
            const Index step = j - prefix.position;
            const Index following = j + 1 < n ? first_new + step : -1;
            links_[first_link + step] = {path.choices[j], static_cast<std::int32_t>(following),
                                         prefixes_[current].first_link};
            prefixes_[current].first_link = static_cast<std::int32_t>(first_link + step);
            masses_.set(current, chance * path.passed[j]);
            chance = chance * path.kept[j];
            if (following >= 0) {
                prefixes_[following] = {chance, static_cast<std::int32_t>(t),
                                        static_cast<std::int32_t>(j + 1), -1};
                current = following;
            }
        }
        return Status::ok;
    }

    Graph graph_;
    StreamKey key_;
    std::uint64_t graph_index_;
    SwitchRule rule_;
    bool started_ = false, partitioned_ = false;
    bool lacks_arcs_ = false;  // whether the partition is that of the graph without negligible arcs
    Prepared prepared_;
    Scratch work_;
    PartitionOutput partition_{};
    GrowingArray<double> column_shift_;
    GrowingArray<std::int32_t> trees_;  // num_nodes heads each
    Choices choices_;
    GrowingArray<std::int32_t> tree_choices_;  // num_choices each, once there is a partition
    Index num_trees_ = 0;
    CompensatedSum covered_;  // the mass of the trees drawn, for the switch
    double log_arrival_ = -HUGE_VAL;
    std::uint64_t tries_ = 0;
    std::int64_t repeats_ = 0;         // since the last new tree
    GrowingArray<std::int32_t> seen_;  // hash table of trees
    GrowingArray<Prefix<Mass>> prefixes_;
    GrowingArray<Link> links_;
    SumTree<Mass> masses_;
    Stream stream_{key_, 0, 0};
};

template <template <class Mass> class Choices, class... Arguments>
TreeSequence* make_tree_sequence_of(const Graph& graph, const Arguments&... arguments) {
    if (needs_exact_scale(graph)) {
        return new (std::nothrow) DistinctTrees<Choices<ExactlyScaled>>(graph, arguments...);
    }
    return new (std::nothrow) DistinctTrees<Choices<UnboundedDouble>>(graph, arguments...);
}

// Null: no memory.
inline TreeSequence* make_tree_sequence(const Graph& graph, const StreamKey& key,
                                        std::uint64_t graph_index, const SwitchRule& rule) {
    return graph.is_projective()
               ? make_tree_sequence_of<ProjectiveChoices>(graph, key, graph_index, rule)
               : make_tree_sequence_of<HeadChoices>(graph, key, graph_index, rule);
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
