"""Words in a row with arcs above them, as one SVG: a tree, marginal probabilities, or both.

Arcs rise with the logarithm of their length, so that 75 words stay as legible as seven, and an arc
has the same shape in every picture of a sentence, so that pictures can be compared.  Colours are
attributes, for programs that know no style sheets; a page's style sheet overrides them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arborand.errors import InvalidTreeError
from arborand.pictures.markup import (
    brief_percent,
    distinct_names,
    escape,
    is_right_to_left,
    percent,
    shorten,
    text_width,
)
from arborand.trees import check_trees

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import ArrayLike, NDArray

FONT_FAMILY = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'Liberation Sans', sans-serif"
# Blue, vermilion and amber of Okabe and Ito's palette, which colour-blind readers tell apart; the
# first two darkened to a contrast of 4.5 on white.
BLUE, VERMILION, AMBER, INK, GREY = "#0068a5", "#b84a00", "#e69f00", "#1c2127", "#5c6670"

_WORD_SIZE = 15
_LABEL_SIZE = 11
_LEAST_SLOT = 39  # room for "100 %" between the arrows into neighbouring words
_WORD_GAP = 14
_MARGIN = 10
_ROOT_ROOM = 34  # above the highest arc, for the beginnings of root arcs and their labels
_WORD_ROOM, _ENTROPY_ROOM = 30, 14  # below the arcs
_OUT, _IN = 7, 2.5  # how far beside a word's middle arcs begin and end
_LEAST_LABELLED = 0.1  # where an SVG is to be short
# Words whose head has less entropy than this are settled: a head of 97 % and one of 3 % have 0.13.
UNCERTAIN_NATS = 0.2
# What "0.4 nats" needs.  On a page, whose legend names the unit, less room gets the number alone.
_NATS_ROOM = 46


class Arc(NamedTuple):
    """One arc as it is to be drawn; `role` is ``"tree"``, ``"other"`` or ``"candidate"``."""

    head: int
    dependent: int
    probability: float | None
    role: str


class Diagram(NamedTuple):
    """An SVG element with the size it has."""

    svg: str
    width: int
    height: int


def arc_diagram(
    tokens: Sequence[str],
    heads: ArrayLike | None = None,
    marginals: ArrayLike | None = None,
    *,
    compare_to: ArrayLike | None = None,
    threshold: float = 0.01,
    right_to_left: bool | None = None,
    label: str | None = None,
) -> str:
    """Draw words with their arcs.

    Parameters
    ----------
    tokens : sequence of str
        The words, without the root.
    heads : array_like of int, shape (n + 1,), optional
        A tree, whose arcs are drawn in full.
    marginals : array_like, shape (n + 1, n + 1), optional
        ``P(head -> dependent)``.  Arcs are drawn the more opaque, the more probable they are; words
        whose head is uncertain are highlighted, with the entropy of their head in nats.
    compare_to : array_like of int, shape (n + 1,), optional
        Another tree; arcs of `heads` that it does not have are dashed and in another colour.
    threshold : float
        Arcs less probable than this are left out, unless the tree has them.
    right_to_left : bool, optional
        Whether the first word stands at the right; by default, if most words are in such a script.
    label : str, optional
        What a screen reader says; by default the arcs in words.

    Returns
    -------
    str
        One SVG element, complete in itself.

    Examples
    --------
    >>> svg = arc_diagram(["Trees", "grow"], heads=[-1, 2, 0])
    >>> svg.startswith("<svg"), svg.count('class="arc tree"')
    (True, 2)
    """
    size = num_nodes(tokens)
    tree = None if heads is None else check_tree(heads, size, "heads")
    other = None if compare_to is None else check_tree(compare_to, size, "compare_to")
    table = None if marginals is None else check_marginals(marginals, size)
    drawn = select_arcs(tree, table, other, threshold)
    if label is None:
        label = describe(tokens, tree, table)
    entropies = None if table is None else head_entropy(table)
    return render(tokens, drawn, entropies=entropies, label=label, right_to_left=right_to_left).svg


def num_nodes(tokens: Sequence[str]) -> int:
    """Count the words, and the root; a text has to be split first."""
    if isinstance(tokens, str):
        raise TypeError(f"tokens is the string {tokens!r:.60}: pass a list of words")
    return len(tokens) + 1


def check_tree(heads: ArrayLike, size: int, name: str) -> NDArray[np.intp]:
    """Let a tree of `size` nodes through."""
    array = np.asarray(heads)
    if array.shape != (size,):
        raise InvalidTreeError(
            f"{name} has shape {array.shape} where there are {size - 1} tokens: expected "
            f"({size},), with -1 for the root"
        )
    return check_trees(array)


def check_marginals(marginals: ArrayLike, size: int) -> NDArray[np.float64]:
    """Let a table of arc probabilities of `size` nodes through."""
    table = np.asarray(marginals, dtype=np.float64)
    if table.shape != (size, size):
        raise ValueError(
            f"marginals has shape {table.shape} where there are {size - 1} tokens: expected "
            f"({size}, {size}), the root included"
        )
    if not ((table >= 0.0) & (table <= 1.0 + 1e-9)).all():
        raise ValueError("marginals holds something else than probabilities, 0 to 1")
    return table


def head_entropy(marginals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the entropy of each word's head in nats; index 0, the root, is 0."""
    logs = np.log(marginals, out=np.zeros_like(marginals), where=marginals > 0)
    entropy: NDArray[np.float64] = np.maximum(-(marginals * logs).sum(axis=0), 0.0)
    entropy[0] = 0.0
    return entropy


