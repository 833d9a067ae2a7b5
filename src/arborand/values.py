"""What the front ends compute: from arrays of scores to answers of the same precision.

Every function takes its arrays, then the lengths of its graphs, then what is not an array: the
kinds of their trees as integers of :class:`~arborand.kinds.TreeKind`, a number of threads, and
anything else it needs.  Leading axes are those of the batch, and lengths may be None.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arborand import _core, conditioning, divergence, expectations, inference
from arborand.conditioning import Condition
from arborand.kinds import TreeKind
from arborand.trees import not_a_tree
from arborand.validation import check_log_weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from arborand.validation import Graphs

    Values = NDArray[Any]
    Lengths = NDArray[Any] | None

# Orders this close to 1 count as 1 in the gradient of a Renyi entropy.
NEAR_ONE = 1e-6


def graphs_of(
    log_weights: Values, lengths: Lengths, kind: int, name: str = "log_weights"
) -> Graphs:
    """Check scores as the library does: errors about values are raised here."""
    return check_log_weights(log_weights, lengths, kind=TreeKind(kind), name=name)


def _at_once(
    compute: Callable[..., None],
) -> tuple[Callable[..., Values], Callable[..., tuple[Values, Values]]]:
    """Make two functions: one computes a number per graph, the other also its gradient.

    The core reads the scores in place, and writes directly into the answers.  If it finds anything
    wrong, the gate raises the error.
    """

    def into(
        answers: tuple[Values | None, Values | None],
        scores: Values,
        lengths: Lengths,
        kind: int,
        workers: int,
    ) -> None:
        num_words = None if lengths is None else np.ascontiguousarray(lengths, np.int64)
        try:
            compute(_core.Batch(scores, num_words, kind), workers, *answers)
        except _core.RefusedScores:
            graphs_of(scores, lengths, kind)
            raise RuntimeError("log_weights were changed while they were read") from None

    def value(log_weights: Values, *rest: Any) -> Values:
        scores = np.ascontiguousarray(log_weights)
        answer = np.empty(scores.shape[:-2], scores.dtype)
        into((answer, None), scores, *rest)
        return answer

    def value_and_gradient(log_weights: Values, *rest: Any) -> tuple[Values, Values]:
        scores = np.ascontiguousarray(log_weights)
        answers = np.empty(scores.shape[:-2], scores.dtype), np.empty_like(scores)
        into(answers, scores, *rest)
        return answers

    return value, value_and_gradient


log_partition, log_partition_with_gradient = _at_once(_core.log_partition)
entropy, entropy_with_gradient = _at_once(_core.entropy)


def over_arcs(compute: Callable[..., NDArray[np.float64]]) -> Callable[..., Values]:
    """Compute a number per arc, in some directions of the scores."""

    def answer(log_weights: Values, *rest: Any) -> Values:
        *directions, lengths, kind, workers = rest
        graphs = graphs_of(log_weights, lengths, kind)
        checked = [_direction(direction, graphs) for direction in directions]
        found = compute(graphs, *checked, workers)
        return found.reshape(log_weights.shape).astype(log_weights.dtype, copy=False)

    return answer


def _direction(direction: Values, graphs: Graphs) -> NDArray[np.float64]:
    try:
        return expectations.check_arc_values(direction, "direction", graphs)
    except ValueError as error:
        raise ValueError(
            f"{error}; if this is part of a derivative, what was differentiated is infinite"
        ) from None


def log_prob(
    log_weights: Values, heads: Values, lengths: Lengths, kind: int, workers: int, name: str
) -> Values:
    """Compute the log-probability of trees, whose shape (*draws, *batch, m) may be broadcast.

    -inf outside the support, and for a row of -1, which stands for a missing tree if there are
    fewer than were requested.  Errors call the heads by the name of the caller's argument.
    """
    graphs = graphs_of(log_weights, lengths, kind)
    shape = np.broadcast_shapes(heads.shape[:-1], graphs.batch_shape)
    trees = np.broadcast_to(heads, (*shape, graphs.size))
    is_missing = np.asarray((trees < 0).all(-1))
    if is_missing.any():
        node, last = np.arange(graphs.size), graphs.lengths.reshape(*graphs.batch_shape, 1)
        some_tree = np.where((node > 0) & (node <= last), 0, -1)
        trees = np.where(is_missing[..., None], some_tree, trees)
    normaliser = inference.normalise(graphs, workers)
    answer, first_bad = inference.log_prob_if_trees(graphs, normaliser, trees)
    if first_bad >= 0:
        index = tuple(int(i) for i in np.unravel_index(first_bad, shape))
        own = index[len(shape) - heads.ndim + 1 :]  # without the axes that were broadcast
        own = tuple(i if n > 1 else 0 for i, n in zip(own, heads.shape, strict=False))
        num_words = int(graphs.lengths[first_bad % len(graphs)])
        raise not_a_tree(trees[index], num_words, own, name)
    answer[is_missing] = -np.inf
    return answer.astype(log_weights.dtype, copy=False)


def log_evidence(
    log_weights: Values, allowed: Values, lengths: Lengths, kind: int, workers: int
) -> Values:
    """Compute the log-probability that a tree contains only allowed arcs."""
    graphs = graphs_of(log_weights, lengths, kind)
    asked = Condition(allowed=allowed.reshape(-1, graphs.size, graphs.size))
    normaliser = inference.normalise(graphs, workers)
    answer = np.asarray(conditioning.log_evidence(graphs, normaliser, asked, workers))
    return answer.astype(log_weights.dtype, copy=False)


def renyi_entropy(
    log_weights: Values, lengths: Lengths, kind: int, workers: int, order: float
) -> Values:
    """Compute the Renyi entropy of a finite order."""
    graphs = graphs_of(log_weights, lengths, kind)
    answer = np.asarray(inference.renyi_entropy(graphs, order, workers))
    return answer.astype(log_weights.dtype, copy=False)


def renyi_entropy_gradient(
    log_weights: Values, lengths: Lengths, kind: int, workers: int, order: float
) -> Values:
    r"""Compute a / (1 - a) times (P of the scores times a, minus P), with a the order.

    Near a = 1 this is a quotient of small differences, and is replaced by the derivative of P in
    the middle, which is that of the entropy.  Where the two meet, both are accurate to about 1e-8
    P(e).
    """
    graphs = graphs_of(log_weights, lengths, kind)
    if order == 0.0:
        answer = np.zeros(log_weights.shape)
    elif abs(order - 1.0) < NEAR_ONE:
        middle = 0.5 * (order + 1.0)
        gradient = inference.entropy_gradient(_sharpened(graphs, middle), workers)
        answer = order / middle * gradient
    else:
        sharpened = inference.arc_marginals(_sharpened(graphs, order), workers)
        answer = order / (1.0 - order) * (sharpened - inference.arc_marginals(graphs, workers))
    return answer.astype(log_weights.dtype, copy=False)


def _sharpened(graphs: Graphs, factor: float) -> Graphs:
    """Multiply scores, minus the largest of each column, by a factor."""
    scores = graphs.log_weights
    largest = scores.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", over="ignore"):
        products = np.maximum(factor * (scores - largest), np.finfo(np.float64).min)
    return graphs.with_log_weights(np.where(graphs.has_arc, products, -np.inf))


def kl_divergence(
    log_weights: Values,
    other: Values,
    lengths: Lengths,
    other_lengths: Lengths,
    kind: int,
    other_kind: int,
    workers: int,
) -> Values:
    """Compute the divergence of every graph's trees from those of another."""
    graphs = graphs_of(log_weights, lengths, kind)
    other_graphs = graphs_of(other, other_lengths, other_kind, "other.log_weights")
    if not np.array_equal(graphs.lengths, other_graphs.lengths):
        raise ValueError(
            "the graphs of the two distributions differ in length: kl_divergence compares graphs "
            "with the same number of words"
        )
    answer = np.asarray(divergence.kl_divergence(graphs, other_graphs, workers))
    return answer.astype(np.promote_types(log_weights.dtype, other.dtype), copy=False)


def checked(numbers: Values, is_wrong: Values, message: str) -> Values:
    """Return the numbers; if anything is wrong, raise an error with its index in place of {}."""
    wrong = np.argwhere(is_wrong)
    if len(wrong):
        raise ValueError(message.format(list(map(int, wrong[0])) or ""))
    return numbers
