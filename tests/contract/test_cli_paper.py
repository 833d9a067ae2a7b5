"""The commands that repeat the paper: experiment and illustrate."""

from __future__ import annotations

import csv
import re
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from arborand import DependencyTrees
from arborand.paper import experiment, reference
from arborand.paper.illustrations import conditioning_steps, loop_erased_walk
from tests.command_line import CORPUS, call, random_corpus

SCORES = CORPUS / "sentences.npz"
CONLLU = CORPUS / "sentences.conllu"
RESULTS = {"experiment.csv", "experiment.png", "experiment.svg", "experiment.txt"}
WRITTEN = [
    *("walk.svg", "walk.html", "conditioning.svg", "conditioning.html"),
    *("grid_walk.svg", "grid_walk.html", "maze.svg"),
]
PICTURES = set(WRITTEN)


@pytest.fixture
def arborand(monkeypatch, capsysbinary):
    return partial(call, monkeypatch, capsysbinary)


@pytest.fixture
def tiny(monkeypatch):
    """Put the plan of the unit test, too small to mean anything, in the place of both plans."""
    pytest.importorskip("matplotlib", reason="the experiment draws its figure with matplotlib")
    from tests.unit.test_experiment import TINY

    monkeypatch.setattr(experiment, "FULL", TINY)
    monkeypatch.setattr(experiment, "QUICK", TINY)


@pytest.fixture
def nothing_is_measured(monkeypatch):
    def refuse(*arguments):
        raise AssertionError("something was measured")

    monkeypatch.setattr(experiment, "with_replacement", refuse)


def names_in(folder):
    return {path.name for path in folder.iterdir()}


# ---- experiment


