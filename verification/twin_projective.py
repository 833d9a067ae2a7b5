"""The twin of draws of projective trees: the chart, and deviations from its likeliest derivation.

``right[i][j]`` adds up what may hang from i to its right, if that is all of i + 1 .. j; ``left``
likewise what hangs from j; ``gap`` what lies between the ends of an arc. ``arc_right`` and
``arc_left`` are the gap times the weight of the arc i -> j, or j -> i.

A tree is 2 n choices, from the top of the chart. A draw finds out which of them deviate from the
likeliest ones, and derives anew what is below these.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from arborand.randomness import stream_key
from verification.laws import FloatArray, HeadsArray
from verification.trials import Sampler
from verification.twin_ancestral import in_double_or_unbounded
from verification.twin_numbers import Arithmetic, Key, Numbers, Stream

UNIT = 2.0**62
"""Shares of a choice are rounded down to multiples of 2^-62."""

ONE = 1 << 63
"""Chances to deviate are integers, in units of 2^-63."""

AHEAD = 1.000001
"""By this the likeliest choice is likelier than those before it."""

Span = tuple[str, int, int]
"""An entry of the chart: its table, and the first and last node."""


class Choice(NamedTuple):
    """A choice of the likeliest derivation, and its chance to deviate, added up in its segment."""

    span: Span
    likeliest: int
    before: int
    by: int


class Chart:
    """The sums over all projective trees of a walk's weights."""

    def __init__(self, walk: Numbers, numbers: Arithmetic, *, single_root: bool) -> None:
        n = self.num_words = len(walk)
        self.single_root = single_root
        tables = np.full((5, n + 2, n + 1), numbers.zero, dtype=numbers.dtype)
        self.right, self.left, self.gap, self.arc_right, self.arc_left = tables

        def weight(head: int, dependent: int) -> Any:
            column = head - 1 if head else n + single_root
            return walk[dependent - 1, column]

        for i in range(n, -1, -1):
            right, left, gap = self.right[i], self.left[i], self.gap[i]
            right[i] = left[i] = numbers.one
            gap[i + 1 :] = self.left[i + 1, i + 1 :]
            for k in range(i + 1, n + 1):
                rest = slice(k + 1, n + 1)
                self.arc_right[i, k] = weight(i, k) * gap[k]
                right[k] = right[k] + self.arc_right[i, k]
                right[rest] = right[rest] + self.right[k, rest] * self.arc_right[i, k]
                if i > 0 or not single_root:
                    gap[rest] = gap[rest] + self.left[k + 1, rest] * right[k]
                if i > 0:
                    self.arc_left[i, k] = weight(k, i) * gap[k]
                    left[k] = left[k] + self.arc_left[i, k]
                    left[rest] = left[rest] + self.arc_left[k, rest] * left[k]

    def terms(self, span: Span) -> tuple[list[Any], Any]:
        """Give the terms of an entry, and their sum."""
        part, i, j = span
        if part == "gap":
            count = 1 if i == 0 and self.single_root else j - i
            return self.split_terms(i, j)[:count], self.gap[i, j]
        if part == "right":
            terms = [self.arc_right[i, k] * self.right[k, j] for k in range(i + 1, j + 1)]
            return terms, self.right[i, j]
        return [self.left[i, k] * self.arc_left[k, j] for k in range(i, j)], self.left[i, j]

    def draw_all(self, streams: Iterator[Stream]) -> list[HeadsArray]:
        """Draw a tree from each stream."""
        likeliest = LikeliestDerivation(self)
        return [likeliest.draw(stream) for stream in streams]

    def split_terms(self, i: int, j: int) -> list[Any]:
        """Add up what lies between i and j, by where that which hangs from i ends."""
        return [self.right[i, k] * self.left[k + 1, j] for k in range(i, j)]


