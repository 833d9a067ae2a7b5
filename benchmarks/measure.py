"""How long alternatives take on the same input, in turns, and how sure one can be of the ratio.

- Answers first: a side whose check objects is reported as wrong, with the objection, and not timed.
- In turns: every round times each side once, each round beginning with another side, so that what
  slows the machine down for a while slows all of them.
- Ratios are taken round by round.  Reported are their median and its 95 % interval from order
  statistics (the binomial distribution alone: nothing is assumed about how times scatter).  Fewer
  than six rounds have no such interval, and none is given.
- Time is the processor time of the process, user and system, of all its threads.  On an idle
  machine that is what the clock shows for a single thread; on a busy one it leaves out what other
  programs take.  Where several threads are the point, ``clock="wall"`` asks for the clock.
"""

from __future__ import annotations

import gc
import hashlib
import json
import math
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# The results that are committed, and that docs/how_fast.md shows.
RESULTS = ROOT / "benchmarks" / "results"
_CLOCKS: dict[str, Callable[[], int]] = {
    "processor": time.process_time_ns,
    "wall": time.perf_counter_ns,
}
# A turn of a side lasts about this long, or one call: long against the clock's own cost of a
# microsecond.
_SECONDS_PER_TURN = 0.002
_MAX_ROUNDS = 101


@dataclass(frozen=True)
class Settings:
    """What a run of the benchmarks was asked for."""

    quick: bool = False
    scores: Path | None = None
    results: Path = RESULTS

    @property
    def seconds(self) -> float:
        """How long one comparison may take, unless a single round takes longer."""
        return 0.05 if self.quick else 0.7

    @property
    def min_rounds(self) -> int:
        """The fewest rounds of a comparison."""
        return 3 if self.quick else 7

    def pick(self, full: Sequence[Any], quick: Sequence[Any]) -> Sequence[Any]:
        """Choose the sizes of a full or of a quick run."""
        return quick if self.quick else full


class WrongAnswerError(RuntimeError):
    """A side that was to be timed gives wrong answers."""


@dataclass(frozen=True)
class Ratio:
    """The median of ratios, and the interval that holds the true median in 95 of 100 runs.

    Attributes
    ----------
    value : float
    low, high : float or None
        None: measured too few times to say.
    """

    value: float
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.low is None or self.high is None or self.low == self.high:
            return significant(self.value)
        return f"{significant(self.value)} ({significant(self.low)} to {significant(self.high)})"


@dataclass(frozen=True)
class Side:
    """One way of doing it.

    Attributes
    ----------
    run : callable
        What is timed, without arguments.
    check : callable, optional
        Takes what `run` returned and says what is wrong with it, or returns None.
    per_call : float
        How many units of work a call does (draws, graphs); times are given for one unit.
    """

    run: Callable[[], Any]
    check: Callable[[Any], str | None] | None = None
    per_call: float = 1.0


@dataclass
class Comparison:
    """The times of all sides, round by round, in seconds for one unit of work."""

    times: dict[str, list[float]] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)

    def median(self, name: str) -> float:
        """Give the median time of a side."""
        return statistics.median(self._of(name))

    def fastest(self, name: str) -> float:
        """Give the shortest time of a side: the one least disturbed."""
        return min(self._of(name))

    def ratio(self, numerator: str, denominator: str) -> Ratio:
        """Give the ratio of two sides' times."""
        return ratio(self._of(numerator), self._of(denominator))

    def _of(self, name: str) -> list[float]:
        if name in self.wrong:
            raise WrongAnswerError(f"{name} is wrong and has no time: {self.wrong[name]}")
        return self.times[name]


def ratio(numerators: Sequence[float], denominators: Sequence[float]) -> Ratio:
    """Give the median of the ratios of numbers that belong together in pairs."""
    return median_interval([a / b for a, b in zip(numerators, denominators, strict=True)])


def median_interval(values: Sequence[float]) -> Ratio:
    """Give a sample's median and the 95 % interval of the true one, from order statistics.

    The interval reaches from the d-th smallest to the d-th largest value, for the largest d that
    leaves the true median outside with a chance of at most 2.5 % on either side.  Not even the
    smallest and the largest of five values do that (3.1 %): then there is no interval.
    """
    ordered = sorted(values)
    count = len(ordered)
    # The chance that at most `below` values are below the true median.
    chance, below = 0.5**count, 0
    while below < count // 2 and chance <= 0.025:
        below += 1
        chance += math.comb(count, below) * 0.5**count
    if below == 0:
        return Ratio(statistics.median(ordered))
    return Ratio(statistics.median(ordered), ordered[below - 1], ordered[count - below])


def compare(
    sides: Mapping[str, Side],
    settings: Settings,
    *,
    clock: str = "processor",
    seconds: float | None = None,
    min_rounds: int | None = None,
) -> Comparison:
    """Check every side's answer, then time those that are right, in turns."""
    now = _CLOCKS[clock]
    result = Comparison()
    calls: dict[str, int] = {}
    turn_ns = 0
    for name, side in sides.items():
        answer = side.run()  # also warms up
        objection = None if side.check is None else side.check(answer)
        del answer
        if objection is not None:
            result.wrong[name] = objection
            continue
        calls[name] = _calls_per_turn(side.run, now)
        turn_ns += _time(side.run, calls[name], now)
    allowed = settings.seconds if seconds is None else seconds
    rounds = int(allowed * 1e9 / max(turn_ns, 1))
    fewest = settings.min_rounds if min_rounds is None else min_rounds
    rounds = min(max(rounds, fewest), _MAX_ROUNDS)

    names = list(calls)
    result.times = {name: [] for name in names}
    gc.collect()
    gc.disable()
    try:
        for number in range(rounds):
            start = number % max(len(names), 1)
            for name in names[start:] + names[:start]:
                elapsed = _time(sides[name].run, calls[name], now)
                unit = calls[name] * sides[name].per_call
                result.times[name].append(max(elapsed, 1) * 1e-9 / unit)
    finally:
        gc.enable()
    return result


