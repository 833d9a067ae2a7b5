// Distinct trees in the order of sequential sampling without replacement, to the last one.
//
// While little of the mass has been drawn, draws with replacement are made and repeats dropped.
// When that stops paying (or at once), the trees not yet drawn are held as a disjoint union of
// subspaces
//
//     "the heads of nodes 1 .. j - 1 are these, the head of j is none of X",
//
// one for every prefix that a drawn tree has, so that the prefixes form a trie.  A draw picks a
// subspace in proportion to its mass, draws a tree in it by the ancestral sampler, and splits it
// along the tree's path.  The mass of each new subspace is the chance of its prefix times a *sum*
// of the conditionals of the heads not in X: never 1 - p, so nothing cancels.  Where the paper's
// `swor` subtracts the weights of the drawn trees from Z, a tree of probability 1 - 1e-19 leaves it
// nothing; here the other trees keep their full relative accuracy, and the support is exhausted
// exactly when all masses are 0.
//
// The switch is exact because the state of both ways is the same, the set of trees drawn: the next
// tree that is not in it has the law P(t) / (mass not drawn), whether it is found by rejection or
// by subspaces.  It depends on the trees drawn alone, so that a longer sequence continues a shorter
// one.
//
// Cost: O(n^3) a tree at most, O(n) memory a tree.
#pragma once

#include <cstring>

#include "sampling.hpp"
#include "sum_tree.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// The streams of the contract (philox.hpp) in counter word 1: draws with replacement, draws from
// subspaces, and the perturbations that go with the order.
constexpr std::uint64_t partition_stream = 1;
constexpr std::uint64_t perturbation_stream = 2;

struct Prefix {
    Wide chance;              // of the heads of nodes 0 .. position - 1
    std::int32_t tree;        // a drawn tree with these heads
    std::int32_t position;    // the first node whose head is open
    std::int32_t first_link;  // the heads it has in drawn trees: X, as a list
};

struct Link {
    std::int32_t head;    // of the open node; -1 is the root
    std::int32_t prefix;  // the prefix continued by it; -1 after the last node
    std::int32_t next;
};

// The leaf that draws in a subspace, or follows a given tree, and records what it passes by.
template <class Scalar>
struct SplittingLeaf : DecidingLeaf {
    Index n;
    Scalar* chance;             // n + 1
    const std::int32_t* given;  // the tree to follow, or null to draw
    Index position;
    const Growing<Link>& links;
    std::int32_t first_link;
    Stream& stream;
    Wide* kept;    // [node]: the conditional of its head
    Wide* passed;  // [node]: the sum of the conditionals of all heads that are still open

    void visit(Index j, const LeafView<Scalar>& leaf) {
        head_chances(n, leaf, chance);
        if (j == position) {
            for (std::int32_t link = first_link; link >= 0; link = links[link].next) {
                chance[links[link].head + 1] = Scalar(0.0);
            }
        }
        Index drawn;
        if (given != nullptr) {
            drawn = given[j + 1];
        } else if (j == position) {
            // What is left may be a tiny part of 1: scale it up before it is drawn from.
            const Scalar left = censoring_detail::sum(chance, n + 1);
            drawn = draw_scaled(left);
        } else {
            drawn = draw_index(chance, n + 1, stream);
        }
        kept[j] = widened(chance[drawn]);
        chance[drawn] = Scalar(0.0);
        passed[j] = widened(censoring_detail::sum(chance, n + 1));
        heads[j] = drawn - 1;
    }

    Index draw_scaled(Scalar total) {
        ScaledChances scaled{chance, total};
        return draw_index(scaled, n + 1, stream);
    }

    struct ScaledChances {
        const Scalar* chance;
        Scalar total;
        Scalar operator[](Index i) const { return chance[i] / total; }
    };
};

