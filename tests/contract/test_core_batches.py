"""The one way into the core: however scores are laid out, the answers are the same to the last bit.

Scores come as a checked copy or as they are, padded or ragged, in float32 or float64, in any order
of their numbers in memory.
"""

import threading

import numpy as np
import pytest

from arborand import _core
from tests.kinds import KINDS
from tests.random_graphs import dense_scores

# Enough of one length for four at once, and one alone.
LENGTHS = np.array([7, 3, 7, 1, 7, 12, 7, 2, 7, 5], dtype=np.int32)
SIZE = 14  # more than any graph needs
NUM_TREES = 3
# So many nodes have 2^64 + 8 entries, which are 8 where 64 bits are all there is.
WRAPPED = [2**31 - 1] * 4 + [2**17, 2]


def scores_of_graphs(dtype=np.float64):
    return [dense_scores(seed, n).astype(dtype) for seed, n in enumerate(LENGTHS.tolist())]


def padded(dtype=np.float64, nothing=np.nan):
    array = np.full((len(LENGTHS), SIZE, SIZE), nothing, dtype=dtype)
    for graph, scores in zip(array, scores_of_graphs(dtype), strict=True):
        graph[: len(scores), : len(scores)] = scores
    return array


def ragged(dtype=np.float64):
    return np.concatenate([scores.ravel() for scores in scores_of_graphs(dtype)])


def checked(array, kind):
    batch, found = _core.Batch.check(array, LENGTHS, kind._kind)
    assert found is None
    return batch


def as_they_come(array, kind):
    return _core.Batch(array, LENGTHS, kind._kind)


class Layout:
    """Where the answers of each graph are."""

    def __init__(self, is_ragged):
        self.nodes = LENGTHS + 1
        self.widths = self.nodes if is_ragged else np.full(len(LENGTHS), SIZE)

    def rows(self, array):
        """Split the last axis by graphs, without padding."""
        ends = np.cumsum(self.widths)
        parts = np.split(array, ends[:-1], axis=-1)
        return [part[..., :n] for part, n in zip(parts, self.nodes, strict=True)]

    def matrices(self, array):
        parts = np.split(array, np.cumsum(self.widths**2)[:-1])
        split = []
        for part, width, n in zip(parts, self.widths, self.nodes, strict=True):
            matrix = part.reshape(width, width)
            assert not matrix[n:].any()
            assert not matrix[:, n:].any()
            split.append(matrix[:n, :n])
        return split

    @property
    def num_rows(self):
        return int(self.widths.sum())

    @property
    def num_entries(self):
        return int((self.widths**2).sum())


