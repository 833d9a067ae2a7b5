"""From the options of a command to a job: into a folder, a file, a pipe or a table.

What makes no sense is refused before anything is read.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from arborand.cli.tables import TableOutput, print_words
from arborand.cli.terminal import list_skipped, listed, note, progress, say_written
from arborand.corpus.computations import Work, make_work
from arborand.corpus.execution import run_job, run_to_file, run_to_writer
from arborand.corpus.reports import UncertainWords, absent_sentences, word_rows
from arborand.corpus.shards import open_inputs
from arborand.corpus.storage import (
    check_output,
    check_target,
    is_folder,
    is_remote,
    is_stream,
    open_output,
)
from arborand.corpus.stream import NoOutput
from arborand.errors import OutputError
from arborand.formats.decisions import read_decisions
from arborand.formats.inputs import shown_name
from arborand.formats.outputs import completed, open_writer, output_format
from arborand.formats.records import WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arborand.cli import options
    from arborand.corpus.job import Status
    from arborand.corpus.selection import Selection
    from arborand.corpus.shards import Inputs
    from arborand.corpus.stream import Skipped, Tally
    from arborand.formats.records import Layout, Rows


def check_files(
    scores: Sequence[str],
    conllu: str | None,
    output: str | None = None,
    decisions: str | None = None,
) -> None:
    """Refuse to read two files from one pipe, or to write where files are read or nothing can be.

    Raises
    ------
    typer.BadParameter, OutputError
    """
    for source in (*scores, conllu, decisions):
        if source is not None and output is not None and _is_same_file(source, output):
            raise typer.BadParameter(
                f"{output!r} is an input file: choose another name", param_hint="--output"
            )
    if "-" in scores and len(scores) > 1:
        raise typer.BadParameter(
            "standard input ('-') cannot be combined with other files", param_hint="SCORES"
        )
    if "-" in scores and conllu == "-":
        raise typer.BadParameter(
            "standard input can be the scores or the CoNLL-U file, not both", param_hint="--conllu"
        )
    if output is not None and not is_stream(output):
        check_output(output, scores)
        if not (is_folder(output) or is_remote(output)):
            check_target(Path(output))


def _is_same_file(source: str, output: str) -> bool:
    try:
        return Path(source).samefile(output)
    except OSError:  # one of them is not a file, or does not exist
        return False


def choose_format(output: str | None, running: options.Running, layout: Layout) -> str:
    """Choose the format of an output; empty for a table on the terminal."""
    is_job = output is not None and is_folder(output)
    for name in ("restart", "engine", "part_sentences"):
        if not is_job and getattr(running, name) != getattr(type(running), name):
            raise typer.BadParameter(
                "needs a folder (-o NAME/): a single file is written in one go, by one process, "
                "and cannot be resumed",
                param_hint=f"--{name.replace('_', '-')}",
            )
    if output is None:
        if running.format_ is not None:
            raise typer.BadParameter("needs -o OUT", param_hint="--format")
        return ""
    try:
        return output_format(output, running.format_ or ("parquet" if is_job else None), layout)
    except OutputError as error:
        raise typer.BadParameter(str(error), param_hint="--output / --format") from error


def prepare(
    command: str,
    scores: Sequence[str],
    reading: options.Reading,
    output: str | None,
    running: options.Running,
    **others: Any,
) -> Work:
    """Make the work of a command."""
    names = ("trees", "projective", "weights", "orientation", "keep_heads")
    common = {name: getattr(reading, name) for name in names}
    check_relations(others.get("relations"), reading.conllu)
    try:
        work = make_work(command, **common, **others)
    except ValueError as error:  # what options alone cannot tell: which methods draw what
        raise typer.BadParameter(str(error)) from error
    check_files(scores, reading.conllu, output, others.get("decisions"))
    if work.layout is not None:
        choose_format(output, running, work.layout)
    return work


def check_relations(relations: str | None, conllu: str | None) -> None:
    """Refuse to keep relations that are not there."""
    if relations is not None and conllu is None:
        raise typer.BadParameter(
            "there are no relations to keep: name their file with --conllu",
            param_hint="--relations",
        )


def check_selection(
    selecting: options.Selecting, conllu: str | None, output: str | None = None
) -> Selection | None:
    """Refuse to compare with gold that is not there, and to sort what is made part by part."""
    selection = selecting.selection
    if selection is None:
        return None
    if selection.needs_gold and conllu is None:
        raise typer.BadParameter(
            "disagreement compares with gold trees: name the file that has them with --conllu",
            param_hint="--sort" if selection.order == "disagreement" else "--filter",
        )
    if output is not None and is_folder(output):
        for name, value in selection.options.items():
            if value and name != "filter":
                raise typer.BadParameter(
                    "needs a single output file: the parts of a folder are made one by one, so "
                    "only --filter can select their sentences",
                    param_hint=f"--{name}",
                )
    return selection


def say_selected(tally: Tally, total: int) -> None:
    """Say which sentences were selected, of how many."""
    text = None if tally.selected is None else tally.selected.described(total)
    if text is not None:
        note(text)


def note_absent(scores: Sequence[str], conllu: str | None, decisions: str | None) -> None:
    """Name the decisions about sentences that the scores do not have."""
    if decisions is None or "-" in (*scores, conllu):  # which can be read once
        return
    with open_inputs(scores, conllu) as inputs:
        absent = absent_sentences(inputs, read_decisions(decisions))
    if absent:
        note(
            f"{shown_name(Path(decisions))} also decides about {listed(absent[:3], len(absent))}, "
            "for which there are no scores"
        )


def run_command(command: str, scores: Sequence[str], run: options.Run, **others: Any) -> None:
    """Compute something for every sentence of a corpus, and write it or print it."""
    work = prepare(command, scores, run, run.output, run, **others)
    work = work.selecting(check_selection(run, run.conllu, run.output))
    skip = run.on_error == "skip"
    with open_inputs(scores, run.conllu, run.output) as inputs:
        if run.output is None:
            tally = run_to_writer(work, inputs, TableOutput, skip=skip, workers=run.workers)
            say_selected(tally, inputs.num_sentences)
            skipped = tally.skipped
        else:
            skipped = write(work, inputs, run.output, run, skip=skip)
        list_skipped(skipped)
        if not inputs.num_sentences:
            note(f"{inputs.shards[0].shown} has no sentences")


def list_words(scores: Sequence[str], run: options.Run, most: int) -> None:
    """List the words of a corpus whose heads are least certain."""
    if run.output is not None and is_folder(run.output):
        raise typer.BadParameter(
            "the words of the whole corpus are one file, not a folder", param_hint="--output"
        )
    check_files(scores, run.conllu, run.output)
    format_ = choose_format(run.output, run, WORDS)
    found = UncertainWords(replace(run.setting, workers=run.workers), most)
    described = {"words": True, "max-words": most, **run.setting.described}
    work = Work("entropy", found, WORDS, described)
    work = work.selecting(check_selection(run, run.conllu))
    unwritten = NoOutput()
    with (
        open_inputs(scores, run.conllu, run.output) as inputs,
        progress("entropy", inputs.num_sentences) as advance,
    ):
        skip = run.on_error == "skip"
        tally = run_to_writer(work, inputs, unwritten.begin, skip=skip, advance=advance)
    if run.output is None:
        print_words(found.words(), unwritten.provenance)
    else:
        write_lines(run.output, format_, WORDS, unwritten.provenance, [word_rows(found.words())])
        say_written(run.output)
    say_selected(tally, inputs.num_sentences)
    list_skipped(tally.skipped)


def write_lines(
    output: str, format_: str, layout: Layout, provenance: dict[str, Any], lines: Iterable[Rows]
) -> None:
    """Write rows that were kept until the end of a corpus."""
    with (
        open_output(output) as target,
        completed(open_writer(target, format_, layout, provenance, spool=None)) as writer,
    ):
        for rows in lines:
            writer.write(rows)


def write(
    work: Work, inputs: Inputs, output: str, running: options.Running, *, skip: bool = False
) -> list[Skipped]:
    """Run a job into a folder, a file or a pipe; return the sentences that cannot be used."""
    format_ = choose_format(output, running, work.layout or inputs.layout)

    def began(status: Status) -> None:
        if status.has_writers and running.restart:
            note(f"another run was writing to {output}: it will stop, and its output is discarded")
        elif status.has_writers and running.engine != "array":
            note(
                f"another run is writing to {output}, which is harmless: both write the same "
                "bytes, and each skips the parts that the other has finished"
            )
        if status.done:
            note(f"{len(status.done)} of {status.num_parts} parts already exist")

    with progress(work.command, inputs.num_sentences) as advance:
        how: dict[str, Any] = {"skip": skip, "advance": advance}
        if not is_folder(output):
            try:
                tally = run_to_file(work, inputs, output, format_, workers=running.workers, **how)
            except KeyboardInterrupt:
                if not is_stream(output):
                    note(
                        "interrupted; no file was written: a run into a folder (-o OUT/) can resume"
                    )
                raise
            say_selected(tally, inputs.num_sentences)
            skipped, written = tally.skipped, output
        else:
            try:
                status = run_job(work, inputs, output, running, format_=format_, began=began, **how)
            except KeyboardInterrupt:
                note("interrupted; finished parts are kept: rerun the same command to resume")
                raise
            count, total = len(status.done), status.num_parts
            parts = total if status.is_complete else f"{count} of {total}"
            written = f"{output} ({parts} part{'' if total == 1 else 's'})"
            skipped = status.skipped
    say_written(written)
    return skipped
