r"""log Z and arc marginals to thirty digits, by the formula that fails in float64.

The Laplacian of Koo et al. (2007) is inverted, in as many digits as that takes. How many is known
beforehand. Let every column be shifted so that its largest weight is 1. Some tree exists, and no
tree weighs less than :math:`z = \prod_j (\text{least weight into } j)`, so the determinant, which
is Z, is at least z. A minor is at most the product of the columns' sums of moduli, at most
:math:`(2n)^n`. So no entry of the inverse exceeds :math:`10^c` with
:math:`c = n \log_{10}(2n) - \log_{10} z`, and :math:`2c` digits beyond those one wants to keep of
the smallest marginal pay for the condition number and for the cancellation in differences of
entries.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np

from arborand import DependencyTrees, SpanningTrees
from verification.laws import FloatArray

PROMISED = 1e-12
"""Largest error of log Z (relative to the larger of 1 and itself) and of any marginal."""

SMALLEST_MARGINAL = 1e-290
"""Below this float64 is running out of exponents, and nothing is promised but a small number."""

_KEPT_DIGITS = 290 + 40
_EXTRA_DIGITS = 20  # growth of rounding errors in an elimination with pivots


@dataclass(frozen=True)
class Accuracy:
    """How far the library is from the truth, on one graph.

    Attributes
    ----------
    log_partition_error : float
        Error of log Z, relative to the larger of 1 and itself.
    marginal_error : float
        Largest relative error of a marginal above :data:`SMALLEST_MARGINAL`; infinite if a
        smaller one is not small.
    num_digits : int
        What the judge worked with.
    """

    log_partition_error: float
    marginal_error: float
    num_digits: int

    @property
    def worst(self) -> float:
        """The larger of the two errors."""
        return max(self.log_partition_error, self.marginal_error)

    @property
    def p_value(self) -> float:
        """1 or 0: given the graph, nothing is random."""
        return float(self.worst <= PROMISED)

    def report(self) -> str:
        """Return the evidence in words."""
        return (
            f"log Z is off by {self.log_partition_error:.2g}, marginals by up to "
            f"{self.marginal_error:.2g} of themselves; {PROMISED:g} is promised, "
            f"{self.num_digits} digits were used to see it"
        )


def accuracy_of(log_weights: FloatArray, *, single_root: bool) -> Accuracy:
    """Compare log Z and all arc marginals with the truth.

    Parameters
    ----------
    log_weights : ndarray of float64, shape (words + 1, words + 1)
        The graph, -inf on the diagonal and in column 0.
    single_root : bool
        Whether exactly one arc leaves the root.

    Returns
    -------
    Accuracy
        The errors.
    """
    distribution = (DependencyTrees if single_root else SpanningTrees)(log_weights)
    log_partition = float(distribution.log_partition())
    marginals = distribution.arc_marginals()
    num_digits = digits_needed(log_weights)
    with mpmath.workdps(num_digits):
        exact_log_partition, exact = _by_inverse(log_weights, single_root=single_root)
        off = abs(mpmath.mpf(log_partition) - exact_log_partition)
        worst = 0.0
        for (head, dependent), chance in exact.items():
            found = float(marginals[head, dependent])
            if chance > SMALLEST_MARGINAL:
                worst = max(worst, float(abs(mpmath.mpf(found) - chance) / chance))
            elif not 0.0 <= found <= SMALLEST_MARGINAL * (1 + PROMISED):
                worst = math.inf
        if any(found != 0.0 for arc, found in np.ndenumerate(marginals) if arc not in exact):
            worst = math.inf
        return Accuracy(float(off / max(1, abs(exact_log_partition))), worst, num_digits)


def digits_needed(log_weights: FloatArray) -> int:
    """Count the decimal digits that settle every marginal: see the head of this file."""
    num_words = len(log_weights) - 1
    into_words = log_weights[:, 1:]
    highest = into_words.max(axis=0)
    lowest = np.where(np.isfinite(into_words), into_words, np.inf).min(axis=0)
    size = num_words * math.log10(2 * num_words) + float(np.sum(highest - lowest)) / math.log(10)
    return _KEPT_DIGITS + _EXTRA_DIGITS + math.ceil(2 * size)


def _by_inverse(log_weights: FloatArray, *, single_root: bool) -> tuple[Any, dict[Any, Any]]:
    """Return log Z and the marginals by (head, dependent)."""
    num_words = len(log_weights) - 1
    words = range(1, num_words + 1)
    shift = {j: mpmath.mpf(float(log_weights[:, j].max())) for j in words}
    weight = {
        (i, j): mpmath.exp(mpmath.mpf(float(log_weights[i, j])) - shift[j])
        for i in range(num_words + 1)
        for j in words
        if i != j and np.isfinite(log_weights[i, j])
    }
    laplacian = mpmath.zeros(num_words)
    for (i, j), value in weight.items():
        if i > 0:
            laplacian[i - 1, j - 1] -= value
        if i > 0 or not single_root:
            laplacian[j - 1, j - 1] += value
    if single_root:  # the row of word 1 is redundant, and makes room for the root's arcs
        for j in words:
            laplacian[0, j - 1] = weight.get((0, j), mpmath.mpf(0))
    inverse = laplacian**-1
    marginals = {}
    for (i, j), value in weight.items():
        if i == 0:
            factor = inverse[j - 1, 0 if single_root else j - 1]
        else:
            gained = 0 if single_root and j == 1 else inverse[j - 1, j - 1]
            lost = 0 if single_root and i == 1 else inverse[j - 1, i - 1]
            factor = gained - lost
        marginals[i, j] = value * factor
    return mpmath.log(abs(mpmath.det(laplacian))) + mpmath.fsum(shift.values()), marginals
