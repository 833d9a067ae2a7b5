"""Is the law right? Every registered check, at its share of the run's false-alarm budget."""

import pytest

from verification.checks import (
    CALIBRATION,
    CHECKS,
    LABELLED_DISTINCT,
    NETWORKX_CHECKS,
    REFERENCE,
    TWINS,
)
from verification.ledger import NUM_CHECKS, alpha_per_check

# The judges' own laws (the paper's algorithms, the harness itself, samplers in Python), those of
# NetworkX, distinct labelled trees, sparse graphs on which walks are long and nothing cuts them
# short, and laws that are drawn from under every setting or judged in every way.
SLOW_NAMES = (
    "a million draws",
    "all bonds",
    "all budgets",
    "inclusion among",
    "perturbed",
    "switch after",
    "sparse sample, bound_pair_4",
    "sparse sample, nested_traps_4",
    "sparse sample, tiny_roots_3",
)
SLOW = {
    check.name for check in (*REFERENCE, *CALIBRATION, *TWINS, *NETWORKX_CHECKS, *LABELLED_DISTINCT)
} | {check.name for check in CHECKS if any(name in check.name for name in SLOW_NAMES)}


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=check.name, marks=pytest.mark.slow if check.name in SLOW else ())
        for check in CHECKS
    ],
)
def test_law(check):
    verdict = check.run()
    assert verdict.p_value >= alpha_per_check(), f"{check.name}\n{verdict.report()}"


def test_number_of_checks_is_committed():
    assert all(any(name in check.name for check in CHECKS) for name in SLOW_NAMES)
    assert len(CHECKS) == NUM_CHECKS, (
        f"{len(CHECKS)} checks are registered; write this number into verification/ledger.py, so "
        "that the change of every check's level is on record"
    )
