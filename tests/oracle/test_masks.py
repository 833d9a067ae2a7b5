"""Masks: arcs with huge negative scores count for nothing, unless a tree needs them.

Arcs that no float64 result can depend on are left out by the core. Here the results are compared
with those of graphs that lack these arcs, to the last bit, and with all trees added up where some
trees do need them.
"""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from arborand import DependencyTrees, SpanningTrees, _core, sampling
from arborand.randomness import stream_key
from tests.high_precision import by_enumeration
from tests.kinds import KINDS, is_single_root, trees_of
from tests.oracle.test_extreme_scores import (
    PROMISED,
    assert_log_partition,
    assert_marginals,
    assert_right,
    relative_error,
)
from tests.random_graphs import dense_scores

LOWEST = np.finfo(np.float64).min
MASKS = [-1e4, -1e5, -1e9, -1e12, -1e14, -1e20, -1e30, -1e300, LOWEST]


def masked(scores, mask, seed=0, share=1 / 3):
    """Mask a share of the arcs, but none of the chain 0 -> 1 -> 2 .., so that trees are left."""
    chosen = np.random.default_rng(seed).random(scores.shape) < share
    chosen[np.arange(len(scores) - 1), np.arange(1, len(scores))] = False
    return np.where(chosen & np.isfinite(scores), mask, scores)


# ---- the same as without the arcs ---------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("num_words", [2, 5, 9, 14, 30])
def test_numbers_are_those_of_the_graph_without_the_masked_arcs(kind, num_words, mask):
    scores = dense_scores(num_words, num_words, 3.0)
    one, other = kind(masked(scores, mask)), kind(masked(scores, -np.inf))
    values = np.random.default_rng(1).normal(size=scores.shape)
    assert one.log_partition() == other.log_partition()
    assert one.entropy() == other.entropy()
    np.testing.assert_array_equal(one.arc_marginals(), other.arc_marginals())
    np.testing.assert_array_equal(one.root_marginals(), other.root_marginals())
    np.testing.assert_array_equal(one.arc_covariances(values), other.arc_covariances(values))
    if kind is SpanningTrees:
        assert one.expected_walk_steps() == other.expected_walk_steps()


@KINDS
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("method", ["wilson", "colbourn"])
def test_trees_are_those_of_the_graph_without_the_masked_arcs(kind, method, mask):
    scores = dense_scores(7, 12, 3.0)
    one, other = kind(masked(scores, mask)), kind(masked(scores, -np.inf))
    heads = one.sample(200, rng=1, method=method)
    np.testing.assert_array_equal(heads, other.sample(200, rng=1, method=method))
    np.testing.assert_array_equal(one.log_prob(heads), other.log_prob(heads))
    np.testing.assert_array_equal(one.best_tree(), other.best_tree())


@KINDS
@pytest.mark.parametrize("mask", MASKS)
def test_words_that_pad_a_sentence_leave_the_others_as_they_are(kind, mask):
    num_words, size = 6, 10
    scores = dense_scores(3, num_words, 2.0)
    padded = np.full((size, size), mask)
    padded[: num_words + 1, : num_words + 1] = scores
    exact, found = kind(scores).arc_marginals(), kind(padded).arc_marginals()
    np.testing.assert_allclose(
        found[: num_words + 1, 1 : num_words + 1], exact[:, 1:], rtol=PROMISED, atol=0
    )
    assert (found[num_words + 1 :, 1 : num_words + 1] == 0).all()


# ---- where arcs are missed ----------------------------------------------------------------------


def all_heads_of_a_word(scores, mask):
    scores[:, 3] = mask


def all_root_arcs(scores, mask):
    scores[0, 1:] = mask


def the_way_between_two_halves(scores, mask):
    scores[1:3, 3:] = scores[3:, 1:3] = mask
    scores[0, 3:] = mask


def half_of_everything(scores, mask):
    np.copyto(scores, masked(scores, mask, seed=len(scores), share=0.5))
    scores[:, 2] = mask


def pairs_of_words(scores, mask):
    scores[1:, 1:] = mask
    scores[1, 2] = scores[2, 1] = scores[3, 4] = scores[4, 3] = 1.0


NEEDED = [
    pairs_of_words,
    all_heads_of_a_word,
    all_root_arcs,
    the_way_between_two_halves,
    half_of_everything,
]


@KINDS
@pytest.mark.parametrize("mask", [-720.0, -900.0, -2e3, *MASKS[:-1]])  # the judge adds them up
@pytest.mark.parametrize("need", NEEDED)
def test_all_digits_are_right_where_every_tree_needs_masked_arcs(kind, need, mask):
    scores = dense_scores(5, 4, 2.0)
    need(scores, mask)
    assert_right(kind, scores, by_enumeration)


