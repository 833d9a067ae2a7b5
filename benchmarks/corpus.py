"""Jobs over corpora: what is spent outside the core, on two processors, on resuming, and on Ray.

The claims: two workers are at least 1.7 times as fast as one; a job of a million sentences of which
one part is missing is done within 3 seconds, from the start of the command; memory does not depend
on the size of the corpus; and Ray costs at most a tenth of a job of ten minutes.  How much is spent
outside the core is measured, but not bounded: pyarrow writes Parquet.

The corpus is one file of scores, repeated, which ``arborand convert`` has made into Parquet shards.
The core's time is that of all calls into the compiled module: from scores as they were read to
heads and log-probabilities.  Reading, checking sizes, encoding, compressing, digests and markers
are outside, and so is what the system does for them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from arborand import corpus
from benchmarks.command_line import Round, synthetic_corpus, watched
from benchmarks.measure import Ratio, Settings, WrongAnswerError, median_interval, significant
from benchmarks.report import Report

TITLE = "Jobs over corpora"
_NUM_TREES = 100
# How often a shard holds the sentences of the file.
_COPIES = 8
# Sentences of a shard, and shards of the job that is continued: a million sentences.
_SHARD = 2_000
_SHARDS = 500
# The job for which Ray's cost is reckoned, in seconds.
_LONG = 600.0


def run(settings: Settings) -> Report:
    """Measure jobs."""
    report = Report("corpus", TITLE, settings)
    with tempfile.TemporaryDirectory() as name:
        made = _Corpus(settings, Path(name))
        _outside(report, settings, made)
        _workers(report, settings, made)
        _memory(report, settings, made)
        _continued(report, settings, made.folder)
        _ray(report, settings, made)
    return report


class _Corpus:
    """Shards of any number, all the same."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.folder = folder
        scores = settings.scores
        if scores is not None and scores.is_dir():
            scores = scores / "en_ewt-dev.trained.npz"
        if scores is None or not scores.exists():
            scores = folder / "made up.npz"
            synthetic_corpus(scores, 2_000)
        with np.load(scores) as stored:
            self._lengths, self._scores = stored["lengths"], stored["scores"]
        if settings.quick:
            self._lengths = self._lengths[:200]
            self._scores = self._scores[: int(((self._lengths.astype(int) + 1) ** 2).sum())]
        self._once = self._converted(1)
        self._shard = self._converted(1 if settings.quick else _COPIES)

    def _converted(self, copies: int) -> Path:
        source = self.folder / f"{copies}.npz"
        np.savez(
            source,
            lengths=np.tile(self._lengths, copies),
            scores=np.tile(self._scores, copies),
            sent_ids=[f"{copy}-{i}" for copy in range(copies) for i in range(len(self._lengths))],
        )
        corpus.run("convert", source, self.folder / f"converted-{copies}", part_sentences=10**6)
        source.unlink()
        return self.folder / f"converted-{copies}" / f"{copies}.parquet"

    def shards(self, count: int, *, small: bool = False) -> Path:
        """Return a folder with this number of shards: of all copies, or `small`, of one."""
        shard = self._once if small else self._shard
        folder = self.folder / f"{count}{' small' if small else ''}"
        folder.mkdir(exist_ok=True)
        for number in range(count):
            path = folder / f"part-{number:05}.parquet"
            if not path.exists():
                os.link(shard, path)
        return folder

    def run(self, count: int, *, small: bool = False, **options: Any) -> corpus.Status:
        """Draw trees for the sentences of this number of shards."""
        out = self.folder / "trees"
        shutil.rmtree(out, ignore_errors=True)
        shards = self.shards(count, small=small)
        status = corpus.run("sample", shards, out, num_trees=_NUM_TREES, seed=1, **options)
        if status.num_rows != _NUM_TREES * status.num_sentences:
            raise WrongAnswerError(f"{status.num_rows} trees of {status.num_sentences} sentences")
        return status

    @property
    def num_words(self) -> float:
        """The mean length of a sentence."""
        return float(self._lengths.mean())

    @property
    def num_bytes(self) -> int:
        """The size of a shard."""
        return self._shard.stat().st_size


