"""The sizes that a Parquet file declares, checked before Arrow trusts them.

Arrow 26 takes memory for whatever the header of a page declares, up to two gigabytes, and asking it
for the sizes of a damaged footer can end the process (``tests/parquet`` has a file for each
reason).  So the sizes of column chunks and pages are read here.  They are written in Thrift's
compact protocol, whose fields have numbers instead of names.  What cannot be right is a
``ValueError`` or, where the bytes end too early, an ``IndexError``.
"""

from __future__ import annotations

from typing import IO, Any, NamedTuple, TypeVar

_MAGIC = b"PAR1"
# How many bytes are read for the header of a page, and how many if its statistics are longer.
_HEADER_BYTES = (1 << 10, 1 << 20)
_Value = TypeVar("_Value")


class Chunk(NamedTuple):
    """One column of one row group."""

    path: str
    num_values: int
    unpacked_size: int
    packed_size: int
    start: int


class RowGroup(NamedTuple):
    """Some rows, column by column."""

    num_rows: int
    chunks: list[Chunk]


def read_footer(file: IO[bytes]) -> bytes:
    """Read the bytes of the footer."""
    end = file.seek(0, 2)
    file.seek(max(0, end - 8))
    tail = file.read(8)
    size = int.from_bytes(tail[:4], "little")
    if len(tail) < 8 or tail[4:] != _MAGIC or size > end - 12:
        raise ValueError("it has no footer")
    file.seek(end - 8 - size)
    return file.read(size)


def read_extent(footer: bytes, column: str) -> tuple[int, bool]:
    """Read how many rows a file has, and whether a column holds floats of at most 32 bits."""
    fields = _Compact(footer).read_struct(last=3)
    is_within = is_narrow = False
    for node in _field(fields, 2, list):
        is_within = is_within or (isinstance(node, dict) and node.get(4) == column.encode())
        if is_within and 1 in node:  # its numbers come after what they lie in
            is_narrow = node[1] == 4 or node.get(2) == 2
            break
    return _field(fields, 3, int), is_narrow


def read_row_groups(file: IO[bytes]) -> list[RowGroup]:
    """Read what the footer says about row groups."""
    groups = []
    for group in _field(_Compact(read_footer(file)).read_struct(), 4, list):
        chunks = [_chunk(_field(column, 3, dict)) for column in _field(group, 1, list)]
        groups.append(RowGroup(_field(group, 3, int), chunks))
    return groups


def _chunk(fields: dict[int, Any]) -> Chunk:
    path = ".".join(part.decode() for part in _field(fields, 3, list))
    start = _field(fields, 9, int)
    if 0 < fields.get(11, 0) < start:  # the dictionary comes before the data
        start = _field(fields, 11, int)
    num_values, unpacked_size, packed_size = (_field(fields, i, int) for i in (5, 6, 7))
    return Chunk(path, num_values, unpacked_size, packed_size, start)


def check_pages(file: IO[bytes], chunk: Chunk, bound: int) -> None:
    """Raise an error if the pages of a chunk declare more bytes than allowed."""
    place, left = chunk.start, chunk.num_values
    unpacked = 0
    while left > 0:
        header, size = _page_header(file, place)
        page_size = _field(header, 2, int)
        unpacked += page_size
        if unpacked > bound:
            raise ValueError(f"a page of {chunk.path} is said to have {page_size} bytes")
        for kind in (5, 8):  # pages of data; others have no values
            if kind in header:
                left -= _field(_field(header, kind, dict), 1, int)
        place += size + _field(header, 3, int)


def _page_header(file: IO[bytes], place: int) -> tuple[dict[int, Any], int]:
    for size in _HEADER_BYTES:
        file.seek(place)
        reader = _Compact(file.read(size))
        try:
            return reader.read_struct(), reader.place
        except IndexError:
            continue
    raise ValueError(f"there is no page at byte {place}")


def _field(fields: Any, number: int, kind: type[_Value]) -> _Value:
    """Look up a field: a size, which is not negative, a list or a struct."""
    value = fields.get(number) if isinstance(fields, dict) else None
    is_negative = isinstance(value, int) and value < 0
    if not isinstance(value, kind) or isinstance(value, bool) or is_negative:
        raise ValueError(f"its field {number} is {value!r:.60}: expected {kind.__name__}")
    return value


class _Compact:
    """Reads Thrift's compact protocol: a struct becomes a dict from field number to value."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.place = 0

    def _take(self, size: int) -> bytes:
        start, self.place = self.place, self.place + size
        if self.place > len(self._data):
            raise IndexError("it ends too early")
        return self._data[start : self.place]

    def _byte(self) -> int:
        value = self._data[self.place]
        self.place += 1
        return value

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 64, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError("a number has too many digits")

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def read_struct(self, last: int = 1 << 15) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while number < last and (byte := self._byte()):
            step, kind = byte >> 4, byte & 15
            number = number + step if step else self._zigzag()
            # A truth value that is a field is its own type.
            fields[number] = kind == 1 if kind in (1, 2) else self._read(kind)
        return fields

    def _read(self, kind: int) -> Any:
        if kind in (1, 2, 3):
            return self._byte()
        if kind in (4, 5, 6):
            return self._zigzag()
        if kind == 7:
            return self._take(8)  # a fraction, which says nothing about sizes
        if kind == 8:
            return self._take(self._varint())
        if kind == 9:
            byte = self._byte()
            count = byte >> 4 if byte >> 4 < 15 else self._varint()
            return [self._read(byte & 15) for _ in range(count)]
        if kind == 12:
            return self.read_struct()
        raise ValueError(f"Parquet has no type {kind}")
