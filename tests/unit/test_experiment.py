"""The paper's experiment: what it measures and writes, on a plan too small to mean anything."""

from dataclasses import replace

import numpy as np
import pytest

from arborand.paper import experiment

pytest.importorskip("matplotlib", reason="the experiment draws its figure with matplotlib")

TINY = experiment.Plan(2, (2, 3), (2, 3, 4), (1, 2), (1, 2, 3), num_words=3, least_seconds=0.001)


def test_slope_is_the_exponent_of_a_power_law():
    sizes = np.array([1.0, 2.0, 4.0, 8.0])
    curve = experiment.Curve("cubic", sizes, 5e-9 * sizes**3)
    # Logarithms of exact powers of two: only the fit rounds.
    assert curve.slope == pytest.approx(3, rel=1e-12)
    assert curve.last_slope == pytest.approx(3, rel=1e-12)


def test_last_slope_looks_at_the_larger_half():
    curve = experiment.Curve("bent", np.array([1.0, 2.0, 4.0, 8.0]), np.array([1, 1, 1, 8.0]))
    assert curve.last_slope == pytest.approx(3, rel=1e-12)
    assert curve.slope < 2


def test_both_plans_have_points_enough_for_a_fit_of_the_larger_half():
    for plan in (experiment.QUICK, experiment.FULL):
        assert max(plan.reference_sizes) >= 80
        for sizes in (plan.reference_sizes, plan.core_sizes):
            assert len(sizes) - len(sizes) // 2 >= 3


def test_one_slow_pass_does_not_count(monkeypatch):
    seconds = iter([2.0, 90.0, 1.0])
    monkeypatch.setattr(experiment, "_seconds_per_tree", lambda *_: next(seconds))
    (found,) = experiment._medians([{"method": int}] * 3, 5, 0.0)
    assert found == experiment.Measurement("method", 5, 2.0)


def test_graphs_depend_on_the_seed_and_not_on_the_clock(monkeypatch):
    graphs = []

    def recording(weights, make=experiment.DependencyTrees.from_weights):
        graphs.append(np.array(weights))
        return make(weights)

    monkeypatch.setattr(experiment.DependencyTrees, "from_weights", recording)
    for least_seconds in (0.0, 0.002):
        plan = replace(TINY, least_seconds=least_seconds)
        list(experiment.with_replacement(plan, np.random.default_rng(0)))
    first, second = graphs[:3], graphs[3:]
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


SIZES = np.array([5.0, 10.0, 20.0, 40.0, 80.0])
WORDS = [
    experiment.Curve(name, SIZES, 1e-6 * SIZES) for name in ("reference colbourn", "core wilson")
]
TREES = [
    experiment.Curve("reference swor", np.array([1.0, 10.0, 100.0]), np.array([4e-3, 1e-3, 3e-3])),
    experiment.Curve("core partition", np.array([1.0, 10.0, 1000.0]), np.array([4e-5, 2e-5, 1e-5])),
]


def test_trees_without_replacement_get_times_and_the_exponent_of_the_larger_half():
    report = experiment.report(WORDS, TREES)
    rows = {line[2:32].rstrip(): line[32:].split() for line in report.splitlines()}
    # Three times as much at ten times the trees; half as much at a hundred times.
    assert rows["reference swor"] == ["4000.0", "1000.0", "3000.0", f"{np.log10(3):.2f}"]
    assert rows["core partition"] == ["40.0", "20.0", "10.0", f"{np.log10(0.5) / 2:.2f}"]


def test_everything_is_measured_and_written(tmp_path):
    rng = np.random.default_rng(0)
    words = list(experiment.with_replacement(TINY, rng))
    trees = list(experiment.without_replacement(TINY, rng))
    assert {m.curve for m in words} == {
        "reference colbourn",
        "reference wilson_rc",
        *(f"core {method}" for method in experiment.CORE_METHODS),
    }
    assert {m.curve for m in trees} == {
        "reference swor",
        "core rejection, then partition",
        "core rejection",
        "core partition",
    }
    assert all(m.seconds > 0 for m in words + trees)
    paths = experiment.write(tmp_path / "results", words, trees)
    assert sorted(path.name for path in paths) == [
        "experiment.csv",
        "experiment.png",
        "experiment.svg",
        "experiment.txt",
    ]
    assert all(path.stat().st_size > 0 for path in paths)
    report = (tmp_path / "results" / "experiment.txt").read_text()
    for slope in experiment.PAPER_SLOPES.values():
        assert f"{slope:.2f}" in report
    rows = (tmp_path / "results" / "experiment.csv").read_text().splitlines()
    assert len(rows) == 1 + len(words) + len(trees)
