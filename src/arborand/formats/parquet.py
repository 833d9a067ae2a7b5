"""Parquet in: reading a file after checking its columns and the sizes that it declares.

Arrow reads the columns and compares the checksums of pages, if the file has them.  What Arrow
trusts blindly is checked first: Arrow 26 allocates whatever the header of a page or a footer
declares, and asking it for the sizes in a damaged footer can crash the process.  ``tests/parquet``
has a file for each case.
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar

from arborand.errors import FormatError
from arborand.formats.inputs import CHARACTERS, WORDS, damaged, describe, reading, required

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAGIC = b"PAR1"
# How many bytes are read for the header of a page, and how many if its statistics are longer.
_HEADER_BYTES = (1 << 10, 1 << 20)
# How much larger a row group may be in memory than in the file, beyond the size of one sentence.
_MAX_RATIO = 256
# What strings take besides their characters: page headers, and the length and levels of each.
_PAGE_BYTES, _STRING_BYTES = 1 << 16, 16
# The types of each kind of column, and its name in messages.  An id may be an integer or bytes.
_TEXTS = ("string", "large_string")
_KINDS = {
    "text": ((*_TEXTS, "integer", "binary"), "strings"),
    "integer": (("integer",), "integers"),
    "number": (("integer", "floating"), "numbers"),
    "integers": (("integer",), "flat lists of integers"),
    "numbers": (("integer", "floating"), "flat lists of numbers"),
    "texts": (_TEXTS, "lists of strings"),
}
_Value = TypeVar("_Value")


class ParquetInput:
    """An open Parquet file.

    Parameters
    ----------
    handle : binary file
    name : str
        What messages call it.
    columns : dict from name to kind
        The columns to read, if they exist: "text", "integer", "number", "integers", "numbers" or
        "texts".
    required_columns : tuple of str
        The columns that must exist.
    """

    def __init__(
        self,
        handle: Any,
        name: str,
        columns: dict[str, str],
        required_columns: tuple[str, ...],
    ) -> None:
        self.name = name
        parquet = required("pyarrow.parquet", "reading a .parquet file")
        self._handle = handle
        with reading(self.name):
            self.groups = read_row_groups(handle)
            metadata = parquet.read_metadata(handle)
            leaves = [metadata.schema.column(i) for i in range(metadata.num_columns)]
            # A string that many rows share stays in a dictionary until its length is checked.
            kept = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
            # Buffered but not prefetched, so that memory does not grow with the row groups.
            self._file = parquet.ParquetFile(
                handle,
                metadata=metadata,
                read_dictionary=kept,
                buffer_size=1 << 20,
                pre_buffer=False,
                page_checksum_verification=True,
            )
            schema = self._file.schema_arrow
            names = list(schema.names)
        missing = [column for column in required_columns if column not in names]
        if missing:
            raise FormatError(
                f"{name} lacks the column{'s' if len(missing) > 1 else ''} {describe(missing)}; it "
                f"holds {describe(names)}"
            )
        total = sum(group.num_rows for group in self.groups)
        if total != metadata.num_rows:
            raise damaged(name, f"{metadata.num_rows} rows in row groups of {total}")
        self.num_rows = total
        self.metadata = metadata.metadata or {}
        self.columns = [column for column in columns if column in names]
        self._texts = [column for column in self.columns if columns[column].startswith("text")]
        for column in self.columns:
            if names.count(column) > 1:
                raise FormatError(f"{name} has {names.count(column)} columns {column!r}: keep one")
            check_type(name, column, schema.field(column).type, columns[column])

    def type_of(self, column: str) -> Any:
        """Look up the type of a column, or of the entries of its lists."""
        kind = self._file.schema_arrow.field(column).type
        return getattr(kind, "value_type", kind)

    def batches(self, group: int, rows: int) -> Iterator[Any]:
        """Read a row group in batches of at most `rows` rows."""
        self._check_size(group)
        with reading(self.name):
            batches = self._file.iter_batches(
                rows, row_groups=[group], columns=self.columns, use_threads=False
            )
        left = self.groups[group].num_rows
        while True:
            with reading(self.name):
                batch = next(batches, None)
                if batch is None:
                    break
                for column in self.columns:
                    self._check_strings(column, batch.column(column))
                # All later steps trust offsets and lengths.
                batch.validate(full=True)
            left -= batch.num_rows
            yield batch
        if left:
            raise damaged(self.name, f"row group {group + 1} lacks {left} rows")

    def num_values(self, group: int, column: str) -> int:
        """Count the numbers in a column of lists, for one row group."""
        chunks = self.groups[group].chunks
        return sum(c.num_values for c in chunks if c.path.startswith(f"{column}."))

    def _check_size(self, group: int) -> None:
        """Refuse a row group that is far larger in memory than in the file."""
        for chunk in self.groups[group].chunks:
            column = chunk.path.partition(".")[0]
            if column not in self.columns:
                continue
            size = max(8 * chunk.num_values, chunk.unpacked_size)
            bound = 8 * (WORDS.most + 1) ** 2 + _MAX_RATIO * chunk.packed_size
            if column in self._texts:
                bound = min(bound, _most_text(chunk.num_values))
                if chunk.unpacked_size > bound:
                    raise self._long_string(column, CHARACTERS.most + 1)
            if size > bound:
                raise FormatError(
                    f"{self.name}: row group {group + 1} packs {size} bytes of {chunk.path} into "
                    f"{chunk.packed_size}: write smaller row groups, or raise {WORDS.variable}"
                )
            with reading(self.name):
                check_pages(self._handle, chunk, bound)

    def _check_strings(self, column: str, array: Any) -> None:
        """Refuse long strings while they are in a dictionary, which has each of them once."""
        strings = getattr(getattr(array, "values", array), "dictionary", None)
        if strings is None:
            return
        compute = required("pyarrow.compute", "reading a .parquet file")
        longest = compute.max(compute.binary_length(strings)).as_py() or 0
        if longest > 4 * CHARACTERS.most:  # a character takes at most four bytes
            raise self._long_string(column, longest // 4)

    def _long_string(self, column: str, at_least: int) -> FormatError:
        return FormatError(
            f"{self.name}: the column {column} has a string "
            f"{CHARACTERS.exceeded_by(f'at least {at_least}')}"
        )


def check_type(name: str, column: str, found: Any, kind: str) -> None:
    """Raise an error if an Arrow column is not of its kind; see :class:`ParquetInput`."""
    types = required("pyarrow", "reading a .parquet file").types
    if types.is_dictionary(found):  # because of `read_dictionary`
        found = found.value_type
    has_lists = (
        types.is_list(found) or types.is_large_list(found) or types.is_fixed_size_list(found)
    )
    inner = found.value_type if has_lists else found
    if types.is_dictionary(inner):
        inner = inner.value_type
    tests, expected = _KINDS[kind]
    is_right = any(getattr(types, f"is_{test}")(inner) for test in tests)
    if not is_right or has_lists != kind.endswith("s"):
        raise FormatError(f"{name}: the column {column} has the type {found}: expected {expected}")


def _most_text(num_strings: int) -> int:
    """Bound the number of bytes of strings of the maximum length.

    A string may occur in its page, in a dictionary, and in the statistics of its page.
    """
    return _PAGE_BYTES + 5 * num_strings * (4 * CHARACTERS.most + _STRING_BYTES)


# ---- the sizes that a file declares, read from its footer and the headers of its pages


class Chunk(NamedTuple):
    """One column of one row group."""

    path: str
    num_values: int
    unpacked_size: int
    packed_size: int
    start: int


class RowGroup(NamedTuple):
    """A row group: some rows, column by column."""

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
    """Read how many rows a file has, and whether a column has floats of at most 32 bits."""
    fields = _Compact(footer).read_struct(last=3)
    is_within = is_narrow = False
    for node in _field(fields, 2, list):
        is_within = is_within or (isinstance(node, dict) and node.get(4) == column.encode())
        if is_within and 1 in node:  # the leaf with its numbers comes after the groups around it
            is_narrow = node[1] == 4 or node.get(2) == 2
            break
    return _field(fields, 3, int), is_narrow


def read_row_groups(file: IO[bytes]) -> list[RowGroup]:
    """Read the row groups from the footer; raise an error if one ends beyond the file."""
    end = file.seek(0, 2)
    groups = []
    for group in _field(_Compact(read_footer(file)).read_struct(), 4, list):
        chunks = [_chunk(_field(column, 3, dict)) for column in _field(group, 1, list)]
        for chunk in chunks:
            if chunk.start + chunk.packed_size > end:
                raise ValueError(f"the column {chunk.path} ends after the end of the file")
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
        sizes = [_field(header, field, int) for field in (2, 3)]  # unpacked and packed
        unpacked += sizes[0]
        if unpacked > bound or sizes[1] > chunk.packed_size:
            raise ValueError(f"a page of {chunk.path} declares {max(sizes)} bytes")
        for kind in (5, 8):  # data pages; others have no values
            if kind in header:
                left -= _field(_field(header, kind, dict), 1, int)
        place += size + sizes[1]


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
            # The value of a boolean field is stored in its type.
            fields[number] = kind == 1 if kind in (1, 2) else self._read(kind)
        return fields

    def _read(self, kind: int) -> Any:
        if kind in (1, 2, 3):
            return self._byte()
        if kind in (4, 5, 6):
            return self._zigzag()
        if kind == 7:
            return self._take(8)  # a double, which is never a size
        if kind == 8:
            return self._take(self._varint())
        if kind == 9:
            byte = self._byte()
            count = byte >> 4 if byte >> 4 < 15 else self._varint()
            return [self._read(byte & 15) for _ in range(count)]
        if kind == 12:
            return self.read_struct()
        raise ValueError(f"Parquet has no type {kind}")
