// How work on one graph ends.
#pragma once

namespace arborand {

enum class Status {
    ok,
    left_range,   // of double; never leaves the core
    interrupted,  // the caller gave up
    no_tree,      // cannot happen to a graph that passed the inspection
    no_memory,
};

}  // namespace arborand
