"""log Z, marginals, probabilities and entropies of checked graphs.

Thin: allocates the answers and lets the core fill them.  Every function takes
:class:`~arborand.validation.Graphs` and a number of threads, and returns arrays in the shape of the
batch (a NumPy scalar for a single graph where the answer is one number).

Here the *partition function* is Z, the total weight of all trees.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arborand import _core
from arborand.kinds import TreeKind
from arborand.validation import checked_batch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arborand.validation import Graphs


class Normaliser(NamedTuple):
    """log Z of every graph, and what the core needs for the log-probabilities of trees.

    Scores are shifted before they are exponentiated, by ``column_shift[dependent]`` and, for root
    arcs of dependency trees, by a root shift as well.  The parts of a graph are log Z; log Z of the
    shifted scores, and its rounding error; and the root shift. A tree's log-probability is computed
    from the last three and not from log Z, which may be large and would round digits away.
    """

    parts: NDArray[np.float64]
    column_shift: NDArray[np.float64]


def normalise(graphs: Graphs, workers: int = 1) -> Normaliser:
    """Compute log Z of every graph, flat over the batch."""
    count = len(graphs)
    answer = Normaliser(np.empty((count, 4)), np.zeros((count, graphs.size)))
    _core.normalise(graphs.batch, workers, *answer)
    return answer


def log_partition(graphs: Graphs, normaliser: Normaliser) -> NDArray[np.float64]:
    """Return log Z, in the shape of the batch."""
    return normaliser.parts[:, 0].copy().reshape(graphs.batch_shape)[()]


def log_prob(
    graphs: Graphs, normaliser: Normaliser, heads: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Compute log P of trees of shape (*draws, *batch_shape, m); -inf outside the support."""
    return log_prob_if_trees(graphs, normaliser, heads)[0]


# From this order on, a Renyi entropy equals that of order infinity to the last digit.
AS_GOOD_AS_INFINITE = 2.0**53

# The number of heads that are converted to the core's integer type at a time.
_HEADS_AT_ONCE = 1 << 16


def log_prob_if_trees(
    graphs: Graphs, normaliser: Normaliser, heads: NDArray[np.integer]
) -> tuple[NDArray[np.float64], int]:
    """Compute log P of arrays of heads, and find the first that is not a tree.

    The second result is its index in the flattened answer, or -1 if all are trees.  The heads are
    read once, and are not copied if they are int32 in C order.
    """
    num_graphs, size = len(graphs), graphs.size
    draws = heads.shape[: heads.ndim - 1 - len(graphs.batch_shape)]
    num_draws = math.prod(draws)
    flat = heads.reshape(num_draws, num_graphs, size)
    answer = np.empty((num_draws, num_graphs))
    is_ready = flat.dtype == np.int32 and flat.flags.c_contiguous
    step = num_draws if is_ready else _HEADS_AT_ONCE // max(1, num_graphs * size)
    first_bad = -1
    for first in range(0, num_draws, max(1, step)):
        part = flat[first : first + max(1, step)]
        first_bad = _core.log_prob(
            graphs.batch,
            *normaliser,
            part if is_ready else _as_core_integers(part),  # type: ignore[arg-type]
            answer[first : first + len(part)],
        )
        if first_bad >= 0:
            first_bad += first * num_graphs
            break
    return answer.reshape(heads.shape[:-1]), first_bad


def _as_core_integers(heads: NDArray[np.integer]) -> NDArray[np.int32]:
    """Convert to int32 in C order; entries that do not fit become -2, which is never a head."""
    wide = heads.astype(np.intp)  # restores the root's -1 from unsigned integers
    narrow = np.ascontiguousarray(wide, dtype=np.int32)
    if wide.size and (narrow != wide).any():
        narrow[narrow != wide] = -2
    return narrow


