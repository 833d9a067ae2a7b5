"""CoNLL-U that is written is valid, and gives the same trees when it is read back."""

import re
from dataclasses import replace

import numpy as np
import pytest

from arborand.formats import read_trees
from arborand.formats.conllu import open_annotations, tree_id
from arborand.formats.records import TREES, Rows
from tests.command_line import CORPUS, call, conllu_of, random_corpus, save_rows
from tests.universal_dependencies import violations

SCORES = CORPUS / "sentences.npz"
CONLLU = CORPUS / "sentences.conllu"

# A multiword token, an empty node, an enhanced graph, and a comment of another program.
BLOCK = """\
# newdoc id = d
# sent_id = x-1
# source_sent_id = somewhere else
# text = don't go 50%
1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tdo\tdo\tAUX\t_\tA=B\t3\taux\t3:aux\t_
2\tn't\tnot\tPART\t_\t_\t3\tadvmod\t2.1:dep|3:advmod\t_
2.1\t(gap)\t_\t_\t_\t_\t_\t_\t3:dep\t_
3\tgo\tgo\tVERB\t_\t_\t0\troot:top\t0:root\tX=1|Y=a b

"""


@pytest.fixture
def arborand(monkeypatch, capsysbinary):
    return lambda *arguments: call(monkeypatch, capsysbinary, *arguments)


def written(tmp_path, text, sent_id, heads, *, tokens=None, keeps_relations=True):
    """Write trees of the one sentence of a CoNLL-U file; give back their blocks."""
    annotations = []
    if text is not None:
        (tmp_path / "in.conllu").write_text(text, encoding="utf-8")
        with open_annotations(tmp_path / "in.conllu", by_sent_id=False) as file:
            annotations = [file.find("", 0, len(heads[0]))]
    rows = Rows(
        [sent_id],
        np.array([len(heads[0])], dtype=np.int32),
        np.array([len(heads)]),
        {"log_prob": np.zeros(len(heads))},
        np.ravel(heads).astype(np.int32),
        tokens=[tokens],
        annotations=annotations,
    )
    layout = replace(TREES, keeps_relations=keeps_relations)
    path = save_rows(tmp_path / "out.conllu", "conllu", layout, {}, rows)
    text = path.read_text(encoding="utf-8")
    return text, [block.splitlines() for block in text.strip("\n").split("\n\n")]


# ---- the rules themselves


def test_the_bundled_corpus_breaks_no_rule():
    assert violations(CONLLU.read_text(encoding="utf-8")) == []
    assert violations(BLOCK) == []


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("X=1|Y=a b\n\n", "X=1|Y=a b\n", "one empty line"),
        ("X=1|Y=a b\n\n", "X=1|Y=a b\n\n\n", "one empty line"),
        ("\n1\t", "\r\n1\t", "line feed"),
        ("# sent_id = x-1\n", "", "exactly one '# sent_id"),
        ("# sent_id = x-1\n", "# sent_id = x 1\n", "exactly one '# sent_id"),
        ("# newdoc id = d\n", "# sent_id = x-2\n", "exactly one '# sent_id"),
        ("\tA=B\t", "\t", "ten columns"),
        ("\tA=B\t", "\t\t", "is empty"),
        ("\tA=B\t", "\tA= B\t", "has a space"),
        ("Y=a b", "Y=a  b", "twice"),
        ("1-2\t", "1-3\t", None),
        ("1-2\t", "2-3\t", "multiword token 2-3"),
        ("1-2\t", "1-4\t", "multiword token 1-4"),
        ("1-2\tdon't\t_\t_\t_\t_\t_", "1-2\tdon't\t_\t_\t_\t_\t3", "HEAD of 1-2"),
        ("2.1\t", "2.2\t", "empty node 2.2"),
        ("2.1\t", "x\t", "not an ID"),
        ("\n3\tgo", "\n4\tgo", "numbered"),
        ("\t3\taux\t", "\t_\taux\t", "HEAD of word 1"),
        ("\t3\taux\t", "\t4\taux\t", "HEAD of word 1"),
        ("\t3\taux\t", "\t1\taux\t", "HEAD of word 1"),
        ("\t3\taux\t", "\t0\taux\t", "HEAD 0 and DEPREL aux"),
        ("\t3\taux\t", "\t0\troot\t", "2 words are roots"),
        ("\t3\taux\t", "\t3\troot\t", "HEAD 3 and DEPREL root"),
        ("\t0\troot:top\t", "\t1\tdep\t", "does not lead to the root"),
        ("\t3:aux\t", "\t_\t", "does not reach ['1']"),
        ("\t3:aux\t", "\t5:aux\t", "DEPS of 1 is"),
        ("\t3:aux\t", "\t3:root\t", "has a head 0 that is not a root"),
        ("2.1:dep|3:advmod", "3:advmod|2.1:dep", "not sorted"),
    ],
)
def test_what_breaks_a_rule_is_found(before, after, message):
    assert BLOCK.count(before) == 1
    found = violations(BLOCK.replace(before, after))
    if message is None:
        assert found == []
    else:
        assert any(message in what for what in found), found


