"""Best trees: against log Z, against other libraries, and how the time grows with k.

Answers are checked first: ours against the core's exact numbers, those of others by the score of
the tree they find.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborand import DependencyTrees, SpanningTrees, _core
from arborand.kinds import TreeKind
from arborand.trees import log_weight
from arborand.validation import check_log_weights
from benchmarks import graphs
from benchmarks.answers import same_objection
from benchmarks.graphs import Floats
from benchmarks.measure import (
    Comparison,
    Ratio,
    Settings,
    Side,
    compare,
    compare_workers,
    duration,
    median_interval,
    slope,
)
from benchmarks.report import Report

TITLE = "Best trees"
KINDS = {"dependency trees": DependencyTrees, "spanning trees": SpanningTrees}
Heads = NDArray[np.int32]


def run(settings: Settings) -> Report:
    """Measure one best tree, several, and batches."""
    report = Report("best", TITLE, settings)
    _against_log_partition(report, settings)
    _against_peers(report, settings)
    _several(report, settings)
    _workers(report, settings)
    return report


def exact_best(batch: Floats, *, single_root: bool) -> Heads:
    """Find best trees in exact numbers alone."""
    heads = np.empty(batch.shape[:2], dtype=np.int32)
    graphs = check_log_weights(batch, None, kind=TreeKind(single_root))
    _core.best_tree(graphs.batch, 1, float("inf"), heads)
    return heads


# ---- one best tree, against log Z of the same graphs


def _against_log_partition(report: Report, settings: Settings) -> None:
    table = report.table(
        "Best tree: time of one graph, in batches",
        ("words", "scores", "kind", "best tree", "log Z", "best tree / log Z"),
        "Graphs that are already checked. Trained scores are made up: sure of most heads, unsure "
        "of some. Random ones are normal: nearly every graph has cycles to contract.",
    )
    makers: dict[str, tuple[Callable[..., Floats], float]] = {
        "trained": (graphs.peaked, 0.25),
        "random": (graphs.random, 1.0),
    }
    for scores, (make_graphs, bound) in makers.items():
        ratios: dict[str, Ratio] = {}
        for n in settings.pick((10, 20, 40, 50, 60, 100), (20, 50)):
            batch = make_graphs(n, count=max(10, 100_000 // n**2))
            for kind, make in KINDS.items():
                found = compare(_best_and_log_partition(make, batch), settings)
                ratio = found.ratio("best tree", "log Z")
                if 40 <= n <= 60:
                    ratios[f"{n} words, {kind}"] = ratio
                table.rows.append(
                    [
                        str(n),
                        scores,
                        kind.split()[0],
                        duration(found.median("best tree")),
                        duration(found.median("log Z")),
                        str(ratio),
                    ]
                )
        report.worst(
            f"best tree of {scores} scores, 40 to 60 words: time over that of log Z",
            ratios,
            bound,
            at_most=True,
        )


def _best_and_log_partition(make: Any, batch: Floats) -> dict[str, Side]:
    ready = make(batch)._graphs
    expected = exact_best(batch, single_root=make is DependencyTrees)
    check = partial(same_objection, expected=expected)
    return {
        "best tree": Side(lambda: make._of(ready).best_tree(), check, len(batch)),
        "log Z": Side(lambda: make._of(ready).log_partition(), None, len(batch)),
    }


# ---- against other libraries


def _against_peers(report: Report, settings: Settings) -> None:
    n = 50
    table = report.table(
        f"Best tree: graphs of {n} words, one call for each",
        ("who", "kind", "scores", "time of one tree", "over that of constructor and best_tree()"),
        "From an array of scores: arborand checks them first, in the constructor. Bounds are on "
        "random scores; libraries differ most where there are cycles to contract.",
    )
    for name, kind, scores, find, bound, count in (
        ("ufal.chu_liu_edmonds", "spanning trees", "random", _ufal, 5.0, 20),
        ("ufal.chu_liu_edmonds", "spanning trees", "trained", _ufal, None, 20),
        ("networkx", "spanning trees", "random", _networkx, 100.0, 1),
        ("supar", "dependency trees", "random", _supar, 100.0, 20),
    ):
        make = KINDS[kind]
        batch = (graphs.random if scores == "random" else graphs.peaked)(n, count=count)
        ours, alone = "constructor and best_tree()", "best_tree()"
        text = f"best tree of {n} words, {kind}: {name}'s time over that of {ours}"
        try:
            theirs = [find(graph) for graph in batch]
        except ImportError:
            if bound is not None:
                report.skip(text, bound, f"{name} is not installed", at_most=False)
            continue
        expected = exact_best(batch, single_root=make is DependencyTrees)
        same = partial(same_objection, expected=expected)
        ready = [make(graph) for graph in batch]
        sides = {
            ours: Side(partial(_best_from_scores, make, batch), same, count),
            alone: Side(partial(_best_of, ready), same, count),
            name: Side(
                partial(_call_each, theirs),
                partial(_score_objections, batch=batch, expected=expected),
                count,
            ),
        }
        found = compare(sides, settings)
        if name in found.wrong:
            if bound is not None:
                report.skip(text, bound, f"{name} is wrong: {found.wrong[name]}", at_most=False)
            continue
        if bound is not None:
            report.claim(text, found.ratio(name, ours), bound, at_most=False)
        for who in sides:
            ratio = "" if who == ours else str(found.ratio(who, ours))
            time = duration(found.median(who))
            table.rows.append([who, kind.split()[0], scores, time, ratio])


def _best_of(distributions: list[Any]) -> Any:
    return np.array([distribution.best_tree() for distribution in distributions])


def _best_from_scores(make: Any, batch: Floats) -> Any:
    return np.array([make(scores).best_tree() for scores in batch])


def _call_each(calls: list[Callable[[], Any]]) -> list[Any]:
    return [call() for call in calls]


def _score_objections(found: list[Any], *, batch: Floats, expected: Heads) -> str | None:
    objections = (
        _score_objection(heads, scores=scores, expected=best)
        for heads, scores, best in zip(found, batch, expected, strict=True)
    )
    return next((objection for objection in objections if objection), None)


def _score_objection(found: Any, *, scores: Floats, expected: Heads) -> str | None:
    """Let any tree through whose score is the best one, to the last digits of single precision."""
    heads = np.asarray(found, dtype=np.intp)
    got, best = (
        float(log_weight(np.concatenate([[-1], tree[1:]]), scores)) for tree in (heads, expected)
    )
    return None if abs(got - best) <= 1e-5 * abs(best) else f"a tree of score {got}, not {best}"


def _ufal(scores: Floats) -> Callable[[], Any]:
    from ufal.chu_liu_edmonds import chu_liu_edmonds

    transposed = np.ascontiguousarray(scores.T)
    return lambda: chu_liu_edmonds(transposed)[0]


def _networkx(scores: Floats) -> Callable[[], Any]:
    import networkx

    size = len(scores)
    graph = networkx.DiGraph()
    for head in range(size):
        for dependent in range(1, size):
            if head != dependent:
                graph.add_edge(head, dependent, weight=float(scores[head, dependent]))

    def find() -> list[int]:
        heads = [-1] * size
        tree = networkx.maximum_spanning_arborescence(graph)
        for head, dependent in tree.edges():
            heads[dependent] = head
        return heads

    return find


def _supar(scores: Floats) -> Callable[[], Any]:
    import torch
    from supar.structs.fn import mst

    # supar has no forbidden arcs: a low score stands for them.
    transposed = torch.from_numpy(np.where(np.isfinite(scores), scores, -1e4).T.copy())[None]
    mask = torch.ones(transposed.shape[:2], dtype=torch.bool)
    mask[:, 0] = False
    return lambda: mst(transposed.float(), mask)[0].numpy()


# ---- several


def _several(report: Report, settings: Settings) -> None:
    table = report.table(
        "k best trees: time of one tree",
        ("words", "scores", "k", "time of a tree", "over that of the best tree"),
        "Graphs of dependency trees that are already checked, log-probabilities included.",
    )
    sizes = (10, 20, 50)
    for scores, make_graphs in (("trained", graphs.peaked), ("random", graphs.random)):
        for n in settings.pick(sizes, (20,)):
            found = _time_several(make_graphs(n, count=20), settings)
            ks = [int(name) for name in found.times if name != "best tree"]
            for k in ks:
                table.rows.append(
                    [
                        str(n),
                        scores,
                        str(k),
                        duration(found.median(str(k))),
                        str(found.ratio(str(k), "best tree")),
                    ]
                )
            if n != 20:
                continue
            micro = [1e6 * seconds for seconds in found.times["100"]]
            text = f"100 best trees of 20 words, {scores} scores"
            report.claim(f"{text}: microseconds per tree", median_interval(micro), 20, at_most=True)
            if scores == "random":
                ratio = found.ratio("100", "best tree")
                report.claim(f"{text}: time per tree over the best tree's", ratio, 4, at_most=True)
            larger = [k for k in ks if k >= 100]
            rounds = len(found.times["100"])
            slopes = [
                slope(larger, [k * found.times[str(k)][i] for k in larger]) for i in range(rounds)
            ]
            report.claim(
                f"best trees of 20 words, {scores} scores: slope of log time over log k, "
                f"{larger[0]} to {larger[-1]} trees",
                median_interval(slopes),
                1.1,
                at_most=True,
            )


def _time_several(batch: Floats, settings: Settings) -> Comparison:
    ready = DependencyTrees(batch)._graphs
    expected = exact_best(batch, single_root=True)

    def first_is_best(found: Any) -> str | None:
        return same_objection(found.heads[0], expected)

    sides = {
        "best tree": Side(
            lambda: DependencyTrees._of(ready).best_tree(),
            partial(same_objection, expected=expected),
            len(batch),
        )
    }
    distribution = DependencyTrees._of(ready)
    distribution.log_partition()  # known from here on: it is the trees that are timed
    for k in settings.pick((10, 100, 300, 1000), (10, 100, 300)):
        sides[str(k)] = Side(
            lambda k=k: distribution.best_trees(k),  # type: ignore[misc]
            first_is_best,
            k * len(batch),
        )
    return compare(sides, settings)


def _workers(report: Report, settings: Settings) -> None:
    batch = graphs.random(50, count=200 if settings.quick else 4000)
    ready = DependencyTrees(batch)._graphs
    expected = exact_best(batch, single_root=True)
    check = partial(same_objection, expected=expected)
    speed, details = compare_workers(
        lambda workers: DependencyTrees._of(ready).best_tree(workers=workers),
        settings,
        check=check,
        same_check=check,
    )
    report.claim(
        f"best tree: speed of two workers over one, {len(batch)} graphs of 50 words ({details})",
        speed,
        1.7,
        at_most=False,
    )
