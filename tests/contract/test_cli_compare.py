"""Two parsers compared: every number equals the library's, sentence by sentence."""

import json
import math
import re
from functools import partial

import numpy as np
import pytest
from rich.cells import cell_len

from arborand import DependencyTrees, ProjectiveDependencyTrees
from arborand.corpus.stream import Corpus as CorpusOfRuns
from arborand.evaluation import EDGES
from tests.command_line import CORPUS, Corpus, call, gold_file, random_corpus


@pytest.fixture
def arborand(monkeypatch, capsysbinary):
    return partial(call, monkeypatch, capsysbinary)


@pytest.fixture
def parsers(tmp_path):
    """Two parsers' scores of 25 sentences, the second in another order; gold with gaps."""
    first = random_corpus(25, seed=1, longest=8)
    rng = np.random.default_rng(2)
    second = [m + rng.normal(0, 1, m.shape) for m in first.matrices]
    gold = [
        DependencyTrees(m + 2 * rng.normal(0, 1, m.shape)).best_tree()[1:].tolist() for m in second
    ]
    gold[3] = [-1] * len(gold[3])
    gold[4][0] = -1
    first.save(tmp_path / "a.npz")
    order = rng.permutation(25)
    shuffled = Corpus([first.sent_ids[i] for i in order], [second[i] for i in order])
    shuffled.save(tmp_path / "b.npz")
    gold_file(tmp_path / "gold.conllu", first, gold)
    return first.sent_ids, first.matrices, second, gold, tmp_path


def expected_of(sent_id, one, other, heads, kind=DependencyTrees):
    """Compare one sentence by definition."""
    a, b = kind(one), kind(other)
    best = [a.best_tree()[1:], b.best_tree()[1:]]
    marginals = a.arc_marginals(), b.arc_marginals()
    given = np.array(heads) >= 0
    return {
        "sent_id": sent_id,
        "length": len(heads),
        "kl_to_second": float(a.kl_divergence(b)),
        "kl_to_first": float(b.kl_divergence(a)),
        "different_heads": int((best[0] != best[1]).sum()),
        "expected_agreement": math.fsum((marginals[0] * marginals[1]).ravel()),
        "gold_words": int(given.sum()),
        "first_correct": int((best[0] == heads)[given].sum()),
        "second_correct": int((best[1] == heads)[given].sum()),
    }


@pytest.fixture
def expected(parsers):
    sent_ids, first, second, gold, _ = parsers
    return [expected_of(*one) for one in zip(sent_ids, first, second, gold, strict=True)]


def compared(arborand, folder, *options, gold=True):
    words = ("--conllu", folder / "gold.conllu") if gold else ()
    out = folder / "out.json"
    result = arborand("compare", folder / "a.npz", folder / "b.npz", *words, *options, "-o", out)
    assert result.status == 0, result.err
    return json.loads(out.read_text())


@pytest.mark.parametrize(
    ("options", "kind"), [((), DependencyTrees), (("--projective",), ProjectiveDependencyTrees)]
)
def test_every_sentence_is_compared_with_the_same_one(arborand, parsers, options, kind):
    *sentences, folder = parsers
    found = compared(arborand, folder, *options)
    expected = [expected_of(*one, kind=kind) for one in zip(*sentences, strict=True)]
    lines = sorted(expected, key=lambda one: -one["kl_to_second"])
    assert [one["sent_id"] for one in found["sentences"]] == [one["sent_id"] for one in lines]
    for line, right in zip(found["sentences"], lines, strict=True):
        for name in right.keys() - {"sent_id"}:
            value = right[name]
            assert line[name] == pytest.approx(value, rel=1e-9, abs=1e-12), name


