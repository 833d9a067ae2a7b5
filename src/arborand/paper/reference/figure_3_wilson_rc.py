"""Wilson's algorithm with a root constraint: biased, as Theorem 2 says (Fig. 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arborand.paper.reference.figure_2_wilson import walk_until_all_visited
from arborand.paper.reference.graphs import (
    ROOT,
    arcs_only,
    categorical,
    reached_nodes,
    stochastic,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from arborand.paper.reference.graphs import Floats, Heads


def wilson_rc(weights: npt.ArrayLike, rng: np.random.Generator) -> Heads:
    """Draw a dependency tree, BIASED: the root's child by weight, not by marginal (Fig. 3).

    The law is P(t) = w_{rho->j} / sum of root weights * w(t) / (weight of all trees with root
    child j), which is w(t) / Z only if all root children lead to the same total (Theorem 2). Use
    `wilson_root_marginal` or `wilson_rejection` for the correct law.

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
    matrix = arcs_only(weights)
    child = categorical(matrix[ROOT], rng)  # line 3
    return tree_below(matrix, child, rng)


def tree_below(weights: Floats, child: int, rng: np.random.Generator) -> Heads:
    """Draw a spanning tree of the words, rooted at ``child`` (Fig. 3, lines 4 to 18)."""
    among_words = weights.copy()
    among_words[ROOT] = 0.0
    if not reached_nodes(among_words > 0, child)[1:].all():
        raise ValueError(
            f"weights: the root's child {child} was drawn, but no tree of the words is rooted "
            "there and the walk would never end; remove that root arc"
        )
    heads = np.full(len(weights), -1, dtype=np.int32)  # line 4
    heads[child] = ROOT  # line 5
    transitions = stochastic(weights)
    transitions[ROOT] = 0.0  # line 11: v in N \ {rho}
    walk_until_all_visited(transitions, heads, {child}, rng)  # lines 6 to 17
    return heads
