"""``arborand evaluate``: scores compared with gold trees."""

import csv
import io
import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from arborand import DependencyTrees, SpanningTrees, pad
from arborand.evaluation import EDGES, evaluate
from tests.command_line import CORPUS, Corpus, call, gold_file, random_corpus

SCORES = CORPUS / "sentences.npz"
CONLLU = CORPUS / "sentences.conllu"


@pytest.fixture
def arborand(monkeypatch, capsysbinary):
    return lambda *arguments: call(monkeypatch, capsysbinary, *arguments)


@pytest.fixture
def compared(tmp_path):
    """Make scores, gold with open heads and two roots here and there, and what to expect."""
    rng = np.random.default_rng(2)
    corpus = random_corpus(40)
    scores, lengths = pad(corpus.matrices)
    distribution = DependencyTrees(scores, lengths=lengths)
    gold = distribution.sample(rng=4)
    gold[rng.random(gold.shape) < 0.05] = -1
    gold[8, 1 : lengths[8] + 1] = 0
    assert lengths[8] > 1
    rows = [heads[1 : n + 1].tolist() for heads, n in zip(gold, lengths, strict=True)]
    corpus.save(tmp_path / "scores.npz")
    gold_file(tmp_path / "gold.conllu", corpus, rows)
    return (
        distribution,
        gold,
        ("evaluate", tmp_path / "scores.npz", "--conllu", tmp_path / "gold.conllu"),
    )


def test_json_has_what_the_library_finds(arborand, compared, tmp_path, monkeypatch):
    distribution, gold, command = compared
    expected = evaluate(distribution, gold).summary().as_dict()
    written = []
    for values, workers in ((1 << 18, 1), (100, 2)):  # one run of sentences, and many
        monkeypatch.setattr("arborand.formats.records.RUN_VALUES", values)
        out = tmp_path / f"{workers}.json"
        result = arborand(*command, "-o", out, "--workers", workers)
        assert result.status == 0
        written.append(json.loads(out.read_text()))
    record = written[0].pop("provenance")
    assert record["command"].startswith("arborand evaluate scores.npz")
    assert {"input", "conllu"} <= record.keys()
    for name in ("labelled", "by_relation", "by_length", "unknown_relations"):
        assert written[1][name] == written[0].pop(name)
        written[1].pop(name)
    assert written[0] == {"arborand": "evaluation", **expected}
    assert written[1] == {**written[0], "provenance": record}
    assert written[0]["num_no_trees"] == 1
    assert written[0]["num_open"] > 0


def test_spanning_trees_may_have_several_roots(arborand, compared):
    distribution, gold, command = compared
    spanning = SpanningTrees(distribution.log_weights, lengths=distribution.lengths)
    expected = evaluate(spanning, gold).summary().as_dict()
    result = arborand(*command, "--trees", "spanning", "-o", "-", "--format", "json")
    found = json.loads(result.out)
    assert found["num_no_trees"] == 0
    assert {name: found[name] for name in expected} == expected


def test_the_table_tells_the_same(arborand, compared):
    distribution, gold, command = compared
    summary = evaluate(distribution, gold).summary()
    result = arborand(*command)
    assert result.status == 0
    lines = {line.strip().split("  ")[0]: line for line in result.out.decode().splitlines()}
    assert f" {summary.num_words} " in lines["words with a gold head"]
    assert f"{summary.num_open} without one are not counted" in lines["words with a gold head"]
    assert f"{100 * summary.best_attachment_score:.1f} %" in lines["correct heads (UAS): best tree"]
    assert f"{100 * summary.expected_attachment_score:.1f} %" in lines["random trees, on average"]
    assert f"{summary.mean_log_prob:.6g}" in lines["mean log-probability of the gold tree"]
    assert f"over {summary.num_trees} sentences" in lines["mean log-probability of the gold tree"]
    for b, (count, right) in enumerate(
        zip(summary.calibration.num_arcs, summary.calibration.num_right, strict=True)
    ):
        cells = lines[f"{100 * EDGES[b]:g} to {100 * EDGES[b + 1]:g} %"].split()
        assert f"{count:,}" in cells
        assert f"{right:,}" in cells


def test_gold_that_is_not_a_tree_is_reported_in_one_line(arborand, compared):
    *_, command = compared
    result = arborand(*command)
    assert result.err == (
        "arborand: the gold heads are not a dependency tree (for example, they have a cycle) "
        "in 1 sentence (s-8): the heads count, but there is no log-probability\n"
    )


