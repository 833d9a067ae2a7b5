// The module as Python sees it.
#include "python/registration.hpp"

NB_MODULE(_core, m) {
    // Python 3.11 does not ask modules, nor do later ones in interpreters that share one lock.
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
        throw nanobind::import_error(
            "arborand does not support sub-interpreters: import it in the main interpreter");
    }
    m.doc() =
        "The compiled core of arborand.  Scores enter as a Batch; validation.py is their gate.";
    arborand::register_instruction_set(m);
    arborand::register_batch(m);
    arborand::register_inference(m);
    arborand::register_directions(m);
    arborand::register_sampling(m);
    arborand::register_distinct_trees(m);
    arborand::register_best_trees(m);
    arborand::register_sparse(m);
    arborand::register_xla(m);
}
