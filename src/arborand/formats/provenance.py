"""The record of where an output comes from, as outputs hold it: one line of JSON."""

from __future__ import annotations

import json
from typing import Any


def as_json(record: dict[str, Any]) -> str:
    """Write a record on one line, the same for the same record."""
    return json.dumps(record, ensure_ascii=False, sort_keys=True)
