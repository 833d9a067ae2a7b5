// Edmonds' algorithm in double, with a certificate.
//
// Each score is taken relative to the best into its word and rounded to a grid, coarse enough for
// every sum and difference the algorithm forms to be exact in double, and fine enough to tell most
// trees apart.  So the algorithm runs exactly, on scores that are each off by at most 0.51 of the
// grid's quantum.  The lead of one source of a node over another is a difference of two sums of at
// most n scores, the best ways to attach its words to the one and to the other, so it is off by at
// most 1.02 n quanta.  A choice whose lead is more than 2 n quanta is the choice the exact
// algorithm makes; any other is left to exact_rows.hpp.  Scores far below the best into their word
// are raised to the grid's floor.  That only makes arcs look better than they are: it is harmless
// unless such an arc is chosen, and then the choice counts as uncertain.  A second try leaves them
// out: if it finds a tree that is above the floor as a whole, no tree with such an arc is as good.
// (Proofs: docs/mathematics.md.)
//
// Which word the chosen arc of a cycle enters only matters when the tree is unfolded, and only for
// choices that are kept; so it is determined then, in O(n) time in all.
#pragma once

#include <cmath>

#include "best_trees/edmonds.hpp"
#include "best_trees/second_best.hpp"

namespace arborand {
namespace ARBORAND_ISA {

struct Grid {
    double magic;  // adding and subtracting it rounds to the grid
    double floor;
    double bound;  // a lead must be larger
    double below;  // what scores below the floor become: the floor, or -inf if they are left out

    // `caution` multiplies the bound: 1; 0 trusts doubles as they are, infinity nothing at all.
    static Grid of(const Graph& graph, double caution) {
        int exponent;
        std::frexp(typical_lead(graph), &exponent);
        int spare = 0;  // 2 n + 1 <= 2^spare
        while ((Index{1} << spare) < 2 * graph.num_words + 1) ++spare;
        // The floor is 2^10 typical leads below the best, and the quantum as fine as 53 bits allow.
        int quantum = exponent + 10 + spare - 53;
        if (quantum < -1074) quantum = -1074;
        if (quantum > 900) quantum = 900;  // all doubles below are out of the grid's range
        const double floor = -std::ldexp(1.0, quantum + 53 - spare);
        return {std::ldexp(1.5, quantum + 52), floor,
                caution * (2.0 * static_cast<double>(graph.num_words)) * std::ldexp(1.0, quantum),
                floor};
    }

    // The same without the arcs below the floor.
    Grid without_low_arcs() const { return {magic, floor, bound, -HUGE_VAL}; }

    // A score relative to the best into its word.
    double round(double relative) const {
        const double raised = relative > floor ? relative : below;
        return (raised + magic) - magic;
    }

    // The scores of all arcs into a word, relative to `best`; -inf where there is none, and in the
    // padding.
    void round_word(const Graph& graph, Index word, double best, double* values) const {
        const Index n = graph.num_words;
        const double* column = graph.log_weights + word;
        for (Index i = 0; i <= n; ++i) values[i] = column[i * graph.stride];
        for (Index i = n + 1; i < padded(n + 1); ++i) values[i] = -HUGE_VAL;
        const FourDoubles shift = broadcast(best), lowest = broadcast(floor);
        const FourDoubles instead = broadcast(below);
        const FourDoubles rounding = broadcast(magic), absent = broadcast(-HUGE_VAL);
        for (Index i = 0; i <= n; i += vector_length) {
            const FourDoubles score = load(values + i);
            const FourDoubles relative = score - shift;
            const FourDoubles raised = select(relative > lowest, relative, instead);
            store(values + i, select(score == absent, absent, (raised + rounding) - rounding));
        }
    }

  private:
    // By how much the best head of a word leads: the median of a few words.  It decides how often
    // doubles are enough, never what the answer is.
    static double typical_lead(const Graph& graph) {
        constexpr Index most = 5;
        const Index n = graph.num_words;
        const Index sample = n < most ? n : most;
        double leads[most];
        Index count = 0;
        for (Index k = 0; k < sample; ++k) {
            const Index j = 1 + k * n / sample;
            double best = -HUGE_VAL, second = -HUGE_VAL;
            for (Index i = 0; i <= n; ++i) {
                const double x = graph.score(i, j);
                if (x > second) second = x;
                if (second > best) {
                    second = best;
                    best = x;
                }
            }
            const double lead = best - second;
            if (!(lead > 0.0 && lead < HUGE_VAL)) continue;
            Index place = count++;
            for (; place > 0 && leads[place - 1] > lead; --place) leads[place] = leads[place - 1];
            leads[place] = lead;
        }
        return count > 0 ? leads[count / 2] : 1.0;
    }
};

class CertifiedRows {
  public:
    static std::size_t workspace(Index n) {
        return 2 * Arena::rounded<double>(n * padded(n + 1)) + 3 * Arena::rounded<double>(2 * n) +
               Arena::rounded<bool>(n + 1);
    }

