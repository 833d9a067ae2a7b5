// Random graphs, ordinary and hostile, which are the same on every machine: made from integers by
// operations that do not round, or round in one way only.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <vector>

#include "python/inspection.hpp"
#include "types/graph.hpp"

namespace arborand {

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }
    // 0 .. count - 1; the tiny bias does not matter here.
    Index below(Index count) {
        return static_cast<Index>(next() % static_cast<std::uint64_t>(count));
    }
    bool one_in(Index count) { return below(count) == 0; }
    // In (-1, 1), a multiple of 2^-52.
    double uniform() {
        return static_cast<double>(static_cast<std::int64_t>(next() >> 11) -
                                   (std::int64_t{1} << 52)) *
               0x1p-52;
    }

  private:
    std::uint64_t state_;
};

struct OwnedGraph {
    std::vector<double> log_weights;
    Index stride, num_words;
    TreeKind kind;

    Graph view() const { return {log_weights.data(), stride, num_words, kind}; }
    double& score(Index head, Index dependent) {
        return log_weights[static_cast<std::size_t>(head * stride + dependent)];
    }
};

enum class Scores {
    ordinary,
    ties,
    far_apart,
    masks,
    skewed_columns,
    bound_pairs,
    negligible_roots,
    masked_roots,
    extremes,
};
constexpr Index num_scores = 9;

inline double random_score(Random& random, Scores scores) {
    constexpr double extremes[] = {DBL_MAX, -DBL_MAX, DBL_MIN, -0x1p-1074, 0.0,  -0.0,
                                   1e300,   -1e300,   1e18,    -1e18,      1e15, -1e15,
                                   -708.0,  -0x1p-52, -1e8,    -745.2};
    const double ordinary = 2 * (random.uniform() + random.uniform() + random.uniform());
    switch (scores) {
        case Scores::ties:
            return static_cast<double>(random.below(3));
        case Scores::far_apart:
            return ordinary * static_cast<double>(1 + random.below(1000));
        case Scores::masks:
            return random.one_in(3) ? (random.one_in(2) ? -1e30 : -1e9) : ordinary;
        case Scores::extremes:
            return random.one_in(2) ? extremes[random.below(16)] : ordinary;
        default:
            return ordinary;
    }
}

// A graph that passed the inspection and has a tree of its kind.  One arc in `sparsity` is there,
// besides those of a path from the root through all words (0: all arcs): a random one, or, for
// projective trees, from word to word.
inline OwnedGraph random_graph(Random& random, Scores scores, Index num_words, TreeKind kind,
                               Index sparsity) {
    const Index size = num_words + 1 + random.below(4);  // with padding, of which nothing is read
    OwnedGraph graph{{}, size, num_words, kind};
    for (Index i = 0; i < size * size; ++i) {
        graph.log_weights.push_back(random_score(random, scores));
    }
    std::vector<Index> path{0};
    for (Index j = 1; j <= num_words; ++j) {
        path.push_back(j);
        const std::size_t other = static_cast<std::size_t>(1 + random.below(j));
        if (kind <= TreeKind::dependency) std::swap(path[other], path.back());
    }
    if (scores == Scores::skewed_columns) {
        for (Index j = 1; j <= num_words; ++j) {
            const double offset = static_cast<double>(random.below(3) - 1) * 1e15;
            for (Index i = 0; i <= num_words; ++i) graph.score(i, j) += offset;
        }
    }
    if (scores == Scores::bound_pairs) {
        const double bond = static_cast<double>(random.below(800));
        for (Index j = 1; j < num_words; j += 2)
            graph.score(j, j + 1) = graph.score(j + 1, j) = bond;
    }
    if (scores == Scores::negligible_roots || scores == Scores::masked_roots) {
        const double offset = scores == Scores::masked_roots ? -1e30 : -300.0;
        for (Index j = 1; j <= num_words; ++j) graph.score(0, j) += offset;
    }
    if (sparsity > 0) {
        std::vector<double> kept(graph.log_weights.size(), -HUGE_VAL);
        for (Index i = 0; i < size * size; ++i) {
            const std::size_t at = static_cast<std::size_t>(i);
            if (random.one_in(sparsity)) kept[at] = graph.log_weights[at];
        }
        for (std::size_t j = 1; j < path.size(); ++j) {
            const std::size_t at = static_cast<std::size_t>(path[j - 1] * size + path[j]);
            kept[at] = graph.log_weights[at];
        }
        graph.log_weights = kept;
    }
    clear_unread(graph.log_weights.data(), size, num_words, -HUGE_VAL);
    return graph;
}

}  // namespace arborand
