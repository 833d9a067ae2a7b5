"""Masks and sharp scores: what they cost beside scores that have neither.

A mask is a huge negative score.  It should cost what a missing arc costs.  Sharp scores (those of a
parser at a low temperature, or words bound to each other) make plain random walks long; draws
should cost what they cost at the parser's own temperature.

OTHER=path/of/site-packages compares with the version of arborand that is installed there.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from arborand import DependencyTrees, _core
from arborand.randomness import stream_key
from benchmarks import graphs
from benchmarks.graphs import Floats, Sentences
from benchmarks.measure import Comparison, Ratio, Settings, Side, compare, duration
from benchmarks.report import Report, Table

TITLE = "Masks and sharp scores"
NUM_DRAWS = 20
SCALES = (8.0, 4.0, 2.0, 1.0)
ALL = "all sentences"
_MASK = -1e9
_WILSON = 0
_DEPENDENCY = 1


def run(settings: Settings) -> Report:
    """Measure masks against missing arcs, and sharp graphs against their milder selves."""
    report = Report("sharp", TITLE, settings)
    found = graphs.read_sentences(settings.scores)
    trained = [sentences for sentences in found if sentences.name.endswith(".trained")] or found
    first = settings.pick((300,), (30,))[0]
    short = [Sentences(s.name, [m for m in s.matrices if len(m) <= 121][:first]) for s in trained]
    _masks(report, settings, short[0])
    _temperatures(report, settings, short)
    folder = os.environ.get("OTHER")
    if folder is not None:
        other = _load(folder)
        if settings.quick:
            trained = [sentences.first(first) for sentences in trained]
        _real_scores(report, settings, trained, other._core)
        _python_calls(report, settings, trained, other)
        _made_up_graphs(report, settings, other._core)
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
        "scores times 8: time of a draw over that of the scores", ratios, 2.0, at_most=True
    )


# ---- another version


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


def _load(folder: str) -> Any:
    """Import another version beside this one."""
    ours = _imported()
    sys.path.insert(0, folder)
    try:
        return importlib.import_module("arborand")
    finally:
        sys.path.remove(folder)
        _imported()
        sys.modules.update(ours)


def _imported() -> dict[str, Any]:
    """Make Python forget the package, and give what it had imported of it."""
    names = [name for name in sys.modules if name.split(".")[0] == "arborand"]
    return {name: sys.modules.pop(name) for name in names}


_COLUMNS = ("graphs", "other", "this", "ratio")


def _real_scores(report: Report, settings: Settings, trained: list[Sentences], other: Any) -> None:
    """Draw from all sentences: a few are far slower than the others, and count."""
    table = report.table(
        "another version's time over this one's: real scores",
        _COLUMNS,
        "Time per tree, preparation included; one thread; the core alone.",
    )
    bounds = dict(zip(SCALES, (15.0, 12.0, 1.0, 1.0), strict=True))
    runs = [(NUM_DRAWS, scale, 1) for scale in SCALES]
    # Where the other version takes too long, some of the sentences have to do.
    long_runs = [(1000, scale, 4 if scale == 8.0 else 1) for scale in SCALES]
    for num_draws, scale, every in (*runs, *long_runs):
        found: dict[str, tuple[Comparison, int]] = {}
        for sentences in trained:
            groups = _by_size([scale * matrix for matrix in sentences.matrices[::every]])
            num_trees = num_draws * sum(len(group) for group in groups)
            sides = _both(
                partial(_draw_all, groups=groups, num_draws=num_draws), other, _core, num_trees
            )
            rounds = settings.min_rounds if num_draws == NUM_DRAWS else 3
            found[sentences.name] = compare(sides, settings, min_rounds=rounds), num_trees
        some = "" if every == 1 else f", every {every}th sentence"
        for name, one in _with_all(found).items():
            what = f"{name} x {scale:g}, {num_draws} draws{some}"
            _add_row(report, table, what, one, bounds[scale] if name == ALL else None)


def _python_calls(report: Report, settings: Settings, trained: list[Sentences], other: Any) -> None:
    """Construct distributions and draw, as users do: sentences of about one length in a call."""
    table = report.table(
        "another version's time over this one's: Python calls",
        _COLUMNS,
        f"`DependencyTrees(scores, lengths=lengths).sample({NUM_DRAWS})`, up to 64 sentences at a "
        "time. Time per tree.",
    )
    found: dict[str, tuple[Comparison, int]] = {}
    for sentences in trained:
        batches = list(_batches([8.0 * matrix for matrix in sentences.matrices]))
        num_trees = NUM_DRAWS * len(sentences.matrices)
        call = partial(_call_all, batches=batches)
        sides = _both(call, other.DependencyTrees, DependencyTrees, num_trees)
        found[sentences.name] = compare(sides, settings), num_trees
    for name, one in _with_all(found).items():
        _add_row(report, table, f"Python calls, {name} x 8", one, 10.0 if name == ALL else None)


def _made_up_graphs(report: Report, settings: Settings, other: Any) -> None:
    table = report.table(
        "another version's time over this one's: made-up graphs",
        _COLUMNS,
        "Time per tree, preparation included; one thread; the core alone.",
    )
    families: dict[str, tuple[list[Floats], int, float]] = {}
    for n in (20, 60):
        for bond in (20.0, 40.0, 60.0):
            families[f"pairs bound by e^{bond:g}, {n}"] = (list(bound(n, 2, bond)), 400, 10.0)
    families["cycles of three, 60"] = (list(bound(60, 3, 30.0)), 400, 20.0)
    families["nested traps, 32"] = (list(nested(32, 30.0)), 400, 2.0)
    families["cliques, 60"] = (list(cliques(60, 5, 30.0)), 200, 2.0)
    for n in (10, 20, 60, 150):
        families[f"flat, {n}"] = (list(graphs.random(n, 3)), 2000, 0.97)
    for name, (matrices, num_draws, least) in families.items():
        groups = _by_size(matrices)
        draw = partial(_draw_all, groups=groups, num_draws=num_draws)
        sides = _both(draw, other, _core, num_draws * len(matrices))
        # Ratios near 1 need many rounds.
        found = compare(sides, settings, seconds=settings.seconds * (4 if least < 1 else 1))
        _add_row(report, table, name, found, least)


def _both(work: Callable[[Any], None], other: Any, this: Any, num_trees: int) -> dict[str, Side]:
    both = {"other": other, "this": this}
    return {who: Side(partial(work, which), None, num_trees) for who, which in both.items()}


def _with_all(found: dict[str, tuple[Comparison, int]]) -> dict[str, Comparison]:
    """Add the times of all sentences together, per tree and round by round."""
    rounds = min(len(one.times["this"]) for one, _ in found.values())
    total = sum(num_trees for _, num_trees in found.values())
    times = {
        who: [
            sum(num_trees * one.times[who][r] for one, num_trees in found.values()) / total
            for r in range(rounds)
        ]
        for who in ("other", "this")
    }
    return {ALL: Comparison(times), **{name: one for name, (one, _) in found.items()}}


def _add_row(
    report: Report, table: Table, name: str, found: Comparison, least: float | None
) -> None:
    times = (duration(found.median(who)) for who in ("other", "this"))
    ratio = found.ratio("other", "this")
    table.rows.append([name, *times, str(ratio)])
    if least is not None:
        report.claim(f"{name}: the other's time of a draw over ours", ratio, least, at_most=False)


def _batches(matrices: list[Floats]) -> Iterator[tuple[Floats, Any]]:
    """Pad sentences of about one length: at most 64, and about a million numbers at most."""
    waiting: list[Floats] = []
    for matrix in sorted(matrices, key=len):
        if len(waiting) == 64 or len(waiting) * matrix.size > 1 << 20:
            yield Sentences("", waiting).padded()
            waiting = []
        waiting.append(matrix)
    yield Sentences("", waiting).padded()


def _call_all(made: Any, batches: list[tuple[Floats, Any]]) -> None:
    for batch, lengths in batches:
        made(batch, lengths=lengths).sample(NUM_DRAWS, rng=1)


def _by_size(matrices: list[Floats]) -> list[Floats]:
    sizes = sorted({len(matrix) for matrix in matrices})
    return [np.stack([m for m in matrices if len(m) == size]) for size in sizes]


def _draw_all(core: Any, groups: list[Floats], num_draws: int) -> None:
    for group in groups:
        count, size = group.shape[:2]
        heads = np.empty((num_draws, count, size), dtype=np.int32)
        entrance: tuple[Any, ...] = (group, np.full(count, size - 1, dtype=np.int32), True)
        if hasattr(core, "Batch"):  # not yet in 0.1
            entrance = (core.Batch.check(group, None, _DEPENDENCY)[0],)
        core.sample(*entrance, 1, _WILSON, *stream_key(1), 0, 0, -1, heads)
