"""The register: every random assertion of the test suite, one entry each.

To add a check, append an entry to one of the tuples below or in ``library_checks`` (or a tuple to
:data:`CHECKS`) and raise ``NUM_CHECKS`` in ``verification/ledger.py`` by one::

    Check(
        "my_sampler, dependency trees, skewed_4",
        trial(my_sampler, "skewed_4", single_root=True, num_draws=100_000),
    ),

where ``my_sampler(log_weights, num_draws, seed)`` returns heads. ``ordered_trial`` does the same
for draws without replacement; ``judge=`` chooses another view of the draws (see ``judges``). The
name must be new; it is also the seed. Nothing else is to be done: the tests run whatever is
registered here.

The reference samplers are plain Python, at 0.1 to 1 ms a draw, and read weights rather than their
logarithms. So they get thousands of draws, not millions; the walks that the root absorbs get
walkable graphs, and all of them get plain ones (see :class:`verification.graphs.Graph`).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from arborand.paper import reference
from verification.calibration import calibration_trial, judge_not_too_small
from verification.graphs import graph
from verification.judges import judge_arcs_of, judge_consecutive, judge_inclusion
from verification.labelled_checks import LABELLED_CHECKS, LABELLED_DISTINCT
from verification.laws import FloatArray, law_of
from verification.ledger import Check, require_unique
from verification.library_checks import LIBRARY_CHECKS
from verification.mutants import MUTANTS
from verification.networkx_checks import NETWORKX_CHECKS
from verification.projective_checks import PROJECTIVE_CHECKS
from verification.sharp_checks import SHARP_CHECKS
from verification.sparse_checks import SPARSE_CHECKS
from verification.trials import Sampler, generator, ordered_trial, repeat_draw, trial


def _swor(
    log_weights: FloatArray, num_repeats: int, length: int, seed: int, *, single_root: bool
) -> npt.NDArray[Any]:
    weights = np.exp(log_weights)
    rng = generator(seed)
    return np.stack(
        [reference.swor(weights, length, rng, single_root=single_root) for _ in range(num_repeats)]
    )


def _per_graph(
    sampler_name: str, sampler: Sampler, *, single_root: bool, num_draws: dict[str, int]
) -> tuple[Check, ...]:
    kind = "dependency trees" if single_root else "spanning trees"
    return tuple(
        Check(
            f"{sampler_name}, {kind}, {graph_name}",
            trial(sampler, graph_name, single_root=single_root, num_draws=draws),
        )
        for graph_name, draws in num_draws.items()
    )


_wilson = repeat_draw(reference.wilson)
_colbourn_spanning = repeat_draw(partial(reference.colbourn, single_root=False))
_colbourn_dependency = repeat_draw(partial(reference.colbourn, single_root=True))
_swor_spanning = partial(_swor, single_root=False)
_swor_dependency = partial(_swor, single_root=True)

REFERENCE = (
    *_per_graph(
        "reference.wilson",
        _wilson,
        single_root=False,
        num_draws={
            "one_word_1": 200,
            "two_words_2": 3_000,
            "flat_4": 6_000,
            "skewed_4": 10_000,
            "sparse_5": 6_000,
            "two_islands_4": 5_000,
            "dominant_4": 10_000,
        },
    ),
    Check(
        "reference.wilson, spanning trees, skewed_3, consecutive draws",
        trial(_wilson, "skewed_3", single_root=False, num_draws=10_000, judge=judge_consecutive),
    ),
    Check(
        "reference.wilson, spanning trees, skewed_5, arcs",
        trial(_wilson, "skewed_5", single_root=False, num_draws=5_000, judge=judge_arcs_of),
    ),
    *_per_graph(
        "reference.wilson_rejection",
        repeat_draw(reference.wilson_rejection),
        single_root=True,
        num_draws={
            "one_word_1": 200,
            "counter_example_3": 3_000,
            "skewed_4": 6_000,
            "sparse_5": 3_000,
        },
    ),
    *_per_graph(
        "reference.wilson_root_marginal",
        repeat_draw(reference.wilson_root_marginal),
        single_root=True,
        num_draws={
            "one_word_1": 200,
            "sparse_5": 3_000,
            "lopsided_root_4": 6_000,
            "tiny_roots_3": 4_000,
        },
    ),
    *_per_graph(
        "reference.colbourn",
        _colbourn_spanning,
        single_root=False,
        num_draws={
            "one_word_1": 200,
            "skewed_4": 6_000,
            "two_islands_4": 3_000,
            "tiny_roots_3": 4_000,
            "near_deterministic_4": 2_000,
        },
    ),
    *_per_graph(
        "reference.colbourn",
        _colbourn_dependency,
        single_root=True,
        num_draws={
            "one_word_1": 200,
            "skewed_4": 6_000,
            "sparse_5": 3_000,
            "lopsided_root_4": 5_000,
            "tiny_roots_3": 4_000,
        },
    ),
    Check(
        "reference.swor, spanning trees, skewed_3, ordered pairs",
        ordered_trial(_swor_spanning, "skewed_3", single_root=False, num_repeats=4_000, length=2),
    ),
    Check(
        "reference.swor, dependency trees, skewed_3, ordered pairs",
        ordered_trial(_swor_dependency, "skewed_3", single_root=True, num_repeats=4_000, length=2),
    ),
    Check(
        "reference.swor, dependency trees, counter_example_3, all three in order",
        ordered_trial(
            _swor_dependency, "counter_example_3", single_root=True, num_repeats=1_500, length=3
        ),
    ),
    Check(
        "reference.swor, dependency trees, skewed_3, inclusion among four",
        ordered_trial(
            _swor_dependency,
            "skewed_3",
            single_root=True,
            num_repeats=1_500,
            length=4,
            judge=judge_inclusion,
        ),
    ),
)
"""The paper's algorithms in plain NumPy."""

_geometric = 0.8 ** np.arange(60.0)

CALIBRATION = (
    Check(
        "calibration, 16 equal cells",
        calibration_trial(np.full(16, 1 / 16), num_draws=1_600, num_repeats=8_000),
    ),
    Check(
        "calibration, geometric law with a pool that is a cell",
        calibration_trial(_geometric / _geometric.sum(), num_draws=5_000, num_repeats=8_000),
    ),
    Check(
        "calibration, 625 trees of which most are pooled",
        calibration_trial(
            law_of(graph("skewed_5"), single_root=True).probabilities,
            num_draws=20_000,
            num_repeats=4_000,
        ),
    ),
    Check(
        "calibration, 64 trees, rare ones tested exactly",
        calibration_trial(
            law_of(graph("bound_pair_4"), single_root=True).probabilities,
            num_draws=5_000,
            num_repeats=8_000,
            judge=judge_not_too_small,
        ),
    ),
)
"""The harness itself, on exact multinomial draws."""

TWINS = tuple(Check(f"twin of: {mutant.name}", mutant.twin) for mutant in MUTANTS)
"""The mutants without their faults."""

CHECKS: tuple[Check, ...] = (
    *REFERENCE,
    *CALIBRATION,
    *TWINS,
    *LIBRARY_CHECKS,
    *SHARP_CHECKS,
    *PROJECTIVE_CHECKS,
    *SPARSE_CHECKS,
    *NETWORKX_CHECKS,
    *LABELLED_CHECKS,
    *LABELLED_DISTINCT,
)
"""Every registered check."""

require_unique(CHECKS)
