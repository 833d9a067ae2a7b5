"""Runs commands that are killed, interrupted or out of disk space at a chosen point.

A program of its own, which imports the command line once and runs every command in a process forked
from it, so that a death costs a fork and not a start-up.  Each line on standard input is a command,
``{"argv": [...], "fault": [name, number]}``; each line on standard output an answer, ``[status,
standard error, number of events]``, a killed process having a negative status.

An *event* is a moment at which a process can die with something half done: before bytes are written
to a part, and before and after a file gets its name.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet  # noqa: F401 (imported once, before the forks)

import arborand.cli.app  # noqa: F401
from arborand.cli import main
from arborand.corpus import job, storage
from arborand.formats import outputs, records

SIGNALS = {"killed": signal.SIGKILL, "terminated": signal.SIGTERM, "interrupted": signal.SIGINT}


def prepare(fault: list | None, counter: int) -> None:
    """Count events, and make the process fail at the one that `fault` names."""
    # Many small runs and row groups: many points to die at.
    records.RUN_VALUES = 700
    outputs.ROW_GROUP_VALUES = 500
    name, number = fault or ("nothing", 0)
    if name == "full disk":
        resource.setrlimit(resource.RLIMIT_FSIZE, (number, number))
    count = 0

    def event() -> None:
        nonlocal count
        count += 1
        os.pwrite(counter, str(count).encode(), 0)
        if name in SIGNALS and count == number:
            os.kill(os.getpid(), SIGNALS[name])

    storage.os.fsync = lambda descriptor: None  # a process dies here, not the machine
    write, replace = job._Hashed.write, os.replace

    def counted_write(self, data):
        # Half of it reaches the file: what is killed here leaves a torn part behind.
        half = memoryview(data).cast("B")[: memoryview(data).nbytes // 2]
        write(self, bytes(half))
        self._file.flush()
        event()
        return len(half) + write(self, bytes(memoryview(data).cast("B")[len(half) :]))

    def counted_replace(source, target):
        event()
        replace(source, target)
        event()

    job._Hashed.write = counted_write
    storage.os.replace = counted_replace


def run(argv: list[str], fault: list | None) -> tuple[int, str, int]:
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as counter:
        child = os.fork()
        if child == 0:
            os.dup2(errors.fileno(), 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            prepare(fault, counter.fileno())
            sys.argv = ["arborand", *argv]
            try:
                main()
            except SystemExit as error:
                sys.stderr.flush()
                os._exit(error.code if isinstance(error.code, int) else 0)
            except BaseException:
                sys.excepthook(*sys.exc_info())
                os._exit(99)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        errors.seek(0)
        counter.seek(0)
        count = int(counter.read() or b"0")
        return os.waitstatus_to_exitcode(status), errors.read().decode(), count


def warm_up() -> None:
    """Import and prepare what every command needs, once, before the forks."""
    example = Path(__file__).parent.parent / "examples" / "corpus" / "sentences.npz"
    sys.argv = ["arborand", "sample", str(example), "-o", os.devnull, "--format", "jsonl"]
    with suppress(SystemExit):
        main()


if __name__ == "__main__":
    warm_up()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for line in sys.stdin:
        entry = json.loads(line)
        print(json.dumps(run(entry["argv"], entry.get("fault"))), flush=True)
