"""Scores in, trees out: every format, every error, and bytes that do not depend on portions."""

from __future__ import annotations

import hashlib
import itertools
import json
import operator
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.dataset
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

import arborand
from arborand.formats import (
    FormatError,
    OutputError,
    SentenceError,
    outputs,
    read_scores,
    read_trees,
)
from arborand.formats import records as runs
from arborand.formats import scores as scores_files
from arborand.formats.conllu import open_annotations
from arborand.formats.inputs import open_input
from arborand.formats.outputs import open_writer, output_format
from arborand.formats.records import ENTROPY, MARGINALS, TREES, Layout, Rows, scores_layout
from arborand.formats.scores import open_scores
from tests.command_line import Corpus, conllu_of, random_corpus, save_rows

PARQUET = Path(__file__).parents[1] / "parquet"

# ---- scores in


def write_scores(corpus: Corpus, kind: str, folder: Path) -> Path:
    ids = json.dumps(corpus.sent_ids)
    flat = {"lengths": corpus.lengths, "scores": corpus.flat}
    padded = {"lengths": corpus.lengths, "log_weights": corpus.padded}
    path = folder / f"{kind.replace(' ', '_')}"
    if kind == "ragged npz":
        np.savez(path.with_suffix(".npz"), sent_ids=corpus.sent_ids, **flat)
    elif kind == "compressed npz":
        np.savez_compressed(path.with_suffix(".npz"), sent_ids=corpus.sent_ids, **flat)
    elif kind == "padded npz":
        np.savez(path.with_suffix(".npz"), sent_ids=corpus.sent_ids, **padded)
    elif kind == "ragged safetensors":
        save_file(flat, path.with_suffix(".safetensors"), {"sent_ids": ids})
    elif kind == "padded safetensors":
        save_file(padded, path.with_suffix(".safetensors"), {"sent_ids": ids})
    else:
        assert kind == "parquet"
        columns = {
            "sent_id": corpus.sent_ids,
            "length": corpus.lengths,
            "log_weights": [matrix.reshape(-1) for matrix in corpus.matrices],
        }
        table = pyarrow.table(columns)
        pyarrow.parquet.write_table(table, path.with_suffix(".parquet"), row_group_size=7)
    [answer] = folder.glob(f"{path.name}.*")
    return answer


