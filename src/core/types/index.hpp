// The type that counts, and functions that instruction sets share.
#pragma once

#include <cstddef>

// For functions outside the namespace of an instruction set: see dispatch/kernels.hpp.
#define ARBORAND_INLINE inline __attribute__((always_inline))

namespace arborand {

using Index = std::ptrdiff_t;

}  // namespace arborand
