"""A loop-erased walk on a grid, step by step.

The walk goes from the first cell to the last, to any neighbour with the same probability.  When it
returns to a cell, the loop is erased.  What remains is a path, the first branch of a uniform
spanning tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from arborand.arguments import check_count
from arborand.paper.illustrations.steps import Step, steps_page
from arborand.paper.illustrations.walks import Walk, random_generator, walk_to_tree
from arborand.pictures.markup import GREY, VERMILION
from arborand.pictures.mazes import grid_edges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arborand.randomness import Seed

_CELL = 36.0
_PANELS_PER_ROW = 4


@dataclass(frozen=True)
class GridWalk:
    """A walk on a grid and its pictures.

    Attributes
    ----------
    rows, columns : int
    walk : Walk
        Its nodes are numbered row by row.
    """

    rows: int
    columns: int
    walk: Walk

    @property
    def svg(self) -> str:
        """The walk as each loop of more than two steps closes, and at its end, in one SVG."""
        loops = [cycle for cycle in self.walk.cycles if len(self.walk.loop(cycle)) > 3]
        panels = [self._panel(cycle[1] + 1, cycle) for cycle in loops]
        panels.append(self._panel(len(self.walk.path), None))
        width, height = self._size()
        placed = "".join(
            f'<g transform="translate({i % _PANELS_PER_ROW * (width + 12):g} '
            f'{i // _PANELS_PER_ROW * (height + 12):g})">{panel}</g>'
            for i, panel in enumerate(panels)
        )
        across = min(len(panels), _PANELS_PER_ROW)
        down = -(-len(panels) // _PANELS_PER_ROW)
        return self._document(across * (width + 12), down * (height + 12), placed)

    @property
    def html(self) -> str:
        """A page that shows the walk one step at a time."""
        closing = {end: (begin, end) for begin, end in self.walk.cycles}
        steps = []
        for length in range(1, len(self.walk.path) + 1):
            cycle = closing.get(length - 1)
            if length == len(self.walk.path):
                caption = "The walk has arrived. The path that remains joins the tree."
            elif cycle:
                caption = (
                    f"A loop of {len(self.walk.loop(cycle)) - 1} steps has closed: it is erased."
                )
            else:
                caption = f"{length - 1} steps." if length > 1 else "The walk begins."
            steps.append(Step(self._document(*self._size(), self._panel(length, cycle)), caption))
        introduction = (
            f"A random walk on a grid of {self.rows} by {self.columns} cells, from the first to "
            "the last.  Loops are erased as they close."
        )
        return steps_page("Loop-erased walk on a grid", introduction, steps)

    def _size(self) -> tuple[float, float]:
        return self.columns * _CELL, self.rows * _CELL

    def _document(self, width: float, height: float, body: str) -> str:
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" '
            f'height="{height:g}" viewBox="0 0 {width:g} {height:g}" role="img" '
            f'aria-label="A loop-erased walk on a grid, {len(self.walk.cycles)} loops erased">'
            f"{body}</svg>"
        )

    def _panel(self, length: int, cycle: tuple[int, int] | None) -> str:
        """Draw the grid, what is left of the first nodes, and the loop that just closed."""
        path = self.walk.path
        erased = [] if cycle is None else self.walk.loop(cycle)
        kept = [path[i] for i in self.walk.kept(length)]
        dots = "".join(
            f'<circle cx="{x:g}" cy="{y:g}" r="3" fill="{GREY}"/>'
            for x, y in map(self._place, range(self.rows * self.columns))
        )
        goal = self._place(self.rows * self.columns - 1)
        here = self._place(path[length - 1])
        return (
            dots + f'<circle cx="{goal[0]:g}" cy="{goal[1]:g}" r="8" fill="none" '
            'stroke="currentColor" stroke-width="2"/>'
            + self._line(kept, 'class="kept" stroke="currentColor" stroke-width="4"')
            + self._line(
                erased,
                f'class="erased" stroke="{VERMILION}" stroke-width="4" stroke-dasharray="3 6"',
            )
            + f'<circle cx="{here[0]:g}" cy="{here[1]:g}" r="6" fill="{VERMILION}"/>'
        )

    def _place(self, node: int) -> tuple[float, float]:
        return (node % self.columns + 0.5) * _CELL, (node // self.columns + 0.5) * _CELL

    def _line(self, nodes: Sequence[int], style: str) -> str:
        if len(nodes) < 2:
            return ""
        points = " ".join(f"{x:g},{y:g}" for x, y in map(self._place, nodes))
        return (
            f'<polyline points="{points}" fill="none" stroke-linecap="round" '
            f'stroke-linejoin="round" {style}/>'
        )


def grid_walk(rows: int, columns: int, *, rng: Seed) -> GridWalk:
    """Walk on a grid from the first cell to the last, and keep every step.

    Parameters
    ----------
    rows, columns : int
        At least 2 and at most 12.
    rng : int, numpy.random.Generator, numpy.random.SeedSequence or None
        The source of randomness.  Walks of more than 300 steps are rejected.

    Returns
    -------
    GridWalk
        Has an ``svg`` of the erased loops, and ``html`` that shows one step at a time.

    Examples
    --------
    >>> picture = grid_walk(4, 5, rng=0)
    >>> picture.walk.path[0], picture.walk.remaining[-1]
    (0, 19)
    """
    rows, columns = check_count(rows, "rows", 2), check_count(columns, "columns", 2)
    if max(rows, columns) > 12:
        raise ValueError(
            f"the grid has {rows} by {columns} cells: a walk is legible up to 12 by 12"
        )
    num_nodes = rows * columns
    transitions = np.zeros((num_nodes, num_nodes))
    for one, other in (grid_edges(rows, columns), grid_edges(rows, columns)[::-1]):
        transitions[one, other] = 1.0
    transitions /= transitions.sum(axis=0)
    generator = random_generator(rng)
    while True:
        try:
            walk = walk_to_tree(transitions, 0, {num_nodes - 1}, generator, 0)
        except ValueError:  # too many steps for a picture
            continue
        return GridWalk(rows, columns, walk)
