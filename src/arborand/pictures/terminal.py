"""Words with arcs above them in plain characters, for terminals and logs."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from arborand.pictures.arcs import check_tree, num_nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
# Box-drawing characters by the sides on which they are open.
_BOXES = " ╵╷│╴┘┐┤╶└┌├─┴┬┼"
_TIP = "▾"


def arc_text(tokens: Sequence[str], heads: ArrayLike) -> str:
    """Draw a tree in box-drawing characters, for a monospaced font.

    Parameters
    ----------
    tokens : sequence of str
        The words, without the root.
    heads : array_like of int, shape (n + 1,)
        A tree.

    Returns
    -------
    str
        Lines without trailing blanks.  The last one has the words.

    Notes
    -----
    Arcs point down to the dependent.  Those that begin at the top come from the root.

    Examples
    --------
    >>> print(arc_text(["She", "read", "the", "book"], [-1, 2, 0, 4, 2]))
          │
          │┌─────────┐
     ┌───┐││    ┌───┐│
     ▾   │▾│    ▾   │▾
    She  read  the  book
    """
    tree = check_tree(heads, num_nodes(tokens), "heads").tolist()
    words = [_printable(token) for token in tokens]
    # Each word has three columns: for its own arc, and for arcs to dependents on either side.
    middles, edge = [0], 0
    for word in words:
        width = max(_columns(word), 3)
        middles.append(edge + (width - 1) // 2)
        edge += width + 2
    spans = []
    for dependent, head in enumerate(tree[1:], start=1):
        if head > 0:
            begin = middles[head] + (1 if dependent > head else -1)
            spans.append((abs(begin - middles[dependent]), begin, middles[dependent]))
    levels: list[tuple[int, int, int]] = []  # level, begin, end
    for _, begin, end in sorted(spans):
        left, right = min(begin, end), max(begin, end)
        below = [lv for lv, b, e in levels if min(b, e) <= right and max(b, e) >= left]
        levels.append((1 + max(below, default=0), begin, end))
    top = 1 + max((level for level, _, _ in levels), default=0)
    cells = [[0] * (edge + 1) for _ in range(top + 1)]  # line 0 is the lowest
    for level, begin, end in levels:
        left, right = min(begin, end), max(begin, end)
        for column in range(left, right + 1):
            cells[level][column] |= _LEFT * (column > left) | _RIGHT * (column < right)
        for column in (begin, end):
            _rise(cells, column, level)
    for dependent, head in enumerate(tree[1:], start=1):
        if head == 0:
            _rise(cells, middles[dependent], top)
            cells[top][middles[dependent]] |= _UP
    lines = [[_BOXES[sides] for sides in line] for line in cells]
    for middle in middles[1:]:
        lines[0][middle] = _TIP
    pictures = ["".join(line).rstrip() for line in reversed(lines)]
    row, position = "", 0
    for word, middle in zip(words, middles[1:], strict=True):
        start = middle - (_columns(word) - 1) // 2
        row += " " * (start - position) + word
        position = start + _columns(word)
    return "\n".join([*pictures, row])


def _rise(cells: list[list[int]], column: int, level: int) -> None:
    """Draw a vertical line from the words up to a level."""
    for line in range(level + 1):
        cells[line][column] |= (_DOWN if line else 0) | (_UP if line < level else 0)
    if level:
        cells[0][column] |= _DOWN


def _printable(token: str) -> str:
    return "".join(c if c.isprintable() else "\ufffd" for c in token) or "\ufffd"


def _columns(word: str) -> int:
    """Return the number of columns that a word takes in a terminal."""
    return sum(
        0
        if unicodedata.category(character) in ("Mn", "Me", "Cf")
        else 1 + (unicodedata.east_asian_width(character) in "WF")
        for character in word
    )
