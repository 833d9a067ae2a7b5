"""The setting of section 2: weighted graphs, their trees, and what the paper takes for granted.

`arcs_only` checks the input of the reference algorithms.  It shares no code with the checks of the
fast path, because these algorithms judge that path.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Heads = npt.NDArray[np.int32]
Edge = tuple[int, int]

ROOT = 0

THEOREM_2_GRAPH: Floats = np.array(
    [[0.0, 0.5, 0.5, 0.0], [0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
)
"""A graph that fits the proof of Theorem 2.

Two root arcs of weight 1/2; two dependency trees behind the first, one behind the second.
"""
THEOREM_2_GRAPH.setflags(write=False)


class NoMassLeftError(ValueError):
    """Nothing has positive mass, so there is nothing to draw."""


def tree_weight(weights: npt.ArrayLike, heads: npt.ArrayLike) -> float:
    """Return w(t), the product of the arc weights of a tree (eq. 1).

    Parameters
    ----------
    weights : array_like, shape (n + 1, n + 1)
    heads : array_like of int, shape (n + 1,)

    Returns
    -------
    float

    Notes
    -----
    Deviations: none.

    Examples
    --------
    >>> tree_weight(THEOREM_2_GRAPH, [-1, 0, 1, 1])
    0.5
    """
    matrix = arcs_only(weights)
    tree = np.asarray(heads)
    return float(np.prod([matrix[tree[j], j] for j in range(1, len(tree))]))


def categorical(masses: npt.ArrayLike, rng: np.random.Generator) -> int:
    """Draw index i with probability ``masses[i] / sum(masses)``.

    The paper's "sample from": one uniform number, compared with a running sum.

    Parameters
    ----------
    masses : array_like, shape (m,)
        Non-negative.
    rng : numpy.random.Generator

    Returns
    -------
    int
        An index of positive mass.

    Raises
    ------
    NoMassLeftError
        If the sum of the masses is 0, or not finite.

    Notes
    -----
    Deviations: the paper does not say how to sample.

    Examples
    --------
    >>> categorical([0.0, 2.0, 0.0], np.random.default_rng(0))
    1
    """
    cumulative = np.cumsum(np.asarray(masses, dtype=np.float64))
    total = cumulative[-1]
    if not 0 < total < np.inf:
        raise NoMassLeftError(f"masses sum to {total}; there is nothing to draw")
    index = int(np.searchsorted(cumulative, rng.random() * total, side="right"))
    # If the total is subnormal, its product with a number below 1 can round up to the total.
    return min(index, int(np.searchsorted(cumulative, total)))


def stochastic(weights: npt.ArrayLike) -> Floats:
    """Return w', the weights divided by the sum of all arcs into the same word (eq. 4).

    Parameters
    ----------
    weights : array_like, shape (n + 1, n + 1)

    Returns
    -------
    ndarray, shape (n + 1, n + 1)
        Every column but the first sums to 1; column 0 and the diagonal are 0.

    Raises
    ------
    ValueError
        If no arc enters some word.

    Notes
    -----
    A tree has one arc into each word, so w'(t) is w(t) times a constant (Lemma 1).

    Deviations: none. The constant at the end of Lemma 1's proof is printed as a product over i of
    sums over arcs into j; the product runs over j.

    Examples
    --------
    >>> stochastic(THEOREM_2_GRAPH)[:, 2].tolist()
    [0.2, 0.4, 0.0, 0.4]
    """
    matrix = arcs_only(weights)
    totals = matrix.sum(axis=0)
    totals[ROOT] = 1.0
    orphans = np.flatnonzero(totals == 0)
    if orphans.size:
        raise ValueError(f"weights: no arc enters word {orphans[0]}, so there is no tree")
    normalised: Floats = matrix / totals
    return normalised


def arcs_only(weights: npt.ArrayLike) -> Floats:
    """Copy the weights with 0 wherever there is no arc."""
    matrix = np.array(weights, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        raise ValueError(
            f"weights has shape {matrix.shape}; use (n + 1, n + 1), the root and n >= 1 words"
        )
    matrix[:, ROOT] = 0.0
    np.fill_diagonal(matrix, 0.0)
    invalid = np.argwhere(~((matrix >= 0) & (matrix < np.inf)))
    if invalid.size:
        head, dependent = invalid[0].tolist()
        raise ValueError(
            f"weights[{head}, {dependent}] is {matrix[head, dependent]}; "
            "use a finite number >= 0, and 0 where there is no arc"
        )
    return matrix


def require_tree(weights: Floats, *, single_root: bool) -> None:
    """Raise an error if the graph has no tree of the kind."""
    arcs = weights > 0
    starts = np.flatnonzero(arcs[ROOT]).tolist() if single_root else [ROOT]
    if single_root:
        arcs[ROOT] = False
    if not any(reached_nodes(arcs, start)[1:].all() for start in starts):
        kind = "dependency tree (one arc out of the root)" if single_root else "spanning tree"
        raise ValueError(f"weights: the graph has no {kind}")


def reached_nodes(arcs: npt.NDArray[np.bool_], start: int) -> npt.NDArray[np.bool_]:
    """Tell which nodes a path of arcs from ``start`` reaches; ``arcs[from, to]``."""
    reached = np.zeros(len(arcs), dtype=np.bool_)
    frontier = [start]
    while frontier:
        node = frontier.pop()
        if not reached[node]:
            reached[node] = True
            frontier.extend(np.flatnonzero(arcs[node]).tolist())
    return reached


def is_tree(heads: Heads, *, single_root: bool) -> bool:
    """Tell whether heads are a tree of the kind."""
    arcs = np.zeros((len(heads), len(heads)), dtype=np.bool_)
    arcs[heads[1:], np.arange(1, len(heads))] = True
    return bool(reached_nodes(arcs, ROOT).all()) and not (single_root and arcs[ROOT].sum() != 1)