@pytest.mark.slow
def test_experiment_writes_its_files_and_prints_its_report(tiny, arborand, tmp_path):
    out = tmp_path / "some" / "results"
    result = arborand("experiment", "-o", out)
    assert result.status == 0
    assert names_in(out) == RESULTS
    text = result.out.decode()
    report = (out / "experiment.txt").read_text()
    assert text.startswith(report)
    assert "What to expect." in report
    assert {line for line in text.splitlines() if line.startswith("written: ")} == {
        f"written: {out / name}" for name in RESULTS
    }
    with (out / "experiment.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert "arborand: " not in result.err  # progress is for terminals
    assert {row["method"] for row in rows if row["experiment"] == "trees"} == {
        "reference swor",
        "core rejection, then partition",
        "core rejection",
        "core partition",
    }


@pytest.mark.slow
def test_experiment_takes_the_quick_plan_if_asked(tiny, arborand, tmp_path, monkeypatch):
    plans = []

    def recording(plan, rng, measure=experiment.with_replacement):
        plans.append(plan)
        return measure(plan, rng)

    full = experiment.Plan(1, (2, 3), (2, 3), (1, 2), (1, 2), num_words=2, least_seconds=0.001)
    monkeypatch.setattr(experiment, "FULL", full)
    monkeypatch.setattr(experiment, "with_replacement", recording)
    assert arborand("experiment", "--quick", "-o", tmp_path).status == 0
    assert arborand("experiment", "-o", tmp_path).status == 0
    assert plans == [experiment.QUICK, full]


@pytest.mark.slow
def test_experiment_replaces_its_files_and_no_others(tiny, arborand, tmp_path):
    (tmp_path / "experiment.csv").write_text("old")
    (tmp_path / "notes.txt").write_text("mine")
    assert arborand("experiment", "-o", tmp_path).status == 0
    assert names_in(tmp_path) == {*RESULTS, "notes.txt"}
    assert (tmp_path / "experiment.csv").read_text().startswith("experiment,method,size")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_experiment_without_matplotlib_names_both_extras(
    nothing_is_measured, arborand, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = arborand("experiment", "-o", tmp_path / "results")
    assert result.status == 1
    assert "needs matplotlib: pip install 'arborand[cli,plot]'" in result.err
    assert list(tmp_path.iterdir()) == []


# ---- where neither may write

EXPERIMENT = ("experiment",)
ILLUSTRATE = ("illustrate", SCORES)
each_command = pytest.mark.parametrize("command", [EXPERIMENT, ILLUSTRATE], ids=lambda c: c[0])


@each_command
def test_a_file_in_the_place_of_the_folder_is_refused(
    command, tiny, nothing_is_measured, arborand, tmp_path
):
    (tmp_path / "taken").write_text("mine")
    result = arborand(*command, "-o", tmp_path / "taken")
    assert result.status == 1
    assert result.err == f"arborand: {tmp_path / 'taken'} is a file: -o names a folder\n"
    result = arborand(*command, "-o", tmp_path / "taken" / "below")
    assert result.status == 1
    assert f"{tmp_path / 'taken' / 'below'} cannot be written: Not a directory" in result.err
    assert (tmp_path / "taken").read_text() == "mine"


@each_command
@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder closed to everyone")
def test_a_folder_that_takes_no_files_is_refused(command, tiny, nothing_is_measured, arborand):
    # Not even root can make files there.
    folder = Path("/proc")
    result = arborand(*command, "-o", folder)
    assert result.status == 1
    assert result.err.startswith("arborand: /proc cannot be written: ")


@each_command
def test_the_output_must_be_named(command, nothing_is_measured, arborand):
    result = arborand(*command)
    assert result.status == 2
    assert "Missing option '--output'" in " ".join(result.err.replace("│", " ").split())


# ---- illustrate


@pytest.mark.parametrize("trees", ["dependency", "spanning"])
@pytest.mark.parametrize("sent_id", [None, "fi-1"])
def test_illustrate_draws_what_the_library_draws(trees, sent_id, arborand, tmp_path):
    options = ["--conllu", CONLLU, "--seed", 3, "--trees", trees]
    options += ["--sent-id", sent_id] if sent_id else []
    result = arborand("illustrate", SCORES, *options, "-o", tmp_path / "pictures")
    assert (result.status, result.err) == (0, "")
    assert names_in(tmp_path / "pictures") == PICTURES
    assert result.out.decode().splitlines() == [
        f"written: {tmp_path / 'pictures' / name}" for name in WRITTEN
    ]
    matrix, tokens = sentence(sent_id or "en-1")
    walk = loop_erased_walk(matrix, rng=3, labels=tokens)
    steps = conditioning_steps(matrix, rng=3, single_root=trees == "dependency", labels=tokens)
    for name, picture in (("walk", walk), ("conditioning", steps)):
        for suffix in ("svg", "html"):
            written = (tmp_path / "pictures" / f"{name}.{suffix}").read_text(encoding="utf-8")
            assert written == getattr(picture, suffix)


@pytest.mark.parametrize("sent_id", ["en-1", "fi-1"])
def test_illustrate_shows_a_walk_that_erases_a_loop(sent_id, arborand, tmp_path):
    options = ["--conllu", CONLLU, "--sent-id", sent_id, "-o", tmp_path]
    assert arborand("illustrate", SCORES, *options).status == 0
    drawn = (tmp_path / "walk.svg").read_text(encoding="utf-8")
    assert re.search(r"\d cycles? erased", drawn)
    # It is the first seed that does.
    matrix, tokens = sentence(sent_id)
    for seed in range(2000):
        picture = loop_erased_walk(matrix, rng=seed, labels=tokens)
        if any(walk.cycles for walk in picture.walks):
            break
    assert picture.svg == drawn


def sentence(sent_id):
    """Read the scores and the words of one sentence of the example corpus, in another way."""
    with np.load(SCORES) as arrays:
        index = arrays["sent_ids"].tolist().index(sent_id)
        sizes = (arrays["lengths"].astype(int) + 1) ** 2
        begin = int(sizes[:index].sum())
        size = int(arrays["lengths"][index]) + 1
        matrix = arrays["scores"][begin : begin + size**2].reshape(size, size)
    blocks = CONLLU.read_text(encoding="utf-8").split("\n\n")
    lines = next(b for b in blocks if f"# sent_id = {sent_id}\n" in f"{b}\n").splitlines()
    tokens = [line.split("\t")[1] for line in lines if line.split("\t")[0].isdigit()]
    return matrix.astype(float), tokens


def test_illustrate_reads_weights_and_does_without_words(arborand, tmp_path):
    weights = reference.THEOREM_2_GRAPH
    np.save(tmp_path / "weights.npy", weights)
    result = arborand("illustrate", tmp_path / "weights.npy", "--weights", "-o", tmp_path / "out")
    assert (result.status, result.err) == (0, "")
    log_weights = DependencyTrees.from_weights(weights).log_weights
    expected = conditioning_steps(log_weights, rng=0, single_root=True)
    assert (tmp_path / "out" / "conditioning.svg").read_text(encoding="utf-8") == expected.svg


def test_illustrate_replaces_its_files_and_no_others(arborand, tmp_path):
    (tmp_path / "walk.svg").write_text("old")
    (tmp_path / "notes.txt").write_text("mine")
    assert arborand("illustrate", SCORES, "-o", tmp_path).status == 0
    assert names_in(tmp_path) == {*PICTURES, "notes.txt"}
    assert (tmp_path / "walk.svg").read_text(encoding="utf-8").startswith("<svg")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def without_trees():
    matrix = np.zeros((4, 4))
    matrix[:, 1] = -np.inf
    return matrix


def with_nan():
    matrix = np.zeros((4, 4))
    matrix[0, 1] = np.nan
    return matrix


def without_end():
    matrix = np.zeros((4, 4))
    matrix[0] = -20.0
    return matrix


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.zeros((14, 14)), "log_weights has 13 words: illustrations show at most 12"),
        (without_trees(), "log_weights has no spanning tree"),
        (with_nan(), "log_weights[0, 1] is nan"),
        (without_end(), "log_weights leads to walks of more than 300 steps"),
    ],
    ids=["too many words", "no tree", "nan", "endless walk"],
)
def test_illustrate_names_the_sentence_that_cannot_be_drawn(matrix, message, arborand, tmp_path):
    np.savez(
        tmp_path / "scores.npz",
        lengths=[2, len(matrix) - 1],
        scores=np.concatenate([np.zeros(9), matrix.ravel()]),
        sent_ids=["good", "bad"],
    )
    out = tmp_path / "out"
    result = arborand("illustrate", tmp_path / "scores.npz", "--sent-id", "bad", "-o", out)
    assert result.status == 1
    assert result.err.startswith(f"arborand: sentence 'bad' (number 2): {message}")
    assert not out.exists()
    assert arborand("illustrate", tmp_path / "scores.npz", "-o", out).status == 0


