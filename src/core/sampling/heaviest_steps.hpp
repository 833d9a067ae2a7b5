// The heaviest step out of every node, and the cycles that these steps close.
#pragma once

#include <cstdint>

#include "walk/rows.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// The steps of a walk: those between words, and those to the root unless its child is drawn first.
struct Steps {
    const double* rows;  // walk/rows.hpp
    Index num_words;
    bool lead_to_root;

    // weights[i]: from `node` to node i, for i = 0 .. num_words.
    void of(Index node, double* weights) const {
        const double* row = rows + (node - 1) * walk_stride(num_words);
        weights[0] = lead_to_root ? row[num_words] : 0.0;
        for (Index i = 1; i <= num_words; ++i) weights[i] = row[i - 1];
        weights[node] = 0.0;
    }

    // Where the heaviest one leads: to the first of several; to the root if there are none.
    // `room` has room for all nodes.
    Index heaviest_of(Index node, double* room) const {
        of(node, room);
        Index heaviest = 0;
        double weight = room[0];
        for (Index i = 1; i <= num_words; ++i) {
            heaviest = room[i] > weight ? i : heaviest;
            weight = room[i] > weight ? room[i] : weight;
        }
        return heaviest;
    }

    // The weights without the heaviest one, which is returned.
    double others_of(Index node, Index heaviest, double* others) const {
        of(node, others);
        const double weight = others[heaviest];
        others[heaviest] = 0.0;
        return weight;
    }
};

// Call look_at(node) with one node of every cycle that the steps next[node] close; 0 is the root,
// and has none.  `seen` has room for all nodes.
template <class Look>
void for_each_cycle(const std::int32_t* next, Index num_nodes, std::int32_t* seen,
                    const Look& look_at) {
    for (Index j = 0; j < num_nodes; ++j) seen[j] = 0;
    for (Index start = 1; start < num_nodes; ++start) {
        Index j = start;
        while (j != 0 && seen[j] == 0) {
            seen[j] = static_cast<std::int32_t>(start);
            j = next[j];
        }
        if (j != 0 && seen[j] == start) look_at(j);
    }
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
