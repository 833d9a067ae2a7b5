"""Scores in: corpora of arc scores, read as runs of consecutive sentences.

Three layouts, in four kinds of file:

- *ragged* (``.npz``, ``.safetensors``): ``lengths`` and ``scores``, all matrices one after the other;
- *padded* (``.npz``, ``.safetensors``, ``.npy``): ``log_weights`` of shape (S, m, m) and ``lengths``;
  a ``.npy`` holds one matrix, or a stack of matrices without padding;
- *rows* (``.parquet``): one row a sentence, ``log_weights`` as a flat list.

A sentence that is wrong by itself does not make the file unreadable: it becomes a fault of its run,
for the caller to raise or to skip.
"""

from __future__ import annotations

import json
import math
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from arborand.formats.arrays import open_arrays
from arborand.formats.inputs import FormatError, SentenceError, describe, open_input, required

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from arborand.formats.arrays import ArrayFile
    from arborand.formats.conllu import Annotation, AnnotationFile
    from arborand.formats.inputs import InputFile

# How many numbers a run of sentences may need, padded matrices and drawn trees together: 2 MB, about
# what fits into the cache of one core.  A single sentence may need more.
RUN_VALUES = 1 << 18
# How many lengths and sentence ids are read at a time.
_PIECE = 4096


class Sentence(NamedTuple):
    """One sentence's scores.

    Attributes
    ----------
    sent_id : str
    log_weights : ndarray, shape (n + 1, n + 1)
        ``[head, dependent]``, as stored: plain weights if that is what the file holds.
    tokens : list of str or None
        The words, if the file has them.
    """

    sent_id: str
    log_weights: NDArray[Any]
    tokens: list[str] | None


@dataclass(frozen=True, slots=True)
class Sentences:
    """A run of consecutive sentences of a corpus.

    Attributes
    ----------
    first : int
        The place of the first one in the corpus, from 0.
    sent_ids : list of str
    lengths : ndarray of int32
        The number of words; 0 for a sentence with a fault.
    scores : ndarray
        All matrices, row by row, one after the other: (n + 1) ** 2 numbers each.
    tokens : list, one entry a sentence
        The words, or None.
    annotations : list, one entry a sentence
        What a CoNLL-U file says about it, or None.
    faults : dict from position in the run to reason
    """

    first: int
    sent_ids: list[str]
    lengths: NDArray[np.int32]
    scores: NDArray[Any]
    tokens: list[list[str] | None]
    annotations: list[Annotation | None] = field(default_factory=list)
    faults: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.sent_ids)

    def annotation(self, position: int) -> Annotation | None:
        """What a CoNLL-U file says about one of the sentences."""
        return self.annotations[position] if self.annotations else None

    def padded(self, fill: float) -> NDArray[np.float64]:
        """Make one array of shape (len(self), m, m) of all matrices."""
        size = max(2, int(self.lengths.max()) + 1)
        if len(self) == 1 and len(self.scores) == size * size:
            return self.scores.reshape(1, size, size).astype(np.float64)
        padded = np.full((len(self), size, size), fill)
        real = np.arange(size) <= self.lengths[:, None]
        padded[real[:, :, None] & real[:, None, :]] = self.scores
        return padded

    def one_by_one(self) -> Iterator[Sentences]:
        """Split the run into runs of one sentence."""
        bounds = np.concatenate([[0], np.cumsum(matrix_sizes(self.lengths))])
        for i in range(len(self)):
            yield Sentences(
                self.first + i,
                self.sent_ids[i : i + 1],
                self.lengths[i : i + 1],
                self.scores[bounds[i] : bounds[i + 1]],
                self.tokens[i : i + 1],
                self.annotations[i : i + 1],
                {0: self.faults[i]} if i in self.faults else {},
            )

    def annotated(self, file: AnnotationFile) -> Sentences:
        """Add what a CoNLL-U file says about these sentences."""
        sent_ids, annotations, tokens = list(self.sent_ids), [], list(self.tokens)
        faults = dict(self.faults)
        for i, sent_id in enumerate(self.sent_ids):
            try:
                annotation = file.find(sent_id, self.first + i, int(self.lengths[i]))
            except FormatError as error:
                faults.setdefault(i, str(error))
                annotations.append(None)
                continue
            annotations.append(annotation)
            tokens[i] = annotation.tokens
            sent_ids[i] = annotation.sent_id or sent_id
        return Sentences(
            self.first, sent_ids, self.lengths, self.scores, tokens, annotations, faults
        )


