"""The task: make one part of an output.  Doing it again gives the same bytes.

A part appears when it is complete.  Then its marker appears, which says what is in it.  A part
without a marker is made again.  A sentence that cannot be used is an answer, not a fault: no engine
tries such a part again.

Who discards a job (``--restart``) first says so in the manifest, then removes all files aside.  A
task looks at the manifest when its file aside exists.  So either it sees that its job is no more,
or its file is removed and cannot get its name: nothing of a job appears after it was discarded.  In
an object store, where nothing is written aside, it looks once more before the upload.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import IO, TYPE_CHECKING, Any

from arborand.corpus.folders import open_folder, put
from arborand.corpus.passing import Passage
from arborand.corpus.plan import MANIFEST, STATE, open_shard
from arborand.corpus.writing import write_rows
from arborand.errors import ArborandError, OutputError, SentenceError
from arborand.formats.inputs import parse_json
from arborand.formats.outputs import open_writer

if TYPE_CHECKING:
    from collections.abc import Callable

    from arborand.corpus.folders import Folder, RemoteFolder
    from arborand.corpus.plan import Part, Shard
    from arborand.corpus.work import Work
    from arborand.formats.records import Layout, Writer

# How often a part is tried again whose files could not be read or written.
TRIES = 3
# A manifest begins with the digest of its job: within so many bytes, however long it is.
_BEGINNING = 64


@dataclass(frozen=True)
class Job:
    """All that a task needs to know beside its part."""

    work: Work
    format: str
    output: str
    conllu: Shard | None
    skip: bool
    digest: str


@dataclass(frozen=True)
class Done:
    """A part that is complete: what its marker says."""

    part: str
    marker: dict[str, Any]

    @property
    def num_sentences(self) -> int:
        """How many sentences have passed."""
        return int(self.marker["sentences"])


@dataclass(frozen=True)
class Failed:
    """A part that cannot be made, and why."""

    part: str
    reason: str
    hint: str = ""
    num_sentences: int = 0


def marker_name(part: str) -> str:
    """Name the marker of a part."""
    return f"{STATE}/{part}.done"


def failure_name(part: str) -> str:
    """Name the file that says why a part cannot be made."""
    return f"{STATE}/{part}.failed"


def read_marker(
    folder: Folder | RemoteFolder, part: str, job: str, size: int | None = None
) -> dict[str, Any] | None:
    """Read the marker of a part; it counts if it is this job's, and the part of its size."""
    try:
        with folder.open(marker_name(part)) as file:
            marker: dict[str, Any] = parse_json(file.read())
        there = folder.stamp(part).size if size is None else size
        is_whole = marker["bytes"] == there and marker["input"]["sha256"] != ""
        return marker if marker["job"] == job and is_whole else None
    except (OSError, ValueError, KeyError, TypeError):  # then the part is made again
        return None


def run_part(
    job: Job, part: Part, advance: Callable[[int], object] = lambda count: None
) -> Done | Failed:
    """Make one part; `advance` is told how many of its sentences have passed."""
    for left in reversed(range(TRIES)):
        try:
            return _made(job, part, advance)
        except (ArborandError, OSError, MemoryError) as error:
            if left and isinstance(error, OSError):
                continue
            return record_failure(job, part, described(error), _hint(error, job.skip))
    raise AssertionError


def record_failure(job: Job, part: Part, reason: str, hint: str = "") -> Failed:
    """Say in the folder why a part cannot be made."""
    content = json.dumps({"job": job.digest, "reason": reason})
    with suppress(OSError, OutputError):  # of the two errors, the first is the one to tell
        folder = open_folder(job.output)
        check = partial(check_owner, folder, job.digest)
        put(folder, failure_name(part.name), content.encode(), check)
    return Failed(part.name, reason, hint)


def check_owner(folder: Folder | RemoteFolder, digest: str) -> None:
    """Raise an error if the folder is no longer that of the job with this digest."""
    with suppress(FileNotFoundError), folder.open(MANIFEST) as file:
        if f'"digest": "{digest}"'.encode() in file.read(_BEGINNING):
            return
    raise OutputError(
        f"{folder.where} belongs to another job now: this one was discarded with --restart"
    )


def _made(job: Job, part: Part, advance: Callable[[int], object]) -> Done:
    folder = open_folder(job.output)
    check = partial(check_owner, folder, job.digest)
    found = read_marker(folder, part.name, job.digest)
    if found is not None:
        return Done(part.name, found)  # by another run of the same job, meanwhile
    passage = Passage()
    # Of trees it is not known how many sentences come before.
    place = {"first_sentence": part.first + 1} if part.num_sentences else {}
    # In this order: the part appears after it was made sure that its shard has not changed.
    with folder.create(part.name) as target, open_shard(part.shard, digest=True) as file:
        check()
        hashed = _Hashed(target)

        def begin(layout: Layout, record: dict[str, Any]) -> Writer:
            record.update(place)
            return open_writer(hashed, job.format, layout, record, spool=folder.spool)

        try:
            write_rows(
                job.work,
                [part],
                file,
                job.conllu,
                begin,
                passage,
                skip=job.skip,
                overlap=job.work.threads > 1,  # other processors make other parts
                advance=advance,
            )
        except SentenceError as error:
            raise _InShardError(part.shard.shown, error) from error
        sha256 = file.sha256
        check()
    marker = {
        "job": job.digest,
        "part": part.name,
        **place,
        "sentences": passage.num_sentences,
        "rows": passage.num_rows,
        "input": {
            "name": part.shard.name,
            "sha256": sha256,
            # As planned: what is written later has another time, and is compared by its digest.
            "modified": part.shard.stamp.modified,
        },
        "bytes": hashed.size,
        "sha256": hashed.digest.hexdigest(),
        "skipped": [list(skipped) for skipped in passage.skipped],
    }
    put(folder, marker_name(part.name), json.dumps(marker, indent=1).encode(), check)
    folder.remove(failure_name(part.name))
    return Done(part.name, marker)


class _InShardError(ArborandError):
    """An error in a sentence, with the name of its shard."""

    def __init__(self, shard: str, error: SentenceError) -> None:
        super().__init__(f"{shard}: {error}")


class _Hashed:
    """A file that is written from front to back, and its digest."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()
        self.size = 0
        self.closed = False

    def write(self, data: bytes | memoryview) -> int:
        self._file.write(data)
        self.digest.update(data)
        count = memoryview(data).nbytes
        self.size += count
        return count

    def flush(self) -> None:
        pass


def described(error: BaseException) -> str:
    """Say in a line what went wrong."""
    if isinstance(error, MemoryError):
        return "not enough memory"
    if isinstance(error, OSError):
        where = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    return str(error)


def _hint(error: BaseException, skip: bool) -> str:
    is_sentence = isinstance(error, (SentenceError, _InShardError))
    return "" if skip or not is_sentence else "--on-error skip leaves such sentences out"
