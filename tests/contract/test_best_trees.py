"""Best trees and conditions: shapes, batches, workers, errors in the user's words, Ctrl-C."""

import pickle
from dataclasses import FrozenInstanceError
from itertools import islice

import numpy as np
import pytest

from arborand import (
    BestTree,
    BestTrees,
    DependencyTrees,
    InvalidTreeError,
    NoTreeError,
    SpanningTrees,
    SupportExhaustedError,
    _core,
)
from arborand.trees import is_tree
from tests.contract.test_sampling import padded_batch
from tests.kinds import KINDS, is_single_root
from tests.processes import interrupt
from tests.random_graphs import dense_scores

# ---- shapes and batches -------------------------------------------------------------------------


@KINDS
def test_a_single_graph_has_no_batch_axis(kind):
    distribution = kind(dense_scores(0, 3))
    assert distribution.best_tree().shape == (4,)
    trees = distribution.best_trees(2)
    assert (trees.heads.shape, trees.log_prob.shape) == ((2, 4), (2,))
    assert (trees.num_found, trees.exhausted, len(trees)) == (2, False, 2)
    first = next(iter(distribution.iterate_best_trees()))
    assert isinstance(first, BestTree)
    assert (first.heads.shape, np.shape(first.log_prob)) == ((4,), ())
    assert trees.heads.dtype == distribution.best_tree().dtype == np.int32
    assert distribution.minimum_risk_tree().dtype == np.int32


@KINDS
def test_a_batch_gives_what_each_graph_gives_alone(kind):
    batch = padded_batch(kind, (2, 3), 4)
    trees = batch.best_trees(20)
    assert trees.heads.shape == (len(trees), 2, 3, 5)
    assert len(trees) == trees.num_found.max()
    for index in np.ndindex(2, 3):
        alone = batch[index].best_trees(20)
        found = len(alone)
        assert trees.num_found[index] == found
        assert trees.exhausted[index] == alone.exhausted == (found < 20)
        np.testing.assert_array_equal(trees.heads[(slice(found), *index)], alone.heads)
        np.testing.assert_array_equal(trees.log_prob[(slice(found), *index)], alone.log_prob)
        assert (trees.heads[(slice(found, None), *index)] == -1).all()
        assert (trees.log_prob[(slice(found, None), *index)] == -np.inf).all()
        for name in ("best_tree", "minimum_risk_tree"):
            together, single = getattr(batch, name)()[index], getattr(batch[index], name)()
            np.testing.assert_array_equal(together, single)


@KINDS
def test_iterating_a_batch_continues_to_the_last_tree_of_any(kind):
    batch = padded_batch(kind, (3,), 4)
    listed = batch.best_trees(1000)
    steps = list(batch.iterate_best_trees())
    np.testing.assert_array_equal(np.stack([step.heads for step in steps]), listed.heads)
    np.testing.assert_array_equal(np.stack([step.log_prob for step in steps]), listed.log_prob)


def test_iterating_is_lazy():
    distribution = DependencyTrees(dense_scores(1, 60))
    first = list(islice(distribution.iterate_best_trees(), 5))
    np.testing.assert_array_equal(
        np.stack([tree.heads for tree in first]), distribution.best_trees(5).heads
    )


@KINDS
def test_no_graphs_and_no_trees(kind):
    empty = kind(np.zeros((0, 4, 4)))
    assert empty.best_tree().shape == (0, 4)
    assert empty.best_trees(3).heads.shape == (0, 0, 4)
    assert list(empty.iterate_best_trees()) == []
    assert empty.log_evidence(heads=np.zeros((0, 4), dtype=int)).shape == (0,)
    none = kind(dense_scores(0, 3)).best_trees(0)
    assert none.heads.shape == (0, 4)
    assert not none.exhausted


@KINDS
def test_one_word_has_one_tree(kind):
    for score in (0.0, 1e308, -1e308, 5e-324):
        trees = kind([[0, score], [0, 0]]).best_trees(2)
        assert trees.heads.tolist() == [[-1, 0]]
        assert trees.log_prob.tolist() == [0]
        assert trees.exhausted


@KINDS
def test_workers_and_instruction_sets_change_nothing(kind):
    batch = padded_batch(kind, (40,), 12)
    best = _core.instruction_set()
    expected = batch.best_trees(9)
    np.testing.assert_array_equal(batch.best_trees(9, workers=3).heads, expected.heads)
    np.testing.assert_array_equal(batch.best_tree(workers=3), expected.heads[0])
    try:
        _core.use_instruction_set("baseline")
        np.testing.assert_array_equal(batch.best_trees(9).heads, expected.heads)
        np.testing.assert_array_equal(batch.best_tree(), expected.heads[0])
    finally:
        _core.use_instruction_set(best)


