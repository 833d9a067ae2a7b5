"""One self-contained HTML page for any number of sentences, written one sentence at a time.

The page is a plain document: everything on it can be read, printed and searched without a script.
Scripts let readers fix and forbid heads, show what follows, and break long sentences into lines
(docs/design.md lists them).
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from arborand.pictures.arcs import (
    Diagram,
    check_marginals,
    check_tree,
    describe,
    head_entropy,
    render_for_page,
    select_arcs,
)
from arborand.pictures.evaluation import evaluation_section
from arborand.pictures.layout import UNCERTAIN_NATS, Arc, constants_script, slots
from arborand.pictures.markup import (
    asset,
    distinct_names,
    document_head,
    escape,
    is_right_to_left,
    large_number,
    percent,
    printable,
    without_rounding,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from arborand.distributions import TreeDistribution
    from arborand.evaluation import Summary
    from arborand.without_replacement import Draws

_SCRIPTS = (
    *("markup.js", "trees.js", "choices.js", "decisions.js", "corpus.js", "queue.js", "conllu.js"),
    *("layout.js", "diagram.js", "heads_list.js", "facts.js", "explore.js"),
    *("page.js", "keeping.js", "deciding.js"),
)
_MOST_WORDS_LISTED = 6
_MOST_HEADS_LISTED = 4
_MOST_CHANGES_LISTED = 6
_LEAST_SHARE = 0.05
# The static diagram is replaced by one that a script draws.  It leaves out arcs that are less
# probable than this, unless the best tree or the gold tree has them.
_LEAST_PROBABILITY = 0.1
# A static diagram that is wider than a sheet of paper is printed in lines, which overlap a little.
_SHEET, _OVERLAP = 1100, 60
# With more words, a choice would take half a second or more.
_MOST_WORDS_EXPLORED = 200
# trees.js is tested with scores at most this far apart, and with masks this far below them.
_FARTHEST_APART = 1e6
_MASKS = (1e8, 1e10)
# A corpus that takes more than this, compressed, is not in the page as a whole.
_LARGEST_CORPUS = 3_000_000


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
    text : str, optional
        The sentence as running text; by default the words with spaces between them.
    gold_heads : sequence of int, shape (n + 1,), optional
        The tree that an annotator gave it, with -1 for the root.
    parts_of_speech, relations : sequence of str, optional
        What is written below the words: UPOS and DEPREL of a CoNLL-U file.
    place : pair of int, optional
        Where its lines begin and end in the `conllu` of the page, in bytes.

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
    text: str | None = None
    gold_heads: Sequence[int] | None = None
    parts_of_speech: Sequence[str] | None = None
    relations: Sequence[str] | None = None
    place: tuple[int, int] | None = None

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
        if self.gold_heads is not None:
            check_tree(np.asarray(self.gold_heads), num_words + 1, "gold_heads")
        for name in ("parts_of_speech", "relations"):
            column = getattr(self, name)
            if column is not None and len(column) != num_words:
                raise ValueError(
                    f"{name} has {len(column)} entries where {self.sent_id!r} has {num_words} words"
                )


def page(
    pictures: Iterable[Picture],
    *,
    title: str,
    num_trees: int = 6,
    provenance: Mapping[str, str] | None = None,
    selection: str | None = None,
    explore: bool = True,
    command: str | None = None,
    evaluation: Summary | None = None,
    num_sentences: int | None = None,
    conllu: bytes | None = None,
    file_name: str = "corpus.conllu",
) -> Iterator[str]:
    """Write a page about sentences, one after the other.

    Parameters
    ----------
    pictures : iterable of Picture
        Read one at a time, and not kept.
    title : str
    num_trees : int
        How many of the best trees of each sentence are shown.
    provenance : mapping of str to str, optional
        Where the page comes from (a command, a seed, a digest), for its last lines.
    selection : str, optional
        Which sentences these are, such as ``"20 of 2001, the most uncertain first"``.
    explore : bool
        Whether readers may fix and forbid heads.  The page then contains all scores.
    command : str, optional
        A command that draws trees from the same scores, such as ``arborand sample scores.npz``, for
        readers to copy with the heads that they have fixed.
    evaluation : arborand.evaluation.Summary, optional
        How the scores of the corpus compare with its gold trees, for a section of its own.
    num_sentences : int, optional
        How many sentences the corpus has, if the evaluation is not about all of them.
    conllu : bytes, optional
        The CoNLL-U file that the sentences are from.  Readers can save it as a whole, with what
        they decided.  Sentences without a `place` in it are written after it.
    file_name : str
        Its name.

    Yields
    ------
    str
        The pieces of an HTML document, to be written in UTF-8.

    Notes
    -----
    The best trees come from the distribution, in their exact order.  The draws only show how much
    of the probability they cover.
    """
    script = '"use strict";\n' + constants_script() + "".join(map(asset, _SCRIPTS))
    yield document_head(title, asset("theme.css") + asset("page.css"), script)
    chosen = f'<p class="selection">{escape(selection)}</p>' if selection else ""
    repeated = f' data-command="{escape(command)}"' if command else ""
    yield f"<header><h1>{escape(title)}</h1>{chosen}{_LEGEND}</header><main{repeated}>"
    if evaluation is not None:
        yield evaluation_section(evaluation, num_sentences)
    places: list[tuple[int, int]] = []
    added = bytearray()
    base = conllu if conllu is not None and _fits(conllu) else b""
    for number, picture in enumerate(pictures, start=1):
        yield _section(picture, number, num_trees, explore=explore)
        start, stop = picture.place or (0, 0)
        if picture.place is None or not base:
            block = (conllu or b"")[start:stop] or _block(picture)
            start = len(base) + len(added)
            stop = start + len(block)
            added += block + b"\n"
        places.append((start, stop))
    yield "</main><footer><p>Drawn by arborand.</p>"
    if provenance:
        rows = (f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in provenance.items())
        yield f"<dl>{''.join(rows)}</dl>"
    yield "</footer>"
    if explore:
        corpus = {
            "name": printable(file_name),
            "places": places,
            "is_whole": bool(base) or conllu is None,
            "deflated": base64.b64encode(zlib.compress(base + added, 9)).decode(),
        }
        yield f'<script type="application/json" id="corpus">{_json(corpus)}</script>'
    yield f"<script>{script}</script></body></html>\n"


def _fits(conllu: bytes) -> bool:
    return len(conllu) <= _LARGEST_CORPUS or len(zlib.compress(conllu, 9)) <= _LARGEST_CORPUS


def _block(picture: Picture) -> bytes:
    """Write the lines of a sentence that no file has: heads that are the only ones possible."""

    def column(text: str) -> str:
        return " ".join(printable(text).split()) or "_"

    sent_id = column(picture.sent_id)
    lines = [f"# sent_id = {sent_id}"]
    if sent_id != picture.sent_id:
        lines.append(f"# arborand_sent_id = {json.dumps(picture.sent_id)}")
    lines.append(f"# text = {column(picture.text or ' '.join(picture.tokens))}")
    size = len(picture.tokens) + 1
    is_arc = picture.distribution.log_weights[:size, :size] > -np.inf
    np.fill_diagonal(is_arc, False)
    for word, token in enumerate(picture.tokens, start=1):
        heads = np.flatnonzero(is_arc[:, word])
        head = str(heads[0]) if len(heads) == 1 else "_"
        tag = column(picture.parts_of_speech[word - 1]) if picture.parts_of_speech else "_"
        relation = "root" if head == "0" else "_"
        fields = (str(word), column(token), "_", tag, "_", "_", head, relation, "_", "_")
        lines.append("\t".join(fields))
    return ("\n".join(lines) + "\n").encode()


def _json(data: Mapping[str, Any]) -> str:
    """Write JSON that cannot end the element it is in."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


