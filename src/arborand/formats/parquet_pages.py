"""The bytes of a Parquet file: pages, column chunks, and the footer that says where they are.

They are laid out here because Arrow takes three times as long for lists of heads: it makes two
levels of every number one by one, where all rows are known to be alike.  See the format's own
description: https://parquet.apache.org/docs/file-format/.
"""

from __future__ import annotations

import functools
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arborand import __version__
from arborand.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

# A page's size has 31 bits, before and after it is compressed: noise grows a little.
_MAX_PAGE = (1 << 31) - 1
# Numbers that the format gives to types, encodings, kinds of page and so on.
_TYPES = {"i4": 1, "f4": 4, "f8": 5, "text": 6}
_PLAIN, _RLE, _RLE_DICTIONARY = 0, 3, 8
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_REQUIRED, _OPTIONAL, _REPEATED = 0, 1, 2
_UTF8, _LIST = 0, 3
_CODECS = {"snappy": 1, "zstd": 6}
# In the dictionary of bytes, each stands for itself.
_BYTES = np.arange(256, dtype=np.int32)


class Column(NamedTuple):
    """A column: numbers ("i4", "f4", "f8") or strings ("text"), or lists of them."""

    name: str
    kind: str
    is_list: bool = False
    is_optional: bool = False

    @property
    def codec(self) -> str:
        """How it is compressed: zstd finds little more than the repeats in long fractions."""
        return "snappy" if self.kind in ("f4", "f8") else "zstd"

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
    """What a column holds in some rows.

    Attributes
    ----------
    plain : ndarray or list of bytes
        The numbers or the strings.
    repeats : ndarray or None
        In how many rows each string stands; or how many rows have lists of the same size.
    sizes : ndarray or None
        The sizes of these lists; -1 where there is no list.
    """

    plain: NDArray[Any] | list[bytes]
    repeats: NDArray[np.int64] | None = None
    sizes: NDArray[np.int64] | None = None


class _Chunk:
    """One column of a row group: its pages, compressed, and what is not yet in one."""

    def __init__(self) -> None:
        self.waiting: list[Values] = []
        self.pages: list[bytes] = []
        self.raw_size = self.num_levels = 0
        # The values that pages name by their place: strings, or all bytes.
        self.dictionary: dict[bytes, int] = {}
        self.has_bytes = False


