// One tree from a chart, from the top: 2 n choices, made by whoever asks.
//
// Drawing, finding the best tree, following a given tree and splitting sets of trees differ in how
// they choose, and in nothing else.
#pragma once

#include <cstdint>

#include "projective/chart.hpp"

namespace arborand {
namespace ARBORAND_ISA {

enum class Part : std::int32_t { right, left, gap };

// An entry of a chart: right(first, last), and so on.
struct Span {
    Part part;
    std::int32_t first, last;
};

// The terms that an entry is the sum of: the choices that lead on from there.
template <class Number>
struct Terms {
    Span span;
    const Number& total;
    const Number* near;  // one factor, and, a stride apart, the other
    const Number* far;
    Index stride, count;

    Number operator[](Index k) const { return near[k] * far[k * stride]; }
};

// A tree is this many choices.
inline Index num_choices(Index num_words) { return 2 * num_words; }
// Those that an entry leads to, its own included: two per word that gets its head.
inline Index num_choices(const Span& span) {
    return 2 * (span.last - span.first) - (span.part == Part::gap);
}

template <class Number>
Terms<Number> terms_of(const Chart<Number>& chart, const Span& span) {
    const Index i = span.first, j = span.last, stride = chart.stride, row = i * stride;
    switch (span.part) {
        case Part::right:
            return {span,
                    chart.right[row + j],
                    chart.arc_right + row + i + 1,
                    chart.right + row + stride + j,
                    stride,
                    j - i};
        case Part::left:
            return {
                span, chart.left[row + j], chart.left + row + i, chart.arc_left + row + j, stride,
                j - i};
        default:
            return {span,
                    chart.gap[i * chart.gap_stride + j],
                    chart.right + row + i,
                    chart.left + row + stride + j,
                    stride,
                    chart.is_only_root(i) ? 1 : j - i};
    }
}

// Make a choice: write the head that it decides, if it does, and list the entries that it leads to.
// Returns how many they are.
inline Index follow(const Span& span, Index chosen, std::int32_t* heads, Span* entries) {
    const std::int32_t i = span.first, j = span.last;
    const auto k = static_cast<std::int32_t>(i + chosen + (span.part == Part::right));
    Index count = 0;
    if (span.part == Part::gap) {
        if (k + 1 < j) entries[count++] = {Part::left, k + 1, j};
        if (i < k) entries[count++] = {Part::right, i, k};
    } else if (span.part == Part::right) {
        heads[k] = i;
        if (k < j) entries[count++] = {Part::right, k, j};
        entries[count++] = {Part::gap, i, k};
    } else {
        heads[k] = j;
        if (i < k) entries[count++] = {Part::left, i, k};
        entries[count++] = {Part::gap, k, j};
    }
    return count;
}

// Calls choose(terms) for all choices in order, and writes the heads.  The choices below an entry
// come right after its own.  `waiting` has room for num_choices(n) + 1 spans.
template <class Number, class Choose>
void derive(const Chart<Number>& chart, Span* waiting, std::int32_t* heads, Choose&& choose) {
    Index depth = 0;
    heads[0] = -1;
    waiting[depth++] = {Part::right, 0, static_cast<std::int32_t>(chart.n)};
    while (depth > 0) {
        const Span span = waiting[--depth];
        depth += follow(span, choose(terms_of(chart, span)), heads, waiting + depth);
    }
}

// The choices of a tree that is given.
class GivenTree {
  public:
    // `room` is for n + 1 integers.  Without heads it may not be asked.
    GivenTree(const std::int32_t* heads, Index num_words, std::int32_t* room)
        : heads_(heads), first_(room) {
        if (heads == nullptr) return;
        // The way up from the first word that hangs from a node leads to the right: else an arc
        // would cross it.
        for (std::int32_t j = 0; j <= num_words; ++j) first_[j] = j;
        for (std::int32_t j = 1; j <= num_words; ++j) {
            if (first_[j] < first_[heads[j]]) first_[heads[j]] = first_[j];
        }
    }

    template <class Number>
    Index operator()(const Terms<Number>& terms) const {
        const std::int32_t i = terms.span.first, j = terms.span.last;
        std::int32_t k = i;
        switch (terms.span.part) {
            case Part::right:  // the farthest dependent of i
                for (k = j; heads_[k] != i;) --k;
                return k - i - 1;
            case Part::left:  // the farthest dependent of j
                while (heads_[k] != j) ++k;
                return k - i;
            default:  // up to where words hang from j, or from i
                return (heads_[j] == i ? first_[j] : first_from(j, i)) - 1 - i;
        }
    }

  private:
    // Where what hangs from j to the right of its dependent i begins; j itself if nothing does.
    std::int32_t first_from(std::int32_t j, std::int32_t i) const {
        for (std::int32_t k = i + 1; k < j; ++k) {
            if (heads_[k] == j) return first_[k];
        }
        return j;
    }

    const std::int32_t* heads_;
    std::int32_t* first_;  // [node]: the first word that hangs from it, or itself
};

// Are the heads of a tree projective?  O(n): neighbours on a stack are joined where one is the head
// of the other, which has all its dependents.  Of a tree with crossing arcs more than the root is
// left.  `room` is for 2 (n + 1) integers.
inline bool is_projective(const std::int32_t* heads, Index num_words, std::int32_t* room) {
    std::int32_t* missing = room;  // dependents not joined yet
    std::int32_t* stack = room + num_words + 1;
    for (Index j = 0; j <= num_words; ++j) missing[j] = 0;
    for (Index j = 1; j <= num_words; ++j) ++missing[heads[j]];
    Index depth = 0;
    stack[depth++] = 0;
    for (std::int32_t j = 1; j <= num_words; ++j) {
        stack[depth++] = j;
        while (depth > 1) {
            const std::int32_t top = stack[depth - 1], below = stack[depth - 2];
            if (below != 0 && heads[below] == top && missing[below] == 0) {
                --missing[top];
                stack[--depth - 1] = top;
            } else if (heads[top] == below && missing[top] == 0) {
                --missing[below];
                --depth;
            } else {
                break;
            }
        }
    }
    return depth == 1;
}

}  // namespace ARBORAND_ISA
}  // namespace arborand
