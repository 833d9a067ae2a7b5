"""A job: the task that makes one part, and the files that record what is done.

Making a part again gives the same bytes.  A part appears when it is complete; then its marker
appears, ``_arborand/PART.done``, which describes it.  A part without a marker is made again.  A
part that fails because of an unusable sentence would fail again: no engine retries it.

``_arborand/job.json``, the manifest, describes the job, and is written first.  ``_SUCCESS`` says
that all parts are complete.  Files are replaced as a whole, never changed, and nothing is locked:
two runs of the same job write the same bytes.

``--restart`` discards a job: it first says so in the manifest, then removes all temporary files.  A
task reads the manifest once its temporary file exists.  So either it sees that its job was
discarded, or its file is removed before it can be renamed: no output of a discarded job appears
later.  In an object store, which has no temporary files, it reads the manifest again before the
upload.
"""

from __future__ import annotations

import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import IO, TYPE_CHECKING, Any

from arborand.corpus.shards import MANIFEST, STATE, SUCCESS, shard_sha256
from arborand.corpus.storage import (
    check_writable,
    is_being_written,
    is_temporary,
    open_folder,
    put,
    put_first,
)
from arborand.corpus.stream import Skipped, Tally, open_corpus, write_rows
from arborand.errors import ArborandError, OutputError, SentenceError
from arborand.formats.inputs import as_json, parse_json
from arborand.formats.outputs import open_writer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arborand.corpus.computations import Work
    from arborand.corpus.shards import Part, Shard
    from arborand.corpus.storage import Folder, RemoteFolder
    from arborand.formats.records import Layout, Writer

# ---- one part


SKIP_HINT = "--on-error skip leaves such sentences out"
# How often a part is tried if its files cannot be read or written.
TRIES = 3
# A manifest begins with the digest of its job, within this many bytes.
_BEGINNING = 64


@dataclass(frozen=True)
class Job:
    """What a task needs to know besides its part."""

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
        """How many sentences were processed."""
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
    """Read the marker of a part; None unless it is this job's and the part has the right size."""
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
    """Make one part; `advance` is called with the number of its sentences so far."""
    for left in reversed(range(TRIES)):
        try:
            return _made(job, part, advance)
        except (ArborandError, OSError, MemoryError) as error:
            if left and isinstance(error, OSError):
                continue
            return record_failure(job, part, described(error), _hint(error, job.skip))
    raise AssertionError


def record_failure(job: Job, part: Part, reason: str, hint: str = "") -> Failed:
    """Record in the folder why a part cannot be made."""
    content = json.dumps({"job": job.digest, "reason": reason})
    with suppress(OSError, OutputError):  # the first error is the one to report
        folder = open_folder(job.output)
        check = partial(check_owner, folder, job.digest)
        put(folder, failure_name(part.name), content.encode(), check)
    return Failed(part.name, reason, hint)


def check_owner(folder: Folder | RemoteFolder, digest: str) -> None:
    """Raise an error if the folder no longer belongs to the job with this digest."""
    with suppress(FileNotFoundError), folder.open(MANIFEST) as file:
        if f'"digest": "{digest}"'.encode() in file.read(_BEGINNING):
            return
    raise OutputError(
        f"{folder.where} belongs to another job now: this job was discarded with --restart"
    )


