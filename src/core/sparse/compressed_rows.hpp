// A sparse graph in compressed rows: row j lists the possible heads of node j.
//
// Rows are sorted by head, and arcs with the same head and dependent are one arc whose weight is
// their sum: the walk cannot tell them apart.  Which of the parallel edges a tree uses is drawn
// afterwards (`draw_edge`).  An undirected edge is two arcs, one in each direction.
//
// Spanning forests have an outside node, the last one, which is a possible head of every node with
// a killing weight; its arcs are not edges of the input.
//
// Cost: two counting sorts, O(nodes + arcs).  Memory: 8 bytes per arc, and 8 more where weights
// differ; another 8 per arc while it is made.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "memory/large_pages.hpp"
#include "numbers/exact_arithmetic.hpp"
#include "numbers/exponential.hpp"
#include "numbers/logarithm.hpp"
#include "randomness/exact_choice.hpp"
#include "types/index.hpp"

namespace arborand {
namespace ARBORAND_ISA {
namespace sparse {

using Node = std::uint32_t;  // nodes, arcs and edges are counted up to 2^31 - 1

constexpr Node no_edge = ~Node{0};

// The edges as the caller gave them.  Self-loops and edges of weight 0 are allowed, and dropped.
struct EdgeList {
    const std::int32_t* heads;
    const std::int32_t* dependents;
    const double* log_weights;  // null: all 0
    Index count;
    bool directed;

    double log_weight(Index edge) const { return log_weights == nullptr ? 0.0 : log_weights[edge]; }

    template <class Visit>
    void for_each_arc(const Visit& visit) const {
        for (Index e = 0; e < count; ++e) {
            if (heads[e] == dependents[e] || log_weight(e) == -HUGE_VAL) continue;
            visit(static_cast<Node>(heads[e]), static_cast<Node>(dependents[e]),
                  static_cast<Node>(e));
            if (directed) continue;
            visit(static_cast<Node>(dependents[e]), static_cast<Node>(heads[e]),
                  static_cast<Node>(e));
        }
    }
};

// exp(log_weight - largest), the same bits on every machine; 0 below the range of double.
inline double relative_weight(double log_weight, double largest) {
    return exp_or_zero(exact_difference(log_weight, largest));
}

class CompressedRows {
  public:
    // log_killing: num_nodes entries, or null where there is no outside node.
    CompressedRows(const EdgeList& edges, Index num_nodes, const double* log_killing)
        : edges_(edges), num_inside_(num_nodes) {
        const bool has_outside = log_killing != nullptr;
        begin_.assign(static_cast<std::size_t>(num_nodes + has_outside + 1), 0);
        sort_arcs(log_killing);
        merge_parallel_arcs(log_killing);
    }

    Index num_nodes() const { return static_cast<Index>(begin_.size()) - 1; }
    Index num_inside() const { return num_inside_; }  // without the outside node
    Index num_arcs() const { return static_cast<Index>(head_.size()); }
    bool has_outside() const { return num_nodes() > num_inside_; }
    bool is_weighted() const { return !log_weight_.empty(); }

    Index begin(Index node) const { return begin_[static_cast<std::size_t>(node)]; }
    Index end(Index node) const { return begin_[static_cast<std::size_t>(node + 1)]; }
    Index degree(Index node) const { return end(node) - begin(node); }
    Node head(Index arc) const { return head_[static_cast<std::size_t>(arc)]; }
    const Node* heads() const { return head_.data(); }
    const Node* begins() const { return begin_.data(); }
    double log_weight(Index arc) const {
        return log_weight_.empty() ? 0.0 : log_weight_[static_cast<std::size_t>(arc)];
    }

    // The largest log-weight of a row; 0 for an empty one.
    double largest(Index node) const {
        if (log_weight_.empty() || degree(node) == 0) return 0.0;
        double answer = -HUGE_VAL;
        for (Index a = begin(node); a < end(node); ++a) answer = std::max(answer, log_weight(a));
        return answer;
    }

    // The arc from a head to a node; -1 if there is none.
    Index find(Index node, Node wanted) const {
        const Node* first = head_.data() + begin(node);
        const Node* last = head_.data() + end(node);
        const Node* found = std::lower_bound(first, last, wanted);
        return found != last && *found == wanted ? found - head_.data() : -1;
    }

    // The input edges behind an arc; no_edge for the outside node's.
    template <class Visit>
    void for_each_edge(Index arc, const Visit& visit) const {
        if (first_edge_.empty()) return visit(edge_[static_cast<std::size_t>(arc)]);
        const Node* first = first_edge_.data() + arc;
        for (Node e = first[0]; e < first[1]; ++e) visit(edge_[e]);
    }

    // The input edge behind an arc: among parallel ones drawn in proportion to their weights.
    Node draw_edge(Index arc, Stream& stream, std::vector<double>& chances) const {
        if (first_edge_.empty()) return edge_[static_cast<std::size_t>(arc)];
        const Index first = first_edge_[static_cast<std::size_t>(arc)];
        const Index count = first_edge_[static_cast<std::size_t>(arc) + 1] - first;
        const Node* edge = edge_.data() + first;
        if (count == 1) return edge[0];
        chances.resize(static_cast<std::size_t>(count));
        double largest = -HUGE_VAL, total = 0.0;
        for (Index i = 0; i < count; ++i) largest = std::max(largest, edges_.log_weight(edge[i]));
        for (Index i = 0; i < count; ++i) {
            chances[static_cast<std::size_t>(i)] =
                relative_weight(edges_.log_weight(edge[i]), largest);
            total += chances[static_cast<std::size_t>(i)];
        }
        for (double& chance : chances) chance /= total;
        return edge[draw_index(chances.data(), count, stream)];
    }

