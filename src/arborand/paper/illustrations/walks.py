"""Walks of Wilson's algorithm (the paper's Fig. 2), with everything that happens on them.

The tree is the one that overwriting pointers gives; here the walk itself is kept too, and with it
the cycles that overwriting erases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_STEPS = 300


@dataclass(frozen=True)
class Walk:
    """One walk of Wilson's algorithm.

    Attributes
    ----------
    path : tuple of int
        The nodes in the order of their visits; only the last was in the tree before.
    chances : tuple of float
        The probability of each step.
    cycles : tuple of (int, int)
        For each erased cycle its first and last position in `path`: what follows a node up to its
        next visit.  Cycles lie side by side or in one another.
    """

    path: tuple[int, ...]
    chances: tuple[float, ...]
    cycles: tuple[tuple[int, int], ...]

    def kept(self, length: int | None = None) -> list[int]:
        """List the positions of the path (or of its beginning) that no cycle erased so far."""
        length = len(self.path) if length is None else length
        closed = [(begin, end) for begin, end in self.cycles if end < length]
        return [
            position
            for position in range(length)
            if not any(begin <= position <= end for begin, end in closed)
        ]

    @property
    def remaining(self) -> tuple[int, ...]:
        """The nodes of what remains: a path from the walk's first node to the tree."""
        return tuple(self.path[position] for position in self.kept())


def walk_to_tree(
    transitions: NDArray[np.float64],
    start: int,
    members: set[int],
    rng: np.random.Generator,
    taken: int,
) -> Walk:
    """Walk from a word until the tree is met, and find the cycles in the order of their closing.

    `taken` is the number of steps of earlier walks.
    """
    path = [start]
    chances: list[float] = []
    cycles: list[tuple[int, int]] = []
    latest = {start: 0}  # of the nodes on the path as erased so far, the position of the last visit
    while path[-1] not in members:
        if taken + len(chances) == MOST_STEPS:
            raise ValueError(
                f"log_weights leads to walks of more than {MOST_STEPS} steps, too long for a "
                "picture: use another rng, or larger weights of arcs from the root"
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
