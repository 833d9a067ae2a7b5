"""The beginning of an HTML document that needs nothing but itself."""

from __future__ import annotations

import base64
import hashlib

from arborand.pictures.markup import escape


def head(title: str, style: str, script: str) -> str:
    """Begin a document in which nothing but this script runs and nothing is loaded.

    The policy names the script by its digest, so that none other runs, whatever the words of a
    sentence contain.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>{style}</style></head><body>"
    )
