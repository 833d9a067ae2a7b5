"""One work, all peers: who is right, who ends, and how long each takes next to arborand."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from benchmarks.adapters import Adapter, Job
from benchmarks.adapters.arborand import ONE_TREE
from benchmarks.measure import Ratio, Settings, Side, compare, duration
from benchmarks.report import Table

# Jobs that others are compared with: many trees a call, one tree a call.
OURS = ("arborand", "one tree")
SLOWER = "times slower than arborand"


@dataclass
class Peers:
    """The libraries that are here, and what was found about them on the way."""

    settings: Settings
    here: dict[str, Adapter] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)
    wrong: dict[tuple[str, str], str] = field(default_factory=dict)  # (peer, work) -> evidence
    slow: set[tuple[str, str]] = field(default_factory=set)  # did not end: larger sizes are skipped
    faster: list[list[str]] = field(default_factory=list)  # where a peer beats arborand, for sure

    @property
    def limit(self) -> float:
        """How long one call may take, in seconds."""
        return 1.0 if self.settings.quick else 8.0


@dataclass
class Finding:
    """One peer at one work: its time (rounds or a single run), or why there is none."""

    seconds: float | None = None
    slower: dict[str, Ratio] = field(default_factory=dict)  # than one of arborand's jobs
    remark: str = ""

    def cells(self, *ours: str) -> list[str]:
        """Give the cells of a table: time, and how many times slower than each of arborand's."""
        if self.seconds is None:
            return [self.remark, *("" for _ in ours)]
        ratios = [str(self.slower[name]) if name in self.slower else "" for name in ours]
        return [duration(self.seconds) + self.remark, *ratios]


class _TooSlowError(BaseException):
    """A call did not end within the limit.  No Exception, or a peer might swallow it."""


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _TooSlowError

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)  # processor time, as everywhere
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, previous)


def measure(
    peers: Peers,
    work: str,
    jobs: dict[str, Job],
    check: Callable[[Any], str | None],
    *,
    law: str | None = None,
) -> dict[str, Finding]:
    """Time jobs by name; ``arborand`` must be among them and comes first.

    Those found wrong at the same work before are not timed, nor those found wrong at the work whose
    name is `law`.
    """
    findings: dict[str, Finding] = {}
    sides: dict[str, Side] = {}
    for name, job in jobs.items():
        if (name, work) in peers.wrong or (name, law) in peers.wrong:
            findings[name] = Finding(remark="wrong")
            continue
        if (name, work) in peers.slow:
            findings[name] = Finding(remark=f"over {peers.limit:g} s")
            continue
        try:
            with _time_limit(peers.limit):
                begin = time.process_time()
                answer = job.run()
                elapsed = time.process_time() - begin
                objection = check(job.read(answer))
        except _TooSlowError:
            peers.slow.add((name, work))
            findings[name] = Finding(remark=f"over {peers.limit:g} s")
            continue
        except Exception as error:  # a peer may fail in any way it likes
            objection = _told(error)
        if objection is not None:
            peers.wrong[name, work] = objection
            findings[name] = Finding(remark="wrong")
        elif elapsed > (0.3 if peers.settings.quick else 1.0):
            findings[name] = Finding(elapsed / job.units, remark=" (once)")
        else:
            sides[name] = Side(job.run, None, job.units)
    found = compare(sides, peers.settings, seconds=peers.settings.seconds / 2)
    for name in sides:
        findings[name] = Finding(found.median(name))
    for ours in OURS:
        for name, finding in findings.items():
            if ours not in sides or name in OURS or finding.seconds is None:
                continue
            if name in sides:
                finding.slower[ours] = found.ratio(name, ours)
            else:
                finding.slower[ours] = Ratio(finding.seconds / found.median(ours))
    return {name: findings[name] for name in jobs}


def fill(table: Table, size: str, findings: dict[str, Finding], peers: Peers) -> None:
    """Add the rows of one size to a table, and note where a peer is faster."""
    for name, finding in findings.items():
        adapter = ONE_TREE if name == "one tree" else peers.here[name]
        ours = OURS if "one tree" in findings else OURS[:1]
        who = f"{adapter.name} ({adapter.remark})" if adapter.remark else adapter.name
        table.rows.append([size, who, *finding.cells(*ours)])
        # A call that draws one tree is fairly compared with one that draws one tree.
        fair = finding.slower.get(ours[-1])
        if fair is not None and fair.high is not None and fair.high < 1:
            peers.faster.append([adapter.name, table.title, size, str(fair)])


def guarded(peers: Peers, check: Callable[[], str | None]) -> str | None:
    """Judge what may fail in any way, or not end."""
    try:
        with _time_limit(10 * peers.limit):
            return check()
    except _TooSlowError:
        return f"no answer on a small graph within {10 * peers.limit:g} s"
    except Exception as error:
        return _told(error)


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:80]}"
