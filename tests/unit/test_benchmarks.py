"""The instruments of the benchmarks: intervals, objections, adapters, reports."""

import importlib
import math
import tomllib
from pathlib import Path

import numpy as np
import pytest

from arborand import DependencyTrees, SpanningTrees
from arborand.enumeration import tree_law
from benchmarks import __main__ as command
from benchmarks import (
    adapters,
    documentation,
    floor,
    graphs,
    measure,
    peers,
    race,
    sampling,
    without_replacement,
)
from benchmarks.answers import (
    batch_objection,
    distinct_law_objection,
    distinct_objection,
    law_objection,
    number_objection,
    same_objection,
    tree_objection,
)
from benchmarks.measure import (
    Comparison,
    Ratio,
    Settings,
    Side,
    WrongAnswerError,
    compare,
    in_fresh_process,
    median_interval,
)
from benchmarks.report import Claim, Report

ROOT = Path(__file__).parents[2]
MACHINE = {
    "processor": "an abacus",
    "cores": 1,
    "time": "2001-01-01 00:00 UTC",
    "load": 0.5,
    "instruction_set": "wooden",
    "system": "none",
    "python": "3.11",
    "compiler": "no compiler",
    "versions": {"arborand": "0.1.0"},
}


# ---- intervals


def outside(count, rank):
    """Give the chance of a median below the rank-th smallest or above the rank-th largest."""
    return 2 * sum(math.comb(count, below) for below in range(rank)) / 2**count


@pytest.mark.parametrize("count", [*range(6, 32), 99, 100, 101])
def test_the_interval_is_the_shortest_that_covers_95_per_cent(count):
    found = median_interval(list(range(1, count + 1))[::-1])
    rank = found.low
    assert found.high == count + 1 - rank
    assert found.value == (count + 1) / 2
    assert outside(count, rank) <= 0.05 < outside(count, rank + 1)


@pytest.mark.parametrize("count", range(1, 6))
def test_fewer_than_six_rounds_have_no_interval(count):
    found = median_interval([1.0] * (count - 1) + [3.0])
    assert (found.low, found.high) == (None, None)
    assert "(" not in str(found)


def test_intervals_are_written_in_brackets():
    assert str(Ratio(1.5, 1.25, 2.0)) == "1.50 (1.25 to 2.00)"


def test_full_runs_have_enough_rounds_for_an_interval():
    assert median_interval([1.0] * Settings().min_rounds).low is not None


# ---- comparisons


def test_a_wrong_side_is_named_and_not_timed():
    calls = []
    sides = {
        "right": Side(lambda: 1, lambda found: None if found == 1 else "not 1"),
        "wrong": Side(lambda: calls.append(0), lambda found: "nothing at all"),
    }
    found = compare(sides, Settings(quick=True), seconds=0.0, min_rounds=2)
    assert found.wrong == {"wrong": "nothing at all"}
    assert len(calls) == 1
    assert len(found.times["right"]) == 2
    with pytest.raises(WrongAnswerError, match="nothing at all"):
        found.ratio("right", "wrong")


def test_ratios_are_taken_round_by_round():
    found = Comparison({"a": [1.0, 10.0, 2.0], "b": [1.0, 5.0, 4.0]})
    assert found.ratio("a", "b") == Ratio(1.0)


# ---- objections to samplers

SCORES = graphs.random(3)[0]
TREES, LAW = tree_law(SCORES, single_root=True)


def uniform(count):
    return TREES[np.random.default_rng(0).integers(len(TREES), size=count)]


def exact(count):
    return TREES[np.random.default_rng(0).choice(len(TREES), size=count, p=LAW)]


def test_a_sampler_of_the_right_law_passes():
    assert law_objection(exact, SCORES, 2000, single_root=True) is None
    ours = DependencyTrees(SCORES)
    found = law_objection(lambda count: ours.sample(count, rng=1), SCORES, 2000, single_root=True)
    assert found is None


def test_a_sampler_of_the_wrong_law_does_not():
    objection = law_objection(uniform, SCORES, 2000, single_root=True)
    assert objection.startswith("the law is wrong")


