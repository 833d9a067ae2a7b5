// The kernels that calls from Python use: those of the best instruction set of this machine.
#pragma once

#include "dispatch/kernels.hpp"

namespace arborand {

extern const Kernels* kernels;

}  // namespace arborand
