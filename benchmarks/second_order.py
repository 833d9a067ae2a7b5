"""Covariances of arcs against marginals: what a derivative of all marginals costs.

One pass of the same recursion on numbers that carry a tangent: three products of doubles where the
marginals have one.  Both of one graph at a time: marginals of a batch can do better (inference.py).
The answers are checked against differences of marginals at close scores.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from arborand.inference import arc_marginals
from benchmarks import graphs
from benchmarks.answers import number_objection
from benchmarks.graphs import Floats
from benchmarks.inference import KINDS
from benchmarks.measure import Comparison, Ratio, Settings, Side, compare, duration
from benchmarks.report import Report

TITLE = "Covariances of arcs against marginals"
SIZES = (5, 10, 20, 40, 80, 160, 320)
# The step of a central difference that is right to about the square of it.
_STEP = 1e-5


def run(settings: Settings) -> Report:
    """Measure both over sizes, on graphs that are already checked."""
    report = Report("second_order", TITLE, settings)
    table = report.table(
        "Time of one graph, in batches",
        ("words", "kind", "marginals", "covariances", "ratio"),
        "Graphs are checked beforehand, so only the computation is timed.  Each is "
        "solved by itself: marginals of graphs of one length take less time in a batch.",
    )
    ratios: dict[str, Ratio] = {}
    for kind in KINDS:
        for n in settings.pick(SIZES, (5, 40)):
            batch = graphs.random(n, count=max(1, min(1000, 10**5 // n**2)))
            found = compare(_sides(kind, batch), settings)
            ratio = found.ratio("covariances", "marginals")
            ratios[f"{n} words, {kind}"] = ratio
            table.rows.append(_row(n, kind, found, ratio))
    report.worst(
        "covariances of all arcs: time over that of the marginals", ratios, 3.0, at_most=True
    )
    return report


def _row(n: int, kind: str, found: Comparison, ratio: Ratio) -> list[str]:
    times = (duration(found.median(name)) for name in ("marginals", "covariances"))
    return [str(n), kind.split()[0], *times, str(ratio)]


def _sides(kind: str, batch: Floats) -> dict[str, Side]:
    make, count = KINDS[kind], len(batch)
    trees = make(batch)
    direction = np.random.default_rng(count).normal(size=batch.shape)
    above, below = (make(batch + sign * _STEP * direction).arc_marginals() for sign in (1, -1))
    expected = (above - below) / (2 * _STEP)
    return {
        "marginals": Side(partial(arc_marginals, trees._graphs, one_by_one=True), None, count),
        "covariances": Side(
            lambda: trees.arc_covariances(direction),
            lambda found: number_objection(found, expected, 1e-4),
            count,
        ),
    }
