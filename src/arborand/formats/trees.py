"""Trees read back: what ``sample`` and ``best`` wrote, and the trees of any CoNLL-U file."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from arborand.errors import FormatError, InvalidTreeError, SentenceError
from arborand.formats.arrays import open_arrays
from arborand.formats.conllu import read_annotations
from arborand.formats.inputs import damaged, open_input, parse_json
from arborand.formats.limits import max_words, too_many_words
from arborand.formats.parquet_input import ParquetInput
from arborand.formats.provenance import checked_provenance, read_provenance
from arborand.formats.rows import BEST_TREES, TREES, Rows
from arborand.formats.sentences import read_ids, sentence_id
from arborand.trees import check_trees

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from arborand.formats.arrays import ArrayFile
    from arborand.formats.conllu import Annotation
    from arborand.formats.inputs import InputFile
    from arborand.formats.rows import Layout

# How many trees are read at a time.
_PORTION = 1024
# How many heads are read at a time, where trees are stored as one long list.
_PORTION_HEADS = 1 << 18
# How many lengths and numbers of trees are read at a time.
_PIECE = 4096
# What the trees of a sentence are counted by.
_NUMBERINGS = (TREES.numbering, BEST_TREES.numbering)
_COLUMNS = {
    "sent_id": "text",
    **dict.fromkeys(_NUMBERINGS, "integer"),
    "log_prob": "number",
    "heads": "integers",
}
# The longest provenance that is read: that of a file converted a thousand times.
_MAX_PROVENANCE = 1 << 20


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


def layout_of(trees: TreesFile) -> Layout:
    """Tell whether trees are draws or ranked, which their provenance says, and mostly draws."""
    record = trees.provenance or {}
    while isinstance(record.get("source"), dict):
        record = record["source"]
    words = str(record.get("command", "")).split()
    return BEST_TREES if words[:2] == ["arborand", "best"] else TREES


def holds_trees(file: InputFile) -> bool:
    """Tell whether a file holds trees, as opposed to scores."""
    if file.kind in ("jsonl", "conllu"):
        return True
    if file.kind == "parquet":
        with file.path.open("rb") as handle:
            return bool(ParquetInput(handle, file.name, {"heads": "integers"}, ()).columns)
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
                record = parse_json(line)
                if not isinstance(record, dict):
                    raise ValueError("it is not an object")
                if record.get("arborand", "trees") != "trees":
                    raise FormatError(f"{self.file.name} holds {record['arborand']}, not trees")
                if "arborand" in record and "provenance" in record:
                    return checked_provenance(record["provenance"])
            elif line.startswith(b"# arborand = "):
                return read_provenance(line.partition(b"=")[2])
        except FormatError:
            raise
        except ValueError as error:
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
                record = parse_json(line)
                if not isinstance(record, dict):
                    raise ValueError("it is not an object")
                if number == 1 and "arborand" in record:
                    continue
                numbering = "rank" if "rank" in record else "sample"
                for key in ("sent_id", numbering, "heads"):
                    if key not in record:
                        raise ValueError(f"it has no {key!r}")
                yield _Tree(
                    sentence_id(record["sent_id"], self.file.name, number - 1, "line"),
                    _integer(numbering, record[numbering]),
                    _log_prob(record.get("log_prob")),
                    _heads(record["heads"]),
                )
            except FormatError:
                raise
            except ValueError as error:
                raise FormatError(
                    f"{self.file.name}: line {number} is not a tree: {error}"
                ) from error

    def _conllu_trees(self) -> Iterator[_Tree]:
        for number, annotation in enumerate(read_annotations(self._handle, self.file.name), 1):
            sent_id = str(number) if annotation.sent_id is None else annotation.sent_id
            try:
                sample = int(annotation.comment("rank") or annotation.comment("sample") or 1)
                log_prob = float(annotation.comment("log_prob") or "nan")
                if annotation.sent_id is not None:
                    sent_id = annotation.sentence_of(annotation.sent_id, sample)
                yield _Tree(sent_id, sample, log_prob, annotation.heads, annotation)
            except (FormatError, ValueError) as error:
                raise SentenceError(sent_id, number - 1, str(error)) from error


def _integer(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{name} is {value!r:.60}: expected an integer")
    return value


def _log_prob(value: object) -> float:
    """Read a log-probability that may be missing."""
    if value is None:
        return np.nan
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise ValueError(f"log_prob is {value!r:.60}: expected a number")
    try:
        return float(value)
    except OverflowError:
        raise ValueError("log_prob is beyond the range of float64") from None


def _heads(values: object) -> list[int]:
    """Read the heads of the words 1 to n."""
    if not isinstance(values, list):
        raise ValueError(f"heads is {values!r:.60}: expected a list of integers")
    for word, head in enumerate(values, 1):
        if not 0 <= _integer(f"the head of word {word}", head) <= len(values):
            raise ValueError(
                f"the head of word {word} is {head}: expected 0 for the root, or a word from 1 to "
                f"{len(values)}"
            )
    return values


class ParquetTrees:
    """Trees in the rows of a Parquet file."""

    def __init__(self, file: InputFile, handle: Any) -> None:
        self.file = file
        self._input = ParquetInput(handle, file.name, _COLUMNS, ("sent_id", "heads"))
        there = [name for name in _NUMBERINGS if name in self._input.columns]
        if not there:
            raise FormatError(f"{file.name} has no column {' or '.join(map(repr, _NUMBERINGS))}")
        self._numbering = there[0]
        text = self._input.metadata.get(b"provenance")
        self.provenance = None
        if text:
            try:
                self.provenance = read_provenance(text)
            except ValueError as error:
                raise damaged(file.name, error) from error

    def rows(self) -> Iterator[Rows]:
        """Read the trees in portions."""
        grouping = _Grouping()
        for portion in _portions(self._trees()):
            yield grouping.rows(portion)

    def _trees(self) -> Iterator[_Tree]:
        row = 0
        for group in range(len(self._input.groups)):
            for batch in self._input.batches(group, _PORTION):
                with self._input.reading():
                    table = batch.to_pydict()
                log_prob = table.get("log_prob") or [None] * batch.num_rows
                columns = (table["sent_id"], table[self._numbering], log_prob, table["heads"])
                for sent_id, sample, log_prob_of_row, heads in zip(*columns, strict=True):
                    try:
                        yield _Tree(
                            sentence_id(sent_id, self.file.name, row, "row"),
                            _integer(self._numbering, sample),
                            _log_prob(log_prob_of_row),
                            _heads(heads),
                        )
                    except FormatError:
                        raise
                    except ValueError as error:
                        raise FormatError(
                            f"{self.file.name}: row {row + 1} is not a tree: {error}"
                        ) from error
                    row += 1


class ArrayTrees:
    """Trees in an ``.npz`` file."""

    def __init__(self, file: InputFile, arrays: ArrayFile) -> None:
        arrays.require("sent_ids", "lengths", "num_trees", "log_prob", "heads")
        self.file = file
        self._arrays = arrays
        self.provenance = None
        if "provenance" in arrays:
            self.provenance = self._read_provenance()
        self._num_sentences = arrays.sent_ids().shape[0]
        self._check_sizes()

    def _read_provenance(self) -> dict[str, Any]:
        stream = self._arrays.stream("provenance")
        name = f"{self.file.name}: provenance"
        if stream.dtype.kind != "U" or stream.shape or stream.dtype.itemsize > 4 * _MAX_PROVENANCE:
            raise FormatError(
                f"{name} must be one string of at most {_MAX_PROVENANCE} characters, but is "
                f"{stream.dtype} of shape {stream.shape}"
            )
        try:
            return read_provenance(stream.read_text())
        except ValueError as error:
            raise damaged(name, error) from error

    def _check_sizes(self) -> None:
        """Compare the lengths and the numbers of trees with what is there."""
        name, count = self.file.name, self._num_sentences
        streams = [self._arrays.integers(array) for array in ("lengths", "num_trees")]
        for array, stream in zip(("lengths", "num_trees"), streams, strict=True):
            if stream.shape != (count,):
                raise FormatError(f"{name}: {array} has shape {stream.shape} for {count} sentences")
        num_trees = num_heads = 0
        for start in range(0, count, _PIECE):
            pieces = [stream.read(min(_PIECE, count - start)).tolist() for stream in streams]
            for i, (length, trees) in enumerate(zip(*pieces, strict=True), start):
                if length > max_words():
                    raise FormatError(f"{name}, sentence number {i + 1}: {too_many_words(length)}")
                if length < 0 or trees < 0:
                    raise FormatError(
                        f"{name}: sentence number {i + 1} has a length of {length} and {trees} "
                        "trees: neither can be negative"
                    )
                num_trees += trees
                num_heads += trees * length
        for array, expected in (("log_prob", num_trees), ("heads", num_heads)):
            maker = self._arrays.numbers if array == "log_prob" else self._arrays.integers
            found = maker(array).shape[0]
            if found != expected:
                raise FormatError(
                    f"{name}: {array} has {found} numbers, where lengths and num_trees ask for "
                    f"{expected}"
                )

    def rows(self) -> Iterator[Rows]:
        """Read the trees in portions."""
        ids = self._arrays.sent_ids()
        all_lengths, counts = self._arrays.integers("lengths"), self._arrays.integers("num_trees")
        log_prob, heads = self._arrays.numbers("log_prob"), self._arrays.integers("heads")
        for index in range(self._num_sentences):
            sent_id = read_ids(ids, 1, self.file.name, index)
            lengths = all_lengths.read(1).astype(np.int32)
            left = int(counts.read(1)[0])
            length, done = int(lengths[0]), 0
            while left:
                count = min(left, max(1, _PORTION_HEADS // max(1, length)))
                values = heads.read(count * length)
                wrong = np.flatnonzero((values < 0) | (values > length))
                if wrong.size:
                    raise SentenceError(
                        sent_id[0],
                        index,
                        f"the head of word {wrong[0] % length + 1} is {values[wrong[0]]}: expected "
                        f"0 for the root, or a word from 1 to {length}",
                    )
                yield _checked(
                    Rows(
                        sent_id,
                        lengths,
                        np.array([count]),
                        {"log_prob": log_prob.read(count).astype(np.float64)},
                        values.astype(np.int32),
                        done,
                    ),
                    index,
                )
                done += count
                left -= count
        for stream in (ids, all_lengths, counts, log_prob, heads):
            stream.end()