def answers(batch, *, is_ragged, workers=1):
    """Ask for everything there is, graph by graph."""
    layout, count = Layout(is_ragged), len(LENGTHS)
    found = {}

    def numbers(shape=count):
        return np.full(shape, np.nan)

    parts, shift = numbers((count, 4)), np.zeros(layout.num_rows)
    _core.normalise(batch, workers, parts, shift)
    found["parts"], found["shift"] = list(parts), layout.rows(shift)
    values, marginals = numbers(), numbers(layout.num_entries)
    _core.log_partition(batch, workers, values, marginals)
    found["log_partition"], found["marginals"] = list(values), layout.matrices(marginals)
    alone = numbers(layout.num_entries)
    _core.log_partition(batch, workers, None, alone, one_by_one=True)
    found["marginals alone"] = layout.matrices(alone)
    values, gradient = numbers(), numbers(layout.num_entries)
    _core.entropy(batch, workers, values, gradient)
    found["entropy"], found["entropy_gradient"] = list(values), layout.matrices(gradient)
    _core.entropy(batch, workers, values, None)
    found["entropy alone"] = list(values)
    roots, steps = np.zeros(layout.num_rows), np.zeros(count)
    _core.root_marginals(batch, workers, roots, steps)
    found["root_marginals"], found["steps"] = layout.rows(roots), list(steps)
    _core.renyi_entropy(batch, workers, 2.0, values)
    found["renyi_entropy"] = list(values)
    greedy = np.full(layout.num_rows, -1, dtype=np.int32)
    _core.tree_surprisal(batch, workers, False, greedy, values)
    found["greedy tree"], found["tree_surprisal"] = layout.rows(greedy), list(values)
    _core.mean_hitting_time(batch, workers, values)
    found["mean_hitting_time"] = list(values)
    direction = np.zeros(layout.num_entries)
    for matrix, n in zip(
        np.split(direction, np.cumsum(layout.widths**2)[:-1]), LENGTHS, strict=True
    ):
        width = int(np.sqrt(len(matrix)))
        matrix.reshape(width, width)[: n + 1, : n + 1] = dense_scores(n, int(n))
    for name, arguments in (
        ("arc_covariances", (direction,)),
        ("arc_cumulants", (direction, direction)),
        ("entropy_gradient_tangents", (direction,)),
    ):
        out = np.zeros(layout.num_entries)
        getattr(_core, name)(batch, workers, *arguments, out)
        found[name] = layout.matrices(out)
    heads = np.empty((NUM_TREES, layout.num_rows), dtype=np.int32)
    found["counts"] = [_core.sample(batch, workers, 0, 1, 2, 5, 6, -1, heads)]
    found["sample"] = layout.rows(heads)
    log_prob = numbers((NUM_TREES, count))
    assert _core.log_prob(batch, parts, shift, heads, log_prob) == -1
    found["log_prob"] = list(log_prob.T.copy())
    words = np.empty(NUM_TREES * int(LENGTHS.sum()), dtype=np.uint8)
    _core.sample_with_log_prob(batch, workers, 0, 1, 2, 5, 6, words, log_prob.reshape(-1))
    found["words"], found["log_prob of words"] = [words], [log_prob.copy()]
    best = np.empty(layout.num_rows, dtype=np.int32)
    _core.best_tree(batch, workers, 1.0, best)
    found["best_tree"] = layout.rows(best)
    # Sequences of trees are written graph by graph.
    num_found, numbers_of_trees = np.zeros(count, np.int64), np.zeros((count, NUM_TREES, 3))
    for name in ("best_trees", "sample_distinct"):
        many = np.full(NUM_TREES * layout.num_rows, -1, dtype=np.int32)
        if name == "best_trees":
            _core.best_trees(batch, workers, 1.0, many, num_found)
        else:
            _core.sample_distinct(
                batch, workers, 1, 2, 5, np.full(count, 0.1), -1, many, numbers_of_trees, num_found
            )
        ends = NUM_TREES * np.cumsum(layout.widths)
        found[name] = [
            one.reshape(NUM_TREES, -1)[:k, :n]
            for one, k, n in zip(np.split(many, ends[:-1]), num_found, layout.nodes, strict=True)
        ]
    found["numbers of distinct trees"] = [numbers_of_trees]
    for name, iterator, width in (
        ("best iterator", _core.BestIterator(batch, 5).find, 0),
        ("distinct iterator", _core.DistinctIterator(batch, 5, 1, 2, 5, 0.1, -1).draw, 3),
    ):
        trees = np.empty((NUM_TREES, SIZE), dtype=np.int32)
        found[name] = [iterator(trees, np.zeros((NUM_TREES, width))), trees]
    return found


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, parts in expected.items():
        assert len(found[name]) == len(parts)
        for one, other in zip(found[name], parts, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=name)


@KINDS
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_padded_and_ragged_scores_have_the_same_answers(kind, workers, dtype):
    expected = answers(checked(padded(dtype).astype(np.float64), kind), is_ragged=False)
    for batch, is_ragged in (
        (checked(padded(dtype), kind), False),
        (as_they_come(padded(dtype), kind), False),
        (as_they_come(ragged(dtype), kind), True),
    ):
        assert_same(answers(batch, is_ragged=is_ragged, workers=workers), expected)


@KINDS
def test_scores_are_read_wherever_they_are_in_memory(kind):
    expected = answers(checked(padded(), kind), is_ragged=False)
    turned = np.ascontiguousarray(padded().swapaxes(1, 2)).swapaxes(1, 2)
    apart = np.repeat(np.repeat(padded(), 2, axis=0), 3, axis=2)[::2, :, ::3]
    backwards = np.ascontiguousarray(padded()[::-1, ::-1, ::-1])[::-1, ::-1, ::-1]
    in_axes = padded().reshape(5, 2, SIZE, SIZE)
    for array in (turned, apart, backwards, in_axes):
        lengths = LENGTHS.reshape(array.shape[:-2])
        copy, found = _core.Batch.check(array, lengths, kind._kind)
        assert found is None
        assert_same(answers(copy, is_ragged=False), expected)
        assert_same(answers(as_they_come(array, kind), is_ragged=False), expected)
    every_other = np.repeat(ragged(), 2)[::2]
    assert_same(answers(as_they_come(every_other, kind), is_ragged=True), expected)


