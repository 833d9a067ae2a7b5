"""Input files: their kinds, limits on what they may contain, and errors that name them.

The kind of a file is determined by its first bytes, not by its name: a pipe has no name.
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
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from arborand.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

# How many bytes are read at a time.
CHUNK = 1 << 20
# How files begin.  Safetensors accepts headers of up to 100 MB.  torch.save writes a pickle in a
# zip file.
_STARTS = {
    kind: re.compile(start, re.DOTALL)
    for kind, start in {
        "npy": rb"\x93NUMPY",
        "safetensors": rb".{3}[\0-\x05]\0{4}\{",
        "pickle": rb"\x80[\x02-\x05]|PK\x03\x04.*/data\.pkl",
        "npz": rb"PK(\x03\x04|\x05\x06)",
        "parquet": rb"PAR1",
        "jsonl": rb"[\xef\xbb\xbf \t\r\n]*\{",
        "conllu": rb"[\xef\xbb\xbf \t\r\n]*(#|\d+([-.]\d+)?\t)",
    }.items()
}


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that can be read more than once.

    Attributes
    ----------
    path : Path
        Where it is; for standard input, a temporary copy.
    name : str
        Its name in messages and provenance: without folders, or ``-`` for standard input.  Control
        characters, and bytes that are not UTF-8, are escaped.
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
    """Inspect a file, or a copy of standard input (``-``), before it is read.

    A file that was already inspected is passed through.
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
    """Return a file's name, without folders, such that it is safe to print on a terminal."""
    return shown_path(path.name or path)


def shown_path(path: str | Path) -> str:
    """Return a path such that it is safe to print on a terminal."""
    return visible(os.fsencode(path).decode("utf-8", "backslashreplace"))


def _inspected(path: Path, name: str) -> InputFile:
    try:
        with path.open("rb") as file:
            start = file.read(CHUNK)
            file.seek(0)
            digest = sha256_of(file)
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL in it
        reason = getattr(error, "strerror", None) or error
        raise FormatError(f"{shown_path(path)} cannot be read: {reason}") from error
    return InputFile(path, name, kind_of(start, name), digest)


def sha256_of(file: IO[bytes]) -> str:
    """Read a file from its current position to its end, for its digest."""
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def kind_of(start: bytes, name: str) -> str:
    """Determine the kind of a file by its first bytes; refuse an empty file or a pickle."""
    if not start:
        raise FormatError(f"{name} is empty")
    begins = (kind for kind, start_of in _STARTS.items() if start_of.match(start[:4096]))
    kind = next(begins, "unknown")
    if kind == "pickle":
        raise FormatError(
            f"{name} is a pickle, which can run any code when it is opened and is therefore "
            "refused: save the arrays with numpy.savez or safetensors instead"
        )
    return kind


def required(module: str, purpose: str, extra: str = "cli") -> ModuleType:
    """Import a module of an extra, or raise an error that says how to install it."""
    import importlib

    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        raise ModuleNotFoundError(
            f"{purpose} needs {package}: pip install 'arborand[{extra}]'", name=error.name
        ) from error


def damaged(name: str, reason: object = "it ends too early") -> FormatError:
    """Make the error about a file, or a part of it, that is truncated or damaged."""
    text = str(reason) or type(reason).__name__
    return FormatError(f"{name} is truncated or damaged: {text}")


@contextmanager
def reading(name: str, *passed_on: type[Exception]) -> Iterator[None]:
    """Turn any exception that a library raises for a damaged file into one error."""
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
    """Read JSON; a ``ValueError`` if it is not JSON, not UTF-8, or nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def as_json(record: dict[str, Any]) -> str:
    """Write a record as one line of JSON; equal records give equal lines."""
    return json.dumps(record, ensure_ascii=False, sort_keys=True)


# ---- limits on a single sentence or string of a file
#
# A few compressed bytes can expand to gigabytes.  The sizes that a file declares are therefore
# compared with these limits before memory is allocated.  Environment variables can raise both.


class Limit(NamedTuple):
    """A limit: its environment variable, its default, and how a message describes an excess."""

    variable: str
    default: int
    exceeding: str

    @property
    def most(self) -> int:
        """The limit in force."""
        text = os.environ.get(self.variable, "")
        if not text:
            return self.default
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise FormatError(
                f"{self.variable} is {text!r}: expected a number below 10 ** 9, as in 20000"
            )
        return int(text)

    def exceeded_by(self, count: object) -> str:
        """Say what is too large, and what to do."""
        return (
            f"{self.exceeding.format(count)} of more than {self.most} are refused: set "
            f"{self.variable} to raise this limit"
        )


# A matrix of 5,000 words takes 200 MB.
WORDS = Limit("ARBORAND_MAX_WORDS", 5_000, "it has {} words, and sentences")
# The limit for a sentence id, or for a token.
CHARACTERS = Limit("ARBORAND_MAX_CHARACTERS", 1_000, "of {} characters, and strings")


# ---- characters that must not reach a terminal unescaped
#
# File names, sentence ids and words come from anywhere.  An escape sequence in one of them could
# clear the screen, rename the window or fake a line of output.


# Control characters, line and paragraph separators, halves of surrogate pairs, and characters that
# change the direction of text.  Joiners are kept: words of many languages contain them.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str, *, keep: str = "") -> str:
    r"""Escape a string so that it is safe to print on a terminal.

    Parameters
    ----------
    text : str
    keep : str
        Unsafe characters to keep, such as the line breaks of a message.

    Examples
    --------
    >>> print(visible("a\x1b[31mb"))
    a\x1b[31mb
    """

    def escaped(found: re.Match[str]) -> str:
        return found[0] if found[0] in keep else found[0].encode("unicode_escape").decode()

    return _UNSAFE.sub(escaped, text)