@KINDS
def test_padding_is_never_looked_at(kind):
    """Blocks of columns that are read at once end in the padding, or behind the last row."""
    for num_words in range(1, 20):
        scores = dense_scores(num_words, num_words)
        padded = np.full((num_words + 4, num_words + 4), 1e300)
        padded[: num_words + 1, : num_words + 1] = scores
        alone = kind(scores).best_trees(5).heads
        together = kind(padded, lengths=num_words).best_trees(5).heads
        np.testing.assert_array_equal(together[:, : num_words + 1], alone)


@KINDS
def test_a_large_graph_of_equal_scores_has_a_best_tree(kind):
    heads = kind(np.zeros((151, 151))).best_tree()
    assert is_tree(heads, single_root=is_single_root(kind))
    expected = [-1, 0, *[1] * 149] if is_single_root(kind) else [-1] + [0] * 150
    assert heads.tolist() == expected


def test_results_are_frozen_and_pickled():
    trees = SpanningTrees(dense_scores(0, 3)).best_trees(2)
    again = pickle.loads(pickle.dumps(trees))
    assert isinstance(again, BestTrees)
    np.testing.assert_array_equal(again.heads, trees.heads)
    with pytest.raises(FrozenInstanceError):
        trees.heads = None


# ---- arguments ----------------------------------------------------------------------------------


@KINDS
def test_bad_arguments_are_named(kind):
    distribution = kind(dense_scores(0, 2))
    with pytest.raises(ValueError, match="k is -1: it must be at least 0"):
        distribution.best_trees(-1)
    with pytest.raises(TypeError, match="k must be an integer"):
        distribution.best_trees(1.5)
    with pytest.raises(ValueError, match="workers is 0"):
        distribution.best_tree(workers=0)
    with pytest.raises(ValueError, match="on_exhausted is 'stop': use 'return' or 'raise'"):
        distribution.best_trees(1, on_exhausted="stop")
    with pytest.raises(InvalidTreeError, match="cycle"):
        distribution.expected_attachment_score([-1, 2, 1])


def test_fewer_trees_than_asked_for_raise_if_wanted():
    batch = DependencyTrees(np.zeros((2, 4, 4)), lengths=[3, 2])
    with pytest.raises(SupportExhaustedError, match=r"batch item \[1\] has only 2 trees") as error:
        batch.best_trees(5, on_exhausted="raise")
    assert error.value.num_trees == 2


# ---- conditions ---------------------------------------------------------------------------------

FOUR = dense_scores(2, 4)
CONTRADICTIONS = [
    ({"include": [(1, 2), (2, 1)]}, "include has the cycle 1 -> 2 -> 1", (1, 2)),
    ({"include": [(1, 2), (3, 2)]}, "word 2 has two heads, 1 and 3, in include", (2,)),
    (
        {"include": [(1, 2)], "heads": [-1, -1, 3, -1, -1]},
        "word 2 has two heads, 1 and 3, in include and heads",
        (2,),
    ),
    (
        {"include": [(1, 2)], "heads": [-1, 2, -1, -1, -1]},
        "include and heads have the cycle 1 -> 2 -> 1",
        (1, 2),
    ),
    ({"heads": [-1, 2, 3, 1, -1]}, "heads has the cycle 1 -> 3 -> 2 -> 1", (1, 2, 3)),
    ({"include": [(1, 2)], "exclude": [(1, 2)]}, "the arc 1 -> 2, but exclude forbids it", (1, 2)),
    (
        {"exclude": [(0, 3), (1, 3), (2, 3), (4, 3)]},
        "word 3 is left without a head",
        (3,),
    ),
    ({"allowed": np.eye(5, dtype=bool)}, "words 1, 2, 3, 4 are left without a head", (1, 2, 3, 4)),
    (
        {"include": [(0, 1)], "allowed": np.eye(5, dtype=bool)},
        "the arc 0 -> 1, but allowed forbids it",
        (1,),
    ),
    (
        {
            "allowed": np.array([[0, 1, 1, 0, 0], *[[0, 1, 1, 0, 0]] * 2, *[[0, 0, 0, 1, 1]] * 2])
            > 0
        },
        "the root cannot reach words 3, 4 over the remaining arcs",
        (3, 4),
    ),
]


@KINDS
@pytest.mark.parametrize(("condition", "reason", "words"), CONTRADICTIONS)
def test_a_contradiction_is_told_in_the_words_of_the_caller(kind, condition, reason, words):
    distribution = kind(FOUR)
    with pytest.raises(NoTreeError) as error:
        distribution.condition(**condition)
    assert str(error.value).endswith(reason)
    assert str(error.value).startswith("no tree is left: ")
    assert sorted(error.value.unreachable) == sorted(words)
    assert distribution.log_evidence(**condition) == -np.inf


def test_two_root_arcs_contradict_dependency_trees_only():
    condition = {"include": [(0, 1), (0, 2)]}
    with pytest.raises(NoTreeError, match="include has two root arcs, 0 -> 1 and 0 -> 2"):
        DependencyTrees(FOUR).condition(**condition)
    SpanningTrees(FOUR).condition(**condition)
    one_way = np.ones((5, 5), dtype=bool)
    one_way[1:, 1:3] = False
    with pytest.raises(NoTreeError, match="no single word with an arc from the root reaches all"):
        DependencyTrees(FOUR).condition(allowed=one_way)


