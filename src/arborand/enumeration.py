"""Every tree of a small graph: the oracle that judges the samplers.

Three ways to the same answer, none of which shares a line with the fast path: list the trees
(`spanning_trees`, `dependency_trees`), normalise the list (`tree_law`), or count without listing
(`count_trees`, a determinant in exact integer arithmetic).

Listing costs at least one step per tree, and a complete graph on n words has (n+1)^(n-1) of them:
this is for graphs of up to seven words or so, or for the first few trees of larger ones. The
generators have no dead ends: a choice of head is followed only if some tree completes it, so the
next tree is never more than O(n^4) steps away, however sparse the graph. Projective trees are
selected from all trees, by their definition.

Node 0 is the root. ``log_weights[head, dependent]`` is the weight of an arc, ``-inf`` where there
is none; column 0 and the diagonal are never read.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

__all__ = ["count_trees", "dependency_trees", "spanning_trees", "tree_law"]

Heads = npt.NDArray[np.int32]


def spanning_trees(
    log_weights: npt.ArrayLike, *, projective: bool = False
) -> Iterator[tuple[Heads, float]]:
    """Iterate over every spanning tree of a graph and its log-weight, lazily.

    Parameters
    ----------
    log_weights : array_like, shape (n + 1, n + 1)
        ``log_weights[head, dependent]``; ``-inf`` means no arc. Column 0 and the diagonal are
        ignored, whatever they hold.
    projective : bool
        Leave out trees with crossing arcs.

    Yields
    ------
    heads : ndarray of int32, shape (n + 1,)
        ``heads[j]`` is the head of word j; ``heads[0]`` is -1. A fresh array every time.
    log_weight : float
        The sum of the log-weights of the tree's arcs, rounded once.

    Raises
    ------
    ValueError
        At the call, not at the first tree: if the array is not square or an arc is NaN or +inf.

    Notes
    -----
    The trees come in lexicographic order of ``heads[1:]``. Without words there is one tree, the
    root alone; a graph without spanning trees yields nothing.

    Examples
    --------
    >>> log_weights = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    >>> [heads.tolist() for heads, _ in spanning_trees(log_weights)]
    [[-1, 0, 0], [-1, 0, 1], [-1, 2, 0]]
    """
    checked = _checked_log_weights(log_weights)
    return _weighted_trees(checked, single_root=False, projective=projective)


def dependency_trees(
    log_weights: npt.ArrayLike, *, projective: bool = False
) -> Iterator[tuple[Heads, float]]:
    """Iterate over every spanning tree with exactly one arc out of the root, lazily.

    Parameters
    ----------
    log_weights, projective
        As in `spanning_trees`.

    Yields
    ------
    heads : ndarray of int32, shape (n + 1,)
        As in `spanning_trees`; exactly one word has head 0.
    log_weight : float
        The sum of the log-weights of the tree's arcs, rounded once.

    Raises
    ------
    ValueError
        At the call, not at the first tree: if the array is not square or an arc is NaN or +inf.

    Notes
    -----
    The trees come in lexicographic order of ``heads[1:]``. Without words there is no tree: the
    root has no arc to give.

    Examples
    --------
    >>> log_weights = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    >>> [heads.tolist() for heads, _ in dependency_trees(log_weights)]
    [[-1, 0, 1], [-1, 2, 0]]
    """
    checked = _checked_log_weights(log_weights)
    return _weighted_trees(checked, single_root=True, projective=projective)


def tree_law(
    log_weights: npt.ArrayLike, *, single_root: bool, projective: bool = False
) -> tuple[Heads, npt.NDArray[np.float64]]:
    """Return every tree with its probability, P(tree) = product of its arc weights / Z.

    Parameters
    ----------
    log_weights : array_like, shape (n + 1, n + 1)
        As in `spanning_trees`.
    single_root : bool
        True for dependency trees (one arc out of the root), False for spanning trees.
    projective : bool
        Leave out trees with crossing arcs.

    Returns
    -------
    heads : ndarray of int32, shape (T, n + 1)
        All T trees, in lexicographic order.
    probabilities : ndarray of float64, shape (T,)
        Their probabilities.

    Raises
    ------
    ValueError
        If the graph has no tree of this kind, the array is not square, or an arc is NaN or +inf.

    Notes
    -----
    Log-weights are shifted by their maximum before they are exponentiated and Z is summed without
    intermediate rounding, so that the relative error of a probability is that of its log-weight
    alone: about ``2**-53`` times the magnitude of the largest log-weights of the two trees.
    A tree that is more than e^745 times lighter than the heaviest gets probability 0.

    Examples
    --------
    >>> heads, probabilities = tree_law(np.log([[1, 3, 1], [1, 1, 2], [1, 4, 1]]), single_root=True)
    >>> heads.tolist(), probabilities.round(12).tolist()
    ([[-1, 0, 1], [-1, 2, 0]], [0.6, 0.4])
    """
    checked = _checked_log_weights(log_weights)
    listed = list(_weighted_trees(checked, single_root=single_root, projective=projective))
    if not listed:
        kind = "dependency tree (one arc out of the root)" if single_root else "spanning tree"
        uncrossed = " without crossing arcs" if projective else ""
        raise ValueError(
            f"log_weights: the graph has no {kind}{uncrossed}; give every word a path of arcs from "
            "the root"
        )
    log_tree_weights = np.array([log_weight for _, log_weight in listed])
    shifted = np.exp(log_tree_weights - log_tree_weights.max())
    return np.stack([heads for heads, _ in listed]), shifted / math.fsum(shifted)


def count_trees(adjacency: npt.ArrayLike, *, single_root: bool) -> int:
    """Count the trees of a graph exactly; with integer weights, the exact partition function Z.

    Parameters
    ----------
    adjacency : array_like of bool or int, shape (n + 1, n + 1)
        ``adjacency[head, dependent]``: True for an arc, or its non-negative integer weight. An
        object array of Python integers may hold weights of any size. Column 0 and the diagonal
        are ignored.
    single_root : bool
        True for dependency trees (one arc out of the root), False for spanning trees.

    Returns
    -------
    int
        The number of trees, or the sum over trees of the product of their weights.

    Raises
    ------
    TypeError
        If an arc is not a boolean or an integer.
    ValueError
        If the array is not square or an arc is negative.

    Notes
    -----
    Matrix-tree theorem, with Bareiss's fraction-free elimination over Python integers: nothing is
    rounded. Dependency trees are summed over the root's child, one determinant each, rather than
    taken from a single altered determinant, so that the latter can be checked against this.
    O(n^3) integer operations for spanning trees, O(n^4) for dependency trees.

    Examples
    --------
    >>> complete = np.ones((7, 7), dtype=bool)
    >>> count_trees(complete, single_root=False), count_trees(complete, single_root=True)
    (16807, 7776)
    """
    weights = _checked_integers(adjacency)
    words = range(1, len(weights))
    # Column j holds the arcs into word j: their total on the diagonal, so that each column of the
    # words' Laplacian sums to the weight that the root (or the root's child) contributes.
    totals = {j: sum(weights[i][j] for i in words if i != j) for j in words}

    def laplacian(rows: list[int], root: int) -> list[list[int]]:
        return [
            [totals[j] + root * weights[0][j] if i == j else -weights[i][j] for j in rows]
            for i in rows
        ]

    if not single_root:
        return _determinant(laplacian(list(words), root=1))
    return sum(
        weights[0][child] * _determinant(laplacian([j for j in words if j != child], root=0))
        for child in words
        if weights[0][child]
    )


def _checked_log_weights(log_weights: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Copy the log-weights with every entry that is not an arc set to -inf."""
    checked = np.array(log_weights, dtype=np.float64)
    _require_square("log_weights", checked.shape)
    checked[:, 0] = -np.inf
    np.fill_diagonal(checked, -np.inf)
    invalid = np.argwhere(np.isnan(checked) | (checked == np.inf))
    if invalid.size:
        head, dependent = invalid[0].tolist()
        raise ValueError(
            f"log_weights[{head}, {dependent}] is {checked[head, dependent]}; "
            "use a finite number, or -inf where there is no arc"
        )
    return checked


