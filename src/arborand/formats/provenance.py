"""The record of where an output comes from, as outputs hold it: one line of JSON."""

from __future__ import annotations

import json
from typing import Any


def checked_provenance(record: object) -> dict[str, Any]:
    """Make sure that a record can be written into another output.

    Raises
    ------
    ValueError
        If it is no record, or one that could not be passed on.
    """
    if not isinstance(record, dict):
        raise ValueError(f"the provenance is a {type(record).__name__}, not an object")
    try:
        as_json({"source": {"source": record}}).encode()
    except (RecursionError, UnicodeEncodeError) as error:
        raise ValueError(f"the provenance cannot be passed on: {error}") from error
    return record


def as_json(record: dict[str, Any]) -> str:
    """Write a record on one line, the same for the same record."""
    return json.dumps(record, ensure_ascii=False, sort_keys=True)
