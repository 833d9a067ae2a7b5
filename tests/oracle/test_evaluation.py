"""What gold heads say about a distribution, compared with the list of all its trees."""

import itertools
import math

import numpy as np
import pytest

from arborand import DependencyTrees, InvalidTreeError, SpanningTrees, pad
from arborand.enumeration import tree_law
from arborand.evaluation import EDGES, Evaluation, Summary, evaluate
from tests.kinds import ALL_KINDS, is_projective, is_single_root

ROUNDING = 1e-12  # of sums of at most 100 numbers between 0 and 1
COUNTS = ("num_words", "num_open", "best_right", "minimum_risk_right", "is_tree")
FLOATS = ("expected_right", "claimed_right", "log_prob")
TABLES = ("num_arcs", "num_right", "probability_sums")


def law(kind, scores):
    """List the trees of a graph, with their probabilities."""
    return tree_law(scores, single_root=is_single_root(kind), projective=is_projective(kind))


def scores_of(seed, num_words=4):
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 2, (num_words + 1, num_words + 1))
    if seed % 3 == 0:
        scores[1, 2] = -np.inf
    return scores


def judged(kind, scores, gold):
    """Compute everything from the list of trees, with loops."""
    trees, chances = law(kind, scores)
    words = [j for j in range(1, len(scores)) if gold[j] >= 0]

    def right(tree):
        return sum(tree[j] == gold[j] for j in words)

    marginals = np.zeros(scores.shape)
    for tree, chance in zip(trees, chances, strict=True):
        for j in range(1, len(scores)):
            marginals[tree[j], j] += chance
    best = trees[np.argmax(chances)]
    risk = [sum(marginals[tree[j], j] for j in range(1, len(scores))) for tree in trees]
    least_risk = trees[np.argmax(risk)]
    mass = sum(
        chance
        for tree, chance in zip(trees, chances, strict=True)
        if all(tree[j] == gold[j] for j in words)
    )
    table = np.zeros((3, len(EDGES) - 1))
    for j in words:
        for head in range(len(scores)):
            if head != j:
                share = marginals[head, j]
                b = next(b for b in range(len(EDGES) - 1) if share < EDGES[b + 1] or b == 13)
                table[:, b] += (1, head == gold[j], share)
    return {
        "num_words": len(words),
        "num_open": len(scores) - 1 - len(words),
        "best_right": right(best),
        "minimum_risk_right": right(least_risk),
        "expected_right": sum(p * right(t) for t, p in zip(trees, chances, strict=True)),
        "claimed_right": sum(marginals[least_risk[j], j] for j in words),
        "log_prob": math.log(mass) if mass else -math.inf,
        "table": table,
    }


def same(ours: Evaluation, theirs: Evaluation):
    """Compare two evaluations bit by bit."""
    for name in COUNTS + FLOATS:
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    for name in TABLES:
        np.testing.assert_array_equal(
            getattr(ours.calibration, name), getattr(theirs.calibration, name)
        )


@ALL_KINDS
@pytest.mark.parametrize("seed", range(6))
def test_everything_follows_from_the_list_of_trees(kind, seed):
    scores = scores_of(seed)
    rng = np.random.default_rng(seed)
    trees, _ = law(kind, scores)
    for gold in rng.permutation(trees)[:6]:
        gold[1:][rng.random(4) < 0.3 * (seed % 2)] = -1  # every other time, some are open
        found = evaluate(kind(scores), gold)
        expected = judged(kind, scores, gold)
        for name in ("num_words", "num_open", "best_right", "minimum_risk_right"):
            assert getattr(found, name) == expected[name], name
        for name in ("expected_right", "claimed_right"):
            np.testing.assert_allclose(getattr(found, name), expected[name], rtol=0, atol=ROUNDING)
        if expected["num_words"]:
            np.testing.assert_allclose(found.log_prob, expected["log_prob"], rtol=ROUNDING)
        else:
            assert np.isnan(found.log_prob)
        assert found.is_tree
        for name, row in zip(TABLES, expected["table"], strict=True):
            values = getattr(found.calibration, name)
            np.testing.assert_allclose(values, row, rtol=0, atol=ROUNDING)


@ALL_KINDS
def test_gold_that_is_not_a_tree_has_no_probability_but_heads_that_count(kind):
    scores = scores_of(1, 3)
    for gold in itertools.product(range(-1, 4), repeat=3):
        if any(head == j for j, head in enumerate(gold, 1)):
            continue
        heads = [-1, *gold]
        found = evaluate(kind(scores), heads)
        trees, _ = law(kind, np.zeros((4, 4)))
        is_part = any(
            all(head in (-1, tree[j]) for j, head in enumerate(gold, 1)) for tree in trees
        )
        assert found.is_tree == is_part, heads
        assert np.isnan(found.log_prob) == (not is_part or set(gold) == {-1})
        expected = judged(kind, scores, heads)
        assert (found.num_words, found.best_right) == (
            expected["num_words"],
            expected["best_right"],
        )
        summary = found.summary()
        assert summary.num_no_trees == (not is_part)
        assert summary.num_trees == (is_part and set(gold) != {-1})


def test_a_gold_tree_with_a_forbidden_arc_is_impossible():
    scores = scores_of(0)  # no arc from 1 to 2
    for gold in ([-1, 0, 1, 1, 1], [-1, 0, 1, -1, -1]):
        found = evaluate(DependencyTrees(scores), gold)
        assert found.is_tree
        assert found.log_prob == -np.inf
        summary = found.summary()
        assert (summary.num_trees, summary.num_impossible, summary.log_prob) == (0, 1, 0.0)
        assert summary.as_dict()["mean_log_prob"] is None


