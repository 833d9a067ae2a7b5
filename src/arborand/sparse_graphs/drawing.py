"""Draw trees from a sparse graph: walk, jump over pairs, eliminate, or say why not.

Each stage starts from fresh random numbers and is abandoned at a point that does not depend on the
tree it would have drawn (docs/mathematics.md), so that the next stage may take over. All draws that
one stage leaves unfinished go to the next one together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arborand import _core

STEPS_PER_ARC = 64
"""Steps that a walk may take by default, plus a few: grids and random graphs take 2 to 5."""


class Counts(NamedTuple):
    """The work that the draws of one call took, for tests that count work instead of timing it."""

    steps: int
    jumping_draws: int
    jumping_steps: int
    elimination_draws: int


@dataclass(frozen=True)
class Budgets:
    """When a stage is abandoned.

    Attributes
    ----------
    steps : int
        The steps of the walk, for each tree.
    popped : int
        The arcs in loops that the walk with jumps may erase, for each tree; those between partners
        are not counted.
    """

    steps: int
    popped: int

    @classmethod
    def of(cls, num_arcs: int, max_steps: int | None) -> Budgets:
        """Choose budgets for a graph, or divide the number of steps that a user allows."""
        if max_steps is None:
            max_steps = 2 * (STEPS_PER_ARC * num_arcs + 4096)
        return cls(max_steps - max_steps // 2, max_steps // 2)


class Unfinished(NamedTuple):
    """Draws that no stage could finish."""

    draws: NDArray[np.uint64]
    caught: NDArray[np.int32]


def draw(
    graph: _core.SparseGraph,
    root: int,
    draws: NDArray[np.uint64],
    heads: NDArray[np.int32],
    *,
    key: tuple[int, int],
    workers: int,
    budgets: Budgets,
    eliminate: Callable[[], _core.Elimination | None],
    lanes: int = 0,
) -> tuple[Counts, Unfinished | None]:
    """Fill row i of `heads` with draw ``draws[i]``; the root's entry is not written.

    `eliminate` is called once walks have been abandoned; it returns None if elimination would take
    too much work.
    """
    caught = np.empty(len(draws), dtype=np.int32)
    steps = graph.walk(root, workers, *key, draws, budgets.steps, lanes, heads, caught)
    open_rows = np.flatnonzero(caught >= 0)
    if not len(open_rows):
        return Counts(steps, 0, 0, 0), None

    num_jumping = len(open_rows)
    rest = np.empty((num_jumping, heads.shape[1]), dtype=np.int32)
    still_caught = np.empty(num_jumping, dtype=np.int32)
    jumped = graph.walk_pairs(
        root, workers, *key, draws[open_rows], budgets.popped, rest, still_caught
    )
    heads[open_rows] = rest
    is_open = still_caught >= 0
    open_rows, still_caught = open_rows[is_open], still_caught[is_open]
    if not len(open_rows):
        return Counts(steps, num_jumping, jumped, 0), None

    elimination = eliminate()
    if elimination is None:
        return Counts(steps, num_jumping, jumped, 0), Unfinished(draws[open_rows], still_caught)
    rest = np.empty((len(open_rows), heads.shape[1]), dtype=np.int32)
    elimination.draw(workers, *key, draws[open_rows], rest)
    heads[open_rows] = rest
    return Counts(steps, num_jumping, jumped, len(open_rows)), None
