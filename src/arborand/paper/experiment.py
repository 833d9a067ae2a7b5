"""The paper's runtime experiment (section 4.2), and a similar one without replacement.

On random complete graphs of growing size, 100 of each size with 20 draws from each, the average
time per draw is plotted against the number of words, on logarithmic axes, with lines of best fit.
The paper measured its own pair, `wilson_rc` and `colbourn`, in Python; here every method is
measured, the paper's pair both in plain NumPy (`arborand.paper.reference`) and in the core.  The
time per draw includes what a method prepares once per graph, shared by its 20 draws.

A point is the median of three passes, so that other work on the machine, if it disturbs only one of
them, does not matter.
"""

from __future__ import annotations

import csv
import textwrap
import time
import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from arborand.distributions import DependencyTrees
from arborand.errors import BiasedSamplerWarning
from arborand.methods import WITH_REPLACEMENT, WITHOUT_REPLACEMENT, names
from arborand.paper import reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = [
    "CORE_METHODS",
    "CORE_METHODS_WITHOUT_REPLACEMENT",
    "DRAWS_PER_GRAPH",
    "FULL",
    "NUM_PASSES",
    "PAPER_SLOPES",
    "QUICK",
    "Curve",
    "Measurement",
    "Plan",
    "curves",
    "report",
    "with_replacement",
    "without_replacement",
    "write",
]

