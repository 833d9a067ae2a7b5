"""Best trees, least risk and evidence equal the list of all trees with exact fractions."""

from fractions import Fraction

import numpy as np
import pytest

from arborand import DependencyTrees, SpanningTrees
from tests.exact_fractions import ExactLaw
from tests.kinds import KINDS, is_single_root, trees_of
from tests.random_graphs import dense_scores, sparse_scores
from verification.best_order import (
    EXACT_ONLY,
    FAMILIES,
    best_of,
    from_core,
    graph_of,
    has_tree,
    in_order,
    judge_no_tree_is_missing,
    judge_whole_order,
)

each_family = pytest.mark.parametrize("family", FAMILIES)


@KINDS
@each_family
def test_all_trees_are_found_in_the_exact_order(kind, family):
    verdict = judge_whole_order(family, 15, seed=1, single_root=is_single_root(kind))
    assert verdict.num_trees > 50
    assert verdict.p_value == 1, verdict.report()


@pytest.mark.slow
@KINDS
@pytest.mark.parametrize("family", ["normal", "decimals", "masks of -1e20"])
def test_all_trees_of_six_words_are_found_in_the_exact_order(kind, family):
    graph = graph_of(family, np.random.default_rng(6), 6)
    expected = in_order(graph, single_root=is_single_root(kind))
    found, _ = from_core(graph, len(expected) + 1, single_root=is_single_root(kind))
    assert [tuple(heads) for heads in found.tolist()] == expected


@KINDS
@each_family
def test_exact_numbers_alone_give_the_same_order(kind, family):
    single_root = is_single_root(kind)
    rng = np.random.default_rng(2)
    for num_words in (2, 3, 4):
        graph = graph_of(family, rng, num_words)
        if has_tree(graph, single_root=single_root):
            found, _ = from_core(graph, 1000, single_root=single_root, caution=EXACT_ONLY)
            expected = in_order(graph, single_root=single_root)
            assert [tuple(heads) for heads in found.tolist()] == expected


# Which families need exact numbers for some trees, and which never.
NEVER_CLOSE = {"normal", "single precision", "sparse"}
# Once cycles meet, double is never enough for these: two scores are equal too often, or so far
# apart that no double holds their sum.
ALWAYS_CLOSE = {"zeros", "subnormal", "1e-300 to 1e300"}


@each_family
def test_fast_and_exact_paths_are_both_taken(family):
    rng = np.random.default_rng(3)
    graphs = [graph_of(family, rng, 6) for _ in range(200)]
    graphs = np.array([g for g in graphs if has_tree(g, single_root=True)])
    _, searches = best_of(graphs, single_root=True)
    assert searches.greedy + searches.certified + searches.exact == len(graphs)
    assert (searches.exact == 0) == (family in NEVER_CLOSE)
    assert (searches.certified == 0) == (family in ALWAYS_CLOSE)


@KINDS
@pytest.mark.parametrize("num_words", [15, 40])
def test_no_tree_drawn_without_replacement_is_missing(kind, num_words):
    graph = 3 * dense_scores(4, num_words)
    verdict = judge_no_tree_is_missing(graph, 300, 5, single_root=is_single_root(kind))
    assert verdict.p_value == 1, verdict.report()


@KINDS
def test_the_best_tree_is_the_first_of_the_best_trees(kind):
    for seed in range(20):
        distribution = kind(dense_scores(seed, 1 + seed))
        np.testing.assert_array_equal(distribution.best_tree(), distribution.best_trees(1).heads[0])


@KINDS
def test_log_prob_of_best_trees_is_what_log_prob_gives(kind):
    distribution = kind(dense_scores(7, 6))
    trees = distribution.best_trees(50)
    np.testing.assert_array_equal(trees.log_prob, distribution.log_prob(trees.heads))


def test_a_word_may_not_hang_on_the_root_twice_even_beside_masks():
    """A penalty for root arcs that is large enough here is absorbed by the mask."""
    scores = np.array([[0, 5, 5, 5], [0, 0, -1e20, -1], [0, -1, 0, -1e20], [0, -1e20, -1, 0.0]])
    assert DependencyTrees(scores).best_tree().tolist() == [-1, 0, 3, 1]
    assert SpanningTrees(scores).best_tree().tolist() == [-1, 0, 0, 0]


# ---- least risk ---------------------------------------------------------------------------------


