"""Draws without replacement: distinct trees, in the order of sequential sampling.

The functions take :class:`~arborand.validation.Graphs` and arguments that were already checked.
Here a *partition* is a union of disjoint parts, which together are the trees not drawn yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from arborand import _core
from arborand.distinct import find_exhausted, in_portions, room_for, side_by_side, trees_first

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from arborand.validation import Graphs

# Rejection alone stops here: below this, a new tree would take more than a thousand tries on
# average.
_REJECTION_LIMIT = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Distinct trees in the order of their draw.

    The first is drawn with probability P(t), each later one with P(t) / (probability of all
    remaining trees).  K is the number of trees.  In a batch, it is the largest number drawn from
    any graph; a graph with fewer trees has heads of -1 and log-probabilities of -inf in its
    remaining rows.

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
        The number of trees drawn from each graph.
    exhausted : ndarray of bool, shape batch_shape
        Whether the graph has fewer trees than were requested, so that these are all of them.
    labels : ndarray of int32, in the shape of `heads`, or None
        The label of each word's arc; only for :class:`LabelledTrees`.

    Examples
    --------
    >>> from arborand import DependencyTrees
    >>> trees = DependencyTrees([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
    >>> draws = trees.sample_without_replacement(5, rng=0)  # there are only two
    >>> len(draws), bool(draws.exhausted), draws.heads.tolist()
    (2, True, [[-1, 2, 0], [-1, 0, 1]])
    """

    heads: NDArray[np.int32]
    log_prob: NDArray[np.float64]
    log_remaining: NDArray[np.float64]
    perturbed_log_prob: NDArray[np.float64]
    num_drawn: NDArray[np.int64]
    exhausted: NDArray[np.bool_]
    labels: NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.heads)

    def _repr_html_(self) -> str:
        from arborand.pictures.notebook import draws_html

        return draws_html(self)


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """One draw without replacement: see :class:`Draws` for the fields."""

    heads: NDArray[np.int32]
    log_prob: NDArray[np.float64]
    log_remaining: NDArray[np.float64]
    perturbed_log_prob: NDArray[np.float64]
    labels: NDArray[np.int32] | None = None


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

    `switch_after` forces the switch from rejection to the partition after that many trees, and
    `most_repeats` after that many repeats in a row; neither changes the distribution.
    """
    num_graphs = len(graphs)
    num_drawn = np.zeros(num_graphs, dtype=np.int64)
    room = room_for(k, graphs, 3, "iterate_without_replacement")
    heads = np.empty((num_graphs, room, graphs.size), dtype=np.int32)
    numbers = np.empty((num_graphs, room, 3))
    _core.sample_distinct(
        graphs.batch,
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
    exhausted = find_exhausted(k, num_drawn, graphs.batch_shape, on_exhausted)
    log_prob, log_remaining, perturbed = (
        trees_first(numbers[..., i], num_drawn, graphs, -np.inf) for i in range(3)
    )
    return Draws(
        trees_first(heads, num_drawn, graphs, -1),
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
        in_portions(
            _core.DistinctIterator(
                graphs.batch,
                i,
                *key,
                first_graph + i,
                float(below[i]),
                -1,
            ).draw,
            graphs.size,
            3,
        )
        for i in range(len(graphs))
    ]
    shape = graphs.batch_shape
    for heads, numbers in side_by_side(sequences, graphs.size, 3):
        log_prob, log_remaining, perturbed = (numbers[:, i].reshape(shape)[()] for i in range(3))
        yield Draw(heads.reshape(*shape, graphs.size), log_prob, log_remaining, perturbed)


def switch_below(method: str | None, graphs: Graphs) -> NDArray[np.float64]:
    """Return, for every graph, the remaining mass below which rejection gives way to partition.

    A try costs a walk of some two steps per word; a tree drawn from the partition costs as much as
    10 + 0.35 n + 0.0045 n^2 tries (measured for 10 to 200 words).  Rejection pays as long as it
    takes fewer tries on average.  The rule depends on the graph alone, never on k or the rest of
    the batch, so that the sequence does not depend on them either.
    """
    if method is None:
        n = graphs.lengths.astype(np.float64)
        return 1.0 / (10.0 + 0.35 * n + 0.0045 * n * n)
    return np.full(len(graphs), 1.0 if method == "partition" else _REJECTION_LIMIT)