    // Rows are rounded when they are needed, relative to the scores of the best heads.
    CertifiedRows(const Graph& graph, const Grid& grid, const BestHeads& best, Arena& arena)
        : CertifiedRows(graph, grid, arena) {
        best_ = best.score;
        words_ = arena.take<double>(graph.num_words * stride_) - stride_;
        loaded_ = arena.take<bool>(graph.num_words + 1);
        for (Index word = 1; word <= graph.num_words; ++word) loaded_[word] = false;
    }

    // Rows that are on the grid: word_rows[(word - 1) * padded(n + 1) + head].
    CertifiedRows(const Graph& graph, const Grid& grid, double* word_rows, Arena& arena)
        : CertifiedRows(graph, grid, arena) {
        words_ = word_rows - stride_;
    }

    Answer choose_word(const Forest& forest, Node word) {
        const Node head = forest.source[word];
        const bool is_rounded = loaded_ == nullptr || loaded_[word];
        chosen_[word] =
            is_rounded ? row(word)[head] : grid_.round(graph_.score(head, word) - best_[word]);
        return chosen_[word] > grid_.floor ? Answer::certain : Answer::uncertain;
    }

    Answer choose(Forest& forest, Node cycle, bool root_last) {
        double* values = row(cycle);
        const double root = values[0];
        if (root_last) values[0] = -HUGE_VAL;
        Index source;
        double best = maximum(values);
        Index contenders = 1;
        if (best > -HUGE_VAL) {
            contenders = count_at_least(values, best - grid_.bound, source);
        } else if (root > -HUGE_VAL) {
            source = 0;
            best = root;
        } else {
            return Answer::none;
        }
        values[0] = root;
        // The arc's own score is at least best + least_[cycle]: if that is above the floor, it was
        // not raised.
        if (contenders != 1 || !(best + least_[cycle] > grid_.floor)) return Answer::uncertain;
        chosen_[cycle] = best;
        forest.source[cycle] = static_cast<Node>(source);
        return Answer::certain;
    }

    void merge(Forest& forest, Node cycle) {
        double* merged = row(cycle);
        bool first = true;
        least_[cycle] = HUGE_VAL;
        forest.for_children(cycle, [&](Node child) {
            if (forest.is_word(child)) load_word(child);
            const double least = least_[child] + chosen_[child];
            if (least < least_[cycle]) least_[cycle] = least;
            const double* values = row(child);
            const FourDoubles subtracted = broadcast(chosen_[child]);
            if (first) {
                for (Index i = 0; i < stride_; i += vector_length) {
                    store(merged + i, load(values + i) - subtracted);
                }
            } else {
                for (Index i = 0; i < stride_; i += vector_length) {
                    const FourDoubles x = load(values + i) - subtracted, y = load(merged + i);
                    store(merged + i, select(x > y, x, y));
                }
            }
            first = false;
        });
        const FourDoubles inside = broadcast(forest.label_of(cycle));
        for (Index i = 0; i < stride_; i += vector_length) {
            const FourDoubles x = load(merged + i);
            store(merged + i, select(load(forest.label + i) == inside, broadcast(-HUGE_VAL), x));
        }
    }

    // Which word inside the node does the best arc from `source` enter?  False: too close to tell.
    bool find_target(const Forest& forest, Node node, Node source, Node& target) const {
        while (!forest.is_word(node)) {
            double best = -HUGE_VAL, next = -HUGE_VAL;
            Node through = 0;
            forest.for_children(node, [&](Node child) {
                const double value = row(child)[source] - chosen_[child];
                if (value > best) {
                    next = best;
                    best = value;
                    through = child;
                } else if (value > next) {
                    next = value;
                }
            });
            if (!(best - next > grid_.bound)) return false;
            node = through;
        }
        target = node;
        return !is_raised(source, target);
    }

    // The best way to replace one arc of the best tree: see second_best.hpp.
    Answer second(const Forest& forest, const BestTree& tree, const Interrupt&, Swap& swap) {
        for (Node word = 1; word <= graph_.num_words; ++word) load_word(word);
        for (Index node = forest.num_nodes() - 1; node >= 1; --node) {
            const Node parent = forest.parent[node];
            replaced_[node] = parent == 0 ? 0.0 : chosen_[node] + replaced_[parent];
        }
        double least = HUGE_VAL, next = HUGE_VAL;
        for (Node word = 1; word <= graph_.num_words; ++word) {
            const double loss = least_loss(forest, tree, word);
            if (loss < least) {
                next = least;
                least = loss;
                swap.word = word;
            } else if (loss < next) {
                next = loss;
            }
        }
        if (least == HUGE_VAL) return Answer::none;
        if (!(next - least > grid_.bound)) return Answer::uncertain;
        return find_swap(forest, tree, least, swap);
    }

