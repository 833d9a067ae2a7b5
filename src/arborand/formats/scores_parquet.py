"""Scores in a Parquet file: one row per sentence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from arborand.formats.limits import max_characters, max_words, too_many_words
from arborand.formats.parquet_input import ParquetInput
from arborand.formats.sentences import (
    Sentences,
    matrix_sizes,
    run_values,
    sentence_id,
    split_runs,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from arborand.formats.inputs import InputFile

# How many rows are read at a time, at most.
_PIECE = 4096
_COLUMNS = {"sent_id": "text", "length": "integer", "log_weights": "numbers", "tokens": "texts"}


class ParquetScores:
    """Scores in the rows of a Parquet file."""

    layout = "rows"

    def __init__(self, file: InputFile, handle: Any) -> None:
        self.file = file
        self._input = ParquetInput(handle, file.name, _COLUMNS, ("log_weights",))
        self.dtype = np.dtype(self._input.type_of("log_weights").to_pandas_dtype())
        self.num_sentences = self._input.num_rows
        self.has_sent_ids = "sent_id" in self._input.columns

    def _ids(self, batch: Any, index: int) -> list[str]:
        if not self.has_sent_ids:
            return [str(index + i + 1) for i in range(batch.num_rows)]
        column = batch.column("sent_id")
        if hasattr(column, "dictionary"):  # faster by far than column.to_pylist()
            strings = [*column.dictionary.to_pylist(), None]
            values = [strings[code] for code in _filled(column.indices, -1).to_pylist()]
        else:
            values = column.to_pylist()
        longest = max_characters()
        return [
            value
            if type(value) is str and len(value) <= longest and value.isascii()
            else sentence_id(value, self.file.name, index + i)
            for i, value in enumerate(values)
        ]

    def runs(self, first: int = 0, *, num_trees: int = 0, scale: int = 1) -> Iterator[Sentences]:
        """Read the sentences from `first` on, in runs whose size is bounded."""
        index = 0
        for group, (rows, _) in enumerate(self._input.groups):
            if index + rows <= first:
                index += rows
                continue
            yield from self._group_runs(group, index, first, num_trees, scale)
            index += rows

    def _group_runs(
        self, group: int, index: int, first: int, num_trees: int, scale: int
    ) -> Iterator[Sentences]:
        # Not by bytes: what many equal numbers take in the file says nothing about memory.
        rows = max(1, self._input.groups[group].num_rows)
        stored = max(1, self._input.num_values(group, "log_weights"))
        batch_rows = min(_PIECE, max(1, run_values(scale) * rows // stored))
        for batch in self._input.batches(group, batch_rows):
            start = max(0, first - index)
            if start < batch.num_rows:
                part = batch.slice(start)
                yield from self._batch_runs(part, index + start, num_trees, scale)
            index += batch.num_rows

    def _batch_runs(
        self, batch: Any, index: int, num_trees: int, scale: int
    ) -> Iterator[Sentences]:
        matrices = batch.column("log_weights")
        with self._input.reading():
            counts = _numbers(_filled(matrices.value_lengths(), 0)).astype(np.int64)
            values = _numbers(matrices.flatten())
            if "length" in self._input.columns:
                stored = batch.column("length").to_pylist()
            else:
                stored = [math.isqrt(count) - 1 for count in counts.tolist()]
        sent_ids = self._ids(batch, index)
        reasons = _size_faults(stored, counts.tolist())
        wrong = np.zeros(len(sent_ids), dtype=bool)
        wrong[list(reasons)] = True
        lengths = np.array([0 if i in reasons else n for i, n in enumerate(stored)], dtype=np.int64)
        tokens: list[list[str] | None] = [None] * len(sent_ids)
        if "tokens" in self._input.columns:
            tokens = self._tokens(batch.column("tokens"), lengths, reasons)
        if wrong.any():  # put a single number in the place of each unusable matrix
            bounds = np.concatenate([[0], np.cumsum(counts)])
            values = np.concatenate(
                [
                    np.full(1, np.nan) if wrong[i] else values[bounds[i] : bounds[i + 1]]
                    for i in range(len(lengths))
                ]
            )
        bounds = np.concatenate([[0], np.cumsum(matrix_sizes(lengths))])
        for start, stop in split_runs(lengths, num_trees, run_values(scale)):
            yield Sentences(
                index + start,
                sent_ids[start:stop],
                lengths[start:stop].astype(np.int32),
                values[bounds[start] : bounds[stop]],
                tokens[start:stop],
                faults={i - start: r for i, r in reasons.items() if start <= i < stop},
            )

    def _tokens(
        self, column: Any, lengths: NDArray[np.int64], reasons: dict[int, str]
    ) -> list[list[str] | None]:
        """Read the words of the sentences that can be used."""
        with self._input.reading():
            counts = column.value_lengths().to_pylist()
        tokens: list[list[str] | None] = [None] * len(counts)
        for i, count in enumerate(counts):
            if i in reasons or count is None:
                continue
            if count != lengths[i]:
                reasons[i] = f"it has {lengths[i]} words, but {count} tokens"
                continue
            with self._input.reading():
                words = column[i].as_py()
            if None in words:
                reasons[i] = f"its token {words.index(None) + 1} is missing"
            else:
                tokens[i] = words
        return tokens


# Where nothing is missing, pandas need not be imported, which takes longer than many a run.


def _filled(integers: Any, value: int) -> Any:
    return integers.fill_null(value) if integers.null_count else integers


def _numbers(array: Any) -> NDArray[Any]:
    """Make an array of NumPy; where a number is missing, it has NaN."""
    answer: NDArray[Any] = np.asarray(array) if array.null_count else np.from_dlpack(array)
    return answer


def _size_faults(lengths: list[int | None], counts: list[int]) -> dict[int, str]:
    """Compare the lengths with the numbers that are there."""
    faults, most = {}, max_words()
    for i, (length, count) in enumerate(zip(lengths, counts, strict=True)):
        if length is None:
            faults[i] = "its length is missing"
        elif length < 1 or count != (length + 1) ** 2:
            faults[i] = (
                f"its length is {length}, but its log_weights hold {count} numbers: a sentence of "
                "n words has (n + 1) ** 2, and at least one word"
            )
        elif length > most:
            faults[i] = too_many_words(length)
    return faults
