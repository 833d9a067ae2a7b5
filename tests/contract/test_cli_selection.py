"""Which sentences a command works on: the same options, with the same meaning, for all commands."""

import csv
import json
import re
from functools import partial

import numpy as np
import pytest

from arborand import DependencyTrees, corpus
from arborand.corpus.selection import Selection, select_rows
from arborand.formats import read_scores, read_trees
from arborand.formats.records import TREES, Rows
from tests.command_line import call, gold_file, random_corpus

COMMANDS = ("sample", "best", "marginals", "logz", "entropy", "evaluate")


@pytest.fixture
def arborand(monkeypatch, capsysbinary):
    return partial(call, monkeypatch, capsysbinary)


@pytest.fixture
def data(tmp_path):
    """Thirty sentences with gold heads, some of them without any."""
    made = random_corpus(30, seed=5, longest=9)
    made.save(tmp_path / "scores.npz")
    gold = [[0, *range(1, n)] for n in made.lengths]
    for i in (3, 17):
        gold[i] = [-1] * len(gold[i])
    gold[5][0] = gold[8][-1] = -1
    gold_file(tmp_path / "gold.conllu", made, gold)
    return made, gold, tmp_path


def measures(made, gold):
    """Measure every sentence one by one; NaN where there is no gold."""
    for sent_id, matrix, heads in zip(made.sent_ids, made.matrices, gold, strict=True):
        trees = DependencyTrees(matrix)
        given = np.array(heads) >= 0
        differs = float((trees.best_tree()[1:] != heads)[given].sum()) if given.any() else np.nan
        length = len(matrix) - 1
        yield (
            sent_id,
            {
                "length": length,
                "entropy": float(trees.entropy()),
                "disagreement": differs,
            },
        )


@pytest.fixture
def ids(arborand, data):
    """Ask a command for the ids of the sentences that it works on, in its order."""
    folder = data[2]

    def ask(command, *options):
        out = folder / "out.jsonl"
        files = (folder / "scores.npz", "--conllu", folder / "gold.conllu")
        result = arborand(command, *files, *options, "-o", out)
        assert result.status == 0, result.err
        found = [json.loads(line) for line in out.read_text().splitlines()[1:]]
        return [row["sent_id"] for row in found], result.err

    return ask


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_selects_alike(ids, data, command):
    known = dict(measures(*data[:2]))
    by_entropy = sorted(known, key=lambda s: -known[s]["entropy"])
    found, said = ids(command, "--sort", "entropy", "--max-sentences", 4)
    assert found == by_entropy[:4]
    assert "4 of 30 sentences, the most uncertain first" in said
    assert ids(command, "--sort", "entropy", "--reverse")[0] == by_entropy[::-1]
    assert ids(command, "--reverse", "--max-sentences", 2)[0] == ["s-29", "s-28"]
    found, said = ids(command, "--max-sentences", 2)
    assert found == ["s-0", "s-1"]
    assert "2 of 30 sentences, in the order of the file" in said
    assert ids(command, "--sent-id", "s-8", "--sent-id", "s-2") == (["s-2", "s-8"], "")
    long = [s for s in known if known[s]["length"] >= 6]
    assert ids(command, "--filter", "length >= 6")[0] == long
    found, said = ids(command, "--filter", "length >= 6", "--max-sentences", 3)
    assert found == long[:3]
    assert f"3 of {len(long)} sentences with length >= 6, in the order of the file" in said
    named = ("--sent-id", "s-8", "--sent-id", "s-2", "--sent-id", "s-5", "--sort", "length")
    expected = sorted(["s-2", "s-5", "s-8"], key=lambda s: -known[s]["length"])
    assert ids(command, *named)[0] == expected
    found, said = ids(command, "--filter", "length > 99")
    assert found == []
    assert "0 of 0 sentences with length > 99" in said


