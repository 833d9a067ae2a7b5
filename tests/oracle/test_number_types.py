"""Which ancestral draws go beyond double: those that the bound of docs/mathematics.md sends there.

A number too small for double may be ignored at a word if P(heads before it) Z is large enough. Most
trees would be the same anyway, so trees do not tell whether the rule is kept. The core counts the
draws that took wider numbers. Here the rule is applied to the trees that were drawn, with
probabilities from a list of all trees.
"""

from functools import cache

import mpmath
import numpy as np
import pytest

from arborand import DependencyTrees, SpanningTrees, sampling
from arborand.randomness import stream_key
from tests.enumerated_law import EnumeratedLaw
from tests.kinds import KINDS
from tests.oracle.test_masks import masked
from tests.random_graphs import dense_scores

NUM_DRAWS = 400


def a_detour_too_small(scores):
    # By way of word 8, word 3 hangs on word 2 with e^-800. Elimination meets this detour on its way
    # to words 1 to 6, and on no other.
    scores[2, 8] = scores[8, 3] = -400.0
    return 6


def an_arc_too_small(scores):
    # At every word, the rows lack it.
    scores[1, 10] = -720.0
    return 12


LOSSES = [a_detour_too_small, an_arc_too_small]


def trunk_and_bound_pair(rarity, num_words):
    """Make a graph whose trees all need an arc of e^-rarity, and whose first words have a choice.

    The heaviest arc of every word is 1, so that scores are not shifted.
    """
    scores = np.full((num_words + 1, num_words + 1), -np.inf)
    scores[0, 5], scores[0, 6] = np.log(1 / 9), 0.0
    scores[6, 5] = scores[5, 6] = 0.0
    scores[5:7, 1:5] = 0.0
    scores[6, 7] = scores[7, 8] = 0.0
    scores[6, 9:11] = scores[6, 13:] = 0.0
    scores[11, 12] = scores[12, 11] = 0.0
    scores[6, 11:13] = -rarity
    return scores


def log_of_bound(law, kind):
    """Return the logarithm of the least P(heads) for which numbers may be lost."""
    heads_of_words = law.scores[:, 1:] if kind is SpanningTrees else law.scores[1:, 1:]
    with mpmath.workdps(30):
        log_sums = mpmath.fsum(
            mpmath.log(mpmath.fsum(mpmath.exp(float(s)) for s in column))
            for column in heads_of_words.T
        )
        rest = (64 - 1021) * mpmath.log(2) + 5 * mpmath.log(law.size)
        return float(log_sums + rest - law.log_partition)


@cache
def case(kind, loss, num_words):
    """Return a graph, and whether the rule lets a tree be drawn in double.

    The bound lies in the widest gap between the probabilities of heads, and is far from both sides:
    the core adds 1 to its logarithm, for the rounding of all of it.
    """
    rarity = 600.0
    for _ in range(2):
        scores = trunk_and_bound_pair(rarity, num_words)
        last = loss(scores)
        law = EnumeratedLaw(kind, scores)
        before = {}
        for tree, chance in law.chance.items():
            before[tree[1:last]] = before.get(tree[1:last], 0) + chance
        logs = sorted(float(mpmath.log(p)) for p in before.values() if p > 1e-9)
        gap, place = max((logs[i + 1] - logs[i], i) for i in range(len(logs) - 1))
        assert gap > 1.4
        rarity += logs[place] + gap / 2 - 0.5 - log_of_bound(law, kind)
    bound = log_of_bound(law, kind)
    assert logs[place] + 0.1 < bound < bound + 1 < logs[place + 1] - 0.1
    return scores, lambda heads: mpmath.log(before[tuple(heads[1:last])]) > bound


@KINDS
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("num_words", [12, 24])
@pytest.mark.parametrize(("method", "step_budget"), [("colbourn", None), ("wilson", 0)])
def test_draws_go_beyond_double_where_the_bound_says_so(kind, loss, num_words, method, step_budget):
    scores, is_enough = case(kind, loss, num_words)
    heads, counts = sampling.sample(
        kind(scores)._graphs,
        NUM_DRAWS,
        key=stream_key(2),
        method=method,
        step_budget=step_budget,
    )
    expected = sum(not is_enough(tree) for tree in heads.tolist())
    assert counts.ancestral == NUM_DRAWS
    assert counts.beyond_double == expected
    assert 10 < expected < NUM_DRAWS - 10


@KINDS
@pytest.mark.parametrize("num_words", [60, 200])
def test_masks_send_no_draw_beyond_double(kind, num_words):
    # Not even where trees have so many words that each is less probable than double can tell.
    scores = masked(dense_scores(1, num_words), -1e9)
    options = {"key": stream_key(1), "method": "colbourn"}
    heads, counts = sampling.sample(kind(scores)._graphs, 5, **options)
    assert (counts.ancestral, counts.beyond_double) == (5, 0)
    again, _ = sampling.sample(kind(scores)._graphs, 5, **options, trusts_double=False)
    np.testing.assert_array_equal(heads, again)


def test_masks_may_count_below_an_improbable_root():
    # The biased method draws word 4 as often as word 3, which is e^100 times as probable. An arc of
    # e^-900 that counts for nothing beside all trees may count beside those of word 4.
    scores = np.full((5, 5), -np.inf)
    scores[0, 3] = scores[0, 4] = 0.0
    scores[3, 2] = scores[2, 1] = scores[2, 3] = scores[2, 4] = 0.0
    scores[4, 1], scores[1, 2] = -60.0, -40.0
    for mask, is_beyond in ((-np.inf, False), (-900.0, True)):
        scores[4, 2] = mask
        options = {"key": stream_key(1), "method": "wilson_rc", "step_budget": 0}
        heads, counts = sampling.sample(DependencyTrees(scores)._graphs, 100, **options)
        num_below = (heads[:, 4] == 0).sum()
        assert 20 < num_below < 80
        assert counts.beyond_double == is_beyond * num_below


@KINDS
def test_no_draw_goes_beyond_double_where_nothing_is_lost(kind):
    graphs = kind(trunk_and_bound_pair(640.0, 12))._graphs
    _, counts = sampling.sample(graphs, 100, key=stream_key(1), method="colbourn")
    assert (counts.ancestral, counts.beyond_double) == (100, 0)
    options = {"key": stream_key(1), "method": "colbourn", "trusts_double": False}
    _, counts = sampling.sample(graphs, 100, **options)
    assert (counts.ancestral, counts.beyond_double) == (100, 100)
