"""Nothing lost: output written aside, continued after an interruption, renamed when complete.

While a run is under way, ``OUT.partial`` grows and ``OUT.partial.journal`` says how far it is known
to be good: so many sentences, so many bytes, with this checksum, from this command.  The journal is
replaced as a whole, after the bytes it speaks of were handed to the operating system; whatever a
killed run wrote after that is cut off again when the next one continues.  Nothing appears under the
final name before it is complete and on the disk.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from arborand.formats.creating import (
    OutputError,
    aside,
    check_target,
    create,
    create_anew,
    open_to_continue,
    sync,
)
from arborand.formats.inputs import parse_json
from arborand.formats.provenance import differences

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# How often the journal is brought up to date: the work that a killed run may lose.
CHECKPOINT_SECONDS = 0.2
# ... but at most this share of the time, however long the list of skipped sentences has become.
CHECKPOINT_SHARE = 0.05
_CHUNK = 1 << 20


class Position(NamedTuple):
    """How far a run has come: whole sentences, and draws of the next one."""

    sentences: int
    draws: int = 0


START = Position(0)


class Journal:
    """An output under way.

    Parameters
    ----------
    path : Path
        The final name.
    identity : dict
        What must be the same for a run to be continued.
    resume, restart : bool
        What to do with the partial output of an earlier run: continue it or discard it.  With
        neither, it is left alone and an error is raised.

    Attributes
    ----------
    position : Position
        Where to go on.
    skipped : list of [sent_id, reason]
        The sentences that were left out before `position`.
    """

    def __init__(
        self, path: Path, identity: dict[str, Any], *, resume: bool = False, restart: bool = False
    ) -> None:
        self.path = path
        self.partial = partial_path(path)
        self._journal = journal_path(path)
        self._identity = identity
        self.position = START
        self.skipped: list[list[str]] = []
        # Of all that was appended, and of what `position` speaks of.
        self._size = self._checksum = 0
        self._good = (0, 0)
        self._next = 0.0
        check_target(path)
        is_new = not os.path.lexists(self.partial)
        if not is_new and not (resume or restart):
            raise OutputError(
                f"{self.partial} is the unfinished output of an earlier run, or of one that is "
                "still running: continue it with --resume, or discard it with --restart"
            )
        if is_new:
            create(self.partial).close()
        # Not truncated on opening: another run may hold the lock.
        self._file: IO[bytes] = open_to_continue(self.partial)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise OutputError(f"{self.partial} is being written by another run") from error
        try:
            if resume and not is_new:
                self._continue()
            else:  # a journal alone is what a run leaves that was killed right after its end
                self._journal.unlink(missing_ok=True)
            self._file.truncate(self._size)
        except BaseException:
            self._file.close()
            raise

    def _continue(self) -> None:
        try:
            state = parse_json(self._journal.read_bytes())
        except FileNotFoundError:  # killed before anything was finished
            return
        except ValueError as error:
            raise self._damaged(error) from error
        try:
            size, checksum = int(state["size"]), int(state["checksum"])
            position = Position(*map(int, state["position"]))
            skipped = [[str(sent_id), str(reason)] for sent_id, reason in state["skipped"]]
            found = differences(state["identity"], self._identity)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise self._damaged(repr(error)) from error
        if found:
            raise OutputError(
                f"{self.partial} cannot be continued, because it was begun differently: "
                f"{'; '.join(found)}.  Give the same command, or start again with --restart"
            )
        self._check(size, checksum)
        self._size, self._checksum = self._good = size, checksum
        self.position = position
        self.skipped = skipped

    def _damaged(self, reason: object) -> OutputError:
        return OutputError(f"{self._journal} is damaged ({reason}): start again with --restart")

    def _check(self, size: int, checksum: int) -> None:
        """Make sure that what the journal promises is there: a power cut can lose the end of it."""
        self._file.seek(0)
        left, found = size, 0
        while left > 0:
            chunk = self._file.read(min(left, _CHUNK))
            if not chunk:
                break
            found = zlib.crc32(chunk, found)
            left -= len(chunk)
        if left or found != checksum:
            raise OutputError(
                f"{self.partial} is not what its journal says, as after a power cut: start again "
                "with --restart"
            )

    @property
    def size(self) -> int:
        """How many bytes were written."""
        return self._size

    def write(self, data: bytes | memoryview) -> int:
        """Write at the end."""
        self._file.write(data)
        self._checksum = zlib.crc32(data, self._checksum)
        self._size += len(data)
        return len(data)

    def flush(self) -> None:
        """Hand everything to the operating system."""
        self._file.flush()

    def checkpoint(self, position: Position, skipped: Sequence[list[str]]) -> None:
        """Note that everything up to `position` was written, at most a few times a second.

        Parameters
        ----------
        position : Position
        skipped : sequence of [sent_id, reason]
            The sentences that were left out since the last call.
        """
        self.position = position
        self.skipped += skipped
        self._good = self._size, self._checksum
        start = time.monotonic()
        if start >= self._next:
            self.record()
            end = time.monotonic()
            self._next = end + max(CHECKPOINT_SECONDS, (end - start) / CHECKPOINT_SHARE)

    def record(self) -> None:
        """Bring the journal up to date."""
        self._file.flush()
        size, checksum = self._good
        state = {
            "identity": self._identity,
            "position": self.position,
            "size": size,
            "checksum": checksum,
            "skipped": self.skipped,
        }
        new = self._journal.with_name(self._journal.name + ".new")
        with create_anew(new) as file:
            file.write(json.dumps(state).encode())
        os.replace(new, self._journal)

    def publish(self, built: Path | None = None) -> None:
        """Give the output its final name: the partial file itself, or what was built from it."""
        self._file.flush()
        sync(built or self.partial)
        os.replace(built or self.partial, self.path)
        sync(self.path.parent)
        self._file.close()
        self._journal.unlink(missing_ok=True)
        if built is not None:
            self.partial.unlink(missing_ok=True)

    def abandon(self) -> bool:
        """Stop here.  What was written stays, for the next run to continue, unless it is nothing.

        Returns
        -------
        bool
            Whether there is something to continue.
        """
        keep = self.position != START
        try:
            if keep:
                self.record()
        except OSError:  # a full disk: the journal of the last checkpoint still holds
            keep = self._journal.exists()
        finally:
            with suppress(OSError):  # the bytes that did not fit were never promised
                self._file.close()
        if not keep:
            self.partial.unlink(missing_ok=True)
            self._journal.unlink(missing_ok=True)
        return keep


def write_aside(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a small output in one go: aside, then under its name."""
    check_target(path)
    new = aside(path)
    file = create(new)
    try:
        with file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
        sync(path.parent)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def recorded_seed(path: Path) -> int | None:
    """Look up the seed of an unfinished run, so that it can be continued without naming it."""
    try:
        state = parse_json(journal_path(path).read_bytes())
        return int(state["identity"]["provenance"]["seed"])
    except (OSError, OverflowError, ValueError, KeyError, TypeError):
        return None


def partial_path(path: Path) -> Path:
    """Name the file of an unfinished output."""
    return path.with_name(path.name + ".partial")


def journal_path(path: Path) -> Path:
    """Name the journal of an unfinished output."""
    return path.with_name(path.name + ".partial.journal")
