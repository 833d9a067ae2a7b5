"""Draws without replacement: distinct trees, in the order of sequential sampling.

The functions take :class:`~arborand.validation.Graphs` and arguments that have passed their gates.
Here a *partition* is a union of disjoint parts, which together are the trees not drawn yet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from arborand import _core, inference
from arborand.displays import display_html
from arborand.errors import SupportExhaustedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from arborand.validation import Graphs

# Rejection alone stops here: beyond, a new tree would take more than a thousand tries on average.
_REJECTION_LIMIT = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Distinct trees in the order of their draw.

    The first is drawn with probability P(t), each later one with P(t) / (probability of all trees
    that are left).  K is the number of trees.  In a batch it is the largest number of all graphs;
    a graph with fewer trees has heads of -1 and log-probabilities of -inf in its remaining rows.

    Attributes
    ----------
    heads : ndarray of int32, shape ``(K, *batch_shape, m)``
        The trees.
    log_prob : ndarray of float64, shape ``(K, *batch_shape)``
        The log-probability of each tree under the full distribution.
    log_remaining : ndarray of float64, shape ``(K, *batch_shape)``
        Before each draw, the logarithm of the probability of all trees not drawn yet: 0 at first.
    perturbed_log_prob : ndarray of float64, shape ``(K, *batch_shape)``
        Log-probabilities plus independent Gumbel variables, consistent with the order: they
        decrease, and are distributed as the K largest of all trees.
    num_drawn : ndarray of int64, shape batch_shape
        How many trees each graph has given.
    exhausted : ndarray of bool, shape batch_shape
        Whether these are all the trees there are, although more were asked for.
    """

    heads: NDArray[np.int32]
    log_prob: NDArray[np.float64]
    log_remaining: NDArray[np.float64]
    perturbed_log_prob: NDArray[np.float64]
    num_drawn: NDArray[np.int64]
    exhausted: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.heads)

    def _repr_html_(self) -> str | None:
        return display_html(self)


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """One draw without replacement: see :class:`Draws` for the fields."""

    heads: NDArray[np.int32]
    log_prob: NDArray[np.float64]
    log_remaining: NDArray[np.float64]
    perturbed_log_prob: NDArray[np.float64]


def sample_without_replacement(
    graphs: Graphs,
    k: int,
    *,
    key: tuple[int, int],
    method: str | None = None,
    workers: int = 1,
    on_exhausted: str = "return",
    first_graph: int = 0,
    switch_after: int | None = None,
    most_repeats: int | None = None,
) -> Draws:
    """Draw k distinct trees of every graph.

    `switch_after` forces the change from rejection to the partition after so many trees, and
    `most_repeats` after so many repeats in a row; any values leave the law as it is.
    """
    num_graphs = len(graphs.lengths)
    num_drawn = np.zeros(num_graphs, dtype=np.int64)
    room = _bounded(k, graphs)
    heads = np.empty((num_graphs, room, graphs.size), dtype=np.int32)
    numbers = np.empty((num_graphs, room, 3))
    _core.sample_distinct(
        graphs.log_weights,
        graphs.lengths,
        graphs.single_root,
        workers,
        *key,
        first_graph,
        switch_below(method, graphs),
        -1 if switch_after is None else switch_after,
        heads,
        numbers,
        num_drawn,
        -1 if most_repeats is None else most_repeats,
    )
    exhausted = num_drawn < k
    if on_exhausted == "raise" and exhausted.any():
        graph = int(np.flatnonzero(exhausted)[0])
        index = ", ".join(str(int(i)) for i in np.unravel_index(graph, graphs.batch_shape))
        where = f" of batch item [{index}]" if graphs.batch_shape else ""
        count = int(num_drawn[graph])
        raise SupportExhaustedError(
            f"k is {k}, but the graph{where} has only {count} tree{'s' if count > 1 else ''}; ask "
            "for fewer, or for on_exhausted='return'",
            count,
        )
    most = int(num_drawn.max(initial=0))
    empty = np.arange(most) >= num_drawn[:, None]
    heads, numbers = heads[:, :most], numbers[:, :most]
    heads[empty] = -1
    numbers[empty] = -np.inf
    shape = (most, *graphs.batch_shape)
    log_prob, log_remaining, perturbed = (
        np.ascontiguousarray(numbers[..., i].T).reshape(shape) for i in range(3)
    )
    return Draws(
        np.ascontiguousarray(heads.swapaxes(0, 1)).reshape(*shape, graphs.size),
        log_prob,
        log_remaining,
        perturbed,
        num_drawn.reshape(graphs.batch_shape)[()],
        exhausted.reshape(graphs.batch_shape)[()],
    )


