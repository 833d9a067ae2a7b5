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


def work_of(command: str, reading: options.Reading, **others: Any) -> Work:
    """Make the work of a command, of what its options say about the scores."""
    common = {name: getattr(reading, name) for name in ("trees", "weights", "keep_heads")}
    try:
        return make_work(command, **common, **others)
    except ValueError as error:  # what options alone cannot say: which methods draw what
        raise typer.BadParameter(str(error), param_hint="--method") from error


def go_through(command: str, scores: Sequence[str], run: options.Run, **others: Any) -> None:
    """Compute something for every sentence of a corpus, and write it or print it."""
    work = work_of(command, run, **others)
    check_streams(scores, run.conllu, run.output)
    if work.layout is not None:
        chosen_format(run.output, run, work.layout)
    with open_inputs(scores, run.conllu, run.output) as inputs:
        if run.output is None:
            skipped = run_to_writer(
                work, inputs, TableOutput, skip=run.on_error == "skip", workers=run.workers
            )
        else:
            skipped = write(work, inputs, run.output, run, skip=run.on_error == "skip")
        list_skipped(skipped)
        if not inputs.num_sentences:
            note(f"{inputs.shards[0].shown} has no sentences")


def write(
    work: Work, inputs: Inputs, output: str, running: options.Running, *, skip: bool = False
) -> list[Skipped]:
    """Run a job into a folder, a file or a pipe; return the sentences that cannot be used."""
    chosen = chosen_format(output, running, work.layout or inputs.layout)
    for path in leftovers(output):
        note(
            f"{path} is what version 0.1 left of an unfinished run. This version cannot continue "
            "it, and leaves it alone: remove it"
        )
    if not is_folder(output):
        with progress(work.command, inputs.num_sentences) as advance:
            skipped = run_to_file(
                work, inputs, output, chosen, skip=skip, workers=running.workers, advance=advance
            )
        say_written(output)
        return skipped
    status = _run_into_folder(work, inputs, output, chosen, skip, running)
    count = f"{len(status.done)} of {status.num_parts}"
    parts = status.num_parts if status.is_complete else count
    say_written(f"{output} ({parts} part{'' if status.num_parts == 1 else 's'})")
    return status.skipped


def _run_into_folder(
    work: Work, inputs: Inputs, output: str, chosen: str, skip: bool, running: options.Running
) -> Status:
    def began(status: Status) -> None:
        if status.has_writers and running.engine != "array":
            note(
                f"another run is writing to {output}: that does no harm, both write the same "
                "bytes, and neither makes a part that the other has finished"
            )
        if status.done:
            note(f"{len(status.done)} of {status.num_parts} parts are there already")

    with progress(work.command, inputs.num_sentences) as advance:
        try:
            return run_job(
                work,
                inputs,
                output,
                running,
                format_=chosen,
                skip=skip,
                began=began,
                advance=advance,
            )
        except KeyboardInterrupt:
            note("interrupted; what is finished is kept: the same command goes on from there")
            raise
