"""Parquet out: one row per tree or per sentence, in row groups of bounded size."""

from __future__ import annotations

from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from arborand.formats.inputs import as_json, required
from arborand.formats.rows import Writer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from arborand.formats.rows import Layout, Rows

# A row group ends with the row that brings it to this many numbers: 16 MB of heads, 32 of floats.
ROW_GROUP_VALUES = 1 << 22
# What a row counts besides its list.
_ROW_VALUES = 8


class ParquetWriter(Writer):
    """One row per tree, or per sentence.

    Arrow gets one row group at a time.  Where a group ends depends on its rows alone, so the same
    rows give the same bytes, however they come in portions.
    """

    def __init__(
        self, file: IO[bytes], layout: Layout, provenance: dict[str, Any], spool: Path | None
    ) -> None:
        del spool
        self._arrow = arrow = required("pyarrow", "writing a .parquet file")
        parquet = required("pyarrow.parquet", "writing a .parquet file")
        self._layout = layout
        self._waiting: list[Rows] = []
        self._num_waiting = 0  # numbers
        text, number = arrow.string(), arrow.from_numpy_dtype(layout.dtype)
        types = {"sent_id": arrow.dictionary(arrow.int32(), text)}
        types[layout.numbering or "length"] = arrow.int32()
        column_type = text if layout.name == "findings" else arrow.float64()
        types |= dict.fromkeys(layout.columns, column_type)
        # Noise is hardly compressed, and zstd takes three times as long as snappy to find that out.
        codecs = {
            name: "snappy" if kind == arrow.float64() else "zstd" for name, kind in types.items()
        }
        if layout.values is not None:
            types[layout.values] = _list_of(arrow, number)
            is_noise = arrow.types.is_floating(number)
            codecs[f"{layout.values}.list.element"] = "snappy" if is_noise else "zstd"
        fields = [arrow.field(name, kind, nullable=False) for name, kind in types.items()]
        if layout.name == "scores":
            fields.append(arrow.field("tokens", _list_of(arrow, text)))
            codecs["tokens.list.element"] = "zstd"
        self._schema = arrow.schema(fields)
        self._sink = _Sink(file)
        self._parquet = parquet.ParquetWriter(
            self._sink,
            self._schema,
            compression=codecs,
            use_dictionary=["sent_id"],
            write_statistics=["sent_id"],  # by which readers skip row groups
            write_page_checksum=True,
            store_schema=False,  # a reader should see strings, not how they came
        )
        self._parquet.add_key_value_metadata(
            {"arborand": layout.name, "provenance": as_json(provenance)}
        )

    def write(self, rows: Rows) -> None:
        """Take the next rows."""
        weights = self._layout.num_values(rows.lengths) + _ROW_VALUES
        ends = np.cumsum(np.repeat(weights, rows.num_rows))
        start = num_taken = 0
        while start < len(ends):
            target = num_taken + ROW_GROUP_VALUES - self._num_waiting
            stop = min(int(np.searchsorted(ends, target)) + 1, len(ends))
            self._waiting.append(rows.part(self._layout, start, stop))
            self._num_waiting += int(ends[stop - 1]) - num_taken
            start, num_taken = stop, int(ends[stop - 1])
            if self._num_waiting >= ROW_GROUP_VALUES:
                self._write_group()

    def _write_group(self) -> None:
        arrow, layout = self._arrow, self._layout
        group, self._waiting, self._num_waiting = self._waiting, [], 0
        lengths, repeats, sent_ids = [], [], []
        for rows in group:
            lengths.append(rows.lengths)
            repeats.append(rows.num_rows)
            sent_ids += rows.sent_ids
        counts = np.concatenate(repeats)
        which = _array(arrow, np.repeat(np.arange(len(counts)), counts))
        numbers = [rows.samples() for rows in group] if layout.numbering else lengths
        arrays = [
            _strings(arrow, sent_ids).dictionary_encode().take(which),
            _array(arrow, np.concatenate(numbers)),
        ]
        for name in layout.columns:
            column = np.concatenate([rows.columns[name] for rows in group])
            is_text = layout.name == "findings"
            arrays.append(_strings(arrow, column.tolist()) if is_text else _array(arrow, column))
        if layout.values is not None:
            sizes = np.repeat(layout.num_values(np.concatenate(lengths)), counts)
            values = np.concatenate([rows.values for rows in group], dtype=layout.dtype)
            arrays.append(
                arrow.ListArray.from_arrays(
                    _array(arrow, _offsets(sizes)),
                    _array(arrow, values),
                    self._schema.field(layout.values).type,
                )
            )
        if layout.name == "scores":  # one row per sentence
            tokens = [one for rows in group for one in rows.tokens or [None] * len(rows.sent_ids)]
            kind = self._schema.field("tokens").type
            has_tokens = any(words is not None for words in tokens)
            arrays.append(
                arrow.array(tokens, kind) if has_tokens else arrow.nulls(len(tokens), kind)
            )
        table = arrow.Table.from_arrays(arrays, schema=self._schema)
        self._parquet.write_table(table, table.num_rows)

    def close(self) -> None:
        """Write what is left, and the footer."""
        if self._waiting:
            self._write_group()
        self._parquet.close()

    def discard(self) -> None:
        """Give up: what Arrow would write at its end goes nowhere."""
        self._sink.write = len
        with suppress(Exception):  # whatever it says after an error
            self._parquet.close()


class _Sink:
    """The file as Arrow sees it: Arrow may neither close it nor ask where it ends."""

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self.write: Callable[[bytes], int] = file.write

    def flush(self) -> None:
        """Nothing is held here."""


# ``arrow.array`` would import pandas, which takes longer than many a run.


def _array(arrow: Any, numbers: NDArray[Any]) -> Any:
    kind = arrow.from_numpy_dtype(numbers.dtype)
    return arrow.Array.from_buffers(kind, len(numbers), [None, arrow.py_buffer(numbers)])


def _strings(arrow: Any, texts: list[str]) -> Any:
    encoded = [text.encode() for text in texts]
    ends = arrow.py_buffer(_offsets([len(text) for text in encoded]))
    return arrow.StringArray.from_buffers(len(texts), ends, arrow.py_buffer(b"".join(encoded)))


def _offsets(sizes: ArrayLike) -> NDArray[np.int32]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)


def _list_of(arrow: Any, kind: Any) -> Any:
    return arrow.list_(arrow.field("element", kind, nullable=False))