def test_gold_that_scores_rule_out_is_reported_and_left_out_of_the_mean(arborand, tmp_path):
    rng = np.random.default_rng(1)
    matrices = [rng.normal(size=(n + 1, n + 1)) for n in (2, 4, 3, 3, 2)]
    for i in (1, 3):
        matrices[i][0, 1] = -np.inf
    corpus = Corpus([f"s-{i}" for i in range(5)], matrices)
    gold = [[0, *[1] * (n - 1)] for n in corpus.lengths]
    scores = corpus.save(tmp_path / "scores.npz")
    path = gold_file(tmp_path / "gold.conllu", corpus, gold)
    result = arborand("evaluate", scores, "--conllu", path, "-o", tmp_path / "e.json")
    assert "the gold tree has probability 0" in result.err
    assert "in 2 sentences (s-1, s-3)" in result.err
    found = json.loads((tmp_path / "e.json").read_text())
    assert (found["num_impossible"], found["num_trees"]) == (2, 3)


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_each_sentence_has_a_line(kind, arborand, compared, tmp_path):
    distribution, gold, command = compared
    found = evaluate(distribution, gold)
    out = tmp_path / f"e.{kind}"
    result = arborand(*command, "-o", out)
    assert f"written: {out}" in result.out.decode()
    assert b"correct heads (UAS)" in result.out  # the summary is printed beside it
    if kind == "jsonl":
        rows = [json.loads(line) for line in out.read_text().splitlines()[1:]]
    else:
        separator = "," if kind == "csv" else "\t"
        rows = list(csv.DictReader(io.StringIO(out.read_text()), delimiter=separator))
    assert [row["sent_id"] for row in rows] == [f"s-{i}" for i in range(40)]
    for name, column in (
        ("gold_words", found.num_words),
        ("best_right", found.best_right),
        ("minimum_risk_right", found.minimum_risk_right),
        ("expected_right", found.expected_right),
        ("claimed_right", found.claimed_right),
        ("gold_log_prob", found.log_prob),
    ):
        values = [np.nan if row[name] is None else float(row[name]) for row in rows]
        np.testing.assert_array_equal(values, column)


@pytest.mark.parametrize(("kind", "begins"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_the_plot_can_be_printed(arborand, compared, tmp_path, kind, begins):
    result = arborand(*compared[2], "--plot", tmp_path / f"c.{kind}")
    assert result.status == 0
    assert (tmp_path / f"c.{kind}").read_bytes().startswith(begins)


def test_the_plot_has_a_point_for_each_bin_with_arcs(arborand, compared, tmp_path):
    distribution, gold, command = compared
    table = evaluate(distribution, gold).summary().calibration
    result = arborand(*command, "--plot", tmp_path / "c.svg")
    assert f"written: {tmp_path / 'c.svg'}" in result.out.decode()
    svg = ET.fromstring((tmp_path / "c.svg").read_text())
    points = svg.findall(".//{*}circle")
    assert len(points) == (table.num_arcs > 0).sum()
    size = float(svg.get("width"))
    for point in points:
        assert 0 < float(point.get("cx")) < size
        assert 0 < float(point.get("cy")) < size
    # Bins are in order of probability, from left to right.
    across = [float(point.get("cx")) for point in points]
    assert across == sorted(across)


def test_sentences_that_gold_lacks_stop_it_or_are_skipped(arborand, tmp_path):
    blocks = CONLLU.read_text(encoding="utf-8").split("\n\n")
    (tmp_path / "some.conllu").write_text("\n\n".join(blocks[:5]) + "\n\n", encoding="utf-8")
    command = ("evaluate", SCORES, "--conllu", tmp_path / "some.conllu")
    result = arborand(*command)
    assert result.status == 1
    assert "some.conllu has no sentence with this sent_id" in result.err
    result = arborand(*command, "--on-error", "skip", "-o", "-", "--format", "json")
    assert result.status == 0
    assert json.loads(result.out)["num_sentences"] == 5
    assert "7 sentences skipped" in result.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "Missing option '--conllu'"),
        (("--conllu", CONLLU, "-o", "e.conllu"), "cannot be written as conllu"),
        (("--conllu", CONLLU, "--plot", "e.jpg"), "is not .svg, .png or .pdf"),
        (("--conllu", CONLLU, "--plot", "e.svg/"), "is not .svg, .png or .pdf"),
        (("--conllu", CONLLU, "--format", "json"), "needs -o OUT"),
    ],
)
def test_what_is_not_understood_ends_with_status_2(options, message, arborand):
    result = arborand("evaluate", SCORES, *options)
    assert result.status == 2
    assert message in " ".join(result.err.replace("│", " ").split())


def test_gold_without_heads_is_an_error(arborand, tmp_path):
    corpus = random_corpus(3)
    scores = corpus.save(tmp_path / "scores.npz")
    path = gold_file(tmp_path / "gold.conllu", corpus, [[-1] * n for n in corpus.lengths])
    result = arborand("evaluate", scores, "--conllu", path)
    assert result.status == 1
    assert "gold.conllu has no heads: there is nothing to compare with" in result.err


def test_gold_with_a_word_as_its_own_head_names_the_sentence(arborand, tmp_path):
    corpus = random_corpus(3)
    scores = corpus.save(tmp_path / "scores.npz")
    gold = [[0] * n for n in corpus.lengths]
    gold[1][0] = 1
    path = gold_file(tmp_path / "gold.conllu", corpus, gold)
    result = arborand("evaluate", scores, "--conllu", path)
    assert result.status == 1
    assert "sentence 's-1' (number 2): word 1 has the HEAD '1': expected 0 for" in result.err


@pytest.mark.parametrize("option", ["--output", "--plot"])
def test_a_folder_that_is_missing_is_named_before_anything_is_read(option, arborand, tmp_path):
    out = tmp_path / "missing" / "x.svg"
    chosen = ("--format", "json") if option == "--output" else ()
    result = arborand("evaluate", "no.npz", "--conllu", "no.conllu", option, out, *chosen)
    assert result.status == 1
    assert f"the folder {tmp_path / 'missing'} does not exist" in result.err
