// Edmonds' algorithm on a dense graph, over any ordered group: O(n^2) operations (Tarjan 1977).
//
// Every node chooses the best arc that enters it.  If the choices form a cycle, it is contracted to
// one node, whose arcs are worth what they add to the choices they replace.  Only +, - and < are
// used, so the proof holds for any values that add up along a tree and are totally ordered.  Here a
// tree is worth, compared entry by entry,
//
//     (- number of root arcs, sum of the scores, - heads[1], ..., - heads[n]).
//
// The first entry only counts if a single root arc is required.  It is not stored: an arc from the
// root has -1 there and all others 0 (a chosen arc of a cycle never comes from the root), so that
// the root is chosen only by a node that has no other arc left.  The last entries break ties of the
// exact sums.  The second entry is what the Rows below compute with: certified_rows.hpp in double,
// exact_rows.hpp exactly.  See docs/mathematics.md.
#pragma once

#include <cmath>

#include "best_trees/forest.hpp"
#include "memory/arena.hpp"
#include "numbers/four_doubles.hpp"
#include "types/graph.hpp"
#include "types/status.hpp"

namespace arborand {
namespace ARBORAND_ISA {

enum class Answer {
    certain,
    uncertain,      // some choice was too close for the numbers in use
    several_roots,  // the best tree of all has several root arcs
    none,           // there is no tree
    interrupted,
};

enum class RootArcs {
    any,
    one_if_best,  // give up when the second one is chosen
    last,         // choose the root only where nothing else is left
};

// The best head of every word: exact, because scores are compared as they are.  Of equal ones the
// first is best.
struct BestHeads {
    double* score;       // -inf if there is none
    Node* head;          // -1 if there is none
    double* word_score;  // the same among the words
    Node* word_head;

    static std::size_t workspace(Index n) {
        return 2 * (Arena::rounded<double>(n + 1) + Arena::rounded<Node>(n + 1));
    }

    BestHeads(const Graph& graph, Arena& arena) {
        const Index n = graph.num_words;
        score = arena.take<double>(n + 1);
        head = arena.take<Node>(n + 1);
        word_score = arena.take<double>(n + 1);
        word_head = arena.take<Node>(n + 1);
        constexpr Index blocks = 4;
        Index j = 0;
        for (; j + blocks * vector_length <= n + 1; j += blocks * vector_length)
            scan<blocks>(graph, j);
        for (; j + vector_length <= n + 1; j += vector_length) scan<1>(graph, j);
        if (j <= n && n + 1 >= vector_length) {  // the last ones, some of them again
            scan<1>(graph, n + 1 - vector_length);
        } else {
            for (; j <= n; ++j) scan_one(graph, j);
        }
        for (j = 1; j <= n; ++j) {
            const double root = graph.score(0, j);
            const bool root_first = root >= word_score[j] && root > -HUGE_VAL;
            score[j] = root_first ? root : word_score[j];
            head[j] = root_first ? 0 : word_head[j];
        }
    }

  private:
    // Columns j .. j + 4 blocks - 1, four side by side.
    template <Index blocks>
    void scan(const Graph& graph, Index j) {
        FourDoubles best[blocks];
        FourIntegers from[blocks];
        for (Index b = 0; b < blocks; ++b) {
            best[b] = broadcast(-HUGE_VAL);
            from[b] = FourIntegers{-1, -1, -1, -1};
        }
        for (Index i = 1; i <= graph.num_words; ++i) {
            const double* row = graph.log_weights + i * graph.stride + j;
            const FourIntegers here = {i, i, i, i};
            for (Index b = 0; b < blocks; ++b) {
                const FourDoubles x = load(row + b * vector_length);
                const FourIntegers better = x > best[b];
                best[b] = select(better, x, best[b]);
                from[b] = select(better, here, from[b]);
            }
        }
        for (Index b = 0; b < blocks; ++b) {
            for (Index l = 0; l < vector_length; ++l) {
                word_score[j + b * vector_length + l] = best[b][l];
                word_head[j + b * vector_length + l] = static_cast<Node>(from[b][l]);
            }
        }
    }

    void scan_one(const Graph& graph, Index j) {
        word_score[j] = -HUGE_VAL;
        word_head[j] = -1;
        for (Index i = 1; i <= graph.num_words; ++i) {
            if (graph.score(i, j) > word_score[j]) {
                word_score[j] = graph.score(i, j);
                word_head[j] = static_cast<Node>(i);
            }
        }
    }
};

// Fill the forest.  Rows has
//     Answer choose_word(const Forest&, Node word);  // note the choice made
//     Answer choose(Forest&, Node cycle, bool root_last);
//     void merge(Forest&, Node cycle);  // compute the values of arcs into a new cycle
//     bool find_target(const Forest&, Node, Node source, Node& target) const;
template <class Rows>
Answer contract_cycles(const BestHeads& best, Forest& forest, Rows& rows, RootArcs root_arcs,
                       Node* path, const Interrupt& interrupt) {
    forest.clear();
    const bool root_last = root_arcs == RootArcs::last;
    Index num_roots = 0;
    for (Node start = 1; start <= forest.num_words(); ++start) {
        if (forest.state(forest.top_of(start)) == Forest::done) continue;
        Index length = 0;
        Node next = forest.top_of(start);
        for (;;) {
            path[length++] = next;
            forest.set_state(next, Forest::on_path);
            Answer answer;
            if (forest.is_word(next)) {
                Node head = root_last ? best.word_head[next] : best.head[next];
                if (head < 0) head = best.head[next];
                if (head < 0) return Answer::none;
                forest.source[next] = head;
                answer = rows.choose_word(forest, next);
            } else {
                answer = rows.choose(forest, next, root_last);
            }
            if (answer != Answer::certain) return answer;
            const Node source = forest.source[next];
            if (source == 0) {
                if (++num_roots > 1 && root_arcs != RootArcs::any) return Answer::several_roots;
                break;
            }
            const Node reached = forest.top_of(source);
            if (forest.state(reached) == Forest::done) break;
            if (forest.state(reached) == Forest::unseen) {
                next = reached;
                continue;
            }
            if (interrupt.requested(forest.num_words())) return Answer::interrupted;
            const Index end = length;
            while (path[--length] != reached) {
            }
            next = forest.contract(path + length, end - length);
            rows.merge(forest, next);
        }
        while (length > 0) forest.set_state(path[--length], Forest::done);
    }
    return Answer::certain;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
