// The best arborescence of a sparse graph: Edmonds' algorithm with mergeable heaps, O(m log n).
//
// Every node chooses the best arc that enters it.  If the choices form a cycle, it is contracted to
// one node, whose arcs are worth what they add to the choices they replace (Gabow, Galil, Spencer
// and Tarjan, Combinatorica 6, 1986; see docs/mathematics.md).
//
// A row is sorted once, best arc first, and is then a run that is read from its front.  A node's
// arcs are a leftist heap of the runs of the nodes inside it, by the value of the arc in front.
// All of a heap's values are lowered together by a number that is passed down when it is opened.
// Arcs from inside a node are skipped when they come to the front.
//
// Values are exact (numbers/fixed_point.hpp): those of a run lie between two of its scores'
// differences, and those of root arcs that come last are sums of at most n of them.
//
// If a single root arc is required, arcs from the root come after all others, whatever their value:
// the best tree with as few of them as possible is found, and it has one if there is such a tree.
//
// Among ties the choice depends on the rows alone, which are sorted: the order in which the arcs
// were given does not matter.  A node whose best arcs are tied prefers the root, then the first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "numbers/fixed_point.hpp"
#include "sparse/compressed_rows.hpp"
#include "types/status.hpp"

namespace arborand {
namespace ARBORAND_ISA {
namespace sparse {

inline FixedFormat fixed_format_of(const CompressedRows& rows) {
    return FixedFormat::of_scores(
        [&](const auto& visit) {
            for (Index a = 0; a < rows.num_arcs(); ++a) visit(rows.log_weight(a));
        },
        rows.num_nodes());
}

// Number: Fixed<...> of the format above.
template <class Number>
class BestArborescence {
  public:
    BestArborescence(const CompressedRows& rows, Node root, bool single_root, int lowest_bit)
        : rows_(rows),
          root_(root),
          single_root_(single_root),
          lowest_bit_(lowest_bit),
          runs_(static_cast<std::size_t>(rows.num_nodes())),
          sorted_(static_cast<std::size_t>(rows.num_arcs())),
          nodes_(runs_.size()) {
        nodes_.reserve(2 * runs_.size());
        std::iota(sorted_.begin(), sorted_.end(), Node{0});
        for (std::size_t j = 0; j < runs_.size(); ++j) {
            const Index node = static_cast<Index>(j);
            const auto first = sorted_.begin() + rows.begin(node);
            std::sort(first, sorted_.begin() + rows.end(node), [&](Node a, Node b) {
                if (comes_last(a) != comes_last(b)) return comes_last(b);
                if (rows.log_weight(a) != rows.log_weight(b)) {
                    return rows.log_weight(a) > rows.log_weight(b);
                }
                if ((rows.head(a) == root) != (rows.head(b) == root)) return rows.head(a) == root;
                return a < b;
            });
            nodes_[j].outermost = static_cast<Node>(j);
            if (j == root_ || rows.degree(node) == 0) continue;
            runs_[j].front = static_cast<Node>(rows.begin(node));
            runs_[j].value = value_of(sorted_[runs_[j].front]);
            nodes_[j].heap = static_cast<Node>(j);
        }
    }

    // no_tree: none, or none with a single root arc.  The root's own head is not written.
    Status find(std::int32_t* heads, const Interrupt& interrupt) {
        std::vector<Node> path;
        Index num_root_arcs = 0, num_steps = 0;
        nodes_[root_].state = done;
        for (Node start = 0; start < runs_.size(); ++start) {
            Node node = outermost(start);
            while (nodes_[node].state != done) {
                if (++num_steps % 1024 == 0 && interrupt.requested()) return Status::interrupted;
                if (nodes_[node].state == on_path) {
                    node = contract(path, node);
                    continue;
                }
                path.push_back(node);
                nodes_[node].state = on_path;
                if (!choose(node)) return Status::no_tree;
                if (nodes_[node].head == root_ && ++num_root_arcs > 1 && single_root_) {
                    return Status::no_tree;
                }
                node = outermost(nodes_[node].head);
            }
            for (const Node x : path) nodes_[x].state = done;
            path.clear();
        }
        unfold(heads);
        return Status::ok;
    }

  private:
    static constexpr Node none = ~Node{0};
    enum State : std::uint8_t { unseen, on_path, done };

    // The arcs of one row that have not been looked at yet; a node of a heap.
    struct Run {
        Number value{};    // of the arc in front
        Number lowered{};  // what the runs below it in the heap have yet to lose
        Node front = 0;    // in sorted_
        Node left = none, right = none;
        Node rank = 1;  // of the way along right ends
    };

    // A node of the graph, or a contracted cycle.
    struct Contracted {
        Node heap = none;
        Node head = none, dependent = none;  // the arc that it has chosen
        Node parent = none, first_child = none, next_sibling = none;
        Node outermost = none;  // on the way to what it lies in
        State state = unseen;
    };

    Number value_of(Node arc) const { return Number::of(rows_.log_weight(arc), lowest_bit_); }
    bool comes_last(Node arc) const { return single_root_ && rows_.head(arc) == root_; }

