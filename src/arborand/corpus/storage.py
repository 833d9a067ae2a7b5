"""Where output goes: files that appear only when complete, on this machine and in object stores.

On this machine, a file is written under a temporary name, then renamed.  The temporary name cannot
be predicted: in a folder that others can write to, a predictable name may be a link to one of your
files.  If the name of the output is a link, the link is replaced, not followed.  An object store
shows an object when its upload ends.  Other remote file systems rename, too.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
import socket
import stat
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from arborand.errors import FormatError, OutputError
from arborand.formats.inputs import CHUNK, required
from arborand.formats.outputs import has_known_ending

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

# A temporary name: the machine, the process, and a number that nobody can guess.
_TEMPORARY = re.compile(r"\.arborand-([0-9a-f]{8})-([0-9]+)-[0-9a-f]{16}")
# The temporary files that this process is writing.
_own: set[Path] = set()
# The errors, which name no file, when nothing more can be written to one.
_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
# A temporary file must be new, so that nothing is written through a link that somebody planted.
# Flags that some systems lack are added below; without O_BINARY, Windows would change line ends.
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL
# The file systems that show an object only when all of it has been uploaded.
_OBJECT_STORES = ("s3", "gcs", "abfs")


# ---- atomic writes on this machine


@contextmanager
def atomic_write(path: Path, *, replace: bool = True) -> Iterator[IO[bytes]]:
    """Open a file that gets its name when the block succeeds, and vanishes otherwise.

    With `replace`, it replaces an older file; without, ``FileExistsError`` is raised if there is
    one by then.
    """
    check_target(path)
    new = path.with_name(f".arborand-{_machine()}-{os.getpid()}-{secrets.token_hex(8)}")
    flags = _NEW
    for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, name, 0)
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
                with suppress(OSError):  # buffered bytes that do not fit on a full disk
                    file.close()
                new.unlink(missing_ok=True)
                raise
    finally:
        _own.discard(new)
    _sync_folder(path.parent)


def _linked(new: Path, path: Path) -> bool:
    """Give a file a second, unused name; return False if the file system has no hard links."""
    try:
        os.link(new, path)
    except FileExistsError:
        raise
    except (AttributeError, OSError):  # not on this platform, or not on this file system
        if os.path.lexists(path):
            raise FileExistsError(path) from None
        return False
    return True


def _sync_folder(path: Path) -> None:
    """Wait until the list of files in a folder is on the disk, if folders can be opened."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:  # always on Windows
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):  # no fsync of folders
            raise
    finally:
        os.close(descriptor)


@contextmanager
def naming(path: str | Path, temporary: Path | None = None) -> Iterator[None]:
    """Make errors about a full disk, or a temporary file, name the intended output."""
    try:
        yield
    except OSError as error:
        is_ours = temporary is not None and str(error.filename) == str(temporary)
        if is_ours or (error.filename is None and error.errno in _FULL):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def is_temporary(name: str) -> bool:
    """Tell whether a name is that of a temporary file, in any folder."""
    return _TEMPORARY.fullmatch(name.rpartition("/")[2]) is not None


def is_being_written(name: str) -> bool:
    """Tell whether a file is temporary, and its process may still be running."""
    found = _TEMPORARY.fullmatch(name.rpartition("/")[2])
    if found is None or found[1] != _machine():
        return found is not None
    if int(found[2]) == os.getpid():  # or an earlier process with the same number
        return any(path.name == found[0] for path in list(_own))
    return _is_alive(int(found[2]))


def remove_own_temporaries() -> None:
    """Remove the temporary files of this process, which is about to end."""
    for path in list(_own):
        path.unlink(missing_ok=True)


def remove_orphans(folder: Path) -> None:
    """Remove the temporary files of processes of this machine that were killed."""
    with suppress(OSError):
        for name in os.listdir(folder):
            if is_temporary(name) and not is_being_written(name):
                (folder / name).unlink(missing_ok=True)


def _machine() -> str:
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _is_alive(process: int) -> bool:
    """Tell whether a process of this machine may be alive."""
    if os.name == "nt" or not hasattr(os, "kill"):  # on Windows this call would end the process
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it belongs to another user
        return True
    # A process that has ended keeps its number until its parent reads its status: some never do.
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return True


# ---- folders, local and remote


