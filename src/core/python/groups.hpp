// Which graphs of a batch are solved at once: four of the same length if that pays, one otherwise.
#pragma once

#include <algorithm>
#include <vector>

#include "types/graph.hpp"
#include "types/index.hpp"

namespace arborand {

// `graphs_at_once` graphs, or one, by their places in the batch.
struct Group {
    Index graphs[graphs_at_once];
    Index count;
};

class Groups {
  public:
    // Each graph by itself.
    explicit Groups(Index num_graphs) : num_graphs_(num_graphs) {}

    // `length(g)` is the number of words of graph g.  Every worker should have something to do, and
    // what takes longest comes first, so that none is left with it at the end.
    template <class Length>
    Groups(Index num_graphs, int workers, const Length& length) : num_graphs_(num_graphs) {
        if (num_graphs < graphs_at_once * workers) return;
        order_.resize(static_cast<std::size_t>(num_graphs));
        for (Index g = 0; g < num_graphs; ++g) order_[static_cast<std::size_t>(g)] = g;
        std::stable_sort(order_.begin(), order_.end(),
                         [&](Index g, Index h) { return length(g) > length(h); });
        for (Index begin = 0; begin < num_graphs;) {
            begins_.push_back(begin);
            const Index last = begin + graphs_at_once - 1, num_words = length(at(begin));
            const bool pays = num_words >= fewest_words_at_once && num_words <= most_words_at_once;
            begin =
                pays && last < num_graphs && length(at(last)) == num_words ? last + 1 : begin + 1;
        }
    }

    Index count() const {
        return order_.empty() ? num_graphs_ : static_cast<Index>(begins_.size());
    }

    Group operator[](Index i) const {
        if (order_.empty()) return {{i}, 1};
        const Index begin = begins_[static_cast<std::size_t>(i)];
        const Index end = i + 1 < count() ? begins_[static_cast<std::size_t>(i + 1)] : num_graphs_;
        Group group{{}, end - begin};
        for (Index k = 0; k < group.count; ++k) group.graphs[k] = at(begin + k);
        return group;
    }

  private:
    Index at(Index place) const { return order_[static_cast<std::size_t>(place)]; }

    Index num_graphs_;
    std::vector<Index> order_, begins_;  // graphs by length, and where in there groups begin
};

}  // namespace arborand
