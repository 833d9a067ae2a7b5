"""The command line of the long suite, its second chance and its report, on a few tiny checks."""

import json
import os
import shutil
import warnings
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import permutations

import flint
import mpmath
import numpy as np
import pytest

from arborand import DependencyTrees, SpanningTrees, SuspiciousWeightsWarning
from verification import any_scores, high_precision, power, publishing, sources
from verification.__main__ import main
from verification.goodness_of_fit import BinomialFit, Cell, g_test
from verification.high_precision import accuracy_of, truth_about
from verification.laws import law_of
from verification.ledger import ALPHA_RUN
from verification.long_suite import (
    SUITE,
    Accurate,
    Agreement,
    FullLaw,
    LargeGraph,
    LongCheck,
    Ordered,
    pairs_of,
)
from verification.mutants import ALPHA_MUTANT, MUTANTS
from verification.random_graphs import EXTREME, FAMILIES, graph_of
from verification.runner import Settings, level_of, run_check, run_checks, seed_of
from verification.with_balls import BallLaw
from verification.with_flint import second_order
from verification.with_mpmath import by_determinant

LEVEL = 1e-9
PAGE = publishing.PAGE


@dataclass(frozen=True)
class Scripted:
    """An experiment whose p-value depends on the number of draws alone, and that takes notes."""

    first: float
    second: float
    calls: list

    def run(self, graph, num_draws, seed):
        self.calls.append((graph, num_draws, seed))
        p_value = self.first if num_draws == 100 else self.second
        if np.isnan(p_value):
            raise RuntimeError("no tree today")
        return BinomialFit(p_value, Cell("scripted", 1, 1.0), num_draws)

    def power(self, graph, num_draws, level):
        return None


def scripted(first, second, *, is_mutant=False, num_draws=100):
    experiment = Scripted(first, second, [])
    check = LongCheck("scripted", "scripts", "normal_4#1", experiment, num_draws, is_mutant)
    return check, experiment.calls


def outcome_of(*args, **kwargs):
    check, calls = scripted(*args, **kwargs)
    return run_check(check, Settings(1, LEVEL)), calls


TINY = (
    LongCheck("law of two words", "laws", "two_words_2", FullLaw(False, "wilson"), 2_000),
    LongCheck("law of a random graph", "laws", "normal_4#1", FullLaw(True, "colbourn"), 20_000),
    LongCheck("pairs", "pairs", "two_words_2", Ordered(False, None, 2), 1_000),
    LongCheck("digits", "accuracy", "deviation_10_4#1", Accurate(True), 0),
)


# ---- the second chance ----


def test_a_check_that_passes_is_run_once():
    outcome, calls = outcome_of(0.5, 0.5)
    assert outcome.has_passed
    assert [num_draws for _, num_draws, _ in calls] == [100]


def test_a_second_attempt_has_ten_times_the_draws_a_new_seed_and_the_same_graph():
    outcome, calls = outcome_of(0.1 * LEVEL, 0.5)
    assert outcome.has_passed
    assert len(outcome.attempts) == 2
    (graph, num_draws, seed), (same, more, other_seed) = calls
    assert graph is same
    assert (num_draws, more) == (100, 1000)
    assert seed != other_seed


def test_two_failures_are_a_failure_and_there_is_no_third_attempt():
    outcome, calls = outcome_of(0.1 * LEVEL, 0.1 * LEVEL)
    assert not outcome.has_passed
    assert len(calls) == 2


def test_the_level_itself_passes():
    assert len(outcome_of(LEVEL, 0.0)[1]) == 1


@pytest.mark.parametrize("is_mutant", [False, True])
def test_an_exception_is_a_failure_even_of_a_mutant(is_mutant):
    outcome, _ = outcome_of(np.nan, np.nan, is_mutant=is_mutant)
    assert not outcome.has_passed
    assert "no tree today" in outcome.attempts[-1].report


