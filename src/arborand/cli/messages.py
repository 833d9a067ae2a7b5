"""What the person at the terminal is told: notes, skipped sentences, files written, progress."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape

from arborand.formats.characters import visible
from arborand.formats.outputs import is_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# How many skipped sentences are listed by name.
_LISTED = 10_000


def note(message: str) -> None:
    """Say something on standard error."""
    text = escape(visible(message, keep="\n"))
    Console(stderr=True, highlight=False, soft_wrap=True).print(f"arborand: {text}")


def say_written(path: str | os.PathLike[str]) -> None:
    """Say on standard output that a file is complete; a pipe is its reader's business."""
    if not is_stream(os.fspath(path)):
        print(f"written: {visible(os.fspath(path))}", flush=True)


def list_skipped(skipped: Sequence[Sequence[Any]]) -> None:
    """List the sentences that were left out."""
    if not skipped:
        return
    count = len(skipped)
    lines = [f"{count} sentence{'s' if count > 1 else ''} skipped:"]
    lines += [f"  {visible(one[0])}: {visible(one[-1])}" for one in skipped[:_LISTED]]
    lines += [f"  ... and {count - _LISTED} more"] if count > _LISTED else []
    note("\n".join(lines))


@contextmanager
def progress(what: str, total: int, done: int, *, quiet: bool) -> Iterator[Callable[[int], Any]]:
    """Show how far a run has come, with its rate and the time left; not in a pipe."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
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
        """Sentences a second."""

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
        task = bar.add_task(what, total=total, completed=done)
        yield lambda finished: bar.update(task, completed=finished)