KINDS = [
    "ragged npz",
    "compressed npz",
    "padded npz",
    "ragged safetensors",
    "padded safetensors",
    "parquet",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("run_values", [1, 300, 10**9])
def test_scores_are_read_as_they_were_written(kind, run_values, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "RUN_VALUES", run_values)
    corpus = random_corpus(25)
    read = list(read_scores(write_scores(corpus, kind, tmp_path)))
    assert [sentence.sent_id for sentence in read] == corpus.sent_ids
    for sentence, matrix in zip(read, corpus.matrices, strict=True):
        np.testing.assert_array_equal(sentence.log_weights, matrix)


@pytest.mark.parametrize("kind", KINDS)
def test_scores_can_be_read_from_any_sentence_on(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "RUN_VALUES", 300)
    monkeypatch.setattr(scores_files, "PIECE", 10)
    corpus = random_corpus(25)
    with open_scores(write_scores(corpus, kind, tmp_path)) as scores:
        for first in (0, 1, 7, 10, 11, 20, 24, 25):
            parts = list(scores.runs(first))
            assert [i for part in parts for i in part.sent_ids] == corpus.sent_ids[first:]
            firsts = np.cumsum([first, *(len(part) for part in parts)])[:-1]
            assert [part.first for part in parts] == firsts.tolist()
            expected = [m.reshape(-1) for m in corpus.matrices[first:]]
            found = [part.scores for part in parts]
            np.testing.assert_array_equal(
                np.concatenate([[], *found]), np.concatenate([[], *expected])
            )


@pytest.mark.parametrize("kind", ["ragged npz", "compressed npz", "padded npz"])
def test_what_comes_before_a_part_is_passed_over(kind, tmp_path, monkeypatch):
    corpus, read_ids, num_read = random_corpus(40), scores_files.read_ids, []

    def counted(stream, count, *where):
        num_read.append(count)
        return read_ids(stream, count, *where)

    monkeypatch.setattr(scores_files, "PIECE", 8)
    monkeypatch.setattr(scores_files, "read_ids", counted)
    with open_scores(write_scores(corpus, kind, tmp_path)) as scores:
        parts = list(scores.runs(32))
    assert [i for part in parts for i in part.sent_ids] == corpus.sent_ids[32:]
    assert num_read == [8]


def test_runs_are_bounded_and_as_long_as_the_bound_allows(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "RUN_VALUES", 2000)
    corpus = random_corpus(60)
    with open_scores(corpus.save(tmp_path / "scores.npz")) as scores:
        parts = list(scores.runs(num_trees=10))
    assert len(parts) > 5
    for part, following in zip(parts, [*parts[1:], None], strict=True):
        size = part.lengths.max() + 1
        assert len(part) == 1 or len(part) * size * (size + 10) <= 2000
        if following is not None:
            size = max(size, following.lengths[0] + 1)
            assert (len(part) + 1) * size * (size + 10) > 2000


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4", "i4", "u1"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_single_matrix_may_have_any_real_type_and_order(dtype, order, tmp_path):
    matrix = np.asarray(np.arange(16).reshape(4, 4), dtype=dtype, order=order)
    np.save(tmp_path / "one.npy", matrix)
    [sentence] = read_scores(tmp_path / "one.npy")
    assert sentence.sent_id == "1"
    np.testing.assert_array_equal(sentence.log_weights, matrix)


def test_a_stack_of_matrices_is_a_corpus_without_ids(tmp_path):
    stack = np.random.default_rng(0).normal(size=(5, 4, 4))
    np.save(tmp_path / "stack.npy", stack)
    read = list(read_scores(tmp_path / "stack.npy"))
    assert [sentence.sent_id for sentence in read] == ["1", "2", "3", "4", "5"]
    np.testing.assert_array_equal([sentence.log_weights for sentence in read], stack)


def test_parquet_may_carry_tokens_and_leave_out_lengths_and_ids(tmp_path):
    table = pyarrow.table({"log_weights": [np.zeros(4), np.ones(9)], "tokens": [["a"], ["b", "c"]]})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    first, second = read_scores(tmp_path / "t.parquet")
    assert (first.sent_id, first.tokens) == ("1", ["a"])
    assert (second.log_weights.shape, second.tokens) == ((3, 3), ["b", "c"])


def test_the_kind_of_a_file_is_told_by_its_bytes_not_its_name(tmp_path):
    corpus = random_corpus(3)
    for kind in KINDS:
        path = write_scores(corpus, kind, tmp_path)
        assert len(list(read_scores(path.rename(tmp_path / "renamed")))) == 3


# ---- scores that are wrong


def saved(folder: Path, **arrays: object) -> Path:
    np.savez(folder / "bad.npz", **arrays)
    return folder / "bad.npz"


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"lengths": [1]}, "neither 'scores'.*nor 'log_weights'.*holds 'lengths'"),
        ({"scores": np.zeros(4)}, "lacks 'lengths'"),
        ({"scores": np.zeros(5), "lengths": [1]}, "require 4 scores.* there are 5"),
        ({"scores": np.zeros((2, 2)), "lengths": [1]}, "expected one axis, .* 'log_weights'"),
        ({"scores": np.zeros((3, 6, 6)), "lengths": [5, 5, 5]}, "name .* 'log_weights'"),
        ({"scores": np.zeros((3, 6, 6))}, "name .* 'log_weights'"),
        ({"scores": np.zeros(4), "lengths": [-2]}, r"lengths\[0\] is -2"),
        ({"scores": np.zeros(4), "lengths": [1.0]}, "list of integers"),
        ({"scores": np.zeros(4, dtype=complex), "lengths": [1]}, "must be numbers"),
        (
            {"scores": np.zeros(4), "lengths": [1], "sent_ids": ["a", "b"]},
            "sent_ids has 2 entries, .* require 1",
        ),
        ({"log_weights": np.zeros((2, 3, 4)), "lengths": [1, 1]}, r"shape \(2, 3, 4\)"),
        (
            {"log_weights": np.zeros((2, 3, 3)), "lengths": [1]},
            "lengths has 1 entries, .* require 2",
        ),
    ],
)
def test_arrays_that_do_not_fit_are_named(arrays, message, tmp_path):
    with pytest.raises(FormatError, match=message):
        list(read_scores(saved(tmp_path, **arrays)))


