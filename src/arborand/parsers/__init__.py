"""Scores from other people's parsers: an adapter is a single function.

It takes sentences and the name of a model, and yields the scores of each sentence, in order.
``arborand score --parser NAME`` calls one of the adapters here, ``--parser module:function`` one of
your own.  :func:`score` does the same in Python.
"""

from arborand.errors import UntestedVersionWarning
from arborand.parsers.protocol import Adapter, Scored, Unparsed
from arborand.parsers.scoring import Report, find_adapter, score

__all__ = [
    "Adapter",
    "Report",
    "Scored",
    "Unparsed",
    "UntestedVersionWarning",
    "find_adapter",
    "score",
]
