// The best projective tree, and all of them in order.
//
// The best tree: that of all trees if it is projective, else by a chart of losses in double, where
// each choice must lead by more than what rounding can have done; else exactly.
//
// All trees in order: the trees not given yet are held as disjoint sets, "the first t choices are
// these, and choice t is none of X".  To derive the best tree of a set passes by the best tree of
// each of the sets that are left of it: it differs from the one given by the lead of the choice
// over the second one.  So a tree takes one derivation, O(n^2), and O(n) new sets.
#pragma once

#include <cmath>
#include <new>

#include "best_trees/best_trees.hpp"
#include "best_trees/projective_numbers.hpp"
#include "best_trees/queue.hpp"
#include "memory/growing_array.hpp"
#include "projective/derivation.hpp"
#include "types/requests.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// A chart of the scores of a graph, gone inward: make(head, word) makes the weights.
template <class Number>
class ScoreChart {
  public:
    static std::size_t workspace(Index n) {
        return Arena::rounded<Number>(n * (n + 1)) + Chart<Number>::workspace(n) +
               Arena::rounded<Span>(num_choices(n) + 1);
    }

    template <class Make>
    ScoreChart(const Graph& graph, Arena& arena, const Interrupt& interrupt, const Make& make)
        : weights_(arena.take<Number>(graph.num_words * (graph.num_words + 1))),
          chart_({weights_, graph.num_words + 1, graph.num_words}, graph.num_words,
                 graph.has_single_root(), arena),
          waiting_(arena.take<Span>(num_choices(graph.num_words) + 1)) {
        const Index n = graph.num_words;
        for (Index word = 1; word <= n; ++word) {
            Number* row = weights_ + (word - 1) * (n + 1);
            for (Index head = 1; head <= n; ++head) row[head - 1] = make(head, word);
            row[n] = make(0, word);
        }
        finished_ = chart_.inward(interrupt);
    }

    Status status() const {
        if (!finished_) return Status::interrupted;
        return is_positive(chart_.partition()) ? Status::ok : Status::no_tree;
    }

    const Number& best() const { return chart_.partition(); }

    template <class Choose>
    void derive_tree(std::int32_t* heads, const Choose& choose) const {
        derive(chart_, waiting_, heads, choose);
    }

  private:
    Number* weights_;
    Chart<Number> chart_;
    Span* waiting_;
    bool finished_;
};

// The choice that a chart prefers, and the one that it would prefer to all others.
struct TwoBest {
    Index best = -1, second = -1;  // -1: none

    template <class Number, class IsOpen>
    TwoBest(const Terms<Number>& terms, Number* values, const IsOpen& is_open) {
        for (Index k = 0; k < terms.count; ++k) {
            values[k] = terms[k];
            if (!is_positive(values[k]) || !is_open(k)) continue;
            if (best < 0 || compare(values[k].value, values[best].value) > 0) {
                second = best;
                best = k;
            } else if (second < 0 || compare(values[k].value, values[second].value) > 0) {
                second = k;
            }
        }
    }
};

inline Status find_best_projective_exactly(const Graph& graph, Arena& arena,
                                           const Interrupt& interrupt, std::int32_t* heads) {
    const TropicalFormat format = TropicalFormat::of(graph);
    return format.with_numbers(
        [&](auto zero) {
            using Number = decltype(zero);
            const Index n = graph.num_words;
            if (!arena.reserve(ScoreChart<Number>::workspace(n) + Arena::rounded<Number>(n + 1))) {
                return Status::no_memory;
            }
            const ScoreChart<Number> chart(graph, arena, interrupt, [&](Index head, Index word) {
                return format.template number<sizeof(zero.value) / 8>(graph, head, word);
            });
            if (chart.status() != Status::ok) return chart.status();
            Number* values = arena.take<Number>(n + 1);
            chart.derive_tree(heads, [&](const Terms<Number>& terms) {
                return TwoBest(terms, values, [](Index) { return true; }).best;
            });
            return Status::ok;
        },
        Status::no_memory);
}

inline Status find_best_projective(const Graph& graph, Arena& arena, const Interrupt& interrupt,
                                   double caution, std::int32_t* heads, BestCounts& counts) {
    const Index n = graph.num_words;
    Graph wide = graph;
    wide.kind = graph.has_single_root() ? TreeKind::dependency : TreeKind::spanning;
    const Status status = BestTreeSearch(wide, arena, interrupt, counts).best(caution, heads);
    if (status != Status::ok) return status;
    if (!arena.reserve(BestHeads::workspace(n) + Arena::rounded<std::int32_t>(2 * (n + 1)) +
                       ScoreChart<Loss>::workspace(n))) {
        return Status::no_memory;
    }
    if (is_projective(heads, n, arena.take<std::int32_t>(2 * (n + 1)))) return Status::ok;
    const BestHeads best(graph, arena);
    if (caution < HUGE_VAL) {
        const ScoreChart<Loss> chart(graph, arena, interrupt, [&](Index head, Index word) {
            const double score = graph.score(head, word);
            return Loss::of(score == -HUGE_VAL ? HUGE_VAL : best.score[word] - score);
        });
        // What overflowed is not absent, only worse than all that is finite.
        if (chart.status() == Status::interrupted) return Status::interrupted;
        bool is_certain = is_positive(chart.best());
        const double margin = 1.0 + caution * static_cast<double>(n + 4) * 0x1p-51;
        if (is_certain) {
            chart.derive_tree(heads, [&](const Terms<Loss>& terms) {
                Index chosen = 0;
                for (Index k = 1; k < terms.count; ++k) {
                    if (terms[k].value < terms[chosen].value) chosen = k;
                }
                const double limit = terms[chosen].value * margin;
                for (Index k = 0; k < terms.count; ++k) {
                    is_certain &= k == chosen || terms[k].value > limit || caution == 0;
                }
                return chosen;
            });
        }
        if (is_certain) {
            ++counts.certified;
            return Status::ok;
        }
    }
    ++counts.exact;
    return find_best_projective_exactly(graph, arena, interrupt, heads);
}

