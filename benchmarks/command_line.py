"""Throughput of the command line: trees for every sentence of a corpus, from file to Parquet.

The claim: at least half of the time goes into the core, although every tree is read from a file of
scores, checked, drawn, given its probability and encoded as Parquet.

Each round is one run in this process, from opening the file to the renamed output; start-up is
reported on its own.  Two shares are given.  *Of the elapsed time*: the part in which no call into
the compiled core was under way; reading and writing overlap with the core where there is a second
processor to do so.  *Of processor time*: the work of all threads, which depends less on what else
the machine is doing.  Neither contains the wait for the disk (fsync), which is reported apart.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from arborand import DependencyTrees, _core
from benchmarks.answers import number_objection, tree_objection
from benchmarks.graphs import Sentences, has_sentences, read_sentences
from benchmarks.measure import (
    Ratio,
    Settings,
    WrongAnswerError,
    duration,
    median_interval,
    significant,
)
from benchmarks.report import Report

TITLE = "Throughput of the command line"
# Trees asked for of every sentence.
_NUM_TREES = 100


def run(settings: Settings) -> Report:
    """Sample from every corpus, again and again."""
    report = Report("command_line", TITLE, settings)
    table = report.table(
        f"`arborand sample -k {_NUM_TREES} -o trees.parquet`, one worker",
        (
            "scores",
            "sentences",
            "trees",
            "sentences a second",
            "trees a second",
            "outside the core: per cent of the elapsed time",
            "... of processor time",
            "fsync",
        ),
        "Speeds are those of the median round, by the clock and without fsync.",
    )
    # Of every corpus: its number of sentences, and what is spent outside the core.
    shares: dict[str, tuple[int, Ratio]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for file in _files(settings, Path(folder)):
            corpus = read_sentences(file)[0]
            rounds = _rounds(settings, file, corpus, Path(folder) / "trees.parquet")
            elapsed = float(np.median([one.elapsed for one in rounds]))
            outside = median_interval([one.outside for one in rounds])
            num_sentences = len(corpus.matrices)
            shares[corpus.name] = num_sentences, outside
            table.rows.append(
                [
                    corpus.name,
                    f"{num_sentences:,}",
                    f"{num_sentences * _NUM_TREES:,}",
                    significant(num_sentences / elapsed),
                    significant(num_sentences * _NUM_TREES / elapsed),
                    str(outside),
                    str(median_interval([one.processor_outside for one in rounds])),
                    duration(float(np.median([one.disk for one in rounds]))),
                ]
            )
    # What every run costs, whatever its size, weighs least in the largest corpus.
    largest = max(shares, key=lambda name: shares[name][0])
    report.claim(
        f"percentage of elapsed time spent outside the core, largest corpus: {largest}",
        shares[largest][1],
        50.0,
        at_most=True,
    )
    start_up = [_start_up() for _ in range(3)]
    report.facts["start-up"] = duration(min(start_up))
    return report


def _files(settings: Settings, folder: Path) -> list[Path]:
    given = settings.scores
    if given is None:
        path = folder / "made up.npz"
        synthetic_corpus(path, 200 if settings.quick else 2000)
        return [path]
    if not given.is_dir():
        return [given]
    files = [file for file in sorted(given.glob("*.npz")) if has_sentences(file)]
    return files[:1] if settings.quick else files


def synthetic_corpus(path: Path, num_sentences: int) -> None:
    """Write scores of sentences of 1 to 75 words, most of them sure of their trees."""
    rng = np.random.default_rng(0)
    lengths = np.clip(rng.gamma(1.5, 8.4, num_sentences), 1, 75).astype(np.int32)
    matrices = []
    for length in lengths:
        scores = rng.normal(0, 2, (length + 1, length + 1)).astype(np.float32)
        for word in range(1, length + 1):  # every word has a favourite head before it
            scores[rng.integers(0, word), word] += rng.gamma(4.0, 3.0)
        matrices.append(scores.ravel())
    offsets = np.concatenate([[0], np.cumsum((lengths.astype(np.int64) + 1) ** 2)])
    ids = [f"sentence-{i}" for i in range(num_sentences)]
    np.savez_compressed(
        path, lengths=lengths, offsets=offsets, scores=np.concatenate(matrices), sent_ids=ids
    )


# ---- one run of the command, and where its time went


@dataclass
class Round:
    """The seconds of one run: in all but for the disk, in the core, waiting for the disk."""

    elapsed: float = 0.0
    core: float = 0.0
    processor: float = 0.0
    core_processor: float = 0.0
    disk: float = 0.0

    @property
    def outside(self) -> float:
        """The per cent of the elapsed time in which the core did nothing."""
        return 100.0 * (1.0 - self.core / self.elapsed)

    @property
    def processor_outside(self) -> float:
        """The per cent of the processor time of all threads that was not the core's."""
        return 100.0 * (1.0 - self.core_processor / self.processor)