def _made(job: Job, part: Part, advance: Callable[[int], object]) -> Done:
    folder = open_folder(job.output)
    check = partial(check_owner, folder, job.digest)
    found = read_marker(folder, part.name, job.digest)
    if found is not None:
        return Done(part.name, found)  # another run of the same job has made it
    tally = Tally()
    # For trees, the number of sentences before this part is not known.
    place = {"first_sentence": part.first + 1} if part.num_sentences else {}
    # The order matters: the part must not appear before its shard is known to be unchanged.
    with folder.create(part.name) as target, open_corpus([part], job.conllu) as corpus:
        check()
        hashed = _Hashed(target)

        def begin(layout: Layout, record: dict[str, Any]) -> Writer:
            record.update(place)
            return open_writer(hashed, job.format, layout, record, spool=folder.spool)

        try:
            write_rows(
                job.work,
                corpus,
                begin,
                tally,
                skip=job.skip,
                overlap=job.work.threads > 1,  # other processors make other parts
                advance=advance,
            )
        except SentenceError as error:
            raise ArborandError(f"{part.shard.shown}: {error}") from error
        sha256 = "" if corpus.file is None else corpus.file.sha256
        check()
    marker = {
        "job": job.digest,
        "part": part.name,
        **place,
        "sentences": tally.num_read,
        "rows": tally.num_rows,
        "input": {
            "name": part.shard.name,
            "sha256": sha256,
            # The time when the job was planned: if the shard is newer, digests are compared.
            "modified": part.shard.stamp.modified,
        },
        "bytes": hashed.size,
        "sha256": hashed.digest.hexdigest(),
        "skipped": [list(skipped) for skipped in tally.skipped],
    }
    put(folder, marker_name(part.name), json.dumps(marker, indent=1).encode(), check)
    folder.remove(failure_name(part.name))
    return Done(part.name, marker)