def test_pickles_are_refused_in_every_disguise(tmp_path):
    objects = np.array([{}, {}], dtype=object)
    np.save(tmp_path / "object.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "object.npz", scores=objects, lengths=[1])
    (tmp_path / "plain.pkl").write_bytes(pickle.dumps([1, 2]))
    with zipfile.ZipFile(tmp_path / "torch.pt", "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(1))
    for name in ("object.npy", "object.npz", "plain.pkl", "torch.pt"):
        with pytest.raises(FormatError, match=r"pickle.* refused"):
            list(read_scores(tmp_path / name))


@pytest.mark.parametrize("kind", [*KINDS, "npy"])
def test_a_truncated_file_is_never_read_to_its_end(kind, tmp_path):
    corpus = random_corpus(40)
    if kind == "npy":
        path = tmp_path / "stack.npy"
        np.save(path, corpus.padded)
    else:
        path = write_scores(corpus, kind, tmp_path)
    whole = path.read_bytes()
    for size in (0, 3, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(FormatError, match=r"truncated|empty|not a file of scores|header"):
            list(read_scores(path))


@pytest.mark.parametrize("kind", ["ragged npz", "compressed npz"])
def test_a_flipped_bit_is_noticed(kind, tmp_path):
    path = write_scores(random_corpus(40), kind, tmp_path)
    damaged = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        damaged[archive.getinfo("scores.npy").header_offset + 2000] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(FormatError, match="scores is truncated or damaged"):
        list(read_scores(path))


def test_an_array_that_goes_on_after_its_end_is_noticed(tmp_path):
    path = write_scores(random_corpus(5), "ragged npz", tmp_path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content + b"?" * (name == "scores.npy"))
    with pytest.raises(FormatError, match="scores has bytes after its last number"):
        list(read_scores(path))


def test_files_that_are_something_else_are_named(tmp_path):
    (tmp_path / "text").write_text("hello")
    (tmp_path / "folder").mkdir()
    np.save(tmp_path / "vector.npy", np.zeros(3))
    np.save(tmp_path / "fortran.npy", np.asfortranarray(np.zeros((2, 3, 3))))
    pyarrow.parquet.write_table(pyarrow.table({"x": [1]}), tmp_path / "x.parquet")
    nested = pyarrow.table({"log_weights": [[[0.0, 1.0], [2.0, 3.0]]]})
    pyarrow.parquet.write_table(nested, tmp_path / "nested.parquet")
    for name, message in [
        ("text", "text is not a file of scores"),
        ("folder", "folder cannot be read: Is a directory"),
        ("missing", "missing cannot be read: No such file"),
        ("vector.npy", r"shape \(3,\)"),
        ("fortran.npy", "Fortran order"),
        ("x.parquet", "lacks the column 'log_weights'; it holds 'x'"),
        ("nested.parquet", "flat lists of numbers"),
    ]:
        with pytest.raises(FormatError, match=message):
            list(read_scores(tmp_path / name))


def test_a_type_that_numpy_does_not_know_is_named(tmp_path):
    header = json.dumps(
        {
            "lengths": {"dtype": "I32", "shape": [1], "data_offsets": [0, 4]},
            "scores": {"dtype": "BF16", "shape": [4], "data_offsets": [4, 12]},
        }
    ).encode()
    content = len(header).to_bytes(8, "little") + header + bytes([1, 0, 0, 0]) + bytes(8)
    (tmp_path / "b.safetensors").write_bytes(content)
    with pytest.raises(FormatError, match=r"BF16.*save it as float32"):
        list(read_scores(tmp_path / "b.safetensors"))


def test_one_wrong_sentence_is_a_fault_and_leaves_the_others_readable(tmp_path):
    ragged = saved(tmp_path, lengths=[1, 0, 2], scores=np.arange(14.0))
    with open_scores(ragged) as scores:
        [run] = scores.runs()
    assert run.faults == {1: "it has no words (its length is 0)"}
    last = list(run.one_by_one())[2]
    np.testing.assert_array_equal(last.scores, np.arange(5.0, 14.0))

    padded = saved(tmp_path, lengths=[1, 7, 2], log_weights=np.arange(27.0).reshape(3, 3, 3))
    with open_scores(padded) as scores:
        [run] = scores.runs()
    assert list(run.faults) == [1]
    assert "length is 7" in run.faults[1]

    rows = {
        "sent_id": ["a", "b", "c", "d", "e"],
        "length": [1, 2, None, 1, 1],
        "log_weights": [np.zeros(4), np.zeros(8), np.zeros(4), None, np.ones(4)],
        "tokens": [["x"], ["x", "y"], ["x"], ["x"], ["x", "y"]],
    }
    pyarrow.parquet.write_table(pyarrow.table(rows), tmp_path / "rows.parquet")
    with open_scores(tmp_path / "rows.parquet") as scores:
        [run] = scores.runs()
    assert list(run.faults) == [1, 2, 3, 4]
    assert "length is 2, but its log_weights hold 8" in run.faults[1]
    assert "1 words, but 2 tokens" in run.faults[4]
    with pytest.raises(SentenceError, match=r"sentence 'b' \(number 2\)") as caught:
        list(read_scores(tmp_path / "rows.parquet"))
    assert (caught.value.sent_id, caught.value.index) == ("b", 1)
    assert pickle.loads(pickle.dumps(caught.value)).reason == caught.value.reason


# ---- CoNLL-U

BLOCK = """\
# newdoc id = d
# sent_id = x-1
# text = don't go 50%
1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tdo\tdo\tAUX\t_\tA=B\t3\taux\t3:aux\t_
2\tn't\tnot\tPART\t_\t_\t3\tadvmod\t_\t_
2.1\t(gap)\t_\t_\t_\t_\t_\t_\t3:dep\t_
3\tgo\tgo\tVERB\t_\t_\t0\troot\t0:root\tX=1|Y=a  b
"""


def trees_of(sent_ids, lengths, heads, log_prob, **others):
    counts = np.array([len(h) for h in heads])
    values = np.concatenate([np.ravel(h) for h in heads]).astype(np.int32)
    return Rows(
        sent_ids,
        np.array(lengths, dtype=np.int32),
        counts,
        {"log_prob": np.array(log_prob, dtype=np.float64)},
        values,
        **others,
    )


def test_conllu_keeps_comments_and_fills_heads(tmp_path):
    (tmp_path / "in.conllu").write_text(BLOCK + "\n")
    with open_annotations(tmp_path / "in.conllu", by_sent_id=True) as file:
        annotation = file.find("x-1", 0, 3)
    assert annotation.tokens == ["do", "n't", "go"]
    rows = trees_of(["x-1"], [3], [[[2, 0, 1], [3, 3, 0]]], [-0.5, -1.25], annotations=[annotation])
    save_rows(tmp_path / "out.conllu", "conllu", TREES, {"seed": 1}, rows)
    first, second, _ = (tmp_path / "out.conllu").read_text().split("\n\n")
    assert first.splitlines()[:6] == [
        '# arborand = {"seed": 1}',
        "# newdoc id = d",
        "# sent_id = x-1",
        "# sample = 1",
        "# log_prob = -0.5",
        "# text = don't go 50%",
    ]
    assert second.splitlines()[:5] == [
        "# sent_id = x-1#2",
        "# source_sent_id = x-1",
        "# sample = 2",
        "# log_prob = -1.25",
        "# text = don't go 50%",
    ]
    for block, heads in ((first, "201"), (second, "330")):
        rows = [line.split("\t") for line in block.splitlines() if line[0] != "#"]
        assert "".join(row[6] for row in rows if row[0].isdigit()) == heads
    [trees] = read_trees(tmp_path / "out.conllu")
    assert trees.heads.tolist() == [[-1, 2, 0, 1], [-1, 3, 3, 0]]
    assert trees.log_prob.tolist() == [-0.5, -1.25]


def test_sentences_are_found_by_id_in_any_order_and_by_place(tmp_path):
    corpus = random_corpus(9)
    path = tmp_path / "c.conllu"
    path.write_text("# a comment of the file\n\n" + conllu_of(corpus))
    with open_annotations(path, by_sent_id=True) as file:
        for i in (4, 1, 8, 0, 2):
            found = file.find(f"s-{i}", 0, int(corpus.lengths[i]))
            assert found.sent_id == f"s-{i}"
        with pytest.raises(FormatError, match=r"c\.conllu has no sentence with this sent_id"):
            file.find("s-4", 0, 1)
        with pytest.raises(FormatError, match=r"it has .* words in .*, but its scores are for 99"):
            file.find("s-3", 0, 99)
    with open_annotations(path, by_sent_id=False) as file:
        assert file.find("", 0, int(corpus.lengths[0])).sent_id == "s-0"
        assert file.find("", 5, int(corpus.lengths[5])).sent_id == "s-5"
        with pytest.raises(FormatError, match="has only 9 sentences"):
            file.find("", 9, 1)


def test_in_order_nothing_but_the_current_sentence_is_held(tmp_path):
    corpus = random_corpus(50)
    path = tmp_path / "c.conllu"
    path.write_text(conllu_of(corpus))
    with open_annotations(path, by_sent_id=True) as file:
        for i, length in enumerate(corpus.lengths):
            file.find(f"s-{i}", i, int(length))
            assert not file._skipped


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# sent_id = a\n1 no tabs\n\n", "is not CoNLL-U: the line '1 no tabs' has 1 column: "),
        ("# sent_id = a\n2 no\ttab\n\n", r"'2 no\\ttab' has '2 no' in its first column"),
        ("# sent_id = a\n1\tx\n3\ty\n\n", "numbered 1, 3: expected 1, 2, 3"),
        (b"# sent_id = a\n1\t\xff\xfe\n\n", "is not in UTF-8"),
    ],
)
def test_broken_conllu_is_named(text, message, tmp_path):
    path = tmp_path / "c.conllu"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with (
        open_annotations(path, by_sent_id=True) as file,
        pytest.raises(FormatError, match=message),
    ):
        file.find("a", 0, 1)


def test_a_file_of_scores_is_not_taken_for_words(tmp_path):
    path = random_corpus(2).save(tmp_path / "scores.npz")
    with (
        pytest.raises(FormatError, match=r"scores\.npz is not a CoNLL-U file: it is npz"),
        open_annotations(path, by_sent_id=True),
    ):
        pass


def test_what_a_format_needs_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError, match=r"writing a \.parquet file needs pyarrow"):
        save_rows(tmp_path / "t.parquet", "parquet", TREES, {})


