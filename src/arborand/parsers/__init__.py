"""Scores out of other people's parsers: adapters behind a protocol of one function.

An adapter is a function that takes sentences and the name of a model, and yields the scores of each
sentence, in order.  ``arborand score --parser NAME`` calls one of those here, ``--parser
module:function`` anybody's.  :func:`score` does the same in Python.
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
