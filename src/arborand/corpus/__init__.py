"""Jobs over corpora: inputs, a command, and an output; an interrupted job can be resumed.

A corpus is one or more files of scores.  An output folder has one part for each of them.  The
packages needed besides NumPy come with ``pip install 'arborand[cli]'``.
"""

from arborand.corpus.execution import StoppedError, run
from arborand.corpus.job import Status, read_status
from arborand.corpus.stream import Skipped
from arborand.corpus.tables import SampleTrees

__all__ = ["SampleTrees", "Skipped", "Status", "StoppedError", "read_status", "run"]
