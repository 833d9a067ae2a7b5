"""networkx: `random_spanning_tree`, edge by edge, of undirected graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.adapters import Adapter, Job, heads_from_edges
from benchmarks.graphs import Floats


class Networkx(Adapter):
    """One tree a call."""

    name = "networkx"
    module = "networkx"
    remark = "undirected"
    first_call = "networkx.random_spanning_tree(networkx.complete_graph(11), seed=0)"

    def __init__(self) -> None:
        self._random = np.random.RandomState(1)

    def spanning_tree(self, scores: Floats) -> Job:
        """Draw with probability proportional to the product of the weights."""
        import networkx

        graph = networkx.Graph()
        for j in range(1, len(scores)):
            for i in range(j):
                graph.add_edge(i, j, weight=float(np.exp(scores[i, j])))
        return self._job(graph, "weight")

    def uniform_spanning_tree(self, num_words: int) -> Job:
        """Draw without weights."""
        import networkx

        return self._job(networkx.complete_graph(num_words + 1), None)

    def _job(self, graph: Any, weight: str | None) -> Job:
        import networkx

        return Job(
            lambda: networkx.random_spanning_tree(graph, weight=weight, seed=self._random),
            lambda tree: heads_from_edges(tree.edges(), len(graph))[None],
        )


ADAPTER = Networkx()
