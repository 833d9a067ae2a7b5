// Where a sampler lives that was prepared for one graph.
#pragma once

#include "types/scratch.hpp"

namespace arborand {

struct Prepared {
    Scratch tables;  // starts with the sampler
    Scratch steps;   // only used where cycles are popped
};

}  // namespace arborand
