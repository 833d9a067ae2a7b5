"""Heads given to log_prob: which of them are trees, in what types, and what reading them costs."""

import itertools
import tracemalloc

import numpy as np
import pytest

from arborand import DependencyTrees, InvalidTreeError, SpanningTrees, _core, inference
from arborand.trees import is_tree
from tests.kinds import KINDS, is_single_root
from tests.random_graphs import dense_scores


@KINDS
@pytest.mark.parametrize("num_words", [1, 2, 3])
def test_every_array_of_small_numbers(kind, num_words):
    distribution = kind(dense_scores(0, num_words))
    entries = range(-2, num_words + 2)
    for heads in itertools.product(entries, repeat=num_words + 1):
        if is_tree(heads):
            in_support = not is_single_root(kind) or heads.count(0) == 1
            assert np.isfinite(distribution.log_prob(heads)) == in_support
        else:
            with pytest.raises(InvalidTreeError, match=r"^heads"):
                distribution.log_prob(heads)


@KINDS
@pytest.mark.parametrize("num_words", [5, 16, 17, 64, 65, 257])
def test_random_arrays_of_heads(kind, num_words):
    generator = np.random.default_rng(num_words)
    distribution = kind(dense_scores(0, num_words))
    heads = generator.integers(0, np.arange(1, num_words + 1), (200, num_words))
    loose = generator.random(heads.shape) < 3 / num_words
    heads[loose] = generator.integers(0, num_words + 1, loose.sum())
    heads = np.concatenate([np.full((200, 1), -1), heads], axis=1).astype(np.int32)
    expected = is_tree(heads)
    assert {True, False} == set(expected.tolist())
    answer = distribution.log_prob(heads[expected])
    roots = (heads[expected] == 0).sum(-1)
    assert (np.isfinite(answer) == ((roots == 1) | (not is_single_root(kind)))).all()
    for tree in heads[~expected]:
        with pytest.raises(InvalidTreeError):
            distribution.log_prob(tree)


@KINDS
@pytest.mark.parametrize("num_words", [1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 300])
def test_chains_are_trees_and_rings_are_not(kind, num_words):
    distribution = kind(np.zeros((num_words + 1, num_words + 1)))
    up, down = [-1, *range(num_words)], [-1, *range(2, num_words + 1), 0]
    assert np.isfinite(distribution.log_prob([up, down])).all()
    if num_words > 1:
        ring = [-1, num_words, *range(1, num_words)]
        with pytest.raises(InvalidTreeError, match="cycle"):
            distribution.log_prob(ring)


@KINDS
def test_the_first_that_is_not_a_tree_is_named(kind):
    batch = kind(np.zeros((2, 4, 4)), lengths=[3, 2])
    heads = batch.sample(3000, rng=0).reshape(3, 1000, 2, 4)
    heads[2, 100, 1, 2] = 3
    heads[1, 500, 0] = [-1, 2, 1, 0]
    heads[1, 500, 1, 0] = 7
    with pytest.raises(InvalidTreeError, match=r"heads\[1, 500, 0\] is not a tree: .* 1 -> 2 -> 1"):
        batch.log_prob(heads)
    heads[1, 500] = heads[0, 0]
    with pytest.raises(InvalidTreeError, match=r"heads\[2, 100, 1, 2\] is 3: .* must be 0 .* to 2"):
        batch.log_prob(heads.astype(np.int64))
    heads[2, 100] = heads[0, 0]
    heads[2, 999, 1, 3] = 0
    with pytest.raises(InvalidTreeError, match=r"heads\[2, 999, 1, 3\] is 0: .* padding node"):
        batch.log_prob(heads)


INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint64, ">i4", ">i8"]


@KINDS
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_any_integers_in_any_order_are_read_alike(kind, dtype):
    distribution = kind(dense_scores(0, 6))
    heads = distribution.sample(30_000, rng=0)
    expected = distribution.log_prob(heads)
    np.testing.assert_array_equal(distribution.log_prob(heads.astype(dtype)), expected)
    np.testing.assert_array_equal(
        distribution.log_prob(np.asfortranarray(heads.astype(dtype))), expected
    )
    np.testing.assert_array_equal(distribution.log_prob(heads.astype(dtype)[::-3]), expected[::-3])


@pytest.mark.parametrize("wrong", [2**31, 2**32, 2**32 + 1, -(2**32), 2**63 - 1])
def test_heads_beyond_the_integers_of_the_core_do_not_wrap(wrong):
    distribution = SpanningTrees(np.zeros((3, 3)))
    with pytest.raises(InvalidTreeError, match=rf"heads\[1, 1\] is {wrong}: .* must be 0"):
        distribution.log_prob([[-1, 0, 1], [-1, wrong, 0]])


@KINDS
def test_heads_are_the_callers(kind):
    distribution = kind(dense_scores(0, 4))
    heads = distribution.sample(10, rng=0)
    before = heads.copy()
    heads.flags.writeable = False
    distribution.log_prob(heads)
    np.testing.assert_array_equal(heads, before)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_many_trees_need_no_memory_but_for_the_answer(dtype):
    distribution = DependencyTrees(dense_scores(0, 10))
    heads = distribution.sample(100_000, rng=0).astype(dtype)
    distribution.log_prob(heads[:1])
    tracemalloc.start()
    try:
        answer = distribution.log_prob(heads)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # A block of 65,536 heads at a time, of whatever size: not 1,100,000.
    assert most < answer.nbytes + 3 * 65_536 * 8


def test_nothing_beyond_the_trees_that_were_given_is_read_or_written():
    # The core takes 1024 trees at a time.
    trees = DependencyTrees(dense_scores(0, 4))
    normaliser = inference.normalise(trees._graphs)
    room = trees.sample((4000, 1), rng=0)
    answer = np.full((4000, 1), 7.0)
    first_bad = _core.log_prob(trees._graphs.batch, *normaliser, room[:1500], answer[:1500])
    assert first_bad == -1
    assert (answer[:1500] < 0).all()
    assert (answer[1500:] == 7.0).all()
