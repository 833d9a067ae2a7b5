"""What a run leaves behind: verdicts as JSON, and a report in Markdown with its pictures.

Under the directory asked for::

    verification_report.md         a summary of one screen, and the evidence of failures
    verification/tables.md         every check, every error, every mutant
    verification/verdicts.json
    verification/p_values.svg      if matplotlib is there
    verification/accuracy.svg      the same
"""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from verification.high_precision import PROMISED
from verification.ledger import ALPHA_RUN
from verification.mutants import ALPHA_MUTANT, MUTANTS
from verification.power import POWER
from verification.runner import Outcome, Settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

REPORT = "verification_report.md"
_FOLDER = "verification"
TABLES = f"{_FOLDER}/tables.md"

# What `publishing` looks for.
POWERS = "What would have been found"
RANGE = "best to worst check"


@dataclass(frozen=True)
class Run:
    """A run that is over.

    Attributes
    ----------
    settings : Settings
        What all checks shared.
    outcomes : tuple of Outcome
        In the order of the suite.
    num_in_suite : int
        How many checks there are; fewer may have been run.
    workers : int
        Number of processes.
    seconds : float
        From start to end.
    date : str
        Of the start.
    fingerprints : mapping of str to str
        Of the files that made the verdicts, at the start; see ``sources``.
    """

    settings: Settings
    outcomes: tuple[Outcome, ...]
    num_in_suite: int
    workers: int
    seconds: float
    date: str
    fingerprints: Mapping[str, str]

    @property
    def failures(self) -> tuple[Outcome, ...]:
        """The checks that failed."""
        return tuple(outcome for outcome in self.outcomes if not outcome.has_passed)

    @property
    def command(self) -> str:
        """What repeats the run."""
        quick = " --quick" if self.settings.is_quick else ""
        return f"python -m verification --seed {self.settings.seed}{quick}"


def write(run: Run, directory: Path) -> Path:
    """Write everything.

    Parameters
    ----------
    run : Run
        What to report.
    directory : pathlib.Path
        Where to; made if it is not there.

    Returns
    -------
    pathlib.Path
        The report.
    """
    path = write_report(run, directory)
    verdicts = {
        **asdict(run.settings),
        "alpha_run": ALPHA_RUN,
        "alpha_mutant": ALPHA_MUTANT,
        "command": run.command,
        "date": run.date,
        "versions": _versions(),
        "fingerprints": dict(run.fingerprints),
        "seconds": round(run.seconds, 1),
        "num_in_suite": run.num_in_suite,
        "num_failures": len(run.failures),
        "checks": [_finite(asdict(outcome)) for outcome in run.outcomes],
    }
    text = json.dumps(verdicts, indent=1, allow_nan=False)
    (directory / _FOLDER / "verdicts.json").write_text(text + "\n", encoding="utf-8")
    return path


def write_report(run: Run, directory: Path) -> Path:
    """Write the report, its tables and its pictures.

    Parameters
    ----------
    run : Run
        What to report.
    directory : pathlib.Path
        Where to; made if it is not there.

    Returns
    -------
    pathlib.Path
        The report.
    """
    folder = directory / _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    pictures = _draw_pictures(run, folder)
    report = directory / REPORT
    report.write_text(_summary(run), encoding="utf-8")
    (directory / TABLES).write_text(_tables(run, pictures), encoding="utf-8")
    return report


# ---- text ----


def _summary(run: Run) -> str:
    return _joined([_head(run), _groups(run), _failures(run.failures)])


def _tables(run: Run, pictures: Sequence[str]) -> str:
    return _joined(
        [
            _TABLES_HEAD,
            _p_values(run.outcomes, "p_values.svg" in pictures),
            _accuracy(run.outcomes, "accuracy.svg" in pictures),
            _powers(run.outcomes),
            _mutants(run.outcomes),
            _every_check(run.outcomes),
        ]
    )


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


_TABLES_HEAD = """# Verification: all tables

These are the details of the run in the [verification report](../verification_report.md).
[Is it exact?](../is_it_exact.md) explains what is checked and how."""