_LEGEND = """<details class="legend"><summary aria-label="How to read this page, and keys" \
title="How to read this page, and keys">?</summary><div class="sheet"><ul>
<li><svg viewBox="0 0 66 18" width="66" height="18" aria-hidden="true">
<path class="arc candidate" opacity=".3" d="M2 9h18"/><path class="arc candidate" opacity=".65"
d="M24 9h18"/><path class="arc candidate" d="M46 9h18"/></svg> An arc goes from a word to a word
that may depend on it. The more probable an arc is, the stronger is its line.</li>
<li><svg viewBox="0 0 30 18" width="30" height="18" aria-hidden="true"><path class="arc tree"
d="M2 9h26"/></svg> The arcs of the best tree, the most probable of all, have the colour of the
text.</li>
<li class="gold-key"><svg viewBox="0 0 30 18" width="30" height="18" aria-hidden="true"><path
class="arc gold" d="M2 9h26"/></svg> An arc of the gold tree, the annotated one, that the best tree
does not have. <span class="gold-relation">◆ nsubj</span> is a relation of the gold tree, whatever
arcs are drawn.</li>
<li><mark>word</mark> It is uncertain what this word depends on. Its number is the entropy in nats:
0 means certain, 0.7 is a toss-up between two heads, 1.1 between three.</li>
<li class="needs-script"><b>Choose a word</b> to see its possible heads. Fix or forbid one, and all
numbers follow. Your decisions stay in this browser; <b>Save</b> writes them into the corpus.</li>
<li class="needs-script"><b>Decide</b> asks for the word whose head settles most, then for the next
one.</li></ul>
<table class="keys needs-script"><caption>Keys</caption><tbody>
<tr><td><kbd>d</kbd></td><td>decide: ask the most valuable question</td></tr>
<tr><td><kbd>1</kbd> … <kbd>9</kbd></td><td>answer the question, or fix this head of the
list</td></tr>
<tr><td><kbd>b</kbd></td><td>the best tree of this sentence is right</td></tr>
<tr><td><kbd>s</kbd></td><td>skip the question</td></tr>
<tr><td><kbd>u</kbd> or <kbd>Ctrl</kbd> <kbd>Z</kbd></td><td>undo</td></tr>
<tr><td><kbd>n</kbd> <kbd>p</kbd></td><td>next and previous sentence</td></tr>
<tr><td><kbd>←</kbd> <kbd>→</kbd></td><td>go through the words, or the trees of a sentence</td></tr>
<tr><td><kbd>Enter</kbd></td><td>on a word: list its heads; in the list: fix this head</td></tr>
<tr><td><kbd>Delete</kbd></td><td>in the list: forbid this head</td></tr>
<tr><td><kbd>Esc</kbd></td><td>close the list, or stop deciding</td></tr>
</tbody></table></div></details>"""


