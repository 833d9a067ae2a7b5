"""Masks and sharp scores: what they cost beside scores that have neither.

A mask is a huge negative score.  It should cost what a missing arc costs.  Sharp scores (those of a
parser at a low temperature, or words bound to each other) make plain random walks long; draws
should cost what they cost at the parser's own temperature, and what they cost without bonds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from arborand import DependencyTrees
from benchmarks import graphs
from benchmarks.graphs import Floats, Sentences
from benchmarks.measure import Ratio, Settings, Side, compare, duration
from benchmarks.report import Report

TITLE = "Masks and sharp scores"
NUM_DRAWS = 20
SCALES = (8.0, 4.0, 2.0, 1.0)
_MASK = -1e9


def run(settings: Settings) -> Report:
    """Measure masks against missing arcs, and sharp graphs against their milder selves."""
    report = Report("sharp", TITLE, settings)
    found = graphs.read_sentences(settings.scores)
    trained = [sentences for sentences in found if sentences.name.endswith(".trained")] or found
    first = settings.pick((300,), (30,))[0]
    short = [Sentences(s.name, [m for m in s.matrices if len(m) <= 121][:first]) for s in trained]
    _masks(report, settings, short[0])
    _temperatures(report, settings, short)
    _bonds(report, settings)
    return report


# ---- masks


def _masks(report: Report, settings: Settings, sentences: Sentences) -> None:
    table = report.table(
        "masks against missing arcs",
        ("question", "-inf", "-1e9", "ratio"),
        f"A third of the arcs of {sentences.name}, none of them in the best tree.",
    )
    plain, lengths = sentences.padded()
    chosen = np.random.default_rng(1).random(plain.shape) < 1 / 3
    best = DependencyTrees(plain, lengths=lengths).best_tree()
    for mask, heads, length in zip(chosen, best, lengths, strict=True):
        mask[heads[1 : length + 1], np.arange(1, length + 1)] = False
    chosen &= plain > -np.inf
    made = {
        name: DependencyTrees(np.where(chosen, score, plain), lengths=lengths)
        for name, score in (("-inf", -np.inf), ("-1e9", _MASK))
    }
    ratios: dict[str, Ratio] = {}
    for question, ask in _questions(plain.shape).items():
        both = compare({name: Side(partial(ask, d)) for name, d in made.items()}, settings)
        ratios[question] = both.ratio("-1e9", "-inf")
        times = (duration(both.median(name) / len(plain)) for name in made)
        table.rows.append([question, *times, str(ratios[question])])
    report.worst(
        "a third of the arcs masked: time over that without them", ratios, 1.1, at_most=True
    )

    rows: dict[str, Ratio] = {}
    for question in ("log Z", "arc_marginals", "sample"):
        ask = _questions(plain.shape)[question]
        same = _of_one_length(plain, lengths)
        both = compare({name: Side(partial(ask, d)) for name, d in same.items()}, settings)
        rows[question] = both.ratio("padding masked", "padding missing")
    report.worst(
        "padding words masked: time over that of padding words with free scores",
        rows,
        1.5,
        at_most=True,
    )


def _of_one_length(plain: Floats, lengths: Any) -> dict[str, DependencyTrees]:
    """Make words of the padding: masked ones, and ones with scores like any others."""
    size = plain.shape[-1]
    inside = np.arange(size) <= lengths[:, None]
    both = inside[:, :, None] & inside[:, None, :]
    free = np.where(both, plain, np.random.default_rng(2).normal(size=plain.shape))
    return {
        "padding missing": DependencyTrees(free),
        "padding masked": DependencyTrees(np.where(both, plain, _MASK)),
    }


def _questions(shape: tuple[int, ...]) -> dict[str, Callable[[DependencyTrees], Any]]:
    direction = np.random.default_rng(3).normal(size=shape)
    return {
        # A new distribution, because log Z is kept.
        "log Z": lambda d: DependencyTrees._of(d._graphs).log_partition(),
        "arc_marginals": lambda d: d.arc_marginals(),
        "entropy": lambda d: d.entropy(),
        "sample": lambda d: d.sample(NUM_DRAWS, rng=1),
        "best_tree": lambda d: d.best_tree(),
        "arc_covariances": lambda d: d.arc_covariances(direction),
    }


# ---- sharp scores


def _temperatures(report: Report, settings: Settings, chosen: list[Sentences]) -> None:
    table = report.table(
        f"{NUM_DRAWS} draws per sentence, scores multiplied",
        ("scores", *(f"x {scale:g}" for scale in SCALES), "x 8 over x 1"),
        "Time per tree, preparation included.",
    )
    ratios: dict[str, Ratio] = {}
    for sentences in chosen:
        batch, lengths = sentences.padded()
        sides = {}
        for scale in SCALES:
            trees = DependencyTrees(scale * batch, lengths=lengths)
            draw = partial(trees.sample, NUM_DRAWS, rng=1)
            sides[f"x {scale:g}"] = Side(draw, None, NUM_DRAWS * len(batch))
        found = compare(sides, settings)
        ratios[sentences.name] = found.ratio("x 8", "x 1")
        times = (duration(found.median(name)) for name in sides)
        table.rows.append([sentences.name, *times, str(ratios[sentences.name])])
    report.worst(
        "scores times 8: time of a draw over that with the scores themselves",
        ratios,
        2.0,
        at_most=True,
    )


# ---- words bound to each other


def _bonds(report: Report, settings: Settings) -> None:
    table = report.table(
        "Words bound to each other",
        ("words", "graphs", "time of a tree", "times that of free words"),
        "Time per tree, preparation included.  The scores of free words are random.",
    )
    for n in (20, 60):
        families = {
            "free words": graphs.random(n, 3),
            "pairs bound by e^20": bound(n, 2, 20.0),
            "pairs bound by e^60": bound(n, 2, 60.0),
            "cycles of three": bound(n, 3, 30.0),
            "pairs of pairs of pairs": nested(n, 30.0),
            "cliques of five": cliques(n, 5, 30.0),
        }
        sides = {}
        for name, scores in families.items():
            draw = partial(DependencyTrees(scores).sample, 400, rng=1)
            sides[name] = Side(draw, None, 400 * len(scores))
        found = compare(sides, settings)
        for name in families:
            ratio = "" if name == "free words" else str(found.ratio(name, "free words"))
            table.rows.append([str(n), name, duration(found.median(name)), ratio])


def bound(num_words: int, length: int, bond: float, *, seed: int = 0) -> Floats:
    """Bind words to each other in cycles of one length."""
    scores = graphs.random(num_words, 3, seed=seed)
    for first in range(1, num_words - length + 2, length):
        for place in range(length):
            scores[:, first + (place + 1) % length, first + place] += bond
    return scores


def nested(num_words: int, bond: float) -> Floats:
    """Bind pairs of words, more loosely pairs of pairs, and so on."""
    scores = graphs.random(num_words, 3)
    word = np.arange(num_words)
    level = np.frexp(word[:, None] ^ word)[1]  # 1 for a pair, 2 for a pair of pairs
    scores[:, 1:, 1:] += np.where(level <= 3, bond / np.maximum(level, 1), 0.0)
    return scores


def cliques(num_words: int, size: int, bond: float) -> Floats:
    """Bind all words of a group to each other."""
    scores = graphs.random(num_words, 3)
    group = np.arange(num_words) // size
    scores[:, 1:, 1:] += bond * (group[:, None] == group)
    return scores
