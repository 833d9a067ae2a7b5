"""Distinct trees: against draws with replacement, the paper's `swor`, and over k."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from arborand import DependencyTrees
from arborand import without_replacement as library
from arborand.paper import reference
from benchmarks import graphs
from benchmarks.answers import Heads, distinct_law_objection, distinct_objection, tree_objection
from benchmarks.graphs import Sentences, read_sentences
from benchmarks.measure import (
    NOT_WEIGHED,
    Ratio,
    Settings,
    Side,
    WrongAnswerError,
    compare,
    duration,
    in_fresh_process,
    median_interval,
    significant,
    slope,
)
from benchmarks.report import Report

TITLE = "Draws without replacement"
_FAMILIES = {"flat": graphs.flat, "peaked": graphs.peaked, "sharp": graphs.sharp}
# Trees asked for of every sentence of a corpus.
_DISTINCT = 100


def run(settings: Settings) -> Report:
    """Measure everything that is promised about distinct trees."""
    report = Report("without_replacement", TITLE, settings)
    _judge_laws(settings)
    _with_replacement(report, settings)
    _reference(report, settings)
    _growth(report, settings)
    _memory(report, settings)
    sentences = read_sentences(settings.scores)
    if settings.quick:
        sentences = sentences[:1]
    _corpus(report, settings, sentences)
    _switch(report, settings, sentences)
    return report


def _judge_laws(settings: Settings) -> None:
    """Refuse to time samplers whose pairs of distinct trees do not come as they should."""
    scores = graphs.random(3)[0]
    rng = np.random.default_rng(7)
    samplers = {
        "arborand": partial(_ours, scores, 2, rng),
        "reference": partial(_paper, graphs.weights(scores), 2, rng),
    }
    for name, draw_two in samplers.items():
        num_draws = 300 if settings.quick else 1000
        objection = distinct_law_objection(draw_two, scores, num_draws, single_root=True)
        if objection is not None:
            raise WrongAnswerError(f"{name}: {objection}")


def _ours(scores: graphs.Floats, k: int, rng: int | np.random.Generator = 1) -> Heads:
    return DependencyTrees(scores).sample_without_replacement(k, rng=rng).heads


def _paper(weights: graphs.Floats, k: int, rng: np.random.Generator) -> Heads:
    return np.asarray(reference.swor(weights, k, rng, single_root=True))


def _distinct_trees(k: int, scores: graphs.Floats) -> Callable[[Any], str | None]:
    def check(heads: Any) -> str | None:
        if len(heads) != k:
            return f"{len(heads)} trees instead of {k}"
        return distinct_objection(heads, scores, single_root=True)

    return check


def _trees(k: int, scores: graphs.Floats) -> Callable[[Any], str | None]:
    def check(heads: Any) -> str | None:
        if len(heads) != k:
            return f"{len(heads)} trees instead of {k}"
        return tree_objection(heads, scores, single_root=True)

    return check


def _with_replacement(report: Report, settings: Settings) -> None:
    table = report.table(
        "k distinct trees against k trees with replacement",
        ("words", "graph", "k", "with", "without", "without / with"),
        "Dependency trees, from scores to trees.",
    )
    for n, k in settings.pick(((10, 100), (20, 1000), (50, 1000), (100, 1000)), ((50, 1000),)):
        for family, make in _FAMILIES.items():
            scores = make(n)[0]
            found = compare(
                {
                    "with": Side(partial(_repeated, scores, k), _trees(k, scores)),
                    "without": Side(partial(_ours, scores, k), _distinct_trees(k, scores)),
                },
                settings,
            )
            over = found.ratio("without", "with")
            row = [str(n), family, str(k)]
            row += [duration(found.median("with")), duration(found.median("without")), str(over)]
            table.rows.append(row)
            if (n, k, family) == (50, 1000, "flat"):
                report.claim(
                    "50 words, flat, k = 1000: time over that of draws with replacement",
                    over,
                    2.0,
                    at_most=True,
                )


def _repeated(scores: graphs.Floats, k: int) -> Heads:
    return DependencyTrees(scores).sample(k, rng=1)


def _reference(report: Report, settings: Settings) -> None:
    table = report.table(
        "k distinct trees against the paper's `swor` in NumPy",
        ("words", "graph", "k", "arborand", "`reference.swor`", "times faster"),
        "Dependency trees.  Where the reference's subtraction leaves it without trees too early, "
        "it is not timed.",
    )
    rng = np.random.default_rng(5)
    for n, k in settings.pick(((10, 50), (50, 50), (10, 300)), ((10, 50),)):
        for family, make, bound in (
            ("flat", graphs.flat, 50.0),
            ("peaked", graphs.peaked, 20.0),
            ("sharp", graphs.sharp, 20.0),
        ):
            scores = make(n)[0]
            weights = graphs.weights(scores)
            check = _distinct_trees(k, scores)
            found = compare(
                {
                    "arborand": Side(partial(_ours, scores, k), check),
                    "reference": Side(partial(_paper, weights, k, rng), check),
                },
                settings,
            )
            if "reference" in found.wrong:
                objection = found.wrong["reference"]
                ours = duration(found.median("arborand"))
                table.rows.append([str(n), family, str(k), ours, f"wrong: {objection}", ""])
                continue
            faster = found.ratio("reference", "arborand")
            table.rows.append(
                [
                    str(n),
                    family,
                    str(k),
                    duration(found.median("arborand")),
                    duration(found.median("reference")),
                    str(faster),
                ]
            )
            if (n, k) == (50, 50):
                report.claim(
                    f"50 words, {family}, k = 50: times faster than `reference.swor`",
                    faster,
                    bound,
                    at_most=False,
                )


def _growth(report: Report, settings: Settings) -> None:
    scores = graphs.peaked(10)[0]
    numbers = settings.pick((100, 300, 1000, 3000, 10_000, 30_000, 100_000), (100, 1000, 5000))
    times: dict[int, list[float]] = {}
    medians: dict[int, float] = {}
    for k in numbers:
        found = compare(
            {
                "arborand": Side(partial(_ours, scores, k), _distinct_trees(k, scores)),
            },
            settings,
            seconds=settings.seconds / 2,
        )
        medians[k] = found.median("arborand")
        times[k] = found.times["arborand"]
    late = [k for k in numbers if k >= 1000]
    rounds = min(len(times[k]) for k in late)
    slopes = [slope(late, [times[k][i] for k in late]) for i in range(rounds)]
    report.claim(
        f"10 words, peaked: slope of log time over log k, k = {late[0]:,} to {late[-1]:,} "
        "(linear is 1; read as at most 1.15)",
        median_interval(slopes),
        1.15,
        at_most=True,
    )
    table = report.table(
        "Distinct trees of a peaked graph of 10 words, over k", ("k", "time", "time a tree")
    )
    for k, elapsed in medians.items():
        table.rows.append([f"{k:,}", duration(elapsed), duration(elapsed / k)])

    rng = np.random.default_rng(6)
    weights = graphs.weights(scores)
    theirs = {}
    for k in settings.pick((10, 30, 100, 300, 1000), (10, 30)):
        one = compare(
            {"swor": Side(partial(_paper, weights, k, rng), _distinct_trees(k, scores))},
            settings,
            seconds=0.0,
            min_rounds=1,
        )
        if not one.wrong:
            theirs[k] = one.median("swor")
    with report.figure(
        "distinct", "Time for k distinct dependency trees of a peaked graph of 10 words."
    ) as axes:
        axes.loglog(list(medians), list(medians.values()), marker="o", label="arborand")
        label = "the paper's swor in NumPy"
        axes.loglog(list(theirs), list(theirs.values()), marker="s", color="C1", label=label)
        axes.set_xlabel("k")
        axes.set_ylabel("seconds")


_MEMORY_PROGRAM = """
import numpy as np
from arborand import DependencyTrees
from benchmarks import graphs
scores = graphs.peaked(10)[0]
DependencyTrees(scores).sample_without_replacement(10, rng=0)
PEAK()
draws = DependencyTrees(scores).sample_without_replacement(int(sys.argv[1]), rng=0)
print(json.dumps({"peak": PEAK(), "trees": len(draws)}))
"""


def _memory(report: Report, settings: Settings) -> None:
    small, large = settings.pick((20_000, 100_000), (5_000, 20_000))
    found = {k: in_fresh_process(_MEMORY_PROGRAM, arguments=[str(k)]) for k in (small, large)}
    less, more = found[small].get("peak"), found[large].get("peak")
    text = f"10 words, peaked: growth of memory from k = {small:,} to {large:,}, over that of k"
    if less is None or more is None:
        report.skip(text, 1.2, found[large].get("error", NOT_WEIGHED), at_most=True)
        report.facts["memory a distinct tree and word"] = "-"
    else:
        report.claim(text, Ratio(more / less / (large / small)), 1.2, at_most=True)
        report.facts["memory a distinct tree and word"] = f"{significant(more / large / 10)} bytes"


def _corpus(report: Report, settings: Settings, corpora: list[Sentences]) -> None:
    table = report.table(
        f"{_DISTINCT} distinct dependency trees of every sentence, one worker",
        ("scores", "sentences", "median words", "trees", "sentences a second", "trees a second"),
        "Short sentences have fewer trees than that; then all are drawn.",
    )
    for corpus in corpora:
        chosen = corpus.first(30 if settings.quick else 300)
        # Sentence by sentence: a padded batch would be as large as its longest one allows.
        draw = partial(_ours_of_all, chosen.matrices, _DISTINCT)
        check = partial(_all_objection, matrices=chosen.matrices, k=_DISTINCT)
        found = compare({"corpus": Side(draw, check)}, settings)
        num_trees, elapsed = sum(map(len, draw())), found.median("corpus")
        table.rows.append(
            [
                corpus.name,
                str(len(chosen.matrices)),
                significant(float(np.median(chosen.lengths))),
                f"{num_trees:,}",
                significant(len(chosen.matrices) / elapsed),
                significant(num_trees / elapsed),
            ]
        )


def _ours_of_all(matrices: list[graphs.Floats], k: int) -> list[Heads]:
    return [_ours(matrix, k) for matrix in matrices]


def _all_objection(found: list[Heads], matrices: list[graphs.Floats], k: int) -> str | None:
    """Say whether some sentence has not got k distinct trees, or all it has if they are fewer."""
    for number, (heads, matrix) in enumerate(zip(found, matrices, strict=True)):
        flat = np.where(np.isneginf(matrix), -np.inf, 0.0)
        # Long sentences have more trees than a float can count.
        log_num_trees = min(float(DependencyTrees(flat).log_partition()), 50.0)
        objection = _distinct_trees(min(k, round(np.exp(log_num_trees))), matrix)(heads)
        if objection is not None:
            return f"sentence {number}: {objection}"
    return None


# ---- when to switch from rejection to the partition

_BELOW = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.003)


def _switch(report: Report, settings: Settings, corpora: list[Sentences]) -> None:
    table = report.table(
        "Where to switch from rejection to the partition: time over the best of a row",
        ("graphs", "k", *(f"{below:g}" for below in _BELOW), "arborand's rule"),
        "Columns: the mass not yet drawn at which to switch (1: partition from the start).",
    )
    cases: list[tuple[str, int, list[graphs.Floats]]] = []
    for n in settings.pick((5, 10, 20, 50), (10,)):
        for k in settings.pick((10, 100, 1000), (100,)):
            count = max(2, min(20, 10**6 // n**2 // k))
            cases.append((f"peaked, {n} words", k, list(graphs.peaked(n, count=count))))
    for corpus in corpora:
        matrices = [matrix for matrix in corpus.matrices if 5 <= len(matrix) - 1 <= 60]
        cases.append((corpus.name, 100, matrices[: 5 if settings.quick else 25]))
    regrets = []
    for name, k, matrices in cases:
        ready = [DependencyTrees(matrix) for matrix in matrices]
        check = partial(_all_objection, matrices=matrices, k=k)
        sides = {
            str(below): Side(partial(_draw_all, ready, k, below), check)
            for below in (*_BELOW, None)
        }
        # Compared are the fastest times, without intervals: a few rounds do.
        found = compare(sides, settings, seconds=settings.seconds / 4, min_rounds=3)
        best = min(found.fastest(str(below)) for below in _BELOW)
        relative = [found.fastest(below) / best for below in sides]
        regrets.append(relative)
        table.rows.append([name, str(k), *(significant(value) for value in relative)])
    table.rows.append(["mean", "", *map(significant, np.mean(regrets, axis=0).tolist())])
    table.rows.append(["worst", "", *map(significant, np.max(regrets, axis=0).tolist())])


def _always(below: float) -> Callable[..., NDArray[np.float64]]:
    return lambda _, graphs: np.full(len(graphs.lengths), below)


def _draw_all(distributions: list[DependencyTrees], k: int, below: float | None) -> list[Heads]:
    with contextlib.ExitStack() as stack:
        if below is not None:
            stack.enter_context(mock.patch.object(library, "switch_below", _always(below)))
        return [
            distribution.sample_without_replacement(k, rng=1).heads
            for distribution in distributions
        ]