class ParquetFile:
    """A file that is written from front to back, one row group after the other.

    Parameters
    ----------
    write : function
        Takes the next bytes of the file.
    compress : function from bytes and a name to bytes
        "zstd" or "snappy".
    columns : list of Column
    """

    def __init__(
        self,
        write: Callable[[bytes], object],
        compress: Callable[[bytes, str], bytes],
        columns: list[Column],
    ) -> None:
        self._write_bytes = write
        self._compress = compress
        self._columns = columns
        self._place = 0
        self._groups: list[dict[int, Any]] = []
        self._begin_group()
        self._write(b"PAR1")

    def _begin_group(self) -> None:
        self._chunks = [_Chunk() for _ in self._columns]
        self._num_rows = 0

    def _write(self, data: bytes) -> None:
        self._write_bytes(data)
        self._place += len(data)

    def add_rows(self, num_rows: int, values: list[Values]) -> None:
        """Take the next rows of a page."""
        self._num_rows += num_rows
        for chunk, some in zip(self._chunks, values, strict=True):
            chunk.waiting.append(some)

    def end_page(self) -> None:
        """Compress the rows since the last page: one page of each column."""
        for column, chunk in zip(self._columns, self._chunks, strict=True):
            self._add_page(column, chunk)

    def end_group(self) -> None:
        """Write the pages since the last one as a row group."""
        start = self._place
        chunks = [self._end_chunk(*pair) for pair in zip(self._columns, self._chunks, strict=True)]
        self._groups.append(
            {
                1: chunks,
                2: Long(sum(chunk[3][6] for chunk in chunks)),
                3: Long(self._num_rows),
                5: Long(start),
                6: Long(self._place - start),
            }
        )
        self._begin_group()

    def close(self, metadata: dict[str, str]) -> None:
        """Write the last row group and the footer."""
        if self._num_rows:
            self.end_group()
        schema: list[dict[int, Any]] = [{4: b"schema", 5: len(self._columns)}]
        for column in self._columns:
            schema += column.schema()
        footer = {
            1: 2,
            2: schema,
            3: Long(sum(group[3] for group in self._groups)),
            4: self._groups,
            5: [{1: key.encode(), 2: text.encode()} for key, text in metadata.items()],
            6: f"arborand version {__version__}".encode(),
            7: [{1: {}} for _ in self._columns],  # values are in the order of their type
        }
        encoded = encode_struct(footer)
        self._write(encoded + len(encoded).to_bytes(4, "little") + b"PAR1")

    def _add_page(self, column: Column, chunk: _Chunk) -> None:
        waiting, chunk.waiting = chunk.waiting, []
        pieces: list[Any] = [values.plain for values in waiting]
        sizes = [values.sizes for values in waiting if values.sizes is not None]
        repeats = [values.repeats for values in waiting if values.repeats is not None]
        levels, num_levels, encoding = b"", sum(map(len, pieces)), _RLE_DICTIONARY
        if sizes:
            levels, num_levels = _list_levels(
                np.concatenate(sizes), np.concatenate(repeats), column.is_optional
            )
        if repeats and not sizes:
            places = chunk.dictionary
            codes = [places.setdefault(text, len(places)) for piece in pieces for text in piece]
            counts = np.concatenate(repeats)
            num_levels = int(counts.sum())
            width = max(1, (len(places) - 1).bit_length())
            content = [bytes([width]), _runs(np.array(codes), counts, (width + 7) // 8)]
        elif column.kind == "i4" and all(map(_fit_bytes, pieces)):
            chunk.has_bytes = True
            content = _bytes_as_codes(pieces)
        else:
            encoding = _PLAIN
            content = _plain(column.kind, pieces)
        header = {5: {1: num_levels, 2: encoding, 3: _RLE, 4: _RLE}}
        page, raw_size = self._page(column, _DATA_PAGE, header, [levels, *content])
        chunk.pages.append(page)
        chunk.num_levels += num_levels
        chunk.raw_size += raw_size

    def _end_chunk(self, column: Column, chunk: _Chunk) -> dict[int, Any]:
        """Write one column of a row group, and say where it is."""
        start, raw_size = self._place, chunk.raw_size
        described: dict[int, Any] = {
            1: _TYPES[column.kind],
            2: [_PLAIN, _RLE],
            3: column.path,
            4: _CODECS[column.codec],
            5: Long(chunk.num_levels),
        }
        found = chunk.dictionary
        if found or chunk.has_bytes:
            values = list(found) or _BYTES
            header = {7: {1: len(values), 2: _PLAIN}}
            page, size = self._page(column, _DICTIONARY_PAGE, header, _plain(column.kind, [values]))
            self._write(page)
            raw_size += size
            described[2].append(_RLE_DICTIONARY)
            described[11] = Long(start)
            if found:  # the bounds of the strings, by which readers skip
                described[12] = {3: Long(0), 5: max(found), 6: min(found)}
        described[9] = Long(self._place)
        for page in chunk.pages:
            self._write(page)
        described[6], described[7] = Long(raw_size), Long(self._place - start)
        return {2: Long(start), 3: described}

    def _page(
        self, column: Column, kind: int, header: dict[int, Any], content: list[Any]
    ) -> tuple[bytes, int]:
        """Make a page; beside it the number of its bytes if they were not compressed."""
        body = b"".join(content)
        packed = self._compress(body, column.codec) if len(body) <= _MAX_PAGE else b""
        size = max(len(body), len(packed))
        if size > _MAX_PAGE:
            raise OutputError(
                f"{column.name} takes {size} bytes in one page, too many for Parquet: use npz"
            )
        checksum = zlib.crc32(packed)
        signed = checksum - ((checksum >> 31) << 32)
        described = encode_struct({1: kind, 2: len(body), 3: len(packed), 4: signed, **header})
        return described + packed, len(described) + len(body)


def _plain(kind: str, pieces: list[Any]) -> list[Any]:
    """Encode arrays of numbers, or lists of strings, as they are."""
    if kind == "text":
        return [len(text).to_bytes(4, "little") + text for piece in pieces for text in piece]
    return [np.ascontiguousarray(piece, dtype=f"<{kind}") for piece in pieces]


def _fit_bytes(integers: NDArray[Any]) -> bool:
    """Tell whether integers can be stored as bytes: a quarter of the size, not yet compressed."""
    is_small = integers.dtype == np.uint8
    return is_small or bool(integers.min(initial=0) >= 0 and integers.max(initial=0) <= 255)


def _list_levels(
    sizes: NDArray[np.int64], repeats: NDArray[np.int64], is_optional: bool
) -> tuple[bytes, int]:
    """Encode which values are in one list; beside it the number of levels.

    There is one level per value, and one for each list that is empty or missing.
    """
    counts = np.maximum(sizes, 1)
    ends = np.cumsum(np.repeat(counts, repeats))
    is_within = np.ones(ends[-1], dtype=np.uint8)
    is_within[0] = 0
    is_within[ends[:-1]] = 0
    bits = np.packbits(is_within, bitorder="little").tobytes()
    there = 2 if is_optional else 1  # one less if it is empty, two if it is missing
    present = _runs(np.minimum(sizes, 1) + there - 1, counts * repeats, 1)
    return _sized(_packed_groups(len(bits)) + bits) + _sized(present), len(is_within)


def _sized(data: bytes) -> bytes:
    return len(data).to_bytes(4, "little") + data


def _packed_groups(count: int) -> bytes:
    """Begin so many groups of eight numbers each."""
    return _varint(count << 1 | 1)


def _bytes_as_codes(pieces: list[Any]) -> list[Any]:
    """Encode places in a dictionary as they are: packed numbers of eight bits each."""
    count = sum(map(len, pieces))
    groups = -(-count // 8)
    codes = [piece.astype(np.uint8, copy=False) for piece in pieces]
    return [b"\x08", _packed_groups(groups), *codes, bytes(groups * 8 - count)]


def _runs(numbers: NDArray[Any], repeats: NDArray[np.int64], num_bytes: int) -> bytes:
    """Encode numbers, each repeated so often, as runs of the same one."""
    starts = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]]))
    counts = np.add.reduceat(repeats, starts).tolist()
    return b"".join(
        _varint(count << 1) + number.to_bytes(num_bytes, "little")
        for count, number in zip(counts, numbers[starts].tolist(), strict=True)
    )


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


@functools.lru_cache(maxsize=1024)
def _varint(value: int) -> bytes:
    digits = bytearray()
    while value > 127:
        digits.append(value & 127 | 128)
        value >>= 7
    digits.append(value)
    return bytes(digits)
