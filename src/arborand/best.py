"""The best trees of checked graphs: one, several in order, and the minimum Bayes risk tree.

The order is total and depends on the graph alone: trees are sorted by the exact sum of their
scores, largest first; ties are broken by the heads of words 1, 2, ..., smallest first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from arborand import _core, inference
from arborand.distinct import find_exhausted, in_portions, room_for, side_by_side, trees_first

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from arborand.inference import Normaliser
    from arborand.validation import Graphs

# A factor on the error bound that a choice made in doubles must clear: see
# best_trees/certified_rows.hpp. Tests set it to 0, which trusts doubles, and to infinity, which
# uses exact numbers only.
CAUTION = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class BestTrees:
    """The best trees, in order.

    K is the number of trees. In a batch, it is the largest number found for any graph; a graph with
    fewer trees has heads of -1 and log-probabilities of -inf in its remaining rows.

    Attributes
    ----------
    heads : ndarray of int32, shape ``(K, *batch_shape, m)``
    log_prob : ndarray of float64, shape ``(K, *batch_shape)``
        The log-probability of each tree.
    num_found : ndarray of int64, shape batch_shape
        The number of trees found for each graph.
    exhausted : ndarray of bool, shape batch_shape
        Whether the graph has fewer trees than were requested, so that these are all of them.
    labels : ndarray of int32, in the shape of `heads`, or None
        The label of each word's arc; only for :class:`LabelledTrees`.

    Examples
    --------
    >>> from arborand import DependencyTrees
    >>> best = DependencyTrees([[0, 1, 2], [0, 0, 3], [0, 4, 0]]).best_trees(2)
    >>> best.heads.tolist(), np.exp(best.log_prob).round(4).tolist()
    ([[-1, 2, 0], [-1, 0, 1]], [0.8808, 0.1192])
    """

    heads: NDArray[np.int32]
    log_prob: NDArray[np.float64]
    num_found: NDArray[np.int64]
    exhausted: NDArray[np.bool_]
    labels: NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.heads)

    def _repr_html_(self) -> str:
        from arborand.pictures.notebook import best_trees_html

        return best_trees_html(self)


@dataclass(frozen=True, slots=True, eq=False)
class BestTree:
    """One of the best trees: see :class:`BestTrees` for the fields."""

    heads: NDArray[np.int32]
    log_prob: NDArray[np.float64]
    labels: NDArray[np.int32] | None = None


def best_tree(graphs: Graphs, *, workers: int = 1) -> NDArray[np.int32]:
    """Find the best tree of every graph: heads of shape (*batch_shape, m)."""
    heads = np.empty((*graphs.batch_shape, graphs.size), np.int32)
    _core.best_tree(graphs.batch, workers, CAUTION, heads)
    return heads


def best_trees(
    graphs: Graphs,
    normaliser: Normaliser,
    k: int,
    *,
    workers: int = 1,
    on_exhausted: str = "return",
) -> BestTrees:
    """Find the k best trees of every graph."""
    num_graphs = len(graphs)
    num_found = np.zeros(num_graphs, dtype=np.int64)
    room = room_for(k, graphs, 1, "iterate_best_trees")
    rows = np.empty((num_graphs, room, graphs.size), dtype=np.int32)
    _core.best_trees(
        graphs.batch,
        workers,
        CAUTION,
        rows,
        num_found,
    )
    exhausted = find_exhausted(k, num_found, graphs.batch_shape, on_exhausted)
    heads = trees_first(rows, num_found, graphs, -1)
    return BestTrees(
        heads,
        _log_prob(graphs, normaliser, heads),
        num_found.reshape(graphs.batch_shape)[()],
        exhausted.reshape(graphs.batch_shape)[()],
    )


def iterate_best_trees(graphs: Graphs, normaliser: Normaliser) -> Iterator[BestTree]:
    """Yield the same trees lazily, until no graph has any more."""
    sequences = [
        in_portions(_core.BestIterator(graphs.batch, i).find, graphs.size, 0)
        for i in range(len(graphs))
    ]
    for rows, _ in side_by_side(sequences, graphs.size, 0):
        heads = rows.reshape(1, *graphs.batch_shape, graphs.size)
        yield BestTree(heads[0], _log_prob(graphs, normaliser, heads)[0])


def minimum_risk_tree(graphs: Graphs, *, workers: int = 1) -> NDArray[np.int32]:
    """Find the tree with the most expected correct arcs: the best tree by marginals."""
    marginals = inference.arc_marginals(graphs, workers).reshape(-1, graphs.size, graphs.size)
    scores = np.where(graphs.has_arc, marginals, -np.inf)
    return best_tree(graphs.with_log_weights(scores), workers=workers)


def expected_attachment_score(
    graphs: Graphs, heads: NDArray[np.intp], workers: int = 1
) -> NDArray[np.float64]:
    """Compute the mean marginal of the arcs of trees, shape (*draws, *batch_shape, m)."""
    marginals = inference.arc_marginals(graphs, workers).reshape(-1, graphs.size, graphs.size)
    graph = np.arange(len(graphs)).reshape(*graphs.batch_shape, 1)
    of_arc = np.where(heads >= 0, marginals[graph, heads, np.arange(graphs.size)], 0.0)
    lengths = graphs.lengths.reshape(graphs.batch_shape)
    answer: NDArray[np.float64] = np.minimum(of_arc.sum(axis=-1) / lengths, 1.0)
    return answer[()]


def _log_prob(
    graphs: Graphs, normaliser: Normaliser, heads: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Compute the log-probabilities of best trees; -inf where a graph has no more."""
    is_padding = heads[..., 1] < 0
    if not is_padding.any():
        return inference.log_prob(graphs, normaliser, heads)
    # Padding needs some tree in its place: the best one always exists.
    trees = np.where(is_padding[..., None], best_tree(graphs), heads)
    return np.where(is_padding, -np.inf, inference.log_prob(graphs, normaliser, trees))
