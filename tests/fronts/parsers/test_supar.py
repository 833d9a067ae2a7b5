"""The recipe for supar, run with a parser that was trained here: our best tree is its own."""

import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from arborand import DependencyTrees, ProjectiveDependencyTrees
from arborand.formats import read_scores
from arborand.parsers import score
from tests.command_line import call
from tests.fronts.parsers.treebank import write_treebank

pytestmark = pytest.mark.filterwarnings("ignore")  # supar uses what torch no longer likes
EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("supar")
    train = write_treebank(folder / "train.conllu", 200, seed=1)
    dev = write_treebank(folder / "dev.conllu", 20, seed=2)
    write_treebank(folder / "test.conllu", 60, seed=3)
    script = Path(__file__).with_name("train_supar.py")
    command = [sys.executable, script, train, dev, folder / "model"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.fixture
def recipe(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    return "scores_from_supar:scores"


def parsed(folder, **options):
    from supar import Parser

    parser = Parser.load(str(folder / "model"))
    return parser.predict(str(folder / "test.conllu"), verbose=False, **options).sentences


def test_the_best_tree_is_supars_own_with_its_labels(model, recipe):
    out = model / "scores.npz"
    options = {"parser": recipe, "model": str(model / "model"), "at_once": "25"}
    report = score(model / "test.conllu", out, **options)
    assert (report.num_sentences, report.num_compared, report.num_same) == (60, 60, 60)
    right = words = 0
    for sentence, own in zip(read_scores(out), parsed(model, tree=True, proj=False), strict=True):
        heads = DependencyTrees(sentence.log_weights.astype(np.float64)).best_tree()[1:].tolist()
        assert heads == own.arcs
        arcs = [sentence.label_scores[h, j] for j, h in enumerate(heads, 1)]
        assert [sentence.label_names[int(arc.argmax())] for arc in arcs] == own.rels
        right += sum(a != 0 for a in heads)
        words += len(heads)
    assert words - right == 60  # one root each


def test_projective_trees_are_supars_own_where_it_asks_for_them(model, recipe):
    out = model / "projective.npz"
    score(model / "test.conllu", out, parser=recipe, model=str(model / "model"))
    for sentence, own in zip(read_scores(out), parsed(model, tree=True, proj=True), strict=True):
        trees = ProjectiveDependencyTrees(sentence.log_weights.astype(np.float64))
        assert trees.best_tree()[1:].tolist() == own.arcs


def test_the_command_finds_the_recipe_in_the_folder(
    model, recipe, monkeypatch, capsysbinary, tmp_path
):
    monkeypatch.chdir(EXAMPLES)
    arborand = partial(call, monkeypatch, capsysbinary)
    out = tmp_path / "scores.npz"
    options = ("--parser", recipe, "--model", model / "model", "--no-labels")
    result = arborand("score", model / "dev.conllu", "-o", out, *options)
    assert result.status == 0, result.err
    assert "the best tree is the parser's own in 20 of 20" in result.err
