"""A small graph with the root in the middle and the words in a circle around it, as SVG."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, NamedTuple

from arborand.pictures.markup import (
    AMBER,
    BLUE,
    GREY,
    INK,
    VERMILION,
    escape,
    shorten,
    svg_picture,
    text_width,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arborand.distributions import TreeDistribution

MOST_WORDS = 12  # the n (n - 1) arcs of more words cannot be told apart
_SIZE = 15
_LABEL_SIZE = 12
_HALF_HEIGHT = 14.0
_GAP = 4.0  # between an arrow and the nodes that it passes
_MORE_BENDS = [0.0, *(sign * k / 10 for k in range(1, 21) for sign in (1, -1))]
_LINES = {
    # kind: (colour, width, dashes, opacity)
    "faint": (GREY, 1.0, "", 0.28),
    "candidate": (BLUE, 1.6, "5 4", 1.0),
    "chosen": (VERMILION, 2.6, "8 4", 1.0),
    "walked": (BLUE, 2.2, "", 1.0),
    "erased": (VERMILION, 2.2, "5 4", 1.0),
    "drawn": (INK, 2.4, "", 1.0),
}

Point = tuple[float, float]


class Line(NamedTuple):
    """An arrow from one node to another; `kind` is a key of ``_LINES``."""

    begin: int
    end: int
    kind: str
    label: str = ""


def quoted(label: str) -> str:
    """Put a word in quotes; numbers and the root need none."""
    return label if label.isdecimal() or label == "root" else f"“{label}”"


class Place(NamedTuple):
    """The centre of a node, and half its width."""

    x: float
    y: float
    half_width: float


def check_labels(labels: Sequence[str] | None, distribution: TreeDistribution) -> tuple[str, ...]:
    """Return the names of all nodes of a small graph, the root first."""
    if distribution.batch_shape:
        raise ValueError(
            f"log_weights is a batch of shape {distribution.batch_shape}: give one graph"
        )
    num_words = int(distribution.lengths)
    if num_words > MOST_WORDS:
        raise ValueError(
            f"log_weights has {num_words} words: illustrations show at most {MOST_WORDS}; use a "
            "smaller graph"
        )
    if labels is None:
        return ("root", *map(str, range(1, num_words + 1)))
    if len(labels) != num_words:
        raise ValueError(
            f"labels has {len(labels)} names, but log_weights has {num_words} words: pass one per "
            "word, and none for the root"
        )
    return ("root", *labels)


class GraphDrawing:
    """The positions of the nodes, which are the same in all pictures of a graph."""

    def __init__(self, labels: Sequence[str]) -> None:
        self._names = [shorten(label) for label in labels]
        halves = [max(_HALF_HEIGHT, text_width(name, _SIZE) / 2 + 7) for name in self._names]
        widest = max(halves)
        count = len(labels) - 1
        radius = max(112.0, count * (2 * widest + 30) / (2 * math.pi), halves[0] + widest + 52)
        self._radius = radius
        angles = [math.pi * (1 - (1 + 2 * k) / count) for k in range(count)]
        # Clockwise from the upper left.  Arrows may bend outwards between two nodes.
        rise = max(abs(radius * math.sin(angle)) for angle in angles) + 0.14 * radius
        self.width = 2 * (radius + widest + 12)
        self.height = 2 * (max(rise, 30.0) + _HALF_HEIGHT)
        self._middle = (self.width / 2, self.height / 2)
        self._places = [Place(*self._middle, halves[0])]
        for angle, half in zip(angles, halves[1:], strict=True):
            x = self._middle[0] + radius * math.cos(angle)
            self._places.append(Place(x, self._middle[1] - radius * math.sin(angle), half))
        self._curve = functools.cache(self._find_curve)  # pictures of one graph share most arrows

    def svg(
        self, lines: Iterable[Line], *, label: str, filled: Iterable[int] = (), current: int = -1
    ) -> str:
        """Draw the graph as a separate picture."""
        body = self.body(lines, filled=filled, current=current)
        return svg_picture("graph", label, self.width, self.height, body)

    def body(self, lines: Iterable[Line], *, filled: Iterable[int] = (), current: int = -1) -> str:
        """Draw the graph as part of a larger picture, with the node `current` highlighted."""
        order = list(_LINES)
        lines = sorted(lines, key=lambda line: order.index(line.kind))
        # The reverse of a drawn arc would close a cycle, so it never exists.
        curves = [self._curve(one.begin, one.end, straight=one.kind == "drawn") for one in lines]
        parts = [arrow(curve, line.kind) for line, curve in zip(lines, curves, strict=True)]
        filled = set(filled)
        for node, place in enumerate(self._places):
            kind = "current" if node == current else "filled" if node in filled else "open"
            parts.append(capsule(place, self._names[node], kind))
        parts += self._labels(lines, curves)
        return "".join(parts)

    def _find_curve(self, begin: int, end: int, *, straight: bool) -> tuple[Point, Point, Point]:
        """Return the three points of a quadratic curve between the rims of two nodes."""
        first, last = self._places[begin], self._places[end]
        bend = 0.0 if straight or 0 in (begin, end) else self._bend(first, last)
        others = [place for k, place in enumerate(self._places) if k not in (begin, end)]
        # An arrow that passes behind a node would look like two arrows.
        most = -math.inf
        for more in _MORE_BENDS:
            attempt = _bent(first, last, bend + more)
            clearance = _clearance(attempt, others)
            if clearance > most:
                most, whole = clearance, attempt
            if clearance >= _GAP:
                break
        t0 = _rim(whole, first, 0.0, gap=2.0)
        t1 = _rim(whole, last, 1.0, gap=3.0)
        return _part(whole, t0, t1)

    def _labels(
        self, lines: Sequence[Line], curves: Sequence[tuple[Point, Point, Point]]
    ) -> list[str]:
        """Label the arrows, the strongest first, where nodes and labels overlap least."""
        taken = [(place.x, place.y, place.half_width, _HALF_HEIGHT) for place in self._places]
        parts = []
        for line, curve in zip(reversed(lines), reversed(curves), strict=True):
            if not line.label:
                continue
            half = text_width(line.label, _LABEL_SIZE) / 2
            places = [_at(curve, t) for t in (0.5, 0.43, 0.57, 0.36, 0.64, 0.3, 0.7, 0.24, 0.76)]
            overlaps = [
                sum(
                    max(0.0, half + w + 2 - abs(x - u)) * max(0.0, 9 + h - abs(y - v))
                    for u, v, w, h in taken
                )
                for x, y in places
            ]
            x, y = places[overlaps.index(min(overlaps))]
            taken.append((x, y, half, 8.0))
            parts.append(
                f'<g class="label {line.kind}"><rect class="plate" x="{x - half:.1f}" '
                f'y="{y - 8:.1f}" width="{2 * half:.1f}" height="16" rx="4" fill="#fff"/>'
                f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" '
                f'font-size="{_LABEL_SIZE}" fill="{_LINES[line.kind][0]}">{escape(line.label)}'
                f"</text></g>"
            )
        return parts

    def _bend(self, first: Place, last: Place) -> float:
        """Return how far to the left the arrow between two words bends, as a share of its length.

        Two opposite arrows bend to different sides.  Both stay clear of the root in the middle.  If
        one of them cannot, both bend outwards, one farther than the other.
        """
        dx, dy = last.x - first.x, last.y - first.y
        length = math.hypot(dx, dy)
        x = (first.x + last.x) / 2 - self._middle[0]
        y = (first.y + last.y) / 2 - self._middle[1]
        outward = (x * dy - y * dx) / length  # how far the chord lies to the left of the middle
        clear = 0.42 * self._radius
        if abs(outward) < 1.0:  # through the middle
            apex = clear
        elif abs(outward) >= clear:
            apex = outward + 0.09 * length
            if outward < 0:
                apex = min(apex, -clear)
        else:
            apex = clear + 0.28 * self._radius if outward > 0 else -clear
        return 2.0 * (apex - outward) / length


def capsule(place: Place, name: str, kind: str) -> str:
    """Draw a node: a circle, stretched to hold its name."""
    fill = {"filled": "#dfe4e8", "current": AMBER}.get(kind, "#fff")
    dashes = ' stroke-dasharray="3 3"' if kind == "gone" else ""
    stroke = VERMILION if kind == "gone" else INK
    return (
        f'<g class="node {kind}"><rect x="{place.x - place.half_width:.1f}" '
        f'y="{place.y - _HALF_HEIGHT:.1f}" width="{2 * place.half_width:.1f}" '
        f'height="{2 * _HALF_HEIGHT}" rx="{_HALF_HEIGHT}" fill="{fill}" stroke="{stroke}" '
        f'stroke-width="1.4"{dashes}/><text x="{place.x:.1f}" y="{place.y + 5:.1f}" '
        f'text-anchor="middle" font-size="{_SIZE}" fill="{INK}">{escape(name)}</text></g>'
    )


def arrow(points: tuple[Point, Point, Point], kind: str) -> str:
    """Draw an arrow along a quadratic curve."""
    (x0, y0), (x1, y1), (x2, y2) = points
    color, width, dashes, opacity = _LINES[kind]
    dx, dy = x2 - x1, y2 - y1
    length = math.hypot(dx, dy) or 1.0
    dx, dy = dx / length, dy / length
    size = 6.0 + width
    back = (x2 - size * dx, y2 - size * dy)
    left = (back[0] + 0.45 * size * dy, back[1] - 0.45 * size * dx)
    right = (back[0] - 0.45 * size * dy, back[1] + 0.45 * size * dx)
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (
        f'<g class="line {kind}" opacity="{opacity}" stroke="{color}" fill="{color}">'
        f'<path class="stroke" d="M{x0:.1f} {y0:.1f}Q{x1:.1f} {y1:.1f} {back[0]:.1f} '
        f'{back[1]:.1f}" fill="none" stroke-width="{width}"{dashed}/>'
        f'<path class="tip" stroke="none" d="M{x2:.1f} {y2:.1f}L{left[0]:.1f} {left[1]:.1f}'
        f'L{right[0]:.1f} {right[1]:.1f}z"/></g>'
    )


def _bent(first: Place, last: Place, bend: float) -> tuple[Point, Point, Point]:
    """Return the curve between the centres of two nodes; `bend` is a share of its length."""
    dx, dy = last.x - first.x, last.y - first.y
    control = ((first.x + last.x) / 2 + bend * dy, (first.y + last.y) / 2 - bend * dx)
    return (first.x, first.y), control, (last.x, last.y)


def _clearance(curve: tuple[Point, Point, Point], places: Sequence[Place]) -> float:
    """Return the distance between a curve and the rims of nodes."""
    points = [_at(curve, k / 40) for k in range(41)]
    return min(
        (_distance(place, x, y) - _HALF_HEIGHT for place in places for x, y in points),
        default=math.inf,
    )


def _distance(place: Place, x: float, y: float) -> float:
    """Return the distance from a point to the line in the middle of a node."""
    return math.hypot(max(0.0, abs(x - place.x) - place.half_width + _HALF_HEIGHT), y - place.y)


def _at(points: Sequence[Point], t: float) -> Point:
    (x0, y0), (x1, y1), (x2, y2) = points
    a, b, c = (1 - t) ** 2, 2 * t * (1 - t), t * t
    return a * x0 + b * x1 + c * x2, a * y0 + b * y1 + c * y2


def _part(points: tuple[Point, Point, Point], t0: float, t1: float) -> tuple[Point, Point, Point]:
    """Cut a quadratic curve to the part between two of its parameters."""
    (x0, y0), (x1, y1), (x2, y2) = points
    a, b, c = (1 - t0) * (1 - t1), t0 + t1 - 2 * t0 * t1, t0 * t1  # the polar form at (t0, t1)
    control = (a * x0 + b * x1 + c * x2, a * y0 + b * y1 + c * y2)
    return _at(points, t0), control, _at(points, t1)


def _rim(points: tuple[Point, Point, Point], place: Place, inside: float, *, gap: float) -> float:
    """Return the parameter at which a curve crosses the rim of a node, by bisection."""
    outside = 0.5
    for _ in range(30):
        t = (inside + outside) / 2
        if _distance(place, *_at(points, t)) < _HALF_HEIGHT + gap:
            inside = t
        else:
            outside = t
    return outside
