"""Ancestral sampling: draw a head, condition on it, repeat (Fig. 5, Theorem 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arborand.paper.reference.graphs import (
    ROOT,
    NoMassLeftError,
    arcs_only,
    categorical,
    require_tree,
)
from arborand.paper.reference.matrix_tree_theorem import (
    edge_marginals,
    inverse_transpose,
    laplacian,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from arborand.paper.reference.graphs import Edge, Floats, Heads


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
    Deviations: marginals that rounding made negative count as 0, since a running sum that
    decreases is not a distribution function.

    Examples
    --------
    >>> from arborand.paper.reference import THEOREM_2_GRAPH
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
    matrix = arcs_only(weights)
    i, j = edge
    column = np.zeros(len(matrix) - 1)
    if i == ROOT:
        column[0 if single_root else j - 1] = matrix[ROOT, j]
    else:
        # Row 1 of eq. 12 holds only the root's weights.
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
    >>> from arborand.paper.reference import THEOREM_2_GRAPH
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
    One uniform number per word, words in order; O(n^3).

    Deviations: the check for a tree; heads instead of a list of arcs; those of `sample_edge` and
    `condition`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> colbourn([[0, 1, 0], [0, 0, 2], [0, 0, 0]], rng, single_root=True).tolist()
    [-1, 0, 1]
    """
    matrix = arcs_only(weights)
    require_tree(matrix, single_root=single_root)
    L = laplacian(matrix, single_root=single_root)  # line 3
    B = inverse_transpose(L)  # line 4
    heads = np.full(len(matrix), -1, dtype=np.int32)
    for j in range(1, len(matrix)):  # line 6
        edge = sample_edge(matrix, B, j, rng, single_root=single_root)
        heads[j] = edge[0]
        L, B = condition(matrix, L, B, edge, single_root=single_root)
    return heads
