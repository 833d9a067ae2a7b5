"""The paper's experiment: what it measures and writes, on a plan too small to mean anything."""

import numpy as np
import pytest

from arborand import experiment

pytest.importorskip("matplotlib", reason="the experiment draws its figure with matplotlib")

TINY = experiment.Plan(2, (2, 3), (2, 3, 4), (1, 2), (1, 2, 3), num_words=3)


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


def test_everything_is_measured_and_written(tmp_path):
    rng = np.random.default_rng(0)
    words = list(experiment.with_replacement(TINY, rng))
    trees = list(experiment.without_replacement(TINY, rng))
    assert {m.curve for m in words} == {
        "reference colbourn",
        "reference wilson_rc",
        *(f"core {method}" for method in experiment.CORE_METHODS),
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
