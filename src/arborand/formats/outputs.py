"""Rows out: which formats there are, for what, and a writer for each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from arborand.errors import OutputError
from arborand.formats.containers import NpzWriter, SafetensorsWriter
from arborand.formats.parquet import ParquetWriter
from arborand.formats.text import CommasWriter, ConlluWriter, JsonLinesWriter, TabsWriter

if TYPE_CHECKING:
    from collections.abc import Callable

    from arborand.formats.rows import Layout, Rows

_WRITERS: dict[str, Callable[..., Writer]] = {
    "jsonl": JsonLinesWriter,
    "csv": CommasWriter,
    "tsv": TabsWriter,
    "conllu": ConlluWriter,
    "parquet": ParquetWriter,
    "npz": NpzWriter,
    "safetensors": SafetensorsWriter,
}
# Each is also the ending of its files.  The first two hold an evaluation as a whole, not its rows.
FORMATS = ("json", "html", *_WRITERS)
# In which formats rows can be written, by what they are; where nothing is said, numbers.
_NUMBERS = ("jsonl", "csv", "tsv", "parquet", "npz")
_FORMATS_OF = {
    "scores": ("npz", "parquet", "safetensors"),
    "trees": ("jsonl", "conllu", "parquet", "npz"),
    "marginals": ("jsonl", "parquet", "npz"),
    "evaluation": ("json", "html", *_NUMBERS),
}


class Writer(Protocol):
    """Writes rows into an open file, from front to back; a pipe will do."""

    def write(self, rows: Rows) -> None:
        """Write the next rows."""

    def close(self) -> None:
        """Complete what is in the file; the file stays open."""

    def discard(self) -> None:
        """Give up."""


def open_writer(
    file: Any, name: str, layout: Layout, provenance: dict[str, Any], *, spool: Path | None
) -> Writer:
    """Begin to write rows.

    Parameters
    ----------
    file : binary file
        Only its method ``write`` is used.
    name : str
        The format.
    layout, provenance
    spool : Path or None
        A folder for temporary files without a name, for formats that store column after column.
    """
    return _WRITERS[name](file, layout, provenance, spool)


def output_format(path: str | None, chosen: str | None, layout: Layout) -> str:
    """Choose the format: as asked for, or by the name's ending.

    Raises
    ------
    OutputError
        If there is no such format, or none for this kind of rows.
    """
    allowed = _FORMATS_OF.get(layout.name, _NUMBERS)
    name = chosen or _ending(path or "")
    if name not in FORMATS:
        raise OutputError(
            f"no format can be told from the name {path!r}: use --format with one of "
            f"{', '.join(allowed)}, or end the name with / for a folder of parts"
        )
    if name not in allowed:
        raise OutputError(f"{layout.name} cannot be written as {name}: use {', '.join(allowed)}")
    return name


def has_known_ending(path: str) -> bool:
    """Tell whether the ending of a name tells a format."""
    return _ending(path) in FORMATS


def _ending(path: str) -> str:
    return Path(path).suffix.lower().removeprefix(".")