def select_arcs(
    tree: NDArray[np.intp] | None,
    marginals: NDArray[np.float64] | None,
    compare_to: NDArray[np.intp] | None = None,
    threshold: float = 0.01,
    also: Collection[tuple[int, int]] = (),
) -> list[Arc]:
    """List the arcs worth drawing, the faintest first, so that strong ones lie on top."""
    chosen: dict[tuple[int, int], Arc] = {}
    if marginals is not None:
        for head, dependent in np.argwhere(marginals >= max(threshold, 1e-300)).tolist():
            probability = float(marginals[head, dependent])
            chosen[head, dependent] = Arc(head, dependent, probability, "candidate")
        for head, dependent in also:
            probability = float(marginals[head, dependent])
            chosen[head, dependent] = Arc(head, dependent, probability, "candidate")
    if tree is not None:
        for dependent, head in enumerate(tree.tolist()[1:], start=1):
            known = None if marginals is None else float(marginals[head, dependent])
            same = compare_to is None or compare_to[dependent] == head
            chosen[head, dependent] = Arc(head, dependent, known, "tree" if same else "other")
    strength = {"candidate": 0, "tree": 1, "other": 2}
    return sorted(
        chosen.values(),
        key=lambda arc: (strength[arc.role], arc.probability or 0.0, arc.dependent, arc.head),
    )


def describe(
    tokens: Sequence[str],
    tree: NDArray[np.intp] | None,
    marginals: NDArray[np.float64] | None,
) -> str:
    """Say in words what a picture shows."""
    names = ["the root", *distinct_names(tokens)]
    if tree is not None:
        return "; ".join(
            f"{names[dependent]} depends on {names[head]}"
            for dependent, head in enumerate(tree.tolist()[1:], start=1)
        )
    if marginals is not None:
        likeliest = marginals.argmax(axis=0).tolist()
        return "Likeliest heads: " + "; ".join(
            f"{names[dependent]}: {names[head]}, {brief_percent(float(marginals[head, dependent]))}"
            for dependent, head in enumerate(likeliest[1:], start=1)
        )
    return " ".join(tokens)


