"""Arrays in files (``.npy``, ``.npz``, safetensors): read piece by piece, written column by column.

``numpy.load`` reads a whole array, or maps it into memory: both need address space for all of it.
Here a stream reads the next rows (entries of the first axis) on demand, so that memory does not
grow with the file.  In writing, each column waits in its own unnamed temporary file until all rows
have arrived.
"""

from __future__ import annotations

import json
import math
import shutil
import tempfile
import zipfile
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from arborand.errors import FormatError, OutputError
from arborand.formats.inputs import (
    CHUNK,
    WORDS,
    as_json,
    damaged,
    describe,
    parse_json,
    reading,
    required,
)
from arborand.formats.records import Writer, label_column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from arborand.formats.inputs import InputFile
    from arborand.formats.records import Layout, Rows

# The start of a .npy file, name and version; and the longest header that NumPy trusts.
_NPY_START = b"\x93NUMPY\x01\x00"
_MAX_HEADER = 10_000
# The maximum number of sentences read at a time.
PIECE = 4096
# The types of lists, as NumPy's kind letters; a sentence id may be bytes or an integer.
_KINDS = {"integers": "iu", "numbers": "iuf", "strings": "UiuS"}
# The safetensors types that NumPy also has.
_TENSOR_TYPES = {
    **{f"I{8 * size}": f"i{size}" for size in (1, 2, 4, 8)},
    **{f"U{8 * size}": f"u{size}" for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": f"f{size}" for size in (2, 4, 8)},
}


class ArrayStream:
    """The numbers of an array, stored consecutively in a file.

    Parameters
    ----------
    file : binary file, at the first number
    name : str
        What messages call it.
    size : int
        The number of bytes in the file, which must match the shape.
    shape : tuple of int
    dtype : dtype
    is_transposed : bool
        Whether the array is stored column by column, not row by row.
    """

    def __init__(
        self,
        file: IO[bytes],
        name: str,
        size: int,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        *,
        is_transposed: bool = False,
    ) -> None:
        self._file = file
        self._name = name
        self.shape = shape
        self.dtype = dtype
        self.is_transposed = is_transposed
        promised = math.prod(shape) * dtype.itemsize
        if promised > size:
            raise damaged(name)
        if promised < size:
            raise FormatError(f"{name} has bytes after its last number: is it damaged?")
        self._left = shape[0] if shape else 1

    def read(self, count: int) -> NDArray[Any]:
        """Read the next `count` rows."""
        self._take(count)
        answer = np.zeros((count, *self.shape[1:]), dtype=self.dtype)
        if answer.nbytes:  # empty strings take no bytes
            view = answer.reshape(-1).view(np.uint8).data
            with reading(self._name, MemoryError):
                num_read = self._file.readinto(view)  # type: ignore[attr-defined]
            if num_read < len(view):
                raise damaged(self._name)
        return answer

    def skip(self, count: int) -> None:
        """Skip the next `count` rows."""
        self._take(count)
        left = count * math.prod(self.shape[1:]) * self.dtype.itemsize
        if not isinstance(self._file, zipfile.ZipExtFile):  # which must be read for its checksum
            self._file.seek(left, 1)
            return
        while left:
            with reading(self._name, MemoryError):
                step = len(self._file.read(min(left, CHUNK)))
            if not step:
                raise damaged(self._name)
            left -= step

    def _take(self, count: int) -> None:
        if count > self._left:
            raise damaged(self._name)
        self._left -= count

    @property
    def encoding(self) -> str:
        """The encoding of its strings."""
        byte_order = "be" if self.dtype.str[0] == ">" else "le"
        return f"utf-32-{byte_order}" if self.dtype.kind == "U" else "utf-8"

    def end(self) -> None:
        """Read past the last number, which makes an archive compare its checksum."""
        with reading(self._name, MemoryError):
            self._file.read(1)


def open_npy(file: IO[bytes], name: str, size: int) -> ArrayStream:
    """Start reading an array in NumPy's own format: a header, then the numbers."""
    with reading(name, MemoryError):
        start = file.read(len(_NPY_START))
    if start != _NPY_START:  # later versions are for headers that no array of numbers needs
        raise FormatError(
            f"{name} has no readable NumPy header: it begins with {start!r}, where an array "
            f"saved by numpy.save begins with {_NPY_START!r}"
        )
    try:
        shape, is_transposed, dtype = np.lib.format.read_array_header_1_0(
            file, max_header_size=_MAX_HEADER
        )
        if min(shape, default=0) < 0:
            raise ValueError(f"the shape {shape} is negative")
    except Exception as error:  # NumPy parses Python syntax: damaged text may raise anything
        raise FormatError(f"{name} has no readable NumPy header: {error}") from error
    if dtype.hasobject:
        raise FormatError(
            f"{name} holds Python objects, which are pickled and therefore refused: save plain "
            "arrays of numbers (and sent_ids as an array of strings)"
        )
    if is_transposed and len(shape) > 2:
        raise FormatError(
            f"{name} is stored in Fortran order: save numpy.ascontiguousarray(...) of it"
        )
    return ArrayStream(file, name, size - file.tell(), shape, dtype, is_transposed=is_transposed)


def _open_tensor(file: IO[bytes], name: str, start: int, tensor: dict[str, Any]) -> ArrayStream:
    """Start reading a tensor, given its header; `start` is where the data of all tensors begin."""
    if tensor["dtype"] not in _TENSOR_TYPES:
        raise FormatError(
            f"{name} has the type {tensor['dtype']}, which NumPy does not have: save it as float32"
        )
    first, last = tensor["data_offsets"]
    file.seek(start + first)
    dtype = np.dtype(_TENSOR_TYPES[tensor["dtype"]])
    return ArrayStream(file, name, last - first, tuple(tensor["shape"]), dtype)


class ArrayFile:
    """A file of named arrays: each can be streamed, as often as needed, side by side."""

    def __init__(
        self,
        name: str,
        names: list[str],
        metadata: dict[str, str],
        open_stream: Callable[[str], ArrayStream],
    ) -> None:
        self.name = name
        self.names = names
        self.metadata = metadata
        self.stream = open_stream

    def __contains__(self, array: str) -> bool:
        return array in self.names

    def vector(self, array: str, what: str = "integers", size: int | None = None) -> ArrayStream:
        """Start reading a list of integers, numbers or strings, of the given size, if any."""
        stream = self.stream(array)
        if stream.dtype.kind not in _KINDS[what] or len(stream.shape) != 1:
            raise FormatError(
                f"{self.name}: {array} must be a list of {what}, but is {stream.dtype} of shape "
                f"{stream.shape}"
            )
        if size is not None and stream.shape[0] != size:
            raise FormatError(
                f"{self.name}: {array} has {stream.shape[0]} entries, but the other arrays require "
                f"{size}"
            )
        return stream

    def counts(self, array: str, of: str) -> Iterator[NDArray[Any]]:
        """Read counts of words or of trees, in pieces."""
        stream, start = self.vector(array), 0
        while start < stream.shape[0]:
            piece = stream.read(min(PIECE, stream.shape[0] - start))
            wrong = np.flatnonzero((piece < 0) | ((piece > WORDS.most) & (of == "words")))
            if wrong.size:
                index, found = start + int(wrong[0]), piece[wrong[0]]
                raise FormatError(
                    f"{self.name}: {array}[{index}] is {found}, which is not a number of {of}"
                    if found < 0
                    else f"{self.name}, sentence number {index + 1}: {WORDS.exceeded_by(found)}"
                )
            yield piece
            start += len(piece)
        stream.end()

    def require(self, *arrays: str) -> None:
        """Raise an error if some array is missing."""
        missing = [array for array in arrays if array not in self.names]
        if missing:
            raise FormatError(
                f"{self.name} lacks {describe(missing)}; it holds {describe(self.names)}"
            )


@contextmanager
def open_arrays(file: InputFile) -> Iterator[ArrayFile]:
    """Open a ``.npy``, ``.npz`` or ``.safetensors`` file; the array of a ``.npy`` has no name."""
    name = file.name
    with ExitStack() as stack:

        def opened() -> IO[bytes]:
            return stack.enter_context(file.path.open("rb"))

        if file.kind == "npy":
            size = file.path.stat().st_size
            yield ArrayFile(name, [""], {}, lambda _: open_npy(opened(), name, size))
        elif file.kind == "npz":
            with reading(name, MemoryError):
                archive = zipfile.ZipFile(opened())
            members = _members(archive, name)

            def open_member(array: str) -> ArrayStream:
                with reading(f"{name}: {array}", MemoryError):
                    member = archive.open(members[array])
                return open_npy(member, f"{name}: {array}", members[array].file_size)

            yield ArrayFile(name, list(members), {}, open_member)
        else:
            safetensors = required("safetensors", "reading a .safetensors file")
            with reading(name, MemoryError):
                # The library only validates the header.  The numbers are read here: the library
                # would map the file, which takes address space for all of it.
                with safetensors.safe_open(file.path, "numpy"):
                    handle = opened()
                size = int.from_bytes(handle.read(8), "little")
                header = parse_json(handle.read(size))
            metadata = header.pop("__metadata__", None) or {}
            yield ArrayFile(
                name,
                list(header),
                metadata,
                lambda array: _open_tensor(opened(), f"{name}: {array}", 8 + size, header[array]),
            )


def _members(archive: zipfile.ZipFile, name: str) -> dict[str, zipfile.ZipInfo]:
    """List the arrays of an archive; the ending that ``numpy.savez`` adds may be missing."""
    members: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        array = info.filename.removesuffix(".npy")
        if array in members:
            raise FormatError(f"{name} holds {array!r} twice: save each array once")
        # NumPy writes no other method, and others may unpack to any size.
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise FormatError(
                f"{name}: {array} is compressed by method {info.compress_type}: save it with "
                "numpy.savez or numpy.savez_compressed"
            )
        members[array] = info
    return members


# ---- columns out


class _Column:
    """The numbers of a column so far."""

    def __init__(self, dtype: str, spool: Path | None, width: int | None = None) -> None:
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.width = width  # the size of a row, if there is a second axis
        self.count = 0
        self.file = tempfile.TemporaryFile(dir=spool)  # noqa: SIM115

    def add(self, values: NDArray[Any]) -> None:
        self.file.write(np.ascontiguousarray(values, dtype=self.dtype).tobytes())
        self.count += len(values)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.count,) if self.width is None else (self.count, self.width)

    def pop(self) -> int:
        """Take the last number back."""
        self.file.seek(-self.dtype.itemsize, 2)
        [last] = np.frombuffer(self.file.read(), dtype=self.dtype).tolist()
        self.file.seek(-self.dtype.itemsize, 2)
        self.count -= 1
        return int(last)

    def copy(self, target: Any) -> None:
        self.file.seek(0)
        shutil.copyfileobj(self.file, target, CHUNK)