template <class Number>
class BestProjectiveTrees : public BestTreeSequence {
  public:
    BestProjectiveTrees(const Graph& graph, const TropicalFormat& format)
        : graph_(graph), format_(format), length_(num_choices(graph.num_words)) {}

    Status next(const Interrupt& interrupt, const std::int32_t*& heads,
                BestCounts& counts) override {
        heads = nullptr;
        if (interrupt.requested()) return Status::interrupted;
        if (chart_ == nullptr) {
            const Status status = start(interrupt, counts);
            if (status != Status::ok) return status;
        }
        if (queue_.is_empty()) return Status::ok;
        if (!trees_.resize((num_trees_ + 1) * length_)) return Status::no_memory;
        const TreeSet set = sets_[queue_.pop(order())];
        derive(set);
        heads = &heads_[0];
        return split(set);
    }

  private:
    static constexpr int num_limbs = sizeof(Number) / 8;

    struct TreeSet {
        Number best;         // of its trees
        std::int32_t tree;   // one with the same first choices
        std::int32_t place;  // the first open choice
        std::int32_t taken;  // what it may not be, a list; -1: anything
    };
    struct Taken {
        std::int32_t choice, next;
    };

    auto order() const {
        return [this](std::int32_t a, std::int32_t b) {
            return compare(sets_[a].best.value, sets_[b].best.value) > 0;
        };
    }

    Status start(const Interrupt& interrupt, BestCounts& counts) {
        const Index n = graph_.num_words;
        Arena arena(memory_);
        if (!arena.reserve(Arena::rounded<ScoreChart<Number>>(1) +
                           ScoreChart<Number>::workspace(n)) ||
            !values_.resize(n + 1) || !leads_.resize(length_) || !heads_.resize(n + 1) ||
            !sets_.resize(1)) {
            return Status::no_memory;
        }
        ++counts.exact;
        auto* chart = arena.take<ScoreChart<Number>>(1);
        new (chart) ScoreChart<Number>(graph_, arena, interrupt, [&](Index head, Index word) {
            return format_.number<num_limbs>(graph_, head, word);
        });
        const Status status = chart->status();
        if (status != Status::ok) return status;
        sets_[0] = {chart->best(), -1, 0, -1};
        if (!queue_.push(0, order())) return Status::no_memory;
        chart_ = chart;
        return Status::ok;
    }

    // The best tree of a set, as its choices and heads; `leads_` over the second best choices.
    void derive(const TreeSet& set) {
        std::int32_t* choices = &trees_[num_trees_ * length_];
        const std::int32_t* first = set.tree < 0 ? nullptr : &trees_[set.tree * length_];
        Index place = 0;
        chart_->derive_tree(&heads_[0], [&](const Terms<Number>& terms) {
            Index chosen;
            if (place < set.place) {
                chosen = first[place];
            } else {
                const TwoBest two(terms, &values_[0],
                                  [&](Index k) { return place > set.place || !is_taken(set, k); });
                chosen = two.best;
                leads_[place] = two.second < 0
                                    ? Number()
                                    : Number(values_[two.best].value - values_[two.second].value);
            }
            choices[place++] = static_cast<std::int32_t>(chosen);
            return chosen;
        });
    }

    bool is_taken(const TreeSet& set, Index choice) const {
        std::int32_t link = set.taken;
        while (link >= 0 && taken_[link].choice != choice) link = taken_[link].next;
        return link >= 0;
    }

    // What is left of a set without its best tree.
    Status split(const TreeSet& set) {
        for (Index t = set.place; t < length_; ++t) {
            if (!is_positive(leads_[t])) continue;  // there is no other choice
            const Index link = taken_.size(), added = sets_.size();
            if (!taken_.resize(link + 1) || !sets_.resize(added + 1)) return Status::no_memory;
            taken_[link] = {trees_[num_trees_ * length_ + t], t == set.place ? set.taken : -1};
            sets_[added] = {Number(set.best.value - leads_[t].value),
                            static_cast<std::int32_t>(num_trees_), static_cast<std::int32_t>(t),
                            static_cast<std::int32_t>(link)};
            if (!queue_.push(static_cast<std::int32_t>(added), order())) return Status::no_memory;
        }
        ++num_trees_;
        return Status::ok;
    }

    const Graph graph_;
    const TropicalFormat format_;
    const Index length_;
    Scratch memory_;
    const ScoreChart<Number>* chart_ = nullptr;
    GrowingArray<Number> values_, leads_;
    GrowingArray<std::int32_t> heads_, trees_;  // [tree][choice]
    GrowingArray<TreeSet> sets_;
    GrowingArray<Taken> taken_;
    Index num_trees_ = 0;
    Queue queue_;
};

// Null: no memory.
inline BestTreeSequence* make_best_tree_sequence(const Graph& graph, double caution) {
    if (!graph.is_projective()) return new (std::nothrow) BestTrees(graph, caution);
    const TropicalFormat format = TropicalFormat::of(graph);
    return format.with_numbers(
        [&](auto zero) -> BestTreeSequence* {
            return new (std::nothrow) BestProjectiveTrees<decltype(zero)>(graph, format);
        },
        static_cast<BestTreeSequence*>(nullptr));
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
