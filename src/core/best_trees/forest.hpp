// The cycles that Edmonds' algorithm contracts, nested in each other, and the trees they stand for.
//
// Node 0 is the root, 1 .. n are the words, the nodes after them are contracted cycles.  A cycle's
// children are the nodes on it, its leaves the words inside it.  Every node but the root has chosen
// one arc source -> target that enters it.  If a cycle is entered by some arc, the child that holds
// the arc's target gives up its own choice and all other children keep theirs: so an arc into a
// node decides the heads of all words inside it.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "memory/arena.hpp"
#include "numbers/four_doubles.hpp"
#include "types/index.hpp"

namespace arborand {
namespace ARBORAND_ISA {

using Node = std::int32_t;

class Forest {
  public:
    static std::size_t workspace(Index n) {
        return 11 * Arena::rounded<Node>(2 * n) + Arena::rounded<Node>(n + 1) +
               Arena::rounded<double>(padded(n + 1));
    }

    Forest(Index num_words, Arena& arena) : num_words_(num_words) {
        for (Node** array : {&parent, &source, &target, &first_child_, &next_sibling_, &first_leaf_,
                             &last_leaf_, &num_leaves_, &top_, &stack_, &state_}) {
            *array = arena.take<Node>(2 * num_words);
        }
        next_leaf_ = arena.take<Node>(num_words + 1);
        label = arena.take<double>(padded(num_words + 1));
    }

    void clear() {
        num_nodes_ = num_words_ + 1;
        for (Node node = 0; node <= num_words_; ++node) {
            top_[node] = first_leaf_[node] = last_leaf_[node] = node;
            num_leaves_[node] = 1;
            parent[node] = state_[node] = 0;
        }
        for (Index i = 0; i < padded(num_words_ + 1); ++i) label[i] = static_cast<double>(i);
    }

    Index num_words() const { return num_words_; }
    Index num_nodes() const { return num_nodes_; }
    bool is_word(Node node) const { return node <= num_words_; }

    // The largest node that holds a word, or the root.
    Node top_of(Node word) const { return top_[static_cast<Index>(label[word])]; }

    // Words in one largest node have one label.
    double label_of(Node node) const { return label[first_leaf_[node]]; }

    // Make a cycle of largest nodes.
    Node contract(const Node* children, Index count) {
        const Node cycle = static_cast<Node>(num_nodes_++);
        parent[cycle] = first_child_[cycle] = state_[cycle] = num_leaves_[cycle] = 0;
        Node largest = children[0];
        for (Index c = 1; c < count; ++c) {
            if (num_leaves_[children[c]] > num_leaves_[largest]) largest = children[c];
        }
        // All take the label of the largest: a word gets another one log n times at most.
        const double kept = label_of(largest);
        for (Index c = 0; c < count; ++c) {
            const Node child = children[c];
            parent[child] = cycle;
            next_sibling_[child] = first_child_[cycle];
            first_child_[cycle] = child;
            if (c == 0) {
                first_leaf_[cycle] = first_leaf_[child];
            } else {
                next_leaf_[last_leaf_[cycle]] = first_leaf_[child];
            }
            last_leaf_[cycle] = last_leaf_[child];
            num_leaves_[cycle] += num_leaves_[child];
            if (child != largest) for_leaves(child, [&](Node word) { label[word] = kept; });
        }
        top_[static_cast<Index>(kept)] = cycle;
        return cycle;
    }

    template <class Visit>
    ARBORAND_INLINE void for_children(Node cycle, const Visit& visit) const {
        for (Node child = first_child_[cycle]; child != 0; child = next_sibling_[child]) {
            visit(child);
        }
    }

    template <class Visit>
    ARBORAND_INLINE void for_leaves(Node node, const Visit& visit) const {
        for (Node word = first_leaf_[node];; word = next_leaf_[word]) {
            visit(word);
            if (word == last_leaf_[node]) return;
        }
    }

    // Write the heads of the words inside `node` if it is entered by head -> word, and leave all
    // others as they are.  Rows finds the targets of choices; false: it could not.
    template <class Rows>
    bool enter(Node node, Node head, Node word, const Rows& rows, std::int32_t* heads) {
        Index size = 0;
        keep_choices(node, word, size);
        heads[word] = head;
        return unfold_stack(size, rows, heads, nullptr);
    }

    // Write the tree that all choices together make.  owner[word] is the largest node whose choice
    // enters it at the word.
    template <class Rows>
    bool unfold(const Rows& rows, std::int32_t* heads, Node* owner) {
        Index size = 0;
        for (Index node = 1; node < num_nodes_; ++node) {
            if (parent[node] == 0) stack_[size++] = static_cast<Node>(node);
        }
        heads[0] = -1;
        return unfold_stack(size, rows, heads, owner);
    }

    // What the search has made of a node.
    enum State : Node { unseen, on_path, done };
    State state(Node node) const { return static_cast<State>(state_[node]); }
    void set_state(Node node, State state) { state_[node] = state; }

    Node *parent, *source, *target;
    double* label;  // [word]; padded

  private:
    template <class Rows>
    bool unfold_stack(Index size, const Rows& rows, std::int32_t* heads, Node* owner) {
        while (size > 0) {
            const Node node = stack_[--size];
            if (is_word(node)) {
                target[node] = node;
            } else if (!rows.find_target(*this, node, source[node], target[node])) {
                return false;
            }
            heads[target[node]] = source[node];
            if (owner != nullptr) owner[target[node]] = node;
            keep_choices(node, target[node], size);
        }
        return true;
    }

    // All nodes beside the way from the word up to the node.
    ARBORAND_INLINE void keep_choices(Node node, Node word, Index& size) {
        for (Node child = word; child != node; child = parent[child]) {
            for_children(parent[child], [&](Node sibling) {
                if (sibling != child) stack_[size++] = sibling;
            });
        }
    }

    Index num_words_, num_nodes_ = 0;
    Node *first_child_, *next_sibling_, *first_leaf_, *last_leaf_, *next_leaf_, *num_leaves_;
    Node* top_;  // [label]
    Node *stack_, *state_;
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
