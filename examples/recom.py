"""Redistricting with uniform spanning trees: a ReCom chain of GerryChain that draws with arborand.

GerryChain merges two districts, draws a spanning tree of their precincts and cuts it into halves of
equal population.  Its default tree is a minimum spanning tree of random weights, which is quick but
not uniform; its `uniform_spanning_tree` is uniform but slow, because it walks in Python.  Here,
arborand draws the trees.

Needs: pip install '.[networkx]' gerrychain (in the repository's folder)
"""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import numpy as np
import rustworkx
from gerrychain import Graph, MarkovChain, Partition
from gerrychain.accept import always_accept
from gerrychain.constraints import contiguous
from gerrychain.proposals import recom
from gerrychain.tree import bipartition_tree

from arborand import SparseSpanningTrees


def uniform_spanning_tree(
    graph: Any, region_surcharge: Any = None, *, rng: random.Random | None = None
) -> Graph:
    """Draw a uniform spanning tree, in the form that GerryChain's proposals take."""
    source = graph.get_rx_graph()
    ends = np.array(source.edge_list(), dtype=np.int32).reshape(-1, 2)
    trees = SparseSpanningTrees.from_edges(
        ends[:, 0], ends[:, 1], num_nodes=source.num_nodes(), directed=False
    )
    rng = rng or random.Random()
    heads = trees.sample(rng=rng.getrandbits(63)).tolist()
    tree: Any = rustworkx.PyGraph()
    tree.add_nodes_from([graph.node_data(node) for node in range(len(heads))])
    tree.add_edges_from([(node, head, {}) for node, head in enumerate(heads) if head >= 0])
    return Graph.from_rustworkx(tree)


def grid_chain(side: int, num_districts: int, num_steps: int, seed: int) -> MarkovChain:
    """Make a ReCom chain on a grid of precincts that starts from vertical stripes."""
    import networkx

    grid = networkx.grid_2d_graph(side, side)
    for node in grid:
        grid.nodes[node]["population"] = 1
    graph = Graph.from_networkx(grid)
    stripes = {node: node[0] * num_districts // side for node in grid}
    start = Partition(graph, assignment=stripes)
    proposal = partial(
        recom,
        pop_col="population",
        pop_target=side * side / num_districts,
        epsilon=0.1,
        bipartition_tree_fn=partial(bipartition_tree, spanning_tree_fn=uniform_spanning_tree),
    )
    return MarkovChain(
        proposal_fn=proposal,
        constraints=[contiguous],
        acceptance_fn=always_accept,
        initial_partition=start,
        total_steps=num_steps,
        rng=seed,
    )


def main() -> None:
    """Run a short chain and print how many edges each map cuts."""
    for step, partition in enumerate(grid_chain(side=12, num_districts=4, num_steps=20, seed=0)):
        print(f"map {step:2d}: {len(partition['cut_edges'])} edges between districts")


if __name__ == "__main__":
    main()
