"""Parquet out: one row per tree or per sentence, in row groups of bounded size."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import numpy as np

from arborand.formats.inputs import required
from arborand.formats.parquet_pages import Column, ParquetFile, Values
from arborand.formats.provenance import as_json

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from arborand.formats.rows import Layout, Rows

# A row group ends with the row that brings it to so many numbers: 4 MB of heads, 32 of marginals.
ROW_GROUP_VALUES = 1 << 22
# And so does a page, which is what is held and compressed at a time.
_PAGE_VALUES = 1 << 21
# What a row counts besides its list.
_ROW_VALUES = 8
# In the dictionary of bytes, each stands for itself.
_BYTES = np.arange(256, dtype=np.int32)


class ParquetWriter:
    """One row per tree, or per sentence; row groups of bounded size."""

    def __init__(
        self, file: IO[bytes], layout: Layout, provenance: dict[str, Any], spool: Path | None
    ) -> None:
        del spool
        arrow = required("pyarrow", "writing a .parquet file")
        self._layout = layout
        self._waiting: list[Rows] = []
        # In numbers: of the rows that wait for their page, and of the row group before them.
        self._num_waiting = self._num_written = 0
        self._codes: dict[bytes, int] = {}  # of the sentences of the row group
        columns = [Column("sent_id", "text"), Column(layout.numbering or "length", "i4")]
        kind = "text" if layout.name == "findings" else "f8"
        columns += [Column(name, kind) for name in layout.columns]
        if layout.values is not None:
            columns.append(Column(layout.values, layout.dtype, is_list=True))
        if layout.name == "scores":
            columns.append(Column("tokens", "text", is_list=True, is_optional=True))
        self._file = ParquetFile(
            file.write, lambda data, codec: arrow.compress(data, codec, asbytes=True), columns
        )
        self._metadata = {"arborand": layout.name, "provenance": as_json(provenance)}

    def write(self, rows: Rows) -> None:
        """Take the next rows."""
        while True:
            weights = self._weights(rows)
            total = int((weights * rows.num_rows).sum())
            left = min(_PAGE_VALUES, ROW_GROUP_VALUES - self._num_written) - self._num_waiting
            if total < left:
                break
            ends = np.cumsum(np.repeat(weights, rows.num_rows))
            count = int(np.searchsorted(ends, left)) + 1
            first, rows = rows.split(count, self._layout)
            self._waiting.append(first)
            self._num_waiting += int(ends[count - 1])
            self._flush()
        if total:
            self._waiting.append(rows)
            self._num_waiting += total

    def _weights(self, rows: Rows) -> NDArray[np.int64]:
        """Count what a row of each sentence weighs."""
        if self._layout.values is None:
            return np.full(len(rows.lengths), _ROW_VALUES, dtype=np.int64)
        return self._layout.num_values(rows.lengths) + _ROW_VALUES

    def close(self) -> None:
        """Write what is left, and the footer."""
        if self._num_waiting:
            self._flush()
        self._file.close(self._metadata)

    def discard(self) -> None:
        """Nothing is held."""

    def _flush(self) -> None:
        """Write the rows that wait as one page of each column."""
        waiting, layout, codes = self._waiting, self._layout, self._codes
        num_rows = np.concatenate([rows.num_rows for rows in waiting])
        sent_ids = (sent_id for rows in waiting for sent_id in rows.sent_ids)
        code = [
            codes.setdefault(sent_id.encode(), len(codes))
            for sent_id, count in zip(sent_ids, num_rows.tolist(), strict=True)
            if count
        ]
        if layout.numbering:
            numbers = [rows.samples() for rows in waiting]
        else:
            numbers = [np.repeat(rows.lengths, rows.num_rows) for rows in waiting]
        columns = [
            Values([np.array(code)], codes, repeats=num_rows[num_rows > 0]),
            _integers(numbers),
        ]
        for name in layout.columns:
            pieces: list[Any] = [rows.columns[name] for rows in waiting]
            if layout.name == "findings":
                pieces = [text.encode() for piece in pieces for text in piece]
            columns.append(Values(pieces))
        if layout.values is not None:
            lengths = np.concatenate([rows.lengths for rows in waiting])
            sizes = np.repeat(layout.num_values(lengths), num_rows)
            pieces = [rows.values for rows in waiting if rows.values is not None]
            values = _integers(pieces) if layout.dtype == "i4" else Values(pieces)
            columns.append(values._replace(sizes=sizes))
        if layout.name == "scores":
            tokens = [
                words for rows in waiting for words in rows.tokens or [None] * len(rows.sent_ids)
            ]
            columns.append(
                Values(
                    [word.encode() for words in tokens for word in words or ()],
                    sizes=np.array([-1 if words is None else len(words) for words in tokens]),
                )
            )
        self._file.add_rows(int(num_rows.sum()), columns)
        self._num_written += self._num_waiting
        self._waiting, self._num_waiting = [], 0
        if self._num_written >= ROW_GROUP_VALUES:
            self._file.end_group()
            self._num_written, self._codes = 0, {}


def _integers(pieces: list[NDArray[Any]]) -> Values:
    """Store integers as bytes if they fit: a quarter of the size before they are compressed."""
    if all(piece.dtype == np.uint8 or _fit(piece) for piece in pieces):
        return Values([piece.astype(np.uint8, copy=False) for piece in pieces], _BYTES)
    return Values([piece.astype(np.int32, copy=False) for piece in pieces])


def _fit(integers: NDArray[Any]) -> bool:
    return bool(integers.min(initial=0) >= 0 and integers.max(initial=0) <= 255)
