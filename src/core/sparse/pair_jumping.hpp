// Wilson's algorithm that jumps over pairs of nodes bound to each other.
//
// Two nodes that are each other's heaviest head, so strongly that the walk returns from the one to
// the other more often than not, send it back and forth almost forever.  When the walk is at v and
// its partner u is *fresh* (neither in the tree nor on the current path), all returns v -> u -> v
// are popped at once, however many they are.  What follows them does not depend on their number:
// the walk leaves v for another head, or it steps to u and leaves that for another head than v, in
// proportion to
//
//     rest(v)    and    w(v -> u) * rest(u) / (rest(u) + w(u -> v)),
//
// with rest(.) the weight of all other heads.  If u is not fresh the plain step must be taken: a
// step to u would close another loop than the pair.
//
// The budget counts what is popped, not what is walked: each time a loop is erased, its arcs
// between nodes that are not partners.  That number is a function of the popped cycles alone, which
// are independent of the tree; so ending the walk when it passes the budget leaves the law of the
// tree as it is (docs/mathematics.md).  The number of steps, or of arcs walked, is not such a
// function: whether the loop of a pair is jumped over or walked depends on where the walk came
// from, and so on the tree.
//
// Cost: O(arcs) to prepare; a walk does at most a small multiple of nodes + budget steps.
#pragma once

#include <cstdint>
#include <vector>

#include "numbers/unbounded_double.hpp"
#include "sparse/wilson.hpp"

namespace arborand {
namespace ARBORAND_ISA {
namespace sparse {

class PairTables {
  public:
    PairTables(const CompressedRows& rows, Node root) {
        const Index n = rows.num_nodes();
        partner_.assign(static_cast<std::size_t>(n), no_partner);
        std::vector<Node> heaviest(static_cast<std::size_t>(n), no_partner);
        std::vector<double> share(static_cast<std::size_t>(n), 0.0);
        for (Index j = 0; j < n; ++j) {
            if (static_cast<Node>(j) == root || rows.degree(j) == 0) continue;
            const double largest = rows.largest(j);
            double total = 0.0;
            for (Index a = rows.begin(j); a < rows.end(j); ++a) {
                if (heaviest[at(j)] == no_partner && rows.log_weight(a) == largest) {
                    heaviest[at(j)] = rows.head(a);
                }
                total += relative_weight(rows.log_weight(a), largest);
            }
            share[at(j)] = 1.0 / total;
        }
        for (Index j = 0; j < n; ++j) {
            const Node u = heaviest[at(j)];
            if (u == no_partner || u == root || heaviest[u] != static_cast<Node>(j)) continue;
            if (share[at(j)] * share[u] > 0.5) partner_[at(j)] = u;
        }
        fill(rows, root);
    }

    static constexpr Node no_partner = ~Node{0};

    Node partner(Node node) const { return partner_[node]; }
    StepTables others() const { return {begin_.data(), heads_.data(), steps_.data()}; }

    // Whether the walk leaves `node` for another head than its partner: at last, if all returns
    // from the fresh partner are popped, and in one plain step.
    bool leaves_at_last(Node node, std::uint64_t number) const {
        return number < leaves_at_last_[node];
    }
    bool leaves_at_once(Node node, std::uint64_t number) const {
        return number < leaves_at_once_[node];
    }

  private:
    static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

    // p * 2^64 for 0 <= p <= 1; a chance of 1 is off by 2^-64.
    static std::uint64_t threshold(double p) {
        const double scaled = p * 18446744073709551616.0;
        return scaled >= 18446744073709551616.0 ? ~std::uint64_t{0}
                                                : static_cast<std::uint64_t>(scaled);
    }

