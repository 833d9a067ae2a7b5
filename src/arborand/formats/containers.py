"""Outputs that store column after column: NumPy's ``.npz`` and safetensors.

Each column waits in a temporary file of its own, which has no name, until all rows are there.  What
is written depends on the rows alone, never on how they came in portions.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import zipfile
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from arborand.errors import OutputError
from arborand.formats.inputs import as_json
from arborand.formats.rows import Writer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from arborand.formats.rows import Layout, Rows

_CHUNK = 1 << 20


class _Column:
    """The numbers of a column so far."""

    def __init__(self, dtype: str, spool: Path | None) -> None:
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.count = 0
        self.file = tempfile.TemporaryFile(dir=spool)  # noqa: SIM115

    def add(self, values: NDArray[Any]) -> None:
        self.file.write(np.ascontiguousarray(values, dtype=self.dtype).tobytes())
        self.count += len(values)

    def pop(self) -> int:
        """Take the last number back."""
        self.file.seek(-self.dtype.itemsize, 2)
        [last] = np.frombuffer(self.file.read(), dtype=self.dtype).tolist()
        self.file.seek(-self.dtype.itemsize, 2)
        self.count -= 1
        return int(last)

    def copy(self, target: Any) -> None:
        self.file.seek(0)
        shutil.copyfileobj(self.file, target, _CHUNK)


class ColumnWriter(Writer):
    """Whole columns: some have one entry per sentence, some one per row, one is a flat list."""

    def __init__(
        self, file: IO[bytes], layout: Layout, provenance: dict[str, Any], spool: Path | None
    ) -> None:
        self._file = file
        self._spool = spool
        self._layout = layout
        self._provenance = as_json({"arborand": layout.name, **provenance})
        self._ids = tempfile.TemporaryFile("w+", encoding="utf-8", dir=spool)  # noqa: SIM115
        self._num_sentences, self._longest_id = 0, 1
        self._values = "scores" if layout.name == "scores" else layout.values
        dtypes = {"lengths": "i4"}
        if layout.numbering:
            dtypes[f"num_{layout.name}"] = "i8"
        dtypes |= dict.fromkeys(layout.columns, "f8")
        if self._values is not None:
            dtypes[self._values] = layout.dtype
        self._columns = {name: _Column(dtype, spool) for name, dtype in dtypes.items()}

    def write(self, rows: Rows) -> None:
        """Take the next rows."""
        begun = int(rows.first_sample > 0)  # by earlier rows
        for sent_id in rows.sent_ids[begun:]:
            self._ids.write(json.dumps(sent_id) + "\n")
            self._longest_id = max(self._longest_id, len(sent_id))
        self._num_sentences += len(rows.sent_ids) - begun
        self._columns["lengths"].add(rows.lengths[begun:])
        if self._layout.numbering:
            numbers = self._columns[f"num_{self._layout.name}"]
            counts = rows.num_rows.copy()
            if begun:
                counts[0] += numbers.pop()
            numbers.add(counts)
        for name in self._layout.columns:
            self._columns[name].add(rows.columns[name])
        if self._values is not None:
            self._columns[self._values].add(rows.values)

    def _sent_ids(self) -> Iterator[list[str]]:
        """Give the ids of all sentences, some at a time."""
        self._ids.seek(0)
        while lines := self._ids.readlines(_CHUNK):
            yield [json.loads(line) for line in lines]

    def discard(self) -> None:
        """Give up, and let go of what is held."""
        for file in (self._ids, *(column.file for column in self._columns.values())):
            file.close()


class NpzWriter(ColumnWriter):
    """An archive of arrays; all are dated 1980, so that the same rows give the same bytes."""

    def write(self, rows: Rows) -> None:
        """Take the next rows."""
        for sent_id in rows.sent_ids:
            if sent_id.endswith("\0"):
                raise OutputError(
                    f"the sent_id {sent_id!r} ends with a NUL, which NumPy's strings lose: write "
                    "another format"
                )
        super().write(rows)

    def close(self) -> None:
        """Write column after column."""
        # Level 1: a quarter of the time of the default for a tenth more bytes.
        with zipfile.ZipFile(
            self._file, "w", zipfile.ZIP_DEFLATED, allowZip64=True, compresslevel=1
        ) as archive:
            text = np.array(self._provenance)
            with _member(archive, "provenance", text.dtype, ()) as member:
                member.write(text.tobytes())
            dtype = np.dtype(f"<U{self._longest_id}")
            with _member(archive, "sent_ids", dtype, (self._num_sentences,)) as member:
                for ids in self._sent_ids():
                    member.write(np.array(ids, dtype=dtype).tobytes())
            for name, column in self._columns.items():
                with _member(archive, name, column.dtype, (column.count,)) as member:
                    column.copy(member)
        self.discard()


def _member(
    archive: zipfile.ZipFile, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> IO[bytes]:
    """Begin an array of an archive."""
    member = archive.open(f"{name}.npy", "w", force_zip64=True)
    description = {"descr": np.lib.format.dtype_to_descr(dtype), "shape": shape}
    np.lib.format.write_array_header_1_0(member, {**description, "fortran_order": False})
    return member


class SafetensorsWriter(ColumnWriter):
    """Scores as two tensors, ``lengths`` and ``scores``; sentence ids in the metadata.

    The provenance is a third tensor, of bytes.  The file is written here, not by the library, which
    wants each tensor in memory: a header in JSON, then the tensors, those of wider types first.
    """

    def close(self) -> None:
        """Write the header, then the tensors."""
        provenance = self._columns["provenance"] = _Column("u1", self._spool)
        provenance.add(np.frombuffer(self._provenance.encode(), dtype=np.uint8))
        tensors = {name: self._columns[name] for name in ("scores", "lengths", "provenance")}
        ids = [sent_id for some in self._sent_ids() for sent_id in some]
        header: dict[str, Any] = {"__metadata__": {"sent_ids": json.dumps(ids)}}
        start = 0
        for name, column in tensors.items():
            stop = start + column.count * column.dtype.itemsize
            letter = f"{column.dtype.kind.upper()}{8 * column.dtype.itemsize}"
            header[name] = {"dtype": letter, "shape": [column.count], "data_offsets": [start, stop]}
            start = stop
        head = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
        head += b" " * (-len(head) % 8)
        self._file.write(len(head).to_bytes(8, "little") + head)
        for column in tensors.values():
            column.copy(self._file)
        self.discard()
