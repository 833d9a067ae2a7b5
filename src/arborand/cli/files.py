"""The commands that look at files: convert and check."""

from __future__ import annotations

from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.markup import escape

from arborand.cli import computing, options
from arborand.cli.messages import by_reason, list_skipped, say_written
from arborand.cli.options import OnError
from arborand.cli.running import open_corpus, process
from arborand.cli.streams import NoOutput, check_streams, chosen_format
from arborand.cli.tables import console, new_table
from arborand.formats.characters import visible
from arborand.formats.conllu import open_annotations
from arborand.formats.inputs import FormatError, SentenceError, open_input
from arborand.formats.journal import START, Position
from arborand.formats.outputs import open_output
from arborand.formats.provenance import provenance
from arborand.formats.rows import TREES, Rows, scores_layout
from arborand.formats.trees import holds_trees, layout_of, open_trees

if TYPE_CHECKING:
    from arborand.formats.conllu import Annotation, AnnotationFile
    from arborand.formats.inputs import InputFile
    from arborand.formats.scores import ScoresFile

# How many sentences with the same id are listed.
_LISTED_NUMBERS = 5


def convert(
    source: Annotated[
        str,
        typer.Argument(
            metavar="IN",
            help="A file of scores or of trees; '-' reads standard input.",
            show_default=False,
        ),
    ],
    output: Annotated[
        str,
        typer.Argument(
            metavar="OUT", help="Where to; its ending tells the format.", show_default=False
        ),
    ],
    conllu: options.Conllu = None,
    format_: options.OutFormat = None,
    resume: options.Resume = False,
    restart: options.Restart = False,
    on_error: options.OnBad = "stop",
) -> None:
    """Convert scores or trees from one format to another.

    Scores: from .npy, .npz, .safetensors or .parquet to .npz, .safetensors or
    .parquet. Trees: between .conllu, .jsonl, .parquet and .npz. With
    [cyan]--conllu[/cyan], scores get their tokens (.parquet) and trees their words and
    other columns (.conllu).

    [bold]Examples[/bold]

      [cyan]arborand convert scores.npz scores.parquet --conllu corpus.conllu[/cyan]

      [cyan]arborand convert trees.parquet trees.conllu --conllu corpus.conllu[/cyan]
    """
    check_streams(source, conllu, output)
    with open_input(source) as file:
        if holds_trees(file):
            if resume:
                raise typer.BadParameter("trees are converted in one go", param_hint="--resume")
            _convert_trees(file, output, conllu, format_, restart=restart)
        else:
            _convert_scores(
                file,
                output,
                conllu,
                format_,
                resume=resume,
                restart=restart,
                on_error=on_error,
            )


def _convert_scores(
    file: InputFile,
    output: str,
    conllu: str | None,
    format_: options.Format | None,
    *,
    resume: bool,
    restart: bool,
    on_error: OnError,
) -> None:
    with open_corpus(file, conllu) as corpus:
        layout = scores_layout(corpus.scores.dtype)
        chosen = chosen_format(output, format_, layout, resume=resume, restart=restart)
        record = provenance("convert", {}, inputs=corpus.inputs)
        target = open_output(output, chosen, layout, record, resume=resume, restart=restart)
        skipped = process(
            corpus,
            computing.Copy(layout.dtype),
            target,
            skip=on_error == "skip",
            what="convert",
        )
    say_written(output)
    list_skipped(skipped)


def _convert_trees(
    file: InputFile,
    output: str,
    conllu: str | None,
    format_: options.Format | None,
    *,
    restart: bool,
) -> None:
    chosen = chosen_format(output, format_, TREES, resume=False, restart=restart)
    with open_trees(file) as trees:
        layout = layout_of(trees)
        record = provenance("convert", {}, inputs={"input": file})
        if trees.provenance is not None:
            record["source"] = trees.provenance
        target = open_output(output, chosen, layout, record, restart=restart)
        try:
            if conllu is None:
                for rows in trees.rows():
                    target.write(rows)
            else:
                with open_annotations(conllu, by_sent_id=True) as annotations:
                    last: Annotation | None = None
                    index = 0
                    for rows in trees.rows():
                        rows, last = _annotated(rows, annotations, last, index)
                        index += len(rows.sent_ids)
                        target.write(rows)
            target.reached(Position(1), [])
            target.finish()
        except BaseException:
            target.reached(START, [])
            target.abandon()
            raise
    say_written(output)