def test_a_forbidden_arc_cannot_be_asked_for():
    scores = FOUR.copy()
    scores[1, 2] = -np.inf
    with pytest.raises(NoTreeError, match="the arc 1 -> 2, which the graph does not have"):
        SpanningTrees(scores).condition(include=[(1, 2)])


@KINDS
def test_conditions_of_a_batch_name_the_item(kind):
    batch = kind(np.stack([FOUR, FOUR + 1, FOUR]).reshape(3, 1, 5, 5), lengths=[[4], [4], [3]])
    heads = np.full((3, 1, 5), -1)
    heads[1, 0, 1:3] = [2, 1]
    with pytest.raises(NoTreeError, match=r"in batch item \[1, 0\]: heads has the cycle") as error:
        batch.condition(heads=heads)
    assert error.value.batch_index == (1, 0)
    assert (batch.log_evidence(heads=heads) == -np.inf).tolist() == [[False], [True], [False]]
    heads[1, 0, 2] = 3
    given = batch.condition(heads=heads)
    assert given.batch_shape == (3, 1)
    for item in range(3):
        alone = batch[item, 0].condition(heads=heads[item, 0])
        np.testing.assert_array_equal(given[item, 0].log_weights, alone.log_weights)
        evidence = batch[item, 0].log_evidence(heads=heads[item, 0])
        assert batch.log_evidence(heads=heads, workers=2)[item, 0] == evidence


def test_arguments_of_conditions_are_checked():
    batch, one = SpanningTrees(np.zeros((2, 4, 4)), lengths=[3, 2]), SpanningTrees(FOUR)
    with pytest.raises(
        TypeError, match="include takes arcs of a single graph, but this is a batch"
    ):
        batch.condition(include=[(0, 1)])
    with pytest.raises(TypeError, match="heads must be integers"):
        one.condition(heads=[-1.0, 0, 0, 0, 0])
    with pytest.raises(InvalidTreeError, match=r"heads has shape \(2,\): expected \(5,\)"):
        one.condition(heads=[-1, 0])
    with pytest.raises(
        InvalidTreeError, match=r"expected \(5,\), .*, and -1 for the root in front"
    ):
        one.condition(heads=[0, 1, -1, 1])
    with pytest.raises(InvalidTreeError, match=r"^heads holds trees of different lengths: pad"):
        batch.condition(heads=[[-1, 0, 1, 1], [-1, 0]])
    with pytest.raises(InvalidTreeError, match=r"heads\[0\] is 0: the entry of the root"):
        one.condition(heads=[0, -1, -1, -1, -1])
    with pytest.raises(InvalidTreeError, match=r"heads\[1, 3\] is 0: the entry of a padding node"):
        batch.condition(heads=[[-1, -1, -1, -1], [-1, -1, -1, 0]])
    with pytest.raises(InvalidTreeError, match=r"heads\[1, 2\] is 3: the head of node 2 must be"):
        batch.condition(heads=[[-1, -1, -1, -1], [-1, -1, 3, -1]])
    with pytest.raises(InvalidTreeError, match=r"heads\[2\] is 2"):
        one.condition(heads=[-1, -1, 2, -1, -1])
    with pytest.raises(TypeError, match=r"allowed must be an array of bool.* pass allowed != 0"):
        one.condition(allowed=np.ones((5, 5)))
    with pytest.raises(
        TypeError, match=r"allowed cannot be read .*: all rows must have the same length"
    ):
        one.condition(allowed=[[True], [True, False]])
    for name in ("include", "exclude"):
        with pytest.raises(TypeError, match=rf"^{name} must be a list of .* not None; use \[\]"):
            one.log_evidence(**{name: None})
    with pytest.raises(ValueError, match=r"allowed has shape \(4, 4\): expected \(5, 5\)"):
        one.condition(allowed=np.ones((4, 4), dtype=bool))


def test_the_arguments_are_not_modified():
    heads, allowed = np.array([-1, 0, -1, -1, -1]), np.ones((5, 5), dtype=bool)
    SpanningTrees(FOUR).condition(heads=heads, allowed=allowed)
    assert heads.tolist() == [-1, 0, -1, -1, -1]
    assert allowed.all()


# ---- Ctrl-C -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        "d.best_trees(12 * 10**6)",
        "DependencyTrees(np.zeros((4000, 4000))).best_tree()",
        "[tree for tree in d.iterate_best_trees()]",
    ],
)
def test_ctrl_c_interrupts(call):
    setup = """
        import numpy as np
        from arborand import DependencyTrees
        d = DependencyTrees(np.random.default_rng(0).normal(size=(41, 41)))
    """
    assert interrupt(setup, call)
