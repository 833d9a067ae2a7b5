"""Faults of the fast samplers, put into their twin.

The twin draws what the compiled core draws, bit for bit, so that a fault in the twin is what the
same slip in the core would be. Each class replaces one decision; everything else is inherited.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from arborand.randomness import stream_key
from verification.laws import FloatArray, HeadsArray
from verification.trials import OrderedSampler, Sampler
from verification.twin_ancestral import UNDECIDED, draw_heads
from verification.twin_numbers import Stream, UnboundedDouble
from verification.twin_walks import Method, TreeSampler
from verification.twin_without_replacement import DistinctTrees, Path, Subspace

# ---- with replacement ----


class KeepsFinishedWalks(TreeSampler):
    """When the budget is spent, keeps what the walks have built and draws only the rest."""

    def fall_back(self, child: int, tree: dict[int, int], stream: Stream) -> list[int]:
        """Draw the heads of the words that are not in the tree."""
        given = [tree.get(node, UNDECIDED) for node in range(self.num_nodes)]
        return draw_heads(self.log_weights, given, stream, single_root=self.single_root)


class StartsAgain(TreeSampler):
    """When the budget is spent, starts again from the beginning: the root's child and all."""

    def fall_back(self, child: int, tree: dict[int, int], stream: Stream) -> list[int]:
        """Draw another tree."""
        return self.draw(stream)


class RepeatsLastWalk(TreeSampler):
    """When a second arc would leave the root, repeats the walk that led there, not the tree."""

    def walk(self, start: int, tree: dict[int, int], stream: Stream) -> tuple[dict[int, int], int]:
        """Walk until the end is not the root, unless it is the first walk."""
        while True:
            path, end = super().walk(start, tree, stream)
            if end != 0 or start == 1:
                return path, end


def twin_sampler(
    method: Method,
    *,
    single_root: bool,
    step_budget: int | None = None,
    kind: Callable[..., TreeSampler] = TreeSampler,
) -> Sampler:
    """Make a sampler with replacement of the twin, or of the twin with a fault.

    Parameters
    ----------
    method : str
        The method.
    single_root : bool
        Whether it draws dependency trees.
    step_budget : int, optional
        How many steps the walks for one tree may take.
    kind : callable, optional
        The class that draws, from its keyword arguments.

    Returns
    -------
    callable
        ``(log_weights, num_draws, seed) -> heads``.
    """

    def sample(log_weights: FloatArray, num_draws: int, seed: int) -> HeadsArray:
        made = kind(log_weights, single_root=single_root, method=method, step_budget=step_budget)
        key = stream_key(seed)
        trees = [made.draw(Stream(key, 0, draw)) for draw in range(num_draws)]
        return np.array(trees, dtype=np.int32)

    return sample


# ---- without replacement ----


class ForgetsAtTheSwitch(DistinctTrees):
    """Begins the partition with all trees, those drawn before included."""

    def begin_partition(self) -> None:
        """Take nothing out."""
        self.subspaces = [Subspace([-1], UnboundedDouble(1.0, 0.0), UnboundedDouble(1.0, 0.0))]


class KeepsMasses(DistinctTrees):
    """Leaves a subspace the mass of what was drawn from it."""

    def split(self, at: int, path: Path) -> None:
        """Count the head that was taken among those that are open."""
        passed = [kept + passed for kept, passed in zip(path.kept, path.passed, strict=True)]
        passed[-1] = path.passed[-1]  # or the support would never be exhausted
        super().split(at, path._replace(passed=passed))


class PerturbsAfterwards(DistinctTrees):
    """Adds fresh noise to each log-probability, whatever the order was."""

    def perturb(self, log_remaining: float) -> float:
        """Perturb the tree by itself."""
        self.log_arrival = -np.inf
        return super().perturb(0.0) + self.log_prob(self.trees[-1])


class PerturbedTrees(NamedTuple):
    """Draws without replacement: heads and perturbed log-probabilities, repeat by repeat."""

    heads: HeadsArray
    perturbed: FloatArray


def twin_distinct(
    log_weights: FloatArray,
    num_repeats: int,
    length: int,
    seed: int,
    *,
    single_root: bool,
    switch_after: int,
    kind: type[DistinctTrees] = DistinctTrees,
) -> PerturbedTrees:
    """Draw without replacement from the twin, or from the twin with a fault, many times over.

    Parameters
    ----------
    log_weights : ndarray of float64, shape (words + 1, words + 1)
        The graph.
    num_repeats, length : int
        How often how many trees are drawn.
    seed : int
        The seed.
    single_root : bool
        Whether dependency trees are drawn.
    switch_after : int
        The number of trees after which rejection gives way to the partition.
    kind : type, optional
        The class that draws.

    Returns
    -------
    PerturbedTrees
        Of shapes (num_repeats, length, words + 1) and (num_repeats, length).
    """
    key = stream_key(seed)
    heads = np.empty((num_repeats, length, len(log_weights)), dtype=np.int32)
    perturbed = np.empty((num_repeats, length))
    for repeat in range(num_repeats):
        sequence = kind(
            log_weights,
            single_root=single_root,
            key=key,
            graph=repeat,
            switch_below=0.0,
            switch_after=switch_after,
        )
        for place in range(length):
            draw = sequence.next()
            if draw is None:
                raise ValueError(f"{length} trees asked for, only {place} there")
            heads[repeat, place], perturbed[repeat, place] = draw.heads, draw.perturbed_log_prob
    return PerturbedTrees(heads, perturbed)


def twin_ordered_sampler(
    *, single_root: bool, switch_after: int, kind: type[DistinctTrees] = DistinctTrees
) -> OrderedSampler:
    """Make a sampler without replacement of :func:`twin_distinct`.

    Parameters
    ----------
    single_root : bool
        Whether dependency trees are drawn.
    switch_after : int
        The number of trees after which rejection gives way to the partition.
    kind : type, optional
        The class that draws.

    Returns
    -------
    callable
        ``(log_weights, num_repeats, length, seed) -> heads``.
    """

    def sample(log_weights: FloatArray, num_repeats: int, length: int, seed: int) -> HeadsArray:
        return twin_distinct(
            log_weights,
            num_repeats,
            length,
            seed,
            single_root=single_root,
            switch_after=switch_after,
            kind=kind,
        ).heads

    return sample
