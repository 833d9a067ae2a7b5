"""Notebooks show pictures of distributions and draws, although the package does not know them."""

import subprocess
import sys

import pytest

from arborand import DependencyTrees, SpanningTrees, displays
from arborand.pictures import distribution_html, draws_html
from tests.kinds import KINDS

SCORES = [[0, 1, 2], [0, 0, 3], [0, 4, 0]]


@KINDS
def test_notebooks_show_distributions(kind):
    distribution = kind(SCORES)
    assert distribution._repr_html_() == distribution_html(distribution)


def test_notebooks_show_draws():
    draws = DependencyTrees(SCORES).sample_without_replacement(2, rng=0)
    assert draws._repr_html_() == draws_html(draws)


def test_what_nobody_displays_is_shown_as_text(monkeypatch):
    assert displays.display_html(object()) is None
    monkeypatch.setattr(displays, "GROUP", "arborand.nothing")
    displays._display_of.cache_clear()
    assert SpanningTrees(SCORES)._repr_html_() is None
    displays._display_of.cache_clear()


@pytest.mark.parametrize("statement", ["repr(d)", "d.sample(rng=0)"])
def test_pictures_are_loaded_by_notebooks_only(statement):
    program = (
        "import sys\nfrom arborand import SpanningTrees\n"
        f"d = SpanningTrees({SCORES})\n{statement}\n"
        "assert not {'arborand.pictures', 'importlib.metadata'} & set(sys.modules)\n"
        "d._repr_html_()\nassert 'arborand.pictures' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
