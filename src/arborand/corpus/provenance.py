"""Provenance: where an output comes from, written into the output itself.

Version, command, seed, method and the digests of what was read: enough to make the same output
again.  Neither times nor folders: the same run gives the same bytes, wherever and whenever.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import arborand

if TYPE_CHECKING:
    from arborand.formats.inputs import InputFile


def provenance(
    command: str,
    options: dict[str, Any],
    *,
    inputs: dict[str, InputFile],
    seed: int | None = None,
    method: str | None = None,
) -> dict[str, Any]:
    """Say where an output comes from.

    Parameters
    ----------
    command : str
        The name of the command.
    options : dict
        The options that matter for what is written; those that are None or False are left out.
    inputs : dict from role to file
    seed, method
        None where nothing is drawn.
    """
    words = ["arborand", command]
    words += [file.name for role, file in inputs.items() if role == "input"]
    for name, value in options.items():
        if value is True:
            words.append(f"--{name}")
        elif value is not None and value is not False:
            words += [f"--{name}", str(value)]
    words += [
        word
        for role, file in inputs.items()
        if role != "input"
        for word in (f"--{role}", file.name)
    ]
    record: dict[str, Any] = {"version": _version(), "command": " ".join(words)}
    if seed is not None:
        record["seed"] = seed
    if method is not None:
        record["method"] = method
    for role, file in inputs.items():
        record[role] = {"name": file.name, "sha256": file.sha256}
    return record


@cache
def _version() -> str:
    """Look up the version, once: that takes milliseconds."""
    return arborand.__version__


def as_comment(record: dict[str, Any]) -> str:
    """Write a record as a comment of HTML and of XML, where two hyphens would end it."""
    text = json.dumps(record, sort_keys=True).replace("-", "\\u002d")
    return f"\n<!-- arborand {text} -->\n"


def differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """List what differs between two records, in words."""
    found = []
    for key in sorted({*before, *now}):
        old, new = before.get(key), now.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            found += [f"{key} {difference}" for difference in differences(old, new)]
        elif old != new:
            found.append(f"{key} was {_shown(old)} and is {_shown(new)}")
    return found


def _shown(value: Any) -> str:
    return "not given" if value is None else repr(value)
