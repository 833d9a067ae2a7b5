"""The one gate for weights: what passes here is never checked again.

Everything that enters arborand as weights becomes :class:`Graphs`: a read-only copy, float64 in C
order, with -inf wherever nothing is ever read (column 0, the diagonal, padding), known to be free
of NaN and +inf and to have at least one tree of the requested kind.  The core copies and checks
every entry (``_core.Batch.check``); this module turns what it finds into error messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from arborand import _core, recognition
from arborand.errors import (
    InvalidWeightsError,
    NoTreeError,
    SuspiciousWeightsWarning,
    warn_caller,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import ArrayLike, NDArray

    from arborand.kinds import TreeKind

# What the core finds wrong, in the order of enum class Finding in src/core/python/inspection.hpp.
_NONE, _NOT_A_NUMBER, _PLUS_INFINITY, _UNREACHABLE, _NO_SINGLE_ROOT, _CROSSING, _NEGATIVE = range(7)
# What it finds odd, in the order of enum class Suspicion in src/core/python/suspicion.hpp.
_PADDING, _ADJACENCY, _TRANSPOSED = range(_NEGATIVE + 1, _NEGATIVE + 4)
_MASK = -1000.0  # mask_score there

# What the last two axes of a matrix stand for.
HEAD_DEPENDENT, DEPENDENT_HEAD = ORIENTATIONS = ("head,dependent", "dependent,head")
_SAY_SO = (
    f"if the matrix is [dependent, head], pass orientation={DEPENDENT_HEAD!r} (on the command "
    "line: --orientation)"
)


@dataclass(slots=True, eq=False)  # frozen=True would take longer than checking a sentence
class Graphs:
    """Checked graphs, flattened to one batch axis.  They are never modified.

    Attributes
    ----------
    batch : _core.Batch
        The graphs as the core takes them.
    batch_shape : tuple of int
        The shape the caller gave; ``()`` for a single graph.
    kind : TreeKind
        Which trees are meant.
    """

    batch: _core.Batch
    batch_shape: tuple[int, ...]
    kind: TreeKind

    def __len__(self) -> int:
        return len(self.batch)

    @property
    def size(self) -> int:
        """The number of nodes a matrix has room for, root included."""
        return self.batch.size

    @property
    def log_weights(self) -> NDArray[np.float64]:
        """The scores, shape (num_graphs, m, m), permanently read-only."""
        return self.batch.log_weights

    @property
    def lengths(self) -> NDArray[np.int32]:
        """The number of words of each graph, shape (num_graphs,), permanently read-only."""
        return self.batch.lengths

    @property
    def has_arc(self) -> NDArray[np.bool_]:
        """Where there is an arc, in the shape of `log_weights`."""
        return self.log_weights > -np.inf

    def arcs(self, make: Callable[..., NDArray[np.float64]] = np.empty) -> NDArray[np.float64]:
        """Make room for a number per arc of every graph."""
        return make((len(self.batch), self.size, self.size))

    def with_log_weights(self, log_weights: NDArray[np.float64]) -> Graphs:
        """Return graphs over the same words with other scores, which must have trees."""
        batch = checked_batch(log_weights, self.lengths, self.kind)
        return Graphs(batch, self.batch_shape, self.kind)

    def take(self, chosen: NDArray[np.intp]) -> Graphs:
        """Copy some graphs, by their places in the flattened batch."""
        places = np.ascontiguousarray(chosen.reshape(-1), dtype=np.int64)
        return Graphs(self.batch.take(places), chosen.shape, self.kind)


def checked_batch(
    log_weights: NDArray[np.float64], lengths: NDArray[np.int32], kind: TreeKind
) -> _core.Batch:
    """Hand the core scores derived from checked ones, which must have trees."""
    batch, found = _core.Batch.check(log_weights, lengths, kind)
    if batch is None:
        raise RuntimeError(f"scores derived from checked ones do not pass: {found}")
    return batch


def check_log_weights(
    log_weights: ArrayLike,
    lengths: ArrayLike | None,
    *,
    kind: TreeKind,
    name: str = "log_weights",
    orientation: str = HEAD_DEPENDENT,
    warns: bool = False,
) -> Graphs:
    """Check and copy log-weights, or raise an error that names what is wrong.

    If it `warns`, then about what is valid but looks like a mistake.
    """
    graphs = _at_once(log_weights, lengths, kind, orientation, are_weights=False)
    if graphs is not None:
        return graphs
    given = Given(real_array(log_weights, name), name, orientation, True)
    graphs, suspicion, graph = _check(given, lengths, kind)
    if warns and (suspicion != _NONE or given.array.shape == (3, 3) or given.array.dtype == bool):
        _warn_if_suspicious(given, graphs, suspicion, graph)
    return graphs


def check_weights(
    weights: ArrayLike,
    lengths: ArrayLike | None,
    *,
    kind: TreeKind,
    orientation: str = HEAD_DEPENDENT,
) -> Graphs:
    """Check plain weights, and take their logarithms."""
    graphs = _at_once(weights, lengths, kind, orientation, are_weights=True)
    if graphs is not None:
        return graphs
    given = Given(real_array(weights, "weights"), "weights", orientation, False)
    return _check(given, lengths, kind)[0]


def has_tree(
    log_weights: NDArray[np.float64],
    num_words: int,
    kind: TreeKind,
    *arcs: tuple[int, int],
) -> bool:
    """Return whether one checked graph has any tree, or any that contains all of some arcs."""
    log_weights = np.array(log_weights)
    for head, dependent in arcs:
        log_weights[:, dependent] = -np.inf
        log_weights[head, dependent] = 0.0
    lengths = np.array([num_words], dtype=np.int32)
    return _core.Batch.check(log_weights, lengths, kind)[0] is not None


def _at_once(
    values: ArrayLike,
    lengths: ArrayLike | None,
    kind: TreeKind,
    orientation: str,
    *,
    are_weights: bool,
) -> Graphs | None:
    """Accept an array of floats at once, if the core finds nothing to report.

    Most distributions are of one small graph, which takes longer to check in Python than in the
    core.
    """
    if type(values) is not np.ndarray or lengths is not None or orientation != HEAD_DEPENDENT:
        return None
    shape = values.shape
    if shape == (3, 3):  # it may be a list of edges
        return None
    batch, found = _core.Batch.check(values, None, kind, are_weights)
    return None if batch is None or found is not None else Graphs(batch, shape[:-2], kind)


@dataclass(slots=True)
class Given:
    """An array as the caller gave it: to copy it, and to describe it in the caller's terms."""

    array: NDArray[Any]
    name: str
    orientation: str
    are_logarithms: bool

    def __post_init__(self) -> None:
        if self.orientation is not HEAD_DEPENDENT and self.orientation not in ORIENTATIONS:
            raise ValueError(
                f"orientation is {self.orientation!r}: use {HEAD_DEPENDENT!r} for "
                f"{self.name}[head, dependent], or {DEPENDENT_HEAD!r}"
            )
        found = _wrong_shape(self.array, are_logarithms=self.are_logarithms)
        if found is not None:
            raise InvalidWeightsError(f"{self.name} {found}")

    @property
    def by_head(self) -> NDArray[Any]:
        """The array as [..., head, dependent]."""
        is_turned = self.orientation == DEPENDENT_HEAD
        return self.array.swapaxes(-1, -2) if is_turned else self.array

    def copy(self) -> NDArray[np.float64]:
        """Copy it to a new float64 array, [..., head, dependent]."""
        if self.array.dtype.itemsize <= 8:
            return np.array(self.by_head, dtype=np.float64, order="C", copy=True)
        with np.errstate(over="ignore"):  # long doubles beyond the range become inf: reported
            return self.by_head.astype(np.float64, order="C")

    def entry(self, batch_index: tuple[int, ...], head: int, dependent: int) -> str:
        """Name the entry of an arc, and say what it holds."""
        arc = (dependent, head) if self.orientation == DEPENDENT_HEAD else (head, dependent)
        index = (*batch_index, *arc)
        return f"{self.name}{list(index)} is {self.array[index]}"


