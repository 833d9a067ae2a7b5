// Numbers whose sum is the better one and whose product is the sum: a chart of them finds the best
// projective tree.
#pragma once

#include <cmath>

#include "numbers/fixed_point.hpp"
#include "numbers/four_doubles.hpp"
#include "types/graph.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// In double: how far scores are below those of the words' best heads.  Losses are not negative, so
// a sum of them is right to n + 2 roundings, relative.
struct Loss {
    double value;

    Loss() : value(HUGE_VAL) {}
    explicit Loss(double x) : value(x > 0 ? 0.0 : HUGE_VAL) {}  // 0 and 1 of the chart
    static Loss of(double loss) {
        Loss x;
        x.value = loss;
        return x;
    }
};

inline bool is_positive(Loss x) { return x.value < HUGE_VAL; }
inline Loss& operator+=(Loss& x, Loss y) {
    x.value = y.value < x.value ? y.value : x.value;
    return x;
}
inline Loss operator*(Loss x, Loss y) { return Loss::of(x.value + y.value); }

// See projective/chart.hpp.
inline void add_row(Index first, Index end, Loss factor, const Loss* from, Loss* to) {
    const FourDoubles loss = broadcast(factor.value);
    for (Index j = first; j < end; j += vector_length) {
        const FourDoubles sum = load(&from[j].value) + loss, before = load(&to[j].value);
        store(&to[j].value, select(sum < before, sum, before));
    }
}

// Exactly, with the tie rule.  Below the bits of the scores, each word has a field of its own that
// holds n - head, the first word the highest: of equal sums the one whose heads come first is
// larger, and no two trees are alike.
template <int num_limbs>
struct Tropical {
    Fixed<num_limbs> value;

    Tropical() : value(Fixed<num_limbs>::absent()) {}
    explicit Tropical(double x) : value(x > 0 ? Fixed<num_limbs>{} : Fixed<num_limbs>::absent()) {}
    explicit Tropical(const Fixed<num_limbs>& x) : value(x) {}
};

template <int num_limbs>
inline bool is_positive(const Tropical<num_limbs>& x) {
    return !x.value.is_absent();
}
template <int num_limbs>
inline Tropical<num_limbs>& operator+=(Tropical<num_limbs>& x, const Tropical<num_limbs>& y) {
    if (compare(y.value, x.value) > 0) x = y;
    return x;
}
template <int num_limbs>
inline Tropical<num_limbs> operator*(const Tropical<num_limbs>& x, const Tropical<num_limbs>& y) {
    if (x.value.is_absent() || y.value.is_absent()) return {};
    return Tropical<num_limbs>(x.value + y.value);
}

// What the scores and fields of a graph need.
struct TropicalFormat {
    int lowest;  // bit of the scores
    int field;   // bits per word
    int bits;    // in all

    static TropicalFormat of(const Graph& graph) {
        const FixedFormat scores = FixedFormat::of(graph);
        const int n = static_cast<int>(graph.num_words);
        int field = 1;
        while ((n >> field) > 0) ++field;
        return {scores.lowest, field, scores.bits + n * field};
    }

    template <int num_limbs>
    Tropical<num_limbs> number(const Graph& graph, Index head, Index word) const {
        const double score = graph.score(head, word);
        if (score == -HUGE_VAL) return {};
        const int n = static_cast<int>(graph.num_words);
        const int place = static_cast<int>(n - word) * field, limb = place / 64;
        const auto rank = static_cast<std::uint64_t>(n - head);
        Fixed<num_limbs> tie{};
        tie.limb[limb] = rank << place % 64;
        if (place % 64 + field > 64) tie.limb[limb + 1] = rank >> (64 - place % 64);
        return Tropical<num_limbs>(Fixed<num_limbs>::of(score, lowest - n * field) + tie);
    }

    // Call work with numbers of as many limbs: work(Tropical<...>{}).  `too_long` if there are
    // none.
    template <class Work, class Answer>
    Answer with_numbers(const Work& work, Answer too_long) const {
        if (bits <= 128) return work(Tropical<2>{});
        if (bits <= 256) return work(Tropical<4>{});
        if (bits <= 512) return work(Tropical<8>{});
        if (bits <= 1024) return work(Tropical<16>{});
        if (bits <= 4096) return work(Tropical<64>{});
        if (bits <= 16384) return work(Tropical<256>{});
        return too_long;
    }
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
