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
#include "types/index.hpp"

namespace arborand {
namespace ARBORAND_ISA {

using Node = std::int32_t;

class Forest {
  public:
    static std::size_t workspace(Index n) {
        return 9 * Arena::rounded<Node>(2 * n) + 2 * Arena::rounded<Node>(n + 1);
    }

    Forest(Index num_words, Arena& arena) : num_words_(num_words) {
        for (Node** array : {&parent, &source, &target, &first_child, &next_sibling, &first_leaf,
                             &last_leaf, &stack_, &state_}) {
            *array = arena.take<Node>(2 * num_words);
        }
        for (Node** array : {&top, &next_leaf_}) *array = arena.take<Node>(num_words + 1);
    }

    void clear() {
        num_nodes_ = num_words_ + 1;
        for (Index v = 0; v <= num_words_; ++v) {
            top[v] = first_leaf[v] = last_leaf[v] = static_cast<Node>(v);
            parent[v] = state_[v] = 0;
        }
    }

    Index num_words() const { return num_words_; }
    Index num_nodes() const { return num_nodes_; }
    bool is_word(Node node) const { return node <= num_words_; }

    Node add_cycle() {
        const Node cycle = static_cast<Node>(num_nodes_++);
        parent[cycle] = first_child[cycle] = first_leaf[cycle] = state_[cycle] = 0;
        return cycle;
    }

    void adopt(Node cycle, Node child) {
        parent[child] = cycle;
        next_sibling[child] = first_child[cycle];
        first_child[cycle] = child;
        if (first_leaf[cycle] == 0) {
            first_leaf[cycle] = first_leaf[child];
        } else {
            next_leaf_[last_leaf[cycle]] = first_leaf[child];
        }
        last_leaf[cycle] = last_leaf[child];
        for_leaves(child, [&](Node word) { top[word] = cycle; });
    }

    template <class Visit>
    ARBORAND_INLINE void for_children(Node cycle, const Visit& visit) const {
        for (Node child = first_child[cycle]; child != 0; child = next_sibling[child]) {
            visit(child);
        }
    }

    template <class Visit>
    ARBORAND_INLINE void for_leaves(Node node, const Visit& visit) const {
        for (Node word = first_leaf[node];; word = next_leaf_[word]) {
            visit(word);
            if (word == last_leaf[node]) return;
        }
    }

    // The heads of the words inside `node` if it is entered by head -> word; others are left as
    // they are.
    void enter(Node node, Node head, Node word, std::int32_t* heads) {
        Index size = 0;
        keep_choices(node, word, size);
        heads[word] = head;
        while (size > 0) {
            const Node next = stack_[--size];
            keep_choices(next, target[next], size);
            heads[target[next]] = source[next];
        }
    }

    // The tree that all choices together make; owner[word] is the largest node whose choice enters
    // it at the word.
    void unfold(std::int32_t* heads, Node* owner) {
        Index size = 0;
        for (Index node = 1; node < num_nodes_; ++node) {
            if (parent[node] == 0) stack_[size++] = static_cast<Node>(node);
        }
        while (size > 0) {
            const Node next = stack_[--size];
            keep_choices(next, target[next], size);
            heads[target[next]] = source[next];
            if (owner != nullptr) owner[target[next]] = next;
        }
        heads[0] = -1;
    }

    // What the search has made of a node.
    enum State : Node { unseen, on_path, done };
    State state(Node node) const { return static_cast<State>(state_[node]); }
    void set_state(Node node, State state) { state_[node] = state; }

    Node *parent, *source, *target, *first_child, *next_sibling;
    Node *first_leaf, *last_leaf;
    Node* top;  // [word]: the largest node that holds it

  private:
    // All nodes beside the way from the word up to the node.
    ARBORAND_INLINE void keep_choices(Node node, Node word, Index& size) {
        for (Node child = word; child != node; child = parent[child]) {
            for_children(parent[child], [&](Node sibling) {
                if (sibling != child) stack_[size++] = sibling;
            });
        }
    }

    Index num_words_, num_nodes_ = 0;
    Node *stack_, *state_, *next_leaf_;
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