class _Strings:
    """The strings so far, in pieces that are read back at the end."""

    def __init__(self, spool: Path | None) -> None:
        self.count, self.longest = 0, 1
        self.file = tempfile.TemporaryFile("w+", encoding="utf-8", dir=spool)  # noqa: SIM115

    def add(self, strings: list[str]) -> None:
        for one in strings:
            self.file.write(json.dumps(one) + "\n")
            self.longest = max(self.longest, len(one))
        self.count += len(strings)

    def pieces(self) -> Iterator[list[str]]:
        self.file.seek(0)
        while lines := self.file.readlines(CHUNK):
            yield [json.loads(line) for line in lines]


class ColumnWriter(Writer):
    """Columns: some have an entry per sentence, some an entry per row, and one is a flat list."""

    def __init__(
        self, file: IO[bytes], layout: Layout, provenance: dict[str, Any], spool: Path | None
    ) -> None:
        self._file = file
        self._spool = spool
        self._layout = layout
        self._provenance = as_json({"arborand": layout.name, **provenance})
        self._strings = {"sent_ids": _Strings(spool)} if layout.has_ids else {}
        if layout.name == "scores":
            self._strings["tokens"] = _Strings(spool)
        self._values = "scores" if layout.name == "scores" else layout.values
        dtypes = {"lengths": "i4"}
        if layout.numbering:
            dtypes[f"num_{layout.name}"] = "i8"
        dtypes |= dict.fromkeys(layout.columns, "f8")
        if self._values is not None:
            dtypes[self._values] = layout.dtype
        self._columns = {name: _Column(dtype, spool) for name, dtype in dtypes.items()}
        self._label_names: dict[str, int] = {}  # from name to number

    def write(self, rows: Rows) -> None:
        """Take the next rows."""
        begun = int(rows.first_sample > 0)  # earlier rows began the first sentence
        if self._layout.has_ids:
            self._strings["sent_ids"].add(rows.sent_ids[begun:])
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
        self._write_labels(rows)
        for words in (rows.tokens or [None]) if "tokens" in self._strings else []:
            if words is None:  # words are written for all sentences, or for none
                self._strings.pop("tokens").file.close()
                break
            self._strings["tokens"].add(words)

    def _write_labels(self, rows: Rows) -> None:
        if rows.labels is None:
            if self._label_names:
                raise OutputError(
                    "some of the inputs have labels, and some have none: write two outputs"
                )
            return
        for one in rows.label_names:
            self._label_names.setdefault(one, len(self._label_names))
        labels, name = rows.labels, label_column(rows, self._layout)
        numbers = np.array([self._label_names[one] for one in rows.label_names], np.int32)
        width = None
        if labels.ndim == 1:
            labels = np.where(labels < 0, -1, numbers[np.maximum(labels, 0)])
        elif len(self._label_names) > len(numbers) or (numbers != np.arange(len(numbers))).any():
            raise OutputError("the inputs have different labels: write two outputs")
        else:
            width = len(numbers)
        if name not in self._columns:
            if self._columns["lengths"].count > len(rows.lengths):
                raise OutputError(
                    "some of the inputs have labels, and some have none: write two outputs"
                )
            dtype = "i4" if width is None else "f4" if labels.dtype.itemsize <= 4 else "f8"
            self._columns[name] = _Column(dtype, self._spool, width)
        self._columns[name].add(labels)

    def _add_label_names(self) -> None:
        if self._label_names:
            self._strings["label_names"] = _Strings(self._spool)
            self._strings["label_names"].add([*self._label_names])

    def discard(self) -> None:
        """Stop, and release all resources."""
        files: list[Any] = [*self._strings.values(), *self._columns.values()]
        for one in files:
            one.file.close()