def _rounds(settings: Settings, file: Path, corpus: Sentences, out: Path) -> list[Round]:
    from typer.main import get_command

    from arborand.cli.app import app

    command = get_command(app)
    options = ("-k", _NUM_TREES, "--workers", 1, "--seed", 1, "-o", out)
    arguments = [str(word) for word in ("sample", file, *options)]
    call = _silent(
        lambda: command.main(args=arguments, prog_name="arborand", standalone_mode=False)
    )
    num_threads = threading.active_count()
    call()  # also warms up
    objection = _parquet_objection(out, corpus)
    if objection is not None:
        raise WrongAnswerError(f"arborand sample, {corpus.name}: {objection}")
    if threading.active_count() != num_threads:
        raise RuntimeError("arborand sample left threads behind")
    rounds = []
    for _ in range(settings.min_rounds):
        one = Round()
        with watched(one):
            begin, processor = time.perf_counter(), time.process_time()
            call()
            one.elapsed = time.perf_counter() - begin - one.disk
            one.processor = time.process_time() - processor
        rounds.append(one)
    return rounds


def _silent(call: Callable[[], Any]) -> Callable[[], None]:
    """Keep what the command says about its progress off the screen."""

    def silent() -> None:
        with (
            open(os.devnull, "w", encoding="utf-8") as nowhere,
            contextlib.redirect_stdout(nowhere),
            contextlib.redirect_stderr(nowhere),
        ):
            call()

    return silent


@contextlib.contextmanager
def watched(one: Round) -> Iterator[None]:
    """Time every call into the compiled core, and every wait for the disk.

    All calls come from one thread, and with one worker the core runs in that thread.
    """

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            begin, processor = time.perf_counter(), time.thread_time()
            try:
                return function(*arguments)
            finally:
                one.core += time.perf_counter() - begin
                one.core_processor += time.thread_time() - processor

        return call

    sync = os.fsync

    def timed_sync(descriptor: int) -> None:
        begin = time.perf_counter()
        sync(descriptor)
        one.disk += time.perf_counter() - begin

    with contextlib.ExitStack() as stack:
        for name in dir(_core):
            function = getattr(_core, name)
            if callable(function) and not name.startswith("_") and not isinstance(function, type):
                stack.enter_context(mock.patch.object(_core, name, timed(function)))
        stack.enter_context(mock.patch.object(os, "fsync", timed_sync))
        yield


def _parquet_objection(out: Path, corpus: Sentences) -> str | None:
    """Say whether rows are missing, or hold no trees, or wrong probabilities."""
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(out, columns=["heads", "log_prob"])
    if len(table) != _NUM_TREES * len(corpus.matrices):
        return f"{len(table)} trees of {len(corpus.matrices)} sentences"
    # In the order of the sentences.
    for number, matrix in enumerate(corpus.matrices):
        rows = table.slice(number * _NUM_TREES, _NUM_TREES)
        # A row has no head for the root.
        heads = np.insert(np.array(rows["heads"].to_pylist(), dtype=np.int32), 0, -1, axis=1)
        log_prob = DependencyTrees(matrix).log_prob(heads)
        objection = tree_objection(heads, matrix, single_root=True) or number_objection(
            rows["log_prob"].to_numpy(), log_prob, 1e-9
        )
        if objection is not None:
            return f"sentence {number}: {objection}"
    return None


def _start_up() -> float:
    """Time an empty command: the interpreter, NumPy, the framework."""
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "arborand", "--version"], check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - begin