def real_array(values: ArrayLike, name: str, *, converts: bool = False) -> NDArray[Any]:
    """Read something as an array of real numbers; those that NumPy does not have, if `converts`."""
    if type(values) is not np.ndarray:
        if isinstance(values, np.ma.MaskedArray):
            raise TypeError(
                f"{name} is a masked array, whose mask would be lost: fill it first, with -inf for "
                "forbidden arcs if these are log-weights, or with 0 if they are weights"
            )
        found = recognition.foreign_object(values)
        if found is not None:
            raise TypeError(f"{name} {found}")
    try:
        array: NDArray[Any] = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        found = recognition.unequal_matrices(values)
        if found is not None:
            raise TypeError(f"{name} {found}") from None
        raise TypeError(
            f"{name} cannot be read as an array ({error}): all rows must have the same length; "
            "for a torch tensor, pass tensor.detach().cpu().double()"
        ) from error
    if array.dtype.kind not in "biuf":
        found = recognition.unknown_numbers(array)
        if found is not None and converts:
            return array.astype(np.float64)
        found = found or (
            f"must be an array of real numbers, but its dtype is {array.dtype}; "
            "pass nested lists or an array of floats, with rows of the same length"
        )
        raise TypeError(f"{name} {found}")
    return array


def _wrong_shape(array: NDArray[Any], *, are_logarithms: bool) -> str | None:
    shape = array.shape
    if len(shape) < 2:
        return (
            f"has shape {shape}: expected (n + 1, n + 1) for a graph of n words, or (..., m, m) "
            "for a padded batch"
        )
    if shape[-1] != shape[-2]:
        return recognition.strange_shape(array, are_logarithms=are_logarithms) or (
            f"has shape {shape}, which is not square in its last two axes: expected one row and "
            "one column for each node, the root included"
        )
    if shape[-1] < 2:
        return (
            f"has shape {shape}, which leaves no words: a graph needs the root and at least "
            "one word, so at least a 2 x 2 matrix"
        )
    return None