def test_a_mutant_must_be_rejected():
    assert outcome_of(0.1 * ALPHA_MUTANT, 0.5, is_mutant=True)[0].has_passed
    assert outcome_of(10 * ALPHA_MUTANT, 0.0, is_mutant=True)[0].has_passed
    assert not outcome_of(0.5, 10 * ALPHA_MUTANT, is_mutant=True)[0].has_passed


def test_without_draws_there_is_nothing_to_repeat():
    outcome, calls = outcome_of(0.0, 0.0, num_draws=0)
    assert not outcome.has_passed
    assert len(calls) == 1


@dataclass(frozen=True)
class Odd:
    """Works on a graph that looks like padding."""

    def run(self, graph, num_draws, seed):
        DependencyTrees([[0, 1, -1e9], [0, 0, -1e9], [0, 1, 0]])
        return Scripted(0.5, 0.5, []).run(graph, num_draws, seed)

    def power(self, graph, num_draws, level):
        return None


def test_graphs_that_look_odd_are_worked_on_in_silence():
    check = LongCheck("odd", "scripts", "normal_4#1", Odd(), 100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run_check(check, Settings(1, LEVEL)).has_passed
        with pytest.raises(SuspiciousWeightsWarning):  # it is odd
            Odd().run(None, 100, 1)


# ---- seeds, levels, processes ----


def test_seeds_depend_on_the_run_and_on_the_name():
    seeds = {seed_of(run, name) for run in (0, 1) for name in ("one", "other")}
    assert len(seeds) == 4
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_the_budget_is_shared_by_all_checks_that_may_raise_an_alarm():
    checks = [*TINY, replace(TINY[0], name="mutant", is_mutant=True)]
    assert level_of(checks) == ALPHA_RUN / 3


@pytest.mark.slow
def test_processes_change_nothing():
    def p_values(workers):
        found = run_checks(TINY, Settings(5, LEVEL), workers=workers)
        return {one.name: (one.attempts[0].p_value, one.attempts[0].seed) for one in found}

    assert p_values(1) == p_values(2)


# ---- the suite ----


def test_names_are_unique_and_graphs_exist():
    assert len({check.name for check in SUITE}) == len(SUITE)
    for name in {check.graph_name for check in SUITE}:
        assert graph_of(name, 1).num_words == int(name.partition("#")[0].rpartition("_")[2])


def test_every_mutant_is_in_the_suite_with_its_twin():
    names = {check.name: check.is_mutant for check in SUITE}
    for mutant in MUTANTS:
        assert names[f"mutant rejected: {mutant.name}"]
        assert not names[f"twin accepted: {mutant.name}"]


def test_what_large_graphs_are_judged_by_is_judged_on_the_same_graphs():
    def judged_by(*kinds):
        return {
            (check.graph_name, check.experiment.single_root)
            for check in SUITE
            if isinstance(check.experiment, kinds)
        }

    with_pairs = {
        (check.graph_name, check.experiment.single_root)
        for check in SUITE
        if isinstance(check.experiment, Accurate) and check.experiment.has_pairs
    }
    assert judged_by(LargeGraph) == with_pairs
    assert judged_by(Agreement) < with_pairs


def test_random_graphs_have_dependency_trees():
    for name in FAMILIES:
        assert np.isfinite(DependencyTrees(graph_of(name, 3).log_weights).log_partition())


# ---- the command line and the report ----


def run_main(tmp_path, *arguments, suite=TINY, docs=publishing.DOCS):
    return main([*arguments, "--workers", "1", "--output", str(tmp_path)], suite, docs)


def verdicts(tmp_path):
    return json.loads((tmp_path / "verification" / "verdicts.json").read_text())


def test_list_and_select(tmp_path, capsys):
    assert run_main(tmp_path, "--list", "law") == 0
    assert capsys.readouterr().out.splitlines() == ["law of two words", "law of a random graph"]
    assert run_main(tmp_path, "--list", "law*words", "pai") == 0
    assert capsys.readouterr().out.splitlines() == ["law of two words", "pairs"]
    assert run_main(tmp_path, "no such check") == 2
    assert "see --list" in capsys.readouterr().err
    assert run_main(tmp_path, "--seed", "-1") == 2


@pytest.mark.slow
def test_a_run_passes_and_is_repeated_by_its_printed_seed(tmp_path, capsys):
    assert run_main(tmp_path / "one") == 0
    seed = capsys.readouterr().out.split()[1].rstrip(";")
    assert run_main(tmp_path / "other", "law", "--seed", seed) == 0
    one, other = verdicts(tmp_path / "one"), verdicts(tmp_path / "other")
    assert one["seed"] == other["seed"] == int(seed)
    assert one["num_failures"] == 0
    assert one["level"] == ALPHA_RUN / 3
    for now, then in zip(other["checks"], one["checks"], strict=False):
        assert now["name"] == then["name"]
        assert now["attempts"][0]["p_value"] == then["attempts"][0]["p_value"]
        assert now["power"] == then["power"]
    report = (tmp_path / "one" / "verification_report.md").read_text()
    assert f"--seed {seed}" in report
    assert "**Every check passed.**" in report
    tables = (tmp_path / "one" / "verification" / "tables.md").read_text()
    assert all(f"| {check.name} |" in tables for check in TINY)
    assert "probability of one tree" in tables


def test_fresh_seeds_differ(tmp_path):
    seeds = []
    for name in ("one", "other"):
        assert run_main(tmp_path / name, "pairs") == 0
        seeds.append(verdicts(tmp_path / name)["seed"])
    assert seeds[0] != seeds[1]


def test_quick_makes_a_tenth_of_the_draws(tmp_path):
    assert run_main(tmp_path, "--quick", "random graph") == 0
    assert verdicts(tmp_path)["checks"][0]["attempts"][0]["num_draws"] == 2_000


def test_a_failure_is_reported_and_changes_the_exit_status(tmp_path, capsys):
    # Spanning trees judged as dependency trees: most draws are impossible.
    @dataclass(frozen=True)
    class Wrong(FullLaw):
        def run(self, graph, num_draws, seed):
            law = FullLaw(True, "wilson")
            heads = SpanningTrees(graph.log_weights).sample(num_draws, rng=seed)
            assert len(heads) == num_draws
            return _judged(heads, graph, law.single_root)

    suite = (TINY[0], LongCheck("wrong", "laws", "skewed_3", Wrong(True, "wilson"), 500))
    assert run_main(tmp_path, suite=suite) == 1
    assert "wrong: FAILED" in capsys.readouterr().out
    report = (tmp_path / "verification_report.md").read_text()
    assert "## Failures" in report
    assert "impossible draws" in report
    assert "5,000 draws" in report
    failed = {check["name"]: not check["has_passed"] for check in verdicts(tmp_path)["checks"]}
    assert failed == {"law of two words": False, "wrong": True}


def _judged(heads, graph, single_root):
    from verification.judges import judge_trees
    from verification.laws import law_of

    return judge_trees(heads, law_of(graph, single_root=single_root))


@pytest.mark.slow
def test_pictures_are_drawn(tmp_path):
    pytest.importorskip("matplotlib", reason="the report's pictures need matplotlib")
    assert run_main(tmp_path) == 0
    tables = (tmp_path / "verification" / "tables.md").read_text()
    for name in ("p_values.svg", "accuracy.svg"):
        assert (tmp_path / "verification" / name).stat().st_size > 0
        assert f"({name})" in tables


# ---- publishing ----


@pytest.fixture
def docs(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "is_installed", lambda: True)
    folder = tmp_path / "docs"
    folder.mkdir()
    shutil.copy(publishing.DOCS / publishing.PAGE, folder)
    return folder


@pytest.mark.slow
def test_publishing_writes_report_pictures_and_table(tmp_path, docs, capsys):
    pytest.importorskip("matplotlib", reason="the report's pictures need matplotlib")
    before = (docs / "is_it_exact.md").read_text()
    assert run_main(tmp_path / "run", "--publish", docs=docs) == 0
    assert "there is no report" in capsys.readouterr().out
    files = {path.relative_to(docs).as_posix() for path in docs.rglob("*") if path.is_file()}
    details = {f"verification/{name}" for name in ("tables.md", "p_values.svg", "accuracy.svg")}
    assert files == {"is_it_exact.md", "verification_report.md", *details}
    assert verdicts(tmp_path / "run")["num_failures"] == 0
    tables, page = ((docs / name).read_text() for name in ("verification/tables.md", PAGE))
    assert page == publishing.with_table(before, tables) != before
    assert "| probability of one sequence | pairs |" in page
    # Nothing but the table has changed, and it can be put back.
    committed = (publishing.DOCS / "verification" / "tables.md").read_text()
    assert publishing.with_table(page, committed) == publishing.with_table(before, committed)
    assert run_main(tmp_path / "run", "pairs", docs=docs) == 0
    assert "verification_report.md is of the current sources" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--quick"], ["law"]])
def test_only_whole_runs_are_published(tmp_path, docs, capsys, arguments):
    assert run_main(tmp_path, "--publish", *arguments, docs=docs) == 2
    assert "only a run of all checks" in capsys.readouterr().err
    assert [path.name for path in docs.iterdir()] == ["is_it_exact.md"]


def test_only_runs_of_the_sources_are_published(tmp_path, docs, capsys, monkeypatch):
    monkeypatch.setattr(sources, "is_installed", lambda: False)
    assert run_main(tmp_path, "--publish", docs=docs) == 2
    assert run_main(tmp_path, "pairs", docs=docs) == 0
    assert capsys.readouterr().err.count("is not that of src/") == 2
    assert [path.name for path in docs.iterdir()] == ["is_it_exact.md"]


def test_a_page_without_markers_is_refused():
    tables = (publishing.DOCS / "verification" / "tables.md").read_text()
    page = (publishing.DOCS / PAGE).read_text()
    for spoilt in ("a page", page.replace("<!-- End", "<!-- Begin"), page + page):
        with pytest.raises(ValueError, match="once each"):
            publishing.with_table(spoilt, tables)
    with pytest.raises(ValueError, match="no table"):
        publishing.with_table(page, "# A report of nothing")


# ---- sources ----


def make_sources(root):
    for name in (
        "src/core/walk/rows.hpp",
        "src/core/python/module.cpp",
        "src/arborand/deep/down.py",
        "verification/laws.py",
        "CMakeLists.txt",
        "src/arborand/picture.svg",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"what is in {name}")
    return root


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("src/core/walk/rows.hpp", {"library"}),
        ("src/core/python/module.cpp", {"library"}),
        ("src/arborand/deep/down.py", {"library"}),
        ("CMakeLists.txt", {"library"}),
        ("verification/laws.py", {"harness"}),
        ("src/arborand/picture.svg", set()),
    ],
)
def test_fingerprints_cover_what_makes_the_verdicts(tmp_path, name, changed):
    before = sources.fingerprints(make_sources(tmp_path))
    (tmp_path / name).write_text("something else")
    now = sources.fingerprints(tmp_path)
    assert {what for what in now if now[what] != before[what]} == changed
    report = tmp_path / "report.md"
    listed = ", ".join(f"{what} `{text}`" for what, text in before.items())
    report.write_text(f"# Report\n\n| fingerprints | {listed} |\n")
    told = sources.compare(report, now)
    assert told.endswith("is of the current sources") == (not changed)
    for what in changed:
        assert f"another {what} ({before[what]} then, {now[what]} now)" in told


