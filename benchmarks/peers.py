"""Against other libraries: the same graphs, answers checked, each in its own words.

A peer that gives a wrong answer is listed with the evidence and not timed at that work.  A peer
whose single call takes more than a second is timed once, outside the rounds; one that does not end
within the limit is said not to.
"""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from arborand import DependencyTrees, SpanningTrees
from benchmarks import adapters, graphs
from benchmarks.adapters import Adapter, Job
from benchmarks.adapters.arborand import ONE_TREE
from benchmarks.answers import (
    distinct_law_objection,
    distinct_objection,
    law_objection,
    number_objection,
    tree_objection,
)
from benchmarks.graphs import Floats, read_sentences
from benchmarks.latency import add_latency
from benchmarks.measure import Settings
from benchmarks.race import SLOWER, Finding, Peers, fill, guarded, measure
from benchmarks.report import Report

TITLE = "Against other libraries"
# Relative to the larger of 1 and the number: what single precision of the result still keeps.
_TOLERANCE = 1e-6


def run(settings: Settings) -> Report:
    """Measure all work of all peers that are installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the peers, to developers of the peers
        return _run(settings)


def _run(settings: Settings) -> Report:
    report = Report("peers", TITLE, settings)
    peers = Peers(settings)
    for name in adapters.NAMES:
        try:
            peers.here[name] = adapters.find(name)
        except ImportError:
            peers.absent.append(name)
    add_latency(report, peers.here)
    _draws(report, peers)
    _distinct(report, peers)
    _numbers(report, peers)
    _corpora(report, peers)
    _wrong(report, peers)
    return report


# ---- trees


def _draws(report: Report, peers: Peers) -> None:
    works: tuple[tuple[str, str, Callable[[int], Floats], bool], ...] = (
        ("uniform spanning trees", "uniform_spanning_tree", lambda n: graphs.flat(n)[0], False),
        ("weighted spanning trees", "spanning_tree", graphs.symmetric, False),
        ("dependency trees", "dependency_tree", lambda n: graphs.random(n)[0], True),
    )
    for work, method, make, single_root in works:
        for name, adapter in {**peers.here, "one tree": ONE_TREE}.items():
            judge = functools.partial(_law, peers, adapter, method, make(3), single_root)
            objection = guarded(peers, judge)
            if objection is not None:
                peers.wrong[name, work] = objection
        table = report.table(
            f"One tree: {work}",
            ("words", "who", "time of a tree", SLOWER, "... than its one tree a call"),
            "arborand draws 1,000 trees from an array of scores (100 at 500 words), and one; the "
            "others draw as many as they can a call, from a graph in their own form.",
        )
        curves: dict[str, dict[int, float]] = {}
        for n in peers.settings.pick((10, 20, 50, 100, 500), (10,)):
            scores = make(n)

            def check(heads: Any, scores: Floats = scores, single_root: bool = single_root) -> Any:
                return tree_objection(heads, scores, single_root=single_root)

            jobs = _jobs(peers, method, n if method == "uniform_spanning_tree" else scores)
            findings = measure(peers, work, jobs, check)
            fill(table, str(n), findings, peers)
            for name, finding in findings.items():
                if finding.seconds is not None:
                    curves.setdefault(name, {})[n] = finding.seconds
        _curves(report, peers, curves, method, f"Time of one tree: {work}.")


def _jobs(peers: Peers, method: str, *arguments: Any) -> dict[str, Job]:
    jobs = {}
    for name, adapter in peers.here.items():
        job = getattr(adapter, method)(*arguments)
        if job is not None:
            jobs[name] = job
        if name == "arborand" and method.endswith("_tree"):
            jobs["one tree"] = getattr(ONE_TREE, method)(*arguments)
    return jobs


def _law(
    peers: Peers, adapter: Adapter, method: str, scores: Floats, single_root: bool
) -> str | None:
    """Judge a sampler by its law on a graph of three words."""
    job = getattr(adapter, method)(3 if method == "uniform_spanning_tree" else scores)
    if job is None:
        return None
    num_draws = _affordable(peers, job) * job.units

    def draw(count: int) -> Any:
        calls = -(-count // job.units)
        return np.concatenate([np.atleast_2d(job.read(job.run())) for _ in range(calls)])[:count]

    objection = law_objection(draw, scores, num_draws, single_root=single_root)
    return None if objection is None else f"3 words: {objection}"


def _distinct_law(peers: Peers, adapter: Adapter, scores: Floats) -> str | None:
    """Judge a sampler without replacement by pairs of distinct trees of a graph of three words."""
    job = adapter.distinct_trees(scores, 2)
    if job is None:
        return None
    num_draws = _affordable(peers, job)
    objection = distinct_law_objection(
        lambda: job.read(job.run()), scores, num_draws, single_root=True
    )
    return None if objection is None else f"3 words: {objection}"


def _affordable(peers: Peers, job: Job) -> int:
    """Give how many calls can be spent on judging a law."""
    job.run()
    begin = time.perf_counter()
    job.run()
    pace = time.perf_counter() - begin
    budget = 0.2 if peers.settings.quick else 3.0
    return max(-(-300 // job.units), min(20_000 // job.units, int(budget / pace)))


def _all_trees_objection(job: Job, scores: Floats, count: int) -> str | None:
    heads = np.asarray(job.read(job.run()))
    if len(heads) != count:
        return f"{len(heads)} trees of a graph that has {count}"
    return distinct_objection(heads, scores, single_root=True)


def _curves(
    report: Report, peers: Peers, curves: dict[str, dict[int, float]], stem: str, caption: str
) -> None:
    with report.figure(stem, caption) as axes:
        for name, curve in curves.items():
            adapter = ONE_TREE if name == "one tree" else peers.here[name]
            line = "--" if name == "one tree" else "-"
            place = adapters.NAMES.index("arborand" if name == "one tree" else name)
            colour = f"C{place}"
            sizes, times = zip(*curve.items(), strict=True)
            axes.loglog(sizes, times, line, marker="o", color=colour, label=adapter.name)
        axes.set_xlabel("words" if stem != "distinct_peers" else "k")
        axes.set_ylabel("seconds")


def _distinct(report: Report, peers: Peers) -> None:
    work = "distinct trees"
    # To the last tree: there are 64, some of them rare.
    last = graphs.random(4, spread=3.0)[0]
    for name, adapter in peers.here.items():
        judge = functools.partial(_distinct_law, peers, adapter, graphs.random(3)[0])
        objection = guarded(peers, judge)
        if objection is not None:
            peers.wrong[name, work] = objection
        job = adapter.distinct_trees(last, 64)
        if job is None:
            continue
        objection = guarded(peers, functools.partial(_all_trees_objection, job, last, 64))
        if objection is not None:
            peers.wrong[name, f"{work}, to the last"] = objection
    table = report.table(
        "k distinct dependency trees",
        ("words, graph, k", "who", "time of all", SLOWER),
    )
    cases: list[tuple[str, int, int]] = list(
        peers.settings.pick(
            (
                ("flat", 10, 100),
                ("flat", 20, 100),
                ("flat", 50, 50),
                ("peaked", 10, 10),
                ("peaked", 10, 30),
                ("peaked", 10, 100),
                ("peaked", 10, 300),
                ("peaked", 20, 100),
                ("peaked", 50, 50),
                ("sharp", 20, 100),
                ("sharp", 50, 50),
                ("peaked", 10, 1000),
            ),
            (("flat", 10, 10), ("peaked", 10, 10), ("peaked", 10, 30)),
        )
    )
    families = {"flat": graphs.flat, "peaked": graphs.peaked, "sharp": graphs.sharp}
    curves: dict[str, dict[int, float]] = {}
    for family, n, k in cases:
        scores = families[family](n)[0]

        def check(heads: Any, scores: Floats = scores, k: int = k) -> str | None:
            if len(heads) != k:
                return f"{len(heads)} trees instead of {k}"
            return distinct_objection(heads, scores, single_root=True)

        case = f"{n}, {family}, {k}"
        jobs = _jobs(peers, "distinct_trees", scores, k)
        # A peer too slow for one graph may be fast enough for another: each is judged by itself.
        findings = measure(peers, f"{work}, {family}, {n} words", jobs, check, law=work)
        fill(table, case, findings, peers)
        if (family, n) == ("peaked", 10):
            for name, finding in findings.items():
                if finding.seconds is not None:
                    curves.setdefault(name, {})[k] = finding.seconds
    _curves(
        report,
        peers,
        curves,
        "distinct_peers",
        "Time for k distinct dependency trees of a peaked graph of 10 words.",
    )


# ---- numbers


def _numbers(report: Report, peers: Peers) -> None:
    for work, method in (("log Z", "log_partition"), ("marginals", "arc_marginals")):
        table = report.table(
            f"{work} of dependency trees, in batches",
            ("words", "who", "time of a graph", SLOWER),
            "All in double precision and on one thread.",
        )
        curves: dict[str, dict[int, float]] = {}
        for n in peers.settings.pick((10, 20, 50, 100, 500), (10,)):
            batch = graphs.random(n, count=max(1, 100_000 // n**2))
            lengths = np.full(len(batch), n, dtype=np.int32)
            findings = _measure_numbers(peers, work, method, batch, lengths)
            fill(table, str(n), findings, peers)
            for name, finding in findings.items():
                if finding.seconds is not None:
                    curves.setdefault(name, {})[n] = finding.seconds
        _curves(report, peers, curves, method, f"Time of one graph: {work} of dependency trees.")

    table = report.table(
        "log Z of the spanning trees of one undirected graph",
        ("words", "who", "time of a graph", SLOWER),
    )
    for n in peers.settings.pick((10, 20, 50, 100, 500), (10,)):
        scores = graphs.symmetric(n)
        check = _close_to(np.atleast_1d(SpanningTrees(scores).log_partition()))
        jobs = _jobs(peers, "undirected_log_partition", scores)
        findings = measure(peers, "log Z, undirected", jobs, check)
        fill(table, str(n), findings, peers)


def _measure_numbers(
    peers: Peers, work: str, method: str, batch: Floats, lengths: Any
) -> dict[str, Finding]:
    ours = DependencyTrees(batch, lengths=lengths)
    expected = ours.log_partition() if method == "log_partition" else ours.arc_marginals()
    jobs = {}
    for name, adapter in peers.here.items():
        job = getattr(adapter, method)(batch, lengths, single_root=True)
        if job is not None:
            jobs[name] = job
    return measure(peers, work, jobs, _close_to(expected))


def _close_to(expected: Floats) -> Callable[[Any], str | None]:
    return lambda found: number_objection(found, expected, _TOLERANCE)


def _corpora(report: Report, peers: Peers) -> None:
    table = report.table(
        "Batches of sentences: log Z and marginals of dependency trees",
        ("scores and question", "who", "time of a sentence", SLOWER),
        "Padded batches of up to 100 sentences of up to 60 words, their number behind the name of "
        "the scores; in double precision.",
    )
    corpora = read_sentences(peers.settings.scores, max_words=60)
    for corpus in corpora[:1] if peers.settings.quick else corpora:
        batch, lengths = corpus.first(20 if peers.settings.quick else 100).padded()
        for question, method in (("log Z", "log_partition"), ("marginals", "arc_marginals")):
            work = f"{question}, {corpus.name} ({len(batch)})"
            findings = _measure_numbers(peers, work, method, batch, lengths)
            fill(table, work, findings, peers)


def _wrong(report: Report, peers: Peers) -> None:
    table = report.table(
        "Wrong answers, which is why a time is missing above",
        ("who", "at what", "evidence"),
        f"Numbers: off by more than {_TOLERANCE:g}, relative to the larger of 1 and the number.  "
        "Laws: a chi-square test of trees, or of pairs of distinct trees, on a graph of three "
        "words, refused where chance would refuse once in a million times.",
    )
    for (name, work), evidence in peers.wrong.items():
        who = ONE_TREE.name if name == "one tree" else peers.here[name].name
        table.rows.append([who, work, evidence])
    report.facts["absent peers"] = ", ".join(peers.absent) or "none"
    faster = report.table("Where others are faster", ("library", "job", "words", "time over ours"))
    faster.rows += peers.faster
