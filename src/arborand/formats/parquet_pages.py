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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sized

    from numpy.typing import NDArray

# How many levels a page holds at most: a megabyte of heads.
_PAGE_LEVELS = 1 << 20
# Numbers that the format gives to types, encodings, kinds of page and so on.
_TYPES = {"i4": 1, "f4": 4, "f8": 5, "text": 6}
_PLAIN, _RLE, _RLE_DICTIONARY = 0, 3, 8
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_REQUIRED, _OPTIONAL, _REPEATED = 0, 1, 2
_UTF8, _LIST = 0, 3
_CODECS = {"snappy": 1, "zstd": 6}


class Column(NamedTuple):
    """A column: numbers ("i4", "f4", "f8") or strings ("text"), or lists of them."""

    name: str
    kind: str
    is_list: bool = False
    is_optional: bool = False

    @property
    def codec(self) -> str:
        """How it is compressed: zstd finds little more than the repeats in long fractions."""
        return "snappy" if self.kind == "f8" and not self.is_list else "zstd"

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
    plain : ndarray, or list of bytes
        The numbers or strings, or where they stand in the dictionary.
    dictionary : ndarray, or dict from bytes, or None
        May grow from rows to rows of a row group.
    sizes : ndarray or None
        How many values each row's list has; -1 where there is no list.
    repeats : ndarray or None
        How many rows in a row have each value of a dictionary.
    """

    plain: NDArray[Any] | list[bytes]
    dictionary: NDArray[np.int32] | dict[bytes, int] | None = None
    sizes: NDArray[np.int64] | None = None
    repeats: NDArray[np.int64] | None = None


class _Chunk:
    """One column of a row group: its pages, compressed."""

    def __init__(self) -> None:
        self.pages: list[bytes] = []
        self.raw_size = self.num_levels = 0
        self.dictionary: NDArray[np.int32] | dict[bytes, int] | None = None


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
        """Take the next rows of a row group; what is kept of them is compressed."""
        self._num_rows += num_rows
        for column, chunk, some in zip(self._columns, self._chunks, values, strict=True):
            self._add_pages(column, chunk, some)

    def end_group(self) -> None:
        """Write the rows since the last one as a row group."""
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

    def _add_pages(self, column: Column, chunk: _Chunk, values: Values) -> None:
        chunk.dictionary = values.dictionary if chunk.dictionary is None else chunk.dictionary
        content, sizes = values.plain, values.sizes
        if values.repeats is not None and values.dictionary is not None:
            num_rows = int(values.repeats.sum())
            runs = _runs(content, values.repeats, values.dictionary)
            self._add_page(column, chunk, num_rows, runs, is_coded=True)
            return
        num_levels, done = len(content), 0
        if sizes is not None:
            # One level per value, and one for each list that is empty or missing.
            ends = np.cumsum(np.maximum(sizes, 1))
            num_levels = int(ends[-1])
        for begin in range(0, num_levels, _PAGE_LEVELS):
            end = min(num_levels, begin + _PAGE_LEVELS)
            levels, num_values = b"", end - begin
            if sizes is not None:
                levels, num_values = _list_levels(sizes, ends, begin, end, column.is_optional)
            part = content[done : done + num_values]
            done += num_values
            is_coded = values.dictionary is not None
            body = _bytes_as_codes(part) if is_coded else [_plain(part)]
            self._add_page(column, chunk, end - begin, [levels, *body], is_coded=is_coded)

    def _add_page(
        self, column: Column, chunk: _Chunk, num_levels: int, content: list[Any], *, is_coded: bool
    ) -> None:
        encoding = _RLE_DICTIONARY if is_coded else _PLAIN
        header = {5: {1: num_levels, 2: encoding, 3: _RLE, 4: _RLE}}
        page, raw_size = self._page(column, _DATA_PAGE, header, content)
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
        if found is not None:
            header = {7: {1: len(found), 2: _PLAIN}}
            page, size = self._page(column, _DICTIONARY_PAGE, header, [_plain(found)])
            self._write(page)
            raw_size += size
            described[2].append(_RLE_DICTIONARY)
            described[11] = Long(start)
            if isinstance(found, dict):  # the bounds of the strings, by which readers skip
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
        packed = self._compress(body, column.codec)
        checksum = zlib.crc32(packed)
        signed = checksum - ((checksum >> 31) << 32)
        described = encode_struct({1: kind, 2: len(body), 3: len(packed), 4: signed, **header})
        return described + packed, len(described) + len(body)


def _plain(values: NDArray[Any] | Iterable[bytes]) -> Any:
    if isinstance(values, np.ndarray):
        return np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    return b"".join([len(value).to_bytes(4, "little") + value for value in values])


def _list_levels(
    sizes: NDArray[np.int64], ends: NDArray[np.int64], begin: int, end: int, is_optional: bool
) -> tuple[bytes, int]:
    """Encode what says which values are in one list; of how many values, beside it.

    Of all levels, `ends` of the lists, those from `begin` to `end`.
    """
    first, last = np.searchsorted(ends, [begin, end], side="right")
    starts = ends[first:last] - begin  # of the lists after the first one
    new = np.ones(end - begin, dtype=np.uint8)
    new[starts[starts < len(new)]] = 0
    if begin == 0 or ends[first - 1] == begin:
        new[0] = 0
    there = 2 if is_optional else 1
    empty = first + np.flatnonzero(sizes[first:last] < 1)
    if not empty.size:
        present = _one_run(len(new), there)
    else:
        levels = np.full(len(new), there, dtype=np.uint8)
        levels[ends[empty] - begin - 1] = (sizes[empty] + there - 1).clip(0)
        present = _bits(levels, there)
    return _sized(_bits(new, 1)) + _sized(present), len(new) - len(empty)


def _sized(data: bytes) -> bytes:
    return len(data).to_bytes(4, "little") + data


def _one_run(count: int, value: int) -> bytes:
    return _varint(count << 1) + bytes([value])


def _bits(numbers: NDArray[np.uint8], width: int) -> bytes:
    """Encode numbers of one or two bits."""
    bits = numbers
    if width > 1:
        bits = np.unpackbits(numbers[:, None], axis=1, count=width, bitorder="little").ravel()
    packed = np.packbits(bits, bitorder="little").tobytes()
    groups = -(-len(numbers) // 8)
    return _packed_groups(groups) + packed.ljust(groups * width, b"\0")


def _packed_groups(count: int) -> bytes:
    """Begin so many groups of eight numbers each."""
    return _varint(count << 1 | 1)


def _bytes_as_codes(codes: NDArray[np.uint8]) -> list[Any]:
    """Encode places in a dictionary as they are: packed numbers of eight bits each."""
    groups = -(-len(codes) // 8)
    return [b"\x08", _packed_groups(groups), codes, bytes(groups * 8 - len(codes))]


def _runs(codes: Any, repeats: NDArray[np.int64], dictionary: Sized) -> list[bytes]:
    """Encode places in a dictionary as runs of the same one."""
    width = max(1, (len(dictionary) - 1).bit_length())
    is_new = np.concatenate([[True], codes[1:] != codes[:-1]])
    counts = np.add.reduceat(repeats, np.flatnonzero(is_new)).tolist()
    size = (width + 7) // 8
    runs = [
        _varint(count << 1) + code.to_bytes(size, "little")
        for count, code in zip(counts, codes[is_new].tolist(), strict=True)
    ]
    return [bytes([width]), *runs]


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
