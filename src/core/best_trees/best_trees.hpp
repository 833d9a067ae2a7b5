// All trees of one graph in order, beginning with the best: Lawler's branching.
//
// The trees not yet returned are kept as disjoint subspaces, "these arcs are in, those are out". A
// candidate is the second best tree of a subspace whose best tree has been returned, together with
// an arc of the best tree that it lacks: among the trees with that arc, the best is still the
// returned one, and among those without it, the candidate is the best.  So once the candidate
// itself is returned, each of the two halves only needs its second best tree: two searches per
// tree.
//
// Dependency trees are split by their root arc first.  As long as it is open, a candidate is the
// best tree of its subspace.  Once it is decided, it is the only root arc left, and the dependency
// trees of the subspace are its spanning trees.
//
// Cost: O(n^2) time and O(n) memory per tree, except for close scores (exact_rows.hpp).
#pragma once

#include <cmath>
#include <cstring>

#include "best_trees/best_tree.hpp"
#include "best_trees/queue.hpp"
#include "memory/growing_array.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// The trees of one graph from the best one on, however they are found.
class BestTreeSequence {
  public:
    virtual ~BestTreeSequence() = default;

    // The next tree, valid until the next call; null if there is none.  A call that was
    // interrupted can be repeated.
    virtual Status next(const Interrupt& interrupt, const std::int32_t*& heads,
                        BestCounts& counts) = 0;
};

class BestTrees : public BestTreeSequence {
  public:
    BestTrees(const Graph& graph, double caution) : graph_(graph), caution_(caution) {}
    BestTrees(const BestTrees&) = delete;
    BestTrees& operator=(const BestTrees&) = delete;

    Status next(const Interrupt& interrupt, const std::int32_t*& heads,
                BestCounts& counts) override {
        heads = nullptr;
        if (interrupt.requested()) return Status::interrupted;
        const Status status =
            given_ == not_started ? start(interrupt, counts) : split(interrupt, counts);
        if (status != Status::ok) return status;
        if (queue_.is_empty()) return Status::ok;
        given_ = queue_.pop(Order{*this});
        heads = tree(given_);
        return Status::ok;
    }

  private:
    struct Decision {
        std::int32_t previous;  // -1: none
        Node head, word;
        bool is_in;
    };

    struct Candidate {
        double loss;            // the sum of (score of the word's best head - score of its head)
        std::int32_t subspace;  // its last decision
        Node word, head;        // the arc of the best tree that it lacks; word 0: it is the best
    };

    struct Order {
        BestTrees& trees;
        bool operator()(Index a, Index b) const { return trees.comes_before(a, b); }
    };

    static constexpr Index nothing = -1, not_started = -2;

    Index num_nodes() const { return graph_.num_words + 1; }
    std::int32_t* tree(Index candidate) { return &trees_[candidate * num_nodes()]; }

    Status start(const Interrupt& interrupt, BestCounts& counts) {
        const Index n = graph_.num_words;
        const Index m = num_nodes();
        Arena arena(best_);
        if (!arena.reserve(BestHeads::workspace(n)) || !all_scores_.resize(m * m) ||
            !scores_.resize(m * m) || !all_rows_.resize(n * padded(m)) ||
            !rows_.resize(n * padded(m))) {
            return Status::no_memory;
        }
        best_score_ = BestHeads(graph_, arena).score;
        grid_ = Grid::of(graph_, caution_);
        format_ = FixedFormat::of(graph_);
        for (Index i = 0; i < m; ++i) {
            for (Index j = 0; j < m; ++j) all_scores_[i * m + j] = graph_.score(i, j);
        }
        for (Index j = 1; j < m; ++j) {
            grid_.round_word(graph_, j, best_score_[j], &all_rows_[(j - 1) * padded(m)]);
        }
        const Status status = add_best(-1, interrupt, counts);
        if (status == Status::ok) given_ = nothing;
        return status;
    }

    // Replace the subspace of the tree given last by its two halves, less the trees given.
    Status split(const Interrupt& interrupt, BestCounts& counts) {
        if (given_ == nothing) return Status::ok;
        const Candidate given = candidates_[given_];
        Node head = given.head, word = given.word;
        const bool is_best = word == 0;
        if (is_best && !graph_.has_single_root()) {
            const Status status = add_second(given.subspace, interrupt, counts);
            if (status == Status::ok) recycle();
            return status;
        }
        if (is_best) {  // the root arc is open
            const std::int32_t* heads = tree(given_);
            for (word = 1; heads[word] != 0;) ++word;
            head = 0;
        }
        if (!first_half_done_) {
            const std::int32_t with = decide(given.subspace, head, word, true);
            if (with < 0) return Status::no_memory;
            const Status status = add_second(with, interrupt, counts);
            if (status != Status::ok) return status;
            first_half_done_ = true;
        }
        const std::int32_t without = decide(given.subspace, head, word, false);
        if (without < 0) return Status::no_memory;
        const Status status =
            is_best ? add_best(without, interrupt, counts) : add_second(without, interrupt, counts);
        if (status == Status::ok) recycle();
        return status;
    }

    void recycle() {
        candidates_[given_].subspace = free_;
        free_ = static_cast<std::int32_t>(given_);
        given_ = nothing;
        first_half_done_ = false;
    }

