"""Folders on this machine, in object stores and on file systems elsewhere, all used in one way.

Files are read and listed; new ones appear when they are complete.  On this machine that is a
rename.  An object store shows an object when its upload ends.  Other file systems rename, too.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from arborand.corpus.creating import is_aside, is_stream, naming, remove_orphans, written_aside
from arborand.errors import FormatError, OutputError
from arborand.formats.inputs import CHUNK, required

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# What shows an object only when all of it was uploaded.
_OBJECT_STORES = ("s3", "gcs", "abfs")


class Stamp(NamedTuple):
    """What a file system says of a file: its bytes, and when they were written, in its own way.

    `modified` is empty where it does not say.
    """

    size: int
    modified: str


def is_remote(where: str) -> bool:
    """Tell whether a place is the URL of a file system, such as ``s3://bucket/folder``."""
    return "://" in where


def split(where: str) -> tuple[str, str]:
    """Split a place into its folder and the name in it."""
    if is_remote(where):
        place, question, query = where.partition("?")
        folder, _, name = place.rpartition("/")
        return f"{folder}{question}{query}", name
    path = Path(where)
    return str(path.parent), path.name


def place(where: str) -> PurePath:
    """Make a place comparable with others: without links, or without what comes after ``?``."""
    return PurePosixPath(where.partition("?")[0]) if is_remote(where) else Path(where).resolve()


def open_folder(where: str) -> Folder | RemoteFolder:
    """Open a folder, which need not exist."""
    return RemoteFolder(where) if is_remote(where) else Folder(where)


class Folder:
    """A folder on this machine; names in it are relative, with ``/`` between folders."""

    is_local = True

    def __init__(self, where: str) -> None:
        self.where = where
        self.path = Path(where)

    def is_folder(self, name: str = "") -> bool:
        """Tell whether something is a folder."""
        return (self.path / name).is_dir()

    def sizes(self) -> dict[str, int]:
        """List all files, also in folders below, with their sizes in bytes."""
        found = {}
        for folder, _, names in os.walk(self.path):
            for name in names:
                path = Path(folder) / name
                with suppress(FileNotFoundError):  # renamed by another process meanwhile
                    status = path.stat()
                    if stat.S_ISREG(status.st_mode):
                        found[path.relative_to(self.path).as_posix()] = status.st_size
        return found

    def inputs(self) -> list[str]:
        """List all files, also in folders below, those behind links, too.

        What cannot be listed is an error: its sentences would be missing, and the numbers of others
        wrong.
        """

        def refuse(error: OSError) -> None:
            raise error

        found = []
        above: dict[str, set[str]] = {}  # each folder, and those that lead to it
        for folder, folders, names in os.walk(self.path, onerror=refuse, followlinks=True):
            above[folder] = {os.path.realpath(folder), *above.get(os.path.dirname(folder), ())}
            # A link to one of those would lead round in circles.
            folders[:] = [
                name
                for name in folders
                if os.path.realpath(os.path.join(folder, name)) not in above[folder]
            ]
            paths = [Path(folder) / name for name in names]
            found += [p.relative_to(self.path).as_posix() for p in paths if is_input(p)]
        return found

    def stamp(self, name: str) -> Stamp:
        """Look up the size of a file, and when it was written."""
        status = (self.path / name).stat()
        return Stamp(status.st_size, str(status.st_mtime_ns))

    def open(self, name: str) -> IO[bytes]:
        """Open a file to read it."""
        return (self.path / name).open("rb")

    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        """Give the path of a file on this machine."""
        yield self.path / name

    @contextmanager
    def create(self, name: str) -> Iterator[IO[bytes]]:
        """Write a file that appears when the block ends well, in the place of an older one."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_aside(path) as file:
            yield file

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        (self.path / name).unlink(missing_ok=True)

    def remove_orphans(self) -> None:
        """Remove what killed processes of this machine were writing."""
        for folder, _, _ in os.walk(self.path):
            remove_orphans(Path(folder))

    @property
    def spool(self) -> Path | None:
        """A folder for temporary files."""
        return self.path if self.path.is_dir() else None


class RemoteFolder:
    """A folder that pyarrow or fsspec opens."""

    is_local = False
    spool: Path | None = None

    def __init__(self, where: str) -> None:
        fs = required("pyarrow.fs", f"{where.partition(':')[0]}://")
        self.where = where.rstrip("/")
        try:
            self._fs, root = fs.FileSystem.from_uri(self.where)
        except Exception as error:  # whatever it raises for a scheme that it does not know
            self._fs, root = _by_fsspec(fs, self.where, error)
        self._root = root.rstrip("/")

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    def _info(self, name: str) -> Any:
        return self._fs.get_file_info(self._path(name))

    def is_folder(self, name: str = "") -> bool:
        """Tell whether something is a folder."""
        return bool(self._info(name).type.name == "Directory")

    def sizes(self) -> dict[str, int]:
        """List all files, also in folders below, with their sizes in bytes."""
        fs = required("pyarrow.fs", "listing files")
        selector = fs.FileSelector(self._root, allow_not_found=True, recursive=True)
        return {
            str(PurePosixPath(info.path).relative_to(self._root)): info.size
            for info in self._fs.get_file_info(selector)
            if info.is_file
        }

    def inputs(self) -> list[str]:
        """List all files, also in folders below."""
        return list(self.sizes())

    def stamp(self, name: str) -> Stamp:
        """Look up the size of a file, and when it was written."""
        info = self._info(name)
        if not info.is_file:
            raise FileNotFoundError(2, "No such file", self._path(name))
        modified = info.mtime_ns
        if modified is None and self._fs.type_name.startswith("py::fsspec"):
            # Times have many names there; this one stands for all that is known of a file.
            modified = self._fs.handler.fs.ukey(self._path(name))
        return Stamp(int(info.size), "" if modified is None else str(modified))

    def open(self, name: str) -> Any:
        """Open a file to read it."""
        return self._fs.open_input_file(self._path(name))

    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        """Copy a file to this machine while it is needed."""
        with tempfile.TemporaryDirectory(prefix="arborand-") as folder:
            path = Path(folder) / "copy"
            with naming(folder), self.open(name) as source, path.open("wb") as target:
                shutil.copyfileobj(source, target, CHUNK)
            yield path

    @contextmanager
    def create(self, name: str) -> Iterator[IO[bytes]]:
        """Write a file that appears when the block ends well, in the place of an older one."""
        with tempfile.TemporaryFile() as file:
            with naming(tempfile.gettempdir()):
                yield file
                file.seek(0)
            # A stream that is left by an exception would be closed, and half an object shown.  In a
            # thread of its own no signal ends the upload.
            with ThreadPoolExecutor(1) as uploader:
                uploader.submit(self._upload, file, name).result()

    def _upload(self, file: IO[bytes], name: str) -> None:
        target = self._path(name)
        is_atomic = self._fs.type_name in _OBJECT_STORES
        parent = target.rpartition("/")[0]
        aside = target if is_atomic else f"{parent}/.arborand-{secrets.token_hex(8)}"
        if not is_atomic:
            self._fs.create_dir(parent, recursive=True)
        with self._fs.open_output_stream(aside) as stream:
            shutil.copyfileobj(file, stream, CHUNK)
        if not is_atomic:
            self._fs.move(aside, target)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with suppress(FileNotFoundError):
            self._fs.delete_file(self._path(name))

    def remove_orphans(self) -> None:
        """Nothing is known of other machines' processes."""


