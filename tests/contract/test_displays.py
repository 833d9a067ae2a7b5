"""Notebooks show pictures of distributions, draws and best trees, which load them only then."""

import subprocess
import sys

import pytest

from arborand import DependencyTrees
from arborand.pictures.notebook import best_trees_html, distribution_html, draws_html
from tests.kinds import KINDS

SCORES = [[0, 1, 2], [0, 0, 3], [0, 4, 0]]


@KINDS
def test_notebooks_show_distributions(kind):
    distribution = kind(SCORES)
    assert distribution._repr_html_() == distribution_html(distribution)


def test_notebooks_show_draws():
    draws = DependencyTrees(SCORES).sample_without_replacement(2, rng=0)
    assert draws._repr_html_() == draws_html(draws)


def test_notebooks_show_best_trees():
    trees = DependencyTrees(SCORES).best_trees(2)
    assert trees._repr_html_() == best_trees_html(trees)


@pytest.mark.parametrize("statement", ["repr(d)", "d.sample(rng=0)"])
def test_pictures_are_loaded_by_notebooks_only(statement):
    program = (
        "import sys\nfrom arborand import SpanningTrees\n"
        f"d = SpanningTrees({SCORES})\n{statement}\n"
        "assert 'arborand.pictures' not in sys.modules\n"
        "d._repr_html_()\nassert 'arborand.pictures' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
