"""Notes, progress and lists of sentences: what the person at the terminal is told on the way."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from arborand.corpus.storage import is_stream
from arborand.formats.inputs import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from arborand.kinds import TreeKind

# How many lines a list of sentences has, and how many sentences with one reason it names.
_LISTED, _NAMED = 10_000, 3


def note(message: str) -> None:
    """Print a note on standard error."""
    print(f"arborand: {visible(message, keep=chr(10))}", file=sys.stderr)


def note_gold_without_tree(kind: TreeKind, where: str) -> None:
    """Note that gold heads have no log-probability, because they are not trees of this kind."""
    flaw = "crossing arcs" if kind.is_projective else "a cycle"
    note(
        f"the gold heads are not a {kind.noun} (for example, they have {flaw}) in {where}: the "
        "heads count, but there is no log-probability"
    )


def say_written(path: str | os.PathLike[str]) -> None:
    """Say on standard output that a file is complete; a pipe is its reader's business."""
    if not is_stream(os.fspath(path)):
        print(f"written: {visible(os.fspath(path))}", flush=True)


def list_skipped(skipped: Sequence[Sequence[Any]]) -> None:
    """List the sentences that were left out."""
    if not skipped:
        return
    count = len(skipped)
    note("\n".join([f"{count} sentence{'s' if count > 1 else ''} skipped:", *by_reason(skipped)]))


def by_reason(problems: Sequence[Sequence[Any]]) -> list[str]:
    """Write a line for each reason, with the sentences that cannot be used because of it.

    Examples
    --------
    >>> by_reason([["a", "too long"], ["b", "NaN"], ["c", "too long"]])
    ['  2 sentences (a, c): too long', '  b: NaN']
    """
    found: dict[str, list[str]] = {}
    for sent_id, *_, reason in problems:
        found.setdefault(reason, []).append(sent_id)
    lines = []
    for reason, sent_ids in list(found.items())[:_LISTED]:
        names = listed(sent_ids) if len(sent_ids) > 1 else visible(sent_ids[0])
        lines.append(f"  {names}: {visible(reason)}")
    return lines + (
        [f"  ... and {len(found) - _LISTED} other reasons"] if len(found) > _LISTED else []
    )


def listed(sent_ids: Sequence[str], count: int | None = None) -> str:
    """Name the first few of `count` sentences."""
    count = len(sent_ids) if count is None else count
    names = ", ".join(map(visible, sent_ids[:_NAMED])) + (", ..." if count > _NAMED else "")
    return f"{count} sentence{'s' if count > 1 else ''} ({names})"


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], Any]]:
    """Show how far a run has come, with its rate and the time left; not in a pipe."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        """Sentences per second."""

        def render(self, task: Any) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{speed:,.0f} sentences/s" if speed else "")

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task(what, total=total or None)  # None: nobody knows
        yield lambda finished: bar.update(task, completed=finished)