@KINDS
def test_some_graphs_of_a_copy_are_those_graphs(kind):
    batch = checked(padded(), kind)
    some = batch.take(np.array([5, 0, 5]))
    np.testing.assert_array_equal(some.log_weights, batch.log_weights[[5, 0, 5]])
    np.testing.assert_array_equal(some.lengths, LENGTHS[[5, 0, 5]])
    for wrong in (-1, len(LENGTHS)):
        with pytest.raises(IndexError):
            batch.take(np.array([wrong]))


@pytest.mark.parametrize(
    "array",
    [np.zeros((2, 3)), np.zeros((1, 1)), np.zeros(9), np.zeros((3, 3), np.int64), [[0.0] * 3] * 3],
    ids=["not square", "no words", "one axis", "integers", "a list"],
)
def test_what_the_core_does_not_read_is_left_to_the_gate(array):
    assert _core.Batch.check(array, None, 0) == (None, None)


def test_arrays_of_other_sizes_are_refused():
    batch = _core.Batch(ragged(), LENGTHS, 0)
    assert len(batch) == len(LENGTHS)
    for make in (
        lambda: _core.Batch(ragged()[:-1], LENGTHS, 0),
        lambda: _core.Batch(np.zeros(8), np.array(WRAPPED) - 1, 0),
        lambda: _core.Batch(padded(), LENGTHS[:-1], 0),
        lambda: _core.entropy(batch, 1, np.empty(3), None),
        lambda: _core.entropy(batch, 1, None, np.empty((len(LENGTHS), SIZE, SIZE))),
        lambda: _core.best_tree(batch, 1, 1.0, np.empty(SIZE * len(LENGTHS), np.int32)),
    ):
        with pytest.raises(ValueError, match="does not have the size that the lengths require"):
            make()
    with pytest.raises(AttributeError, match="log_weights"):
        _ = batch.log_weights


@pytest.mark.parametrize("length", [0, -1, SIZE, 2**40])
def test_impossible_lengths_are_refused(length):
    lengths = LENGTHS.astype(np.int64)
    lengths[3] = length
    with pytest.raises(_core.RefusedScores):
        _core.Batch(padded(), lengths, 0)


# ---- arrays that change


@KINDS
def test_a_checked_copy_does_not_change_with_the_array(kind):
    array, lengths = padded(), LENGTHS.copy()
    batch, _ = _core.Batch.check(array, lengths, kind._kind)
    array[:], lengths[:] = np.nan, 1
    assert_same(answers(batch, is_ragged=False), answers(checked(padded(), kind), is_ragged=False))


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_scores_as_they_come_are_inspected_by_the_call_that_reads_them(wrong):
    array, lengths = padded(), LENGTHS.copy()
    batch = _core.Batch(array, lengths, 1)
    lengths[:] = 2**20  # what was read of the lengths is a copy
    _core.entropy(batch, 1, np.empty(len(LENGTHS)), None)
    array[5, 3, 4] = wrong
    with pytest.raises(_core.RefusedScores):
        _core.entropy(batch, 1, np.empty(len(LENGTHS)), None)
    with pytest.raises(_core.RefusedScores):
        _core.BestIterator(batch, 5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_that_change_while_they_are_read_are_refused_or_sound(dtype):
    # One entry changes many times while a graph is copied, and while the copy is inspected.
    array = dense_scores(1, 100).astype(dtype)
    array[60, 50] = 0.5
    batch = _core.Batch(array, None, 1)
    expected, found = np.empty(1, dtype), np.empty(1, dtype)
    _core.log_partition(batch, 1, expected, None)
    # Long copies into one and the same place, for which NumPy lets go of the lock.
    one_place = np.lib.stride_tricks.as_strided(array[60:, 50:], (10**6,), (0,))
    values = np.tile(np.array([np.nan, 0.5], dtype), 10**6 // 2)
    is_over = threading.Event()

    def change():
        while not is_over.is_set():
            one_place[:] = values

    changer = threading.Thread(target=change)
    changer.start()
    try:
        for _ in range(300):
            try:
                _core.log_partition(batch, 1, found, None)
            except _core.RefusedScores:
                pass
            else:
                assert found == expected
            copy, _ = _core.Batch.check(array, None, 1)
            assert copy is None or copy.log_weights[0, 60, 50] == 0.5
    finally:
        is_over.set()
        changer.join()
