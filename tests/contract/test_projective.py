"""Projective trees keep the promises of the other kinds: the same bits, the same draws, errors."""

from itertools import islice

import numpy as np
import pytest

from arborand import (
    DependencyTrees,
    NoTreeError,
    ProjectiveDependencyTrees,
    ProjectiveSpanningTrees,
    SpanningTrees,
    _core,
    estimators,
    evaluation,
    sampling,
)
from arborand.randomness import stream_key
from arborand.trees import is_projective, num_root_arcs
from tests.kinds import PROJECTIVE_KINDS
from tests.random_graphs import dense_scores, one_tree

# 0 -> 2 and 3 -> 1 are the only way to words 1 and 2, and cross.
ONLY_CROSSING = np.full((4, 4), -np.inf)
ONLY_CROSSING[0, 2] = ONLY_CROSSING[2, 3] = ONLY_CROSSING[3, 1] = 0.0


def everything(distribution, **options):
    """Ask all there is to ask, for comparisons bit by bit."""
    direction = np.random.default_rng(0).normal(size=distribution.log_weights.shape)
    return [
        distribution.log_partition(**options),
        distribution.arc_marginals(**options),
        distribution.root_marginals(**options),
        distribution.entropy(**options),
        distribution.entropy_gradient(**options),
        distribution.renyi_entropy(2.0, **options),
        distribution.arc_covariances(direction, **options),
        distribution.best_tree(**options),
        distribution.best_trees(4, **options).heads,
        distribution.minimum_risk_tree(**options),
        distribution.sample(5, rng=1, **options),
        distribution.sample_without_replacement(5, rng=1, **options).heads,
        distribution.sample_without_replacement(5, rng=1, **options).log_remaining,
    ]