def _seconds(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def _outside(report: Report, settings: Settings, made: _Corpus) -> None:
    table = report.table(
        f"The processor time of `sample`, k = {_NUM_TREES}, from Parquet to Parquet, one worker",
        ("sentences of a shard", "a sentence, in the core", "outside", "outside, per cent"),
        "Medians of all rounds; the start of the program is not in them.",
    )
    for small, count in ((True, 4), (False, 2)):
        status = made.run(count, small=small)  # also warms up
        rounds = []
        for _ in range(settings.min_rounds):
            one = Round()
            with watched(one):
                begin, processor = time.perf_counter(), time.process_time()
                made.run(count, small=small)
                one.elapsed = time.perf_counter() - begin - one.disk
                one.processor = time.process_time() - processor
            rounds.append(one)
        share = median_interval([one.processor_outside for one in rounds])
        core = float(np.median([one.core_processor for one in rounds])) / status.num_sentences
        whole = float(np.median([one.processor for one in rounds])) / status.num_sentences
        size = f"{status.num_sentences // count:,}"
        table.rows.append([size, _micro(core), _micro(whole - core), str(share)])
    out = made.folder / "trees"
    num_bytes = sum(path.stat().st_size for path in out.glob("*.parquet")) / status.num_sentences
    score_bytes = made.num_bytes * count / status.num_sentences
    report.facts["words of a sentence"] = significant(made.num_words)
    report.facts["processor time of a sentence"] = f"{significant(1e3 * whole)} ms"
    report.facts["processor hours of 10⁹ sentences"] = f"{significant(1e9 * whole / 3600)}"
    for what, size_of_one in (("scores", score_bytes), ("trees", num_bytes)):
        report.facts[f"{what} of a sentence"] = f"{significant(size_of_one / 1e3)} kB"
        report.facts[f"{what} of 10⁹ sentences"] = f"{significant(size_of_one / 1e3)} TB"


def _micro(seconds: float) -> str:
    return f"{significant(1e6 * seconds)} µs"


def _workers(report: Report, settings: Settings, made: _Corpus) -> None:
    text = "speed of two local workers over one, start-up included"
    if (os.cpu_count() or 1) < 2:
        report.skip(text, 1.7, "one processor", at_most=False)
        return
    count = 4 if settings.quick else 20
    ratios = []
    for _ in range(2 if settings.quick else 3):
        one = _seconds(lambda: made.run(count, workers=1))
        two = _seconds(lambda: made.run(count, workers=2))
        ratios.append(one / two)
    report.claim(text, median_interval(ratios), 1.7, at_most=False)


@dataclass(frozen=True)
class _Ended:
    """What a command took: seconds by the clock and of the processor."""

    elapsed: float
    processor: float


def _command(*words: Any) -> _Ended:
    """Run the command in a process of its own."""
    begin = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "arborand", *map(str, words)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise WrongAnswerError(f"arborand {words[0]} ended with status {process.returncode}")
    elapsed = time.perf_counter() - begin
    return _Ended(elapsed, usage.ru_utime + usage.ru_stime)


# By a small process in between: the peak of a child is at least that of the process that started
# it, and this one has loaded other libraries.
_STARTER = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def _peak(*words: Any) -> float:
    """Run the command, and return the most memory that it had, in MB."""
    command = [sys.executable, "-m", "arborand", *map(str, words)]
    started = [sys.executable, "-c", _STARTER, *command]
    return int(subprocess.run(started, check=True, stdout=subprocess.PIPE).stdout) / 1024


def _memory(report: Report, settings: Settings, made: _Corpus) -> None:
    """Compare the peaks of a corpus and of one four times as large."""
    peaks = []
    for count in (2, 8):
        options = ("-k", _NUM_TREES, "--seed", 1, "-o", f"{made.folder}/memory-{count}/")
        peaks.append(_peak("sample", made.shards(count), *options))
    report.facts["peak memory of `sample`"] = f"{peaks[1]:.0f} MB"
    report.claim(
        "peak memory for a corpus four times as large",
        Ratio(peaks[1] / peaks[0]),
        1.1,
        at_most=True,
    )


def _continued(report: Report, settings: Settings, folder: Path) -> None:
    shards, out = folder / "million", folder / "million.logz"
    shards.mkdir()
    count = 20 if settings.quick else _SHARDS
    rng = np.random.default_rng(0)
    first = shards / "part-00000.npz"
    np.savez(first, log_weights=rng.normal(size=(_SHARD, 4, 4)), lengths=np.full(_SHARD, 3))
    one = _command("logz", first, "-o", f"{folder}/one.logz/")
    for number in range(1, count):
        os.link(first, shards / f"part-{number:05}.npz")
    corpus.run("logz", shards, out, workers=2)
    ended = []
    for number in (1, 7, 13):
        (out / "_arborand" / f"part-{number:05}.parquet.done").unlink()
        ended.append(_command("logz", shards, "-o", f"{out}/"))
    report.facts["a job of one part"] = f"{significant(one.elapsed)} s"
    per_part = (min(job.processor for job in ended) - one.processor) / count
    report.facts["processor time of a finished part"] = f"{significant(1e3 * per_part)} ms"
    report.claim(
        f"seconds to go on with a job of {count * _SHARD:,} sentences in {count} shards of which "
        "one part is missing, from the start of the command to its end",
        median_interval([job.elapsed for job in ended]),
        3.0,
        at_most=True,
    )


def _ray(report: Report, settings: Settings, made: _Corpus) -> None:
    text = (
        "Ray's own cost, per cent of ten minutes: its start, and what its tasks take longer than "
        "those of two local workers; reckoned from jobs of seconds"
    )
    try:
        import ray
    except ModuleNotFoundError:
        report.skip(text, 10.0, "ray is not installed", at_most=True)
        return
    few, many = (2, 4) if settings.quick else (2, 14)

    def per_part(**options: Any) -> float:
        """Time a part, among others: what a job takes once does not matter."""
        times = [_seconds(partial(made.run, count, **options)) for count in (few, many)]
        return (times[1] - times[0]) / (many - few)

    begin = time.perf_counter()
    ray.init(
        address="local",
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
    )
    try:
        made.run(2, engine="ray")  # its workers begin
        start = time.perf_counter() - begin
        rounds = [
            (per_part(engine="ray"), per_part(workers=2)) for _ in range(2 if settings.quick else 3)
        ]
    finally:
        ray.shutdown()
    cost = [100.0 * (there / here - 1.0 + start / _LONG) for there, here in rounds]
    report.claim(text, median_interval(cost), 10.0, at_most=True)
