"""Parquet out: one row per tree or per sentence, in row groups of bounded size."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import numpy as np

from arborand.formats.inputs import as_json, required
from arborand.formats.parquet_pages import Column, ParquetFile, Values
from arborand.formats.rows import Writer

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


class ParquetWriter(Writer):
    """One row per tree, or per sentence; row groups of bounded size."""

    def __init__(
        self, file: IO[bytes], layout: Layout, provenance: dict[str, Any], spool: Path | None
    ) -> None:
        del spool
        arrow = required("pyarrow", "writing a .parquet file")
        self._layout = layout
        # In numbers: of the rows that wait for their page, and of the row group before them.
        self._num_waiting = self._num_written = 0
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
        layout = self._layout
        num_values = layout.num_values(rows.lengths)
        weights = num_values + _ROW_VALUES  # of a row of each sentence
        ends, last_rows = np.cumsum(weights * rows.num_rows), np.cumsum(rows.num_rows)
        num_rows = int(last_rows[-1]) if len(last_rows) else 0
        samples = rows.samples() if layout.numbering else None
        row = value = num_taken = 0
        while row < num_rows:
            bound = min(_PAGE_VALUES, ROW_GROUP_VALUES - self._num_written)
            target = num_taken + bound - self._num_waiting
            last = min(int(np.searchsorted(ends, target)), len(ends) - 1)  # the last sentence
            left = max(0, int((ends[last] - target) // weights[last]))  # of its rows
            some = slice(row, int(last_rows[last]) - left)
            repeats = rows.num_rows
            if some.stop - row < num_rows:  # the page ends before, or began after
                bounds = np.clip(last_rows, row, some.stop)
                repeats = np.diff(bounds, prepend=row)
            which = np.flatnonzero(repeats)
            sizes, repeats = num_values[which], repeats[which]
            columns = [
                Values([rows.sent_ids[i].encode() for i in which.tolist()], repeats),
                Values(
                    np.repeat(rows.lengths[which], repeats) if samples is None else samples[some]
                ),
            ]
            for name in layout.columns:
                column = rows.columns[name][some]
                is_text = layout.name == "findings"
                columns.append(Values([text.encode() for text in column] if is_text else column))
            if layout.values is not None:
                end = value + int((sizes * repeats).sum())
                columns.append(Values(rows.values[value:end], repeats, sizes))
                value = end
            if layout.name == "scores":  # one row per sentence
                columns.append(_lists(rows.tokens[some] or [None] * len(which), repeats))
            self._file.add_rows(some.stop - row, columns)
            taken = int(ends[last] - left * weights[last])
            self._num_waiting += taken - num_taken
            row, num_taken = some.stop, taken
            if self._num_waiting >= bound:
                self._end_page()

    def _end_page(self) -> None:
        self._file.end_page()
        self._num_written += self._num_waiting
        self._num_waiting = 0
        if self._num_written >= ROW_GROUP_VALUES:
            self._file.end_group()
            self._num_written = 0

    def close(self) -> None:
        """Write what is left, and the footer."""
        if self._num_waiting:
            self._end_page()
        self._file.close(self._metadata)


def _lists(tokens: list[list[str] | None], repeats: NDArray[np.int64]) -> Values:
    sizes = np.array([-1 if words is None else len(words) for words in tokens])
    return Values([word.encode() for words in tokens for word in words or ()], repeats, sizes)
