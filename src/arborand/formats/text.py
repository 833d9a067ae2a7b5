"""Outputs that are text, written from front to back: JSON lines, CSV, TSV and CoNLL-U."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import IO, TYPE_CHECKING, Any

from arborand.formats.conllu import BlockTemplate
from arborand.formats.inputs import as_json
from arborand.formats.rows import Writer
from arborand.formats.sentences import matrix_sizes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from arborand.formats.rows import Layout, Rows


class TextWriter(Writer):
    """Text, written as it comes: what a format makes of the beginning and of rows."""

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
    """One JSON object a row; the first line says what the others are and where they come from."""

    def _header(self, provenance: dict[str, Any]) -> str:
        return as_json({"arborand": self._layout.name, "provenance": provenance}) + "\n"

    def _lines(self, rows: Rows) -> Iterator[str]:
        layout = self._layout
        samples = rows.samples().tolist() if layout.numbering else None
        columns = {name: column.tolist() for name, column in rows.columns.items()}
        for i, span, block in rows.sentences(layout):
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
                yield json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


class CommasWriter(TextWriter):
    """A line a sentence, for spreadsheets: the first line has the names of the columns.

    There is no place for provenance: programs that read such files know no comments.
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
        # What may end a line for some reader is quoted; lines end as everywhere else here.
        csv.writer(line, delimiter=self.separator, lineterminator="\r\n").writerow(cells)
        return line.getvalue().removesuffix("\r\n") + "\n"


class TabsWriter(CommasWriter):
    """The same, between tabs."""

    separator = "\t"


class ConlluWriter(TextWriter):
    """One CoNLL-U block a tree; the provenance is a comment of the first block."""

    def _header(self, provenance: dict[str, Any]) -> str:
        return f"# arborand = {as_json(provenance)}\n"

    def _lines(self, rows: Rows) -> Iterator[str]:
        samples = rows.samples().tolist()
        log_prob = rows.columns["log_prob"].tolist()
        for i, span, block in rows.sentences(self._layout):
            template = BlockTemplate(
                rows.sent_ids[i],
                int(rows.lengths[i]),
                rows.tokens[i] if rows.tokens else None,
                rows.annotations[i] if rows.annotations else None,
                self._layout.numbering,
            )
            for row, heads in zip(range(span.start, span.stop), block.tolist(), strict=True):
                yield template.fill(samples[row], repr(log_prob[row]), heads)
