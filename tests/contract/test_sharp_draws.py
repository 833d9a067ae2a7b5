"""Sharp graphs: the same trees whatever is trusted, split or shared out.

Draws from such graphs take turns that others do not: cycles are popped until they are gone, some
graphs are not walked on at all, and numbers too small for double are given up where they do not
count. None of it may show in the trees.
"""

import numpy as np
import pytest

from arborand import _core, sampling
from arborand.randomness import stream_key
from tests.kinds import KINDS
from tests.random_graphs import (
    dense_scores,
    heavy_tails,
    mutual_pairs,
    negligible_roots,
    nested_traps,
    sparse_scores,
)


def bound_cycles(seed, num_words, length, bond):
    scores = dense_scores(seed, num_words)
    for first in range(1, num_words - length + 2, length):
        for place in range(length):
            scores[first + (place + 1) % length, first + place] += bond
    return scores


def cliques(seed, num_words, size, bond):
    scores = dense_scores(seed, num_words)
    block = (np.arange(1, num_words + 1) - 1) // size
    scores[1:, 1:] += bond * (block[:, None] == block)
    return scores


SHARP = {
    "pairs bound by e^20": mutual_pairs(1, 9, 20.0),
    "pairs bound by e^60": mutual_pairs(2, 20, 60.0),
    "pairs bound by e^400": mutual_pairs(3, 12, 400.0),
    "pairs bound by e^700": mutual_pairs(3, 12, 700.0),
    "cycles of three": bound_cycles(4, 18, 3, 30.0),
    "cycles of seven": bound_cycles(5, 14, 7, 10.0),
    "nested traps": nested_traps(6, 16, 30.0),
    "deep nested traps": nested_traps(7, 12, 300.0),
    "cliques": cliques(8, 15, 5, 30.0),
    "sharp scores": dense_scores(9, 14, 60.0),
    "sharper scores": dense_scores(10, 10, 250.0),
    "sparse and sharp": sparse_scores(11, 14, 0.3, 50.0),
    "roots of e^-60": negligible_roots(12, 12, -60.0),
    "roots of e^-700": negligible_roots(13, 10, -700.0),
    "heavy tails": heavy_tails(14, 9, 40.0),
    "70 words in pairs": mutual_pairs(15, 70, 40.0),
}
NUM_DRAWS = {name: 100 if len(scores) > 30 else 500 for name, scores in SHARP.items()}

each_sharp_graph = pytest.mark.parametrize("name", SHARP)
METHODS = [None, "colbourn"]


def draws(kind, name, method=None, **options):
    heads, _ = sampling.sample(
        kind(SHARP[name])._graphs, NUM_DRAWS[name], method=method, key=stream_key(4), **options
    )
    return heads


@KINDS
@each_sharp_graph
@pytest.mark.parametrize("method", METHODS)
def test_the_number_type_does_not_show(kind, name, method):
    np.testing.assert_array_equal(
        draws(kind, name, method), draws(kind, name, method, trusts_double=False)
    )


@KINDS
@pytest.mark.parametrize("num_words", [5, 13, 66])
def test_the_number_type_does_not_show_where_all_children_are_as_likely(kind, num_words):
    # Each number type rounds the chances of children in its own way.
    graphs = kind(dense_scores(1, num_words, 0.0))._graphs
    for method in ("wilson", "wilson_rc") if graphs.kind.has_single_root else ("wilson",):
        options = {"method": method, "key": stream_key(4), "pops": "always"}
        heads, _ = sampling.sample(graphs, 50, **options)
        again, _ = sampling.sample(graphs, 50, trusts_double=False, **options)
        np.testing.assert_array_equal(heads, again)


@KINDS
@each_sharp_graph
def test_threads_and_splits_do_not_show(kind, name):
    distribution, size = kind(SHARP[name]), NUM_DRAWS[name]
    heads = distribution.sample(size, rng=4)
    for workers in (2, 3):
        np.testing.assert_array_equal(distribution.sample(size, rng=4, workers=workers), heads)
    first, middle = distribution.sample(7, rng=4), size // 3
    np.testing.assert_array_equal(first, heads[:7])
    later = distribution.sample(size - middle, rng=4, first_draw=middle)
    np.testing.assert_array_equal(later, heads[middle:])
    alone = distribution.sample(rng=4, first_draw=size - 1)
    np.testing.assert_array_equal(alone, heads[-1])


