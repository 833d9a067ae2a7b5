// A weighted directed graph as it comes from Python, and which graphs are worked on at once.
#pragma once

#include "types/index.hpp"

namespace arborand {

// Which trees a graph stands for.
enum class TreeKind {
    spanning,    // all that hang from the root
    dependency,  // those with one arc from the root
    // The same without crossing arcs, the nodes in a line, the root first.
    projective_spanning,
    projective_dependency,
};

// One graph that passed the inspection: log_weights[head * stride + dependent], node 0 the root;
// column 0 and the diagonal are -inf.
struct Graph {
    const double* log_weights;
    Index stride;
    Index num_words;
    TreeKind kind;

    ARBORAND_INLINE bool has_single_root() const {
        return kind == TreeKind::dependency || kind == TreeKind::projective_dependency;
    }
    ARBORAND_INLINE bool is_projective() const {
        return kind == TreeKind::projective_spanning || kind == TreeKind::projective_dependency;
    }

    ARBORAND_INLINE double score(Index head, Index dependent) const {
        return log_weights[head * stride + dependent];
    }
};

// How many graphs are worked on at once.
constexpr Index graphs_at_once = 4;

// This many words each.  With fewer, a row does not fill a vector.  With more, one graph alone
// keeps the processor busy, four take more of its cache, and Ctrl-C would have to wait.
constexpr Index fewest_words_at_once = 4, most_words_at_once = 64;

}  // namespace arborand
