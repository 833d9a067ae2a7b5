r"""log Z, arc marginals and probabilities of pairs of arcs, by the formula that fails in float64.

The Laplacian L of Koo et al. (2007) is inverted, in as many digits as that takes. How many is not
guessed: the inverse proves itself. Let X be what an elimination in p digits returned, and
:math:`R = I - L X`, whatever X is worth. If :math:`\|R\| < 1`, then

.. math:: L^{-1} - X = X R (I - R)^{-1}, \qquad
    \|L^{-1} - X\| \le \|X\| \, \|R\| / (1 - \|R\|),

where the rounding of L, of the product and of the sums in R only adds some multiples of
:math:`10^{-p} \|L\| \|X\|` to the norm of R. So every entry of the inverse, and with it every
probability, is known with an error bound. The product of the pivots is the determinant of a matrix
that differs from L by :math:`\Delta`, with :math:`|\Delta| \le \gamma |L_1| |U|` for the factors of
the elimination (Higham, *Accuracy and Stability of Numerical Algorithms*, 9.3), which moves its
logarithm by at most :math:`n \|L^{-1}\Delta\| / (1 - \|L^{-1}\Delta\|)`. If all that is not within
:data:`SETTLED`, the digits are doubled.

The numbers are those of :mod:`decimal`, which are written in C: 200 words take some seconds. Graphs
of few words can be put before a second judge as well, that of :mod:`verification.with_mpmath`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
    Underflow,
    localcontext,
)

import mpmath  # type: ignore[import-untyped]
import numpy as np
import numpy.typing as npt

from arborand import DependencyTrees, SpanningTrees
from verification.laws import FloatArray
from verification.with_mpmath import SETTLED_DIGITS, by_determinant

PROMISED = 1e-12
"""Largest error of log Z (relative to the larger of 1 and itself) and of any probability."""

SMALLEST_MARGINAL = 1e-290
"""Below this float64 is running out of exponents, and nothing is promised but a small number."""

SETTLED = Decimal("1e-20")
"""How well the truth has to be known, relative to itself: far better than what it judges."""

FIRST_DIGITS = 60
_MOST_DIGITS = 100_000  # beyond what any scores of the suite need; ends a loop that cannot settle

Arc = tuple[int, int]
"""Head and dependent."""

Pair = tuple[Arc, Arc]
Decimals = npt.NDArray[np.object_]


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
    pair_error : float or None
        The same for the probabilities of pairs of arcs; None if there were none.
    mpmath_error : float or None
        The larger of the errors of log Z and of the marginals in the eyes of mpmath; None if it
        was not asked.
    """

    log_partition_error: float
    marginal_error: float
    num_digits: int
    pair_error: float | None = None
    mpmath_error: float | None = None

    @property
    def worst(self) -> float:
        """The largest of the errors."""
        return max(
            self.log_partition_error,
            self.marginal_error,
            self.pair_error or 0.0,
            self.mpmath_error or 0.0,
        )

    @property
    def p_value(self) -> float:
        """1 or 0: given the graph, nothing is random."""
        return float(self.worst <= PROMISED)

    def report(self) -> str:
        """Return the evidence in words."""
        of_pairs = "" if self.pair_error is None else f", those of pairs by {self.pair_error:.2g}"
        of_mpmath = (
            ""
            if self.mpmath_error is None
            else f" and, by up to {self.mpmath_error:.2g}, against one of mpmath"
        )
        return (
            f"log Z is off by {self.log_partition_error:.2g}, marginals by up to "
            f"{self.marginal_error:.2g} of themselves{of_pairs}, against an inverse in "
            f"{self.num_digits} digits (decimal){of_mpmath}; {PROMISED:g} is promised"
        )


@dataclass(frozen=True)
class Truth:
    """What is true of one graph, to the digits of :data:`SETTLED`.

    Attributes
    ----------
    log_partition : Decimal
        log Z.
    marginals : dict of (head, dependent) to Decimal
        Of every arc there is.
    joint : tuple of Decimal
        Probabilities of the pairs of arcs that were asked for.
    num_digits : int
        What it took.
    """

    log_partition: Decimal
    marginals: dict[Arc, Decimal]
    joint: tuple[Decimal, ...]
    num_digits: int


class _NotSettledError(Exception):
    """More digits are needed."""


