"""log Z and marginals against NumPy's determinant and inverse: the floor for O(n^3) work.

NumPy has the same job on the same log-weights: exponentiate, build the Laplacian, factorise it.
Its formulas are written here as fast as we could make them, batched, and favoured a little: they
trust their input (nothing is checked, nothing shifted against overflow), which the scores measured
on allow.  Beside that stands, for information, the bare factorisation of a Laplacian that somebody
else has exponentiated and built: no bound is set on it, because it does not begin with scores.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arborand import DependencyTrees, SpanningTrees
from arborand.validation import Graphs
from benchmarks import graphs
from benchmarks.answers import number_objection, same_objection
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

TITLE = "log Z and marginals against NumPy"
KINDS = {"dependency trees": DependencyTrees, "spanning trees": SpanningTrees}
# Kept by design for sentences; for long ones a factor is allowed, because NumPy may use fused
# multiply-adds and we may not: they would make results depend on the machine.
_SMALL = (5, 10, 20, 30, 50)
_LARGE = (100, 200, 300, 500, 1000)


# ---- the formulas, on batches of shape (count, n + 1, n + 1)


def laplacian(log_weights: Floats, *, single_root: bool) -> tuple[Floats, Floats]:
    """Give the Laplacian of Koo et al. (2007), transposed or not: and the weights of all arcs."""
    weights = np.exp(log_weights)
    arcs = weights[:, 1:, 1:]
    matrix = np.negative(arcs)
    diagonal = np.einsum("bii->bi", matrix)
    if single_root:
        np.sum(arcs, axis=1, out=diagonal)
        matrix[:, 0] = weights[:, 0, 1:]
    else:
        np.sum(weights[:, :, 1:], axis=1, out=diagonal)
    return matrix, weights


def log_partition(log_weights: Floats, *, single_root: bool) -> Floats:
    """Compute log Z as the logarithm of a determinant."""
    found: Floats = np.linalg.slogdet(laplacian(log_weights, single_root=single_root)[0])[1]
    return found


def arc_marginals(log_weights: Floats, *, single_root: bool) -> Floats:
    """Compute all marginals from an inverse."""
    matrix, weights = laplacian(log_weights, single_root=single_root)
    inverse = np.linalg.inv(matrix)
    diagonal = np.einsum("bii->bi", inverse)
    result = np.zeros_like(weights)
    arcs = result[:, 1:, 1:]
    if single_root:
        # Row 0 of the Laplacian holds root weights, so word 1 has no part in the differences.
        np.multiply(diagonal[:, None, :], np.arange(diagonal.shape[1]) > 0, out=arcs)
        arcs[:, 1:] -= inverse.swapaxes(1, 2)[:, 1:]
        result[:, 0, 1:] = inverse[:, :, 0]
    else:
        np.subtract(diagonal[:, None, :], inverse.swapaxes(1, 2), out=arcs)
        result[:, 0, 1:] = diagonal
    result *= weights
    return result


# ---- the comparison


def run(settings: Settings) -> Report:
    """Measure log Z and marginals over sizes, batches and workers."""
    report = Report("inference", TITLE, settings)
    sizes = settings.pick(_SMALL + _LARGE, (5, 20, 50, 100))
    measured: dict[str, dict[str, dict[int, Comparison]]] = {}
    for kind in KINDS:
        measured[kind] = {"log Z": {}, "marginals": {}}
        for n in sizes:
            batch = graphs.random(n, count=_batch_size(n, settings))
            measured[kind]["log Z"][n] = compare(_log_partition_sides(kind, batch), settings)
            measured[kind]["marginals"][n] = compare(_marginal_sides(kind, batch), settings)
    _tables(report, measured)
    _claims(report, measured)
    _growth(report, measured["dependency trees"])
    _four_at_once(report, settings)
    _workers(report, settings)
    return report


def _batch_size(n: int, settings: Settings) -> int:
    # About 10^6 entries, so that Python's part of a call does not count; fewer when in a hurry.
    return max(1, min(1000, (10**5 if settings.quick else 4 * 10**5) // n**2))


def _log_partition_sides(kind: str, batch: Floats) -> dict[str, Side]:
    make, single_root = KINDS[kind], kind == "dependency trees"
    count = len(batch)
    expected = log_partition(batch, single_root=single_root)
    check = _close_to(expected, 1e-9)
    # A distribution remembers its log Z: a new one each time, of graphs that were checked once.
    ready = make(batch)._graphs
    matrices = laplacian(batch, single_root=single_root)[0]
    return {
        "arborand": Side(lambda: make(batch).log_partition(), check, count),
        "NumPy": Side(lambda: log_partition(batch, single_root=single_root), check, count),
        "arborand, checked graphs": Side(lambda: make._of(ready).log_partition(), check, count),
        "NumPy, slogdet alone": Side(lambda: np.linalg.slogdet(matrices)[1], check, count),
    }


def _marginal_sides(kind: str, batch: Floats) -> dict[str, Side]:
    make, single_root = KINDS[kind], kind == "dependency trees"
    count = len(batch)
    check = _close_to(make(batch).arc_marginals(), 1e-8)
    ready = make(batch)
    matrices = laplacian(batch, single_root=single_root)[0]
    return {
        "arborand": Side(lambda: make(batch).arc_marginals(), check, count),
        "NumPy": Side(lambda: arc_marginals(batch, single_root=single_root), check, count),
        "arborand, checked graphs": Side(ready.arc_marginals, check, count),
        "NumPy, inv alone": Side(
            lambda: np.linalg.inv(matrices),
            lambda found: number_objection(
                matrices @ found, np.broadcast_to(np.eye(matrices.shape[1]), matrices.shape), 1e-8
            ),
            count,
        ),
    }


def _close_to(expected: Floats, tolerance: float) -> Callable[[Any], str | None]:
    return lambda found: number_objection(found, expected, tolerance)


# ---- what it comes to


def _tables(report: Report, measured: dict[str, dict[str, dict[int, Comparison]]]) -> None:
    for question, bare in (("log Z", "slogdet alone"), ("marginals", "inv alone")):
        table = report.table(
            f"{question}: time of one graph, in batches of fresh ones",
            (
                "words",
                "kind",
                "arborand",
                "NumPy",
                "arborand / NumPy",
                "checked graphs",
                f"NumPy's {bare}",
                "ratio",
            ),
            "From log-weights to the answer; then, for graphs that are already checked, against "
            f"NumPy's {bare}, which is given a Laplacian that somebody else has exponentiated and "
            "built: a floor, for information.",
        )
        for kind in KINDS:
            for n, found in measured[kind][question].items():
                ours, theirs = "arborand, checked graphs", f"NumPy, {bare}"
                table.rows.append(
                    [
                        str(n),
                        kind.split()[0],
                        duration(found.median("arborand")),
                        duration(found.median("NumPy")),
                        str(found.ratio("arborand", "NumPy")),
                        duration(found.median(ours)),
                        duration(found.median(theirs)),
                        str(found.ratio(ours, theirs)),
                    ]
                )


def _claims(report: Report, measured: dict[str, dict[str, dict[int, Comparison]]]) -> None:
    for question, numpy_name in (("log Z", "slogdet"), ("marginals", "inverse")):
        for sizes, bound, words in ((_SMALL, 1.0, "up to 50"), (_LARGE, 3.0, "100 to 1000")):
            ratios: dict[str, Ratio] = {}
            for kind in KINDS:
                for n, found in measured[kind][question].items():
                    if n in sizes:
                        ratios[f"{n} words, {kind}"] = found.ratio("arborand", "NumPy")
            report.worst(
                f"{question}, {words} words: time over that of NumPy's {numpy_name} formula",
                ratios,
                bound,
                at_most=True,
            )


def _growth(report: Report, measured: dict[str, dict[int, Comparison]]) -> None:
    for question, found in measured.items():
        sizes = [n for n in found if n >= 50]
        rounds = min(len(found[n].times["arborand"]) for n in sizes)
        slopes = [
            slope(sizes, [found[n].times["arborand"][i] for n in sizes]) for i in range(rounds)
        ]
        report.claim(
            f"{question}: slope of log time over log words, {sizes[0]} to {sizes[-1]} words",
            median_interval(slopes),
            3.2,
            at_most=True,
        )
    with report.figure("inference", "Time of one dependency-tree graph, in batches.") as axes:
        for question, line in (("log Z", "-"), ("marginals", "--")):
            for name, colour in (("arborand", "C0"), ("NumPy", "C1")):
                sizes = list(measured[question])
                times = [measured[question][n].median(name) for n in sizes]
                axes.loglog(
                    sizes, times, line, marker="o", color=colour, label=f"{name}, {question}"
                )
        axes.set_xlabel("words")
        axes.set_ylabel("seconds a graph")


def _four_at_once(report: Report, settings: Settings) -> None:
    table = report.table(
        "Four sentences of each length, or three",
        ("words", "log Z", "marginals"),
        "Time of a sentence in a batch that has four of each length, which are solved at once, "
        "over that in a batch that has three, which are solved one by one.",
    )
    ratios: dict[str, dict[str, Ratio]] = {"log Z": {}, "marginals": {}}
    for middle in settings.pick((10, 20, 30, 40, 50), (10, 40)):
        words = f"{middle - 5} to {middle + 5}"
        sides: dict[str, dict[str, Side]] = {question: {} for question in ratios}
        for copies in (4, 3):
            lengths = np.repeat(np.arange(middle - 5, middle + 6), copies)
            batch = graphs.random(middle + 5, count=len(lengths))
            ready = DependencyTrees(batch, lengths=lengths)._graphs
            for question, name in (("log Z", "log_partition"), ("marginals", "arc_marginals")):
                sides[question][str(copies)] = Side(
                    partial(_ask, ready, name),
                    partial(same_objection, expected=_one_by_one(batch, lengths, name)),
                    len(lengths),
                )
        for question in ratios:
            found = compare(sides[question], settings)
            ratios[question][f"{words} words"] = found.ratio("4", "3")
        table.rows.append(
            [words, *(str(ratios[question][f"{words} words"]) for question in ratios)]
        )
    for question, found_ratios in ratios.items():
        report.worst(
            f"{question}, four sentences of each length: time over that with three of each",
            found_ratios,
            0.9,
            at_most=True,
        )


def _ask(ready: Graphs, name: str) -> Floats:
    # A distribution remembers its log Z: a new one each time.
    answer: Floats = getattr(DependencyTrees._of(ready), name)()
    return answer


def _one_by_one(batch: Floats, lengths: NDArray[np.int64], name: str) -> Floats:
    answers = [
        getattr(DependencyTrees(graph[None], lengths=[length]), name)()[0]
        for graph, length in zip(batch, lengths, strict=True)
    ]
    return np.array(answers)


def _workers(report: Report, settings: Settings) -> None:
    batch = graphs.random(50, count=100 if settings.quick else 2000)
    ready = DependencyTrees(batch)._graphs
    works: dict[str, tuple[Callable[[int], Floats], Floats]] = {
        "log Z": (
            lambda workers: DependencyTrees._of(ready).log_partition(workers=workers),
            log_partition(batch, single_root=True),
        ),
        "marginals": (
            lambda workers: DependencyTrees._of(ready).arc_marginals(workers=workers),
            arc_marginals(batch, single_root=True),
        ),
    }
    for question, (work, expected) in works.items():
        speed, details = compare_workers(
            work,
            settings,
            check=_close_to(expected, 1e-8),
            same_check=partial(same_objection, expected=work(1)),
        )
        report.claim(
            f"{question}: speed of two workers over one, {len(batch)} graphs of 50 words "
            f"({details})",
            speed,
            1.7,
            at_most=False,
        )
