"""Runs commands that are killed, interrupted or out of disk space at a chosen point.

A program of its own, which imports the command line once and runs every command in a process forked
from it, so that a death costs a fork and not a start-up.  Each line on standard input is a command,
``{"argv": [...], "fault": [name, number]}``; each line on standard output an answer, ``[status,
standard error]``, a killed process having a negative status.
"""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import sys
import tempfile

import pyarrow.parquet  # noqa: F401 (imported once, before the forks)

import arborand.cli.app  # noqa: F401
from arborand.cli import main
from arborand.formats import journal, sentences
from arborand.formats.journal import Journal


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def prepare(fault: list) -> None:
    """Make the process fail at the point that `fault` names."""
    # Many small runs, each noted in the journal: many points to die at.
    sentences.RUN_VALUES = 700
    journal.CHECKPOINT_SECONDS, journal.CHECKPOINT_SHARE = 0.0, math.inf
    name, number = fault or ("nothing", 0)
    calls = {"write": 0, "record": 0}
    sync, write, record, publish = journal.sync, Journal.write, Journal.record, Journal.publish

    def counted_write(self, data):
        calls["write"] += 1
        if name == "killed while writing" and calls["write"] == number:
            write(self, bytes(data)[: len(data) // 2])
            self.flush()
            die()
        return write(self, data)

    def counted_record(self):
        record(self)
        calls["record"] += 1
        if calls["record"] == number:
            if name == "killed after a checkpoint":
                die()
            if name == "interrupted":
                os.kill(os.getpid(), signal.SIGINT)

    def mortal_publish(self, built=None):
        if name == "killed before the end":
            die()
        publish(self, built)

    Journal.write, Journal.record, Journal.publish = counted_write, counted_record, mortal_publish
    if name == "killed after the end":
        journal.sync = lambda path: die() if path.is_dir() else sync(path)
    if name == "full disk":
        resource.setrlimit(resource.RLIMIT_FSIZE, (number, number))


def run(argv: list[str], fault: list) -> tuple[int, str]:
    with tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            os.dup2(errors.fileno(), 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            prepare(fault)
            sys.argv = ["arborand", *argv]
            try:
                main()
            except SystemExit as error:
                sys.stderr.flush()
                os._exit(error.code if isinstance(error.code, int) else 0)
            except BaseException:
                sys.excepthook(*sys.exc_info())
                os._exit(99)
        _, status = os.waitpid(child, 0)
        errors.seek(0)
        return os.waitstatus_to_exitcode(status), errors.read().decode()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for line in sys.stdin:
        entry = json.loads(line)
        print(json.dumps(run(entry["argv"], entry.get("fault"))), flush=True)
