"""Projective trees: what each answer costs, beside the same answer over all dependency trees.

Answers are checked first: log Z and marginals against a plain chart of logarithms, trees by whether
they are projective and, of best trees, by the core's exact numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborand import DependencyTrees, ProjectiveDependencyTrees, _core
from arborand.trees import is_projective
from benchmarks import graphs
from benchmarks.answers import number_objection, same_objection
from benchmarks.graphs import Floats
from benchmarks.measure import Ratio, Settings, Side, compare, duration
from benchmarks.report import Report

TITLE = "Projective trees"
NUM_DRAWS, NUM_DISTINCT = 1000, 100
# What is asked of a distribution, of how many graphs; and how much slower it may be.
QUESTIONS: dict[str, tuple[Callable[[Any], Any], int, dict[str, float]]] = {
    "log Z": (lambda d: d.log_partition(), 32, {"random": 2.0, "trained": 2.0}),
    "marginals": (lambda d: d.arc_marginals(), 32, {"random": 2.0, "trained": 2.0}),
    "entropy": (lambda d: d.entropy(), 32, {}),
    "best tree": (lambda d: d.best_tree(), 32, {"random": 8.0, "trained": 8.0}),
    f"{NUM_DRAWS} draws": (
        lambda d: d.sample(NUM_DRAWS, rng=0),
        4,
        {"random": 6.0, "trained": 2.0},
    ),
    f"{NUM_DISTINCT} distinct draws": (
        lambda d: d.sample_without_replacement(NUM_DISTINCT, rng=0).heads,
        4,
        {"random": 10.0, "trained": 10.0},
    ),
    "10 best trees": (lambda d: d.best_trees(10).heads, 4, {}),
}


def run(settings: Settings) -> Report:
    """Measure every answer over projective trees and over all trees."""
    report = Report("projective", TITLE, settings)
    table = report.table(
        "Projective trees: time of one graph, over that of all dependency trees",
        ("words", "scores", "question", "projective", "all trees", "projective / all"),
        "Graphs that are already checked. Random scores are normal. Trained ones are made up: one "
        "projective tree is preferred, and some words might as well hang from a neighbour.",
    )
    ratios: dict[tuple[str, str], dict[str, Ratio]] = {}
    entropies: dict[str, Ratio] = {}
    for n in settings.pick((20, 40, 80), (20,)):
        for scores, make in {"random": graphs.random, "trained": trained}.items():
            for question, (ask, count, _) in QUESTIONS.items():
                batch = make(n, count=count)
                sides = {
                    "projective": Side(
                        partial(_ask, ask, ProjectiveDependencyTrees(batch)._graphs, True),
                        partial(_objection, question=question, batch=batch),
                        count,
                    ),
                    "all trees": Side(
                        partial(_ask, ask, DependencyTrees(batch)._graphs, False), None, count
                    ),
                }
                found = compare(sides, settings)
                ratio = found.ratio("projective", "all trees")
                ratios.setdefault((question, scores), {})[f"{n} words"] = ratio
                times = [duration(found.median(side)) for side in sides]
                table.rows.append([str(n), scores, question, *times, str(ratio)])
            batch = make(n, count=32)
            ready = ProjectiveDependencyTrees(batch)._graphs
            own = {
                name: Side(partial(_ask, QUESTIONS[name][0], ready, True), None, len(batch))
                for name in ("entropy", "log Z")
            }
            if scores == "random":
                found = compare(own, settings)
                entropies[f"{n} words"] = found.ratio("entropy", "log Z")
    for (question, scores), measured in ratios.items():
        bound = QUESTIONS[question][2].get(scores)
        if bound is not None:
            text = f"projective trees, {scores} scores, {question}: time over that of all trees"
            report.worst(text, measured, bound, at_most=True)
    text = "projective trees, random scores, entropy: time over that of log Z"
    report.worst(text, entropies, 3.0, at_most=True)
    return report


def trained(num_words: int, count: int = 1) -> Floats:
    """Prefer a projective tree, as trained parsers do, and beside it heads next to their words.

    With these margins, trees are as uncertain as with a parser of English, and as many cross.
    """
    generator = np.random.default_rng(num_words)
    scores = generator.normal(size=(count, num_words + 1, num_words + 1))
    trees = ProjectiveDependencyTrees(scores).sample(rng=1)
    word = np.arange(1, num_words + 1)
    for graph, heads in zip(scores, trees[:, 1:], strict=True):
        margin = 4.0 + generator.gamma(2.0, 4.0, size=num_words)
        graph[heads, word] += margin
        beside = np.where(generator.random(num_words) < 0.5, word - 1, word + 1).clip(0, num_words)
        other = (generator.random(num_words) < 0.7) & (beside != heads) & (beside != word)
        graph[beside[other], word[other]] += margin[other]
    return scores


def _ask(ask: Callable[[Any], Any], ready: Any, projective: bool) -> Any:
    # A new object each time: it would remember log Z.
    return ask((ProjectiveDependencyTrees if projective else DependencyTrees)._of(ready))


def _objection(found: NDArray[Any], *, question: str, batch: Floats) -> str | None:
    if question == "log Z":
        return number_objection(found, np.array([log_partition(one) for one in batch]), 1e-10)
    if question == "marginals":
        return _marginal_objection(found, batch)
    if question == "entropy":
        return None if (found > 0).all() else "an entropy is not positive"
    if question == "best tree":
        exact = np.empty(found.shape, dtype=np.int32)
        graphs_of = ProjectiveDependencyTrees(batch)._graphs
        _core.best_tree(graphs_of.batch, 1, float("inf"), exact)
        return same_objection(found, exact)
    return None if is_projective(found).all() else "a tree has crossing arcs"


def _marginal_objection(found: NDArray[Any], batch: Floats) -> str | None:
    """Compare the marginal of one arc of each graph with a difference quotient of log Z."""
    step, arc = 1e-5, (0, 2)
    for marginals, scores in zip(found, batch, strict=True):
        up, down = scores.copy(), scores.copy()
        up[arc] += step
        down[arc] -= step
        slope = (log_partition(up) - log_partition(down)) / (2 * step)
        if abs(slope - marginals[arc]) > 1e-6:  # rounded digits of log Z over the step
            return f"a marginal is {marginals[arc]} where log Z has the slope {slope}"
    return None


def log_partition(scores: Floats) -> float:
    """Add up all projective dependency trees in logarithms: Eisner's spans, of growing length."""
    n = len(scores) - 1
    right = np.full((n + 2, n + 1), -np.inf)
    left, arc_right, arc_left = right.copy(), right.copy(), right.copy()
    for i in range(n + 1):
        right[i, i] = left[i, i] = 0.0
    for length in range(1, n):
        for i in range(1, n + 1 - length):
            j = i + length
            gap = np.logaddexp.reduce(right[i, i:j] + left[i + 1 : j + 1, j])
            arc_right[i, j], arc_left[i, j] = gap + scores[i, j], gap + scores[j, i]
            right[i, j] = np.logaddexp.reduce(arc_right[i, i + 1 : j + 1] + right[i + 1 : j + 1, j])
            left[i, j] = np.logaddexp.reduce(left[i, i:j] + arc_left[i:j, j])
    return float(np.logaddexp.reduce(scores[0, 1:] + left[1, 1:] + right[1 : n + 1, n]))
