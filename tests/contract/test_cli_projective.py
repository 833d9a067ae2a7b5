"""`--projective` on every command that computes: the answers of the library, also in jobs."""

import json

import numpy as np
import pytest

from arborand import (
    DependencyTrees,
    NoTreeError,
    ProjectiveDependencyTrees,
    ProjectiveSpanningTrees,
    corpus,
)
from arborand.formats import read_trees
from arborand.trees import is_projective
from tests.command_line import Corpus, call, conllu_of, random_corpus


@pytest.fixture
def arborand(monkeypatch, capsysbinary):
    return lambda *arguments, **options: call(monkeypatch, capsysbinary, *arguments, **options)


@pytest.fixture
def sentences(tmp_path):
    sentences = random_corpus(8, seed=5, longest=8)
    sentences.save(tmp_path / "scores.npz")
    (tmp_path / "gold.conllu").write_text(conllu_of(sentences))
    return sentences


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()[1:]]  # after the header


@pytest.mark.parametrize("trees", ["dependency", "spanning"])
def test_numbers_are_those_of_the_library(arborand, sentences, tmp_path, trees):
    kind = ProjectiveDependencyTrees if trees == "dependency" else ProjectiveSpanningTrees
    options = ("--projective", "--trees", trees)
    scores = tmp_path / "scores.npz"
    for command in ("logz", "entropy", "marginals"):
        out = tmp_path / f"{command}.jsonl"
        assert arborand(command, scores, *options, "-o", out).status == 0
        for row, matrix in zip(rows(out), sentences.matrices, strict=True):
            d = kind(matrix)
            if command == "marginals":
                np.testing.assert_array_equal(
                    np.reshape(row["marginals"], (len(matrix), -1)), d.arc_marginals()
                )
                continue
            assert row["log_partition"] == d.log_partition()
            if command == "entropy":
                assert row["entropy"] == d.entropy()
                single = ProjectiveDependencyTrees(matrix).log_partition()
                several = ProjectiveSpanningTrees(matrix).log_partition()
                assert row["single_root_share"] == pytest.approx(np.exp(single - several))


@pytest.mark.parametrize("ending", [".jsonl", "/"])
def test_draws_and_best_trees_are_those_of_the_library(arborand, sentences, tmp_path, ending):
    scores = tmp_path / "scores.npz"
    commands = {
        "sample": (
            ("sample", "-k", 5, "--seed", 3),
            lambda d, i: d.sample(5, rng=3, first_graph=i),
        ),
        "distinct": (
            ("sample", "-k", 5, "--seed", 3, "--without-replacement"),
            lambda d, i: d.sample_without_replacement(5, rng=3, first_graph=i).heads,
        ),
        "best": (("best", "-k", 5), lambda d, _: d.best_trees(5).heads),
        "risk": (("best", "--minimum-risk"), lambda d, _: d.minimum_risk_tree()[None]),
    }
    for name, (command, expected) in commands.items():
        target = f"{tmp_path}/{name}{ending}"
        result = arborand(command[0], scores, *command[1:], "--projective", "-o", target)
        assert result.status == 0, result.err
        parts = [target] if ending == ".jsonl" else sorted((tmp_path / name).glob("*.parquet"))
        found = [row for part in parts for row in read_trees(part)]
        for i, ((_, heads, *_), matrix) in enumerate(zip(found, sentences.matrices, strict=True)):
            assert is_projective(heads).all()
            np.testing.assert_array_equal(heads, expected(ProjectiveDependencyTrees(matrix), i))


def test_jobs_of_the_library_take_it_and_record_it(sentences, tmp_path):
    scores = tmp_path / "scores.npz"
    status = corpus.run("best", scores, tmp_path / "job", projective=True, num_trees=2)
    assert status.num_sentences == 8
    with pytest.raises(Exception, match="another job"):
        corpus.run("best", scores, tmp_path / "job", num_trees=2)


def test_projective_trees_have_no_choice_of_methods(arborand, sentences, tmp_path):
    scores = tmp_path / "scores.npz"
    result = arborand("sample", scores, "--projective", "--method", "wilson")
    assert result.status == 2
    assert "projective trees have only one method" in " ".join(result.err.split())


def test_sentences_whose_trees_all_cross_are_named(arborand, tmp_path):
    crossing = np.full((4, 4), -np.inf)
    crossing[0, 2] = crossing[2, 3] = crossing[3, 1] = 0.0
    Corpus(["fine", "crossing"], [np.zeros((4, 4)), crossing]).save(tmp_path / "scores.npz")
    assert arborand("check", tmp_path / "scores.npz").status == 0
    result = arborand("check", tmp_path / "scores.npz", "--projective")
    assert result.status == 1
    text = " ".join((result.out.decode() + result.err).split())
    assert "crossing" in text
    assert "every tree over its arcs has crossing arcs" in text
    DependencyTrees(crossing)
    with pytest.raises(NoTreeError):
        ProjectiveDependencyTrees(crossing)


def test_an_evaluation_and_a_page_are_of_projective_trees(arborand, sentences, tmp_path):
    scores, gold = tmp_path / "scores.npz", tmp_path / "gold.conllu"
    out = tmp_path / "evaluation.json"
    options = ("--conllu", gold, "--projective")
    assert arborand("evaluate", scores, *options, "-o", out).status == 0
    assert json.loads(out.read_text())
    page = tmp_path / "page.html"
    assert arborand("show", scores, *options, "-o", page).status == 0
    assert "log Z of all projective dependency trees" in page.read_text()
