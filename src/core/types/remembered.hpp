// What draws from one graph leave for those that follow.
#pragma once

#include <cstdint>

#include "types/index.hpp"
#include "types/scratch.hpp"

namespace arborand {

// Of one thread; sampling/prefix_memory.hpp says what is in it.
struct Remembered {
    Scratch memory;
    std::size_t used = 0;
    std::uint64_t owner = 0;  // which preparation it is about; 0: none
};

}  // namespace arborand