def test_the_same_sent_id_twice_is_found():
    assert any("not unique" in what for what in violations(BLOCK + BLOCK))


# ---- one sentence


def test_relations_are_kept_with_their_heads_and_blank_with_others(tmp_path):
    text, (same, other) = written(tmp_path, BLOCK, "x-1", [[3, 3, 0], [3, 0, 2]])
    assert violations(text) == []
    assert same[-5:] == BLOCK.strip("\n").split("\n")[-5:]
    assert [line.split("\t")[6:9] for line in other[-4:]] == [
        ["_", "_", "_"],  # the multiword token
        ["3", "aux", "_"],
        ["0", "root", "_"],
        ["2", "_", "_"],
    ]
    source = [line for line in BLOCK.strip("\n").split("\n")[-5:] if not line.startswith("2.1")]
    for line, before in zip(other[-4:], source, strict=True):
        columns, original = line.split("\t"), before.split("\t")
        assert columns[:6] + columns[9:] == original[:6] + original[9:]


def test_without_labels_no_relation_is_known(tmp_path):
    # Relations of gold, kept where the head is right, would make LAS equal to UAS.
    trees = [[3, 3, 0], [3, 0, 2]]
    text, blocks = written(tmp_path, BLOCK, "x-1", trees, keeps_relations=False)
    assert violations(text) == []
    for block, heads in zip(blocks, trees, strict=True):
        words = [line.split("\t") for line in block if re.match(r"[0-9]+\t", line)]
        assert [int(word[6]) for word in words] == heads
        assert [word[7] for word in words] == ["root" if head == 0 else "_" for head in heads]
        assert {word[8] for word in words} == {"_"}


@pytest.mark.parametrize(
    ("head", "relation", "heads", "expected"),
    [
        ("0", "_", [0, 1], "0\troot"),
        ("0", "dep", [0, 1], "0\troot"),
        ("0", "root:x", [0, 1], "0\troot:x"),
        ("2", "root", [2, 0], "2\t_"),
        ("2", "nsubj", [2, 0], "2\tnsubj"),
        ("_", "nsubj", [2, 0], "2\t_"),
        ("seven", "nsubj", [2, 0], "2\t_"),
        ("9999999999", "", [2, 0], "2\t_"),
    ],
)
def test_head_0_is_written_exactly_where_the_relation_is_root(
    head, relation, heads, expected, tmp_path
):
    words = (f"1\tx\t_\t_\t_\t_\t{head}\t{relation}\t_\t_", "2\ty\t_\t_\t_\t_\t1\tdep\t_\t_")
    block = "\n".join(["# sent_id = a", *words]) + "\n\n"
    text, (lines,) = written(tmp_path, block, "a", [heads])
    assert violations(text) == []
    assert f"\t{expected}\t" in lines[-2]


def test_later_trees_have_ids_of_their_own_and_name_their_sentence(tmp_path):
    _, (first, second) = written(tmp_path, BLOCK, "x-1", [[3, 3, 0], [3, 0, 2]])
    assert "# sent_id = x-1" in first
    assert "# source_sent_id = somewhere else" in first  # not ours: kept
    assert "# sent_id = x-1#2" in second
    assert [line for line in second if "source" in line] == ["# source_sent_id = x-1"]
    assert "# newdoc id = d" not in second
    [trees] = read_trees(tmp_path / "out.conllu")
    assert (trees.sent_id, len(trees.heads)) == ("x-1", 2)


SENT_IDS = ["a", "", "a#2", "a#02", "#1", "a#2#1", " a\tb\n", "x#", "# sent_id = y", "50%"]


