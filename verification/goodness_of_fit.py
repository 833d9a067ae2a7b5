r"""Counts against probabilities: the tests on which every verdict rests.

Why the likelihood-ratio statistic :math:`G = 2 \sum O \log(O / E)` and not Pearson's
:math:`\sum (O - E)^2 / E`. The ledger asks for p-values near 1e-9, far out in the tail, where the
two are no longer alike. Sanov's theorem says that counts with a given G have probability about
:math:`e^{-G/2}`, at any distance from the mean, and :math:`e^{-G/2}` is also how the chi-square
law decays: the tail of G is that of its approximation however far one goes. Pearson's
statistic grows with the square of the excess where the true log-probability grows only like
:math:`O \log O`, so it calls ordinary Poisson fluctuations of small cells impossible. Summing
exact binomial probabilities, for one cell of expectation 30 or more against all others, what is
called a level of 1e-9 is at worst 59e-9 for Pearson and 1.8e-9 for G.

Williams' factor divides G by its mean's first-order excess, so that laws of hundreds of cells
do not drift. What is left in the tail is measured by exact summation in the tests.

Three kinds of outcome, three rules
-----------------------------------
impossible
    Probability exactly zero, or not listed at all. One such draw refutes the sampler: p = 0.
small
    Expected fewer than :data:`MIN_EXPECTED` times. They are pooled. If the pool is expected at
    least that often, it is a cell of the G test like any other. If not, its count is binomial
    and is tested exactly, and the G test is made on the other draws, which given that count are
    multinomial. That keeps the power to see that something which should happen once in a
    billion draws happens once in ten thousand, which merging the pool into a large cell would
    drown.
all others
    A cell each.

Which cells are pooled depends on the law and on the number of draws, never on the counts:
choosing cells after seeing the data would void the chi-square law.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
from scipy import special, stats

MIN_EXPECTED = 30.0
"""Expected count below which a cell is pooled.

