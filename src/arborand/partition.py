"""log Z, marginals, probabilities and entropies of checked graphs.

Thin: allocates the answers and lets the core fill them.  Every function takes
:class:`~arborand.validation.Graphs` and a number of threads, and returns arrays in the shape of the
batch (a NumPy scalar for a single graph where the answer is one number).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arborand import _core

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arborand.validation import Graphs


class Partition(NamedTuple):
    """log Z, and its parts: ``log_partition = reduced + sum of the shifts``.

    Scores are shifted before they are exponentiated, by ``column_shift[dependent]`` and, for root
    arcs of dependency trees, by ``root_shift`` as well.  ``reduced`` is log Z of the shifted graph:
    a number of moderate size, so that subtracting it from shifted scores loses no digits.
    """

    log_partition: NDArray[np.float64]
    reduced: NDArray[np.float64]
    column_shift: NDArray[np.float64]
    root_shift: NDArray[np.float64]


def partition(graphs: Graphs, workers: int = 1) -> Partition:
    """Compute log Z of every graph, flat over the batch."""
    count = len(graphs.lengths)
    answer = Partition(
        np.empty(count), np.empty(count), np.zeros((count, graphs.size)), np.empty(count)
    )
    _core.log_partition(graphs.log_weights, graphs.lengths, graphs.single_root, workers, *answer)
    return answer


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


def log_prob(
    graphs: Graphs, parts: Partition, heads: NDArray[np.intp], is_member: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Compute log P of trees, shape (num_trees, num_graphs, m), already checked.

    Trees that are not members of the support get -inf; so do those that use a forbidden arc.
    """
    num_graphs, size = parts.column_shift.shape
    graph = np.arange(num_graphs)[:, None]
    dependent = np.arange(size)
    real = (dependent > 0) & (dependent <= graphs.lengths[:, None])
    head = np.where(real, heads, 0)
    score = graphs.log_weights[graph, head, dependent]
    # Shift by shift, so that no large sum of shifts is rounded.
    root_shift = np.where((head == 0) & graphs.single_root, parts.root_shift[:, None], 0.0)
    relative = (score - parts.column_shift[graph, dependent]) - root_shift
    relative = np.where(real, relative, 0.0).sum(axis=-1) - parts.reduced
    answer: NDArray[np.float64] = np.where(is_member, np.minimum(relative, 0.0), -np.inf)
    return answer


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
