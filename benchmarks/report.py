"""What a benchmark found: claims with verdicts, tables, figures; as a page in Markdown."""

from __future__ import annotations

import contextlib
import datetime
import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measure import Ratio, Settings, significant

_PACKAGES = (
    "arborand",
    "numpy",
    "scipy",
    "networkx",
    "igraph",
    "dppy",
    "torch",
    "torch-struct",
    "supar",
    "ufal.chu_liu_edmonds",
    "pyro-ppl",
    "treesample",
    "synjax",
    "jax",
    "gerrychain",
)


# Headings of the two tables that every page may have.
BOUNDS = "Bounds"
FACTS = "Single figures"


@dataclass(frozen=True)
class Claim:
    """A line that the project holds itself to, and what was measured.

    Attributes
    ----------
    text : str
        What is measured, in words.
    measured : Ratio or None
        None if it could not be measured here.
    bound : float
    at_most : bool
        Whether the measured number should be at most `bound`, or at least.
    skipped : str
        Why it could not be measured.
    """

    text: str
    measured: Ratio | None
    bound: float
    at_most: bool
    skipped: str = ""

    @property
    def verdict(self) -> str:
        """Say whether the median keeps the bound, and whether its interval is clear of it."""
        if self.measured is None:
            return f"skipped: {self.skipped}"
        value, low, high = self.measured.value, self.measured.low, self.measured.high
        # Measured too few times for an interval, the number itself has to decide.
        low, high = value if low is None else low, value if high is None else high
        if self.at_most:
            met, clear, failed = value <= self.bound, high <= self.bound, low > self.bound
        else:
            met, clear, failed = value >= self.bound, low >= self.bound, high < self.bound
        if met:
            return "kept" if clear else "kept, just"
        return "**missed**" if failed else "**missed**, just"

    @property
    def required(self) -> str:
        """Say what the bound is, in words."""
        return f"{'at most' if self.at_most else 'at least'} {self.bound:g}"

    def cells(self) -> list[str]:
        """Give the row of a table of claims."""
        found = "-" if self.measured is None else str(self.measured)
        return [self.text, self.required, found, self.verdict]


@dataclass
class Table:
    """Rows of text with a heading and a sentence on how to read them."""

    title: str
    columns: Sequence[str]
    rows: list[list[str]] = field(default_factory=list)
    note: str = ""


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Write the lines of a Markdown table; all columns but the first are aligned to the right."""
    lines = [f"| {' | '.join(columns)} |", f"|---|{'---:|' * (len(columns) - 1)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return lines


@dataclass
class Report:
    """Everything one benchmark found."""

    name: str
    title: str
    settings: Settings
    note: str = ""  # on how to read all tables
    claims: list[Claim] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    figures: list[tuple[str, str]] = field(default_factory=list)  # file stem, caption
    facts: dict[str, str] = field(default_factory=dict)  # numbers that prose refers to

    def claim(self, text: str, measured: Ratio, bound: float, *, at_most: bool) -> None:
        """Add a claim."""
        self.claims.append(Claim(text, measured, bound, at_most))

    def skip(self, text: str, bound: float, reason: str, *, at_most: bool) -> None:
        """Add a claim that cannot be measured here, and why."""
        self.claims.append(Claim(text, None, bound, at_most, reason))

    def worst(
        self, text: str, measured: Mapping[Any, Ratio], bound: float, *, at_most: bool
    ) -> None:
        """Add a claim about several sizes, judged by the worst of them, which is named."""
        choose = max if at_most else min
        where = choose(measured, key=lambda size: measured[size].value)
        of_many = f"; worst at {where}" if len(measured) > 1 else f", {where}"
        self.claim(text + of_many, measured[where], bound, at_most=at_most)

    def table(self, title: str, columns: Sequence[str], note: str = "") -> Table:
        """Add a table and return it, to be filled."""
        table = Table(title, columns, note=note)
        self.tables.append(table)
        return table

    @contextlib.contextmanager
    def figure(self, stem: str, caption: str) -> Iterator[Any]:
        """Draw a figure on the axes that this gives; it is written as SVG."""
        with self.panels(stem, caption, figsize=(8.4, 4.4)) as (figure, axes):
            yield axes
            axes.grid(visible=True, which="major", alpha=0.3)
            handles, labels = axes.get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside right upper", fontsize=8, frameon=False)

    @contextlib.contextmanager
    def panels(self, stem: str, caption: str, *shape: int, **options: Any) -> Iterator[Any]:
        """Draw on the figure and the axes that this gives, as ``pyplot.subplots`` makes them."""
        import matplotlib as mpl

        mpl.use("Agg")
        from matplotlib import pyplot as plt

        # Without a date and with a fixed salt, equal drawings are equal files.
        with mpl.rc_context({"svg.hashsalt": "arborand", "font.size": 9}):
            figure, axes = plt.subplots(*shape, layout="constrained", **options)
            yield figure, axes
            self.settings.results.mkdir(parents=True, exist_ok=True)
            figure.savefig(self.settings.results / f"{stem}.svg", metadata={"Date": None})
            plt.close(figure)
        self.figures.append((stem, caption))

    def write(self, machine: Mapping[str, Any]) -> None:
        """Write ``<name>.md`` into the folder of results."""
        folder = self.settings.results
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.name}.md").write_text(self.page(machine), encoding="utf-8")

    def page(self, machine: Mapping[str, Any]) -> str:
        """Write everything that was found; `benchmarks.documentation` reads it."""
        parts = [
            f"# {self.title}",
            "These are all numbers of one benchmark. [How fast is it?](../../docs/how_fast.md) "
            "says what they mean and how they were measured.",
            run_line(self.settings.quick, machine),
            self.note,
        ]
        if self.claims:
            parts += [f"## {BOUNDS}", "\n".join(claims_table(self.claims))]
        if self.facts:
            rows = list(map(list, self.facts.items()))
            parts += [f"## {FACTS}", "\n".join(markdown_table(("what", "measured"), rows))]
        for table in self.tables:
            parts += [f"## {table.title}", table.note]
            parts.append("\n".join(markdown_table(table.columns, table.rows)))
        if self.figures:
            parts.append("## Figures")
        parts += [f"![{caption}]({stem}.svg)" for stem, caption in self.figures]
        return "\n\n".join(part for part in parts if part) + "\n"


def claims_table(claims: Sequence[Claim]) -> list[str]:
    """Write claims as the lines of a Markdown table."""
    columns = ("what", "bound", "measured (95 % interval)", "verdict")
    return markdown_table(columns, [claim.cells() for claim in claims])


# ---- the machine


def describe_machine() -> dict[str, Any]:
    """Describe processor, compiler, versions, load and time.

    Nothing that names the machine or its owner.
    """
    versions = {}
    for package in _PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    from arborand import _core

    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "time": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "load": round(os.getloadavg()[0], 1),
        "instruction_set": _core.instruction_set(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "compiler": _compiler(),
        "versions": versions,
    }


def run_line(quick: bool, machine: Mapping[str, Any]) -> str:
    """Write what kind of run it was, and then the description of the machine."""
    how = "A quick run, whose numbers are rough" if quick else "A full run"
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    return (
        f"{how}: load {significant(machine['load'])} at the start, {machine['time']}. "
        f"{machine['processor']}, {machine['cores']} cores "
        f"({machine['instruction_set']} kernels), {machine['system']}, "
        f"Python {machine['python']}, {machine['compiler']}; {versions}."
    )


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _compiler() -> str:
    from benchmarks.floor import COMPILER

    try:
        told = subprocess.run([*COMPILER, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "no compiler"
    return told.stdout.splitlines()[0]
