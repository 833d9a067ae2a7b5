"""What a command reads and writes: settled, or refused, before anything is read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from arborand.formats.creating import OutputError
from arborand.formats.journal import START, Position
from arborand.formats.outputs import is_stream, output_format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arborand.cli.options import Format
    from arborand.formats.rows import Layout, Rows


def check_streams(scores: str, conllu: str | None, output: str | None = None) -> None:
    """Refuse to read two files from one pipe, and to write over what is read."""
    for source in (scores, conllu):
        if source is not None and output is not None and _is_same_file(source, output):
            raise typer.BadParameter(
                f"{output!r} is the file that is read: choose another name", param_hint="--output"
            )
    if scores == "-" and conllu == "-":
        raise typer.BadParameter(
            "standard input can be the scores or the CoNLL-U file, not both", param_hint="--conllu"
        )


def _is_same_file(source: str, output: str) -> bool:
    try:
        return Path(source).samefile(output)
    except OSError:  # one of them is no file, or not there
        return False


def chosen_format(
    output: str | None, format_: Format | None, layout: Layout, *, resume: bool, restart: bool
) -> str:
    """Settle the format before anything is read; empty for a table on the terminal."""
    if resume and restart:
        raise typer.BadParameter(
            "an unfinished output is either continued or discarded", param_hint="--resume"
        )
    if output is None:
        for name, given in (("--format", format_), ("--resume", resume), ("--restart", restart)):
            if given:
                raise typer.BadParameter("goes with -o OUT", param_hint=name)
        return ""
    if resume and is_stream(output):
        raise typer.BadParameter("a pipe cannot be continued", param_hint="--resume")
    try:
        return output_format(output, format_, layout)
    except OutputError as error:
        raise typer.BadParameter(str(error), param_hint="--output / --format") from error


class NoOutput:
    """Takes rows and keeps nothing of them; see :class:`arborand.formats.outputs.Output`."""

    def __init__(self) -> None:
        self.position: Position = START
        self.skipped: list[list[str]] = []

    def write(self, rows: Rows) -> None:
        """Let rows pass."""

    def reached(self, position: Position, skipped: Sequence[list[str]]) -> None:
        """Nothing to note."""

    def finish(self) -> None:
        """Nothing to complete."""

    def abandon(self) -> bool:
        """Stop: there is nothing to continue."""
        return False
