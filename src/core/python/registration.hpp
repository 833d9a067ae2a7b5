// One function per file of this folder that Python calls into.
#pragma once

#include <nanobind/nanobind.h>

namespace arborand {

namespace nb = nanobind;

void register_instruction_set(nb::module_& m);
void register_batch(nb::module_& m);
void register_inference(nb::module_& m);
void register_directions(nb::module_& m);
void register_sampling(nb::module_& m);
void register_distinct_trees(nb::module_& m);
void register_best_trees(nb::module_& m);
void register_sparse(nb::module_& m);
void register_xla(nb::module_& m);

}  // namespace arborand
