"""Puts results into the pages on speed and on corpora, so that nobody types a measured number.

The pages mark places ::

    <!-- begin kept -->...<!-- end -->             of the claims measured, how many were kept
    <!-- begin missed -->...<!-- end -->                            the claims that were not kept
    <!-- begin cell sampling: The first tree; 20; dependency; log Z -->...<!-- end -->
    <!-- begin table sampling: The first tree -->...<!-- end -->    a table by how its title begins
    <!-- begin figure peers: arc_marginals -->...<!-- end -->
    <!-- begin fact sampling: memory of 1000 x 1000 -->...<!-- end -->
    <!-- begin machines -->...<!-- end -->                          where and when it was measured

and what stands between the marks is replaced by what ``benchmarks/results/<name>.md`` says, the
page with all tables of a benchmark.  A cell is named by its table, by the cells that its row begins
with, and by its column.  What was never measured stays as it is.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypeVar

from benchmarks.measure import ROOT
from benchmarks.report import BOUNDS, FACTS

_Found = TypeVar("_Found")
PAGE = ROOT / "docs" / "how_fast.md"
PAGES = (PAGE, ROOT / "docs" / "corpora.md")
_MARK = re.compile(
    r"(<!-- begin (?P<what>\w+)(?: (?P<name>\w+))?(?:: (?P<which>[^>]*?))? -->)(.*?)(<!-- end -->)",
    re.DOTALL,
)


def update(results: Path) -> None:
    """Rewrite the pages from the results that are there."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        page.write_text(inserted(text, results), encoding="utf-8")


def inserted(text: str, results: Path) -> str:
    """Give a page with the results in all its places."""
    return _MARK.sub(lambda match: _replacement(match, results), text)


def _replacement(match: re.Match[str], results: Path) -> str:
    begin, what, name, which, _, end = match.groups()
    if what == "kept":
        return f"{begin}{_kept(results)}{end}"
    if what == "missed":
        return f"{begin}\n\n{_missed(results)}\n\n{end}"
    if what == "machines":
        return f"{begin}\n\n{_machines(results)}\n\n{end}"
    file = results / f"{name}.md"
    if not file.exists():
        return match[0]
    found = file.read_text(encoding="utf-8")
    if what in ("table", "figure"):
        block = _table(found, which) if what == "table" else _figure(found, which)
        return f"{begin}\n\n{block}\n\n{end}"
    if what == "fact":
        return f"{begin}{dict(_rows(_section(found, FACTS)[1]))[which]}{end}"
    return f"{begin}{_cell(found, which)}{end}"


def _sections(found: str) -> list[tuple[str, str]]:
    """List what stands under the headings of a page of results: heading, text."""
    parts = re.split(r"^## (.*)\n\n", found, flags=re.MULTILINE)[1:]
    return [(title, text.strip()) for title, text in zip(parts[::2], parts[1::2], strict=True)]


def _section(found: str, beginning: str) -> tuple[str, str]:
    """Give the section whose heading begins like this."""
    return _only([one for one in _sections(found) if one[0].startswith(beginning)], beginning)


def _rows(text: str) -> list[list[str]]:
    """Read the one table of a section; first what its columns are called."""
    lines = [line[2:-2].split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line] for line in lines]


def _all_claims(results: Path) -> list[list[str]]:
    pages = (file.read_text(encoding="utf-8") for file in sorted(results.glob("*.md")))
    sections = (text for page in pages for title, text in _sections(page) if title == BOUNDS)
    return [row for text in sections for row in _rows(text)[1:]]


def _kept(results: Path) -> str:
    verdicts = [row[-1] for row in _all_claims(results) if not row[-1].startswith("skipped")]
    return f"{sum(verdict.startswith('kept') for verdict in verdicts)} of {len(verdicts)}"


def _missed(results: Path) -> str:
    missed = [
        f"- {claim}: {measured}, should be {bound}."
        for claim, bound, measured, verdict in _all_claims(results)
        if "missed" in verdict
    ]
    return "\n".join(missed or ["- None."])


def _machines(results: Path) -> str:
    """Name each machine once, with what ran on it, at which load and when."""
    runs: dict[str, list[str]] = {}
    for file in sorted(results.glob("*.md")):
        text = file.read_text(encoding="utf-8")
        run, machine = _only(
            re.findall(r"^A \w+ run.*: (load .* UTC)\. (.*)$", text, re.M), file.stem
        )
        runs.setdefault(machine, []).append(f"{file.stem} ({run})")
    return "\n".join(
        f"- {machine} Measured: {', '.join(names)}." for machine, names in runs.items()
    )


def _cell(found: str, which: str) -> str:
    title, *beginning, column = which.split("; ")
    columns, *rows = _rows(_section(found, title)[1])
    if column not in columns:
        raise ValueError(f"{title!r} has no column {column!r}")
    chosen = [row for row in rows if row[: len(beginning)] == beginning]
    if len(chosen) != 1:
        raise ValueError(f"{len(chosen)} rows of {title!r} begin with {beginning}: expected one")
    return chosen[0][columns.index(column)]


def _table(found: str, which: str) -> str:
    title, text = _section(found, which)
    return f"**{title}**\n\n{text}"


def _figure(found: str, which: str) -> str:
    caption = _only(re.findall(rf"^!\[(.*)\]\({which}\.svg\)$", found, re.MULTILINE), which)
    return f"![{caption}](../benchmarks/results/{which}.svg)"


def _only(found: list[_Found], which: str) -> _Found:
    if len(found) != 1:
        raise ValueError(f"{len(found)} results are called {which!r}: a page asks for one")
    return found[0]
