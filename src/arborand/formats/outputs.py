"""Rows out: to a file that appears when it is complete, or to a pipe."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from arborand.formats.containers import CONTAINERS
from arborand.formats.creating import OutputError
from arborand.formats.journal import START, Journal, Position
from arborand.formats.log import Log
from arborand.formats.text import TEXT_FORMATS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arborand.formats.rows import Layout, Rows

_ENDINGS = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".conllu": "conllu",
    ".parquet": "parquet",
    ".npz": "npz",
    ".safetensors": "safetensors",
}
FORMATS = tuple(_ENDINGS.values())


class Output(Protocol):
    """Where the rows of a run go.

    Attributes
    ----------
    position : Position
        Where to go on: not at the start if an earlier run is continued.
    skipped : list of [sent_id, reason]
        The sentences that an earlier run has left out.
    """

    position: Position
    skipped: list[list[str]]

    def write(self, rows: Rows) -> None:
        """Write rows."""

    def reached(self, position: Position, skipped: Sequence[list[str]]) -> None:
        """Take note that all rows up to `position` were written.

        `skipped` are the sentences that were left out since the last call.
        """

    def finish(self) -> None:
        """Complete the output and put it in its place."""

    def abandon(self) -> bool:
        """Stop, and tell whether there is something that can be continued."""


def output_format(path: str | None, chosen: str | None, layout: Layout) -> str:
    """Choose the format: as asked for, or by the name's ending.

    Raises
    ------
    OutputError
        If there is no such format, or none for this kind of rows.
    """
    allowed = formats_of(layout)
    name = chosen
    if name is None and path is not None and path != "-":
        name = _ENDINGS.get(Path(path).suffix.lower())
    if name is None:
        raise OutputError(
            f"no format can be told from the name {path!r}: use --format with one of "
            f"{', '.join(allowed)}"
        )
    if name not in allowed:
        raise OutputError(f"{layout.name} cannot be written as {name}: use {', '.join(allowed)}")
    return name


def formats_of(layout: Layout) -> tuple[str, ...]:
    """List the formats in which such rows can be written."""
    if layout.name == "scores":
        return ("npz", "parquet", "safetensors")
    texts = {
        "trees": ("jsonl", "conllu"),
        "marginals": ("jsonl",),
        "evaluation": ("json", "jsonl", "csv", "tsv"),
    }
    return (*texts.get(layout.name, ("jsonl", "csv", "tsv")), "parquet", "npz")


def open_output(
    path: str,
    chosen_format: str,
    layout: Layout,
    provenance: dict[str, Any],
    *,
    resume: bool = False,
    restart: bool = False,
) -> Output:
    """Open an output: a file, or ``-`` for standard output.

    Raises
    ------
    OutputError
        If it cannot be written, or not be continued.
    """
    if is_stream(path):
        if resume:
            raise OutputError("a pipe cannot be continued: --resume needs -o with a file's name")
        stream = sys.stdout.buffer if path == "-" else open(path, "wb", buffering=0)  # noqa: SIM115
        if chosen_format in TEXT_FORMATS:
            return TextStream(stream, chosen_format, layout, provenance)
        return ContainerStream(stream, chosen_format, layout, provenance)
    identity = {"format": chosen_format, "holds": layout.name, "provenance": provenance}
    journal = Journal(Path(path), identity, resume=resume, restart=restart)
    try:
        if chosen_format in TEXT_FORMATS:
            return TextFile(journal, chosen_format, layout, provenance)
        return ContainerFile(journal, chosen_format, layout, provenance)
    except BaseException:
        journal.abandon()
        raise


def is_stream(path: str) -> bool:
    """Tell whether a path is no regular file: standard output, a pipe, a device."""
    if path == "-":
        return True
    try:
        return not stat.S_ISREG(os.stat(path).st_mode) and not os.path.isdir(path)
    except OSError:
        return False


class TextFile:
    """Text in a file: the partial output is the output so far."""

    def __init__(
        self, journal: Journal, name: str, layout: Layout, provenance: dict[str, Any]
    ) -> None:
        self._journal = journal
        self._format = TEXT_FORMATS[name]
        self._layout = layout
        self.position, self.skipped = journal.position, journal.skipped
        if journal.size == 0:
            journal.write(self._format.header(layout, provenance).encode())

    def write(self, rows: Rows) -> None:
        """Write rows."""
        self._journal.write("".join(self._format.lines(self._layout, rows)).encode())

    def reached(self, position: Position, skipped: Sequence[list[str]]) -> None:
        """Take note that all rows up to `position` were written."""
        self._journal.checkpoint(position, skipped)

    def finish(self) -> None:
        """Give it its name."""
        self._journal.publish()

    def abandon(self) -> bool:
        """Stop, and tell whether there is something that can be continued."""
        return self._journal.abandon()


class ContainerFile:
    """A container in a file: the partial output is the log it is built from."""

    def __init__(
        self, journal: Journal, name: str, layout: Layout, provenance: dict[str, Any]
    ) -> None:
        self._journal = journal
        self._log = Log(journal.partial, layout, lambda: journal.size)
        self.position, self.skipped = journal.position, journal.skipped
        self._built = journal.partial.with_name(journal.partial.name + ".new")
        self._container = CONTAINERS[name](self._built, layout, provenance)
        for rows in self._log.rows():
            self._container.add(rows)

    def write(self, rows: Rows) -> None:
        """Write rows."""
        self._log.append(self._journal, rows)
        self._container.add(rows)

    def reached(self, position: Position, skipped: Sequence[list[str]]) -> None:
        """Take note that all rows up to `position` were written."""
        self._journal.checkpoint(position, skipped)

    def finish(self) -> None:
        """Complete the container and give it its name."""
        self._journal.flush()
        self._container.close(self._log)
        self._journal.publish(self._built)

    def abandon(self) -> bool:
        """Stop, and tell whether there is something that can be continued."""
        try:
            self._container.discard()
        finally:
            keep = self._journal.abandon()
        return keep


class TextStream:
    """Text in a pipe."""

    def __init__(
        self, stream: IO[bytes], name: str, layout: Layout, provenance: dict[str, Any]
    ) -> None:
        self._stream = stream
        self._format = TEXT_FORMATS[name]
        self._layout = layout
        self.position: Position = START
        self.skipped: list[list[str]] = []
        stream.write(self._format.header(layout, provenance).encode())

    def write(self, rows: Rows) -> None:
        """Write rows."""
        self._stream.write("".join(self._format.lines(self._layout, rows)).encode())

    def reached(self, position: Position, skipped: Sequence[list[str]]) -> None:
        """Let the reader have them."""
        del position, skipped
        self._stream.flush()

    def finish(self) -> None:
        """Let the reader have everything."""
        self._stream.flush()

    def abandon(self) -> bool:
        """Stop: what is in the pipe is gone."""
        return False


class ContainerStream:
    """A container in a pipe: built in a temporary folder, and sent when it is complete."""

    def __init__(
        self, stream: IO[bytes], name: str, layout: Layout, provenance: dict[str, Any]
    ) -> None:
        self._stream = stream
        self._folder = tempfile.TemporaryDirectory(prefix="arborand-")
        inside = Path(self._folder.name) / "output"
        identity = {"provenance": provenance}
        self._file = ContainerFile(Journal(inside, identity), name, layout, provenance)
        self._inside = inside
        self._is_complete = False
        self.position: Position = START
        self.skipped: list[list[str]] = []

    def write(self, rows: Rows) -> None:
        """Write rows."""
        self._file.write(rows)

    def reached(self, position: Position, skipped: Sequence[list[str]]) -> None:
        """Take note that all rows up to `position` were written."""
        self._file.reached(position, skipped)

    def finish(self) -> None:
        """Send it."""
        self._file.finish()
        self._is_complete = True
        with self._inside.open("rb") as file:
            shutil.copyfileobj(file, self._stream, 1 << 20)
        self._stream.flush()
        self._folder.cleanup()

    def abandon(self) -> bool:
        """Stop: nothing was sent, or not all of it."""
        if not self._is_complete:
            self._file.abandon()
        self._folder.cleanup()
        return False
