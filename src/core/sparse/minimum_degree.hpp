// An order of elimination that keeps the fill small: minimum degree on a quotient graph.
//
// Eliminating a node makes a clique of its neighbours.  The clique is kept as one *element* that
// lists them, never as arcs, so that the graph only shrinks (George and Liu, SIAM Review 31, 1989).
// Nodes with the same neighbours stay together as one *block*; a block that sees nothing but the
// new element goes at once; and degrees are bounded from above by sums over elements instead of
// being counted (Amestoy, Davis and Duff, SIAM J. Matrix Analysis 17, 1996).  The degree of the
// block that is being eliminated is exact, and with it the predicted fill and work.
//
// Cost: close to linear where the fill is small.  It is abandoned as soon as the predicted work
// exceeds the limit, which also bounds its own work.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sparse/compressed_rows.hpp"
#include "types/status.hpp"

namespace arborand {
namespace ARBORAND_ISA {
namespace sparse {

// What elimination in some order would take.
struct EliminationPlan {
    std::vector<Node> order;  // of all nodes but the root; incomplete if the limit was passed
    double fill = 0.0;        // entries between nodes, each in both directions
    double work = 0.0;        // updates of such an entry; those of the order that is known
    double most_work = 0.0;   // if all nodes that are left were next to each other
    bool within_limit = true;
};

class MinimumDegree {
  public:
    MinimumDegree(const CompressedRows& rows, Node root)
        : n_(static_cast<std::size_t>(rows.num_nodes())),
          neighbours_(n_),
          elements_(n_),
          size_(n_, 1),
          members_(n_),
          degree_(n_, 0),
          previous_(n_ + 1, none),
          next_(n_ + 1, none),
          bucket_(n_ + 1, none),
          weight_(n_, 0),
          outside_(n_, 0),
          stamp_(n_, 0),
          is_element_(n_, 0) {
        // The graph of who steps to whom, in either direction.
        for (std::size_t j = 0; j < n_; ++j) {
            if (j == root) continue;
            for (Index a = rows.begin(static_cast<Index>(j)); a < rows.end(static_cast<Index>(j));
                 ++a) {
                const Node i = rows.head(a);
                if (i == root) continue;
                neighbours_[j].push_back(i);
                if (rows.find(i, static_cast<Node>(j)) < 0) {
                    neighbours_[i].push_back(static_cast<Node>(j));
                }
            }
        }
        size_[root] = 0;
        left_ = static_cast<Index>(n_) - 1;
        for (std::size_t j = 0; j < n_; ++j) {
            if (j == root) continue;
            degree_[j] = static_cast<Index>(neighbours_[j].size());
            insert(static_cast<Node>(j));
        }
    }

    // False: interrupted.
    bool run(double work_limit, const Interrupt& interrupt, EliminationPlan& plan) {
        plan.order.reserve(n_ - 1);
        while (left_ > 0) {
            if (plan.order.size() % 256 == 0 && interrupt.requested()) return false;
            while (bucket_[static_cast<std::size_t>(lowest_)] == none) ++lowest_;
            const Node pivot = bucket_[static_cast<std::size_t>(lowest_)];
            take_out(pivot);
            eliminate(pivot, plan);
            if (plan.work > work_limit) {
                plan.within_limit = false;
                break;
            }
        }
        const double left = static_cast<double>(left_);
        plan.most_work = plan.work + left * left * left / 3;
        return true;
    }

  private:
    static constexpr Node none = ~Node{0};

    bool is_block(Node x) const { return size_[x] > 0; }

    void insert(Node x) {
        const std::size_t d = static_cast<std::size_t>(degree_[x]);
        previous_[x] = none;
        next_[x] = bucket_[d];
        if (next_[x] != none) previous_[next_[x]] = x;
        bucket_[d] = x;
        lowest_ = std::min(lowest_, degree_[x]);
    }

    void take_out(Node x) {
        if (previous_[x] != none) {
            next_[previous_[x]] = next_[x];
        } else {
            bucket_[static_cast<std::size_t>(degree_[x])] = next_[x];
        }
        if (next_[x] != none) previous_[next_[x]] = previous_[x];
    }

    // The blocks next to the pivot become its element; those it belonged to are absorbed.
    void form_element(Node pivot, std::vector<Node>& element) {
        ++now_;
        stamp_[pivot] = now_;
        const auto add = [&](Node x) {
            if (!is_block(x) || stamp_[x] == now_) return;
            stamp_[x] = now_;
            element.push_back(x);
        };
        for (const Node x : neighbours_[pivot]) add(x);
        for (const Node e : elements_[pivot]) {
            if (!is_element_[e]) continue;
            for (const Node x : neighbours_[e]) add(x);
            forget(e);
        }
    }

    void forget(Node e) {
        is_element_[e] = 0;
        std::vector<Node>().swap(neighbours_[e]);
    }

    void record(Node block, Index others, EliminationPlan& plan) {
        // The first of a block of s nodes sees the s - 1 others beside the element.
        for (Index i = size_[block] - 1; i >= 0; --i) {
            const double d = static_cast<double>(others + i);
            plan.fill += d;
            plan.work += d * d;
        }
        plan.order.push_back(block);
        plan.order.insert(plan.order.end(), members_[block].begin(), members_[block].end());
        left_ -= size_[block];
    }