def test_totals_are_sums_and_say_who_is_right(arborand, parsers, expected):
    _, first, second, gold, folder = parsers
    found = compared(arborand, folder)
    assert found["num_sentences"] == 25
    assert found["num_words"] == sum(one["length"] for one in expected)
    mean = math.fsum(one["kl_to_second"] for one in expected) / 25
    assert found["mean_kl_to_second"] == pytest.approx(mean, rel=1e-9)
    assert found["different_heads"] == sum(one["different_heads"] for one in expected)
    judged = found["gold"]
    counts = {"first_only": 0, "second_only": 0, "neither": 0}
    for one, other, heads in zip(first, second, gold, strict=True):
        best = [DependencyTrees(m).best_tree()[1:].tolist() for m in (one, other)]
        for a, b, right in zip(*best, heads, strict=True):
            if right >= 0 and a != b:
                counts[
                    "first_only" if a == right else "second_only" if b == right else "neither"
                ] += 1
    assert {name: judged[name] for name in counts} == counts
    assert min(counts.values()) > 0
    for who in ("first", "second"):
        right = sum(one[f"{who}_correct"] for one in expected)
        words = sum(one["gold_words"] for one in expected)
        assert judged[who]["best_attachment_score"] == pytest.approx(right / words)


def test_the_calibration_error_is_that_of_the_table(arborand, parsers):
    from arborand import pad
    from arborand.evaluation import evaluate

    _, first, _, gold, folder = parsers
    padded, lengths = pad(first)
    heads = np.full((25, padded.shape[-1]), -1)
    for i, one in enumerate(gold):
        heads[i, 1 : len(one) + 1] = one
    calibration = evaluate(DependencyTrees(padded, lengths=lengths), heads).summary().calibration
    by_hand = sum(
        abs(b.num_right - b.num_arcs * b.mean_probability) for b in calibration.bins() if b.num_arcs
    )
    words = sum(head >= 0 for one in gold for head in one)
    assert float(calibration.error) == pytest.approx(by_hand / words, rel=1e-12)
    assert len(calibration.bins()) == len(EDGES) - 1
    result = arborand(
        "compare", folder / "a.npz", folder / "b.npz", "--conllu", folder / "gold.conllu"
    )
    assert f"{100 * by_hand / words:.1f} %" in result.out.decode()


@pytest.mark.parametrize(
    ("options", "key"),
    [
        (("--sort", "heads"), lambda one: -one["different_heads"]),
        (("--sort", "length"), lambda one: -one["length"]),
        (("--sort", "file"), lambda one: 0),
    ],
)
def test_sentences_are_sorted_by_what_was_found(arborand, parsers, expected, options, key):
    names = [one["sent_id"] for one in sorted(expected, key=key)]
    found = compared(arborand, parsers[-1], *options)
    assert [one["sent_id"] for one in found["sentences"]] == names
    few = compared(arborand, parsers[-1], *options, "--max-sentences", 4)
    assert [one["sent_id"] for one in few["sentences"]] == names[:4]
    assert few["num_sentences"] == 25  # the totals are those of all
    back = compared(arborand, parsers[-1], *options, "--reverse")
    assert [one["sent_id"] for one in back["sentences"]] == names[::-1]


def test_sentences_are_chosen_before_they_are_compared(arborand, parsers, expected):
    long = [one for one in expected if one["length"] >= 5]
    found = compared(arborand, parsers[-1], "--filter", "length >= 5")
    assert found["num_sentences"] == len(found["sentences"]) == len(long)
    assert compared(arborand, parsers[-1], "--sent-id", "s-7")["num_sentences"] == 1


def test_equal_scores_do_not_differ(arborand, parsers):
    folder = parsers[-1]
    out = folder / "out.csv"
    assert arborand("compare", folder / "a.npz", folder / "a.npz", "-o", out).status == 0
    for line in out.read_text().splitlines()[1:]:
        assert line.split(",")[2:5] == ["0.0", "0.0", "0.0"]


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("gold", [True, False])
def test_the_tables_fit(arborand, monkeypatch, parsers, width, gold):
    folder = parsers[-1]
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    words = ("--conllu", folder / "gold.conllu") if gold else ()
    result = arborand("compare", folder / "a.npz", folder / "b.npz", *words)
    assert result.status == 0
    plain = re.sub(r"\x1b\[[0-9;]*m", "", result.out.decode())
    lines = [line.rstrip() for line in plain.splitlines() if not line.startswith("arborand ")]
    assert all(cell_len(line) <= width for line in lines)
    assert ("A right" in plain) == ("expected calibration error" in plain) == gold
    assert ("w1 w2" in plain) == gold
    assert sum(line.startswith(" s-") for line in lines) == 20
    assert "arborand compare a.npz b.npz" in plain