class Stamp(NamedTuple):
    """The size of a file, and when it was written, as reported by its file system.

    `modified` is empty if the file system does not report it.
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
    """Make a place comparable with others: resolve links, and remove everything after ``?``."""
    return PurePosixPath(where.partition("?")[0]) if is_remote(where) else Path(where).resolve()


def open_folder(where: str) -> Folder | RemoteFolder:
    """Open a folder, which need not exist."""
    return RemoteFolder(where) if is_remote(where) else Folder(where)


class Folder:
    """A folder on this machine; names in it are relative, with ``/`` between folders."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.path = Path(where)

    def is_folder(self) -> bool:
        """Tell whether it exists, as a folder."""
        return self.path.is_dir()

    def sizes(self) -> dict[str, int]:
        """List all files, including those in subfolders, with their sizes in bytes."""
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
        """List all files, including those in subfolders and behind links.

        A folder that cannot be listed is an error: its sentences would be missing, and all
        sentences after them would get wrong numbers.
        """

        def refuse(error: OSError) -> None:
            raise error

        found = []
        above: dict[str, set[str]] = {}  # each folder, and those above it
        for folder, folders, names in os.walk(self.path, onerror=refuse, followlinks=True):
            above[folder] = {os.path.realpath(folder), *above.get(os.path.dirname(folder), ())}
            # A link to one of the folders above would be followed forever.
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
        """Provide the path of a file on this machine."""
        yield self.path / name

    @contextmanager
    def create(self, name: str) -> Iterator[IO[bytes]]:
        """Write a file that appears when the block ends well, in the place of an older one."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            yield file

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        (self.path / name).unlink(missing_ok=True)

    def remove_orphans(self) -> None:
        """Remove the temporary files of killed processes of this machine."""
        for folder, _, _ in os.walk(self.path):
            remove_orphans(Path(folder))

    @property
    def spool(self) -> Path | None:
        """A folder for temporary files."""
        return self.path if self.is_folder() else None


class RemoteFolder:
    """A folder that pyarrow or fsspec opens."""

    spool: Path | None = None

    def __init__(self, where: str) -> None:
        fs = required("pyarrow.fs", f"{where.partition(':')[0]}://")
        self.where = where.rstrip("/")
        try:
            self._fs, root = fs.FileSystem.from_uri(self.where)
        except Exception as error:  # its types for an unknown scheme vary
            self._fs, root = _by_fsspec(fs, self.where, error)
        self._root = root.rstrip("/")

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    def is_folder(self) -> bool:
        """Tell whether it exists, as a folder."""
        return bool(self._fs.get_file_info(self._root).type.name == "Directory")

    def sizes(self) -> dict[str, int]:
        """List all files, including those in subfolders, with their sizes in bytes."""
        fs = required("pyarrow.fs", "listing files")
        selector = fs.FileSelector(self._root, allow_not_found=True, recursive=True)
        return {
            str(PurePosixPath(info.path).relative_to(self._root)): info.size
            for info in self._fs.get_file_info(selector)
            if info.is_file
        }

    def inputs(self) -> list[str]:
        """List all files, including those in subfolders."""
        return list(self.sizes())

    def stamp(self, name: str) -> Stamp:
        """Look up the size of a file, and when it was written."""
        info = self._fs.get_file_info(self._path(name))
        if not info.is_file:
            raise FileNotFoundError(2, "No such file", self._path(name))
        modified = info.mtime_ns
        if modified is None and self._fs.type_name.startswith("py::fsspec"):
            # Each fsspec backend names times differently; this key covers all it knows of a file.
            modified = self._fs.handler.fs.ukey(self._path(name))
        return Stamp(int(info.size), "" if modified is None else str(modified))

    def open(self, name: str) -> Any:
        """Open a file to read it."""
        return self._fs.open_input_file(self._path(name))

    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        """Copy a file to this machine for as long as it is needed."""
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
            # An exception would close the stream, and half an object would appear.  So upload in
            # another thread, in which no signal raises one.
            with ThreadPoolExecutor(1) as uploader:
                uploader.submit(self._upload, file, name).result()

    def _upload(self, file: IO[bytes], name: str) -> None:
        target = self._path(name)
        is_atomic = self._fs.type_name in _OBJECT_STORES
        parent = target.rpartition("/")[0]
        new = target if is_atomic else f"{parent}/.arborand-{secrets.token_hex(8)}"
        if not is_atomic:
            self._fs.create_dir(parent, recursive=True)
        with self._fs.open_output_stream(new) as stream:
            shutil.copyfileobj(file, stream, CHUNK)
        if not is_atomic:
            self._fs.move(new, target)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with suppress(FileNotFoundError):
            self._fs.delete_file(self._path(name))

    def remove_orphans(self) -> None:
        """Do nothing: it is not known which processes of other machines are alive."""


def _by_fsspec(fs: Any, where: str, reason: Exception) -> tuple[Any, str]:
    try:
        import fsspec

        found, path = fsspec.core.url_to_fs(where)
    except (ImportError, ValueError) as error:
        raise FormatError(f"{where} cannot be opened: {reason} (and fsspec: {error})") from error
    return fs.PyFileSystem(fs.FSSpecHandler(found)), str(path)


def put(
    folder: Folder | RemoteFolder,
    name: str,
    content: bytes,
    check: Callable[[], object] = lambda: None,
) -> None:
    """Write a small file, unless `check`, called once its temporary file exists, raises."""
    with folder.create(name) as file:
        check()
        file.write(content)


def put_first(folder: Folder | RemoteFolder, name: str, content: bytes) -> None:
    """Write a small file unless it exists; if several processes of this machine try, one wins."""
    if isinstance(folder, RemoteFolder):
        if name not in folder.sizes():
            put(folder, name, content)
        return
    target = folder.path / name
    target.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError), atomic_write(target, replace=False) as file:
        file.write(content)


def check_writable(folder: Folder | RemoteFolder) -> None:
    """Raise an error if the folder cannot be created."""
    if isinstance(folder, Folder):
        if not folder.path.parent.is_dir():
            raise OutputError(
                f"{folder.where} cannot be written: the folder {folder.path.parent} does not exist"
            )
        if folder.path.exists() and not folder.path.is_dir():
            raise OutputError(f"{folder.where} is a file, not a folder")


def is_input(path: Path) -> bool:
    """Tell whether something is a file, or a broken link, which will cause an error later.

    A pipe is not a file: reading it would wait forever.
    """
    return path.is_file() or (path.is_symlink() and not path.exists())


def is_hidden(name: str) -> bool:
    """Tell whether a file, or a folder above it, is not data: ``_SUCCESS``, ``.part``."""
    return any(part.startswith(("_", ".")) for part in name.split("/"))


# ---- outputs


def is_stream(path: str) -> bool:
    """Tell whether a path is standard output, a pipe or a device, not a regular file."""
    if path == "-":
        return True
    try:
        return not stat.S_ISREG(os.stat(path).st_mode) and not os.path.isdir(path)
    except (OSError, ValueError):
        return False


def is_folder(output: str) -> bool:
    """Tell whether an output is a folder of parts: it ends with ``/``, or is a folder already."""
    if output.partition("?")[0].endswith("/"):
        return True
    return not is_remote(output) and os.path.isdir(output) and not has_known_ending(output)


def check_output(output: str, inputs: Sequence[str]) -> None:
    """Raise an error if an output has no name, or would be read when the job is resumed."""
    if not output:
        raise OutputError("the name of the output is empty: name a file, or a folder such as out/")
    target = place(output)
    for where in inputs:
        if where == "-" or is_remote(where) != is_remote(output):
            continue
        source = place(where)
        is_read = is_remote(where) or os.path.isdir(where)
        if is_read and (target == source or source in target.parents):
            raise OutputError(f"{output} is inside the input folder: choose another output")
        if target in source.parents and is_folder(output):
            raise OutputError(f"{where} is inside {output}: choose another folder for the output")


def check_target(path: Path) -> None:
    """Raise an error if a file of this name cannot be created."""
    if not path.parent.is_dir():
        raise OutputError(f"{path} cannot be written: the folder {path.parent} does not exist")
    if path.is_dir():
        raise OutputError(f"{path} is a folder, not a file")


def make_folder(folder: Path) -> None:
    """Create the folder, and check that files can be created in it: before the work, not after."""
    if folder.parts[:1] and folder.parts[0].endswith(":"):  # s3://, after it became a path
        raise OutputError(f"{folder} cannot be written: name a folder on this machine")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except FileExistsError:
        raise OutputError(f"{folder} is a file: -o names a folder") from None
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror}") from error


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
        with atomic_write(Path(where)) as file:
            yield file


def write_output(output: str | os.PathLike[str], parts: Iterable[str | bytes]) -> None:
    """Write text or bytes, part by part."""
    with open_output(os.fspath(output)) as file:
        for part in parts:
            file.write(part.encode() if isinstance(part, str) else part)
