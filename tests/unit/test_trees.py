"""Arrays of heads: small fixed cases, and the vectorised functions against a loop."""

import itertools

import numpy as np
import pytest

from arborand import InvalidTreeError
from arborand.enumeration import count_trees, spanning_trees
from arborand.trees import (
    arcs,
    attachment_score,
    check_trees,
    depth,
    from_conll,
    from_parents,
    is_projective,
    is_tree,
    log_weight,
    num_root_arcs,
    to_conll,
    to_parents,
)

TREES = {
    "one word": [-1, 0],
    "chain": [-1, 0, 1, 2],
    "chain upwards": [-1, 2, 3, 0],
    "star": [-1, 2, 0, 2],
    "two roots": [-1, 0, 0, 2],
    "long chain": [-1, *range(1000)],
    "long chain upwards": [-1, *range(2, 1001), 0],
}

NO_TREES = {
    "cycle of two": ([-1, 2, 1, 0], "heads is not a tree: it has the cycle 1 -> 2 -> 1;"),
    "cycle of three": ([-1, 3, 1, 2], "the cycle 1 -> 3 -> 2 -> 1;"),
    "path into a cycle": ([-1, 2, 3, 2, 0], "the cycle 2 -> 3 -> 2;"),
    "cycle beside a tree": ([-1, 0, 1, 4, 3], "the cycle 3 -> 4 -> 3; .* lead to the root"),
    "own head": ([-1, 0, 2], r"heads\[2\] is 2: node 2 cannot be its own head"),
    "head beyond the last": ([-1, 0, 3], r"heads\[2\] is 3: the head of node 2 must be 0 .* to 2"),
    "negative head": ([-1, 0, -2], r"heads\[2\] is -2: the head of node 2"),
    "no head": ([-1, 0, -1], r"heads\[2\] is -1: the head of node 2"),
    "root with a head": (
        [0, 0, 1],
        r"heads\[0\] is 0: the entry of the root \(node 0\) must be -1",
    ),
    "root under a word": ([2, 0, 1], r"heads\[0\] is 2: the entry of the root"),
}
ON_TREES = pytest.mark.parametrize("heads", TREES.values(), ids=TREES.keys())
ON_NO_TREES = pytest.mark.parametrize(("heads", "message"), NO_TREES.values(), ids=NO_TREES.keys())


def leads_to_root(heads, word):
    """Follow the heads, one by one."""
    for _ in heads:
        if word == 0:
            return True
        if not 0 <= heads[word] < len(heads):
            return False
        word = heads[word]
    return False


def is_tree_by_loop(heads, single_root):
    words = range(1, len(heads))
    return (
        heads[0] == -1
        and all(leads_to_root(heads, word) for word in words)
        and (not single_root or list(heads).count(0) == 1)
    )


# ---- is_tree ------------------------------------------------------------------------------------


@ON_TREES
def test_trees_are_trees(heads):
    assert is_tree(heads)
    assert is_tree(heads, single_root=True) == (heads.count(0) == 1)
    assert check_trees(heads).tolist() == heads


@ON_NO_TREES
def test_what_is_not_a_tree_is_named(heads, message):
    assert not is_tree(heads)
    assert not is_tree(heads, single_root=True)
    with pytest.raises(InvalidTreeError, match=message):
        check_trees(heads)


@pytest.mark.parametrize("num_words", [1, 2, 3])
@pytest.mark.parametrize("single_root", [False, True])
def test_every_array_of_small_numbers(num_words, single_root):
    entries = range(-2, num_words + 2)
    everything = np.array(list(itertools.product(entries, repeat=num_words + 1)))
    found = is_tree(everything, single_root=single_root)
    expected = [is_tree_by_loop(heads, single_root) for heads in everything.tolist()]
    np.testing.assert_array_equal(found, expected)
    complete = np.ones((num_words + 1, num_words + 1), dtype=bool)
    assert found.sum() == count_trees(complete, single_root=single_root)


