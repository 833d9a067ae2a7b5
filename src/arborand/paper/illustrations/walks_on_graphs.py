"""Wilson's algorithm step by step: walks, the cycles erased from them, and what remains.

This follows the paper's Fig. 1, for a whole run of its Fig. 2: from each word that is not yet in
the tree, a walk goes from dependent to head until it meets the tree.  Arrows of walks point in the
direction of the walk, to the head; arcs of the tree point from head to dependent, as in the paper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from arborand.distributions import SpanningTrees
from arborand.paper.illustrations.graph_drawing import (
    GraphDrawing,
    Line,
    Place,
    arrow,
    capsule,
    check_labels,
    quoted,
)
from arborand.paper.illustrations.steps import Step, steps_page
from arborand.paper.illustrations.walks import Walk, random_generator, walk_to_tree
from arborand.pictures.markup import (
    GREY,
    VERMILION,
    escape,
    percent,
    shorten,
    svg_picture,
    text_width,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from arborand.randomness import Seed

_ROW_WIDTH = 1000.0
_LINE_HEIGHT = 58.0
_HEADING_ROOM = 24.0


@dataclass(frozen=True, eq=False)
class WalkPicture:
    """A run of Wilson's algorithm and its pictures.

    Attributes
    ----------
    labels : tuple of str
        The names of all nodes, the root first.
    walks : tuple of Walk
    heads : ndarray of int32, shape (n + 1,)
        The tree that the loop-erased paths form.
    log_prob : float
        Its log-probability.
    transitions : ndarray of float64, shape (n + 1, n + 1)
        ``transitions[head, dependent]``: the probability of a step from dependent to head.
    """

    labels: tuple[str, ...]
    walks: tuple[Walk, ...]
    heads: NDArray[np.int32]
    log_prob: float
    transitions: NDArray[np.float64]

    @property
    def svg(self) -> str:
        """Every walk with its erased cycles, what remains of it, and the tree, in one SVG."""
        parts = []
        y = 8.0
        width = 0.0
        for walk in self.walks:
            start = quoted(self.labels[walk.path[0]])
            number = len(walk.cycles)
            erased = "no cycle" if not number else "1 cycle" if number == 1 else f"{number} cycles"
            shown = {f"Walk from {start}, {erased} erased": walk}
            if walk.cycles:
                shown["What remains"] = Walk(walk.remaining, (), ())
            for heading, one in shown.items():
                row, row_width, row_height = self._row(one, len(one.path))
                parts.append(_heading(y, heading) + _moved(row, y))
                y += row_height + _HEADING_ROOM
                width = max(width, row_width)
            y += 10
        drawing = GraphDrawing(self.labels)
        tree = drawing.body(self._tree_lines(self._members(len(self.walks))))
        caption = f"The tree, with probability {percent(math.exp(self.log_prob))}"
        parts.append(_heading(y, caption) + _moved(tree, y))
        height = y + _HEADING_ROOM + drawing.height
        width = max(width, drawing.width, text_width(caption, 14) + 24)
        label = " ".join(self._walk_in_words(walk) for walk in self.walks)
        return svg_picture("walks", label, width, height, "".join(parts))

    @property
    def html(self) -> str:
        """A page that shows the run one step at a time."""
        return steps_page(
            "Loop-erased random walks",
            "Wilson's algorithm draws a spanning tree: walks from dependent to head until they "
            "meet the tree; cycles are erased, and what remains joins the tree. The walk's arrows, "
            "blue, point to the head; the tree's arcs point to the dependent.",
            self._steps(),
        )

    def _repr_html_(self) -> str:
        return self.svg

    # ---- the steps

    def _steps(self) -> list[Step]:
        drawing = GraphDrawing(self.labels)
        name = [quoted(label) for label in self.labels].__getitem__
        steps = [
            Step(
                drawing.svg(
                    [Line(int(j), int(i), "faint") for i, j in np.argwhere(self.transitions > 0)],
                    label="The tree consists of the root only",
                    filled=[0],
                ),
                "The tree consists of the root only. Faint: the steps that a walk can take.",
            )
        ]
        for index, walk in enumerate(self.walks):
            members = self._members(index)
            for length in range(2, len(walk.path) + 1):
                here, there = walk.path[length - 2], walk.path[length - 1]
                caption = (
                    f"The walk goes from {name(here)} to {name(there)}, which it does with "
                    f"probability {percent(walk.chances[length - 2])}."
                )
                if length == 2:
                    caption = f"A walk begins at {name(walk.path[0])}. {caption}"
                closed = (walk.loop(cycle) for cycle in walk.cycles if cycle[1] == length - 1)
                loop = next(closed, [])
                if loop:
                    caption += (
                        f" It has been at {name(there)} before: the cycle "
                        f"{' → '.join(map(name, loop))} is erased."
                    )
                elif length == len(walk.path):
                    joined = " → ".join(map(name, walk.remaining))
                    caption += f" There it meets the tree: {joined} joins it."
                lines = self._tree_lines(members)
                lines += [
                    Line(walk.path[a], walk.path[b], "walked")
                    for a, b in pairwise(walk.kept(length))
                ]
                lines += [Line(a, b, "erased") for a, b in pairwise(loop)]
                row, width, height = self._row(walk, length)
                strip = svg_picture("strip", caption, width, height, row)
                graph = drawing.svg(lines, label=caption, filled=members, current=there)
                steps.append(Step(strip + graph, caption))
        caption = (
            "All words are in the tree. A tree is drawn with probability "
            "proportional to the product of its weights; this one with "
            f"{percent(math.exp(self.log_prob))}."
        )
        everyone = self._members(len(self.walks))
        last = drawing.svg(self._tree_lines(everyone), label=caption, filled=everyone)
        return [*steps, Step(last, caption)]

    def _members(self, index: int) -> set[int]:
        """Return the nodes of the tree before a walk."""
        return {0}.union(*(walk.remaining for walk in self.walks[:index]))

    def _tree_lines(self, members: set[int]) -> list[Line]:
        return [Line(int(self.heads[j]), j, "drawn") for j in sorted(members - {0})]

    def _walk_in_words(self, walk: Walk) -> str:
        names = self.labels
        caption = f"The walk {' to '.join(names[node] for node in walk.path)}"
        if not walk.cycles:
            return f"{caption} has no cycle."
        return f"{caption} becomes {' to '.join(names[node] for node in walk.remaining)}."

    # ---- a walk as a row of nodes

    def _row(self, walk: Walk, length: int) -> tuple[str, float, float]:
        """Draw the first `length` nodes of a walk in a row, broken into lines if it is long."""
        names = [shorten(self.labels[node]) for node in walk.path[:length]]
        halves = [max(14.0, text_width(name, 15) / 2 + 7) for name in names]
        places: list[Place] = []
        x, y, width = 16.0, _LINE_HEIGHT / 2, 0.0
        for half in halves:
            if x + 2 * half > _ROW_WIDTH and places:
                x, y = 46.0, y + _LINE_HEIGHT
            places.append(Place(x + half, y, half))
            x += 2 * half + 30
            width = max(width, x - 30 + 16)
        closed = [cycle for cycle in walk.cycles if cycle[1] < length]
        kept = set(walk.kept(length))
        parts = []
        for begin, end in sorted(closed, key=lambda cycle: cycle[0] - cycle[1]):  # outer ones first
            depth = sum(b <= begin and end <= e for b, e in closed) - 1
            parts += _shades(places[begin : end + 1], depth)
        for before, after in pairwise(places):
            begin_x = before.x + before.half_width + 2
            if before.y == after.y:
                end_x, end_y = after.x - after.half_width - 3, after.y
            else:  # at a line break the arrow is drawn twice: after this node, before the next
                end_x, end_y = begin_x + 22, before.y
                left = after.x - after.half_width
                parts.append(arrow(_straight(left - 24, left - 3, after.y), "walked"))
            parts.append(arrow(_straight(begin_x, end_x, end_y), "walked"))
        for position, (place, text) in enumerate(zip(places, names, strict=True)):
            last = position == len(walk.path) - 1
            kind = "gone" if position not in kept else "filled" if last else "open"
            parts.append(capsule(place, text, kind))
        return "".join(parts), width + 30 * (y > _LINE_HEIGHT), y + _LINE_HEIGHT / 2


def loop_erased_walk(
    log_weights: ArrayLike, *, rng: Seed, labels: Sequence[str] | None = None
) -> WalkPicture:
    """Run Wilson's algorithm and keep every step.

    Parameters
    ----------
    log_weights : array_like, shape (n + 1, n + 1)
        The scores of a small graph, of at most 12 words.
    rng : int, numpy.random.Generator, numpy.random.SeedSequence or None
        The source of randomness; a Generator is used directly, one number per step.
    labels : sequence of str, optional
        Names for the words, without the root.

    Returns
    -------
    WalkPicture
        Has an ``svg`` of all walks and what remains of them, and ``html`` that shows one step at a
        time.

    Raises
    ------
    ValueError
        If the walks take more than 300 steps, as they do on graphs with small root weights.

    Examples
    --------
    >>> picture = loop_erased_walk([[0, 1, 1], [0, 0, 1], [0, 1, 0]], rng=0)
    >>> picture.walks[0].path[0], picture.walks[0].remaining[-1]
    (1, 0)
    """
    distribution = SpanningTrees(log_weights)
    names = check_labels(labels, distribution)
    num_words = len(names) - 1
    columns = distribution.log_weights[:, 1:]
    transitions = np.zeros((num_words + 1, num_words + 1))
    transitions[:, 1:] = np.exp(columns - columns.max(axis=0))
    transitions[:, 1:] /= transitions[:, 1:].sum(axis=0)
    heads = np.full(num_words + 1, -1, dtype=np.int32)
    generator = random_generator(rng)
    members = {0}
    walks: list[Walk] = []
    for start in range(1, num_words + 1):
        if start in members:
            continue
        taken = sum(len(walk.chances) for walk in walks)
        walk = walk_to_tree(transitions, start, members, generator, taken)
        path = walk.remaining
        heads[list(path[:-1])] = path[1:]
        members.update(path)
        walks.append(walk)
    log_prob = float(distribution.log_prob(heads))
    return WalkPicture(names, tuple(walks), heads, log_prob, transitions)


def _heading(y: float, words: str) -> str:
    return (
        f'<text class="heading" x="12" y="{y + 15:.1f}" font-size="14" fill="{GREY}">'
        f"{escape(words)}</text>"
    )


def _moved(body: str, y: float) -> str:
    return f'<g transform="translate(0 {y + _HEADING_ROOM:.1f})">{body}</g>'


def _straight(
    x0: float, x1: float, y: float
) -> tuple[tuple[float, float], tuple[float, float], tuple[float, float]]:
    return ((x0, y), ((x0 + x1) / 2, y), (x1, y))


def _shades(places: Sequence[Place], depth: int) -> list[str]:
    """Shade an erased cycle, line by line.  The shades of inner cycles are lower."""
    half = max(24.0 - 3.0 * depth, 17.0)
    return [
        f'<rect class="cycle" x="{line[0].x - line[0].half_width - 8:.1f}" '
        f'y="{line[0].y - half:.1f}" '
        f'width="{line[-1].x + line[-1].half_width - line[0].x + line[0].half_width + 16:.1f}" '
        f'height="{2 * half:.1f}" rx="{half:.1f}" fill="{VERMILION}" fill-opacity="0.13" '
        f'stroke="{VERMILION}" stroke-opacity="0.6" stroke-dasharray="4 3"/>'
        for y in sorted({place.y for place in places})
        if (line := [place for place in places if place.y == y])
    ]
