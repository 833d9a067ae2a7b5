"""Arrays in files, read from front to back, a piece at a time.

``numpy.load`` takes an array whole, or maps it: both need address space for all of it.  Here a
stream reads the next rows (entries of the first axis) on demand, so that memory does not grow with
the file.
"""

from __future__ import annotations

import math
import zipfile
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from arborand.errors import FormatError
from arborand.formats.inputs import damaged, describe, reading, required
from arborand.formats.limits import max_words, too_many_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from arborand.formats.inputs import InputFile

_SKIP_BYTES = 1 << 20
# What NumPy's own files begin with: name and version; and the longest header that NumPy trusts.
_NPY_START = b"\x93NUMPY\x01\x00"
_MAX_HEADER = 10_000
# How many lengths, numbers of trees and sentence ids are read at a time.
PIECE = 4096
# The types of lists, as NumPy's letters; a sentence id may be bytes or an integer.
_KINDS = {"integers": "iu", "numbers": "iuf", "strings": "UiuS"}
# The types of a safetensors file that NumPy has too.
_TENSOR_TYPES = {
    **{f"I{8 * size}": f"i{size}" for size in (1, 2, 4, 8)},
    **{f"U{8 * size}": f"u{size}" for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": f"f{size}" for size in (2, 4, 8)},
}


class NpyStream:
    """An array in NumPy's own format: a header, then the numbers.

    Parameters
    ----------
    file : binary file, at its beginning
    name : str
        What messages call it.
    size : int
        How many bytes it has: the header must not promise more, or less.
    """

    def __init__(self, file: IO[bytes], name: str, size: int) -> None:
        self._file = file
        self._name = name
        self.shape, fortran_order, self.dtype = _read_header(file, name)
        if self.dtype.hasobject:
            raise FormatError(
                f"{name} holds Python objects, which are pickled and therefore refused: save plain "
                "arrays of numbers (and sent_ids as an array of strings)"
            )
        self.is_transposed = fortran_order and len(self.shape) == 2
        if fortran_order and len(self.shape) > 2:
            raise FormatError(
                f"{name} is stored in Fortran order: save numpy.ascontiguousarray(...) of it"
            )
        promised = file.tell() + math.prod(self.shape) * self.dtype.itemsize
        if promised > size:
            raise damaged(name)
        if promised < size:
            raise FormatError(f"{name} goes on after its last number: is it damaged?")
        self._left = self.shape[0] if self.shape else 1

    def read(self, count: int) -> NDArray[Any]:
        """Read the next `count` rows."""
        self._take(count)
        answer = np.zeros((count, *self.shape[1:]), dtype=self.dtype)
        if not count or not self.dtype.itemsize:  # strings of no characters take no bytes
            return answer
        view = answer.reshape(-1).view(np.uint8).data
        filled = 0
        while filled < len(view):
            with reading(self._name, MemoryError):
                step = self._file.readinto(view[filled:])  # type: ignore[attr-defined]
            if not step:
                raise damaged(self._name)
            filled += step
        return answer

    def skip(self, count: int) -> None:
        """Pass over the next `count` rows."""
        self._take(count)
        left = count * math.prod(self.shape[1:]) * self.dtype.itemsize
        while left:
            with reading(self._name, MemoryError):
                step = len(self._file.read(min(left, _SKIP_BYTES)))
            if not step:
                raise damaged(self._name)
            left -= step

    def _take(self, count: int) -> None:
        if count > self._left:
            raise damaged(self._name)
        self._left -= count

    def read_text(self) -> str:
        """Read a single string, an array without axes."""
        with reading(self._name, MemoryError):
            data = self._file.read(self.dtype.itemsize)
            encoding = "utf-32-be" if self.dtype.str[0] == ">" else "utf-32-le"
            return data.decode(encoding).rstrip("\0")

    def end(self) -> None:
        """Read on after the last number: this is when an archive compares its checksum."""
        with reading(self._name, MemoryError):
            self._file.read(1)


def _read_header(file: IO[bytes], name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read shape, whether the order is Fortran's, and type."""
    with reading(name, MemoryError):
        start = file.read(len(_NPY_START))
    if start != _NPY_START:  # later versions allow for headers that no array of numbers has
        raise FormatError(
            f"{name} has no readable NumPy header: it begins with {start!r}, where an array "
            f"saved by numpy.save begins with {_NPY_START!r}"
        )
    try:
        header = np.lib.format.read_array_header_1_0(file, max_header_size=_MAX_HEADER)
        if min(header[0], default=0) < 0:
            raise ValueError(f"the shape {header[0]} is negative")
    except Exception as error:  # whatever a parser of Python's syntax makes of damaged text
        raise FormatError(f"{name} has no readable NumPy header: {error}") from error
    return header


class TensorStream:
    """A tensor of a safetensors file."""

    def __init__(self, file: Any, tensor: str, name: str) -> None:
        with reading(name, MemoryError):
            self._slice = file.get_slice(tensor)
            self.shape = tuple(self._slice.get_shape())
            kind = self._slice.get_dtype()
        self._name = name
        self._position = 0
        if kind not in _TENSOR_TYPES:
            raise FormatError(
                f"{name} has the type {kind}, which NumPy does not know: save it as float32"
            )
        self.dtype = np.dtype(_TENSOR_TYPES[kind])

    def read(self, count: int) -> NDArray[Any]:
        """Read the next `count` rows."""
        start = self._position
        if start + count > self.shape[0]:
            raise damaged(self._name)
        self._position += count
        if not count:
            return np.empty((0, *self.shape[1:]), dtype=self.dtype)
        with reading(self._name, MemoryError):
            return np.asarray(self._slice[start : self._position])

    def skip(self, count: int) -> None:
        """Pass over the next `count` rows."""
        self._position += count

    def end(self) -> None:
        """Nothing is left to check: the library compared sizes when it opened the file."""


class ArrayFile:
    """A file of named arrays: each can be streamed, as often as needed, side by side."""

    def __init__(
        self,
        name: str,
        names: list[str],
        metadata: dict[str, str],
        open_stream: Callable[[str], Any],
    ) -> None:
        self.name = name
        self.names = names
        self.metadata = metadata
        self._open = open_stream

    def __contains__(self, array: str) -> bool:
        return array in self.names

    def stream(self, array: str) -> Any:
        """Start to read an array."""
        return self._open(array)

    def vector(self, array: str, what: str = "integers", size: int | None = None) -> Any:
        """Start to read a list of integers, numbers or strings, of this size if one is given."""
        stream = self._open(array)
        if stream.dtype.kind not in _KINDS[what] or len(stream.shape) != 1:
            raise FormatError(
                f"{self.name}: {array} must be a list of {what}, but is {stream.dtype} of shape "
                f"{stream.shape}"
            )
        if size is not None and stream.shape[0] != size:
            raise FormatError(
                f"{self.name}: {array} has {stream.shape[0]} entries, where the other arrays ask "
                f"for {size}"
            )
        return stream

    def counts(self, array: str, of: str) -> Iterator[NDArray[Any]]:
        """Read numbers of words or of trees, in pieces."""
        stream, start = self.vector(array), 0
        while start < stream.shape[0]:
            piece = stream.read(min(PIECE, stream.shape[0] - start))
            wrong = np.flatnonzero((piece < 0) | ((piece > max_words()) & (of == "words")))
            if wrong.size:
                index, found = start + int(wrong[0]), piece[wrong[0]]
                raise FormatError(
                    f"{self.name}: {array}[{index}] is {found}, which is no number of {of}"
                    if found < 0
                    else f"{self.name}, sentence number {index + 1}: {too_many_words(found)}"
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
    if file.kind == "npy":
        with file.path.open("rb") as plain:

            def restart(_: str) -> NpyStream:
                plain.seek(0)
                return NpyStream(plain, name, file.path.stat().st_size)

            restart("")
            yield ArrayFile(name, [""], {}, restart)
    elif file.kind == "npz":
        # A handle of our own: a member that is still open would keep the archive's from closing.
        with file.path.open("rb") as handle:
            with reading(name, MemoryError):
                archive = zipfile.ZipFile(handle)
            members = _members(archive, name)

            def open_member(array: str) -> NpyStream:
                info = members[array]
                with reading(f"{name}: {array}", MemoryError):
                    member = archive.open(info)
                return NpyStream(member, f"{name}: {array}", info.file_size)

            yield ArrayFile(name, list(members), {}, open_member)
    else:
        safetensors = required("safetensors", "reading a .safetensors file")
        with reading(name, MemoryError):
            # The library maps the file: that takes addresses, but no memory of its own.
            opened = safetensors.safe_open(file.path, "numpy")
        with opened as tensors:
            yield ArrayFile(
                name,
                list(tensors.keys()),
                tensors.metadata() or {},
                lambda array: TensorStream(tensors, array, f"{name}: {array}"),
            )


def _members(archive: zipfile.ZipFile, name: str) -> dict[str, zipfile.ZipInfo]:
    """List the arrays of an archive; their ending, which ``numpy.savez`` adds, may be missing."""
    members: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        array = info.filename.removesuffix(".npy")
        if array in members:
            raise FormatError(f"{name} holds {array!r} twice: save each array once")
        # Other methods are never written by NumPy, and unpack without a bound.
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise FormatError(
                f"{name}: {array} is compressed by method {info.compress_type}: save it with "
                "numpy.savez or numpy.savez_compressed"
            )
        members[array] = info
    return members
