"""Rows out: which formats there are, for what, and a writer for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arborand.formats.containers import NpzWriter, SafetensorsWriter
from arborand.formats.parquet import ParquetWriter
from arborand.formats.text import CommasWriter, ConlluWriter, JsonLinesWriter, TabsWriter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from arborand.formats.rows import Layout, Writer

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
    "findings": ("jsonl", "csv", "tsv", "parquet"),
    "evaluation": ("json", "html", *_NUMBERS),
}


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


def formats_of(layout: Layout) -> tuple[str, ...]:
    """List the formats in which such rows can be written."""
    return _FORMATS_OF.get(layout.name, _NUMBERS)