struct SplittingDraw {
    const Prefix& prefix;
    const std::int32_t* prefix_heads;  // a tree with the prefix
    const std::int32_t* given;
    const Growing<Link>& links;
    const Stream start;
    Index* heads;
    Wide* kept;
    Wide* passed;

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return Arena::rounded<Index>(n) + 2 * Arena::rounded<Wide>(n) +
               Arena::rounded<Scalar>(n + 1) +
               Recursion<Scalar, SplittingLeaf<Scalar>>::workspace(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        const Index n = problem.graph.num_words;
        heads = problem.arena.template take<Index>(n);
        kept = problem.arena.template take<Wide>(n);
        passed = problem.arena.template take<Wide>(n);
        for (Index j = 0; j < n; ++j) {
            heads[j] = j < prefix.position ? prefix_heads[j + 1] - 1 : undecided;
        }
        Stream stream = start;
        SplittingLeaf<Scalar> leaf{{heads},
                                   n,
                                   problem.arena.template take<Scalar>(n + 1),
                                   given,
                                   prefix.position,
                                   links,
                                   prefix.first_link,
                                   stream,
                                   kept,
                                   passed};
        return Recursion<Scalar, SplittingLeaf<Scalar>>(problem.walk, n, leaf, problem.arena,
                                                        problem.interrupt)
            .run();
    }
};

// The sequence of distinct trees of one graph.
class DistinctTrees {
  public:
    DistinctTrees(const Graph& graph, const StreamKey& key, std::uint64_t graph_index,
                  const SwitchRule& rule)
        : graph_(graph), key_(key), graph_index_(graph_index), rule_(rule) {}

    ~DistinctTrees() {
        std::free(prepared_.memory);
        std::free(work_.memory);
    }

    // The next tree; output.exhausted if there is none.
    Status next(const Interrupt& interrupt, DistinctTree& output) {
        if (!started_) {
            const Status status = start(interrupt);
            if (status != Status::ok) return status;
        }
        if (!partitioned_ && !stops_rejecting()) {
            const double log_remaining = std::log1p(-covered_.value());
            bool is_new = false;
            const Status status = draw_new(interrupt, is_new);
            if (status != Status::ok) return status;
            if (is_new) return tell(log_remaining, output);
        }
        if (!partitioned_) {
            const Status status = begin_partition(interrupt);
            if (status != Status::ok) return status;
        }
        output.exhausted = !is_positive(masses_.total());
        if (output.exhausted) return Status::ok;
        const double log_remaining = log_of(masses_.total());
        const Status status = draw_in_partition(interrupt);
        return status == Status::ok ? tell(log_remaining, output) : status;
    }

  private:
    Index num_nodes() const { return graph_.num_words + 1; }
    std::int32_t* tree(Index t) { return &trees_[t * num_nodes()]; }

    Status start(const Interrupt& interrupt) {
        if (!column_shift_.resize(num_nodes())) return Status::no_memory;
        partition_.column_shift = &column_shift_[0];
        LogPartition log_partition{partition_};
        Arena arena(work_);
        Status status = solve(graph_, log_partition, arena, interrupt);
        if (status != Status::ok) return status;
        const bool rejects = rule_.below < 1.0 && rule_.after != 0;
        status = Sampler::prepare(graph_, rejects ? Method::wilson : Method::colbourn, -1,
                                  prepared_, work_, interrupt);
        started_ = status == Status::ok;
        return status;
    }

    // What is known of the last tree.
    Status tell(double log_remaining, DistinctTree& output) {
        const std::int32_t* heads = tree(num_trees_ - 1);
        output.exhausted = false;
        output.log_remaining = log_remaining < 0 ? log_remaining : 0.0;
        output.heads = heads;
        output.log_prob = log_prob_of(graph_, partition_, heads);
        covered_.add(std::exp(output.log_prob));
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
        const double log_wait = std::log(-std::log(uniform)) - output.log_remaining;
        const double gap = log_wait - log_arrival_;
        log_arrival_ = gap > 0 ? log_wait + std::log1p(std::exp(-gap))
                               : log_arrival_ + std::log1p(std::exp(gap));
        output.perturbed_log_prob = -log_arrival_;
    }

    // ---- rejection

    // So many repeats in a row never happen while some mass is left, but for scores so large that
    // the mass itself is not known.  To give up then leaves the law as it is: what was drawn in
    // vain says nothing about the next new tree.
    static constexpr int most_repeats = 1 << 16;