@pytest.mark.parametrize("sent_id", SENT_IDS)
def test_any_id_comes_back_and_finds_its_first_tree(sent_id, tmp_path):
    heads = [[0, 1], [2, 0], [0, 1]]
    written(tmp_path, None, sent_id, heads, tokens=["x", "y"])
    [trees] = read_trees(tmp_path / "out.conllu")
    assert (trees.sent_id, trees.heads[:, 1:].tolist()) == (sent_id, heads)
    with open_annotations(tmp_path / "out.conllu", by_sent_id=True) as file:
        assert file.find(sent_id, 0, 2).heads == heads[0]


def test_no_two_trees_have_the_same_id():
    names = [tree_id(sent_id, number) for sent_id in SENT_IDS for number in (1, 2, 10)]
    assert len({*names}) == len(names)


def test_words_without_annotation_are_columns_and_text(tmp_path):
    text, (lines,) = written(tmp_path, None, "a", [[0, 1, 1]], tokens=[" x  y ", "\t", "50%"])
    assert violations(text) == []
    assert "# text = x y _ 50%" in lines
    assert [line.split("\t")[1] for line in lines[-3:]] == ["x y", "_", "50%"]


# ---- every command


@pytest.mark.parametrize(
    ("command", "single_root"),
    [
        (("sample", SCORES, "-k", 20, "--seed", 1), True),
        (("sample", SCORES, "-k", 20, "--seed", 1, "--trees", "spanning"), False),
        (("sample", SCORES, "-k", 5, "--seed", 1, "--without-replacement"), True),
        (("sample", SCORES, "--seed", 1, "--keep-heads"), True),
        (("best", SCORES, "-k", 30), True),
        (("best", SCORES, "--minimum-risk"), True),
        (("best", SCORES, "-k", 3, "--keep-heads"), True),
    ],
)
def test_every_command_writes_valid_conllu(command, single_root, arborand, tmp_path):
    lines = CONLLU.read_text(encoding="utf-8").split("\n")
    for i, line in enumerate(lines):  # every fourth head is open
        columns = line.split("\t")
        if "--keep-heads" in command and columns[0].isdigit() and int(columns[0]) % 4 == 0:
            columns[6] = "_"
            lines[i] = "\t".join(columns)
    (tmp_path / "in.conllu").write_text("\n".join(lines), encoding="utf-8")
    annotated = (*command, "--conllu", tmp_path / "in.conllu")
    for name, arguments in (("with", annotated), ("without", command)):
        if name == "without" and "--keep-heads" in command:
            continue
        out, as_json = tmp_path / f"{name}.conllu", tmp_path / f"{name}.jsonl"
        for path in (out, as_json):
            result = arborand(*arguments, "-o", path)
            assert (result.status, result.err) == (0, "")
        text = out.read_text(encoding="utf-8")
        assert violations(text, single_root=single_root) == []
        for ours, theirs in zip(read_trees(out), read_trees(as_json), strict=True):
            assert ours.sent_id == theirs.sent_id
            np.testing.assert_array_equal(ours.heads, theirs.heads)
            np.testing.assert_array_equal(ours.log_prob, theirs.log_prob)


def test_converted_trees_are_valid_conllu_too(arborand, tmp_path):
    corpus = random_corpus(30)
    scores = corpus.save(tmp_path / "scores.npz")
    # No spaces in its text, and the first word of each sentence has the right relation.
    source = re.sub("\t0\tdep\t", "\t0\troot\t", conllu_of(corpus))
    (tmp_path / "in.conllu").write_text(source)
    assert violations(source) == []
    arborand("sample", scores, "-k", 4, "--seed", 1, "-o", tmp_path / "a.parquet")
    for name, options in (("b", ("--conllu", tmp_path / "in.conllu")), ("c", ())):
        out = tmp_path / f"{name}.conllu"
        assert arborand("convert", tmp_path / "a.parquet", out, *options).status == 0
        assert violations(out.read_text()) == []
        again = tmp_path / f"{name}2.conllu"
        assert arborand("convert", out, again).status == 0
        assert violations(again.read_text()) == []
        for ours, theirs in zip(read_trees(again), read_trees(tmp_path / "a.parquet"), strict=True):
            assert ours.sent_id == theirs.sent_id
            np.testing.assert_array_equal(ours.heads, theirs.heads)