class _Sentence:
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
        self.gold_row = None
        if picture.relations is not None:  # marked, because the arcs that are drawn may be others
            self.gold_row = len(self.below)
            self.below.append(["" if name == "_" else f"◆ {name}" for name in picture.relations])


def _section(picture: Picture, number: int, num_trees: int, *, explore: bool) -> str:
    sentence = _Sentence(picture, num_trees)
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
    return (
        f'<section class="sentence{is_long}" id="s{number}" '
        f'aria-label="{escape(picture.sent_id)}" '
        f'data-entropy="{sentence.entropy:.2f}">'
        f'<h2 id="h{number}" tabindex="-1" title="{escape(picture.sent_id)}">'
        f"<bdi>{escape(picture.sent_id)}</bdi></h2>"
        f'<p class="text"{direction}>{escape(text)}</p>'
        f'<div class="scroll main"{direction} role="group" aria-label="Arcs with their '
        f'probabilities">{diagram.svg}</div>{slices}'
        f'<details class="rest"><summary>{_brief(sentence)}</summary>{_summary(sentence)}'
        f'<div class="facts">{_uncertain_words(sentence)}</div>'
        f"{_trees(sentence, number)}</details>"
        f'<script type="application/json">{_json(_data(sentence, explore=explore))}</script>'
        "</section>\n"
    )


def _brief(sentence: _Sentence) -> str:
    """Sum a sentence up in a line; facts.js writes the same."""
    number = _effective_number(sentence.entropy)
    return (
        f'Best tree <b class="best">{percent(sentence.best_probability)}</b>, '
        f'as uncertain as <b class="number">{number}</b> equally likely trees'
    )


