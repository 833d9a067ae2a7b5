"""Sampling without replacement: subtract the mass of what was drawn (Fig. 7, Theorem 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arborand.paper.reference.figure_5_colbourn import condition, determinant_ratio
from arborand.paper.reference.graphs import (
    NoMassLeftError,
    arcs_only,
    categorical,
    is_tree,
    require_tree,
    tree_weight,
)
from arborand.paper.reference.matrix_tree_theorem import (
    edge_marginals,
    inverse_transpose,
    laplacian,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from arborand.paper.reference.graphs import Edge, Floats, Heads


class SworState(NamedTuple):
    """The global variables of Fig. 7, for the trees that contain the arcs drawn so far.

    Parameters
    ----------
    L, B : ndarray, shape (n, n)
        The Laplacian and its inverse transpose.
    Z : float
        The total weight of these trees.
    D : tuple of pairs (heads, weight)
        Those of these trees that were already drawn.
    Z_D : float
        The total weight of those that were not drawn (eq. 22).
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
        By the formula of eq. 23, whose subtraction is inaccurate if little weight is left.

    Raises
    ------
    NoMassLeftError
        If Z_D is not positive.

    Notes
    -----
    Fig. 7, lines 18 to 23. Deviations: line 19 sums over T_{rho j}, which is D_{rho j}.

    Examples
    --------
    >>> from arborand.paper.reference import THEOREM_2_GRAPH
    >>> L = laplacian(THEOREM_2_GRAPH, single_root=True)
    >>> drawn = ((np.array([-1, 0, 1, 1]), 0.5),)
    >>> state = SworState(L, inverse_transpose(L), Z=1.5, D=drawn, Z_D=1.0)
    >>> edge_marginals_swor(THEOREM_2_GRAPH, state, 1, single_root=True).round(12).tolist()
    [0.5, 0.0, 0.5, 0.0]
    """
    if not state.Z_D > 0:
        raise NoMassLeftError(f"Z_D is {state.Z_D}; every tree was drawn, up to rounding")
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
    >>> from arborand.paper.reference import THEOREM_2_GRAPH
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
        It is not modified.
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
    >>> from arborand.paper.reference import THEOREM_2_GRAPH
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
    O(k n^3 + k^2 n). What is left is found by subtraction: once the drawn trees have all but a
    share s of the mass, the marginals of the rest are accurate only to about 1e-16 / s.

    Deviations: stops, with the trees it has, when Z_D or every marginal is no longer positive, and
    when rounding led to an arc that is in no tree, to a tree drawn before or to no tree at all;
    the figure would divide by 0, repeat itself or return a cycle. Nor does it say what happens if
    k is larger than the number of trees. New arrays instead of global ones: as printed, line 9 of
    Fig. 7 makes L an alias of L', which condition' would then overwrite.

    Examples
    --------
    >>> from arborand.paper.reference import THEOREM_2_GRAPH
    >>> trees = swor(THEOREM_2_GRAPH, 10, np.random.default_rng(0), single_root=True)
    >>> sorted(trees.tolist())
    [[-1, 0, 1, 1], [-1, 0, 3, 1], [-1, 2, 0, 1]]
    """
    matrix = arcs_only(weights)
    require_tree(matrix, single_root=single_root)
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
        if is_repeat or not is_tree(heads, single_root=single_root):
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
    # An arc whose marginal is only a rounding error makes B explode; the NaNs that may result are
    # not positive, so that sample_edge_swor finds nothing to draw.
    with np.errstate(over="ignore", invalid="ignore"):
        for j in range(1, len(weights)):
            edge = sample_edge_swor(weights, state, j, rng, single_root=single_root)
            heads[j] = edge[0]
            state = condition_swor(weights, state, edge, single_root=single_root)
    return heads
