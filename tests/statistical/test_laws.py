"""Is the law right? Every registered check, at its share of the run's false-alarm budget."""

import pytest

from verification.checks import CHECKS
from verification.ledger import NUM_CHECKS, alpha_per_check


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_law(check):
    verdict = check.run()
    assert verdict.p_value >= alpha_per_check(), f"{check.name}\n{verdict.report()}"


def test_number_of_checks_is_committed():
    assert len(CHECKS) == NUM_CHECKS, (
        f"{len(CHECKS)} checks are registered; write this number into verification/ledger.py, so "
        "that the change of every check's level is on record"
    )
