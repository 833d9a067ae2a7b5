"""The command line: every command, what it writes, how it fails."""

from __future__ import annotations

import json
import os
import pty
import socket
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

from arborand import DependencyTrees, SpanningTrees
from arborand.corpus import computations
from arborand.formats import read_scores, read_trees
from arborand.formats import records as runs
from tests.command_line import CORPUS, Corpus, call, conllu_of, random_corpus

SCORES = CORPUS / "sentences.npz"
CONLLU = CORPUS / "sentences.conllu"


@pytest.fixture
def arborand(monkeypatch, capsysbinary):
    return partial(call, monkeypatch, capsysbinary)


@pytest.fixture
def corpus(tmp_path):
    corpus = random_corpus(30, seed=1)
    corpus.save(tmp_path / "scores.npz")
    (tmp_path / "corpus.conllu").write_text(conllu_of(corpus))
    return corpus


def kind_of(trees):
    return DependencyTrees if trees == "dependency" else SpanningTrees


# ---- sample


@pytest.mark.parametrize("trees", ["dependency", "spanning"])
@pytest.mark.parametrize("method", [None, "colbourn"])
def test_sample_draws_what_the_library_draws(trees, method, arborand, corpus, tmp_path):
    out = tmp_path / "trees.parquet"
    options = ["-k", 7, "--seed", 5, "--trees", trees]
    options += ["--method", method] if method else []
    assert arborand("sample", tmp_path / "scores.npz", *options, "-o", out).status == 0
    written = list(read_trees(out))
    assert [t.sent_id for t in written] == corpus.sent_ids
    for i, (tree, matrix) in enumerate(zip(written, corpus.matrices, strict=True)):
        distribution = kind_of(trees)(matrix)
        expected = distribution.sample(7, rng=5, method=method, first_graph=i)
        np.testing.assert_array_equal(tree.heads, expected)
        np.testing.assert_allclose(tree.log_prob, distribution.log_prob(expected), rtol=1e-12)


@pytest.mark.parametrize("method", [None, "partition", "rejection"])
def test_sample_without_replacement_draws_what_the_library_draws(
    method, arborand, corpus, tmp_path
):
    out = tmp_path / "trees.npz"
    options = ["-k", 20, "--seed", 3, "--without-replacement"]
    options += ["--method", method] if method else []
    assert arborand("sample", tmp_path / "scores.npz", *options, "-o", out).status == 0
    written = list(read_trees(out))
    assert len(written) == len(corpus.sent_ids)
    for i, (tree, matrix) in enumerate(zip(written, corpus.matrices, strict=True)):
        draws = DependencyTrees(matrix).sample_without_replacement(
            20, rng=3, method=method, first_graph=i
        )
        np.testing.assert_array_equal(tree.heads, draws.heads)
        np.testing.assert_array_equal(tree.log_prob, draws.log_prob)
    assert min(len(t.heads) for t in written) == 1  # one word: a single tree
    assert max(len(t.heads) for t in written) == 20


VARIANTS = [
    ("sample", "-k", 6, "--seed", 1),
    ("sample", "-k", 6, "--seed", 1, "--trees", "spanning", "--method", "colbourn"),
    ("sample", "-k", 9, "--seed", 1, "--without-replacement"),
    ("marginals",),
    ("logz", "--trees", "spanning"),
    ("entropy",),
    ("entropy", "--trees", "spanning"),
]


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: " ".join(map(str, v)))
def test_bytes_do_not_depend_on_runs_portions_or_workers(
    variant, arborand, corpus, tmp_path, monkeypatch
):
    command, *options = variant
    outputs = {}
    for run_values, draw_values, workers in [
        (1 << 18, 1 << 20, 1),
        (1, 1 << 20, 2),
        (1, 30, 1),
        (900, 1, 3),
    ]:
        monkeypatch.setattr(runs, "RUN_VALUES", run_values)
        monkeypatch.setattr(computations, "DRAW_VALUES", draw_values)
        for kind in ("jsonl", "parquet", "npz"):
            out = tmp_path / f"out.{kind}"
            result = arborand(
                command, tmp_path / "scores.npz", *options, "--workers", workers, "-o", out
            )
            assert (result.status, result.err) == (0, "")
            outputs.setdefault(kind, set()).add(out.read_bytes())
    assert {kind: len(found) for kind, found in outputs.items()} == {
        "jsonl": 1,
        "parquet": 1,
        "npz": 1,
    }


