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
from arborand.formats.provenance import as_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from arborand.formats.rows import Layout, Rows

_CHUNK = 1 << 20


class _ColumnWriter:
    """The columns of an output so far, each with its type and its number of entries."""

    def __init__(
        self, file: IO[bytes], layout: Layout, provenance: dict[str, Any], spool: Path | None
    ) -> None:
        self._file = file
        self._layout = layout
        self._provenance = as_json({"arborand": layout.name, **provenance})
        self._spool = spool
        self._files: dict[str, IO[bytes]] = {}
        self._counts: dict[str, int] = {}
        self._dtypes: dict[str, np.dtype[Any]] = {}

    def _begin(self, name: str, dtype: str) -> None:
        self._files[name] = tempfile.TemporaryFile(dir=self._spool)  # noqa: SIM115
        self._counts[name] = 0
        self._dtypes[name] = np.dtype(dtype).newbyteorder("<")

    def _add(self, name: str, values: NDArray[Any]) -> None:
        self._files[name].write(np.ascontiguousarray(values, dtype=self._dtypes[name]).tobytes())
        self._counts[name] += len(values)

    def _copy(self, name: str, target: Any) -> None:
        self._files[name].seek(0)
        shutil.copyfileobj(self._files[name], target, _CHUNK)

    def discard(self) -> None:
        """Give up."""
        for file in self._files.values():
            file.close()


class NpzWriter(_ColumnWriter):
    """Whole columns: some have one entry per sentence, some one per row, one is a flat list."""

    def __init__(
        self, file: IO[bytes], layout: Layout, provenance: dict[str, Any], spool: Path | None
    ) -> None:
        super().__init__(file, layout, provenance, spool)
        self._ids = tempfile.TemporaryFile("w+", encoding="utf-8", dir=spool)  # noqa: SIM115
        self._num_sentences, self._longest_id = 0, 1
        self._begin("lengths", "i4")
        if layout.numbering:
            self._begin(f"num_{layout.name}", "i8")
        for name in layout.columns:
            self._begin(name, "f8")
        if layout.values is not None:
            self._values = "scores" if layout.name == "scores" else layout.values
            self._begin(self._values, layout.dtype)
        # The rows of the last sentence so far: there may be more of them.
        self._open_count: int | None = None

    def write(self, rows: Rows) -> None:
        """Take the next rows."""
        begun = int(rows.first_sample > 0)  # by earlier rows
        for sent_id in rows.sent_ids[begun:]:
            if sent_id.endswith("\0"):
                raise OutputError(
                    f"the sent_id {sent_id!r} ends with a NUL, which NumPy's strings lose: write "
                    "another format"
                )
            self._ids.write(json.dumps(sent_id) + "\n")
            self._longest_id = max(self._longest_id, len(sent_id))
        self._num_sentences += len(rows.sent_ids) - begun
        self._add("lengths", rows.lengths[begun:])
        if self._layout.numbering:
            self._count_rows(rows.num_rows.tolist(), begun=bool(begun))
        for name in self._layout.columns:
            self._add(name, rows.columns[name])
        if rows.values is not None:
            self._add(self._values, rows.values)

    def _count_rows(self, counts: list[int], *, begun: bool) -> None:
        if self._open_count is not None:
            if begun:
                counts[0] += self._open_count
            else:
                counts.insert(0, self._open_count)
        *whole, self._open_count = counts
        self._add(f"num_{self._layout.name}", np.array(whole, dtype=np.int64))

    def close(self) -> None:
        """Write column after column."""
        if self._open_count is not None:
            self._add(f"num_{self._layout.name}", np.array([self._open_count]))
        # Level 1: a quarter of the time of the default for a tenth more bytes.
        with zipfile.ZipFile(
            self._file, "w", zipfile.ZIP_DEFLATED, allowZip64=True, compresslevel=1
        ) as archive:
            text = np.array(self._provenance)
            with _member(archive, "provenance", text.dtype, ()) as member:
                member.write(text.tobytes())
            dtype = np.dtype(f"<U{self._longest_id}")
            with _member(archive, "sent_ids", dtype, (self._num_sentences,)) as member:
                for ids in self._portions_of_ids():
                    member.write(np.array(ids, dtype=dtype).tobytes())
            for name, count in self._counts.items():
                with _member(archive, name, self._dtypes[name], (count,)) as member:
                    self._copy(name, member)
        self.discard()

    def _portions_of_ids(self) -> Iterator[list[str]]:
        self._ids.seek(0)
        while lines := self._ids.readlines(_CHUNK):
            yield [json.loads(line) for line in lines]

    def discard(self) -> None:
        """Give up."""
        self._ids.close()
        super().discard()


def _member(
    archive: zipfile.ZipFile, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> IO[bytes]:
    """Begin an array of an archive; all are dated 1980, so that the same rows give same bytes."""
    member = archive.open(f"{name}.npy", "w", force_zip64=True)
    description = {"descr": np.lib.format.dtype_to_descr(dtype), "shape": shape}
    np.lib.format.write_array_header_1_0(member, {**description, "fortran_order": False})
    return member


class SafetensorsWriter(_ColumnWriter):
    """Scores as two tensors, ``lengths`` and ``scores``; sentence ids in the metadata.

    The provenance is a third tensor, of bytes.  The file is written here, not by the library, which
    wants each tensor in memory: a header in JSON, then the tensors, those of wider types first.
    """

    def __init__(
        self, file: IO[bytes], layout: Layout, provenance: dict[str, Any], spool: Path | None
    ) -> None:
        super().__init__(file, layout, provenance, spool)
        self._sent_ids: list[str] = []
        self._begin("scores", layout.dtype)
        self._begin("lengths", "i4")
        self._begin("provenance", "u1")
        self._add("provenance", np.frombuffer(self._provenance.encode(), dtype=np.uint8))

    def write(self, rows: Rows) -> None:
        """Take the next rows."""
        self._sent_ids += rows.sent_ids
        self._add("lengths", rows.lengths)
        if rows.values is not None:
            self._add("scores", rows.values)

    def close(self) -> None:
        """Write the header, then the tensors."""
        header: dict[str, Any] = {"__metadata__": {"sent_ids": json.dumps(self._sent_ids)}}
        start = 0
        for name, count in self._counts.items():
            dtype = self._dtypes[name]
            stop = start + count * dtype.itemsize
            letter = f"{dtype.kind.upper()}{8 * dtype.itemsize}"
            header[name] = {"dtype": letter, "shape": [count], "data_offsets": [start, stop]}
            start = stop
        head = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
        head += b" " * (-len(head) % 8)
        self._file.write(len(head).to_bytes(8, "little") + head)
        for name in self._counts:
            self._copy(name, self._file)
        self.discard()
