"""What the person at the terminal sees: notes and progress on standard error, tables on output."""

from __future__ import annotations

import math
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from arborand.corpus.storage import is_stream
from arborand.formats.inputs import visible
from arborand.pictures.markup import percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from arborand.formats.records import Layout, Rows

# ---- notes and progress


# How many lines a list of sentences has, and how many sentences with one reason it names.
_LISTED, _NAMED = 10_000, 3


def note(message: str) -> None:
    """Print a note on standard error."""
    print(f"arborand: {visible(message, keep=chr(10))}", file=sys.stderr)


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


# ---- tables


# How many sentences share a table, where each has one line.
_LINES = 500
# How many heads of a word are listed, and from which probability on.
_MOST_HEADS, _LEAST = 3, 0.005
# How many characters of a sentence stand in a line that is about something else.
_TEXT = 40

_ENTROPY = (
    "entropy 0: one tree has all the probability; 0.69: as uncertain as a choice between two "
    "equally probable trees; 2.3: among ten"
)


def plain_percent(probability: float) -> str:
    """Write a probability as on the pages, with plain spaces."""
    return percent(probability).replace("\u00a0", " ")


# The numbers of a sentence: what they are called, and how they are written.
_COLUMNS: dict[str, tuple[str, Callable[[float], str]]] = {
    "log_partition": ("log Z", "{:.6g}".format),
    "entropy": ("entropy (nats)", "{:.6g}".format),
    "best_log_prob": ("best tree", lambda log_prob: plain_percent(math.exp(log_prob))),
    "single_root_share": ("single-root share", plain_percent),
}


class TableOutput:
    """Prints rows instead of writing them; see :class:`arborand.formats.records.Writer`."""

    def __init__(self, layout: Layout, provenance: dict[str, Any]) -> None:
        self._layout = layout
        self._provenance = provenance
        self._waiting: list[tuple[str, ...]] = []

    def write(self, rows: Rows) -> None:
        """Print rows."""
        for i, span, block in rows.sentences(self._layout):
            sent_id, length = visible(rows.sent_ids[i]), int(rows.lengths[i])
            words = rows.tokens[i] if rows.tokens else None
            tokens = None if words is None else [visible(word) for word in words]
            if self._layout.values is None or block is None:
                self._add_line(sent_id, length, rows, span.start, " ".join(tokens or ()))
                continue
            title = f"{sent_id}  ({length} word{'' if length == 1 else 's'})"
            names = ["ROOT", *(tokens or map(str, range(1, length + 1)))]
            if self._layout.name == "marginals":
                numbers = [f"{j} {name}" if tokens else name for j, name in enumerate(names)]
                heads = _likeliest_heads(block.reshape(length + 1, length + 1), names)
                print_table(["<word", "heads"], zip(numbers[1:], heads, strict=True), title)
                continue
            numbering = self._layout.numbering.replace("sample", "tree")
            trees = zip(rows.samples()[span], rows.columns["log_prob"][span], block, strict=True)
            lines = (
                (str(sample), plain_percent(math.exp(log_prob)), _arcs(heads.tolist(), names))
                for sample, log_prob, heads in trees
            )
            print_table([f">{numbering}", ">probability", "head → word"], lines, title)

    def close(self) -> None:
        """Print what is left, what its numbers mean, and where it comes from."""
        self.discard()
        if "entropy" in self._layout.columns:
            console().print(_ENTROPY, style="dim", soft_wrap=True)
        record = self._provenance
        parts = [f"arborand {record['version']}", record["command"]]
        parts += [f"method {record['method']}"] if "method" in record else []
        files = record["input"].get("files")
        name = record["input"]["name"] + (f" ({files} files)" if files else "")
        parts += [f"{name} sha256 {record['input']['sha256'][:12]}"]
        console().print(escape(" · ".join(parts)), style="dim", soft_wrap=True)

    def discard(self) -> None:
        """Print what is left."""
        if self._waiting:
            titles = [
                "sentence",
                ">words",
                *(f">{_COLUMNS[name][0]}" for name in self._layout.columns),
            ]
            has_texts = any(text for *_, text in self._waiting)
            lines = self._waiting if has_texts else [cells for *cells, _ in self._waiting]
            print_table([*titles, "<text"] if has_texts else titles, lines)
            self._waiting = []

    def _add_line(self, sent_id: str, length: int, rows: Rows, row: int, text: str) -> None:
        columns = self._layout.columns
        cells = [_COLUMNS[name][1](float(rows.columns[name][row])) for name in columns]
        text = text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"
        self._waiting.append((sent_id, str(length), *cells, text))
        if len(self._waiting) == _LINES:
            self.discard()


def _arcs(heads: list[int], names: list[str]) -> str:
    return "  ".join(f"{names[head]}→{names[j]}" for j, head in enumerate(heads, 1))


def _likeliest_heads(marginals: NDArray[np.float64], names: list[str]) -> Iterator[str]:
    for column in marginals.T[1:]:
        best = np.argsort(-column, kind="stable")[:_MOST_HEADS]
        named = (f"{names[i]} {plain_percent(column[i])}" for i in best if column[i] >= _LEAST)
        yield "  ".join(named)


def console() -> Console:
    """Open standard output: as wide as the terminal, or as wide as it takes in a pipe."""
    plain = Console()
    return plain if plain.is_terminal else Console(width=1000, soft_wrap=False)


def print_table(
    titles: Sequence[str], lines: Iterable[Sequence[str]], heading: str | None = None
) -> None:
    """Print a table, under a heading if there is one; without titles, if all are empty.

    A title that begins with ``>`` is that of numbers, one with ``<`` of short texts; other texts
    are broken where a line is too short for them.
    """
    table = Table(box=None, show_header=any(title.strip("<>") for title in titles))
    for title in titles:
        table.add_column(
            title.lstrip("<>"),
            justify="right" if title.startswith(">") else "left",
            no_wrap=title.startswith(("<", ">")),
            overflow="ellipsis" if title.startswith(("<", ">")) else "fold",
        )
    for line in lines:
        table.add_row(*map(escape, line))
    if heading is not None:
        console().print(escape(heading), style="italic", soft_wrap=True)
    console().print(table)


def print_facts(facts: dict[str, Any]) -> None:
    """Print a table of names and what they stand for."""
    print_table(["", ""], [(name, visible(str(value))) for name, value in facts.items()])
