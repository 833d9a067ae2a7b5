// Edmonds' algorithm in exact numbers, with the tie rule.
//
// Among trees with equal sums, the one whose heads come first, word by word, is best.  An arc into
// a node decides the heads of the words inside it, so two arcs of equal value are compared by these
// heads: O(n) for each tie, O(n^3) for a graph whose scores are all equal.
#pragma once

#include "best_trees/second_best.hpp"
#include "numbers/fixed_point.hpp"

namespace arborand {
namespace ARBORAND_ISA {

template <class Number>
class ExactRows {
  public:
    static std::size_t workspace(Index n) {
        return Arena::rounded<Number>(2 * n * (n + 1)) + Arena::rounded<Node>(2 * n * (n + 1)) +
               2 * Arena::rounded<Number>(2 * n) + 2 * Arena::rounded<Node>(n + 1);
    }

    ExactRows(const Graph& graph, const FixedFormat& format, Arena& arena)
        : size_(graph.num_words + 1) {
        const Index num_nodes = 2 * graph.num_words;
        rows_ = arena.take<Number>(num_nodes * size_);
        targets_ = arena.take<Node>(num_nodes * size_);
        chosen_ = arena.take<Number>(num_nodes);
        replaced_ = arena.take<Number>(num_nodes);
        one_ = arena.take<Node>(size_);
        other_ = arena.take<Node>(size_);
        for (Index word = 1; word < size_; ++word) {
            for (Index i = 0; i < size_; ++i) {
                const double score = graph.score(i, word);
                row(word)[i] =
                    score > -HUGE_VAL ? Number::of(score, format.lowest) : Number::absent();
                targets(word)[i] = static_cast<Node>(word);
            }
        }
    }

    Answer choose_word(const Forest& forest, Node word) {
        chosen_[word] = row(word)[forest.source[word]];
        return Answer::certain;
    }

    Answer choose(Forest& forest, Node cycle, bool root_last) {
        const Number* values = row(cycle);
        Node best = -1;
        for (Node i = root_last ? 1 : 0; i < size_; ++i) {
            if (!values[i].is_absent() && (best < 0 || is_better(forest, cycle, i, best))) best = i;
        }
        if (best < 0 && !values[0].is_absent()) best = 0;
        if (best < 0) return Answer::none;
        forest.source[cycle] = best;
        chosen_[cycle] = values[best];
        return Answer::certain;
    }

    void merge(Forest& forest, Node cycle) {
        Number* merged = row(cycle);
        for (Index i = 0; i < size_; ++i) merged[i] = Number::absent();
        forest.for_children(cycle, [&](Node child) {
            for (Node i = 0; i < size_; ++i) {
                if (row(child)[i].is_absent() || (i > 0 && forest.top_of(i) == cycle)) continue;
                const Number value = row(child)[i] - chosen_[child];
                const int sign = merged[i].is_absent() ? 1 : compare(value, merged[i]);
                const Node target = targets(child)[i];
                if (sign < 0) continue;
                if (sign > 0 || comes_first(forest, cycle, i, target, i, targets(cycle)[i])) {
                    merged[i] = value;
                    targets(cycle)[i] = target;
                }
            }
        });
    }

    bool find_target(const Forest&, Node node, Node source, Node& target) const {
        target = targets(node)[source];
        return true;
    }

    // The best way to replace one arc of the best tree: see second_best.hpp.
    Answer second(Forest& forest, const BestTree& tree, const Interrupt& interrupt, Swap& swap) {
        for (Index node = forest.num_nodes() - 1; node >= 1; --node) {
            const Node parent = forest.parent[node];
            replaced_[node] = parent == 0 ? Number{} : chosen_[node] + replaced_[parent];
        }
        bool found = false;
        Number least{};
        const auto consider = [&](Node word, Node source, Node target, const Number& loss) {
            const Swap candidate{word, source, target};
            const int sign = found ? compare(loss, least) : -1;
            if (sign > 0) return;
            if (sign == 0) {
                candidate.apply(forest, tree, *this, one_);
                swap.apply(forest, tree, *this, other_);
                if (!is_lower(forest, 0)) return;
            }
            found = true;
            least = loss;
            swap = candidate;
        };
        for (Node word = 1; word < size_; ++word) {
            if (interrupt.requested(size_)) return Answer::interrupted;
            const Node node = tree.owner[word], source = forest.source[node];
            for (Node head = 0; head < size_; ++head) {
                const Number& value = row(node)[head];
                if (head == source || value.is_absent() || tree.is_below(head, word)) continue;
                consider(word, head, targets(node)[head], chosen_[node] - value);
            }
            if (forest.is_word(node)) continue;
            forest.for_leaves(node, [&](Node target) {
                const Number& value = row(target)[source];
                if (target == word || value.is_absent()) return;
                const Number inside = replaced_[target] - replaced_[node];
                consider(word, source, target, chosen_[node] - (value - inside));
            });
        }
        return found ? Answer::certain : Answer::none;
    }

  private:
    Number* row(Index node) const { return rows_ + node * size_; }
    Node* targets(Index node) const { return targets_ + node * size_; }

    bool is_better(Forest& forest, Node cycle, Node i, Node best) {
        const int sign = compare(row(cycle)[i], row(cycle)[best]);
        if (sign != 0) return sign > 0;
        return comes_first(forest, cycle, i, targets(cycle)[i], best, targets(cycle)[best]);
    }

    // Of two arcs into a largest node: does the first decide heads that come first?
    bool comes_first(Forest& forest, Node node, Node head, Node word, Node other_head,
                     Node other_word) {
        forest.enter(node, head, word, *this, one_);
        forest.enter(node, other_head, other_word, *this, other_);
        return is_lower(forest, node);
    }

    // Are the heads one_ lower than other_, among the words inside a largest node (0: all words)?
    bool is_lower(const Forest& forest, Node node) const {
        for (Node word = 1; word < size_; ++word) {
            if (node != 0 && forest.top_of(word) != node) continue;
            if (one_[word] != other_[word]) return one_[word] < other_[word];
        }
        return false;
    }

    const Index size_;
    Number* rows_;
    Node* targets_;  // [node][source]: the word that the best arc from the source enters
    Number *chosen_, *replaced_;
    Node *one_, *other_;
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
