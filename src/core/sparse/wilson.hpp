// Wilson's algorithm on compressed rows: loop-erased walks, with a budget of steps.
//
// The same algorithm as sampling/wilson.hpp, for graphs whose rows do not fit into a cache: a step
// takes as long as its two waits for memory.  So several draws are walked side by side in one
// thread, and each one's rows are fetched while the others take their steps.  Every draw reads its
// own random stream, so that how many go side by side never shows in the trees.
//
// Where steps lead to nodes nearby (a grid's), a draw walks alone and fetches the row that it needs
// if it goes straight on: one step in four of a grid does, and the other rows it was in before.
//
// Which nodes are in the tree is a bit each; heads are overwritten where a walk comes back, which
// erases the loop.
#pragma once

#include <cstdint>
#include <vector>

#include "randomness/philox.hpp"
#include "sparse/step_tables.hpp"
#include "types/status.hpp"

namespace arborand {
namespace ARBORAND_ISA {
namespace sparse {

// What one call draws.  Row i of `heads` is draw `draws[i]`.
struct SparseDraws {
    StreamKey key;
    std::uint64_t purpose;
    const std::uint64_t* draws;
    Index count;
    std::int32_t* heads;
    Index stride;
    std::int64_t budget;   // per draw
    std::int32_t* caught;  // where the walk was when its budget was spent; -1: it ended
};

// A set of nodes as bits, and the first of them that is missing.
class TreeNodes {
  public:
    explicit TreeNodes(Index num_nodes)
        : bits_(static_cast<std::size_t>(num_nodes / 64 + 1)), num_nodes_(num_nodes) {}

    void clear() {
        std::fill(bits_.begin(), bits_.end(), 0);
        // Bits past the last node count as nodes that are there.
        bits_.back() = ~std::uint64_t{0} << (num_nodes_ % 64);
        word_ = 0;
    }
    bool contains(Node node) const { return bits_[node / 64] >> (node % 64) & 1; }
    void add(Node node) { bits_[node / 64] |= std::uint64_t{1} << (node % 64); }
    // All nodes from `start` up to `end`, which is there.
    void add_path(Node start, Node end, const std::int32_t* heads) {
        for (Node node = start; node != end; node = static_cast<Node>(heads[node])) add(node);
    }
    // The first node that is missing, not before those found earlier; false: all are there.
    bool find_missing(Node& node) {
        for (; word_ < bits_.size(); ++word_) {
            const std::uint64_t missing = ~bits_[word_];
            if (missing == 0) continue;
            node =
                static_cast<Node>(word_ * 64 + static_cast<std::size_t>(__builtin_ctzll(missing)));
            return true;
        }
        return false;
    }

  private:
    std::vector<std::uint64_t> bits_;
    Index num_nodes_;
    std::size_t word_ = 0;
};

constexpr std::int64_t steps_between_questions = 1 << 16;

// The steps that a draw may take, and a question now and then whether its caller has given up.
class Allowance {
  public:
    Allowance(std::int64_t budget, const Interrupt& interrupt)
        : later_(budget), interrupt_(interrupt) {
        release();
    }

    // Take one step; false: none is left, or the caller has given up.
    ARBORAND_INLINE bool take() {
        if (now_ == 0 && !ask()) return false;
        --now_;
        return true;
    }
    std::int64_t left() const { return now_ + later_; }

  private:
    void release() {
        now_ = later_ < steps_between_questions ? later_ : steps_between_questions;
        later_ -= now_;
    }
    __attribute__((noinline)) bool ask() {
        if (later_ == 0 || interrupt_.requested()) return false;
        release();
        return true;
    }

    std::int64_t now_ = 0;  // until the next question
    std::int64_t later_;
    const Interrupt& interrupt_;
};

// One draw: walk until its tree is complete or `budget` steps are taken.
template <bool uniform>
Status walk_one(const StepTables& tables, Node root, Stream stream, std::int32_t* heads,
                TreeNodes& tree, std::int64_t budget, std::int32_t& caught, std::int64_t& steps,
                const Interrupt& interrupt) {
    tree.clear();
    tree.add(root);
    Allowance allowance(budget, interrupt);
    std::uint64_t row = 0;
    const auto step = [&](Node node) {
        const std::uint64_t before = row;
        row = tables.begin[node];
        if (tables.near) tables.prefetch<uniform>(row + (row - before));
        const Node head = tables.step<uniform>(node, stream.next());
        heads[node] = static_cast<std::int32_t>(head);
        return head;
    };
    const auto give_up = [&](Node node) {
        if (allowance.left() > 0) return Status::interrupted;
        caught = static_cast<std::int32_t>(node);
        steps += budget;
        return Status::ok;
    };
    Node start;
    caught = -1;
    while (tree.find_missing(start)) {
        if (!allowance.take()) return give_up(start);
        Node node = step(start);
        // Most walks on a grid end at once.  As a case of its own it is easier to predict.
        if (tree.contains(node)) {
            tree.add(start);
            continue;
        }
        do {
            if (!allowance.take()) return give_up(node);
            node = step(node);
        } while (!tree.contains(node));
        tree.add_path(start, node, heads);
    }
    steps += budget - allowance.left();
    return Status::ok;
}

// Draws side by side, `lanes` at a time.
template <bool uniform>
class SideBySide {
  public:
    SideBySide(const StepTables& tables, Node root, Index num_nodes, const SparseDraws& draws,
               Index lanes)
        : tables_(tables), root_(root), draws_(draws) {
        walkers_.reserve(static_cast<std::size_t>(lanes));
        for (Index i = 0; i < lanes && next_ < draws.count; ++i) {
            walkers_.push_back(
                Walker{Stream(draws.key, 0, 0, draws.purpose), TreeNodes(num_nodes)});
            begin(walkers_.back());
        }
    }