def test_scores_in_any_format_give_the_same_trees(arborand, corpus, tmp_path):
    found = []
    for ending in ("npz", "parquet", "safetensors"):
        source = tmp_path / f"again.{ending}"
        assert arborand("convert", tmp_path / "scores.npz", source).status == 0
        result = arborand("sample", source, "-k", 3, "--seed", 2, "-o", "-", "--format", "jsonl")
        assert result.status == 0
        found.append(result.out.splitlines()[1:])
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 3 * len(corpus.sent_ids)


def test_weights_are_exponentials_of_log_weights(arborand, corpus, tmp_path):
    weights = Corpus(corpus.sent_ids, [np.exp(matrix) for matrix in corpus.matrices])
    weights.save(tmp_path / "weights.npz")
    plain = arborand("logz", tmp_path / "weights.npz", "--weights", "-o", "-", "--format", "jsonl")
    logs = arborand("logz", tmp_path / "scores.npz", "-o", "-", "--format", "jsonl")
    numbers = [
        [json.loads(line)["log_partition"] for line in result.out.splitlines()[1:]]
        for result in (plain, logs)
    ]
    np.testing.assert_allclose(*numbers, rtol=1e-12)


@pytest.mark.parametrize(
    "command",
    [
        ("sample", "-k", 5, "--seed", 1),
        ("sample", "-k", 3, "--seed", 1, "--without-replacement"),
        ("best", "-k", 2),
        ("marginals",),
        ("logz", "--trees", "spanning"),
        ("entropy",),
        ("evaluate", "--conllu", "corpus.conllu", "--format", "jsonl"),
    ],
)
def test_matrices_may_have_a_row_for_each_dependent(command, arborand, corpus, tmp_path):
    turned = Corpus(corpus.sent_ids, [matrix.T for matrix in corpus.matrices])
    turned.save(tmp_path / "turned.npz")
    name, *options = [tmp_path / word if word == "corpus.conllu" else word for word in command]
    rows = []
    for file, *orientation in (["scores"], ["turned", "--orientation", "dependent,head"]):
        out = tmp_path / f"{file}.jsonl"
        done = arborand(name, tmp_path / f"{file}.npz", *options, *orientation, "-o", out)
        assert done.status == 0, done.err
        header, *lines = out.read_text().splitlines()
        rows.append(lines)
        assert ("dependent,head" in header) == bool(orientation)
    assert rows[0] == rows[1]


def test_the_option_for_turned_matrices_is_named(arborand, tmp_path):
    matrix = np.arange(25.0).reshape(5, 5)
    matrix[0, 1:] = 0  # no score for the heads of the root
    path = Corpus(["a"], [matrix]).save(tmp_path / "turned.npz")
    assert "(on the command line: --orientation)" in arborand("check", path).err
    assert arborand("check", path, "--orientation", "dependent,head").err == ""


def test_a_seed_is_taken_and_recorded(arborand, corpus, tmp_path):
    first = arborand("sample", tmp_path / "scores.npz", "-o", "-", "--format", "jsonl").out
    second = arborand("sample", tmp_path / "scores.npz", "-o", "-", "--format", "jsonl").out
    assert first != second
    seed = json.loads(first.splitlines()[0])["provenance"]["seed"]
    again = arborand(
        "sample", tmp_path / "scores.npz", "--seed", seed, "-o", "-", "--format", "jsonl"
    )
    assert again.out == first


def test_the_biased_method_says_so(arborand, corpus, tmp_path):
    result = arborand(
        "sample", tmp_path / "scores.npz", "--method", "wilson_rc", "-o", tmp_path / "t.jsonl"
    )
    assert result.status == 0
    assert result.err.count("biased") == 1


# ---- marginals, logz, entropy


def test_marginals_are_those_of_the_library(arborand, corpus, tmp_path):
    out = tmp_path / "m.parquet"
    assert arborand("marginals", tmp_path / "scores.npz", "-o", out).status == 0
    table = pyarrow.parquet.read_table(out).to_pylist()
    for row, matrix in zip(table, corpus.matrices, strict=True):
        expected = DependencyTrees(matrix).arc_marginals()
        np.testing.assert_array_equal(np.reshape(row["marginals"], expected.shape), expected)


@pytest.mark.parametrize("trees", ["dependency", "spanning"])
def test_entropy_measures_are_those_of_the_library(trees, arborand, corpus, tmp_path):
    out = tmp_path / "e.jsonl"
    result = arborand("entropy", tmp_path / "scores.npz", "--trees", trees, "-o", out)
    assert result.status == 0
    _, *lines = map(json.loads, out.read_text().splitlines())
    for line, matrix in zip(lines, corpus.matrices, strict=True):
        distribution = kind_of(trees)(matrix)
        assert line["log_partition"] == distribution.log_partition()
        assert line["entropy"] == distribution.entropy()
        assert line["best_log_prob"] == distribution.best_trees(1).log_prob[0]
        log_share = DependencyTrees(matrix).log_partition() - SpanningTrees(matrix).log_partition()
        np.testing.assert_allclose(line["single_root_share"], np.exp(log_share), rtol=1e-12)


