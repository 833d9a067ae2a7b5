"""The command line of the long suite, its second chance and its report, on a few tiny checks."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest

from arborand import DependencyTrees, SpanningTrees
from verification import power
from verification.__main__ import main
from verification.goodness_of_fit import BinomialFit, Cell, g_test
from verification.high_precision import accuracy_of, digits_needed
from verification.ledger import ALPHA_RUN
from verification.long_suite import SUITE, Accurate, FullLaw, LongCheck, Ordered
from verification.mutants import ALPHA_MUTANT, MUTANTS
from verification.random_graphs import FAMILIES, graph_of
from verification.runner import Settings, level_of, run_check, run_checks, seed_of

LEVEL = 1e-9


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


# ---- seeds, levels, processes ----


def test_seeds_depend_on_the_run_and_on_the_name():
    seeds = {seed_of(run, name) for run in (0, 1) for name in ("one", "other")}
    assert len(seeds) == 4
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_the_budget_is_shared_by_all_checks_that_may_raise_an_alarm():
    checks = [*TINY, replace(TINY[0], name="mutant", is_mutant=True)]
    assert level_of(checks) == ALPHA_RUN / 3


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


def test_random_graphs_have_dependency_trees():
    for name in FAMILIES:
        assert np.isfinite(DependencyTrees(graph_of(name, 3).log_weights).log_partition())


# ---- the command line and the report ----


def run_main(tmp_path, *arguments, suite=TINY):
    return main([*arguments, "--workers", "1", "--output", str(tmp_path)], suite)


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
    assert all(f"| {check.name} |" in report for check in TINY)
    assert "probability of one tree" in report


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


def test_pictures_are_drawn(tmp_path):
    pytest.importorskip("matplotlib", reason="the report's pictures need matplotlib")
    assert run_main(tmp_path) == 0
    report = (tmp_path / "verification_report.md").read_text()
    for name in ("p_values.svg", "accuracy.svg"):
        assert (tmp_path / "verification" / name).stat().st_size > 0
        assert f"(verification/{name})" in report


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


# ---- the judge of accuracy ----


def test_errors_are_seen(monkeypatch):
    scores = graph_of("deviation_10_4#1", 1).log_weights
    assert accuracy_of(scores, single_root=True).p_value == 1.0
    right = DependencyTrees.arc_marginals

    def off_by_one_in_1e11(self, *, workers=1):
        marginals = right(self, workers=workers)
        rarest = np.argmin(np.where(marginals > 0, marginals, np.inf))
        marginals.flat[rarest] *= 1 + 1e-11
        return marginals

    monkeypatch.setattr(DependencyTrees, "arc_marginals", off_by_one_in_1e11)
    assert accuracy_of(scores, single_root=True).p_value == 0.0


def test_digits_grow_with_the_scores():
    scores = graph_of("deviation_10_4#1", 1).log_weights
    assert digits_needed(scores) < digits_needed(np.where(np.isfinite(scores), 9 * scores, -np.inf))
