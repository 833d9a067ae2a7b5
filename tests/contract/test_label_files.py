"""Labels in files of scores: written by write_scores, read in every format, and refused by name."""

import json

import numpy as np
import pytest

from arborand.formats import (
    FormatError,
    OutputError,
    SentenceError,
    read_scores,
    records,
    write_scores,
)
from arborand.formats.scores import open_scores

NAMES = ["root", "nsubj", "obj", "obl:tmod"]
FORMATS = pytest.mark.parametrize("ending", ["npz", "parquet", "safetensors"])
LENGTHS = [3, 1, 5, 4]


def corpus(dtype=np.float32):
    rng = np.random.default_rng(0)
    matrices = [rng.normal(size=(n + 1, n + 1)).astype(dtype) for n in LENGTHS]
    label_scores = [rng.normal(size=(n + 1, n + 1, 4)).astype(dtype) for n in LENGTHS]
    labels = [rng.integers(-1, 4, (n + 1, n + 1)) for n in LENGTHS]
    words = [[f"w{i}é" for i in range(n)] for n in LENGTHS]
    return matrices, label_scores, labels, words


def same(first, second):
    np.testing.assert_array_equal(first, second, strict=True)


@FORMATS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_label_scores_come_back(ending, dtype, tmp_path):
    matrices, label_scores, _, words = corpus(dtype)
    path = tmp_path / f"scores.{ending}"
    ids = ["a", "b\n", "ç", "d"]
    write_scores(
        path,
        iter(matrices),
        sent_ids=ids,
        words=words,
        label_scores=iter(label_scores),
        label_names=NAMES,
    )
    found = list(read_scores(path))
    assert [one.sent_id for one in found] == ids
    assert [one.tokens for one in found] == words
    for one, matrix, scores in zip(found, matrices, label_scores, strict=True):
        same(one.log_weights, matrix)
        same(one.label_scores, scores)
        assert one.labels is None
        assert one.label_names == tuple(NAMES)
    assert not list(tmp_path.glob(".*"))


@FORMATS
def test_one_label_per_arc_comes_back(ending, tmp_path):
    matrices, _, labels, _ = corpus()
    path = tmp_path / f"scores.{ending}"
    write_scores(path, matrices, labels=labels, label_names=NAMES)
    found = list(read_scores(path))
    assert [one.sent_id for one in found] == ["1", "2", "3", "4"]
    for one, expected in zip(found, labels, strict=True):
        np.testing.assert_array_equal(one.labels, expected)
        assert one.label_scores is None
        assert one.tokens is None


@FORMATS
def test_scores_alone(ending, tmp_path):
    matrices, *_ = corpus()
    path = tmp_path / f"scores.{ending}"
    write_scores(path, matrices)
    found = list(read_scores(path))
    for one, matrix in zip(found, matrices, strict=True):
        same(one.log_weights, matrix)
        assert (one.labels, one.label_scores, one.label_names) == (None, None, ())
    write_scores(path, [])
    assert list(read_scores(path)) == []


def test_npy_holds_matrices_of_one_size(tmp_path):
    path = tmp_path / "s.npy"
    write_scores(path, np.arange(32.0).reshape(2, 4, 4))
    assert [one.log_weights[0, 1] for one in read_scores(path)] == [1.0, 17.0]
    write_scores(path, [np.eye(3)])
    assert np.load(path).shape == (3, 3)
    with pytest.raises(OutputError, match="matrices of one size, not of 2: write an"):
        write_scores(path, [np.eye(3), np.eye(4)])
    with pytest.raises(OutputError, match="can only hold scores"):
        write_scores(path, [np.eye(3)], sent_ids=["a"])
    assert np.load(path).shape == (3, 3)  # what was there is left alone


