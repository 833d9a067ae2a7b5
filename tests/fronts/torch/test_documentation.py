"""Docstrings are run, and the reference, which is written by hand, has every public name."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest
import torch

import arborand.torch
from arborand.torch import TreeDistribution, estimators

ROOT = Path(__file__).parents[3]
REFERENCE = (ROOT / "docs" / "api" / "torch.md").read_text(encoding="utf-8")
MODULES = [
    "arborand.torch",
    *(info.name for info in pkgutil.walk_packages(arborand.torch.__path__, "arborand.torch.")),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_do_what_they_say(name):
    module = importlib.import_module(name)
    outcome = doctest.testmod(module, extraglobs={"torch": torch})
    assert outcome.failed == 0
    shown = ">>> " in Path(module.__file__).read_text(encoding="utf-8")
    assert (outcome.attempted > 0) == shown


@pytest.mark.parametrize("name", arborand.torch.__all__)
def test_every_public_name_is_in_the_reference(name):
    assert f"`{name}" in REFERENCE


@pytest.mark.parametrize("name", [name for name in vars(TreeDistribution) if name[0] != "_"])
def test_every_method_is_in_the_reference(name):
    assert f"`{name}" in REFERENCE


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, value in vars(estimators).items()
        if getattr(value, "__module__", "") == "arborand.torch.estimators" and name[0] != "_"
    ],
)
def test_every_estimator_is_in_the_reference(name):
    assert f"`{name}" in REFERENCE


def test_the_package_never_imports_the_front():
    import subprocess
    import sys

    code = "import sys, arborand, arborand.estimators; print('torch' in sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "False"
