"""Marginals and covariances of arcs in ball arithmetic: answers that come with their own proof.

The inverse of a Laplacian loses its digits in float64; in balls of enough bits it does not, and the
radius of each ball says whether they were enough.  For graphs of up to some 80 words whose scores
are within a few thousand of each other.
"""

from __future__ import annotations

from typing import Any

import flint
import numpy as np
import numpy.typing as npt

FIRST_BITS = 512
MOST_BITS = 1 << 16

Table = npt.NDArray[np.object_]
"""Balls of flint, an entry for each head and dependent."""


def second_order(
    log_weights: npt.ArrayLike, direction: npt.ArrayLike, *, single_root: bool
) -> tuple[Table, Table]:
    """Compute all marginals, and their derivatives in a direction of the scores.

    Parameters
    ----------
    log_weights, direction : array_like of float, shape (words + 1, words + 1)
        The graph, and the direction; the diagonal and column 0 are ignored, and so is the direction
        where no arc is.
    single_root : bool
        Whether exactly one arc leaves the root.

    Returns
    -------
    marginals, covariances : balls whose radius is below 1e-25 of the marginal above 1e-290
    """
    bits = FIRST_BITS
    while bits <= MOST_BITS:
        flint.ctx.prec = bits
        answer = _attempt(np.asarray(log_weights), np.asarray(direction), single_root=single_root)
        if answer is not None:
            return answer
        bits *= 2
    raise ArithmeticError(f"{MOST_BITS} bits do not settle this graph")


def _attempt(
    scores: npt.NDArray[np.float64], direction: npt.NDArray[np.float64], *, single_root: bool
) -> tuple[Table, Table] | None:
    size = len(scores)
    n = size - 1
    arcs = [
        (i, j) for i in range(size) for j in range(1, size) if i != j and scores[i, j] > -np.inf
    ]
    top = {j: max(float(scores[i, k]) for i, k in arcs if k == j) for j in range(1, size)}
    weight = {(i, j): (flint.arb(float(scores[i, j])) - flint.arb(top[j])).exp() for i, j in arcs}
    laplacian, derivative = flint.arb_mat(n, n), flint.arb_mat(n, n)
    for (i, j), w in weight.items():
        for row, column, sign in _places(i, j, single_root=single_root):
            laplacian[row, column] += sign * w
            derivative[row, column] += sign * w * flint.arb(float(direction[i, j]))
    try:
        inverse = laplacian.inv()
    except ZeroDivisionError:
        return None
    product = inverse * derivative * inverse
    marginals: Table = np.full((size, size), flint.arb(0), dtype=object)
    covariances: Table = marginals.copy()
    smallest = flint.arb("1e-290")
    for (i, j), w in weight.items():
        places = _places(i, j, single_root=single_root)
        first: Any = sum((sign * inverse[c, r] for r, c, sign in places), flint.arb(0))
        second: Any = sum((sign * product[c, r] for r, c, sign in places), flint.arb(0))
        marginals[i, j] = w * first
        covariances[i, j] = w * (flint.arb(float(direction[i, j])) * first - second)
        allowed = 1e-25 * max(abs(marginals[i, j].mid()), smallest)
        if marginals[i, j].rad() > allowed or covariances[i, j].rad() > allowed:
            return None
    return marginals, covariances


def _places(i: int, j: int, *, single_root: bool) -> list[tuple[int, int, int]]:
    """Say where the weight of an arc enters the Laplacian of Koo et al. (2007), with its sign."""
    if single_root:
        # The row of word 1 is replaced by the root's weights.
        if i == 0:
            return [(0, j - 1, 1)]
        places = [(j - 1, j - 1, 1), (i - 1, j - 1, -1)]
        return [(row, column, sign) for row, column, sign in places if row != 0]
    places = [(j - 1, j - 1, 1)]
    return places if i == 0 else [*places, (i - 1, j - 1, -1)]
