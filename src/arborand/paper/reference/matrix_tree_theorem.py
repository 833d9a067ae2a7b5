"""Z as a determinant, and the marginals from the inverse (Theorem 3, eqs. 12 and 15)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arborand.paper.reference.graphs import ROOT, arcs_only

if TYPE_CHECKING:
    import numpy.typing as npt

    from arborand.paper.reference.graphs import Floats


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
    matrix = arcs_only(weights)
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
    >>> from arborand.paper.reference import THEOREM_2_GRAPH
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
        If L is exactly singular, which rounding may prevent even if there is no tree.

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
        The paper's m, by its formula: rounding may make a small marginal negative.

    Notes
    -----
    Deviations: none.

    Examples
    --------
    >>> from arborand.paper.reference import THEOREM_2_GRAPH
    >>> B = inverse_transpose(laplacian(THEOREM_2_GRAPH, single_root=True))
    >>> edge_marginals(THEOREM_2_GRAPH, B, 2, single_root=True).round(12).tolist()
    [0.333333333333, 0.333333333333, 0.0, 0.333333333333]
    """
    matrix = arcs_only(weights)
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
    >>> from arborand.paper.reference import THEOREM_2_GRAPH
    >>> marginals(THEOREM_2_GRAPH, single_root=True)[0].round(12).tolist()
    [0.0, 0.666666666667, 0.333333333333, 0.0]
    """
    matrix = arcs_only(weights)
    B = inverse_transpose(laplacian(matrix, single_root=single_root))
    table = np.zeros_like(matrix)
    for j in range(1, len(matrix)):
        table[:, j] = edge_marginals(matrix, B, j, single_root=single_root)
    return table
