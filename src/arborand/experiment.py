"""The paper's runtime experiment (section 4.2), and its like without replacement.

Random complete graphs of growing size, 100 of each size and 20 draws from each: the average time
of a draw over the number of words, on logarithmic axes, with lines of best fit.  The paper measured
its own pair, `wilson_rc` and `colbourn`, in Python; here every method is measured, the paper's pair
both in plain NumPy (`arborand.reference`) and in the core.  Times of a draw include what a method
prepares once a graph, shared by its 20 draws.
"""

from __future__ import annotations

import csv
import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from arborand import reference
from arborand.distributions import DependencyTrees
from arborand.errors import BiasedSamplerWarning

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

DRAWS_PER_GRAPH = 20
# The slopes of the paper's best-fit lines.
PAPER_SLOPES = {"reference colbourn": 1.42, "reference wilson_rc": 1.14}
CORE_METHODS = ("wilson", "wilson_reject", "colbourn", "wilson_rc")


_EXPLANATION = """\
What this means.  colbourn is O(N^3), and wilson_rc O(H) with H close to linear in N on these
graphs, so one expects exponents of 3 and 1.  The paper measured 1.42 and 1.14 and concludes that
colbourn is much faster in practice than its bound.  It is not: at the sizes measured, an
interpreted program spends most of its time on the fixed cost of N calls of array operations a
draw, which is linear in N; only larger sizes show the matrix work, which grows as it must.  So the
exponent rises with the sizes one fits: compare the two columns.  In the core the fixed costs are
small and colbourn's exponent rises towards 3 earlier, while the walks stay near 1 until what they
prepare once a graph (tables in O(N^2), the root's marginals in O(N^3), shared by 20 draws) takes
over.  Without replacement, the paper's bound O(K N^3 + K^2 N) has a term that grows with K for
each tree; the partition's cost a tree does not grow but for caches that overflow.
"""


