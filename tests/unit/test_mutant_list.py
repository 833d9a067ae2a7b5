"""The list of mutants stays true: `make mutants` runs it, and takes too long for every day."""

from pathlib import Path

import pytest

from verification.hardening.source_mutants import MUTANTS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_what_a_mutant_replaces_occurs_once(mutant):
    assert (ROOT / mutant.file).read_text().count(mutant.text) == 1
    assert mutant.replacement != mutant.text
    for argument in mutant.tests:
        if argument.startswith("tests/"):
            assert (ROOT / argument).exists()


def test_mutants_have_names_of_their_own():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 30