def test_a_report_without_fingerprints_is_of_other_sources(tmp_path):
    report = tmp_path / "report.md"
    report.write_text("nothing to see")
    told = sources.compare(report, {"harness": "1", "library": "2"})
    assert "another harness (unknown then, 1 now) and of another library" in told


def test_an_installed_library_of_other_sources_is_found_out(tmp_path):
    installed = os.path.dirname(sources.arborand.__file__)
    shutil.copytree(installed, tmp_path / "src" / "arborand")
    core = tmp_path / "src" / "core" / "walk.hpp"
    core.parent.mkdir()
    compiled = os.stat(sources._core.__file__).st_mtime
    for path in (core, tmp_path / "CMakeLists.txt"):
        path.touch()
        os.utime(path, (compiled - 1, compiled - 1))
    assert sources.is_installed(tmp_path)
    os.utime(core, (compiled + 1, compiled + 1))
    assert not sources.is_installed(tmp_path)
    os.utime(core, (compiled - 1, compiled - 1))
    module = tmp_path / "src" / "arborand" / "trees.py"
    module.write_text(module.read_text() + "\n")
    assert not sources.is_installed(tmp_path)
    module.unlink()
    assert not sources.is_installed(tmp_path)


# ---- power ----


def test_a_bias_of_the_claimed_size_is_found_as_often_as_claimed():
    law = np.array([0.4, 0.3, 0.2, 0.1])
    num_draws, level = 5_000, 1e-4
    needed = power.needed_noncentrality(3, level)
    change = power.relative_changes(law, num_draws, needed)[3]
    biased = law * (1 - law[3] * (1 + change)) / (1 - law[3])
    biased[3] = law[3] * (1 + change)
    rng = np.random.default_rng(7)
    found = [
        all(
            g_test(rng.multinomial(times * num_draws, biased), law).p_value < level
            for times in (1, power.MORE_DRAWS)
        )
        for _ in range(1_000)
    ]
    # Five standard deviations, and some room for the chi-square approximation.
    assert abs(np.mean(found) - power.POWER) < 5 * np.sqrt(0.99 * 0.01 / 1_000) + 0.005


