"""arborand itself, from arrays of scores to arrays of heads: checks and preparation are timed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from arborand import DependencyTrees, SpanningTrees
from benchmarks.adapters import Adapter, Job
from benchmarks.graphs import Floats


class Arborand(Adapter):
    """The library that this repository is about."""

    name = "arborand"
    module = "arborand"
    first_call = "arborand.DependencyTrees(scores).sample(rng=0)"
    draws = 1000

    def __init__(self) -> None:
        # A generator, so that every call draws other trees.
        self._rng = np.random.default_rng(1)

    def spanning_tree(self, scores: Floats) -> Job:
        """Draw by walks."""
        return self._draws(SpanningTrees, scores)

    def uniform_spanning_tree(self, num_words: int) -> Job:
        """Draw with equal weights."""
        return self._draws(SpanningTrees, np.zeros((num_words + 1, num_words + 1)))

    def dependency_tree(self, scores: Floats) -> Job:
        """Draw by walks from the root's child."""
        return self._draws(DependencyTrees, scores)

    def _draws(self, kind: type[SpanningTrees | DependencyTrees], scores: Floats) -> Job:
        # A thousand trees of 500 words are more than needed to say what one takes.
        count = self.draws if len(scores) <= 200 else min(self.draws, 100)
        return Job(lambda: kind(scores).sample(count, rng=self._rng), units=count)

    def distinct_trees(self, scores: Floats, k: int) -> Job:
        """Draw by rejection, then by partition."""
        return Job(
            lambda: DependencyTrees(scores).sample_without_replacement(k, rng=self._rng).heads
        )

    def log_partition(self, batch: Floats, lengths: NDArray[np.int32], *, single_root: bool) -> Job:
        """Censor."""
        kind = DependencyTrees if single_root else SpanningTrees
        return Job(lambda: kind(batch, lengths=lengths).log_partition(), units=len(batch))

    def arc_marginals(self, batch: Floats, lengths: NDArray[np.int32], *, single_root: bool) -> Job:
        """Censor, by halves."""
        kind = DependencyTrees if single_root else SpanningTrees
        return Job(lambda: kind(batch, lengths=lengths).arc_marginals(), units=len(batch))

    def undirected_log_partition(self, scores: Floats) -> Job:
        """Censor."""
        return Job(lambda: SpanningTrees(scores).log_partition(), np.atleast_1d)


class OneTree(Arborand):
    """The same, a single tree a call: what most peers offer."""

    name = "arborand, one tree a call"
    draws = 1


ADAPTER = Arborand()
ONE_TREE = OneTree()
