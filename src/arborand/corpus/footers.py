"""What a file says about itself at its ends: how many sentences it holds, and which ones.

A few kilobytes of a file are read, however large it is.  A Parquet footer and the directory of an
archive change with the data (they hold sizes, bounds and checksums), so their digest stands for the
file.  Other files have no such place: they are read once, for their own digest.
"""

from __future__ import annotations

import hashlib
import zipfile
from contextlib import suppress
from typing import IO, Any, NamedTuple

from arborand.errors import FormatError
from arborand.formats.arrays import open_npy
from arborand.formats.inputs import CHUNK, kind_of, parse_json
from arborand.formats.parquet_sizes import read_footer as read_parquet_footer
from arborand.formats.parquet_sizes import read_num_rows


class Footer(NamedTuple):
    """What a file says about itself.

    Attributes
    ----------
    kind : str
        See :class:`arborand.formats.inputs.InputFile`.
    num_sentences : int or None
        None if only reading the file can tell.
    digest : str
        Of the footer.
    sha256 : str
        Of the whole file; empty if the footer was enough.
    """

    kind: str
    num_sentences: int | None
    digest: str
    sha256: str = ""


def read_footer(file: IO[bytes], name: str) -> Footer:
    """Look at a file without reading it, as far as its kind allows.

    Raises
    ------
    FormatError
        If it is empty or a pickle.
    """
    kind = kind_of(file.read(CHUNK), name)
    # What is wrong with a file is said when it is opened: here it only has no number.
    if kind == "parquet":
        with suppress(ValueError, IndexError, RecursionError):
            footer = read_parquet_footer(file)
            return Footer(kind, read_num_rows(footer), hashlib.sha256(footer).hexdigest())
    if kind == "npz":
        with suppress(Exception):  # whatever a damaged archive does to the library
            return _archive(file, name)
    count = None
    with suppress(FormatError, ValueError, TypeError, LookupError, OverflowError):
        if kind == "npy":
            size = file.seek(0, 2)
            file.seek(0)
            count = _count({"log_weights": open_npy(file, name, size).shape})
        elif kind == "safetensors":
            file.seek(0)
            tensors = parse_json(file.read(int.from_bytes(file.read(8), "little")))
            count = _count({array: tensors[array]["shape"] for array in tensors if array[0] != "_"})
    whole = hashlib.sha256()
    file.seek(0)
    while chunk := file.read(CHUNK):
        whole.update(chunk)
    return Footer(kind, count, whole.hexdigest(), whole.hexdigest())


def _archive(file: IO[bytes], name: str) -> Footer:
    file.seek(0)
    archive = zipfile.ZipFile(file)
    members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    listing = [
        f"{i.filename} {i.CRC:08x} {i.file_size} {i.compress_size}" for i in archive.infolist()
    ]
    shapes = {}
    for array in members.keys() & {"lengths", "log_weights"}:
        with archive.open(members[array]) as member:
            shapes[array] = open_npy(member, name, members[array].file_size).shape
    digest = hashlib.sha256("\n".join(listing).encode("utf-8", "surrogateescape")).hexdigest()
    return Footer("npz", _count(shapes), digest)


def _count(shapes: dict[str, Any]) -> int | None:
    """Count sentences: matrices in a stack, one matrix, or lengths."""
    if "log_weights" in shapes:
        shape = shapes["log_weights"]
        return 1 if len(shape) == 2 else int(shape[0])
    return int(shapes["lengths"][0]) if "lengths" in shapes else None
