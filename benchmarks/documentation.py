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

PAGE = ROOT / "docs" / "how_fast.md"
_MARK = re.compile(
    r"(<!-- begin (?P<what>\w+) (?P<name>\w+)(?:: (?P<which>[^>]*?))? -->)(.*?)(<!-- end -->)",
    re.DOTALL,
)


def update(results: Path) -> None:
    """Rewrite the page from the results that are there."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_MARK.sub(lambda match: _replacement(match, results), text), encoding="utf-8")


def _replacement(match: re.Match[str], results: Path) -> str:
    begin, what, name, which, _, end = match.groups()
    found: dict[str, Any] = json.loads((results / f"{name}.json").read_text(encoding="utf-8"))
    if what == "fact":
        return f"{begin}{found['facts'][which]}{end}"
    if what == "machine":
        return f"{begin}{_machine(found)}{end}"
    blocks = {"claims": _claims, "missed": _missed, "table": _table, "figure": _figure}
    return f"{begin}\n\n{blocks[what](found, which)}\n\n{end}"


def _machine(found: dict[str, Any]) -> str:
    from benchmarks.report import machine_line

    kind = "A quick run, whose numbers are rough" if found["quick"] else "A full run"
    return f"{kind}: {machine_line(found['machine'])}"


def _claims(found: dict[str, Any], _: str) -> str:
    from benchmarks.report import Claim, claims_table

    claims = [
        Claim(one["text"], Ratio(**one["measured"]), one["bound"], one["at_most"])
        for one in found["claims"]
    ]
    return "\n".join(claims_table(claims))


def _missed(found: dict[str, Any], _: str) -> str:
    missed = [
        f"- {one['text']}: {Ratio(**one['measured'])}, should be "
        f"{'at most' if one['at_most'] else 'at least'} {one['bound']:g}."
        for one in found["claims"]
        if "missed" in one["verdict"]
    ]
    return "\n".join(missed or ["- Nothing."])


def _table(found: dict[str, Any], which: str) -> str:
    from benchmarks.report import markdown_table

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
