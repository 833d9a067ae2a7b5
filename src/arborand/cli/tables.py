"""Tables on the terminal, where no output was named."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from arborand.formats.characters import visible
from arborand.pictures.markup import percent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arborand.formats.rows import Layout, Rows

# How many sentences share a table, where each has one line.
_LINES = 500
# How many heads of a word are listed, and from which probability on.
_MOST_HEADS, _LEAST = 3, 0.005
# How many characters of a sentence stand in a line that is about something else.
_TEXT = 40

_TITLES = {
    "log_partition": "log Z",
    "entropy": "entropy (nats)",
    "best_log_prob": "best tree",
    "single_root_share": "single-root share",
}
_ENTROPY = (
    "entropy 0: one tree has all the probability; 0.69: as unsure as between two equally probable "
    "trees; 2.3: as between ten"
)


class TableOutput:
    """Prints rows instead of writing them; see :class:`arborand.formats.outputs.Writer`."""

    def __init__(self, layout: Layout, provenance: dict[str, Any]) -> None:
        self._layout = layout
        self._provenance = provenance
        self._console = console()
        self._waiting: list[tuple[str, ...]] = []

    def write(self, rows: Rows) -> None:
        """Print rows."""
        for i, span, block in rows.sentences(self._layout):
            sent_id = visible(rows.sent_ids[i])
            words = rows.tokens[i] if rows.tokens else None
            tokens = None if words is None else [visible(word) for word in words]
            plural = "" if rows.lengths[i] == 1 else "s"
            title = f"{sent_id}  ({rows.lengths[i]} word{plural})"
            if self._layout.name == "trees" and block is not None:
                samples = rows.samples()[span].tolist()
                self._print_trees(title, samples, rows.columns["log_prob"][span], block, tokens)
            elif self._layout.name == "marginals" and block is not None:
                self._print_marginals(title, block[0], tokens)
            else:
                numbers = [rows.columns[name][span][0] for name in self._layout.columns]
                cells = [
                    plain_percent(math.exp(number))
                    if name == "best_log_prob"
                    else plain_percent(number)
                    if name == "single_root_share"
                    else f"{number:.6g}"
                    for name, number in zip(self._layout.columns, numbers, strict=True)
                ]
                text = "" if tokens is None else " ".join(tokens)
                text = text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"
                self._waiting.append((sent_id, str(rows.lengths[i]), *cells, text))
                if len(self._waiting) == _LINES:
                    self._print_lines()

    def close(self) -> None:
        """Print what is left, what its numbers mean, and where it comes from."""
        self._print_lines()
        if "entropy" in self._layout.columns:
            self._console.print(_ENTROPY, style="dim", soft_wrap=True)
        record = self._provenance
        parts = [f"arborand {record['version']}", record["command"]]
        parts += [f"{key} {record[key]}" for key in ("method",) if key in record]
        files = record["input"].get("files")
        name = record["input"]["name"] + (f" ({files} files)" if files else "")
        parts += [f"{name} sha256 {record['input']['sha256'][:12]}"]
        self._console.print(escape(" · ".join(parts)), style="dim", soft_wrap=True)

    def discard(self) -> None:
        """Stop."""
        self._print_lines()

    def _print_trees(
        self,
        title: str,
        samples: list[int],
        log_prob: NDArray[np.float64],
        heads: NDArray[np.int32],
        tokens: list[str] | None,
    ) -> None:
        self._console.print(escape(title), style="italic", soft_wrap=True)
        numbering = "tree" if self._layout.numbering == "sample" else self._layout.numbering
        table = new_table((numbering, "probability"))
        table.add_column("head → word", overflow="fold")
        names = ["ROOT", *(tokens or map(str, range(1, heads.shape[1] + 1)))]
        for sample, number, tree in zip(samples, log_prob.tolist(), heads.tolist(), strict=True):
            arcs = "  ".join(f"{names[head]}→{names[j]}" for j, head in enumerate(tree, 1))
            table.add_row(str(sample), plain_percent(math.exp(number)), escape(arcs))
        self._console.print(table)

    def _print_marginals(
        self, title: str, values: NDArray[np.float64], tokens: list[str] | None
    ) -> None:
        size = math.isqrt(len(values))
        marginals = values.reshape(size, size)
        self._console.print(escape(title), style="italic", soft_wrap=True)
        table = new_table()
        table.add_column("word", no_wrap=True)
        table.add_column("heads", overflow="fold")
        names = ["ROOT", *(tokens or map(str, range(1, size)))]
        for j in range(1, size):
            best = np.argsort(-marginals[:, j], kind="stable")[:_MOST_HEADS]
            heads = "  ".join(
                f"{names[i]} {plain_percent(marginals[i, j])}"
                for i in best.tolist()
                if marginals[i, j] >= _LEAST
            )
            table.add_row(escape(f"{j} {names[j]}" if tokens else names[j]), escape(heads))
        self._console.print(table)

    def _print_lines(self) -> None:
        if self._waiting:
            table = new_table()
            table.add_column("sentence", overflow="fold")
            for name in ("words", *(_TITLES[name] for name in self._layout.columns)):
                table.add_column(name, justify="right", no_wrap=True)
            if any(text for *_, text in self._waiting):
                table.add_column("text", no_wrap=True)
            for sent_id, *cells, text in self._waiting:
                table.add_row(escape(sent_id), *cells, *([escape(text)] if text else []))
            self._console.print(table)
            self._waiting = []


def console() -> Console:
    """Open standard output: as wide as the terminal, or as wide as it takes in a pipe."""
    plain = Console()
    return plain if plain.is_terminal else Console(width=1000, soft_wrap=False)


def new_table(right: tuple[str, ...] = (), *, show_header: bool = True) -> Table:
    """Start a table with some columns of numbers."""
    table = Table(box=None, show_header=show_header)
    for name in right:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def print_facts(facts: dict[str, Any]) -> None:
    """Print a table of names and what they stand for."""
    table = new_table(show_header=False)
    table.add_column()
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(escape(name), escape(visible(str(value))))
    console().print(table)


def print_lines(*lines: str) -> None:
    """Print lines as they are, however long."""
    for line in lines:
        console().print(escape(line), soft_wrap=True)


def plain_percent(probability: float) -> str:
    """Write a probability as on the pages, with plain spaces."""
    return percent(probability).replace("\u00a0", " ")
