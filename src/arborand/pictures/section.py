"""The section of a page about one sentence, readable without scripts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from arborand.pictures.arcs import (
    Diagram,
    check_marginals,
    describe,
    head_entropy,
    render_for_page,
    select_arcs,
)
from arborand.pictures.layout import UNCERTAIN_NATS, Arc
from arborand.pictures.markup import (
    distinct_names,
    escape,
    is_right_to_left,
    large_number,
    percent,
    without_rounding,
)
from arborand.pictures.script_data import as_json, relation, sentence_data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from arborand.pictures.picture import Picture

_MOST_WORDS_LISTED = 6
_MOST_HEADS_LISTED = 4
_MOST_CHANGES_LISTED = 6
_LEAST_SHARE = 0.05
# The static diagram is replaced by one that a script draws.  It leaves out arcs that are less
# probable than this, unless the best tree or the gold tree has them.
_LEAST_PROBABILITY = 0.1
# A static diagram that is wider than a sheet of paper is printed as lines that overlap a little.
_SHEET, _OVERLAP = 1100, 60


class Sentence:
    """A picture, and what several parts of its section need."""

    def __init__(self, picture: Picture, num_trees: int) -> None:
        self.picture = picture
        size = len(picture.tokens) + 1
        self.size = size
        self.names = ["the root", *distinct_names(picture.tokens)]
        self.marginals = check_marginals(np.asarray(picture.marginals)[:size, :size], size)
        self.entropies = head_entropy(self.marginals)
        self.entropy = float(picture.distribution.entropy())
        self.right_to_left = is_right_to_left(picture.tokens)
        best = picture.distribution.best_trees(max(num_trees, 1))
        heads = best.heads[:, :size].astype(np.intp)
        self.best = heads[0]
        self.best_probability = float(np.exp(best.log_prob[0]))
        self.trees = heads[:num_trees]
        self.probabilities = np.exp(best.log_prob[:num_trees])
        self.gold = None if picture.gold_heads is None else np.asarray(picture.gold_heads)
        self.gold_probability = 0.0
        if self.gold is not None:
            padded = np.full(picture.distribution.log_weights.shape[-1], -1, dtype=np.int32)
            padded[:size] = self.gold
            self.gold_probability = float(np.exp(picture.distribution.log_prob(padded)))
        self.below = [] if picture.parts_of_speech is None else [list(picture.parts_of_speech)]
        self.labels = picture.label_probabilities()
        self.relations = None if self.labels is None else self._relations(self.labels)
        if self.relations is not None:
            self.below.append(self.relations)
        self.gold_row = None
        if picture.relations is not None:  # marked, because the drawn arcs may differ from gold
            self.gold_row = len(self.below)
            self.below.append(["" if name == "_" else f"◆ {name}" for name in picture.relations])

    def _relations(self, labels: NDArray[np.float64]) -> list[str]:
        """Write the likeliest label of each arc of the best tree, with its probability."""
        names = self.picture.label_names or ()
        best = [labels[head, word] for word, head in enumerate(self.best.tolist()) if word]
        return [
            relation(names[int(chances.argmax())], float(chances.max())) if chances.any() else ""
            for chances in best
        ]


def sentence_section(picture: Picture, number: int, num_trees: int, *, explore: bool) -> str:
    """Write the section: the sentence, its diagram, and the rest folded."""
    sentence = Sentence(picture, num_trees)
    arcs = select_arcs(sentence.best, sentence.marginals, threshold=_LEAST_PROBABILITY)
    if sentence.gold is not None:
        arcs += [
            Arc(int(head), dependent, float(sentence.marginals[head, dependent]), "gold")
            for dependent, head in enumerate(sentence.gold.tolist())
            if dependent and head != sentence.best[dependent]
        ]
        gold = {(arc.head, arc.dependent) for arc in arcs if arc.role == "gold"}
        arcs = [a for a in arcs if a.role != "candidate" or (a.head, a.dependent) not in gold]
    diagram = render_for_page(
        picture.tokens,
        arcs,
        entropies=sentence.entropies,
        label=describe(picture.tokens, None, sentence.marginals),
        right_to_left=sentence.right_to_left,
        identifier=f"d{number}",
        below=sentence.below,
        gold_row=sentence.gold_row,
    )
    is_long = " long" if diagram.width > _SHEET else ""
    slices = _slices(diagram, f"d{number}", sentence.right_to_left) if is_long else ""
    direction = ' dir="rtl"' if sentence.right_to_left else ""
    text = picture.text or " ".join(picture.tokens)
    data = as_json(sentence_data(sentence, explore=explore))
    return (
        f'<section class="sentence{is_long}" id="s{number}" '
        f'aria-label="{escape(picture.sent_id)}">'
        f'<h2 tabindex="-1" title="{escape(picture.sent_id)}">'
        f"<bdi>{escape(picture.sent_id)}</bdi></h2>"
        f'<p class="text"{direction}>{escape(text)}</p>'
        f'<div class="scroll main"{direction} role="group" aria-label="Arcs with their '
        f'probabilities">{diagram.svg}</div>{slices}'
        f'<details class="rest"><summary>{_brief(sentence)}</summary>{_summary(sentence)}'
        f'<div class="facts">{_uncertain_words(sentence)}</div>'
        f"{_trees(sentence, number)}</details>"
        f'<script type="application/json">{data}</script>'
        "</section>\n"
    )


def _brief(sentence: Sentence) -> str:
    """Sum up a sentence in one line; facts.js writes the same."""
    number = _effective_number(sentence.entropy)
    return (
        f'Best tree <b class="best">{percent(sentence.best_probability)}</b>, '
        f'as uncertain as <b class="number">{number}</b> equally likely trees'
    )


def _slices(diagram: Diagram, identifier: str, right_to_left: bool) -> str:
    """Cut a wide diagram into lines, for paper."""
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


def _summary(sentence: Sentence) -> str:
    distribution = sentence.picture.distribution
    kind = f"{distribution._kind.noun}s"
    facts = [
        ("words", "words", str(sentence.size - 1)),
        ("best", "the best tree", percent(sentence.best_probability)),
        ("entropy", "entropy of the trees", f"{sentence.entropy:.2f}\u00a0nats"),
        (
            "equally",
            "as uncertain as a choice among",
            f"{_effective_number(sentence.entropy)} equally likely trees",
        ),
        ("log-z", f"log Z of all {kind}", f"{float(distribution.log_partition()):.2f}"),
    ]
    if sentence.gold is not None:
        risk = distribution.minimum_risk_tree()[: sentence.size]
        facts += [
            ("gold", "the gold tree", percent(sentence.gold_probability)),
            ("best-right", "best tree as in gold", _agreement(sentence.best, sentence.gold)),
            ("risk-right", "minimum-risk tree as in gold", _agreement(risk, sentence.gold)),
        ]
    rows = "".join(
        f'<div data-fact="{name}"><dt>{words}</dt><dd>{value}</dd></div>'
        for name, words, value in facts
    )
    return f'<dl class="summary">{rows}</dl>'


def _agreement(heads: NDArray[Any], gold: NDArray[Any]) -> str:
    same, count = int((heads == gold)[1:].sum()), len(gold) - 1
    return f"{same} of {count} words, {percent(same / count)}"


def _effective_number(entropy: float) -> str:
    """Write e^entropy, the number of equally likely trees that would be as uncertain."""
    number = math.exp(min(entropy, 700.0))
    return f"{number:.1f}" if number < 100 else large_number(number)


def _uncertain_words(sentence: Sentence) -> str:
    """List the words whose heads are least certain, each with its likeliest heads."""
    entropies, marginals, names = sentence.entropies, sentence.marginals, sentence.names
    ranked = [
        j for j in np.argsort(-entropies, kind="stable").tolist() if entropies[j] >= UNCERTAIN_NATS
    ]
    if not ranked:
        return '<div class="unsure"><h3>Uncertain words</h3><p>None: every head is clear.</p></div>'
    rows = []
    for dependent in ranked[:_MOST_WORDS_LISTED]:
        column = marginals[:, dependent]
        order = np.argsort(-column, kind="stable")[:_MOST_HEADS_LISTED].tolist()
        heads = ", ".join(
            f"<bdi>{escape(names[h])}</bdi> {percent(float(column[h]))}"
            for h in order
            if column[h] >= _LEAST_SHARE
        )
        rows.append(
            f"<tr><th><mark><bdi>{escape(names[dependent])}</bdi></mark> "
            f"{entropies[dependent]:.1f}\u00a0nats</th><td>{heads}</td></tr>"
        )
    rest = len(ranked) - _MOST_WORDS_LISTED
    more = f'<p class="more">and {rest} more</p>' if rest > 0 else ""
    return (
        '<div class="unsure"><h3>Uncertain words and their likeliest heads</h3><table>'
        f"<tbody>{''.join(rows)}</tbody></table>{more}</div>"
    )


def _trees(sentence: Sentence, number: int) -> str:
    if not len(sentence.trees):
        return '<p class="none">No trees were requested.</p>'
    cards = "".join(
        f'<li class="card"><p class="tree-head"><span class="rank">{rank}</span>'
        f'<span class="chance">{percent(float(probability))}</span></p>'
        f"{_difference(sentence.names, heads, sentence.best, rank)}</li>"
        for rank, (heads, probability) in enumerate(
            zip(sentence.trees, sentence.probabilities, strict=True), start=1
        )
    )
    count = len(sentence.trees)
    title = "tree" if count == 1 else f"{count} trees, and what each changes"
    return (
        f'<h3 id="t{number}">The best {title}</h3>{_covered(sentence)}'
        f'<ol class="trees" aria-labelledby="t{number}">{cards}</ol>'
    )


def _covered(sentence: Sentence) -> str:
    """Say how much of the probability is in the trees shown, and how much in the draws."""
    draws = sentence.picture.draws
    count, several = len(sentence.probabilities), len(draws)
    best, drawn = _total(sentence.probabilities), _total(np.exp(draws.log_prob))
    who = f"These {count} trees have" if count > 1 else "This tree has"
    words = f"{who} {percent(best)} of the probability"
    if bool(draws.exhausted):
        words += f"; there are {several} trees in all" if several > count else ""
    elif drawn > best:  # otherwise, the best trees cover more
        words += f"; {several} distinct random ones have {percent(drawn)}"
    return f'<p class="covered">{words}.</p>'


def _total(probabilities: NDArray[np.float64]) -> float:
    return without_rounding(float(probabilities.sum()))


def _difference(
    names: Sequence[str], heads: NDArray[np.intp], best: NDArray[np.intp], rank: int
) -> str:
    if rank == 1:
        return '<p class="difference">the best tree</p>'
    changed = np.flatnonzero(heads != best).tolist()
    rest = len(changed) - _MOST_CHANGES_LISTED
    more = f"; and {rest} more" if rest > 0 else ""
    said = "; ".join(
        f"<bdi>{escape(names[j])}</bdi> depends on <bdi>{escape(names[int(heads[j])])}</bdi>, not "
        f"<bdi>{escape(names[int(best[j])])}</bdi>"
        for j in changed[:_MOST_CHANGES_LISTED]
    )
    return f'<p class="difference">{said}{more}</p>'