def _head(run: Run) -> str:
    num_passed = len(run.outcomes) - len(run.failures)
    verdict = "**Every check passed.**" if not run.failures else "**Some checks failed.**"
    rows = [
        ("checks run", f"{len(run.outcomes)} of the {run.num_in_suite} of the suite"),
        ("passed / failed", f"{num_passed} / {len(run.failures)}"),
        ("passed at the second attempt only", f"{sum(_was_retried(o) for o in run.outcomes)}"),
        ("level of each check", f"{run.settings.level:.3g} (the budget of a run is {ALPHA_RUN:g})"),
        ("trees, pairs and sequences drawn", f"{_draws(run.outcomes):,}"),
        ("seed", f"`{run.settings.seed}`"),
        ("date", run.date),
        ("time", f"{run.seconds:.0f} s on {run.workers} processes"),
        ("software", ", ".join(f"{name} {number}" for name, number in _versions().items())),
        ("fingerprints", ", ".join(f"{what} `{text}`" for what, text in run.fingerprints.items())),
        ("machine", f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}"),
    ]
    return f"""# Verification report

{verdict} This is the report of a run of the long statistical suite. [Is it
exact?](is_it_exact.md) explains what is checked and how. [All tables](verification/tables.md) has
every check with its p-value, every error, and every mutant.

{table(("", ""), rows)}

To repeat the run, or one check of it:

    {run.command}
    {run.command} 'PART OF A NAME'"""


def _failures(failures: Sequence[Outcome]) -> str:
    if not failures:
        return ""
    lines = ["## Failures"]
    for outcome in failures:
        lines.append(f"### {outcome.name}")
        for attempt in outcome.attempts:
            evidence = attempt.report.strip().replace("\n", "\n    ")
            lines.append(f"Seed {attempt.seed}, {attempt.num_draws:,} draws:\n\n    {evidence}")
    return "\n\n".join(lines)


def _groups(run: Run) -> str:
    rows = []
    for group, outcomes in _by_group(run.outcomes):
        p_values = [outcome.attempts[0].p_value for outcome in outcomes]
        extreme = max(p_values) if outcomes[0].is_mutant else min(p_values)
        is_random = outcomes[0].attempts[0].error is None
        num_draws = _draws(outcomes)
        rows.append(
            (
                group,
                str(len(outcomes)),
                str(sum(outcome.has_passed for outcome in outcomes)),
                str(sum(len(outcome.attempts) > 1 for outcome in outcomes)),
                f"{num_draws:,}" if num_draws else "—",
                _tail(extreme) if is_random else "—",
            )
        )
    header = ("group", "checks", "passed", "second attempts", "draws", "most extreme p-value")
    return f"""## Groups of checks

A check fails if its p-value is below {run.settings.level:.3g} twice: the second attempt has a new
seed and ten times the draws. The most extreme p-value is the smallest of all first attempts. For
mutants it is the largest, and must be below {ALPHA_MUTANT:g}. The draws of mutants and their
twins are not counted.

{table(header, rows)}"""


def _p_values(outcomes: Sequence[Outcome], has_picture: bool) -> str:
    values = _uniform_p_values(outcomes)
    if len(values) < 2:
        return ""
    distance, p_value = stats.kstest(values, "uniform")
    picture = "\n\n![p-values](p_values.svg)" if has_picture else ""
    return f"""## Are the p-values what p-values should be?

If the library is right, the p-values of single G tests are uniform between 0 and 1: as many are
above 0.9 as below 0.1. Many small biases, none of which fails alone, would bend their
distribution. There are {len(values)} such p-values. (Families of tests, and tests with an exact
part, are not shown: their p-values are too large by design.) Their distribution function differs
from the uniform one by at most {distance:.3f}. By chance, it differs as much or more with
probability {p_value:.2g}. No check depends on this.{picture}"""


def _accuracy(outcomes: Sequence[Outcome], has_picture: bool) -> str:
    measured = [o for o in outcomes if o.attempts[0].error is not None]
    if not measured:
        return ""
    rows = [(o.name.removeprefix("accuracy: "), f"{o.attempts[0].error:.1e}") for o in measured]
    picture = "\n\n![accuracy](accuracy.svg)" if has_picture else ""
    return f"""## Accuracy

The table has the largest relative error of log Z and of all marginals above 1e-290, per graph.
(The error of log Z is relative to the larger of 1 and itself.) They are compared with two matrix
inverses: one in decimal numbers, with as many digits as prove it right, from 60 to about a
thousand; and one by mpmath. The larger error counts. On graphs called *large*, the probabilities
of pairs of arcs are compared as well, but not with mpmath, which would take too long. The promise
is {PROMISED:g}. The last number of a name is the number of words.{picture}

{table(("scores", "largest relative error"), rows)}"""