def test_without_ids_sentences_are_matched_by_their_place(arborand, tmp_path):
    made = random_corpus(6, seed=4)
    np.savez(tmp_path / "a.npz", lengths=made.lengths, scores=made.flat)
    made.save(tmp_path / "b.npz")
    out = tmp_path / "out.json"
    assert arborand("compare", tmp_path / "a.npz", tmp_path / "b.npz", "-o", out).status == 0
    found = json.loads(out.read_text())
    assert (found["num_sentences"], found["different_heads"], found["mean_kl_to_second"]) == (
        6,
        0,
        0,
    )


@pytest.mark.parametrize(
    ("first", "second", "left"),
    [
        ("aab", "aab", ["b"]),
        ("aab", "abc", ["a", "b"]),  # the first of the two has the only partner
        ("abc", "aab", ["b"]),
    ],
)
def test_sentences_that_share_an_id_are_not_compared(arborand, tmp_path, first, second, left):
    matrices = list(np.random.default_rng(4).normal(size=(3, 5, 5)))
    Corpus(list(first), matrices).save(tmp_path / "A.npz")
    Corpus(list(second), matrices).save(tmp_path / "B.npz")
    command = ("compare", tmp_path / "A.npz", tmp_path / "B.npz")
    result = arborand(*command)
    assert result.status == 1
    why = "several sentences have this sent_id, so it does not tell which of them to compare"
    assert why in result.err
    out = tmp_path / "out.json"
    result = arborand(*command, "--on-error", "skip", "-o", out)
    assert result.status == 0
    found = json.loads(out.read_text())["sentences"]
    assert sorted(one["sent_id"] for one in found) == left


@pytest.mark.parametrize("order", ["same", "reversed", "shuffled"])
def test_the_second_file_is_read_by_runs_not_by_sentences(
    arborand, monkeypatch, parsers, expected, order
):
    sent_ids, _, second, _, folder = parsers
    chosen = {
        "same": range(25),
        "reversed": range(24, -1, -1),
        "shuffled": np.random.default_rng(5).permutation(25),
    }[order]
    Corpus([sent_ids[i] for i in chosen], [second[i] for i in chosen]).save(folder / "b.npz")
    monkeypatch.setattr("arborand.formats.records.RUN_VALUES", 500)
    counts = {}

    def counted(runs):
        def count(corpus, **options):
            for run in runs(corpus, **options):
                name = corpus.parts[0].shard.shown
                counts[name] = counts.get(name, 0) + 1
                yield run

        return count

    monkeypatch.setattr(CorpusOfRuns, "runs", counted(CorpusOfRuns.runs))
    found = compared(arborand, folder, "--sort", "file")
    for line, right in zip(found["sentences"], expected, strict=True):
        assert line["kl_to_second"] == pytest.approx(right["kl_to_second"], rel=1e-9)
    num_runs = counts["a.npz"]
    assert 4 <= num_runs <= 9
    # One pass for the ids, and then: each run once, or two for each run, or all for each run.
    most = {"same": 1, "reversed": 2, "shuffled": num_runs}[order] * num_runs
    assert counts["b.npz"] - num_runs <= most + 1


def test_what_cannot_be_compared_is_named(arborand, parsers):
    sent_ids, first, second, _, folder = parsers
    few = Corpus(sent_ids[:20], second[:20])
    few.matrices[5] = np.zeros((20, 20))
    few.save(folder / "b.npz")
    command = ("compare", folder / "a.npz", folder / "b.npz")
    result = arborand(*command)
    assert result.status == 1
    assert "'s-5' (number 6): b.npz has scores for 19 words, the first file for" in result.err
    assert "--on-error skip" in result.err
    result = arborand(*command, "--on-error", "skip")
    assert result.status == 0
    assert "6 sentences skipped" in result.err
    assert "b.npz has no sentence with this sent_id" in result.err
    first[0][0] = [0, *[-np.inf] * (len(first[0]) - 2), 0]  # forbids what the other allows
    Corpus(sent_ids, first).save(folder / "a.npz")
    result = arborand(*command, "--on-error", "skip")
    assert "the divergence is infinite" in result.err