def test_sentences_without_gold_come_last_and_are_counted(ids, data):
    known = dict(measures(*data[:2]))
    judged = [s for s in known if not np.isnan(known[s]["disagreement"])]
    assert len(judged) == 28
    order = sorted(judged, key=lambda s: -known[s]["disagreement"])
    found, said = ids("entropy", "--sort", "disagreement")
    assert found == [*order, "s-3", "s-17"]
    assert "(2 have no gold heads)" in said
    assert ids("entropy", "--sort", "disagreement", "--reverse")[0] == [
        *order[::-1],
        "s-17",
        "s-3",
    ]
    wrong = [s for s in judged if known[s]["disagreement"] >= 2]
    assert ids("entropy", "--filter", "disagreement >= 2")[0] == wrong


def test_a_selected_sentence_gets_the_trees_that_it_gets_among_all(arborand, data):
    scores, folder = data[2] / "scores.npz", data[2]
    draw = ("sample", scores, "-k", 5, "--seed", 3)
    assert arborand(*draw, "-o", folder / "all.npz").status == 0
    assert arborand(*draw, "--sent-id", "s-7", "-o", folder / "one.npz").status == 0
    (one,) = read_trees(folder / "one.npz")
    everything = {tree.sent_id: tree for tree in read_trees(folder / "all.npz")}
    np.testing.assert_array_equal(one.heads, everything["s-7"].heads)


def test_five_trees_of_one_sentence_are_printed_as_conllu(arborand, data):
    files = (data[2] / "scores.npz", "--conllu", data[2] / "gold.conllu")
    options = ("--sent-id", "s-8", "-k", 5, "--format", "conllu", "-o", "-")
    result = arborand("best", *files, *options)
    assert result.status == 0
    text = result.out.decode()
    assert re.findall("# rank = (.*)", text) == ["1", "2", "3", "4", "5"]
    assert "--sent-id s-8" in text.splitlines()[0]


def test_a_named_sentence_that_is_missing_stops_the_command(arborand, data):
    result = arborand("entropy", data[2] / "scores.npz", "--sent-id", "s-3", "--sent-id", "s-99")
    assert result.status == 1
    assert "no sentence has the sent_id 's-99'" in result.err


def test_sentences_that_cannot_be_measured_stop_the_command_or_are_skipped(arborand, data):
    made, _, folder = data
    made.matrices[4][:, 1] = np.nan
    made.save(folder / "scores.npz")
    options = ("--sort", "entropy", "--max-sentences", 3, "-o", folder / "out.csv")
    result = arborand("entropy", folder / "scores.npz", *options)
    assert result.status == 1
    assert "'s-4'" in result.err
    assert "--on-error skip" in result.err
    result = arborand("entropy", folder / "scores.npz", *options, "--on-error", "skip")
    assert result.status == 0
    assert "s-4" in result.err
    with (folder / "out.csv").open() as file:
        assert len(list(csv.reader(file))) == 4
    # Who asks for another sentence does not have to know.
    named = arborand("entropy", folder / "scores.npz", "--sent-id", "s-5")
    assert named.status == 0


def test_a_selection_without_usable_sentences_says_nothing_about_the_others(arborand, data):
    made, _, folder = data
    made.matrices[0][:, 1] = np.nan
    made.save(folder / "scores.npz")
    command = ("entropy", folder / "scores.npz", "--max-sentences", 1, "--on-error", "skip")
    result = arborand(*command)
    assert result.status == 1
    assert "'s-0'" in result.err
    assert "(and no other selected sentence can be used)" in result.err
    assert arborand(*command, "--sort", "entropy").status == 0


def test_a_gold_file_of_some_sentences_names_the_way_out(arborand, data):
    made, gold, folder = data
    few = type(made)(made.sent_ids[:20], made.matrices[:20])
    gold_file(folder / "gold.conllu", few, gold[:20])
    files = (folder / "scores.npz", "--conllu", folder / "gold.conllu")
    for command, *options in (
        ("entropy",),
        ("best",),
        ("evaluate",),
        ("show", "--sort", "entropy", "-o", folder / "p.html"),
    ):
        result = arborand(command, *files, *options)
        assert result.status == 1, command
        assert "'s-20' (number 21): gold.conllu has no sentence with this sent_id" in result.err
        assert "--on-error skip leaves such sentences out" in result.err
        result = arborand(command, *files, *options, "--on-error", "skip")
        assert result.status == 0, result.err
        assert "10 sentences skipped" in result.err


