"""Through the sentences: read, compute, write, in bounded memory.

Sentences pass in runs, in order.  Where processors are free, one thread reads the next run and
another writes the last while the core works on one.  Which sentences share a run has no influence
on what is written.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from arborand.corpus.computing import Check
from arborand.errors import ArborandError, SentenceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from arborand.formats.records import Layout, Rows, Sentences, Writer

    Computation = Callable[[Sentences], Iterator[Rows]]

# How many portions may wait to be written: enough to go on while a Parquet row group is encoded.
_WAITING = 8


class Skipped(NamedTuple):
    """A sentence that was left out."""

    sent_id: str
    number: int
    reason: str


class NoOutput:
    """Takes rows and keeps nothing of them; see :class:`arborand.formats.records.Writer`."""

    def begin(self, layout: Layout, provenance: dict[str, object]) -> NoOutput:
        """Keep where the rows come from."""
        del layout
        self.provenance = provenance
        return self

    def write(self, rows: Rows) -> None:
        """Let rows pass."""

    def close(self) -> None:
        """Nothing to complete."""

    def discard(self) -> None:
        """Nothing to give up."""


class Passage:
    """What has passed so far.

    Attributes
    ----------
    num_sentences, num_rows : int
    skipped : list of Skipped
    last : str
        Where the passage was, for messages.
    """

    def __init__(self) -> None:
        self.num_sentences = self.num_rows = 0
        self.skipped: list[Skipped] = []
        self.last = ""


def pass_over(
    runs: Iterator[Sentences],
    compute: Computation,
    writer: Writer,
    passage: Passage,
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
    passage : Passage
        What is kept of it, also if it ends with an error.
    num_trees : int
        How many were asked for, for messages.
    skip : bool
        Leave out sentences that cannot be used, instead of raising an error.
    overlap : bool
        Read and write in threads.  It takes less time, and a fifth more of the processors' time.
    advance : function
        Is told after every run how many sentences have passed.

    Raises
    ------
    SentenceError
        If a sentence cannot be used.
    """
    with ExitStack() as stack:
        if overlap:
            runs = _ahead(stack.enter_context(ThreadPoolExecutor(1, "arborand-reader")), runs)
            behind = _Behind(stack.enter_context(ThreadPoolExecutor(1, "arborand-writer")), writer)
            write = behind.write
        else:
            write = writer.write
        for run in runs:
            for rows in _usable(run, compute, passage.skipped, num_trees, skip=skip):
                passage.num_rows += int(rows.num_rows.sum())
                write(rows)
            passage.num_sentences += len(run)
            passage.last = f"after sentence {run.sent_ids[-1]!r} (number {run.first + len(run)})"
            advance(passage.num_sentences)
        if overlap:
            behind.wait()


class _Behind:
    """Writes in a thread what comes in order; a few portions may wait."""

    def __init__(self, thread: ThreadPoolExecutor, writer: Writer) -> None:
        self._thread = thread
        self._writer = writer
        self._waiting: deque[Future[None]] = deque()

    def write(self, rows: Rows) -> None:
        self.wait(_WAITING - 1)
        self._waiting.append(self._thread.submit(self._writer.write, rows))

    def wait(self, most: int = 0) -> None:
        """Wait until at most so many portions wait."""
        while len(self._waiting) > most:
            self._waiting.popleft().result()


def _ahead(reader: ThreadPoolExecutor, runs: Iterator[Sentences]) -> Iterator[Sentences]:
    """Read the next run while the last one is worked on."""
    future = reader.submit(next, runs, None)
    while (run := future.result()) is not None:
        future = reader.submit(next, runs, None)
        yield run


def _usable(
    run: Sentences,
    compute: Computation,
    skipped: list[Skipped],
    num_trees: int,
    *,
    skip: bool,
) -> Iterator[Rows]:
    """Compute a run at once; if something in it is wrong, sentence by sentence to find it."""
    if not run.faults and len(run) > 1:
        try:
            together = list(compute(run))
        except (ArborandError, MemoryError):
            pass  # some sentence is to blame: which one is found out below
        else:
            yield from together
            return
    for one in run.one_by_one():
        try:
            one.check_usable()
            yield from compute(one)
        except (ArborandError, MemoryError) as error:
            reason = error.reason if isinstance(error, SentenceError) else str(error)
            if isinstance(error, MemoryError):
                reason = f"not enough memory for {one.lengths[0]} words"
                if num_trees > 1:
                    reason += f" and {num_trees} trees of them: ask for fewer trees"
            if not skip:
                raise SentenceError(one.sent_ids[0], one.first, reason) from error
            skipped.append(Skipped(one.sent_ids[0], one.first + 1, reason))
            if isinstance(compute, Check):
                yield compute.finding(one, reason)