A cell of expectation E comes out empty with probability exp(-E), while G reads that as a
chi-square value of 2E and calls it sqrt(pi E) times rarer than it is. This must happen below
every level the ledger uses, so exp(-E) has to be well under 1e-9: exp(-30) = 9.4e-14. The textbook
value 5 is meant for levels near 0.05; at 1e-6 it understates the false alarms about fivefold.
"""

_NUM_WORST = 5
_SUM_TOLERANCE = 1e-9  # rounding of a sum of 1e6 probabilities stays far below; a bug does not


class Verdict(Protocol):
    """What every test of this module returns."""

    @property
    def p_value(self) -> float:
        """Chance, were the sampler right, of an outcome at least as surprising."""

    def report(self) -> str:
        """Return the evidence in words, for the message of a failing test."""


@dataclass(frozen=True)
class Cell:
    """One outcome, or one pool of outcomes: how often it came, how often it should have.

    Attributes
    ----------
    outcome : str
        Name of the outcome.
    observed : int
        Number of draws.
    expected : float
        Expected number of draws; 0 for the impossible.
    """

    outcome: str
    observed: int
    expected: float

    def __str__(self) -> str:
        return f"{self.outcome}: observed {self.observed}, expected {self.expected:.6g}"


@dataclass(frozen=True)
class Cells:
    """How the outcomes of a law are grouped for a given number of draws.

    Attributes
    ----------
    alone : ndarray of int64
        Indices of the outcomes that are a cell each.
    pooled : ndarray of int64
        Indices of the possible outcomes that are too rare for that.
    impossible : ndarray of int64
        Indices of the outcomes of probability zero.
    is_pool_exact : bool
        Whether the pool as a whole is too rare for the G test, and is tested exactly.
    """

    alone: npt.NDArray[np.int64]
    pooled: npt.NDArray[np.int64]
    impossible: npt.NDArray[np.int64]
    is_pool_exact: bool


@dataclass(frozen=True)
class Fit:
    """Result of :func:`g_test`.

    Attributes
    ----------
    p_value : float
        0 if an impossible outcome was drawn; else that of the G test, or of the exact test of
        the pool; where both were made, twice the smaller.
    statistic : float
        G after Williams' correction.
    degrees_of_freedom : int
        Cells of the G test minus one.
    num_draws : int
        Sum of all counts.
    num_cells : int
        Cells of the G test, the pool included if it is one of them.
    num_pooled : int
        Outcomes in the pool.
    rare : Cell or None
        The pool, where it was tested exactly.
    impossible : tuple of Cell
        Every impossible outcome that was drawn.
    worst : tuple of Cell
        The cells that contribute most to the statistic, worst first.
    """

    p_value: float
    statistic: float
    degrees_of_freedom: int
    num_draws: int
    num_cells: int
    num_pooled: int
    rare: Cell | None = None
    impossible: tuple[Cell, ...] = ()
    worst: tuple[Cell, ...] = field(default=(), repr=False)

    def report(self) -> str:
        """Return the evidence in words, for the message of a failing test."""
        lines = [
            f"p = {self.p_value:.3g}: G = {self.statistic:.6g} on {self.degrees_of_freedom} "
            f"degrees of freedom, {self.num_draws} draws in {self.num_cells} cells, "
            f"{self.num_pooled} outcomes pooled"
        ]
        if self.impossible:
            total = sum(cell.observed for cell in self.impossible)
            lines.append(f"{total} impossible draws, {len(self.impossible)} different, such as:")
            lines += [f"  {cell}" for cell in self.impossible[:_NUM_WORST]]
        if self.rare is not None:
            lines.append(f"tested exactly: {self.rare}")
        if self.worst:
            lines.append("cells that contribute most:")
            lines += [f"  {cell}" for cell in self.worst]
        return "\n".join(lines)


@dataclass(frozen=True)
class BinomialFit:
    """Result of :func:`binomial_test`.

    Attributes
    ----------
    p_value : float
        Twice the smaller tail, at most 1.
    cell : Cell
        The event.
    num_draws : int
        Number of trials.
    """

    p_value: float
    cell: Cell
    num_draws: int

    def report(self) -> str:
        """Return the evidence in words, for the message of a failing test."""
        return f"p = {self.p_value:.3g}: {self.cell}, in {self.num_draws} trials"


@dataclass(frozen=True)
class CountFit:
    """One count against its expectation, under a law of its own.

    Attributes
    ----------
    p_value : float
        Of the count.
    cell : Cell
        What was counted.
    """

    p_value: float
    cell: Cell

    def report(self) -> str:
        """Return the evidence in words, for the message of a failing test."""
        return f"p = {self.p_value:.3g}: {self.cell}"


@dataclass(frozen=True)
class DistanceFit:
    """Result of :func:`distance_test`.

    Attributes
    ----------
    p_value : float
        Of the distance.
    distance : float
        Largest difference between the two distribution functions.
    num_values : int
        How many values were compared.
    """

    p_value: float
    distance: float
    num_values: int

    def report(self) -> str:
        """Return the evidence in words, for the message of a failing test."""
        return (
            f"p = {self.p_value:.3g}: {self.num_values} values are up to "
            f"{self.distance:.4f} away from their law"
        )


@dataclass(frozen=True)
class Family:
    """Several verdicts, on the same draws or on others, judged as one.

    By the union bound the smallest of m p-values, times m, is a p-value whatever the dependence
    between them.

    Attributes
    ----------
    members : tuple of (str, Verdict)
        The verdicts and what each of them is about.
    """

    members: tuple[tuple[str, Verdict], ...]

    @property
    def p_value(self) -> float:
        """The smallest p-value times the number of members, at most 1."""
        return min(1.0, len(self.members) * min(member.p_value for _, member in self.members))

    def report(self) -> str:
        """Return the evidence in words: that of the worst member."""
        about, worst = min(self.members, key=lambda member: member[1].p_value)
        return (
            f"p = {self.p_value:.3g} for a family of {len(self.members)}; worst is {about}:\n"
            f"{worst.report()}"
        )


def group_cells(probabilities: npt.NDArray[np.float64], num_draws: int) -> Cells:
    """Group the outcomes of a law into cells.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (outcomes,)
        The law.
    num_draws : int
        Number of draws to come. The counts are deliberately not an argument.

    Returns
    -------
    Cells
        The grouping.
    """
    expected = num_draws * probabilities
    is_small = expected < MIN_EXPECTED
    is_possible = probabilities > 0.0
    pooled = np.flatnonzero(is_small & is_possible)
    return Cells(
        alone=np.flatnonzero(~is_small),
        pooled=pooled,
        impossible=np.flatnonzero(~is_possible),
        is_pool_exact=bool(len(pooled) and expected[pooled].sum() < MIN_EXPECTED),
    )


def g_test(
    counts: npt.NDArray[Any],
    probabilities: npt.NDArray[Any],
    *,
    outside: Mapping[str, int] | None = None,
    name_of: Callable[[int], str] = str,
) -> Fit:
    """Test counts against the probabilities of a multinomial law.

    Parameters
    ----------
    counts : ndarray of an integer type, shape (outcomes,)
        How often each outcome was drawn. Counts, never frequencies: the statistic is in
        proportion to the number of draws, and dividing by it makes any bias look like noise.
    probabilities : ndarray of float64, shape (outcomes,)
        The law, summing to 1.
    outside : mapping of str to int, optional
        Draws that are not outcomes of the law at all, by name, with their counts.
    name_of : callable, optional
        From the index of an outcome to its name in reports.

    Returns
    -------
    Fit
        The p-value and the evidence.

    Raises
    ------
    TypeError
        If the counts are not integers.
    ValueError
        If the shapes differ, a count is negative, the probabilities are not a law, or the draws
        are so few that all outcomes fall into one cell and nothing could be refuted.
    """
    tallied, law = _checked(counts, probabilities)
    outside = {} if outside is None else outside
    num_draws = int(tallied.sum()) + sum(outside.values())
    cells = group_cells(law, num_draws)
    impossible = [
        Cell(name_of(int(i)), int(tallied[i]), 0.0) for i in cells.impossible if tallied[i] > 0
    ]
    impossible += [Cell(name, count, 0.0) for name, count in outside.items() if count > 0]

    pool_observed = int(tallied[cells.pooled].sum())
    pool_probability = float(law[cells.pooled].sum())
    is_pool_cell = len(cells.pooled) > 0 and not cells.is_pool_exact
    observed = tallied[cells.alone]
    expected_share = law[cells.alone]
    if is_pool_cell:
        observed = np.append(observed, pool_observed)
        expected_share = np.append(expected_share, pool_probability)
    num_groups = len(observed) + cells.is_pool_exact
    if num_groups < 2 and np.count_nonzero(law) > 1:
        raise ValueError(
            f"{num_draws} draws cannot refute a law of {np.count_nonzero(law)} outcomes: none "
            f"but one group is expected {MIN_EXPECTED:g} times; draw more"
        )

    p_values = []
    rare = None
    if cells.is_pool_exact:
        rare = Cell(
            f"any of {len(cells.pooled)} rare outcomes", pool_observed, num_draws * pool_probability
        )
        p_values.append(binomial_test(pool_observed, num_draws, pool_probability).p_value)
    statistic, contributions, expected = _corrected_g(observed, expected_share)
    degrees_of_freedom = max(len(observed) - 1, 0)
    if degrees_of_freedom > 0:
        p_values.append(float(special.chdtrc(degrees_of_freedom, statistic)))

    def name_of_cell(cell: int) -> str:
        if cell < len(cells.alone):
            return name_of(int(cells.alone[cell]))
        return f"any of {len(cells.pooled)} pooled outcomes"

    return Fit(
        p_value=0.0 if impossible else min([1.0, *(len(p_values) * p for p in p_values)]),
        statistic=statistic,
        degrees_of_freedom=degrees_of_freedom,
        num_draws=num_draws,
        num_cells=len(observed),
        num_pooled=len(cells.pooled),
        rare=rare,
        impossible=tuple(impossible),
        worst=tuple(
            Cell(name_of_cell(int(i)), int(observed[i]), float(expected[i]))
            for i in np.argsort(-contributions, kind="stable")[:_NUM_WORST]
        ),
    )


def binomial_test(
    count: int, num_draws: int, probability: float, *, outcome: str = "event"
) -> BinomialFit:
    """Test exactly how often one event happened, in both directions.

    Doubling the smaller tail is valid for any law and needs no approximation, which makes this
    the test for events too rare, or too nearly certain, for the G test.

    Parameters
    ----------
    count : int
        How often it happened.
    num_draws : int
        Number of independent trials.
    probability : float
        Its probability; 0 and 1 are allowed, and then one exception is enough.
    outcome : str, optional
        Name of the event in reports.

    Returns
    -------
    BinomialFit
        The p-value and the evidence.

    Raises
    ------
    ValueError
        If the count is not within 0 and the number of draws, or the probability not within 0
        and 1.
    """
    if not 0 <= count <= num_draws:
        raise ValueError(f"count must be within 0 and {num_draws}, found {count}")
    if not 0.0 <= probability <= 1.0:
        raise ValueError(f"probability must be within 0 and 1, found {probability}")
    at_most = float(stats.binom.cdf(count, num_draws, probability))
    at_least = float(stats.binom.sf(count - 1, num_draws, probability))
    return BinomialFit(
        p_value=min(1.0, 2.0 * min(at_most, at_least)),
        cell=Cell(outcome, count, num_draws * probability),
        num_draws=num_draws,
    )


def distance_test(
    values: npt.NDArray[np.float64],
    law: str,
    *,
    alternative: Literal["two-sided", "greater"] = "two-sided",
) -> DistanceFit:
    """Test values against a continuous law, by the test of Kolmogorov and Smirnov.

    Parameters
    ----------
    values : ndarray of float64
        Independent values.
    law : str
        Its name in SciPy.
    alternative : str, optional
        ``"greater"`` only minds values that are too small.

    Returns
    -------
    DistanceFit
        The p-value and the evidence.
    """
    distance, p_value = stats.kstest(values, law, alternative=alternative)
    return DistanceFit(float(p_value), float(distance), len(values))


def _checked(
    counts: npt.NDArray[Any], probabilities: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    counts = np.asarray(counts)
    law = np.asarray(probabilities, dtype=np.float64)
    if not np.issubdtype(counts.dtype, np.integer):
        raise TypeError(
            f"counts must have an integer type, found {counts.dtype}; "
            "frequencies would hide any bias, pass how often each outcome was drawn"
        )
    if counts.ndim != 1 or counts.shape != law.shape:
        raise ValueError(
            f"counts and probabilities must be vectors of one length, "
            f"found shapes {counts.shape} and {law.shape}"
        )
    if counts.size and counts.min() < 0:
        raise ValueError(f"counts must not be negative, found {counts.min()}")
    if not np.all(law >= 0.0) or abs(law.sum() - 1.0) > _SUM_TOLERANCE:
        raise ValueError(
            f"probabilities must be non-negative and sum to 1, found a sum of {law.sum()!r} "
            f"and a least value of {law.min(initial=np.inf)!r}"
        )
    return counts.astype(np.int64), law


def _corrected_g(
    observed: npt.NDArray[np.int64], expected_share: npt.NDArray[np.float64]
) -> tuple[float, npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    num_draws = int(observed.sum())
    if num_draws == 0:  # every draw was impossible or rare, which is judged elsewhere
        return 0.0, np.zeros(len(observed)), np.zeros(len(observed))
    share = expected_share / expected_share.sum()
    expected = num_draws * share
    # The terms observed - expected sum to zero; with them each contribution is non-negative, so
    # nothing cancels and the largest contribution is the worst cell.
    contributions = 2.0 * (special.xlogy(observed, observed / expected) - (observed - expected))
    if len(observed) < 2:
        return 0.0, contributions, expected
    williams = 1.0 + (np.sum(1.0 / share) - 1.0) / (6.0 * num_draws * (len(observed) - 1))
    return float(contributions.sum() / williams), contributions, expected
