"""Trees as arrays of heads: what they are made of, and whether they are trees at all.

``heads[..., j]`` is the head of node j; node 0 is the root, whose entry is -1, as is the entry of
every padding node.  All functions take one tree, shape (n + 1,), or any array of trees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arborand.errors import InvalidTreeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def is_tree(
    heads: ArrayLike, *, single_root: bool = False, lengths: ArrayLike | None = None
) -> NDArray[np.bool_] | np.bool_:
    """Tell whether each array of heads is a tree.

    Parameters
    ----------
    heads : array_like of int, shape (..., m)
    single_root : bool
        Ask for a dependency tree: exactly one arc leaves the root.
    lengths : array_like of int, optional
        The number of words of each tree, where padding follows; by default all m - 1.

    Returns
    -------
    ndarray of bool, shape (...)

    Raises
    ------
    TypeError
        If heads are not integers.

    Examples
    --------
    >>> is_tree([-1, 2, 0, 2]), is_tree([-1, 2, 1, 0])
    (np.True_, np.False_)
    """
    array = _as_heads(heads)
    words = _words(array, lengths)
    well_formed = _is_well_formed(array, words).all(axis=-1)
    answer = np.asarray(well_formed & _reaches_root(array, words).all(axis=-1))
    if single_root:
        answer &= num_root_arcs(array) == 1
    return answer[()]


def num_root_arcs(heads: ArrayLike) -> NDArray[np.intp]:
    """Count the arcs that leave the root of each tree.

    Examples
    --------
    >>> int(num_root_arcs([-1, 0, 0, 2]))
    2
    """
    answer: NDArray[np.intp] = np.asarray((_as_heads(heads) == 0).sum(axis=-1))
    return answer


def arcs(heads: ArrayLike) -> NDArray[np.int32]:
    """List the arcs of one tree as (head, dependent) rows, in the order of the dependents.

    Examples
    --------
    >>> arcs([-1, 2, 0, 2]).tolist()
    [[2, 1], [0, 2], [2, 3]]
    """
    array = _as_heads(heads)
    if array.ndim != 1:
        raise InvalidTreeError(
            f"heads has shape {array.shape}: arcs takes one tree, shape (n + 1,); index it first"
        )
    dependents = np.flatnonzero(array >= 0)
    return np.stack([array[dependents], dependents], axis=-1).astype(np.int32)


def log_weight(heads: ArrayLike, log_weights: ArrayLike) -> NDArray[np.float64] | np.float64:
    """Add up the log-weights of each tree's arcs: the logarithm of the paper's w(t).

    Parameters
    ----------
    heads : array_like of int, shape (..., m)
    log_weights : array_like, shape (m, m)
        ``log_weights[head, dependent]`` of one graph.

    Examples
    --------
    >>> float(log_weight([-1, 2, 0], [[0, 1, 2], [0, 0, 3], [0, 4, 0]]))
    6.0
    """
    array = check_trees(heads)
    matrix = np.asarray(log_weights, dtype=np.float64)
    if matrix.shape != (array.shape[-1],) * 2:
        raise InvalidTreeError(
            f"heads has {array.shape[-1]} nodes where log_weights has shape {matrix.shape}: "
            "both count the root and all words"
        )
    score = matrix[array, np.arange(array.shape[-1])]
    answer: NDArray[np.float64] = np.where(array >= 0, score, 0.0).sum(axis=-1)
    return answer[()]


def check_trees(
    heads: ArrayLike,
    lengths: ArrayLike | None = None,
    *,
    batch_shape: tuple[int, ...] | None = None,
    size: int | None = None,
) -> NDArray[np.intp]:
    """Return heads as an integer array, or raise an error that names what is not a tree.

    The gate for trees.  With `batch_shape` and `size`, the last axes must be those of a batch of
    graphs of so many nodes.

    Raises
    ------
    InvalidTreeError
        Naming the node with an impossible head, or the nodes of a cycle.
    """
    if batch_shape is not None:
        shape, expected = np.shape(heads), (*batch_shape, size)
        if len(shape) < len(expected) or shape[len(shape) - len(expected) :] != expected:
            raise InvalidTreeError(
                f"heads has shape {shape}: expected {expected}, with any number of axes for the "
                "draws in front"
            )
    array = _as_heads(heads)
    words = _words(array, lengths)
    well_formed = _is_well_formed(array, words)
    if not well_formed.all():
        index = tuple(int(i) for i in np.argwhere(~well_formed)[0])
        raise InvalidTreeError(_malformed(array, words, index))
    reaches_root = _reaches_root(array, words)
    if not reaches_root.all():
        index = tuple(int(i) for i in np.argwhere(~reaches_root)[0])
        cycle = _cycle(array[index[:-1]], index[-1])
        raise InvalidTreeError(
            f"heads{_item(index[:-1])} is not a tree: it has the cycle "
            f"{' -> '.join(map(str, cycle))}; every node must lead to the root (node 0)"
        )
    return array


def _as_heads(heads: ArrayLike) -> NDArray[np.intp]:
    array: NDArray[Any] = np.asarray(heads)
    if array.dtype.kind not in "iu":
        raise TypeError(f"heads must be integers, but their dtype is {array.dtype}")
    if array.ndim < 1 or array.shape[-1] < 2:
        raise InvalidTreeError(
            f"heads has shape {array.shape}: expected (..., n + 1), one entry for the root and one "
            "for each of at least one word"
        )
    return array.astype(np.intp)


def _words(array: NDArray[np.intp], lengths: ArrayLike | None) -> NDArray[np.bool_]:
    """Mark the entries of words, as opposed to the root and padding."""
    node = np.arange(array.shape[-1])
    last = array.shape[-1] - 1 if lengths is None else np.asarray(lengths)[..., None]
    return np.broadcast_to((node > 0) & (node <= last), array.shape)


def _is_well_formed(array: NDArray[np.intp], words: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Check entry by entry: words have another node as head, all else has -1."""
    num_words = words.sum(axis=-1, keepdims=True)
    possible = (array >= 0) & (array <= num_words) & (array != np.arange(array.shape[-1]))
    answer: NDArray[np.bool_] = np.where(words, possible, array == -1)
    return answer


def _reaches_root(array: NDArray[np.intp], words: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Follow all heads at once, twice as far each time, until the longest path is covered."""
    ancestor = np.clip(np.where(words, array, 0), 0, array.shape[-1] - 1)
    for _ in range(max(1, int(array.shape[-1]).bit_length())):
        ancestor = np.take_along_axis(ancestor, ancestor, axis=-1)
    answer: NDArray[np.bool_] = ancestor == 0
    return answer


def _cycle(heads: NDArray[np.intp], node: int) -> list[int]:
    """Return the cycle that the path from `node` runs into, its first node repeated at the end."""
    path: list[int] = []
    while node not in path:
        path.append(node)
        node = int(heads[node])
    return [*path[path.index(node) :], node]


def _item(index: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, index))}]" if index else ""


def _malformed(array: NDArray[np.intp], words: NDArray[np.bool_], index: tuple[int, ...]) -> str:
    head, node = int(array[index]), index[-1]
    num_words = int(words[index[:-1]].sum())
    where = f"heads{_item(index)} is {head}"
    if node == 0:
        return f"{where}: the entry of the root (node 0) must be -1"
    if not words[index]:
        return f"{where}: the entry of a padding node must be -1 (this tree has {num_words} words)"
    if head == node:
        return f"{where}: node {node} cannot be its own head"
    return f"{where}: the head of node {node} must be 0 (the root) to {num_words}"
