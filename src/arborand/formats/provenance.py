"""The record of where an output comes from, as outputs hold it: one line of JSON."""

from __future__ import annotations

import json
from typing import Any

from arborand.formats.inputs import parse_json


def read_provenance(text: str | bytes) -> dict[str, Any]:
    """Read a record that an output says about itself.

    Raises
    ------
    ValueError
        If it is not a record, or one that could not be passed on.
    """
    return checked_provenance(parse_json(text))


def checked_provenance(record: object) -> dict[str, Any]:
    """Make sure that a record can be written into another output."""
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