@KINDS
@pytest.mark.parametrize("seed", range(60))
def test_all_digits_are_right_beside_several_masks(kind, seed):
    generator = np.random.default_rng(seed)
    num_words = int(generator.integers(2, 5))
    scores = sparse = dense_scores(seed, num_words, 10 ** generator.uniform(0, 2))
    for _ in range(2):
        mask = -(10 ** generator.uniform(2.8, 21))
        chosen = generator.random(sparse.shape) < 0.4
        scores = np.where(chosen & np.isfinite(scores), mask, scores)
    distribution = kind(scores)
    exact = by_enumeration(scores, single_root=is_single_root(kind))
    assert_log_partition(distribution, exact.log_partition)
    assert_marginals(distribution, exact.arc_marginals)
    # Where every tree needs a mask, the entropy is right to so much in absolute terms.
    assert abs(distribution.entropy() - float(exact.entropy)) <= PROMISED


@KINDS
@pytest.mark.parametrize("step", [-300.0, -500.0, -650.0, -700.0])
@pytest.mark.parametrize("mask", [-709.0, -800.0, -1100.0, -1400.0, -2000.0, -2900.0])
def test_a_masked_arc_counts_where_the_other_trees_are_as_improbable(kind, step, mask):
    # 3 hangs on 2 and 2 on 1, at e^step each, or both on the root by one arc of e^mask: which one
    # is lighter depends on a product that no single arc shows.
    scores = np.full((4, 4), -np.inf)
    scores[0, 1] = 0.0
    scores[1, 2], scores[2, 3], scores[3, 2] = step, step, 0.0
    scores[3, 1], scores[2, 1] = -1.0, -2.0
    scores[1, 3] = mask
    if kind is SpanningTrees:
        scores[0, 3] = mask - 3.0
    assert_right(kind, scores, by_enumeration)


ROUTES = {
    "by default": {},
    "colbourn": {"method": "colbourn"},
    "popping": {"pops": "always"},
    "walking": {"pops": "never"},
}


@KINDS
@pytest.mark.parametrize("route", ROUTES)
def test_numbers_too_small_for_double_count_where_all_others_are_as_small(kind, route):
    # Words 2 and 3 are bound to each other; the ways in weigh e^-707.9, and e^-708.4, which double
    # does not hold.
    scores = np.full((4, 4), -np.inf)
    scores[0, 1] = scores[2, 3] = scores[3, 2] = 0.0
    scores[1, 2], scores[1, 3] = -707.9, -708.4
    assert_right(kind, scores, by_enumeration)
    heads, _ = sampling.sample(kind(scores)._graphs, 100, key=stream_key(1), **ROUTES[route])
    assert 30 < (heads[:, 2] == 1).sum() < 90  # 62 of 100 on average


@KINDS
@pytest.mark.parametrize("mask", [-709.0, -715.0, -730.0, -740.0])
def test_probabilities_below_the_normal_doubles_are_not_lost(kind, mask):
    scores = dense_scores(2, 3, 0.5)
    scores[1, 2] = mask
    exact = by_enumeration(scores, single_root=is_single_root(kind)).arc_marginals[1][2]
    found = kind(scores).arc_marginals()[1, 2]
    assert found > 0
    smallest = 5e-324  # the spacing of subnormal numbers
    assert abs(mpmath.mpf(float(found)) - exact) <= 2 * smallest + PROMISED * exact


@KINDS
@pytest.mark.parametrize("mask", MASKS[:-1])
def test_a_condition_that_needs_a_masked_arc_counts_from_what_is_left(kind, mask):
    scores = dense_scores(8, 4, 2.0)
    scores[4, 1] = scores[1, 3] = mask
    given = kind(scores).condition(include=[(4, 1)])
    left = np.where(np.arange(5)[:, None] == 4, scores, -np.inf)
    left[:, 2:] = scores[:, 2:]
    exact = by_enumeration(left, single_root=is_single_root(kind))
    found = given.arc_marginals()
    for head in range(5):
        for dependent in range(1, 5):
            chance = exact.arc_marginals[head][dependent]
            if chance > 1e-290:
                assert relative_error(found[head, dependent], chance) <= PROMISED
            else:
                assert found[head, dependent] == 0
    assert relative_error(given.entropy(), exact.entropy) <= PROMISED
    heads = given.sample(50, rng=1)
    assert (heads[:, 1] == 4).all()