def test_power_grows_with_draws_and_shrinks_with_the_level():
    law = np.array([0.4, 0.3, 0.2, 0.1])

    def easiest(num_draws, level):
        return power.of_changed_outcome(law, num_draws, level, bias="").easiest

    assert easiest(100_000, 1e-6) < easiest(10_000, 1e-6) < easiest(10_000, 1e-9)
    # Four times the draws see half the bias.
    assert easiest(4_000_000, 1e-6) == pytest.approx(easiest(1_000_000, 1e-6) / 2, rel=1e-2)


def test_power_where_one_outcome_has_nearly_all_mass():
    found = power.of_changed_outcome(np.array([1 - 1e-9, 1e-9]), 100_000, 1e-9, bias="")
    assert found.bias == "share of draws that are one of the rare outcomes"
    assert 1e-5 < found.easiest < 1e-3
    assert power.of_changed_outcome(np.array([1.0]), 100, 1e-9, bias="") is None


def test_power_where_there_is_only_one_tree():
    found = FullLaw(True, "wilson").power(graph_of("one_word_1", 1), 150_000, 1e-9)
    assert found.bias == "share of draws that are not the only tree of the graph"
    # The first attempt draws one of them with 99 %, and the second can hardly miss.
    assert (1 - found.easiest) ** 150_000 == pytest.approx(0.01, rel=1e-3)
    assert found.hardest == found.easiest


