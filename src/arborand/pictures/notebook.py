"""What a notebook shows for distributions, draws and best trees: fragments of HTML.

They take the colour of the text around them, light or dark, and are readable without their style
sheet, which untrusted notebooks drop.
"""

from __future__ import annotations

import html
import math
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from arborand.distributions import check_single_graph
from arborand.pictures.arcs import head_entropy, render, select_arcs
from arborand.pictures.markup import escape, percent, without_rounding
from arborand.pictures.page import page
from arborand.pictures.picture import Picture
from arborand.pictures.script_data import MOST_WORDS_EXPLORED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from arborand.best import BestTrees
    from arborand.distributions import TreeDistribution
    from arborand.labelled import LabelledTrees
    from arborand.without_replacement import Draws

# More would take too long to compute or to read.
_MOST_WORDS_OF_TREES = 40
_MOST_WORDS_COMPUTED = 300
_MOST_ROWS = 10

_STYLE = """<style>
.arborand table{border-collapse:collapse;margin:.5em 0}
.arborand th,.arborand td{padding:.15em .9em .15em 0;text-align:left;vertical-align:middle}
.arborand td{font-variant-numeric:tabular-nums}
.arborand .pane{overflow-x:auto;max-width:100%}
.arborand svg .paper{fill:none}
.arborand svg .plate{fill:var(--jp-layout-color0,var(--vscode-editor-background,transparent))}
.arborand svg text{fill:currentColor}
.arborand svg .label text{opacity:.75}
.arborand svg .arc.tree{stroke:currentColor;fill:currentColor}
.arborand svg .arc.candidate{stroke:#2f8fd0;fill:#2f8fd0}
.arborand svg .arc .line{fill:none}
.arborand svg .arc .tip{stroke:none}
</style>"""


class Display:
    """What a notebook shows for a distribution whose words are known.

    If scripts can run, this is the page of ``arborand show``, in a frame, in which heads can be
    fixed and forbidden; otherwise, as in untrusted notebooks, it is a picture.

    Parameters
    ----------
    distribution : SpanningTrees, DependencyTrees or their projective kinds
        The distribution of a single graph, not a batch.
    words : sequence of str, optional
        The words, without the root; numbers by default.

    Examples
    --------
    >>> from arborand import DependencyTrees
    >>> d = DependencyTrees([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
    >>> "grow" in Display(d, ["Trees", "grow"])._repr_html_()
    True
    """

    def __init__(self, distribution: TreeDistribution, words: Sequence[str] | None = None) -> None:
        check_single_graph(distribution, "Display")
        num_words = int(distribution.lengths)
        if words is not None and len(words) != num_words:
            raise ValueError(
                f"words has {len(words)} words, but the graph has {num_words}: give them without "
                "the root"
            )
        self._distribution = distribution
        self._words = [str(i + 1) for i in range(num_words)] if words is None else list(words)

    def _repr_html_(self) -> str:
        still = distribution_html(self._distribution, self._words)
        if len(self._words) > MOST_WORDS_EXPLORED:
            return still
        trees = self._distribution
        picture = Picture(
            trees,
            self._words,
            "sentence",
            trees.sample_without_replacement(20, rng=0),
            trees.arc_marginals(),
        )
        document = "".join(page([picture], title=repr(trees)))
        # An untrusted notebook drops frames and handlers: then the picture stays.
        return (
            f'<div class="arborand-display"><div>{still}</div><iframe hidden '
            f'sandbox="allow-scripts allow-downloads" srcdoc="{html.escape(document)}" '
            'style="width:100%;height:40em;border:0" title="The sentence, to explore" '
            'onload="this.hidden=false;this.previousElementSibling.hidden=true"></iframe></div>'
        )


def distribution_html(
    distribution: TreeDistribution | LabelledTrees, words: Sequence[str] | None = None
) -> str:
    """Describe a distribution: its arcs with their probabilities, log Z and entropy.

    If no words are given, numbers stand for them.

    Examples
    --------
    >>> from arborand import DependencyTrees
    >>> "log Z" in distribution_html(DependencyTrees([[0, 1, 2], [0, 0, 3], [0, 4, 0]]))
    True
    """
    title = f"<p><b>{escape(repr(distribution))}</b></p>"
    if distribution.batch_shape:
        return _fragment(title + _batch_table(distribution))
    num_words = int(distribution.lengths)
    if num_words > _MOST_WORDS_COMPUTED:
        return _fragment(title)
    entropy = float(distribution.entropy())
    facts = _table(
        [],
        [
            ("log Z", f"{float(distribution.log_partition()):.4f}"),
            ("entropy", f"{entropy:.3f} nats"),
        ],
    )
    size = num_words + 1
    marginals = distribution.arc_marginals()[:size, :size]
    svg = render(
        words or [str(word) for word in range(1, size)],
        select_arcs(None, marginals),
        entropies=head_entropy(marginals),
        label="The arcs of the graph, with their probabilities",
    )
    return _fragment(f'{title}{facts}<div class="pane">{svg}</div>')


