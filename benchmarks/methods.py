"""Which method when: the measurements behind the rule for ``method=None``.

A call costs what a graph's preparation costs and what its draws cost, so two numbers of draws tell
both, and with them the cost of any number of draws.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from arborand import DependencyTrees, SpanningTrees
from arborand.methods import DEFAULT_METHOD
from benchmarks import graphs
from benchmarks.answers import batch_objection, tree_objection
from benchmarks.measure import Settings, Side, compare, duration, significant
from benchmarks.report import Report


def add_methods(report: Report, settings: Settings) -> None:
    """Add tables and a figure: what each method costs, and how good rules are that choose."""
    costs = _costs(report, settings)
    _crossover_table(report, costs)
    _regret(report, costs)
    _root_scores(report, settings)
    _figure(report, costs)


# (kind, family, words) -> method -> (seconds to prepare, seconds a draw)
Costs = dict[tuple[str, str, int], dict[str, tuple[float, float]]]
_METHODS = {
    "dependency": ("wilson", "wilson_reject", "colbourn"),
    "spanning": ("wilson", "colbourn"),
}
# What rules are judged by.
_NUM_DRAWS = (1, 3, 10, 30, 100, 1000)


def _costs(report: Report, settings: Settings) -> Costs:
    families: dict[str, Callable[..., graphs.Floats]] = {
        "flat": graphs.flat,
        "random": lambda n, count: graphs.random(n, count, spread=2.0),
        "peaked": graphs.peaked,
    }
    costs: Costs = {}
    for kind, methods in _METHODS.items():
        make = DependencyTrees if kind == "dependency" else SpanningTrees
        for family, make_graphs in families.items():
            for n in settings.pick((3, 5, 10, 20, 50, 100, 200, 400), (5, 20, 50)):
                count = max(1, min(50, 20000 // n**2))
                batch = make_graphs(n, count=count)
                ready = make(batch)
                sides = {
                    f"{method} {num_draws}": Side(
                        partial(ready.sample, num_draws, method=method, rng=1),
                        partial(
                            batch_objection,
                            batch=batch,
                            num_draws=num_draws,
                            single_root=kind == "dependency",
                        ),
                        count,
                    )
                    for method in methods
                    for num_draws in (0, _many(method))
                }
                found = compare(sides, settings, seconds=settings.seconds / 2)
                costs[kind, family, n] = {}
                for method in methods:
                    prepare = found.fastest(f"{method} 0")
                    many = found.fastest(f"{method} {_many(method)}")
                    costs[kind, family, n][method] = (
                        prepare,
                        max(many - prepare, 1e-9) / _many(method),
                    )
    return costs


def _many(method: str) -> int:
    return 2 if method == "colbourn" else 200


def _total(cost: tuple[float, float], num_draws: int) -> float:
    return cost[0] + num_draws * cost[1]


def _crossover_table(report: Report, costs: Costs) -> None:
    table = report.table(
        "Dependency trees: from how many draws `wilson` beats `wilson_reject`",
        ("words", "flat", "random", "peaked", "one draw: `wilson` / `wilson_reject`"),
        "`wilson` computes the root's marginals first, in O(n^3); `wilson_reject` does not, but "
        "walks until a single arc leaves the root.  The last column is the most that can be gained "
        "by choosing well, on the random graphs.  "
        f"{_colbourn(costs)}",
    )
    for n in sorted({n for kind, _, n in costs if kind == "dependency"}):
        cells = []
        for family in ("flat", "random", "peaked"):
            cost = costs["dependency", family, n]
            (prepare, draw), (prepare_reject, draw_reject) = cost["wilson"], cost["wilson_reject"]
            if draw_reject > draw:
                cells.append(
                    significant(max(0.0, (prepare - prepare_reject) / (draw_reject - draw)))
                )
            else:
                cells.append("never")
        cost = costs["dependency", "random", n]
        gain = _total(cost["wilson"], 1) / _total(cost["wilson_reject"], 1)
        table.rows.append([str(n), *cells, significant(gain)])


def _colbourn(costs: Costs) -> str:
    best = [
        (n, num_draws)
        for (_, _, n), cost in costs.items()
        for num_draws in _NUM_DRAWS
        if _cheapest(cost, num_draws) == "colbourn"
    ]
    if not best:
        return "`colbourn` is nowhere the cheapest."
    words, draws = (max(numbers) for numbers in zip(*best, strict=True))
    return f"`colbourn` is nowhere the cheapest beyond {words} words or {draws} draws."


def _cheapest(cost: dict[str, tuple[float, float]], num_draws: int) -> str:
    return min(cost, key=lambda method: _total(cost[method], num_draws))


def quarter_rule(num_words: int, num_draws: int, *, single_root: bool) -> str:
    """Reject for a few draws of a long sentence, else walk: the cheapest short rule we found."""
    return "wilson_reject" if single_root and 4 * num_draws <= num_words else "wilson"


def _regret(report: Report, costs: Costs) -> None:
    rules: dict[str, Callable[..., str]] = {
        f"always `{DEFAULT_METHOD}`, arborand's rule": lambda *_, single_root: DEFAULT_METHOD,
        "`wilson_reject` if 4 draws <= words": quarter_rule,
        "always `wilson_reject`": lambda *_, single_root: (
            "wilson_reject" if single_root else "wilson"
        ),
    }
    table = report.table(
        "Rules for `method=None`: time over that of the best method",
        ("rule", "mean", "worst", "where"),
        f"Over all graphs above and {', '.join(map(str, _NUM_DRAWS[:-1]))} and {_NUM_DRAWS[-1]} "
        "draws; preparation included.",
    )
    for name, rule in rules.items():
        regrets = {}
        for (kind, family, n), cost in costs.items():
            for num_draws in _NUM_DRAWS:
                chosen = rule(n, num_draws, single_root=kind == "dependency")
                best = min(_total(one, num_draws) for one in cost.values())
                regrets[kind, family, n, num_draws] = _total(cost[chosen], num_draws) / best
        where = max(regrets, key=lambda key: regrets[key])
        table.rows.append(
            [
                name,
                significant(float(np.mean(list(regrets.values())))),
                significant(regrets[where]),
                "{} trees, {}, {} words, {} draws".format(*where),
            ]
        )


def _root_scores(report: Report, settings: Settings) -> None:
    table = report.table(
        "The same dependency trees, all root scores shifted: 12 draws, 50 words",
        ("shift of root scores", "`wilson`", "`wilson_reject`", "`wilson_reject` / `wilson`"),
        "The shift changes no probability: every dependency tree has one root arc.",
    )
    scores = graphs.random(50)[0]
    for shift in (-8.0, -4.0, -2.0, 0.0, 2.0, 4.0, 8.0):
        shifted = scores.copy()
        shifted[0] += shift
        trees = DependencyTrees(shifted)
        found = compare(
            {
                method: Side(
                    partial(trees.sample, 12, method=method),
                    partial(tree_objection, log_weights=shifted, single_root=True),
                )
                for method in ("wilson", "wilson_reject")
            },
            settings,
            seconds=settings.seconds / 4,
        )
        table.rows.append(
            [
                f"{shift:+g}" if shift else "0",
                duration(found.median("wilson")),
                duration(found.median("wilson_reject")),
                str(found.ratio("wilson_reject", "wilson")),
            ]
        )


def _figure(report: Report, costs: Costs) -> None:
    with report.figure(
        "methods", "Dependency trees of random graphs: time a draw, by method and number of draws."
    ) as axes:
        sizes = sorted({n for kind, _, n in costs if kind == "dependency"})
        for method, colour in zip(_METHODS["dependency"], ("C0", "C2", "C3"), strict=True):
            for num_draws, line in ((1, "--"), (1000, "-")):
                times = [
                    _total(costs["dependency", "random", n][method], num_draws) / num_draws
                    for n in sizes
                ]
                label = f"{method}, {'one draw' if num_draws == 1 else '1000 draws'}"
                axes.loglog(sizes, times, line, marker="o", color=colour, label=label)
        axes.set_xlabel("words")
        axes.set_ylabel("seconds a draw")
