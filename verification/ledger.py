"""How sure we are: one budget of false alarms for a whole run.

A single test at level 0.01 is wrong once in a hundred runs of a correct program; a suite of a
hundred such tests is wrong most of the time, and people learn to press the button again. So the
suite as a whole has one level, :data:`ALPHA_RUN`, and each registered check an equal share of it.
If check i of m raises a false alarm with probability at most ALPHA_RUN / m, then by the union
bound

    P(any false alarm) <= sum over i of P(false alarm of i) <= m * ALPHA_RUN / m = ALPHA_RUN,

however the checks depend on each other. (The G test's own approximation adds a factor of at
most 2, measured in the tests of the harness.) The chance is over seeds; as these are fixed, a
check that has passed keeps passing until its sampler, graph or name changes. One false alarm in
half a million such changes of the whole register: a failure is a bug.

What a check costs is visible. It must be registered, its name is its seed, and the number of
registered checks is committed as :data:`NUM_CHECKS`, so that adding, dropping or doubling one
changes this file. Rather than loosening a level or looking for a lucky seed, one draws more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from verification.goodness_of_fit import Verdict

ALPHA_RUN = 1e-6
"""Chance that a run over a correct library raises any alarm at all."""

NUM_CHECKS = 575
"""The committed number of registered checks."""


@dataclass(frozen=True)
class Check:
    """One random assertion.

    Attributes
    ----------
    name : str
        Unique; says what is judged, on which graph.
    judge : callable
        From a seed to a verdict. All its randomness must come from that seed.
    """

    name: str
    judge: Callable[[int], Verdict]

    @property
    def seed(self) -> int:
        """Fixed 32-bit seed, a hash of the name: nobody chose it, and no two checks share it."""
        return int.from_bytes(sha256(self.name.encode()).digest()[:4], "big")

    def run(self) -> Verdict:
        """Draw and judge, with the check's own seed."""
        return self.judge(self.seed)


def alpha_per_check(num_checks: int = NUM_CHECKS) -> float:
    """Level of each check.

    Parameters
    ----------
    num_checks : int, optional
        Number of checks that share the budget.

    Returns
    -------
    float
        The p-value below which a check fails.
    """
    return ALPHA_RUN / num_checks


def require_unique(checks: Sequence[Check]) -> None:
    """Refuse a register in which two checks could be taken for each other.

    Parameters
    ----------
    checks : sequence of Check
        The register.

    Raises
    ------
    ValueError
        If two checks have the same name, or by accident of the hash the same seed.
    """
    for what, values in (
        ("name", Counter(check.name for check in checks)),
        ("seed", Counter(str(check.seed) for check in checks)),
    ):
        shared = [value for value, count in values.items() if count > 1]
        if shared:
            raise ValueError(f"every check needs a {what} of its own, shared: {', '.join(shared)}")
