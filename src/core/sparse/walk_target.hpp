// Where the walks of an undirected graph should end: the law of its trees does not depend on it,
// the number of steps does.
//
// A walk is at a node in proportion to the node's total weight, so the heaviest is met soonest.  Of
// many nodes that are equally heavy (a grid's) one in the middle is best: the steps from the border
// to the border of a square grid are nearly twice those to its centre.  The middle is looked for
// between two nodes far apart from each other, found by two breadth-first searches.
//
// Cost: O(arcs).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "sparse/compressed_rows.hpp"

namespace arborand {
namespace ARBORAND_ISA {
namespace sparse {

// The distance of every node from `start`, in arcs; returns the last one reached.
inline Node measure_distances(const CompressedRows& rows, Node start, std::vector<Node>& distance) {
    constexpr Node unknown = ~Node{0};
    distance.assign(static_cast<std::size_t>(rows.num_nodes()), unknown);
    std::vector<Node> queue{start};
    distance[start] = 0;
    for (std::size_t next = 0; next < queue.size(); ++next) {
        const Node node = queue[next];
        for (Index a = rows.begin(node); a < rows.end(node); ++a) {
            if (distance[rows.head(a)] != unknown) continue;
            distance[rows.head(a)] = distance[node] + 1;
            queue.push_back(rows.head(a));
        }
    }
    return queue.back();
}

inline std::vector<Node> heaviest_nodes(const CompressedRows& rows) {
    double best = -HUGE_VAL;
    std::vector<Node> found;
    for (Index j = 0; j < rows.num_nodes(); ++j) {
        const double largest = rows.largest(j);
        double total = 0.0;
        for (Index a = rows.begin(j); a < rows.end(j); ++a) {
            total += relative_weight(rows.log_weight(a), largest);
        }
        const double log_total = largest + log_of(total);
        if (log_total > best) {
            best = log_total;
            found.clear();
        }
        if (log_total == best) found.push_back(static_cast<Node>(j));
    }
    return found;
}

// For an undirected graph; node 0 if it has no arcs.
inline Node choose_walk_target(const CompressedRows& rows) {
    const std::vector<Node> heaviest = heaviest_nodes(rows);
    if (heaviest.size() < 2) return heaviest.empty() ? 0 : heaviest[0];
    std::vector<Node> from_one, from_other;
    const Node one = measure_distances(rows, heaviest[heaviest.size() / 2], from_one);
    const Node other = measure_distances(rows, one, from_one);
    measure_distances(rows, other, from_other);
    std::vector<Node> middle;
    Node best = ~Node{0};
    for (const Node node : heaviest) {
        const Node farther = std::max(from_one[node], from_other[node]);
        if (farther < best) {
            best = farther;
            middle.clear();
        }
        if (farther == best) middle.push_back(node);
    }
    return middle.empty() ? heaviest[0] : middle[middle.size() / 2];
}

}  // namespace sparse
}  // namespace ARBORAND_ISA
}  // namespace arborand
