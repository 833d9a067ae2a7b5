"""The register's part for the library: every method, on every graph, with every setting forced.

The compiled samplers take 0.1 to 3 microseconds a draw, so that draws are counted by the hundred
thousand. They read scores, not weights, and end on every graph, so that none of the catalogue is
left out; only a walk without any budget is kept to the walkable graphs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from arborand import DependencyTrees, SpanningTrees
from verification.goodness_of_fit import Family, Verdict
from verification.graphs import CATALOGUE, Graph, graph
from verification.judges import (
    judge_consecutive,
    judge_inclusion,
    judge_perturbed,
    judge_trees,
)
from verification.laws import FloatArray, HeadsArray, TreeLaw, law_of, without_arcs
from verification.ledger import Check
from verification.library import (
    ENDLESS,
    draw_distinct,
    neighbouring_graphs,
    ordered_sampler,
    sampler,
)
from verification.trials import Trial, ordered_trial, trial
from verification.walk_lengths import acceptance_trial, fallback_trial, steps_trial

KINDS = {False: "spanning trees", True: "dependency trees"}
METHODS = {False: ("wilson", "colbourn"), True: ("wilson", "wilson_reject", "colbourn")}

NUM_DRAWS = 100_000
NUM_DRAWS_PER_BUDGET = 30_000
NUM_REPEATS = 40_000

# None at all, fewer than the words, about as many as a walk takes, and more than it nearly ever
# takes: fallbacks always, nearly always, often and hardly ever.
BUDGETS = (0, 1, 3, 7, 20)


def _graphs_of(single_root: bool) -> Iterable[Graph]:
    return (g for g in CATALOGUE.values() if g.has_dependency_trees or not single_root)


def _together(trials: Mapping[str, Trial]) -> Trial:
    def run(seed: int) -> Verdict:
        return Family(tuple((name, one(seed)) for name, one in trials.items()))

    return run


# ---- with replacement ----

EVERY_METHOD = tuple(
    Check(
        f"sample, {method}, {KINDS[single_root]}, {target.name}",
        trial(
            sampler(method, single_root=single_root),
            target.name,
            single_root=single_root,
            num_draws=NUM_DRAWS,
        ),
    )
    for single_root in (False, True)
    for method in (*METHODS[single_root], None)
    for target in _graphs_of(single_root)
)
"""The law of a draw."""

A_MILLION = tuple(
    Check(
        f"sample, {method}, {KINDS[single_root]}, skewed_3, a million draws",
        trial(
            sampler(method, single_root=single_root),
            "skewed_3",
            single_root=single_root,
            num_draws=10**6,
        ),
    )
    for single_root in (False, True)
    for method in METHODS[single_root]
)
"""The same, where a bias of one percent shows."""

EVERY_BUDGET = tuple(
    Check(
        f"sample, {method}, {KINDS[single_root]}, {target.name}, all step budgets",
        _together(
            {
                f"a budget of {budget} steps": trial(
                    sampler(method, single_root=single_root, step_budget=budget),
                    target.name,
                    single_root=single_root,
                    num_draws=NUM_DRAWS_PER_BUDGET,
                )
                for budget in (*BUDGETS, *([ENDLESS] if target.is_walkable else []))
            }
        ),
    )
    for single_root in (False, True)
    for method in METHODS[single_root]
    if method != "colbourn"
    for target in _graphs_of(single_root)
)
"""The law of a draw, when walks are often given up in the middle."""

INDEPENDENCE = tuple(
    Check(
        f"sample, {method}, {KINDS[single_root]}, skewed_3, neighbouring {neighbours}",
        trial(
            made,
            "skewed_3",
            single_root=single_root,
            num_draws=NUM_DRAWS,
            judge=judge_consecutive,
        ),
    )
    for single_root in (False, True)
    for method in METHODS[single_root]
    for neighbours, made in (
        ("draws", sampler(method, single_root=single_root)),
        ("draws, a budget of 4 steps", sampler(method, single_root=single_root, step_budget=4)),
        ("graphs", neighbouring_graphs(method, single_root=single_root)),
    )
    if method != "colbourn" or "budget" not in neighbours
)
"""Draws that follow each other, and draws of graphs that do, are independent."""


# ---- rare arcs ----

# Without one of its four arcs a tree has probability 1e-11 or so, without two of them 1e-23.
ABSENT_ARCS = (((0, 2),), ((2, 1),), ((2, 1), (3, 4)))


def _conditioned(
    log_weights: FloatArray,
    num_draws: int,
    seed: int,
    *,
    single_root: bool,
    method: str,
    absent: tuple[tuple[int, int], ...],
) -> HeadsArray:
    kind = DependencyTrees if single_root else SpanningTrees
    return kind(log_weights).condition(exclude=absent).sample(num_draws, method=method, rng=seed)


def _judge_without(
    draws: npt.NDArray[Any], law: TreeLaw, *, absent: tuple[tuple[int, int], ...]
) -> Verdict:
    return judge_trees(draws, without_arcs(law, absent))


RARE_ARCS = tuple(
    Check(
        f"sample, {method}, {KINDS[single_root]}, rare_arcs_4, given the absence of {absent}",
        trial(
            partial(_conditioned, single_root=single_root, method=method, absent=absent),
            "rare_arcs_4",
            single_root=single_root,
            num_draws=NUM_DRAWS,
            judge=partial(_judge_without, absent=absent),
        ),
    )
    for single_root in (False, True)
    for method in METHODS[single_root]
    for absent in ABSENT_ARCS
)
"""What is rare has the right chance, given that something as rare happens."""


# ---- without replacement ----

_PAIRS_ON = {
    False: ("flat_3", "skewed_4", "sparse_5", "two_islands_4", "near_deterministic_4"),
    True: ("flat_3", "skewed_4", "sparse_5", "bound_pair_4", "tiny_roots_3", "rare_arcs_4"),
}

PAIRS = tuple(
    Check(
        f"sample_without_replacement, {method}, {KINDS[single_root]}, {name}, ordered pairs",
        ordered_trial(
            ordered_sampler(method, single_root=single_root),
            name,
            single_root=single_root,
            num_repeats=NUM_REPEATS,
            length=2,
        ),
    )
    for single_root in (False, True)
    for method in (None, "rejection", "partition")
    for name in _PAIRS_ON[single_root]
)
"""The second tree, given the first; on peaked graphs it is one of the rare ones."""

SWITCHES = tuple(
    Check(
        f"sample_without_replacement, {KINDS[single_root]}, skewed_3, ordered triples, "
        f"switch after {switch_after}",
        ordered_trial(
            ordered_sampler("rejection", single_root=single_root, switch_after=switch_after),
            "skewed_3",
            single_root=single_root,
            num_repeats=NUM_REPEATS,
            length=3,
        ),
    )
    for single_root in (False, True)
    for switch_after in range(4)
)
"""From rejection to the partition, at every point of three draws."""

IMPATIENCE = tuple(
    Check(
        f"sample_without_replacement, {KINDS[single_root]}, skewed_3, ordered triples, "
        f"at most {most_repeats} repeats in a row",
        ordered_trial(
            ordered_sampler("rejection", single_root=single_root, most_repeats=most_repeats),
            "skewed_3",
            single_root=single_root,
            num_repeats=NUM_REPEATS,
            length=3,
        ),
    )
    for single_root in (False, True)
    for most_repeats in (1, 2)
)
"""From rejection to the partition, wherever draws happen to be in vain."""

ALL_IN_ORDER = tuple(
    Check(
        f"sample_without_replacement, dependency trees, counter_example_3, all three in order, "
        f"switch after {switch_after}",
        ordered_trial(
            ordered_sampler("rejection", single_root=True, switch_after=switch_after),
            "counter_example_3",
            single_root=True,
            num_repeats=NUM_REPEATS,
            length=3,
        ),
    )
    for switch_after in range(4)
)
"""The last tree is drawn with certainty."""

INCLUSION = tuple(
    Check(
        f"sample_without_replacement, {method}, {KINDS[single_root]}, {name}, "
        f"inclusion among {length}",
        ordered_trial(
            ordered_sampler(method, single_root=single_root),
            name,
            single_root=single_root,
            num_repeats=NUM_REPEATS,
            length=length,
            judge=judge_inclusion,
        ),
    )
    for method, single_root, name, length in (
        (None, False, "skewed_3", 6),
        (None, True, "skewed_3", 5),
        (None, True, "dominant_4", 3),
        ("rejection", False, "skewed_3", 6),
        ("rejection", True, "skewed_3", 5),
        ("partition", False, "skewed_3", 6),
        ("partition", True, "skewed_3", 5),
        ("partition", True, "dominant_4", 3),
    )
)
"""The right trees are among the first."""


def _perturbed(seed: int, *, method: str | None, name: str, single_root: bool) -> Verdict:
    law = law_of(graph(name), single_root=single_root)
    draws = draw_distinct(
        graph(name).log_weights,
        NUM_REPEATS,
        law.num_trees,
        seed,
        single_root=single_root,
        method=method,
    )
    heads, perturbed = np.swapaxes(draws.heads, 0, 1), draws.perturbed_log_prob.T
    return judge_perturbed(heads, perturbed, law)


PERTURBED = tuple(
    Check(
        f"sample_without_replacement, {method}, {KINDS[single_root]}, skewed_3, perturbed",
        partial(_perturbed, method=method, name="skewed_3", single_root=single_root),
    )
    for method in (None, "partition")
    for single_root in (False, True)
)
"""Perturbed log-probabilities are those of the race that the order comes from."""


# ---- the length of walks ----


def _expected_steps(log_weights: FloatArray) -> float:
    return float(SpanningTrees(log_weights).expected_walk_steps())


def _twice_mean_hitting_time(log_weights: FloatArray) -> float:
    return 2 * float(DependencyTrees(log_weights).mean_hitting_time())


WALK_LENGTHS = (
    *(
        Check(
            f"expected_walk_steps, spanning trees, {name}",
            steps_trial(name, single_root=False, num_draws=10**6, predict=_expected_steps),
        )
        for name in ("skewed_5", "sparse_5", "even_roots_4", "shifted_3")
    ),
    Check(
        "mean_hitting_time, dependency trees, even_roots_4",
        steps_trial(
            "even_roots_4",
            single_root=True,
            num_draws=10**6,
            predict=_twice_mean_hitting_time,
        ),
    ),
    *(
        Check(
            f"walks of more than {budget} steps, {KINDS[single_root]}, {name}",
            fallback_trial(name, single_root=single_root, num_draws=NUM_DRAWS, step_budget=budget),
        )
        for name, single_root in (("sparse_5", False), ("lopsided_root_4", True))
        for budget in (3, 5, 8, 13, 21)
    ),
    *(
        Check(
            f"walks until a single root arc, {name}",
            acceptance_trial(name, num_draws=NUM_DRAWS),
        )
        for name in ("skewed_4", "sparse_5")
    ),
)
"""Walks take as many steps as theory says, and give up when they should."""

LIBRARY_CHECKS = (
    *EVERY_METHOD,
    *A_MILLION,
    *EVERY_BUDGET,
    *INDEPENDENCE,
    *RARE_ARCS,
    *PAIRS,
    *SWITCHES,
    *IMPATIENCE,
    *ALL_IN_ORDER,
    *INCLUSION,
    *PERTURBED,
    *WALK_LENGTHS,
)
"""Every check of the library."""
