"""Scores in a Parquet file: one row per sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arborand.formats.inputs import FormatError, describe, required
from arborand.formats.sentences import (
    Sentences,
    as_text,
    matrix_sizes,
    run_values,
    split_runs,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arborand.formats.inputs import InputFile

# How many rows are read at a time, at most.
_PIECE = 4096


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
        self.dtype = np.asarray(self._arrow.array([], kind.value_type)).dtype
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
        # Not by bytes: what many equal numbers take in the file says nothing about memory.
        info = self._parquet.metadata.row_group(group)
        columns = [info.column(i) for i in range(info.num_columns)]
        stored = sum(c.num_values for c in columns if c.path_in_schema.startswith("log_weights."))
        batch_rows = min(_PIECE, max(1, run_values() * max(1, info.num_rows) // max(1, stored)))
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
            sent_ids = [as_text(i) for i in batch.column("sent_id").to_pylist()]
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
        for start, stop in split_runs(lengths, num_trees, run_values(scale)):
            yield Sentences(
                index + start,
                sent_ids[start:stop],
                lengths[start:stop].astype(np.int32),
                values[bounds[start] : bounds[stop]],
                tokens[start:stop],
                faults={i - start: r for i, r in reasons.items() if start <= i < stop},
            )


def _is_list(arrow: Any, kind: Any) -> bool:
    types = arrow.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))
