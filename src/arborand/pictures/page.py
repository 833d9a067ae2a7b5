"""One self-contained HTML page for any number of sentences, written one sentence at a time.

The page is a plain document: everything on it can be read, printed and searched without a script.
Scripts let readers fix and forbid heads, show what follows, and break long sentences into lines
(docs/design.md lists them).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arborand.pictures.evaluation import evaluation_section
from arborand.pictures.layout import constants_script
from arborand.pictures.markup import asset, document_head, escape
from arborand.pictures.script_data import OriginalCorpus, as_json
from arborand.pictures.section import sentence_section

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from arborand.evaluation import Summary
    from arborand.pictures.picture import Picture

_SCRIPTS = (
    *("markup.js", "numbers.js", "projective.js", "trees.js", "choices.js"),
    *("decisions.js", "corpus.js", "queue.js", "conllu.js"),
    *("layout.js", "diagram.js", "heads_list.js", "facts.js", "explore.js"),
    *("page.js", "keeping.js", "deciding.js"),
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
    """Write a page about sentences, one after another.

    Parameters
    ----------
    pictures : iterable of Picture
        Read one at a time, and not kept.
    title : str
    num_trees : int
        How many of the best trees of each sentence are shown.
    provenance : mapping of str to str, optional
        Where the page comes from (a command, a seed, a digest), for the end of the page.
    selection : str, optional
        Which sentences these are, such as ``"20 of 2001, the most uncertain first"``.
    explore : bool
        Whether readers may fix and forbid heads.  The page then contains all scores.
    command : str, optional
        A command that finds the best trees of the same scores, such as ``arborand best
        scores.npz``, for readers to copy with the file of their decisions.
    evaluation : arborand.evaluation.Summary, optional
        How the scores of the corpus compare with its gold trees, for a separate section.
    num_sentences : int, optional
        The number of sentences in the corpus, if the evaluation does not cover all of them.
    conllu : bytes, optional
        The CoNLL-U file that the sentences are from.  Readers can save the whole file with their
        decisions.  Sentences without a `place` in it are written after it.
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

    Examples
    --------
    >>> from arborand import DependencyTrees
    >>> from arborand.pictures import Picture
    >>> trees = DependencyTrees([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
    >>> draws = trees.sample_without_replacement(2, rng=0)
    >>> picture = Picture(trees, ["she", "sleeps"], "en-1", draws, trees.arc_marginals())
    >>> "".join(page([picture], title="One sentence"))[:15]
    '<!doctype html>'
    """
    source = '"use strict";\n' + constants_script() + "".join(map(asset, _SCRIPTS))
    lines = (line.strip() for line in source.splitlines())
    script = "\n".join(line for line in lines if not line.startswith("//"))
    yield document_head(title, asset("theme.css") + asset("page.css"), script)
    chosen = f'<p class="selection">{escape(selection)}</p>' if selection else ""
    repeated = f' data-command="{escape(command)}"' if command else ""
    yield f"<header><h1>{escape(title)}</h1>{chosen}{_LEGEND}</header><main{repeated}>"
    if evaluation is not None:
        yield evaluation_section(evaluation, num_sentences)
    corpus = OriginalCorpus(conllu, file_name)
    for number, picture in enumerate(pictures, start=1):
        yield sentence_section(picture, number, num_trees, explore=explore)
        corpus.add(picture)
    yield "</main><footer><p>Drawn by arborand.</p>"
    if provenance:
        rows = (f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in provenance.items())
        yield f"<dl>{''.join(rows)}</dl>"
    yield "</footer>"
    if explore:
        yield f'<script type="application/json" id="corpus">{as_json(corpus.data)}</script>'
    yield f"<script>{script}</script></body></html>\n"


_LEGEND = """<details class="legend"><summary aria-label="How to read this page, and keys" \
title="How to read this page, and keys">?</summary><div class="sheet"><ul>
<li><svg viewBox="0 0 66 18" width="66" height="18" aria-hidden="true">
<path class="arc candidate" opacity=".3" d="M2 9h18"/><path class="arc candidate" opacity=".65"
d="M24 9h18"/><path class="arc candidate" d="M46 9h18"/></svg> An arc goes from a head to a word
that may depend on it. The more probable an arc, the stronger its line.</li>
<li><svg viewBox="0 0 30 18" width="30" height="18" aria-hidden="true"><path class="arc tree"
d="M2 9h26"/></svg> The arcs of the best tree, the most probable of all, have the colour of the
text.</li>
<li class="gold-key"><svg viewBox="0 0 30 18" width="30" height="18" aria-hidden="true"><path
class="arc gold" d="M2 9h26"/></svg> An arc of the gold (annotated) tree that is not in the best
tree. <span class="gold-relation">◆ nsubj</span> is a relation of the gold tree, whatever arcs are
drawn.</li>
<li><mark>word</mark> The head of this word is uncertain. The number is its entropy in nats: 0 means
certain, 0.7 is a toss-up between two heads, 1.1 between three.</li>
<li class="needs-script"><b>Choose a word</b> to see its possible heads. Fix or forbid one, and all
numbers are updated. Your decisions stay in this browser; <b>Save</b> writes them into the
corpus.</li>
<li class="needs-script"><b>Decide</b> asks about the word whose head settles the most, then about
the next one.</li></ul>
<table class="keys needs-script"><caption>Keys</caption><tbody>
<tr><td><kbd>d</kbd></td><td>decide: ask the most valuable question</td></tr>
<tr><td><kbd>1</kbd> … <kbd>9</kbd></td><td>answer the question, or fix this head in the
list</td></tr>
<tr><td><kbd>b</kbd></td><td>the best tree of this sentence is right</td></tr>
<tr><td><kbd>s</kbd></td><td>skip the question</td></tr>
<tr><td><kbd>u</kbd> or <kbd>Ctrl</kbd> <kbd>Z</kbd></td><td>undo</td></tr>
<tr><td><kbd>n</kbd> <kbd>p</kbd></td><td>next and previous sentence</td></tr>
<tr><td><kbd>←</kbd> <kbd>→</kbd></td><td>move between words, or trees, of a sentence</td></tr>
<tr><td><kbd>Enter</kbd></td><td>on a word: list its heads; in the list: fix this head</td></tr>
<tr><td><kbd>Delete</kbd></td><td>in the list: forbid this head</td></tr>
<tr><td><kbd>Esc</kbd></td><td>close the list, or stop deciding</td></tr>
</tbody></table></div></details>"""