class NpzWriter(ColumnWriter):
    """An archive of arrays, all dated 1980, so that the same rows give the same bytes."""

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
        """Write the columns one after another."""
        # Level 1 takes a quarter of the time of the default level, and a tenth more bytes.
        with zipfile.ZipFile(
            self._file, "w", zipfile.ZIP_DEFLATED, allowZip64=True, compresslevel=1
        ) as archive:
            text = np.array(self._provenance)
            with _member(archive, "provenance", text.dtype, ()) as member:
                member.write(text.tobytes())
            self._add_label_names()
            for name, strings in self._strings.items():
                dtype = np.dtype(f"<U{strings.longest}")
                with _member(archive, name, dtype, (strings.count,)) as member:
                    for some in strings.pieces():
                        member.write(np.array(some, dtype=dtype).tobytes())
            for name, column in self._columns.items():
                with _member(archive, name, column.dtype, column.shape) as member:
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

    The provenance is a third tensor, of bytes.  The file (a header in JSON, then the tensors, wider
    types first) is written here, because the library needs each tensor in memory.
    """

    def close(self) -> None:
        """Write the header, then the tensors."""
        provenance = self._columns["provenance"] = _Column("u1", self._spool)
        provenance.add(np.frombuffer(self._provenance.encode(), dtype=np.uint8))
        # Wider types first.
        tensors = dict(sorted(self._columns.items(), key=lambda item: -item[1].dtype.itemsize))
        self._add_label_names()
        metadata = {
            name: json.dumps([one for some in strings.pieces() for one in some])
            for name, strings in self._strings.items()
        }
        header: dict[str, Any] = {"__metadata__": metadata}
        start = 0
        for name, column in tensors.items():
            stop = start + math.prod(column.shape) * column.dtype.itemsize
            letter = f"{column.dtype.kind.upper()}{8 * column.dtype.itemsize}"
            header[name] = {
                "dtype": letter,
                "shape": list(column.shape),
                "data_offsets": [start, stop],
            }
            start = stop
        head = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
        head += b" " * (-len(head) % 8)
        self._file.write(len(head).to_bytes(8, "little") + head)
        for column in tensors.values():
            column.copy(self._file)
        self.discard()
