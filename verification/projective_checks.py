"""The register's part for projective trees."""

from __future__ import annotations

from arborand.enumeration import dependency_trees, spanning_trees
from verification.graphs import CATALOGUE, Graph
from verification.judges import judge_consecutive, judge_inclusion
from verification.ledger import Check
from verification.library import ordered_sampler, sampler
from verification.library_checks import KINDS, NUM_DRAWS, NUM_REPEATS
from verification.trials import ordered_trial, trial


def _graphs_of(*, single_root: bool) -> list[Graph]:
    trees = dependency_trees if single_root else spanning_trees
    return [g for g in CATALOGUE.values() if next(trees(g.log_weights, projective=True), None)]


LAWS = tuple(
    Check(
        f"sample, projective {KINDS[single_root]}, {target.name}",
        trial(
            sampler(None, single_root=single_root, projective=True),
            target.name,
            single_root=single_root,
            projective=True,
            num_draws=NUM_DRAWS,
        ),
    )
    for single_root in (False, True)
    for target in _graphs_of(single_root=single_root)
)
"""The law of a draw."""

INDEPENDENCE = tuple(
    Check(
        f"sample, projective {KINDS[single_root]}, skewed_3, neighbouring draws",
        trial(
            sampler(None, single_root=single_root, projective=True),
            "skewed_3",
            single_root=single_root,
            projective=True,
            num_draws=NUM_DRAWS,
            judge=judge_consecutive,
        ),
    )
    for single_root in (False, True)
)
"""Draws that follow each other are independent."""

_PAIRS_ON = {
    False: ("flat_3", "skewed_4", "sparse_5", "near_deterministic_4"),
    True: ("flat_3", "skewed_4", "sparse_5", "bound_pair_4", "tiny_roots_3", "rare_arcs_4"),
}

PAIRS = tuple(
    Check(
        f"sample_without_replacement, {method}, projective {KINDS[single_root]}, {name}, pairs",
        ordered_trial(
            ordered_sampler(method, single_root=single_root, projective=True),
            name,
            single_root=single_root,
            projective=True,
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
        f"sample_without_replacement, projective {KINDS[single_root]}, skewed_3, ordered triples, "
        f"switch after {switch_after}",
        ordered_trial(
            ordered_sampler(
                "rejection", single_root=single_root, projective=True, switch_after=switch_after
            ),
            "skewed_3",
            single_root=single_root,
            projective=True,
            num_repeats=NUM_REPEATS,
            length=3,
        ),
    )
    for single_root in (False, True)
    for switch_after in range(4)
)
"""From rejection to the partition, at every point of three draws."""

INCLUSION = tuple(
    Check(
        f"sample_without_replacement, {method}, projective {KINDS[single_root]}, skewed_3, "
        f"inclusion among 5",
        ordered_trial(
            ordered_sampler(method, single_root=single_root, projective=True),
            "skewed_3",
            single_root=single_root,
            projective=True,
            num_repeats=NUM_REPEATS,
            length=5,
            judge=judge_inclusion,
        ),
    )
    for method in (None, "partition")
    for single_root in (False, True)
)
"""The right trees are among the first."""

PROJECTIVE_CHECKS = (*LAWS, *INDEPENDENCE, *PAIRS, *SWITCHES, *INCLUSION)
"""Every check of projective trees."""
