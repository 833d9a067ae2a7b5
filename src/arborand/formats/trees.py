"""Trees read back: what ``arborand sample`` wrote, and the trees of any CoNLL-U file."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from arborand.errors import InvalidTreeError
from arborand.formats.arrays import open_arrays
from arborand.formats.conllu import read_annotations
from arborand.formats.inputs import (
    FormatError,
    SentenceError,
    describe,
    open_input,
    required,
)
from arborand.formats.rows import TREES, Rows
from arborand.trees import check_trees

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from arborand.formats.arrays import ArrayFile
    from arborand.formats.conllu import Annotation
    from arborand.formats.inputs import InputFile

# How many trees are read at a time.
_PORTION = 1024
# How many heads are read at a time, where trees are stored as one long list.
_PORTION_HEADS = 1 << 18


class Trees(NamedTuple):
    """The trees of one sentence.

    Attributes
    ----------
    sent_id : str
    heads : ndarray of int32, shape (K, n + 1)
        As :meth:`DependencyTrees.sample` returns them: -1 for the root.
    log_prob : ndarray of float64, shape (K,)
        NaN where the file does not say.
    """

    sent_id: str
    heads: NDArray[np.int32]
    log_prob: NDArray[np.float64]


class TreesFile(Protocol):
    """An open file of trees."""

    file: InputFile
    provenance: dict[str, Any] | None

    def rows(self) -> Iterator[Rows]:
        """Read the trees in portions."""


def read_trees(source: str | os.PathLike[str]) -> Iterator[Trees]:
    """Read trees, sentence by sentence, in memory that does not grow with the file.

    Parameters
    ----------
    source : path, or ``-`` for standard input
        A ``.parquet``, ``.jsonl``, ``.npz`` or CoNLL-U file.

    Yields
    ------
    Trees

    Raises
    ------
    FormatError
        If the file does not hold trees, or is damaged.
    SentenceError
        If something in it is not a tree, naming the sentence.
    """
    with open_trees(source) as trees:
        sentence: list[Trees] = []
        for rows in trees.rows():
            for i, span, block in rows.sentences(TREES):
                if block is None:
                    continue
                if sentence and not (i == 0 and rows.first_sample):
                    yield _joined(sentence)
                    sentence = []
                heads = np.pad(block, ((0, 0), (1, 0)), constant_values=-1)
                sentence.append(Trees(rows.sent_ids[i], heads, rows.columns["log_prob"][span]))
        if sentence:
            yield _joined(sentence)


def _joined(parts: list[Trees]) -> Trees:
    return Trees(
        parts[0].sent_id,
        np.concatenate([part.heads for part in parts]),
        np.concatenate([part.log_prob for part in parts]),
    )


def holds_trees(file: InputFile) -> bool:
    """Tell whether a file holds trees, as opposed to scores."""
    if file.kind in ("jsonl", "conllu"):
        return True
    if file.kind == "parquet":
        parquet = required("pyarrow.parquet", "reading a .parquet file")
        try:
            return "heads" in parquet.read_schema(file.path).names
        except (required("pyarrow", "reading a .parquet file").ArrowException, OSError) as error:
            raise FormatError(f"{file.name} is truncated or damaged: {error}") from error
    if file.kind == "npz":
        with open_arrays(file) as arrays:
            return "heads" in arrays
    return False


@contextmanager
def open_trees(source: str | os.PathLike[str] | InputFile) -> Iterator[TreesFile]:
    """Open a file of trees, whatever its kind."""
    with open_input(source) as file:
        if file.kind in ("jsonl", "conllu"):
            with file.path.open("rb") as handle:
                yield TextTrees(file, handle)
        elif file.kind == "parquet":
            with file.path.open("rb") as handle:
                yield ParquetTrees(file, handle)
        elif file.kind == "npz":
            with open_arrays(file) as arrays:
                yield ArrayTrees(file, arrays)
        else:
            raise FormatError(
                f"{file.name} is not a file of trees: expected .parquet, .jsonl, .npz or CoNLL-U"
            )


class _Tree(NamedTuple):
    sent_id: str
    sample: int
    log_prob: float
    heads: list[int]
    annotation: Annotation | None = None


class _Grouping:
    """Puts trees that follow one another into sentences, across portions."""

    def __init__(self) -> None:
        self._index = -1
        self._last: tuple[str, int, int] | None = None
        self._count = 0

    def rows(self, trees: list[_Tree]) -> Rows:
        """Make rows of a portion."""
        sent_ids: list[str] = []
        lengths: list[int] = []
        counts: list[int] = []
        notes: list[Annotation | None] = []
        first_sample = 0
        for tree in trees:
            last = self._last
            is_new = (
                last is None
                or (tree.sent_id, len(tree.heads)) != last[:2]
                or tree.sample <= last[2]
            )
            if is_new:
                self._index += 1
                self._count = 0
            if is_new or not sent_ids:
                if not sent_ids:
                    first_sample = self._count
                sent_ids.append(tree.sent_id)
                lengths.append(len(tree.heads))
                counts.append(0)
                notes.append(tree.annotation)
            counts[-1] += 1
            self._count += 1
            self._last = (tree.sent_id, len(tree.heads), tree.sample)
        values = [head for tree in trees for head in tree.heads]
        rows = Rows(
            sent_ids,
            np.array(lengths, dtype=np.int32),
            np.array(counts, dtype=np.int64),
            {"log_prob": np.array([tree.log_prob for tree in trees], dtype=np.float64)},
            np.array(values, dtype=np.int32),
            first_sample,
            [None if note is None else note.tokens for note in notes],
            notes,
        )
        return _checked(rows, self._index - len(sent_ids) + 1)


def _checked(rows: Rows, first: int) -> Rows:
    """Make sure that all trees are trees."""
    for i, _, block in rows.sentences(TREES):
        if block is not None and len(block):
            try:
                check_trees(np.pad(block, ((0, 0), (1, 0)), constant_values=-1))
            except InvalidTreeError as error:
                raise SentenceError(rows.sent_ids[i], first + i, str(error)) from error
    return rows


def _portions(trees: Iterable[_Tree]) -> Iterator[list[_Tree]]:
    portion: list[_Tree] = []
    for tree in trees:
        portion.append(tree)
        if len(portion) == _PORTION:
            yield portion
            portion = []
    if portion:
        yield portion


class TextTrees:
    """Trees in JSON lines or CoNLL-U."""

    def __init__(self, file: InputFile, handle: Any) -> None:
        self.file = file
        self._handle = handle
        self.provenance = self._provenance()

    def _provenance(self) -> dict[str, Any] | None:
        line = self._handle.readline()
        self._handle.seek(0)
        try:
            if self.file.kind == "jsonl":
                record = json.loads(line)
                if record.get("arborand", "trees") != "trees":
                    raise FormatError(f"{self.file.name} holds {record['arborand']}, not trees")
                return record.get("provenance") if "arborand" in record else None
            if line.startswith(b"# arborand = "):
                record = json.loads(line.partition(b"=")[2])
                return record if isinstance(record, dict) else None
        except (ValueError, AttributeError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(f"{self.file.name}: the first line is damaged: {error}") from error
        return None

    def rows(self) -> Iterator[Rows]:
        """Read the trees in portions."""
        grouping = _Grouping()
        trees = self._json_trees() if self.file.kind == "jsonl" else self._conllu_trees()
        for portion in _portions(trees):
            yield grouping.rows(portion)

    def _json_trees(self) -> Iterator[_Tree]:
        for number, line in enumerate(self._handle, 1):
            try:
                record = json.loads(line)
                if number == 1 and "arborand" in record:
                    continue
                log_prob = record.get("log_prob")
                yield _Tree(
                    str(record["sent_id"]),
                    int(record["sample"]),
                    np.nan if log_prob is None else float(log_prob),
                    [int(head) for head in record["heads"]],
                )
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise FormatError(
                    f"{self.file.name}: line {number} is not a tree: {error!r}"
                ) from error

    def _conllu_trees(self) -> Iterator[_Tree]:
        for number, annotation in enumerate(read_annotations(self._handle, self.file.name), 1):
            sent_id = annotation.sent_id or str(number)
            try:
                sample = int(annotation.comment("sample") or 1)
                log_prob = float(annotation.comment("log_prob") or "nan")
                yield _Tree(sent_id, sample, log_prob, annotation.heads, annotation)
            except (FormatError, ValueError) as error:
                raise SentenceError(sent_id, number - 1, str(error)) from error


class ParquetTrees:
    """Trees in the rows of a Parquet file."""

    def __init__(self, file: InputFile, handle: Any) -> None:
        self._arrow = required("pyarrow", "reading a .parquet file")
        parquet = required("pyarrow.parquet", "reading a .parquet file")
        self.file = file
        try:
            self._parquet = parquet.ParquetFile(handle, buffer_size=1 << 20, pre_buffer=False)
        except (self._arrow.ArrowException, OSError) as error:
            raise FormatError(f"{file.name} is truncated or damaged: {error}") from error
        names = self._parquet.schema_arrow.names
        missing = [name for name in ("sent_id", "sample", "heads") if name not in names]
        if missing:
            raise FormatError(f"{file.name} lacks {describe(missing)}; it holds {describe(names)}")
        text = (self._parquet.metadata.metadata or {}).get(b"provenance")
        self.provenance = json.loads(text) if text else None

    def rows(self) -> Iterator[Rows]:
        """Read the trees in portions."""
        grouping = _Grouping()
        for portion in _portions(self._trees()):
            yield grouping.rows(portion)

    def _trees(self) -> Iterator[_Tree]:
        try:
            for batch in self._parquet.iter_batches(_PORTION, use_threads=False):
                table = batch.to_pydict()
                log_prob = table.get("log_prob") or [np.nan] * batch.num_rows
                columns = (table["sent_id"], table["sample"], log_prob, table["heads"])
                for sent_id, sample, log_prob_of_row, heads in zip(*columns, strict=True):
                    number = np.nan if log_prob_of_row is None else log_prob_of_row
                    yield _Tree(str(sent_id), int(sample), number, heads)
        except (self._arrow.ArrowException, OSError) as error:
            raise FormatError(f"{self.file.name} is truncated or damaged: {error}") from error


class ArrayTrees:
    """Trees in an ``.npz`` file."""

    def __init__(self, file: InputFile, arrays: ArrayFile) -> None:
        arrays.require("sent_ids", "lengths", "num_trees", "log_prob", "heads")
        self.file = file
        self._arrays = arrays
        self.provenance = None
        if "provenance" in arrays:
            text = arrays.stream("provenance").read_scalar()
            self.provenance = json.loads(text)

    def rows(self) -> Iterator[Rows]:
        """Read the trees in portions."""
        names = ("sent_ids", "lengths", "num_trees", "log_prob", "heads")
        streams = {name: self._arrays.stream(name) for name in names}
        num_sentences = streams["sent_ids"].shape[0]
        for name in ("lengths", "num_trees"):
            if streams[name].shape != (num_sentences,):
                raise FormatError(
                    f"{self.file.name}: {name} has shape {streams[name].shape} for "
                    f"{num_sentences} sentences"
                )
        for index in range(num_sentences):
            sent_id = [str(streams["sent_ids"].read(1)[0])]
            lengths = streams["lengths"].read(1).astype(np.int32)
            left = int(streams["num_trees"].read(1)[0])
            length, done = int(lengths[0]), 0
            while left:
                count = min(left, max(1, _PORTION_HEADS // max(1, length)))
                yield _checked(
                    Rows(
                        sent_id,
                        lengths,
                        np.array([count]),
                        {"log_prob": streams["log_prob"].read(count).astype(np.float64)},
                        streams["heads"].read(count * length).astype(np.int32),
                        done,
                    ),
                    index,
                )
                done += count
                left -= count
        for stream in streams.values():
            stream.end()