def test_a_sentence_without_dependency_trees_has_a_single_root_share_of_0(arborand, tmp_path):
    matrix = np.full((3, 3), -np.inf)
    matrix[0, 1:] = 0.0
    np.save(tmp_path / "two_roots.npy", matrix)
    result = arborand(
        "entropy", tmp_path / "two_roots.npy", "--trees", "spanning", "-o", "-", "--format", "jsonl"
    )
    assert json.loads(result.out.splitlines()[1])["single_root_share"] == 0.0


# ---- tables


def test_without_an_output_there_are_tables(arborand, corpus, tmp_path):
    scores, conllu = tmp_path / "scores.npz", tmp_path / "corpus.conllu"
    trees = arborand("sample", scores, "-k", 2, "--seed", 1, "--conllu", conllu).out.decode()
    assert "s-0  (" in trees
    assert "ROOT→w" in trees
    assert trees.count("probability") == len(corpus.sent_ids)
    assert "sha256" in trees
    assert "method wilson" in trees
    marginals = arborand("marginals", scores).out.decode()
    assert "ROOT 100 %" in marginals
    for command, word in (("logz", "log Z"), ("entropy", "single-root share")):
        table = arborand(command, scores).out.decode()
        assert table.count(word) == 1
        assert all(sent_id in table for sent_id in corpus.sent_ids)


def test_markup_in_words_is_text(arborand, tmp_path):
    table = pyarrow.table(
        {"sent_id": ["[red]x[/red]"], "log_weights": [np.zeros(9)], "tokens": [["[b]", "[/b]"]]}
    )
    pyarrow.parquet.write_table(table, tmp_path / "s.parquet")
    out = arborand("sample", tmp_path / "s.parquet", "--seed", 0).out.decode()
    assert "[red]x[/red]" in out
    assert "[/b]" in out


# ---- provenance


def test_every_output_says_where_it_comes_from(arborand, corpus, tmp_path):
    import hashlib

    digest = hashlib.sha256((tmp_path / "scores.npz").read_bytes()).hexdigest()
    records = []
    for kind in ("conllu", "jsonl", "parquet", "npz"):
        out = tmp_path / f"t.{kind}"
        arborand("sample", tmp_path / "scores.npz", "-k", 2, "--seed", 9, "-o", out)
        if kind == "conllu":
            record = json.loads(out.read_text().splitlines()[0].removeprefix("# arborand = "))
        elif kind == "jsonl":
            record = json.loads(out.read_text().splitlines()[0])["provenance"]
        elif kind == "parquet":
            record = json.loads(pyarrow.parquet.read_schema(out).metadata[b"provenance"])
        else:
            with np.load(out) as arrays:
                record = json.loads(str(arrays["provenance"]))
            assert record.pop("arborand") == "trees"
        records.append(record)
    assert records[0] == {
        "version": records[0]["version"],
        "command": "arborand sample scores.npz --num-trees 2 --seed 9 --trees dependency",
        "seed": 9,
        "method": "wilson",
        "input": {"name": "scores.npz", "sha256": digest},
    }
    assert records[1:] == records[:-1]
    assert str(tmp_path) not in json.dumps(records)


def test_converted_trees_keep_their_provenance(arborand, corpus, tmp_path):
    arborand("sample", tmp_path / "scores.npz", "--seed", 9, "-o", tmp_path / "a.jsonl")
    for source, target in (("a.jsonl", "b.npz"), ("b.npz", "c.parquet"), ("c.parquet", "d.jsonl")):
        assert arborand("convert", tmp_path / source, tmp_path / target).status == 0
    first, *lines = (tmp_path / "d.jsonl").read_text().splitlines()
    record = json.loads(first)["provenance"]
    assert record["command"] == "arborand convert c.parquet"
    assert record["source"]["source"]["source"]["seed"] == 9
    assert lines == (tmp_path / "a.jsonl").read_text().splitlines()[1:]


# ---- CoNLL-U


