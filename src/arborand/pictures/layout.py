"""The positions of the words, arcs and labels of a diagram with all words on one line.

In the page, layout.js computes the same, and also breaks long sentences into lines.  It uses the
constants of this module; a test compares the coordinates of both.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, NamedTuple

from arborand.pictures.markup import LONGEST_WORD, brief_percent, shorten, text_width

if TYPE_CHECKING:
    from collections.abc import Sequence

# Font sizes: of words, of labels on arcs, and of the rows below words.
WORD_SIZE, LABEL_SIZE, ROW_SIZE = 15, 11, 10
# The space for a word: enough for "100 %" between the arrows into its neighbours.
WORD_GAP, LEAST_SLOT = 14, 39
LONGEST_ROW = 18  # characters of a part of speech or a relation
MARGIN = 10
# Above the highest arc, there is space for root arcs, which begin at ROOT_TOP, and their labels.
ROOT_ROOM, ROOT_TOP, ROOT_LABEL = 34, 16, 9
# Below the ends of the arcs, the "ground": the word, and rows of smaller text.
WORD_ROOM, ROW_ROOM = 32, 13
WORD_BASELINE, ROW_BASELINE = 20, 39
# Arcs begin and end a little beside the middle of a word.
OUT, IN = 7, 2.5
# Arcs rise with the logarithm of their length: 75 words stay as legible as seven.
LEAST_RISE, RISE_PER_OCTAVE, FIRST_OCTAVE = 26, 44, 3
LEAST_TOP = 30  # the minimum height of the highest arc
# Labels: arcs that are nearly certain or rare get none; others get one if there is space, at the
# apex or near it.
LEAST_LABELLED, MOST_LABELLED = 0.03, 0.97
LABEL_SPOTS = (0.5, 0.38, 0.62, 0.28, 0.72, 0.2, 0.8)
LABEL_DROP = 4  # from the middle of a label to its baseline
# A head with less entropy than this counts as certain: for 97 % against 3 % it is 0.13 nats.
UNCERTAIN_NATS = 0.2
NATS_ROOM = 46  # the width of "0.4 nats"; on a page, whose legend has the unit, a number is enough
# Opacities: of arcs of probability 0, and of the marks of words that are uncertain.
FAINTEST = 0.14
LEAST_HEAT, MOST_HEAT, HOTTEST_NATS = 0.15, 0.55, 1.5

Point = tuple[float, float]


def constants_script() -> str:
    """Write the constants of this module for the page's scripts."""
    constants = {
        name: value
        for name, value in globals().items()
        if name.isupper() and name != "TYPE_CHECKING"
    }
    return f"const SIZES = {json.dumps(constants)};\n"


class Arc(NamedTuple):
    """An arc to draw; `role` is ``"tree"``, ``"other"``, ``"gold"`` or ``"candidate"``."""

    head: int
    dependent: int
    probability: float | None
    role: str


class Label(NamedTuple):
    """A text on an arc, centred on (x, y)."""

    arc: Arc
    x: float
    y: float
    text: str


class Layout:
    """The coordinates of a diagram of words in one line.

    Attributes
    ----------
    middles : list of float
        The x coordinate of the middle of every node; that of the root is unused.
    width : float
    right_to_left : bool
    ground : float
        The y coordinate at which arcs end, above the words.
    """

    def __init__(self, slots: Sequence[float], arcs: Sequence[Arc], *, right_to_left: bool) -> None:
        self._arcs = arcs
        self.right_to_left = right_to_left
        self.middles = [0.0]
        edge = float(MARGIN)
        for slot in slots:
            self.middles.append(edge + slot / 2)
            edge += slot
        self.width = edge + MARGIN
        if right_to_left:
            self.middles = [0.0, *(self.width - middle for middle in self.middles[1:])]
        highest = max((_rise(arc) for arc in arcs if arc.head), default=0.0)
        self.ground = ROOT_ROOM + max(highest, LEAST_TOP)

    def height(self, num_rows: int) -> float:
        """Return the height of a diagram with rows of text below the words."""
        return self.ground + WORD_ROOM + ROW_ROOM * num_rows

    def curve(self, arc: Arc) -> tuple[Point, Point, Point, Point]:
        """Return the points of an arc's cubic Bezier curve."""
        if arc.head == 0:
            x = self.middles[arc.dependent]
            return ((x, ROOT_TOP), (x, ROOT_TOP), (x, self.ground), (x, self.ground))
        side = 1 if self.middles[arc.dependent] > self.middles[arc.head] else -1
        begin, end = self.middles[arc.head] + side * OUT, self.middles[arc.dependent] - side * IN
        top = self.ground - 4.0 / 3.0 * _rise(arc)  # a curve rises to 3/4 of its control points
        return ((begin, self.ground), (begin, top), (end, top), (end, self.ground))

    def labels(self, size: float = LABEL_SIZE) -> list[Label]:
        """Place labels: on root arcs, then on arcs that are neither sure nor rare, likeliest first.

        An arc gets no label if there is no space for it.
        """
        labels = []
        from_root = [arc for arc in self._arcs if arc.head == 0]
        likeliest = max((_probability(arc) for arc in from_root), default=1.0)
        for arc in from_root:
            share = _probability(arc)
            text = "root" if share >= min(likeliest, MOST_LABELLED) else ""
            if share < MOST_LABELLED:
                text = f"{text} {brief_percent(share)}".strip()
            labels.append(Label(arc, self.middles[arc.dependent], ROOT_LABEL, text))
        taken = [(label.x, label.y, text_width(label.text, size) / 2) for label in labels]
        for arc in sorted(self._arcs, key=lambda arc: -(arc.probability or 0.0)):
            if arc.head == 0 or arc.probability is None:
                continue
            if not LEAST_LABELLED <= arc.probability < MOST_LABELLED:
                continue
            text = brief_percent(arc.probability)
            half = text_width(text, size) / 2
            points = self.curve(arc)
            for spot in LABEL_SPOTS:
                x, y = _bezier(points, spot)
                if all(abs(x - u) > half + h + 2 or abs(y - v) > size for u, v, h in taken):
                    taken.append((x, y, half))
                    labels.append(Label(arc, x, y, text))
                    break
        return labels


def slots(tokens: Sequence[str], below: Sequence[Sequence[str]] = ()) -> list[float]:
    """Return the width that each word gets, for itself and for the rows below it."""
    answer = []
    for position, token in enumerate(tokens):
        rows = [text_width(shorten(row[position], LONGEST_ROW), ROW_SIZE) + 6 for row in below]
        word = text_width(shorten(token, LONGEST_WORD), WORD_SIZE) + WORD_GAP
        answer.append(max(word, LEAST_SLOT, *rows))
    return answer


def heat(entropy: float) -> float:
    """Return the opacity of the mark of an uncertain word."""
    return LEAST_HEAT + (MOST_HEAT - LEAST_HEAT) * min(1.0, entropy / HOTTEST_NATS)


def _probability(arc: Arc) -> float:
    """Return the probability of an arc; 1 if it has none."""
    return 1.0 if arc.probability is None else arc.probability


def _rise(arc: Arc) -> float:
    """Return the height of an arc between words."""
    length = abs(arc.head - arc.dependent)
    return LEAST_RISE + RISE_PER_OCTAVE * math.log2(1.0 + (length - 1) / FIRST_OCTAVE)


def _bezier(points: Sequence[Point], t: float) -> Point:
    shares = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
    x = sum(share * point[0] for share, point in zip(shares, points, strict=True))
    y = sum(share * point[1] for share, point in zip(shares, points, strict=True))
    return x, y
