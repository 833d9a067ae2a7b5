// A weighted directed graph, as it comes from Python.
#pragma once

#include "types/index.hpp"

namespace arborand {

// One graph that passed the inspection: log_weights[head * stride + dependent], node 0 the root;
// column 0 and the diagonal are -inf.
struct Graph {
    const double* log_weights;
    Index stride;
    Index num_words;
    bool single_root;

    ARBORAND_INLINE double score(Index head, Index dependent) const {
        return log_weights[head * stride + dependent];
    }
};

}  // namespace arborand
