"""The command line's best trees and kept heads: those of the library, in every format."""

import json

import numpy as np
import pytest

from arborand import DependencyTrees, SpanningTrees
from arborand.formats import read_trees
from tests.command_line import call, conllu_of, random_corpus


@pytest.fixture
def arborand(monkeypatch, capsysbinary):
    return lambda *arguments, **options: call(monkeypatch, capsysbinary, *arguments, **options)


@pytest.fixture
def corpus(tmp_path):
    corpus = random_corpus(6, seed=3, longest=7)
    corpus.save(tmp_path / "scores.npz")
    (tmp_path / "corpus.conllu").write_text(conllu_of(corpus))
    return corpus


def keep_some_heads(corpus, path):
    """Write a CoNLL-U file in which every other word has the head it has in the best tree."""
    blocks, given = [], []
    for sent_id, matrix in zip(corpus.sent_ids, corpus.matrices, strict=True):
        heads = DependencyTrees(matrix).best_trees(3).heads[-1]
        kept = [int(h) if j % 2 else -1 for j, h in enumerate(heads)]
        given.append(kept)
        lines = [f"# sent_id = {sent_id}"]
        for j, head in enumerate(kept[1:], 1):
            shown = "_" if head < 0 else head
            lines.append("\t".join(map(str, (j, f"w{j}", *"____", shown, *"___"))))
        blocks.append("\n".join(lines) + "\n\n")
    path.write_text("".join(blocks))
    return given


@pytest.mark.parametrize("ending", ["parquet", "npz", "jsonl", "conllu"])
@pytest.mark.parametrize("kind", [DependencyTrees, SpanningTrees])
def test_best_trees_are_those_of_the_library_in_every_format(
    arborand, corpus, tmp_path, ending, kind
):
    out = tmp_path / f"best.{ending}"
    trees = "dependency" if kind is DependencyTrees else "spanning"
    options = ("-k", 5, "--trees", trees, "--conllu", tmp_path / "corpus.conllu", "--workers", 2)
    assert arborand("best", tmp_path / "scores.npz", *options, "-o", out).status == 0
    found = list(read_trees(out))
    for (sent_id, heads, log_prob, _), name, matrix in zip(
        found, corpus.sent_ids, corpus.matrices, strict=True
    ):
        best = kind(matrix).best_trees(5)
        assert sent_id == name
        np.testing.assert_array_equal(heads, best.heads)
        np.testing.assert_array_equal(log_prob, best.log_prob)


def test_trees_are_numbered_by_rank(arborand, corpus, tmp_path):
    scores, conllu = tmp_path / "scores.npz", tmp_path / "corpus.conllu"
    result = arborand("best", scores, "-k", 2, "--conllu", conllu, "-o", "-", "--format", "conllu")
    text = result.out.decode()
    assert "# rank = 1\n# log_prob = " in text
    assert "# sample" not in text
    result = arborand("best", scores, "-k", 2, "-o", "-", "--format", "jsonl")
    lines = [json.loads(line) for line in result.out.splitlines()[1:]]
    longest = corpus.sent_ids[int(corpus.lengths.argmax())]
    assert [line["rank"] for line in lines if line["sent_id"] == longest] == [1, 2]
    assert all("sample" not in line for line in lines)
    table = arborand("best", scores, "-k", 2).out.decode()
    assert " rank  probability" in table


@pytest.mark.parametrize("ending", ["parquet", "npz", "jsonl", "conllu"])
def test_converted_best_trees_stay_ranked(arborand, corpus, tmp_path, ending):
    first, second = tmp_path / f"best.{ending}", tmp_path / "again.jsonl"
    assert arborand("best", tmp_path / "scores.npz", "-k", 2, "-o", first).status == 0
    assert arborand("convert", first, second).status == 0
    assert json.loads(second.read_text().splitlines()[1])["rank"] == 1


def test_a_ranked_file_of_trees_without_ranks_is_refused(arborand, tmp_path):
    (tmp_path / "trees.jsonl").write_text('{"sent_id": "a", "heads": [0]}\n')
    result = arborand("convert", tmp_path / "trees.jsonl", tmp_path / "trees.npz")
    assert result.status == 1
    assert "it has no 'sample'" in result.err


def test_the_minimum_risk_tree_is_that_of_the_library(arborand, corpus, tmp_path):
    out = tmp_path / "risk.npz"
    scores = tmp_path / "scores.npz"
    assert arborand("best", scores, "--minimum-risk", "-o", out).status == 0
    for (_, heads, log_prob, _), matrix in zip(read_trees(out), corpus.matrices, strict=True):
        distribution = DependencyTrees(matrix)
        np.testing.assert_array_equal(heads, [distribution.minimum_risk_tree()])
        np.testing.assert_array_equal(log_prob, distribution.log_prob(heads))
    result = arborand("best", scores, "--minimum-risk", "-k", 2)
    assert result.status == 2
    assert "one minimum-risk tree" in result.err


# ---- kept heads ---------------------------------------------------------------------------------


def test_every_command_keeps_the_heads_that_are_given(arborand, corpus, tmp_path):
    partial, scores = tmp_path / "partial.conllu", tmp_path / "scores.npz"
    given = keep_some_heads(corpus, partial)
    conditioned = [
        DependencyTrees(matrix).condition(heads=heads)
        for matrix, heads in zip(corpus.matrices, given, strict=True)
    ]
    options = ("--conllu", partial, "--keep-heads")
    for command, name in (("logz", "log_partition"), ("entropy", "entropy")):
        result = arborand(command, scores, *options, "-o", "-", "--format", "jsonl")
        _, *lines = map(json.loads, result.out.splitlines())
        for line, distribution in zip(lines, conditioned, strict=True):
            assert line[name] == getattr(distribution, name)()
    result = arborand("marginals", scores, *options, "-o", "-", "--format", "jsonl")
    _, *lines = map(json.loads, result.out.splitlines())
    for line, distribution in zip(lines, conditioned, strict=True):
        np.testing.assert_array_equal(line["marginals"], distribution.arc_marginals())
    for command in (("best", "-k", 4), ("sample", "-k", 4, "--seed", 2)):
        out = tmp_path / f"{command[0]}.npz"
        assert arborand(command[0], scores, *command[1:], *options, "-o", out).status == 0
        for (_, heads, _, _), kept in zip(read_trees(out), given, strict=True):
            decided = np.array(kept) >= 0
            assert (heads[:, decided] == np.array(kept)[decided]).all()
    assert arborand("show", scores, *options, "-o", tmp_path / "page.html").status == 0
    assert "--keep-heads" in (tmp_path / "page.html").read_text().replace("\\u002d", "-")


def test_a_conflict_names_the_sentence_and_its_words(arborand, corpus, tmp_path):
    text = conllu_of(corpus)  # a chain: every word under the one before
    longest = corpus.sent_ids[int(corpus.lengths.argmax())]
    start = text.index(f"# sent_id = {longest}\n")
    bad = text[:start] + text[start:].replace("\t0\tdep", "\t2\tdep", 1)
    (tmp_path / "bad.conllu").write_text(bad)
    options = ("--conllu", tmp_path / "bad.conllu", "--keep-heads")
    result = arborand("best", tmp_path / "scores.npz", *options)
    assert result.status == 1
    assert f"sentence {longest!r}" in result.err
    assert "heads has the cycle 1 -> 2 -> 1 (1: w1, 2: w2)" in result.err
    skipped = arborand("best", tmp_path / "scores.npz", *options, "--on-error", "skip")
    assert skipped.status == 0
    assert f"{longest}: no tree is left" in skipped.err


@pytest.mark.parametrize("head", ["x", "-1", "1", "99"])
def test_a_head_that_cannot_be_kept_names_the_sentence_and_the_word(
    head, arborand, corpus, tmp_path
):
    longest = int(corpus.lengths.argmax())
    text = conllu_of(corpus)
    start = text.index(f"# sent_id = {corpus.sent_ids[longest]}\n")
    bad = text[:start] + text[start:].replace("\t0\tdep", f"\t{head}\tdep", 1)
    (tmp_path / "bad.conllu").write_text(bad)
    result = arborand(
        "best", tmp_path / "scores.npz", "--conllu", tmp_path / "bad.conllu", "--keep-heads"
    )
    assert result.status == 1
    assert (
        f"sentence {corpus.sent_ids[longest]!r} (number {longest + 1}): word 1 has the HEAD "
        f"{head!r}: expected 0 for the root, or another word from 1 to {corpus.lengths[longest]}"
    ) in result.err


def test_heads_cannot_be_kept_without_a_file_that_gives_them(arborand, corpus, tmp_path):
    for command in ("sample", "best", "marginals", "logz", "entropy"):
        result = arborand(command, tmp_path / "scores.npz", "--keep-heads")
        assert result.status == 2
        assert "there are no heads to keep" in result.err
    assert arborand("show", tmp_path / "scores.npz", "--keep-heads", "-o", "x.html").status == 2