def _powers(outcomes: Sequence[Outcome]) -> str:
    rows = []
    for group, members in _by_group(outcomes):
        for bias in dict.fromkeys(o.power.bias for o in members if o.power is not None):
            powers = [o.power for o in members if o.power is not None and o.power.bias == bias]
            easiest = [p.easiest for p in powers]
            hardest = [p.hardest for p in powers if math.isfinite(p.hardest)]
            rows.append(
                (
                    group,
                    bias,
                    str(len(powers)),
                    _percent(float(np.median(easiest))),
                    f"{_percent(min(easiest))} to {_percent(max(easiest))}",
                    _percent(max(hardest)) if hardest else "—",
                )
            )
    if not rows:
        return ""
    header = ("group", "what changes", "checks", "median", RANGE, "hardest cell")
    return f"""## {POWERS}

This is the smallest bias that is found, and confirmed by the second attempt, with a probability
of {_points(POWER)}. Changes of a probability are relative to it, and all other outcomes lose
alike. Shares are shares of all draws. If a graph has a single tree, the bias is the share of
draws that are not that tree. *Median* and *best to worst check* are about the outcome of each
check where the change is easiest to see, which is usually the most probable one. *Hardest cell*
is about the outcome where it is hardest to see, in the worst check. The table at the end has the
numbers of every check. An impossible outcome is found the first time it is drawn.

{table(header, rows)}"""


def _mutants(outcomes: Sequence[Outcome]) -> str:
    shows = {f"mutant rejected: {mutant.name}": mutant.shows for mutant in MUTANTS}
    rows = [
        (
            o.name.removeprefix("mutant rejected: "),
            shows.get(o.name, ""),
            _tail(o.attempts[0].p_value),
        )
        for o in outcomes
        if o.is_mutant
    ]
    if not rows:
        return ""
    return f"""## Mutants

A mutant is a sampler with one planted fault. The same harness must reject it at {ALPHA_MUTANT:g}.
A p-value of 0 stands for an impossible draw, or for a number below 1e-308.

{table(("fault", "what the rejection shows", "p-value"), rows)}"""


def _every_check(outcomes: Sequence[Outcome]) -> str:
    rows = []
    for outcome in outcomes:
        first = outcome.attempts[0]
        found = "—"
        if outcome.power is not None:
            found = _percent(outcome.power.easiest)
            if outcome.power.hardest != outcome.power.easiest:
                found += f" to {_percent(outcome.power.hardest)}"
        verdict = "passed" if outcome.has_passed else "FAILED"
        rows.append(
            (
                outcome.name,
                f"{first.num_draws:,}" if first.num_draws > 1 else "—",
                _tail(first.p_value) if first.error is None else "—",
                found,
                verdict + " at the second attempt" * _was_retried(outcome),
            )
        )
    header = ("check", "draws", "p-value", f"bias found with {_points(POWER)}", "verdict")
    return f"## Every check\n\n{table(header, rows)}"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table in Markdown.

    Parameters
    ----------
    header : sequence of str
        Names of the columns.
    rows : iterable of sequence of str
        The cells.

    Returns
    -------
    str
        Its lines.
    """
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _points(share: float) -> str:
    return f"{100 * share:g} %"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 1 else f"{100 * share:.0f} %"


def _tail(p_value: float) -> str:
    return f"{p_value:.3f}" if p_value >= 0.001 else f"{p_value:.1e}" if p_value else "0"


# ---- numbers ----


def _by_group(outcomes: Iterable[Outcome]) -> list[tuple[str, list[Outcome]]]:
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(outcome.group, []).append(outcome)
    return list(groups.items())


def _was_retried(outcome: Outcome) -> bool:
    return outcome.has_passed and len(outcome.attempts) > 1


def _draws(outcomes: Iterable[Outcome]) -> int:
    made = (attempt.num_draws for outcome in outcomes for attempt in outcome.attempts)
    return sum(number for number in made if number > 1)


def _uniform_p_values(outcomes: Iterable[Outcome]) -> list[float]:
    return sorted(o.attempts[0].p_value for o in outcomes if o.attempts[0].is_uniform)


def _versions() -> dict[str, str]:
    names = ("arborand", "numpy", "scipy")
    return {"Python": platform.python_version(), **{name: version(name) for name in names}}


def _finite(value: Any) -> Any:
    """Replace infinities, which JSON lacks, by None."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# ---- pictures ----