class _Hashed:
    """A file that is written sequentially, and its digest."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes | memoryview) -> int:
        self._file.write(data)
        self.digest.update(data)
        count = memoryview(data).nbytes
        self.size += count
        return count

    def flush(self) -> None:
        pass


def described(error: BaseException) -> str:
    """Describe an error in one line."""
    if isinstance(error, MemoryError):
        return "not enough memory"
    if isinstance(error, OSError):
        where = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    return str(error)


def _hint(error: BaseException, skip: bool) -> str:
    is_about_sentence = isinstance(error.__cause__, SentenceError)
    return SKIP_HINT if is_about_sentence and not skip else ""


# ---- all parts


# How many markers are read at a time, and how many files are named in a message.
_READERS = 16
_NAMED = 3


@dataclass
class Status:
    """The progress of a job.

    Attributes
    ----------
    output : str
    identity : dict
        What the job is: version, command, options, format and inputs.
    num_parts, num_sentences : int
        The numbers for the whole job.
    done : dict from part to its marker
    failed : dict from part to reason
    is_complete : bool
        Whether all parts exist, and the output says so with ``_SUCCESS``.
    has_writers : bool
        Whether a process is writing to the folder, as far as this machine can tell; after
        ``restart``, whether one was writing to the job that was discarded.
    """

    output: str
    identity: dict[str, Any]
    num_parts: int
    num_sentences: int
    done: dict[str, dict[str, Any]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    is_complete: bool = False
    has_writers: bool = False

    @property
    def num_sentences_done(self) -> int:
        """The number of sentences in all finished parts."""
        return sum(int(marker["sentences"]) for marker in self.done.values())

    @property
    def num_rows(self) -> int:
        """The number of rows in all finished parts."""
        return sum(int(marker["rows"]) for marker in self.done.values())

    @property
    def skipped(self) -> list[Skipped]:
        """The sentences that were left out, in the order of the corpus."""
        found = [Skipped(*one) for marker in self.done.values() for one in marker["skipped"]]
        return sorted(found, key=lambda one: one.number)


def job_digest(identity: dict[str, Any]) -> str:
    """Compute a short name for a job that no other job has."""
    return hashlib.sha256(as_json(identity).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def recorded_seed(output: str) -> int | None:
    """Look up the seed of a job, so that it can be resumed without giving the seed."""
    folder = open_folder(output)
    if not folder.is_folder():
        return None
    manifest = _manifest(folder)
    seed = None if manifest is None else manifest["identity"].get("seed")
    return seed if isinstance(seed, int) else None


def read_status(output: str) -> Status:
    """Read the status of a job: its progress, what failed and what was skipped.

    Parameters
    ----------
    output : str
        The output folder of the job.

    Raises
    ------
    OutputError
        If the folder does not belong to a job.

    Examples
    --------
    >>> import tempfile, numpy
    >>> from arborand import corpus
    >>> folder = tempfile.mkdtemp()
    >>> numpy.save(f"{folder}/scores.npy", numpy.zeros((3, 5, 5)))
    >>> status = corpus.run("entropy", f"{folder}/scores.npy", f"{folder}/entropies")
    >>> corpus.read_status(f"{folder}/entropies").is_complete
    True
    """
    folder = open_folder(output)
    manifest = _manifest(folder) if folder.is_folder() else None
    if manifest is None:
        raise OutputError(f"{output} is not the output folder of a job: it has no {MANIFEST}")
    return _status(folder, manifest, folder.sizes())


def _manifest(folder: Folder | RemoteFolder) -> dict[str, Any] | None:
    try:
        with folder.open(MANIFEST) as file:
            manifest: dict[str, Any] = parse_json(file.read())
        if not isinstance(manifest["identity"], dict):
            raise TypeError("it has no identity")
        if manifest["digest"] != job_digest(manifest["identity"]):
            raise ValueError("its digest does not match")
        manifest["parts"] = [
            (str(name), int(first), int(count), str(digest))
            for name, first, count, digest in manifest["parts"]
        ]
        return manifest
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise OutputError(
            f"{folder.where}/{MANIFEST} is damaged ({error!r}): remove the folder, or write to "
            "another one"
        ) from error


def _put_manifest(
    write: Callable[[Folder | RemoteFolder, str, bytes], None],
    folder: Folder | RemoteFolder,
    identity: dict[str, Any],
    parts: Sequence[Sequence[Any]],
) -> None:
    """Write the manifest; the digest comes first, where `check_owner` looks for it."""
    content = {"digest": job_digest(identity), "identity": identity, "parts": parts}
    write(folder, MANIFEST, json.dumps(content, indent=1, sort_keys=True).encode())


def _status(
    folder: Folder | RemoteFolder, manifest: dict[str, Any], sizes: dict[str, int]
) -> Status:
    """Read all markers; a marker counts only if its part exists and has the recorded size."""
    digest = manifest["digest"]
    parts = [name for name, _, _, _ in manifest["parts"]]
    answer = Status(
        folder.where,
        manifest["identity"],
        len(parts),
        sum(count for _, _, count, _ in manifest["parts"]),
        has_writers=any(is_being_written(name) for name in sizes),
    )

    def read(name: str) -> tuple[dict[str, Any] | None, str]:
        try:
            if marker_name(name) in sizes:
                marker = read_marker(folder, name, digest, sizes.get(name, -1))
                if marker is not None:
                    return marker, ""
            if failure_name(name) in sizes:
                with folder.open(failure_name(name)) as file:
                    failure = parse_json(file.read())
                if failure["job"] == digest:
                    return None, str(failure["reason"])
        except (OSError, ValueError, KeyError, TypeError):  # the state of the part is unknown
            pass
        return None, ""

    with ThreadPoolExecutor(_READERS) as readers:
        for name, (marker, reason) in zip(parts, readers.map(read, parts), strict=True):
            if marker is not None:
                answer.done[name] = marker
            elif reason:
                answer.failed[name] = reason
    answer.is_complete = SUCCESS in sizes and len(answer.done) == len(parts)
    return answer


def begin(output: str, identity: dict[str, Any], parts: Sequence[Part], *, restart: bool) -> Status:
    """Begin or resume a job.

    Raises
    ------
    OutputError
        If the folder belongs to another job, or contains other files.
    """
    folder = open_folder(output)
    check_writable(folder)
    manifest = _manifest(folder) if folder.is_folder() else None
    if manifest is None:
        others = [name for name in folder.sizes() if not is_temporary(name)]
        if others:
            raise OutputError(
                f"{output} contains other files ({', '.join(map(repr, sorted(others)[:_NAMED]))}): "
                "write to a new folder"
            )
    had_writers = False
    if restart and manifest is not None:
        had_writers = _discard(folder, manifest)
        manifest = None
    if manifest is None:
        listed = [[p.name, p.first, p.num_sentences, p.shard.digest] for p in parts]
        _put_manifest(put_first, folder, identity, listed)
        manifest = _manifest(folder)
    if manifest is None or manifest["identity"] != identity:
        found = differences({} if manifest is None else manifest["identity"], identity)
        if manifest is not None and manifest["identity"].get("inputs") != identity["inputs"]:
            found += _changed_inputs(manifest["parts"], parts)
        raise _another_job(output, found)
    folder.remove_orphans()
    sizes = folder.sizes()
    status = _status(folder, manifest, sizes)
    status.has_writers |= had_writers
    changed = _made_of_others(status.done, parts)
    if changed:
        raise _another_job(output, [_listed(changed, "has changed")])
    if SUCCESS in sizes and not status.is_complete:
        folder.remove(SUCCESS)
    return status


def _another_job(output: str, found: list[str]) -> OutputError:
    return OutputError(
        f"{output} belongs to another job: {'; '.join(found)}.  Rerun the same command to resume "
        "it, write to another folder, or discard it with --restart"
    )


def _made_of_others(done: dict[str, dict[str, Any]], parts: Sequence[Part]) -> list[str]:
    """Name the parts whose shard had other content when they were made.

    Only shards that were modified since are read.
    """
    made_of = {name: marker["input"] for name, marker in done.items()}
    written_since = [
        part
        for part in parts
        if part.name in made_of
        and not part.shard.stamp.modified == made_of[part.name].get("modified") != ""
    ]
    shards = list({part.shard for part in written_since})
    with ThreadPoolExecutor(_READERS) as readers:
        found = dict(zip(shards, readers.map(shard_sha256, shards), strict=True))
    return [p.name for p in written_since if found[p.shard] != made_of[p.name]["sha256"]]


def _changed_inputs(before: list[tuple[str, int, int, str]], parts: Sequence[Part]) -> list[str]:
    """Describe the shards that differ, naming the parts that are made from them."""
    old = {name: rest for name, *rest in before}
    new = {part.name: [part.first, part.num_sentences, part.shard.digest] for part in parts}
    found = []
    for what, names in (
        ("is missing", [name for name in old if name not in new]),
        ("is new", [name for name in new if name not in old]),
        ("has changed", [n for n in new if n in old and new[n][1:] != old[n][1:]]),
    ):
        if names:
            found.append(_listed(names, what))
    return found


def _listed(names: list[str], what: str) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"the input of {', '.join(map(repr, names[:_NAMED]))}{more} {what}"


def _discard(folder: Folder | RemoteFolder, manifest: dict[str, Any]) -> bool:
    """Remove the output of a job, its manifest last.

    Return whether a process was writing.  That process will find that its job was discarded.
    """
    folder.remove(SUCCESS)
    discarded = {**manifest["identity"], "discarded": True}
    _put_manifest(put, folder, discarded, manifest["parts"])
    temporaries = [name for name in folder.sizes() if is_temporary(name)]
    had_writers = any(map(is_being_written, temporaries))
    for name in temporaries:
        folder.remove(name)
    # Listed again: a temporary file may have been renamed meanwhile.
    left = folder.sizes()
    names = [name for name, _, _, _ in manifest["parts"]]
    written = [file for n in names for file in (marker_name(n), failure_name(n), n)]
    for file in (SUCCESS, *written):
        if file in left:
            folder.remove(file)
    folder.remove(MANIFEST)
    return had_writers


def finish(status: Status, *, alone: bool) -> Status:
    """Write ``_SUCCESS`` if all parts are complete.

    Unless this process worked `alone`, it first reads which parts others have made.
    """
    folder = open_folder(status.output)
    folder.remove_orphans()
    if not alone:
        status = read_status(status.output)
    if len(status.done) == status.num_parts and not status.is_complete:
        digests = [f"{name}\t{status.done[name]['sha256']}\n" for name in sorted(status.done)]
        content = {
            "parts": status.num_parts,
            "sentences": status.num_sentences_done,
            "rows": status.num_rows,
            "skipped": len(status.skipped),
            "sha256": hashlib.sha256("".join(digests).encode("utf-8", "replace")).hexdigest(),
        }
        check = partial(check_owner, folder, job_digest(status.identity))
        put(folder, SUCCESS, (json.dumps(content, indent=1) + "\n").encode(), check)
        status.is_complete = True
    return status


def differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Describe the differences between two records."""
    found = []
    for key in sorted({*before, *now}):
        old, new = before.get(key), now.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            found += [f"{key} {difference}" for difference in differences(old, new)]
        elif old != new:
            found.append(f"{key} was {_shown(old)} and is {_shown(new)}")
    return found


def _shown(value: Any) -> str:
    return "not given" if value is None else repr(value)
