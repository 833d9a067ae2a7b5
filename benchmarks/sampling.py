"""Draws with replacement: against the bare random numbers, the paper's code and log Z."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from arborand import DependencyTrees, SpanningTrees, _core
from arborand.inference import arc_marginals
from arborand.paper import reference
from benchmarks import graphs, inference
from benchmarks.answers import (
    Heads,
    batch_objection,
    law_objection,
    number_objection,
    same_objection,
    tree_objection,
)
from benchmarks.floor import measure_floor
from benchmarks.measure import (
    NOT_WEIGHED,
    Ratio,
    Settings,
    Side,
    WrongAnswerError,
    compare,
    compare_workers,
    duration,
    in_fresh_process,
    median_interval,
    memory,
    ratio,
    significant,
)
from benchmarks.methods import add_methods
from benchmarks.report import Report

TITLE = "Draws with replacement"
_Kind = type[DependencyTrees] | type[SpanningTrees]
_KINDS: dict[str, _Kind] = {"dependency": DependencyTrees, "spanning": SpanningTrees}


def run(settings: Settings) -> Report:
    """Measure everything that is promised about draws with replacement."""
    report = Report("sampling", TITLE, settings)
    _floor(report, settings)
    _reference(report, settings)
    _python_share(report, settings)
    _first_tree(report, settings)
    _workers(report, settings)
    _ancestral(report, settings)
    _memory(report)
    add_methods(report, settings)
    return report


# ---- what a draw is made of


def _floor(report: Report, settings: Settings) -> None:
    lines = measure_floor(*((5, 1.0) if settings.quick else (31, 10.0)))
    times: dict[tuple[int, str], list[float]] = defaultdict(list)
    steps: dict[tuple[int, str], list[float]] = defaultdict(list)
    for line in lines:
        times[line["n"], line["what"]].append(line["ns"])
        steps[line["n"], line["what"]].append(line["steps"])
    sizes = sorted({n for n, _ in times})
    table = report.table(
        "A draw of a spanning tree, taken apart (nanoseconds)",
        (
            "words",
            "graph",
            "bare loop",
            "... over 16-byte slots",
            "a walk step",
            "step / bare loop",
            "steps a draw",
            "a draw",
            "its steps",
            "draw / its steps",
            "draw / bare loops",
        ),
        "The bare loop: next random number (Philox 4x64-10), one table look-up that depends on the "
        "one before.  A walk step is the marginal one, of walks so long that nothing else counts.  "
        "Its steps: those of the same draws, in the same walks, replayed with the walks' starts "
        "and lengths known beforehand; the rest of a draw is asking each node whether it is in the "
        "tree, joining paths to it and finding the next start.  The last column sets a draw beside "
        "as many rounds of the bare loop as it has steps.",
    )
    step_ratios: dict[str, Ratio] = {}
    draw_ratios: dict[str, Ratio] = {}
    for n in sizes:
        step_ratios[f"{n} words"] = ratio(times[n, "step"], times[n, "floor"])
        for graph in ("flat", "random", "peaked"):
            over_steps = ratio(times[n, graph], times[n, f"{graph} steps"])
            draw_ratios[f"{n} words, {graph}"] = over_steps
            per_step = [
                draw / count for draw, count in zip(times[n, graph], steps[n, graph], strict=True)
            ]
            table.rows.append(
                [
                    str(n),
                    graph,
                    significant(median_interval(times[n, "floor"]).value),
                    significant(median_interval(times[n, "slots"]).value),
                    significant(median_interval(times[n, "step"]).value),
                    str(step_ratios[f"{n} words"]),
                    significant(float(np.mean(steps[n, graph]))),
                    significant(median_interval(times[n, graph]).value),
                    significant(median_interval(times[n, f"{graph} steps"]).value),
                    str(over_steps),
                    str(ratio(per_step, times[n, "floor"])),
                ]
            )
    report.worst("a walk step over the bare loop", step_ratios, 2.0, at_most=True)
    report.worst("a whole draw over its steps", draw_ratios, 1.5, at_most=True)


def _reference(report: Report, settings: Settings) -> None:
    table = report.table(
        "One draw against `paper/reference`, the paper's algorithms in NumPy",
        ("words", "method", "arborand", "reference", "times faster"),
        "Random graphs (normal scores).  arborand draws 1,000 trees a call, 20 with `colbourn`, "
        "the preparation of the graph included; the reference draws one tree a call.",
    )
    rng = np.random.default_rng(3)
    small = graphs.random(3)[0]
    walks: dict[str, Ratio] = {}
    references: tuple[tuple[str, bool, Callable[[Any], Any]], ...] = (
        ("wilson", False, lambda weights: reference.wilson(weights, rng)),
        ("wilson", True, lambda weights: reference.wilson_root_marginal(weights, rng)),
        ("wilson_reject", True, lambda weights: reference.wilson_rejection(weights, rng)),
        ("colbourn", False, lambda weights: reference.colbourn(weights, rng, single_root=False)),
        ("colbourn", True, lambda weights: reference.colbourn(weights, rng, single_root=True)),
    )
    for method, single_root, draw in references:
        for sampler in (
            partial(_sampled, small, method, single_root),
            partial(_drawn_one_by_one, draw, np.exp(small)),
        ):
            objection = law_objection(sampler, small, 1000, single_root=single_root)
            if objection is not None:
                raise WrongAnswerError(f"{method}: {objection}")
    for n in settings.pick((20, 50, 100), (20,)):
        scores = graphs.random(n)[0]
        for method, single_root, draw in references:
            num_draws = 20 if method == "colbourn" else 1000
            check = partial(tree_objection, log_weights=scores, single_root=single_root)
            sides = {
                "arborand": Side(
                    partial(_sampled, scores, method, single_root, num_draws), check, num_draws
                ),
                "reference": Side(partial(draw, np.exp(scores)), check),
            }
            found = compare(sides, settings)
            faster = found.ratio("reference", "arborand")
            kind = "dependency" if single_root else "spanning"
            if method != "colbourn":
                walks[f"{n} words, {method}, {kind} trees"] = faster
            table.rows.append(
                [
                    str(n),
                    f"`{method}`, {kind} trees",
                    duration(found.median("arborand")),
                    duration(found.median("reference")),
                    str(faster),
                ]
            )
    report.worst("draws by walks, times faster than `paper/reference`", walks, 500.0, at_most=False)


def _sampled(scores: graphs.Floats, method: str, single_root: bool, num_draws: int) -> Heads:
    make = DependencyTrees if single_root else SpanningTrees
    return make(scores).sample(num_draws, method=method, rng=1)


def _drawn_one_by_one(draw: Callable[[Any], Any], weights: graphs.Floats, num_draws: int) -> Heads:
    return np.array([draw(weights) for _ in range(num_draws)])


def _python_share(report: Report, settings: Settings) -> None:
    count = 100 if settings.quick else 1000
    batch = graphs.random(20, count=count)
    shares: dict[str, list[float]] = {"trees from scores": [], "`sample` alone": []}
    ready = DependencyTrees(batch)
    work: dict[str, Callable[[], Any]] = {
        "trees from scores": lambda: DependencyTrees(batch).sample(100, rng=1),
        "`sample` alone": lambda: ready.sample(100, rng=1),
    }
    for name, call in work.items():
        objection = batch_objection(call(), batch, 100, single_root=True)
        if objection is not None:
            raise WrongAnswerError(f"{name}: {objection}")
    totals: dict[str, list[float]] = {name: [] for name in work}
    inside = _TimeInCore()
    with inside:
        for _ in range(3 if settings.quick else 15):
            for name, call in work.items():
                inside.nanoseconds = 0
                begin = time.process_time_ns()
                call()
                total = time.process_time_ns() - begin
                shares[name].append(100.0 * (1.0 - inside.nanoseconds / total))
                totals[name].append(total * 1e-9)
    for name, values in shares.items():
        report.claim(
            f"per cent of the time that is Python's, {name}: {count} graphs of 20 words, "
            "100 draws each",
            median_interval(values),
            10.0,
            at_most=True,
        )
    report.facts["batch of 1000 x 100 draws"] = duration(
        median_interval(totals["trees from scores"]).value * 1000 / count
    )


class _TimeInCore:
    """Counts the processor time spent in the functions of the core that a draw calls."""

    def __init__(self) -> None:
        self.nanoseconds = 0
        self._originals: dict[tuple[Any, str], Any] = {}

    def __enter__(self) -> None:
        for owner, name in ((_core.Batch, "check"), (_core, "sample")):
            original = self._originals[owner, name] = getattr(owner, name)
            setattr(owner, name, self._timed(original))

    def __exit__(self, *_: object) -> None:
        for (owner, name), original in self._originals.items():
            setattr(owner, name, original)

    def _timed(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            begin = time.process_time_ns()
            answer = original(*arguments)
            self.nanoseconds += time.process_time_ns() - begin
            return answer

        return call


def _first_tree(report: Report, settings: Settings) -> None:
    table = report.table(
        "The first tree of a fresh graph, against log Z of a fresh graph",
        ("words", "kind", "log Z", "first tree", "first tree / log Z"),
        "Both from an array of scores, one graph at a time, checks included.",
    )
    ratios: dict[str, Ratio] = {}
    for kind, make in _KINDS.items():
        single_root = kind == "dependency"
        for n in settings.pick((5, 10, 20, 50, 100, 200, 500), (20, 100)):
            scores = graphs.random(n)[0]
            log_z = inference.log_partition(scores[None], single_root=single_root)[0]
            found = compare(
                {
                    "log Z": Side(
                        partial(_fresh_log_partition, make, scores),
                        partial(number_objection, expected=log_z, tolerance=1e-9),
                    ),
                    "tree": Side(
                        partial(_fresh_tree, make, scores),
                        partial(tree_objection, log_weights=scores, single_root=single_root),
                    ),
                },
                settings,
            )
            ratios[f"{n} words, {kind} trees"] = found.ratio("tree", "log Z")
            table.rows.append(
                [
                    str(n),
                    kind,
                    duration(found.median("log Z")),
                    duration(found.median("tree")),
                    str(found.ratio("tree", "log Z")),
                ]
            )
    report.worst("time to the first tree of a fresh graph over log Z", ratios, 3.0, at_most=True)


def _fresh_log_partition(make: _Kind, scores: graphs.Floats) -> Any:
    return make(scores).log_partition()


def _fresh_tree(make: _Kind, scores: graphs.Floats) -> Heads:
    return make(scores).sample(rng=1)


def _workers(report: Report, settings: Settings) -> None:
    short = graphs.random(20, count=200 if settings.quick else 1000)
    many = 2000 if settings.quick else 100_000
    works = (
        (f"{len(short)} graphs of 20 words, 100 draws", short, 100),
        (f"one graph of 50 words, {many} draws", graphs.random(50), many),
    )
    for name, batch, num_draws in works:
        trees = DependencyTrees(batch)

        def draw(workers: int, trees: DependencyTrees = trees, num_draws: int = num_draws) -> Any:
            return trees.sample(num_draws, rng=1, workers=workers)

        speed, details = compare_workers(
            draw,
            settings,
            check=partial(batch_objection, batch=batch, num_draws=num_draws, single_root=True),
            same_check=partial(same_objection, expected=draw(1)),
        )
        report.claim(
            f"speed of two workers over one: {name} ({details})", speed, 1.7, at_most=False
        )


def _ancestral(report: Report, settings: Settings) -> None:
    table = report.table(
        "`colbourn`, one draw, against all marginals",
        ("words", "kind", "marginals", "a draw", "a draw / marginals"),
        "Of checked graphs, in batches of fresh ones, each solved by itself.",
    )
    ratios: dict[str, Ratio] = {}
    for kind, make in _KINDS.items():
        single_root = kind == "dependency"
        for n in settings.pick((5, 10, 20, 50, 100, 200, 500), (20, 100)):
            count = max(1, 20000 // n**2)
            batch = graphs.random(n, count=count)
            ready = make(batch)
            marginals = inference.arc_marginals(batch, single_root=single_root)
            found = compare(
                {
                    "marginals": Side(
                        partial(arc_marginals, ready._graphs, one_by_one=True),
                        partial(number_objection, expected=marginals, tolerance=1e-8),
                        count,
                    ),
                    "draw": Side(
                        partial(ready.sample, 1, method="colbourn", rng=1),
                        partial(batch_objection, batch=batch, num_draws=1, single_root=single_root),
                        count,
                    ),
                },
                settings,
            )
            ratios[f"{n} words, {kind} trees"] = found.ratio("draw", "marginals")
            table.rows.append(
                [
                    str(n),
                    kind,
                    duration(found.median("marginals")),
                    duration(found.median("draw")),
                    str(found.ratio("draw", "marginals")),
                ]
            )
    report.worst("a `colbourn` draw over all marginals", ratios, 3.0, at_most=True)


_MEMORY_PROGRAM = """
import numpy as np
from arborand import DependencyTrees
scores = np.random.default_rng(0).normal(size=(1001, 1001))
DependencyTrees(scores[:5, :5]).sample(2, rng=0)
PEAK()
heads = DependencyTrees(scores).sample(1000, rng=0)
print(json.dumps({"peak": PEAK(), "weights": scores.nbytes, "heads": heads.nbytes}))
"""


def _memory(report: Report) -> None:
    found = in_fresh_process(_MEMORY_PROGRAM)
    text = (
        "memory for 1,000 draws of 1,000 words beside the trees themselves, in copies of the "
        "weights ('a few' read as 6)"
    )
    peak = found.get("peak")
    if peak is None:
        report.skip(text, 6.0, found.get("error", NOT_WEIGHED), at_most=True)
    else:
        copies = (peak - found["heads"]) / found["weights"]
        report.claim(text, Ratio(copies), 6.0, at_most=True)
    report.facts["memory of 1000 x 1000"] = memory(peak)