def accuracy_of(
    log_weights: FloatArray,
    *,
    single_root: bool,
    pairs: Sequence[Pair] = (),
    with_mpmath: bool = False,
) -> Accuracy:
    """Compare log Z, all arc marginals and the probabilities of pairs of arcs with the truth.

    Parameters
    ----------
    log_weights : ndarray of float64, shape (words + 1, words + 1)
        The graph, -inf on the diagonal and in column 0.
    single_root : bool
        Whether exactly one arc leaves the root.
    pairs : sequence of ((head, dependent), (head, dependent)), optional
        Pairs of arcs of the graph, into two different words.
    with_mpmath : bool, optional
        Whether to compare log Z and the marginals with those of mpmath as well.

    Returns
    -------
    Accuracy
        The errors.
    """
    distribution = (DependencyTrees if single_root else SpanningTrees)(log_weights)
    log_partition = float(distribution.log_partition())
    marginals = distribution.arc_marginals()
    joint = [float(distribution.joint_probability(pair)) for pair in pairs]
    truth = truth_about(log_weights, single_root=single_root, pairs=pairs)
    of_pairs = [_error(*both) for both in zip(joint, truth.joint, strict=True)]
    mpmath_error = None
    if with_mpmath:
        answer = by_determinant(log_weights, single_root=single_root)
        chances = {(i, j): _decimal(answer.arc_marginals[i][j]) for i, j in truth.marginals}
        mpmath_error = max(
            _errors(log_partition, marginals, _decimal(answer.log_partition), chances)
        )
    return Accuracy(
        *_errors(log_partition, marginals, truth.log_partition, truth.marginals),
        truth.num_digits,
        max(of_pairs, default=None),
        mpmath_error,
    )


def truth_about(log_weights: FloatArray, *, single_root: bool, pairs: Sequence[Pair] = ()) -> Truth:
    """Compute log Z and probabilities of arcs, in more and more digits until they are settled.

    Parameters
    ----------
    log_weights : ndarray of float64, shape (words + 1, words + 1)
        The graph, -inf on the diagonal and in column 0.
    single_root : bool
        Whether exactly one arc leaves the root.
    pairs : sequence of ((head, dependent), (head, dependent)), optional
        Pairs of arcs of the graph, into two different words.

    Returns
    -------
    Truth
        To 20 digits and more.

    Raises
    ------
    ArithmeticError
        If no number of digits will do, as for a graph without any tree.
    """
    num_digits = FIRST_DIGITS
    while num_digits <= _MOST_DIGITS:
        # A weight that vanishes without a word would be an arc less: underflow raises.
        context = Context(
            prec=num_digits,
            Emax=MAX_EMAX,
            Emin=MIN_EMIN,
            traps=[InvalidOperation, DivisionByZero, Overflow, Underflow],
        )
        with localcontext(context):
            try:
                return _Inverse(log_weights, num_digits, single_root=single_root).truth(pairs)
            except _NotSettledError:
                num_digits *= 2
    raise ArithmeticError(f"{_MOST_DIGITS} digits do not settle this graph")


class _Inverse:
    """The inverse of a Laplacian in the digits of the current context, and what it is worth.

    The Laplacian is a sum over the arcs of weight * (column of the arc) * (unit row of its
    dependent). So its determinant is linear in each weight, and the probability that some arcs
    are all in a tree is the product of their weights times the determinant of their `transfer`.
    """

    def __init__(self, log_weights: FloatArray, num_digits: int, *, single_root: bool) -> None:
        self.num_digits = num_digits
        self.single_root = single_root
        self.num_words = len(log_weights) - 1
        highest = [Decimal(float(score)) for score in log_weights[:, 1:].max(axis=0)]
        exponents = {
            (int(head), int(word)): Decimal(float(log_weights[head, word])) - highest[word - 1]
            for head, word in np.argwhere(np.isfinite(log_weights))
            if head != word > 0
        }
        self.weights = {arc: exponent.exp() for arc, exponent in exponents.items()}
        laplacian = self._laplacian()
        self.inverse, pivots, pivot_rows = _invert(laplacian)
        determinant = math.prod(pivots, start=Decimal(1))
        self.log_partition = abs(determinant).ln() + sum(highest)
        # An exponent that is rounded in its last digit changes a weight by as much as it is large.
        self.rounding = Decimal(10) ** (1 - num_digits) * (
            2 * self.num_words + 4 + max(abs(exponent) for exponent in exponents.values())
        )
        self._bound_errors(laplacian, pivot_rows)

    def truth(self, pairs: Sequence[Pair]) -> Truth:
        """Compute all probabilities, if they are settled."""
        marginals = {
            arc: self._settled(weight, self._transfer(arc[1], arc), 2 * self.uncertainty)
            for arc, weight in self.weights.items()
        }
        joint = tuple(self._joint(first, second) for first, second in pairs)
        return Truth(self.log_partition, marginals, joint, self.num_digits)

    def _laplacian(self) -> Decimals:
        laplacian: Decimals = np.full((self.num_words, self.num_words), Decimal(0), dtype=object)
        for (head, word), weight in self.weights.items():
            if head > 0:
                laplacian[head - 1, word - 1] -= weight
            if head > 0 or not self.single_root:
                laplacian[word - 1, word - 1] += weight
        if self.single_root:  # the row of word 1 is redundant, and makes room for the root's arcs
            for word in range(1, self.num_words + 1):
                laplacian[0, word - 1] = self.weights.get((0, word), Decimal(0))
        return laplacian

    def _bound_errors(self, laplacian: Decimals, pivot_rows: Decimal) -> None:
        """Bound the error of any entry of the inverse, and see to that of log Z."""
        n = self.num_words
        size, size_of_inverse = _norm(laplacian), _norm(self.inverse)
        residual = laplacian @ self.inverse
        residual[np.diag_indices(n)] -= 1
        # Twice, for what was lost in the norms themselves.
        off = 2 * (_norm(residual) + self.rounding * size * size_of_inverse)
        if off > Decimal("0.5"):
            raise _NotSettledError
        self.uncertainty = 2 * size_of_inverse * off
        # 3n roundings at most in each entry of the product of the factors, of which one has
        # entries of at most 1; and the Laplacian's own.
        moved = 3 * n**2 * self.rounding * (pivot_rows + size)
        if 4 * n * size_of_inverse * moved > SETTLED:
            raise _NotSettledError

    def _column(self, node: int) -> int | None:
        """Find the column of the inverse for a node of the graph; the redundant row has none."""
        return node - 1 if node > int(self.single_root) else None

    def _transfer(self, word: int, arc: Arc) -> Decimal:
        head, dependent = arc
        row = self.inverse[word - 1]
        if self.single_root and head == 0:
            return Decimal(row[0])
        gained, lost = self._column(dependent), self._column(head)
        return Decimal((0 if gained is None else row[gained]) - (0 if lost is None else row[lost]))

    def _joint(self, first: Arc, second: Arc) -> Decimal:
        (a, b), (c, d) = (
            [self._transfer(arc[1], other) for other in (first, second)] for arc in (first, second)
        )
        off = 2 * self.uncertainty
        of_products = off * (abs(a) + abs(b) + abs(c) + abs(d) + 2 * off)
        return self._settled(self.weights[first] * self.weights[second], a * d - b * c, of_products)

    def _settled(self, weight: Decimal, factor: Decimal, off: Decimal) -> Decimal:
        """Multiply, if the error of the factor does not matter."""
        chance = weight * factor
        known = max(chance, Decimal(SMALLEST_MARGINAL))
        if 2 * weight * off + 4 * self.rounding * known > SETTLED * known:
            raise _NotSettledError
        return chance