@pytest.mark.parametrize("what", ["label_scores", "labels"])
def test_padded_files(what, tmp_path):
    matrices, label_scores, labels, _ = corpus()
    given = label_scores if what == "label_scores" else labels
    padded = np.full((4, 6, 6), 7.0)
    of_labels = np.full((4, 6, 6, *given[0].shape[2:]), 99, given[0].dtype)
    for i, (matrix, one) in enumerate(zip(matrices, given, strict=True)):
        size = len(matrix)
        padded[i, :size, :size], of_labels[i, :size, :size] = matrix, one
    path = tmp_path / "s.npz"
    np.savez(path, log_weights=padded, lengths=LENGTHS, label_names=NAMES, **{what: of_labels})
    for one, expected in zip(read_scores(path), given, strict=True):
        np.testing.assert_array_equal(getattr(one, what), expected)
    np.savez(path, log_weights=matrices[0], label_names=NAMES, **{what: given[0]})
    [one] = read_scores(path)
    np.testing.assert_array_equal(getattr(one, what), given[0])


@FORMATS
def test_sentences_from_the_middle_have_their_own_labels(ending, tmp_path):
    matrices, label_scores, _, words = corpus()
    path = tmp_path / f"s.{ending}"
    many = 60
    write_scores(
        path,
        matrices * many,
        words=words * many,
        label_scores=label_scores * many,
        label_names=NAMES,
    )
    with open_scores(path) as scores:
        assert scores.label_names == tuple(NAMES)
        assert not scores.has_sent_ids  # so that sentences are matched by their order
        for first in (1, 2, 101, 238):
            index = first
            for run in scores.runs(first):
                for one in run.one_by_one():
                    expected = label_scores[index % 4].reshape(-1, 4)
                    np.testing.assert_array_equal(one.labels, expected)
                    assert one.tokens == [words[index % 4]]
                    index += 1
            assert index == 4 * many


def test_runs_are_smaller_where_labels_take_room(tmp_path):
    names = [f"label {i}" for i in range(50)]
    path = tmp_path / "s.npz"
    sizes = [30] * 40
    write_scores(
        path,
        (np.zeros((n + 1, n + 1), np.float32) for n in sizes),
        label_scores=(np.zeros((n + 1, n + 1, 50), np.float32) for n in sizes),
        label_names=names,
    )
    with open_scores(path) as scores:
        most = max(run.labels.size for run in scores.runs())
    assert most <= 2**18


# ---- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {"path": "s.txt"},
            OutputError,
            "the format cannot be determined from the name 's.txt': end it",
        ),
        ({"labels": [[]]}, ValueError, "labels and label_scores are both given"),
        ({"label_scores": None}, ValueError, "label_names needs labels or label_scores"),
        ({"label_names": None}, ValueError, "label_names is missing"),
        ({"label_names": ["a", "a", "b", "c"]}, FormatError, "has 'a' twice"),
        ({"label_names": ["a", "b"]}, ValueError, r"label_scores\[0\] must be numbers of shape"),
        ({"sent_ids": ["a"]}, ValueError, "sent_ids ends after 1 sentences"),
        ({"sent_ids": list("abcde")}, ValueError, "sent_ids has more entries than there are"),
        ({"sent_ids": [1, 2, 3, 4]}, TypeError, r"sent_ids\[0\] must be a string, not 1"),
        ({"words": [["a"]] * 4}, ValueError, r"words\[0\] must be 3 strings"),
        ({"matrices": [np.zeros((2, 3))]}, ValueError, r"matrices\[0\] has shape \(2, 3\)"),
        ({"matrices": ["a"]}, TypeError, r"matrices\[0\] must be real numbers"),
        ({"path": "no/such/folder.npz"}, OutputError, "folder.npz cannot be written: No such"),
    ],
)
def test_what_cannot_be_written(change, error, message, tmp_path):
    matrices, label_scores, _, words = corpus()
    given = {
        "path": "s.npz",
        "matrices": matrices,
        "words": words,
        "label_scores": label_scores,
        "label_names": NAMES,
        **change,
    }
    path = tmp_path / given.pop("path")
    with pytest.raises(error, match=message):
        write_scores(path, given.pop("matrices"), **given)
    assert not path.exists()


def test_labels_without_a_name_are_refused_when_written(tmp_path):
    with pytest.raises(ValueError, match=r"labels\[0\] has 4: labels are 0 to 3, or -1"):
        write_scores(tmp_path / "s.npz", [np.eye(2)], labels=[[[4, 0], [0, 0]]], label_names=NAMES)