def assert_same_bits(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def batches():
    generator = np.random.default_rng(2)
    ordinary = generator.normal(size=(11, 10, 10))
    peaked = np.stack([one_tree(seed, 9, 30.0) for seed in range(11)])
    sparse = np.where(generator.random(ordinary.shape) < 0.3, -np.inf, ordinary)
    sparse[:, np.arange(9), np.arange(1, 10)] = 0.0
    far = 300 * ordinary
    return {"ordinary": ordinary, "peaked": peaked, "sparse": sparse, "far apart": far}


BATCHES = pytest.mark.parametrize("scores", batches().values(), ids=batches())


# ---- the same bits -------------------------------------------------------------------------------


@PROJECTIVE_KINDS
@BATCHES
def test_a_batch_gives_what_its_graphs_give_alone(kind, scores):
    # Four at once, and, with lengths that differ, one by one.
    for lengths in (np.full(11, 9), np.array([9, 5, 9, 1, 9, 2, 9, 9, 5, 5, 5])):
        batch = kind(scores, lengths=lengths)
        marginals, log_partition = batch.arc_marginals(), batch.log_partition()
        covariances, entropies = batch.arc_covariances(np.ones_like(scores)), batch.entropy()
        gradient = batch.entropy_gradient()
        for graph, length in enumerate(lengths):
            alone = kind(scores[graph, : length + 1, : length + 1])
            inside = (graph, slice(length + 1), slice(length + 1))
            np.testing.assert_array_equal(marginals[inside], alone.arc_marginals())
            np.testing.assert_array_equal(gradient[inside], alone.entropy_gradient())
            ones = np.ones((length + 1, length + 1))
            np.testing.assert_array_equal(covariances[inside], alone.arc_covariances(ones))
            assert log_partition[graph] == alone.log_partition()
            assert entropies[graph] == alone.entropy()
            assert not marginals[graph, length + 1 :].any()


@PROJECTIVE_KINDS
@BATCHES
def test_workers_and_instruction_sets_change_nothing(kind, scores):
    d = kind(scores)
    expected = everything(d)
    assert_same_bits(everything(d, workers=3), expected)
    best = _core.instruction_set()
    try:
        _core.use_instruction_set("baseline")
        assert_same_bits(everything(kind(scores)), expected)
    finally:
        _core.use_instruction_set(best)


# ---- draws ---------------------------------------------------------------------------------------


@PROJECTIVE_KINDS
@BATCHES
def test_a_draw_does_not_depend_on_others(kind, scores):
    d = kind(scores)
    many = d.sample(30, rng=7)
    np.testing.assert_array_equal(many[:4], d.sample(4, rng=7))
    np.testing.assert_array_equal(many[11], d.sample(rng=7, first_draw=11))
    np.testing.assert_array_equal(many[:, 3:5], d[3:5].sample(30, rng=7, first_graph=3))
    distinct = d.sample_without_replacement(12, rng=7)
    np.testing.assert_array_equal(distinct.heads[:3], d.sample_without_replacement(3, rng=7).heads)
    lazy = [draw.heads for draw in islice(d.iterate_without_replacement(rng=7), 5)]
    np.testing.assert_array_equal(distinct.heads[:5], lazy)
    best = d.best_trees(6)
    np.testing.assert_array_equal(best.heads[:2], d.best_trees(2).heads)
    np.testing.assert_array_equal(best.heads[0], d.best_tree())


@PROJECTIVE_KINDS
def test_draws_are_projective_and_have_their_log_probabilities(kind):
    d = kind(dense_scores(1, 30))
    heads, log_prob = d.sample_and_log_prob((2, 50), rng=0)
    assert heads.shape == (2, 50, 31)
    assert is_projective(heads).all()
    np.testing.assert_array_equal(log_prob, d.log_prob(heads))
    if kind is ProjectiveDependencyTrees:
        assert (num_root_arcs(heads) == 1).all()


@PROJECTIVE_KINDS
def test_ordinary_graphs_stay_in_double_also_where_arcs_are_missing(kind):
    # Making weights from -inf raises the flags of the processor; they must not count.
    scores = dense_scores(3, 12)
    scores[2:5, 7:] = -np.inf
    _, counts = sampling.sample(kind(scores)._graphs, 10, key=stream_key(0))
    assert (counts.ancestral, counts.beyond_double) == (10, 0)


def test_trees_that_deviate_from_the_likeliest_are_projective_too():
    # A chain, from which every tree deviates here and there.
    scores = dense_scores(0, 12)
    scores[np.arange(12), np.arange(1, 13)] += 5.0
    heads = ProjectiveDependencyTrees(scores).sample(300, rng=0)
    assert is_projective(heads).all()
    assert len(np.unique(heads, axis=0)) > 20


# ---- what is not there ---------------------------------------------------------------------------


@PROJECTIVE_KINDS
def test_what_belongs_to_walks_is_absent(kind):
    d = kind(np.zeros((3, 3)))
    for name in ("mean_hitting_time", "expected_walk_steps", "joint_marginals"):
        assert not hasattr(d, name)
    for draw in (d.sample, d.sample_and_log_prob, d.iterate_without_replacement):
        with pytest.raises(TypeError, match="method"):
            draw(method="wilson")
    with pytest.raises(TypeError, match="method"):
        estimators.expectation(d, num_root_arcs, 3, method="wilson")


# ---- errors --------------------------------------------------------------------------------------


def test_a_graph_whose_trees_all_cross_is_refused():
    SpanningTrees(ONLY_CROSSING)
    DependencyTrees(ONLY_CROSSING)
    with pytest.raises(NoTreeError) as caught:
        ProjectiveSpanningTrees(ONLY_CROSSING)
    assert str(caught.value) == (
        "log_weights has no projective spanning tree: every tree over its arcs has crossing arcs; "
        "add arcs, or allow crossing arcs (SpanningTrees)"
    )
    assert caught.value.unreachable == ()
    batch = np.stack([np.zeros((4, 4)), ONLY_CROSSING])
    with pytest.raises(NoTreeError, match=r"in batch item \[1\] has no projective dependency tree"):
        ProjectiveDependencyTrees(batch)
    with pytest.raises(NoTreeError, match=r"allow crossing arcs \(DependencyTrees\)"):
        ProjectiveDependencyTrees.from_weights(np.exp(ONLY_CROSSING))


def test_other_graphs_without_trees_are_refused_as_for_the_other_kinds():
    scores = np.zeros((3, 3))
    scores[:, 2] = -np.inf
    with pytest.raises(NoTreeError, match="cannot reach node 2") as caught:
        ProjectiveSpanningTrees(scores)
    assert caught.value.unreachable == (2,)
    only_roots = np.full((3, 3), -np.inf)
    only_roots[0, 1:] = 0.0
    with pytest.raises(NoTreeError, match=r"from the root \(ProjectiveSpanningTrees\)"):
        ProjectiveDependencyTrees(only_roots)


def test_conditions_that_force_arcs_to_cross_are_explained():
    d = ProjectiveDependencyTrees(np.zeros((5, 5)))
    with pytest.raises(NoTreeError) as caught:
        d.condition(include=[(3, 1), (4, 2)])
    assert str(caught.value) == (
        "no tree is left: include has the crossing arcs 3 -> 1 and 4 -> 2; a projective tree has "
        "none"
    )
    assert caught.value.unreachable == (1, 2, 3, 4)
    assert d.log_evidence(include=[(3, 1), (4, 2)]) == -np.inf
    assert d.joint_probability([(3, 1), (4, 2)]) == 0
    allowed = np.ones((5, 5), dtype=bool)
    allowed[[0, 1, 3, 4], 1] = allowed[[0, 1, 2, 4], 2] = False  # 1 below 2 below 3
    allowed[[1, 2, 3, 4], 3] = False  # below the root
    allowed[[0, 2, 3, 4], 4] = False  # 4 below 1: across 0 -> 3
    with pytest.raises(NoTreeError, match="every tree over the remaining arcs has crossing"):
        d.condition(allowed=allowed)


# ---- evaluation ----------------------------------------------------------------------------------


def test_gold_with_crossing_arcs_is_not_of_the_kind():
    d = ProjectiveDependencyTrees(np.zeros((2, 4, 4)))
    found = evaluation.evaluate(d, [[-1, 3, 0, 2], [-1, 2, 0, 2]])
    assert found.is_tree.tolist() == [False, True]
    assert np.isnan(found.log_prob[0])
    assert found.log_prob[1] == pytest.approx(-np.log(7))
    partial = evaluation.evaluate(d, [[-1, 3, 0, -1], [-1, 2, -1, -1]])
    assert partial.is_tree.tolist() == [False, True]
