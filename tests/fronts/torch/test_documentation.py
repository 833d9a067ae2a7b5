"""Docstrings are run, and the reference, which is written by hand, has every public name."""

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import arborand.torch
from arborand.fronts import FrontDistribution
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


EXAMPLES = "\n".join(line for line in REFERENCE.splitlines() if line.startswith(">>> "))
METHODS = {**vars(TreeDistribution), **vars(FrontDistribution)}


@pytest.mark.parametrize("name", sorted(name for name in METHODS if name[0] != "_"))
def test_every_method_is_in_the_reference(name):
    assert f"`{name}" in REFERENCE
    if inspect.isfunction(METHODS[name]) and name != "rsample":  # which only raises
        assert f".{name}(" in EXAMPLES


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
    code = "import sys, arborand, arborand.estimators; print('torch' in sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "False"


USERS_FILE = """
import torch
from torch import Tensor
from typing_extensions import assert_type

from arborand.torch import BestTrees, DependencyTrees, Draws, SpanningTrees
from arborand.torch.estimators import expectation, relaxed_sample


def loss(scores: Tensor, gold: Tensor, lengths: Tensor) -> Tensor:
    trees = DependencyTrees(scores, lengths=lengths, workers=2)
    assert_type(trees.expand((3, 2)).condition(heads=gold), DependencyTrees)
    assert_type(trees.sample_without_replacement(3, generator=torch.Generator()), Draws)
    assert_type(trees.best_trees(2), BestTrees)
    assert_type(trees.best_tree(), Tensor)
    assert_type(trees.cross_entropy(SpanningTrees(scores)), Tensor)
    assert_type(expectation(trees, lambda heads: (heads == 0).sum(-1).float(), 4), Tensor)
    assert_type(relaxed_sample(trees, (2,), temperature=0.5), Tensor)
    return trees.entropy() - trees.log_prob(gold)
"""


def test_a_users_file_passes_mypy_strict(tmp_path):
    path = tmp_path / "users_file.py"
    path.write_text(USERS_FILE, encoding="utf-8")
    mypy = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache")]
    answer = subprocess.run([*mypy, str(path)], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr
