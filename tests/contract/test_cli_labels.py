"""Labels on the command line: HEAD and DEPREL, marginals, entropy, LAS."""

import json
from itertools import pairwise

import numpy as np
import pytest

from arborand import DependencyTrees, LabelledTrees
from arborand.formats import read_scores, read_trees, write_scores
from tests.command_line import call
from tests.universal_dependencies import violations

NAMES = ["nsubj", "root", "obj", "obl:tmod"]
LENGTHS = [4, 1, 6, 2, 9]
WORDS = [[f"w{i}" for i in range(n)] for n in LENGTHS]


@pytest.fixture
def arborand(monkeypatch, capsysbinary):
    return lambda *arguments: call(monkeypatch, capsysbinary, *map(str, arguments))


@pytest.fixture
def scores(tmp_path):
    """Write labelled scores; return their file."""
    rng = np.random.default_rng(0)
    path = tmp_path / "scores.npz"
    write_scores(
        path,
        [2 * rng.normal(size=(n + 1, n + 1)) for n in LENGTHS],
        sent_ids=[f"s-{n}" for n in LENGTHS],
        words=WORDS,
        label_scores=[3 * rng.normal(size=(n + 1, n + 1, 4)) for n in LENGTHS],
        label_names=NAMES,
    )
    return path


def distributions(path, kind=DependencyTrees):
    """Make the distributions that the commands are about: root belongs to arcs from the root."""
    allowed = np.array([[True, False, True, True], [False, True, False, False]])
    made = []
    for sentence in read_scores(path):
        is_root = (np.arange(len(sentence.log_weights)) == 0).astype(int)
        label_scores = np.where(allowed[is_root][:, None], sentence.label_scores, -np.inf)
        trees = kind(sentence.log_weights)
        made.append(LabelledTrees.from_trees(trees, label_scores, labels=NAMES))
    return made


def named(trees):
    """List the heads and relations of read trees."""
    return [
        [
            ([-1, *tree[1:]], names)
            for tree, names in zip(one.heads.tolist(), one.labels, strict=True)
        ]
        for one in trees
    ]


def expected(found, d):
    return [
        (heads.tolist(), [d.labels[label] for label in labels[1:]])
        for heads, labels in zip(found.heads, found.labels, strict=True)
    ]


@pytest.mark.parametrize("ending", ["conllu", "jsonl", "parquet", "npz"])
def test_best_trees_have_relations_in_every_format(arborand, scores, ending, tmp_path):
    out = tmp_path / f"best.{ending}"
    assert arborand("best", scores, "-k", 5, "-o", out).status == 0
    found = list(read_trees(out))
    for one, d in zip(found, distributions(scores), strict=True):
        best = d.best_trees(5)
        assert named([one]) == [expected(best, d)]
        np.testing.assert_allclose(one.log_prob, best.log_prob, rtol=1e-12)
    if ending == "conllu":
        text = out.read_text()
        assert violations(text) == []
    for other in ("jsonl", "conllu", "npz", "parquet"):
        again = tmp_path / f"again.{other}"
        assert arborand("convert", out, again).status == 0
        assert named(read_trees(again)) == named(found)


@pytest.mark.parametrize("options", [[], ["--without-replacement"], ["--projective"]])
def test_draws_have_relations(arborand, scores, options, tmp_path):
    from arborand import ProjectiveDependencyTrees

    out = tmp_path / "drawn.jsonl"
    command = ["sample", scores, "-k", 20, "--seed", 3, "-o", out]
    assert arborand(*command, *options).status == 0
    kind = ProjectiveDependencyTrees if "--projective" in options else DependencyTrees
    for index, (one, d) in enumerate(
        zip(read_trees(out), distributions(scores, kind), strict=True)
    ):
        if "--without-replacement" in options:
            found = d.sample_without_replacement(20, rng=3, first_graph=index)
            assert named([one]) == [expected(found, d)]
        else:
            heads, labels = d.sample(20, rng=3, first_graph=index)
            assert one.heads.tolist() == heads.tolist()
            assert one.labels == [[NAMES[label] for label in row[1:]] for row in labels]
            np.testing.assert_allclose(one.log_prob, d.log_prob(heads, labels), rtol=1e-12)