  private:
    CertifiedRows(const Graph& graph, const Grid& grid, Arena& arena)
        : graph_(graph), grid_(grid), stride_(padded(graph.num_words + 1)) {
        const Index n = graph.num_words;
        cycles_ = arena.take<double>(n * stride_) - (n + 1) * stride_;
        chosen_ = arena.take<double>(2 * n);
        replaced_ = arena.take<double>(2 * n);
        least_ = arena.take<double>(2 * n);
        for (Index word = 1; word <= n; ++word) least_[word] = 0.0;
    }

    double* row(Index node) const {
        return (node <= graph_.num_words ? words_ : cycles_) + node * stride_;
    }

    void load_word(Node word) {
        if (loaded_ == nullptr || loaded_[word]) return;
        loaded_[word] = true;
        grid_.round_word(graph_, word, best_[word], row(word));
    }

    // What is lost at least if the arc into `word` is replaced; infinity if it cannot be.
    double least_loss(const Forest& forest, const BestTree& tree, Node word) {
        const Node node = tree.owner[word];
        double* values = row(node);
        const FourDoubles first = broadcast(tree.place[word]), last = broadcast(tree.end[word]);
        const double hidden = values[forest.source[node]];
        values[forest.source[node]] = -HUGE_VAL;
        FourDoubles best = broadcast(-HUGE_VAL);
        for (Index i = 0; i < stride_; i += vector_length) {
            const FourDoubles place = load(tree.place + i);
            const FourIntegers below = (place >= first) & (place < last);
            const FourDoubles x = select(below, broadcast(-HUGE_VAL), load(values + i));
            best = select(x > best, x, best);
        }
        values[forest.source[node]] = hidden;
        double value = highest_of(best);
        for_other_targets(forest, node, [&](Node, double x) { value = x > value ? x : value; });
        return chosen_[node] - value;
    }

    // The arc with that loss, if no other is close.
    Answer find_swap(const Forest& forest, const BestTree& tree, double loss, Swap& swap) const {
        const Node node = tree.owner[swap.word];
        const double value = chosen_[node] - loss, limit = value - grid_.bound;
        Index contenders = 0;
        for (Node head = 0; head <= graph_.num_words; ++head) {
            if (tree.is_below(head, swap.word) || head == forest.source[node]) continue;
            if (!(row(node)[head] >= limit)) continue;
            ++contenders;
            swap.source = head;
            swap.target = 0;
        }
        for_other_targets(forest, node, [&](Node word, double x) {
            if (!(x >= limit)) return;
            ++contenders;
            swap.source = forest.source[node];
            swap.target = word;
        });
        if (contenders != 1) return Answer::uncertain;
        const bool certain = swap.target == 0 ? find_target(forest, node, swap.source, swap.target)
                                              : !is_raised(swap.source, swap.target);
        return certain ? Answer::certain : Answer::uncertain;
    }

    // The values of arcs from the chosen source that enter the node elsewhere.
    template <class Visit>
    ARBORAND_INLINE void for_other_targets(const Forest& forest, Node node,
                                           const Visit& visit) const {
        if (forest.is_word(node)) return;
        const Node source = forest.source[node];
        forest.for_leaves(node, [&](Node word) {
            if (word == forest.target[node]) return;
            visit(word, row(word)[source] - (replaced_[word] - replaced_[node]));
        });
    }

    bool is_raised(Node source, Node word) const { return !(row(word)[source] > grid_.floor); }

    double maximum(const double* values) const {
        FourDoubles best = load(values);
        for (Index i = vector_length; i < stride_; i += vector_length) {
            const FourDoubles x = load(values + i);
            best = select(x > best, x, best);
        }
        return highest_of(best);
    }

    // How many values are at least the limit; if one is, which.
    Index count_at_least(const double* values, double limit, Index& where) const {
        const FourDoubles least = broadcast(limit);
        FourIntegers count = {0, 0, 0, 0}, sum = {0, 0, 0, 0}, here = {0, 1, 2, 3};
        for (Index i = 0; i < stride_; i += vector_length) {
            const FourIntegers reaches = load(values + i) >= least;
            count -= reaches;
            sum += reaches & here;
            here += vector_length;
        }
        where = static_cast<Index>(sum[0] + sum[1] + sum[2] + sum[3]);
        return static_cast<Index>(count[0] + count[1] + count[2] + count[3]);
    }

    const Graph& graph_;
    const Grid grid_;
    const Index stride_;
    const double* best_ = nullptr;  // [word]
    bool* loaded_ = nullptr;        // [word]; null: all are
    double *words_, *cycles_;       // rows[node][source], offset so that a node is its own index
    double* chosen_;                // [node]: the value of its choice
    double* replaced_;  // [node]: the choices that an arc into it replaces further up, added up
    double* least_;     // [node]: at most the choices that an arc into a word inside it replaces
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
