"""Decisions that were exported from a page, given to commands: best and evaluate."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from arborand import DependencyTrees, corpus
from arborand.enumeration import dependency_trees
from arborand.evaluation import evaluate
from arborand.formats import IgnoredDecisionsWarning, OutputError, read_trees, write_scores
from arborand.formats.conllu import read_annotations
from examples.first_trees import FOLDER, read_corpus
from tests.command_line import call

SENTENCES = read_corpus(FOLDER / "corpus")
SCORES, GOLD = (FOLDER / "corpus" / f"sentences.{kind}" for kind in ("npz", "conllu"))


def entry(sentence, fixed=(), forbidden=(), **other):
    return {
        "sent_id": sentence.sent_id,
        "words": sentence.tokens,
        "fixed": [list(arc) for arc in fixed],
        "forbidden": [list(arc) for arc in forbidden],
        **other,
    }


def write(folder, *entries, **other):
    path = folder / "my decisions.json"
    file = {"arborand": "decisions", "format": 1, "sentences": list(entries), **other}
    path.write_text(json.dumps(file), "utf-8")
    return path


@pytest.fixture
def decided(tmp_path):
    return write(
        tmp_path,
        entry(SENTENCES[0], [(4, 11)], [(4, 7)]),
        entry(SENTENCES[1], [], [(2, 3)]),
    )


def expected_trees():
    first = DependencyTrees(SENTENCES[0].log_weights).condition(include=[(4, 11)], exclude=[(4, 7)])
    second = DependencyTrees(SENTENCES[1].log_weights).condition(exclude=[(2, 3)])
    return [first, second, *(DependencyTrees(s.log_weights) for s in SENTENCES[2:])]


def read(path):
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [line["heads"] for line in lines if "heads" in line], lines[0]


@pytest.mark.parametrize("conllu", [(), ("--conllu", GOLD)])
def test_the_best_trees_agree_with_the_decisions(
    monkeypatch, capsysbinary, tmp_path, decided, conllu
):
    out = tmp_path / "best.jsonl"
    done = call(
        monkeypatch, capsysbinary, "best", SCORES, *conllu, "--decisions", decided, "-o", out
    )
    assert done.status == 0
    heads, first = read(out)
    assert heads == [trees.best_tree().tolist()[1:] for trees in expected_trees()]
    plain = [DependencyTrees(s.log_weights).best_tree().tolist()[1:] for s in SENTENCES]
    assert heads[0] != plain[0]
    command = first["provenance"]["command"]
    assert "--decisions 'my decisions.json'" in command
    assert "--decisions-sha256" in command


def test_jobs_take_decisions_and_are_refused_for_others(tmp_path, decided):
    out = tmp_path / "best"
    status = corpus.run("best", SCORES, out, decisions=decided, format="jsonl")
    assert status.num_sentences == len(SENTENCES)
    (part,) = Path(out).glob("*.jsonl")
    assert read(part)[0] == [trees.best_tree().tolist()[1:] for trees in expected_trees()]
    other = write(tmp_path, entry(SENTENCES[0], [(2, 11)]))
    with pytest.raises(OutputError, match="another job"):
        corpus.run("best", SCORES, out, decisions=other, format="jsonl")
    with pytest.raises(TypeError, match="sample has no option 'decisions'"):
        corpus.run("sample", SCORES, tmp_path / "x", decisions=decided)


def test_gold_is_compared_with_the_trees_left(monkeypatch, capsysbinary, tmp_path, decided):
    out = tmp_path / "evaluation.json"
    done = call(
        monkeypatch, capsysbinary, "evaluate", SCORES, "--conllu", GOLD, "--decisions", decided,
        "-o", out,
    )  # fmt: skip
    assert done.status == 0
    found = json.loads(out.read_text("utf-8"))
    with GOLD.open("rb") as file:
        gold = [[-1, *annotation.heads] for annotation in read_annotations(file, "gold")]
    right = sum(
        int(evaluate(trees, heads).best_right)
        for trees, heads in zip(expected_trees(), gold, strict=True)
    )
    words = sum(len(s.tokens) for s in SENTENCES)
    assert found["best_attachment_score"] == pytest.approx(right / words)
    assert right < words


@pytest.mark.parametrize(
    ("command", "output"), [("best", "-o"), ("evaluate", "-o"), ("evaluate", "--plot")]
)
def test_decisions_are_not_written_over(
    monkeypatch, capsysbinary, tmp_path, decided, command, output
):
    name = decided.rename(tmp_path / "decisions.svg")
    before = name.read_bytes()
    chosen = ("--format", "jsonl") if output == "-o" else ()
    done = call(
        monkeypatch, capsysbinary, command, SCORES, "--conllu", GOLD, "--decisions", name,
        output, name, *chosen,
    )  # fmt: skip
    assert done.status == 2
    assert "is an input file" in " ".join(done.err.split())
    assert name.read_bytes() == before


LABELLED_WORDS, LABELS = ["She", "saw", "it"], ["root", "nsubj", "obj"]
LABEL_RNG = np.random.default_rng(3)
ARCS, OF_LABELS = LABEL_RNG.normal(size=(4, 4)), LABEL_RNG.normal(size=(4, 4, 3))
OF_LABELS[1, 3, 2] = -np.inf  # no object


@pytest.fixture
def labelled_scores(tmp_path):
    path = tmp_path / "labelled.npz"
    write_scores(
        path, [ARCS], sent_ids=["a"], words=[LABELLED_WORDS], label_scores=[OF_LABELS],
        label_names=LABELS,
    )  # fmt: skip
    return path


def labelled_law(is_met):
    """Enumerate P(tree, labels | decided); `root` belongs to arcs from the root."""
    scores = OF_LABELS.copy()
    scores[0, :, 1:] = scores[1:, :, 0] = -np.inf
    weights = {}
    for tree, log_weight_of_tree in dependency_trees(ARCS):
        heads = tuple(tree[1:].tolist())
        for labels in product(range(3), repeat=3):
            if is_met(heads, labels):
                log_weight = log_weight_of_tree
                for word, (head, label) in enumerate(zip(heads, labels, strict=True), 1):
                    log_sum = np.logaddexp.reduce(scores[head, word])
                    log_weight += scores[head, word, label] - log_sum
                if log_weight > -np.inf:
                    weights[heads, tuple(LABELS[label] for label in labels)] = log_weight
    total = np.logaddexp.reduce(list(weights.values()))
    return {tree: weight - total for tree, weight in weights.items()}


def entry_of_labelled(*fixed):
    arcs = [list(arc) for arc in fixed]
    return {"sent_id": "a", "words": LABELLED_WORDS, "fixed": arcs, "forbidden": []}


@pytest.mark.parametrize("orientation", ["head,dependent", "dependent,head"])
def test_fixed_arcs_have_the_decided_label(
    monkeypatch, capsysbinary, tmp_path, labelled_scores, orientation
):
    if orientation == "dependent,head":
        write_scores(
            labelled_scores, [ARCS.T], sent_ids=["a"], label_scores=[OF_LABELS.swapaxes(0, 1)],
            label_names=LABELS,
        )  # fmt: skip
    path, out = write(tmp_path, entry_of_labelled((2, 1, "obj"))), tmp_path / "best.parquet"
    done = call(
        monkeypatch, capsysbinary, "best", labelled_scores, "--decisions", path, "-k", 100,
        "--orientation", orientation, "-o", out,
    )  # fmt: skip
    assert (done.status, done.err) == (0, "")
    (found,) = read_trees(out)
    law = labelled_law(lambda heads, labels: heads[0] == 2 and labels[0] == 2)
    trees = zip(map(tuple, found.heads[:, 1:].tolist()), map(tuple, found.labels), strict=True)
    assert dict(zip(trees, found.log_prob, strict=True)) == pytest.approx(law, rel=1e-12)


def test_gold_labels_are_compared_with_the_decided_ones(
    monkeypatch, capsysbinary, tmp_path, labelled_scores
):
    law = labelled_law(lambda heads, labels: heads[0] == 2)
    (heads, labels) = max(law, key=law.get)
    other = next(name for name in ("nsubj", "obj") if name != labels[0])
    gold = tmp_path / "gold.conllu"
    lines = [
        f"{i}\t{word}\t_\t_\t_\t_\t{head}\t{label}\t_\t_"
        for i, (word, head, label) in enumerate(zip(LABELLED_WORDS, heads, labels, strict=True), 1)
    ]
    gold.write_text("\n".join(["# sent_id = a", *lines, "", ""]))
    out = tmp_path / "evaluation.json"
    for label, right in ((labels[0], 1), (other, 2 / 3)):
        path = write(tmp_path, entry_of_labelled((2, 1, label)))
        done = call(
            monkeypatch, capsysbinary, "evaluate", labelled_scores, "--conllu", gold,
            "--decisions", path, "-o", out,
        )  # fmt: skip
        assert (done.status, done.err) == (0, "")
        shares = json.loads(out.read_text("utf-8"))["labelled"]
        assert shares["labelled_attachment_score"] == pytest.approx(right)


@pytest.mark.parametrize(
    ("fixed", "why"),
    [
        ((2, 1, "iobj"), "the label 'iobj' of 2 -> 1 {} is ignored: the scores have no such label"),
        ((1, 3, "obj"), "the label 'obj' of 1 -> 3 {} is ignored: the scores rule it out"),
    ],
)
def test_labels_that_the_scores_do_not_have_are_ignored_with_a_note(
    monkeypatch, capsysbinary, tmp_path, labelled_scores, fixed, why
):
    path, out = write(tmp_path, entry_of_labelled(fixed)), tmp_path / "best.parquet"
    best = (monkeypatch, capsysbinary, "best", labelled_scores, "--decisions", path, "-k", 100)
    done = call(*best, "-o", out)
    assert done.status == 0
    where = "in the decisions of my decisions.json about sentence 'a'"
    assert " ".join(done.err.split()) == f"arborand: {why.format(where)}"
    (found,) = read_trees(out)
    head, word, _ = fixed
    law = labelled_law(lambda heads, labels: heads[word - 1] == head)
    trees = zip(map(tuple, found.heads[:, 1:].tolist()), map(tuple, found.labels), strict=True)
    assert dict(zip(trees, found.log_prob, strict=True)) == pytest.approx(law, rel=1e-12)
    # Scores without labels have none of them.
    write_scores(labelled_scores, [ARCS], sent_ids=["a"])
    done = call(*best)
    assert done.status == 0
    assert f"of {head} -> {word} {where} is ignored: the scores have no such label" in done.err


def test_decisions_that_cannot_be_used_are_named_and_nothing_else_is_lost(
    monkeypatch, capsysbinary, tmp_path
):
    path = write(
        tmp_path,
        entry(SENTENCES[0], [(7, 4), (4, 7)]),  # a cycle
        entry(SENTENCES[1], [(3, 2)], words=["other"] * len(SENTENCES[1].tokens)),
        entry(SENTENCES[2], [(99, 1)]),
        entry(SENTENCES[3], [], [(0, 1)]),
        entry(SENTENCES[4], [(0, 1)], sent_id="nobody\x1b"),
    )
    out = tmp_path / "best.jsonl"
    done = call(
        monkeypatch, capsysbinary, "best", SCORES, "--conllu", GOLD, "--decisions", path, "-o", out
    )
    assert done.status == 0
    ignored = "the decisions of my decisions.json about sentence '{}' are ignored: {}"
    flat = " ".join(done.err.split())
    assert ignored.format(SENTENCES[0].sent_id, "no tree has them: ") in flat
    assert ignored.format(SENTENCES[1].sent_id, "they are about other words") in flat
    assert ignored.format(SENTENCES[2].sent_id, "they are about arcs that it does not have") in flat
    assert "also decides about 1 sentence (nobody\\x1b), for which there are no scores" in flat
    expected = [DependencyTrees(s.log_weights) for s in SENTENCES]
    expected[3] = expected[3].condition(exclude=[(0, 1)])
    assert read(out)[0] == [trees.best_tree().tolist()[1:] for trees in expected]


def test_sentences_without_ids_have_those_of_their_words(
    monkeypatch, capsysbinary, tmp_path, decided
):
    scores, out = tmp_path / "noids.npz", tmp_path / "best.jsonl"
    write_scores(scores, [sentence.log_weights for sentence in SENTENCES])
    done = call(
        monkeypatch, capsysbinary, "best", scores, "--conllu", GOLD, "--decisions", decided,
        "-o", out,
    )  # fmt: skip
    assert (done.status, done.err) == (0, "")
    assert read(out)[0] == [trees.best_tree().tolist()[1:] for trees in expected_trees()]


def test_in_python_ignored_decisions_are_a_warning(tmp_path):
    path = write(tmp_path, entry(SENTENCES[0], [(7, 4), (4, 7)]))
    with pytest.warns(IgnoredDecisionsWarning, match="no tree has them"):
        corpus.run("best", SCORES, tmp_path / "best", decisions=path, format="jsonl")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "d.json is not a JSON file: "),
        (b"\xff", "d.json is not a JSON file: "),
        ("[" * 100_000, "d.json is not a JSON file: "),
        ("[]", "d.json does not contain decisions: export them from a page of arborand show"),
        (
            '{"arborand": "decisions", "format": 2, "sentences": []}',
            "d.json has the format 2: this version reads format 1",
        ),
        (
            '{"arborand": "decisions", "format": true, "sentences": []}',
            "d.json has the format True: this version reads format 1",
        ),
        ('{"arborand": "decisions", "format": 1, "sentences": [{}]}', "entry 1 needs a sent_id"),
        (
            '{"arborand": "decisions", "format": 1, "sentences": [{"sent_id": "a", "words": ["b"], '
            '"fixed": [[0, true]], "forbidden": []}]}',
            "entry 1 needs a sent_id",
        ),
        (
            '{"arborand": "decisions", "format": 1, "sentences": ['
            '{"sent_id": "a", "words": ["b"], "fixed": [[0, 1]], "forbidden": []}, '
            '{"sent_id": "a", "words": ["c"], "fixed": [[0, 1]], "forbidden": []}, '
            '{"sent_id": "a", "words": ["b"], "fixed": [[0, 1]], "forbidden": []}, '
            '{"sent_id": "a", "words": ["b"], "fixed": [], "forbidden": []}]}',
            "d.json: entry 4 decides about sentence 'a' again, in another way: keep one",
        ),
    ],
)
def test_other_files_are_refused(monkeypatch, capsysbinary, tmp_path, text, message):
    path = tmp_path / "d.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    done = call(monkeypatch, capsysbinary, "best", SCORES, "--decisions", path)
    assert done.status == 1
    assert message in " ".join(done.err.split())
