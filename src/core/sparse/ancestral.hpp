// An exact draw from the factors of an elimination: put the nodes back one by one.
//
// Once all nodes are taken out there is one tree: the last node under the root.  Putting node p
// back turns a tree of the graph without it into one of the graph with it.  In the graph without p
// a step j -> i weighs w(j -> i) + w(j -> p) w(p -> i) / s(p): it is a step of its own, or one by
// way of p.  So
//
//   1. each arc of the tree is drawn to be the one or the other, in proportion;
//   2. all nodes whose arc went by way of p get p as their head;
//   3. p gets a head among those nodes next to it that still lead to the root without passing
//      through a node of (2), in proportion to w(p -> i).
//
// docs/mathematics.md proves that this has the law of the trees of the graph with p.  An arc's
// weight is the input's plus what each node next to both its ends passed on when it was taken out.
// Which of these an arc stands for is drawn once, when the arc is made; it is not considered again
// until that node's turn comes.
//
// Cost: per arc that is drawn the number of entries of its two ends, and per head the path to the
// root; about the square root of the elimination's work in practice.  Memory: 8 bytes per entry,
// once per graph.
#pragma once

#include <vector>

#include "randomness/exact_choice.hpp"
#include "sparse/elimination.hpp"

namespace arborand {
namespace ARBORAND_ISA {
namespace sparse {

// For each place the entries in which it is the later one, by the earlier one.
struct EarlierEntries {
    struct Entry {
        Node earlier;
        std::uint64_t at;
    };
    std::vector<std::uint64_t> begin;
    std::vector<Entry> entries;

    explicit EarlierEntries(const EliminationStructure& structure)
        : begin(structure.order.size() + 1, 0), entries(structure.next.size()) {
        for (const Node y : structure.next) ++begin[y + 1];
        for (std::size_t p = 0; p + 1 < begin.size(); ++p) begin[p + 1] += begin[p];
        std::vector<std::uint64_t> fill(begin.begin(), begin.end() - 1);
        for (std::size_t p = 0; p < structure.order.size(); ++p) {
            for (std::uint64_t e = structure.begin[p]; e < structure.begin[p + 1]; ++e) {
                entries[fill[structure.next[e]]++] = {static_cast<Node>(p), e};
            }
        }
    }
};

template <class Scalar>
class AncestralDraw {
  public:
    AncestralDraw(const CompressedRows& rows, Node root, const EliminationStructure& structure,
                  const Factors<Scalar>& factors, const EarlierEntries& earlier)
        : rows_(rows),
          root_(root),
          structure_(structure),
          factors_(factors),
          earlier_(earlier),
          waiting_(structure.order.size()),
          head_(structure.order.size()) {}

    Status draw(Stream stream, std::int32_t* heads, const Interrupt& interrupt) {
        const Index n = structure_.size();
        for (Index p = n - 1; p >= 0; --p) {
            if (p % 1024 == 0 && interrupt.requested()) return Status::interrupted;
            std::vector<Node>& led_here = waiting_[static_cast<std::size_t>(p)];
            head_[static_cast<std::size_t>(p)] = undecided;
            for (const Node j : led_here) head_[j] = static_cast<Node>(p);
            draw_head(static_cast<Node>(p), !led_here.empty(), stream);
            for (const Node j : led_here) draw_origin(j, stream);
            draw_origin(static_cast<Node>(p), stream);
            led_here.clear();
        }
        for (Index p = 0; p < n; ++p) {
            const Node head = head_[static_cast<std::size_t>(p)];
            heads[structure_.order[static_cast<std::size_t>(p)]] =
                static_cast<std::int32_t>(head == to_root ? root_ : structure_.order[head]);
        }
        return Status::ok;
    }

  private:
    static constexpr Node undecided = ~Node{0}, to_root = ~Node{0} - 1;

    // Step 3.  One that does not lead to the root is set aside, and another one drawn: the first
    // that does has its chance among those that do.
    void draw_head(Node p, bool some_led_here, Stream& stream) {
        const std::uint64_t first = structure_.begin[p], last = structure_.begin[p + 1];
        chances_.clear();
        for (std::uint64_t e = first; e < last; ++e) chances_.push_back(factors_.steps[e].out);
        chances_.push_back(factors_.absorbed[p]);
        const Index count = static_cast<Index>(chances_.size());
        while (true) {
            normalise(chances_.data(), count);
            const Index drawn = draw_index(chances_.data(), count, stream);
            const Node head = drawn == count - 1
                                  ? to_root
                                  : structure_.next[first + static_cast<std::uint64_t>(drawn)];
            if (!some_led_here || leads_to_root(head)) {
                head_[p] = head;
                return;
            }
            chances_[static_cast<std::size_t>(drawn)] = Scalar(0.0);
        }
    }

    bool leads_to_root(Node x) const {
        while (x != to_root && x != undecided) x = head_[x];
        return x == to_root;
    }

    // Step 1, for the arc from j to its head: is it the input's, or by way of which earlier node?
    void draw_origin(Node j, Stream& stream) {
        const Node head = head_[j];
        chances_.assign(1, original_weight(j, head));
        by_way_of_.clear();
        const auto add = [&](Node k, Scalar in, Scalar out) {
            if (!is_positive(in) || !is_positive(out)) return;
            chances_.push_back(in * (out / factors_.pivot[k]));
            by_way_of_.push_back(k);
        };
        // Those taken out before both ends of the arc.
        const Node before = head == to_root ? j : std::min(j, head);
        std::uint64_t x = earlier_.begin[j];
        const std::uint64_t x_end = earlier_.begin[j + 1];
        if (head == to_root) {
            for (; x < x_end; ++x) {
                const auto [k, at] = earlier_.entries[x];
                add(k, factors_.steps[at].in, factors_.absorbed[k]);
            }
        } else {
            std::uint64_t y = earlier_.begin[head];
            const std::uint64_t y_end = earlier_.begin[head + 1];
            while (x < x_end && y < y_end) {
                const auto [k, at] = earlier_.entries[x];
                const auto [l, to] = earlier_.entries[y];
                if (k >= before || l >= before) break;
                if (k == l) add(k, factors_.steps[at].in, factors_.steps[to].out);
                x += k <= l;
                y += l <= k;
            }
        }
        const Index count = static_cast<Index>(chances_.size());
        if (count == 1) return;
        normalise(chances_.data(), count);
        const Index drawn = draw_index(chances_.data(), count, stream);
        if (drawn > 0) waiting_[by_way_of_[static_cast<std::size_t>(drawn) - 1]].push_back(j);
    }

    Scalar original_weight(Node j, Node head) const {
        const Index node = structure_.order[j];
        const Index arc = rows_.find(node, head == to_root ? root_ : structure_.order[head]);
        Scalar weight(0.0);
        if (arc >= 0) relative_to(rows_.log_weight(arc), factors_.largest[j], weight);
        return weight;
    }

    const CompressedRows& rows_;
    Node root_;
    const EliminationStructure& structure_;
    const Factors<Scalar>& factors_;
    const EarlierEntries& earlier_;
    std::vector<std::vector<Node>> waiting_;  // by place: those whose arc goes by way of it
    std::vector<Node> head_;                  // by place
    std::vector<Scalar> chances_;
    std::vector<Node> by_way_of_;
};

}  // namespace sparse
}  // namespace ARBORAND_ISA
}  // namespace arborand
