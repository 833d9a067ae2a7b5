"""The example of a ReCom chain runs, and its maps are maps."""

import random
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

import networks
import networkx
import pytest
import recom
from gerrychain import Graph
from gerrychain.graph import FrozenGraph

from arborand import SparseSpanningTrees


def test_maps_are_contiguous_and_balanced():
    seen = set()
    for partition in recom.grid_chain(side=8, num_districts=4, num_steps=30, seed=1):
        assignment = partition.assignment.to_dict()
        seen.add(tuple(sorted(assignment.items())))
        sizes = Counter(assignment.values())
        assert len(sizes) == 4
        assert all(abs(size - 16) <= 1.6 for size in sizes.values())
        for district in sizes:
            part = [node for node, place in assignment.items() if place == district]
            assert partition.graph.subgraph(part).is_connected()
    assert len(seen) > 20  # it moves


def test_the_tree_spans_the_graph_and_is_uniform_in_number_of_leaves():
    grid = Graph.from_networkx(networkx.grid_2d_graph(3, 3)).convert_from_nx_to_rx()
    rng = random.Random(0)
    trees = [recom.uniform_spanning_tree(grid, rng=rng) for _ in range(2000)]
    assert all(tree.is_a_tree() and len(tree) == 9 for tree in trees)
    # The corner is a leaf in as many trees as the graph without it has, for each of its two edges.
    without = networkx.grid_2d_graph(3, 3)
    without.remove_node((0, 0))
    share = (
        2
        * networkx.number_of_spanning_trees(without)
        / networkx.number_of_spanning_trees(networkx.grid_2d_graph(3, 3))
    )
    found = sum(tree.degree(0) == 1 for tree in trees) / len(trees)
    assert found == pytest.approx(share, abs=5 * (share * (1 - share) / len(trees)) ** 0.5)


def test_the_same_seed_gives_the_same_chain():
    def cuts():
        chain = recom.grid_chain(side=6, num_districts=2, num_steps=10, seed=3)
        return [len(partition["cut_edges"]) for partition in chain]

    assert cuts() == cuts()


def test_trees_of_frozen_graphs():
    grid = Graph.from_networkx(networkx.grid_2d_graph(4, 4))
    frozen = FrozenGraph(grid)
    with pytest.raises(TypeError, match=r"not FrozenGraph; .* pass get_nx_graph\(\)"):
        SparseSpanningTrees.from_networkx(frozen)
    trees = SparseSpanningTrees.from_networkx(frozen.get_nx_graph())
    assert all(networkx.is_tree(tree) for tree in trees.to_networkx(trees.sample(3, rng=0)))
    # What a chain hands to the function of the example.
    tree = recom.uniform_spanning_tree(FrozenGraph(grid.convert_from_nx_to_rx()))
    assert tree.is_a_tree()
    assert len(tree) == 16


def test_the_example_of_networks_draws_its_figures(tmp_path):
    networks.draw_figures(tmp_path)
    for name in ("resistances", "sparsification", "redistricting"):
        assert (tmp_path / f"{name}.svg").read_text(encoding="utf-8").startswith("<?xml")
    counts, assignment = networks.cut_edges(5)
    assert len(counts) == 5
    assert set(Counter(assignment.values()).values()) <= set(range(32, 41))