# ---- the judge of accuracy ----


def test_errors_are_seen(monkeypatch):
    scores = graph_of("deviation_10_4#1", 1).log_weights
    assert accuracy_of(scores, single_root=True, with_mpmath=True).p_value == 1.0
    right = DependencyTrees.arc_marginals

    def off_by_one_in_1e11(self, *, workers=1):
        marginals = right(self, workers=workers)
        rarest = np.argmin(np.where(marginals > 0, marginals, np.inf))
        marginals.flat[rarest] *= 1 + 1e-11
        return marginals

    monkeypatch.setattr(DependencyTrees, "arc_marginals", off_by_one_in_1e11)
    assert accuracy_of(scores, single_root=True).p_value == 0.0
    verdict = accuracy_of(scores, single_root=True, with_mpmath=True)
    assert verdict.marginal_error == pytest.approx(1e-11, rel=1e-3)
    assert verdict.mpmath_error == pytest.approx(1e-11, rel=1e-3)


@pytest.mark.parametrize(("spoilt", "position"), [("log_partition", ()), ("arc_marginals", (0, 2))])
@pytest.mark.parametrize("factor", [1 + 1e-11, np.nan])
def test_both_judges_see_errors_and_what_is_not_a_number(monkeypatch, spoilt, position, factor):
    graph = graph_of("deviation_10_4#1", 1)
    right = getattr(SpanningTrees, spoilt)

    def wrong(self, **options):
        found = np.array(right(self, **options))
        found[position] *= factor
        return found

    monkeypatch.setattr(SpanningTrees, spoilt, wrong)
    verdict = Accurate(False, with_mpmath=True).run(graph, 0, 0)
    assert verdict.p_value == 0.0
    assert verdict.mpmath_error > high_precision.PROMISED
    assert max(verdict.log_partition_error, verdict.marginal_error) > high_precision.PROMISED


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("spoilt", ["log_partition", "arc_marginals"])
def test_mpmath_has_to_agree(monkeypatch, spoilt, single_root):
    graph = graph_of("deviation_10_4#1", 1)
    experiment = Accurate(single_root, with_mpmath=True)
    assert experiment.run(graph, 0, 0).p_value == 1.0

    def off_by_one_in_1e11(scores, *, single_root):
        answer = by_determinant(scores, single_root=single_root)
        if spoilt == "log_partition":
            return answer._replace(log_partition=answer.log_partition * (1 + 1e-11))
        answer.arc_marginals[2][3] *= 1 + 1e-11
        return answer

    monkeypatch.setattr(high_precision, "by_determinant", off_by_one_in_1e11)
    verdict = experiment.run(graph, 0, 0)
    assert verdict.p_value == 0.0
    assert verdict.log_partition_error < 1e-12
    assert verdict.marginal_error < 1e-12
    assert "in 60 digits (decimal) and, by up to 1e-11, against one of mpmath" in verdict.report()
    assert Accurate(single_root).run(graph, 0, 0).p_value == 1.0