    void eliminate(Node pivot, EliminationPlan& plan) {
        std::vector<Node> element;
        form_element(pivot, element);
        Index others = 0;
        for (const Node x : element) others += size_[x];
        record(pivot, others, plan);
        size_[pivot] = 0;
        is_element_[pivot] = 1;
        std::vector<Node>().swap(elements_[pivot]);
        std::vector<Node>().swap(members_[pivot]);

        for (const Node x : element) take_out(x);
        measure_elements(element);
        for (const Node x : element) update(x, pivot, others);
        // What sees the new element only goes with its pivot.
        for (const Node x : element) {
            if (!neighbours_[x].empty() || elements_[x].size() != 1) continue;
            others -= size_[x];
            record(x, others, plan);
            size_[x] = 0;
        }
        merge_twins(element);
        neighbours_[pivot].clear();
        for (const Node x : element) {
            if (size_[x] == 0) continue;
            neighbours_[pivot].push_back(x);
            degree_[x] = std::min(degree_[x], left_ - size_[x]);
            insert(x);
        }
        weight_[pivot] = others;
        if (others == 0) forget(pivot);
    }

    // outside_[e]: how many nodes of an older element are not in the new one.
    void measure_elements(const std::vector<Node>& element) {
        ++now_;
        for (const Node x : element) {
            for (const Node e : elements_[x]) {
                if (!is_element_[e]) continue;
                if (stamp_[e] != now_) {
                    stamp_[e] = now_;
                    outside_[e] = weight_[e];
                }
                outside_[e] -= size_[x];
            }
        }
        ++now_;
        for (const Node x : element) stamp_[x] = now_;
    }

    // Prune what the new element covers, and bound the degree.
    void update(Node x, Node pivot, Index others) {
        Index degree = others - size_[x];
        const Index grown = degree_[x] + degree;
        std::vector<Node>& elements = elements_[x];
        std::size_t kept = 0;
        for (const Node e : elements) {
            if (!is_element_[e]) continue;
            if (outside_[e] == 0) {
                forget(e);
                continue;
            }
            degree += outside_[e];
            elements[kept++] = e;
        }
        elements.resize(kept);
        elements.push_back(pivot);
        std::vector<Node>& neighbours = neighbours_[x];
        kept = 0;
        for (const Node y : neighbours) {
            if (!is_block(y) || stamp_[y] == now_) continue;
            degree += size_[y];
            neighbours[kept++] = y;
        }
        neighbours.resize(kept);
        degree_[x] = std::min(degree, grown);
    }

    // Blocks with the same neighbours and elements are one block from now on.
    void merge_twins(const std::vector<Node>& element) {
        std::vector<std::pair<std::uint64_t, Node>> keys;
        for (const Node x : element) {
            if (size_[x] == 0) continue;
            std::uint64_t key = elements_[x].size() * 1000003 + neighbours_[x].size();
            for (const Node e : elements_[x]) key += e;
            for (const Node y : neighbours_[x]) key += y;
            keys.emplace_back(key, x);
        }
        std::sort(keys.begin(), keys.end());
        for (std::size_t i = 0; i < keys.size(); ++i) {
            const Node x = keys[i].second;
            if (size_[x] == 0) continue;
            bool marked = false;
            for (std::size_t k = i + 1; k < keys.size() && keys[k].first == keys[i].first; ++k) {
                const Node y = keys[k].second;
                if (size_[y] == 0) continue;
                if (!marked) {
                    ++now_;
                    for (const Node e : elements_[x]) stamp_[e] = now_;
                    for (const Node z : neighbours_[x]) stamp_[z] = now_;
                    marked = true;
                }
                if (!is_twin(x, y)) continue;
                members_[x].push_back(y);
                members_[x].insert(members_[x].end(), members_[y].begin(), members_[y].end());
                degree_[x] -= size_[y];
                size_[x] += size_[y];
                size_[y] = 0;
                std::vector<Node>().swap(members_[y]);
                std::vector<Node>().swap(neighbours_[y]);
                std::vector<Node>().swap(elements_[y]);
            }
        }
    }

    bool is_twin(Node x, Node y) const {
        if (elements_[x].size() != elements_[y].size()) return false;
        if (neighbours_[x].size() != neighbours_[y].size()) return false;
        for (const Node e : elements_[y]) {
            if (stamp_[e] != now_) return false;
        }
        for (const Node z : neighbours_[y]) {
            if (stamp_[z] != now_) return false;
        }
        return true;
    }

    std::size_t n_;
    std::vector<std::vector<Node>> neighbours_;  // of a block: other blocks; of an element: its own
    std::vector<std::vector<Node>> elements_;    // that a block belongs to
    std::vector<Index> size_;                    // nodes of a block; 0: gone
    std::vector<std::vector<Node>> members_;     // of a block, beside the one that names it
    std::vector<Index> degree_;                  // an upper bound of the nodes next to a block
    std::vector<Node> previous_, next_, bucket_;  // blocks by degree
    std::vector<Index> weight_;                   // nodes of an element
    std::vector<Index> outside_;
    std::vector<std::uint64_t> stamp_;
    std::vector<std::uint8_t> is_element_;
    std::uint64_t now_ = 0;
    Index left_ = 0, lowest_ = 0;
};

}  // namespace sparse
}  // namespace ARBORAND_ISA
}  // namespace arborand
