"""From the options of a command to a job: into a folder, a file, a pipe or a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from arborand.cli import options
from arborand.cli.messages import list_skipped, note, progress, say_written
from arborand.cli.streams import check_streams, chosen_format
from arborand.cli.tables import TableOutput
from arborand.corpus.running import (
    is_folder,
    leftovers,
    open_inputs,
    run_job,
    run_to_file,
    run_to_writer,
)
from arborand.corpus.work import make_work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arborand.corpus.passing import Skipped
    from arborand.corpus.running import Inputs
    from arborand.corpus.state import Status
    from arborand.corpus.work import Work


def settled(
    command: str,
    scores: Sequence[str],
    reading: options.Reading,
    output: str | None,
    running: options.Running,
    **others: Any,
) -> Work:
    """Make the work of a command, or refuse what makes no sense, before anything is read."""
    names = ("trees", "weights", "orientation", "keep_heads")
    common = {name: getattr(reading, name) for name in names}
    try:
        work = make_work(command, **common, **others)
    except ValueError as error:  # what options alone cannot say: which methods draw what
        raise typer.BadParameter(str(error)) from error
    check_streams(scores, reading.conllu, output)
    if work.layout is not None:
        chosen_format(output, running, work.layout)
    return work


def go_through(command: str, scores: Sequence[str], run: options.Run, **others: Any) -> None:
    """Compute something for every sentence of a corpus, and write it or print it."""
    work = settled(command, scores, run, run.output, run, **others)
    skip = run.on_error == "skip"
    with open_inputs(scores, run.conllu, run.output) as inputs:
        if run.output is None:
            skipped = run_to_writer(work, inputs, TableOutput, skip=skip, workers=run.workers)
        else:
            skipped = write(work, inputs, run.output, run, skip=skip)
        list_skipped(skipped)
        if not inputs.num_sentences:
            note(f"{inputs.shards[0].shown} has no sentences")


def write(
    work: Work, inputs: Inputs, output: str, running: options.Running, *, skip: bool = False
) -> list[Skipped]:
    """Run a job into a folder, a file or a pipe; return the sentences that cannot be used."""
    format_ = chosen_format(output, running, work.layout or inputs.layout)
    for path in leftovers(output):
        note(
            f"{path} is what version 0.1 left of an unfinished run. This version cannot continue "
            "it, and leaves it alone: remove it"
        )

    def began(status: Status) -> None:
        if status.has_writers and running.restart:
            note(f"another run was writing to {output}: what it makes is discarded, and it ends")
        elif status.has_writers and running.engine != "array":
            note(
                f"another run is writing to {output}: that does no harm, both write the same "
                "bytes, and neither makes a part that the other has finished"
            )
        if status.done:
            note(f"{len(status.done)} of {status.num_parts} parts are there already")

    with progress(work.command, inputs.num_sentences) as advance:
        how: dict[str, Any] = {"skip": skip, "advance": advance}
        if not is_folder(output):
            skipped = run_to_file(work, inputs, output, format_, workers=running.workers, **how)
            written = output
        else:
            try:
                status = run_job(work, inputs, output, running, format_=format_, began=began, **how)
            except KeyboardInterrupt:
                note("interrupted; what is finished is kept: the same command goes on from there")
                raise
            count, total = len(status.done), status.num_parts
            parts = total if status.is_complete else f"{count} of {total}"
            written = f"{output} ({parts} part{'' if total == 1 else 's'})"
            skipped = status.skipped
    say_written(written)
    return skipped