def test_a_sampler_of_spanning_trees_is_not_a_sampler_of_dependency_trees():
    ours = SpanningTrees(SCORES)
    objection = law_objection(
        lambda count: ours.sample(count, rng=1), SCORES, 500, single_root=True
    )
    assert objection == "draws with several arcs out of the root"


def test_too_few_draws_are_not_evidence():
    with pytest.raises(ValueError, match="too few"):
        law_objection(exact, SCORES, 5, single_root=True)


class Pairs:
    """Draws two trees, in ways that are right or wrong."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def right(self):
        return TREES[self.rng.choice(len(TREES), size=2, replace=False, p=LAW)]

    def second_of_any_weight(self):
        first = self.rng.choice(len(TREES), p=LAW)
        others = [tree for tree in range(len(TREES)) if tree != first]
        return TREES[[first, self.rng.choice(others)]]

    def order_lost(self):
        return TREES[np.sort(self.rng.choice(len(TREES), size=2, replace=False, p=LAW))]

    def with_replacement(self):
        return TREES[self.rng.choice(len(TREES), size=2, p=LAW)]

    def one(self):
        return TREES[:1]


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (Pairs.second_of_any_weight, "the law is wrong"),
        (Pairs.order_lost, "the law is wrong"),
        (Pairs.with_replacement, "1 of 2 trees are repeats"),
        (Pairs.one, "1 trees instead of 2"),
    ],
)
def test_wrong_pairs_of_distinct_trees_are_refused(draw, words):
    pairs = Pairs()
    objection = distinct_law_objection(lambda: draw(pairs), SCORES, 500, single_root=True)
    assert words in objection


def test_right_pairs_of_distinct_trees_pass():
    assert distinct_law_objection(Pairs().right, SCORES, 1000, single_root=True) is None
    ours, rng = DependencyTrees(SCORES), np.random.default_rng(1)
    found = distinct_law_objection(
        lambda: ours.sample_without_replacement(2, rng=rng).heads, SCORES, 1000, single_root=True
    )
    assert found is None


# ---- objections to trees


@pytest.mark.parametrize(
    ("heads", "words"),
    [
        ([-1, 0, 1, 2], None),
        ([-1, 2, 1, 0], "1 of 1 draws are not trees"),
        ([-1, 0, 0, 1], "draws with several arcs out of the root"),
        ([-1, 0, 3, 1], "draws with arcs that do not exist"),
    ],
)
def test_objections_to_trees(heads, words):
    scores = SCORES.copy()
    scores[3, 2] = -np.inf
    heads = np.array(heads, dtype=np.int32)
    assert tree_objection(heads, scores, single_root=True) == words


def test_objections_to_batches():
    batch = graphs.random(4, count=3)
    heads = DependencyTrees(batch).sample(5, rng=1)
    assert batch_objection(heads, batch, 5, single_root=True) is None
    assert batch_objection(heads, batch, 6, single_root=True).startswith("shape (5, 3, 5)")
    heads[2, 1] = [-1, 2, 1, 0, 3]
    objection = batch_objection(heads, batch, 5, single_root=True)
    assert objection == "graph 1: 1 of 5 draws are not trees"


def test_objections_to_repeats():
    heads = np.array([[-1, 0, 1, 2], [-1, 0, 1, 2]], dtype=np.int32)
    assert distinct_objection(heads, SCORES, single_root=True) == "1 of 2 trees are repeats"


# ---- objections to numbers


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([1.0, 1000.0 + 1e-4], None),
        ([1.0, 1000.1], "1000.1 where 1000 is right"),
        ([1.0], "shape (1,) instead of (2,)"),
        ([np.nan, 1000.0], "1 of 2 numbers are not finite"),
    ],
)
def test_objections_to_numbers(found, words):
    assert number_objection(np.array(found), np.array([1.0, 1000.0]), 1e-6) == words


def test_the_formulas_of_numpy_are_held_to_ours():
    batch = graphs.random(6, count=2)
    job = adapters.find("numpy_formulas").arc_marginals(
        batch, np.full(2, 6, dtype=np.int32), single_root=True
    )
    expected = DependencyTrees(batch).arc_marginals()
    assert number_objection(job.read(job.run()), expected, 1e-9) is None
    assert number_objection(1.001 * job.run(), expected, 1e-9) is not None


def test_workers_must_agree_to_the_last_bit():
    one = np.array([1.0, 2.0])
    assert same_objection(one, expected=one.copy()) is None
    assert same_objection(np.nextafter(one, 3.0), expected=one) is not None


# ---- what there is


@pytest.mark.parametrize("name", command.NAMES)
def test_every_benchmark_can_be_run(name):
    module = importlib.import_module(f"benchmarks.{name}")
    assert callable(module.run)
    assert module.TITLE


def test_every_module_of_adapters_has_an_adapter_and_a_place():
    folder = ROOT / "benchmarks" / "adapters"
    files = {file.stem for file in folder.glob("*.py")} - {"__init__"}
    assert files == set(adapters.NAMES)
    for name in files:
        adapter = importlib.import_module(f"benchmarks.adapters.{name}").ADAPTER
        assert isinstance(adapter, adapters.Adapter)
        assert adapter.name
        assert adapter.module


def test_the_peers_of_the_package_index_are_installed_for_the_benchmarks():
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]
    packages = {requirement.split(">")[0].split("=")[0] for requirement in groups["bench"]}
    assert {"dppy", "igraph", "networkx", "pyro-ppl", "supar", "torch-struct"} <= packages
    # The peers ask for any torch: the one call of pip that brings them has to say which.
    assert "torch==2.13.0" in groups["bench"]


@pytest.mark.parametrize("name", ["arborand", "reference"])
def test_adapters_of_our_own_pass_the_judges_of_peers(name, monkeypatch):
    # As many calls as there is time for are not the same calls every time.
    monkeypatch.setattr(peers, "_affordable", lambda _, job: 600 // min(job.units, 600))
    state = race.Peers(Settings(quick=True))
    adapter = type(adapters.find(name))()
    assert peers._law(state, adapter, "dependency_tree", SCORES, True) is None
    assert peers._distinct_law(state, adapter, SCORES) is None


# ---- reports and the page


@pytest.mark.parametrize(
    ("measured", "at_most", "verdict"),
    [
        (Ratio(0.5, 0.4, 0.6), True, "kept"),
        (Ratio(0.9, 0.8, 1.1), True, "kept, just"),
        (Ratio(1.1, 0.9, 1.2), True, "**missed**, just"),
        (Ratio(1.2, 1.1, 1.3), True, "**missed**"),
        (Ratio(1.2, 1.1, 1.3), False, "kept"),
        (Ratio(0.5, 0.4, 0.6), False, "**missed**"),
        (Ratio(0.5), True, "kept"),
        (Ratio(1.5), True, "**missed**"),
    ],
)
def test_verdicts(measured, at_most, verdict):
    assert Claim("speed", measured, 1.0, at_most).verdict == verdict


def small_report(folder):
    report = Report("sampling", "A title", Settings(results=folder))
    report.claim("speed", Ratio(1.5, 1.25, 1.75), 2.0, at_most=True)
    report.claim("patience", Ratio(1.5), 2.0, at_most=False)
    report.skip("weight", 3.0, "no scales here", at_most=True)
    report.table("A table of two", ("words", "time"), "A note.").rows.append(["5", "1 s"])
    report.figures.append(("curve", "A curve."))
    report.facts["size"] = "12 MB"
    return report


def test_a_report_is_written_with_the_machine_it_is_from(tmp_path):
    small_report(tmp_path).write(MACHINE)
    text = (tmp_path / "sampling.md").read_text("utf-8")
    assert "A full run: load 0.500 at the start, 2001-01-01 00:00 UTC. an abacus, 1 cores" in text
    assert "| weight | at most 3 | - | skipped: no scales here |" in text
    assert "| speed | at most 2 | 1.50 (1.25 to 1.75) | kept |" in text
    assert "| size | 12 MB |" in text
    assert "## A table of two\n\nA note.\n\n| words | time |" in text


def test_results_are_inserted_where_the_page_asks_for_them(tmp_path):
    small_report(tmp_path).write(MACHINE)
    places = (
        "kept",
        "missed",
        "cell sampling: A table; 5; time",
        "table sampling: A table",
        "figure sampling: curve",
        "fact sampling: size",
        "machines",
    )
    page = "\n".join(f"Before <!-- begin {place} -->old<!-- end --> after" for place in places)
    found = documentation.inserted(page, tmp_path)
    assert "old" not in found
    assert found.count("Before") == found.count("after") == len(places)
    for words in (
        "-->1 of 2<!--",
        "- patience: 1.50, should be at least 2.",
        "-->1 s<!--",
        "**A table of two**\n\nA note.\n\n| words | time |",
        "![A curve.](../benchmarks/results/curve.svg)",
        "-->12 MB<!--",
        "Measured: sampling (load 0.500 at the start, 2001-01-01 00:00 UTC).",
    ):
        assert words in found, words
    assert "- weight" not in found
    assert documentation.inserted(found, tmp_path) == found


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("table sampling: No such table", "0 results are called 'No such table'"),
        ("cell sampling: No such table; 5; time", "0 results are called 'No such table'"),
        ("cell sampling: A table; 6; time", "0 rows"),
        ("cell sampling: A table; 5; weight", "no column 'weight'"),
    ],
)
def test_a_page_that_asks_for_what_is_not_there_is_refused(place, message, tmp_path):
    small_report(tmp_path).write(MACHINE)
    with pytest.raises(ValueError, match=message):
        documentation.inserted(f"<!-- begin {place} --><!-- end -->", tmp_path)


# ---- the command line


@pytest.mark.parametrize(
    ("arguments", "folder"),
    [
        (["inference", "--scores", "."], measure.RESULTS),
        (["inference", "--scores", ".", "--quick"], ROOT / "build" / "benchmarks"),
        (["inference"], ROOT / "build" / "benchmarks"),  # the pages quote the scores of parsers
        (["inference", "--quick", "--results", "elsewhere"], Path("elsewhere")),
    ],
)
def test_where_results_go(arguments, folder, monkeypatch):
    ran, updated = [], []
    for name in command._ONE_THREAD:
        monkeypatch.setenv(name, "1")
    monkeypatch.delenv("SCORES", raising=False)
    monkeypatch.setattr(command, "_run", lambda name, settings: ran.append((name, settings)))
    monkeypatch.setattr(documentation, "update", updated.append)
    assert command.main(arguments) == 0
    assert [(name, settings.results) for name, settings in ran] == [("inference", folder)]
    assert updated == ([folder] if folder == measure.RESULTS else [])


def test_unknown_benchmarks_are_named(capsys):
    assert command.main(["inferenz"]) == 2
    assert "inferenz" in capsys.readouterr().err


# ---- memory, where the system does not tell

NO_PROC = """
import builtins
opened = builtins.open
def refuse(path, *options):
    if str(path).startswith("/proc"):
        raise FileNotFoundError(path)
    return opened(path, *options)
builtins.open = refuse
"""


def test_programs_that_cannot_be_weighed_say_so():
    program = NO_PROC + "PEAK(); print(json.dumps({'peak': PEAK(), 'most': MOST()}))"
    assert in_fresh_process(program) == {"peak": None, "most": None}


@pytest.mark.parametrize("found", [{"peak": None}, {"error": "no such luck"}])
def test_claims_about_memory_are_skipped_where_it_cannot_be_told(found, tmp_path, monkeypatch):
    report = Report("sampling", "A title", Settings(quick=True, results=tmp_path))
    for module in (sampling, without_replacement):
        monkeypatch.setattr(module, "in_fresh_process", lambda *_, **__: found)
    sampling._memory(report)
    without_replacement._memory(report, report.settings)
    assert len(report.claims) == 2
    for claim in report.claims:
        assert claim.verdict == f"skipped: {found.get('error', measure.NOT_WEIGHED)}"
    assert set(report.facts.values()) == {"-"}


@pytest.mark.slow
def test_the_floor_is_compiled_against_the_core_as_it_is(tmp_path):
    program = tmp_path / "floor"
    floor.compile_floor(program)
    assert program.exists()