@KINDS
@pytest.mark.parametrize("mask", [-715.0, -900.0, *MASKS])
@pytest.mark.parametrize("method", [None, "partition", "rejection"])
def test_draws_without_replacement_reach_the_last_tree_through_masked_arcs(kind, method, mask):
    scores = masked(dense_scores(9, 3, 1.0), mask, seed=4, share=0.5)
    trees = trees_of(kind, scores)
    draws = kind(scores).sample_without_replacement(len(trees) + 1, rng=3, method=method)
    assert sorted(map(list, draws.heads.tolist())) == sorted(trees)
    assert draws.exhausted
    # What is left before each draw, by adding up the trees that follow.
    exact_scores = [[mpmath.mpf(float(x)) for x in row] for row in scores]
    with mpmath.workdps(700):
        totals = [mpmath.fsum(exact_scores[h[j]][j] for j in (1, 2, 3)) for h in draws.heads]
        best = max(totals)
    with mpmath.workdps(50):
        weights = [mpmath.exp(total - best) for total in totals]
        partition = mpmath.fsum(weights)
        for i, found in enumerate(draws.log_remaining):
            exact = mpmath.log(mpmath.fsum(weights[i:]) / partition)
            if exact < -1e12:  # beyond what a sum of scores can tell
                assert found < -1e11
            else:
                assert abs(found - float(exact)) <= 1e-9 * max(1.0, abs(float(exact)))


# ---- what is no ratio of sums over trees --------------------------------------------------------


def test_mean_hitting_times_rest_on_the_rarest_steps():
    # Two pairs of words joined by steps of e^rare both ways: it takes e^-rare steps to cross.
    def time(rare):
        scores = np.full((5, 5), rare)
        scores[0, 1:] = 0.0
        scores[1, 2] = scores[2, 1] = scores[3, 4] = scores[4, 3] = 0.0
        return DependencyTrees(scores).mean_hitting_time()

    assert time(-709.0) / time(-707.0) == pytest.approx(np.exp(2.0), rel=1e-12)
    assert time(-1e9) == np.inf


@pytest.mark.parametrize("order", [0.0, 0.1, 0.5])
def test_entropies_of_low_order_count_masked_trees(order):
    scores = dense_scores(1, 3, 1.0)
    scores[1, 2] = -800.0
    exact = by_order(scores, order)
    assert relative_error(SpanningTrees(scores).renyi_entropy(order), exact) <= PROMISED


def by_order(scores, order):
    trees = np.array(trees_of(SpanningTrees, scores))
    totals = scores[trees[:, 1:], np.arange(1, 4)].sum(axis=1)
    weights = [mpmath.exp(float(total)) for total in totals]
    partition = mpmath.fsum(weights)
    shares = mpmath.fsum((weight / partition) ** order for weight in weights)
    return mpmath.log(shares) / (1 - order)


# ---- best trees ---------------------------------------------------------------------------------


def padded_with(mask, num_words, size, seed):
    scores = np.full((size, size), mask)
    scores[: num_words + 1, : num_words + 1] = dense_scores(seed, num_words, 2.0)
    return scores


@KINDS
@pytest.mark.parametrize("mask", [-2e3, *MASKS[:-1]])
@pytest.mark.parametrize("seed", range(6))
def test_the_best_tree_beside_masked_padding_is_the_best(kind, mask, seed):
    scores = padded_with(mask, 3, 6, seed)
    exact = max(
        (sum(Fraction(float(scores[h[j], j])) for j in range(1, 6)), [-x for x in h])
        for h in trees_of(kind, scores)
    )
    assert kind(scores).best_tree().tolist() == [-x for x in exact[1]]


@KINDS
@pytest.mark.parametrize("mask", MASKS[:-1])
def test_masked_padding_does_not_need_exact_numbers(kind, mask):
    graphs = kind(padded_with(mask, 20, 31, 1))._graphs
    heads = np.empty((1, 31), dtype=np.int32)
    _, _, num_exact = _core.best_tree(graphs.batch, 1, 1.0, heads)
    assert num_exact == 0


@KINDS
def test_one_low_arc_may_be_better_than_two_that_are_not_as_low(kind):
    # Best heads lead by a thousandth, so that arcs from 2 down count as low. The root reaches the
    # four words that cling to each other by one arc of -2.1, or through word 5 by two of -1.9.
    scores = np.full((6, 6), -np.inf)
    for word, first, second in [(1, 2, 3), (2, 1, 4), (3, 4, 1), (4, 3, 2), (5, 1, 2)]:
        scores[first, word], scores[second, word] = 0.0, -1e-3
    scores[0, 1], scores[0, 5], scores[5, 1] = -2.1, -1.9, -1.9
    exact = max(
        (sum(Fraction(float(scores[h[j], j])) for j in range(1, 6)), [-x for x in h])
        for h in trees_of(kind, scores)
    )
    found = kind(scores).best_tree().tolist()
    assert found == [-x for x in exact[1]]
    assert found[1] == 0