def render(
    tokens: Sequence[str],
    arcs: Sequence[Arc],
    *,
    label: str,
    entropies: NDArray[np.float64] | None = None,
    right_to_left: bool | None = None,
    scale: float = 1.0,
) -> Diagram:
    """Put words and arcs into an SVG."""
    words = [shorten(token) for token in tokens]
    if right_to_left is None:
        right_to_left = is_right_to_left(tokens)
    middles, width = _places(slots(tokens), right_to_left)
    ground = _ground(arcs)
    height = ground + _WORD_ROOM + _ENTROPY_ROOM * (entropies is not None)
    names = ["root", *tokens]
    parts = [
        f'<svg class="arcs" xmlns="http://www.w3.org/2000/svg" role="img" '
        f'aria-label="{escape(label)}" width="{scale * width:.0f}" height="{scale * height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="{FONT_FAMILY}" '
        f'direction="ltr" style="--natural:{scale * width:.0f}px">'
        '<rect class="paper" width="100%" height="100%" fill="#fff"/><g>'
    ]
    parts += [
        _word(words, tokens, middles, ground, entropies, right_to_left, j)
        for j in range(len(words))
    ]
    parts += [_arc(arc, middles, ground, names) for arc in arcs]
    # Labels do not shrink with the rest: they are small enough.
    size = _LABEL_SIZE / min(scale, 1.0)
    parts += [_label(*label, size) for label in _labels(arcs, middles, ground, size)]
    parts.append("</g></svg>")
    return Diagram("".join(parts), round(scale * width), round(scale * height))


def render_bare(
    tokens: Sequence[str],
    arcs: Sequence[Arc],
    *,
    label: str,
    entropies: NDArray[np.float64],
    right_to_left: bool,
    identifier: str,
    below: Sequence[Sequence[str]] = (),
) -> Diagram:
    """Put words and arcs into an SVG as short as possible, for a page with a style sheet."""
    rooms = slots(tokens, below)
    middles, width = _places(rooms, right_to_left)
    ground = _ground(arcs)
    height = ground + _WORD_ROOM + _ENTROPY_ROOM * (1 + len(below))
    marks: list[str] = []
    rows: list[list[str]] = [[] for _ in range(2 + len(below))]  # words, what is below them, nats
    for position, token in enumerate(tokens):
        x, entropy = middles[position + 1], float(entropies[position + 1])
        rows[0].append(f'<tspan x="{x:.0f}">{escape(shorten(token))}</tspan>')
        for row, line in zip(rows[1:], below, strict=False):
            row.append(f'<tspan x="{x:.0f}">{escape(shorten(line[position], 12))}</tspan>')
        if entropy >= UNCERTAIN_NATS:
            half = text_width(shorten(token), _WORD_SIZE) / 2 + 5
            unit = " nats" if round(rooms[position]) >= _NATS_ROOM else ""
            rows[-1].append(f'<tspan x="{x:.0f}">{entropy:.1f}{unit}</tspan>')
            marks.append(
                f'<rect x="{x - half:.0f}" y="{ground + 4:.0f}" width="{2 * half:.0f}" '
                f'fill-opacity="{_heat(entropy):.2f}"/>'
            )
    direction = ' direction="rtl"' if right_to_left else ""
    texts = [
        f'<text class="{"below" if number else "form"}" y="{ground + y:.0f}"'
        f"{'' if number else direction}>{''.join(row)}</text>"
        for number, (row, y) in enumerate(zip(rows, (20, 39, 52, 65), strict=False))
        if row
    ]
    lines: dict[str, list[str]] = {}
    for arc in arcs:
        (x, y), (_, top), _, (end, ground) = _curve(arc, middles, ground)
        up, far = round(y) - round(top), round(end) - round(x)
        way = f"c0-{up} {far}-{up} {far} 0" if arc.head else f"V{ground:.0f}"
        faint = ""
        if arc.role == "candidate":
            faint = f' opacity="{0.14 + 0.86 * (arc.probability or 0.0):.2f}"'
        lines.setdefault(arc.role, []).append(
            f'<path{faint} d="M{x:.0f} {y:.0f}{way}m-3-7l3 7 3-7"/>'
        )
    groups = (f'<g class="arc {role}">{"".join(paths)}</g>' for role, paths in lines.items())
    labels = (
        f'<text x="{x:.0f}" y="{y:.0f}">{escape(words)}</text>'
        for x, y, words, arc in _labels(arcs, middles, ground, _LABEL_SIZE)
        if arc.head == 0 or (arc.probability or 0.0) >= _LEAST_LABELLED
    )
    svg = (
        f'<svg class="arcs bare" role="img" aria-label="{escape(label)}" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" direction="ltr">'
        f'<g id="{identifier}"><g class="heat">{"".join(marks)}</g>{"".join(texts)}'
        f'{"".join(groups)}<g class="labels">{"".join(labels)}</g></g></svg>'
    )
    return Diagram(svg, round(width), round(height))