@pytest.mark.parametrize("kept", [False, True])
def test_conllu_out_keeps_the_corpus_and_fills_heads(arborand, tmp_path, kept):
    out = tmp_path / "t.conllu"
    asked = ["sample", SCORES, "-k", 3, "--seed", 0, "--conllu", CONLLU, "-o", out]
    result = arborand(*asked, *(["--relations", "keep"] if kept else []))
    assert (result.status, result.err) == (0, "")
    import conllu

    source = conllu.parse(CONLLU.read_text(encoding="utf-8"))
    written = conllu.parse(out.read_text(encoding="utf-8"))
    assert len(written) == 3 * len(source)
    scores = list(read_scores(SCORES))
    for i, block in enumerate(written):
        original = source[i // 3]
        sent_id = original.metadata["sent_id"]
        assert block.metadata["sent_id"] == (sent_id if i % 3 == 0 else f"{sent_id}#{i % 3 + 1}")
        assert block.metadata.get("source_sent_id", sent_id) == sent_id
        assert block.metadata["text"] == original.metadata["text"]
        assert int(block.metadata["sample"]) == i % 3 + 1
        words = [token for token in block if isinstance(token["id"], int)]
        heads = [-1, *(token["head"] for token in words)]
        log_prob = DependencyTrees(scores[i // 3].log_weights).log_prob(heads)
        np.testing.assert_allclose(float(block.metadata["log_prob"]), log_prob, rtol=1e-9)
        for token, before in zip(block, original, strict=True):
            if token["head"] == before["head"] and (kept or not isinstance(token["id"], int)):
                assert token == before
            else:
                relation = "root" if token["head"] == 0 else "_"
                assert token == {**before, "head": token["head"], "deprel": relation}


def test_scores_without_ids_are_matched_in_order(arborand, corpus, tmp_path):
    np.savez(tmp_path / "bare.npz", lengths=corpus.lengths, scores=corpus.flat)
    out = tmp_path / "t.jsonl"
    arborand("sample", tmp_path / "bare.npz", "--conllu", tmp_path / "corpus.conllu", "-o", out)
    assert [t.sent_id for t in read_trees(out)] == corpus.sent_ids


def test_trees_get_their_words_when_converted(arborand, corpus, tmp_path):
    scores, conllu = tmp_path / "scores.npz", tmp_path / "corpus.conllu"
    options = ("-k", 3, "--seed", 1)
    arborand("sample", scores, *options, "-o", tmp_path / "a.parquet")
    arborand("sample", scores, *options, "--conllu", conllu, "-o", tmp_path / "a.conllu")
    arborand("convert", tmp_path / "a.parquet", tmp_path / "b.conllu", "--conllu", conllu)
    direct, converted = (
        (tmp_path / name).read_text().split("\n", 1)[1] for name in ("a.conllu", "b.conllu")
    )
    assert direct == converted
    assert "w1\tl1\tNOUN" in direct
    result = arborand("convert", tmp_path / "a.parquet", tmp_path / "c.conllu", "--conllu", CONLLU)
    assert result.status == 1
    assert "sentence 's-0'" in result.err
    assert not (tmp_path / "c.conllu").exists()


def test_tokens_travel_from_conllu_through_parquet(arborand, corpus, tmp_path):
    arborand(
        "convert",
        tmp_path / "scores.npz",
        tmp_path / "s.parquet",
        "--conllu",
        tmp_path / "corpus.conllu",
    )
    tokens = [sentence.tokens for sentence in read_scores(tmp_path / "s.parquet")]
    assert tokens == [[f"w{i}" for i in range(1, n + 1)] for n in corpus.lengths]


# ---- check


def test_check_describes_a_good_file(arborand):
    result = arborand("check", SCORES, "--conllu", CONLLU)
    assert result.status == 0
    text = result.out.decode()
    assert "sentences.npz (npz, ragged, float32)" in text
    assert "all sentences have dependency trees" in text


def test_check_says_what_is_wrong_where(arborand, corpus, tmp_path):
    first, second, third = np.flatnonzero(corpus.lengths >= 3)[[0, 3, 5]]
    corpus.matrices[first][2, 1] = np.nan
    corpus.matrices[second][0, 3] = np.inf
    corpus.matrices[third][:, 1] = -np.inf
    corpus.save(tmp_path / "bad.npz")
    result = arborand("check", tmp_path / "bad.npz")
    text = result.out.decode()
    assert result.status == 1
    assert "3 of 30 sentences cannot be used:" in text
    assert f"s-{first}: log_weights[2, 1] is nan, on the arc 2 -> 1" in text
    assert f"s-{second}: log_weights[0, 3] is inf, on the arc 0 -> 3" in text
    assert f"s-{third}: log_weights has no spanning tree" in text
    assert "cannot reach node 1" in text


@pytest.mark.parametrize("has_ids", [True, False])
def test_check_says_in_one_line_that_a_conllu_file_is_smaller(has_ids, arborand, tmp_path):
    corpus = random_corpus(50)
    smaller = corpus._replace(sent_ids=corpus.sent_ids[:20], matrices=corpus.matrices[:20])
    (tmp_path / "smaller.conllu").write_text(conllu_of(smaller))
    scores = corpus.save(tmp_path / "scores.npz")
    if not has_ids:
        np.savez(scores, lengths=corpus.lengths, scores=corpus.flat)
    result = arborand("check", scores, "--conllu", tmp_path / "smaller.conllu")
    assert result.status == 1
    heading, line = result.out.decode().splitlines()[5:]
    assert heading == "30 of 50 sentences cannot be used:"
    names, reason = (
        ("s-20, s-21, s-22", "no sentence with this sent_id")
        if has_ids
        else ("21, 22, 23", "only 20 sentences")
    )
    assert line.startswith(f"  30 sentences ({names}, ...): smaller.conllu has {reason}")


def test_a_conllu_file_without_ids_is_told_from_one_that_lacks_a_sentence(
    arborand, corpus, tmp_path
):
    lines = conllu_of(corpus).splitlines(keepends=True)
    path = tmp_path / "nameless.conllu"
    path.write_text("".join(line for line in lines if "sent_id" not in line))
    result = arborand("check", tmp_path / "scores.npz", "--conllu", path)
    assert result.status == 1
    assert b"nameless.conllu has no sent_ids, but the scores do: add them" in result.out


@pytest.mark.parametrize(
    "command", [("check",), ("entropy",), ("best", "--trees", "spanning"), ("sample", "-k", 3)]
)
def test_odd_scores_are_one_plain_line(command, arborand, tmp_path, monkeypatch):
    matrices = [np.random.default_rng(i).normal(size=(6, 6)) for i in range(9)]
    for matrix in matrices[2:]:
        matrix[:, 4:] = -1e9  # padding whose lengths were forgotten
    path = Corpus([f"s-{i}" for i in range(9)], matrices).save(tmp_path / "odd.npz")
    for values in (1 << 18, 1):  # one run of sentences, and one for each
        monkeypatch.setattr("arborand.formats.records.RUN_VALUES", values)
        result = arborand(command[0], path, *command[1:])
        assert result.status == 0
        assert result.err == (
            "arborand: sentence 's-2' (number 3) gives all heads of nodes 4, 5 the same score, "
            "-1e+09: "
            "padding gets heads too, unless lengths excludes it (the root is not counted); other "
            "sentences may look odd as well\n"
        )


def test_check_reports_a_file_in_which_nothing_is_right(arborand, tmp_path):
    np.save(tmp_path / "nan.npy", np.full((2, 3, 3), np.nan))
    result = arborand("check", tmp_path / "nan.npy")
    assert result.status == 1
    assert "2 of 2 sentences cannot be used" in result.out.decode()


# ---- show


@pytest.mark.parametrize("name", ["page.html", "one.svg"])
def test_show_writes_one_self_contained_file(name, arborand, tmp_path):
    out = tmp_path / name
    options = ("--conllu", CONLLU, "--num-draws", 5, "--sent-id", "en-1")
    result = arborand("show", SCORES, *options, "-o", out)
    assert (result.status, result.err) == (0, "")
    text = out.read_text(encoding="utf-8")
    assert "painted" in text
    comment = text[text.rindex("<!-- arborand ") :]
    record = json.loads(comment.removeprefix("<!-- arborand ").removesuffix(" -->\n"))
    assert record["seed"] == 0
    assert "--" not in comment.removeprefix("<!--").removesuffix("-->\n")
    again = arborand("show", SCORES, *options, "-o", out)
    assert again.status == 0
    assert out.read_text(encoding="utf-8") == text
    assert list(tmp_path.iterdir()) == [out]


def test_show_names_sentences_that_are_not_there(arborand, tmp_path):
    result = arborand("show", SCORES, "--sent-id", "nobody", "-o", tmp_path / "p.html")
    assert (result.status, list(tmp_path.iterdir())) == (1, [])
    assert "no sentence has the sent_id 'nobody'" in result.err


# ---- pipes


def test_standard_input_and_output(arborand, corpus, tmp_path):
    for ending in ("npz", "parquet", "safetensors"):
        arborand("convert", tmp_path / "scores.npz", tmp_path / f"in.{ending}")
    expected = {}
    for kind in ("jsonl", "conllu", "parquet", "npz"):
        for ending in ("npz", "parquet", "safetensors"):
            piped = arborand(
                "sample", "-", "-k", 2, "--seed", 1, "-o", "-", "--format", kind,
                stdin=(tmp_path / f"in.{ending}").read_bytes(),
            )  # fmt: skip
            assert piped.status == 0
            (tmp_path / "piped").write_bytes(piped.out)
            trees = [(t.sent_id, t.heads.tolist()) for t in read_trees(tmp_path / "piped")]
            assert trees == expected.setdefault("trees", trees)
    assert len(expected["trees"]) == len(corpus.sent_ids)


def test_a_reader_that_goes_away_is_not_a_disaster(tmp_path):
    random_corpus(200, seed=2).save(tmp_path / "scores.npz")
    command = (
        f"{sys.executable} -m arborand sample {tmp_path}/scores.npz -k 200 --seed 1 "
        "-o - --format jsonl | head -n 2"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 2
    assert done.stderr == ""


# ---- the terminal


@pytest.mark.slow
def test_progress_is_shown_on_a_terminal_only(tmp_path):
    random_corpus(400, seed=2, longest=20).save(tmp_path / "scores.npz")
    command = [sys.executable, "-m", "arborand", "sample", tmp_path / "scores.npz", "-k", "500"]
    command += ["--seed", "1", "-o", tmp_path / "t.parquet"]
    piped = subprocess.run(command, capture_output=True, check=True)
    assert piped.stdout == f"written: {tmp_path / 't.parquet'}\n".encode()
    assert piped.stderr == b""
    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"}
    with subprocess.Popen(command, stderr=child, env=environment) as process:
        os.close(child)
        shown = b""
        while True:
            try:
                data = os.read(parent, 65536)
            except OSError:
                break
            if not data:
                break
            shown += data
    os.close(parent)
    assert process.returncode == 0
    assert b"/400" in shown
    assert b"sentences/s" in shown
    assert b"left" in shown


# ---- errors and exit statuses


def test_version_and_help(arborand):
    assert arborand("--version").out.startswith(b"arborand ")
    assert arborand().out == arborand("--help").out
    for command in (
        *("sample", "marginals", "logz", "entropy", "show", "convert", "check"),
        *("experiment", "illustrate"),
    ):
        result = arborand(command, "--help")
        assert result.status == 0
        text = result.out.decode()
        assert "Examples" in text
        assert f"arborand {command} " in text
    assert arborand("--help").out.count(b"arborand ") >= 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["frobnicate"], "No such command"),
        (["sample"], "Missing argument"),
        (["sample", SCORES, "-k", "0"], "--num-trees"),
        (["sample", SCORES, "--seed", "-1"], "--seed"),
        (["sample", SCORES, "--method", "magic"], "--method"),
        (["sample", SCORES, "--method", "partition"], "does not draw with replacement"),
        (
            ["sample", SCORES, "--without-replacement", "--method", "wilson"],
            "does not draw without",
        ),
        (["sample", SCORES, "--trees", "spanning", "--method", "wilson_reject"], "only draws"),
        (["sample", SCORES, "-o", "trees.txt"], "the format cannot be determined"),
        (["marginals", SCORES, "-o", "m.conllu"], "cannot be written as conllu"),
        (["logz", SCORES, "--format", "jsonl"], "needs -o"),
        (["logz", SCORES, "--restart"], "needs a folder (-o NAME/)"),
        (["logz", SCORES, "-o", "x.npz", "--restart"], "cannot be resumed"),
        (["logz", SCORES, "-o", "x.npz", "--engine", "ray"], "written in one go"),
        (["logz", SCORES, "-o", "x.npz", "--part-sentences", 3], "written in one go"),
        (["logz", SCORES, "--part-sentences", 3], "needs a folder (-o NAME/)"),
        (["logz", SCORES, "--engine", "ray"], "needs a folder (-o NAME/)"),
        (["logz", SCORES, "-o", "x/", "--rank", 0, "--world", 2], "rank needs engine array"),
        (["logz", SCORES, "-o", "x/", "--world", 2], "world needs engine array"),
        (["convert", SCORES, "x/", "--address", "x:1"], "address needs engine ray"),
        (
            [
                "logz",
                SCORES,
                "-o",
                "x/",
                "--engine",
                "array",
                "--rank",
                0,
                "--world",
                2,
                "--restart",
            ],
            "each process would discard",
        ),
        (["logz", "-", SCORES], "standard input ('-') cannot be combined with other files"),
        (["sample", "-", "--conllu", "-"], "not both"),
        (["show", SCORES, "-o", "page.txt"], "neither a page (.html) nor a diagram"),
    ],
)
def test_what_is_not_understood_ends_with_status_2(arguments, message, arborand, tmp_path):
    result = arborand(*arguments)
    assert result.status == 2
    assert message in " ".join(result.err.replace("│", " ").split())


def test_one_bad_sentence_stops_a_run_and_is_named(arborand, corpus, tmp_path):
    corpus.matrices[20][0, 1] = np.nan
    corpus.save(tmp_path / "bad.npz")
    before = set(tmp_path.iterdir())
    out = tmp_path / "t.jsonl"
    result = arborand("sample", tmp_path / "bad.npz", "--seed", 1, "-o", out)
    assert result.status == 1
    assert "sentence 's-20' (number 21): log_weights[0, 1] is nan" in result.err
    assert not out.exists()
    assert set(tmp_path.iterdir()) == before
    options = ("--seed", 1, "--on-error", "skip")
    result = arborand("sample", tmp_path / "bad.npz", *options, "-o", out)
    assert result.status == 0
    assert "1 sentence skipped:" in result.err
    assert "s-20: log_weights[0, 1] is nan" in result.err
    assert {t.sent_id for t in read_trees(out)} == {*corpus.sent_ids} - {"s-20"}


@pytest.mark.parametrize("run_values", [1, 1000, 1 << 18])
def test_skipping_leaves_the_other_sentences_as_they_are(
    run_values, arborand, corpus, tmp_path, monkeypatch
):
    monkeypatch.setattr(runs, "RUN_VALUES", run_values)
    good = arborand(
        "sample", tmp_path / "scores.npz", "-k", 2, "--seed", 1, "-o", "-", "--format", "jsonl"
    ).out.splitlines()[1:]
    for i in (0, 7, 8, 29):
        corpus.matrices[i][0, 1] = np.nan
    corpus.save(tmp_path / "bad.npz")
    result = arborand(
        "sample",
        tmp_path / "bad.npz",
        "-k",
        2,
        "--seed",
        1,
        "-o",
        "-",
        "--format",
        "jsonl",
        "--on-error",
        "skip",
    )
    assert result.status == 0
    bad = [f'"s-{i}"'.encode() for i in (0, 7, 8, 29)]
    expected = [line for line in good if not any(name in line for name in bad)]
    assert result.out.splitlines()[1:] == expected
    assert "4 sentences skipped" in result.err


def test_if_nothing_is_usable_nothing_is_written(arborand, tmp_path):
    np.save(tmp_path / "nan.npy", np.full((2, 3, 3), np.nan))
    out = tmp_path / "t.jsonl"
    result = arborand("sample", tmp_path / "nan.npy", "-o", out, "--on-error", "skip")
    assert result.status == 1
    assert "no other sentence can be used" in result.err
    assert not out.exists()


def test_zero_sentences_are_not_an_error(arborand, tmp_path):
    np.savez(tmp_path / "empty.npz", lengths=np.zeros(0, dtype=int), scores=np.zeros(0))
    for kind in ("jsonl", "parquet", "npz", "conllu"):
        result = arborand("sample", tmp_path / "empty.npz", "-o", tmp_path / f"t.{kind}")
        assert result.status == 0
        assert "has no sentences" in result.err
        assert (tmp_path / f"t.{kind}").exists()
    assert arborand("check", tmp_path / "empty.npz").out.endswith(b"there are no sentences\n")
    assert pyarrow.parquet.read_table(tmp_path / "t.parquet").num_rows == 0


def test_a_link_in_the_place_of_an_output_is_replaced_and_one_to_a_folder_followed(
    arborand, corpus, tmp_path
):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "older.npz").write_bytes(b"older")
    (tmp_path / "link.npz").symlink_to(tmp_path / "folder" / "older.npz")
    (tmp_path / "linked").symlink_to(tmp_path / "folder")
    for name in ("link.npz", "linked/new.npz"):
        result = arborand("sample", tmp_path / "scores.npz", "-o", tmp_path / name, "--seed", 1)
        assert result.status == 0
    assert not (tmp_path / "link.npz").is_symlink()
    assert (tmp_path / "folder" / "older.npz").read_bytes() == b"older"
    assert (tmp_path / "link.npz").read_bytes() == (tmp_path / "folder/new.npz").read_bytes()


