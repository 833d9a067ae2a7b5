"""log Z, marginals, probabilities and entropies of checked graphs.

Thin: allocates the answers and lets the core fill them.  Every function takes
:class:`~arborand.validation.Graphs` and a number of threads, and returns arrays in the shape of the
batch (a NumPy scalar for a single graph where the answer is one number).

Here the *partition function* is Z, the summed weights of all trees.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arborand import _core

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arborand.validation import Graphs


class Normaliser(NamedTuple):
    """log Z of every graph, and what the core needs to tell the log-probability of trees.

    Scores are shifted before they are exponentiated, by ``column_shift[dependent]`` and, for root
    arcs of dependency trees, by a root shift as well.  The parts of a graph are log Z; log Z of the
    shifted scores, and what rounding took from it; and the root shift.  A tree's log-probability is
    made from these and not from log Z, which may be large and would round digits away.
    """

    parts: NDArray[np.float64]
    column_shift: NDArray[np.float64]


def normalise(graphs: Graphs, workers: int = 1) -> Normaliser:
    """Compute log Z of every graph, flat over the batch."""
    count = len(graphs.lengths)
    answer = Normaliser(np.empty((count, 4)), np.zeros((count, graphs.size)))
    _core.log_partition(graphs.log_weights, graphs.lengths, graphs.single_root, workers, *answer)
    return answer


def log_partition(graphs: Graphs, normaliser: Normaliser) -> NDArray[np.float64]:
    """Take log Z out of it, in the shape of the batch."""
    return normaliser.parts[:, 0].copy().reshape(graphs.batch_shape)[()]


def log_prob(
    graphs: Graphs, normaliser: Normaliser, heads: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Compute log P of trees of shape (num_trees, *batch_shape, m) that are known to be trees.

    Trees that use a forbidden arc get -inf.  The number of root arcs is not looked at.
    """
    flat = heads.reshape(len(heads), len(graphs.lengths), graphs.size)
    answer = np.empty(flat.shape[:2])
    _core.log_prob(
        graphs.log_weights, graphs.lengths, graphs.single_root, *normaliser, flat, answer
    )
    return answer.reshape(heads.shape[:-1])


def arc_marginals(graphs: Graphs, workers: int = 1) -> NDArray[np.float64]:
    """Compute P(head -> dependent) for all arcs: shape (*batch_shape, m, m), 0 in the padding."""
    answer = np.zeros(graphs.log_weights.shape)
    _core.arc_marginals(graphs.log_weights, graphs.lengths, graphs.single_root, workers, answer)
    return answer.reshape(*graphs.batch_shape, graphs.size, graphs.size)


def root_marginals(
    graphs: Graphs, workers: int = 1
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute P(root -> dependent), and the expected steps of Wilson's walk.

    The second is the exact expectation for spanning trees, and has no meaning for dependency trees.
    """
    answer = np.zeros(graphs.log_weights.shape[:2])
    steps = np.empty(len(graphs.lengths))
    _core.root_marginals(
        graphs.log_weights, graphs.lengths, graphs.single_root, workers, answer, steps
    )
    return (
        answer.reshape(*graphs.batch_shape, graphs.size),
        steps.reshape(graphs.batch_shape)[()],
    )


def entropy(graphs: Graphs, workers: int = 1) -> NDArray[np.float64]:
    """Compute the entropy of every graph's trees, in nats."""
    answer = np.empty(len(graphs.lengths))
    _core.entropy(graphs.log_weights, graphs.lengths, graphs.single_root, workers, answer)
    return answer.reshape(graphs.batch_shape)[()]


def renyi_entropy(graphs: Graphs, order: float, workers: int = 1) -> NDArray[np.float64]:
    """Compute the Renyi entropy of a finite order above 0, in nats."""
    answer = np.empty(len(graphs.lengths))
    _core.renyi_entropy(
        graphs.log_weights, graphs.lengths, graphs.single_root, workers, order, answer
    )
    return answer.reshape(graphs.batch_shape)[()]


def entropy_gradient(graphs: Graphs, workers: int = 1) -> NDArray[np.float64]:
    """Compute the derivative of the entropy in every score."""
    answer = np.zeros(graphs.log_weights.shape)
    _core.entropy_gradient(graphs.log_weights, graphs.lengths, graphs.single_root, workers, answer)
    return answer.reshape(*graphs.batch_shape, graphs.size, graphs.size)


def log_num_trees(graphs: Graphs, workers: int = 1) -> NDArray[np.float64]:
    """Compute the logarithm of the number of trees of every graph: log Z where all weights are 1.

    To about 1e-13, relative to the larger of 1 and the result.
    """
    ones = replace(graphs, log_weights=np.where(graphs.has_arc, 0.0, -np.inf))
    return log_partition(ones, normalise(ones, workers))


def mean_hitting_time(graphs: Graphs, workers: int = 1) -> NDArray[np.float64]:
    """Compute the mean hitting time of every graph's walk (see ``TreeDistribution``)."""
    log_weights, lengths = graphs.log_weights, graphs.lengths
    if not graphs.single_root:
        # The root becomes a word that goes on to any other word with the same chance; a new node 0
        # takes its place, because the core leaves out node 0.
        padded = np.full((len(lengths), graphs.size + 1, graphs.size + 1), -np.inf)
        padded[:, 1:, 1:] = log_weights
        node = np.arange(graphs.size + 1)
        is_word = (node > 1) & (node <= lengths[:, None] + 1)
        padded[:, :, 1] = np.where(is_word, 0.0, -np.inf)
        log_weights, lengths = padded, lengths + np.int32(1)
    answer = np.empty(len(lengths))
    _core.mean_hitting_time(log_weights, lengths, workers, answer)
    return answer.reshape(graphs.batch_shape)[()]