def _calls_per_turn(run: Callable[[], Any], now: Callable[[], int]) -> int:
    calls = 1
    while True:
        elapsed = _time(run, calls, now) * 1e-9
        if elapsed >= 0.5 * _SECONDS_PER_TURN:
            return math.ceil(calls * _SECONDS_PER_TURN / elapsed)
        calls *= max(2, min(64, int(_SECONDS_PER_TURN / max(elapsed, 1e-6))))


def _time(run: Callable[[], Any], calls: int, now: Callable[[], int]) -> int:
    begin = now()
    for _ in range(calls):
        run()
    return now() - begin


def compare_workers(
    work: Callable[[int], Any],
    settings: Settings,
    *,
    check: Callable[[Any], str | None],
    same_check: Callable[[Any], str | None],
) -> tuple[Ratio, str]:
    """Time a work with one worker and with two, by the clock, after checking each's answer.

    Two busy cores are at the mercy of whatever else the machine does, and the clock counts all of
    it.  So the fastest rounds are given beside the median, and, from the same rounds, what two
    threads can do on this machine at all: bare loops that share nothing (SHA-256, which lets go of
    the interpreter's lock).

    Returns
    -------
    speed : Ratio
        Of two workers over one.
    details : str
        The same of the fastest rounds, and of the bare loops.
    """
    sides = {
        "1": Side(partial(work, 1), check),
        "2": Side(partial(work, 2), same_check),
        "bare loops, 1": Side(partial(_bare_loops, 1)),
        "bare loops, 2": Side(partial(_bare_loops, 2)),
    }
    found = compare(sides, settings, clock="wall", seconds=10 * settings.seconds)
    fastest = min(found.times["1"]) / min(found.times["2"])
    bare = found.ratio("bare loops, 1", "bare loops, 2")
    details = f"fastest rounds {significant(fastest)}; bare loops on two threads {bare}"
    return found.ratio("1", "2"), details


def _bare_loops(num_threads: int) -> None:
    data = bytes(1 << 20)

    def work(times: int) -> None:
        for _ in range(times):
            hashlib.sha256(data).digest()

    total = 16
    others = [
        threading.Thread(target=work, args=(total // num_threads,)) for _ in range(num_threads - 1)
    ]
    for thread in others:
        thread.start()
    work(total // num_threads)
    for thread in others:
        thread.join()


def slope(sizes: Sequence[float], times: Sequence[float]) -> float:
    """Fit log time = constant + slope * log size by least squares."""
    x = [math.log(size) for size in sizes]
    y = [math.log(elapsed) for elapsed in times]
    mean_x, mean_y = statistics.fmean(x), statistics.fmean(y)
    covariance = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return covariance / sum((a - mean_x) ** 2 for a in x)


# ---- in a process of its own


def in_fresh_process(
    program: str, *, timeout: float = 120.0, arguments: Sequence[str] = ()
) -> dict[str, Any]:
    """Run a Python program in a new interpreter; it prints one line of JSON, which is returned.

    Two functions are there for the program.  Call ``PEAK()`` once before and once after what is to
    be weighed, and the second call returns how many bytes of memory were in use at most in between,
    over what was in use at the first.  ``MOST()`` returns how many were ever in use.  Both return
    None on systems that do not tell as Linux does.
    """
    finished = subprocess.run(
        [sys.executable, "-c", _PEAK + program, *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        check=False,
    )
    if finished.returncode != 0:
        last = finished.stderr.strip().splitlines()[-1:] or ["no message"]
        return {"error": last[0][:200]}
    answer: dict[str, Any] = json.loads(finished.stdout.strip().splitlines()[-1])
    return answer


# Linux tells the most memory a process has ever had (VmHWM) and can be made to forget it.
_PEAK = """
import json, sys, time
def _FIELD(name):
    with open("/proc/self/status") as status:
        return next(int(l.split()[1]) * 1024 for l in status if l.startswith(name + ":"))
def MOST():
    try:
        return _FIELD("VmHWM")
    except OSError:
        return None
def PEAK(_start=[]):
    try:
        if _start:
            return _FIELD("VmHWM") - _start.pop()
        with open("/proc/self/clear_refs", "w") as refs:
            refs.write("5")
        _start.append(_FIELD("VmRSS"))
    except OSError:
        return None
"""
NOT_WEIGHED = "only Linux tells how much memory a process had at most"


# ---- numbers for people


def significant(value: float, digits: int = 3) -> str:
    """Write a number with a few significant digits and no exponent if it can be avoided."""
    if value == 0 or not math.isfinite(value):
        return str(value)
    magnitude = math.floor(math.log10(abs(value)))
    if magnitude >= 6 or magnitude < -3:
        return f"{value:.{digits - 1}e}"
    if magnitude >= digits - 1:
        return f"{value:,.0f}"
    return f"{value:.{digits - 1 - magnitude}f}"


def duration(seconds: float) -> str:
    """Write a duration in the unit that suits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{significant(seconds / scale)} {unit}"
    return f"{significant(seconds / 1e-9)} ns"


def memory(num_bytes: float | None) -> str:
    """Write an amount of memory in megabytes; a dash where none could be told."""
    return "-" if num_bytes is None else f"{significant(num_bytes / 1e6)} MB"
