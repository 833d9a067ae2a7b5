"""Names of version 0.1 that moved still work, and say where they went."""

import importlib
import re
import sys

import pytest

from arborand import pictures
from arborand.paper import experiment, illustrations, reference


@pytest.mark.parametrize("moved", [reference, experiment], ids=lambda module: module.__name__)
def test_old_modules_warn_and_hold_the_same_objects(moved, monkeypatch):
    old = moved.__name__.replace(".paper", "")
    monkeypatch.delitem(sys.modules, old, raising=False)
    message = re.escape(f"{old} is now called {moved.__name__};")
    with pytest.warns(DeprecationWarning, match=message) as record:
        module = importlib.import_module(old)
    assert len(record) == 1
    assert set(module.__all__) == set(moved.__all__)
    assert all(getattr(module, name) is getattr(moved, name) for name in moved.__all__)


def test_the_warning_points_at_the_import_of_the_old_name(monkeypatch):
    monkeypatch.delitem(sys.modules, "arborand.reference", raising=False)
    with pytest.warns(DeprecationWarning, match="is now called") as record:
        import arborand.reference  # noqa: F401
    assert record[0].filename == __file__


MOVED = ("ConditioningPicture", "Walk", "WalkPicture", "conditioning_steps", "loop_erased_walk")


@pytest.mark.parametrize("name", MOVED)
def test_illustrations_are_still_found_among_the_pictures(name):
    message = re.escape(f"is now called arborand.paper.illustrations.{name};")
    with pytest.warns(DeprecationWarning, match=message) as record:
        found = getattr(pictures, name)
    assert found is getattr(illustrations, name)
    assert record[0].filename == __file__


def test_other_names_are_unknown_to_pictures():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        pictures.nothing  # noqa: B018