def test_byte_order_mark_and_windows_line_ends_are_read(tmp_path):
    path = tmp_path / "c.conllu"
    path.write_bytes(b"\xef\xbb\xbf# sent_id = a\r\n1\tx\t_\t_\t_\t_\t0\troot\t_\t_\r\n\r\n")
    [trees] = read_trees(path)
    assert (trees.sent_id, trees.heads.tolist()) == ("a", [[-1, 0]])
    assert np.isnan(trees.log_prob).all()


# ---- trees out and back


def some_trees(rng, num_sentences=7):
    from arborand import DependencyTrees

    sent_ids, lengths, heads, log_prob = [], [], [], []
    for i in range(num_sentences):
        length, count = int(rng.integers(1, 6)), int(rng.integers(1, 5))
        distribution = DependencyTrees(rng.normal(size=(length + 1, length + 1)))
        drawn = distribution.sample(count, rng=i)
        sent_ids.append(f"sentence {i} é")
        lengths.append(length)
        heads.append(drawn[:, 1:])
        log_prob.append(distribution.log_prob(drawn))
    return trees_of(sent_ids, lengths, heads, np.concatenate(log_prob))


@pytest.mark.parametrize("kind", ["conllu", "jsonl", "parquet", "npz"])
def test_trees_come_back_as_they_were_written(kind, tmp_path):
    rows = some_trees(np.random.default_rng(3))
    path = tmp_path / f"trees.{kind}"
    save_rows(path, kind, TREES, {"command": "test"}, rows)
    read = list(read_trees(path))
    assert [trees.sent_id for trees in read] == rows.sent_ids
    for trees, (_, span, block, _) in zip(read, rows.sentences(TREES), strict=True):
        np.testing.assert_array_equal(trees.heads[:, 1:], block)
        assert (trees.heads[:, 0] == -1).all()
        np.testing.assert_array_equal(trees.log_prob, rows.columns["log_prob"][span])
    assert sorted(tmp_path.iterdir()) == [path]


