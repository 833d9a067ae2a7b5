"""The bundled examples: a corpus that is what it says, and a first program that tells the truth."""

import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from arborand import DependencyTrees
from arborand.trees import is_tree
from examples.corpus import make_scores
from examples.first_trees import read_corpus
from tests.processes import TIMEOUT

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "examples" / "corpus"
UNIVERSAL = {
    "ADJ", "ADP", "ADV", "AUX", "DET", "NOUN", "NUM", "PART", "PRON", "PUNCT", "SCONJ", "VERB",
}  # fmt: skip


@pytest.mark.parametrize(("name", "count"), [("sentences", 12), ("choices", 5)])
def test_the_corpus_is_what_conllu_wants(name, count):
    blocks = (CORPUS / f"{name}.conllu").read_text(encoding="utf-8").strip().split("\n\n")
    assert len(blocks) == count
    languages = set()
    for block in blocks:
        lines = block.splitlines()
        comments = dict(line[2:].split(" = ", 1) for line in lines if line.startswith("# "))
        rows = [line.split("\t") for line in lines if not line.startswith("#")]
        languages.add(comments["sent_id"].split("-")[0])
        assert all(len(row) == 10 and all(row) for row in rows)
        assert [row[0] for row in rows] == [str(i + 1) for i in range(len(rows))]
        assert {row[3] for row in rows} <= UNIVERSAL
        heads = [-1, *(int(row[6]) for row in rows)]
        assert is_tree(heads, single_root=True)
        assert all((row[7] == "root") == (row[6] == "0") for row in rows)
        assert all((row[3] == "PUNCT") == (row[7] == "punct") for row in rows)
        text = "".join(row[1] + " " * ("SpaceAfter=No" not in row[9]) for row in rows)
        assert text.strip() == comments["text"]
        extras = [re.search(r"AltHead=(\d+)", row[9]) for row in rows]
        others = {word: int(extra[1]) for word, extra in enumerate(extras, start=1) if extra}
        assert others
        if name == "sentences":  # each word is uncertain by itself
            for word, head in others.items():
                assert is_tree([*heads[:word], head, *heads[word + 1 :]], single_root=True)
        else:  # all together are another reading
            assert is_tree([others.get(j, head) for j, head in enumerate(heads)], single_root=True)
    assert len(languages) >= (10 if name == "sentences" else 2)


@pytest.mark.parametrize("name", make_scores.FILES)
def test_the_scores_of_the_corpus_are_those_its_script_makes(name):
    made = make_scores.make(CORPUS / f"{name}.conllu")
    with np.load(CORPUS / f"{name}.npz", allow_pickle=False) as stored:
        assert set(stored) == set(made)
        for column in stored:
            np.testing.assert_array_equal(stored[column], made[column])
        assert stored["scores"].size == ((stored["lengths"] + 1) ** 2).sum()


def test_the_corpus_is_peaked_but_not_certain():
    sentences = make_scores.read_sentences(CORPUS / "sentences.conllu")
    for sentence, (sent_id, words) in zip(read_corpus(CORPUS), sentences, strict=True):
        assert sentence.sent_id == sent_id
        trees = DependencyTrees(sentence.log_weights)
        annotated = [-1, *(word.head for word in words)]
        probability = math.exp(trees.log_prob(annotated))
        assert 0.3 < probability < 0.8
        draws = trees.sample_without_replacement(50, rng=0)
        assert math.isclose(np.exp(draws.log_prob).max(), probability)  # the likeliest
        marginals = trees.arc_marginals()
        for j, word in enumerate(words, start=1):
            if word.other_head is not None:
                assert marginals[word.other_head, j] > 0.1


def test_in_the_sentences_made_for_it_one_choice_decides_another():
    clicks = followed = 0
    for sentence in read_corpus(CORPUS, "choices"):
        trees = DependencyTrees(sentence.log_weights)
        before = trees.arc_marginals()
        for word in range(1, len(sentence.tokens) + 1):
            second = int(np.argsort(-before[:, word])[1])
            if before[second, word] < 0.05:
                continue
            after = trees.condition(include=[(second, word)]).arc_marginals()
            moved = np.abs(after - before).sum(axis=0) / 2
            moved[word] = 0.0
            clicks += 1
            followed += moved.max() >= 0.1
    assert clicks >= 10
    assert followed >= 0.8 * clicks


def test_the_first_example_runs_and_tells_the_truth(tmp_path):
    path = tmp_path / "deep" / "first.html"
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "first_trees.py", "--page", path],
        capture_output=True,
        encoding="utf-8",
        env={"PYTHONIOENCODING": "utf-8"},
        cwd=tmp_path,
        timeout=TIMEOUT,
        check=True,
    )
    assert done.stderr == ""
    assert str(path) in done.stdout.splitlines()[-1]
    assert path.read_text(encoding="utf-8").count('<section class="sentence') == 17
    rows = re.findall(r"([\d.]+)%  \(± ([\d.]+)%\) +([\d.]+)%", done.stdout)
    assert len(rows) == 15
    for drawn, error, exact in np.array(rows, dtype=float):
        assert abs(drawn - exact) < 5 * error
    first = read_corpus(CORPUS)[0]
    trees = DependencyTrees(first.log_weights)
    assert f"log Z = {float(trees.log_partition()):.3f}" in done.stdout
    assert "She  painted  the  boat   in  the  harbour  with   a   small  brush" in done.stdout
