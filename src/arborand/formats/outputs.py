"""Rows out: which formats there are, for what, and a writer for each."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from arborand.errors import OutputError
from arborand.formats.containers import NpzWriter, SafetensorsWriter
from arborand.formats.parquet import ParquetWriter
from arborand.formats.text import TEXT_FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable

    from arborand.formats.rows import Layout, Rows

_ENDINGS = {
    ".json": "json",
    ".html": "html",
    ".jsonl": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".conllu": "conllu",
    ".parquet": "parquet",
    ".npz": "npz",
    ".safetensors": "safetensors",
}
FORMATS = tuple(_ENDINGS.values())
_BINARY: dict[str, Callable[..., Writer]] = {
    "parquet": ParquetWriter,
    "npz": NpzWriter,
    "safetensors": SafetensorsWriter,
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
    if name in TEXT_FORMATS:
        return TextWriter(file, name, layout, provenance)
    return _BINARY[name](file, layout, provenance, spool)


class TextWriter:
    """Text, written as it comes."""

    def __init__(
        self, file: IO[bytes], name: str, layout: Layout, provenance: dict[str, Any]
    ) -> None:
        self._file = file
        self._format = TEXT_FORMATS[name]
        self._layout = layout
        file.write(self._format.header(layout, provenance).encode())

    def write(self, rows: Rows) -> None:
        """Write the next rows."""
        self._file.write("".join(self._format.lines(self._layout, rows)).encode())

    def close(self) -> None:
        """Nothing is left to write."""

    def discard(self) -> None:
        """Nothing is held."""


def output_format(path: str | None, chosen: str | None, layout: Layout) -> str:
    """Choose the format: as asked for, or by the name's ending.

    Raises
    ------
    OutputError
        If there is no such format, or none for this kind of rows.
    """
    allowed = formats_of(layout)
    name = chosen
    if name is None and path is not None and path != "-":
        name = _ENDINGS.get(Path(path).suffix.lower())
    if name is None:
        raise OutputError(
            f"no format can be told from the name {path!r}: use --format with one of "
            f"{', '.join(allowed)}, or end the name with / for a folder of parts"
        )
    if name not in allowed:
        raise OutputError(f"{layout.name} cannot be written as {name}: use {', '.join(allowed)}")
    return name


def has_known_ending(path: str) -> bool:
    """Tell whether the ending of a name tells a format."""
    return Path(path).suffix.lower() in _ENDINGS


def formats_of(layout: Layout) -> tuple[str, ...]:
    """List the formats in which such rows can be written."""
    if layout.name == "scores":
        return ("npz", "parquet", "safetensors")
    texts = {
        "trees": ("jsonl", "conllu"),
        "marginals": ("jsonl",),
        "evaluation": ("json", "html", "jsonl", "csv", "tsv"),
    }
    return (*texts.get(layout.name, ("jsonl", "csv", "tsv")), "parquet", "npz")