def portions(rows: Rows, layout: Layout, cuts: list[int]) -> list[Rows]:
    """Cut rows into portions at any row, also within a sentence."""
    sizes = layout.num_values(rows.lengths)
    total = int(rows.num_rows.sum())
    sentence = np.repeat(np.arange(len(rows.sent_ids)), rows.num_rows)
    ends = np.concatenate([[0], np.cumsum(np.repeat(sizes, rows.num_rows))])
    samples = rows.samples()
    answer = []
    bounds = sorted({0, total, *(cut % (total + 1) for cut in cuts)})
    for start, stop in itertools.pairwise(bounds):
        which, counts = np.unique(sentence[start:stop], return_counts=True)
        answer.append(
            Rows(
                [rows.sent_ids[i] for i in which],
                rows.lengths[which],
                counts,
                {name: column[start:stop] for name, column in rows.columns.items()},
                rows.values[ends[start] : ends[stop]],
                int(samples[start]) - 1,
            )
        )
    return answer


@pytest.mark.parametrize("kind", ["conllu", "jsonl", "parquet", "npz"])
@settings(derandomize=True, max_examples=25, deadline=None)
@given(cuts=st.lists(st.integers(0, 10**6), max_size=8), group=st.integers(1, 120))
def test_bytes_do_not_depend_on_how_rows_come_in_portions(kind, cuts, group, tmp_path_factory):
    rows = some_trees(np.random.default_rng(5))
    folder = tmp_path_factory.mktemp("portions")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outputs, "ROW_GROUP_VALUES", group)
        for name, parts in (("whole", [rows]), ("parts", portions(rows, TREES, cuts))):
            save_rows(folder / name, kind, TREES, {}, *parts)
    assert (folder / "parts").read_bytes() == (folder / "whole").read_bytes()
    read = list(read_trees(folder / "parts"))
    assert [trees.sent_id for trees in read] == rows.sent_ids