def test_all_extreme_scores_are_put_before_mpmath():
    extreme = [check for check in SUITE if check.group == "accuracy on extreme scores"]
    assert len(extreme) == 2 * len(EXTREME)
    assert all(check.experiment.with_mpmath for check in extreme)


def test_errors_of_pairs_are_seen(monkeypatch):
    graph = graph_of("deviation_10_8#1", 1)
    experiment = Accurate(False, has_pairs=True)
    assert experiment.run(graph, 0, 0).p_value == 1.0
    assert experiment.run(graph, 0, 0).pair_error > 0.0
    right = SpanningTrees.joint_probability
    last = pairs_of(graph, single_root=False)[-1]

    def off_by_one_in_1e11(self, arcs):
        return right(self, arcs) * (1 + 1e-11 * (arcs == last))

    monkeypatch.setattr(SpanningTrees, "joint_probability", off_by_one_in_1e11)
    verdict = experiment.run(graph, 0, 0)
    assert verdict.p_value == 0.0
    assert verdict.marginal_error < 1e-12
    assert "those of pairs by 1e-11" in verdict.report()


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize(
    "name", ["deviation_1_8#1", "deviation_300_4#1", "holes_deviation_30_12#1"]
)
def test_the_truth_is_that_of_the_other_judge(name, single_root):
    scores = graph_of(name, 1).log_weights
    truth = truth_about(scores, single_root=single_root)
    other = by_determinant(scores, single_root=single_root)
    with mpmath.workdps(40):
        assert abs(mpmath.mpf(str(truth.log_partition)) - other.log_partition) < 1e-20
        for (head, word), chance in truth.marginals.items():
            known = other.arc_marginals[head][word]
            assert abs(mpmath.mpf(str(chance)) - known) <= 1e-20 * max(known, 1e-290)


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("name", ["skewed_4", "sparse_5"])
def test_pairs_have_the_probability_of_the_trees_that_have_both(name, single_root):
    graph = graph_of(name, 1)
    law = law_of(graph, single_root=single_root)
    arcs = [tuple(arc) for arc in np.argwhere(np.isfinite(graph.log_weights)).tolist()]
    pairs = [(one, other) for one, other in permutations(arcs, 2) if one[1] != other[1]]
    truth = truth_about(graph.log_weights, single_root=single_root, pairs=pairs)
    expected = [
        law.probabilities[(law.trees[:, d] == h) & (law.trees[:, e] == i)].sum()
        for (h, d), (i, e) in pairs
    ]
    np.testing.assert_allclose([float(p) for p in truth.joint], expected, rtol=1e-13, atol=1e-50)


