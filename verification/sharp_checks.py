"""The register's part for sharp graphs: popping, and what takes over where it does not end.

Popping is forced on graphs where the library would walk, with budgets that are spent in the middle.
And cycles are bound so tightly that the library pops, or draws heads one by one, by itself.
"""

from __future__ import annotations

import numpy as np

from verification.goodness_of_fit import Family, Verdict
from verification.graphs import CATALOGUE, Graph
from verification.judges import judge_trees
from verification.laws import law_of
from verification.ledger import Check
from verification.library import ENDLESS, sampler
from verification.library_checks import KINDS, METHODS
from verification.sparse_graphs import QUIET_4, SIDE_DOORS_4, TWO_PAIRS_4
from verification.trials import Sampler, Trial

NUM_DRAWS = 60_000
BUDGETS = (1, 2, 3, 4, 6, 9, 14, 22, 40, ENDLESS)
BONDS = (10, 20, 40, 60, 200)


def sharp_trial(made: Sampler, target: Graph, *, single_root: bool, num_draws: int) -> Trial:
    """Prepare to judge a sampler on a graph that need not be in the catalogue."""

    def run(seed: int) -> Verdict:
        draws = np.asarray(made(target.log_weights, num_draws, seed))
        return judge_trees(draws, law_of(target, single_root=single_root))

    return run


def _together(members: dict[str, Trial]) -> Trial:
    def run(seed: int) -> Verdict:
        return Family(tuple((name, member(seed)) for name, member in members.items()))

    return run


def bound(name: str, num_words: int, cycles: tuple[tuple[int, ...], ...], bond: float) -> Graph:
    """Bind the words of some cycles to each other, in a graph of unequal scores.

    Parameters
    ----------
    name : str
        Of the shape.
    num_words : int
        How many.
    cycles : tuple of tuple of int
        Words that follow one another.
    bond : float
        What is added to the scores along the cycles.

    Returns
    -------
    Graph
        Not in the catalogue.
    """
    log_weights = np.random.default_rng(num_words).normal(size=(num_words + 1, num_words + 1))
    for cycle in cycles:
        for word, head in zip(cycle, cycle[1:] + cycle[:1], strict=True):
            log_weights[head, word] += bond
    log_weights[:, 0] = -np.inf
    np.fill_diagonal(log_weights, -np.inf)
    log_weights.setflags(write=False)
    return Graph(f"{name}, e^{bond}", log_weights, "walks that go round for a long time")


SHAPES: dict[str, tuple[int, tuple[tuple[int, ...], ...]]] = {
    "two pairs": (4, ((1, 2), (3, 4))),
    "a pair and a word": (3, ((1, 3),)),
    "a cycle of three": (4, ((1, 2, 4),)),
    "a pair in a pair": (4, ((1, 2), (1, 2), (2, 3), (3, 4))),
    "a cycle of all": (4, ((4, 2, 1, 3),)),
}

FORCED = (
    QUIET_4,
    SIDE_DOORS_4,
    TWO_PAIRS_4,
    CATALOGUE["skewed_3"],
    CATALOGUE["skewed_4"],
    *(bound(name, *shape, 2.0) for name, shape in SHAPES.items()),
)

EVERY_BUDGET = tuple(
    Check(
        f"sample by popping, {KINDS[single_root]}, {target.name}, all budgets",
        _together(
            {
                f"a budget of {budget}": sharp_trial(
                    sampler("wilson", single_root=single_root, step_budget=budget, pops="always"),
                    target,
                    single_root=single_root,
                    num_draws=NUM_DRAWS,
                )
                for budget in BUDGETS
            }
        ),
    )
    for single_root in (False, True)
    for target in FORCED
    if target.has_dependency_trees or not single_root
)
"""The law of a draw that pops, and is often given up."""

EVERY_BOND = tuple(
    Check(
        f"sample, {method}, {KINDS[single_root]}, {name}, all bonds",
        _together(
            {
                f"bound by e^{bond}": sharp_trial(
                    sampler(method, single_root=single_root),
                    bound(name, *shape, bond),
                    single_root=single_root,
                    num_draws=NUM_DRAWS,
                )
                for bond in BONDS
            }
        ),
    )
    for single_root in (False, True)
    for method in METHODS[single_root]
    for name, shape in SHAPES.items()
)
"""The law of a draw from sharp graphs, as users get it."""

SHARP_CHECKS = (*EVERY_BUDGET, *EVERY_BOND)
