"""Pyro: `SpanningTree`, of undirected graphs, drawn by a short Markov chain."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.adapters import Adapter, Job, heads_from_edges
from benchmarks.graphs import Floats


class Pyro(Adapter):
    """One tree a call; approximate, as its documentation says."""

    name = "Pyro"
    module = "pyro.distributions"
    remark = "undirected; approximate draws"
    is_heavy = True
    first_call = (
        "import torch; "
        "pyro.distributions.SpanningTree(torch.zeros(55, dtype=torch.double)).sample()"
    )

    def load(self) -> None:
        """Import it, with one thread and a seed."""
        super().load()
        import pyro
        import torch

        torch.set_num_threads(1)
        pyro.set_rng_seed(1)

    def spanning_tree(self, scores: Floats) -> Job:
        """Draw by its default options."""
        trees = _distribution(scores)
        return Job(trees.sample, lambda edges: heads_from_edges(edges.tolist(), len(scores))[None])

    def uniform_spanning_tree(self, num_words: int) -> Job:
        """Draw with equal weights."""
        return self.spanning_tree(np.zeros((num_words + 1, num_words + 1)))

    def undirected_log_partition(self, scores: Floats) -> Job:
        """Compute log Z of one graph with symmetric weights."""

        def run() -> Any:
            return _distribution(scores).log_partition_function

        return Job(run, _number)


def _distribution(scores: Floats) -> Any:
    import torch
    from pyro.distributions import SpanningTree

    j, i = np.tril_indices(len(scores), -1)
    # Its order of edges: (0,1), (0,2), (1,2), (0,3), ...
    return SpanningTree(torch.tensor(np.where(np.isfinite(scores), scores, 0.0)[i, j]))


def _number(answer: Any) -> NDArray[np.float64]:
    return np.array([float(answer)])


ADAPTER = Pyro()