@pytest.mark.parametrize("num_words", [5, 16, 17, 100])
def test_random_arrays_of_heads(num_words):
    generator = np.random.default_rng(num_words)
    # Mostly heads of lower number: trees but for about three of the heads.
    heads = generator.integers(0, np.arange(1, num_words + 1), (200, num_words))
    loose = generator.random(heads.shape) < 3 / num_words
    heads[loose] = generator.integers(0, num_words + 1, loose.sum())
    heads = np.concatenate([np.full((200, 1), -1), heads], axis=1)
    found = is_tree(heads)
    assert {True, False} == set(found.tolist())
    expected = [is_tree_by_loop(row, single_root=False) for row in heads.tolist()]
    np.testing.assert_array_equal(found, expected)


def test_shapes_and_types():
    assert type(is_tree([-1, 0])) is np.bool_
    many = np.full((2, 3, 4), [-1, 0, 1, 1])
    assert is_tree(many).shape == (2, 3)
    assert num_root_arcs(many).tolist() == [[1] * 3] * 2
    assert is_tree(many.astype(np.int8)).all()
    assert is_tree(many[:0]).shape == (0, 3)
    # As unsigned integers, the root's -1 is the largest number there is.
    assert is_tree(many.astype(np.uint64)).all()


@pytest.mark.parametrize("function", [is_tree, num_root_arcs, arcs, check_trees])
@pytest.mark.parametrize(
    ("heads", "error", "message"),
    [
        ([-1.0, 0.0], TypeError, "heads must be integers, but their dtype is float64"),
        ([True, False], TypeError, "dtype is bool"),
        (["-1", "0"], TypeError, "dtype is <U2"),
        ([None, 0], TypeError, "dtype is object"),
        (0, InvalidTreeError, r"heads has shape \(\): expected \(\.\.\., n \+ 1\)"),
        ([-1], InvalidTreeError, r"shape \(1,\): .* at least one word"),
        (np.zeros((3, 0), int), InvalidTreeError, r"shape \(3, 0\)"),
    ],
)
def test_what_is_not_an_array_of_heads(function, heads, error, message):
    with pytest.raises(error, match=message):
        function(heads)


# ---- padding ------------------------------------------------------------------------------------


def test_padding_is_part_of_a_tree():
    heads = np.array([[-1, 0, 1, 1], [-1, 2, 0, -1], [-1, 0, -1, -1]])
    lengths = [3, 2, 1]
    assert is_tree(heads, lengths=lengths).tolist() == [True, True, True]
    assert is_tree(heads).tolist() == [True, False, False]
    draws = np.stack([heads, heads])
    assert is_tree(draws, lengths=lengths).all()
    np.testing.assert_array_equal(check_trees(draws, lengths), draws)
    assert is_tree([-1, 0, -1], lengths=1)


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([-1, 0, 0], r"heads\[2\] is 0: the entry of a padding node must be -1 .* has 1 words"),
        ([-1, 2, -1], r"heads\[1\] is 2: the head of node 1 must be 0 \(the root\) to 1"),
    ],
)
def test_padding_must_be_empty_and_is_nobodys_head(heads, message):
    assert not is_tree(heads, lengths=1)
    with pytest.raises(InvalidTreeError, match=message):
        check_trees(heads, lengths=1)


def test_errors_name_the_tree_of_a_batch():
    heads = np.full((2, 3, 4), [-1, 0, 1, 1])
    heads[1, 2] = [-1, 2, 1, 0]
    with pytest.raises(InvalidTreeError, match=r"heads\[1, 2\] is not a tree: .* 1 -> 2 -> 1"):
        check_trees(heads)
    heads[1, 0, 3] = 3
    with pytest.raises(InvalidTreeError, match=r"heads\[1, 0, 3\] is 3: node 3 cannot be its own"):
        check_trees(heads)


def test_heads_are_not_modified():
    heads = np.array([-1, 2, 0], dtype=np.int32)
    checked = check_trees(heads)
    checked[:] = 7
    assert heads.tolist() == [-1, 2, 0]


# ---- what trees are made of ---------------------------------------------------------------------