    // -1: no memory
    std::int32_t decide(std::int32_t previous, Node head, Node word, bool is_in) {
        const Index index = decisions_.size();
        if (!decisions_.resize(index + 1)) return -1;
        decisions_[index] = {previous, head, word, is_in};
        return static_cast<std::int32_t>(index);
    }

    // The graph of a subspace's trees: scores_, and the same on the grid in rows_.
    Graph restricted(std::int32_t subspace, TreeKind kind) {
        const Index m = num_nodes();
        copy(all_scores_, scores_);
        copy(all_rows_, rows_);
        for (; subspace >= 0; subspace = decisions_[subspace].previous) {
            const Decision& decision = decisions_[subspace];
            const Node head = decision.head, word = decision.word;
            if (!decision.is_in) {
                forbid(head, word);
                continue;
            }
            for (Node i = 0; i < m; ++i) {
                if (i != head) forbid(i, word);
            }
            if (!graph_.has_single_root() || head != 0) continue;
            for (Node j = 1; j < m; ++j) {
                if (j != word) forbid(0, j);
            }
        }
        return {&scores_[0], m, graph_.num_words, kind};
    }

    void forbid(Node head, Node word) {
        scores_[head * num_nodes() + word] = -HUGE_VAL;
        rows_[(word - 1) * padded(num_nodes()) + head] = -HUGE_VAL;
    }

    static void copy(const GrowingArray<double>& from, GrowingArray<double>& to) {
        std::memcpy(&to[0], &from[0], static_cast<std::size_t>(from.size()) * sizeof(double));
    }

    Status add_best(std::int32_t subspace, const Interrupt& interrupt, BestCounts& counts) {
        if (!make_room()) return Status::no_memory;
        const Graph graph = restricted(subspace, graph_.kind);
        Arena arena(work_);
        const Status status =
            BestTreeSearch(graph, arena, interrupt, counts).best(caution_, tree(free_));
        return status == Status::ok ? push({0.0, subspace, 0, 0}) : unless_none(status);
    }

    Status add_second(std::int32_t subspace, const Interrupt& interrupt, BestCounts& counts) {
        if (!make_room()) return Status::no_memory;
        const Graph graph = restricted(subspace, TreeKind::spanning);
        Arena arena(work_);
        Candidate candidate{0.0, subspace, 0, 0};
        const Status status =
            BestTreeSearch(graph, arena, interrupt, counts)
                .second(grid_, &rows_[0], format_, tree(free_), candidate.word, candidate.head);
        return status == Status::ok ? push(candidate) : unless_none(status);
    }

    static Status unless_none(Status status) {
        return status == Status::no_tree ? Status::ok : status;
    }

    // ---- the queue of candidates

    // Let free_ be a candidate that is not in use.
    bool make_room() {
        if (free_ >= 0) return true;
        const Index count = candidates_.size();
        if (!trees_.resize((count + 1) * num_nodes()) || !candidates_.resize(count + 1)) {
            return false;
        }
        candidates_[count].subspace = -1;
        free_ = static_cast<std::int32_t>(count);
        return true;
    }

    // Put free_ into the queue.
    Status push(const Candidate& candidate) {
        const std::int32_t added = free_;
        const std::int32_t next_free = candidates_[added].subspace;
        candidates_[added] = candidate;
        candidates_[added].loss = loss_of(tree(added));
        const bool is_pushed = queue_.push(added, Order{*this});
        (is_pushed ? free_ : candidates_[added].subspace) = next_free;
        return is_pushed ? Status::ok : Status::no_memory;
    }

    double loss_of(const std::int32_t* heads) const {
        double loss = 0.0;
        for (Index j = 1; j < num_nodes(); ++j) loss += best_score_[j] - graph_.score(heads[j], j);
        return loss;
    }

    // The terms of a loss are not negative, so it is right to n roundings of 2^-53, relative.
    bool comes_before(Index a, Index b) {
        const double loss = candidates_[a].loss, other = candidates_[b].loss;
        const double margin = (loss + other) * static_cast<double>(num_nodes()) * 0x1p-52;
        if (loss + margin < other) return true;
        if (other + margin < loss) return false;
        const int sign = with_exact_numbers(format_, [&](auto number) {
            return compare(sum_of(tree(a), number), sum_of(tree(b), number));
        });
        if (sign != 0) return sign > 0;
        for (Index j = 1; j < num_nodes(); ++j) {
            if (tree(a)[j] != tree(b)[j]) return tree(a)[j] < tree(b)[j];
        }
        return false;
    }

    template <class Number>
    Number sum_of(const std::int32_t* heads, Number sum) const {
        for (Index j = 1; j < num_nodes(); ++j) {
            sum = sum + Number::of(graph_.score(heads[j], j), format_.lowest);
        }
        return sum;
    }

    const Graph graph_;
    const double caution_;
    Scratch best_, work_;
    const double* best_score_ = nullptr;  // [word]: of its best head
    Grid grid_{};
    FixedFormat format_;
    GrowingArray<double> all_scores_, all_rows_;  // of the graph
    GrowingArray<double> scores_, rows_;          // of a subspace
    GrowingArray<Decision> decisions_;
    GrowingArray<Candidate> candidates_;
    GrowingArray<std::int32_t> trees_;  // [candidate][node]
    Queue queue_;
    std::int32_t free_ = -1;     // the first candidate not in use; they are linked by subspace
    Index given_ = not_started;  // the candidate given last, not split yet
    bool first_half_done_ = false;
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
