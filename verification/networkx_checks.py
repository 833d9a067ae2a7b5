"""The register's part for the NetworkX backend: the law of its trees.

NetworkX's own tests compare with the trees that its sampler draws from a seed, which no other
sampler can; so the law is judged here instead, through NetworkX's dispatch.
"""

from __future__ import annotations

import warnings
from functools import partial

import networkx as nx
import numpy as np

from verification.goodness_of_fit import Verdict
from verification.ledger import Check
from verification.sparse_checks import judge_rows
from verification.sparse_graphs import UNEQUAL, Multigraph, edge_law

NUM_DRAWS = 6_000


def _judge(seed: int, *, graph: Multigraph, multiplicative: bool) -> Verdict:
    source = nx.Graph()
    for index, (a, b, weight) in enumerate(graph.edges):
        source.add_edge(a, b, weight=weight, index=index)
    draws = np.full((NUM_DRAWS, graph.num_nodes), -1, dtype=np.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that NetworkX keeps what it converted
        for draw in range(NUM_DRAWS):
            tree = nx.random_spanning_tree(
                source,
                "weight",
                multiplicative=multiplicative,
                seed=seed + draw,
                backend="arborand",
            )
            for head, dependent in nx.bfs_edges(tree, 0):
                draws[draw, dependent] = tree.edges[head, dependent]["index"]
    return judge_rows(draws, edge_law(graph, additive=not multiplicative))


NETWORKX_CHECKS = tuple(
    Check(
        f"networkx.random_spanning_tree, {'products' if multiplicative else 'sums'} of weights",
        partial(_judge, graph=UNEQUAL, multiplicative=multiplicative),
    )
    for multiplicative in (True, False)
)
"""Every check of the NetworkX backend."""
