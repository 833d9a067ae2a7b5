// The leaf that draws: Colbourn's ancestral sampler on the recursion of recursion.hpp.
//
// The head of each node is drawn from its exact conditional distribution in 120-bit fixed point: an
// outcome of conditional probability p is drawn with probability p up to the relative rounding of p
// in float64 and an absolute 2^-119, so that even an arc of probability 1e-30 is neither lost nor
// inflated.
#pragma once

#include "inference.hpp"
#include "philox.hpp"

namespace arborand {
namespace ARBORAND_ISA {

// floor(x * 2^120) for 0 <= x <= 1.
inline Wide128 fixed_point(double x) {
    const std::uint64_t bits = bits_of(x);
    const int exponent = static_cast<int>(bits >> 52);  // x = (1 + fraction) * 2^(exponent - 1023)
    const int shift = exponent - 1023 + 120 - 52;
    if (shift <= -53) return 0;
    const Wide128 mantissa = (bits & ((std::uint64_t{1} << 52) - 1)) | (std::uint64_t{1} << 52);
    return shift >= 0 ? mantissa << shift : mantissa >> -shift;
}

// floor(x * y / 2^128)
inline Wide128 high_product(Wide128 x, Wide128 y) {
    const Wide128 x0 = low_half(x), x1 = high_half(x), y0 = low_half(y), y1 = high_half(y);
    const Wide128 middle = x1 * y0 + high_half(x0 * y0);
    const Wide128 other = x0 * y1 + low_half(middle);
    return x1 * y1 + high_half(middle) + high_half(other);
}

// An index drawn in proportion to chances that sum to 1 up to rounding.
template <class Chances>
inline Index draw_index(const Chances& chance, Index count, Stream& stream) {
    Wide128 total = 0;
    for (Index i = 0; i < count; ++i) total += fixed_point(to_double(chance[i]));
    Wide128 target = high_product(stream.next_128(), total);
    Index drawn = 0;
    for (Index i = 0; i < count; ++i) {
        const Wide128 share = fixed_point(to_double(chance[i]));
        if (share == 0) continue;
        drawn = i;
        if (target < share) break;
        target -= share;
    }
    return drawn;
}

template <class Scalar>
struct DrawingLeaf : DecidingLeaf {
    Index n;
    Scalar* chance;  // n + 1
    Stream& stream;
    double log_prob = 0.0;  // of the heads drawn, given those decided on entry

    void visit(Index j, const LeafView<Scalar>& leaf) {
        head_chances(n, leaf, chance);
        const Index drawn = draw_index(chance, n + 1, stream);
        log_prob += log_of(widened(chance[drawn]));
        heads[j] = drawn - 1;
    }
};

// Draw the heads that are undecided.  The caller takes over the result only if the range was not
// left; a draw repeated in Wide begins again at the same random number.
struct AncestralDraw {
    const std::int32_t* given;  // of nodes 0 .. n: a head, or `undecided`
    const Stream& start;
    Stream stream;  // after the draw
    Index* drawn;   // heads of nodes 0 .. n - 1
    double log_prob;

    AncestralDraw(const std::int32_t* given, const Stream& start)
        : given(given), start(start), stream(start), drawn(nullptr), log_prob(0.0) {}

    template <class Scalar>
    static std::size_t workspace(Index n) {
        return Arena::rounded<Index>(n) + Arena::rounded<Scalar>(n + 1) +
               Recursion<Scalar, DrawingLeaf<Scalar>>::workspace(n);
    }

    template <class Scalar>
    bool operator()(Problem<Scalar>& problem) {
        const Index n = problem.graph.num_words;
        drawn = problem.arena.template take<Index>(n);
        for (Index j = 0; j < n; ++j) {
            drawn[j] = given[j + 1] == undecided ? undecided : given[j + 1] - 1;
        }
        stream = start;
        DrawingLeaf<Scalar> leaf{{drawn}, n, problem.arena.template take<Scalar>(n + 1), stream};
        const bool finished = Recursion<Scalar, DrawingLeaf<Scalar>>(
                                  problem.walk, n, leaf, problem.arena, problem.interrupt)
                                  .run();
        log_prob = leaf.log_prob;
        return finished;
    }
};

}  // namespace ARBORAND_ISA
}  // namespace arborand
