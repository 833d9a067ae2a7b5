"""Runs the examples of every docstring of the installed package."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import arborand

MODULES = [
    info.name
    for info in pkgutil.walk_packages(arborand.__path__, prefix="arborand.")
    # What needs torch is run by tests/fronts/torch.
    if info.name != "arborand._core" and not info.name.startswith("arborand.torch")
]


def test_there_are_modules_to_run():
    assert {"arborand.distributions", "arborand.trees", "arborand.paper.reference.graphs"} <= set(
        MODULES
    )


@pytest.mark.parametrize("name", ["arborand", *MODULES])
def test_examples_do_what_they_say(name):
    module = importlib.import_module(name)
    outcome = doctest.testmod(module)
    assert outcome.failed == 0
    # A module whose source shows examples must not lose them on the way to here.
    shown = ">>> " in Path(module.__file__).read_text(encoding="utf-8")
    assert (outcome.attempted > 0) == shown
