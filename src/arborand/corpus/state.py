"""The state of a job, in the folder of its output: what it is, what is done, what failed.

``_arborand/job.json`` says what the job is, and is written first.  ``_arborand/PART.done`` says
that a part is complete, and what is in it.  ``_SUCCESS`` says that all are.  No file is ever
changed, only replaced as a whole, and none is locked: two runs of one job write the same bytes, and
what a job was writing when it was discarded never appears (see :mod:`arborand.corpus.task`).
"""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from arborand.corpus.creating import is_aside, is_being_written
from arborand.corpus.folders import check_writable, open_folder, put, put_first
from arborand.corpus.passing import Skipped
from arborand.corpus.plan import MANIFEST, SUCCESS, shard_sha256
from arborand.corpus.provenance import differences
from arborand.corpus.task import check_owner, failure_name, marker_name, read_marker
from arborand.errors import OutputError
from arborand.formats.inputs import as_json, parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arborand.corpus.folders import Folder, RemoteFolder
    from arborand.corpus.plan import Part

# How many markers are read at a time, and how many files are named in a message.
_READERS = 16
_NAMED = 3


@dataclass
class Status:
    """How far a job is.

    Attributes
    ----------
    output : str
    identity : dict
        What the job is: version, command, options, format and inputs.
    num_parts, num_sentences : int
        Of the whole job.
    done : dict from part to its marker
    failed : dict from part to reason
    is_complete : bool
        Whether all parts are there, and the output says so itself, by ``_SUCCESS``.
    has_writers : bool
        Whether some process is writing to the folder, as far as this machine can tell; for a job
        that was discarded, whether one was.
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
        """The sentences of all finished parts."""
        return sum(int(marker["sentences"]) for marker in self.done.values())

    @property
    def num_rows(self) -> int:
        """The rows of all finished parts."""
        return sum(int(marker["rows"]) for marker in self.done.values())

    @property
    def skipped(self) -> list[Skipped]:
        """The sentences that were left out, in the order of the corpus."""
        found = [Skipped(*one) for marker in self.done.values() for one in marker["skipped"]]
        return sorted(found, key=lambda one: one.number)


def job_digest(identity: dict[str, Any]) -> str:
    """Give a job a short name that no other job has."""
    return hashlib.sha256(as_json(identity).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def recorded_seed(output: str) -> int | None:
    """Look up the seed of a job, so that it can be continued without naming it."""
    folder = open_folder(output)
    if not folder.is_folder():
        return None
    manifest = _manifest(folder)
    seed = None if manifest is None else manifest["identity"].get("seed")
    return seed if isinstance(seed, int) else None


def read_status(output: str) -> Status:
    """Find out how far a job is.

    Parameters
    ----------
    output : str
        The folder that it writes to.

    Raises
    ------
    OutputError
        If there is no job.
    """
    folder = open_folder(output)
    manifest = _manifest(folder) if folder.is_folder() else None
    if manifest is None:
        raise OutputError(f"{output} is not the output folder of a job: it has no {MANIFEST}")
    return _status(folder, manifest, folder.sizes())


def _manifest(folder: Folder | RemoteFolder) -> dict[str, Any] | None:
    try:
        with folder.open(MANIFEST) as file:
            manifest = parse_json(file.read())
        if not isinstance(manifest["identity"], dict):
            raise TypeError("it has no identity")
        if manifest["digest"] != job_digest(manifest["identity"]):
            raise ValueError("its digest is another one's")
        manifest["parts"] = [
            (str(name), int(first), int(count), str(digest))
            for name, first, count, digest in manifest["parts"]
        ]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise OutputError(
            f"{folder.where}/{MANIFEST} is damaged ({error!r}): remove the folder, or write to "
            "another one"
        ) from error
    answer: dict[str, Any] = manifest
    return answer


def _put_manifest(
    write: Callable[[Folder | RemoteFolder, str, bytes], None],
    folder: Folder | RemoteFolder,
    identity: dict[str, Any],
    parts: Sequence[Sequence[Any]],
) -> None:
    """Say what the job is; its digest comes first, for tasks (see `task.check_owner`)."""
    content = {"digest": job_digest(identity), "identity": identity, "parts": parts}
    write(folder, MANIFEST, json.dumps(content, indent=1, sort_keys=True).encode())


def _status(
    folder: Folder | RemoteFolder, manifest: dict[str, Any], sizes: dict[str, int]
) -> Status:
    """Read all markers; only those count whose part is there, and as large as they say."""
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
        except (OSError, ValueError, KeyError, TypeError):  # then it is not known
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
    """Begin a job, or go on with it.

    Raises
    ------
    OutputError
        If the folder belongs to another job, or holds other things.
    """
    folder = open_folder(output)
    check_writable(folder)
    manifest = _manifest(folder) if folder.is_folder() else None
    if manifest is None:
        others = [name for name in folder.sizes() if not is_aside(name.rpartition("/")[2])]
        if others:
            raise OutputError(
                f"{output} holds other things ({', '.join(map(repr, sorted(others)[:_NAMED]))}): "
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
        f"{output} belongs to another job: {'; '.join(found)}.  Give the same command to go on "
        "with it, write to another folder, or discard it with --restart"
    )


def _made_of_others(done: dict[str, dict[str, Any]], parts: Sequence[Part]) -> list[str]:
    """Name the parts whose shard is not what they were made of, though its footer is the same.

    A shard that was not written since is not read.
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
    """Name the shards that differ, by the parts that are made of them."""
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
    """Remove what a job has written; last of all what says that it was one.

    Tell whether a run of it was at work.  It finds that it is discarded.
    """
    folder.remove(SUCCESS)
    discarded = {**manifest["identity"], "discarded": True}
    _put_manifest(put, folder, discarded, manifest["parts"])
    asides = [name for name in folder.sizes() if is_aside(name.rpartition("/")[2])]
    had_writers = any(map(is_being_written, asides))
    for name in asides:
        folder.remove(name)
    # Listed again: until now, one of them may have got its name.
    left = folder.sizes()
    names = [name for name, _, _, _ in manifest["parts"]]
    written = [file for n in names for file in (marker_name(n), failure_name(n), n)]
    for file in (SUCCESS, *written):
        if file in left:
            folder.remove(file)
    folder.remove(MANIFEST)
    return had_writers


def finish(status: Status, *, alone: bool) -> Status:
    """Say in the folder that all of a job is done, if it is.

    Unless this process has made all parts `alone`, it looks what others have made.
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
