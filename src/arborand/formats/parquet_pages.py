"""The bytes of a Parquet file: pages, column chunks, and the footer that says where they are.

They are laid out here because Arrow takes three times as long for lists of heads: it makes two
levels of every number one by one, where all rows are known to be alike.  See the format's own
description: https://parquet.apache.org/docs/file-format/.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arborand import __version__

if TYPE_CHECKING:
    from numpy.typing import NDArray

# How many levels a page holds at most: a megabyte of heads.
_PAGE_LEVELS = 1 << 20
# Numbers that the format gives to types, encodings, kinds of page and so on.
_TYPES = {"i4": 1, "f4": 4, "f8": 5, "text": 6}
_PLAIN, _RLE, _RLE_DICTIONARY = 0, 3, 8
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_REQUIRED, _OPTIONAL, _REPEATED = 0, 1, 2
_UTF8, _LIST = 0, 3
_ZSTD = 6


class Column(NamedTuple):
    """A column: numbers ("i4", "f4", "f8") or strings ("text"), or lists of them."""

    name: str
    kind: str
    is_list: bool = False
    is_optional: bool = False

    @property
    def path(self) -> list[bytes]:
        """The names of what lies on the way to its values."""
        return [self.name.encode(), *([b"list", b"element"] if self.is_list else [])]

    def schema(self) -> list[dict[int, Any]]:
        """Describe it, and what lies within it."""
        repetition = _OPTIONAL if self.is_optional else _REQUIRED
        leaf = {1: _TYPES[self.kind], 3: repetition, 4: self.path[-1]}
        if self.kind == "text":
            leaf |= {6: _UTF8, 10: {1: {}}}
        if not self.is_list:
            return [leaf]
        outer = {3: repetition, 4: self.path[0], 5: 1, 6: _LIST, 10: {3: {}}}
        return [outer, {3: _REPEATED, 4: b"list", 5: 1}, leaf | {3: _REQUIRED}]


class Values(NamedTuple):
    """What a column holds in one row group.

    Attributes
    ----------
    plain : ndarray, or list of bytes
        The numbers or strings; those of the dictionary, if there are codes.
    codes : ndarray or None
        Where each value stands in the dictionary.
    sizes : ndarray or None
        How many values each row's list has; -1 where there is no list.
    bounds : pair of bytes or None
        The least and the greatest value.
    """

    plain: NDArray[Any] | list[bytes]
    codes: NDArray[Any] | None = None
    sizes: NDArray[np.int64] | None = None
    bounds: tuple[bytes, bytes] | None = None


class ParquetFile:
    """A file of which one row group after the other is written; see :class:`Column`."""

    def __init__(self, write: Any, compress: Any, columns: list[Column]) -> None:
        self._write_bytes = write
        self._compress = compress
        self._columns = columns
        self._place = 0
        self._groups: list[dict[int, Any]] = []
        self._num_rows = 0
        self._write(b"PAR1")

    def _write(self, data: bytes) -> None:
        self._write_bytes(data)
        self._place += len(data)

    def write_group(self, num_rows: int, values: list[Values]) -> None:
        """Write the next rows, column by column."""
        start = self._place
        chunks = [self._chunk(*pair) for pair in zip(self._columns, values, strict=True)]
        self._groups.append(
            {
                1: chunks,
                2: Long(sum(chunk[3][6] for chunk in chunks)),
                3: Long(num_rows),
                5: Long(start),
                6: Long(self._place - start),
            }
        )
        self._num_rows += num_rows

    def close(self, metadata: dict[str, str]) -> None:
        """Write the footer."""
        schema: list[dict[int, Any]] = [{4: b"schema", 5: len(self._columns)}]
        for column in self._columns:
            schema += column.schema()
        footer = {
            1: 2,
            2: schema,
            3: Long(self._num_rows),
            4: self._groups,
            5: [{1: key.encode(), 2: text.encode()} for key, text in metadata.items()],
            6: f"arborand version {__version__}".encode(),
            7: [{1: {}} for _ in self._columns],  # values are in the order of their type
        }
        encoded = encode_struct(footer)
        self._write(encoded + len(encoded).to_bytes(4, "little") + b"PAR1")

    def _chunk(self, column: Column, values: Values) -> dict[int, Any]:
        """Write one column of a row group, and say where it is."""
        start, raw_size = self._place, 0
        encodings = [_PLAIN, _RLE]
        content: NDArray[Any] | list[bytes] = values.plain
        if values.codes is not None:
            encodings.append(_RLE_DICTIONARY)
            header = {1: len(content), 2: _PLAIN}
            raw_size += self._page(_DICTIONARY_PAGE, {7: header}, _plain(content))
            content = values.codes
        first_page = self._place
        count = len(content)
        places, present = None, None
        if values.sizes is not None:
            # One level per value, and one for each list that is empty or missing.
            ends = np.cumsum(np.maximum(values.sizes, 1))
            count = int(ends[-1])
            places = np.ones(count, dtype=np.uint8)
            places[0] = 0
            places[ends[:-1]] = 0
            there = 2 if column.is_optional else 1
            present = np.full(count, there, dtype=np.uint8)
            if values.sizes.min() < 1:
                empty = values.sizes < 1
                present[ends[empty] - 1] = (values.sizes[empty] + there - 1).clip(0)
        done = 0
        for begin in range(0, count, _PAGE_LEVELS):
            end = min(count, begin + _PAGE_LEVELS)
            body, num_values = b"", end - begin
            if places is not None and present is not None:
                levels = present[begin:end]
                body = _levels(places[begin:end], 1) + _levels(levels, 1 + column.is_optional)
                num_values = int(np.count_nonzero(levels == (2 if column.is_optional else 1)))
            part = content[done : done + num_values]
            done += num_values
            if values.codes is None:
                encoding, body = _PLAIN, body + _plain(part)
            else:
                encoding, body = _RLE_DICTIONARY, body + _codes(part, len(values.plain))
            header = {1: end - begin, 2: encoding, 3: _RLE, 4: _RLE}
            raw_size += self._page(_DATA_PAGE, {5: header}, body)
        chunk = {
            1: _TYPES[column.kind],
            2: encodings,
            3: column.path,
            4: _ZSTD,
            5: Long(count),
            6: Long(raw_size),
            7: Long(self._place - start),
            9: Long(first_page),
        }
        if first_page > start:
            chunk[11] = Long(start)
        if values.bounds is not None:
            chunk[12] = {3: Long(0), 5: values.bounds[1], 6: values.bounds[0]}
        return {2: Long(start), 3: chunk}

    def _page(self, kind: int, header: dict[int, Any], body: bytes) -> int:
        """Write a page; the number of its bytes before they were compressed."""
        packed = self._compress(body)
        checksum = zlib.crc32(packed)
        signed = checksum - ((checksum >> 31) << 32)
        described = encode_struct({1: kind, 2: len(body), 3: len(packed), 4: signed, **header})
        self._write(described + packed)
        return len(described) + len(body)


def _plain(values: NDArray[Any] | list[bytes]) -> bytes:
    if isinstance(values, np.ndarray):
        return values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
    return b"".join([len(value).to_bytes(4, "little") + value for value in values])


def _levels(levels: NDArray[np.uint8], width: int) -> bytes:
    """Encode levels of so many bits: one run if they are all the same, or bit by bit."""
    if levels[0] == levels[-1] and (levels == levels[0]).all():
        encoded = _varint(len(levels) << 1) + bytes(levels[:1])
    else:
        bits = levels
        if width > 1:
            bits = np.unpackbits(levels[:, None], axis=1, count=width, bitorder="little").ravel()
        encoded = _packed(np.packbits(bits, bitorder="little").tobytes(), len(levels), width)
    return len(encoded).to_bytes(4, "little") + encoded


def _packed(data: bytes, count: int, width: int) -> bytes:
    """Encode numbers that are packed already; they come in groups of eight."""
    groups = -(-count // 8)
    return _varint(groups << 1 | 1) + data.ljust(groups * width, b"\0")


def _codes(codes: NDArray[Any], num_values: int) -> bytes:
    """Encode places in a dictionary: bytes as they are, others as runs of the same one."""
    if codes.dtype == np.uint8:
        return b"\x08" + _packed(codes.tobytes(), len(codes), 8)
    width = max(1, (num_values - 1).bit_length())
    starts = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))
    counts = np.diff(starts, append=len(codes)).tolist()
    size = (width + 7) // 8
    runs = [
        _varint(count << 1) + code.to_bytes(size, "little")
        for count, code in zip(counts, codes[starts].tolist(), strict=True)
    ]
    return bytes([width]) + b"".join(runs)


# ---- Thrift's compact protocol, in which headers and the footer are written


class Long(int):
    """An integer of 64 bits, where others have 32."""


def encode_struct(fields: dict[int, Any]) -> bytes:
    """Encode a struct: a dict from the numbers of its fields to what they hold."""
    encoded, last = [], 0
    for number, value in sorted(fields.items()):
        kind, content = _encoded(value)
        encoded.append(bytes([(number - last) << 4 | kind]) + content)
        last = number
    return b"".join(encoded) + b"\0"


def _encoded(value: Any) -> tuple[int, bytes]:
    """Encode a value: the number of its type, and its bytes."""
    if isinstance(value, int):
        return 6 if isinstance(value, Long) else 5, _varint(value << 1 ^ value >> 63)
    if isinstance(value, bytes):
        return 8, _varint(len(value)) + value
    if isinstance(value, dict):
        return 12, encode_struct(value)
    items = [_encoded(item) for item in value]
    kind = items[0][0] if items else 12
    size = bytes([len(items) << 4 | kind]) if len(items) < 15 else bytes([0xF0 | kind])
    long_size = b"" if len(items) < 15 else _varint(len(items))
    return 9, size + long_size + b"".join(content for _, content in items)


def _varint(value: int) -> bytes:
    if value < 128:
        return bytes([value])
    digits = bytearray()
    while value > 127:
        digits.append(value & 127 | 128)
        value >>= 7
    digits.append(value)
    return bytes(digits)