def test_a_filter_by_words_does_not_hide_sentences_without_words(arborand, data):
    made, gold, folder = data
    few = type(made)(made.sent_ids[:20], made.matrices[:20])
    gold_file(folder / "gold.conllu", few, gold[:20])
    files = (folder / "scores.npz", "--conllu", folder / "gold.conllu")
    result = arborand("entropy", *files, "--filter", "word = w2")
    assert result.status == 1
    assert "'s-20' (number 21)" in result.err
    result = arborand("entropy", *files, "--filter", "word = w2", "--on-error", "skip")
    assert result.status == 0
    assert "10 sentences skipped" in result.err


@pytest.mark.parametrize("others", [(), ("--max-sentences", 3)])
@pytest.mark.parametrize("kind", ["scores", "trees"])
def test_a_filter_by_words_needs_words(arborand, data, kind, others):
    folder = data[2]
    filtered = ("--filter", "word = w2", *others, "-o", folder / "out.jsonl")
    command = ("entropy", folder / "scores.npz", *filtered)
    if kind == "trees":
        trees = folder / "trees.jsonl"
        assert arborand("best", folder / "scores.npz", "-o", trees).status == 0
        command = ("convert", trees, folder / "out.jsonl", *filtered[:-2])
    result = arborand(*command)
    assert result.status == 1
    assert "a condition on words needs words, which are not known here" in result.err
    known = arborand(*command, "--conllu", folder / "gold.conllu")
    assert known.status == 0
    assert (folder / "out.jsonl").read_text().count("sent_id") > 2


def test_a_word_may_be_an_equals_sign(arborand, data):
    folder = data[2]
    gold = folder / "gold.conllu"
    gold.write_text(gold.read_text().replace("\tw9\t", "\t=\t"))
    command = ("entropy", folder / "scores.npz", "--conllu", gold, "-o", folder / "out.jsonl")
    assert arborand(*command, "--filter", "word = =").status == 0
    lines = (folder / "out.jsonl").read_text().splitlines()[1:]
    found = [json.loads(line)["sent_id"] for line in lines]
    long = [s for s, m in zip(data[0].sent_ids, data[0].matrices, strict=True) if len(m) == 10]
    assert found == long != []


def test_trees_of_a_sentence_stay_together_however_they_come():
    """The second portion goes on with the last sentence of the first."""

    def rows(sent_ids, counts, first_sample):
        total = sum(counts)
        log_prob = {"log_prob": np.zeros(total)}
        heads = np.zeros(total, dtype=np.int32)
        ones = np.ones(len(sent_ids), dtype=np.int32)
        return Rows(sent_ids, ones, np.array(counts), log_prob, heads, first_sample)

    portions = [rows(["a", "b"], [2, 3], 0), rows(["b", "c"], [4, 1], 3), rows(["c"], [2], 1)]

    def taken(**options):
        found = select_rows(Selection(**options), portions, TREES)
        return [(one.sent_ids, one.num_rows.tolist(), one.first_sample) for one in found]

    assert taken(wanted=("b",)) == [(["b"], [3], 0), (["b"], [4], 3)]
    assert taken(most=2) == [(["a", "b"], [2, 3], 0), (["b"], [4], 3)]
    assert taken(wanted=("c",)) == [(["c"], [1], 0), (["c"], [2], 1)]


# ---- folders


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (("--sort", "entropy"), "--sort"),
        (("--reverse",), "--reverse"),
        (("--max-sentences", 3), "--max-sentences"),
        (("--sent-id", "s-1"), "--sent-id"),
    ],
)
def test_parts_of_a_folder_can_only_be_filtered(arborand, tmp_path, options, name):
    # Refused before anything is read: the file does not exist.
    result = arborand("entropy", tmp_path / "no.npz", *options, "-o", f"{tmp_path}/out/")
    assert result.status == 2
    message = re.sub(r"[\s│]+", " ", result.err)
    assert name in message
    assert "only --filter can select" in message