def batch_of(kind, num_sentences=12):
    rng = np.random.default_rng(5)
    matrices = [rng.normal(0, 3, (n + 1, n + 1)) for n in rng.integers(1, 9, num_sentences)]
    scores, lengths = pad(matrices)
    distribution = kind(scores, lengths=lengths)
    gold = distribution.sample(rng=1)
    gold[rng.random(gold.shape) < 0.1] = -1
    gold[3, 1 : lengths[3] + 1] = 0  # perhaps several roots
    return distribution, gold, [kind(matrix) for matrix in matrices]


@ALL_KINDS
def test_a_graph_of_a_batch_is_evaluated_as_if_alone(kind):
    distribution, gold, ones = batch_of(kind)
    found = evaluate(distribution, gold, workers=2)
    for i, one in enumerate(ones):
        alone = evaluate(one, gold[i, : int(one.lengths) + 1])
        for name in COUNTS + FLOATS:
            np.testing.assert_array_equal(getattr(found, name)[i], getattr(alone, name))
        for name in TABLES:
            np.testing.assert_array_equal(
                getattr(found.calibration, name)[i], getattr(alone.calibration, name)
            )
    square = evaluate(
        kind(
            distribution.log_weights.reshape(3, 4, 9, 9), lengths=distribution.lengths.reshape(3, 4)
        ),
        gold.reshape(3, 4, 9),
    )
    assert square.log_prob.shape == (3, 4)
    assert square.calibration.num_arcs.shape == (3, 4, len(EDGES) - 1)
    assert square.summary().as_dict() == found.summary().as_dict()


def test_a_sum_does_not_depend_on_how_sentences_come_in_batches():
    distribution, gold, _ = batch_of(DependencyTrees)
    whole = evaluate(distribution, gold).summary()
    for cuts in ([0, 12], [0, 1, 5, 12], list(range(13))):
        total = Summary()
        for start, stop in itertools.pairwise(cuts):
            total = total.plus(evaluate(distribution[start:stop], gold[start:stop]))
        assert total.as_dict() == whole.as_dict()
    assert whole.num_sentences == 12
    assert whole.num_words + whole.num_open == distribution.lengths.sum()
    # Every word has one right head, and heads whose probabilities add up to 1.
    assert whole.calibration.num_right.sum() == whole.num_words
    np.testing.assert_allclose(whole.calibration.probability_sums.sum(), whole.num_words)


def test_the_distribution_that_gold_comes_from_is_calibrated():
    rng = np.random.default_rng(8)
    distribution = DependencyTrees(rng.normal(0, 2, (400, 9, 9)))
    table = evaluate(distribution, distribution.sample(rng=3)).summary().calibration
    # Six standard deviations of a sum of that many choices, none of which is more than 0.5 wide.
    width = 6 * 0.5 / np.sqrt(table.num_arcs)
    assert (abs(table.share_right - table.mean_probability) < width).all()
    assert (table.mean_probability >= table.edges[:-1]).all()
    assert (table.mean_probability <= table.edges[1:]).all()


def test_bins_are_those_of_one_graph():
    distribution, gold, _ = batch_of(DependencyTrees)
    found = evaluate(distribution, gold)
    with pytest.raises(TypeError, match=r"bins\(\) lists .* of shape \(12,\); .*summary\(\)"):
        found.calibration.bins()
    assert len(found.summary().calibration.bins()) == len(EDGES) - 1


def test_nothing_has_no_scores():
    summary = Summary()
    assert math.isnan(summary.best_attachment_score)
    assert summary.as_dict()["calibration"] == []
    one_word = evaluate(SpanningTrees([[0, 1], [0, 0]]), [-1, -1]).summary()
    assert (one_word.num_sentences, one_word.num_words, one_word.num_open) == (1, 0, 1)
    assert np.isnan(one_word.calibration.share_right).all()


def test_what_cannot_be_gold_is_refused():
    trees = DependencyTrees(scores_of(1))
    with pytest.raises(InvalidTreeError, match=r"gold has shape \(4,\): expected \(5,\)"):
        evaluate(trees, [0, 1, 1, 1])
    with pytest.raises(InvalidTreeError, match=r"gold\[2\] is 2: the head of node 2 must be ano"):
        evaluate(trees, [-1, 0, 2, 1, 1])
    with pytest.raises(TypeError, match="gold must be integers"):
        evaluate(trees, [-1, 0.5, 2, 1, 1])
    with pytest.raises(TypeError, match="gold must be integers"):
        evaluate(trees, None)
    with pytest.raises(TypeError, match="takes a distribution, such as DependencyTrees, not list"):
        evaluate([[0, 1], [0, 0]], [-1, 0])
    for edges in ([0.0], [0, 0.5], [0, 0.5, 0.5, 1], [[0, 1]], [0, np.nan, 1]):
        with pytest.raises(ValueError, match="edges must ascend from 0 to 1"):
            evaluate(trees, [-1, 0, 1, 1, 1], edges=edges)
    for edges in ([0, [0.5], 1], ["0", "1"], "edges.npy", None, [0, 1j]):
        with pytest.raises(TypeError, match=r"^edges "):
            evaluate(trees, [-1, 0, 1, 1, 1], edges=edges)
    two = evaluate(trees, [-1, 0, 1, 1, 1], edges=[0, 0.5, 1])
    with pytest.raises(ValueError, match="different edges"):
        evaluate(trees, [-1, 0, 1, 1, 1]).summary().plus(two)