def _annotated(
    rows: Rows, annotations: AnnotationFile, last: Annotation | None, index: int
) -> tuple[Rows, Annotation | None]:
    """Add words and columns to trees; `last` is what the sentence before had."""
    found: list[Annotation | None] = []
    for i, sent_id in enumerate(rows.sent_ids):
        if not (i == 0 and rows.first_sample):
            try:
                last = annotations.find(sent_id, index + i, int(rows.lengths[i]))
            except FormatError as error:
                raise SentenceError(sent_id, index + i, str(error)) from error
        found.append(last)
    answer = Rows(
        rows.sent_ids,
        rows.lengths,
        rows.num_rows,
        rows.columns,
        rows.values,
        rows.first_sample,
        [None if note is None else note.tokens for note in found],
        found,
    )
    return answer, last


class _Tally(NoOutput):
    """Counts what passes."""

    def __init__(self) -> None:
        super().__init__()
        self.sentences = self.words = self.longest = 0
        self.shortest: int | None = None

    def write(self, rows: Rows) -> None:
        lengths = rows.lengths.tolist()
        self.sentences += len(lengths)
        self.words += sum(lengths)
        self.longest = max(self.longest, *lengths)
        self.shortest = min([*lengths, *([] if self.shortest is None else [self.shortest])])


def check(
    scores: options.Scores,
    trees: options.Trees = "dependency",
    weights: options.Weights = False,
    conllu: options.Conllu = None,
) -> None:
    """Check a file of scores, and say what is wrong where.

    Looks at every number of every sentence: NaN, infinite scores, words without
    a possible head, matrices that do not fit their lengths, words that do not
    match the CoNLL-U file, ids that several sentences share. The exit status is 0
    if all sentences can be used and told apart.

    [bold]Examples[/bold]

      [cyan]arborand check scores.npz[/cyan]

      [cyan]arborand check scores.parquet --conllu corpus.conllu --trees spanning[/cyan]
    """
    check_streams(scores, conllu)
    tally = _Tally()
    with open_corpus(scores, conllu) as corpus:
        setting = computing.Setting(trees == "dependency", weights, 1)
        problems = process(
            corpus, computing.Gate(setting), tally, skip=True, what="check", may_skip_all=True
        )
        file, layout = corpus.scores.file, corpus.scores
        doubled = _doubled_ids(layout) if layout.has_sent_ids else {}
    table = new_table(show_header=False)
    table.add_column()
    table.add_column(overflow="fold")
    table.add_row("file", escape(f"{file.name} ({file.kind}, {layout.layout}, {layout.dtype})"))
    table.add_row("sha256", file.sha256)
    table.add_row("sentences", str(layout.num_sentences))
    if tally.sentences:
        mean = tally.words / tally.sentences
        table.add_row("words per sentence", f"{tally.shortest} to {tally.longest}, mean {mean:.1f}")
    table.add_row("sentence ids", "yes" if layout.has_sent_ids else "no (numbered from 1)")
    out = console()
    out.print(table)
    if problems:
        out.print(f"{len(problems)} of {layout.num_sentences} sentences cannot be used:")
        for line in by_reason(problems):
            out.print(escape(line), soft_wrap=True)
    else:
        out.print(f"all sentences have {trees} trees")
    if doubled:
        out.print(f"{len(doubled)} sent_ids stand for more than one sentence:")
        for sent_id, numbers in doubled.items():
            more = len(numbers) - _LISTED_NUMBERS
            listed = ", ".join(map(str, numbers[:_LISTED_NUMBERS]))
            listed += f" and {more} more" if more > 0 else ""
            out.print(escape(f"  {visible(sent_id)}: sentences number {listed}"), soft_wrap=True)
    if problems or doubled:
        raise typer.Exit(1)


def _doubled_ids(scores: ScoresFile) -> dict[str, list[int]]:
    """Find the ids that several sentences share, in 16 bytes of memory per sentence."""
    digests = b"".join(
        blake2b(sent_id.encode(), digest_size=16).digest()
        for sent_id in chain.from_iterable(scores.sent_ids())
    )
    halves = np.frombuffer(digests, dtype=np.uint64).reshape(-1, 2)
    order = np.lexsort(halves.T)
    is_same = (halves[order[1:]] == halves[order[:-1]]).all(axis=1)
    shared = {*order[1:][is_same].tolist(), *order[:-1][is_same].tolist()}
    found: dict[str, list[int]] = {}
    for index, sent_id in enumerate(chain.from_iterable(scores.sent_ids()) if shared else ()):
        if index in shared:
            found.setdefault(sent_id, []).append(index + 1)
    return found
