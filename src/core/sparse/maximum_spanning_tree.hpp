// The maximum spanning tree of an undirected graph: Kruskal's algorithm, O(m log n).
//
// Edges are taken in the order of their weights, and equal ones in the order of the rows, which are
// sorted: the order in which they were given does not matter.  Weights are compared and never added
// up, so there is nothing to round.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "sparse/compressed_rows.hpp"
#include "types/status.hpp"

namespace arborand {
namespace ARBORAND_ISA {
namespace sparse {

// heads[j] for all nodes but the root.  no_tree: the graph is not connected.
inline Status find_maximum_spanning_tree(const CompressedRows& rows, Node root,
                                         std::int32_t* heads) {
    struct Edge {
        double log_weight;
        Node a, b;
    };
    const Node n = static_cast<Node>(rows.num_nodes());
    std::vector<Edge> edges;
    for (Node j = 0; j < n; ++j) {
        for (Index a = rows.begin(j); a < rows.end(j); ++a) {
            // Each edge once; those of the outside node are in one row only.
            const bool is_outside = static_cast<Index>(rows.head(a)) >= rows.num_inside();
            if (rows.head(a) < j || is_outside) {
                edges.push_back({rows.log_weight(a), j, rows.head(a)});
            }
        }
    }
    std::stable_sort(edges.begin(), edges.end(),
                     [](const Edge& x, const Edge& y) { return x.log_weight > y.log_weight; });

    std::vector<Node> part(n), size(n, 1);
    std::iota(part.begin(), part.end(), Node{0});
    const auto part_of = [&](Node x) {
        for (; part[x] != x; x = part[x]) part[x] = part[part[x]];
        return x;
    };
    std::size_t kept = 0;
    for (const Edge& edge : edges) {
        Node x = part_of(edge.a), y = part_of(edge.b);
        if (x == y) continue;
        if (size[x] < size[y]) std::swap(x, y);
        part[y] = x;
        size[x] += size[y];
        edges[kept++] = edge;
    }
    edges.resize(kept);
    if (kept + 1 < n) return Status::no_tree;

    // From the root outwards.
    std::vector<Node> begin(n + 1, 0), neighbour(2 * kept);
    for (const Edge& edge : edges) ++begin[edge.a + 1], ++begin[edge.b + 1];
    for (Node j = 0; j < n; ++j) begin[j + 1] += begin[j];
    std::vector<Node> next(begin.begin(), begin.end() - 1);
    for (const Edge& edge : edges) {
        neighbour[next[edge.a]++] = edge.b;
        neighbour[next[edge.b]++] = edge.a;
    }
    std::vector<Node> waiting{root};
    std::vector<std::uint8_t> seen(n, 0);
    seen[root] = 1;
    while (!waiting.empty()) {
        const Node node = waiting.back();
        waiting.pop_back();
        for (Node k = begin[node]; k < begin[node + 1]; ++k) {
            const Node dependent = neighbour[k];
            if (seen[dependent]) continue;
            seen[dependent] = 1;
            heads[dependent] = static_cast<std::int32_t>(node);
            waiting.push_back(dependent);
        }
    }
    return Status::ok;
}

}  // namespace sparse
}  // namespace ARBORAND_ISA
}  // namespace arborand
