"""The same seed gives the same trees, and the same graph the same bits, today as ever."""

from pathlib import Path

import pytest

from arborand import _core
from tests import golden


@pytest.fixture(params=["baseline", "best"])
def instruction_set(request):
    best = _core.instruction_set()
    _core.use_instruction_set("baseline" if request.param == "baseline" else best)
    yield
    _core.use_instruction_set(best)


@pytest.mark.usefixtures("instruction_set")
def test_draws_and_numbers_are_the_golden_ones():
    _, expected = golden.committed()
    found = golden.compute()
    assert found.keys() == expected.keys()
    for graph, answers in found.items():
        assert answers.keys() == expected[graph].keys()
        for question, answer in answers.items():
            assert answer == expected[graph][question], f"{graph}: {question} (see make golden)"


def test_the_changelog_says_which_golden_values_these_are():
    version, _ = golden.committed()
    changelog = Path(__file__).parents[2].joinpath("CHANGELOG.md").read_text()
    assert f"Golden values, version {version}:" in changelog
