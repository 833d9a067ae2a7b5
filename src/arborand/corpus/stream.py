"""The stream of sentences: read, computed, written, in bounded memory.

Sentences are processed in order, in runs: batches of consecutive sentences.  If processors are
free, one thread reads the next run and another writes the previous one while the core works.  The
output does not depend on which sentences share a run.
"""

from __future__ import annotations

import json
import shlex
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from arborand import __version__
from arborand.corpus.computations import Check, Setting
from arborand.corpus.selection import Selected, reason_of, select_rows
from arborand.corpus.shards import listing_digest, open_shard
from arborand.errors import ArborandError, FormatError, SentenceError
from arborand.formats.conllu import open_annotations
from arborand.formats.inputs import InputFile
from arborand.formats.outputs import completed
from arborand.formats.records import TREES, numbered
from arborand.formats.scores import open_scores
from arborand.formats.trees import layout_of, open_trees

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future
    from contextlib import AbstractContextManager

    from arborand.corpus.computations import Computation, Work
    from arborand.corpus.shards import Part, Shard
    from arborand.formats.conllu import Annotation, AnnotationFile
    from arborand.formats.records import Layout, Rows, ScoresFile, Sentences, Writer

# ---- sentences in


@dataclass(frozen=True)
class Corpus:
    """Sentences that are read in order, with what a CoNLL-U file says about them.

    Attributes
    ----------
    parts : sequence of Part
    file : InputFile or None
        The shard of the only part, opened; None if there are several.
    words : InputFile or None
        The CoNLL-U file.
    """

    parts: Sequence[Part]
    file: InputFile | None = None
    words: InputFile | None = None

    def open_part(self, part: Part) -> AbstractContextManager[InputFile]:
        """Open the shard of a part."""
        return open_shard(part.shard) if self.file is None else nullcontext(self.file)

    def runs(self, *, num_trees: int = 0, scale: int = 1) -> Iterator[Sentences]:
        """Read all sentences, in runs whose size is bounded."""
        with ExitStack() as stack:
            annotations: AnnotationFile | None = None
            for part in self.parts:
                with self.open_part(part) as file, open_scores(file) as scores:
                    if self.words is not None and annotations is None:
                        annotations = stack.enter_context(
                            open_annotations(self.words, by_sent_id=scores.has_sent_ids)
                        )
                    for run in _runs_of(part, scores, num_trees, scale):
                        yield run if annotations is None else _annotated_run(run, annotations)

    def record(
        self,
        command: str,
        options: dict[str, Any],
        seed: int | None = None,
        method: str | None = None,
    ) -> dict[str, Any]:
        """Make the provenance of an output, which is written into the output itself.

        It consists of version, command, seed, method and the digests of the inputs: enough to make
        the same output again.  It contains neither times nor folders, so the same command gives the
        same bytes anywhere and at any time.

        Parameters
        ----------
        command : str
            The name of the command.
        options : dict
            The options that influence the output; those that are None or False are left out.  An
            option without a name is a positional argument.
        seed, method
            None if nothing is drawn.
        """
        shards = [part.shard for part in self.parts]
        name = Path(shards[0].folder).name or "."
        files = {"input": self.file or InputFile(Path(), name, "", listing_digest(shards))}
        words = ["arborand", command, files["input"].name]
        for name, value in options.items():
            if value is True:
                words.append(f"--{name}")
            elif value is not None and value is not False:
                for one in value if isinstance(value, list) else [value]:
                    words += [f"--{name}", shlex.quote(str(one))] if name else [str(one)]
        if self.words is not None:
            files["conllu"] = self.words
            words += ["--conllu", self.words.name]
        record: dict[str, Any] = {"version": __version__, "command": " ".join(words)}
        if seed is not None:
            record["seed"] = seed
        if method is not None:
            record["method"] = method
        for role, file in files.items():
            record[role] = {"name": file.name, "sha256": file.sha256}
        if self.file is None:  # use the digest of the listing
            record["input"]["files"] = len(shards)
        return record


def _runs_of(part: Part, scores: ScoresFile, num_trees: int, scale: int) -> Iterator[Sentences]:
    """Read the sentences of a part; their numbers are those in the whole corpus."""
    before = part.shard.first
    for run in scores.runs(part.start, num_trees=num_trees, scale=scale):
        if part.stop != part.shard.num_sentences:
            if run.first >= part.stop:
                return
            run = run.part(0, min(len(run), part.stop - run.first))
        if before:
            ids = run.sent_ids
            if not scores.has_sent_ids:
                ids = numbered(before + run.first, len(run))
            run = replace(run, first=before + run.first, sent_ids=ids)
        yield run


