"""Rows out: a writer for each format, and the formats of each kind of output.

The output depends on the rows alone, never on how they were divided into portions.
"""

from __future__ import annotations

import csv
import io
import json
import math
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from arborand.errors import OutputError
from arborand.formats.arrays import NpzWriter, SafetensorsWriter
from arborand.formats.conllu import BlockTemplate
from arborand.formats.inputs import as_json, required
from arborand.formats.records import Writer, label_column, matrix_sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from arborand.formats.records import Layout, Rows

# ---- text, written immediately


class TextWriter(Writer):
    """Text, written immediately; each format defines its header and its rows."""

    def __init__(
        self, file: IO[bytes], layout: Layout, provenance: dict[str, Any], spool: Path | None
    ) -> None:
        del spool
        self._file = file
        self._layout = layout
        file.write(self._header(provenance).encode())

    def write(self, rows: Rows) -> None:
        """Write the next rows."""
        self._file.write("".join(self._lines(rows)).encode())

    def _header(self, provenance: dict[str, Any]) -> str:
        raise NotImplementedError

    def _lines(self, rows: Rows) -> Iterator[str]:
        raise NotImplementedError


class JsonLinesWriter(TextWriter):
    """One JSON object per row; the first line has the kind of the rows and their provenance."""

    def _header(self, provenance: dict[str, Any]) -> str:
        return as_json({"arborand": self._layout.name, "provenance": provenance}) + "\n"

    def _lines(self, rows: Rows) -> Iterator[str]:
        layout = self._layout
        samples = rows.samples().tolist() if layout.numbering else None
        columns = {name: column.tolist() for name, column in rows.columns.items()}
        for i, span, block, labels in rows.sentences(layout):
            record: dict[str, Any] = {"sent_id": rows.sent_ids[i]}
            if samples is None:
                record["length"] = int(rows.lengths[i])
            for row in range(span.start, span.stop):
                if samples is not None:
                    record[layout.numbering] = samples[row]
                for name, column in columns.items():
                    value = column[row]
                    record[name] = value if isinstance(value, str) or math.isfinite(value) else None
                if layout.values is not None:
                    values = block[row - span.start]
                    if layout.num_values is matrix_sizes:
                        values = values.reshape(int(rows.lengths[i]) + 1, -1)
                    record[layout.values] = values.tolist()
                if labels is not None and layout.name == "trees":
                    row_labels = labels[row - span.start].tolist()
                    record["labels"] = [rows.label_text(label) for label in row_labels]
                elif labels is not None:
                    size = int(rows.lengths[i]) + 1
                    of_arcs = labels[row - span.start].reshape(size, size, -1)
                    record |= {
                        label_column(rows, layout): of_arcs.tolist(),
                        "label_names": list(rows.label_names),
                    }
                yield json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


class CommasWriter(TextWriter):
    """One line per sentence, for spreadsheets; the first line has the names of the columns.

    There is no provenance: programs that read such files do not expect comments.
    """

    separator = ","

    def _header(self, provenance: dict[str, Any]) -> str:
        return self._line(["sent_id", "length", *self._layout.columns])

    def _lines(self, rows: Rows) -> Iterator[str]:
        columns = [rows.columns[name].tolist() for name in self._layout.columns]
        for line in zip(rows.sent_ids, rows.lengths.tolist(), *columns, strict=True):
            yield self._line(line)

    def _line(self, cells: Iterable[Any]) -> str:
        line = io.StringIO()
        # This way csv quotes anything that a reader may take for a line end; lines end with \n.
        csv.writer(line, delimiter=self.separator, lineterminator="\r\n").writerow(cells)
        return line.getvalue().removesuffix("\r\n") + "\n"


class TabsWriter(CommasWriter):
    """The same, separated by tabs."""

    separator = "\t"


class ConlluWriter(TextWriter):
    """One CoNLL-U block per tree; the provenance is a comment of the first block."""

    def _header(self, provenance: dict[str, Any]) -> str:
        return f"# arborand = {as_json(provenance)}\n"

    def _lines(self, rows: Rows) -> Iterator[str]:
        samples = rows.samples().tolist()
        log_prob = rows.columns["log_prob"].tolist()
        for i, span, block, labels in rows.sentences(self._layout):
            template = BlockTemplate(
                rows.sent_ids[i],
                int(rows.lengths[i]),
                rows.tokens[i] if rows.tokens else None,
                rows.annotations[i] if rows.annotations else None,
                self._layout.numbering,
                keeps_relations=self._layout.keeps_relations,
            )
            for row, heads in zip(range(span.start, span.stop), block.tolist(), strict=True):
                names = None
                if labels is not None:
                    names = [rows.label_text(label) for label in labels[row - span.start].tolist()]
                yield template.fill(samples[row], repr(log_prob[row]), heads, names)