def _check(given: Given, lengths: ArrayLike | None, kind: TreeKind) -> tuple[Graphs, int, int]:
    """Let the core check a copy; also return what is odd, and in which graph."""
    *batch_shape, size, _ = given.array.shape
    flat_lengths = None if lengths is None else _check_lengths(lengths, given.array.shape)
    are_weights = not given.are_logarithms
    batch, found = _core.Batch.check(given.by_head, flat_lengths, kind, are_weights)
    if batch is None and found is None:  # a dtype or layout that the core does not read
        batch, found = _core.Batch.check(given.copy(), flat_lengths, kind, are_weights)
    finding, graph, head, dependent = (_NONE, 0, 0, 0) if found is None else found
    if batch is not None:
        return Graphs(batch, tuple(batch_shape), kind), finding, graph
    index = tuple(int(i) for i in np.unravel_index(graph, batch_shape))
    if finding in (_NOT_A_NUMBER, _PLUS_INFINITY):
        raise _bad_entry(given, index, head, dependent)
    if finding == _NEGATIVE:
        raise InvalidWeightsError(
            f"{given.entry(index, head, dependent)}: weights must not be negative; "
            "use 0 to forbid an arc, or pass logarithms to the constructor"
        )
    nodes = size if flat_lengths is None else int(flat_lengths[graph]) + 1
    raise _no_tree(given, nodes, index, finding, kind, has_lengths=lengths is not None)


def _check_lengths(lengths: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.int32]:
    """Return the number of words of each graph, in one row."""
    batch_shape, size = shape[:-2], shape[-1]
    array: NDArray[Any] = np.array(lengths)  # a copy, since another thread may write to it
    if array.size == 0 and array.dtype.kind == "f":  # an empty list
        array = array.astype(np.int32)
    if array.dtype.kind == "b":
        raise TypeError(
            "lengths must be integers, but their dtype is bool: for a mask, pass mask.sum(-1), "
            "minus 1 if it covers the root"
        )
    if array.dtype.kind not in "iu":
        raise TypeError(f"lengths must be integers, but their dtype is {array.dtype}")
    if array.shape != batch_shape:
        raise InvalidWeightsError(
            f"lengths has shape {array.shape}, but the batch has shape {batch_shape}: "
            "give one number of words for each graph"
        )
    bad = (array < 1) | (array > size - 1)
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        counts_root = array.max() == size and array.min() > 1
        raise InvalidWeightsError(
            f"lengths{list(index) or ''} is {array[index]}: a graph padded to {size} nodes has 1 "
            f"to {size - 1} words (the root is not counted)"
            + ("; pass lengths - 1 if yours counts the root" if counts_root else "")
        )
    return array.astype(np.int32).reshape(-1)


