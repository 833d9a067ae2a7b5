"""DPPy: uniform spanning trees as a determinantal process, by Wilson's algorithm in Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.adapters import Adapter, Job, heads_from_edges


class Dppy(Adapter):
    """One tree a call, all trees alike."""

    name = "DPPy"
    module = "dppy.exotic_dpps"
    remark = "undirected, unweighted"
    is_heavy = True
    first_call = (
        "import networkx; dppy.exotic_dpps.UST(networkx.complete_graph(11)).sample(random_state=0)"
    )

    def uniform_spanning_tree(self, num_words: int) -> Job:
        """Draw by its default sampler, Wilson's."""
        import networkx
        from dppy.exotic_dpps import UST

        trees = UST(networkx.complete_graph(num_words + 1))
        random = np.random.RandomState(1)

        def draw() -> Any:
            trees.sample(random_state=random)
            return trees.list_of_samples.pop()

        return Job(draw, lambda tree: heads_from_edges(tree.edges(), num_words + 1)[None])


ADAPTER = Dppy()
