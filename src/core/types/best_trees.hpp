// What is asked of the search for best trees, and what it tells.
#pragma once

#include <cstdint>

namespace arborand {

// How searches for a best (or second best) tree ended; the tests count on it.
struct BestCounts {
    std::int64_t greedy = 0;     // the best heads of all words were a tree
    std::int64_t certified = 0;  // cycles were contracted, in double
    std::int64_t exact = 0;      // some choice was too close for double
};

}  // namespace arborand
