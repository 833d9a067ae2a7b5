"""Divergences that are small beside 1, against ball arithmetic of 400 digits."""

import math

import flint
import numpy as np
import pytest

from arborand import DependencyTrees, SpanningTrees, inference
from arborand.divergence import _rounded_once
from tests.kinds import KINDS, is_single_root
from tests.random_graphs import dense_scores, one_tree
from verification.with_balls import BallLaw

BITS = 1400
SIZES = [(1, 2), (2, 3), (3, 6), (4, 12), (5, 25)]  # seeds and words


def pair_of_laws(p_kind, p, q_kind, q):
    return tuple(
        BallLaw(scores, single_root=is_single_root(kind), bits=BITS)
        for kind, scores in ((p_kind, p), (q_kind, q))
    )


def largest_term(law, other):
    """Find the largest term of the sum that is made of the scores, the most probable tree and P."""
    best = law.likeliest_heads()
    heads = [-1, *(best[j] for j in range(1, law.size))]
    terms = [-law.log_prob(heads), -other.log_prob(heads)]
    for (i, j), chance in law.arc_marginals.items():
        gaps = (one.scores[i, j] - one.scores[best[j], j] for one in (law, other))
        gap = next(gaps) - next(gaps)
        terms.append(abs(chance * gap))
    return max(terms)


def error_and_truth(p_kind, p, q_kind, q):
    law, other = pair_of_laws(p_kind, p, q_kind, q)
    exact = law.kl_divergence(other)
    found = float(p_kind(p).kl_divergence(q_kind(q)))
    assert found >= 0
    return abs(flint.arb(found) - exact), exact, largest_term(law, other)


PAIRS_OF_KINDS = pytest.mark.parametrize(
    ("p_kind", "q_kind"),
    [
        (SpanningTrees, SpanningTrees),
        (DependencyTrees, DependencyTrees),
        (DependencyTrees, SpanningTrees),
    ],
)


@PAIRS_OF_KINDS
@pytest.mark.parametrize(("seed", "num_words"), SIZES)
@pytest.mark.parametrize("gap", [20.0, 45.0, 130.0, 255.0])
def test_divergences_of_nearly_certain_trees_have_all_their_digits(
    p_kind, q_kind, seed, num_words, gap
):
    # The same tree, and other scores beside it.
    p = one_tree(seed, num_words, gap)
    q = one_tree(seed, num_words, 1.2 * gap) + dense_scores(seed + 50, num_words)
    error, exact, _ = error_and_truth(p_kind, p, q_kind, q)
    assert error <= 1e-12 * exact


def test_the_smallest_of_these_divergences_is_as_small_as_they_claim():
    law, other = pair_of_laws(
        SpanningTrees, one_tree(1, 2, 255.0), SpanningTrees, one_tree(1, 2, 306.0)
    )
    assert law.kl_divergence(other) < 1e-105


@PAIRS_OF_KINDS
@pytest.mark.parametrize(("seed", "num_words"), SIZES[1:4])
@pytest.mark.parametrize("mask", [1e4, 1e30])
@pytest.mark.parametrize("is_masked_in_both", [False, True])
def test_masks_cost_no_digits_of_a_small_divergence(
    p_kind, q_kind, seed, num_words, mask, is_masked_in_both
):
    p, q = one_tree(seed, num_words, 60.0), one_tree(seed, num_words, 80.0)
    is_masked = np.random.default_rng(seed).random(p.shape) < 0.3
    is_masked &= p < 30.0  # not the arcs of the tree
    p = np.where(is_masked, -mask, p)
    q = np.where(is_masked & is_masked_in_both, -mask, q)
    error, exact, _ = error_and_truth(p_kind, p, q_kind, q)
    assert error <= 1e-12 * exact


@KINDS
@pytest.mark.parametrize(("seed", "num_words"), SIZES[:4])
@pytest.mark.parametrize("gap", [0.0, 2.0, 5.0, 10.0, 40.0, 150.0])
@pytest.mark.parametrize("distance", [1.0, 0.1, 1e-3, 1e-6, 1e-9])
def test_errors_are_small_beside_the_largest_term(kind, seed, num_words, gap, distance):
    p = one_tree(seed, num_words, gap)
    q = p + distance * dense_scores(seed + 50, num_words)
    error, exact, term = error_and_truth(kind, p, kind, q)
    assert error <= 1e-13 * max(exact, term)


@PAIRS_OF_KINDS
@pytest.mark.parametrize(("seed", "num_words"), SIZES[:4])
@pytest.mark.parametrize("gap", [0.0, 5.0, 20.0, 130.0])
@pytest.mark.parametrize("distance", [0.3, 0.1, 1e-2, 1e-3, 1e-6, 1e-9])
def test_divergences_of_close_arguments_have_all_their_digits(
    p_kind, q_kind, seed, num_words, gap, distance
):
    p = one_tree(seed, num_words, gap)
    q = p + distance * dense_scores(seed + 50, num_words)
    error, exact, _ = error_and_truth(p_kind, p, q_kind, q)
    assert error <= 1e-12 * exact


@pytest.mark.parametrize("distance", [1e-8, 1e-9, 3e-10, 1e-10, 1e-11, 1e-13])
def test_divergences_of_barely_different_arguments_have_all_their_digits(distance):
    # Of uneven graphs, whose variance changes between p and q.
    p = np.zeros((3, 3))
    p[0, 1] = -3.0
    q = p.copy()
    q[0, 1] += distance
    error, exact, _ = error_and_truth(SpanningTrees, p, SpanningTrees, q)
    assert error <= 1e-14 * exact