def test_row_groups_are_bounded_and_hold_all_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(outputs, "ROW_GROUP_VALUES", 100)
    rows = some_trees(np.random.default_rng(5), 30)
    save_rows(tmp_path / "t.parquet", "parquet", TREES, {}, rows)
    file = pyarrow.parquet.ParquetFile(tmp_path / "t.parquet")
    sizes = []
    for group in range(file.num_row_groups):
        table = file.read_row_group(group)
        sizes.append(sum(len(heads) + 8 for heads in table["heads"].to_pylist()))
    assert len(sizes) > 5
    assert all(100 <= size < 100 + 14 for size in sizes[:-1])
    assert file.metadata.num_rows == rows.num_rows.sum()
    schema = file.schema_arrow
    assert schema.names == ["sent_id", "sample", "log_prob", "heads"]
    assert str(schema.field("sent_id").type) == "string"


@pytest.mark.parametrize("group", [1, 40, 10**6])
def test_filters_by_sentence_find_its_rows(group, tmp_path, monkeypatch):
    """Readers skip row groups by the bounds of their ids, in the order of unsigned bytes."""
    monkeypatch.setattr(outputs, "ROW_GROUP_VALUES", group)
    ids = ["b", "", "a\0b", "\x7f", "\x80", "\xff", "\u4e2d", "\uffff", "\U0010ffff", "z", "b"]
    counts = np.arange(len(ids)) % 4
    rows = Rows(
        ids,
        np.ones(len(ids), dtype=np.int32),
        counts,
        {"log_prob": np.zeros(counts.sum())},
        np.zeros(counts.sum(), dtype=np.int32),
    )
    save_rows(tmp_path / "t.parquet", "parquet", TREES, {}, rows)
    written = [sent_id for sent_id, count in zip(ids, counts, strict=True) for _ in range(count)]
    dataset = pyarrow.dataset.dataset(tmp_path / "t.parquet")
    column = pyarrow.dataset.field("sent_id")
    for bound in [*ids, "absent", "~"]:
        for test in (operator.eq, operator.lt, operator.ge):
            found = dataset.to_table(filter=test(column, bound))["sent_id"].to_pylist()
            assert found == [one for one in written if test(one.encode(), bound.encode())]


