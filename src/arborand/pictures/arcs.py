"""Words in a row with arcs above them, as one SVG: a tree, marginal probabilities, or both.

An arc has the same shape in all pictures of a sentence, so that they can be compared.  Colours are
attributes, for programs that ignore style sheets; the style sheet of a page overrides them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arborand.errors import InvalidTreeError
from arborand.pictures.layout import (
    FAINTEST,
    LABEL_DROP,
    LABEL_SIZE,
    LONGEST_ROW,
    NATS_ROOM,
    ROW_BASELINE,
    ROW_ROOM,
    ROW_SIZE,
    UNCERTAIN_NATS,
    WORD_BASELINE,
    WORD_SIZE,
    Arc,
    Label,
    Layout,
    heat,
    slots,
)
from arborand.pictures.markup import (
    AMBER,
    BLUE,
    FONT_FAMILY,
    GREY,
    INK,
    VERMILION,
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
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

# In the page's static diagram, which should be short, arcs below this probability have no label.
_LEAST_LABELLED_IN_PAGES = 0.1
# A stand-alone picture follows the reader's choice of light or dark, even if it is only linked to.
_ON_DARK_GROUND = (
    "<style>@media (prefers-color-scheme:dark){svg.arcs .paper{fill:none}"
    "svg.arcs text{fill:#eceff1}svg.arcs .plate{fill:#14171a;fill-opacity:.85}"
    "svg.arcs .arc.tree{stroke:#eceff1;fill:#eceff1}svg.arcs .arc.candidate{stroke:#6cb8ec;"
    "fill:#6cb8ec}svg.arcs .arc.other{stroke:#ff8f4d;fill:#ff8f4d}svg.arcs .line{fill:none}"
    "svg.arcs .tip{stroke:none}}</style>"
)


class Diagram(NamedTuple):
    """An SVG element and its size."""

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
        ``P(head -> dependent)``.  The more probable an arc, the more opaque it is.  Words whose
        head is uncertain are highlighted, with the entropy of the head in nats.
    compare_to : array_like of int, shape (n + 1,), optional
        Another tree; arcs of `heads` that it does not have are dashed and in another colour.
    threshold : float
        Arcs less probable than this are left out, unless the tree has them.
    right_to_left : bool, optional
        Whether the first word is at the right.  By default, it is if most words are written from
        right to left.
    label : str, optional
        What a screen reader says; by default, a description of the arcs.

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
    return render(
        tokens,
        drawn,
        entropies=entropies,
        label=label,
        right_to_left=right_to_left,
        style=_ON_DARK_GROUND,
    )


def num_nodes(tokens: Sequence[str]) -> int:
    """Return the number of nodes: of the words and the root."""
    if isinstance(tokens, str):
        raise TypeError(f"tokens is the string {tokens!r:.60}: pass a list of words")
    return len(tokens) + 1


def check_tree(heads: ArrayLike, size: int, name: str) -> NDArray[np.intp]:
    """Check a tree of `size` nodes."""
    array = np.asarray(heads)
    if array.shape != (size,):
        raise InvalidTreeError(
            f"{name} has shape {array.shape}, but there are {size - 1} tokens: expected "
            f"({size},), with -1 for the root"
        )
    return check_trees(array, name=name)


def check_marginals(marginals: ArrayLike, size: int) -> NDArray[np.float64]:
    """Check a table of arc probabilities of `size` nodes."""
    table = np.asarray(marginals, dtype=np.float64)
    if table.shape != (size, size):
        raise ValueError(
            f"marginals has shape {table.shape}, but there are {size - 1} tokens: expected "
            f"({size}, {size}), including the root"
        )
    if not ((table >= 0.0) & (table <= 1.0 + 1e-9)).all():
        raise ValueError(
            "marginals has entries that are not probabilities: pass numbers from 0 to 1, such as "
            "those of arc_marginals()"
        )
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
) -> list[Arc]:
    """List the arcs to draw, the faintest first, so that strong ones are on top."""
    chosen: dict[tuple[int, int], Arc] = {}
    if marginals is not None:
        for head, dependent in np.argwhere(marginals >= max(threshold, 1e-300)).tolist():
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
    """Describe a picture in words."""
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
    style: str = "",
) -> str:
    """Draw words and arcs as an SVG that needs no style sheet except `style`."""
    if right_to_left is None:
        right_to_left = is_right_to_left(tokens)
    rooms = slots(tokens)
    layout = Layout(rooms, arcs, right_to_left=right_to_left)
    width, height = layout.width, layout.height(0 if entropies is None else 1)
    names = ["root", *tokens]
    # Labels are already small: they do not shrink with the rest.
    size = LABEL_SIZE / scale
    parts = [
        f'<svg class="arcs" xmlns="http://www.w3.org/2000/svg" role="img" '
        f'aria-label="{escape(label)}" width="{scale * width:.0f}" height="{scale * height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="{FONT_FAMILY}" '
        f'direction="ltr">{style}<rect class="paper" width="100%" height="100%" fill="#fff"/><g>',
        *(
            _word(
                layout,
                word,
                token,
                None if entropies is None else float(entropies[word]),
                " nats" if round(rooms[word - 1]) >= NATS_ROOM else "",
            )
            for word, token in enumerate(tokens, start=1)
        ),
        *(_arc(layout, arc, names) for arc in arcs),
        *(_label(label, size) for label in layout.labels(size)),
        "</g></svg>",
    ]
    return "".join(parts)


def render_for_page(
    tokens: Sequence[str],
    arcs: Sequence[Arc],
    *,
    label: str,
    entropies: NDArray[np.float64],
    right_to_left: bool,
    identifier: str,
    below: Sequence[Sequence[str]] = (),
    gold_row: int | None = None,
) -> Diagram:
    """Draw words and arcs as an SVG that is as short as possible and relies on page.css."""
    rooms = slots(tokens, below)
    layout = Layout(rooms, arcs, right_to_left=right_to_left)
    width, height, ground = layout.width, layout.height(1 + len(below)), layout.ground
    marks: list[str] = []
    words: list[str] = []
    rows: list[list[str]] = [[] for _ in range(len(below) + 1)]  # the last one is for entropies
    for position, token in enumerate(tokens):
        x, entropy = layout.middles[position + 1], float(entropies[position + 1])
        words.append(f'<tspan x="{x:.0f}">{escape(shorten(token))}</tspan>')
        for row, line in zip(rows, below, strict=False):
            row.append(f'<tspan x="{x:.0f}">{escape(shorten(line[position], LONGEST_ROW))}</tspan>')
        if entropy >= UNCERTAIN_NATS:
            half = _half_width(token)
            unit = " nats" if round(rooms[position]) >= NATS_ROOM else ""
            rows[-1].append(f'<tspan x="{x:.0f}">{entropy:.1f}{unit}</tspan>')
            marks.append(
                f'<rect x="{x - half:.0f}" y="{ground + 4:.0f}" width="{2 * half:.0f}" '
                f'fill-opacity="{heat(entropy):.2f}"/>'
            )
    direction = ' direction="rtl"' if right_to_left else ""
    texts = [
        f'<text class="form" y="{ground + WORD_BASELINE:.0f}"{direction}>{"".join(words)}</text>'
    ]
    for number, row in enumerate(rows):
        y = ground + ROW_BASELINE + ROW_ROOM * number
        if row:
            kind = "below gold" if number == gold_row else "below"
            texts.append(f'<text class="{kind}" y="{y:.0f}">{"".join(row)}</text>')
    lines: dict[str, list[str]] = {}
    for arc in arcs:
        (x, y), (_, top), _, (end, _) = layout.curve(arc)
        up, far = round(y) - round(top), round(end) - round(x)
        way = f"c0-{up} {far}-{up} {far} 0" if arc.head else f"V{ground:.0f}"
        opacity = f' opacity="{_opacity(arc):.2f}"' if arc.role == "candidate" else ""
        lines.setdefault(arc.role, []).append(
            f'<path{opacity} d="M{x:.0f} {y:.0f}{way}m-3-7l3 7 3-7"/>'
        )
    groups = (f'<g class="arc {role}">{"".join(paths)}</g>' for role, paths in lines.items())
    labels = (
        f'<text x="{x:.0f}" y="{y + LABEL_DROP:.0f}">{escape(text)}</text>'
        for arc, x, y, text in layout.labels()
        if arc.head == 0 or (arc.probability or 0.0) >= _LEAST_LABELLED_IN_PAGES
    )
    svg = (
        f'<svg class="arcs bare" role="img" aria-label="{escape(label)}" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" direction="ltr">'
        f'<g id="{identifier}"><g class="heat">{"".join(marks)}</g>{"".join(texts)}'
        f'{"".join(groups)}<g class="labels">{"".join(labels)}</g></g></svg>'
    )
    return Diagram(svg, round(width), round(height))


def _word(layout: Layout, word: int, token: str, entropy: float | None, unit: str) -> str:
    x, ground = layout.middles[word], layout.ground
    said = f"{word}: {token}"
    if entropy is not None:
        said += f", {entropy:.2f} nats of uncertainty about its head"
    mark = ""
    if entropy is not None and entropy >= UNCERTAIN_NATS:
        half = _half_width(token)
        mark = (
            f'<rect class="heat" x="{x - half:.1f}" y="{ground + 4:.1f}" width="{2 * half:.1f}" '
            f'height="23" rx="4" fill="{AMBER}" fill-opacity="{heat(entropy):.2f}"/>'
            f'<text class="entropy" x="{x:.1f}" y="{ground + ROW_BASELINE:.1f}" '
            f'text-anchor="middle" font-size="{ROW_SIZE}" fill="{GREY}">{entropy:.1f}{unit}</text>'
        )
    direction = ' direction="rtl"' if layout.right_to_left else ""
    return (
        f'<g class="word" data-word="{word}"><title>{escape(said)}</title>{mark}'
        f'<text class="form" x="{x:.1f}" y="{ground + WORD_BASELINE:.1f}" text-anchor="middle"'
        f'{direction} font-size="{WORD_SIZE}" fill="{INK}">{escape(shorten(token))}</text></g>'
    )


def _arc(layout: Layout, arc: Arc, names: Sequence[str]) -> str:
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = layout.curve(arc)
    color = VERMILION if arc.role == "other" else INK if arc.role == "tree" else BLUE
    dashes = ' stroke-dasharray="6 3"' if arc.role == "other" else ""
    said = f"{names[arc.head]} → {names[arc.dependent]}"
    if arc.probability is not None:
        said += f", {percent(arc.probability)}"
    return (
        f'<g class="arc {arc.role}" data-arc="{arc.head}-{arc.dependent}" '
        f'opacity="{_opacity(arc):.2f}" stroke="{color}" fill="{color}">'
        f"<title>{escape(said)}</title>"
        f'<path class="line" fill="none" stroke-width="{1.0 + 1.2 * _strength(arc):.1f}"{dashes} '
        f'd="M{x0:.1f} {y0:.1f}C{x1:.1f} {y1:.1f} {x2:.1f} {y2:.1f} {x3:.1f} {y3 - 5:.1f}"/>'
        f'<path class="tip" stroke="none" d="M{x3:.1f} {y3 + 1:.1f}l-3.6-8h7.2z"/></g>'
    )


def _label(label: Label, size: float) -> str:
    arc, x, y, text = label
    half, baseline = text_width(text, size) / 2, y + LABEL_DROP
    return (
        f'<g class="label" data-arc="{arc.head}-{arc.dependent}">'
        f'<rect class="plate" x="{x - half:.1f}" y="{baseline - 0.9 * size:.1f}" '
        f'width="{2 * half:.1f}" height="{1.18 * size:.1f}" rx="3" fill="#fff"/>'
        f'<text x="{x:.1f}" y="{baseline:.1f}" text-anchor="middle" font-size="{size:.4g}" '
        f'fill="{GREY}">{escape(text)}</text></g>'
    )


def _strength(arc: Arc) -> float:
    """Return a candidate's probability; 1 for the arcs of a tree, which are drawn in full."""
    return (arc.probability or 0.0) if arc.role == "candidate" else 1.0


def _opacity(arc: Arc) -> float:
    return FAINTEST + (1.0 - FAINTEST) * _strength(arc)


def _half_width(token: str) -> float:
    """Return half the width of the mark behind an uncertain word."""
    return text_width(shorten(token), WORD_SIZE) / 2 + 5
