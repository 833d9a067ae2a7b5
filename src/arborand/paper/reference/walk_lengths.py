"""How long the walks of Wilson's algorithm are: hitting times (section 3, eq. 9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arborand.paper.reference.graphs import arcs_only, reached_nodes, require_tree, stochastic

if TYPE_CHECKING:
    import numpy.typing as npt

    from arborand.paper.reference.graphs import Floats


def walk_transitions(weights: npt.ArrayLike) -> Floats:
    """Return the chain that `wilson_rc` walks on: from word j to head i in proportion to w_{i->j}.

    Parameters
    ----------
    weights : array_like, shape (n + 1, n + 1)

    Returns
    -------
    ndarray, shape (n, n)
        ``transition[j - 1, i - 1]``, the chance to step from j to i; rows sum to 1. A single word
        stays where it is.

    Raises
    ------
    ValueError
        If a word has no other word as a possible head.

    Notes
    -----
    Walks go against the arcs, from dependent to head. The root is left out, as in `wilson_rc`: no
    walk leaves it, so with the root the chain is not irreducible, its stationary distribution is
    the root alone, and eq. 9 says nothing. For `wilson`, see `expected_walk_steps`.

    Deviations: the paper does not say which chain H belongs to.

    Examples
    --------
    >>> from arborand.paper.reference import THEOREM_2_GRAPH
    >>> walk_transitions(THEOREM_2_GRAPH).tolist()
    [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [1.0, 0.0, 0.0]]
    """
    among_words = arcs_only(weights)[1:, 1:].T
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
    h(rho, u) depend on the steps out of the root, of which there are none; their combination does
    not depend on them, and is the expected number of visits to u of a walk that starts in u and
    stops in rho: the diagonal of the fundamental matrix.

    Deviations: the paper states O(H) only.

    Examples
    --------
    >>> expected_walk_steps([[0, 1, 1], [0, 0, 1], [0, 1, 0]])
    2.6666666666666665
    """
    matrix = arcs_only(weights)
    require_tree(matrix, single_root=False)
    Q = stochastic(matrix)[1:, 1:].T
    return float(np.trace(np.linalg.inv(np.eye(len(Q)) - Q)))


def _checked_chain(transition: npt.ArrayLike) -> Floats:
    P = np.asarray(transition, dtype=np.float64)
    if P.ndim != 2 or P.shape[0] != P.shape[1] or len(P) < 1:
        raise ValueError(f"transition has shape {P.shape}; use (m, m)")
    # A row of m numbers, each rounded, sums to 1 within m roundings.
    if not ((P >= 0).all() and np.allclose(P.sum(axis=1), 1, rtol=0, atol=len(P) * 2.0**-52)):
        raise ValueError("transition: every row must be non-negative and sum to 1")
    if not (reached_nodes(P > 0, 0).all() and reached_nodes(P.T > 0, 0).all()):
        raise ValueError("transition: the chain is not irreducible; some states are never reached")
    return P
