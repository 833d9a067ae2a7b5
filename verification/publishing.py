"""Puts the report of a run into the documentation, and its numbers into the page about it.

``python -m verification --publish`` writes, under ``docs``::

    verification_report.md
    verification/tables.md
    verification/p_values.svg
    verification/accuracy.svg
    is_it_exact.md             the table between the two markers, nothing else

The verdicts as JSON, half a megabyte, stay in the directory of the run.
"""

from __future__ import annotations

from pathlib import Path

from verification import report
from verification.sources import ROOT

DOCS = ROOT / "docs"
PAGE = "is_it_exact.md"

_BEGIN = "<!-- The table is copied from the report by `python -m verification --publish`. -->"
_END = "<!-- End of the table. -->"


def publish(run: report.Run, docs: Path = DOCS) -> Path:
    """Write the report, and copy its table of powers into the page.

    Parameters
    ----------
    run : Run
        Of the whole suite.
    docs : pathlib.Path, optional
        Where the page is.

    Returns
    -------
    pathlib.Path
        The report.
    """
    path = report.write_report(run, docs)
    page = docs / PAGE
    tables = (docs / report.TABLES).read_text(encoding="utf-8")
    text = with_table(page.read_text(encoding="utf-8"), tables)
    page.write_text(text, encoding="utf-8")
    return path


def with_table(page: str, tables: str) -> str:
    """Replace what is between the markers of a page by the powers in a report's tables.

    Parameters
    ----------
    page, tables : str
        In Markdown.

    Returns
    -------
    str
        The page; the same one if it agrees with the report.

    Raises
    ------
    ValueError
        If the page does not have the two markers, once each and in this order.
    """
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not (begin and end) or _BEGIN in after or _END in after:
        raise ValueError(f"the page must have the lines {_BEGIN!r} and {_END!r}, once each")
    return f"{before}{_BEGIN}\n\n{table_of_powers(tables)}\n\n{_END}{after}"


def table_of_powers(tables: str) -> str:
    """Take the most telling columns of the report's table of powers.

    Parameters
    ----------
    tables : str
        All tables of a report, in Markdown.

    Returns
    -------
    str
        A table: what changes, in which checks, the smallest change found by the median check and
        by the best.

    Raises
    ------
    ValueError
        If there is no such table.
    """
    _, _, section = tables.partition(f"## {report.POWERS}\n")
    section, _, _ = section.partition("\n## ")
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("|")
    ]
    if len(lines) < 3:
        raise ValueError(f"there is no table under {report.POWERS!r}")
    header, _, *rows = lines
    wanted = [header.index(name) for name in ("what changes", "group", "median", report.RANGE)]
    taken = [[row[column] for column in wanted] for row in rows]
    best = [(bias, group, median, span.partition(" to ")[0]) for bias, group, median, span in taken]
    return report.table(
        ("what changes", "in the checks of", "found by the median check", "by the best"), best
    )