@KINDS
def test_neighbours_in_a_batch_do_not_show(kind):
    # One thread works on one graph after the other, in the same memory.
    names = [name for name in SHARP if len(SHARP[name]) <= 21]
    size = max(len(SHARP[name]) for name in names)
    batch = np.full((2 * len(names), size, size), -np.inf)
    for place, name in enumerate([*names, *names]):
        num_nodes = len(SHARP[name])
        batch[place, :num_nodes, :num_nodes] = SHARP[name]
    lengths = [len(SHARP[name]) - 1 for name in [*names, *names]]
    heads = kind(batch, lengths=lengths).sample(40, rng=2)
    for place, name in enumerate([*names, *names]):
        alone = kind(SHARP[name]).sample(40, rng=2, first_graph=place)
        np.testing.assert_array_equal(heads[:, place, : len(SHARP[name])], alone)


@KINDS
@each_sharp_graph
def test_instruction_sets_do_not_show(kind, name):
    best, heads = _core.instruction_set(), draws(kind, name)
    try:
        _core.use_instruction_set("baseline")
        np.testing.assert_array_equal(draws(kind, name), heads)
    finally:
        _core.use_instruction_set(best)


# ---- what is done where -------------------------------------------------------------------------


def counts_of(kind, scores, num_draws=200, **options):
    _, counts = sampling.sample(
        kind(scores)._graphs, num_draws, key=stream_key(1), method="wilson", **options
    )
    return counts


@KINDS
@pytest.mark.parametrize("bond", [20.0, 60.0, 200.0])
def test_tight_pairs_are_popped_at_once(kind, bond):
    counts = counts_of(kind, mutual_pairs(1, 20, bond))
    assert counts.ancestral < 20
    assert counts.steps < 200 * 20 * 10  # a few steps per word
    assert counts_of(kind, mutual_pairs(1, 20, bond), pops="never").ancestral == 200


@KINDS
@pytest.mark.parametrize("scores", [cliques(1, 20, 5, 30.0), cliques(9, 30, 6, 30.0)])
def test_walks_that_would_never_arrive_are_not_begun(kind, scores):
    counts = counts_of(kind, scores)
    assert (counts.steps, counts.walks, counts.ancestral) == (0, 0, 200)


@KINDS
@pytest.mark.parametrize("scores", [cliques(8, 15, 5, 30.0), cliques(9, 30, 6, 30.0)])
def test_trees_without_a_walk_are_those_of_colbourn(kind, scores):
    graphs = kind(scores)._graphs
    heads, counts = sampling.sample(graphs, 300, key=stream_key(3), method="wilson")
    assert counts.ancestral == 300
    colbourn, _ = sampling.sample(graphs, 300, key=stream_key(3), method="colbourn")
    np.testing.assert_array_equal(heads, colbourn)


@KINDS
@pytest.mark.parametrize("num_words", [2, 5, 20, 70])
def test_flat_graphs_are_walked_as_ever(kind, num_words):
    scores = dense_scores(num_words, num_words)
    graphs = kind(scores)._graphs
    plain, _ = sampling.sample(graphs, 100, key=stream_key(1), pops="never")
    np.testing.assert_array_equal(plain, sampling.sample(graphs, 100, key=stream_key(1))[0])
    assert counts_of(kind, scores).ancestral == 0


@KINDS
def test_words_step_at_once_where_deviations_are_rare(kind):
    # Heads that a trained parser is nearly sure of, with a close second for some.
    scores = dense_scores(1, 30) + 8.0 * np.eye(31, k=1)
    scores[3:, 2] += 7.0
    graphs = kind(scores)._graphs
    heads, _ = sampling.sample(graphs, 300, key=stream_key(1))
    assert len(np.unique(heads, axis=0)) > 10
    for pops, is_same in (("always", True), ("never", False)):
        again, _ = sampling.sample(graphs, 300, key=stream_key(1), pops=pops)
        assert np.array_equal(again, heads) == is_same


@KINDS
@pytest.mark.parametrize(("bond", "is_tight"), [(2.0, False), (6.0, False), (12.0, True)])
def test_words_step_at_once_where_many_cycles_close_only_if_they_are_tight(kind, bond, is_tight):
    graphs = kind(mutual_pairs(1, 30, bond))._graphs
    heads, _ = sampling.sample(graphs, 300, key=stream_key(1))
    for pops, is_same in (("always", is_tight), ("never", not is_tight)):
        again, _ = sampling.sample(graphs, 300, key=stream_key(1), pops=pops)
        assert np.array_equal(again, heads) == is_same