def _data(sentence: _Sentence, *, explore: bool) -> dict[str, Any]:
    """Gather what the scripts need."""
    picture, marginals = sentence.picture, sentence.marginals
    data: dict[str, Any] = {
        "id": printable(picture.sent_id),
        "tokens": [printable(token) for token in picture.tokens],
        "slots": [round(slot) for slot in slots(picture.tokens, sentence.below)],
        "rtl": sentence.right_to_left,
        "best": sentence.best.tolist(),
        "entropy": sentence.entropy,
        "entropies": [round(float(entropy), 4) for entropy in sentence.entropies],
        "trees": [
            [float(f"{probability:.6g}"), _differences(heads, sentence.best)]
            for heads, probability in zip(sentence.trees, sentence.probabilities, strict=True)
        ],
    }
    if picture.text is not None:
        data["text"] = printable(picture.text)
    for name, column in (("upos", picture.parts_of_speech), ("deprel", picture.relations)):
        if column is not None:
            data[name] = [printable(word) for word in column]
    if sentence.gold is not None:
        data["gold"] = sentence.gold.tolist()
        data["goldProbability"] = sentence.gold_probability
    scores = picture.distribution.log_weights[: sentence.size, : sentence.size]
    reason = _why_not(scores, explore=explore)
    if reason:
        heads, dependents = np.nonzero(marginals >= 0.01)
        data["reason"] = reason
        data["arcs"] = [
            [head, dependent, round(float(marginals[head, dependent]), 4)]
            for head, dependent in zip(heads.tolist(), dependents.tolist(), strict=True)
        ]
    else:
        with np.errstate(over="ignore"):
            single = scores.astype("<f4")
        is_exact = np.array_equal(single.astype(np.float64), scores)
        stored = single if is_exact else scores.astype("<f8")
        data["single"] = type(picture.distribution).__name__ == "DependencyTrees"
        data["bytes"] = stored.itemsize
        data["scores"] = base64.b64encode(stored.tobytes()).decode()
    return data


def _differences(heads: NDArray[np.intp], best: NDArray[np.intp]) -> list[list[int]]:
    return [[j, int(heads[j])] for j in np.flatnonzero(heads != best).tolist()]


def _why_not(scores: NDArray[np.float64], *, explore: bool) -> str | None:
    """Return why a sentence cannot be explored, or None if it can."""
    if not explore:
        return "this page was made without the scores."
    num_words = len(scores) - 1
    if num_words > _MOST_WORDS_EXPLORED:
        return f"this sentence has {num_words} words, and the limit is {_MOST_WORDS_EXPLORED}."
    real = np.isfinite(scores)
    real[:, 0] = False
    np.fill_diagonal(real, False)
    below = scores[real].max() - scores[real]
    is_far = (below > _FARTHEST_APART) & ((below < _MASKS[0]) | (below > _MASKS[1]))
    if is_far.any():
        return f"its scores are more than {_FARTHEST_APART:,.0f} apart."
    return None


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


def _summary(sentence: _Sentence) -> str:
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


def _uncertain_words(sentence: _Sentence) -> str:
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


def _trees(sentence: _Sentence, number: int) -> str:
    if not len(sentence.trees):
        return '<p class="none">No trees were asked for.</p>'
    cards = "".join(
        f'<li class="card"><p class="tree-head"><span class="rank">{rank}</span>'
        f'<span class="chance">{percent(float(probability))}</span></p>'
        f"{_difference(sentence.names, heads, sentence.best, rank)}</li>"
        for rank, (heads, probability) in enumerate(
            zip(sentence.trees, sentence.probabilities, strict=True), start=1
        )
    )
    several = "tree" if len(sentence.trees) == 1 else f"{len(sentence.trees)} trees"
    return (
        f'<h3 id="t{number}">The best {several}, and what each changes</h3>{_covered(sentence)}'
        f'<ol class="trees" aria-labelledby="t{number}">{cards}</ol>'
    )


def _covered(sentence: _Sentence) -> str:
    """Say how much of the probability the trees shown have, and how much the draws have."""
    draws = sentence.picture.draws
    count, several = len(sentence.probabilities), len(draws)
    best, drawn = _total(sentence.probabilities), _total(np.exp(draws.log_prob))
    who = f"These {count} trees have" if count > 1 else "This tree has"
    words = f"{who} {percent(best)} of the probability"
    if bool(draws.exhausted):
        words += f"; there are {several} trees in all" if several > count else ""
    elif drawn > best:  # else the best ones say more
        words += f"; {several} different ones, taken at random, have {percent(drawn)}"
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
