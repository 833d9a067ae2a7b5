"""A batch gives the numbers that each of its graphs gives alone, to the last bit.

Graphs of one length are solved four at a time (tests/core/test_four_graphs.py), so batches here
have many of one length, and neighbours of all kinds.
"""

import numpy as np
import pytest

from arborand import enumeration
from tests.kinds import KINDS, is_single_root
from tests.random_graphs import (
    dense_scores,
    mutual_pairs,
    nested_traps,
    one_tree,
    sparse_scores,
    three_gates,
)


def direction_of(trees):
    """Return a number for each arc that depends on nothing but its graph."""
    return np.cos(np.maximum(trees.log_weights, -1e9))


ANSWERS = {
    "log_partition": lambda trees, **options: trees.log_partition(**options),
    "arc_marginals": lambda trees, **options: trees.arc_marginals(**options),
    "arc_covariances": lambda trees, **options: trees.arc_covariances(
        direction_of(trees), **options
    ),
    "root_marginals": lambda trees, **options: trees.root_marginals(**options),
    "entropy": lambda trees, **options: trees.entropy(**options),
    "entropy_gradient": lambda trees, **options: trees.entropy_gradient(**options),
}


def masked(seed, num_words):
    """Forbid two words to be heads, one with a mask that is a number."""
    scores = dense_scores(seed, num_words)
    scores[2] = -np.inf
    scores[num_words] = -1e9
    return scores


def neighbours(seed, num_words):
    """List graphs of one length: ordinary, sparse, masked, and beyond the range of double."""
    return [
        dense_scores(seed, num_words),
        one_tree(seed, num_words, 30.0),
        sparse_scores(seed, num_words),
        masked(seed, num_words),
        mutual_pairs(seed, num_words, 40.0),
        dense_scores(seed, num_words, scale=10.0),
        three_gates(seed, num_words, 300.0),
        nested_traps(seed, num_words, 100.0),
        sparse_scores(seed + 1, num_words, density=0.1),
    ]


def padded_batch(graphs):
    size = max(len(graph) for graph in graphs)
    batch = np.full((len(graphs), size, size), np.nan)
    for place, graph in zip(batch, graphs, strict=True):
        place[: len(graph), : len(graph)] = graph
    return batch, np.array([len(graph) - 1 for graph in graphs])


def assert_same_as_alone(kind, graphs, workers):
    batch, lengths = padded_batch(graphs)
    trees = kind(batch, lengths=lengths)
    for name, ask in ANSWERS.items():
        found = ask(trees, workers=workers)
        for graph, answer in zip(graphs, found, strict=True):
            alone = ask(kind(graph))
            expected = np.zeros(np.shape(answer))  # nothing in the padding
            expected[tuple(slice(size) for size in np.shape(alone))] = alone
            np.testing.assert_array_equal(answer, expected, err_msg=name)
            np.testing.assert_array_equal(np.signbit(answer), np.signbit(expected), err_msg=name)


@KINDS
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("num_words", [4, 5, 12, 31])
def test_graphs_of_one_length(kind, num_words, workers):
    assert_same_as_alone(kind, neighbours(0, num_words), workers)


@KINDS
@pytest.mark.parametrize("workers", [1, 2])
def test_graphs_of_many_lengths(kind, workers):
    lengths = np.random.default_rng(1).permutation([1, 2, 3, 4, 4, 5, 5, 6, 20, 70, 70, 70, 70, 20])
    graphs = [dense_scores(place, length) for place, length in enumerate(lengths)]
    assert_same_as_alone(kind, [*graphs, *neighbours(2, 6), *neighbours(3, 20)], workers)


@KINDS
@pytest.mark.parametrize("num_words", [4, 5])
def test_graphs_of_one_length_are_right(kind, num_words):
    """Judged by enumeration; a marginal is a sum of at most a thousand rounded probabilities."""
    graphs = [dense_scores(seed, num_words) for seed in range(9)]
    trees = kind(np.array(graphs))
    marginals, log_partition = trees.arc_marginals(), trees.log_partition()
    enumerate_trees = (
        enumeration.dependency_trees if is_single_root(kind) else enumeration.spanning_trees
    )
    for place, graph in enumerate(graphs):
        listed = list(enumerate_trees(graph))
        weights = np.exp([log_weight for _, log_weight in listed])
        expected = np.zeros_like(graph)
        for (heads, _), weight in zip(listed, weights, strict=True):
            expected[heads[1:], np.arange(1, num_words + 1)] += weight / weights.sum()
        np.testing.assert_allclose(marginals[place], expected, rtol=1e-12, atol=0)
        np.testing.assert_allclose(log_partition[place], np.log(weights.sum()), rtol=1e-12)