def test_illustrate_names_what_is_not_there(arborand, tmp_path):
    out = tmp_path / "out"
    result = arborand("illustrate", SCORES, "--sent-id", "nobody", "-o", out)
    assert (result.status, out.exists()) == (1, False)
    assert "no sentence has the sent_id 'nobody'" in result.err
    np.savez(tmp_path / "empty.npz", lengths=np.zeros(0, dtype=int), scores=np.zeros(0))
    result = arborand("illustrate", tmp_path / "empty.npz", "-o", out)
    assert (result.status, out.exists()) == (1, False)
    assert "empty.npz has no sentences" in result.err


def test_illustrate_reads_every_format(arborand, tmp_path):
    random_corpus(3, seed=4, longest=6).save(tmp_path / "scores.npz")
    assert arborand("illustrate", tmp_path / "scores.npz", "-o", tmp_path / "npz").status == 0
    for ending in ("parquet", "safetensors"):
        source = tmp_path / f"scores.{ending}"
        assert arborand("convert", tmp_path / "scores.npz", source).status == 0
        assert arborand("illustrate", source, "-o", tmp_path / ending).status == 0
        for name in PICTURES:
            found = (tmp_path / ending / name).read_bytes()
            assert found == (tmp_path / "npz" / name).read_bytes()
    piped = (tmp_path / "scores.npz").read_bytes()
    assert arborand("illustrate", "-", "-o", tmp_path / "pipe", stdin=piped).status == 0
    assert (tmp_path / "pipe" / "walk.svg").read_bytes() == (
        tmp_path / "npz" / "walk.svg"
    ).read_bytes()


def test_illustrated_walks_are_of_spanning_trees_whatever_the_kind(arborand, tmp_path):
    # The paper's Figure 1 is about Wilson's algorithm, which knows no root constraint.
    for trees in ("dependency", "spanning"):
        options = ("--trees", trees, "--sent-id", "fi-1", "-o", tmp_path / trees)
        assert arborand("illustrate", SCORES, *options).status == 0
    walks = {(tmp_path / trees / "walk.svg").read_bytes() for trees in ("dependency", "spanning")}
    assert len(walks) == 1