def _invert(matrix: Decimals) -> tuple[Decimals, list[Decimal], Decimal]:
    """Eliminate in place, with row pivots.

    Returns
    -------
    inverse : ndarray of Decimal
        Or what the digits make of it.
    pivots : list of Decimal
        Their product is the determinant, up to its sign.
    pivot_rows : Decimal
        The sum of the largest moduli of all pivot rows.
    """
    work = matrix.copy()
    size = len(work)
    swaps, pivots, pivot_rows = [], [], Decimal(0)
    for k in range(size):
        chosen = k + int(np.argmax(np.abs(work[k:, k])))
        swaps.append(chosen)
        work[[k, chosen]] = work[[chosen, k]]
        pivot = work[k, k]
        if not pivot:
            raise _NotSettledError
        pivots.append(pivot)
        pivot_rows += max(np.abs(work[k, k:]))
        row = work[k] / pivot
        row[k] = 1 / pivot
        column = work[:, k].copy()
        column[k] = Decimal(0)
        work[:, k] = Decimal(0)
        work -= np.multiply.outer(column, row)
        work[k] = row
    for k, chosen in reversed(list(enumerate(swaps))):
        work[:, [k, chosen]] = work[:, [chosen, k]]
    return work, pivots, pivot_rows


def _norm(matrix: Decimals) -> Decimal:
    """Compute the largest sum of moduli in a column."""
    return Decimal(max(np.abs(matrix).sum(axis=0)))


def _decimal(number: mpmath.mpf) -> Decimal:
    """Write a number of mpmath, to the digits that it is good for."""
    return Decimal(mpmath.nstr(number, SETTLED_DIGITS))


def _errors(
    log_partition: float,
    marginals: FloatArray,
    true_log_partition: Decimal,
    chances: Mapping[Arc, Decimal],
) -> tuple[float, float]:
    """Compute the error of log Z, and the largest of a marginal, in the eyes of one judge."""
    scale = max(Decimal(1), abs(true_log_partition))
    off = abs(Decimal(log_partition) - true_log_partition) / scale
    is_invented = any(
        found != 0.0 for arc, found in np.ndenumerate(marginals) if arc not in chances
    )
    of_arcs = [_error(marginals[arc], chance) for arc, chance in chances.items()]
    return _known(off), math.inf if is_invented else max(of_arcs)


def _error(found: float, chance: Decimal) -> float:
    """Compute the relative error of a probability; one that is too small must only be small."""
    if chance > SMALLEST_MARGINAL:
        return _known(abs(Decimal(float(found)) - chance) / chance)
    return 0.0 if 0.0 <= found <= SMALLEST_MARGINAL * (1 + PROMISED) else math.inf


def _known(error: Decimal) -> float:
    """Make an error that is NaN infinite: a maximum over several would skip it."""
    return math.inf if error.is_nan() else float(error)