    Node outermost(Node node) {
        while (nodes_[node].outermost != node) {
            nodes_[node].outermost = nodes_[nodes_[node].outermost].outermost;
            node = nodes_[node].outermost;
        }
        return node;
    }

    bool is_better(Node x, Node y) const {
        const Node a = sorted_[runs_[x].front], b = sorted_[runs_[y].front];
        if (comes_last(a) != comes_last(b)) return comes_last(b);
        const int sign = compare(runs_[x].value, runs_[y].value);
        return sign != 0 ? sign > 0 : x < y;
    }

    void lower(Node run, const Number& by) {
        if (run == none) return;
        runs_[run].value = runs_[run].value - by;
        runs_[run].lowered = runs_[run].lowered + by;
    }

    void pass_down(Node run) {
        lower(runs_[run].left, runs_[run].lowered);
        lower(runs_[run].right, runs_[run].lowered);
        runs_[run].lowered = Number{};
    }

    Node rank(Node run) const { return run == none ? 0 : runs_[run].rank; }

    // As deep as right ends are long: log n.
    Node merge(Node x, Node y) {
        if (x == none || y == none) return x == none ? y : x;
        if (is_better(y, x)) std::swap(x, y);
        pass_down(x);
        runs_[x].right = merge(runs_[x].right, y);
        if (rank(runs_[x].left) < rank(runs_[x].right)) std::swap(runs_[x].left, runs_[x].right);
        runs_[x].rank = rank(runs_[x].right) + 1;
        return x;
    }

    // Go on to the next arc of the best run; the heap that is left.
    Node advance(Node best) {
        pass_down(best);
        const Node others = merge(runs_[best].left, runs_[best].right);
        runs_[best].left = runs_[best].right = none;
        runs_[best].rank = 1;
        const Node before = sorted_[runs_[best].front++];
        if (static_cast<Index>(runs_[best].front) == rows_.end(static_cast<Index>(best))) {
            return others;
        }
        const Node after = sorted_[runs_[best].front];
        runs_[best].value = runs_[best].value + (value_of(after) - value_of(before));
        return merge(best, others);
    }

    // The best arc from outside; false: there is none.
    bool choose(Node node) {
        Node heap = nodes_[node].heap;
        while (heap != none && outermost(rows_.head(sorted_[runs_[heap].front])) == node) {
            heap = advance(heap);
        }
        nodes_[node].heap = heap;
        if (heap == none) return false;
        nodes_[node].head = rows_.head(sorted_[runs_[heap].front]);
        nodes_[node].dependent = heap;
        const Number value = runs_[heap].value;
        lower(heap, value);
        return true;
    }

    // Make one node of those on the path from `first` on.
    Node contract(std::vector<Node>& path, Node first) {
        const Node cycle = static_cast<Node>(nodes_.size());
        nodes_.emplace_back();
        nodes_[cycle].outermost = cycle;
        Node child;
        do {
            child = path.back();
            path.pop_back();
            nodes_[child].parent = nodes_[child].outermost = cycle;
            nodes_[child].next_sibling = nodes_[cycle].first_child;
            nodes_[cycle].first_child = child;
            nodes_[cycle].heap = merge(nodes_[cycle].heap, nodes_[child].heap);
        } while (child != first);
        return cycle;
    }

    // An arc into a cycle replaces the choices of all nodes that hold its dependent; the others
    // keep theirs.
    void unfold(std::int32_t* heads) const {
        std::vector<Node> waiting;
        for (Node node = 0; node < nodes_.size(); ++node) {
            if (node != root_ && nodes_[node].parent == none) waiting.push_back(node);
        }
        while (!waiting.empty()) {
            const Node node = waiting.back();
            waiting.pop_back();
            const Node dependent = nodes_[node].dependent;
            heads[dependent] = static_cast<std::int32_t>(nodes_[node].head);
            for (Node child = dependent; child != node; child = nodes_[child].parent) {
                Node sibling = nodes_[nodes_[child].parent].first_child;
                for (; sibling != none; sibling = nodes_[sibling].next_sibling) {
                    if (sibling != child) waiting.push_back(sibling);
                }
            }
        }
    }

    const CompressedRows& rows_;
    Node root_;
    bool single_root_;
    int lowest_bit_;
    std::vector<Run> runs_;          // by node of the graph
    std::vector<Node> sorted_;       // arcs, row by row, the best ones first
    std::vector<Contracted> nodes_;  // of the graph, then cycles as they are found
};

// Find it with numbers of the size that the scores need.
inline Status find_best_arborescence(const CompressedRows& rows, Node root, bool single_root,
                                     std::int32_t* heads, const Interrupt& interrupt) {
    const FixedFormat format = fixed_format_of(rows);
    return with_exact_numbers(format, [&](auto number) {
        BestArborescence<decltype(number)> search(rows, root, single_root, format.lowest);
        return search.find(heads, interrupt);
    });
}

}  // namespace sparse
}  // namespace ARBORAND_ISA
}  // namespace arborand
