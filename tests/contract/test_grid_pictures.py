"""Mazes and walks on grids: the pictures show the trees and the loops that they are made of."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from arborand.paper.illustrations import grid_walk
from arborand.pictures import maze
from arborand.pictures.mazes import CELL, MARGIN, grid_edges, grid_tree, maze_of


def walls_of(svg, columns):
    """Read from the picture which neighbours have a wall between them."""
    (path,) = re.findall(r'class="walls" d="([^"]*)"', svg)
    walls = set()
    for x, y, direction in re.findall(rf"M([\d.]+) ([\d.]+)([vh]){CELL:g}(?=M|$)", path):
        column, row = (float(x) - MARGIN) / CELL, (float(y) - MARGIN) / CELL
        right_or_below = int(row) * columns + int(column)
        walls.add((right_or_below - (1 if direction == "v" else columns), right_or_below))
    return walls


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 6), (7, 1), (6, 9)])
def test_a_maze_has_walls_exactly_where_the_tree_has_no_edge(rows, columns):
    heads = grid_tree(rows, columns, 5)
    svg = maze(rows, columns, rng=5)
    edges = {tuple(sorted((node, int(head)))) for node, head in enumerate(heads) if head >= 0}
    neighbours = {(int(a), int(b)) for a, b in zip(*grid_edges(rows, columns), strict=True)}
    assert walls_of(svg, columns) == neighbours - edges
    assert len(edges) == rows * columns - 1
    ElementTree.fromstring(svg)


def test_the_way_through_a_maze_follows_its_doors():
    heads = grid_tree(8, 11, 2)
    svg = maze_of(heads, 11, solution=True)
    (points,) = re.findall(r'class="way" points="([^"]*)"', svg)
    way = [
        int((float(y) - MARGIN) // CELL) * 11 + int((float(x) - MARGIN) // CELL)
        for x, y in (point.split(",") for point in points.split())
    ]
    assert (way[0], way[-1]) == (0, 87)
    for node, head in pairwise(way):
        assert heads[node] == head
    assert 'class="way"' not in maze_of(heads, 11, solution=False)


def test_the_same_seed_gives_the_same_maze():
    assert maze(9, 9, rng=1) == maze(9, 9, rng=1)
    assert maze(9, 9, rng=1) != maze(9, 9, rng=2)
    with pytest.raises(ValueError, match="rows is 0"):
        maze(0, 5)


@pytest.mark.parametrize("seed", range(5))
def test_a_walk_on_a_grid_goes_to_neighbours_and_leaves_a_path(seed):
    picture = grid_walk(4, 6, rng=seed)
    neighbours = {frozenset(map(int, pair)) for pair in zip(*grid_edges(4, 6), strict=True)}
    assert all(frozenset(step) in neighbours for step in pairwise(picture.walk.path))
    remaining = picture.walk.remaining
    assert (remaining[0], remaining[-1]) == (0, 23)
    assert len(set(remaining)) == len(remaining)
    for cycle in picture.walk.cycles:
        loop = picture.walk.loop(cycle)
        assert loop[0] == loop[-1]
        assert len(set(loop[:-1])) == len(loop) - 1
        assert all(frozenset(step) in neighbours for step in pairwise(loop))


def test_the_pictures_of_a_walk_show_every_loop_and_every_step():
    picture = grid_walk(5, 5, rng=0)
    loops = [picture.walk.loop(cycle) for cycle in picture.walk.cycles]
    assert loops
    ElementTree.fromstring(picture.svg)
    assert picture.svg.count('class="erased"') == sum(len(loop) > 3 for loop in loops)
    assert picture.html.count('class="step"') == len(picture.walk.path)
    assert picture.html.count("has closed") == len(loops)


def test_a_grid_that_is_not_legible_is_refused():
    with pytest.raises(ValueError, match="legible up to 12 by 12"):
        grid_walk(13, 3, rng=0)
    with pytest.raises(ValueError, match="columns is 1"):
        grid_walk(3, 1, rng=0)


def test_every_transition_on_a_grid_has_the_same_chance():
    walk = grid_walk(3, 3, rng=np.random.default_rng(0)).walk
    degree = {0: 2, 1: 3, 2: 2, 3: 3, 4: 4, 5: 3, 6: 2, 7: 3, 8: 2}
    for node, chance in zip(walk.path, walk.chances, strict=False):
        assert chance == pytest.approx(1 / degree[node])
