"""Outputs that are only readable when complete: NumPy's ``.npz``, safetensors and Parquet.

Their rows go into a log first, which can be cut off and continued like text.  Parquet is built
alongside, and built anew from the log when a run is continued; the others are built from the log at
the end, because they store column after column.  What is built depends on the rows alone, never on
how they came in portions.
"""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from arborand.formats.creating import OutputError, create_anew
from arborand.formats.parquet import ParquetContainer
from arborand.formats.provenance import as_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from arborand.formats.log import Log
    from arborand.formats.rows import Layout, Rows


class Container(Protocol):
    """A file under construction."""

    def add(self, rows: Rows) -> None:
        """Take the next rows."""

    def close(self, log: Log) -> None:
        """Complete the file."""

    def discard(self) -> None:
        """Give up."""


# ---- NumPy


class NpzContainer:
    """Whole columns: some have one entry per sentence, some one per row, one is a flat list."""

    def __init__(self, path: Path, layout: Layout, provenance: dict[str, Any]) -> None:
        self._path = path
        self._layout = layout
        self._provenance = provenance

    def add(self, rows: Rows) -> None:
        """Look at the ids; the columns are written one after the other, at the end."""
        for sent_id in rows.sent_ids:
            if sent_id.endswith("\0"):
                raise OutputError(
                    f"the sent_id {sent_id!r} ends with a NUL, which NumPy's strings lose: write "
                    "another format"
                )

    def discard(self) -> None:
        """Give up."""
        self._path.unlink(missing_ok=True)

    def close(self, log: Log) -> None:
        """Write column after column."""
        layout = self._layout
        width, totals = 1, _Totals()
        for rows in log.rows():
            totals.add(rows)
            width = max([width, *map(len, rows.sent_ids)])
        # Level 1: a quarter of the time of the default for a tenth more bytes.
        with (
            create_anew(self._path) as file,
            zipfile.ZipFile(
                file, "w", zipfile.ZIP_DEFLATED, allowZip64=True, compresslevel=1
            ) as archive,
        ):
            text = np.array(as_json({"arborand": layout.name, **self._provenance}))
            self._member(archive, "provenance", text.dtype, (), iter([text]))
            new = _new_sentences
            self._member(
                archive,
                "sent_ids",
                np.dtype(f"<U{width}"),
                (totals.sentences,),
                (np.array(r.sent_ids[new(r) :], dtype=f"<U{width}") for r in log.rows()),
            )
            self._member(
                archive,
                "lengths",
                np.dtype("<i4"),
                (totals.sentences,),
                (r.lengths[new(r) :] for r in log.rows()),
            )
            if layout.numbering:
                self._member(
                    archive,
                    f"num_{layout.name}",
                    np.dtype("<i8"),
                    (totals.sentences,),
                    _whole_counts(log),
                )
            for name in layout.columns:
                self._member(
                    archive,
                    name,
                    np.dtype("<f8"),
                    (totals.rows,),
                    (r.columns[name] for r in log.rows()),
                )
            if layout.values is not None:
                self._member(
                    archive,
                    "scores" if layout.name == "scores" else layout.values,
                    np.dtype("<" + layout.dtype),
                    (totals.values,),
                    (r.values for r in log.rows() if r.values is not None),
                )

    def _member(
        self,
        archive: zipfile.ZipFile,
        name: str,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        pieces: Iterator[NDArray[Any]],
    ) -> None:
        # open() dates every member 1980: the same rows give the same bytes.
        with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
            _write_header(member, dtype, shape)
            for piece in pieces:
                member.write(np.ascontiguousarray(piece, dtype=dtype).tobytes())


class _Totals:
    def __init__(self) -> None:
        self.sentences = self.rows = self.values = 0

    def add(self, rows: Rows) -> None:
        self.sentences += len(rows.sent_ids) - _new_sentences(rows)
        self.rows += int(rows.num_rows.sum())
        self.values += 0 if rows.values is None else len(rows.values)


def _new_sentences(rows: Rows) -> int:
    """Where the sentences begin that were not begun in earlier rows: 0 or 1."""
    return int(rows.first_sample > 0)


def _whole_counts(log: Log) -> Iterator[NDArray[np.int64]]:
    """Count the rows of each sentence, over portions that may split a sentence."""
    open_count = 0
    is_open = False
    for rows in log.rows():
        counts = rows.num_rows.copy()
        if _new_sentences(rows):
            counts[0] += open_count
        elif is_open:
            yield np.array([open_count])
        yield counts[:-1]
        open_count, is_open = int(counts[-1]), True
    if is_open:
        yield np.array([open_count])


def _write_header(file: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    header = {
        "descr": np.lib.format.dtype_to_descr(dtype),
        "fortran_order": False,
        "shape": shape,
    }
    np.lib.format.write_array_header_1_0(file, header)


# ---- safetensors


class SafetensorsContainer:
    """Scores as two tensors, ``lengths`` and ``scores``; sentence ids in the metadata.

    The provenance is a third tensor, of bytes.  The file is written here, not by the library, which
    wants each tensor in memory: a header in JSON, then the tensors, those of wider types first.
    """

    def __init__(self, path: Path, layout: Layout, provenance: dict[str, Any]) -> None:
        self._path = path
        self._layout = layout
        self._provenance = provenance

    def add(self, rows: Rows) -> None:
        """Nothing to do yet: the tensors are written one after the other, at the end."""

    def discard(self) -> None:
        """Give up."""
        self._path.unlink(missing_ok=True)

    def close(self, log: Log) -> None:
        """Write the header, then the tensors."""
        dtype = np.dtype("<" + self._layout.dtype)
        sent_ids: list[str] = []
        num_scores = 0
        for rows in log.rows():
            sent_ids += rows.sent_ids
            num_scores += 0 if rows.values is None else len(rows.values)
        text = as_json({"arborand": self._layout.name, **self._provenance}).encode()
        header: dict[str, Any] = {"__metadata__": {"sent_ids": json.dumps(sent_ids)}}
        start = 0
        for name, kind, count in (
            ("scores", dtype, num_scores),
            ("lengths", np.dtype("<i4"), len(sent_ids)),
            ("provenance", np.dtype("u1"), len(text)),
        ):
            stop = start + count * kind.itemsize
            letter = f"{kind.kind.upper()}{8 * kind.itemsize}"
            header[name] = {"dtype": letter, "shape": [count], "data_offsets": [start, stop]}
            start = stop
        head = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
        head += b" " * (-len(head) % 8)
        with create_anew(self._path) as file:
            file.write(len(head).to_bytes(8, "little") + head)
            for rows in log.rows():
                file.write(np.ascontiguousarray(rows.values, dtype=dtype).tobytes())
            for rows in log.rows():
                file.write(np.ascontiguousarray(rows.lengths, dtype="<i4").tobytes())
            file.write(text)


CONTAINERS: dict[str, Callable[[Path, Layout, dict[str, Any]], Container]] = {
    "parquet": ParquetContainer,
    "npz": NpzContainer,
    "safetensors": SafetensorsContainer,
}