def test_heads_are_those_drawn_without_labels(arborand, scores, tmp_path):
    bare = tmp_path / "bare.npz"
    sentences = list(read_scores(scores))
    write_scores(bare, [one.log_weights for one in sentences], words=WORDS)
    for source in (scores, bare):
        arborand("sample", source, "-k", 9, "--seed", 1, "-o", f"{source}.jsonl")
    for ours, theirs in zip(
        read_trees(f"{scores}.jsonl"), read_trees(f"{bare}.jsonl"), strict=True
    ):
        np.testing.assert_array_equal(ours.heads, theirs.heads)
        assert theirs.labels is None
    out = tmp_path / "bare.conllu"
    arborand("best", bare, "-o", out)
    relations = {line.split("\t")[7] for line in out.read_text().splitlines() if "\t" in line}
    assert relations == {"root", "_"}


def test_jobs_have_relations_whatever_the_parts(arborand, scores, tmp_path):
    arborand("sample", scores, "-k", 3, "--seed", 1, "-o", tmp_path / "whole.parquet")
    assert (
        arborand(
            "sample",
            scores,
            "-k",
            3,
            "--seed",
            1,
            "--part-sentences",
            2,
            "-o",
            f"{tmp_path}/parts/",
        ).status
        == 0
    )
    parts = [
        tree
        for part in sorted((tmp_path / "parts").glob("*.parquet"))
        for tree in named(read_trees(part))
    ]
    assert len(list((tmp_path / "parts").glob("*.parquet"))) == 3
    assert parts == named(read_trees(tmp_path / "whole.parquet"))


def test_the_tree_of_least_risk_has_relations(arborand, scores, tmp_path):
    out = tmp_path / "risk.jsonl"
    arborand("best", scores, "--minimum-risk", "-o", out)
    for one, d in zip(read_trees(out), distributions(scores), strict=True):
        heads, labels = d.minimum_risk_tree()
        assert one.heads[0].tolist() == heads.tolist()
        assert one.labels[0] == [NAMES[label] for label in labels[1:]]


def test_marginals_and_entropy_know_labels(arborand, scores, tmp_path):
    arborand("marginals", scores, "-o", tmp_path / "m.npz")
    arborand("marginals", scores, "-o", tmp_path / "m.jsonl")
    arborand("entropy", scores, "-o", tmp_path / "e.jsonl")
    arrays = np.load(tmp_path / "m.npz")
    assert arrays["label_names"].tolist() == NAMES
    lines = (tmp_path / "m.jsonl").read_text().splitlines()[1:]
    entropies = (tmp_path / "e.jsonl").read_text().splitlines()[1:]
    start = 0
    for line, entropy, d in zip(lines, entropies, distributions(scores), strict=True):
        marginals = d.label_marginals()
        size = len(marginals)
        block = arrays["label_marginals"][start : start + size**2].reshape(marginals.shape)
        np.testing.assert_allclose(block, marginals, rtol=1e-12)
        record = json.loads(line)
        np.testing.assert_allclose(record["label_marginals"], marginals, rtol=1e-12)
        assert record["label_names"] == NAMES
        record = json.loads(entropy)
        np.testing.assert_allclose(record["entropy"], d.entropy(), rtol=1e-12)
        best = d.log_prob(*d.best_tree())
        np.testing.assert_allclose(record["best_log_prob"], best, rtol=1e-12)
        start += size**2


def test_converted_scores_keep_their_labels(arborand, scores, tmp_path):
    paths = [
        scores,
        *(tmp_path / f"again.{ending}" for ending in ("parquet", "safetensors", "npz")),
    ]
    for source, target in pairwise(paths):
        assert arborand("convert", source, target).status == 0
        for ours, theirs in zip(read_scores(target), read_scores(scores), strict=True):
            np.testing.assert_array_equal(ours.label_scores, theirs.label_scores)
            assert (ours.label_names, ours.tokens) == (theirs.label_names, theirs.tokens)


