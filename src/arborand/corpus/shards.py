"""The plan of a job: which sentences go into which part of the output, before any are read.

A shard is one file of the input.  The number of its first sentence in the corpus follows from the
footers of the files before it.  So a sentence has the same number, and therefore the same trees,
whether the corpus is one file or many.
"""

from __future__ import annotations

import fnmatch
import glob
import hashlib
import os
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING

import numpy as np

from arborand.corpus.storage import (
    Folder,
    Stamp,
    is_hidden,
    is_input,
    is_remote,
    open_folder,
    place,
    split,
)
from arborand.errors import FormatError, OutputError
from arborand.formats.inputs import InputFile, open_input, sha256_of, shown_name, shown_path
from arborand.formats.records import TREES, scores_layout
from arborand.formats.scores import open_scores, read_footer
from arborand.formats.trees import holds_trees

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arborand.corpus.storage import RemoteFolder
    from arborand.formats.records import Layout
    from arborand.formats.scores import Footer

# Which files of a folder are shards.
SCORES_ENDINGS = (".parquet", ".npz", ".safetensors", ".npy")
TREES_ENDINGS = (".parquet", ".npz", ".jsonl", ".conllu")
# How many footers are read at a time.
_READERS = 16
STATE = "_arborand"
MANIFEST = f"{STATE}/job.json"
SUCCESS = "_SUCCESS"


@dataclass(frozen=True)
class Shard:
    """One file of the input.

    Attributes
    ----------
    folder, name : str
        Where it is, and its name there.
    stamp : Stamp
        Its size in bytes, and when it was written.
    kind : str
    digest : str
        The digest of its footer; see :mod:`arborand.corpus.shards`.
    num_sentences : int
    first : int
        The place of its first sentence in the corpus, from 0.
    dtype : str
        The type of its scores.
    sha256 : str
        The digest of the whole file, if it is already known.
    shown : str
        What messages and provenance call it.
    """

    folder: str
    name: str
    stamp: Stamp
    kind: str
    digest: str
    num_sentences: int
    first: int = 0
    dtype: str = "f8"
    sha256: str = ""
    shown: str = ""


@dataclass(frozen=True)
class Part:
    """Some consecutive sentences of a shard, and the name of the file that is made from them."""

    name: str
    shard: Shard
    start: int
    stop: int

    @property
    def first(self) -> int:
        """The place of the first sentence in the corpus, from 0."""
        return self.shard.first + self.start

    @property
    def num_sentences(self) -> int:
        """The number of sentences."""
        return self.stop - self.start


def find_shards(
    inputs: Sequence[str], endings: tuple[str, ...], output: str | None = None
) -> list[Shard]:
    """Find the files of the input, and give each sentence its number.

    Parameters
    ----------
    inputs : sequence of str
        Files, folders and patterns such as ``scores/*.parquet``.
    endings : tuple of str
        Which files of a folder are inputs.
    output : str, optional
        Where the job writes. Files there are never inputs, even if a pattern matches them.

    Raises
    ------
    FormatError
        If a file does not exist, or is not a file of scores.
    """
    base, names = _listed(inputs, endings)
    if output is not None and is_remote(output) == is_remote(base):
        target = place(output)
        places = {folder: _placed(base, folder) for folder in {split(name)[0] for name in names}}
        names = [
            name
            for name in names
            if not (places[split(name)[0]] / split(name)[1]).is_relative_to(target)
        ]
        if not names:
            raise OutputError(f"{output} contains all the input files: choose another output")
    folder = open_folder(base)
    with ThreadPoolExecutor(_READERS) as readers:
        shards = list(readers.map(lambda name: _inspected(folder, name), names))
    first, answer = 0, []
    for shard in shards:
        answer.append(replace(shard, first=first))
        first += shard.num_sentences
    return answer


def _placed(base: str, folder: str) -> PurePath:
    """Resolve the path of an input folder."""
    return place(base) / folder if is_remote(base) else place(os.path.join(base, folder))


def _listed(inputs: Sequence[str], endings: tuple[str, ...]) -> tuple[str, list[str]]:
    """List the input files: the folder that contains them all, and their names in it."""
    bases, found = [], set()
    for where in inputs:
        base, names = _files_of(where, endings)
        bases.append(base)
        found |= {(base, name) for name in names}
    common = bases[0]
    if len(set(bases)) > 1:
        try:
            common = os.path.commonpath([os.path.abspath(base) for base in bases])
        except ValueError:
            common = ""
        if any(map(is_remote, bases)) or not common:
            raise FormatError("the files of a job must be in one folder, or in its subfolders")
        found = {
            ("", os.path.relpath(os.path.join(os.path.abspath(base), name), common))
            for base, name in found
        }
    # Sorted by the bytes of their names, whatever the locale and the order of the listing.
    return common, sorted((name for _, name in found), key=os.fsencode)


