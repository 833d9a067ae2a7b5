"""The twin of draws of projective trees: the chart, and a tree by 2 n choices from its top.

``right[i][j]`` adds up what may hang from i to its right, if that is all of i + 1 .. j; ``left``
likewise what hangs from j; ``gap`` what lies between the ends of an arc. ``arc_right`` and
``arc_left`` are the gap times the weight of the arc i -> j, or j -> i.

Only the chart is here: where the library draws trees of the wider kind until one is projective, it
draws as :mod:`verification.twin_popping` does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arborand.randomness import stream_key
from verification.laws import FloatArray, HeadsArray
from verification.trials import Sampler
from verification.twin_ancestral import in_double_or_unbounded
from verification.twin_numbers import Arithmetic, Key, Numbers, Stream

UNIT = 2.0**62
"""Shares of a choice are rounded down to multiples of 2^-62."""


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

    def draw(self, stream: Stream) -> HeadsArray:
        """Draw a tree."""
        heads = np.full(self.num_words + 1, -1, dtype=np.int32)
        waiting: list[tuple[str, int, int]] = [("right", 0, self.num_words)]
        while waiting:
            part, i, j = waiting.pop()
            if part == "gap":
                count = 1 if i == 0 and self.single_root else j - i
                terms = [self.right[i, k] * self.left[k + 1, j] for k in range(i, i + count)]
                k = i + self.choose_split(terms, self.gap[i, j], stream)
                waiting += [("left", k + 1, j)] * (k + 1 < j) + [("right", i, k)] * (i < k)
            elif part == "right":
                terms = [self.term(i, k, j) for k in range(i + 1, j + 1)]
                k = i + 1 + _choose(terms, self.right[i, j], stream)
                heads[k] = i
                waiting += [("right", k, j)] * (k < j) + [("gap", i, k)]
            else:
                terms = [self.left[i, k] * self.arc_left[k, j] for k in range(i, j)]
                k = i + _choose(terms, self.left[i, j], stream)
                heads[k] = j
                waiting += [("left", i, k)] * (i < k) + [("gap", k, j)]
        return heads

    def term(self, i: int, k: int, j: int) -> Any:
        """Add up what has k as the farthest dependent of i, up to j."""
        return self.arc_right[i, k] * self.right[k, j]

    def choose_split(self, terms: list[Any], total: Any, stream: Stream) -> int:
        """Draw where what hangs from the left end of an arc ends."""
        return _choose(terms, total, stream)


class SplitsEvenly(Chart):
    """A fault: what lies between the ends of an arc is split anywhere."""

    def choose_split(self, terms: list[Any], total: Any, stream: Stream) -> int:
        """Draw one of the splits that are possible, whatever hangs on either side."""
        possible = [index for index, term in enumerate(terms) if term]
        return possible[stream.next() * len(possible) >> 64]


class ForgetsTheRest(Chart):
    """A fault: the farthest dependent is drawn without what hangs from it on the far side."""

    def term(self, i: int, k: int, j: int) -> Any:
        """Leave out how many ways there are to go on from k to j."""
        term = self.arc_right[i, k] * self.right[k, j]
        return min(self.arc_right[i, k], self.right[i, j]) if term else term


def twin_sampler(kind: type[Chart] = Chart, *, single_root: bool) -> Sampler:
    """Make a sampler of the twin, or of the twin with a fault."""

    def sample_by_twin(log_weights: FloatArray, num_draws: int, seed: int) -> HeadsArray:
        return sample(
            log_weights, num_draws, single_root=single_root, key=stream_key(seed), kind=kind
        )

    return sample_by_twin


def _choose(terms: list[Any], total: Any, stream: Stream) -> int:
    """Draw in proportion to terms; what rounding leaves over goes to the heaviest."""
    if len(terms) == 1:
        return 0
    if isinstance(total, float) and total >= 2.0**-900:
        shares = [int(term * (UNIT / total)) for term in terms]
    else:
        shares = [int(float(term / total) * UNIT) if term else 0 for term in terms]
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
    """Draw with replacement from one graph, from the chart.

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
        return np.stack([chart.draw(stream) for stream in streams])

    return in_double_or_unbounded(log_weights, draw, single_root=single_root)
