"""Parquet out: one row per tree or per sentence, in row groups of bounded size."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import numpy as np

from arborand.formats.inputs import required
from arborand.formats.provenance import as_json
from arborand.formats.rows import Rows

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from arborand.formats.rows import Layout

# A row group ends with the row that brings it to so many numbers: 16 MB of heads.
ROW_GROUP_VALUES = 1 << 22
# What a row counts besides its list.
_ROW_VALUES = 8


class ParquetWriter:
    """One row per tree, or per sentence; row groups of bounded size."""

    def __init__(
        self, file: IO[bytes], layout: Layout, provenance: dict[str, Any], spool: Path | None
    ) -> None:
        del spool
        self._arrow = arrow = required("pyarrow", "writing a .parquet file")
        self._parquet = required("pyarrow.parquet", "writing a .parquet file")
        self._layout = layout
        self._waiting: list[Rows] = []
        self._num_waiting = 0
        numbered = layout.numbering or "length"
        fields = [
            arrow.field("sent_id", arrow.dictionary(arrow.int32(), arrow.string()), nullable=False),
            arrow.field(numbered, arrow.int32(), nullable=False),
        ]
        fields += [arrow.field(name, arrow.float64(), nullable=False) for name in layout.columns]
        if layout.values is not None:
            number = arrow.from_numpy_dtype(np.dtype(layout.dtype))
            lists = arrow.list_(arrow.field("element", number, nullable=False))
            fields.append(arrow.field(layout.values, lists, nullable=False))
        if layout.name == "scores":
            fields.append(arrow.field("tokens", arrow.list_(arrow.string())))
        self._schema = arrow.schema(fields)
        self._writer = self._parquet.ParquetWriter(
            file,
            self._schema,
            compression="zstd",
            # Numbers as they are: zstd makes as little of repeated trees, in less time.
            use_dictionary=["sent_id", "tokens.list.element"],
            write_statistics=["sent_id", numbered, *layout.columns],
            write_page_checksum=True,
            store_schema=False,  # or readers would get dictionaries instead of strings
        )
        self._writer.add_key_value_metadata(
            {"arborand": layout.name, "provenance": as_json(provenance)}
        )

    def write(self, rows: Rows) -> None:
        """Take the next rows."""
        self._waiting.append(rows)
        sizes = self._layout.num_values(rows.lengths) if self._layout.values is not None else 0
        self._num_waiting += int(((sizes + _ROW_VALUES) * rows.num_rows).sum())
        while self._num_waiting >= ROW_GROUP_VALUES:
            self._flush(ROW_GROUP_VALUES)

    def close(self) -> None:
        """Write what is left, and the footer."""
        if self._num_waiting:
            self._flush(self._num_waiting)
        self._writer.close()

    def discard(self) -> None:
        """Give up."""
        self._writer.is_open = False  # or it would write a footer when it is deleted

    def _flush(self, limit: int) -> None:
        """Write the rows up to the one that reaches the limit; keep the others."""
        waiting = self._waiting
        layout = self._layout
        lengths = np.concatenate([rows.lengths for rows in waiting])
        num_rows = np.concatenate([rows.num_rows for rows in waiting])
        row_lengths = np.repeat(lengths, num_rows)
        if layout.values is not None:
            sizes = layout.num_values(row_lengths)
            values = np.concatenate([rows.values for rows in waiting])
        else:
            sizes, values = np.zeros(len(row_lengths), dtype=np.int64), None
        weights = np.cumsum(sizes + _ROW_VALUES)
        count = min(len(weights), int(np.searchsorted(weights, limit)) + 1)
        ends = np.concatenate([[0], np.cumsum(sizes)])
        columns = {
            name: np.concatenate([rows.columns[name] for rows in waiting])
            for name in layout.columns
        }
        sent_ids = [sent_id for rows in waiting for sent_id in rows.sent_ids]
        samples = np.concatenate([rows.samples() for rows in waiting])
        tokens = [
            words for rows in waiting for words in (rows.tokens or [None] * len(rows.sent_ids))
        ]
        sentence = np.repeat(np.arange(len(sent_ids)), num_rows)
        self._write(
            [sent_ids[i] for i in range(sentence[count - 1] + 1)],
            sentence[:count],
            samples[:count] if layout.numbering else row_lengths[:count],
            {name: column[:count] for name, column in columns.items()},
            None if values is None else values[: ends[count]],
            ends[: count + 1],
            tokens,
        )
        self._waiting = []
        if count < len(row_lengths):
            first = int(sentence[count])
            rest = num_rows[first:].copy()
            before = count - int(num_rows[:first].sum())
            rest[0] -= before
            self._waiting = [
                Rows(
                    sent_ids[first:],
                    lengths[first:],
                    rest,
                    {name: column[count:] for name, column in columns.items()},
                    None if values is None else values[ends[count] :],
                    int(samples[count]) - 1,
                    tokens[first:],
                )
            ]
        self._num_waiting = int(weights[-1] - weights[count - 1])

    def _write(
        self,
        sent_ids: list[str],
        sentence: NDArray[np.int64],
        numbers: NDArray[np.int32],
        columns: dict[str, NDArray[np.float64]],
        values: NDArray[Any] | None,
        ends: NDArray[np.int64],
        tokens: list[list[str] | None],
    ) -> None:
        """Write one row group."""
        arrow, layout = self._arrow, self._layout
        codes: dict[str, int] = {}
        code = np.array([codes.setdefault(i, len(codes)) for i in sent_ids], dtype=np.int32)
        arrays = [
            arrow.DictionaryArray.from_arrays(
                _numbers(arrow, code[sentence]), _strings(arrow, list(codes))
            ),
            _numbers(arrow, numbers),
            *(_numbers(arrow, columns[name]) for name in layout.columns),
        ]
        if values is not None:
            kind = self._schema.field(layout.values).type
            lists = arrow.ListArray.from_arrays(
                _numbers(arrow, ends.astype(np.int32)), _numbers(arrow, values), type=kind
            )
            arrays.append(lists)
        if layout.name == "scores":
            arrays.append(arrow.array([tokens[i] for i in sentence], arrow.list_(arrow.string())))
        table = arrow.Table.from_arrays(arrays, schema=self._schema)
        self._writer.write_table(table, row_group_size=max(1, len(sentence)))


# pyarrow.array would import pandas where it is installed, which takes longer than many a run.


def _numbers(arrow: Any, values: NDArray[Any]) -> Any:
    buffer = arrow.py_buffer(np.ascontiguousarray(values))
    kind = arrow.from_numpy_dtype(values.dtype)
    return arrow.Array.from_buffers(kind, len(values), [None, buffer])


def _strings(arrow: Any, strings: list[str]) -> Any:
    encoded = [string.encode() for string in strings]
    ends = np.cumsum([0, *map(len, encoded)]).astype(np.int32)
    buffers = [None, arrow.py_buffer(ends), arrow.py_buffer(b"".join(encoded))]
    return arrow.Array.from_buffers(arrow.string(), len(strings), buffers)
