"""A corpus compared with its gold trees: attachment scores and calibration."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from arborand.pictures.markup import asset, document_head, escape, percent
from arborand.pictures.plots import calibration_plot

if TYPE_CHECKING:
    from arborand.evaluation import Calibration, Summary

# Arcs of this probability or more are nearly certain; one sentence sums up their calibration.
_SURE = 0.9


def evaluation_page(summary: Summary, *, title: str, num_sentences: int | None = None) -> str:
    """Write a page that shows how well scores agree with gold trees.

    Parameters
    ----------
    summary : arborand.evaluation.Summary
    title : str
    num_sentences : int, optional
        The number of sentences in the corpus, if not all of them were compared.

    Returns
    -------
    str
        An HTML document that needs no other files and no scripts.

    Examples
    --------
    >>> from arborand import DependencyTrees
    >>> from arborand.evaluation import evaluate
    >>> trees = DependencyTrees([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
    >>> document = evaluation_page(evaluate(trees, [-1, 2, 0]).summary(), title="Two words")
    >>> document.count("<table"), document.count("<svg")
    (1, 1)
    """
    return (
        f"{document_head(title, asset('theme.css') + asset('page.css'), '')}"
        f"<header><h1>{escape(title)}</h1></header>"
        f"<main>{evaluation_section(summary, num_sentences, is_open=True)}</main>"
        "<footer><p>Compared by arborand.</p></footer></body></html>\n"
    )


def evaluation_section(
    summary: Summary, num_sentences: int | None, *, is_open: bool = False
) -> str:
    """Write the section of a page that compares a corpus with its gold trees.

    Parameters
    ----------
    summary : arborand.evaluation.Summary
    num_sentences : int or None
        The number of sentences in the corpus; None if all were compared.
    is_open : bool
        Whether it is unfolded at first.
    """
    table = ""
    if summary.calibration is not None and summary.num_words:
        table = _calibration(summary.calibration)
    share = summary.best_attachment_score
    brief = "" if math.isnan(share) else f": {percent(share)} of the heads are right"
    return (
        '<section class="evaluation" aria-labelledby="evaluation">'
        f"<details{' open' * is_open}><summary>"
        f'<h2 id="evaluation">Compared with gold trees{brief}</h2></summary>'
        f"<p>{_scope(summary, num_sentences)}</p>"
        f'<dl class="summary">{_facts(summary)}</dl>{_remarks(summary)}{table}'
        "</details></section>\n"
    )


def _scope(summary: Summary, num_sentences: int | None) -> str:
    count = summary.num_sentences
    which = "the only sentence" if count == 1 else f"all {count:,} sentences"
    which += " of the corpus"
    if num_sentences is not None and num_sentences != count:
        which = (
            f"{count:,} of the {num_sentences:,} sentences of the corpus (the others have no gold "
            "heads, or cannot be used)"
        )
    left_out = ""
    if summary.num_open:
        left_out = f"; {_counted(summary.num_open, 'word')} without one are not counted"
    words = f"{_counted(summary.num_words, 'word')} with a gold head{left_out}"
    return (
        f"Over {which}: {words}. The share of words with the right head is the unlabelled "
        "attachment score, UAS."
    )


def _facts(summary: Summary) -> str:
    facts = [
        ("UAS of the best tree", summary.best_attachment_score),
        ("UAS of the minimum-risk tree", summary.minimum_risk_attachment_score),
        ("its expected UAS, by the scores", summary.claimed_attachment_score),
        ("expected UAS of a random tree", summary.expected_attachment_score),
    ]
    rows = [(words, percent(share)) for words, share in facts if not math.isnan(share)]
    if summary.num_trees:
        mean = summary.mean_log_prob
        typical = f"<small> ({percent(math.exp(mean))})</small>"
        rows.append(("log-probability of gold, mean", f"{mean:.2f}\u00a0nats{typical}"))
    return "".join(f"<div><dt>{words}</dt><dd>{value}</dd></div>" for words, value in rows)


def _remarks(summary: Summary) -> str:
    """Count the sentences that some figures leave out."""
    remarks = []
    if summary.num_no_trees:
        remarks.append(
            f"In {_counted(summary.num_no_trees, 'sentence')}, the gold heads are not a tree of "
            "this kind (for example, they have a cycle): they count for UAS, but have no "
            "log-probability."
        )
    if summary.num_impossible:
        remarks.append(
            f"In {_counted(summary.num_impossible, 'sentence')}, the scores rule out the gold "
            "tree: its probability is 0, and the mean log-probability leaves it out."
        )
    return "".join(f"<p>{remark}</p>" for remark in remarks)


def _calibration(calibration: Calibration) -> str:
    rows = []
    for low, high, count, right, mean, share in calibration.bins():
        cells = (
            f"{count:,}",
            percent(mean) if count else "",
            f"{right:,}",
            percent(share) if count else "",
        )
        rows.append(
            f'<tr><th scope="row">{100 * low:g} to {100 * high:g}\u00a0%</th>'
            f"{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
        )
    columns = "".join(
        f'<th scope="col">{title}</th>'
        for title in ("probability", "arcs", "on average", "right", "share right")
    )
    return (
        f"{_nearly_sure(calibration)}<h3>Calibration: are the probabilities reliable?</h3>"
        "<p>If they are, the share of right arcs equals the probability in every row of the table, "
        "and all points of the plot lie on the dashed line. If fewer are right, the scores are "
        'overconfident.</p><div class="calibration"><div class="scroll"><table>'
        "<caption>Of the arcs in each probability range, how many are right?</caption>"
        f"<thead><tr>{columns}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        f"{calibration_plot(calibration)}</div>"
    )


def _nearly_sure(calibration: Calibration) -> str:
    """Say how many of the nearly certain arcs are right."""
    is_sure = calibration.edges[:-1] >= _SURE
    count, right = (
        int(column[is_sure].sum()) for column in (calibration.num_arcs, calibration.num_right)
    )
    if not count:
        return ""
    mean = min(float(calibration.probability_sums[is_sure].sum()) / count, 1.0)
    return (
        f"<p>Of the {_counted(count, 'head')} that the scores give {100 * _SURE:g}\u00a0% or more "
        f"({percent(mean)} on average), {percent(right / count)} are right.</p>"
    )


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
