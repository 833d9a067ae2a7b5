"""The format of an output, and files that appear when they are complete.

Such a file is written aside, then given its name.

The name aside cannot be foreseen: in a folder that others can write to, a name that can be foreseen
may be a link to a file of yours.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import socket
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from arborand.errors import OutputError
from arborand.formats.outputs import FORMATS, formats_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arborand.formats.records import Layout

# The machine, the process, and what nobody can guess.
_ASIDE = re.compile(r"\.arborand-([0-9a-f]{8})-([0-9]+)-[0-9a-f]{16}")
# What this process is writing aside.
_own: set[Path] = set()
# What a system says, without a name, when a file cannot take more.
_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


def output_format(path: str | None, chosen: str | None, layout: Layout) -> str:
    """Choose the format: as asked for, or by the name's ending.

    Raises
    ------
    OutputError
        If there is no such format, or none for this kind of rows.
    """
    allowed = formats_of(layout)
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


def check_named(output: str) -> None:
    """Raise an error if an output has no name."""
    if not output:
        raise OutputError("the name of the output is empty: name a file, or a folder such as out/")


def check_target(path: Path) -> None:
    """Raise an error if no file can have this name."""
    if not path.parent.is_dir():
        raise OutputError(f"{path} cannot be written: the folder {path.parent} does not exist")
    if path.is_dir():
        raise OutputError(f"{path} is a folder, not a file")


@contextmanager
def naming(path: str | Path, aside: Path | None = None) -> Iterator[None]:
    """Let errors of a full disk, and of the file aside, name what was to be written."""
    try:
        yield
    except OSError as error:
        is_aside = aside is not None and str(error.filename) == str(aside)
        if is_aside or (error.filename is None and error.errno in _FULL):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


@contextmanager
def written_aside(path: Path, *, replace: bool = True) -> Iterator[IO[bytes]]:
    """Open a file that gets its name when the block ends well, and vanishes otherwise.

    With `replace`, in the place of an older one; without, ``FileExistsError`` is raised if there is
    one by then.
    """
    check_target(path)
    new = path.with_name(f".arborand-{_machine()}-{os.getpid()}-{secrets.token_hex(8)}")
    # Made, never found: nothing is written through a link that somebody left there.
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    _own.add(new)
    try:
        with naming(path, new):
            file = os.fdopen(os.open(new, flags, 0o666), "w+b")
            try:
                yield file
                file.flush()
                os.fsync(file.fileno())
                file.close()
                if replace or not _linked(new, path):
                    os.replace(new, path)
                else:
                    new.unlink()
            except BaseException:
                with suppress(OSError):  # the bytes that did not fit on a full disk
                    file.close()
                new.unlink(missing_ok=True)
                raise
    finally:
        _own.discard(new)
    _sync_folder(path.parent)


def _linked(new: Path, path: Path) -> bool:
    """Give a file a second name that nothing has; False where files have one name only."""
    try:
        os.link(new, path)
    except FileExistsError:
        raise
    except OSError:
        if os.path.lexists(path):
            raise FileExistsError(path) from None
        return False
    return True


def is_stream(path: str) -> bool:
    """Tell whether a path is no regular file: standard output, a pipe, a device."""
    if path == "-":
        return True
    try:
        return not stat.S_ISREG(os.stat(path).st_mode) and not os.path.isdir(path)
    except (OSError, ValueError):
        return False


def is_aside(name: str) -> bool:
    """Tell whether a file is one that is written aside."""
    return _ASIDE.fullmatch(name) is not None


def is_being_written(name: str) -> bool:
    """Tell whether a file is written aside, by a process that is not known to be gone."""
    found = _ASIDE.fullmatch(name.rpartition("/")[2])
    if found is None or found[1] != _machine():
        return found is not None
    if int(found[2]) == os.getpid():  # or of a process before this one, which had its number
        return any(path.name == found[0] for path in list(_own))
    return _is_alive(int(found[2]))


def remove_own() -> None:
    """Remove what this process is writing aside: it is about to end."""
    for path in list(_own):
        path.unlink(missing_ok=True)


def remove_orphans(folder: Path) -> None:
    """Remove what processes of this machine wrote aside that are gone: they were killed."""
    with suppress(OSError):
        for name in os.listdir(folder):
            if is_aside(name) and not is_being_written(name):
                (folder / name).unlink(missing_ok=True)


def _machine() -> str:
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # somebody else's
        return True
    # One that has ended keeps its number until its parent asks how: some never do.
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return True


def _sync_folder(path: Path) -> None:
    """Wait until the list of files in a folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