def test_gold_with_crossing_arcs_is_reported_if_only_projective_trees_count(arborand, tmp_path):
    crossing, straight = [3, 4, 0, 1], [0, 1, 2, 3]
    corpus = Corpus(["s-0", "s-1"], [np.zeros((5, 5))] * 2)
    scores, gold = corpus.save(tmp_path / "a.npz"), tmp_path / "gold.conllu"
    command = ("compare", scores, scores, "--conllu", gold, "--projective")
    for heads, count in (([crossing] * 2, "2 sentences"), ([crossing, straight], "1 sentence")):
        gold_file(gold, corpus, heads)
        result = arborand(*command)
        assert f"(for example, they have crossing arcs) in {count}: the heads count" in result.err
    gold_file(gold, corpus, [crossing] * 2)
    (line,) = (one for one in arborand(*command).out.decode().splitlines() if "of gold" in one)
    assert " ".join(line.split()) == "mean log-probability of gold over 0 and 0 sentences"
    gold_file(gold, corpus, [straight] * 2)
    assert arborand(*command).err == ""


def test_calibration_errors_above_1_are_written_as_they_are(arborand, tmp_path):
    # Both words are surely wrong: one arc too many and one too few for each.
    sure = np.array([[0, 0, 0], [0, 0, 1e3], [0, 0, 0]])
    corpus = Corpus(["s-0"], [sure])
    scores, gold = corpus.save(tmp_path / "a.npz"), tmp_path / "gold.conllu"
    gold_file(gold, corpus, [[2, 0]])
    result = arborand("compare", scores, scores, "--conllu", gold)
    (line,) = (one for one in result.out.decode().splitlines() if "calibration" in one)
    assert line.split()[3:7] == ["200.0", "%", "200.0", "%"]


def test_divergences_whose_sum_is_no_float_have_no_mean(arborand, tmp_path):
    one, other = np.zeros((2, 3, 3))
    one[0, 1] = other[0, 2] = 1.7e308
    files = []
    for name, matrix in (("a", one), ("b", other)):
        files.append(Corpus(["s-0", "s-1"], [matrix] * 2).save(tmp_path / f"{name}.npz"))
    gold = tmp_path / "gold.conllu"
    gold_file(gold, Corpus(["s-0", "s-1"], [one] * 2), [[2, 0]] * 2)
    out = tmp_path / "out.json"
    assert arborand("compare", *files).status == 0
    assert arborand("compare", *files, "-o", out).status == 0
    found = json.loads(out.read_text())
    assert found["mean_kl_to_second"] is None
    assert found["num_infinite"] == 0
    assert all(line["kl_to_second"] > 1e308 for line in found["sentences"])
    assert arborand("evaluate", files[0], "--conllu", gold, "-o", out).status == 0
    assert json.loads(out.read_text())["mean_log_prob"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-o", "out/"), "a comparison is one file, not a folder"),
        (("-o", "out.npz"), "contrast cannot be written as npz: use json, jsonl, csv, tsv"),
        (("--filter", "disagreement > 1"), "name the file that has them with --conllu"),
        (("--sort", "entropy"), "entropy"),
    ],
)
def test_what_makes_no_sense_is_refused(arborand, options, message):
    scores = CORPUS / "sentences.npz"
    result = arborand("compare", scores, scores, *options)
    assert result.status == 2
    assert message in re.sub(r"[\s│]+", " ", result.err)


def test_two_files_cannot_come_from_one_pipe(arborand):
    result = arborand("compare", "-", "-")
    assert result.status == 2
    assert "standard input" in result.err