@ON_TREES
def test_arcs_and_root_arcs(heads):
    listed = arcs(heads)
    assert listed.dtype == np.int32
    assert listed.tolist() == [[head, word] for word, head in enumerate(heads) if word]
    assert num_root_arcs(heads) == heads.count(0)


def test_arcs_leave_padding_out():
    assert arcs([-1, 2, 0, -1]).tolist() == [[2, 1], [0, 2]]


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([2, 0, 2], r"heads\[0\] is 2: the entry of the root"),  # as in CoNLL-U files
        ([-1, 2, 1, 0], "it has the cycle 1 -> 2 -> 1"),
    ],
)
def test_what_is_not_a_tree_has_no_arcs(heads, message):
    with pytest.raises(InvalidTreeError, match=message):
        arcs(heads)


def test_arcs_are_those_of_one_tree():
    with pytest.raises(InvalidTreeError, match=r"shape \(2, 2\): arcs takes one tree"):
        arcs([[-1, 0], [-1, 0]])


def test_log_weight_adds_up_the_arcs():
    generator = np.random.default_rng(0)
    log_weights = generator.integers(-9, 9, (5, 5)).astype(float)  # sums of integers are exact
    log_weights[:, 0] = np.nan
    np.fill_diagonal(log_weights, np.nan)
    log_weights[3, 4] = -np.inf
    trees = np.array([[-1, 0, 1, 2, 2], [-1, 2, 0, 2, 3], [-1, 0, 0, 0, 0]])
    expected = [sum(log_weights[h[j], j] for j in range(1, 5)) for h in trees]
    assert expected[1] == -np.inf
    assert log_weight(trees, log_weights).tolist() == expected
    assert log_weight(trees[None], log_weights).shape == (1, 3)
    assert type(log_weight(trees[0], log_weights.tolist())) is np.float64


@pytest.mark.parametrize("shape", [(4, 4), (3, 4), (2, 3, 3), (3,)])
def test_log_weight_of_another_graph(shape):
    with pytest.raises(InvalidTreeError, match=r"heads has 3 nodes, but log_weights has shape"):
        log_weight([-1, 0, 1], np.zeros(shape))


def test_log_weight_of_no_tree():
    with pytest.raises(InvalidTreeError, match="cycle 1 -> 2 -> 1"):
        log_weight([-1, 2, 1], np.zeros((3, 3)))


# ---- lengths that no tree has -------------------------------------------------------------------


@pytest.mark.parametrize("function", [is_tree, check_trees])
@pytest.mark.parametrize(
    ("lengths", "error", "message"),
    [
        (0, InvalidTreeError, "lengths contains 0, but heads of 3 nodes have 1 to 2 words"),
        ([2, 3], InvalidTreeError, "lengths contains 3, .*the root is not counted"),
        (-1, InvalidTreeError, "lengths contains -1"),
        ([2, 2, 2], InvalidTreeError, r"lengths has shape \(3,\), .* trees of shape \(2,\)"),
        ([1.0, 2.0], TypeError, "lengths must be integers, but their dtype is float64"),
        ([True, True], TypeError, "lengths must be integers, but their dtype is bool"),
    ],
)
def test_impossible_lengths(function, lengths, error, message):
    with pytest.raises(error, match=message):
        function([[-1, 0, 1], [-1, 0, 0]], lengths=lengths)


# ---- other ways to write trees ------------------------------------------------------------------


@ON_TREES
def test_conll_and_parents_and_back(heads):
    assert to_conll(heads).tolist() == heads[1:]
    assert from_conll(heads[1:]).tolist() == heads
    assert to_parents(heads).tolist() == [head - 1 for head in heads[1:]]
    assert from_parents([head - 1 for head in heads[1:]]).tolist() == heads
    for function in (to_conll, to_parents, from_conll):
        given = heads[1:] if function is from_conll else heads
        assert function(given).dtype == np.int32


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint64, np.int64])
def test_integers_of_every_size_are_converted(dtype):
    chain = np.arange(-1, 128)  # every word depends on the one before
    assert from_conll(chain[1:].astype(dtype)).tolist() == chain.tolist()


