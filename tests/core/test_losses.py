"""When arcs and numbers may be lost: the bounds of docs/mathematics.md, judged by mpmath.

A bound must never allow more than it says. That it allows nearly as much keeps it useful.
"""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

SIZES = (1, 2, 3, 10, 60, 1000, 20_000)


def excess(highest_lost, log_partition, num_words):
    """By how much the logarithm of the share of what is lost is above -800."""
    with mpmath.workdps(60):
        trees = (num_words - 1) * mpmath.log(num_words + 1)
        return trees + mpmath.mpf(float(highest_lost)) - log_partition + 800


@pytest.mark.slow
@pytest.mark.parametrize("num_words", SIZES)
@pytest.mark.parametrize("exponent", [0, -1000, -70_000, -(10**7)])
def test_arcs_are_left_out_where_they_have_less_than_e_to_the_minus_800(parts, num_words, exponent):
    partition = Fraction(3, 4) * Fraction(2) ** exponent
    with mpmath.workdps(60):
        log_partition = mpmath.log(mpmath.mpf(3) / 4) + exponent * mpmath.log(2)
    at = -float(excess(0.0, log_partition, num_words))  # where the answer changes
    unit = np.spacing(abs(at)) + num_words**2 * 2.0**-44
    for step in (-1e6, -1e3, -1.0, 1.0, 1e3, 1e6):
        highest_lost = at + step * unit
        if parts.negligible(highest_lost, partition, num_words):
            assert excess(highest_lost, log_partition, num_words) < 0
    assert parts.negligible(at * (1 + 1e-9) - 1e-3 - unit * 100, partition, num_words)


def test_nothing_is_left_out_beside_no_tree(parts):
    assert not parts.negligible(-1e308, Fraction(0), 5)


@pytest.mark.parametrize("num_words", SIZES)
@pytest.mark.parametrize("log_sums", [0.0, 5.0, 400.0])
def test_what_double_loses_is_bounded(parts, num_words, log_sums):
    partition = Fraction(1, 2**500)
    found = parts.lost_share(log_sums, partition, num_words)
    with mpmath.workdps(40):
        count = 5 * mpmath.log(num_words + 1)
        exact = (64 - 1021 + 500) * mpmath.log(2) + count + mpmath.mpf(log_sums)
    # One more than the bound, for the rounding of all of it.
    assert 0.5 < found - exact < 1.5
    assert parts.lost_share(log_sums, Fraction(0), num_words) == np.inf