def _bad_entry(
    given: Given, index: tuple[int, ...], head: int, dependent: int
) -> InvalidWeightsError:
    number, forbid = ("score", "-inf") if given.are_logarithms else ("weight", "0")
    return InvalidWeightsError(
        f"{given.entry(index, head, dependent)}, on the arc {head} -> {dependent}: "
        f"every arc needs a finite {number}, or {forbid} to forbid it"
    )


def _no_tree(
    given: Given,
    nodes: int,
    batch_index: tuple[int, ...],
    finding: int,
    kind: TreeKind,
    *,
    has_lengths: bool,
) -> NoTreeError:
    """Explain why one graph has no tree of its kind, as the core has found.

    The core stops at the first graph without a tree; only here, for the error message, are all
    unreachable nodes listed.
    """
    where = f" in batch item {list(batch_index)}" if batch_index else ""
    if finding == _CROSSING:
        wider = "DependencyTrees" if kind.has_single_root else "SpanningTrees"
        return NoTreeError(
            f"{given.name}{where} has no {kind.noun}: every tree over its arcs has crossing arcs; "
            f"add arcs, or allow crossing arcs ({wider})",
            (),
            batch_index,
        )
    if finding == _NO_SINGLE_ROOT:
        wider = "ProjectiveSpanningTrees" if kind.is_projective else "SpanningTrees"
        return NoTreeError(
            f"{given.name}{where} has spanning trees, but no dependency tree: no single word with "
            "an arc from the root reaches all other words; add arcs between the words, or allow "
            f"several arcs from the root ({wider})",
            (),
            batch_index,
        )
    matrix = given.by_head[batch_index][:nodes, :nodes]
    nothing = -np.inf if given.are_logarithms else 0
    unreachable = find_unreachable(matrix > nothing)
    padding = "; if the batch is padded, pass lengths" if batch_index and not has_lengths else ""
    if len(unreachable) == nodes - 1:
        first_column = matrix[1:, 0]
        turned = (
            f", and column 0 is not: {_SAY_SO}"
            if given.orientation == HEAD_DEPENDENT and (first_column > nothing).any()
            else ": it holds the arcs from the root to the words"
        )
        row = "row" if given.orientation == HEAD_DEPENDENT else "column"
        message = f"the root (node 0) cannot reach any node, because {row} 0 is empty{turned}"
    else:
        listed = ", ".join(map(str, unreachable))
        noun, each = ("nodes", "each") if len(unreachable) > 1 else ("node", "it")
        message = (
            f"the root (node 0) cannot reach {noun} {listed}; give {each} an arc from a node that "
            "the root reaches"
        )
    return NoTreeError(
        f"{given.name}{where} has no spanning tree: {message}{padding}", unreachable, batch_index
    )


# ---- matrices of different sizes