def test_an_output_in_no_folder_or_on_a_folder_is_refused_at_once(arborand, corpus, tmp_path):
    (tmp_path / "folder.npz").mkdir()
    for name, message in (("nowhere/t.npz", "does not exist"), ("folder.npz", "is a folder")):
        result = arborand("sample", tmp_path / "scores.npz", "-o", tmp_path / name)
        assert result.status == 1
        assert message in result.err


def test_words_come_from_one_file(arborand, corpus, tmp_path):
    scores = tmp_path / "scores.npz"
    several, one, none = (tmp_path / name for name in ("several", "one", "none"))
    for folder, names in ((several, "ab"), (one, "a"), (none, "")):
        folder.mkdir()
        for name in names:
            (folder / f"{name}.conllu").write_text(conllu_of(corpus))
    assert arborand("logz", scores, "--conllu", one).status == 0
    for words in (several, several / "*.conllu"):
        result = arborand("logz", scores, "--conllu", words)
        assert (result.status, result.out) == (1, b"")
        assert f"{words} matches 2 files: put all words into one file" in result.err
    result = arborand("logz", scores, "--conllu", none)
    assert (result.status, result.out) == (1, b"")
    assert f"{none} contains no files that end in .conllu" in result.err


def test_an_empty_name_is_not_a_folder(arborand, corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for arguments in (("logz", ""), ("check", ""), ("logz", "scores.npz", "--conllu", "")):
        result = arborand(*arguments)
        assert result.status == 1
        assert result.err == (
            "arborand: the name of an input is empty: name a file, or a folder such as .\n"
        )
    result = arborand("show", ".", "--num-draws", 2, "-o", "-")
    assert result.status == 0
    assert b'aria-label="s-0"' in result.out


def test_a_missing_framework_is_one_clear_sentence(monkeypatch, capsys):
    from arborand.cli import main

    for name in [name for name in sys.modules if name.startswith("arborand.cli.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 1
    assert "needs typer: pip install 'arborand[cli]'" in capsys.readouterr().err


def test_one_call_of_sample_goes_through_at_most_20_files(arborand, corpus, tmp_path):
    """A newcomer who follows one command should not have to open more."""
    command = ("sample", corpus.save(tmp_path / "s.npz"), "-o", tmp_path / "t.parquet")
    assert arborand(*command).status == 0  # what is imported late is imported now
    package = str(Path(sys.modules["arborand"].__file__).parent)
    called = set()

    def record(frame, event, _):
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(package) and frame.f_code.co_name != "<module>":
            called.add(file.removeprefix(package))

    threading.setprofile(record)  # a thread reads, another writes
    sys.setprofile(record)
    try:
        status = arborand(*command).status
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert status == 0
    assert {"/cli/commands.py", "/corpus/stream.py", "/formats/outputs.py"} < called
    assert len(called) <= 20, sorted(called)


def test_no_command_uses_the_network(arborand, corpus, tmp_path, monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    scores = tmp_path / "scores.npz"
    for arguments in [
        ("sample", scores, "-o", tmp_path / "t.parquet"),
        ("marginals", scores, "-o", tmp_path / "m.npz"),
        ("entropy", scores),
        ("show", scores, "-o", tmp_path / "p.html", "--max-sentences", 2),
        ("convert", scores, tmp_path / "s.safetensors"),
        ("check", scores),
        ("illustrate", scores, "-o", tmp_path / "pictures"),
    ]:
        assert arborand(*arguments).status == 0


def test_shell_completion_completes():
    words = {"_ARBORAND_COMPLETE": "complete_bash", "COMP_WORDS": "arborand sam", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "arborand"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **words},
    )
    assert done.stdout.split() == ["sample"]


@pytest.mark.parametrize(
    "command",
    [
        ("sample", "scores.npz", "-o", "scores.npz"),
        ("marginals", "scores.npz", "-o", "./scores.npz"),
        ("convert", "scores.npz", "scores.npz"),
        ("sample", "scores.npz", "--conllu", "words.conllu", "-o", "words.conllu"),
        ("show", "scores.npz", "--conllu", "words.svg", "-o", "words.svg"),
    ],
)
def test_what_is_read_is_not_written_over(arborand, corpus, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    for name in ("words.conllu", "words.svg"):
        (tmp_path / name).write_text("1\tword\t_\t_\t_\t_\t0\t_\t_\t_\n\n")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    result = arborand(*command)
    assert result.status == 2
    assert "is an input file" in " ".join(result.err.split())
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}


@pytest.mark.parametrize("moment", ["import", "run"])
def test_an_interruption_outside_the_command_has_no_traceback(moment):
    program = f"""
import sys
from arborand import cli

class Interrupted:
    def find_spec(self, name, *others):
        if name == "arborand.cli.app":
            raise KeyboardInterrupt

def interrupted():
    raise KeyboardInterrupt

if {moment!r} == "import":
    sys.meta_path.insert(0, Interrupted())
else:
    from arborand.cli import app
    app.run = interrupted
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (130, b"")
