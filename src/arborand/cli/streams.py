"""What a command reads and writes: settled, or refused, before anything is read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from arborand.corpus.creating import check_named, check_target, is_stream, output_format
from arborand.corpus.folders import is_remote
from arborand.corpus.running import is_folder
from arborand.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arborand.cli.options import Running
    from arborand.formats.records import Layout


def check_streams(
    scores: str | Sequence[str], conllu: str | None, output: str | None = None
) -> None:
    """Refuse to read two files from one pipe, to write over what is read, or to no folder."""
    sources = [scores] if isinstance(scores, str) else list(scores)
    for source in (*sources, conllu):
        if source is not None and output is not None and _is_same_file(source, output):
            raise typer.BadParameter(
                f"{output!r} is the file that is read: choose another name", param_hint="--output"
            )
    if "-" in sources and len(sources) > 1:
        raise typer.BadParameter("standard input stands alone", param_hint="SCORES")
    if "-" in sources and conllu == "-":
        raise typer.BadParameter(
            "standard input can be the scores or the CoNLL-U file, not both", param_hint="--conllu"
        )
    if output is not None and not (is_folder(output) or is_stream(output) or is_remote(output)):
        check_named(output)
        check_target(Path(output))


def _is_same_file(source: str, output: str) -> bool:
    try:
        return Path(source).samefile(output)
    except OSError:  # one of them is no file, or not there
        return False


def chosen_format(output: str | None, running: Running, layout: Layout) -> str:
    """Settle the format before anything is computed; empty for a table on the terminal."""
    is_job = output is not None and is_folder(output)
    for name in ("resume", "restart", "engine", "part_sentences"):
        if not is_job and getattr(running, name) != getattr(type(running), name):
            raise typer.BadParameter(
                "goes with -o NAME/. A single file is made in one go, by one process. Write to a "
                "folder to be able to continue: the same command again goes on",
                param_hint=f"--{name.replace('_', '-')}",
            )
    if output is None:
        if running.format_ is not None:
            raise typer.BadParameter("goes with -o OUT", param_hint="--format")
        return ""
    try:
        return output_format(output, running.format_ or ("parquet" if is_job else None), layout)
    except OutputError as error:
        raise typer.BadParameter(str(error), param_hint="--output / --format") from error
