"""treesample, the code of the paper's authors; not on the package index, used when installed."""

from __future__ import annotations

import itertools

import numpy as np

from benchmarks import graphs
from benchmarks.adapters import Adapter, Job
from benchmarks.graphs import Floats


class Treesample(Adapter):
    """One tree a call, by NumPy's global random state."""

    name = "treesample"
    module = "treesample"
    first_call = (
        "import numpy as np; from treesample.colbourn import ColbournSample; "
        "next(ColbournSample(np.exp(scores)).sample())"
    )

    def spanning_tree(self, scores: Floats) -> Job:
        """Draw by Wilson's algorithm."""
        from treesample.wilson import WilsonSample

        sampler = WilsonSample(graphs.weights(scores))
        return Job(lambda: sampler.sample()[None])

    def uniform_spanning_tree(self, num_words: int) -> Job:
        """Draw with equal weights."""
        return self.spanning_tree(np.zeros((num_words + 1, num_words + 1)))

    def dependency_tree(self, scores: Floats) -> Job:
        """Draw by Colbourn's algorithm."""
        from treesample.colbourn import ColbournSample

        sampler = ColbournSample(graphs.weights(scores)).sample()
        return Job(lambda: np.asarray(next(sampler))[None])

    def distinct_trees(self, scores: Floats, k: int) -> Job:
        """Draw by its sampler without replacement."""
        from treesample.swor import TreeSwor

        weights = graphs.weights(scores)

        def draw() -> object:
            # It changes the array that it is given.
            return [tree for tree, _ in itertools.islice(TreeSwor(weights.copy()).sample(), k)]

        return Job(draw)


ADAPTER = Treesample()