# ---- Parquet


# A row group ends when it has at least this many numbers: 16 MB of heads, or 32 MB of floats.
ROW_GROUP_VALUES = 1 << 22
# How many numbers a row counts for, in addition to its list.
_ROW_VALUES = 8


class ParquetWriter(Writer):
    """One row per tree, or per sentence.

    Arrow gets one row group at a time.  Where a group ends depends on its rows alone, so the same
    rows give the same bytes, however they are divided into portions.
    """

    def __init__(
        self, file: IO[bytes], layout: Layout, provenance: dict[str, Any], spool: Path | None
    ) -> None:
        del spool
        self._arrow = required("pyarrow", "writing a .parquet file")
        self._library = required("pyarrow.parquet", "writing a .parquet file")
        self._layout = layout
        self._waiting: list[Rows] = []
        self._num_waiting = 0  # how many numbers are not written yet
        self._sink = _Sink(file)
        self._metadata = {"arborand": layout.name, "provenance": as_json(provenance)}
        self._parquet: Any = None
        self._labels = ""  # the name of their column, if there is one

    def _open(self, first: Rows | None) -> None:
        """Begin the file, once it is known whether there are labels."""
        arrow, layout = self._arrow, self._layout
        text, number = arrow.string(), arrow.from_numpy_dtype(layout.dtype)
        ids = ["sent_id"] if layout.has_ids else []
        types = dict.fromkeys(ids, arrow.dictionary(arrow.int32(), text))
        types[layout.numbering or "length"] = arrow.int32()
        column_type = text if layout.name == "findings" else arrow.float64()
        types |= dict.fromkeys(layout.columns, column_type)
        # Random fractions hardly compress, and zstd spends more time on them than snappy.
        codecs = {
            name: "snappy" if kind == arrow.float64() else "zstd" for name, kind in types.items()
        }
        lists = {} if layout.values is None else {layout.values: number}
        if first is not None and first.labels is not None:
            self._labels = label_column(first, layout)
            self._label_names = first.label_names
            kind = text if layout.name == "trees" else arrow.from_numpy_dtype(first.labels.dtype)
            lists[self._labels] = kind
            if layout.name != "trees":  # trees store the names themselves
                self._metadata["label_names"] = json.dumps(list(first.label_names))
        for name, kind in lists.items():
            types[name] = _list_of(arrow, kind)
            is_noise = arrow.types.is_floating(kind)
            codecs[f"{name}.list.element"] = "snappy" if is_noise else "zstd"
        fields = [arrow.field(name, kind, nullable=False) for name, kind in types.items()]
        if layout.name == "scores":
            fields.append(arrow.field("tokens", _list_of(arrow, text)))
            codecs["tokens.list.element"] = "zstd"
        self._schema = arrow.schema(fields)
        texts = [f"{name}.list.element" for name, kind in lists.items() if kind == text]
        self._parquet = self._library.ParquetWriter(
            self._sink,
            self._schema,
            compression=codecs,
            use_dictionary=[*ids, *texts],
            write_statistics=ids,  # let readers skip row groups
            write_page_checksum=True,
            store_schema=False,  # readers should see strings, not Arrow's dictionaries
        )
        self._parquet.add_key_value_metadata(self._metadata)

    def write(self, rows: Rows) -> None:
        """Take the next rows."""
        if self._parquet is None:
            self._open(rows)
        if (rows.labels is not None) != bool(self._labels):
            raise OutputError(
                "some of the inputs have labels, and some have none: write two outputs"
            )
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
        arrays = []
        if layout.has_ids:
            arrays.append(_strings(arrow, sent_ids).dictionary_encode().take(which))
        arrays.append(_array(arrow, np.concatenate(numbers)))
        for name in layout.columns:
            column = np.concatenate([rows.columns[name] for rows in group])
            is_text = layout.name == "findings"
            arrays.append(_strings(arrow, column.tolist()) if is_text else _array(arrow, column))
        if layout.values is not None:
            sizes = np.repeat(layout.num_values(np.concatenate(lengths)), counts)
            values = np.concatenate([rows.values for rows in group], dtype=layout.dtype)
            arrays.append(self._lists(layout.values, sizes, _array(arrow, values)))
            if self._labels:
                arrays.append(self._lists(self._labels, *self._label_lists(group, sizes)))
        if layout.name == "scores":  # one row per sentence
            tokens = [one for rows in group for one in rows.tokens or [None] * len(rows.sent_ids)]
            kind = self._schema.field("tokens").type
            has_tokens = any(words is not None for words in tokens)
            arrays.append(
                arrow.array(tokens, kind) if has_tokens else arrow.nulls(len(tokens), kind)
            )
        table = arrow.Table.from_arrays(arrays, schema=self._schema)
        self._parquet.write_table(table, table.num_rows)

    def _lists(self, name: str, sizes: NDArray[Any], values: Any) -> Any:
        kind = self._schema.field(name).type
        ends = _array(self._arrow, _offsets(sizes))
        return self._arrow.ListArray.from_arrays(ends, values, kind)

    def _label_lists(self, group: list[Rows], sizes: NDArray[Any]) -> tuple[NDArray[Any], Any]:
        """Put labels into lists: names in trees, and numbers elsewhere."""
        if self._layout.name == "trees":
            texts = [rows.label_text(label) for rows in group for label in rows.labels.tolist()]  # type: ignore[union-attr]
            return sizes, _strings(self._arrow, texts)
        if any(rows.label_names != self._label_names for rows in group):
            raise OutputError("the inputs have different labels: write two outputs")
        labels = np.concatenate([rows.labels for rows in group if rows.labels is not None])
        width = labels.shape[1] if labels.ndim == 2 else 1
        return sizes * width, _array(self._arrow, np.ascontiguousarray(labels).ravel())

    def close(self) -> None:
        """Write what is left, and the footer."""
        if self._parquet is None:
            self._open(None)
        if self._waiting:
            self._write_group()
        self._parquet.close()

    def discard(self) -> None:
        """Stop; whatever Arrow writes when it closes is dropped."""
        self._sink.write = len
        with suppress(Exception):  # anything, after an error or if it has not begun
            self._parquet.close()


