"""The register's part for labelled trees, over each kind of tree.

A labelled tree is a row: -1, the heads of its words, their labels.  The trees of a kind come from
enumeration, and their labels are listed here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from math import fsum

import numpy as np

from arborand import (
    DependencyTrees,
    LabelledTrees,
    ProjectiveDependencyTrees,
    ProjectiveSpanningTrees,
    SpanningTrees,
)
from arborand.distributions import TreeDistribution
from arborand.enumeration import tree_law
from verification.goodness_of_fit import Verdict
from verification.judges import judge_consecutive, judge_ordered, judge_perturbed, judge_trees
from verification.laws import FloatArray, HeadsArray, TreeLaw
from verification.ledger import Check

NUM_DRAWS = 100_000
NUM_REPEATS = 4_000

KINDS: dict[str, tuple[type[TreeDistribution], Callable[..., tuple[HeadsArray, FloatArray]]]] = {
    "spanning trees": (SpanningTrees, partial(tree_law, single_root=False)),
    "dependency trees": (DependencyTrees, partial(tree_law, single_root=True)),
    "projective spanning trees": (
        ProjectiveSpanningTrees,
        partial(tree_law, single_root=False, projective=True),
    ),
    "projective dependency trees": (
        ProjectiveDependencyTrees,
        partial(tree_law, single_root=True, projective=True),
    ),
}


def _scores(name: str) -> FloatArray:
    """Make the scores of a labelled graph: unequal ones, rare labels, or some that are missing."""
    num_words, num_labels = {
        "skewed": (4, 2),
        "rare": (2, 4),
        "sparse": (3, 3),
        "small": (2, 2),
    }[name]
    rng = np.random.default_rng(num_words * num_labels)
    scores = rng.normal(size=(num_words + 1, num_words + 1, num_labels))
    if name == "rare":
        scores[..., 1:3] -= 4.0
    if name == "sparse":
        scores[rng.random(scores.shape) < 0.5] = -np.inf
        scores[range(3), range(1, 4), 0] = 0.5
    scores[:, 0] = scores[np.diag_indices(num_words + 1)] = -np.inf
    return scores


def _law(kind: str, scores: FloatArray) -> TreeLaw:
    """List every labelled tree with its probability."""
    size = len(scores)
    with np.errstate(divide="ignore"):
        trees, _ = KINDS[kind][1](np.log(np.exp(scores).sum(axis=-1)))
    rows, weights = [], []
    for heads in trees.tolist():
        for labels in itertools.product(range(scores.shape[-1]), repeat=size - 1):
            of_arcs = [scores[heads[j], j, labels[j - 1]] for j in range(1, size)]
            if min(of_arcs) > -np.inf:
                rows.append([*heads, *labels])
                weights.append(np.exp(fsum(of_arcs)))
    return TreeLaw(np.array(rows, np.int32), np.array(weights) / fsum(weights))


def _rows(heads: HeadsArray, labels: HeadsArray) -> HeadsArray:
    return np.concatenate([heads, labels[..., 1:]], axis=-1)


def _draws(kind: str, name: str, judge: Callable[..., Verdict], seed: int) -> Verdict:
    d = LabelledTrees(_scores(name), kind=KINDS[kind][0])
    return judge(_rows(*d.sample(NUM_DRAWS, rng=seed)), _law(kind, _scores(name)))


def _distinct(kind: str, name: str, length: int, seed: int) -> Verdict:
    scores = np.broadcast_to(_scores(name), (NUM_REPEATS, *_scores(name).shape))
    draws = LabelledTrees(scores, kind=KINDS[kind][0]).sample_without_replacement(length, rng=seed)
    assert draws.labels is not None
    rows = _rows(draws.heads, draws.labels).swapaxes(0, 1)
    law = _law(kind, _scores(name))
    if length < law.num_trees:
        return judge_ordered(rows, law)
    return judge_perturbed(rows, draws.perturbed_log_prob.T, law)


LABELLED_CHECKS = (
    *(
        Check(f"labelled sample, {kind}, {name}", partial(_draws, kind, name, judge_trees))
        for kind in KINDS
        for name in ("skewed", "rare", "sparse")
    ),
    *(
        Check(
            f"labelled sample, {kind}, rare, neighbouring draws",
            partial(_draws, kind, "rare", judge_consecutive),
        )
        for kind in KINDS
    ),
)
"""The law of a draw."""

LABELLED_DISTINCT = (
    *(
        Check(
            f"labelled sample_without_replacement, {kind}, rare, ordered pairs",
            partial(_distinct, kind, "rare", 2),
        )
        for kind in KINDS
    ),
    *(
        Check(
            f"labelled sample_without_replacement, {kind}, small, perturbed log-probabilities",
            partial(_distinct, kind, "small", len(_law(kind, _scores("small")).trees)),
        )
        for kind in KINDS
    ),
)
"""The order of distinct draws, to the last."""