    Status run(std::int64_t& steps, const Interrupt& interrupt) {
        std::int64_t rounds = 0;
        while (active_ > 0) {
            if (++rounds % 4096 == 0 && interrupt.requested()) return Status::interrupted;
            for (Walker& walker : walkers_) {
                walker.place = tables_.place(walker.node, walker.stream.next());
                tables_.prefetch<uniform>(walker.place.slot);
            }
            for (Walker& walker : walkers_) {
                if (walker.finished) continue;
                const Node head = tables_.at<uniform>(walker.place);
                walker.heads[walker.node] = static_cast<std::int32_t>(head);
                walker.node = head;
                --walker.left;
                if (walker.tree.contains(head)) {
                    arrive(walker);
                } else if (walker.left == 0) {
                    *walker.caught = static_cast<std::int32_t>(head);
                    end(walker);
                }
                __builtin_prefetch(tables_.begin + walker.node);
            }
        }
        steps += steps_;
        return Status::ok;
    }

  private:
    struct Walker {
        Stream stream;
        TreeNodes tree;
        std::int32_t* heads = nullptr;
        std::int32_t* caught = nullptr;
        std::int64_t left = 0;
        StepTables::Place place{};
        Node start = 0, node = 0;
        bool finished = false;
    };

    // Take the next draw that is not complete from the start; the walker is finished if none is.
    void begin(Walker& walker) {
        ++active_;
        while (next_ < draws_.count) {
            const Index i = next_++;
            walker.stream = Stream(draws_.key, 0, draws_.draws[i], draws_.purpose);
            walker.heads = draws_.heads + i * draws_.stride;
            walker.caught = draws_.caught + i;
            walker.left = draws_.budget;
            *walker.caught = -1;
            walker.tree.clear();
            walker.tree.add(root_);
            if (!walker.tree.find_missing(walker.start)) continue;
            walker.node = walker.start;
            if (walker.left > 0) return;
            *walker.caught = static_cast<std::int32_t>(walker.node);
        }
        walker.finished = true;
        --active_;
    }

    void end(Walker& walker) {
        steps_ += draws_.budget - walker.left;
        --active_;
        begin(walker);
    }

    // The walk has reached the tree: what is left of it joins.
    void arrive(Walker& walker) {
        walker.tree.add_path(walker.start, walker.node, walker.heads);
        if (!walker.tree.find_missing(walker.start)) return end(walker);
        walker.node = walker.start;
        if (walker.left > 0) return;
        *walker.caught = static_cast<std::int32_t>(walker.node);
        end(walker);
    }

    const StepTables& tables_;
    Node root_;
    const SparseDraws& draws_;
    std::vector<Walker> walkers_;
    Index next_ = 0;
    Index active_ = 0;
    std::int64_t steps_ = 0;
};

// Draw all; lanes = 1 draws one after the other.
template <bool uniform>
Status walk_all(const StepTables& tables, Node root, Index num_nodes, const SparseDraws& draws,
                Index lanes, std::int64_t& steps, const Interrupt& interrupt) {
    if (lanes > 1) {
        return SideBySide<uniform>(tables, root, num_nodes, draws, lanes).run(steps, interrupt);
    }
    TreeNodes tree(num_nodes);
    for (Index i = 0; i < draws.count; ++i) {
        if (i % 64 == 63 && interrupt.requested()) return Status::interrupted;
        const Status status = walk_one<uniform>(
            tables, root, Stream(draws.key, 0, draws.draws[i], draws.purpose),
            draws.heads + i * draws.stride, tree, draws.budget, draws.caught[i], steps, interrupt);
        if (status != Status::ok) return status;
    }
    return Status::ok;
}

}  // namespace sparse
}  // namespace ARBORAND_ISA
}  // namespace arborand