DRAWS_PER_GRAPH = 20
NUM_PASSES = 3
# The slopes of the paper's best-fit lines.
PAPER_SLOPES = {"reference colbourn": 1.42, "reference wilson_rc": 1.14}
CORE_METHODS = names(WITH_REPLACEMENT)
CORE_METHODS_WITHOUT_REPLACEMENT = (None, *names(WITHOUT_REPLACEMENT))
# Okabe and Ito's palette, which colour-blind readers can tell apart; each has its own marker.
_LOOKS = (
    ("#0072b2", "o"),
    ("#d55e00", "s"),
    ("#009e73", "^"),
    ("#cc79a7", "D"),
    ("#56b4e9", "v"),
    ("#e69f00", "P"),
    ("#000000", "X"),
)


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
        """The exponent b of the best fit seconds = a * size ** b, on logarithmic scales."""
        return self._fit(0)[0]

    @property
    def last_slope(self) -> float:
        """The same over the larger half of the sizes, where fixed costs weigh less."""
        return self._fit(self._half)[0]

    @property
    def line(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Sizes and seconds of the best fit."""
        return self._line(0)

    @property
    def last_line(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The same over the larger half."""
        return self._line(self._half)

    @property
    def _half(self) -> int:
        return min(len(self.sizes) // 2, len(self.sizes) - 2)

    def _fit(self, first: int) -> tuple[float, float]:
        slope, intercept = np.polyfit(np.log(self.sizes[first:]), np.log(self.seconds[first:]), 1)
        return float(slope), float(intercept)

    def _line(self, first: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        slope, intercept = self._fit(first)
        sizes = self.sizes[first:]
        return sizes, np.exp(intercept) * sizes**slope


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure; `least_seconds` is the minimum time of a pass, for a precise clock."""

    num_graphs: int
    reference_sizes: tuple[int, ...]
    core_sizes: tuple[int, ...]
    reference_counts: tuple[int, ...]
    core_counts: tuple[int, ...]
    num_words: int = 10
    least_seconds: float = 0.05


QUICK = Plan(
    12,
    (5, 10, 20, 40, 80),
    (5, 10, 20, 40, 80),
    (1, 10, 100, 300),
    (1, 10, 100, 1000, 3000),
)
FULL = Plan(
    100,
    (5, 10, 20, 30, 40, 50, 70, 100),
    (5, 10, 20, 30, 40, 50, 70, 100, 150, 200, 300),
    (1, 3, 10, 30, 100, 300, 1000, 3000),
    (1, 3, 10, 30, 100, 300, 1000, 3000),
)


def with_replacement(plan: Plan, rng: np.random.Generator) -> Iterator[Measurement]:
    """Time every method over growing numbers of words: the paper's figure.

    Examples
    --------
    >>> plan = Plan(2, (5,), (5,), (1,), (1,), least_seconds=0.0)
    >>> next(with_replacement(plan, np.random.default_rng(0))).curve
    'reference colbourn'
    """
    # The graphs must not depend on how often the clock requires a repetition.
    graph_rng, draw_rng = rng.spawn(2)
    for size in sorted({*plan.reference_sizes, *plan.core_sizes}):
        weights = graph_rng.random((plan.num_graphs, size + 1, size + 1))
        trees = DependencyTrees.from_weights(weights)
        # The reference is slow: each pass uses different graphs, which cost the same to draw from,
        # because all are complete and of one size.  The core draws from all of them in every pass.
        passes: list[dict[str, Callable[[], int]]] = []
        for part in np.array_split(weights, min(NUM_PASSES, plan.num_graphs)):
            calls: dict[str, Callable[[], int]] = {}
            if size in plan.reference_sizes:
                for name, draw in (
                    ("colbourn", partial(reference.colbourn, single_root=True)),
                    ("wilson_rc", reference.wilson_rc),
                ):
                    calls[f"reference {name}"] = partial(_draw_reference, draw, part, draw_rng)
            if size in plan.core_sizes:
                for method in CORE_METHODS:
                    calls[f"core {method}"] = partial(_draw_core, trees, method, draw_rng)
            passes.append(calls)
        yield from _medians(passes, size, plan.least_seconds)


def without_replacement(plan: Plan, rng: np.random.Generator) -> Iterator[Measurement]:
    """Time draws without replacement over growing numbers of trees, from graphs of ten words.

    Examples
    --------
    >>> plan = Plan(2, (5,), (5,), (1,), (1,), least_seconds=0.0)
    >>> next(without_replacement(plan, np.random.default_rng(0))).curve
    'reference swor'
    """
    graph_rng, draw_rng = rng.spawn(2)
    shape = (plan.num_graphs, plan.num_words + 1, plan.num_words + 1)
    # Peaked weights, as from a trained parser: for them, sampling without replacement is useful.
    weights = np.exp(4 * graph_rng.standard_normal(shape))
    for count in sorted({*plan.reference_counts, *plan.core_counts}):
        calls: dict[str, Callable[[], int]] = {}
        if count in plan.reference_counts:
            # The cost of `swor` depends only on the numbers of words and trees: one graph will do.
            calls["reference swor"] = partial(_draw_swor, weights[0], count, draw_rng)
        if count in plan.core_counts:
            for method in CORE_METHODS_WITHOUT_REPLACEMENT:
                name = f"core {method or 'rejection, then partition'}"
                calls[name] = partial(_draw_distinct, weights, count, method, draw_rng)
        # The cost of rejection depends on the graph: every pass and every count has the same ones.
        yield from _medians([calls] * NUM_PASSES, count, plan.least_seconds)


def curves(measurements: list[Measurement]) -> list[Curve]:
    """Collect measurements by method, in the order of their first appearance.

    Examples
    --------
    >>> measured = [Measurement("wilson", 10, 2e-6), Measurement("wilson", 100, 2e-5)]
    >>> [(curve.name, round(curve.slope, 6)) for curve in curves(measured)]
    [('wilson', 1.0)]
    """
    return [
        Curve(
            name,
            np.array([float(m.size) for m in measurements if m.curve == name]),
            np.array([m.seconds for m in measurements if m.curve == name]),
        )
        for name in dict.fromkeys(m.curve for m in measurements)
    ]


def report(words: list[Curve], trees: list[Curve]) -> str:
    """Compare the measured slopes with the paper's, and say what to expect of them.

    Examples
    --------
    >>> plan = Plan(2, (5, 10), (5, 10), (1, 2), (1, 2), least_seconds=0.0)
    >>> words = list(with_replacement(plan, np.random.default_rng(0)))
    >>> trees = list(without_replacement(plan, np.random.default_rng(0)))
    >>> report(curves(words), curves(trees)).splitlines()[2]
    'With replacement, over the number of words N:'
    """
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
    counts = sorted({int(count) for curve in trees for count in curve.sizes})
    header = "".join(f"{f'K = {count}':>10}" for count in counts)
    lines += [
        "",
        "Without replacement from graphs of ten words, over the number of trees K: microseconds "
        "per tree.",
        f"{'':32}{header}  exponent, larger half",
    ]
    for curve in trees:
        cells = dict(zip(curve.sizes.tolist(), curve.seconds.tolist(), strict=True))
        lines.append(
            f"  {curve.name:30}"
            + "".join(f"{1e6 * cells[k]:10.1f}" if k in cells else " " * 10 for k in counts)
            + f"{curve.last_slope:23.2f}"
        )
    for paragraph in _EXPLANATIONS:
        lines += ["", textwrap.fill(paragraph, 98)]
    return "\n".join(lines) + "\n"


_EXPLANATIONS = (
    "What to expect. colbourn is O(N^3), and wilson_rc O(H) with H close to linear in N on these "
    "graphs: exponents of 3 and 1, once N is large. The paper measured 1.42 and 1.14 and concludes "
    "that colbourn is much faster in practice than its bound. But a bound is about large N, and a "
    "fit about the sizes that were fitted: an interpreted program makes N calls of array "
    "operations per draw, whose fixed costs are linear in N and hide the matrix work until N is "
    "large. So compare the two columns: where the larger half has the larger exponent, the matrix "
    "work is taking over. In the core, fixed costs are small. Its times include what is prepared "
    "once per graph and shared by 20 draws: tables in O(N^2) and, for wilson, the root's marginals "
    "in O(N^3).",
    "Without replacement only the larger half is fitted: what a call and a graph cost once is "
    "shared by K trees, while some work per tree may grow with K. The paper's bound O(K N^3 + K^2 "
    "N) has a term that grows with K for each tree; rejection needs more tries the more of the "
    "probability was drawn; the partition's bound for a tree does not depend on K.",
)


def write(directory: Path, words: list[Measurement], trees: list[Measurement]) -> list[Path]:
    """Write the measurements (CSV), the figure (PNG, SVG) and the report (text).

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> plan = Plan(2, (5, 10), (5, 10), (1, 2), (1, 2), least_seconds=0.0)
    >>> words = list(with_replacement(plan, np.random.default_rng(0)))
    >>> trees = list(without_replacement(plan, np.random.default_rng(0)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sorted(path.suffix for path in write(Path(folder), words, trees))
    ['.csv', '.png', '.svg', '.txt']
    """
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
            color, marker = _LOOKS[index % len(_LOOKS)]
            slope, line = curve.slope, curve.line
            if axes is right:
                slope, line = curve.last_slope, curve.last_line
                axes.loglog(curve.sizes, curve.seconds, ":", color=color, linewidth=1)
            axes.loglog(curve.sizes, curve.seconds, marker, color=color, markersize=5)
            axes.loglog(*line, style, color=color)
            name = f"{curve.name} ({slope:.2f})"  # the legend shows line style and marker together
            axes.plot([], [], style + marker, color=color, markersize=5, label=name)
        sizes = sorted({float(size) for curve in measured for size in curve.sizes})
        axes.set_xticks(sizes, labels=[f"{size:.0f}" for size in sizes], fontsize=8)
        axes.set_xticks([], minor=True)
        axes.set_xlabel(label)
        axes.set_ylabel("seconds per draw")
        axes.legend(fontsize=8)
        axes.grid(visible=True, which="both", alpha=0.2)
    left.set_title("With replacement, 20 draws per graph (slope of best fit)")
    right.set_title("Without replacement, ten words (slope of best fit, larger half)")
    paths = [table, directory / "experiment.txt"]
    paths[1].write_text(report(curves(words), curves(trees)))
    for suffix in ("png", "svg"):
        paths.append(directory / f"experiment.{suffix}")
        figure.savefig(paths[-1], dpi=150)
    return paths


def _medians(
    passes: list[dict[str, Callable[[], int]]], size: int, least_seconds: float
) -> Iterator[Measurement]:
    """Time the calls of each pass in turn, and yield the median for every method."""
    timed = [
        {name: _seconds_per_tree(call, least_seconds) for name, call in calls.items()}
        for calls in passes
    ]
    for name in passes[0]:
        yield Measurement(name, size, float(np.median([seconds[name] for seconds in timed])))


def _seconds_per_tree(draw: Callable[[], int], least_seconds: float) -> float:
    """Time a call that returns how many trees it drew, repeated until the clock is precise."""
    drawn = 0
    start = time.perf_counter()
    while True:
        drawn += draw()
        elapsed = time.perf_counter() - start
        if elapsed > least_seconds:
            return elapsed / drawn


def _draw_reference(
    draw: Callable[[NDArray[np.float64], np.random.Generator], object],
    graphs: NDArray[np.float64],
    rng: np.random.Generator,
) -> int:
    for graph in graphs:
        for _ in range(DRAWS_PER_GRAPH):
            draw(graph, rng)
    return len(graphs) * DRAWS_PER_GRAPH


def _draw_core(trees: DependencyTrees, method: str, rng: np.random.Generator) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BiasedSamplerWarning)
        trees.sample(DRAWS_PER_GRAPH, method=method, rng=rng)
    return len(trees) * DRAWS_PER_GRAPH


def _draw_swor(graph: NDArray[np.float64], count: int, rng: np.random.Generator) -> int:
    return len(reference.swor(graph, count, rng, single_root=True))


def _draw_distinct(
    graphs: NDArray[np.float64], count: int, method: str | None, rng: np.random.Generator
) -> int:
    trees = DependencyTrees.from_weights(graphs)
    draws = trees.sample_without_replacement(count, method=method, rng=rng)
    return int(draws.num_drawn.sum())