def iterate_without_replacement(
    graphs: Graphs, *, key: tuple[int, int], method: str | None = None, first_graph: int = 0
) -> Iterator[Draw]:
    """Yield the same sequence lazily, until the support of every graph is exhausted."""
    below = switch_below(method, graphs)
    sequences = [
        _Sequence(
            _core.DistinctIterator(
                graphs.log_weights[i : i + 1],
                graphs.lengths[i : i + 1],
                graphs.single_root,
                *key,
                first_graph + i,
                float(below[i]),
                -1,
            ),
            graphs.size,
        )
        for i in range(len(graphs.lengths))
    ]
    return _DrawIterator(sequences, graphs.batch_shape)


class _DrawIterator:
    """Draws of every graph, one after the other.

    Not a generator: that would end after an interrupt as it does after the last tree.
    """

    def __init__(self, sequences: list[_Sequence], batch_shape: tuple[int, ...]) -> None:
        self._sequences = sequences
        self._batch_shape = batch_shape
        self._failure: BaseException | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Draw:
        if self._failure is not None:
            raise type(self._failure)(
                "this iterator was interrupted, and cannot go on; make another"
            ) from self._failure
        try:
            rows = [sequence.next() for sequence in self._sequences]
        except BaseException as failure:
            self._failure = failure
            raise
        if not any(found for found, _, _ in rows):
            raise StopIteration
        heads = np.stack([heads for _, heads, _ in rows])
        numbers = np.stack([numbers for _, _, numbers in rows])
        return Draw(
            heads.reshape(*self._batch_shape, heads.shape[-1]),
            *(numbers[:, i].reshape(self._batch_shape)[()] for i in range(3)),
        )


class _Sequence:
    """One graph's distinct trees, fetched in growing portions."""

    def __init__(self, iterator: _core.DistinctIterator, size: int) -> None:
        self._iterator = iterator
        self._heads = np.empty((0, size), dtype=np.int32)
        self._numbers = np.empty((0, 3))
        self._position = self._filled = 0

    def next(self) -> tuple[bool, NDArray[np.int32], NDArray[np.float64]]:
        if self._position == self._filled:
            if self._filled < len(self._heads):  # the last portion was not full: that was all
                return False, np.full(self._heads.shape[1], -1, np.int32), np.full(3, -np.inf)
            # The first tree should not wait for others; later ones come by the hundred.
            portion = min(max(1, 2 * self._filled), 128)
            self._heads = np.empty((portion, self._heads.shape[1]), dtype=np.int32)
            self._numbers = np.empty((portion, 3))
            self._filled = self._iterator.draw(self._heads, self._numbers)
            self._position = 0
            return self.next()
        self._position += 1
        return True, self._heads[self._position - 1], self._numbers[self._position - 1]


def switch_below(method: str | None, graphs: Graphs) -> NDArray[np.float64]:
    """Give the mass below which a method turns from rejection to the partition, for every graph.

    A try costs a walk of some two steps per word; a tree drawn from the partition costs as much as
    10 + 0.35 n + 0.0045 n^2 tries (measured for 10 to 200 words).  Rejection pays while it takes
    fewer tries on average.  The rule looks at the graph alone, never at k or at the rest of the
    batch, so that a sequence does not depend on them.
    """
    if method is None:
        n = graphs.lengths.astype(np.float64)
        return 1.0 / (10.0 + 0.35 * n + 0.0045 * n * n)
    return np.full(len(graphs.lengths), 1.0 if method == "partition" else _REJECTION_LIMIT)


def _bounded(k: int, graphs: Graphs) -> int:
    """Lower a large k to about the number of trees there are, so that no memory is wasted on it."""
    if k <= 1000 or not len(graphs.lengths):
        return k
    ones = replace(graphs, log_weights=np.where(graphs.log_weights > -np.inf, 0.0, -np.inf))
    log_count = float(inference.log_partition(ones, inference.normalise(ones)).max())
    if log_count > math.log(k) + 1e-6:
        return k
    # log Z of unit weights is the logarithm of the number of trees, to 1e-13 or so.
    return min(k, math.ceil(math.exp(log_count + 1e-6)) + 1)
