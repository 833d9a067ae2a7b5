"""Covariances of arcs of whole sentences, against ball arithmetic."""

import flint
import numpy as np
import pytest

from tests.kinds import KINDS, is_single_root
from tests.random_graphs import (
    dense_scores,
    mutual_pairs,
    negligible_roots,
    nested_traps,
    one_tree,
    sparse_scores,
)
from verification.with_flint import second_order

GRAPHS = {
    "normal": dense_scores(0, 12),
    "times 10": dense_scores(1, 30, 10.0),
    "times 100": dense_scores(2, 20, 100.0),
    "bound pairs": mutual_pairs(3, 24, 40.0),
    "peaked": one_tree(4, 40, 50.0),
    "sparse": sparse_scores(5, 30, 0.2, 5.0),
    "weak roots": negligible_roots(6, 15, -300.0),
    "nested traps": nested_traps(7, 12, 20.0),
    "75 words": dense_scores(8, 75, 6.0),
}


@KINDS
@pytest.mark.parametrize("name", GRAPHS)
def test_covariances_are_exact_in_proportion_to_the_marginals(kind, name):
    scores = GRAPHS[name]
    direction = np.random.default_rng(9).normal(size=scores.shape)
    found = kind(scores).arc_covariances(direction)
    marginals, exact = second_order(scores, direction, single_root=is_single_root(kind))
    largest = np.abs(direction).max()
    for arc in np.ndindex(scores.shape):
        if marginals[arc] > 1e-290:
            error = abs(flint.arb(float(found[arc])) - exact[arc])
            assert error < 1e-12 * largest * marginals[arc], arc


@KINDS
@pytest.mark.parametrize("name", ["normal", "times 10", "bound pairs", "peaked", "sparse"])
def test_the_entropy_gradient_is_exact_in_proportion_to_the_marginals(kind, name):
    scores = GRAPHS[name]
    trees = kind(scores)
    num_words = len(scores) - 1
    values = np.where(trees.log_weights > -np.inf, scores, 0.0)
    found = trees.entropy_gradient()
    marginals, exact = second_order(scores, values, single_root=is_single_root(kind))
    for arc in np.ndindex(scores.shape):
        if marginals[arc] > 1e-290:
            error = abs(flint.arb(float(found[arc])) + exact[arc])
            assert error < 1e-12 * num_words * np.log(num_words + 1) * marginals[arc], arc