def pad(matrices: Iterable[ArrayLike]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Combine matrices of different sizes into one padded array, for a batch.

    Parameters
    ----------
    matrices : iterable of array_like, shape (n + 1, n + 1) each
        Log-weights or weights.

    Returns
    -------
    array : ndarray of float64, shape (number of matrices, m, m)
        m is the size of the largest matrix; smaller ones are padded with -inf.
    lengths : ndarray of int32, shape (number of matrices,)
        The number of words of each matrix, without the root.

    Raises
    ------
    InvalidWeightsError
        If one of them is not a square matrix of at least 2 rows.
    TypeError
        If one of them is not an array of real numbers.

    Examples
    --------
    >>> from arborand import DependencyTrees, pad
    >>> array, lengths = pad([[[0, 1, 2], [0, 0, 3], [0, 4, 0]], [[0, 5], [0, 0]]])
    >>> array.shape, lengths.tolist()
    ((2, 3, 3), [2, 1])
    >>> DependencyTrees(array, lengths=lengths)
    DependencyTrees(batch of shape (2,), 1 to 2 words, 5 arcs)
    """
    if isinstance(matrices, memoryview):  # which cannot be iterated over
        matrices = np.asarray(matrices)
    checked = [_matrix(matrix, f"matrices[{i}]") for i, matrix in enumerate(matrices)]
    sizes = [len(matrix) for matrix in checked]
    most = max(sizes, default=2)
    array = np.full((len(checked), most, most), -np.inf)
    for target, matrix in zip(array, checked, strict=True):
        target[: len(matrix), : len(matrix)] = matrix
    return array, np.array(sizes, dtype=np.int32) - np.int32(1)


def _matrix(values: ArrayLike, name: str) -> NDArray[np.float64]:
    matrix = real_array(values, name, converts=True)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        raise InvalidWeightsError(
            f"{name} has shape {matrix.shape}: expected (n + 1, n + 1) for a graph of n words, n "
            "at least 1"
        )
    return matrix.astype(np.float64)


# ---- valid, but probably not intended


def _warn_if_suspicious(given: Given, graphs: Graphs, suspicion: int, graph: int) -> None:
    if given.array.dtype == bool:
        booleans = (
            "is an array of booleans: as a log-weight, False is an arc of weight 1; use "
            "from_weights, where False means no arc"
        )
        _warn(given, (), booleans)
        return
    if suspicion == _NONE:
        if recognition.edge_list(given.array):
            edges = (
                "may be a list of edges (node, node, weight): a matrix of scores has one row and "
                "one column for each node"
            )
            _warn(given, (), edges)
        return
    index = tuple(int(i) for i in np.unravel_index(graph, graphs.batch_shape))
    nodes = int(graphs.lengths[graph]) + 1
    matrix = np.asarray(given.by_head[index][:nodes, :nodes], dtype=np.float64)
    found = _suspicion(suspicion, matrix, given)
    if found is not None:
        _warn(given, index, found)


def _suspicion(suspicion: int, matrix: NDArray[np.float64], given: Given) -> str | None:
    if suspicion == _PADDING:
        columns = [np.delete(matrix[:, j], j) for j in range(len(matrix))]
        flat = [j for j in range(1, len(matrix)) if columns[j].min() == columns[j].max()]
        masked = [j for j in flat if matrix[0, j] <= _MASK]
        return (
            f"gives all heads of node{'s' if len(masked) > 1 else ''} "
            f"{', '.join(map(str, masked))} the same score, {matrix[0, masked[0]]:g}: padding gets "
            "heads too, unless lengths excludes it (the root is not counted)"
        )
    row, column = matrix[0, 1:], matrix[1:, 0]
    # A matrix that is meant to hold scores usually has an empty column 0.
    has_arcs_to_root = (column >= 0).all() and (column > 0).any()
    if suspicion == _ADJACENCY and has_arcs_to_root and (np.diagonal(matrix) == 0).all():
        return (
            "may be an adjacency matrix, where 0 means no arc: as a log-weight, 0 is an arc of "
            "weight 1; use from_weights (on the command line: --weights)"
        )
    is_flat = (row == row[0]).all() and np.isfinite(column).all() and (column != column[0]).any()
    if is_flat and given.orientation == HEAD_DEPENDENT:
        return (
            "has the same score for all arcs from the root, in row 0, but different scores in "
            f"column 0: {_SAY_SO}"
        )
    return None


def _warn(given: Given, index: tuple[int, ...], found: str) -> None:
    message = f"{given.name}{list(index) or ''} {found}"
    warn_caller(SuspiciousWeightsWarning(message, found, index))


def find_unreachable(has_arc: NDArray[np.bool_]) -> tuple[int, ...]:
    """List the nodes of one graph that its root cannot reach."""
    reached = np.zeros(len(has_arc), dtype=bool)
    frontier = np.zeros_like(reached)
    frontier[0] = True
    while frontier.any():
        reached |= frontier
        frontier = has_arc[frontier].any(axis=0) & ~reached
    return tuple(int(node) for node in np.flatnonzero(~reached))