def _draw_pictures(run: Run, folder: Path) -> list[str]:
    """Draw what there is to draw; without matplotlib, nothing."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        return []
    drawn = []
    wanted: list[tuple[str, int, Callable[[Any, Run], None], bool]] = [
        ("p_values.svg", 2, _plot_p_values, len(_uniform_p_values(run.outcomes)) > 1),
        ("accuracy.svg", 1, _plot_accuracy, any(o.attempts[0].error for o in run.outcomes)),
    ]
    for name, num_panels, plot, has_data in wanted:
        path = folder / name
        path.unlink(missing_ok=True)  # of an earlier run
        if not has_data:
            continue
        # Fixed identifiers and no date: the same run gives the same file.
        with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none", "font.size": 9}):
            figure = Figure(figsize=(8.0, 3.6), layout="constrained")
            plot(figure.subplots(1, num_panels), run)
            figure.savefig(path, metadata={"Date": None})
        drawn.append(name)
    return drawn


def _plot_p_values(panels: Any, run: Run) -> None:
    values = np.array(_uniform_p_values(run.outcomes))
    histogram, quantiles = panels
    _plot_histogram(histogram, values)
    # The k-th smallest of N uniform values has a beta law.
    rank = np.arange(1, len(values) + 1)
    low, high = (stats.beta.ppf(q, rank, len(values) + 1 - rank) for q in (0.005, 0.995))
    expected = rank / (len(values) + 1)
    quantiles.fill_between(expected, low, high, color="0.85", label="99 % of each point")
    quantiles.plot([1e-4, 1], [1e-4, 1], color="0.5", linewidth=0.8)
    quantiles.plot(expected, values, ".", markersize=3, color="C0", label="p-values")
    quantiles.set(
        xscale="log",
        yscale="log",
        xlabel="expected p-value of this rank",
        ylabel="p-value",
        title="Quantiles, logarithmic",
        xlim=(0.5 / len(values), 1),
    )
    quantiles.legend(loc="lower right")


def _plot_histogram(axes: Axes, values: Any) -> None:
    num_bins = 20
    mean = len(values) / num_bins
    low, high = (float(stats.binom.ppf(q, len(values), 1 / num_bins)) for q in (0.005, 0.995))
    axes.axhspan(low, high, color="0.85", label="99 % of each bar")
    axes.axhline(mean, color="0.5", linewidth=0.8)
    axes.hist(values, bins=num_bins, range=(0, 1), color="C0", alpha=0.8)
    axes.set(xlabel="p-value", ylabel="checks", title=f"{len(values)} p-values of single G tests")
    axes.legend(loc="lower right")


def _plot_accuracy(axes: Axes, run: Run) -> None:
    errors: dict[str, dict[str, float]] = {}
    for outcome in run.outcomes:
        error = outcome.attempts[0].error
        if error is not None:
            kind, _, family = outcome.name.removeprefix("accuracy: ").partition(", ")
            errors.setdefault(kind, {})[family] = max(error, 1e-17)
    families = list(dict.fromkeys(family for of_kind in errors.values() for family in of_kind))
    for (kind, of_kind), marker in zip(errors.items(), "ox", strict=False):
        places = [families.index(family) for family in of_kind]
        axes.plot(places, list(of_kind.values()), marker, markersize=4, label=kind)
    axes.axhline(PROMISED, color="C3", linewidth=0.8, label="promised")
    axes.axhline(np.finfo(np.float64).eps, color="0.5", linewidth=0.8, label="float64's epsilon")
    axes.set(yscale="log", ylabel="largest relative error", ylim=(1e-17, 1e-11))
    axes.set_xticks(range(len(families)), families, rotation=45, ha="right", fontsize=7)
    axes.legend(fontsize=7, ncols=2)
