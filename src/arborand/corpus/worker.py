"""A process that makes parts for another one, and ends with it.

It reads a job and then parts from standard input, and writes what happens to standard output, both
pickled.  When standard input ends, the other process has gone or wants this one to go.
"""

from __future__ import annotations

import os
import pickle
import queue
import sys
import threading
import time
import warnings
from typing import TYPE_CHECKING, Any

from arborand.corpus.creating import remove_own
from arborand.corpus.engines import Passed
from arborand.corpus.task import run_part

if TYPE_CHECKING:
    from arborand.corpus.plan import Part

# How often it is told how far a part is, in seconds.
_INTERVAL = 0.1


def main() -> None:
    """Make parts until standard input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(tasks,), daemon=True).start()
    job = tasks.get()

    def answer(event: object) -> None:
        try:
            pickle.dump(event, answers)
            answers.flush()
        except OSError:
            _go()

    def pass_on(message: Warning | str, *others: object) -> None:
        """Let the other process say it, once: the next sentence may look as odd."""
        warnings.simplefilter("ignore")
        if isinstance(message, Warning):
            answer(message)

    warnings.showwarning = pass_on  # type: ignore[assignment]
    while True:
        part: Part = tasks.get()
        told = time.monotonic()

        def advance(count: int, name: str = part.name) -> None:
            nonlocal told
            if time.monotonic() - told > _INTERVAL:
                told = time.monotonic()
                answer(Passed(name, count))

        answer(run_part(job, part, advance))


def _listen(tasks: queue.SimpleQueue[Any]) -> None:
    try:
        while True:
            tasks.put(pickle.load(sys.stdin.buffer))
    except (EOFError, OSError, pickle.UnpicklingError):
        _go()


def _go() -> None:
    remove_own()
    os._exit(1)