def _checked_integers(adjacency: npt.ArrayLike) -> list[list[int]]:
    """Read the arcs as Python integers; every entry that is not an arc becomes 0."""
    # As objects, because NumPy would round integers that fit none of its types.
    entries = np.asarray(adjacency, dtype=object)
    _require_square("adjacency", entries.shape)
    weights = [[0] * len(entries) for _ in range(len(entries))]
    for head, dependent in np.ndindex(*entries.shape):
        if dependent in (0, head):
            continue
        entry = entries[head, dependent]
        try:
            weight = operator.index(entry)
        except TypeError:
            raise TypeError(
                f"adjacency[{head}, {dependent}] is {entry!r}; use booleans or integers"
            ) from None
        if weight < 0:
            raise ValueError(
                f"adjacency[{head}, {dependent}] is {weight}; use a non-negative weight"
            )
        weights[head][dependent] = weight
    return weights


def _require_square(name: str, shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] == 0:
        raise ValueError(f"{name} has shape {shape}; use (n + 1, n + 1), the root and n words")


def _weighted_trees(
    log_weights: npt.NDArray[np.float64], *, single_root: bool, projective: bool
) -> Iterator[tuple[Heads, float]]:
    scores = log_weights.tolist()
    dependents = [
        sum(1 << dependent for dependent, score in enumerate(row) if score > -math.inf)
        for row in scores
    ]
    if not _has_tree(dependents, single_root=single_root):
        return
    for heads in _completions([-1], dependents, single_root=single_root):
        if projective and not _is_projective(heads):
            continue
        # Summed at the leaf and rounded once: running sums would round at every word.
        log_weight = math.fsum(scores[head][word] for word, head in enumerate(heads) if word)
        yield np.array(heads, dtype=np.int32), log_weight


