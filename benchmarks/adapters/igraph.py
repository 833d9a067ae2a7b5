"""igraph: uniform random labelled trees, by loop-erased walks in C.

Its function for random spanning trees of any graph is not part of the Python package; that for
random labelled trees is, which are the spanning trees of a complete graph.
"""

from __future__ import annotations

import random

from benchmarks.adapters import Adapter, Job, heads_from_edges


class Igraph(Adapter):
    """One tree a call; complete graphs without weights."""

    name = "igraph"
    module = "igraph"
    remark = "complete graphs, unweighted"
    first_call = 'igraph.Graph.Tree_Game(11, method="lerw")'

    def uniform_spanning_tree(self, num_words: int) -> Job:
        """Draw by loop-erased walks."""
        import igraph

        igraph.set_random_number_generator(random.Random(1))
        return Job(
            lambda: igraph.Graph.Tree_Game(num_words + 1, method="lerw"),
            lambda tree: heads_from_edges(tree.get_edgelist(), num_words + 1)[None],
        )


ADAPTER = Igraph()
