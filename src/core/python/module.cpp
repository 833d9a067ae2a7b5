// The module as Python sees it.
#include "python/registration.hpp"

NB_MODULE(_core, m) {
    m.doc() =
        "The compiled core of arborand.  Scores enter as a Batch; validation.py is their gate.";
    arborand::register_instruction_set(m);
    arborand::register_batch(m);
    arborand::register_inference(m);
    arborand::register_sampling(m);
    arborand::register_distinct_trees(m);
    arborand::register_best_trees(m);
    arborand::register_sparse(m);
}