def test_a_job_filters_its_parts(arborand, data):
    made, gold, folder = data
    known = dict(measures(made, gold))
    long = [s for s in known if known[s]["length"] >= 6]
    command = ("entropy", folder / "scores.npz", "--filter", "length >= 6", "--format", "jsonl")
    options = ("--part-sentences", 8, "-o", f"{folder}/out/")
    assert arborand(*command, *options).status == 0
    rows = [
        json.loads(line)
        for part in sorted((folder / "out").glob("*.jsonl"))
        for line in part.read_text().splitlines()[1:]
    ]
    assert [row["sent_id"] for row in rows] == long
    status = corpus.read_status(f"{folder}/out/")
    assert (status.num_sentences_done, status.num_rows) == (30, len(long))
    # The same job is resumed; one of other conditions is another job.
    assert "parts already exist" in arborand(*command, *options).err
    other = arborand("entropy", folder / "scores.npz", "--format", "jsonl", *options)
    assert other.status == 1
    assert "filter was ['length >= 6'] and is not given" in other.err


def test_jobs_of_programs_are_filtered_too(data):
    made, gold, folder = data
    known = dict(measures(made, gold))
    unsure = [s for s in known if known[s]["entropy"] > 2]
    scores = folder / "scores.npz"
    status = corpus.run("logz", scores, folder / "out", filter=["entropy > 2"])
    assert status.num_rows == len(unsure)
    with pytest.raises(ValueError, match="'entrpy > 2' is not a condition"):
        corpus.run("logz", scores, folder / "other", filter=["entrpy > 2"])
    with pytest.raises(ValueError, match="disagreement needs gold heads; name their file"):
        corpus.run("logz", scores, folder / "other", filter=["disagreement > 2"])


# ---- conversions


def test_scores_are_selected_while_they_are_converted(arborand, data):
    made, gold, folder = data
    known = dict(measures(made, gold))
    out = folder / "few.npz"
    options = ("--sort", "entropy", "--max-sentences", 3)
    assert arborand("convert", folder / "scores.npz", out, *options).status == 0
    expected = sorted(known, key=lambda s: -known[s]["entropy"])[:3]
    found = list(read_scores(out))
    assert [sentence.sent_id for sentence in found] == expected
    np.testing.assert_array_equal(
        found[0].log_weights, made.matrices[made.sent_ids.index(expected[0])]
    )


def test_trees_are_selected_while_they_are_converted(arborand, data):
    made, _, folder = data
    trees, out = folder / "trees.jsonl", folder / "few.jsonl"
    # Enough trees that a sentence comes in several portions.
    draw = ("sample", folder / "scores.npz", "-k", 300, "--seed", 1)
    assert arborand(*draw, "-o", trees).status == 0
    lines = trees.read_text().splitlines()[1:]

    def converted(*options):
        assert arborand("convert", trees, out, *options).status == 0
        return out.read_text().splitlines()[1:]

    def of(*sent_ids):
        return [line for line in lines if json.loads(line)["sent_id"] in sent_ids]

    assert converted("--sent-id", "s-4", "--sent-id", "s-2") == of("s-2", "s-4")
    assert converted("--max-sentences", 2) == of("s-0", "s-1")
    long = [s for s, n in zip(made.sent_ids, made.lengths, strict=True) if n >= 8]
    assert converted("--filter", "length >= 8") == of(*long)
    gold = ("--conllu", folder / "gold.conllu")
    assert converted(*gold, "--filter", "word = w8", "--max-sentences", 1) == of(long[0])
    for options in (("--sort", "length"), ("--reverse",), ("--filter", "entropy > 1")):
        result = arborand("convert", trees, out, *options)
        assert result.status == 2
        assert "trees have no scores" in re.sub(r"[\s│]+", " ", result.err)
    result = arborand("convert", trees, out, "--sent-id", "s-99")
    assert result.status == 1
    assert "no sentence has the sent_id 's-99'" in result.err
