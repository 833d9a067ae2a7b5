"""Files that are read: what they are, their digest, and errors that name them.

What a file is, is told by its first bytes, not by its name: a pipe has none.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arborand.errors import FormatError
from arborand.formats.characters import visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

# How many bytes are read at a time.
CHUNK = 1 << 20
# The largest header that safetensors itself accepts.
_MAX_SAFETENSORS_HEADER = 100_000_000


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that can be read more than once.

    Attributes
    ----------
    path : Path
        Where it is; for standard input, a temporary copy.
    name : str
        Its name without folders, or ``-`` for standard input: what messages and provenance say.
        Control characters, and bytes that are not UTF-8, are written as escapes.
    kind : str
        ``npy``, ``npz``, ``safetensors``, ``parquet``, ``jsonl``, ``conllu`` or ``unknown``.
    sha256 : str
    """

    path: Path
    name: str
    kind: str
    sha256: str


@contextmanager
def open_input(source: str | os.PathLike[str] | InputFile) -> Iterator[InputFile]:
    """Look at a file, or at all of standard input (``-``), before anything is made of it.

    A file that was looked at already is passed on.

    Raises
    ------
    FormatError
        If it cannot be read, is empty or is a pickle.
    """
    if isinstance(source, InputFile):
        yield source
    elif str(source) != "-":
        yield _inspected(Path(source), shown_name(Path(source)))
    else:
        with tempfile.TemporaryDirectory(prefix="arborand-") as folder:
            path = Path(folder) / "input"
            if sys.stdin is None:
                raise FormatError("standard input is closed: name a file instead of '-'")
            with path.open("wb") as copy:
                shutil.copyfileobj(sys.stdin.buffer, copy, CHUNK)
            yield _inspected(path, "-")


def shown_name(path: Path) -> str:
    """Write a file's name, without folders, so that a terminal shows it and does nothing else."""
    return visible(os.fsencode(path.name or path).decode("utf-8", "backslashreplace"))


def _inspected(path: Path, name: str) -> InputFile:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            start = chunk = file.read(CHUNK)
            while chunk:
                digest.update(chunk)
                chunk = file.read(CHUNK)
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL in it
        reason = getattr(error, "strerror", None) or error
        raise FormatError(f"{name} cannot be read: {reason}") from error
    return InputFile(path, name, kind_of(start, name), digest.hexdigest())


def kind_of(start: bytes, name: str) -> str:
    """Tell what a file is by its first bytes.

    Raises
    ------
    FormatError
        If it is empty or a pickle.
    """
    kind = _kind(start)
    if kind == "empty":
        raise FormatError(f"{name} is empty")
    if kind == "pickle":
        raise FormatError(
            f"{name} is a pickle, which can run any code when it is opened and is therefore "
            "refused: save the arrays with numpy.savez or safetensors instead"
        )
    return kind


def _kind(start: bytes) -> str:
    text = start[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    answer = "unknown"
    if not start:
        answer = "empty"
    elif start.startswith(b"\x93NUMPY"):
        answer = "npy"
    elif start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        # torch.save writes a zip file around a pickle.
        answer = "pickle" if b"/data.pkl" in start[:4096] else "npz"
    elif start.startswith(b"PAR1"):
        answer = "parquet"
    elif start[8:9] == b"{" and int.from_bytes(start[:8], "little") <= _MAX_SAFETENSORS_HEADER:
        answer = "safetensors"
    elif start[:1] == b"\x80" and start[1:2] in b"\x02\x03\x04\x05":
        answer = "pickle"
    elif text.startswith(b"{"):
        answer = "jsonl"
    elif text.startswith(b"#") or re.match(rb"\d+([-.]\d+)?\t", text):
        answer = "conllu"
    return answer


def required(module: str, purpose: str) -> ModuleType:
    """Import a module that comes with the extra, or say in one sentence how to get it."""
    import importlib

    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        raise ModuleNotFoundError(
            f"{purpose} needs {package}: pip install 'arborand[cli]'", name=error.name
        ) from error


def damaged(name: str, reason: object = "it ends too early") -> FormatError:
    """Make the error about a file, or a part of it, that is not what it was."""
    text = str(reason) or type(reason).__name__
    return FormatError(f"{name} is truncated or damaged: {text}")


@contextmanager
def reading(name: str, *passed_on: type[Exception]) -> Iterator[None]:
    """Turn whatever a damaged file does to the libraries that read it into one error."""
    try:
        yield
    except Exception as error:
        if isinstance(error, (FormatError, *passed_on)):
            raise
        raise damaged(name, error) from error


def describe(names: Any) -> str:
    """List names for a message."""
    return ", ".join(map(repr, names)) or "nothing"


def parse_json(text: str | bytes) -> Any:
    """Read JSON that may be anything.

    Raises
    ------
    ValueError
        If it is not JSON, not UTF-8, or nested too deeply.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
