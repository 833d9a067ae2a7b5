"""Functions of trees that are given as arrays of heads.

``heads[..., j]`` is the head of node j.  Node 0 is the root; its entry is -1, and so are those of
padding.  All functions take one tree, of shape (n + 1,), or any array of trees, unless they say
otherwise.  All but `is_tree` and `num_root_arcs` raise `InvalidTreeError` for heads that are not a
tree.

===================  ==============================================================
is_tree              whether heads form a tree
arcs                 the list of arcs, for instance for ``networkx.DiGraph``
num_root_arcs        the number of arcs that leave the root
depth                the length of the longest path from the root, in arcs
is_projective        whether the arcs can be drawn above the words without crossing
attachment_score     the share of words that have the same head in two trees
log_weight           the sum of the log-weights of the arcs
from_conll           from the heads of words 1 to n, as in CoNLL-U; back: to_conll
from_parents         from parents that are counted from 0; back: to_parents
===================  ==============================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arborand import _core
from arborand.errors import InvalidTreeError
from arborand.recognition import foreign_object

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def is_tree(
    heads: ArrayLike, *, single_root: bool = False, lengths: ArrayLike | None = None
) -> NDArray[np.bool_] | np.bool_:
    """Return whether each array of heads is a tree.

    Parameters
    ----------
    heads : array_like of int, shape (..., m)
    single_root : bool
        Require a dependency tree: exactly one arc leaves the root.
    lengths : array_like of int, optional
        The number of words of each tree, if padding follows; by default m - 1.

    Returns
    -------
    ndarray of bool, shape (...)

    Raises
    ------
    TypeError
        If heads or lengths are not integers.
    InvalidTreeError
        If the shape of heads or lengths is impossible, or a length is not between 1 and m - 1.

    Examples
    --------
    >>> is_tree([-1, 2, 0, 2]), is_tree([-1, 2, 1, 0])
    (np.True_, np.False_)
    """
    array = _as_heads(heads)
    answer = _are_trees(array, _words(array, lengths))
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

    With NetworkX, ``networkx.DiGraph(arcs(heads).tolist())`` is the tree as a graph.

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
    _as_trees(array)
    dependents = np.flatnonzero(array >= 0)
    return np.stack([array[dependents], dependents], axis=-1).astype(np.int32)


def depth(heads: ArrayLike) -> NDArray[np.intp] | np.intp:
    """Count the arcs on the longest path from the root of each tree.

    Examples
    --------
    >>> int(depth([-1, 2, 0, 2])), int(depth([-1, 0, 1, 2]))
    (2, 3)
    """
    ancestor = np.maximum(_as_trees(heads), 0)
    answer = np.zeros(ancestor.shape[:-1], dtype=np.intp)
    heads_of = ancestor
    while (is_below := ancestor.any(axis=-1)).any():
        answer += is_below
        ancestor = np.take_along_axis(heads_of, ancestor, axis=-1)
    return (answer + 1)[()]  # a tree has a word, and a word a head


def is_projective(heads: ArrayLike) -> NDArray[np.bool_] | np.bool_:
    """Return whether the arcs of each tree can be drawn above its words without crossing.

    The root stands to the left of all words.  Takes :math:`O(n)` time per tree.

    Examples
    --------
    >>> is_projective([[-1, 2, 0, 2], [-1, 3, 0, 2]]).tolist()
    [True, False]
    """
    array = _as_trees(heads)
    answer = np.empty(array.shape[:-1], dtype=bool)
    _core.are_projective(np.ascontiguousarray(array, dtype=np.int32), answer)
    return answer[()]


def attachment_score(heads: ArrayLike, others: ArrayLike) -> NDArray[np.float64] | np.float64:
    """Compute the share of words that have the same head in two trees.

    Parameters
    ----------
    heads, others : array_like of int, shape (..., m)
        Trees of the same lengths; the shapes are broadcast, so that many draws may be compared with
        one tree.

    Returns
    -------
    ndarray of float64, shape (...)

    Examples
    --------
    >>> attachment_score([[-1, 2, 0, 2], [-1, 2, 0, 1]], [-1, 2, 0, 2]).round(4).tolist()
    [1.0, 0.6667]
    """
    first, second = _as_trees(heads), _as_trees(others, "others")
    try:
        first, second = np.broadcast_arrays(first, second)
    except ValueError:
        raise InvalidTreeError(
            f"heads has shape {first.shape} and others {second.shape}: both must have one entry "
            "for each node, and their leading axes must broadcast"
        ) from None
    is_word = first >= 0
    if (is_word != (second >= 0)).any():
        raise InvalidTreeError(
            "heads and others have different lengths: compare trees over the same words"
        )
    answer = ((first == second) & is_word).sum(axis=-1) / is_word.sum(axis=-1)
    return np.asarray(answer, dtype=np.float64)[()]


def from_conll(heads: ArrayLike) -> NDArray[np.int32]:
    """Make heads from those of words 1 to n alone, as in the HEAD column of a CoNLL-U file.

    Parameters
    ----------
    heads : array_like of int, shape (..., n)
        0 is the root, and -1 padding.

    Returns
    -------
    ndarray of int32, shape (..., n + 1)
        The same, with -1 for the root in front.

    Examples
    --------
    >>> from_conll([2, 0, 2]).tolist()
    [-1, 2, 0, 2]
    """
    array = check_integers(heads).astype(np.intp)
    if array.ndim < 1 or array.shape[-1] < 1:
        raise InvalidTreeError(f"heads has shape {array.shape}: expected (..., n), n at least 1")
    if array.size and (array[..., 0] == -1).all():
        raise InvalidTreeError(
            "heads begins with -1, the root's entry, so it is already complete: this function "
            "takes the heads of the words alone"
        )
    root = np.full((*array.shape[:-1], 1), -1)
    answer = np.concatenate([root, array], axis=-1)
    _as_trees(answer)
    return answer.astype(np.int32)


def to_conll(heads: ArrayLike) -> NDArray[np.int32]:
    """Leave out the root's entry: return the heads of words 1 to n, with 0 for the root.

    Examples
    --------
    >>> to_conll([-1, 2, 0, 2]).tolist()
    [2, 0, 2]
    """
    return _as_trees(heads)[..., 1:].astype(np.int32)


def from_parents(parents: ArrayLike) -> NDArray[np.int32]:
    """Make heads from the parents of words that are counted from 0; -1 is the root.

    Parameters
    ----------
    parents : array_like of int, shape (..., n)
        All trees must have the same number of words.

    Returns
    -------
    ndarray of int32, shape (..., n + 1)

    Examples
    --------
    >>> from_parents([1, -1, 1]).tolist()
    [-1, 2, 0, 2]
    """
    heads = check_integers(parents, "parents").astype(np.intp) + 1
    try:
        return from_conll(heads)
    except InvalidTreeError as error:
        raise InvalidTreeError(f"parents, as heads that begin with the root's: {error}") from None


def to_parents(heads: ArrayLike) -> NDArray[np.int32]:
    """Return the parents of the words, counted from 0; -1 is the root.

    All trees must have the same number of words, because -1 does not mean padding here.

    Examples
    --------
    >>> to_parents([-1, 2, 0, 2]).tolist()
    [1, -1, 1]
    """
    array = _as_trees(heads)
    if (array[..., 1:] < 0).any():
        raise InvalidTreeError("heads is padded: convert the trees of each length separately")
    return (array[..., 1:] - 1).astype(np.int32)


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
            f"heads has {array.shape[-1]} nodes, but log_weights has shape {matrix.shape}: "
            "both must include the root and all words"
        )
    score = matrix[array, np.arange(array.shape[-1])]
    answer: NDArray[np.float64] = np.where(array >= 0, score, 0.0).sum(axis=-1)
    return answer[()]


def check_trees(
    heads: ArrayLike, lengths: ArrayLike | None = None, name: str = "heads"
) -> NDArray[np.intp]:
    """Return heads as an integer array, or raise an error that names what is not a tree.

    Raises
    ------
    InvalidTreeError
        Naming the node with an impossible head, or the nodes of a cycle.
    """
    array = _as_heads(heads, name)
    words = _words(array, lengths)
    is_bad = ~_are_trees(array, words)
    if is_bad.any():
        index = tuple(int(i) for i in np.argwhere(is_bad)[0])
        raise not_a_tree(array[index], int(words[index].sum()), index, name)
    return array


def check_tree_heads(heads: ArrayLike, expected: tuple[int, ...]) -> NDArray[np.integer]:
    """Return an array of integers whose last axes are the expected ones.

    Whether they are trees is checked by the core; `not_a_tree` then says why one is not.
    """
    array = check_integers(heads)
    shape = array.shape
    if len(shape) >= len(expected) and shape[len(shape) - len(expected) :] == expected:
        return array
    found = f"heads has shape {shape}: expected {expected}"
    if shape and shape[-1] == expected[-1] - 1 and (array[..., 0] != -1).all():
        raise InvalidTreeError(
            f"{found}; put -1 for the root in front of the heads of the words, with "
            "arborand.trees.from_conll(heads)"
        )
    raise InvalidTreeError(f"{found}, with any number of leading axes for the draws")


def not_a_tree(
    heads: NDArray[np.integer], num_words: int, index: tuple[int, ...], name: str = "heads"
) -> InvalidTreeError:
    """Say why an array of heads is not a tree; `index` is its place among others."""
    for node, head in enumerate(heads.tolist()):
        wrong = _wrong_head(node, head, num_words)
        if wrong is not None:
            return InvalidTreeError(f"{name}{[*index, node]} is {head}: {wrong}")
    where = list(index) or ""
    at_root = {0}
    for node in range(1, num_words + 1):
        path: list[int] = []
        while node not in at_root and node not in path:
            path.append(node)
            node = int(heads[node])
        if node in path:
            cycle = " -> ".join(map(str, [*path[path.index(node) :], node]))
            return InvalidTreeError(
                f"{name}{where} is not a tree: it has the cycle {cycle}; every node must lead to "
                "the root (node 0)"
            )
        at_root.update(path)
    return InvalidTreeError(f"{name}{where} was changed while it was read: pass a copy")


def _wrong_head(node: int, head: int, num_words: int) -> str | None:
    if node == 0:
        missing = "the entry of the root (node 0) must be -1; arborand.trees.from_conll adds it"
        return None if head == -1 else missing
    if node > num_words:
        padding = f"the entry of a padding node must be -1 (this tree has {num_words} words)"
        return None if head == -1 else padding
    if head == node:
        return f"node {node} cannot be its own head"
    if not 0 <= head <= num_words:
        return f"the head of node {node} must be 0 (the root) to {num_words}"
    return None


def check_integers(values: ArrayLike, name: str = "heads") -> NDArray[Any]:
    """Return an array of integers, or raise an error that says what it is instead."""
    try:
        array: NDArray[Any] = np.asarray(values)
    except ValueError:
        raise InvalidTreeError(
            f"{name} holds trees of different lengths: pad the shorter ones with -1 at the end"
        ) from None
    except (TypeError, RuntimeError) as error:
        raise TypeError(
            f"{name} {foreign_object(values) or f'cannot be read as an array ({error})'}"
        ) from error
    if array.size == 0 and array.dtype.kind == "f":  # an empty list
        array = array.astype(np.intp)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, but their dtype is {array.dtype}")
    return array


def _as_heads(heads: ArrayLike, name: str = "heads") -> NDArray[np.intp]:
    array = check_integers(heads, name)
    if array.ndim < 1 or array.shape[-1] < 2:
        raise InvalidTreeError(
            f"{name} has shape {array.shape}: expected (..., n + 1), one entry for the root and "
            "one for each of at least one word"
        )
    return array.astype(np.intp)


def _as_trees(heads: ArrayLike, name: str = "heads") -> NDArray[np.intp]:
    """Return trees, whose lengths are inferred from their padding."""
    array = _as_heads(heads, name)
    node = np.arange(array.shape[-1])
    last = np.where(array >= 0, node, 0).max(axis=-1)
    return check_trees(array, np.maximum(last, 1), name)


def _words(array: NDArray[np.intp], lengths: ArrayLike | None) -> NDArray[np.bool_]:
    """Mark the entries of words, as opposed to the root and padding."""
    node, most = np.arange(array.shape[-1]), array.shape[-1] - 1
    last = np.array(most if lengths is None else lengths)  # a copy: another thread may write to it
    if last.dtype.kind not in "iu":
        raise TypeError(f"lengths must be integers, but their dtype is {last.dtype}")
    if ((last < 1) | (last > most)).any():
        bad = last[(last < 1) | (last > most)].flat[0]
        raise InvalidTreeError(
            f"lengths contains {bad}, but heads of {most + 1} nodes have 1 to {most} words (the "
            "root is not counted)"
        )
    try:
        return np.broadcast_to((node > 0) & (node <= last[..., None]), array.shape)
    except ValueError:
        raise InvalidTreeError(
            f"lengths has shape {last.shape}, which does not fit trees of shape "
            f"{array.shape[:-1]}: give one number of words for each tree"
        ) from None


def _are_trees(array: NDArray[np.intp], words: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Check the heads one by one, and then follow them."""
    num_words = words.sum(axis=-1, keepdims=True)
    possible = (array >= 0) & (array <= num_words) & (array != np.arange(array.shape[-1]))
    is_well_formed = np.where(words, possible, array == -1).all(axis=-1)
    # Follow all heads at once, twice as far each time, until the longest path is covered.
    ancestor = np.clip(np.where(words, array, 0), 0, array.shape[-1] - 1)
    for _ in range(max(1, int(array.shape[-1]).bit_length())):
        ancestor = np.take_along_axis(ancestor, ancestor, axis=-1)
    return np.asarray(is_well_formed & (ancestor == 0).all(axis=-1))