@KINDS
def test_no_tree_has_more_expected_correct_arcs_than_the_minimum_risk_tree(kind):
    differs = 0
    for seed in range(40):
        scores = sparse_scores(seed, 4, 0.7) if seed % 2 else 1.5 * dense_scores(seed, 4)
        distribution = kind(scores)
        trees = np.array(trees_of(kind, distribution.log_weights))
        risk_tree = distribution.minimum_risk_tree()
        assert risk_tree.tolist() in trees.tolist()
        expected = np.exp(distribution.log_prob(trees)) @ (
            trees[:, np.newaxis, 1:] == trees[:, 1:]
        ).mean(axis=-1)
        score = distribution.expected_attachment_score(trees)
        np.testing.assert_allclose(score, expected, rtol=1e-12)
        assert distribution.expected_attachment_score(risk_tree) == score.max()
        differs += risk_tree.tolist() != distribution.best_tree().tolist()
    assert differs > 3  # else the best tree would do


def test_the_minimum_risk_tree_uses_no_forbidden_arc_although_all_marginals_may_be_tiny():
    """Marginals of 0 are scores like any other, but for arcs that are not there."""
    scores = np.full((4, 4), -1e6)
    scores[0, 1] = scores[1, 2] = scores[2, 3] = 0.0
    scores[0, 3] = -np.inf
    distribution = DependencyTrees(scores)
    assert distribution.minimum_risk_tree().tolist() == [-1, 0, 1, 2]
    assert np.isfinite(distribution.log_prob(distribution.minimum_risk_tree()))


# ---- evidence -----------------------------------------------------------------------------------


@KINDS
def test_evidence_is_the_share_of_the_trees_that_meet_the_condition(kind):
    rng = np.random.default_rng(0)
    for _ in range(30):
        weights = rng.integers(1, 9, (5, 5))
        law = ExactLaw(kind, weights)
        distribution = kind.from_weights(weights)
        arcs = law.arcs()
        include = [arcs[i] for i in rng.choice(len(arcs), 2, replace=False)]
        exclude = [arcs[i] for i in rng.choice(len(arcs), 2, replace=False)]
        exact = law.probability(include, exclude)
        got = distribution.log_evidence(include=include, exclude=exclude)
        assert np.exp(got) == pytest.approx(float(exact), rel=1e-13)
        assert (got == -np.inf) == (exact == 0)


@KINDS
def test_a_condition_by_heads_or_by_allowed_arcs_is_one_by_arcs(kind):
    distribution = kind(dense_scores(3, 5))
    by_arcs = distribution.condition(include=[(3, 2)], exclude=[(1, 4), (0, 5)])
    allowed = np.ones((6, 6), dtype=bool)
    allowed[1, 4] = allowed[0, 5] = False
    by_masks = distribution.condition(heads=[-1, -1, 3, -1, -1, -1], allowed=allowed)
    np.testing.assert_array_equal(by_masks.log_weights, by_arcs.log_weights)


def test_evidence_keeps_its_digits_where_scores_are_large():
    scores = dense_scores(5, 4)
    distribution = DependencyTrees(scores)
    shifted = DependencyTrees(scores + np.float64(2**40))  # rounds the scores to 2^-12
    rounded = DependencyTrees((scores + 2.0**40) - 2.0**40)
    heads = [-1, -1, 1, -1, -1]
    assert shifted.log_evidence(heads=heads) == rounded.log_evidence(heads=heads)
    assert distribution.log_evidence(heads=[-1] * 5) == 0


@pytest.mark.parametrize("large", [1e20, 1e300, 1.7e308])
def test_evidence_of_a_tree_is_its_probability_whatever_the_scores(large):
    """All heads given: what is left is one tree, however large its scores are."""
    rng = np.random.default_rng(1)
    for _ in range(10):
        scores = rng.choice([large, -large, 0.0, 1.0], (4, 4)) + rng.normal(size=(4, 4))
        for kind in (SpanningTrees, DependencyTrees):
            distribution = kind(scores)
            for heads in trees_of(kind, np.where(distribution.log_weights > -np.inf, 0, -np.inf)):
                exact = distribution.log_prob(heads)
                found = distribution.log_evidence(heads=heads)
                assert found == pytest.approx(exact, rel=1e-12, abs=1e-12)


def test_sums_of_fractions_judge():
    """The judge itself: 0.1 + 0.2 is more than 0.3 in float64, and both orders are told apart."""
    scores = np.array([[0, 0.1, 0.3], [0, 0, 0.2], [0, 0, 0]])
    scores[2, 1] = -5
    assert Fraction(0.1) + Fraction(0.2) > Fraction(0.3)
    assert in_order(graph_with_no_loops(scores), single_root=False)[0] == (-1, 0, 0)


def graph_with_no_loops(scores):
    scores = scores.copy()
    scores[:, 0] = -np.inf
    np.fill_diagonal(scores, -np.inf)
    return scores
