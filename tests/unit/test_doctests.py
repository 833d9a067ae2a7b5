"""Runs the examples of every docstring of the installed package."""

import doctest
import importlib
from pathlib import Path

import pytest

import arborand

PACKAGE = Path(arborand.__file__).parent
# What needs torch or JAX is run by tests/fronts, and not even imported here.
MODULES = [
    ".".join(("arborand", *path.with_suffix("").parts)).removesuffix(".__init__")
    for path in sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
    if path.parts[0] not in ("jax", "torch")
]


def test_there_are_modules_to_run():
    assert {"arborand.distributions", "arborand.trees", "arborand.paper.reference.graphs"} <= set(
        MODULES
    )


@pytest.mark.parametrize("name", MODULES)
def test_examples_do_what_they_say(name):
    module = importlib.import_module(name)
    outcome = doctest.testmod(module)
    assert outcome.failed == 0
    # A module whose source shows examples must not lose them on the way to here.
    shown = ">>> " in Path(module.__file__).read_text(encoding="utf-8")
    assert (outcome.attempted > 0) == shown
