"""Files: scores in, trees out, CoNLL-U.

Files are streamed: memory does not grow with the corpus.  Nothing here depends on jobs.  Problems
raise a ``FormatError`` that names the file, or a ``SentenceError`` that names the sentence.  The
packages needed besides NumPy come with ``pip install 'arborand[cli]'``.
"""

from arborand.errors import (
    FormatError,
    IgnoredDecisionsWarning,
    OutputError,
    SentenceError,
)
from arborand.formats.records import Sentence
from arborand.formats.saving import write_scores
from arborand.formats.scores import read_scores
from arborand.formats.trees import Trees, read_trees

__all__ = [
    "FormatError",
    "IgnoredDecisionsWarning",
    "OutputError",
    "Sentence",
    "SentenceError",
    "Trees",
    "read_scores",
    "read_trees",
    "write_scores",
]