class ScoresFile(Protocol):
    """An open file of scores."""

    file: InputFile
    layout: str
    dtype: np.dtype[Any]
    num_sentences: int
    has_sent_ids: bool

    def runs(self, first: int = 0, *, num_trees: int = 0, scale: int = 1) -> Iterator[Sentences]:
        """Read the sentences from `first` on, in runs whose size is bounded."""


def read_scores(source: str | os.PathLike[str]) -> Iterator[Sentence]:
    """Read the scores of a corpus, sentence by sentence, in memory that does not grow with it.

    Parameters
    ----------
    source : path, or ``-`` for standard input
        A ``.npy``, ``.npz``, ``.safetensors`` or ``.parquet`` file.

    Yields
    ------
    Sentence

    Raises
    ------
    FormatError
        If the file is not one of these, lacks an array, or is damaged.
    SentenceError
        If one sentence is wrong, naming it.

    Examples
    --------
    >>> np.savez("/tmp/two.npz", lengths=[1, 2], scores=np.zeros(4 + 9), sent_ids=["a", "b"])
    >>> [(s.sent_id, s.log_weights.shape) for s in read_scores("/tmp/two.npz")]
    [('a', (2, 2)), ('b', (3, 3))]
    """
    with open_scores(source) as scores:
        for run in scores.runs():
            for one in run.one_by_one():
                if one.faults:
                    raise SentenceError(one.sent_ids[0], one.first, one.faults[0])
                size = int(one.lengths[0]) + 1
                yield Sentence(one.sent_ids[0], one.scores.reshape(size, size), one.tokens[0])


@contextmanager
def open_scores(source: str | os.PathLike[str]) -> Iterator[ScoresFile]:
    """Open a file of scores, whatever its kind."""
    with open_input(source) as file:
        if file.kind == "parquet":
            with file.path.open("rb") as handle:
                yield ParquetScores(file, handle)
        elif file.kind in ("npy", "npz", "safetensors"):
            with open_arrays(file) as arrays:
                yield ArrayScores(file, arrays)
        else:
            raise FormatError(
                f"{file.name} is not a file of scores: expected .npy, .npz, .safetensors or "
                f".parquet, and found {file.kind.replace('unknown', 'something else')}"
            )