def test_files_of_the_writer_that_came_before_arrow_are_read():
    """Until pyarrow wrote Parquet, pages were laid out here: such parts are around."""
    expected = random_corpus(6, seed=3, longest=6)
    read = list(read_scores(PARQUET / "scores_of_our_own_writer.parquet"))
    assert [sentence.sent_id for sentence in read] == expected.sent_ids
    for sentence, matrix in zip(read, expected.matrices, strict=True):
        np.testing.assert_array_equal(sentence.log_weights, matrix)
        assert sentence.tokens == [f"w{i}" for i in range(1, len(matrix))]
    trees = list(read_trees(PARQUET / "trees_of_our_own_writer.parquet"))
    assert [(one.sent_id, len(one.heads)) for one in trees] == [(f"s-{i}", 20) for i in range(6)]
    for one, matrix in zip(trees, expected.matrices, strict=True):
        log_prob = arborand.DependencyTrees(matrix).log_prob(one.heads)
        np.testing.assert_array_equal(one.log_prob, log_prob)


def test_pages_have_checksums_and_schemas_only_what_parquet_knows(tmp_path):
    rows = some_trees(np.random.default_rng(5))
    path = save_rows(tmp_path / "t.parquet", "parquet", TREES, {"command": "x"}, rows)
    metadata = pyarrow.parquet.read_metadata(path)
    assert metadata.metadata == {b"arborand": b"trees", b"provenance": b'{"command": "x"}'}
    kinds = {field.name: str(field.type) for field in metadata.schema.to_arrow_schema()}
    assert kinds == {
        "sent_id": "string",
        "sample": "int32",
        "log_prob": "double",
        "heads": "list<element: int32 not null>",
    }
    assert not any(field.nullable for field in metadata.schema.to_arrow_schema())
    for i in range(4):
        damaged = bytearray(path.read_bytes())
        column = metadata.row_group(0).column(i)
        damaged[column.data_page_offset + column.total_compressed_size // 2] ^= 1
        with pytest.raises(OSError, match=r"CRC|thrift|end of stream"):
            pyarrow.parquet.ParquetFile(
                pyarrow.BufferReader(bytes(damaged)), page_checksum_verification=True
            ).read()


def sentence_rows(columns, values):
    lengths = np.array([1, 3, 2], dtype=np.int32)
    total = int(((lengths + 1) ** 2).sum())
    rng = np.random.default_rng(0)
    return Rows(
        ["a", "b", "a"],
        lengths,
        np.ones(3, dtype=np.int64),
        {name: rng.random(3) for name in columns},
        rng.random(total if values else 0),
    )


@pytest.mark.parametrize("layout", [MARGINALS, ENTROPY], ids=lambda layout: layout.name)
def test_numbers_of_sentences_come_back(layout, tmp_path):
    rows = sentence_rows(layout.columns, layout.values)
    for kind in ("npz", "parquet", "jsonl"):
        save_rows(tmp_path / kind, kind, layout, {"command": "x"}, rows)
    with np.load(tmp_path / "npz") as arrays:
        assert arrays["sent_ids"].tolist() == rows.sent_ids
        assert arrays["lengths"].tolist() == rows.lengths.tolist()
        for name in layout.columns:
            np.testing.assert_array_equal(arrays[name], rows.columns[name])
        if layout.values:
            np.testing.assert_array_equal(arrays[layout.values], rows.values)
        assert json.loads(str(arrays["provenance"]))["command"] == "x"
    table = pyarrow.parquet.read_table(tmp_path / "parquet")
    assert table["sent_id"].to_pylist() == rows.sent_ids
    assert json.loads(table.schema.metadata[b"provenance"]) == {"command": "x"}
    head, *lines = map(json.loads, (tmp_path / "jsonl").read_text().splitlines())
    assert head == {"arborand": layout.name, "provenance": {"command": "x"}}
    for i, line in enumerate(lines):
        assert (line["sent_id"], line["length"]) == (rows.sent_ids[i], rows.lengths[i])
        for name in layout.columns:
            assert line[name] == table[name][i].as_py() == rows.columns[name][i]
        if layout.values:
            flat = np.ravel(line[layout.values])
            assert np.shape(line[layout.values]) == (rows.lengths[i] + 1,) * 2
            np.testing.assert_array_equal(flat, table[layout.values][i].as_py())


@pytest.mark.parametrize("kind", ["npz", "parquet", "safetensors"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_scores_keep_their_type(kind, dtype, tmp_path):
    layout = scores_layout(np.dtype(dtype))
    rows = sentence_rows((), values=True)
    rows = Rows(rows.sent_ids, rows.lengths, rows.num_rows, {}, rows.values.astype(dtype))
    path = tmp_path / f"s.{kind}"
    save_rows(path, kind, layout, {}, rows)
    with open_scores(path) as scores:
        assert scores.dtype == np.dtype(dtype)
        [run] = scores.runs()
    assert run.sent_ids == rows.sent_ids
    np.testing.assert_array_equal(run.scores, rows.values)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"sent_id": "a", "sample": 1, "heads": [2, 1]}\n', "sentence 'a'.*cycle 1 -> 2 -> 1"),
        ('{"sent_id": "a", "sample": 1}\n', "line 1 is not a tree: it has no 'heads'"),
        ('{"arborand": "entropy", "provenance": {}}\n', "contains entropy, not trees"),
        ("{broken\n", "line 1 is not a tree"),
        ("# sent_id = a\n1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n\n", "word 1 has the HEAD '_'"),
    ],
)
def test_trees_that_are_not_trees_are_named(content, message, tmp_path):
    (tmp_path / "bad").write_text(content)
    with pytest.raises((FormatError, SentenceError), match=message):
        list(read_trees(tmp_path / "bad"))


