"""Labels of given trees: drawn, drawn without replacement, and in the order of their scores.

Given the tree, the labels of its words are independent.  So all that is needed of a graph is the
distribution of the labels of each arc, and trees of the distribution without labels.
"""

from __future__ import annotations

import heapq
import itertools
import math
from bisect import bisect_left, insort
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from arborand.without_replacement import Draw

    # From the heads of words, (..., n), to the log-probabilities of their labels, (..., n, L).
    Rows = Callable[[NDArray[np.int32]], NDArray[np.float64]]
    # Heads and labels, padded, in an array of shape (2, m), and numbers of the labelled tree.
    RowsOfTrees = Iterator[tuple[NDArray[np.int32], NDArray[np.float64]]]

# Labels have random streams of their own, so that the trees are the same as without labels. These
# are values of the second word of Philox's counter, into which the blocks of many draws may carry.
_LABELS, _DISTINCT = 2**40, 2**41
_ROWS_AT_ONCE = 2**12
# Parts are kept in lists of at most this many.
_LONGEST_LIST = 2**6
_LOWEST = -float(np.finfo(np.float64).max)


def _stream(key: tuple[int, int], purpose: int, graph: int, first: int = 0) -> np.random.Philox:
    """Open the stream of a graph at its `first` number."""
    counter = first // 4 + (purpose << 64) + (graph << 128)
    stream = np.random.Philox(key=key[0] + (key[1] << 64), counter=counter)
    stream.random_raw(first % 4, output=False)
    return stream


