"""One self-contained HTML page for any number of sentences, written one sentence at a time.

The page is a plain document: everything on it can be read, printed and searched without a script.
The script (page.js) adds what needs one: keys, the list of sentences, a tree traced in the large
diagram.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from arborand.pictures.arcs import (
    UNCERTAIN_NATS,
    Diagram,
    check_marginals,
    describe,
    head_entropy,
    render,
    select_arcs,
)
from arborand.pictures.coverage import coverage_plot
from arborand.pictures.document import head
from arborand.pictures.markup import asset, distinct_names, escape, is_right_to_left, percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from arborand.distributions import TreeDistribution
    from arborand.without_replacement import Draws

_MOST_WORDS_LISTED = 6
_MOST_HEADS_LISTED = 4
_MOST_CHANGES_LISTED = 6
# Trees are drawn smaller than the large diagram, to stand side by side; where a sentence is too
# long for that, two share the width and are scrolled together.
_CARD_SCALE = 0.8
_CARD_WIDTH = 600
# A diagram wider than a sheet of paper is printed in several lines, which overlap a little.
_SHEET, _OVERLAP = 1100, 60


@dataclass(frozen=True, eq=False)
class Picture:
    """What is shown of one sentence.

    Attributes
    ----------
    distribution : SpanningTrees or DependencyTrees
        Of one sentence, not of a batch.
    tokens : sequence of str
        The words, without the root.
    sent_id : str
    draws : Draws
        From the distribution's `sample_without_replacement`.
    marginals : ndarray, shape (m, m)
        The distribution's `arc_marginals`.

    Examples
    --------
    >>> from arborand import DependencyTrees
    >>> d = DependencyTrees([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
    >>> draws = d.sample_without_replacement(5, rng=0)
    >>> picture = Picture(d, ["Trees", "grow"], "t-1", draws, d.arc_marginals())
    >>> "".join(page([picture], title="Two words")).startswith("<!doctype html>")
    True
    """

    distribution: TreeDistribution
    tokens: Sequence[str]
    sent_id: str
    draws: Draws
    marginals: NDArray[np.float64]

    def __post_init__(self) -> None:
        shape = self.distribution.batch_shape
        if shape:
            raise ValueError(
                f"distribution is a batch of shape {shape}: a picture shows one sentence; index it"
            )
        num_words = int(self.distribution.lengths)
        if len(self.tokens) != num_words:
            raise ValueError(
                f"tokens has {len(self.tokens)} words where the distribution of {self.sent_id!r} "
                f"has {num_words}: give the words without the root"
            )
        size = self.distribution.log_weights.shape[-1]
        if self.draws.heads.shape[1:] != (size,):
            raise ValueError(
                f"draws has heads of shape {self.draws.heads.shape} where the distribution of "
                f"{self.sent_id!r} has {size} nodes: draw from this very distribution"
            )
        if np.shape(self.marginals) != (size, size):
            raise ValueError(
                f"marginals has shape {np.shape(self.marginals)} where the distribution of "
                f"{self.sent_id!r} has shape {(size, size)}: use its arc_marginals()"
            )


def page(
    pictures: Iterable[Picture],
    *,
    title: str,
    num_trees: int = 6,
    provenance: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Write a page about sentences, one after the other.

    Parameters
    ----------
    pictures : iterable of Picture
        Read one at a time, and not kept.
    title : str
    num_trees : int
        How many trees of each sentence are shown, from the best one on.
    provenance : mapping of str to str, optional
        Where the page comes from (a command, a seed, a digest), for its last lines.

    Yields
    ------
    str
        The pieces of an HTML document, to be written in UTF-8.

    Notes
    -----
    The best trees are the distribution's own, in their exact order.  The draws only serve to show
    how much of the mass so many of them cover.
    """
    script = asset("page.js")
    yield head(title, asset("theme.css") + asset("page.css"), script)
    yield f"<header><h1>{escape(title)}</h1>{_LEGEND}</header><main>"
    for number, picture in enumerate(pictures, start=1):
        yield _section(picture, number, num_trees)
    yield "</main><footer><p>Drawn by arborand.</p>"
    if provenance:
        rows = (f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in provenance.items())
        yield f"<dl>{''.join(rows)}</dl>"
    yield f"</footer><script>{script}</script></body></html>\n"


_LEGEND = """<div class="legend" role="note" aria-label="How to read this page"><p>
<span class="key"><svg viewBox="0 0 66 18" width="66" height="18" aria-hidden="true">
<g class="arc candidate"><path class="line" d="M2 9h18" opacity=".2" stroke-width="1.2"/>
<path class="line" d="M24 9h18" opacity=".55" stroke-width="1.7"/><path class="line" d="M46 9h18"
stroke-width="2.2"/></g></svg> the more probable an arc, the stronger its line</span>
<span class="key"><mark>word</mark> the head of this word is uncertain, by so many nats</span>
<span class="key"><svg viewBox="0 0 30 18" width="30" height="18" aria-hidden="true"><g
class="arc other"><path class="line" d="M2 9h26" stroke-dasharray="6 3" stroke-width="2.2"/></g>
</svg> an arc that the best tree does not have</span></p>
<p class="keys"><kbd>←</kbd> <kbd>→</kbd> trees of a sentence, traced in the large diagram
<kbd>↑</kbd> <kbd>↓</kbd> sentences <kbd>Esc</kbd> all arcs again</p></div>"""


def _section(picture: Picture, number: int, num_trees: int) -> str:
    size = len(picture.tokens) + 1
    marginals = check_marginals(np.asarray(picture.marginals)[:size, :size], size)
    right_to_left = is_right_to_left(picture.tokens)
    best = picture.distribution.best_trees(num_trees)
    shown = best.heads[:, :size].astype(np.intp)
    also = {
        (int(head), dependent)
        for heads in shown
        for dependent, head in enumerate(heads.tolist())
        if dependent
    }
    diagram = render(
        picture.tokens,
        select_arcs(None, marginals, also=also),
        entropies=head_entropy(marginals),
        label=describe(picture.tokens, None, marginals),
        right_to_left=right_to_left,
        identifier=f"d{number}",
    )
    is_long = " long" if diagram.width > _SHEET else ""
    slices = _slices(diagram, f"d{number}", right_to_left) if is_long else ""
    probabilities = np.exp(best.log_prob)
    direction = ' dir="rtl"' if right_to_left else ""
    return (
        f'<section class="sentence{is_long}" id="s{number}" aria-labelledby="h{number}">'
        f'<h2 id="h{number}"><bdi>{escape(picture.sent_id)}</bdi></h2>'
        f'<p class="text"{direction}>{escape(" ".join(picture.tokens))}</p>'
        f"{_summary(picture, probabilities)}"
        f'<div class="scroll main"{direction} role="group" aria-label="Arcs with their '
        f'probabilities">{diagram.svg}</div>{slices}'
        f'<div class="facts">{_uncertain_words(picture.tokens, marginals)}'
        f'<figure class="mass"><figcaption>Covered by the draw</figcaption>'
        f"{coverage_plot(picture.draws.log_prob, exhausted=bool(picture.draws.exhausted))}"
        f"</figure></div>{_trees(picture, shown, probabilities, number, right_to_left)}</section>\n"
    )


def _slices(diagram: Diagram, identifier: str, right_to_left: bool) -> str:
    """Show a wide diagram again, line by line, for paper."""
    count = math.ceil((diagram.width - _OVERLAP) / (_SHEET - _OVERLAP))
    step = (diagram.width - _SHEET) / (count - 1)
    lefts = [round(step * i) for i in range(count)]
    if right_to_left:
        lefts.reverse()
    lines = "".join(
        f'<svg viewBox="{left} 0 {_SHEET} {diagram.height}"><use href="#{identifier}"/></svg>'
        for left in lefts
    )
    return f'<div class="slices" aria-hidden="true">{lines}</div>'


def _summary(picture: Picture, probabilities: NDArray[np.float64]) -> str:
    entropy = float(picture.distribution.entropy())
    kind = type(picture.distribution).__name__.replace("Trees", " trees").lower()
    facts = [
        ("words", str(len(picture.tokens))),
        (f"log Z of all {kind}", f"{float(picture.distribution.log_partition()):.2f}"),
        ("entropy", f"{entropy:.2f}\u00a0nats"),
        ("as uncertain as", f"{_effective_number(entropy)} equally likely trees"),
    ]
    if len(probabilities):
        facts.append(("best tree", percent(float(probabilities[0]))))
    rows = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)
    return f'<dl class="summary">{rows}</dl>'


def _effective_number(entropy: float) -> str:
    """Write e^entropy, the number of equally likely trees that would be as uncertain."""
    exponent = entropy / math.log(10)
    if exponent < 4:
        return f"{math.exp(entropy):.{1 if exponent < 2 else 0}f}"
    whole = math.floor(exponent)
    return f"{10 ** (exponent - whole):.1f}\u00a0\u00d7\u00a010<sup>{whole}</sup>"


def _uncertain_words(tokens: Sequence[str], marginals: NDArray[np.float64]) -> str:
    """List the words whose heads are least certain, each with its likeliest heads."""
    entropies = head_entropy(marginals)
    names = ["the root", *distinct_names(tokens)]
    ranked = [
        j for j in np.argsort(-entropies, kind="stable").tolist() if entropies[j] >= UNCERTAIN_NATS
    ]
    if not ranked:
        return '<div class="unsure"><h3>Uncertain words</h3><p>None: every head is clear.</p></div>'
    rows = []
    for dependent in ranked[:_MOST_WORDS_LISTED]:
        column = marginals[:, dependent]
        order = np.argsort(-column, kind="stable")[:_MOST_HEADS_LISTED].tolist()
        heads = "".join(
            f'<li><span class="bar" style="--share:{column[h]:.4f}"></span>'
            f'<bdi>{escape(names[h])}</bdi> <span class="share">{percent(float(column[h]))}</span>'
            f"</li>"
            for h in order
            if column[h] >= 0.005
        )
        rows.append(
            f'<tr><th scope="row"><mark><bdi>{escape(names[dependent])}</bdi></mark>'
            f'<span class="entropy">{entropies[dependent]:.1f}\u00a0nats</span></th>'
            f'<td><ul class="heads">{heads}</ul></td></tr>'
        )
    rest = len(ranked) - _MOST_WORDS_LISTED
    more = f'<p class="more">and {rest} more</p>' if rest > 0 else ""
    return (
        '<div class="unsure"><h3>Uncertain words and their likeliest heads</h3><table>'
        f"<tbody>{''.join(rows)}</tbody></table>{more}</div>"
    )


def _trees(
    picture: Picture,
    shown: NDArray[np.intp],
    probabilities: NDArray[np.float64],
    number: int,
    right_to_left: bool,
) -> str:
    if not len(shown):
        return '<p class="none">No trees were asked for.</p>'
    names = ["the root", *distinct_names(picture.tokens)]
    cards = []
    for rank, heads in enumerate(shown, start=1):
        probability = float(probabilities[rank - 1])
        drawn = render(
            picture.tokens,
            select_arcs(heads, None, shown[0]),
            label=f"Tree {rank}: {describe(picture.tokens, heads, None)}",
            right_to_left=right_to_left,
            scale=_CARD_SCALE,
        )
        arcs = " ".join(f"{head}-{j}" for j, head in enumerate(heads.tolist()) if j)
        cards.append(
            f'<li class="card"><button type="button" aria-pressed="false" data-arcs="{arcs}" '
            f'aria-label="Tree {rank} of {len(shown)}, probability {percent(probability)}">'
            f'<span class="rank">{rank}</span><span class="chance">{percent(probability)}</span>'
            f'<span class="bar" style="--share:{probability:.4f}"></span></button>'
            f'<div class="scroll"{" dir=rtl" * right_to_left} role="group" '
            f'aria-label="Tree {rank}">{drawn.svg}</div>'
            f"{_difference(names, heads, shown[0], rank)}</li>"
        )
    width = min(0.82 * drawn.width + 24, _CARD_WIDTH)
    several = "tree" if len(shown) == 1 else f"{len(shown)} trees"
    return (
        f'<h3 id="t{number}">The best {several}</h3>'
        f'<ol class="trees" style="--card-width:{width:.0f}px" aria-labelledby="t{number}">'
        f"{''.join(cards)}</ol>"
    )


def _difference(
    names: Sequence[str], heads: NDArray[np.intp], best: NDArray[np.intp], rank: int
) -> str:
    if rank == 1:
        return '<p class="difference">the best</p>'
    changed = np.flatnonzero(heads != best).tolist()
    rest = len(changed) - _MOST_CHANGES_LISTED
    more = f"; and {rest} more" if rest > 0 else ""
    said = "; ".join(
        f"<bdi>{escape(names[j])}</bdi> depends on <bdi>{escape(names[int(heads[j])])}</bdi>, not "
        f"<bdi>{escape(names[int(best[j])])}</bdi>"
        for j in changed[:_MOST_CHANGES_LISTED]
    )
    return f'<p class="difference">{said}{more}</p>'