def slots(tokens: Sequence[str], below: Sequence[Sequence[str]] = ()) -> list[float]:
    """Give each word its room: for itself, and for what stands below it."""
    answer = []
    for position, token in enumerate(tokens):
        under = [text_width(shorten(line[position], 12), 10) + 6 for line in below]
        answer.append(max(text_width(shorten(token), _WORD_SIZE) + _WORD_GAP, _LEAST_SLOT, *under))
    return answer


def _places(slots: Sequence[float], right_to_left: bool) -> tuple[list[float], float]:
    """Return the middle of every word, with an unused one for the root, and the total width."""
    middles = [0.0]
    edge = float(_MARGIN)
    for slot in slots:
        middles.append(edge + slot / 2)
        edge += slot
    width = edge + _MARGIN
    if right_to_left:
        middles = [0.0, *(width - middle for middle in middles[1:])]
    return middles, width


def _ground(arcs: Sequence[Arc]) -> float:
    """Return where the arcs end, above the words."""
    highest = max((_rise(arc) for arc in arcs if arc.head), default=0.0)
    return _ROOT_ROOM + max(highest, 30.0)


def _heat(entropy: float) -> float:
    """Return how strongly an uncertain word is marked."""
    return 0.15 + 0.4 * min(1.0, entropy / 1.5)


def _rise(arc: Arc) -> float:
    """Return the height of an arc between words."""
    return 26.0 + 44.0 * math.log2(1.0 + (abs(arc.head - arc.dependent) - 1) / 3.0)


def _curve(arc: Arc, middles: Sequence[float], ground: float) -> tuple[tuple[float, float], ...]:
    """Return the four points of an arc's Bezier curve."""
    if arc.head == 0:
        x = middles[arc.dependent]
        return ((x, 16.0), (x, 16.0), (x, ground), (x, ground))
    side = 1 if middles[arc.dependent] > middles[arc.head] else -1
    begin, end = middles[arc.head] + side * _OUT, middles[arc.dependent] - side * _IN
    top = ground - 4.0 / 3.0 * _rise(arc)  # a cubic curve gets 3/4 of the way to its handles
    return ((begin, ground), (begin, top), (end, top), (end, ground))


def _arc(arc: Arc, middles: Sequence[float], ground: float, names: Sequence[str]) -> str:
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = _curve(arc, middles, ground)
    strength = 1.0 if arc.role != "candidate" else arc.probability or 0.0
    opacity = 0.14 + 0.86 * strength
    color = VERMILION if arc.role == "other" else INK if arc.role == "tree" else BLUE
    dashes = ' stroke-dasharray="6 3"' if arc.role == "other" else ""
    said = f"{names[arc.head]} → {names[arc.dependent]}"
    if arc.probability is not None:
        said += f", {percent(arc.probability)}"
    return (
        f'<g class="arc {arc.role}" data-arc="{arc.head}-{arc.dependent}" opacity="{opacity:.2f}" '
        f'stroke="{color}" fill="{color}"><title>{escape(said)}</title>'
        f'<path class="line" fill="none" stroke-width="{1.0 + 1.2 * strength:.1f}"{dashes} '
        f'd="M{x0:.1f} {y0:.1f}C{x1:.1f} {y1:.1f} {x2:.1f} {y2:.1f} {x3:.1f} {y3 - 5:.1f}"/>'
        f'<path class="tip" stroke="none" d="M{x3:.1f} {y3 + 1:.1f}l-3.6-8h7.2z"/></g>'
    )


