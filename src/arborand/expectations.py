"""Means, variances and covariances of functions of a random tree, exactly.

Functions here are sums over the arcs of a tree, given as an array ``[head, dependent]``.  Every
tree has one arc into each word, so a constant may be subtracted from a column without changing any
covariance.  Where a difference would lose digits, the value of the word's most probable head is
subtracted: if one tree has nearly all the probability, a sum of small terms remains.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from arborand import _core
from arborand.inference import arc_marginals
from arborand.validation import real_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from arborand.validation import Graphs

# The largest answer of `joint_marginals`: 2 GiB, that is 126 words.
LARGEST_JOINT_BYTES = 2**31

# Sums of products of two numbers below this power of two stay in the range of float64.
_LARGEST_EXPONENT = 480


def check_arc_values(values: ArrayLike, name: str, graphs: Graphs) -> NDArray[np.float64]:
    """Return finite values of all arcs, (num_graphs, m, m), with 0 where there is no arc."""
    array = real_array(values, name)
    shape = (*graphs.batch_shape, graphs.size, graphs.size)
    if array.shape != shape:
        raise ValueError(
            f"{name} has shape {array.shape}: expected {shape}, one row and one column for each "
            "node, root included"
        )
    is_arc = graphs.has_arc
    flat = np.where(is_arc, array.reshape(is_arc.shape), 0.0).astype(np.float64)
    if not np.isfinite(flat).all():
        graph, head, dependent = (int(i) for i in np.argwhere(~np.isfinite(flat))[0])
        index = [*map(int, np.unravel_index(graph, graphs.batch_shape)), head, dependent]
        raise ValueError(
            f"{name}{index} is {flat[graph, head, dependent]}, on the arc "
            f"{head} -> {dependent}: give every arc of the graph a finite number"
        )
    return flat


def arc_covariances(
    graphs: Graphs, direction: NDArray[np.float64], workers: int = 1
) -> NDArray[np.float64]:
    """Compute the covariance of every arc with the sum of checked values, flat over the batch."""
    answer = graphs.arcs(np.zeros)
    _core.arc_covariances(graphs.batch, workers, direction, answer)
    return answer


def arc_cumulants(
    graphs: Graphs,
    direction: NDArray[np.float64],
    other: NDArray[np.float64],
    workers: int = 1,
) -> NDArray[np.float64]:
    """Compute the derivative of `arc_covariances` of one direction in another: third cumulants.

    Both are checked values, flat over the batch; the result is symmetric in them.
    """
    answer = graphs.arcs(np.zeros)
    _core.arc_cumulants(graphs.batch, workers, direction, other, answer)
    return answer


def entropy_gradient_tangents(
    graphs: Graphs, direction: NDArray[np.float64], workers: int = 1
) -> NDArray[np.float64]:
    """Compute the derivative of the entropy's gradient in a direction of the scores."""
    answer = graphs.arcs(np.zeros)
    _core.entropy_gradient_tangents(graphs.batch, workers, direction, answer)
    return answer


def expectation(graphs: Graphs, arc_values: ArrayLike, workers: int = 1) -> NDArray[np.float64]:
    """Compute the mean of sums over arcs, with any further axes after those of the arcs."""
    array = real_array(arc_values, "arc_values")
    shape = (*graphs.batch_shape, graphs.size, graphs.size)
    if array.shape[: len(shape)] != shape:
        raise ValueError(
            f"arc_values has shape {array.shape}: expected {shape}, one row and one column for "
            "each node, root included, followed by any number of axes"
        )
    trailing = array.shape[len(shape) :]
    marginals = arc_marginals(graphs, workers).reshape(-1, graphs.size, graphs.size)
    flat = array.reshape(*marginals.shape, math.prod(trailing))
    answer = np.zeros((len(marginals), flat.shape[-1]))
    for graph, (chances, values) in enumerate(zip(marginals, flat, strict=True)):
        head, dependent = np.nonzero(chances)
        chosen = values[head, dependent].astype(np.float64)
        if np.isnan(chosen).any():
            worst = int(np.argwhere(np.isnan(chosen))[0, 0])
            index = (*np.unravel_index(graph, graphs.batch_shape), head[worst], dependent[worst])
            raise ValueError(
                f"arc_values{list(map(int, index))} is nan on an arc of probability "
                f"{chances[head[worst], dependent[worst]]:.3g}; every possible arc needs a number"
            )
        with np.errstate(over="ignore", invalid="ignore"):  # inf - inf
            answer[graph] = (chances[head, dependent, None] * chosen).sum(axis=0)
    return answer.reshape((*graphs.batch_shape, *trailing))[()]


def covariance(
    graphs: Graphs,
    arc_values: NDArray[np.float64],
    other: NDArray[np.float64],
    workers: int = 1,
) -> NDArray[np.float64]:
    """Compute the covariance of two sums of checked values."""
    chances = arc_marginals(graphs, workers).reshape(-1, graphs.size, graphs.size)
    (first, up), (second, other_up) = (_from_best(one, chances) for one in (arc_values, other))
    scaled = (first * arc_covariances(graphs, second, workers)).sum((1, 2))
    with np.errstate(over="ignore"):  # beyond the largest double
        answer: NDArray[np.float64] = np.ldexp(scaled, up + other_up)
    return answer.reshape(graphs.batch_shape)[()]


def _from_best(
    values: NDArray[np.float64], chances: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Subtract the value of each word's most probable head; halve until squares are finite.

    Arcs of a nearly certain tree then have the value 0, and a covariance is proportional to the
    probability of the other trees.  Returned with each graph's number of halvings.
    """
    values = np.where(chances > 0.0, values, 0.0)
    best = chances.argmax(axis=1)[:, None]
    halvings = np.maximum(np.frexp(np.abs(values).max(axis=(1, 2)))[1] - _LARGEST_EXPONENT, 0)
    values = np.ldexp(values, -halvings[:, None, None])
    return np.where(chances > 0.0, values - np.take_along_axis(values, best, 1), 0.0), halvings


def joint_marginals(graphs: Graphs) -> NDArray[np.float64]:
    """Compute the probability of all pairs of arcs of one graph."""
    num_bytes = 8 * graphs.size**4
    if num_bytes > LARGEST_JOINT_BYTES:
        raise ValueError(
            f"joint_marginals of {graphs.size - 1} words would have {graphs.size}**4 entries, "
            f"{num_bytes / 2**30:.1f} GiB; the limit is {LARGEST_JOINT_BYTES / 2**30:.0f} GiB: use "
            "joint_probability for the arcs you need, or condition() on one and take arc_marginals"
        )
    answer = np.zeros((graphs.size,) * 4)
    _core.joint_marginals(graphs.batch, answer)
    return answer
