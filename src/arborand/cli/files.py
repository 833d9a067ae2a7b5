"""The commands that look at files and folders: convert, check and status."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import typer

from arborand.cli import options
from arborand.cli.jobs import check_files, check_relations, check_selection, prepare, write
from arborand.cli.tables import print_facts
from arborand.cli.terminal import by_reason, list_skipped, progress
from arborand.corpus.computations import make_work
from arborand.corpus.job import read_status
from arborand.corpus.reports import Findings, check_corpus
from arborand.corpus.shards import open_inputs, open_shard
from arborand.formats.inputs import visible
from arborand.formats.records import FINDINGS, TREES, scores_layout
from arborand.formats.scores import open_scores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arborand.corpus.selection import Selection
    from arborand.corpus.shards import Shard

# How many sentences with the same id are listed.
_LISTED_NUMBERS = 5


@options.command(
    source=options.argument(
        "IN", "Files of scores or of trees, folders or patterns; '-' reads standard input."
    ),
    output=options.argument(
        "OUT", "A file, whose ending sets the format, or a folder (OUT/) of parts."
    ),
    format_=options.formats(scores_layout(np.dtype("f8")), TREES),
)
def convert(
    source: list[str],
    output: str,
    conllu: str | None = None,
    relations: options.Relations | None = None,
    on_error: options.OnError = "stop",
    *,
    selecting: options.Selecting,
    running: options.Running,
) -> None:
    """Convert scores or trees from one format to another.

    Scores: from .npy, .npz, .safetensors or .parquet to .npz, .safetensors or .parquet. Trees:
    between .conllu, .jsonl, .parquet and .npz. With --conllu, scores get their tokens
    (.parquet), and trees their words and other columns (.conllu).

    Examples
    --------
      arborand convert scores.npz scores.parquet --conllu corpus.conllu
      arborand convert trees.parquet trees.conllu --conllu corpus.conllu
      arborand convert scores.npz shards/ --part-sentences 5000
    """
    check_files(source, conllu, output)
    check_relations(relations, conllu)
    selection = check_selection(selecting, conllu, output)
    work = make_work("convert", relations=relations).selecting(selection)
    with open_inputs(source, conllu, output, trees=True) as inputs:
        if inputs.layout.name == "trees" and selection is not None:
            _check_trees_selection(selection)
        list_skipped(write(work, inputs, output, running, skip=on_error == "skip"))


def _check_trees_selection(selection: Selection) -> None:
    if selection.is_sorted or selection.measures - {"length", "word"}:
        raise typer.BadParameter(
            "trees have no scores and keep their order: select them by --sent-id, --max-sentences, "
            "or --filter with 'length' or 'word'",
            param_hint="--sort" if selection.is_sorted else "--filter",
        )


@options.command(format_=options.formats(FINDINGS))
def check(
    scores: list[str],
    output: str | None = None,
    *,
    reading: options.Reading,
    running: options.Running,
) -> None:
    """Check the scores of a corpus, and report what is wrong.

    Looks at every number of every sentence: NaN, infinite scores, words without a possible
    head, matrices that do not fit their lengths, words that do not match the CoNLL-U file,
    ids that several sentences share. The exit status is 0 if all sentences can be used and
    told apart.

    With -o, sentences that cannot be used become rows, with the reason. Such a report is a job
    that can be resumed; it does not compare ids.

    Examples
    --------
      arborand check scores.npz
      arborand check scores.parquet --conllu corpus.conllu --trees spanning
      arborand check scores/ --workers 2 -o report/
    """
    work = prepare("check", scores, reading, output, running)
    with open_inputs(scores, reading.conllu, output) as inputs:
        if output is not None:
            found = Findings(write(work, inputs, output, running), {}, None)
        else:
            with progress("check", inputs.num_sentences) as advance:
                found = check_corpus(inputs, reading.setting, advance)
            print_facts(dict(_described(inputs.shards, found)))
    if found.problems:
        count = f"{len(found.problems)} of {inputs.num_sentences}"
        print(f"{count} sentences cannot be used:", *by_reason(found.problems), sep="\n")
    elif output is None and not found.lengths:
        print("there are no sentences")
    elif output is None:
        print(f"all sentences have {reading.setting.kind.noun}s")
    if found.doubled_ids:
        num_ids = len(found.doubled_ids)
        print(f"{num_ids} sent_id{'s are' if num_ids > 1 else ' is'} shared by several sentences:")
        for sent_id, numbers in found.doubled_ids.items():
            more = len(numbers) - _LISTED_NUMBERS
            listed = ", ".join(map(str, numbers[:_LISTED_NUMBERS]))
            listed += f" and {more} more" if more > 0 else ""
            print(f"  {visible(sent_id)}: sentences number {listed}")
    if found.problems or found.doubled_ids:
        raise typer.Exit(1)


def _described(shards: list[Shard], found: Findings) -> Iterator[tuple[str, str]]:
    """Say what the files are, and what is in them."""
    with (
        open_shard(shards[0], digest=len(shards) == 1) as file,
        open_scores(file) as scores,
    ):
        kind = f"({file.kind}, {scores.layout}, {scores.dtype})"
        if len(shards) == 1:
            yield "file", f"{file.name} {kind}"
            yield "sha256", file.sha256
        else:
            yield "files", f"{len(shards)}, the first of them {file.name} {kind}"
    yield "sentences", str(sum(shard.num_sentences for shard in shards))
    if found.lengths:
        words = sum(length * count for length, count in found.lengths.items())
        count = sum(found.lengths.values())
        spread = str(min(found.lengths))
        if len(found.lengths) > 1:
            spread += f" to {max(found.lengths)}, mean {words / count:.1f}"
        if found.problems:
            spread += f" (of the {count:,} usable sentences)"
        yield "words per sentence", spread
    yield "sentence ids", "no (numbered from 1)" if found.doubled_ids is None else "yes"


@options.command(folder=options.argument("FOLDER", "The output folder of a job."))
def status(folder: str) -> None:
    """Report the progress of a job, what failed and what was skipped.

    The exit status is 0 if the job is complete, and 1 if something is left to do.

    Examples
    --------
      arborand status trees/
      arborand status s3://bucket/trees/
    """
    found = read_status(folder)
    facts = {
        visible(name): value
        if not isinstance(value, dict)
        else f"{value['files']} file{'s' if value['files'] != 1 else ''}"
        for name, value in found.identity.items()
    }
    facts["parts"] = f"{len(found.done):,} of {found.num_parts:,}"
    # Sentences of trees are not known before they are read.
    total = max(found.num_sentences, found.num_sentences_done)
    facts["sentences"] = f"{found.num_sentences_done:,} of {total:,}"
    facts["rows"] = f"{found.num_rows:,}"
    print_facts(facts)
    for part, reason in found.failed.items():
        print(f"failed: {visible(part)}: {visible(reason)}")
    if found.skipped:
        what = "cannot be used" if found.identity.get("command") == "check" else "skipped"
        count = len(found.skipped)
        print(f"{count} sentence{'' if count == 1 else 's'} {what}:")
        for sent_id, number, reason in found.skipped:
            print(f"  {visible(sent_id)} (number {number}): {visible(reason)}")
    if found.is_complete:
        print("complete")
        return
    if found.has_writers:
        print("a run is writing to it")
    print("not complete: rerun the original command to resume")
    raise typer.Exit(1)