def _annotated_run(run: Sentences, file: AnnotationFile) -> Sentences:
    """Add what a CoNLL-U file says about some sentences."""
    sent_ids, tokens = list(run.sent_ids), list(run.tokens)
    annotations: list[Annotation | None] = [None] * len(run)
    faults = dict(run.faults)
    for i, sent_id in enumerate(run.sent_ids):
        try:
            annotation = file.find(sent_id, run.first + i, int(run.lengths[i]))
        except FormatError as error:
            faults.setdefault(i, str(error))
            continue
        annotations[i] = annotation
        tokens[i] = annotation.tokens
        if annotation.sent_id is not None:
            sent_ids[i] = annotation.sent_id
    return replace(run, sent_ids=sent_ids, tokens=tokens, annotations=annotations, faults=faults)


@contextmanager
def open_corpus(parts: Sequence[Part], conllu: Shard | None) -> Iterator[Corpus]:
    """Open the shard of a single part, and the file with the words."""
    with ExitStack() as stack:
        file = words = None
        if len(parts) == 1:
            file = stack.enter_context(open_shard(parts[0].shard, digest=True))
        if conllu is not None:
            words = stack.enter_context(open_shard(conllu))
        yield Corpus(parts, file, words)


def has_ids(shard: Shard) -> bool:
    """Tell whether the sentences of a file have ids."""
    with open_shard(shard) as file, open_scores(file) as scores:
        return scores.has_sent_ids


# ---- processing


# How many portions may wait to be written while a Parquet row group is encoded.
_WAITING = 8


class Skipped(NamedTuple):
    """A sentence that was left out."""

    sent_id: str
    number: int
    reason: str


class NoOutput:
    """A writer that drops all rows; see :class:`arborand.formats.records.Writer`."""

    def begin(self, layout: Layout, provenance: dict[str, object]) -> NoOutput:
        """Keep the provenance of the rows."""
        del layout
        self.provenance = provenance
        return self

    def write(self, rows: Rows) -> None:
        """Drop rows."""

    def close(self) -> None:
        """Nothing to complete."""

    def discard(self) -> None:
        """Nothing to discard."""


class Tally:
    """What has been processed so far.

    Attributes
    ----------
    num_sentences, num_rows : int
    skipped : list of Skipped
    selected : Selected or None
        The sentences that were selected; None if all are processed.
    last : str
        The last sentence, for messages.
    """

    def __init__(self) -> None:
        self.num_sentences = self.num_rows = 0
        self.selected: Selected | None = None
        self.skipped: list[Skipped] = []
        self.last = ""

    @property
    def num_read(self) -> int:
        """The number of sentences that were read, selected or not."""
        return self.num_sentences if self.selected is None else self.selected.num_read


def process_runs(
    runs: Iterator[Sentences],
    compute: Computation,
    writer: Writer,
    tally: Tally,
    *,
    num_trees: int = 0,
    skip: bool = False,
    overlap: bool = True,
    advance: Callable[[int], object] = lambda count: None,
) -> None:
    """Compute something for every sentence and write it.

    Parameters
    ----------
    runs : iterator of Sentences
    compute : function from Sentences to an iterator of Rows
    writer : Writer
    tally : Tally
        Counts what is processed, even if the stream ends with an error.
    num_trees : int
        The number requested, for messages.
    skip : bool
        Leave out unusable sentences, instead of raising an error.
    overlap : bool
        Read and write in other threads.  This is faster, but takes a fifth more processor time.
    advance : function
        Called after every run with the number of sentences read so far.

    Raises
    ------
    SentenceError
        If a sentence cannot be used.
    """
    with ExitStack() as stack:
        if overlap:
            runs = _prefetched(stack.enter_context(ThreadPoolExecutor(1, "arborand-reader")), runs)
            thread = stack.enter_context(ThreadPoolExecutor(1, "arborand-writer"))
            background = _BackgroundWriter(thread, writer)
            write = background.write
        else:
            write = writer.write
        for run in runs:
            for rows in usable_rows(run, compute, tally.skipped, num_trees, skip=skip):
                tally.num_rows += int(rows.num_rows.sum())
                write(rows)
            tally.num_sentences += len(run)
            tally.last = f"after sentence {run.sent_ids[-1]!r} (number {run.first + len(run)})"
            advance(tally.num_read)
        if overlap:
            background.wait()


class _BackgroundWriter:
    """Writes rows in another thread, in order; a few portions may wait."""

    def __init__(self, thread: ThreadPoolExecutor, writer: Writer) -> None:
        self._thread = thread
        self._writer = writer
        self._waiting: deque[Future[None]] = deque()

    def write(self, rows: Rows) -> None:
        self.wait(_WAITING - 1)
        self._waiting.append(self._thread.submit(self._writer.write, rows))

    def wait(self, most: int = 0) -> None:
        """Wait until at most `most` portions are left."""
        while len(self._waiting) > most:
            self._waiting.popleft().result()


def _prefetched(reader: ThreadPoolExecutor, runs: Iterator[Sentences]) -> Iterator[Sentences]:
    """Read the next run while the current one is processed."""
    future = reader.submit(next, runs, None)
    while (run := future.result()) is not None:
        future = reader.submit(next, runs, None)
        yield run


