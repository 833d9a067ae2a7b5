"""From the file to the output: read ahead, compute, write behind, in bounded memory.

Sentences pass in runs, in order.  While the core works on one run, one thread reads the next and
another writes the last.  Which sentences share a run has no influence on what is written.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arborand.cli.messages import note, progress
from arborand.errors import ArborandError
from arborand.formats.conllu import open_annotations
from arborand.formats.inputs import FormatError, SentenceError
from arborand.formats.journal import Position
from arborand.formats.scores import open_scores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from arborand.formats.conllu import AnnotationFile
    from arborand.formats.inputs import InputFile
    from arborand.formats.outputs import Output
    from arborand.formats.rows import Rows
    from arborand.formats.scores import ScoresFile
    from arborand.formats.sentences import Sentences

    # From a run, and how many draws of its first sentence are done already, to rows, each with how
    # many draws of the run's only sentence are done by then, or 0 at the end of the run.
    Computation = Callable[[Sentences, int], Iterator[tuple[Rows, int]]]

# How many portions may wait to be written: enough to go on while a Parquet row group is encoded.
_WAITING = 8


class StoppedError(ArborandError):
    """A run that ended early: the reason, and whether it can be continued."""


@dataclass(frozen=True)
class Corpus:
    """The scores of a corpus, with what a CoNLL-U file says about its sentences."""

    scores: ScoresFile
    annotations: AnnotationFile | None

    @property
    def inputs(self) -> dict[str, InputFile]:
        """All files, by role."""
        files = {"input": self.scores.file}
        if self.annotations is not None:
            files["conllu"] = self.annotations.file
        return files

    def runs(self, first: int = 0, *, num_trees: int = 0, scale: int = 1) -> Iterator[Sentences]:
        """Read the sentences from `first` on."""
        for run in self.scores.runs(first, num_trees=num_trees, scale=scale):
            yield run if self.annotations is None else run.annotated(self.annotations)


@contextmanager
def open_corpus(scores: str | InputFile, conllu: str | None) -> Iterator[Corpus]:
    """Open the scores of a corpus and, if given, its CoNLL-U file."""
    with open_scores(scores) as file:
        if conllu is None:
            yield Corpus(file, None)
        else:
            with open_annotations(conllu, by_sent_id=file.has_sent_ids) as annotations:
                yield Corpus(file, annotations)


def chosen_sentences(corpus: Corpus, wanted: list[str], most: int) -> Iterator[Sentences]:
    """Read some sentences, one by one: the wanted ones, or the first ones if none are named."""
    left = set(wanted)
    count = 0
    for run in corpus.runs():
        for one in run.one_by_one():
            if wanted and one.sent_ids[0] not in left:
                continue
            left.discard(one.sent_ids[0])
            yield one
            count += 1
            if (wanted and not left) or (not wanted and count == most):
                return
    if left:
        raise FormatError(
            f"{corpus.scores.file.name} has no sentence {', '.join(map(repr, sorted(left)))}"
        )


def process(
    corpus: Corpus,
    compute: Computation,
    output: Output,
    *,
    num_trees: int = 0,
    workers: int = 1,
    skip: bool = False,
    what: str,
    quiet: bool = False,
    may_skip_all: bool = False,
) -> list[list[str]]:
    """Compute something for every sentence and write it.

    Returns
    -------
    list of [sent_id, reason]
        The sentences that were skipped.

    Raises
    ------
    StoppedError
        If a sentence, a file or the disk did not allow to go on.
    KeyboardInterrupt
    """
    total = corpus.scores.num_sentences
    skipped = list(output.skipped)
    start = output.position
    last = ""
    try:
        with (
            progress(what, total, start.sentences, quiet=quiet) as advance,
            ThreadPoolExecutor(1, "arborand-reader") as reader,
            ThreadPoolExecutor(1, "arborand-writer") as writer,
        ):
            waiting: deque[Future[None]] = deque()
            num_told = len(skipped)

            def write(rows: Rows | None, position: Position) -> None:
                nonlocal num_told
                new, num_told = skipped[num_told:], len(skipped)
                while len(waiting) >= _WAITING:
                    waiting.popleft().result()
                waiting.append(writer.submit(_write, output, rows, position, new))

            # More threads than processors need no more memory.
            scale = min(workers, os.cpu_count() or 1)
            runs = corpus.runs(start.sentences, num_trees=num_trees, scale=scale)
            first_draw = start.draws
            for run in _ahead(reader, runs):
                for part in _usable(run, compute, first_draw, skipped, num_trees, skip=skip):
                    write(*part)
                first_draw = 0
                last = f"after sentence {run.sent_ids[-1]!r} (number {run.first + len(run)})"
                advance(run.first + len(run))
            while waiting:
                waiting.popleft().result()
        if total and len(skipped) == total and not may_skip_all:
            raise SentenceError(skipped[0][0], 0, f"{skipped[0][1]} (and no other is usable)")
        output.finish()
    except BaseException as error:
        can_continue = False
        with suppress(OSError):  # of the two errors, the first is the one to tell
            can_continue = output.abandon()
        if isinstance(error, KeyboardInterrupt):
            note("interrupted; continue with --resume" if can_continue else "interrupted")
            raise
        if isinstance(error, (ArborandError, OSError, MemoryError)) and not isinstance(
            error, BrokenPipeError
        ):
            raise StoppedError(
                _explained(error, last, can_continue=can_continue, skip=skip)
            ) from error
        raise
    return skipped


def _write(output: Output, rows: Rows | None, position: Position, skipped: list[list[str]]) -> None:
    if rows is not None:
        output.write(rows)
    output.reached(position, skipped)


def _ahead(reader: ThreadPoolExecutor, runs: Iterator[Sentences]) -> Iterator[Sentences]:
    """Read the next run while the last one is worked on."""
    future = reader.submit(next, runs, None)
    while (run := future.result()) is not None:
        future = reader.submit(next, runs, None)
        yield run


def _usable(
    run: Sentences,
    compute: Computation,
    first_draw: int,
    skipped: list[list[str]],
    num_trees: int,
    *,
    skip: bool,
) -> Iterator[tuple[Rows | None, Position]]:
    """Compute a run at once; if something in it is wrong, sentence by sentence to find it."""
    end = Position(run.first + len(run))
    if not run.faults:
        try:
            for rows, draws in compute(run, first_draw):
                yield rows, Position(run.first, draws) if draws else end
        except (ArborandError, MemoryError):
            pass  # some sentence is to blame: which one is found out below
        else:
            return
    for one in run.one_by_one():
        end = Position(one.first + 1)
        try:
            if one.faults:
                raise SentenceError(one.sent_ids[0], one.first, one.faults[0])
            for rows, draws in compute(one, first_draw):
                yield rows, Position(one.first, draws) if draws else end
        except (ArborandError, MemoryError) as error:
            reason = error.reason if isinstance(error, SentenceError) else str(error)
            if isinstance(error, MemoryError):
                reason = f"not enough memory for {one.lengths[0]} words"
                if num_trees > 1:
                    reason += f" and {num_trees} trees of them: ask for fewer trees"
            if not skip:
                raise SentenceError(one.sent_ids[0], one.first, reason) from error
            skipped.append([one.sent_ids[0], reason])
            yield None, end
        first_draw = 0


def _explained(error: BaseException, last: str, *, can_continue: bool, skip: bool) -> str:
    """Say what went wrong, where, and what can be done."""
    if isinstance(error, MemoryError):
        message = "not enough memory"
    elif isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        message = f"{where}{error.strerror or error}"
    else:
        message = str(error)
    if last and not isinstance(error, SentenceError):
        message = f"{message} ({last})"
    hints = []
    if isinstance(error, SentenceError) and not skip:
        hints.append("--on-error skip leaves such sentences out")
    if can_continue:
        hints.append("what is finished is kept: add --resume to go on from there")
    return f"{message}\n({'; '.join(hints)})" if hints else message
