"""Draws with replacement: the call into the core.

Takes :class:`~arborand.validation.Graphs` and arguments that were already checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arborand import _core, methods

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arborand.kinds import TreeKind
    from arborand.validation import Graphs


# The core counts methods from 0.
_NUMBERS = {name: i for i, name in enumerate(methods.names(methods.WITH_REPLACEMENT))}
# The order is that of enum class Pops in the core.
_POPS = ("where it pays", "never", "always")


class Counts(NamedTuple):
    """The work that the draws of one call took, for tests that count work instead of timing it."""

    steps: int
    walks: int
    ancestral: int
    beyond_double: int  # ancestral draws that needed a wider number type


def sample(
    graphs: Graphs,
    num_draws: int,
    *,
    key: tuple[int, int],
    method: str | None = None,
    workers: int = 1,
    first_graph: int = 0,
    first_draw: int = 0,
    step_budget: int | None = None,
    pops: str = "where it pays",
    trusts_double: bool = True,
) -> tuple[NDArray[np.int32], Counts]:
    """Draw trees: heads of shape (num_draws, *batch_shape, m), and the work it took.

    `step_budget` is the number of steps after which a walk gives way to an ancestral draw. `pops`
    says whether all nodes step at once and cycles are popped. Without `trusts_double`, wider
    numbers are used wherever there is a choice. None of these arguments changes the distribution,
    and the last one does not change the trees either.
    """
    heads = np.empty((num_draws, len(graphs), graphs.size), dtype=np.int32)
    counts = _core.sample(
        graphs.batch,
        workers,
        _NUMBERS[method or methods.DEFAULT_METHOD],
        *key,
        first_graph,
        first_draw,
        -1 if step_budget is None else step_budget,
        heads,
        _POPS.index(pops),
        trusts_double,
    )
    return heads.reshape(num_draws, *graphs.batch_shape, graphs.size), Counts(*counts)


def sample_ragged(
    scores: NDArray[np.floating],
    lengths: NDArray[np.int32],
    num_draws: int,
    *,
    kind: TreeKind,
    key: tuple[int, int],
    method: str,
    workers: int = 1,
    first_graph: int = 0,
    first_draw: int = 0,
) -> tuple[NDArray[np.uint8 | np.int32], NDArray[np.float64]] | None:
    """Draw trees from scores as they come: matrices of all sizes, one after the other.

    Every graph is copied, checked, drawn from and forgotten in one go, so nothing is padded.  The
    trees are those of `sample`, in one row: graph by graph and draw by draw, the heads of words
    alone, as bytes if they fit. Their log-probabilities are returned with them. The result is None
    if something about a graph is wrong or odd, which the gate then reports.
    """
    if scores.dtype not in (np.float32, np.float64):
        with np.errstate(invalid="ignore"):  # merely copying some NaNs raises a warning
            scores = scores.astype(np.float64)
    # Four times as many fit into a cache, and into a page of a Parquet file.
    narrow = np.uint8 if lengths.max(initial=0) < 256 else np.int32
    heads: NDArray[Any] = np.empty(num_draws * int(lengths.sum()), dtype=narrow)
    log_prob = np.empty(num_draws * len(lengths))
    try:
        _core.sample_with_log_prob(
            _core.Batch(scores, lengths, kind, refuses_odd=True),
            workers,
            _NUMBERS[method],
            *key,
            first_graph,
            first_draw,
            heads,
            log_prob,
        )
    except _core.RefusedScores:
        return None
    return heads, log_prob
