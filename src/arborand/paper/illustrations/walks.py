"""Walks of Wilson's algorithm (the paper's Fig. 2), with all their steps and erased cycles.

The algorithm itself overwrites pointers, and so keeps neither.  The tree is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arborand.randomness import Seed

MOST_STEPS = 300


@dataclass(frozen=True)
class Walk:
    """One walk of Wilson's algorithm.

    Attributes
    ----------
    path : tuple of int
        The nodes in the order in which they are visited.  Only the last was already in the tree.
    chances : tuple of float
        The probability of each step.
    cycles : tuple of (int, int)
        The first and last position in `path` of each erased cycle: from the step after a visit to
        the next visit of the same node.  Cycles are disjoint or nested.

    Examples
    --------
    >>> walk = Walk(path=(1, 2, 3, 2, 0), chances=(1.0, 0.5, 0.5, 0.5), cycles=((2, 3),))
    >>> walk.kept(), walk.loop((2, 3)), walk.remaining
    ([0, 1, 4], [2, 3, 2], (1, 2, 0))
    """

    path: tuple[int, ...]
    chances: tuple[float, ...]
    cycles: tuple[tuple[int, int], ...]

    def kept(self, length: int | None = None) -> list[int]:
        """List the positions that are not erased after the first `length` nodes, or after all."""
        length = len(self.path) if length is None else length
        closed = [(begin, end) for begin, end in self.cycles if end < length]
        return [
            position
            for position in range(length)
            if not any(begin <= position <= end for begin, end in closed)
        ]

    def loop(self, cycle: tuple[int, int]) -> list[int]:
        """List the nodes of an erased cycle, closed, without the cycles inside it."""
        begin, end = cycle
        positions = [position for position in self.kept(end) if position >= begin]
        return [self.path[end], *(self.path[position] for position in positions), self.path[end]]

    @property
    def remaining(self) -> tuple[int, ...]:
        """The nodes of the loop-erased path, from the walk's first node to the tree."""
        return tuple(self.path[position] for position in self.kept())


def random_generator(rng: Seed) -> np.random.Generator:
    """Return a generator unchanged, and make one from any other source of randomness."""
    if isinstance(rng, np.random.Generator):
        return rng
    return np.random.Generator(np.random.Philox(rng))


def walk_to_tree(
    transitions: NDArray[np.float64],
    start: int,
    members: set[int],
    rng: np.random.Generator,
    taken: int,
) -> Walk:
    """Walk from a word to the tree; list cycles in the order in which they close.

    `taken` is the number of steps of earlier walks.
    """
    path = [start]
    chances: list[float] = []
    cycles: list[tuple[int, int]] = []
    latest = {start: 0}  # the last position of each node that is not erased
    while path[-1] not in members:
        if taken + len(chances) == MOST_STEPS:
            raise ValueError(
                f"log_weights leads to walks of more than {MOST_STEPS} steps, too many for a "
                "picture: use another rng, or give arcs from the root larger weights"
            )
        here = path[-1]
        there = int(rng.choice(len(transitions), p=transitions[:, here]))
        position = len(path)
        path.append(there)
        chances.append(float(transitions[there, here]))
        if there in latest:
            cycles.append((latest[there] + 1, position))
            begin = latest[there]
            latest = {node: visit for node, visit in latest.items() if visit < begin}
        latest[there] = position
    return Walk(tuple(path), tuple(chances), tuple(cycles))
