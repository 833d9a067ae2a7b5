"""What a file says about itself at its ends: how many sentences it holds, and which ones.

A few kilobytes of a file are read, however large it is.  The digest of a Parquet footer (sizes and
bounds) or of the directory of an archive (sizes and checksums) stands for the file when a job is
planned.  It is not proof: other scores may have the same sizes and bounds.  So a marker holds the
digest of the whole file, which is compared if the file was written again.  Other files have no such
place: they are read once, for their own digest.
"""

from __future__ import annotations

import hashlib
import zipfile
from contextlib import suppress
from typing import IO, Any, NamedTuple

from arborand.errors import FormatError
from arborand.formats.arrays import open_npy
from arborand.formats.inputs import CHUNK, kind_of, parse_json
from arborand.formats.parquet import read_extent
from arborand.formats.parquet import read_footer as read_parquet_footer
from arborand.formats.records import scores_layout

# What scores are called in a file of arrays; the last one is taken.
_SCORES = ("log_weights", "scores")


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
    dtype : str
        As what its scores are written: "f4" if all of them fit, "f8" otherwise and for trees.
    sha256 : str
        Of the whole file; empty if the footer was enough.
    """

    kind: str
    num_sentences: int | None
    digest: str
    dtype: str = "f8"
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
            num_rows, is_narrow = read_extent(footer, "log_weights")
            digest = hashlib.sha256(footer).hexdigest()
            return Footer(kind, num_rows, digest, "f4" if is_narrow else "f8")
    if kind == "npz":
        with suppress(Exception):  # whatever a damaged archive does to the library
            return _archive(file, name)
    count, dtype = None, "f8"
    with suppress(FormatError, ValueError, TypeError, LookupError, OverflowError):
        if kind == "npy":
            size = file.seek(0, 2)
            file.seek(0)
            array = open_npy(file, name, size)
            dtype = scores_layout(array.dtype).dtype
            count = _count({"log_weights": array.shape})
        elif kind == "safetensors":
            file.seek(0)
            tensors = parse_json(file.read(int.from_bytes(file.read(8), "little")))
            named = {array: tensors[array] for array in tensors if array[0] != "_"}
            kinds = [named[array]["dtype"] for array in _SCORES if array in named]
            dtype = "f4" if kinds[-1:] in (["F16"], ["F32"]) else "f8"
            count = _count({array: tensor["shape"] for array, tensor in named.items()})
    file.seek(0)
    whole = sha256_of(file)
    return Footer(kind, count, whole, dtype, whole)


def sha256_of(file: IO[bytes]) -> str:
    """Read a file from here to its end, for its digest."""
    digest = hashlib.sha256()
    while chunk := file.read(CHUNK):
        digest.update(chunk)
    return digest.hexdigest()


def _archive(file: IO[bytes], name: str) -> Footer:
    file.seek(0)
    archive = zipfile.ZipFile(file)
    members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    listing = [
        f"{i.filename} {i.CRC:08x} {i.file_size} {i.compress_size}" for i in archive.infolist()
    ]
    shapes, dtype = {}, "f8"
    for array in ("lengths", *_SCORES):
        if array not in members:
            continue
        # A damaged array is named when the file is opened.
        with suppress(Exception), archive.open(members[array]) as member:
            stream = open_npy(member, name, members[array].file_size)
            shapes[array] = stream.shape
            dtype = scores_layout(stream.dtype).dtype
    digest = hashlib.sha256("\n".join(listing).encode("utf-8", "surrogateescape")).hexdigest()
    return Footer("npz", _count(shapes), digest, dtype)


def _count(shapes: dict[str, Any]) -> int | None:
    """Count sentences: matrices in a stack, one matrix, or lengths."""
    if "log_weights" in shapes:
        shape = shapes["log_weights"]
        return 1 if len(shape) == 2 else int(shape[0])
    return int(shapes["lengths"][0]) if "lengths" in shapes else None
