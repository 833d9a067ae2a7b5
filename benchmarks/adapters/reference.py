"""The paper's algorithms in plain NumPy, as `arborand.paper.reference` has them."""

from __future__ import annotations

import numpy as np

from arborand.paper import reference
from benchmarks import graphs
from benchmarks.adapters import Adapter, Job
from benchmarks.graphs import Floats


class Reference(Adapter):
    """Line by line, one tree a call."""

    name = "the paper's code in NumPy"
    module = "arborand.paper.reference"

    def __init__(self) -> None:
        self._rng = np.random.default_rng(1)

    def spanning_tree(self, scores: Floats) -> Job:
        """Draw by Wilson's algorithm."""
        weights = graphs.weights(scores)
        return Job(lambda: reference.wilson(weights, self._rng))

    def uniform_spanning_tree(self, num_words: int) -> Job:
        """Draw by Wilson's algorithm, with equal weights."""
        return self.spanning_tree(np.zeros((num_words + 1, num_words + 1)))

    def dependency_tree(self, scores: Floats) -> Job:
        """Draw the root's child by its marginal, the rest by Wilson's algorithm."""
        weights = graphs.weights(scores)
        return Job(lambda: reference.wilson_root_marginal(weights, self._rng))

    def distinct_trees(self, scores: Floats, k: int) -> Job:
        """Draw by `swor`."""
        weights = graphs.weights(scores)
        return Job(lambda: reference.swor(weights, k, self._rng, single_root=True))


ADAPTER = Reference()