def test_one_label_per_arc_is_enough_for_relations(arborand, scores, tmp_path):
    path = tmp_path / "one.npz"
    sentences = list(read_scores(scores))
    labels = [one.label_scores[..., [0, 2, 3]].argmax(axis=-1) for one in sentences]
    write_scores(
        path, [s.log_weights for s in sentences], labels=labels, label_names=["nsubj", "obj", "x"]
    )
    out = tmp_path / "one.conllu"
    assert arborand("best", path, "-o", out).status == 0
    assert violations(out.read_text()) == []
    for one, sentence, arcs in zip(read_trees(out), sentences, labels, strict=True):
        heads = DependencyTrees(sentence.log_weights).best_tree()
        assert one.heads[0].tolist() == heads.tolist()
        names = ["nsubj", "obj", "x"]
        wanted = ["root" if h == 0 else names[arcs[h, j]] for j, h in enumerate(heads) if j]
        assert one.labels[0] == wanted


def test_an_arc_without_a_label_is_named(arborand, tmp_path):
    path = tmp_path / "s.npz"
    write_scores(path, [np.zeros((3, 3))], labels=[-np.ones((3, 3), int)], label_names=["a"])
    result = arborand("best", path)
    assert result.status == 1
    assert "give at least one of its labels a finite score" in " ".join(result.err.split())


def test_the_table_shows_relations(arborand, scores):
    shown = arborand("best", scores, "-k", 2, "--sent-id", "s-4").out.decode()
    d = distributions(scores)[0]
    _, labels = d.best_tree()
    assert f"w0 {NAMES[labels[1]]}" in shown
    assert "the same as tree 1" not in shown


def gold_of(path, change):
    """Write gold trees: the best ones, some of them changed."""
    blocks = []
    for d, n, words in zip(distributions(path), LENGTHS, WORDS, strict=True):
        heads, labels = d.best_tree()
        lines = [f"# sent_id = s-{n}"]
        for j in range(1, n + 1):
            relation = change(n, j, NAMES[labels[j]])
            lines.append(f"{j}\t{words[j - 1]}\t_\t_\t_\t_\t{heads[j]}\t{relation}\t_\t_")
        blocks.append("\n".join(lines) + "\n\n")
    return "".join(blocks)


def test_evaluate_reports_las(arborand, scores, tmp_path):
    gold = tmp_path / "gold.conllu"
    # Everything is right, but the relations of all second words, which the scores do not know.
    gold.write_text(gold_of(scores, lambda n, j, name: "vocative" if j == 2 else name))
    out = tmp_path / "e.json"
    result = arborand("evaluate", scores, "--conllu", gold, "-o", out)
    assert result.status == 0
    assert "no label for 1 of gold's relations" in result.err
    assert "vocative" in result.err
    found = json.loads(out.read_text())
    assert found["unknown_relations"] == {"vocative": 4}
    assert found["labelled"] == {
        "num_words": 22,
        "unlabelled_attachment_score": 1.0,
        "labelled_attachment_score": 18 / 22,
    }
    by_relation = {one["relation"]: one for one in found["by_relation"]}
    assert by_relation["vocative"]["labelled_attachment_score"] == 0
    assert sum(one["num_words"] for one in by_relation.values()) == 22
    assert all(
        one["labelled_attachment_score"] == 1
        for name, one in by_relation.items()
        if name != "vocative"
    )
    [by_length] = found["by_length"]
    assert by_length == {"length": "1-10", **found["labelled"]}
    shown = result.out.decode()
    assert "LAS" in shown
    assert "81.8 %" in shown


def test_evaluate_without_labels_has_uas_by_relation(arborand, scores, tmp_path):
    bare = tmp_path / "bare.npz"
    ids = [f"s-{n}" for n in LENGTHS]
    write_scores(bare, [one.log_weights for one in read_scores(scores)], sent_ids=ids)
    gold = tmp_path / "gold.conllu"
    gold.write_text(gold_of(scores, lambda n, j, name: name))
    out = tmp_path / "e.json"
    result = arborand("evaluate", bare, "--conllu", gold, "-o", out)
    assert result.status == 0
    assert "LAS" not in result.out.decode()
    found = json.loads(out.read_text())
    assert found["labelled"]["labelled_attachment_score"] is None
    assert found["unknown_relations"] == {}


def test_relations_to_keep_need_a_file(arborand, scores):
    for command in (["best", scores], ["convert", scores, "x.npz"]):
        result = arborand(*command, "--relations", "keep")
        assert result.status == 2
        assert "there are no relations to keep" in " ".join(result.err.split())
