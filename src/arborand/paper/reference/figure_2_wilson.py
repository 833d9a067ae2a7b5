"""Wilson's algorithm: spanning trees by loop-erased walks (Fig. 2, Theorem 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arborand.paper.reference.graphs import ROOT, arcs_only, categorical, require_tree, stochastic

if TYPE_CHECKING:
    import numpy.typing as npt

    from arborand.paper.reference.graphs import Floats, Heads


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
    matrix = arcs_only(weights)
    require_tree(matrix, single_root=False)
    heads = np.full(len(matrix), -1, dtype=np.int32)  # line 3
    walk_until_all_visited(stochastic(matrix), heads, {ROOT}, rng)  # lines 4 to 15
    return heads


def walk_until_all_visited(
    transitions: Floats, heads: Heads, visited: set[int], rng: np.random.Generator
) -> None:
    """Fill ``heads`` by walks that stop at a visited node (Fig. 2, lines 6 to 15)."""
    for i in range(1, len(heads)):  # line 6
        u = i
        while u not in visited:  # line 8
            v = categorical(transitions[:, u], rng)
            heads[u] = v  # overwriting the pointer of an earlier visit is what erases the loop
            u = v
        u = i
        while u not in visited:  # line 13
            visited.add(u)
            u = int(heads[u])