def test_digits_are_added_until_the_inverse_proves_itself(monkeypatch):
    scores = graph_of("deviation_300_4#1", 1).log_weights
    enough = truth_about(scores, single_root=True)
    monkeypatch.setattr(high_precision, "FIRST_DIGITS", 3)
    grown = truth_about(scores, single_root=True)
    assert grown.num_digits > 3
    for arc, chance in enough.marginals.items():
        off = abs(grown.marginals[arc] - chance)
        assert off <= 2 * high_precision.SETTLED * max(chance, Decimal("1e-290"))


def test_a_wrong_inverse_is_never_settled(monkeypatch):
    scores = graph_of("deviation_1_8#1", 1).log_weights
    right = high_precision._invert

    def off_by_one_in_1e16(matrix):
        inverse, *rest = right(matrix)
        inverse[2, 3] *= 1 + Decimal("1e-16")
        return inverse, *rest

    monkeypatch.setattr(high_precision, "_invert", off_by_one_in_1e16)
    monkeypatch.setattr(high_precision, "_MOST_DIGITS", 500)
    with pytest.raises(ArithmeticError, match="500 digits do not settle"):
        truth_about(scores, single_root=True)


# ---- any scores ----


@pytest.mark.parametrize("family", any_scores.FAMILIES)
@pytest.mark.parametrize("single_root", [False, True])
def test_all_promises_hold_for_any_scores(family, single_root):
    verdict = any_scores.judge_any_scores(family, 5, 1, single_root=single_root)
    assert verdict.p_value == 1.0, verdict.report()
    assert verdict.num_graphs == 5
    assert set(verdict.worst) >= {"log Z", "marginals", "entropy", "Renyi", "KL", "log_prob"}


@pytest.mark.parametrize(
    ("method", "what"),
    [
        ("log_partition", "log Z"),
        ("arc_marginals", "marginals"),
        ("log_prob", "log_prob"),
        ("entropy", "entropy"),
        ("renyi_entropy", "Renyi"),
        ("entropy_gradient", "entropy gradient"),
        ("arc_covariances", "covariances"),
        ("variance", "variance"),
        ("kl_divergence", "KL"),
    ],
)
@pytest.mark.parametrize("factor", [1 + 1e-9, np.nan, np.inf])
def test_errors_of_every_number_are_seen(monkeypatch, method, what, factor):
    right = getattr(SpanningTrees, method)

    def wrong(self, *arguments, **options):
        return right(self, *arguments, **options) * factor

    monkeypatch.setattr(SpanningTrees, method, wrong)
    with np.errstate(invalid="ignore"):
        verdict = any_scores.judge_any_scores("normal", 4, 1, single_root=False)
    assert verdict.p_value == 0.0
    assert verdict.worst[what][0] > 1.0
    assert what in verdict.report()


def test_balls_agree_with_the_inverse_of_a_laplacian():
    scores = graph_of("deviation_10_4#1", 1).log_weights
    direction = np.random.default_rng(1).normal(size=scores.shape)
    for single_root in (False, True):
        law = BallLaw(scores, single_root=single_root)
        marginals, covariances = second_order(scores, direction, single_root=single_root)
        found = law.arc_covariances(law.values(direction), float(np.abs(direction).max()))
        for arc, chance in law.arc_marginals.items():
            assert abs(chance - marginals[arc]) < 1e-20
            assert abs(found[arc] - covariances[arc]) < 1e-20


def test_balls_that_are_too_wide_judge_nothing():
    with pytest.raises(ArithmeticError, match="too wide"):
        any_scores._share(1.0, flint.arb(1, 0.1), 1e-12)
