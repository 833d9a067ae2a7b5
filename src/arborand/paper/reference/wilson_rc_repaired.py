"""Two repairs of `wilson_rc`, both exact: by the root's marginals, and by rejection (Theorem 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arborand.paper.reference.figure_2_wilson import wilson
from arborand.paper.reference.figure_3_wilson_rc import tree_below
from arborand.paper.reference.graphs import ROOT, arcs_only, categorical, require_tree
from arborand.paper.reference.matrix_tree_theorem import marginals

if TYPE_CHECKING:
    import numpy.typing as npt

    from arborand.paper.reference.graphs import Heads


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
    Deviations: line 3, as described; marginals that rounding made negative count as 0. The inverse
    Laplacian adds O(n^3) to the walk.

    Examples
    --------
    >>> wilson_root_marginal([[0, 1, 0], [0, 0, 2], [0, 0, 0]], np.random.default_rng(0)).tolist()
    [-1, 0, 1]
    """
    matrix = arcs_only(weights)
    require_tree(matrix, single_root=True)
    root_marginals = marginals(matrix, single_root=True)[ROOT]
    child = categorical(np.maximum(root_marginals, 0.0), rng)
    return tree_below(matrix, child, rng)


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
    Z(spanning) / Z(dependency) runs on average: up to e if all weights are equal, which is the
    footnote's "three times", but unbounded in general.

    Deviations: the paper gives no pseudocode.

    Examples
    --------
    >>> wilson_rejection([[0, 1, 0], [0, 0, 2], [0, 0, 0]], np.random.default_rng(0)).tolist()
    [-1, 0, 1]
    """
    matrix = arcs_only(weights)
    require_tree(matrix, single_root=True)
    while True:
        heads = wilson(matrix, rng)
        if np.count_nonzero(heads == ROOT) == 1:
            return heads
