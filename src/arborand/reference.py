r"""The algorithms of "Efficient Sampling of Dependency Structures", line by line in plain NumPy.

Source: Ran Zmigrod, Tim Vieira and Ryan Cotterell, *Efficient Sampling of Dependency Structures*,
EMNLP 2021, the corrected version (in which Theorem 2 says that ``wilson_rc`` is biased). Figures,
equations, theorems and lines are cited by the numbers they have there; every numbered line of a
figure counts, comments included.

This module is for reading next to the paper and for judging faster code; it is slow, and it keeps
the numerical weaknesses of the formulas as printed (inverse Laplacians lose small marginals to
cancellation, determinants overflow, ``swor`` subtracts). Each docstring ends in a list of the
places where the code does not do what the paper prints.

====================== ============================================================
paper                  here
====================== ============================================================
G, w_{i->j}            ``weights[i, j]``: head i, dependent j, non-negative, (n+1, n+1)
rho (root), N          node 0, and n words 1..n
t                      ``heads``, int32, (n+1,): ``heads[j]`` is j's head, ``heads[0]`` is -1
e = (i -> j)           ``edge = (i, j)``
w(t)                   `tree_weight`
w'_{i->j}              `stochastic`
pi, h(i, j), H         `stationary_distribution`, `hitting_times`, `mean_hitting_time`
T(G) / D(G)            ``single_root=False`` / ``single_root=True``
L, L^e_[:,j], Z        `laplacian`, `edge_column`, `partition_function`
B = L^-T               `inverse_transpose`
p(i -> j)              `marginals`; for one j, `edge_marginals` (the figures' m)
1 + u^T B_[:,j]        `determinant_ratio`
D, Z_D                 `SworState.D`, `SworState.Z_D`
p(i -> j | D)          `edge_marginals_swor`
sample_edge'           `sample_edge_swor`
condition'             `condition_swor`
"sample from"          `categorical`
====================== ============================================================

Vectors and matrices over the words (L, B, u) have N rows in the paper, numbered from 1; row i is
index ``i - 1`` here. What the paper keeps in global variables is passed and returned, and nothing
that was passed is changed. Column 0 and the diagonal of ``weights`` are ignored.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "THEOREM_2_GRAPH",
    "NoMassLeftError",
    "SworState",
    "categorical",
    "colbourn",
    "condition",
    "condition_swor",
    "determinant_ratio",
    "edge_column",
    "edge_marginals",
    "edge_marginals_swor",
    "expected_walk_steps",
    "hitting_times",
    "inverse_transpose",
    "laplacian",
    "marginals",
    "mean_hitting_time",
    "partition_function",
    "sample_edge",
    "sample_edge_swor",
    "stationary_distribution",
    "stochastic",
    "swor",
    "tree_weight",
    "walk_transitions",
    "wilson",
    "wilson_rc",
    "wilson_rejection",
    "wilson_root_marginal",
]

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
    """Nothing has positive mass, so that there is nothing to draw."""


# --- The graph -----------------------------------------------------------------------------------


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
    matrix = _arcs_only(weights)
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
        If the masses sum to 0, or to something that is not finite.

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
    # Where the total is subnormal, its product with a number below 1 can round up to the total.
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
    matrix = _arcs_only(weights)
    totals = matrix.sum(axis=0)
    totals[ROOT] = 1.0
    orphans = np.flatnonzero(totals == 0)
    if orphans.size:
        raise ValueError(f"weights: no arc enters word {orphans[0]}, so there is no tree")
    normalised: Floats = matrix / totals
    return normalised


# --- Random walks (section 3) ---------------------------------------------------------------------


def wilson(weights: npt.ArrayLike, rng: np.random.Generator) -> Heads:
    """Draw a spanning tree with probability w(t) / Z by loop-erased walks (Fig. 2, Theorem 1).

    Parameters
    ----------
    weights : array_like, shape (n + 1, n + 1)
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int32, shape (n + 1,)

    Raises
    ------
    ValueError
        If the graph has no spanning tree: the walk would never end.

    Notes
    -----
    The expected number of draws is `expected_walk_steps`; nothing bounds the actual number.

    Deviations: the check for a spanning tree. Theorem 1's proof gives p(t) as the product of the
    tree's w' (eq. 11); the sum of these products over all trees is det(I - Q), Q being w' between
    words, which is below 1 as soon as the graph has a cycle. The erased loops (Lemma 2) supply the
    missing factor 1 / det(I - Q), the same for every tree.

    Examples
    --------
    >>> wilson([[0, 1, 0], [0, 0, 2], [0, 0, 0]], np.random.default_rng(0)).tolist()
    [-1, 0, 1]
    """
    matrix = _arcs_only(weights)
    _require_tree(matrix, single_root=False)
    heads = np.full(len(matrix), -1, dtype=np.int32)  # line 3
    _walk_until_all_visited(stochastic(matrix), heads, {ROOT}, rng)  # lines 4 to 15
    return heads


def wilson_rc(weights: npt.ArrayLike, rng: np.random.Generator) -> Heads:
    """Draw a dependency tree, BIASED: the root's child by weight, not by marginal (Fig. 3).

    The law is P(t) = w_{rho->j} / sum of root weights * w(t) / (weight of all trees with root
    child j), which is w(t) / Z only where all root children lead to the same total (Theorem 2).
    Use `wilson_root_marginal` or `wilson_rejection` for the right law.

    Parameters
    ----------
    weights : array_like, shape (n + 1, n + 1)
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int32, shape (n + 1,)

    Raises
    ------
    ValueError
        If the child that was drawn is the root of no tree: the walk would never end. This can
        happen although the graph has dependency trees, because line 3 looks at weights only.

    Notes
    -----
    Deviations: the check that the walk can end. Line 11 draws among the words by w', whose columns
    do not sum to 1 without the root; `categorical` divides by their sum.

    Examples
    --------
    >>> wilson_rc([[0, 1, 0], [0, 0, 2], [0, 0, 0]], np.random.default_rng(0)).tolist()
    [-1, 0, 1]
    """
    matrix = _arcs_only(weights)
    child = categorical(matrix[ROOT], rng)  # line 3
    return _tree_below(matrix, child, rng)


def wilson_root_marginal(weights: npt.ArrayLike, rng: np.random.Generator) -> Heads:
    """Draw a dependency tree with probability w(t) / Z: the root's child by its exact marginal.

    `wilson_rc` repaired: line 3 of Fig. 3 draws j with p(rho -> j) of eq. 15, as the proof of
    Theorem 2 says it should.

    Parameters
    ----------
    weights : array_like, shape (n + 1, n + 1)
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int32, shape (n + 1,)

    Raises
    ------
    ValueError
        If the graph has no dependency tree.

    Notes
    -----
    Deviations: line 3, as said; marginals that rounding made negative count as 0. The inverse
    Laplacian adds O(n^3) to the walk.

    Examples
    --------
    >>> wilson_root_marginal([[0, 1, 0], [0, 0, 2], [0, 0, 0]], np.random.default_rng(0)).tolist()
    [-1, 0, 1]
    """
    matrix = _arcs_only(weights)
    _require_tree(matrix, single_root=True)
    root_marginals = marginals(matrix, single_root=True)[ROOT]
    child = categorical(np.maximum(root_marginals, 0.0), rng)
    return _tree_below(matrix, child, rng)


def wilson_rejection(weights: npt.ArrayLike, rng: np.random.Generator) -> Heads:
    """Draw a dependency tree with probability w(t) / Z: repeat `wilson` until the root has one arc.

    Parameters
    ----------
    weights : array_like, shape (n + 1, n + 1)
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int32, shape (n + 1,)

    Raises
    ------
    ValueError
        If the graph has no dependency tree.

    Notes
    -----
    The repair of Stanojevic (2022) that the footnote of Theorem 2 points to. It takes
    Z(spanning) / Z(dependency) runs on average: up to e where all weights are equal, which is the
    footnote's "three times", but without bound in general.

    Deviations: the paper gives no pseudocode.

    Examples
    --------
    >>> wilson_rejection([[0, 1, 0], [0, 0, 2], [0, 0, 0]], np.random.default_rng(0)).tolist()
    [-1, 0, 1]
    """
    matrix = _arcs_only(weights)
    _require_tree(matrix, single_root=True)
    while True:
        heads = wilson(matrix, rng)
        if np.count_nonzero(heads == ROOT) == 1:
            return heads


def _tree_below(weights: Floats, child: int, rng: np.random.Generator) -> Heads:
    """Draw a spanning tree of the words, rooted at ``child`` (Fig. 3, lines 4 to 18)."""
    among_words = weights.copy()
    among_words[ROOT] = 0.0
    if not _reached(among_words > 0, child)[1:].all():
        raise ValueError(
            f"weights: the root's child {child} was drawn, but no tree of the words is rooted "
            "there and the walk would never end; remove that root arc"
        )
    heads = np.full(len(weights), -1, dtype=np.int32)  # line 4
    heads[child] = ROOT  # line 5
    transitions = stochastic(weights)
    transitions[ROOT] = 0.0  # line 11: v in N \ {rho}
    _walk_until_all_visited(transitions, heads, {child}, rng)  # lines 6 to 17
    return heads


def _walk_until_all_visited(
    transitions: Floats, heads: Heads, visited: set[int], rng: np.random.Generator
) -> None:
    """Fill ``heads`` by walks that stop at a visited node (Fig. 2, lines 6 to 15)."""
    for i in range(1, len(heads)):  # line 6
        u = i
        while u not in visited:  # line 8
            v = categorical(transitions[:, u], rng)
            heads[u] = v  # overwriting what an earlier visit left is what erases the loop
            u = v
        u = i
        while u not in visited:  # line 13
            visited.add(u)
            u = int(heads[u])


# --- How long the walks are -----------------------------------------------------------------------


def walk_transitions(weights: npt.ArrayLike) -> Floats:
    """Return the chain that `wilson_rc` walks on: from word j to head i in proportion to w_{i->j}.

    Parameters
    ----------
    weights : array_like, shape (n + 1, n + 1)

    Returns
    -------
    ndarray, shape (n, n)
        ``transition[j - 1, i - 1]``, the chance to step from j to i; rows sum to 1. A word alone
        stays where it is.

    Raises
    ------
    ValueError
        If a word has no other word for a head.

    Notes
    -----
    Walks go against the arcs, from dependent to head. The root is left out, as in `wilson_rc`: it
    never moves on, so that with it the chain is not irreducible, its stationary distribution is
    the root alone, and eq. 9 says nothing. For `wilson` see `expected_walk_steps`.

    Deviations: the paper does not say which chain H belongs to.

    Examples
    --------
    >>> walk_transitions(THEOREM_2_GRAPH).tolist()
    [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [1.0, 0.0, 0.0]]
    """
    among_words = _arcs_only(weights)[1:, 1:].T
    if len(among_words) == 1:
        return np.ones((1, 1))
    totals = among_words.sum(axis=1, keepdims=True)
    stuck = np.flatnonzero(totals == 0)
    if stuck.size:
        raise ValueError(f"weights: word {stuck[0] + 1} has no head among the other words")
    transition: Floats = among_words / totals
    return transition


def stationary_distribution(transition: npt.ArrayLike) -> Floats:
    """Return pi, the distribution with pi P = pi (section 3).

    Parameters
    ----------
    transition : array_like, shape (m, m)
        ``transition[i, j]``, the chance to step from i to j.

    Returns
    -------
    ndarray, shape (m,)

    Raises
    ------
    ValueError
        If the chain is not irreducible or a row does not sum to 1.

    Notes
    -----
    Deviations: none; the paper does not say how to find pi. Here: a linear solve in which one of
    the m balance equations, redundant given the others, is replaced by sum(pi) = 1.

    Examples
    --------
    >>> stationary_distribution([[0.0, 1.0], [0.5, 0.5]]).round(12).tolist()
    [0.333333333333, 0.666666666667]
    """
    P = _checked_chain(transition)
    equations = P.T - np.eye(len(P))
    equations[-1] = 1.0
    return np.linalg.solve(equations, np.eye(len(P))[-1])


def hitting_times(transition: npt.ArrayLike) -> Floats:
    """Return h(i, j), the expected number of steps from i until j is first reached (section 3).

    Parameters
    ----------
    transition : array_like, shape (m, m)
        ``transition[i, j]``, the chance to step from i to j.

    Returns
    -------
    ndarray, shape (m, m)
        ``h[i, j]``; the diagonal is 0.

    Raises
    ------
    ValueError
        If the chain is not irreducible or a row does not sum to 1.

    Notes
    -----
    Deviations: none; the paper does not say how to find h. Here: one linear solve for each j.

    Examples
    --------
    >>> hitting_times([[0.0, 1.0], [0.5, 0.5]]).tolist()
    [[0.0, 1.0], [2.0, 0.0]]
    """
    P = _checked_chain(transition)
    size = len(P)
    h = np.zeros((size, size))
    for j in range(size):
        others = np.arange(size) != j
        remaining = np.eye(size - 1) - P[np.ix_(others, others)]
        h[others, j] = np.linalg.solve(remaining, np.ones(size - 1))
    return h


def mean_hitting_time(transition: npt.ArrayLike) -> float:
    """Return H = sum over i and j of pi_i pi_j h(i, j) (eq. 9).

    Parameters
    ----------
    transition : array_like, shape (m, m)
        An irreducible chain, such as `walk_transitions` returns.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If the chain is not irreducible or a row does not sum to 1.

    Notes
    -----
    Deviations: none.

    Examples
    --------
    >>> round(mean_hitting_time([[0.0, 1.0], [0.5, 0.5]]), 12)
    0.666666666667
    """
    pi = stationary_distribution(transition)
    return float(pi @ hitting_times(transition) @ pi)


def expected_walk_steps(weights: npt.ArrayLike) -> float:
    """Return the expected number of draws of `wilson` (Fig. 2, line 9) on a graph.

    Parameters
    ----------
    weights : array_like, shape (n + 1, n + 1)

    Returns
    -------
    float
        The trace of (I - Q)^-1, Q being w' between words.

    Raises
    ------
    ValueError
        If the graph has no spanning tree.

    Notes
    -----
    Wilson's theorem gives the count as the sum over nodes u of pi_u (h(u, rho) + h(rho, u)). pi and
    h(rho, u) depend on where the root moves on to, and it does not move on; their combination
    does not depend on it, and is the expected number of visits to u of a walk that starts in u and
    stops in rho: the diagonal of the fundamental matrix.

    Deviations: the paper states O(H) only.

    Examples
    --------
    >>> expected_walk_steps([[0, 1, 1], [0, 0, 1], [0, 1, 0]])
    2.6666666666666665
    """
    matrix = _arcs_only(weights)
    _require_tree(matrix, single_root=False)
    Q = stochastic(matrix)[1:, 1:].T
    return float(np.trace(np.linalg.inv(np.eye(len(Q)) - Q)))


# --- Ancestral sampling (section 4) ---------------------------------------------------------------


def laplacian(weights: npt.ArrayLike, *, single_root: bool) -> Floats:
    """Return L, whose determinant is Z (Fig. 5, lines 11 to 20; eq. 12).

    Parameters
    ----------
    weights : array_like, shape (n + 1, n + 1)
    single_root : bool
        True for dependency trees (eq. 12), False for spanning trees (the footnote to it).

    Returns
    -------
    ndarray, shape (n, n)

    Notes
    -----
    Deviations: none.

    Examples
    --------
    >>> laplacian([[0, 1, 2], [0, 0, 3], [0, 4, 0]], single_root=True).tolist()
    [[1.0, 2.0], [-4.0, 3.0]]
    """
    matrix = _arcs_only(weights)
    words = range(1, len(matrix))
    L = np.zeros((len(words), len(words)))  # line 13
    for j in words:
        for i in words:
            if i != j:
                L[i - 1, j - 1] = -matrix[i, j]
                L[j - 1, j - 1] += matrix[i, j]
        if single_root:
            L[0, j - 1] = matrix[ROOT, j]  # line 18
        else:
            L[j - 1, j - 1] += matrix[ROOT, j]  # line 19
    return L


def partition_function(weights: npt.ArrayLike, *, single_root: bool) -> float:
    """Return Z, the sum over all trees of w(t), as the determinant of L (Theorem 3).

    Parameters
    ----------
    weights : array_like, shape (n + 1, n + 1)
    single_root : bool

    Returns
    -------
    float

    Notes
    -----
    Floating-point elimination: Z over- or underflows on a few hundred words, and comes with an
    absolute error, so that a graph without trees may get 1e-17 or -1e-17 instead of 0.

    Deviations: none.

    Examples
    --------
    >>> round(partition_function(THEOREM_2_GRAPH, single_root=True), 12)
    1.5
    """
    return float(np.linalg.det(laplacian(weights, single_root=single_root)))


def inverse_transpose(L: npt.ArrayLike) -> Floats:
    """Return B, the transpose of the inverse of L (below eq. 15; Fig. 5, line 4).

    Parameters
    ----------
    L : array_like, shape (n, n)

    Returns
    -------
    ndarray, shape (n, n)

    Raises
    ------
    numpy.linalg.LinAlgError
        If L is singular to the last bit, which it may fail to be although there is no tree.

    Notes
    -----
    Deviations: none.

    Examples
    --------
    >>> inverse_transpose([[2.0, 0.0], [1.0, 1.0]]).tolist()
    [[0.5, -0.5], [0.0, 1.0]]
    """
    return np.linalg.inv(np.asarray(L, dtype=np.float64)).T


def edge_marginals(weights: npt.ArrayLike, B: Floats, j: int, *, single_root: bool) -> Floats:
    """Return p(i -> j) for every node i, given B (Fig. 5, lines 23 to 27; eq. 15).

    Parameters
    ----------
    weights : array_like, shape (n + 1, n + 1)
    B : ndarray, shape (n, n)
        The inverse transpose of the Laplacian of this kind of tree, conditioned or not.
    j : int
        A word that has not been conditioned on.
    single_root : bool

    Returns
    -------
    ndarray, shape (n + 1,)
        The paper's m: by formula, so that rounding may leave a small marginal negative.

    Notes
    -----
    Deviations: none.

    Examples
    --------
    >>> B = inverse_transpose(laplacian(THEOREM_2_GRAPH, single_root=True))
    >>> edge_marginals(THEOREM_2_GRAPH, B, 2, single_root=True).round(12).tolist()
    [0.333333333333, 0.333333333333, 0.0, 0.333333333333]
    """
    matrix = _arcs_only(weights)
    m = np.zeros(len(matrix))  # line 23
    if single_root:
        m[ROOT] += matrix[ROOT, j] * B[0, j - 1]  # line 24
    else:
        m[ROOT] += matrix[ROOT, j] * B[j - 1, j - 1]  # line 27
    for i in range(1, len(matrix)):  # line 25
        if i == j:
            continue
        if single_root:
            m[i] += matrix[i, j] * ((j != 1) * B[j - 1, j - 1] - (i != 1) * B[i - 1, j - 1])
        else:
            m[i] += matrix[i, j] * (B[j - 1, j - 1] - B[i - 1, j - 1])
    return m


def marginals(weights: npt.ArrayLike, *, single_root: bool) -> Floats:
    """Return p(i -> j), the probability that the arc is in the tree (eq. 15 and its footnote).

    Parameters
    ----------
    weights : array_like, shape (n + 1, n + 1)
    single_root : bool

    Returns
    -------
    ndarray, shape (n + 1, n + 1)
        Shaped like ``weights``; column 0 and the diagonal are 0.

    Raises
    ------
    numpy.linalg.LinAlgError
        If L is singular: there is no tree, or weights of very different sizes hide it in floats.

    Notes
    -----
    Accurate relative to the largest entry of B, not to each marginal.

    Deviations: none.

    Examples
    --------
    >>> marginals(THEOREM_2_GRAPH, single_root=True)[0].round(12).tolist()
    [0.0, 0.666666666667, 0.333333333333, 0.0]
    """
    matrix = _arcs_only(weights)
    B = inverse_transpose(laplacian(matrix, single_root=single_root))
    table = np.zeros_like(matrix)
    for j in range(1, len(matrix)):
        table[:, j] = edge_marginals(matrix, B, j, single_root=single_root)
    return table


def sample_edge(
    weights: npt.ArrayLike, B: Floats, j: int, rng: np.random.Generator, *, single_root: bool
) -> Edge:
    """Draw an arc (i, j) into j with probability p(i -> j) given B (Fig. 5, lines 21 to 28).

    Parameters
    ----------
    weights : array_like, shape (n + 1, n + 1)
    B : ndarray, shape (n, n)
        The inverse transpose of the Laplacian, conditioned on the arcs drawn so far.
    j : int
        A word that has not been conditioned on.
    rng : numpy.random.Generator
    single_root : bool

    Returns
    -------
    tuple of int
        The arc (i, j).

    Raises
    ------
    NoMassLeftError
        If no marginal is positive.

    Notes
    -----
    Deviations: marginals that rounding made negative count as 0, since a running sum that goes
    down is no distribution.

    Examples
    --------
    >>> B = inverse_transpose(laplacian(THEOREM_2_GRAPH, single_root=True))
    >>> sample_edge(THEOREM_2_GRAPH, B, 3, np.random.default_rng(0), single_root=True)
    (1, 3)
    """
    m = edge_marginals(weights, B, j, single_root=single_root)
    return categorical(np.maximum(m, 0.0), rng), j


def edge_column(weights: npt.ArrayLike, edge: Edge, *, single_root: bool) -> Floats:
    """Return the column of L for word j once (i, j) is its only arc (Lemma 3, eq. 16).

    Parameters
    ----------
    weights : array_like, shape (n + 1, n + 1)
    edge : tuple of int
        The arc (i, j).
    single_root : bool

    Returns
    -------
    ndarray, shape (n,)

    Notes
    -----
    Deviations: Fig. 5 says that its comments cover spanning trees, but gives none for these lines
    (32 to 35), and as printed they are for eq. 12 only. For spanning trees the column follows from
    the footnote's Laplacian: w_{rho->j} at j, or w_{i->j} at j and -w_{i->j} at i, with no
    exception for word 1. Also, the lemma's proof writes the exceptions as i = 0 and j = 0, and
    the text after it leaves them out of u; eq. 16 has them right: i = 1 and j = 1.

    Examples
    --------
    >>> edge_column([[0, 1, 2], [0, 0, 3], [0, 4, 0]], (2, 1), single_root=True).tolist()
    [0.0, -4.0]
    """
    matrix = _arcs_only(weights)
    i, j = edge
    column = np.zeros(len(matrix) - 1)
    if i == ROOT:
        column[0 if single_root else j - 1] = matrix[ROOT, j]
    else:
        # Row 1 of eq. 12 holds the root's weights and nothing else.
        if j != 1 or not single_root:
            column[j - 1] = matrix[i, j]
        if i != 1 or not single_root:
            column[i - 1] = -matrix[i, j]
    return column


def determinant_ratio(B: Floats, u: Floats, j: int) -> float:
    """Return 1 + u^T B_[:,j], by which the determinant of L grows when u is added to column j.

    The matrix determinant lemma (eq. 25) with v the unit vector of j. When u replaces the column
    by that of arc (i, j), the ratio is p(i -> j).

    Parameters
    ----------
    B : ndarray, shape (n, n)
        The inverse transpose of L.
    u : ndarray, shape (n,)
    j : int
        A word.

    Returns
    -------
    float

    Notes
    -----
    Deviations: the paper prints B_[j,:], a row of B. v^T L^-1 u is the product of u with row j of
    L^-1, which is *column* j of B = L^-T.

    Examples
    --------
    >>> determinant_ratio(np.eye(2), np.array([3.0, 4.0]), 2)
    5.0
    """
    return float(1.0 + u @ B[:, j - 1])


def condition(
    weights: npt.ArrayLike, L: Floats, B: Floats, edge: Edge, *, single_root: bool
) -> tuple[Floats, Floats]:
    """Return L and B of the trees that contain an arc (Fig. 5, lines 29 to 37; eqs. 17 to 19).

    Parameters
    ----------
    weights : array_like, shape (n + 1, n + 1)
    L, B : ndarray, shape (n, n)
        The Laplacian and its inverse transpose; they are not changed.
    edge : tuple of int
        The arc (i, j).
    single_root : bool

    Returns
    -------
    L, B : ndarray, shape (n, n)
        With column j of L replaced, and B updated by the Sherman-Morrison formula in O(n^2).

    Raises
    ------
    NoMassLeftError
        If, to the precision of floats, no tree contains the arc: the update would divide by 0.

    Notes
    -----
    Deviations: line 37 prints row j of B for column j, twice (see `determinant_ratio`); read as
    printed, the update is wrong unless B is symmetric. The column for spanning trees is not in the
    paper (see `edge_column`). New arrays instead of global ones.

    Examples
    --------
    >>> L = laplacian(THEOREM_2_GRAPH, single_root=True)
    >>> L, B = condition(THEOREM_2_GRAPH, L, inverse_transpose(L), (3, 2), single_root=True)
    >>> round(float(np.linalg.det(L)), 12), bool(np.allclose(B, inverse_transpose(L)))
    (0.5, True)
    """
    _, j = edge
    u = edge_column(weights, edge, single_root=single_root) - L[:, j - 1]  # lines 31 to 35
    ratio = determinant_ratio(B, u, j)
    if not ratio > 0:
        raise NoMassLeftError(f"edge {edge} is in no tree that has the arcs drawn so far")
    conditioned = L.copy()
    conditioned[:, j - 1] += u  # line 36
    return conditioned, B - np.outer(B[:, j - 1], u @ B) / ratio  # line 37


def colbourn(weights: npt.ArrayLike, rng: np.random.Generator, *, single_root: bool) -> Heads:
    """Draw a tree with probability w(t) / Z, one head at a time (Fig. 5, lines 1 to 10; Theorem 4).

    Parameters
    ----------
    weights : array_like, shape (n + 1, n + 1)
    rng : numpy.random.Generator
    single_root : bool
        True for dependency trees, False for spanning trees.

    Returns
    -------
    ndarray of int32, shape (n + 1,)

    Raises
    ------
    ValueError
        If the graph has no tree, or if an arc was drawn that is in no tree, because rounding gave
        it a positive marginal (chances of the order of 1e-16 on well-scaled graphs).
    numpy.linalg.LinAlgError
        If there is a tree, but weights of very different sizes make L singular in floats.

    Notes
    -----
    One uniform number a word, words in order; O(n^3).

    Deviations: the check for a tree; heads instead of a list of arcs; those of `sample_edge` and
    `condition`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> colbourn([[0, 1, 0], [0, 0, 2], [0, 0, 0]], rng, single_root=True).tolist()
    [-1, 0, 1]
    """
    matrix = _arcs_only(weights)
    _require_tree(matrix, single_root=single_root)
    L = laplacian(matrix, single_root=single_root)  # line 3
    B = inverse_transpose(L)  # line 4
    heads = np.full(len(matrix), -1, dtype=np.int32)
    for j in range(1, len(matrix)):  # line 6
        edge = sample_edge(matrix, B, j, rng, single_root=single_root)
        heads[j] = edge[0]
        L, B = condition(matrix, L, B, edge, single_root=single_root)
    return heads


# --- Sampling without replacement (section 5) -----------------------------------------------------


class SworState(NamedTuple):
    """The global variables of Fig. 7, for the trees that contain the arcs drawn so far.

    Parameters
    ----------
    L, B : ndarray, shape (n, n)
        The Laplacian and its inverse transpose.
    Z : float
        The total weight of these trees.
    D : tuple of pairs (heads, weight)
        Those of them that were drawn before.
    Z_D : float
        The total weight of those that were not (eq. 22).
    """

    L: Floats
    B: Floats
    Z: float
    D: tuple[tuple[Heads, float], ...]
    Z_D: float


def edge_marginals_swor(
    weights: npt.ArrayLike, state: SworState, j: int, *, single_root: bool
) -> Floats:
    """Return p(i -> j | D) for every node i: Z p(i -> j) less the weight drawn, over Z_D (Lemma 4).

    Parameters
    ----------
    weights : array_like, shape (n + 1, n + 1)
    state : SworState
    j : int
        A word that has not been conditioned on.
    single_root : bool

    Returns
    -------
    ndarray, shape (n + 1,)
        By the formula of eq. 23, so that the subtraction may leave anything where little is left.

    Raises
    ------
    NoMassLeftError
        If Z_D is not positive.

    Notes
    -----
    Fig. 7, lines 18 to 23. Deviations: line 19 sums over T_{rho j}, which is D_{rho j}.

    Examples
    --------
    >>> L = laplacian(THEOREM_2_GRAPH, single_root=True)
    >>> drawn = ((np.array([-1, 0, 1, 1]), 0.5),)
    >>> state = SworState(L, inverse_transpose(L), Z=1.5, D=drawn, Z_D=1.0)
    >>> edge_marginals_swor(THEOREM_2_GRAPH, state, 1, single_root=True).round(12).tolist()
    [0.5, 0.0, 0.5, 0.0]
    """
    if not state.Z_D > 0:
        raise NoMassLeftError(f"Z_D is {state.Z_D}; every tree was drawn, or rounding says so")
    m = state.Z * edge_marginals(weights, state.B, j, single_root=single_root)  # lines 19 and 21
    for heads, weight in state.D:
        m[heads[j]] -= weight  # lines 19 and 22: each drawn tree is in D_ij for one i
    return m / state.Z_D


def sample_edge_swor(
    weights: npt.ArrayLike,
    state: SworState,
    j: int,
    rng: np.random.Generator,
    *,
    single_root: bool,
) -> Edge:
    """Draw an arc (i, j) into j with probability p(i -> j | D) (sample_edge' of Fig. 7).

    Parameters
    ----------
    weights : array_like, shape (n + 1, n + 1)
    state : SworState
    j : int
        A word that has not been conditioned on.
    rng : numpy.random.Generator
    single_root : bool

    Returns
    -------
    tuple of int
        The arc (i, j).

    Raises
    ------
    NoMassLeftError
        If no marginal, or Z_D, is positive.

    Notes
    -----
    Deviations: marginals that the subtraction left negative count as 0, so that their sum is no
    longer 1, and `categorical` divides by it.

    Examples
    --------
    >>> L = laplacian(THEOREM_2_GRAPH, single_root=True)
    >>> state = SworState(L, inverse_transpose(L), Z=1.5, D=(), Z_D=1.5)
    >>> sample_edge_swor(THEOREM_2_GRAPH, state, 3, np.random.default_rng(0), single_root=True)
    (1, 3)
    """
    m = edge_marginals_swor(weights, state, j, single_root=single_root)
    return categorical(np.where(m > 0, m, 0.0), rng), j


def condition_swor(
    weights: npt.ArrayLike, state: SworState, edge: Edge, *, single_root: bool
) -> SworState:
    """Return the state of the trees that contain an arc (condition' of Fig. 7, lines 24 to 35).

    Parameters
    ----------
    weights : array_like, shape (n + 1, n + 1)
    state : SworState
        It is not changed.
    edge : tuple of int
        The arc (i, j).
    single_root : bool

    Returns
    -------
    SworState

    Raises
    ------
    NoMassLeftError
        If, to the precision of floats, no tree contains the arc.

    Notes
    -----
    Z follows by the matrix determinant lemma (eq. 25). Deviations: those of `condition`; line 32
    has the same misprint.

    Examples
    --------
    >>> L = laplacian(THEOREM_2_GRAPH, single_root=True)
    >>> state = SworState(L, inverse_transpose(L), Z=1.5, D=(), Z_D=1.5)
    >>> round(condition_swor(THEOREM_2_GRAPH, state, (0, 1), single_root=True).Z, 12)
    1.0
    """
    i, j = edge
    L, B = condition(weights, state.L, state.B, edge, single_root=single_root)  # lines 31 and 33
    Z = state.Z * determinant_ratio(state.B, L[:, j - 1] - state.L[:, j - 1], j)  # line 32
    D = tuple((heads, weight) for heads, weight in state.D if heads[j] == i)  # line 34
    return SworState(L, B, Z, D, Z - sum(weight for _, weight in D))  # line 35


def swor(weights: npt.ArrayLike, k: int, rng: np.random.Generator, *, single_root: bool) -> Heads:
    """Draw up to k different trees, each with probability w(t) / Z_D given those before (Fig. 7).

    Parameters
    ----------
    weights : array_like, shape (n + 1, n + 1)
    k : int
    rng : numpy.random.Generator
    single_root : bool
        True for dependency trees, False for spanning trees.

    Returns
    -------
    ndarray of int32, shape (at most k, n + 1)
        Different trees in the order in which they were drawn (Theorem 5).

    Raises
    ------
    ValueError
        If the graph has no tree.
    numpy.linalg.LinAlgError
        If there is a tree, but weights of very different sizes make L singular in floats.

    Notes
    -----
    O(k n^3 + k^2 n). What is left is found by subtraction: once the trees drawn hold all but a
    share s of the mass, the marginals of the rest are right to about 1e-16 / s only.

    Deviations: stops, with the trees it has, when Z_D or every marginal is no longer positive, and
    when rounding led to an arc that is in no tree, to a tree drawn before or to no tree at all;
    the figure would divide by 0, repeat itself or return a cycle. It also has nothing to say
    about k larger than the number of trees. New arrays instead of global ones: as printed,
    line 9 of Fig. 7 makes L an alias of L', which condition' would then overwrite.

    Examples
    --------
    >>> trees = swor(THEOREM_2_GRAPH, 10, np.random.default_rng(0), single_root=True)
    >>> sorted(trees.tolist())
    [[-1, 0, 1, 1], [-1, 0, 3, 1], [-1, 2, 0, 1]]
    """
    matrix = _arcs_only(weights)
    _require_tree(matrix, single_root=single_root)
    L = laplacian(matrix, single_root=single_root)  # line 3
    B = inverse_transpose(L)  # line 4
    Z = Z_D = float(np.linalg.det(L))  # lines 4 and 5
    drawn: list[tuple[Heads, float]] = []  # line 5
    for _ in range(k):  # line 6
        state = SworState(L, B, Z, tuple(drawn), Z_D)  # lines 7 to 9
        try:
            heads = _draw_unseen(matrix, state, rng, single_root=single_root)
        except NoMassLeftError:
            break
        is_repeat = any(np.array_equal(heads, earlier) for earlier, _ in drawn)
        if is_repeat or not _is_tree(heads, single_root=single_root):
            break
        weight = tree_weight(matrix, heads)
        drawn.append((heads, weight))  # line 14
        Z_D -= weight
    return np.array([heads for heads, _ in drawn], dtype=np.int32).reshape(-1, len(matrix))


def _draw_unseen(
    weights: Floats, state: SworState, rng: np.random.Generator, *, single_root: bool
) -> Heads:
    """Draw one tree that is not in D (Fig. 7, lines 10 to 13)."""
    heads = np.full(len(weights), -1, dtype=np.int32)
    # An arc whose marginal is nothing but rounding makes B explode; the NaNs that may come of it
    # are not positive, so that sample_edge_swor finds nothing to draw.
    with np.errstate(over="ignore", invalid="ignore"):
        for j in range(1, len(weights)):
            edge = sample_edge_swor(weights, state, j, rng, single_root=single_root)
            heads[j] = edge[0]
            state = condition_swor(weights, state, edge, single_root=single_root)
    return heads


# --- What the paper takes for granted -------------------------------------------------------------


def _arcs_only(weights: npt.ArrayLike) -> Floats:
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


def _require_tree(weights: Floats, *, single_root: bool) -> None:
    arcs = weights > 0
    starts = np.flatnonzero(arcs[ROOT]).tolist() if single_root else [ROOT]
    if single_root:
        arcs[ROOT] = False
    if not any(_reached(arcs, start)[1:].all() for start in starts):
        kind = "dependency tree (one arc out of the root)" if single_root else "spanning tree"
        raise ValueError(f"weights: the graph has no {kind}")


def _reached(arcs: npt.NDArray[np.bool_], start: int) -> npt.NDArray[np.bool_]:
    """Tell which nodes a path of arcs from ``start`` reaches; ``arcs[from, to]``."""
    reached = np.zeros(len(arcs), dtype=np.bool_)
    frontier = [start]
    while frontier:
        node = frontier.pop()
        if not reached[node]:
            reached[node] = True
            frontier.extend(np.flatnonzero(arcs[node]).tolist())
    return reached


def _is_tree(heads: Heads, *, single_root: bool) -> bool:
    arcs = np.zeros((len(heads), len(heads)), dtype=np.bool_)
    arcs[heads[1:], np.arange(1, len(heads))] = True
    return bool(_reached(arcs, ROOT).all()) and not (single_root and arcs[ROOT].sum() != 1)


def _checked_chain(transition: npt.ArrayLike) -> Floats:
    P = np.asarray(transition, dtype=np.float64)
    if P.ndim != 2 or P.shape[0] != P.shape[1] or len(P) < 1:
        raise ValueError(f"transition has shape {P.shape}; use (m, m)")
    # A row of m numbers, each rounded, sums to 1 within m roundings.
    if not ((P >= 0).all() and np.allclose(P.sum(axis=1), 1, rtol=0, atol=len(P) * 2.0**-52)):
        raise ValueError("transition: every row must be non-negative and sum to 1")
    if not (_reached(P > 0, 0).all() and _reached(P.T > 0, 0).all()):
        raise ValueError("transition: the chain is not irreducible; some states are never reached")
    return P