    // Which nodes cannot walk to the root: 1 where not.  Returns how many.
    Index find_unreachable(Node root, std::uint8_t* unreachable) const {
        const std::size_t n = static_cast<std::size_t>(num_nodes());
        // Arcs by head: the way from the root outwards.
        std::vector<Node> out_begin(n + 1, 0), out(head_.size());
        for (const Node h : head_) ++out_begin[h + 1];
        for (std::size_t i = 0; i < n; ++i) out_begin[i + 1] += out_begin[i];
        std::vector<Node> next(out_begin.begin(), out_begin.end() - 1);
        for (Index j = 0; j < num_nodes(); ++j) {
            for (Index a = begin(j); a < end(j); ++a) out[next[head(a)]++] = static_cast<Node>(j);
        }
        std::vector<std::uint8_t> seen(n, 0);
        std::vector<Node> stack{root};
        seen[root] = 1;
        while (!stack.empty()) {
            const Node node = stack.back();
            stack.pop_back();
            for (Node k = out_begin[node]; k < out_begin[node + 1]; ++k) {
                if (seen[out[k]]) continue;
                seen[out[k]] = 1;
                stack.push_back(out[k]);
            }
        }
        Index count = 0;
        for (Index j = 0; j < num_inside_; ++j) {
            unreachable[j] = !seen[static_cast<std::size_t>(j)];
            count += unreachable[j];
        }
        return count;
    }

  private:
    // First by head, then, keeping that order, by dependent.
    void sort_arcs(const double* log_killing) {
        const std::size_t n = begin_.size() - 1;
        std::vector<Node> place(n + 1, 0);
        edges_.for_each_arc([&](Node head, Node dependent, Node) {
            ++place[head + 1];
            ++begin_[dependent + 1];
        });
        for (std::size_t i = 0; i < n; ++i) place[i + 1] += place[i];
        std::vector<Node> dependents(place[n]), by_head(place[n]);
        edges_.for_each_arc([&](Node head, Node dependent, Node edge) {
            dependents[place[head]] = dependent;
            by_head[place[head]++] = edge;
        });
        // `place` has moved on by one node.
        if (log_killing != nullptr) {
            for (Index j = 0; j < num_inside_; ++j) {
                if (log_killing[j] > -HUGE_VAL) ++begin_[static_cast<std::size_t>(j) + 1];
            }
        }
        for (std::size_t i = 0; i < n; ++i) begin_[i + 1] += begin_[i];
        head_.resize(begin_[n]);
        edge_.resize(begin_[n]);
        std::vector<Node> next(begin_.begin(), begin_.end() - 1);
        Node k = 0;
        for (std::size_t head = 0; head < n; ++head) {
            for (; k < place[head]; ++k) {
                head_[next[dependents[k]]] = static_cast<Node>(head);
                edge_[next[dependents[k]]++] = by_head[k];
            }
        }
        if (log_killing == nullptr) return;
        for (Index j = 0; j < num_inside_; ++j) {
            if (!(log_killing[j] > -HUGE_VAL)) continue;
            const Node arc = next[static_cast<std::size_t>(j)]++;
            head_[arc] = static_cast<Node>(num_inside_);
            edge_[arc] = no_edge;
        }
    }

    // Of parallel edges, the same whatever their order.
    static double log_sum(std::vector<double>& log_weights) {
        if (log_weights.size() == 1) return log_weights[0];
        std::sort(log_weights.begin(), log_weights.end());
        double total = 0.0;
        for (const double w : log_weights) total += relative_weight(w, log_weights.back());
        return log_weights.back() + log_of(total);
    }

    double weight_of(Node edge, Index node, const double* log_killing) const {
        return edge == no_edge ? log_killing[node] : edges_.log_weight(edge);
    }

    void merge_parallel_arcs(const double* log_killing) {
        bool parallel = false, weighted = false;
        for (Index j = 0; j < num_nodes(); ++j) {
            for (Index a = begin(j); a < end(j); ++a) {
                parallel |= a > begin(j) && head(a) == head(a - 1);
                weighted |= weight_of(edge_[static_cast<std::size_t>(a)], j, log_killing) != 0.0;
            }
        }
        if (weighted || parallel) log_weight_.reserve(head_.size());
        Node kept = 0;
        std::vector<double> weights;
        for (Index j = 0; (weighted || parallel) && j < num_nodes(); ++j) {
            const Index first = begin(j), last = end(j);
            begin_[static_cast<std::size_t>(j)] = kept;
            for (Index a = first; a < last;) {
                Index same = a;
                weights.clear();
                for (; same < last && head(same) == head(a); ++same) {
                    weights.push_back(
                        weight_of(edge_[static_cast<std::size_t>(same)], j, log_killing));
                }
                log_weight_.push_back(log_sum(weights));
                if (parallel) first_edge_.push_back(static_cast<Node>(a));
                head_[kept++] = head(a);
                a = same;
            }
        }
        if (!parallel) return;
        begin_.back() = kept;
        first_edge_.push_back(static_cast<Node>(edge_.size()));
        head_.resize(kept);
    }

    EdgeList edges_;
    Index num_inside_;
    LongArray<Node> begin_, head_;
    std::vector<double> log_weight_;  // empty: all 0
    std::vector<Node> edge_;          // by dependent, then head
    std::vector<Node> first_edge_;    // of each arc, and one past the last; empty: one edge each
};

}  // namespace sparse
}  // namespace ARBORAND_ISA
}  // namespace arborand
