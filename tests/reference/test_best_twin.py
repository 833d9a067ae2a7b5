"""The compiled core finds the same best trees as its twin in Python's integers."""

from itertools import islice

import numpy as np
import pytest

from tests.kinds import KINDS, is_single_root
from tests.random_graphs import dense_scores, mutual_pairs, nested_traps
from verification.best_order import FAMILIES, from_core, graph_of, has_tree, in_order
from verification.twin_best import best_trees


@KINDS
@pytest.mark.parametrize("family", FAMILIES)
def test_the_twin_lists_all_trees_in_the_exact_order(kind, family):
    single_root = is_single_root(kind)
    rng = np.random.default_rng(5)
    for num_words in (1, 2, 3, 4):
        graph = graph_of(family, rng, num_words)
        if has_tree(graph, single_root=single_root):
            trees = list(best_trees(graph, single_root=single_root))
            assert trees == in_order(graph, single_root=single_root)


@KINDS
@pytest.mark.parametrize(
    "graph",
    [
        dense_scores(1, 12),
        np.round(dense_scores(2, 14), 1),
        mutual_pairs(3, 11, 60.0),
        nested_traps(4, 9, 30.0),
        graph_of("masks of -1e20", np.random.default_rng(4), 10),
        graph_of("clusters", np.random.default_rng(8), 12),
    ],
    ids=["dense", "decimals", "pairs", "traps", "masks", "clusters"],
)
def test_larger_graphs_have_the_same_best_trees(kind, graph):
    graph = graph.copy()
    graph[:, 0] = -np.inf
    np.fill_diagonal(graph, -np.inf)
    found, _ = from_core(graph, 60, single_root=is_single_root(kind))
    expected = islice(best_trees(graph, single_root=is_single_root(kind)), 60)
    assert [tuple(heads) for heads in found.tolist()] == list(expected)
