"""Jobs over corpora: inputs, a command, and an output; an interrupted job can be resumed.

A corpus is one file of scores or many.  An output folder has one part for each of them.  What it
needs beyond NumPy comes with ``pip install 'arborand[cli]'``.
"""

from arborand.corpus.execution import StoppedError, run
from arborand.corpus.job import Status, read_status
from arborand.corpus.stream import Skipped
from arborand.corpus.tables import SampleTrees

__all__ = ["SampleTrees", "Skipped", "Status", "StoppedError", "read_status", "run"]