def test_the_largest_parent_that_fits_is_converted():
    parents = np.arange(-1, 128, dtype=np.int8)  # as a head, 127 becomes 128
    assert from_parents(parents).tolist() == [-1, *range(129)]


def test_padding_survives_conll():
    padded = np.array([[-1, 0, 1, 1], [-1, 2, 0, -1]])
    assert to_conll(padded).tolist() == [[0, 1, 1], [2, 0, -1]]
    assert from_conll(to_conll(padded)).tolist() == padded.tolist()
    with pytest.raises(InvalidTreeError, match="heads is padded"):
        to_parents(padded)


@pytest.mark.parametrize(
    ("function", "given", "message"),
    [
        (from_conll, [2, 1], "cycle 1 -> 2 -> 1"),
        (from_conll, [-1, 2, 0], "begins with -1, the root's entry"),
        (from_conll, [[-1, 0], [0, 1]], r"heads\[0, 1\] is -1"),
        (from_conll, [], r"shape \(0,\): expected \(\.\.\., n\)"),
        (from_conll, [0, 3], r"heads\[2\] is 3"),
        (from_parents, [1, 0], "^parents, as heads that begin with the root's: .* 1 -> 2 -> 1"),
        (to_conll, [2, 0, 2], r"heads\[0\] is 2: the entry of the root .*from_conll adds it"),
        (depth, [-1, 2, 1], "cycle"),
        (is_projective, [0, 1], "the entry of the root"),
    ],
)
def test_what_is_not_a_tree_is_not_converted(function, given, message):
    with pytest.raises(InvalidTreeError, match=message):
        function(given)


# ---- what trees look like -----------------------------------------------------------------------


def all_trees(num_words):
    return np.stack([heads for heads, _ in spanning_trees(np.zeros((num_words + 1,) * 2))])


def ancestors(heads, node):
    while node != 0:
        node = heads[node]
        yield node


def test_depth_is_the_longest_way_to_the_root():
    trees = all_trees(4)
    expected = [max(len([*ancestors(heads, node)]) for node in range(1, 5)) for heads in trees]
    assert depth(trees).tolist() == expected
    assert int(depth([-1, *range(500)])) == 500
    assert depth([[-1, 0, 1, -1], [-1, 0, 0, 0]]).tolist() == [2, 1]


def test_projective_trees_have_all_words_below_an_arc_under_its_head():
    trees = all_trees(5)
    expected = [
        all(
            head in [between, *ancestors(heads, between)]
            for word, head in enumerate(heads)
            if word
            for between in range(min(word, head) + 1, max(word, head))
        )
        for heads in trees.tolist()
    ]
    assert is_projective(trees).tolist() == expected
    assert 0 < sum(expected) < len(expected)
    assert is_projective(np.pad(trees, ((0, 0), (0, 2)), constant_values=-1)).tolist() == expected
    assert type(is_projective(trees[0])) is np.bool_


def test_attachment_scores():
    gold = [-1, 2, 0, 2, 3]
    assert attachment_score(gold, gold) == 1
    assert attachment_score([[-1, 2, 0, 2, 2], [-1, 0, 1, 1, 1]], gold).tolist() == [0.75, 0]
    padded = [[-1, 0, 1, 1], [-1, 2, 0, -1]]
    assert attachment_score(padded, [[-1, 0, 1, 2], [-1, 0, 1, -1]]).round(4).tolist() == [
        0.6667,
        0,
    ]
    with pytest.raises(InvalidTreeError, match=r"^others\[1, 2\] is 7"):
        attachment_score([-1, 0, 1], [[-1, 0, 1], [-1, 0, 7]])
    with pytest.raises(TypeError, match=r"^others must be integers"):
        attachment_score([-1, 0, 1], [-1.0, 0.0, 1.0])
    with pytest.raises(InvalidTreeError, match="different lengths"):
        attachment_score([-1, 0, 1], [-1, 0, -1])
    with pytest.raises(InvalidTreeError, match=r"heads has shape \(3,\) and others \(4,\)"):
        attachment_score([-1, 0, 1], [-1, 0, 1, 1])
