// The best tree of one graph: the best heads, if they form a tree; otherwise by contraction in
// double, or, if a choice is too close for double, in exact numbers.
//
// For dependency trees, the best spanning tree is found first: usually it has only one root arc,
// and then it is the best dependency tree, too.  A word whose best head is the root keeps this head
// in the best spanning tree, so two such words show that the tree has several root arcs.
#pragma once

#include "best_trees/certified_rows.hpp"
#include "best_trees/exact_rows.hpp"
#include "types/requests.hpp"
#include "types/status.hpp"

namespace arborand {
namespace ARBORAND_ISA {

inline Status status_of(Answer answer) {
    switch (answer) {
        case Answer::certain:
            return Status::ok;
        case Answer::interrupted:
            return Status::interrupted;
        default:
            return Status::no_tree;
    }
}

class BestTreeSearch {
  public:
    BestTreeSearch(const Graph& graph, Arena& arena, const Interrupt& interrupt, BestCounts& counts)
        : graph_(graph), arena_(arena), interrupt_(interrupt), counts_(counts) {}

    Status best(double caution, std::int32_t* heads) {
        const Index n = graph_.num_words;
        if (!arena_.reserve(workspace<CertifiedRows>(n))) return Status::no_memory;
        const BestHeads best(graph_, arena_);
        Node* path = arena_.take<Node>(2 * n);
        Index num_roots = 0;
        for (Index word = 1; word <= n; ++word) {
            if (best.head[word] < 0) return Status::no_tree;
            heads[word] = best.head[word];
            num_roots += heads[word] == 0;
        }
        heads[0] = -1;
        const bool several_roots = graph_.has_single_root() && num_roots > 1;
        if (!several_roots && is_tree(heads, path)) {
            ++counts_.greedy;
            return Status::ok;
        }
        Forest forest(n, arena_);
        const Grid grid = Grid::of(graph_, caution);
        const std::size_t mark = arena_.mark();
        Answer answer;
        {
            CertifiedRows rows(graph_, grid, best, arena_);
            answer = find(best, forest, rows, several_roots, path, heads);
        }
        if (answer == Answer::uncertain) {
            arena_.release(mark);
            CertifiedRows rows(graph_, grid.without_low_arcs(), best, arena_);
            answer = find(best, forest, rows, several_roots, path, heads);
            // Scores relative to the best ones are not positive: a tree has less than each of its
            // arcs.  Half of the floor is far above the floor, whatever the sum rounds.
            const bool is_best =
                answer == Answer::certain && lead_of(best, heads) > 0.5 * grid.floor;
            if (!is_best && answer != Answer::interrupted) answer = Answer::uncertain;
        }
        if (answer != Answer::uncertain) {
            ++counts_.certified;
            return status_of(answer);
        }
        return best_exactly(several_roots, heads);
    }

    // The second best spanning tree, and the arc of the best tree that it lacks.  `word_rows` are
    // the graph's scores on the grid.
    Status second(const Grid& grid, double* word_rows, const FixedFormat& format,
                  std::int32_t* heads, Node& word, Node& head) {
        const Index n = graph_.num_words;
        if (!arena_.reserve(workspace<CertifiedRows>(n))) return Status::no_memory;
        Answer answer;
        {
            const BestHeads best(graph_, arena_);
            CertifiedRows rows(graph_, grid, word_rows, arena_);
            answer = second_with(best, rows, heads, word, head);
        }
        if (answer != Answer::uncertain) {
            ++counts_.certified;
            return status_of(answer);
        }
        ++counts_.exact;
        return with_exact_numbers(format, [&](auto number) {
            using Rows = ExactRows<decltype(number)>;
            if (!arena_.reserve(workspace<Rows>(n))) return Status::no_memory;
            const BestHeads best(graph_, arena_);
            Rows rows(graph_, format, arena_);
            return status_of(second_with(best, rows, heads, word, head));
        });
    }

  private:
    // The score of a tree relative to that of the best heads.
    double lead_of(const BestHeads& best, const std::int32_t* heads) const {
        double total = 0.0;
        for (Index word = 1; word <= graph_.num_words; ++word) {
            total += graph_.score(heads[word], word) - best.score[word];
        }
        return total;
    }

    template <class Rows>
    static std::size_t workspace(Index n) {
        return BestHeads::workspace(n) + Arena::rounded<Node>(2 * n) + Forest::workspace(n) +
               BestTree::workspace(n) + Rows::workspace(n);
    }

    Status best_exactly(bool several_roots, std::int32_t* heads) {
        ++counts_.exact;
        const FixedFormat format = FixedFormat::of(graph_);
        return with_exact_numbers(format, [&](auto number) {
            using Rows = ExactRows<decltype(number)>;
            const Index n = graph_.num_words;
            if (!arena_.reserve(workspace<Rows>(n))) return Status::no_memory;
            const BestHeads best(graph_, arena_);
            Forest forest(n, arena_);
            Rows rows(graph_, format, arena_);
            Node* path = arena_.take<Node>(2 * n);
            return status_of(find(best, forest, rows, several_roots, path, heads));
        });
    }

    template <class Rows>
    Answer find(const BestHeads& best, Forest& forest, Rows& rows, bool several_roots, Node* path,
                std::int32_t* heads) {
        const Answer answer = contract(best, forest, rows, several_roots, path);
        if (answer != Answer::certain) return answer;
        return forest.unfold(rows, heads, nullptr) ? answer : Answer::uncertain;
    }

    template <class Rows>
    Answer contract(const BestHeads& best, Forest& forest, Rows& rows, bool several_roots,
                    Node* path) {
        if (!graph_.has_single_root()) {
            return contract_cycles(best, forest, rows, RootArcs::any, path, interrupt_);
        }
        if (!several_roots) {
            const Answer answer =
                contract_cycles(best, forest, rows, RootArcs::one_if_best, path, interrupt_);
            if (answer != Answer::several_roots) return answer;
        }
        return contract_cycles(best, forest, rows, RootArcs::last, path, interrupt_);
    }

    template <class Rows>
    Answer second_with(const BestHeads& best, Rows& rows, std::int32_t* heads, Node& word,
                       Node& head) {
        const Index n = graph_.num_words;
        Forest forest(n, arena_);
        BestTree tree(n, arena_);
        Node* path = arena_.take<Node>(2 * n);
        Answer answer = contract_cycles(best, forest, rows, RootArcs::any, path, interrupt_);
        if (answer != Answer::certain) return answer;
        if (!tree.read(forest, rows)) return Answer::uncertain;
        Swap swap;
        answer = rows.second(forest, tree, interrupt_, swap);
        if (answer != Answer::certain) return answer;
        if (!swap.apply(forest, tree, rows, heads)) return Answer::uncertain;
        word = swap.word;
        head = tree.heads[word];
        return answer;
    }

    // Do all heads lead to the root?  Marks every word with the word its search began at.
    bool is_tree(const std::int32_t* heads, Node* mark) const {
        const Node n = static_cast<Node>(graph_.num_words);
        for (Node word = 1; word <= n; ++word) mark[word] = 0;
        for (Node start = 1; start <= n; ++start) {
            Node word = start;
            while (word != 0 && mark[word] == 0) {
                mark[word] = start;
                word = heads[word];
            }
            if (word != 0 && mark[word] == start) return false;
        }
        return true;
    }

    const Graph& graph_;
    Arena& arena_;
    const Interrupt& interrupt_;
    BestCounts& counts_;
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
