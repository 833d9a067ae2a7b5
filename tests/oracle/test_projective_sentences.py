"""Projective trees of sentences too long to list, judged by another recursion in many digits.

The judge knows that everything that hangs from a word is an interval, and nothing else: it splits
intervals into those of a head's dependents, O(n^5) operations in all. It finds the probability of
an arc by taking all other heads away from its dependent.
"""

from functools import cache

import mpmath
import numpy as np
import pytest

from arborand import ProjectiveDependencyTrees, ProjectiveSpanningTrees
from tests.kinds import PROJECTIVE_KINDS, is_single_root
from tests.random_graphs import dense_scores, mutual_pairs, one_tree, sparse_scores

PROMISED = 1e-12
DIGITS = 40


def partition(scores, *, single_root):
    """Add up the weights of all projective trees."""
    n = len(scores) - 1
    weight = [[mpmath.exp(float(s)) if s > -np.inf else 0 for s in row] for row in scores]

    @cache
    def trees(first, last, top):
        """Add up the ways in which all of first .. last hangs from `top`, which is among them."""
        return hanging(first, top - 1, top) * hanging(top + 1, last, top)

    @cache
    def hanging(first, last, head):
        """Add up the ways in which first .. last hangs from `head`, in one or several subtrees."""
        if first > last:
            return mpmath.mpf(1)
        return mpmath.fsum(
            weight[head][top] * trees(first, end, top) * hanging(end + 1, last, head)
            for end in range(first, last + 1)
            for top in range(first, end + 1)
            if weight[head][top]
        )

    if single_root:
        return mpmath.fsum(weight[0][top] * trees(1, n, top) for top in range(1, n + 1))
    return hanging(1, n, 0)


def masked(seed, num_words):
    scores = dense_scores(seed, num_words)
    scores[np.random.default_rng(seed).random(scores.shape) < 0.3] = -200.0
    return scores


GRAPHS = {
    "dense, 11 words": dense_scores(1, 11),
    "scale 5, 9 words": dense_scores(2, 9, 5.0),
    "scale 40, 8 words": dense_scores(3, 8, 40.0),
    "sparse, 10 words": sparse_scores(0, 10, 0.6),
    "masked, 9 words": masked(4, 9),
    "bound pairs, 9 words": mutual_pairs(5, 9, 25.0),
    "one tree, 9 words": one_tree(2, 9, 8.0),
}


@PROJECTIVE_KINDS
@pytest.mark.parametrize("name", GRAPHS)
def test_log_partition_and_some_marginals(kind, name):
    scores = GRAPHS[name].copy()
    np.fill_diagonal(scores, -np.inf)
    scores[:, 0] = -np.inf
    single_root = is_single_root(kind)
    with mpmath.workdps(DIGITS):
        total = partition(scores, single_root=single_root)
        d = kind(scores)
        exact = mpmath.log(total)
        assert abs(d.log_partition() - exact) <= PROMISED * max(1, abs(exact))
        marginals = d.arc_marginals()
        generator = np.random.default_rng(0)
        arcs = np.argwhere(scores > -np.inf)
        for head, dependent in generator.permutation(arcs)[:6]:
            alone = scores.copy()
            alone[:, dependent] = -np.inf
            alone[head, dependent] = scores[head, dependent]
            chance = partition(alone, single_root=single_root) / total
            assert abs(marginals[head, dependent] - chance) <= PROMISED * chance


def test_a_single_root_is_what_remains_of_several_with_vanishing_root_weights():
    # Another way to the same kind: Z of all is e Z of one root arc + O(e^2).
    scores = dense_scores(8, 40)
    small = scores.copy()
    small[0] -= 40.0
    limit = ProjectiveSpanningTrees(small).log_partition() + 40.0
    assert ProjectiveDependencyTrees(scores).log_partition() == pytest.approx(limit, abs=1e-12)
