"""The API reference has every public name."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "api").glob("*.md"))
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
DIRECTIVE = re.compile(r"^\.\. (currentmodule|auto\w+):: ([\w.]+)(\n   :members:)?", re.MULTILINE)


def documented():
    """Read which names the pages document: one by one, or all public ones of a module."""
    names, module = set(), ""
    for directive, name, members in DIRECTIVE.findall(TEXT):
        if directive in ("currentmodule", "automodule"):
            module = name
            if members:
                names |= {f"{name}.{one}" for one in importlib.import_module(name).__all__}
        elif directive != "autosummary":
            names.add(f"{module}.{name}")
    return names


@pytest.mark.parametrize(
    "module",
    [
        "arborand",
        "arborand.corpus",
        "arborand.enumeration",
        "arborand.formats",
        "arborand.paper.experiment",
        "arborand.paper.illustrations",
        "arborand.paper.reference",
        "arborand.parsers",
        "arborand.pictures",
    ],
)
def test_every_public_name_is_in_the_reference(module):
    public = {f"{module}.{name}" for name in importlib.import_module(module).__all__}
    assert public - {"arborand.__version__"} <= documented()


@pytest.mark.parametrize("module", ["arborand.estimators", "arborand.evaluation", "arborand.trees"])
def test_every_public_function_of_a_module_without_a_list_is_in_the_reference(module):
    public = {
        f"{module}.{name}"
        for name, value in vars(importlib.import_module(module)).items()
        if getattr(value, "__module__", "") == module and name[0] != "_"
    }
    gates = {
        f"arborand.trees.{name}"
        for name in ("check_integers", "check_trees", "check_tree_heads", "not_a_tree")
    }
    assert public - gates <= documented()


GATES = {"check_integers", "check_trees", "check_tree_heads", "not_a_tree"}


@pytest.mark.parametrize(
    "module",
    [
        "arborand",
        "arborand.corpus",
        "arborand.enumeration",
        "arborand.estimators",
        "arborand.evaluation",
        "arborand.formats",
        "arborand.paper.experiment",
        "arborand.paper.illustrations",
        "arborand.paper.reference",
        "arborand.pictures",
        "arborand.trees",
    ],
)
def test_every_public_function_and_method_has_an_example(module):
    """The examples are run by the tests of docstrings.  A class may have one for its methods."""
    loaded = importlib.import_module(module)
    names = getattr(loaded, "__all__", None) or [
        name for name, value in vars(loaded).items() if getattr(value, "__module__", "") == module
    ]
    without = []
    for name in set(names) - GATES:
        value = getattr(loaded, name)
        if inspect.isclass(value) and ">>> " not in (value.__doc__ or ""):
            methods = {m: f for m, f in vars(value).items() if inspect.isfunction(f)}
            without += [f"{name}.{m}" for m, f in methods.items() if _lacks_an_example(m, f)]
        elif inspect.isfunction(value) and _lacks_an_example(name, value):
            without.append(name)
    assert without == []


def _lacks_an_example(name, function):
    return name[0] != "_" and ">>> " not in (function.__doc__ or "")


def test_everything_in_the_reference_exists():
    for name in documented():
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name
