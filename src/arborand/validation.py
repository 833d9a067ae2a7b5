"""The one gate for weights: what passes here is never checked again.

Everything that enters arborand as weights becomes :class:`Graphs`: a read-only copy, float64 in C
order, with -inf wherever nothing is ever read (column 0, the diagonal, padding), known to be free
of NaN and +inf and to have at least one tree of the kind asked for.  The core looks at every entry
and decides (``_core.inspect``); this module turns what it finds into errors that name it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from arborand import _core
from arborand.errors import InvalidWeightsError, NoTreeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# What _core.inspect finds; the order of enum class Finding in src/core/python/inspection.hpp.
_NONE, _NOT_A_NUMBER, _PLUS_INFINITY, _UNREACHABLE, _NO_SINGLE_ROOT = range(5)


@dataclass(frozen=True, slots=True)
class Graphs:
    """Checked graphs, flattened to one batch axis.

    Attributes
    ----------
    log_weights : ndarray of float64, shape (num_graphs, m, m), read-only
    lengths : ndarray of int32, shape (num_graphs,), read-only
        The number of words of each graph.
    batch_shape : tuple of int
        The shape the caller gave; ``()`` for a single graph.
    single_root : bool
        Whether the trees are dependency trees.
    """

    log_weights: NDArray[np.float64]
    lengths: NDArray[np.int32]
    batch_shape: tuple[int, ...]
    single_root: bool

    def __post_init__(self) -> None:
        self.log_weights.flags.writeable = False
        self.lengths.flags.writeable = False

    @property
    def size(self) -> int:
        """The number of nodes a matrix has room for, root included."""
        return int(self.log_weights.shape[-1])

    @property
    def has_arc(self) -> NDArray[np.bool_]:
        """Where there is an arc, in the shape of `log_weights`."""
        return self.log_weights > -np.inf


def check_log_weights(
    log_weights: ArrayLike,
    lengths: ArrayLike | None,
    *,
    single_root: bool,
    name: str = "log_weights",
) -> Graphs:
    """Let log-weights through the gate, as a copy, or raise an error that names what is wrong."""
    array = _copy(log_weights, name)
    return _check(array, _check_lengths(lengths, array.shape), single_root=single_root, name=name)


def check_weights(weights: ArrayLike, lengths: ArrayLike | None, *, single_root: bool) -> Graphs:
    """Let plain weights through the gate, as log-weights."""
    array = _copy(weights, "weights")
    batch_lengths = _check_lengths(lengths, array.shape)
    negative = (array < 0) & _is_read(batch_lengths, array.shape)
    if negative.any():
        index = tuple(int(i) for i in np.argwhere(negative)[0])
        raise InvalidWeightsError(
            f"weights{_brackets(index)} is {array[index]}: weights must not be negative; "
            "use 0 to forbid an arc, or pass logarithms to the constructor"
        )
    # Not NumPy's logarithm, whose last digit depends on the processor.
    _core.logarithms(array.reshape(-1))
    return _check(array, batch_lengths, single_root=single_root, name="weights")


def has_tree(
    log_weights: NDArray[np.float64], num_words: int, single_root: bool, arc: tuple[int, int]
) -> bool:
    """Tell whether any tree of one checked graph contains an arc."""
    head, dependent = arc
    conditioned = np.array(log_weights)
    conditioned[:, dependent] = -np.inf
    conditioned[head, dependent] = 0.0
    lengths = np.array([num_words], dtype=np.int32)
    return bool(_core.inspect(conditioned[None], lengths, single_root)[0] == _NONE)


def _copy(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return a fresh float64 array of shape (..., m, m)."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is a masked array, whose mask would be lost: fill it in, with -inf for a "
            "forbidden arc of log-weights and 0 for one of weights"
        )
    try:
        array: NDArray[Any] = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(
            f"{name} cannot be read as an array ({error}): all rows must have one length; of a "
            "torch tensor pass tensor.detach().cpu().double()"
        ) from error
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"{name} must be an array of real numbers, but its dtype is {array.dtype}; "
            "pass nested lists or an array of floats, all rows of one length"
        )
    if array.ndim < 2:
        raise InvalidWeightsError(
            f"{name} has shape {array.shape}: expected (n + 1, n + 1) for a graph of n words, or "
            "(..., m, m) for a padded batch"
        )
    if array.shape[-1] != array.shape[-2]:
        raise InvalidWeightsError(
            f"{name} has shape {array.shape}, which is not square in its last two axes: expected "
            "one row and one column for each node, the root included"
        )
    if array.shape[-1] < 2:
        raise InvalidWeightsError(
            f"{name} has shape {array.shape}, which leaves no words at all: a graph needs the root "
            "and at least one word, so at least a 2 x 2 matrix"
        )
    with np.errstate(over="ignore"):  # long doubles beyond the range become inf, which is named
        return np.array(array, dtype=np.float64, order="C", copy=True)


def _check(
    array: NDArray[np.float64], lengths: NDArray[np.int32], *, single_root: bool, name: str
) -> Graphs:
    """Check a fresh array of log-weights, whose lengths are checked, and freeze it."""
    batch_shape = array.shape[:-2]
    size = array.shape[-1]
    flat_lengths = lengths.reshape(-1)
    flat = array.reshape(-1, size, size)
    finding, graph, head, dependent = _core.inspect(flat, flat_lengths, single_root)
    if finding != _NONE:
        batch_index = tuple(int(i) for i in np.unravel_index(graph, batch_shape))
        if finding in (_NOT_A_NUMBER, _PLUS_INFINITY):
            raise _bad_entry(name, (*batch_index, head, dependent), finding)
        num_words = int(flat_lengths[graph])
        raise _no_tree(flat[graph, : num_words + 1, : num_words + 1], name, batch_index)
    return Graphs(flat, flat_lengths, batch_shape, single_root)


def _check_lengths(lengths: ArrayLike | None, shape: tuple[int, ...]) -> NDArray[np.int32]:
    """Return the number of words of each graph, in the batch's shape."""
    batch_shape, size = shape[:-2], shape[-1]
    if lengths is None:
        return np.full(batch_shape, size - 1, dtype=np.int32)
    array: NDArray[Any] = np.asarray(lengths)
    if array.size == 0 and array.dtype.kind == "f":  # an empty list
        array = array.astype(np.int32)
    if array.dtype.kind not in "iu":
        raise TypeError(f"lengths must be integers, but their dtype is {array.dtype}")
    if array.shape != batch_shape:
        raise InvalidWeightsError(
            f"lengths has shape {array.shape} where the batch has shape {batch_shape}: "
            "give one number of words for each graph"
        )
    bad = (array < 1) | (array > size - 1)
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InvalidWeightsError(
            f"lengths{_brackets(index)} is {array[index]}: a graph padded to {size} nodes has 1 to "
            f"{size - 1} words (the root is not counted)"
        )
    return array.astype(np.int32)


def _is_read(lengths: NDArray[np.int32], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Mark the entries that mean an arc: no column 0, no diagonal, no padding."""
    node = np.arange(shape[-1])
    real = node <= lengths[..., None]
    mask = real[..., :, None] & real[..., None, :] & (node[:, None] != node) & (node > 0)
    return np.broadcast_to(mask, shape)


def _brackets(index: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, index))}]" if index else ""


def _bad_entry(name: str, index: tuple[int, ...], finding: int) -> InvalidWeightsError:
    value = "nan" if finding == _NOT_A_NUMBER else "inf"
    forbid = "-inf" if name == "log_weights" else "0"
    return InvalidWeightsError(
        f"{name}{_brackets(index)} is {value}, on the arc {index[-2]} -> {index[-1]}: "
        f"every arc needs a finite {'score' if name == 'log_weights' else 'weight'}, "
        f"or {forbid} to forbid it"
    )


def _no_tree(
    log_weights: NDArray[np.float64], name: str, batch_index: tuple[int, ...]
) -> NoTreeError:
    """Explain why one cleaned graph has no tree of its kind, which the core has found out.

    The core stops at the first graph without a tree; all nodes out of reach are listed here, on
    the way to an error only.
    """
    where = f" in batch item {_brackets(batch_index)}" if batch_index else ""
    unreachable = find_unreachable(log_weights)
    if unreachable:
        nodes = ", ".join(map(str, unreachable))
        return NoTreeError(
            f"{name}{where} has no spanning tree: the root (node 0) cannot reach "
            f"node{'s' if len(unreachable) > 1 else ''} {nodes}; give each an arc from a node that "
            "the root reaches",
            unreachable,
            batch_index,
        )
    return NoTreeError(
        f"{name}{where} has spanning trees, but no dependency tree: no single word with an arc "
        "from the root reaches all other words; add arcs between the words, or use SpanningTrees",
        (),
        batch_index,
    )


def find_unreachable(log_weights: NDArray[np.float64]) -> tuple[int, ...]:
    """List the nodes of one graph that its root does not reach."""
    has_arc = log_weights > -np.inf
    reached = np.zeros(len(log_weights), dtype=bool)
    frontier = np.zeros_like(reached)
    frontier[0] = True
    while frontier.any():
        reached |= frontier
        frontier = has_arc[frontier].any(axis=0) & ~reached
    return tuple(int(node) for node in np.flatnonzero(~reached))