class ArrayScores:
    """Scores in named arrays: the ragged and the padded layout."""

    def __init__(self, file: InputFile, arrays: ArrayFile) -> None:
        self.file = file
        self._arrays = arrays
        if file.kind == "npy":
            self._values = ""
            self.layout = "one matrix"
        elif "scores" in arrays:
            self._values = "scores"
            self.layout = "ragged"
        else:
            if "log_weights" not in arrays:
                raise FormatError(
                    f"{file.name} has neither 'scores' (with 'lengths': all matrices one after the "
                    f"other) nor 'log_weights' (padded); it holds {describe(arrays.names)}"
                )
            self._values = "log_weights"
            self.layout = "padded"
        values = arrays.stream(self._values)
        self.dtype = values.dtype
        if self.dtype.kind not in "fiu":
            raise FormatError(f"{file.name}: scores must be numbers, but are {self.dtype}")
        self._is_single = self.layout != "ragged" and len(values.shape) == 2
        self._is_transposed = getattr(values, "is_transposed", False)
        shape = (1, *values.shape) if self._is_single else values.shape
        if self.layout == "ragged":
            arrays.require("lengths")
            self.num_sentences = self._check_ragged(shape)
        else:
            if len(shape) != 3 or shape[1] != shape[2] or shape[1] < 2:
                raise FormatError(
                    f"{file.name} holds an array of shape {values.shape}: expected "
                    "(n + 1, n + 1), or (S, m, m) for S matrices padded to the same size"
                )
            if self.layout == "one matrix" and not self._is_single:
                self.layout = "matrices of one size"
            self.num_sentences = shape[0]
            self._size = shape[1]
        self._check_lengths_and_ids()

    def _check_ragged(self, shape: tuple[int, ...]) -> int:
        lengths = self._arrays.stream("lengths")
        _check_integers(self.file.name, lengths)
        if len(shape) != 1:
            raise FormatError(
                f"{self.file.name}: scores has shape {shape}: expected one axis, all matrices one "
                "after the other"
            )
        num_sentences, expected = lengths.shape[0], 0
        for start in range(0, num_sentences, _PIECE):
            piece = lengths.read(min(_PIECE, num_sentences - start))
            if (piece < 0).any():
                index = start + int(np.flatnonzero(piece < 0)[0])
                raise FormatError(f"{self.file.name}: lengths[{index}] is negative")
            expected += int(matrix_sizes(piece).sum())
        if expected != shape[0]:
            raise FormatError(
                f"{self.file.name}: the lengths ask for {expected} scores, (n + 1) ** 2 for each "
                f"sentence of n words, but there are {shape[0]}"
            )
        return int(num_sentences)

    def _check_lengths_and_ids(self) -> None:
        if "lengths" in self._arrays:
            lengths = self._arrays.stream("lengths")
            _check_integers(self.file.name, lengths)
            if lengths.shape[0] != self.num_sentences:
                raise FormatError(
                    f"{self.file.name}: {lengths.shape[0]} lengths for {self.num_sentences} "
                    "matrices"
                )
        self.has_sent_ids = "sent_ids" in self._arrays or "sent_ids" in self._arrays.metadata
        # A safetensors file has no strings: its ids are a list in the metadata.
        self._listed_ids: list[str] | None = None
        count = self.num_sentences
        if "sent_ids" in self._arrays:
            stream = self._arrays.stream("sent_ids")
            if stream.dtype.kind not in "UiuS" or len(stream.shape) != 1:
                raise FormatError(f"{self.file.name}: sent_ids must be a list of strings")
            count = stream.shape[0]
        elif self.has_sent_ids:
            try:
                self._listed_ids = [str(i) for i in json.loads(self._arrays.metadata["sent_ids"])]
            except ValueError as error:
                raise FormatError(
                    f"{self.file.name}: the metadata's sent_ids must be a JSON list: {error}"
                ) from error
            count = len(self._listed_ids)
        if count != self.num_sentences:
            raise FormatError(
                f"{self.file.name}: {count} sent_ids for {self.num_sentences} sentences"
            )

    def runs(self, first: int = 0, *, num_trees: int = 0, scale: int = 1) -> Iterator[Sentences]:
        """Read the sentences from `first` on, in runs whose size is bounded."""
        values = self._arrays.stream(self._values)
        lengths = self._arrays.stream("lengths") if "lengths" in self._arrays else None
        ids = self._arrays.stream("sent_ids") if "sent_ids" in self._arrays else None
        self._skip(first, values, lengths, ids)
        index = first
        while index < self.num_sentences:
            count = min(_PIECE, self.num_sentences - index)
            piece = (
                lengths.read(count).astype(np.int64)
                if lengths is not None
                else np.full(count, self._size - 1)
            )
            if ids is not None:
                piece_ids = [_as_text(i) for i in ids.read(count).tolist()]
            elif self._listed_ids is not None:
                piece_ids = self._listed_ids[index : index + count]
            else:
                piece_ids = [str(i + 1) for i in range(index, index + count)]
            stored = piece if self.layout == "ragged" else np.full(count, self._size - 1)
            for start, stop in _split(stored, num_trees, RUN_VALUES * scale):
                run = slice(start, stop)
                yield self._run(index + start, piece_ids[run], piece[run], values)
            index += count
        for stream in (values, lengths, ids):
            if stream is not None:
                stream.end()

    def _skip(self, first: int, values: Any, lengths: Any, ids: Any) -> None:
        if self.layout == "ragged":
            for start in range(0, first, _PIECE):
                piece = lengths.read(min(_PIECE, first - start))
                values.skip(int(matrix_sizes(piece).sum()))
        elif first:
            values.skip(self._size if self._is_single else first)
            if lengths is not None:
                lengths.skip(first)
        if ids is not None:
            ids.skip(first)

    def _run(
        self, first: int, sent_ids: list[str], lengths: NDArray[np.int64], values: Any
    ) -> Sentences:
        faults: dict[int, str] = {}
        if self.layout == "ragged":
            scores = values.read(int(matrix_sizes(lengths).sum()))
            for i in np.flatnonzero(lengths < 1):
                faults[int(i)] = "it has no words (its length is 0)"
        else:
            matrices = values.read(self._size if self._is_single else len(lengths))
            matrices = matrices.reshape(-1, self._size, self._size)
            if self._is_transposed:
                matrices = matrices.swapaxes(1, 2)
            wrong = (lengths < 1) | (lengths >= self._size)
            for i in np.flatnonzero(wrong):
                faults[int(i)] = (
                    f"its length is {lengths[i]}, where a matrix padded to {self._size} nodes has "
                    f"1 to {self._size - 1} words"
                )
            lengths = np.where(wrong, 0, lengths)
            real = np.arange(self._size) <= lengths[:, None]
            scores = matrices[real[:, :, None] & real[:, None, :]]
        tokens: list[list[str] | None] = [None] * len(sent_ids)
        return Sentences(first, sent_ids, lengths.astype(np.int32), scores, tokens, faults=faults)