def _labels(
    arcs: Sequence[Arc], middles: Sequence[float], ground: float, size: float
) -> list[tuple[float, float, str, Arc]]:
    """Write "root" over root arcs, and probabilities on arcs that are neither sure nor rare."""
    labels: list[tuple[float, float, str, Arc]] = []
    taken: list[tuple[float, float, float]] = []  # x, y, half the width
    for arc in arcs:
        if arc.head == 0:
            x = middles[arc.dependent]
            words = "root"
            if arc.probability is not None and arc.probability < 0.97:
                words = brief_percent(arc.probability)
            taken.append((x, 9.0, text_width(words, size) / 2))
            labels.append((x, 11.0, words, arc))
    for arc in sorted(arcs, key=lambda arc: -(arc.probability or 0.0)):
        if arc.head == 0 or arc.probability is None or not 0.03 <= arc.probability < 0.97:
            continue
        words = brief_percent(arc.probability)
        half = text_width(words, size) / 2
        points = _curve(arc, middles, ground)
        for t in (0.5, 0.38, 0.62, 0.28, 0.72, 0.2, 0.8):  # the apex, or near it
            x, y = _bezier(points, t)
            if all(abs(x - u) > half + h + 2 or abs(y - v) > size for u, v, h in taken):
                taken.append((x, y, half))
                labels.append((x, y + 4.0, words, arc))
                break
    return labels


def _label(x: float, y: float, words: str, arc: Arc, size: float) -> str:
    half = text_width(words, size) / 2
    return (
        f'<g class="label" data-arc="{arc.head}-{arc.dependent}">'
        f'<rect class="plate" x="{x - half:.1f}" y="{y - 0.9 * size:.1f}" '
        f'width="{2 * half:.1f}" height="{1.18 * size:.1f}" rx="3" fill="#fff"/>'
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" font-size="{size:.4g}" '
        f'fill="{GREY}">{escape(words)}</text></g>'
    )


def _bezier(points: Sequence[tuple[float, float]], t: float) -> tuple[float, float]:
    shares = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
    x = sum(share * point[0] for share, point in zip(shares, points, strict=True))
    y = sum(share * point[1] for share, point in zip(shares, points, strict=True))
    return x, y


def _word(
    words: Sequence[str],
    tokens: Sequence[str],
    middles: Sequence[float],
    ground: float,
    entropies: NDArray[np.float64] | None,
    right_to_left: bool,
    position: int,
) -> str:
    x = middles[position + 1]
    entropy = 0.0 if entropies is None else float(entropies[position + 1])
    parts = [f'<g class="word" data-word="{position + 1}">']
    said = f"{position + 1}: {tokens[position]}"
    if entropies is not None:
        said += f", {entropy:.2f} nats of uncertainty about its head"
    parts.append(f"<title>{escape(said)}</title>")
    if entropy >= UNCERTAIN_NATS:
        half = text_width(words[position], _WORD_SIZE) / 2 + 5
        parts.append(
            f'<rect class="heat" x="{x - half:.1f}" y="{ground + 4:.1f}" width="{2 * half:.1f}" '
            f'height="23" rx="4" fill="{AMBER}" fill-opacity="{_heat(entropy):.2f}"/>'
            f'<text class="entropy" x="{x:.1f}" y="{ground + 39:.1f}" text-anchor="middle" '
            f'font-size="10" fill="{GREY}">{entropy:.1f} nats</text>'
        )
    direction = ' direction="rtl"' if right_to_left else ""
    parts.append(
        f'<text class="form" x="{x:.1f}" y="{ground + 20:.1f}" text-anchor="middle"{direction} '
        f'font-size="{_WORD_SIZE}" fill="{INK}">{escape(words[position])}</text></g>'
    )
    return "".join(parts)
