"""Throughput of the command line: trees for every sentence of a corpus, from file to Parquet.

The claim: most of the time goes into the core, although every tree is read from a file of scores,
checked, drawn, given its probability, logged for ``--resume`` and encoded as Parquet.

    python -m benchmarks.command_line [SCORES] [-k 100] [--workers 1] [--repeat 5]

Without a file, a synthetic corpus is made: 2000 sentences, lengths and scores about as a parser
gives them.  Each repetition is one run in this process, from opening the file to the renamed
output; start-up is reported on its own.  Two shares are given.  *Of the elapsed time*: the part in
which no call into the compiled core was under way; reading and writing overlap with the core where
there is a second processor to do so.  *Of processor time*: the work of all threads, which depends
less on what else the machine is doing.  Neither contains the wait for the disk (fsync), which is
reported apart.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass
class Clock:
    """Time spent in the core, and in waiting for the disk."""

    elapsed: float = 0.0
    processor: float = 0.0
    disk: float = 0.0


def watch_core(clock: Clock) -> None:
    """Time every call into the compiled core; all come from one thread."""
    from arborand import _core

    def timed(function: Any) -> Any:
        def call(*arguments: Any) -> Any:
            start, processor = time.perf_counter(), _processor_time()
            try:
                return function(*arguments)
            finally:
                clock.elapsed += time.perf_counter() - start
                clock.processor += _processor_time() - processor

        return call

    for name in dir(_core):
        function = getattr(_core, name)
        if callable(function) and not name.startswith("_") and not isinstance(function, type):
            setattr(_core, name, timed(function))

    sync = os.fsync

    def timed_sync(descriptor: int) -> None:
        start = time.perf_counter()
        sync(descriptor)
        clock.disk += time.perf_counter() - start

    os.fsync = timed_sync


def _processor_time() -> float:
    # With one worker the core runs in the calling thread.
    return time.thread_time()


def synthetic_corpus(path: Path, num_sentences: int = 2000) -> None:
    """Write scores of sentences of 1 to 75 words, most of them sure of their trees."""
    rng = np.random.default_rng(0)
    lengths = np.clip(rng.gamma(1.5, 8.4, num_sentences), 1, 75).astype(np.int32)
    matrices = []
    for length in lengths:
        scores = rng.normal(0, 2, (length + 1, length + 1)).astype(np.float32)
        for word in range(1, length + 1):  # every word has a favourite head before it
            scores[rng.integers(0, word), word] += rng.gamma(4.0, 3.0)
        matrices.append(scores.ravel())
    ids = [f"sentence-{i}" for i in range(num_sentences)]
    np.savez_compressed(path, lengths=lengths, scores=np.concatenate(matrices), sent_ids=ids)


def start_up() -> float:
    """Time an empty command: the interpreter, NumPy, the framework."""
    command = [sys.executable, "-m", "arborand", "--version"]
    times = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Run the benchmark and print a report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("scores", nargs="?", type=Path)
    parser.add_argument("-k", "--num-trees", type=int, default=100)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the numbers here, too")
    arguments = parser.parse_args()

    import pyarrow.parquet
    from typer.main import get_command

    from arborand.cli.app import app

    clock = Clock()
    watch_core(clock)
    command = get_command(app)
    best: dict[str, float] | None = None
    with tempfile.TemporaryDirectory() as folder:
        scores = arguments.scores
        if scores is None:
            scores = Path(folder) / "scores.npz"
            synthetic_corpus(scores)
        out = Path(folder) / "trees.parquet"
        options = ["-k", arguments.num_trees, "--workers", arguments.workers, "--seed", 1]
        argv = [str(word) for word in ("sample", scores, *options, "-o", out)]
        for _ in range(arguments.repeat):
            clock.elapsed = clock.processor = clock.disk = 0.0
            start, processor = time.perf_counter(), time.process_time()
            command.main(args=argv, prog_name="arborand", standalone_mode=False)
            elapsed = time.perf_counter() - start - clock.disk
            numbers = {
                "seconds": elapsed,
                "core seconds": clock.elapsed,
                "processor seconds": time.process_time() - processor,
                "core processor seconds": clock.processor,
                "disk seconds": clock.disk,
            }
            if best is None or elapsed < best["seconds"]:
                best = numbers
        assert best is not None
        assert threading.active_count() == 1
        file = pyarrow.parquet.ParquetFile(out)
        trees = file.metadata.num_rows
        sentences = len(pyarrow.parquet.read_table(out, columns=["sent_id"])["sent_id"].unique())
        size = out.stat().st_size
    best["sentences"] = sentences
    best["trees"] = trees
    best["start-up seconds"] = start_up()
    outside = 1 - best["core seconds"] / best["seconds"]
    print(f"{sentences:,} sentences, {trees:,} trees, {size / 1e6:.1f} MB of Parquet")
    print(f"{best['seconds']:.3f} s: {sentences / best['seconds']:,.0f} sentences/s, "
          f"{trees / best['seconds']:,.0f} trees/s (best of {arguments.repeat}, "
          f"{arguments.workers} worker{'s' if arguments.workers > 1 else ''})")  # fmt: skip
    print(f"outside the core: {outside:.0%} of the elapsed time (target: under 50%)")
    if arguments.workers == 1:
        share = 1 - best["core processor seconds"] / best["processor seconds"]
        print(
            f"                  {share:.0%} of processor time ({best['processor seconds']:.3f} s)"
        )
    print(f"besides: start-up {best['start-up seconds']:.2f} s, fsync {best['disk seconds']:.3f} s")
    if arguments.json:
        arguments.json.write_text(json.dumps(best, indent=2) + "\n")


if __name__ == "__main__":
    main()