class ParquetScores:
    """Scores in the rows of a Parquet file."""

    layout = "rows"

    def __init__(self, file: InputFile, handle: Any) -> None:
        self._arrow = required("pyarrow", "reading a .parquet file")
        parquet = required("pyarrow.parquet", "reading a .parquet file")
        self.file = file
        try:
            # Buffered, and nothing fetched in advance: memory does not grow with the row groups.
            self._parquet = parquet.ParquetFile(handle, buffer_size=1 << 20, pre_buffer=False)
        except (self._arrow.ArrowException, OSError) as error:
            raise FormatError(f"{file.name} is truncated or damaged: {error}") from error
        schema = self._parquet.schema_arrow
        if "log_weights" not in schema.names:
            raise FormatError(
                f"{file.name} lacks the column 'log_weights'; it holds {describe(schema.names)}"
            )
        kind = schema.field("log_weights").type
        if not _is_list(self._arrow, kind) or _is_list(self._arrow, kind.value_type):
            raise FormatError(
                f"{file.name}: the column log_weights has the type {kind}: expected a flat list of "
                "numbers, (n + 1) ** 2 for a sentence of n words, row by row"
            )
        self.dtype = np.dtype(kind.value_type.to_pandas_dtype())
        if self.dtype.kind not in "fiu":
            raise FormatError(f"{file.name}: log_weights must be numbers, but are {self.dtype}")
        self.num_sentences = self._parquet.metadata.num_rows
        self.has_sent_ids = "sent_id" in schema.names
        wanted = ("sent_id", "length", "log_weights", "tokens")
        self._columns = [column for column in wanted if column in schema.names]

    def runs(self, first: int = 0, *, num_trees: int = 0, scale: int = 1) -> Iterator[Sentences]:
        """Read the sentences from `first` on, in runs whose size is bounded."""
        metadata = self._parquet.metadata
        index = 0
        for group in range(metadata.num_row_groups):
            rows = metadata.row_group(group).num_rows
            if index + rows <= first:
                index += rows
                continue
            yield from self._group_runs(group, index, first, num_trees, scale)
            index += rows

    def _group_runs(
        self, group: int, index: int, first: int, num_trees: int, scale: int
    ) -> Iterator[Sentences]:
        info = self._parquet.metadata.row_group(group)
        mean_bytes = max(1, info.total_byte_size // max(1, info.num_rows))
        batch_rows = min(_PIECE, max(1, RUN_VALUES * 8 // mean_bytes))
        batches = self._parquet.iter_batches(
            batch_rows, row_groups=[group], columns=self._columns, use_threads=False
        )
        while True:
            try:
                batch = next(batches, None)
            except (self._arrow.ArrowException, OSError) as error:
                raise FormatError(
                    f"{self.file.name} is truncated or damaged near row {index + 1}: {error}"
                ) from error
            if batch is None:
                return
            start = max(0, first - index)
            if start < batch.num_rows:
                part = batch.slice(start)
                yield from self._batch_runs(part, index + start, num_trees, scale)
            index += batch.num_rows

    def _batch_runs(
        self, batch: Any, index: int, num_trees: int, scale: int
    ) -> Iterator[Sentences]:
        matrices = batch.column("log_weights")
        counts = np.asarray(matrices.value_lengths().fill_null(0), dtype=np.int64)
        values = np.asarray(matrices.flatten())
        if "length" in self._columns:
            lengths = np.asarray(batch.column("length").fill_null(-1), dtype=np.int64)
        else:
            lengths = np.sqrt(counts).astype(np.int64) - 1
        if self.has_sent_ids:
            sent_ids = [_as_text(i) for i in batch.column("sent_id").to_pylist()]
        else:
            sent_ids = [str(index + i + 1) for i in range(len(lengths))]
        tokens: list[list[str] | None] = [None] * len(lengths)
        if "tokens" in self._columns:
            tokens = batch.column("tokens").to_pylist()
        wrong = (lengths < 1) | (counts != matrix_sizes(lengths))
        reasons = {
            int(i): f"its length is {lengths[i]}, but its log_weights hold {counts[i]} numbers: a "
            "sentence of n words has (n + 1) ** 2, and at least one word"
            for i in np.flatnonzero(wrong)
        }
        for i in np.flatnonzero(~wrong):
            if tokens[i] is not None and len(tokens[i] or ()) != lengths[i]:
                reasons[int(i)] = f"it has {lengths[i]} words, but {len(tokens[i] or ())} tokens"
        if wrong.any():  # put a single number in the place of each unusable matrix
            bounds = np.concatenate([[0], np.cumsum(counts)])
            values = np.concatenate(
                [
                    np.full(1, np.nan) if wrong[i] else values[bounds[i] : bounds[i + 1]]
                    for i in range(len(lengths))
                ]
            )
            lengths = np.where(wrong, 0, lengths)
        bounds = np.concatenate([[0], np.cumsum(matrix_sizes(lengths))])
        for start, stop in _split(lengths, num_trees, RUN_VALUES * scale):
            yield Sentences(
                index + start,
                sent_ids[start:stop],
                lengths[start:stop].astype(np.int32),
                values[bounds[start] : bounds[stop]],
                tokens[start:stop],
                faults={i - start: r for i, r in reasons.items() if start <= i < stop},
            )


def matrix_sizes(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """How many numbers the matrices of sentences of so many words hold."""
    answer: NDArray[np.int64] = (np.asarray(lengths, dtype=np.int64) + 1) ** 2
    return answer


def _split(
    lengths: NDArray[np.int64], num_trees: int, max_values: int
) -> Iterator[tuple[int, int]]:
    """Split sentences into runs that, padded, need at most so many numbers for everything."""
    start, most = 0, 0
    for i, length in enumerate(lengths.tolist()):
        longest = max(most, length + 1)
        if i > start and (i - start + 1) * longest * (longest + num_trees) > max_values:
            yield start, i
            start, longest = i, length + 1
        most = longest
    if start < len(lengths):
        yield start, len(lengths)


def _check_integers(name: str, lengths: Any) -> None:
    if lengths.dtype.kind not in "iu" or len(lengths.shape) != 1:
        raise FormatError(
            f"{name}: lengths must be a list of integers, but is {lengths.dtype} of shape "
            f"{lengths.shape}"
        )


def _is_list(arrow: Any, kind: Any) -> bool:
    types = arrow.types
    return bool(
        types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    )


def _as_text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