def draws_html(draws: Draws) -> str:
    """Describe draws without replacement: the trees with their probabilities and what they cover.

    Examples
    --------
    >>> from arborand import DependencyTrees
    >>> d = DependencyTrees([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
    >>> "2 distinct trees" in draws_html(d.sample_without_replacement(5, rng=0))
    True
    """
    return _distinct_trees(draws, np.asarray(draws.num_drawn), "Draws", "draw")


def best_trees_html(trees: BestTrees) -> str:
    """Describe best trees: the trees with their probabilities and what they cover.

    Examples
    --------
    >>> from arborand import DependencyTrees
    >>> d = DependencyTrees([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
    >>> "2 distinct trees" in best_trees_html(d.best_trees(5))
    True
    """
    return _distinct_trees(trees, np.asarray(trees.num_found), "BestTrees", "rank")


def _distinct_trees(
    found: Draws | BestTrees, counts: NDArray[np.int64], name: str, numbering: str
) -> str:
    if counts.ndim:
        number = f"{counts.min()} to {counts.max()}" if counts.size else "no"
        num_exhausted = int(np.sum(found.exhausted))
        title = (
            f"<p><b>{name}</b> of shape {escape(str(found.heads.shape))}: {number} distinct trees "
            f"for each of {counts.size} graphs; {num_exhausted} "
            f"{'has' if num_exhausted == 1 else 'have'} no more</p>"
        )
        return _fragment(title)
    count = int(counts)
    masses = np.minimum(np.cumsum(np.exp(found.log_prob)), 1.0)

    def covered(index: int) -> str:
        return percent(without_rounding(float(masses[index])))

    trees = "1 distinct tree" if count == 1 else f"{count} distinct trees"
    covering = f", {covered(-1)} of the probability" if count else ""
    all_of_them = "; there are no others" if bool(found.exhausted) else ""
    title = f"<p><b>{name}</b>: {trees}{covering}{all_of_them}</p>"
    rows = [
        (
            str(index + 1),
            percent(math.exp(found.log_prob[index])),
            covered(index),
            _tree(found.heads[index]),
        )
        for index in range(min(count, _MOST_ROWS))
    ]
    rest = count - _MOST_ROWS
    more = f"<p>and {rest} more</p>" if rest > 0 else ""
    return _fragment(title + _table([numbering, "probability", "covered", "tree"], rows) + more)


def _tree(heads: NDArray[np.int32]) -> str:
    array = heads.astype(np.intp)
    size = int(np.flatnonzero(array >= 0).max(initial=0)) + 1  # without padding
    if size - 1 > _MOST_WORDS_OF_TREES:
        return f"<code>{escape(' '.join(map(str, array[1:12].tolist())))} …</code>"
    numbers = [str(word) for word in range(1, size)]
    arcs = select_arcs(array[:size], None)
    label = "heads " + " ".join(map(str, array[1:size].tolist()))
    return f'<div class="pane">{render(numbers, arcs, label=label, scale=0.75)}</div>'


def _batch_table(distribution: TreeDistribution | LabelledTrees) -> str:
    lengths = distribution.lengths.reshape(-1)
    shown = lengths[:_MOST_ROWS]
    if not len(shown) or int(shown.max()) > _MOST_WORDS_COMPUTED:
        return ""
    rows: list[tuple[str, ...]] = []
    for index in islice(np.ndindex(*distribution.batch_shape), len(shown)):
        one = distribution[index]
        name = ", ".join(map(str, index))
        entropy = float(one.entropy())
        log_z = float(one.log_partition())
        rows.append((name, str(int(one.lengths)), f"{log_z:.4f}", f"{entropy:.3f}"))
    rest = len(lengths) - len(rows)
    more = f"<p>and {rest} more</p>" if rest > 0 else ""
    return _table(["index", "words", "log Z", "entropy (nats)"], rows) + more


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = f"<tr>{''.join(f'<th>{escape(name)}</th>' for name in header)}</tr>" if header else ""
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{head}{body}</table>"


def _fragment(body: str) -> str:
    return f'<div class="arborand">{_STYLE}{body}</div>'
