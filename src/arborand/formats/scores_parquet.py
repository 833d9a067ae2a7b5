"""Scores in a Parquet file: one row per sentence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from arborand.formats.arrays import PIECE
from arborand.formats.inputs import reading
from arborand.formats.limits import CHARACTERS, WORDS
from arborand.formats.parquet_input import ParquetInput
from arborand.formats.sentences import (
    ScoresFile,
    Sentences,
    matrix_sizes,
    numbered,
    sentence_id,
    split_runs,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from arborand.formats.inputs import InputFile

_COLUMNS = {"sent_id": "text", "length": "integer", "log_weights": "numbers", "tokens": "texts"}


class ParquetScores(ScoresFile):
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
            return numbered(index, batch.num_rows)
        column = batch.column("sent_id")
        if hasattr(column, "dictionary"):  # faster by far than column.to_pylist()
            strings = [*column.dictionary.to_pylist(), None]
            values = [strings[code] for code in _filled(column.indices, -1).to_pylist()]
        else:
            values = column.to_pylist()
        longest = CHARACTERS.most
        return [
            value
            if type(value) is str and len(value) <= longest and value.isascii()
            else sentence_id(value, self.file.name, index + i)
            for i, value in enumerate(values)
        ]

    def _runs(self, first: int, num_trees: int, max_values: int) -> Iterator[Sentences]:
        index = 0
        for group, (num_rows, _) in enumerate(self._input.groups):
            if index + num_rows > first:
                # Not by bytes: what many equal numbers take in the file says nothing about memory.
                stored = max(1, self._input.num_values(group, "log_weights"))
                batch_rows = min(PIECE, max(1, max_values * num_rows // stored))
                place = index
                for batch in self._input.batches(group, batch_rows):
                    run = self._run(batch, place)
                    place += len(run)
                    for start, stop in split_runs(run.lengths, num_trees, max_values):
                        yield run.part(start, stop)
            index += num_rows

    def _run(self, batch: Any, index: int) -> Sentences:
        """Make a run of a batch; each unusable matrix becomes a single number."""
        matrices = batch.column("log_weights")
        sent_ids = self._ids(batch, index)
        tokens: list[list[str] | None] = [None] * len(sent_ids)
        with reading(self.file.name):
            counts = _numbers(_filled(matrices.value_lengths(), 0)).astype(np.int64)
            values = _numbers(matrices.flatten())
            if "length" in self._input.columns:
                stored = batch.column("length")
                lengths = _numbers(_filled(stored, 0)).astype(np.int64)
            else:
                stored = None
                lengths = np.array([math.isqrt(count) - 1 for count in counts.tolist()])
            if "tokens" in self._input.columns and batch.column("tokens").null_count < len(tokens):
                tokens = batch.column("tokens").to_pylist()
        most_words = WORDS.most
        wrong = (lengths < 1) | (lengths > most_words) | (matrix_sizes(lengths) != counts)
        wrong |= np.array([words is not None for words in tokens], dtype=bool)
        faults = {}
        for i in np.flatnonzero(wrong).tolist():  # or has words, which are looked at one by one
            length = int(lengths[i]) if stored is None else stored[i].as_py()
            reason = _fault(length, int(counts[i]), tokens[i], most_words)
            if reason is None:
                wrong[i] = False
            else:
                faults[i] = reason
                lengths[i], tokens[i] = 0, None
        if faults:
            ends = np.cumsum(np.where(wrong, 0, counts))
            values = np.insert(values[np.repeat(~wrong, counts)], ends[wrong], 0)
        return Sentences(index, sent_ids, lengths.astype(np.int32), values, tokens, faults=faults)


# Where nothing is missing, pandas need not be imported, which takes longer than many a run.


def _filled(integers: Any, value: int) -> Any:
    return integers.fill_null(value) if integers.null_count else integers


def _numbers(array: Any) -> NDArray[Any]:
    """Make an array of NumPy; where a number is missing, it has NaN."""
    answer: NDArray[Any] = np.asarray(array) if array.null_count else np.from_dlpack(array)
    return answer


def _fault(
    length: int | None, count: int, words: Sequence[str | None] | None, most_words: int
) -> str | None:
    """Compare a sentence's length with the numbers and the words that are there."""
    if length is None:
        return "its length is missing"
    if length < 1 or count != (length + 1) ** 2:
        return (
            f"its length is {length}, but its log_weights hold {count} numbers: a sentence of "
            "n words has (n + 1) ** 2, and at least one word"
        )
    if length > most_words:
        return WORDS.exceeded_by(length)
    if words is not None and len(words) != length:
        return f"it has {length} words, but {len(words)} tokens"
    if words is not None and None in words:
        return f"its token {words.index(None) + 1} is missing"
    return None
