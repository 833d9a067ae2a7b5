"""Draws with replacement: the methods, which one is the default, and the call into the core."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arborand import _core
from arborand.errors import BiasedSamplerWarning
from arborand.randomness import Seed, stream_key
from arborand.validation import check_index, check_integer, check_workers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arborand.validation import Graphs

# The order of enum class Method in src/core/types/draws.hpp.
METHODS = ("wilson", "wilson_reject", "colbourn", "wilson_rc")
# Those that only make sense where a single arc leaves the root.
_SINGLE_ROOT_ONLY = ("wilson_reject", "wilson_rc")
# The cheapest.  Wilson's walk takes a microsecond at 50 words, the ancestral sampler sixty;
# on graphs where it would walk for ever its budget makes it at most twice as slow.  Rejection saves
# the root's marginals, which pays for a few draws from large graphs only: but a rule that looked at
# the number of draws would break the promise that the first 10 of 1000 draws are the 10, and one
# that looked at other graphs of the batch would make draws depend on them.
DEFAULT_METHOD = "wilson"


class Counts(NamedTuple):
    """What the draws of one call took: for tests that count work instead of timing it."""

    steps: int
    walks: int
    ancestral: int


def sample(
    graphs: Graphs,
    size: int | tuple[int, ...] | None,
    *,
    method: str | None,
    rng: Seed,
    workers: int,
    first_graph: int = 0,
    first_draw: int = 0,
    step_budget: int | None = None,
) -> tuple[NDArray[np.int32], Counts]:
    """Draw trees: heads of shape (*size, *batch_shape, m), and what it took.

    `step_budget` is the number of steps after which a walk gives way to an ancestral draw; any
    value leaves the law as it is.
    """
    shape = check_size(size)
    num_draws = math.prod(shape)
    workers = check_workers(workers)
    first_graph = check_index(first_graph, "first_graph")
    first_draw = check_index(first_draw, "first_draw")
    if method is None:
        method = DEFAULT_METHOD
    check_method(method, graphs)
    heads = np.empty((num_draws, len(graphs.lengths), graphs.size), dtype=np.int32)
    counts = _core.sample(
        graphs.log_weights,
        graphs.lengths,
        graphs.single_root,
        workers,
        METHODS.index(method),
        *stream_key(rng),
        first_graph,
        first_draw,
        -1 if step_budget is None else step_budget,
        heads,
    )
    return heads.reshape(*shape, *graphs.batch_shape, graphs.size), Counts(*counts)


def check_method(method: str, graphs: Graphs) -> None:
    """Let a method's name through, with a warning if it is the biased one."""
    allowed = [name for name in METHODS if graphs.single_root or name not in _SINGLE_ROOT_ONLY]
    if method not in allowed:
        why = "only draws dependency trees" if method in METHODS else "is no method"
        raise ValueError(
            f"method {method!r} {why}: use one of {', '.join(map(repr, allowed))}, or None"
        )
    if method == "wilson_rc":
        warnings.warn(
            "method 'wilson_rc' is the paper's biased sampler: it draws the root's child by weight "
            "instead of by marginal; use 'wilson' or 'wilson_reject' for exact draws",
            BiasedSamplerWarning,
            stacklevel=4,
        )


def check_size(size: int | tuple[int, ...] | None) -> tuple[int, ...]:
    """Let a size through, in NumPy's conventions."""
    if size is None:
        return ()
    axes = size if isinstance(size, tuple) else (size,)
    shape = tuple(check_integer(axis, "size") for axis in axes)
    if any(axis < 0 for axis in shape):
        raise ValueError(f"size is {size}: a number of draws must not be negative")
    if math.prod(shape) >= 2**48:
        raise ValueError(
            f"size is {size}: no memory holds so many trees; draw them in parts, with first_draw"
        )
    return shape