def usable_rows(
    run: Sentences,
    compute: Computation,
    skipped: list[Skipped],
    num_trees: int,
    *,
    skip: bool,
) -> Iterator[Rows]:
    """Compute a run at once; if that fails, sentence by sentence, to find the one that failed."""
    if not run.faults and len(run) > 1:
        try:
            together = list(compute(run))
        except (ArborandError, MemoryError):
            pass  # the loop below finds the sentence that failed
        else:
            yield from together
            return
    for one in run.one_by_one():
        try:
            one.check_usable()
            yield from compute(one)
        except (ArborandError, MemoryError) as error:
            reason = reason_of(error, one, num_trees)
            if not skip:
                raise SentenceError(one.sent_ids[0], one.first, reason) from error
            skipped.append(Skipped(one.sent_ids[0], one.first + 1, reason))
            if isinstance(compute, Check):
                yield compute.finding(one, reason)


# ---- rows out


def write_rows(
    work: Work,
    corpus: Corpus,
    begin: Callable[[Layout, dict[str, Any]], Writer],
    tally: Tally,
    *,
    skip: bool = False,
    overlap: bool = True,
    advance: Callable[[int], object] = lambda count: None,
) -> None:
    """Compute the rows of a corpus, and write them.

    Parameters
    ----------
    work : Work
    corpus : Corpus
    begin : function from layout and provenance to Writer
    tally, skip, overlap, advance
        See :func:`arborand.corpus.stream.process_runs`.
    """
    record = corpus.record(work.command, work.options, work.seed, work.method)
    if work.layout is None or work.compute is None:
        _convert_trees(work, corpus, record, begin, tally, advance)
        return
    with completed(begin(work.layout, record)) as writer:
        runs = corpus.runs(num_trees=work.num_trees, scale=work.run_scale)
        if work.selection is not None:
            # A copy has no options; its scores are measured as log-weights, which most are.
            setting = getattr(work.compute, "setting", Setting("dependency", False, 1))
            tally.selected = Selected(work.selection, runs, setting)
            runs = iter(tally.selected)
        process_runs(
            runs,
            work.compute,
            writer,
            tally,
            num_trees=work.num_trees,
            skip=skip or work.command == "check",
            overlap=overlap,
            advance=advance,
        )


def _convert_trees(
    work: Work,
    corpus: Corpus,
    record: dict[str, Any],
    begin: Callable[[Layout, dict[str, Any]], Writer],
    tally: Tally,
    advance: Callable[[int], object],
) -> None:
    """Copy trees, with the words and columns of a CoNLL-U file if there is one."""
    with ExitStack() as stack:
        annotations = None
        if corpus.words is not None:
            annotations = stack.enter_context(open_annotations(corpus.words, by_sent_id=True))
        writers: list[Writer] = []

        def portions() -> Iterator[Rows]:
            index = 0
            for part in corpus.parts:
                with corpus.open_part(part) as file, open_trees(file) as trees:
                    if not writers:  # the first file determines the layout of all
                        if trees.provenance is not None:
                            record["source"] = trees.provenance
                        keeps = "relations" in work.options
                        layout = replace(layout_of(trees), keeps_relations=keeps)
                        writer = completed(begin(layout, record))
                        writers.append(stack.enter_context(writer))
                    last: Annotation | None = None
                    for rows in trees.rows():
                        if annotations is not None:
                            rows, last = _annotated_rows(rows, annotations, last, index)
                        index += len(rows.sent_ids)
                        yield rows

        chosen = portions()
        if work.selection is not None:
            chosen = select_rows(work.selection, chosen, TREES)
        for rows in chosen:
            writers[0].write(rows)
            tally.num_sentences += len(rows.sent_ids) - int(rows.first_sample > 0)
            tally.num_rows += int(rows.num_rows.sum())
            advance(tally.num_sentences)


def _annotated_rows(
    rows: Rows, annotations: AnnotationFile, last: Annotation | None, index: int
) -> tuple[Rows, Annotation | None]:
    """Add words and columns to trees; `last` holds those of the previous sentence."""
    found: list[Annotation | None] = []
    for i, sent_id in enumerate(rows.sent_ids):
        if not (i == 0 and rows.first_sample):
            try:
                last = annotations.find(sent_id, index + i, int(rows.lengths[i]))
            except FormatError as error:
                raise SentenceError(sent_id, index + i, str(error)) from error
        found.append(last)
    tokens = [None if note is None else note.tokens for note in found]
    return replace(rows, tokens=tokens, annotations=found), last


def as_comment(record: dict[str, Any]) -> str:
    """Write provenance as an HTML or XML comment, which two hyphens would end."""
    text = json.dumps(record, sort_keys=True).replace("-", "\\u002d")
    return f"\n<!-- arborand {text} -->\n"
