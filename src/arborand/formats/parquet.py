"""Parquet out: one row per tree or per sentence, in row groups of bounded size."""

from __future__ import annotations

from dataclasses import replace
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
# What a row counts besides its list.
_ROW_VALUES = 8


class ParquetWriter:
    """One row per tree, or per sentence; row groups of bounded size."""

    def __init__(
        self, file: IO[bytes], layout: Layout, provenance: dict[str, Any], spool: Path | None
    ) -> None:
        del spool
        arrow = required("pyarrow", "writing a .parquet file")
        self._layout = layout
        self._waiting: list[Rows] = []
        self._num_waiting = 0
        columns = [Column("sent_id", "text"), Column(layout.numbering or "length", "i4")]
        columns += [Column(name, "f8") for name in layout.columns]
        if layout.values is not None:
            columns.append(Column(layout.values, layout.dtype, is_list=True))
        if layout.name == "scores":
            columns.append(Column("tokens", "text", is_list=True, is_optional=True))
        codec = arrow.Codec("zstd")
        self._file = ParquetFile(
            file.write, lambda data: codec.compress(data, asbytes=True), columns
        )
        self._metadata = {"arborand": layout.name, "provenance": as_json(provenance)}

    def write(self, rows: Rows) -> None:
        """Take the next rows."""
        while True:
            weights = self._weights(rows)
            total = int((weights * rows.num_rows).sum())
            if self._num_waiting + total < ROW_GROUP_VALUES:
                break
            ends = np.cumsum(np.repeat(weights, rows.num_rows))
            count = int(np.searchsorted(ends, ROW_GROUP_VALUES - self._num_waiting)) + 1
            first, rows = rows.split(count, self._layout)
            self._keep(first)
            self._flush()
        if total:
            self._keep(rows)
            self._num_waiting += total

    def _weights(self, rows: Rows) -> NDArray[np.int64]:
        """Count what a row of each sentence weighs."""
        if self._layout.values is None:
            return np.full(len(rows.lengths), _ROW_VALUES, dtype=np.int64)
        return self._layout.num_values(rows.lengths) + _ROW_VALUES

    def _keep(self, rows: Rows) -> None:
        values = rows.values
        self._waiting.append(rows if values is None else replace(rows, values=_narrow(values)))

    def close(self) -> None:
        """Write what is left, and the footer."""
        if self._waiting:
            self._flush()
        self._file.close(self._metadata)

    def discard(self) -> None:
        """Nothing is held."""

    def _flush(self) -> None:
        """Write the rows that wait as one row group."""
        waiting, layout = self._waiting, self._layout
        lengths = np.concatenate([rows.lengths for rows in waiting])
        num_rows = np.concatenate([rows.num_rows for rows in waiting])
        sent_ids = [sent_id for rows in waiting for sent_id in rows.sent_ids]
        codes: dict[bytes, int] = {}
        code = [
            codes.setdefault(sent_id.encode(), len(codes)) if count else 0
            for sent_id, count in zip(sent_ids, num_rows.tolist(), strict=True)
        ]
        row_codes = np.repeat(np.array(code, dtype=np.int32), num_rows)
        ids = list(codes)
        if layout.numbering:
            numbers = np.concatenate([rows.samples() for rows in waiting])
        else:
            numbers = np.repeat(lengths, num_rows)
        columns = [
            Values(ids, row_codes, bounds=(min(ids), max(ids))),
            _integers(_narrow(numbers)),
            *(
                Values(np.concatenate([rows.columns[name] for rows in waiting]))
                for name in layout.columns
            ),
        ]
        if layout.values is not None:
            values = np.concatenate([rows.values for rows in waiting])
            sizes = np.repeat(layout.num_values(lengths), num_rows)
            whole = _integers(values) if layout.dtype == "i4" else Values(values)
            columns.append(whole._replace(sizes=sizes))
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
        self._file.write_group(len(row_codes), columns)
        self._waiting, self._num_waiting = [], 0


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Make bytes of integers that fit."""
    is_narrow = values.dtype.kind == "i" and values.min(initial=0) >= 0 and values.max(initial=0) < 256
    return values.astype(np.uint8) if is_narrow else values


def _integers(values: NDArray[Any]) -> Values:
    """Store bytes as places in a dictionary in which each number stands for itself."""
    if values.dtype == np.uint8:
        return Values(np.arange(int(values.max(initial=0)) + 1, dtype=np.int32), values)
    return Values(values.astype(np.int32, copy=False))
