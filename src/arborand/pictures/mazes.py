"""A uniform spanning tree of a grid, drawn as a maze: cells are nodes, edges are open doors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arborand.arguments import check_count
from arborand.pictures.markup import VERMILION
from arborand.sparse_graphs import SparseSpanningTrees

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arborand.randomness import Seed

CELL = 14.0
MARGIN = 6.0


def maze(rows: int, columns: int, *, rng: Seed = None, solution: bool = True) -> str:
    """Draw a maze: every spanning tree of the grid is equally likely.

    Parameters
    ----------
    rows, columns : int
        The numbers of rows and columns of cells, at least 1.
    rng : int, numpy.random.Generator, numpy.random.SeedSequence or None
        The source of randomness.
    solution : bool
        Whether to draw the path from the first cell to the last.

    Returns
    -------
    str
        An SVG element.  There is exactly one path between any two cells.

    Examples
    --------
    >>> maze(5, 8, rng=0).startswith("<svg")
    True
    """
    rows = check_count(rows, "rows", 1)
    columns = check_count(columns, "columns", 1)
    heads = grid_tree(rows, columns, rng)
    return maze_of(heads, columns, solution=solution)


def grid_edges(rows: int, columns: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """List the edges of a grid whose nodes are numbered row by row."""
    node = np.arange(rows * columns).reshape(rows, columns)
    return (
        np.concatenate([node[:, :-1].ravel(), node[:-1].ravel()]),
        np.concatenate([node[:, 1:].ravel(), node[1:].ravel()]),
    )


def grid_tree(rows: int, columns: int, rng: Seed) -> NDArray[np.int32]:
    """Draw a uniform spanning tree of a grid whose root is the last cell."""
    trees = SparseSpanningTrees.from_edges(
        *grid_edges(rows, columns),
        num_nodes=rows * columns,
        root=rows * columns - 1,
        directed=False,
    )
    return trees.sample(rng=rng)


def maze_of(heads: NDArray[np.int32], columns: int, *, solution: bool) -> str:
    """Draw walls where a tree of a grid has no edge, and the path from first to last cell."""
    rows = len(heads) // columns
    is_open = {frozenset((node, int(head))) for node, head in enumerate(heads) if head >= 0}
    walls = []
    for row in range(rows):
        for column in range(columns):
            node = row * columns + column
            x, y = MARGIN + column * CELL, MARGIN + row * CELL
            if column + 1 < columns and frozenset((node, node + 1)) not in is_open:
                walls.append(f"M{x + CELL:g} {y:g}v{CELL:g}")
            if row + 1 < rows and frozenset((node, node + columns)) not in is_open:
                walls.append(f"M{x:g} {y + CELL:g}h{CELL:g}")
    width, height = columns * CELL, rows * CELL
    # The outer wall has a door at the first cell and one at the last.
    border = (
        f"M{MARGIN + CELL:g} {MARGIN:g}h{width - CELL:g}v{height:g}"
        f"M{MARGIN + width - CELL:g} {MARGIN + height:g}h{CELL - width:g}"
        f"v{-height:g}"
    )
    way = ""
    if solution:
        path = [0]
        while heads[path[-1]] >= 0:
            path.append(int(heads[path[-1]]))
        points = " ".join(
            f"{MARGIN + (node % columns + 0.5) * CELL:g},"
            f"{MARGIN + (node // columns + 0.5) * CELL:g}"
            for node in path
        )
        way = (
            f'<polyline class="way" points="{points}" fill="none" stroke="{VERMILION}" '
            'stroke-width="3" stroke-linejoin="round" stroke-linecap="round"/>'
        )
    full_width, full_height = f"{width + 2 * MARGIN:g}", f"{height + 2 * MARGIN:g}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{full_width}" height="{full_height}" '
        f'viewBox="0 0 {full_width} {full_height}" role="img" '
        f'aria-label="A maze of {rows} by {columns} cells: a uniform spanning tree">'
        f'{way}<path class="walls" d="{"".join(walls)}{border}" fill="none" '
        'stroke="currentColor" stroke-width="2" stroke-linecap="square"/></svg>'
    )