    Status draw_new(const Interrupt& interrupt, bool& is_new) {
        if (!trees_.resize((num_trees_ + 1) * num_nodes())) return Status::no_memory;
        std::int32_t* heads = tree(num_trees_);
        is_new = false;
        for (int repeats = 0; !is_new; ++repeats) {
            if (repeats == most_repeats) return Status::ok;
            SampleCounts counts;
            const DrawRange range{graph_index_, tries_++, 1};
            const Status status = draw_trees(Sampler::in(prepared_), key_, range, heads,
                                             graph_.stride, work_, interrupt, counts);
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

    Status begin_partition(const Interrupt& interrupt) {
        // From the start, also where an earlier attempt was interrupted.
        masses_.clear();
        if (!links_.resize(0) || !prefixes_.resize(1) || !masses_.reserve(1)) {
            return Status::no_memory;
        }
        prefixes_[0] = {Wide(1.0, 0.0), 0, 0, -1};
        masses_.set(0, Wide(1.0, 0.0));
        // Take out the trees drawn so far, as if they had been drawn here.
        for (Index t = 0; t < num_trees_; ++t) {
            if (interrupt.requested()) return Status::interrupted;
            const Status status = split(subspace_of(tree(t)), t, tree(t), interrupt);
            if (status != Status::ok) return status;
        }
        partitioned_ = true;
        return Status::ok;
    }

    Index subspace_of(const std::int32_t* heads) const {
        Index prefix = 0;
        for (;;) {
            std::int32_t link = prefixes_[prefix].first_link;
            const std::int32_t head = heads[prefixes_[prefix].position + 1] - 1;
            while (link >= 0 && links_[link].head != head) link = links_[link].next;
            if (link < 0) return prefix;
            prefix = links_[link].prefix;
        }
    }

    Status draw_in_partition(const Interrupt& interrupt) {
        if (!trees_.resize((num_trees_ + 1) * num_nodes())) return Status::no_memory;
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
        const Prefix prefix = prefixes_[at];
        SplittingDraw draw{prefix,  tree(prefix.tree), given,   links_,
                           stream_, nullptr,           nullptr, nullptr};
        const Status status = run(draw, interrupt);
        if (status != Status::ok) return status;

        const Index n = graph_.num_words;
        const Index added = n - prefix.position - 1;  // new prefixes, one for each later node
        const Index first_new = prefixes_.size();
        const Index first_link = links_.size();
        if (!prefixes_.resize(first_new + added) || !links_.resize(first_link + added + 1) ||
            !masses_.reserve(first_new + added)) {
            return Status::no_memory;
        }
        std::int32_t* heads = tree(t);
        heads[0] = -1;
        for (Index j = 0; j < n; ++j) heads[j + 1] = static_cast<std::int32_t>(draw.heads[j] + 1);
        Wide chance = prefix.chance;
        Index current = at;
        for (Index j = prefix.position; j < n; ++j) {
            const Index step = j - prefix.position;
            const Index following = j + 1 < n ? first_new + step : -1;
            links_[first_link + step] = {static_cast<std::int32_t>(draw.heads[j]),
                                         static_cast<std::int32_t>(following),
                                         prefixes_[current].first_link};
            prefixes_[current].first_link = static_cast<std::int32_t>(first_link + step);
            masses_.set(current, chance * draw.passed[j]);
            chance = chance * draw.kept[j];
            if (following >= 0) {
                prefixes_[following] = {chance, static_cast<std::int32_t>(t),
                                        static_cast<std::int32_t>(j + 1), -1};
                current = following;
            }
        }
        return Status::ok;
    }

    Status run(SplittingDraw& draw, const Interrupt& interrupt) {
        const Sampler& sampler = Sampler::in(prepared_);
        Arena arena(work_);
        RangeGuard range;
        Status status = Status::left_range;
        if (sampler.fits) {
            const Index n = graph_.num_words;
            if (!arena.reserve(SplittingDraw::workspace<double>(n))) return Status::no_memory;
            Problem<double> problem{graph_, {nullptr}, sampler.rows, arena, interrupt};
            status = finish(problem, draw, range);
        }
        if (status == Status::left_range)
            status = attempt<Wide>(graph_, draw, arena, interrupt, range);
        return status;
    }

    Graph graph_;
    StreamKey key_;
    std::uint64_t graph_index_;
    SwitchRule rule_;
    bool started_ = false, partitioned_ = false;
    Scratch prepared_, work_;
    PartitionOutput partition_{};
    Growing<double> column_shift_;
    Growing<std::int32_t> trees_;  // num_nodes heads each
    Index num_trees_ = 0;
    CompensatedSum covered_;  // the mass of the trees drawn, for the switch
    double log_arrival_ = -HUGE_VAL;
    std::uint64_t tries_ = 0;
    Growing<std::int32_t> seen_;  // hash table of trees
    Growing<Prefix> prefixes_;
    Growing<Link> links_;
    SumTree masses_;
    Stream stream_{key_, 0, 0};
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
