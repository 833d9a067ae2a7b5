// How things are counted, and how functions are shared between instruction sets.
#pragma once

#include <cstddef>

// For functions outside the namespace of an instruction set: see border/kernels.hpp.
#define ARBORAND_INLINE inline __attribute__((always_inline))

namespace arborand {

using Index = std::ptrdiff_t;

}  // namespace arborand