@KINDS
def test_divergences_too_small_for_float64_are_0(kind):
    p = np.zeros((3, 3))
    q = p.copy()
    q[0, 1] = 1e-310
    assert kind(p).kl_divergence(kind(q)) == 0.0


@KINDS
@pytest.mark.parametrize("distance", [0.0, 1e-6, 1e-8, 1e-9])
def test_a_mask_costs_no_digits_where_the_other_scores_of_its_word_move(kind, distance):
    for seed in range(10):
        p = dense_scores(seed, 3)
        q = p + distance * dense_scores(seed + 50, 3)
        q[:, 1] += 10.0  # which changes nothing, but rounds the scores: by up to 2^-50
        p[3, 1] = q[3, 1] = -1e9
        error, exact, _ = error_and_truth(kind, p, kind, q)
        assert error <= 1e-12 * exact + 1e-300, seed  # some are exactly 0


@KINDS
@pytest.mark.parametrize("size", [1e3, 1e9, 1e15])
def test_large_scores_cost_no_digits_where_the_other_has_more_arcs(kind, size):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        q = rng.normal(size=(4, 4))
        q[1:, 1:] += size
        p = q + size * rng.normal(size=(1, 4)) + 0.1 * rng.normal(size=(4, 4))
        p[1, 3] = -np.inf
        q[1, 3] = -100.0
        error, exact, term = error_and_truth(kind, p, kind, q)
        assert error <= 1e-13 * max(exact, term), seed


@KINDS
@pytest.mark.parametrize("distance", [1e-2, 1e-6])
def test_arcs_that_only_the_other_has_are_added_to_a_small_divergence(kind, distance):
    """Close on the common trees, with tiny shares for the others: both parts count."""
    q = dense_scores(3, 6) + distance * dense_scores(4, 6)
    p = dense_scores(3, 6)
    p[2, 5] = p[4, 1] = -np.inf
    q[2, 5] = q[4, 1] = -2.0 * math.log(1.0 / distance)
    error, exact, term = error_and_truth(kind, p, kind, q)
    assert error <= 1e-15 * term
    assert exact > 1e3 * error


def test_a_constant_added_to_all_arcs_into_a_word_is_no_divergence():
    p = np.round(2.0**20 * dense_scores(0, 8)) / 2.0**20  # so that the sums are exact
    assert DependencyTrees(p).kl_divergence(DependencyTrees(p + 2.0 ** np.arange(9))) == 0.0


@KINDS
@pytest.mark.parametrize("distance", [1.0, 1e-3])
def test_what_is_added_to_all_arcs_into_a_word_costs_no_digits(kind, distance):
    p = dense_scores(3, 6)
    q = p + distance * dense_scores(4, 6) + 1e5 * np.arange(7)
    error, exact, _ = error_and_truth(kind, p, kind, q)
    assert error <= 1e-12 * exact


@pytest.mark.parametrize("mask", [1e4, 1e30])
def test_masks_in_every_tree_of_the_first_cost_no_digits(mask):
    """Each tree but the last has one masked arc, but not all have it at the same word."""
    p = np.array([[0.0, -mask, -mask], [0.0, 0.0, 0.3], [0.0, 0.1, 0.0]])
    error, exact, _ = error_and_truth(SpanningTrees, p, SpanningTrees, dense_scores(5, 2))
    assert error <= 1e-13 * exact


@KINDS
def test_cross_entropies_of_nearly_certain_trees_have_all_their_digits(kind):
    p, q = one_tree(3, 6, 100.0), one_tree(3, 6, 80.0)
    law, other = pair_of_laws(kind, p, kind, q)
    exact = law.entropy() + law.kl_divergence(other)
    assert exact < 1e-20
    assert abs(flint.arb(float(kind(p).cross_entropy(kind(q)))) - exact) <= 1e-12 * exact


# ---- what they are made of ----


@KINDS
@pytest.mark.parametrize(("seed", "num_words"), SIZES)
@pytest.mark.parametrize("gap", [0.0, 30.0, 300.0])
def test_log_probabilities_of_trees_have_all_their_digits(kind, seed, num_words, gap):
    scores = one_tree(seed, num_words, gap)
    law = BallLaw(scores, single_root=is_single_root(kind), bits=2 * BITS)
    graphs = kind(scores)._graphs
    heads = np.empty((1, num_words + 1), dtype=np.int32)
    found = float(inference.tree_surprisal(graphs, heads, is_given=False)[0])
    exact = -law.log_prob(heads[0])
    assert abs(flint.arb(found) - exact) <= 1e-13 * exact
    # A tree that is most improbable: every word hangs on the one before, or the other way round.
    for order in (np.arange(num_words + 1), np.r_[0, num_words:0:-1]):
        heads[0, 0], heads[0, order[1:]] = -1, order[:-1]
        found = float(inference.tree_surprisal(graphs, heads, is_given=True)[0])
        exact = -law.log_prob(heads[0])
        assert abs(flint.arb(found) - exact) <= 1e-13 * exact


def test_sums_are_rounded_once_whatever_cancels():
    columns = [(1e30, 1e-40, -1e30), (0.1, 0.2, -0.3), (1.0, 2.0**-60, 2.0**-61), (0.0, 0.0, 0.0)]
    found = _rounded_once([np.array(row) for row in zip(*columns, strict=True)])
    assert found.tolist() == [math.fsum(column) for column in columns]
