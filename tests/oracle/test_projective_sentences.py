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


@pytest.mark.parametrize("num_words", [2, 7, 30, 70, 140])
def test_a_sentence_read_backwards_has_the_same_trees_backwards(num_words):
    # With one root arc it does not matter on which side of the words the root stands.
    scores = dense_scores(num_words, num_words, 2.0)
    order = np.array([0, *range(num_words, 0, -1)])
    forwards = ProjectiveDependencyTrees(scores)
    backwards = ProjectiveDependencyTrees(scores[np.ix_(order, order)])
    assert backwards.log_partition() == pytest.approx(forwards.log_partition(), rel=1e-13)
    assert backwards.entropy() == pytest.approx(forwards.entropy(), rel=1e-12)
    marginals = backwards.arc_marginals()[np.ix_(order, order)]
    np.testing.assert_allclose(marginals, forwards.arc_marginals(), rtol=1e-11, atol=0)
    best = np.concatenate([[-1], order[backwards.best_tree()[order[1:]]]])
    np.testing.assert_array_equal(best, forwards.best_tree())


@PROJECTIVE_KINDS
def test_adding_to_all_scores_of_a_word_changes_no_probability(kind):
    scores = dense_scores(4, 60)
    shifted = scores + np.random.default_rng(0).integers(-50, 50, 61)
    marginals = kind(scores).arc_marginals()
    np.testing.assert_allclose(kind(shifted).arc_marginals(), marginals, rtol=1e-11, atol=0)
    np.testing.assert_array_equal(kind(shifted).sample(20, rng=3), kind(scores).sample(20, rng=3))
