// Memory that one thread works in.
#pragma once

#include <cstddef>

namespace arborand {

// Kept from graph to graph; freed by the caller.
struct Scratch {
    char* memory = nullptr;
    std::size_t capacity = 0;
};

}  // namespace arborand
