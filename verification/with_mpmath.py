"""log Z, arc marginals and entropy by mpmath: a second judge that shares only the formula.

Like :mod:`verification.high_precision`, `by_determinant` inverts the Laplacian of Koo et al.
(2007), which loses its digits in float64: here it has enough of them. But the arithmetic is
another, so is the elimination, and how many digits are enough is found in another way. A marginal
is an arc's weight, at most 1 after the shift, times a difference of two entries of the inverse.
Entries of size 10^c whose difference is to hold down to 1e-300, to 30 digits, need 330 + c digits;
c itself is only known if the inverse is right, so that in addition the precision is doubled until
log Z, the entropy, and every marginal above 1e-300 stay the same to 30 digits. What is mostly
cancellation changes with the precision.

mpmath is written in Python: this is for graphs of up to some 30 words.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import mpmath  # type: ignore[import-untyped]
import numpy as np
import numpy.typing as npt

# Marginals below 1e-300 are not promised to any accuracy, and the judge does not settle them.
SMALLEST_EXPONENT = 300
SETTLED_DIGITS = 30
FIRST_DIGITS = 400
MOST_DIGITS = 30_000

Table = list[list[Any]]
"""Of numbers of mpmath, which has no types: an entry for each head and dependent."""


class Answer(NamedTuple):
    """What is true of one graph: ``arc_marginals[head][dependent]``."""

    log_partition: mpmath.mpf
    arc_marginals: Table
    entropy: mpmath.mpf


class _TooFewDigitsError(Exception):
    pass


def by_determinant(log_weights: npt.ArrayLike, *, single_root: bool) -> Answer:
    """Invert the Laplacian, in as many digits as it takes.

    Parameters
    ----------
    log_weights : array_like of float, shape (words + 1, words + 1)
        The graph; diagonal and column 0 are ignored.
    single_root : bool
        Whether exactly one arc leaves the root.

    Returns
    -------
    Answer
        To 30 digits.

    Raises
    ------
    ArithmeticError
        If no number of digits will do, as for scores that are too far apart.
    """
    scores = exact_scores(log_weights)
    digits, previous = FIRST_DIGITS, None
    while digits <= MOST_DIGITS:
        with mpmath.workdps(digits):
            try:
                answer = _invert(scores, single_root=single_root)
            except (ZeroDivisionError, _TooFewDigitsError):  # the first: looks singular
                answer = None
            if answer and previous and _is_settled(previous, answer):
                return answer
        digits, previous = 2 * digits, answer
    raise ArithmeticError(f"{MOST_DIGITS} digits do not settle this graph")


def exact_scores(log_weights: npt.ArrayLike) -> Table:
    """Turn every float64 into the exact number it is.

    Parameters
    ----------
    log_weights : array_like of float, shape (words + 1, words + 1)
        The graph; diagonal and column 0 are ignored.

    Returns
    -------
    list of list of mpf or None
        None where there is no arc.
    """
    matrix = np.asarray(log_weights, dtype=np.float64)
    size = len(matrix)
    return [
        [
            mpmath.mpf(float(matrix[i, j])) if i != j > 0 and matrix[i, j] > -np.inf else None
            for j in range(size)
        ]
        for i in range(size)
    ]


def _invert(scores: Table, *, single_root: bool) -> Answer:
    size = len(scores)
    words = range(1, size)
    shift = [mpmath.mpf(0)] * size
    for j in words:
        shift[j] = max(scores[i][j] for i in range(size) if scores[i][j] is not None)
    weight = [
        [mpmath.mpf(0) if s is None else mpmath.exp(s - shift[j]) for j, s in enumerate(row)]
        for row in scores
    ]
    # Row and column k of the matrix belong to word k + 1.
    matrix = mpmath.matrix(size - 1, size - 1)
    for j in words:
        for i in words:
            matrix[i - 1, j - 1] = -weight[i][j]
        total = mpmath.fsum(weight[i][j] for i in range(1 if single_root else 0, size))
        matrix[j - 1, j - 1] = total
        if single_root:
            matrix[0, j - 1] = weight[0][j]
    inverse = mpmath.inverse(matrix)
    largest = max(abs(entry) for entry in inverse)
    if mpmath.log10(largest) + SMALLEST_EXPONENT + SETTLED_DIGITS > mpmath.mp.dps:
        raise _TooFewDigitsError
    marginals = [[mpmath.mpf(0)] * size for _ in range(size)]
    for j in words:
        for i in range(size):
            if not weight[i][j]:
                continue
            if i == 0:
                chance = inverse[j - 1, 0 if single_root else j - 1]
            else:
                # The first row of Koo's matrix holds root weights instead of arcs.
                gain = 0 if single_root and j == 1 else inverse[j - 1, j - 1]
                loss = 0 if single_root and i == 1 else inverse[j - 1, i - 1]
                chance = gain - loss
            marginals[i][j] = weight[i][j] * chance
    reduced = mpmath.log(abs(mpmath.det(matrix)))  # Z is positive; too few digits may not be
    entropy = reduced - mpmath.fsum(
        marginals[i][j] * (scores[i][j] - shift[j])
        for i in range(size)
        for j in words
        if scores[i][j] is not None
    )
    return Answer(reduced + mpmath.fsum(shift), marginals, entropy)


def _is_settled(one: Answer, other: Answer) -> bool:
    pairs = [(one.log_partition, other.log_partition), (one.entropy, other.entropy)]
    for row, other_row in zip(one.arc_marginals, other.arc_marginals, strict=True):
        pairs.extend(zip(row, other_row, strict=True))
    with mpmath.workdps(SETTLED_DIGITS + SMALLEST_EXPONENT):
        smallest = mpmath.mpf(10) ** -SMALLEST_EXPONENT
        tolerance = mpmath.mpf(10) ** -SETTLED_DIGITS
        return all(abs(x - y) <= tolerance * max(abs(x), smallest) for x, y in pairs)