def test_a_format_must_exist_for_what_is_written():
    assert output_format("x.jsonl", None, TREES) == "jsonl"
    assert output_format("x.out", "npz", TREES) == "npz"
    with pytest.raises(OutputError, match="the format cannot be determined from the name"):
        output_format("x.txt", None, TREES)
    with pytest.raises(OutputError, match="marginals cannot be written as conllu"):
        output_format("x.conllu", None, MARGINALS)
    with pytest.raises(OutputError, match="trees cannot be written as safetensors"):
        output_format("-", "safetensors", TREES)


def test_a_pipe_gets_the_bytes_of_a_file(tmp_path):
    class Pipe(list):
        """Something that can only be written to."""

        closed = False

        def write(self, data):
            self.append(bytes(data))
            return len(data)

        def flush(self):
            pass

    rows = some_trees(np.random.default_rng(3))
    for kind in ("conllu", "jsonl", "parquet"):
        pipe = Pipe()
        writer = open_writer(pipe, kind, TREES, {}, spool=None)
        writer.write(rows)
        writer.close()
        assert b"".join(pipe) == save_rows(tmp_path / kind, kind, TREES, {}, rows).read_bytes()


# ---- imports


def test_the_library_needs_neither_files_nor_extras():
    code = (
        "import sys, arborand;"
        "print(sorted({m.partition('.')[0] for m in sys.modules} & "
        "{'typer', 'rich', 'pyarrow', 'safetensors', 'conllu', 'click'}),"
        "[m for m in sys.modules if m.startswith(('arborand.formats', 'arborand.cli'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] []\n"


@pytest.mark.parametrize(
    ("module", "name"),
    [("pyarrow", "s.parquet"), ("safetensors", "s.safetensors")],
)
def test_a_missing_extra_is_one_clear_sentence(module, name, tmp_path, monkeypatch):
    kind = "parquet" if module == "pyarrow" else "ragged safetensors"
    write_scores(random_corpus(2), kind, tmp_path).rename(tmp_path / name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        ModuleNotFoundError, match=rf"needs {module}: pip install 'arborand\[cli\]'"
    ):
        list(read_scores(tmp_path / name))


@pytest.mark.parametrize("kind", ["ragged npz", "parquet"])
def test_jobs_do_not_import_pandas(kind, tmp_path):
    scores = write_scores(random_corpus(3), kind, tmp_path)
    code = (
        "import sys; from arborand import corpus;"
        f"corpus.run('sample', {str(scores)!r}, {str(tmp_path / 'out')!r}, seed=1);"
        "print('pyarrow' in sys.modules, 'pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"


# ---- digests


def test_digests_are_those_of_whole_files(tmp_path):
    # Longer than the portions in which files are read, by less than a portion.
    content = b"\n" * (5 << 19) + b"the end"
    path = tmp_path / "scores.jsonl"
    for last in (b".", b"!"):
        path.write_bytes(content + last)
        with open_input(path) as file:
            assert file.sha256 == hashlib.sha256(content + last).hexdigest()