    // The tables of the other heads, and the thresholds.
    void fill(const CompressedRows& rows, Node root) {
        const Index n = rows.num_nodes();
        begin_.assign(at(n) + 1, 0);
        heads_.reserve(at(rows.num_arcs()));
        steps_.reserve(at(rows.num_arcs()));
        StepTableBuilder builder;
        std::vector<double> weights;
        std::vector<UnboundedDouble> rest(at(n));  // relative to the weight of the partner's arc
        for (Index j = 0; j < n; ++j) {
            double largest = -HUGE_VAL, bound = 0.0;
            for (Index a = rows.begin(j); a < rows.end(j); ++a) {
                if (rows.head(a) == partner_[at(j)]) {
                    bound = rows.log_weight(a);
                } else {
                    largest = std::max(largest, rows.log_weight(a));
                }
            }
            weights.clear();
            double total = 0.0;
            for (Index a = rows.begin(j); a < rows.end(j); ++a) {
                if (rows.head(a) == partner_[at(j)]) continue;
                heads_.push_back(rows.head(a));
                weights.push_back(relative_weight(rows.log_weight(a), largest));
                total += weights.back();
            }
            const Index count = static_cast<Index>(weights.size());
            builder.append(weights.data(), heads_.data() + begin_[at(j)], count, steps_);
            begin_[at(j) + 1] = static_cast<Node>(heads_.size());
            if (partner_[at(j)] != no_partner && count > 0) {
                rest[at(j)] =
                    UnboundedDouble(total) * unbounded_exp(exact_difference(largest, bound));
            }
        }
        leaves_at_last_.assign(at(n), 0);
        leaves_at_once_.assign(at(n), 0);
        const UnboundedDouble one(1.0);
        for (Index j = 0; j < n; ++j) {
            const Node u = partner_[at(j)];
            if (u == no_partner || static_cast<Node>(j) == root) continue;
            const UnboundedDouble here = rest[at(j)];
            const UnboundedDouble there = rest[u] / (rest[u] + one);
            leaves_at_last_[at(j)] = threshold(to_double(here / (here + there)));
            leaves_at_once_[at(j)] = threshold(to_double(here / (here + one)));
        }
    }

    std::vector<Node> partner_, begin_, heads_;
    LongArray<Step> steps_;
    std::vector<std::uint64_t> leaves_at_last_, leaves_at_once_;
};

class PairWalk {
  public:
    PairWalk(const PairTables& tables, Node root, Index num_nodes)
        : tables_(tables),
          others_(tables.others()),
          root_(root),
          states_(static_cast<std::size_t>(num_nodes)) {}

    // One draw.  `steps` counts the arcs walked, jumps without their returns.
    Status draw(Stream stream, std::int32_t* heads, std::int64_t budget, std::int32_t& caught,
                std::int64_t& steps, const Interrupt& interrupt) {
        std::fill(states_.begin(), states_.end(), fresh);
        states_[root_] = in_tree;
        std::int64_t popped = 0;
        caught = -1;
        for (Node start = 0; start < states_.size(); ++start) {
            if (states_[start] == in_tree) continue;
            Node node = start;
            states_[node] = on_path;
            while (true) {
                const Node left = node;
                const Node head = leave(node, stream, heads);
                steps += 1 + (node != left);
                if (steps % steps_between_questions <= 1 && interrupt.requested()) {
                    return Status::interrupted;
                }
                heads[node] = static_cast<std::int32_t>(head);
                if (states_[head] == in_tree) break;
                if (states_[head] == on_path) popped += erase_loop(head, heads);
                if (popped > budget) {
                    caught = static_cast<std::int32_t>(head);
                    return Status::ok;
                }
                states_[head] = on_path;
                node = head;
            }
            for (node = start; states_[node] != in_tree; node = static_cast<Node>(heads[node])) {
                states_[node] = in_tree;
            }
        }
        return Status::ok;
    }

  private:
    enum State : std::uint8_t { fresh, on_path, in_tree };

    // The next head; `node` becomes its partner where the walk leaves from there.
    Node leave(Node& node, Stream& stream, std::int32_t* heads) {
        const Node partner = tables_.partner(node);
        if (partner == PairTables::no_partner) return other(node, stream);
        if (states_[partner] != fresh) {
            return tables_.leaves_at_once(node, stream.next()) ? other(node, stream) : partner;
        }
        if (!tables_.leaves_at_last(node, stream.next())) {
            heads[node] = static_cast<std::int32_t>(partner);
            states_[partner] = on_path;
            node = partner;
        }
        return other(node, stream);
    }

    Node other(Node node, Stream& stream) const { return others_.step<false>(node, stream.next()); }

    // Take the loop that closes at `node` off the path; how many of its arcs join no partners.
    std::int64_t erase_loop(Node node, const std::int32_t* heads) {
        std::int64_t popped = 0;
        Node x = node;
        do {
            const Node head = static_cast<Node>(heads[x]);
            popped += head != tables_.partner(x);
            states_[x] = fresh;
            x = head;
        } while (x != node);
        return popped;
    }

    const PairTables& tables_;
    StepTables others_;
    Node root_;
    std::vector<std::uint8_t> states_;
};

}  // namespace sparse
}  // namespace ARBORAND_ISA
}  // namespace arborand