def _files_of(where: str, endings: tuple[str, ...]) -> tuple[str, list[str]]:
    """Find the files of one input: a folder, and names in it."""
    if not where:
        raise FormatError("the name of an input is empty: name a file, or a folder such as .")
    if not is_remote(where) and os.path.isfile(where):
        return split(where)[0], [split(where)[1]]
    is_pattern = re.search(r"[*?\[]" if not is_remote(where) else r"[*\[]", where) is not None
    if not (is_pattern and is_remote(where)) and open_folder(where).is_folder():
        folder = open_folder(where)
        files = folder.inputs()
        names = [n for n in files if not is_hidden(n) and n.lower().endswith(endings)]
        if not names:
            raise FormatError(f"{where} contains no files that end in {', '.join(endings)}")
        if MANIFEST in files and SUCCESS not in files:
            raise FormatError(
                f"{where} is the output of a job that is not finished: arborand status {where}"
            )
        return folder.where, names
    if not is_pattern:
        return split(where)[0], [split(where)[1]]
    fixed = re.split(r"[*?\[]", where, maxsplit=1)[0].rpartition("/")[0] or "."
    if is_remote(where):
        pattern = where[len(fixed) + 1 :].split("/")
        names = [
            name
            for name in open_folder(fixed).inputs()
            if not is_hidden(name) and _matches(name.split("/"), pattern)
        ]
    else:
        paths = [Path(path) for path in glob.glob(where, recursive=True)]
        names = [path.relative_to(fixed).as_posix() for path in paths if is_input(path)]
        names = [name for name in names if not is_hidden(name)]
    if not names:
        raise FormatError(f"no file matches {where}")
    return fixed, names


def _matches(name: list[str], pattern: list[str]) -> bool:
    """Match a path component by component; ``**`` stands for any number of folders."""
    if not pattern or not name:
        return not name and set(pattern) <= {"**"}
    if pattern[0] == "**":
        return _matches(name, pattern[1:]) or _matches(name[1:], pattern)
    return fnmatch.fnmatchcase(name[0], pattern[0]) and _matches(name[1:], pattern[1:])


def _inspected(folder: Folder | RemoteFolder, name: str) -> Shard:
    shown = shown_name(Path(name))
    footer, stamp = _footer(folder, name, shown)
    count = footer.num_sentences
    shard = Shard(folder.where, name, stamp, footer.kind, footer.digest, count or 0,
                  dtype=footer.dtype, sha256=footer.sha256, shown=shown)  # fmt: skip
    if count is None and footer.kind not in ("jsonl", "conllu"):
        with folder.local(name) as path, open_input(path) as file:
            if not holds_trees(file):  # raises an error that says what is wrong
                with open_scores(replace(file, name=shown)) as scores:
                    dtype = scores_layout(scores.dtype).dtype
                    shard = replace(shard, num_sentences=scores.num_sentences, dtype=dtype)
    return shard


def _footer(folder: Folder | RemoteFolder, name: str, shown: str) -> tuple[Footer, Stamp]:
    try:
        stamp = folder.stamp(name)  # before the footer is read: later changes get a later stamp
        with folder.open(name) as file:
            return read_footer(file, shown), stamp
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL in it
        if isinstance(error, FormatError):
            raise
        reason = getattr(error, "strerror", None) or error
        where = folder.where.rstrip("/") + "/" if folder.where not in ("", ".") else ""
        raise FormatError(f"{shown_path(where + name)} cannot be read: {reason}") from error


@contextmanager
def open_shard(shard: Shard, *, digest: bool = False) -> Iterator[InputFile]:
    """Open a shard as a local file, and make sure that it has not changed since the plan.

    With `digest`, the whole file is read for its SHA-256, unless that is already known.

    Raises
    ------
    FormatError
        If it has changed, or changes before the block ends.
    """
    folder = open_folder(shard.folder)
    changed = FormatError(f"{shard.shown} has changed since the job was planned: run it again")
    stamp = folder.stamp(shard.name)
    with folder.local(shard.name) as path:
        sha256 = shard.sha256
        is_same = stamp == shard.stamp and stamp.modified != ""
        if not is_same:
            footer, here = _footer(Folder(str(path.parent)), path.name, shard.shown)
            if (footer.digest, here.size) != (shard.digest, shard.stamp.size):
                raise changed
        if (digest and not sha256) or (sha256 and not is_same):
            with path.open("rb") as file:
                sha256 = sha256_of(file)
            if shard.sha256 not in ("", sha256):
                raise changed
        yield InputFile(path, shard.shown, shard.kind, sha256)
        if folder.stamp(shard.name) != stamp:
            raise changed


