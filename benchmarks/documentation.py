"""Puts results into the pages on speed and on corpora, so that nobody types a measured number.

The pages mark places ::

    <!-- begin kept -->...<!-- end -->                              how many claims were kept
    <!-- begin missed -->...<!-- end -->                            the claims that were not kept
    <!-- begin cell sampling: The first tree; 20; dependency; log Z -->...<!-- end -->
    <!-- begin table sampling: The first tree -->...<!-- end -->    a table by how its title begins
    <!-- begin figure peers: arc_marginals -->...<!-- end -->
    <!-- begin fact sampling: memory of 1000 x 1000 -->...<!-- end -->
    <!-- begin machine sampling -->...<!-- end -->
    <!-- begin link sampling: draws -->...<!-- end -->              to the page with all tables

and what stands between the marks is replaced by what ``benchmarks/results/<name>.json`` says.  A
cell is named by its table, by the cells that its row begins with, and by its column.  All tables of
a benchmark are in ``benchmarks/results/<name>.md``, which is made from the same file.  What was
never measured stays as it is.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT
from benchmarks.report import Claim, markdown_table, read_claims, results_page, run_line

PAGE = ROOT / "docs" / "how_fast.md"
PAGES = (PAGE, ROOT / "docs" / "corpora.md")
_MARK = re.compile(
    r"(<!-- begin (?P<what>\w+)(?: (?P<name>\w+))?(?:: (?P<which>[^>]*?))? -->)(.*?)(<!-- end -->)",
    re.DOTALL,
)


def update(results: Path) -> None:
    """Rewrite the pages, and those with all tables, from the results that are there."""
    for file in results.glob("*.json"):
        document = json.loads(file.read_text(encoding="utf-8"))
        file.with_suffix(".md").write_text(results_page(document), encoding="utf-8")
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
    file = results / f"{name}.json"
    if not file.exists():
        return match[0]
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    if what == "link":
        return f"{begin}[{which}](../benchmarks/results/{name}.md){end}"
    if what == "fact":
        return f"{begin}{found['facts'][which]}{end}"
    if what == "machine":
        return f"{begin}{run_line(found['quick'], found['machine'])}{end}"
    if what == "cell":
        return f"{begin}{_cell(found, which)}{end}"
    blocks = {"table": _table, "figure": _figure}
    return f"{begin}\n\n{blocks[what](found, which)}\n\n{end}"


def _all_claims(results: Path) -> list[Claim]:
    documents = (json.loads(file.read_text("utf-8")) for file in sorted(results.glob("*.json")))
    return [claim for document in documents for claim in read_claims(document)]


def _kept(results: Path) -> str:
    verdicts = [claim.verdict for claim in _all_claims(results)]
    return f"{sum(verdict.startswith('kept') for verdict in verdicts)} of {len(verdicts)}"


def _missed(results: Path) -> str:
    missed = [
        f"- {claim.text}: {claim.measured}, should be {claim.required}."
        for claim in _all_claims(results)
        if "missed" in claim.verdict
    ]
    return "\n".join(missed or ["- None."])


def _cell(found: dict[str, Any], which: str) -> str:
    title, *beginning, column = which.split("; ")
    table = _only([one for one in found["tables"] if one["title"].startswith(title)], title)
    if column not in table["columns"]:
        raise ValueError(f"{title!r} has no column {column!r}")
    rows = [row for row in table["rows"] if row[: len(beginning)] == beginning]
    if len(rows) != 1:
        raise ValueError(f"{len(rows)} rows of {title!r} begin with {beginning}: expected one")
    cell: str = rows[0][table["columns"].index(column)]
    return cell


def _table(found: dict[str, Any], which: str) -> str:
    table = _only([one for one in found["tables"] if one["title"].startswith(which)], which)
    parts = [f"**{table['title']}**"]
    if table["note"]:
        parts.append(table["note"])
    parts.append("\n".join(markdown_table(table["columns"], table["rows"])))
    return "\n\n".join(parts)


def _figure(found: dict[str, Any], which: str) -> str:
    figure = _only([one for one in found["figures"] if one["file"] == which], which)
    return f"![{figure['caption']}](../benchmarks/results/{which}.svg)"


def _only(found: list[dict[str, Any]], which: str) -> dict[str, Any]:
    if len(found) != 1:
        raise ValueError(f"{len(found)} results are called {which!r}: how_fast.md asks for one")
    return found[0]