@dataclass(frozen=True, slots=True)
class Measurement:
    """The average time of a draw: `size` is the number of words, or of distinct trees."""

    curve: str
    size: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Curve:
    """Measurements of one method over growing sizes, and the best fit on logarithmic axes."""

    name: str
    sizes: NDArray[np.float64]
    seconds: NDArray[np.float64]

    @property
    def slope(self) -> float:
        """The exponent b of the best fit seconds = a * size ** b, in logarithms."""
        return float(np.polyfit(np.log(self.sizes), np.log(self.seconds), 1)[0])

    @property
    def last_slope(self) -> float:
        """The same over the larger half of the sizes, where fixed costs weigh less."""
        half = min(len(self.sizes) // 2, len(self.sizes) - 2)
        return float(np.polyfit(np.log(self.sizes[half:]), np.log(self.seconds[half:]), 1)[0])


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure."""

    num_graphs: int
    reference_sizes: tuple[int, ...]
    core_sizes: tuple[int, ...]
    reference_counts: tuple[int, ...]
    core_counts: tuple[int, ...]
    num_words: int = 10


QUICK = Plan(10, (5, 10, 20, 40), (5, 10, 20, 40, 80), (1, 10, 100, 300), (1, 10, 100, 1000, 3000))
FULL = Plan(
    100,
    (5, 10, 20, 30, 40, 50, 70, 100),
    (5, 10, 20, 30, 40, 50, 70, 100, 150, 200, 300),
    (1, 3, 10, 30, 100, 300, 1000, 3000),
    (1, 3, 10, 30, 100, 300, 1000, 3000),
)


def with_replacement(plan: Plan, rng: np.random.Generator) -> Iterator[Measurement]:
    """Time every method over growing numbers of words: the paper's figure."""
    for size in sorted({*plan.reference_sizes, *plan.core_sizes}):
        weights = rng.random((plan.num_graphs, size + 1, size + 1))
        num_draws = plan.num_graphs * DRAWS_PER_GRAPH
        if size in plan.reference_sizes:
            for name, draw in (
                ("colbourn", lambda w, r: reference.colbourn(w, r, single_root=True)),
                ("wilson_rc", reference.wilson_rc),
            ):
                start = time.perf_counter()
                for graph in weights:
                    for _ in range(DRAWS_PER_GRAPH):
                        draw(graph, rng)
                seconds = (time.perf_counter() - start) / num_draws
                yield Measurement(f"reference {name}", size, seconds)
        if size in plan.core_sizes:
            for method in CORE_METHODS:
                yield Measurement(f"core {method}", size, _time_core(weights, method) / num_draws)


def without_replacement(plan: Plan, rng: np.random.Generator) -> Iterator[Measurement]:
    """Time draws without replacement over growing numbers of trees, from graphs of ten words."""
    shape = (plan.num_graphs, plan.num_words + 1, plan.num_words + 1)
    # Peaked weights, as a trained parser has them: where sampling without replacement is of use.
    weights = np.exp(4 * rng.standard_normal(shape))
    for count in sorted({*plan.reference_counts, *plan.core_counts}):
        # The large counts need no hundred graphs to give a steady average.
        graphs = weights[: max(1, min(plan.num_graphs, 3000 // count))]
        if count in plan.reference_counts:
            drawn = 0
            start = time.perf_counter()
            for graph in graphs:
                drawn += len(reference.swor(graph, count, rng, single_root=True))
            seconds = (time.perf_counter() - start) / drawn
            yield Measurement("reference swor", count, seconds)
        if count in plan.core_counts:
            for method in (None, "partition"):
                start = time.perf_counter()
                draws = DependencyTrees.from_weights(graphs).sample_without_replacement(
                    count, method=method, rng=rng
                )
                seconds = (time.perf_counter() - start) / int(draws.num_drawn.sum())
                yield Measurement(f"core {method or 'rejection, then partition'}", count, seconds)


def curves(measurements: list[Measurement]) -> list[Curve]:
    """Collect measurements by method, in the order of their first appearance."""
    return [
        Curve(
            name,
            np.array([float(m.size) for m in measurements if m.curve == name]),
            np.array([m.seconds for m in measurements if m.curve == name]),
        )
        for name in dict.fromkeys(m.curve for m in measurements)
    ]


def report(words: list[Curve], trees: list[Curve]) -> str:
    """Set the measured slopes beside the paper's, and say what the difference means."""
    lines = [
        "Average time of a draw: exponents of the best fit (seconds = a * size ** b).",
        "",
        "With replacement, over the number of words N:",
        f"{'':34}{'all sizes':>12}{'larger half':>14}{'paper':>8}",
    ]
    for curve in words:
        paper = PAPER_SLOPES.get(curve.name)
        lines.append(
            f"  {curve.name:32}{curve.slope:12.2f}{curve.last_slope:14.2f}"
            f"{'' if paper is None else f'{paper:.2f}':>8}"
        )
    lines += [
        "",
        "Without replacement from graphs of ten words, over the number of trees K (time a tree):",
        f"{'':34}{'all sizes':>12}{'larger half':>14}",
    ]
    lines += [f"  {c.name:32}{c.slope:12.2f}{c.last_slope:14.2f}" for c in trees]
    lines += ["", _EXPLANATION]
    return "\n".join(lines)


def write(directory: Path, words: list[Measurement], trees: list[Measurement]) -> list[Path]:
    """Write the measurements (CSV), the figure (PNG, SVG) and the report (text)."""
    from matplotlib.figure import Figure

    directory.mkdir(parents=True, exist_ok=True)
    table = directory / "experiment.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["experiment", "method", "size", "seconds_per_draw"])
        for experiment, measurements in (("words", words), ("trees", trees)):
            writer.writerows([experiment, m.curve, m.size, m.seconds] for m in measurements)

    figure = Figure(figsize=(12, 5), layout="constrained")
    left, right = figure.subplots(1, 2)
    for axes, measured, label in (
        (left, curves(words), "number of words"),
        (right, curves(trees), "number of trees drawn without replacement"),
    ):
        for index, curve in enumerate(measured):
            style = "--" if curve.name.startswith("reference") else "-"
            color = f"C{index}"
            axes.loglog(curve.sizes, curve.seconds, "o", color=color, markersize=4)
            intercept = np.mean(np.log(curve.seconds) - curve.slope * np.log(curve.sizes))
            fit = np.exp(intercept) * curve.sizes**curve.slope
            axes.loglog(
                curve.sizes, fit, style, color=color, label=f"{curve.name} ({curve.slope:.2f})"
            )
        axes.set_xlabel(label)
        axes.set_ylabel("seconds a draw")
        axes.legend(fontsize=8)
        axes.grid(visible=True, which="both", alpha=0.2)
    left.set_title("With replacement, 20 draws a graph (slope of best fit)")
    right.set_title("Without replacement, ten words (slope of best fit)")
    paths = [table, directory / "experiment.txt"]
    paths[1].write_text(report(curves(words), curves(trees)))
    for suffix in ("png", "svg"):
        paths.append(directory / f"experiment.{suffix}")
        figure.savefig(paths[-1], dpi=150)
    return paths


def _time_core(weights: NDArray[np.float64], method: str) -> float:
    """Time all draws of a batch, repeating short runs until the clock can tell."""
    distribution = DependencyTrees.from_weights(weights)
    repeats = 0
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BiasedSamplerWarning)
        while True:
            distribution.sample(DRAWS_PER_GRAPH, method=method, rng=repeats)
            repeats += 1
            elapsed = time.perf_counter() - start
            if elapsed > 0.05:
                return elapsed / repeats
