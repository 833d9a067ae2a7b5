"""Files that are made, never found: nothing is written through a link that somebody left there.

In a folder that others can write to, ``OUT.partial`` may be a symbolic link to a file of yours.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from pathlib import Path
from typing import IO

from arborand.errors import ArborandError

_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC


class OutputError(ArborandError):
    """An output that cannot be written, continued or put in its place."""


def check_target(path: Path) -> None:
    """Raise an error if no file can have this name."""
    if not path.parent.is_dir():
        raise OutputError(f"{path} cannot be written: the folder {path.parent} does not exist")
    if path.is_dir():
        raise OutputError(f"{path} is a folder, not a file")


def aside(path: Path) -> Path:
    """Choose a name beside `path` that nobody can foresee."""
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}")


def create(path: Path) -> IO[bytes]:
    """Make a file that is not there yet, and open it.

    Raises
    ------
    OutputError
        If there is something of this name.
    """
    try:
        return os.fdopen(os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o666), "w+b")
    except FileExistsError as error:
        raise OutputError(f"{path} is there already, or is made by another run") from error


def create_anew(path: Path) -> IO[bytes]:
    """Make a file in the place of what a killed run may have left there."""
    path.unlink(missing_ok=True)
    return create(path)


def open_to_continue(path: Path) -> IO[bytes]:
    """Open a file to read it and to write at its end: a plain file with this one name.

    Raises
    ------
    OutputError
        If it is a link or no file, or is not there any more.
    """
    try:
        file = os.fdopen(os.open(path, _FLAGS | os.O_APPEND), "a+b")
    except FileNotFoundError as error:
        raise OutputError(f"{path} was finished or removed by another run: try again") from error
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise OutputError(f"{path} is a link, which is never written through: remove it") from error
    found = os.fstat(file.fileno())
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        file.close()
        raise OutputError(f"{path} is no plain file, or one with another name, too: remove it")
    return file


def sync(path: Path) -> None:
    """Wait until a file, or the list of files in a folder, is on the disk."""
    flags = os.O_RDONLY if path.is_dir() else _FLAGS
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