def shard_sha256(shard: Shard) -> str:
    """Read a whole shard for its digest, unless that is already known."""
    if shard.sha256:
        return shard.sha256
    with open_folder(shard.folder).open(shard.name) as file:
        return sha256_of(file)


def make_parts(shards: list[Shard], ending: str, part_sentences: int) -> list[Part]:
    """Divide the output: one part per shard, or parts of a fixed size for a single shard.

    Raises
    ------
    OutputError
        If two parts would have the same name.
    """
    if len(shards) == 1 and shards[0].num_sentences > part_sentences:
        [shard] = shards
        total = shard.num_sentences
        starts = range(0, total, part_sentences)
        width = max(5, len(str(len(starts) - 1)))
        stem = PurePosixPath(shard.name).stem
        return [
            Part(f"{stem}-{i:0{width}}.{ending}", shard, start, min(start + part_sentences, total))
            for i, start in enumerate(starts)
        ]
    parts: dict[str, Part] = {}
    for shard in shards:
        name = str(PurePosixPath(shard.name).with_suffix(f".{ending}"))
        if name in parts:
            raise OutputError(
                f"{parts[name].shard.name} and {shard.name} would both become {name}: rename one"
            )
        parts[name] = Part(name, shard, 0, shard.num_sentences)
    return list(parts.values())


def listing_digest(shards: list[Shard]) -> str:
    """Compute a digest of the names, numbers of sentences and footers of all shards."""
    lines = [f"{shard.name}\t{shard.num_sentences}\t{shard.digest}\n" for shard in shards]
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


# ---- what a job reads


@dataclass(frozen=True)
class Inputs:
    """What a job reads: the shards, the file with their words, and what the shards contain."""

    shards: list[Shard]
    conllu: Shard | None
    layout: Layout

    @property
    def num_sentences(self) -> int:
        """The number of sentences in all shards."""
        return sum(shard.num_sentences for shard in self.shards)

    @property
    def parts(self) -> list[Part]:
        """All sentences, shard by shard."""
        return [Part("", shard, 0, shard.num_sentences) for shard in self.shards]

    @property
    def name(self) -> str:
        """What messages and titles call the shards."""
        return self.shards[0].shown if len(self.shards) == 1 else f"{len(self.shards)} files"


@contextmanager
def open_inputs(
    inputs: Sequence[str],
    conllu: str | None = None,
    output: str | None = None,
    *,
    trees: bool = False,
) -> Iterator[Inputs]:
    """Find the files of a job; standard input (``-``) becomes a temporary file.

    Raises
    ------
    FormatError
        If one of them cannot be read.
    """
    endings = (*SCORES_ENDINGS, *TREES_ENDINGS) if trees else SCORES_ENDINGS
    with ExitStack() as stack:

        def found(names: Sequence[str], endings: tuple[str, ...]) -> list[Shard]:
            if list(names) != ["-"]:
                return find_shards(names, endings, output)
            file = stack.enter_context(open_input("-"))
            return [replace(find_shards([str(file.path)], endings)[0], shown="-")]

        shards = found(inputs, endings)
        # One type for all parts: readers of a folder take it from the first part.
        layout = scores_layout(np.dtype(max(shard.dtype for shard in shards)))
        if trees and _hold_trees(shards):
            layout = TREES
            # Rows are trees; the number of sentences is known only after reading them.
            shards = [replace(shard, first=0, num_sentences=0) for shard in shards]
        words = None
        if conllu is not None:
            words, *others = found([conllu], (".conllu",))
            if others:
                raise FormatError(
                    f"{conllu} matches {1 + len(others)} files: put all words into one file"
                )
            words = replace(words, sha256=shard_sha256(words))
        yield Inputs(shards, words, layout)


def _hold_trees(shards: list[Shard]) -> bool:
    with open_shard(shards[0]) as file:
        if holds_trees(file):
            return True
        with open_scores(file):  # raises an error that says what is wrong
            return False
