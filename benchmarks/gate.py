"""The gate for weights: what it takes to make a distribution, from scores and from weights.

Both check every entry and keep a copy; from weights, the copy is of their logarithms.
"""

from __future__ import annotations

import numpy as np

from arborand import SpanningTrees
from benchmarks import graphs
from benchmarks.answers import number_objection, same_objection
from benchmarks.graphs import Floats
from benchmarks.measure import Ratio, Settings, Side, compare, duration
from benchmarks.report import Report

TITLE = "Making a distribution"
NAMES = ("constructor", "from_weights", "constructor of np.log")
# The number of graphs and of words; 1 graph is passed as a matrix, as most people do.
SHAPES = ((1, 5), (1, 20), (1, 50), (64, 40), (1000, 30), (8, 500))


def run(settings: Settings) -> Report:
    """Measure the constructor and `from_weights`."""
    report = Report("gate", TITLE, settings)
    table = report.table(
        "Making a distribution: from scores, and from weights",
        ("graphs", "words", *NAMES, "from_weights / constructor of np.log"),
        "Time of one call, spanning trees, random float64 scores.  The third applies NumPy's "
        "logarithm to the weights first.",
    )
    ratios: dict[str, Ratio] = {}
    for count, num_words in settings.pick(SHAPES, SHAPES[:4]):
        scores = graphs.random(num_words, count=count)
        if count == 1:
            scores = scores[0]
        found = compare(_sides(scores), settings)
        ratio = found.ratio("from_weights", "constructor of np.log")
        ratios[f"{count} graph{'s' if count > 1 else ''} of {num_words} words"] = ratio
        times = [duration(found.median(side)) for side in NAMES]
        table.rows.append([str(count), str(num_words), *times, str(ratio)])
    text = "a distribution from weights: time over that of one from NumPy's logarithms of them"
    report.worst(text, ratios, 1.2, at_most=True)
    return report


def _sides(scores: Floats) -> dict[str, Side]:
    weights = np.exp(scores)
    arcs = scores > -np.inf

    def exactly(made: SpanningTrees) -> str | None:
        return same_objection(made.log_weights, scores)

    def nearly(made: SpanningTrees) -> str | None:
        # The exponentials are rounded, so their logarithms are not the scores to the last bit.
        return number_objection(made.log_weights[arcs], scores[arcs], 1e-15)

    def of_logarithms() -> SpanningTrees:
        with np.errstate(divide="ignore"):
            return SpanningTrees(np.log(weights))

    return {
        "constructor": Side(lambda: SpanningTrees(scores), exactly),
        "from_weights": Side(lambda: SpanningTrees.from_weights(weights), nearly),
        "constructor of np.log": Side(of_logarithms, nearly),
    }