def _completions(
    heads: list[int], dependents: list[int], *, single_root: bool
) -> Iterator[list[int]]:
    """Yield every tree whose first heads are the given ones.

    ``dependents[i]`` is a set of words, as bits: those that node i may still be the head of.
    Invariant: at least one tree completes ``heads``.
    """
    word = len(heads)
    if word == len(dependents):
        yield heads
        return
    bit = 1 << word
    for head in range(len(dependents)):
        if not dependents[head] & bit:
            continue
        remaining = [words & ~bit for words in dependents]
        remaining[head] |= bit
        if _has_tree(remaining, single_root=single_root):
            yield from _completions([*heads, head], remaining, single_root=single_root)


def _has_tree(dependents: list[int], *, single_root: bool) -> bool:
    """Return whether some tree uses only the given arcs."""
    words = (1 << len(dependents)) - 2
    # The root's child must reach every word without the root. A second word that may hang under
    # the root only is out of its reach, so there is no need to take the root's other arcs away.
    if not single_root:
        return words & ~_reachable(dependents, 0) == 0
    return any(
        words & ~_reachable(dependents, child) == 0
        for child in range(1, len(dependents))
        if dependents[0] >> child & 1
    )


def _reachable(dependents: list[int], start: int) -> int:
    reached = frontier = 1 << start
    while frontier:
        head = frontier.bit_length() - 1
        new = dependents[head] & ~reached
        reached |= new
        frontier = frontier & ~(1 << head) | new
    return reached


def _is_projective(heads: list[int]) -> bool:
    """Return whether every word between the ends of an arc descends from its head."""

    def ancestors(node: int) -> Iterator[int]:
        while node >= 0:
            yield node
            node = heads[node]

    return all(
        head in ancestors(between)
        for word, head in enumerate(heads)
        if word
        for between in range(min(word, head) + 1, max(word, head))
    )


def _determinant(laplacian: list[list[int]]) -> int:
    """Bareiss's elimination: every division is exact, so integers stay integers."""
    rows = [list(row) for row in laplacian]
    previous_pivot = 1
    for k in range(len(rows)):
        pivot = rows[k][k]
        if pivot == 0:
            # Elimination keeps the shape of a Laplacian: what is off the diagonal is at most 0 and
            # no column has a negative sum. So the rest of this column is 0 too: nothing to swap in.
            return 0
        for i in range(k + 1, len(rows)):
            for j in range(k + 1, len(rows)):
                numerator = rows[i][j] * pivot - rows[i][k] * rows[k][j]
                rows[i][j] = numerator // previous_pivot
        previous_pivot = pivot
    return previous_pivot
