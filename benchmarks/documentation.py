"""Puts results into docs/how_fast.md, so that no number on that page is typed by hand.

The page marks places ::

    <!-- begin claims inference -->...<!-- end -->
    <!-- begin missed inference -->...<!-- end -->                  the claims that were not kept
    <!-- begin table sampling: The first tree -->...<!-- end -->    a table by how its title begins
    <!-- begin figure peers: arc_marginals -->...<!-- end -->
    <!-- begin fact sampling: memory of 1000 x 1000 -->...<!-- end -->
    <!-- begin machine sampling -->...<!-- end -->

and what stands between the marks is replaced by what ``benchmarks/results/<name>.json`` says.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT, Ratio
from benchmarks.report import Claim, claims_table, markdown_table, run_line

PAGE = ROOT / "docs" / "how_fast.md"
_MARK = re.compile(
    r"(<!-- begin (?P<what>\w+) (?P<name>\w+)(?:: (?P<which>[^>]*?))? -->)(.*?)(<!-- end -->)",
    re.DOTALL,
)


def update(results: Path) -> None:
    """Rewrite the page from the results that are there."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(inserted(text, results), encoding="utf-8")


def inserted(text: str, results: Path) -> str:
    """Give a page with the results in all its places."""
    return _MARK.sub(lambda match: _replacement(match, results), text)


def _replacement(match: re.Match[str], results: Path) -> str:
    begin, what, name, which, _, end = match.groups()
    found: dict[str, Any] = json.loads((results / f"{name}.json").read_text(encoding="utf-8"))
    if what == "fact":
        return f"{begin}{found['facts'][which]}{end}"
    if what == "machine":
        return f"{begin}{run_line(found['quick'], found['machine'])}{end}"
    blocks = {"claims": _claims, "missed": _missed, "table": _table, "figure": _figure}
    return f"{begin}\n\n{blocks[what](found, which)}\n\n{end}"


def _claims(found: dict[str, Any], _: str) -> str:
    return "\n".join(claims_table(_read_claims(found)))


def _missed(found: dict[str, Any], _: str) -> str:
    missed = [
        f"- {claim.text}: {claim.measured}, should be {claim.required}."
        for claim in _read_claims(found)
        if "missed" in claim.verdict
    ]
    return "\n".join(missed or ["- Nothing."])


def _read_claims(found: dict[str, Any]) -> list[Claim]:
    return [
        Claim(
            one["text"],
            None if one["measured"] is None else Ratio(**one["measured"]),
            one["bound"],
            one["at_most"],
            one.get("skipped", ""),
        )
        for one in found["claims"]
    ]


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