def _uniform(numbers: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Make numbers between 0 and 1 of 128 random bits each."""
    uniform: NDArray[np.float64] = (numbers[..., 0] + numbers[..., 1] * 2.0**-64) * 2.0**-64
    return uniform


def _choose(weights: NDArray[np.float64], numbers: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Choose an index of the last axis, in proportion to the weights, by 128 random bits each.

    Weights are added up from the smallest to the largest, so that even an outcome of probability
    1e-30 is neither lost nor inflated: it is not small compared with the sum that ends with it.
    """
    order = np.argsort(weights, axis=-1, kind="stable")
    sums = np.take_along_axis(weights, order, axis=-1).cumsum(axis=-1)
    passed = (sums <= (_uniform(numbers) * sums[..., -1])[..., None]).sum(axis=-1)
    # All sums are passed if the number was rounded up to 1.
    place = np.minimum(passed, weights.shape[-1] - 1)
    chosen: NDArray[np.intp] = np.take_along_axis(order, place[..., None], axis=-1)[..., 0]
    return chosen


def draw_labels(
    rows_of: Rows,
    heads: NDArray[np.int32],
    key: tuple[int, int],
    graph: int,
    first_draw: int,
) -> NDArray[np.intp]:
    """Draw labels for trees of one graph, given the heads of words: shape (num_draws, n).

    Each draw reads 2 n random numbers of its own.
    """
    num_draws, num_words = heads.shape
    stream = _stream(key, _LABELS, graph, 2 * num_words * first_draw)
    labels = np.empty(heads.shape, np.intp)
    at_once = max(1, _ROWS_AT_ONCE // num_words)
    for start in range(0, num_draws, at_once):
        part = heads[start : start + at_once]
        log_chances = rows_of(part)
        numbers = stream.random_raw(2 * part.size).reshape(*part.shape, 2)
        labels[start : start + at_once] = _choose(np.exp(log_chances), numbers)
    return labels


class _Parts:
    """Disjoint sets, to take one after the other, in proportion to their masses.

    They are sorted by mass, in short lists, each with its sum relative to its largest mass.  So
    when one comes or goes, little is added up again, and nothing is subtracted.  As in `_choose`,
    sums go from the smallest mass to the largest.
    """

    def __init__(self) -> None:
        self._lists: list[list[tuple[float, int, Any]]] = []  # of log-masses, numbers and parts
        self._sums: list[float] = []
        self._numbers = itertools.count()

    def __bool__(self) -> bool:
        return bool(self._lists)

    def add(self, log_mass: float, part: Any) -> None:
        # The number decides between equal masses. A mass below all floats is still possible.
        item = (max(log_mass, _LOWEST), -1 if part is None else next(self._numbers), part)
        place = bisect_left(self._lists, item, key=itemgetter(-1))
        place = max(0, min(place, len(self._lists) - 1))
        items = self._lists[place] if self._lists else []
        insort(items, item)
        self._replace(place, items)

    def take(self, numbers: NDArray[np.uint64]) -> tuple[float, Any]:
        """Take a part, chosen by 128 random bits; return the log-mass before, and the part."""
        tops = np.array([items[-1][0] for items in self._lists])
        sums = (np.exp(tops - tops[-1]) * self._sums).cumsum()
        passed = _uniform(numbers) * sums[-1]
        place = min(int(sums.searchsorted(passed, "right")), len(sums) - 1)
        items = self._lists[place]
        within = np.exp(np.array([log_mass for log_mass, _, _ in items]) - tops[-1])
        if place:
            within[0] += sums[place - 1]
        chosen = min(int(within.cumsum().searchsorted(passed, "right")), len(items) - 1)
        _, _, part = items.pop(chosen)
        self._replace(place, items)
        return float(tops[-1] + np.log(sums[-1])), part

    def _replace(self, place: int, items: list[tuple[float, int, Any]]) -> None:
        """Store a list that has changed: in two halves if it is long, not at all if it is empty."""
        middle = len(items) // 2 if len(items) > _LONGEST_LIST else len(items)
        lists = [part for part in (items[:middle], items[middle:]) if part]
        self._lists[place : place + 1] = lists
        self._sums[place : place + 1] = [
            sum(math.exp(log_mass - one[-1][0]) for log_mass, _, _ in one) for one in lists
        ]


def draw_distinct(
    rows_of: Rows, trees: Iterator[Draw], num_words: int, key: tuple[int, int], graph: int
) -> RowsOfTrees:
    """Draw distinct labelled trees of one graph from its distinct trees, until none is left.

    Yields heads and labels, and the three numbers of `Draws`.  What is left is a union of disjoint
    parts: the labelled trees whose tree was not drawn yet and, for each tree that was drawn, sets
    of labellings with given first labels and a next label that was not drawn after them.  The
    masses of the parts are sums and products, never differences.
    """
    stream = _stream(key, _DISTINCT, graph)
    log_time = -np.inf
    coming: Any = next(trees, None)
    # A part is a tree, its log-probability, its label rows, its first labels, and the
    # log-probabilities left for the next word. None stands for what is left of `trees`.
    parts = _Parts()
    parts.add(0.0, None)
    while parts:
        log_mass, part = parts.take(stream.random_raw(2))
        log_remaining = min(0.0, log_mass)
        if part is None:
            rows = rows_of(coming.heads[1 : num_words + 1])
            tree, log_tree, labels, left = coming.heads, float(coming.log_prob), [], rows[0]
            coming = next(trees, None)
            if coming is not None:
                parts.add(float(coming.log_remaining), None)
        else:
            tree, log_tree, rows, labels, left = part
        first = len(labels)
        left = np.concatenate([left[None], rows[first + 1 :]])
        numbers = stream.random_raw(2 * len(left)).reshape(-1, 2)
        drawn = _choose(np.exp(left - left.max(axis=-1, keepdims=True)), numbers)
        labels = [*labels, *drawn.tolist()]
        with np.errstate(over="ignore"):
            log_chances = log_tree + rows[np.arange(num_words), labels].cumsum()
        # What is left at each word that was just labelled, given the labels before it.
        left[np.arange(len(left)), drawn] = -np.inf
        words = np.flatnonzero(left.max(axis=-1) > -np.inf)
        left = left[words]
        top_left = left.max(axis=-1)
        log_left = top_left + np.log(np.exp(left - top_left[:, None]).sum(axis=-1))
        for word, row, log_mass in zip((first + words).tolist(), left, log_left, strict=True):
            before = log_chances[word - 1] if word else log_tree
            parts.add(float(before) + float(log_mass), (tree, log_tree, rows, labels[:word], row))
        # Each labelled tree has a clock that rings at a rate equal to its probability: minus the
        # logarithm of the time when it rings is the tree's perturbed log-probability.
        uniform = (float(stream.random_raw()) + 0.5) * 2.0**-64
        log_time = np.logaddexp(log_time, np.log(-np.log(uniform)) - log_remaining)
        yield (
            _row(tree, labels),
            np.array([log_chances[-1], log_remaining, -log_time]),
        )


def _row(heads: NDArray[np.int32] | tuple[int, ...], labels: Sequence[int]) -> NDArray[np.int32]:
    """Stack labels below heads, both padded with -1."""
    padding = (-1,) * (len(heads) - 1 - len(labels))
    return np.array((heads, (-1, *labels, *padding)), np.int32)


def best_labellings(
    scores: NDArray[np.floating], trees: Iterable[NDArray[np.int32]], num_words: int
) -> RowsOfTrees:
    """List the labelled trees of one graph by exact score, then heads, then labels.

    `trees` come in the order of their best labellings.  The labellings of each tree are listed
    lazily, and the lists are merged: a tree is fetched only if its best labelling may come next.
    """
    arc_labels = _exact_losses(scores)
    remaining = map(tuple, (tree.tolist() for tree in trees))

    def next_tree() -> Any:
        heads = next(remaining, None)
        if heads is None:
            return None
        best = [arc_labels(heads[word], word)[0] for word in range(1, num_words + 1)]
        return sum(loss for loss, _ in best), heads, tuple(label for _, label in best), start, 0

    # A labelling is the rank of each word's label among those of its arc.  It is reached from
    # exactly one other, whose rank is one lower at the last word without its best label.
    start = (0,) * num_words
    queue: list[Any] = []  # loss, heads, labels, ranks, the last word without its best label
    coming = next_tree()
    while coming is not None or queue:
        while coming is not None and not (queue and queue[0] < coming):
            heapq.heappush(queue, coming)
            coming = next_tree()
        loss, heads, labels, ranks, first = heapq.heappop(queue)
        yield _row(heads, labels), np.empty(0)
        for j in range(first, num_words):
            arc, rank = arc_labels(heads[j + 1], j + 1), ranks[j] + 1
            if rank < len(arc):
                next_loss, label = arc[rank]
                item = (
                    loss - arc[rank - 1][0] + next_loss,
                    heads,
                    (*labels[:j], label, *labels[j + 1 :]),
                    (*ranks[:j], rank, *ranks[j + 1 :]),
                    j,
                )
                heapq.heappush(queue, item)


def _exact_losses(scores: NDArray[np.floating]) -> Callable[[int, int], list[tuple[int, int]]]:
    """Return a function that lists (loss, label) for an arc, the best label first.

    Losses are the negated scores of one graph, scaled to integers by a common power of two.
    """
    lowest = int(np.frexp(scores[np.isfinite(scores) & (scores != 0)])[1].min(initial=0))

    @cache
    def arc_labels(head: int, dependent: int) -> list[tuple[int, int]]:
        row = scores[head, dependent]
        labels = np.flatnonzero(row > -np.inf)
        mantissas, exponents = np.frexp(row[labels].astype(np.float64))
        parts = zip(
            (mantissas * -(2.0**53)).astype(np.int64).tolist(),
            np.maximum(exponents - lowest, 0).tolist(),  # 0 has the exponent 0
            labels.tolist(),
            strict=True,
        )
        return sorted((mantissa << exponent, label) for mantissa, exponent, label in parts)

    return arc_labels