class _Sink:
    """The file as Arrow sees it: it can only be written."""

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self.write: Callable[[bytes], int] = file.write

    def flush(self) -> None:
        """Nothing is held here."""


# ``arrow.array`` would import pandas, which takes longer than a short run.


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


# ---- the choice of a format


_WRITERS: dict[str, Callable[..., Writer]] = {
    "jsonl": JsonLinesWriter,
    "csv": CommasWriter,
    "tsv": TabsWriter,
    "conllu": ConlluWriter,
    "parquet": ParquetWriter,
    "npz": NpzWriter,
    "safetensors": SafetensorsWriter,
}
# Each is also the ending of the file name.  The first two contain a whole evaluation, not rows.
FORMATS = ("json", "html", *_WRITERS)
# The formats of each kind of rows; any other kind consists of numbers.
_NUMBERS = ("jsonl", "csv", "tsv", "parquet", "npz")
_FORMATS_OF = {
    "scores": ("npz", "parquet", "safetensors"),
    "trees": ("jsonl", "conllu", "parquet", "npz"),
    "marginals": ("jsonl", "parquet", "npz"),
    "findings": ("jsonl", "csv", "tsv", "parquet"),
    "words": ("jsonl", "csv", "tsv"),
    "contrast": ("json", "jsonl", "csv", "tsv"),
    "evaluation": ("json", "html", *_NUMBERS),
}


def open_writer(
    file: Any, name: str, layout: Layout, provenance: dict[str, Any], *, spool: Path | None
) -> Writer:
    """Start writing rows.

    Parameters
    ----------
    file : binary file
        Only its method ``write`` is used.
    name : str
        The format.
    layout, provenance
    spool : Path or None
        A folder for unnamed temporary files, for formats that store one column after another.
    """
    return _WRITERS[name](file, layout, provenance, spool)


@contextmanager
def completed(writer: Writer) -> Iterator[Writer]:
    """Close a writer if the block succeeds, and abort it otherwise."""
    try:
        yield writer
        writer.close()
    except BaseException:
        writer.discard()
        raise


def formats_of(layout: Layout) -> tuple[str, ...]:
    """List the formats in which rows of this layout can be written."""
    return _FORMATS_OF.get(layout.name, _NUMBERS)


def output_format(path: str | None, chosen: str | None, layout: Layout) -> str:
    """Choose the format: the requested one, or by the ending of the name.

    Raises
    ------
    OutputError
        If there is no such format, or it does not exist for this kind of rows.
    """
    allowed = formats_of(layout)
    name = chosen or _ending(path or "")
    if name not in FORMATS and path == "-":
        raise OutputError(f"standard output needs a --format: {', '.join(allowed)}")
    if name not in FORMATS:
        raise OutputError(
            f"the format cannot be determined from the name {path!r}: use --format with one of "
            f"{', '.join(allowed)}, or end the name with / for a folder of parts"
        )
    if name not in allowed:
        raise OutputError(f"{layout.name} cannot be written as {name}: use {', '.join(allowed)}")
    return name


def has_known_ending(path: str) -> bool:
    """Tell whether the ending of a name determines a format."""
    return _ending(path) in FORMATS


def _ending(path: str) -> str:
    return Path(path).suffix.lower().removeprefix(".")
