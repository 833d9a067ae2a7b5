"""Jobs over corpora: what is spent outside the core, on two processors, on going on, and on Ray.

The claims: at most 35 per cent of the processor time of a job is spent outside the core; two
workers are at least 1.7 times as fast as one; a job of a million sentences of which one part is
missing is done within 3 seconds, from the start of the command; memory does not depend on the size
of the corpus; and Ray takes at most a tenth longer than local workers.

The corpus is one file of scores, repeated and written as Parquet shards.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from arborand import corpus
from benchmarks.command_line import Round, synthetic_corpus, watched
from benchmarks.graphs import read_sentences
from benchmarks.measure import Ratio, Settings, WrongAnswerError, median_interval, significant
from benchmarks.report import Report

TITLE = "Jobs over corpora"
_NUM_TREES = 100
# Sentences of a shard, and shards of the job that is continued: a million sentences.
_SHARD = 2_000
_SHARDS = 500


def run(settings: Settings) -> Report:
    """Measure jobs."""
    report = Report("corpus", TITLE, settings)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scores = settings.scores
        if scores is not None and scores.is_dir():
            scores = scores / "en_ewt-dev.trained.npz"
        if scores is None or not scores.exists():
            scores = folder / "made up.npz"
            synthetic_corpus(scores, 2_000)
        shards = _write_shards(scores, folder / "scores", 2 if settings.quick else 8)
        _outside(report, settings, shards, folder / "trees")
        many = _write_shards(scores, folder / "many", 4 if settings.quick else 24)
        _workers(report, settings, many, folder)
        _memory(report, scores, folder)
        _continued(report, settings, folder)
        _ray(report, settings, shards, folder)
    return report


def _write_shards(scores: Path, folder: Path, copies: int) -> Path:
    """Write the sentences of a file as shards, each copy with ids of its own."""
    import pyarrow as arrow
    import pyarrow.parquet

    folder.mkdir()
    matrices = read_sentences(scores)[0].matrices
    for copy in range(copies):
        table = arrow.table(
            {
                "sent_id": [f"{copy}-{i}" for i in range(len(matrices))],
                "log_weights": [np.asarray(m, dtype=np.float32).ravel() for m in matrices],
            }
        )
        arrow.parquet.write_table(
            table, folder / f"part-{copy:05}.parquet", row_group_size=1000, compression="zstd"
        )
    return folder


def _sample(shards: Path, out: Path, **options: Any) -> corpus.Status:
    shutil.rmtree(out, ignore_errors=True)
    return corpus.run("sample", shards, out, num_trees=_NUM_TREES, seed=1, **options)


def _seconds(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def _outside(report: Report, settings: Settings, shards: Path, out: Path) -> None:
    status = _sample(shards, out)  # also warms up
    if status.num_rows != _NUM_TREES * status.num_sentences:
        raise WrongAnswerError(f"{status.num_rows} trees of {status.num_sentences} sentences")
    rounds = []
    for _ in range(settings.min_rounds):
        one = Round()
        with watched(one):
            begin, processor = time.perf_counter(), time.process_time()
            _sample(shards, out)
            one.elapsed = time.perf_counter() - begin - one.disk
            one.processor = time.process_time() - processor
        rounds.append(one)
    report.raw["outside"] = [asdict(one) for one in rounds]
    share = median_interval([one.processor_outside for one in rounds])
    seconds = float(np.median([one.processor for one in rounds]))
    size = sum(path.stat().st_size for path in out.glob("*.parquet"))
    report.facts["processor seconds per million sentences"] = significant(
        1e6 * seconds / status.num_sentences
    )
    report.facts["bytes of trees per sentence"] = significant(size / status.num_sentences)
    report.facts["bytes of scores per sentence"] = significant(
        sum(path.stat().st_size for path in shards.iterdir()) / status.num_sentences
    )
    report.claim(
        f"per cent of processor time outside the core, k = {_NUM_TREES}, to Parquet",
        share,
        35.0,
        at_most=True,
    )


def _workers(report: Report, settings: Settings, shards: Path, folder: Path) -> None:
    if (os.cpu_count() or 1) < 2:
        report.skip("two local workers against one", 1.7, "one processor", at_most=False)
        return
    ratios = []
    for _ in range(2 if settings.quick else 3):
        one = _seconds(lambda: _sample(shards, folder / "one", workers=1))
        two = _seconds(lambda: _sample(shards, folder / "two", workers=2))
        ratios.append(one / two)
    report.raw["workers"] = ratios
    report.claim("two local workers against one", median_interval(ratios), 1.7, at_most=False)


def _memory(report: Report, scores: Path, folder: Path) -> None:
    """Compare the peaks of a corpus and of one four times as large."""
    peaks = []
    for copies in (2, 8):
        shards = _write_shards(scores, folder / f"memory-{copies}", copies)
        command = ["sample", shards, "-k", _NUM_TREES, "--seed", 1, "-o", f"{folder}/m{copies}/"]
        with subprocess.Popen(
            [sys.executable, "-m", "arborand", *map(str, command)], stdout=subprocess.DEVNULL
        ) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise WrongAnswerError(f"arborand sample ended with status {process.returncode}")
        peaks.append(usage.ru_maxrss / 1024)
    report.raw["peaks in MB"] = peaks
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
    for number in range(1, count):
        os.link(first, shards / f"part-{number:05}.npz")
    corpus.run("logz", shards, out)
    seconds = []
    for number in (1, 7, 13):
        (out / "_arborand" / f"part-{number:05}.parquet.done").unlink()
        command = [sys.executable, "-m", "arborand", "logz", str(shards), "-o", f"{out}/"]
        seconds.append(
            _seconds(
                lambda: subprocess.run(command, check=True, capture_output=True)  # noqa: B023
            )
        )
    report.raw["seconds to go on"] = seconds
    report.claim(
        f"seconds to go on with a job of {count * _SHARD:,} sentences in {count} shards of which "
        "one part is missing, from the start of the command to its end",
        median_interval(seconds),
        3.0,
        at_most=True,
    )


def _ray(report: Report, settings: Settings, shards: Path, folder: Path) -> None:
    text = "Ray against local workers, without its start"
    try:
        import ray
    except ModuleNotFoundError:
        report.skip(text, 1.1, "ray is not installed", at_most=True)
        return
    ray.init(
        address="local",
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
    )
    try:
        _sample(shards, folder / "ray", engine="ray")  # also starts its workers
        ratios = []
        for _ in range(2 if settings.quick else 3):
            there = _seconds(lambda: _sample(shards, folder / "ray", engine="ray"))
            here = _seconds(lambda: _sample(shards, folder / "two", workers=2))
            ratios.append(there / here)
    finally:
        ray.shutdown()
    report.raw["ray"] = ratios
    report.claim(text, median_interval(ratios), 1.1, at_most=True)
