"""Parquet in: a file whose columns are what they should be, and whose pages are whole.

Checksums of pages are compared where the file has them.  What a row group will take is compared
with what it takes in the file, before it is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arborand.errors import FormatError
from arborand.formats.inputs import damaged, describe, reading, required
from arborand.formats.limits import CHARACTERS, WORDS
from arborand.formats.parquet_sizes import check_pages, read_row_groups

if TYPE_CHECKING:
    from collections.abc import Iterator

# How much larger a row group may be in memory than in the file, beyond what a sentence may take.
_MAX_RATIO = 256
# What strings take beside their characters: headers of pages, and for each its length and levels.
_PAGE_BYTES, _STRING_BYTES = 1 << 16, 16
# What the kinds of columns can be, and what messages call them.  An id may be a number, or bytes.
_TEXTS = ("string", "large_string")
_KINDS = {
    "text": ((*_TEXTS, "integer", "binary"), "strings"),
    "integer": (("integer",), "integers"),
    "number": (("integer", "floating"), "numbers"),
    "integers": (("integer",), "flat lists of integers"),
    "numbers": (("integer", "floating"), "flat lists of numbers"),
    "texts": (_TEXTS, "lists of strings"),
}


class ParquetInput:
    """An open Parquet file.

    Parameters
    ----------
    handle : binary file
    name : str
        What messages call it.
    columns : dict from name to kind
        The columns that are read, where they are there: "text", "integer", "number", "integers",
        "numbers" or "texts".
    required_columns : tuple of str
        Those that must be there.
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
            # A string that stands in many rows is kept once, until its length is known.
            kept = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
            # Buffered, and nothing fetched in advance: memory does not grow with the row groups.
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
        """Look up the type of a column, or of what its lists hold."""
        kind = self._file.schema_arrow.field(column).type
        return getattr(kind, "value_type", kind)

    def batches(self, group: int, rows: int) -> Iterator[Any]:
        """Read a row group, so many rows at a time."""
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
                # Offsets and the like are taken on trust by everything that follows.
                batch.validate(full=True)
            left -= batch.num_rows
            yield batch
        if left:
            raise damaged(self.name, f"row group {group + 1} lacks {left} rows")

    def num_values(self, group: int, column: str) -> int:
        """Count the numbers of a column of lists in a row group."""
        chunks = self.groups[group].chunks
        return sum(c.num_values for c in chunks if c.path.startswith(f"{column}."))

    def _check_size(self, group: int) -> None:
        """Refuse a row group that would take far more memory than it takes in the file."""
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
                    f"{self.name}: row group {group + 1} holds {size} bytes of {chunk.path} in "
                    f"{chunk.packed_size}: write smaller row groups, or raise {WORDS.variable}"
                )
            with reading(self.name):
                check_pages(self._handle, chunk, bound)

    def _check_strings(self, column: str, array: Any) -> None:
        """Refuse long strings while each is there only once."""
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
    """Raise an error if a column of Arrow is not of its kind; see :class:`ParquetInput`."""
    types = required("pyarrow", "reading a .parquet file").types
    if types.is_dictionary(found):  # asked for by us, not by the file
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
    """Compute how many bytes so many strings take at most, if each is as long as allowed.

    A string stands in its page, perhaps in a dictionary, and in the statistics of its page.
    """
    return _PAGE_BYTES + 5 * num_strings * (4 * CHARACTERS.most + _STRING_BYTES)
