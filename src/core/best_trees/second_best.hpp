// The second best tree from the best one, in O(n^2): Camerini, Fratta and Maffioli (1980).
//
// Take a word's arc out of the best tree, and the largest node of the forest whose choice it is
// (the word's owner).  Any other arc into that node whose head is not below the word gives a tree:
// the words inside the node get the heads that the arc decides, all others keep theirs.  The best
// tree of all that are made this way is the second best (docs/mathematics.md has the proof).  The
// loss is the difference of the two arcs' values in the node's row, which Edmonds' algorithm has
// computed; the Rows look it up.
#pragma once

#include "best_trees/edmonds.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// A tree that contract_cycles has found.
struct BestTree {
    std::int32_t* heads;
    Node* owner;    // [word]: the largest node whose choice is the word's arc
    double* place;  // [node]: in an order in which every word comes before all words below it
    double* end;    // [node]: the place after the last word below it

    static std::size_t workspace(Index n) {
        return 4 * Arena::rounded<Node>(n + 1) + Arena::rounded<double>(padded(n + 1)) +
               Arena::rounded<double>(n + 1);
    }

    BestTree(Index num_words, Arena& arena) {
        heads = arena.take<std::int32_t>(num_words + 1);
        owner = arena.take<Node>(num_words + 1);
        first_ = arena.take<Node>(num_words + 1);
        next_ = arena.take<Node>(num_words + 1);
        place = arena.take<double>(padded(num_words + 1));
        end = arena.take<double>(num_words + 1);
    }

    // False: the rows could not find all targets.
    template <class Rows>
    bool read(Forest& forest, const Rows& rows) {
        const Index n = forest.num_words();
        if (!forest.unfold(rows, heads, owner)) return false;
        for (Index v = 0; v <= n; ++v) first_[v] = 0;
        for (Node word = static_cast<Node>(n); word >= 1; --word) {
            next_[word] = first_[heads[word]];
            first_[heads[word]] = word;
        }
        // Down to the first child, else over to the next one, else up: without a stack.
        double next_place = 0.0;
        for (Node node = 0;;) {
            place[node] = next_place++;
            if (first_[node] != 0) {
                node = first_[node];
                continue;
            }
            for (;;) {
                end[node] = next_place;
                if (node == 0) break;
                if (next_[node] != 0) break;
                node = heads[node];
            }
            if (node == 0) break;
            node = next_[node];
        }
        for (Index v = n + 1; v < padded(n + 1); ++v) place[v] = -1.0;
        return true;
    }

    bool is_below(Node node, Node word) const {
        return place[node] >= place[word] && place[node] < end[word];
    }

  private:
    Node *first_, *next_;
};

// The arc into `word` is replaced by source -> target, which enters the word's owner.
struct Swap {
    Node word, source, target;

    template <class Rows>
    bool apply(Forest& forest, const BestTree& tree, const Rows& rows, std::int32_t* heads) const {
        for (Index v = 0; v <= forest.num_words(); ++v) heads[v] = tree.heads[v];
        return forest.enter(tree.owner[word], source, target, rows, heads);
    }
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
