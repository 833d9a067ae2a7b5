// Random sparse graphs, and everything the core can say about one, as one digest per question.
//
// In a file of its own, because sparse graphs are compiled for one instruction set only.
#pragma once

#include <cstdint>
#include <vector>

#include "answers.hpp"

namespace arborand {

// Edges as a caller may give them: parallel ones, loops, and some of weight 0 among them.
struct OwnedEdges {
    std::vector<std::int32_t> heads, dependents;
    std::vector<double> log_weights;  // empty: all 0
    std::vector<double> log_killing;  // empty: no forests
    Index num_nodes;
    bool directed;
    std::int32_t root;  // of a directed graph without killing weights
};

// A graph that has a tree, or a forest where it has killing weights.
OwnedEdges random_edges(Random& random, Scores scores, Index num_nodes);

Answers sparse_answers(const OwnedEdges& edges, const Interrupt& interrupt, Index num_draws);

}  // namespace arborand