class LikeliestDerivation:
    """The likeliest choice at every entry on the way, and draws that deviate from it."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        self.heads = np.full(chart.num_words + 1, -1, dtype=np.int32)
        self.choices: list[Choice] = []
        self.segment_of: list[int] = []
        waiting: list[Span] = [("right", 0, chart.num_words)]
        by = segment = 0
        while waiting:
            span = waiting.pop()
            likeliest, chance = _likeliest(*chart.terms(span))
            before, by = by, by + ((ONE - by) * chance >> 63)
            if by > ONE // 2 and before > 0:
                segment += 1
                before, by = 0, chance
            self.choices.append(Choice(span, likeliest, before, by))
            self.segment_of.append(segment)
            waiting += _follow(span, likeliest, self.heads)
        self.places = {c.span: t for t, c in enumerate(self.choices) if c.span[0] != "gap"}

    def draw(self, stream: Stream) -> HeadsArray:
        """Draw a tree."""
        heads = self.heads.copy()
        waiting = [self.choices[0].span]
        while waiting:
            span = waiting.pop()
            if span not in self.places:
                terms, total = self.chart.terms(span)
                chosen = _choose(terms, total, stream) if len(terms) > 1 else 0
                waiting += _follow(span, chosen, heads)
                continue
            place = self.places[span]
            end = place + _num_choices(span)
            while (place := self.find_deviation(place, end, stream)) < end:
                choice = self.choices[place]
                terms, _ = self.chart.terms(choice.span)
                others = [term for k, term in enumerate(terms) if k != choice.likeliest]
                chosen = _choose(others, sum(others[1:], others[0]), stream)
                waiting += _follow(choice.span, chosen + (chosen >= choice.likeliest), heads)
                place += _num_choices(choice.span)
        return heads

    def find_deviation(self, first: int, end: int, stream: Stream) -> int:
        """Find the first of the choices that deviates, segment by segment; `end` if none does."""
        while first < end:
            stop = first
            while stop < end and self.segment_of[stop] == self.segment_of[first]:
                stop += 1
            before = self.choices[first].before
            begins = first == 0 or self.segment_of[first - 1] != self.segment_of[first]
            if begins or self.choices[stop - 1].by > before:
                target = before + ((ONE - before) * stream.next() >> 64)
                for place in range(first, stop):
                    if target < self.choices[place].by:
                        return place
            first = stop
        return end


class SplitsEvenly(Chart):
    """A fault: what lies between the ends of an arc is split anywhere."""

    def split_terms(self, i: int, j: int) -> list[Any]:
        """Give all splits that are possible the same part, whatever hangs on either side."""
        terms = super().split_terms(i, j)
        possible = [term for term in terms if term]
        return [self.gap[i, j] / len(possible) if term else term for term in terms]


class ForgetsTheRest(Chart):
    """A fault: the farthest dependent is drawn without what hangs from it on the far side."""

    def terms(self, span: Span) -> tuple[list[Any], Any]:
        """Leave out how many ways there are to go on from k to j."""
        part, i, j = span
        if part != "right":
            return super().terms(span)
        terms = [self.arc_right[i, k] for k in range(i + 1, j + 1)]
        return terms, sum(terms[1:], terms[0])


def twin_sampler(kind: type[Chart] = Chart, *, single_root: bool) -> Sampler:
    """Make a sampler of the twin, or of the twin with a fault."""

    def sample_by_twin(log_weights: FloatArray, num_draws: int, seed: int) -> HeadsArray:
        return sample(
            log_weights, num_draws, single_root=single_root, key=stream_key(seed), kind=kind
        )

    return sample_by_twin


def _num_choices(span: Span) -> int:
    """Count the choices that an entry leads to, its own included."""
    part, i, j = span
    return 2 * (j - i) - (part == "gap")


def _follow(span: Span, chosen: int, heads: HeadsArray) -> list[Span]:
    """Make a choice: set the head that it decides, and list the entries that it leads to."""
    part, i, j = span
    k = i + chosen
    if part == "gap":
        return [("left", k + 1, j)] * (k + 1 < j) + [("right", i, k)] * (i < k)
    if part == "left":
        heads[k] = j
        return [("left", i, k)] * (i < k) + [("gap", k, j)]
    k += 1
    heads[k] = i
    return [("right", k, j)] * (k < j) + [("gap", i, k)]


def _shares(terms: list[Any], total: Any) -> list[float]:
    """Give the parts of terms in a total, in units of 2^-62."""
    if isinstance(total, float) and total >= 2.0**-900:
        return [term * (UNIT / total) for term in terms]
    return [float(term / total) * UNIT if term else 0.0 for term in terms]


def _likeliest(terms: list[Any], total: Any) -> tuple[int, int]:
    """Find the likeliest choice, and the chance of all others together."""
    best, *rest = _shares(terms, total)
    likeliest, others = 0, 0.0
    for k, share in enumerate(rest, start=1):
        if share > AHEAD * best:
            likeliest, best, share = k, share, best
        others += share
    return likeliest, int(2.0 * others)


def _choose(terms: list[Any], total: Any, stream: Stream) -> int:
    """Draw in proportion to terms; what rounding leaves over goes to the heaviest."""
    shares = [int(share) for share in _shares(terms, total)]
    target = stream.next() >> 2
    for index, share in enumerate(shares):
        if target < share:
            return index
        target -= share
    return shares.index(max(shares))


def sample(
    log_weights: FloatArray,
    num_draws: int,
    *,
    single_root: bool,
    key: Key,
    first_graph: int = 0,
    first_draw: int = 0,
    kind: type[Chart] = Chart,
) -> HeadsArray:
    """Draw with replacement from one graph.

    Parameters
    ----------
    log_weights : ndarray of float64, shape (words + 1, words + 1)
        The graph.
    num_draws : int
        The number of trees.
    single_root : bool
        Whether dependency trees are drawn.
    key : tuple of two int
        The key of the call.
    first_graph, first_draw : int, optional
        Where the call stands in a larger one.
    kind : type, optional
        The chart that draws.

    Returns
    -------
    ndarray of int32, shape (num_draws, words + 1)
        The trees.
    """

    def draw(walk: Numbers, numbers: Arithmetic) -> HeadsArray:
        chart = kind(walk, numbers, single_root=single_root)
        streams = (Stream(key, first_graph, first_draw + draw) for draw in range(num_draws))
        return np.stack(chart.draw_all(streams))

    return in_double_or_unbounded(log_weights, draw, single_root=single_root)