def test_matrices_of_several_types_are_refused(tmp_path):
    with pytest.raises(ValueError, match="are float64, but earlier ones are float32"):
        write_scores(tmp_path / "s.npz", [np.eye(2, dtype=np.float32), np.eye(2)])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"label_scores": np.zeros((8, 4))}, "lacks 'label_names'"),
        (
            {"label_scores": np.zeros((8, 3)), "label_names": NAMES},
            r"label_scores must be numbers of shape \(8, 4\), for 4 labels, but is float64",
        ),
        ({"labels": np.zeros(8), "label_names": NAMES}, "labels must be integers of shape"),
        ({"labels": np.zeros(8, int), "label_names": ["a", "a"]}, "has 'a' twice"),
        ({"labels": np.zeros(8, int), "label_names": [""]}, "must be a list of names"),
        ({"labels": np.zeros(8, int), "label_names": []}, "label_names must be a list"),
    ],
)
def test_files_whose_labels_do_not_fit(arrays, message, tmp_path):
    path = tmp_path / "s.npz"
    np.savez(path, scores=np.zeros(8), lengths=[1, 1], **arrays)
    with pytest.raises(FormatError, match=message):
        list(read_scores(path))


def test_a_label_without_a_name_is_the_fault_of_its_sentence(tmp_path):
    path = tmp_path / "s.npz"
    labels = [0, 1, 2, 3, 0, 9, 0, -1]
    np.savez(path, scores=np.zeros(8), lengths=[1, 1], labels=labels, label_names=NAMES)
    found = read_scores(path)
    assert next(found).labels.tolist() == [[0, 1], [2, 3]]
    with pytest.raises(SentenceError, match="it has the label 9, but labels are 0 to 3"):
        next(found)


def test_rows_of_parquet_whose_labels_do_not_fit(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = arrow.table(
        {
            "log_weights": [[0.0] * 4, [0.0] * 4, [0.0] * 9],
            "label_scores": [[1.0] * 8, [1.0], [2.0] * 18],
        }
    )
    path = tmp_path / "s.parquet"
    parquet.write_table(table, path)
    with pytest.raises(FormatError, match="has label_scores, but no label_names in its metadata"):
        list(read_scores(path))
    parquet.write_table(table.replace_schema_metadata({"label_names": "{"}), path)
    with pytest.raises(FormatError, match="label_names must be a JSON list"):
        list(read_scores(path))
    parquet.write_table(
        table.replace_schema_metadata({"label_names": json.dumps(["a", "b"])}), path
    )
    with open_scores(path) as scores:
        first, second, third = (one for run in scores.runs() for one in run.one_by_one())
    assert first.labels.tolist() == [[1.0, 1.0]] * 4
    assert second.faults == {
        0: "it has 1 label_scores, but 8 are expected: 2 for each of its log_weights"
    }
    assert third.labels.tolist() == [[2.0, 2.0]] * 9


def test_metadata_of_safetensors(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "s.safetensors"
    tensors = {"scores": np.zeros(4), "lengths": np.array([1]), "labels": np.array([0, 1, 1, 0])}
    safetensors.save_file(tensors, path, {"label_names": json.dumps(["a", "b"])})
    [one] = read_scores(path)
    assert one.labels.tolist() == [[0, 1], [1, 0]]
    for names in ("{", '"a"'):
        safetensors.save_file(tensors, path, {"label_names": names})
        with pytest.raises(FormatError, match="label_names must be a JSON list"):
            list(read_scores(path))


def test_names_of_labels_are_compared_with_few_others():
    class Counted(str):
        comparisons = 0
        __hash__ = str.__hash__

        def __eq__(self, other):
            Counted.comparisons += 1
            return str.__eq__(self, other)

    names = [Counted(i) for i in range(300)]
    assert records.check_label_names(names, "file") == tuple(names)
    Counted.comparisons = 0
    with pytest.raises(FormatError, match=r"^file: label_names has '7' twice"):
        records.check_label_names([*names, Counted(7), Counted(3)], "file")
    assert Counted.comparisons < 1000
