"""Arrays in files, read from front to back, a piece at a time.

``numpy.load`` takes an array whole, or maps it: both need address space for all of it.  Here a
stream reads the next rows (entries of the first axis) on demand, so that memory does not grow with
the file.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, Protocol

import numpy as np

from arborand.formats.inputs import FormatError, describe, required

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from arborand.formats.inputs import InputFile

_SKIP_BYTES = 1 << 20
# The types of a safetensors file that NumPy has too.
_TENSOR_TYPES = {
    **{f"I{8 * size}": f"i{size}" for size in (1, 2, 4, 8)},
    **{f"U{8 * size}": f"u{size}" for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": f"f{size}" for size in (2, 4, 8)},
}


class ArrayStream(Protocol):
    """An array of which the next rows can be read."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def read(self, count: int) -> NDArray[Any]:
        """Read the next `count` rows: shape (count, *shape[1:])."""

    def skip(self, count: int) -> None:
        """Pass over the next `count` rows."""


class NpyStream:
    """An array in NumPy's own format: a header, then the numbers."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file = file
        self._name = name
        try:
            version = np.lib.format.read_magic(file)
            read_header = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }[version]
            header = read_header(file)
        except (KeyError, ValueError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            raise FormatError(f"{name} has no readable NumPy header: {_reason(error)}") from error
        self.shape, fortran_order, self.dtype = header
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

    def read(self, count: int) -> NDArray[Any]:
        """Read the next `count` rows."""
        answer = np.empty((count, *self.shape[1:]), dtype=self.dtype)
        view = answer.reshape(-1).view(np.uint8).data
        filled = 0
        while filled < len(view):
            with _reading(self._name):
                step = self._file.readinto(view[filled:])  # type: ignore[attr-defined]
            if not step:
                raise _truncated(self._name)
            filled += step
        return answer

    def skip(self, count: int) -> None:
        """Pass over the next `count` rows."""
        left = count * math.prod(self.shape[1:]) * self.dtype.itemsize
        while left:
            with _reading(self._name):
                step = len(self._file.read(min(left, _SKIP_BYTES)))
            if not step:
                raise _truncated(self._name)
            left -= step

    def read_scalar(self) -> Any:
        """Read an array without axes."""
        with _reading(self._name):
            data = self._file.read(self.dtype.itemsize)
        return np.frombuffer(data, dtype=self.dtype)[0].item()

    def end(self) -> None:
        """Make sure that there is nothing left."""
        with _reading(self._name):
            rest = self._file.read(1)
        if rest:
            raise FormatError(f"{self._name} goes on after its last number: is it damaged?")


class TensorStream:
    """A tensor of a safetensors file."""

    def __init__(self, file: Any, tensor: str, name: str) -> None:
        self._slice = file.get_slice(tensor)
        self._name = name
        self._position = 0
        self.shape = tuple(self._slice.get_shape())
        kind = self._slice.get_dtype()
        if kind not in _TENSOR_TYPES:
            raise FormatError(
                f"{name} has the type {kind}, which NumPy does not know: save it as float32"
            )
        self.dtype = np.dtype(_TENSOR_TYPES[kind])

    def read(self, count: int) -> NDArray[Any]:
        """Read the next `count` rows."""
        start = self._position
        if start + count > self.shape[0]:
            raise _truncated(self._name)
        self._position += count
        if not count:
            return np.empty((0, *self.shape[1:]), dtype=self.dtype)
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
                return NpyStream(plain, name)

            stream = restart("")
            size = math.prod(stream.shape) * stream.dtype.itemsize
            if plain.tell() + size != file.path.stat().st_size:
                raise _truncated(name)
            yield ArrayFile(name, [""], {}, restart)
    elif file.kind == "npz":
        # A handle of our own: a member that is still open would keep the archive's from closing.
        with file.path.open("rb") as handle:
            try:
                archive = zipfile.ZipFile(handle)
            except zipfile.BadZipFile as error:
                raise _truncated(name, _reason(error)) from error
            members = [member.removesuffix(".npy") for member in archive.namelist()]

            def open_member(array: str) -> NpyStream:
                with _reading(name):
                    member = archive.open(f"{array}.npy")
                return NpyStream(member, f"{name}: {array}")

            yield ArrayFile(name, members, {}, open_member)
    else:
        safetensors = required("safetensors", "reading a .safetensors file")
        try:
            # The library maps the file: that takes addresses, but no memory of its own.
            opened = safetensors.safe_open(file.path, "numpy")
        except safetensors.SafetensorError as error:
            raise _truncated(name, str(error)) from error
        with opened as tensors:
            yield ArrayFile(
                name,
                list(tensors.keys()),
                tensors.metadata() or {},
                lambda array: TensorStream(tensors, array, f"{name}: {array}"),
            )


@contextmanager
def _reading(name: str) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise _truncated(name, _reason(error)) from error


def _truncated(name: str, reason: str = "it ends too early") -> FormatError:
    return FormatError(f"{name} is truncated or damaged: {reason}")


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
