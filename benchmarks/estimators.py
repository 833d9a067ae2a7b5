"""How far estimates are off by the number of trees evaluated, distinct or with replacement.

For each of six distributions (two sizes, from flat to peaked) and each estimator, the error of the
estimate (root mean square over replicates, against the exact expectation) by the number of trees
that the function is evaluated on, and what the estimator's own standard error says it is.

- 6 words: the height of the tree, which is not a sum over arcs.  The exact expectation comes from
  all 7,776 dependency trees.
- 20 words: how many words have the head they have in the tree that the scores favour.  To the
  estimators this is a function like any other; the exact expectation comes from the marginals.

With replacement, one may also keep the values of trees that come again, and so afford more
draws for the same number of evaluations.  "Repeats kept" is the error of as many draws as have, on
average, that number of distinct trees.

"Centred" is the threshold estimator of the function minus a constant, which leaves it unbiased: the
constant is the mean over a quarter of the evaluations, drawn with replacement and not used again.

Nothing is timed, and all seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arborand import DependencyTrees
from arborand.enumeration import tree_law
from arborand.estimators import (
    Estimate,
    expectation,
    expectation_without_replacement,
    sum_and_sample,
)
from benchmarks.measure import Settings
from benchmarks.report import Report

TITLE = "Error by number of evaluations"
NUM_EVALUATIONS = (4, 8, 16, 32, 64, 128, 256)
# How far the arcs of the favoured tree stand out from noise of standard deviation 1.
MARGINS = {
    6: {"flat": None, "spread": 2.0, "peaked": 7.0},
    20: {"flat": None, "spread": 5.0, "peaked": 7.0},
}
# Another seed for what is drawn besides, further off than there are replicates.
OTHER_SEED = 400

Heads = npt.NDArray[np.int32]
Values = npt.NDArray[Any]
Estimator = Callable[[DependencyTrees, Callable[[Heads], Values], int, int], Estimate]


def centred(
    distribution: DependencyTrees, function: Callable[[Heads], Values], k: int, seed: int
) -> Estimate:
    """Estimate the distance from a first guess, and add the guess."""
    guess = expectation(distribution, function, k // 4, rng=OTHER_SEED + seed)
    rest = k - guess.num_evaluations
    distance = expectation_without_replacement(
        distribution, lambda heads: function(heads) - guess.value, rest, rng=seed
    )
    return Estimate(guess.value + distance.value, distance.standard_error, k)


ESTIMATORS: dict[str, Estimator] = {
    "with replacement": lambda d, f, k, seed: expectation(d, f, k, rng=seed),
    "threshold": lambda d, f, k, seed: expectation_without_replacement(d, f, k, rng=seed),
    "threshold, centred": centred,
    "threshold, normalised": lambda d, f, k, seed: expectation_without_replacement(
        d, f, k, rng=seed, normalise=True
    ),
    "sum and sample": lambda d, f, k, seed: sum_and_sample(d, f, k // 2, k - k // 2, rng=seed),
}
KEPT = "with replacement, repeats kept"
COLOURS = {
    "with replacement": "#000000",
    KEPT: "#888888",
    "threshold": "#D55E00",
    "threshold, centred": "#009E73",
    "threshold, normalised": "#E69F00",
    "sum and sample": "#0072B2",
}


@dataclass(frozen=True)
class Case:
    """A distribution, a function of its trees, and what is true of them."""

    title: str
    distribution: DependencyTrees
    function: Callable[[Heads], Values]
    mean: float
    deviation: float


@dataclass(frozen=True)
class Curve:
    """Errors by number of evaluations, and the ratio of the standard error to them."""

    error: list[float]
    calibration: list[float]


def height(heads: Heads) -> Values:
    """Count the arcs of the longest path from the root."""
    depth = np.zeros(len(heads), dtype=int)
    node = np.maximum(heads, 0)
    while node.any():
        depth += node.any(axis=1)
        node = np.where(node > 0, np.take_along_axis(heads, node, axis=1), 0)
    return depth + 1


def case(num_words: int, kind: str, many_draws: int) -> Case:
    """Make one of the distributions, with its function.

    `many_draws` tell the variance of the function where it cannot be summed.
    """
    generator = np.random.default_rng(num_words)
    scores = generator.normal(size=(num_words + 1, num_words + 1))
    favoured = DependencyTrees(scores).sample(rng=0)
    arcs = favoured[1:], np.arange(1, num_words + 1)
    margin = MARGINS[num_words][kind]
    if margin is None:
        scores[:] = 0.0
    else:
        scores[arcs] += margin
    distribution = DependencyTrees(scores)
    if num_words <= 6:
        function = height
        heads, probability = tree_law(scores, single_root=True)
        mean = float(probability @ function(heads))
        deviation = float(np.sqrt(probability @ (function(heads) - mean) ** 2))
    else:

        def function(heads: Heads) -> Values:
            return np.asarray((heads[:, 1:] == favoured[1:]).sum(axis=1))

        indicator = np.zeros(scores.shape)
        indicator[arcs] = 1.0
        mean = float(distribution.expectation(indicator))
        deviation = float(function(distribution.sample(many_draws, rng=1)).std())
    best = np.exp(distribution.sample_without_replacement(100, rng=0).log_prob.max())
    shown = f"{best:.2f}" if best > 0.01 else f"{best:.0e}"
    return Case(
        f"{num_words} words, {kind} (best tree {shown})", distribution, function, mean, deviation
    )


def curve(case: Case, estimator: Estimator, num_replicates: int) -> Curve:
    """Run an estimator again and again, for every number of evaluations."""
    answer = Curve([], [])
    for k in NUM_EVALUATIONS:
        estimates = [
            estimator(case.distribution, case.function, k, seed) for seed in range(num_replicates)
        ]
        assert all(estimate.num_evaluations == k for estimate in estimates)
        error = np.sqrt(np.mean([(e.value - case.mean) ** 2 for e in estimates]))
        stated = np.sqrt(np.mean([e.standard_error**2 for e in estimates]))
        answer.error.append(float(error))
        answer.calibration.append(float(stated / error) if error else float("nan"))
    return answer


def kept_curve(case: Case, many_draws: int) -> Curve:
    """Compute the error with replacement if the values of trees that come again are kept.

    The number of distinct trees among draws is read off one long sequence, in which each tree's
    count is thinned out; where even that is too short, nothing is known.
    """
    long = case.distribution.sample(many_draws, rng=2)
    _, counts = np.unique(long, axis=0, return_counts=True)
    size, frequency = np.unique(counts, return_counts=True)
    part = np.geomspace(1.0 / many_draws, 1.0, 400)
    distinct = ((1.0 - (1.0 - part[:, None]) ** size) * frequency).sum(axis=1)
    num_draws = np.interp(NUM_EVALUATIONS, distinct, part * many_draws, right=np.nan)
    return Curve((case.deviation / np.sqrt(num_draws)).tolist(), [])


def add_table(report: Report, case: Case, by_name: dict[str, Curve]) -> None:
    """Add the table of one distribution."""
    table = report.table(case.title, ("evaluations", *by_name))
    for i, k in enumerate(NUM_EVALUATIONS):
        row = [str(k)]
        for found in by_name.values():
            cell = f"{found.error[i] / case.deviation:.2g}"
            if found.calibration:
                cell += f" ({found.calibration[i]:.2f})"
            row.append("-" if cell == "nan" else cell)
        table.rows.append(row)


def draw_picture(report: Report, cases: list[Case], curves: list[dict[str, Curve]]) -> None:
    """Draw the errors, a panel for each distribution."""
    with report.panels(
        "estimators", "Error by number of evaluations.", 2, 3, figsize=(11, 6.6), sharex=True
    ) as (figure, panels):
        for one, by_name, panel in zip(cases, curves, panels.flat, strict=True):
            for name, found in by_name.items():
                panel.loglog(
                    NUM_EVALUATIONS,
                    np.array(found.error) / one.deviation,
                    color=COLOURS[name],
                    linestyle=":" if name == KEPT else "-",
                    marker="" if name == KEPT else "o",
                    markersize=3.5,
                    label=name,
                )
            panel.set_title(one.title, fontsize=9)
            panel.set_xticks(NUM_EVALUATIONS, [str(k) for k in NUM_EVALUATIONS])
            panel.minorticks_off()
            panel.grid(color="#dddddd", linewidth=0.6)
        for panel in panels[1]:
            panel.set_xlabel("trees evaluated")
        for panel in panels[:, 0]:
            panel.set_ylabel("error / standard deviation of the function")
        handles, labels = panels[0, 0].get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside lower center", ncols=6, fontsize=8, frameon=False
        )


def run(settings: Settings) -> Report:
    """Run every estimator on every distribution."""
    report = Report("estimators", TITLE, settings)
    num_replicates = 20 if settings.quick else 400
    many_draws = 20_000 if settings.quick else 400_000
    report.note = (
        f"Root mean square error over {num_replicates} replicates (itself good to about "
        f"{100 / np.sqrt(2 * num_replicates):.0f} %), in parts of the standard deviation of the "
        "function; in brackets, what the standard errors say it is (root mean square), in parts "
        f"of what it was.  A dash: not within {many_draws:,} draws.  `benchmarks/estimators.py` "
        "says what is measured."
    )
    cases, curves = [], []
    for num_words, kinds in MARGINS.items():
        for kind in kinds:
            one = case(num_words, kind, many_draws)
            found = {
                name: curve(one, estimator, num_replicates)
                for name, estimator in ESTIMATORS.items()
            }
            # Next to what it is compared with.
            by_name = {
                "with replacement": found.pop("with replacement"),
                KEPT: kept_curve(one, many_draws),
                **found,
            }
            add_table(report, one, by_name)
            cases.append(one)
            curves.append(by_name)
    draw_picture(report, cases, curves)
    return report
