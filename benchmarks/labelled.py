"""Labelled trees against the same trees without labels, and what a reduction over labels costs.

Labels are worked on by NumPy.  So marginals are compared with a logsumexp over labels and the
marginals of its result, the best tree with a maximum over labels and its best tree, and the best
labelled trees with as many trees.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arborand import DependencyTrees, LabelledTrees
from benchmarks.answers import number_objection, same_objection
from benchmarks.graphs import Floats
from benchmarks.measure import Ratio, Settings, Side, compare, duration
from benchmarks.report import Report

TITLE = "Labelled trees against trees without labels"
NUM_BEST = 100


def log_sums(scores: Any) -> Any:
    """Sum over labels, as one would write it in NumPy."""
    top = scores.max(axis=-1)
    return top + np.log(np.exp(scores - top[..., None]).sum(axis=-1))


def run(settings: Settings) -> Report:
    """Measure a batch of sentences, and the best trees of one."""
    report = Report("labelled", TITLE, settings)
    table = report.table(
        "Labelled and unlabelled",
        ("what", "without labels", "labelled", "ratio"),
        "Marginals and best trees of 64 sentences of 39 words with 50 labels; the 100 best of one "
        "of 20 words with 40 labels.  The side without labels begins with a sum or a maximum over "
        "labels.  From scores: with the constructor, which copies them.",
    )
    size = settings.pick((64, 40, 40, 50), (4, 10, 10, 5))
    scores = np.random.default_rng(0).normal(size=tuple(size))
    one = np.random.default_rng(1).normal(size=tuple(settings.pick((21, 21, 40), (6, 6, 4))))
    made = LabelledTrees(scores)
    made.trees.log_partition()
    of_one, best_of_one = LabelledTrees(one), DependencyTrees(one.max(axis=-1))
    marginals = DependencyTrees(log_sums(scores)).arc_marginals()
    best = DependencyTrees(scores.max(axis=-1)).best_tree()
    questions: dict[str, tuple[float | None, dict[str, Side]]] = {
        "marginals of labelled arcs": (
            1.1,
            {
                "without": Side(lambda: DependencyTrees(log_sums(scores)).arc_marginals()),
                "labelled": Side(
                    made.label_marginals,
                    lambda found: number_objection(found.sum(axis=-1), marginals, 1e-10),
                ),
            },
        ),
        "marginals of arcs, from scores": (
            1.1,
            {
                "without": Side(lambda: DependencyTrees(log_sums(scores)).arc_marginals()),
                "labelled": Side(
                    lambda: LabelledTrees(scores).arc_marginals(),
                    lambda found: number_objection(found, marginals, 1e-10),
                ),
            },
        ),
        "marginals of labelled arcs, from scores": (
            None,  # beyond the sum over labels, the copy and an answer as large as they are
            {
                "without": Side(lambda: DependencyTrees(log_sums(scores)).arc_marginals()),
                "labelled": Side(
                    lambda: LabelledTrees(scores).label_marginals(),
                    lambda found: number_objection(found.sum(axis=-1), marginals, 1e-10),
                ),
            },
        ),
        "best tree": (2.0, _best_sides(scores, best, made.best_tree)),
        "best tree, from scores": (
            None,  # the copy takes as long as the maximum
            _best_sides(scores, best, lambda: LabelledTrees(scores).best_tree()),
        ),
        f"{NUM_BEST} best trees": (
            30.0,
            {
                "without": Side(lambda: best_of_one.best_trees(NUM_BEST)),
                "labelled": Side(
                    lambda: of_one.best_trees(NUM_BEST),
                    _order_objection,
                ),
            },
        ),
    }
    for name, (bound, sides) in questions.items():
        found = compare(sides, settings)
        ratio: Ratio = found.ratio("labelled", "without")
        times = (duration(found.median(side)) for side in ("without", "labelled"))
        table.rows.append([name, *times, str(ratio)])
        if bound is not None:
            claim = f"{name}: time over that without labels"
            report.worst(claim, {name: ratio}, bound, at_most=True)
    return report


def _order_objection(found: Any) -> str | None:
    # Equal scores may differ in the last digit of their log-probabilities.
    is_descending = bool((np.diff(found.log_prob) <= 1e-12).all())
    return None if is_descending else "not in order"


def _best_sides(scores: Floats, best: Any, labelled: Any) -> dict[str, Side]:
    return {
        "without": Side(lambda: DependencyTrees(scores.max(axis=-1)).best_tree()),
        "labelled": Side(labelled, lambda found: same_objection(found[0], best)),
    }