def tree_surprisal(
    graphs: Graphs, heads: NDArray[np.int32], workers: int = 1, *, is_given: bool
) -> NDArray[np.float64]:
    """Compute -log P of a tree of every graph to full relative accuracy, however small it is.

    Flat over the batch.  If the trees are not given, they are the greedy ones, and their heads are
    written.
    """
    answer = np.empty(len(graphs))
    _core.tree_surprisal(graphs.batch, workers, is_given, heads, answer)
    return answer


def arc_marginals(
    graphs: Graphs, workers: int = 1, *, one_by_one: bool = False
) -> NDArray[np.float64]:
    """Compute P(head -> dependent) for all arcs: shape (*batch_shape, m, m), 0 in the padding.

    Graphs of the same length share the work, unless `one_by_one` is set: this changes the time that
    a graph takes, but not the numbers.
    """
    answer = graphs.arcs()
    _core.log_partition(graphs.batch, workers, None, answer, one_by_one)
    return answer.reshape(*graphs.batch_shape, graphs.size, graphs.size)


def root_marginals(
    graphs: Graphs, workers: int = 1
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute P(root -> dependent), and the expected steps of Wilson's walk.

    The second is the exact expectation for spanning trees, and meaningless for dependency trees.
    """
    answer = np.zeros((len(graphs), graphs.size))
    steps = np.empty(len(graphs))
    _core.root_marginals(graphs.batch, workers, answer, steps)
    return (
        answer.reshape(*graphs.batch_shape, graphs.size),
        steps.reshape(graphs.batch_shape)[()],
    )


def entropy(graphs: Graphs, workers: int = 1) -> NDArray[np.float64]:
    """Compute the entropy of every graph's trees, in nats."""
    answer = np.empty(len(graphs))
    _core.entropy(graphs.batch, workers, answer, None)
    return answer.reshape(graphs.batch_shape)[()]


def renyi_entropy(graphs: Graphs, order: float, workers: int = 1) -> NDArray[np.float64]:
    """Compute the Renyi entropy of a finite order, in nats."""
    if order == 0.0:
        return log_num_trees(graphs, workers)
    if order == 1.0:
        return entropy(graphs, workers)
    answer = np.empty(len(graphs))
    _core.renyi_entropy(graphs.batch, workers, order, answer)
    return answer.reshape(graphs.batch_shape)[()]


def entropy_gradient(graphs: Graphs, workers: int = 1) -> NDArray[np.float64]:
    """Compute the derivative of the entropy with respect to every score."""
    answer = graphs.arcs()
    _core.entropy(graphs.batch, workers, None, answer)
    return answer.reshape(*graphs.batch_shape, graphs.size, graphs.size)


def log_num_trees(graphs: Graphs, workers: int = 1) -> NDArray[np.float64]:
    """Compute the logarithm of the number of trees of every graph: log Z with all weights 1.

    To about 1e-13, relative to the larger of 1 and the result.
    """
    ones = graphs.with_log_weights(np.where(graphs.has_arc, 0.0, -np.inf))
    return log_partition(ones, normalise(ones, workers))


def mean_hitting_time(graphs: Graphs, workers: int = 1) -> NDArray[np.float64]:
    """Compute the mean hitting time of every graph's walk (see ``TreeDistribution``)."""
    batch = graphs.batch
    if not graphs.kind.has_single_root:
        # The root becomes a word that continues to any other word with equal probability; a new
        # node 0 takes its place, because the core leaves out node 0.
        size, lengths = graphs.size + 1, graphs.lengths + np.int32(1)
        padded = np.full((len(graphs), size, size), -np.inf)
        padded[:, 1:, 1:] = graphs.log_weights
        node = np.arange(size)
        is_word = (node > 1) & (node <= lengths[:, None])
        padded[:, :, 1] = np.where(is_word, 0.0, -np.inf)
        padded[:, 0, 1] = 0.0
        batch = checked_batch(padded, lengths, TreeKind.DEPENDENCY)
    answer = np.empty(len(graphs))
    _core.mean_hitting_time(batch, workers, answer)
    return answer.reshape(graphs.batch_shape)[()]