def _by_fsspec(fs: Any, where: str, reason: Exception) -> tuple[Any, str]:
    try:
        import fsspec

        found, path = fsspec.core.url_to_fs(where)
    except (ImportError, ValueError) as error:
        raise FormatError(f"{where} cannot be opened: {reason} (and fsspec: {error})") from error
    return fs.PyFileSystem(fs.FSSpecHandler(found)), str(path)


@contextmanager
def open_output(where: str) -> Iterator[IO[bytes]]:
    """Open standard output (``-``), a pipe, or a file that appears when it is complete."""
    if where == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif is_stream(where):
        with open(where, "wb") as stream:
            yield stream
    elif is_remote(where):
        folder, name = split(where)
        with open_folder(folder).create(name) as file:
            yield file
    else:
        remove_orphans(Path(where).parent)
        with written_aside(Path(where)) as file:
            yield file


def write_output(output: str | os.PathLike[str], parts: Iterable[str | bytes]) -> None:
    """Write text or bytes, part by part."""
    with open_output(os.fspath(output)) as file:
        for part in parts:
            file.write(part.encode() if isinstance(part, str) else part)


def put(
    folder: Folder | RemoteFolder,
    name: str,
    content: bytes,
    check: Callable[[], object] = lambda: None,
) -> None:
    """Write a small file at once, unless `check` raises an error when it exists aside."""
    with folder.create(name) as file:
        check()
        file.write(content)


def put_first(folder: Folder | RemoteFolder, name: str, content: bytes) -> None:
    """Write a small file unless it is there; of several writers on this machine one wins."""
    if isinstance(folder, RemoteFolder):
        if name not in folder.sizes():
            put(folder, name, content)
        return
    target = folder.path / name
    target.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError), written_aside(target, replace=False) as file:
        file.write(content)


def check_writable(folder: Folder | RemoteFolder) -> None:
    """Raise an error if the folder cannot be made."""
    if isinstance(folder, Folder):
        if not folder.path.parent.is_dir():
            raise OutputError(
                f"{folder.where} cannot be written: the folder {folder.path.parent} does not exist"
            )
        if folder.path.exists() and not folder.path.is_dir():
            raise OutputError(f"{folder.where} is a file, not a folder")


def is_input(path: Path) -> bool:
    """Tell whether something is a file, or was one: a link that leads nowhere is not passed over.

    A pipe is none: it would be waited for.
    """
    return path.is_file() or (path.is_symlink() and not path.exists())


def is_hidden(name: str) -> bool:
    """Tell whether a file, or a folder that it is in, is not data: ``_SUCCESS``, ``.part``."""
    return any(part.startswith(("_", ".")) or is_aside(part) for part in name.split("/"))
