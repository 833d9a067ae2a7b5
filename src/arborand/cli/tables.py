"""Tables on the terminal: as wide as it is, without cutting a number.

Where a line is too short, the columns that matter least are left out, the id of a sentence is
shortened in its middle and its text at its end.  In a pipe, lines are as wide as it takes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from arborand.formats.inputs import visible
from arborand.pictures.markup import distinct_names, percent, without_rounding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from arborand.corpus.reports import Word
    from arborand.formats.records import Layout, Rows

# How many sentences share a table, where each has one line.
_LINES = 500
# How many heads of a word are listed, and from which probability on.
_MOST_HEADS, _LEAST = 3, 0.005
# How many characters of a sentence stand in a line that is about something else, at most.
_MOST_TEXT = 80
# The spaces on both sides of a column.
_PADDING = 2

_ENTROPY = (
    "entropy 0: one tree has all the probability; 0.69: as uncertain as a choice between two "
    "equally probable trees; 2.3: among ten"
)


def plain_percent(probability: float) -> str:
    """Write a probability as on the pages, with plain spaces."""
    return percent(probability).replace("\u00a0", " ")


def six_digits(number: float | None) -> str:
    """Write a number for a table of facts; nothing if there is none."""
    return "" if number is None or math.isnan(number) else f"{number:.6g}"


# ---- what fits into a line


class Column(NamedTuple):
    """A column of a table about sentences.

    Attributes
    ----------
    title : str
    kind : str
        ``id``, ``number`` or ``text``.
    leaves : int
        Columns with the highest number are left out first; those with 0 stay.
    least : int
        How few characters of it still tell something; a number is never cut.
    """

    title: str
    kind: str = "number"
    leaves: int = 0
    least: int = 1000

    @property
    def most(self) -> int:
        """How many characters it takes at most."""
        return _MOST_TEXT if self.kind == "text" else 1000


SENTENCE = Column("sentence", "id", least=16)
TEXT = Column("text", "text", leaves=1, least=16)


def console() -> Console:
    """Open standard output: as wide as the terminal, or as wide as it takes in a pipe."""
    plain = Console()
    return plain if plain.is_terminal else Console(width=1000, soft_wrap=False)


def shorten_middle(text: str, width: int) -> str:
    """Shorten a text in its middle: ids that begin alike differ at their ends.

    Examples
    --------
    >>> shorten_middle("weblog-blogspot.com_20041117-0001", 16)
    'weblog…1117-0001'
    """
    if cell_len(text) <= width:
        return text
    end = max(0, (width - 1) * 3 // 5)
    tail = set_cell_size(text[::-1], end)[::-1]
    return f"{set_cell_size(text, max(0, width - 1 - end)).rstrip()}…{tail.lstrip()}"


def shorten_end(text: str, width: int) -> str:
    """Shorten a text at its end."""
    if cell_len(text) <= width:
        return text
    return f"{set_cell_size(text, max(0, width - 1)).rstrip()}…"


def fitted(
    columns: Sequence[Column], lines: Sequence[Sequence[str]], width: int
) -> tuple[list[Column], list[list[str]]]:
    """Choose the columns that fit into `width` characters, and shorten ids and texts."""
    natural = [
        max(cell_len(column.title), *(min(cell_len(line[i]), column.most) for line in lines))
        for i, column in enumerate(columns)
    ]
    least = [
        min(size, max(column.least, cell_len(column.title)))
        for column, size in zip(columns, natural, strict=True)
    ]
    kept = list(range(len(columns)))

    def room(sizes: list[int]) -> int:
        return width - sum(sizes[i] + _PADDING for i in kept)

    while room(least) < 0 and any(columns[i].leaves for i in kept):
        kept.remove(max(kept, key=lambda i: columns[i].leaves))
    sizes = list(least)
    while room(sizes) < 0 and any(columns[i].kind != "number" and sizes[i] > 1 for i in kept):
        sizes[max(kept, key=lambda i: (columns[i].kind != "number", sizes[i]))] -= 1
    while growing := [i for i in kept if sizes[i] < natural[i]][: max(0, room(sizes))]:
        for i in growing:  # what is left is shared
            sizes[i] += 1
    # Numbers, whose columns are as wide as it takes, stay as they are.
    shorten = {"id": shorten_middle, "text": shorten_end, "number": shorten_end}
    return (
        [columns[i] for i in kept],
        [[shorten[columns[i].kind](line[i], sizes[i]) for i in kept] for line in lines],
    )


def print_sentences(columns: Sequence[Column], lines: Sequence[Sequence[str]]) -> None:
    """Print a table with a line for each sentence; a column without content is left out."""
    filled = [i for i, column in enumerate(columns) if any(line[i] for line in lines)]
    columns = [columns[i] for i in filled]
    lines = [[line[i] for i in filled] for line in lines]
    kept, shown = fitted(columns, lines, console().width)
    table = Table(box=None)
    for column in kept:
        table.add_column(
            column.title, justify="right" if column.kind == "number" else "left", no_wrap=True
        )
    for line in shown:
        table.add_row(*map(escape, line))
    console().print(table)
    gone = [column.title for column in columns if column not in kept and column.title]
    if gone:
        say(f"{', '.join(gone)}: left out, to fit into {console().width} columns")


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


def say(text: str) -> None:
    """Print a line about a table."""
    console().print(escape(text), style="dim", soft_wrap=True)


def say_source(record: dict[str, Any]) -> None:
    """Print where a table comes from."""
    parts = [f"arborand {record['version']}", record["command"]]
    parts += [f"method {record['method']}"] if "method" in record else []
    files = record["input"].get("files")
    name = record["input"]["name"] + (f" ({files} files)" if files else "")
    parts += [f"{name} sha256 {record['input']['sha256'][:12]}"]
    say(" · ".join(parts))


def print_words(words: Sequence[Word], record: dict[str, Any]) -> None:
    """Print words with the entropy of their heads and their two likeliest heads."""
    columns = [
        SENTENCE,
        Column("word", "text", least=8),
        Column("entropy"),
        Column("head", "text", leaves=2, least=8),
        Column("", leaves=1),
        Column("or", "text", leaves=4, least=8),
        Column("", leaves=3),
    ]

    def named(number: int, form: str) -> str:
        name = visible(form)
        return name if number == 0 or name == str(number) else f"{number} {name}"

    lines = []
    for word in words:
        heads = [
            cell
            for number, form, p in zip(word.heads, word.head_forms, word.probabilities, strict=True)
            for cell in (named(number, form), plain_percent(p))
        ]
        heads += [""] * (4 - len(heads))
        cells = (named(word.number, word.form), f"{word.entropy:.3f}", *heads)
        lines.append([visible(word.sent_id), *cells])
    print_sentences(columns, lines)
    say("entropy: of the head of the word, in nats; 0.69: as a choice between two heads")
    say_source(record)


# ---- rows as tables


# The numbers of a sentence: how their columns look, and how they are written.
_COLUMNS: dict[str, tuple[Column, Callable[[float], str]]] = {
    "log_partition": (Column("log Z", leaves=4), "{:.6g}".format),
    "entropy": (Column("entropy (nats)"), "{:.6g}".format),
    "best_log_prob": (
        Column("best tree", leaves=2),
        lambda log_prob: plain_percent(math.exp(log_prob)),
    ),
    "single_root_share": (Column("single-root share", leaves=5), plain_percent),
}


class TableOutput:
    """Prints rows instead of writing them; see :class:`arborand.formats.records.Writer`."""

    def __init__(self, layout: Layout, provenance: dict[str, Any]) -> None:
        self._layout = layout
        self._provenance = provenance
        self._waiting: list[tuple[str, ...]] = []
        self._trees = _TreeTable(layout.numbering)

    def write(self, rows: Rows) -> None:
        """Print rows."""
        for i, span, block, labels in rows.sentences(self._layout):
            sent_id, length = visible(rows.sent_ids[i]), int(rows.lengths[i])
            words = rows.tokens[i] if rows.tokens else None
            tokens = None if words is None else [visible(word) for word in words]
            if self._layout.values is None:
                self._add_line(sent_id, length, rows, span.start, " ".join(tokens or ()))
                continue
            if i or not rows.first_sample:
                _print_heading(sent_id, length, tokens)
            names = ["ROOT", *distinct_names(tokens or [str(j) for j in range(1, length + 1)])]
            if self._layout.name == "marginals":
                numbered = [f"{j} {token}" for j, token in enumerate(tokens or (), 1)]
                heads = _likeliest_heads(block.reshape(length + 1, length + 1), names)
                print_table(["<word", "heads"], zip(numbered or names[1:], heads, strict=True))
                continue
            log_prob = rows.columns["log_prob"][span]
            relations = [[""] * length] * len(block)
            if labels is not None:
                relations = [
                    [f" {visible(rows.label_text(one))}" for one in tree]
                    for tree in labels.tolist()
                ]
            arcs = [
                [
                    f"{names[head]}→{word}{relation}"
                    for head, word, relation in zip(tree, names[1:], of_tree, strict=True)
                ]
                for tree, of_tree in zip(block.tolist(), relations, strict=True)
            ]
            self._trees.print(rows.samples()[span].tolist(), log_prob.tolist(), arcs)

    def close(self) -> None:
        """Print what is left, what its numbers mean, and where it comes from."""
        self.discard()
        if "entropy" in self._layout.columns:
            say(_ENTROPY)
        say_source(self._provenance)

    def discard(self) -> None:
        """Print what is left."""
        if self._waiting:
            numbers = [_COLUMNS[name][0] for name in self._layout.columns]
            if len(numbers) == 1:  # what the table is about
                numbers = [numbers[0]._replace(leaves=0)]
            columns = [SENTENCE, Column("words", leaves=3), *numbers, TEXT]
            print_sentences(columns, self._waiting)
            self._waiting = []

    def _add_line(self, sent_id: str, length: int, rows: Rows, row: int, text: str) -> None:
        columns = self._layout.columns
        cells = [_COLUMNS[name][1](float(rows.columns[name][row])) for name in columns]
        self._waiting.append((sent_id, str(length), *cells, text))
        if len(self._waiting) == _LINES:
            self.discard()


def _print_heading(sent_id: str, length: int, tokens: list[str] | None) -> None:
    size = f"({length} word{'' if length == 1 else 's'})"
    width = console().width
    name = shorten_middle(sent_id, max(1, width - len(size) - 2))
    console().print(escape(f"{name}  {size}"), style="italic", soft_wrap=True)
    if tokens is not None:
        console().print(escape(shorten_end(" ".join(tokens), width)), soft_wrap=True)


class _TreeTable:
    """The trees of a sentence: the first one in full, the others by what they change."""

    def __init__(self, numbering: str) -> None:
        self._is_ranking = numbering == "rank"
        self._first: list[str] = []
        self._covered = 0.0

    def print(self, numbers: list[int], log_prob: list[float], trees: list[list[str]]) -> None:
        """Print some trees, lists of arcs; those of a sentence may come in portions."""
        if numbers[:1] == [1]:
            self._first, self._covered = trees[0], 0.0
        lines = []
        for number, one, arcs in zip(numbers, log_prob, trees, strict=True):
            probability = math.exp(one)
            self._covered += probability
            covered = plain_percent(min(1.0, without_rounding(self._covered)))
            cells = [str(number), plain_percent(probability)]
            cells += [covered] if self._is_ranking else []
            lines.append((cells, self._described(number, arcs)))
        titles = [">rank" if self._is_ranking else ">tree", ">probability"]
        titles += [">cumulative"] if self._is_ranking else []
        sizes = [
            max(cell_len(title) - 1, *(cell_len(cells[i]) for cells, _ in lines))
            for i, title in enumerate(titles)
        ]
        width = console().width - sum(sizes) - _PADDING * (len(sizes) + 1)
        print_table(
            [*titles, "head→word"], [[*cells, _packed(arcs, width)] for cells, arcs in lines]
        )

    def _described(self, number: int, arcs: list[str]) -> list[str]:
        if number == 1:
            return arcs
        changed = [arc for arc, first in zip(arcs, self._first, strict=True) if arc != first]
        return [f"instead {changed[0]}", *changed[1:]] if changed else ["the same as tree 1"]


def _packed(pieces: list[str], width: int) -> str:
    """Write pieces one after the other; a line never ends within one of them, if it fits."""
    lines = [""]
    for piece in pieces:
        longer = f"{lines[-1]}  {piece}" if lines[-1] else piece
        if cell_len(longer) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(piece)
    return "\n".join(lines)


def _likeliest_heads(marginals: NDArray[np.float64], names: list[str]) -> Iterator[str]:
    for column in marginals.T[1:]:
        best = np.argsort(-column, kind="stable")[:_MOST_HEADS]
        named = (f"{names[i]} {plain_percent(column[i])}" for i in best if column[i] >= _LEAST)
        yield "  ".join(named)
