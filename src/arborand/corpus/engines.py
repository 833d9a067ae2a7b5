"""Engines: which process makes which part, and when.  Each is a loop over the same task.

An engine reports what happens (``Progress``, ``Done`` or ``Failed``).  It stops at the first part
that cannot be made.  Finished parts are kept.
"""

from __future__ import annotations

import os
import pickle
import queue
import socket
import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from arborand.corpus.job import TRIES, Done, Failed, record_failure, run_part
from arborand.corpus.storage import remove_own_temporaries
from arborand.errors import ArborandError
from arborand.formats.inputs import required

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from arborand.corpus.job import Job
    from arborand.corpus.shards import Part

    Tell = Callable[["Progress | Done | Failed"], object]

Engine = Literal["local", "array", "ray"]
ENGINES = get_args(Engine)
# The environment variables with the rank of a process in an array and the number of processes.
_RANKS = (
    ("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)


@dataclass(frozen=True)
class Progress:
    """How many sentences of a part have been processed."""

    part: str
    num_sentences: int


def run_here(job: Job, parts: Sequence[Part], tell: Tell) -> None:
    """Make the parts one after another, in this process."""
    for part in parts:

        def advance(count: int, name: str = part.name) -> None:
            tell(Progress(name, count))

        outcome = run_part(job, part, advance)
        tell(outcome)
        if isinstance(outcome, Failed):
            return


def run_in_processes(job: Job, parts: Sequence[Part], tell: Tell, num_processes: int) -> None:
    """Make parts in several processes of this machine, which end with this one."""
    left: queue.SimpleQueue[Part] = queue.SimpleQueue()
    for part in parts:
        left.put(part)
    news: queue.SimpleQueue[Any] = queue.SimpleQueue()
    workers = [_Worker(job, left, news) for _ in range(min(num_processes, len(parts)))]
    num_open = len(parts)
    try:
        for worker in workers:
            worker.start()
        while num_open:
            event = news.get()
            if isinstance(event, Warning):
                warnings.warn(event, stacklevel=2)
                continue
            if isinstance(event, BaseException):
                raise event
            tell(event)
            if isinstance(event, Failed):
                return
            num_open -= isinstance(event, Done)
    finally:
        for worker in workers:
            worker.end()


class _Worker:
    """Supervises one process at a time: sends it parts, listens to it, replaces it if it dies."""

    def __init__(
        self, job: Job, left: queue.SimpleQueue[Part], news: queue.SimpleQueue[Any]
    ) -> None:
        self._job = job
        self._left = left
        self._news = news
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._is_over = False

    def start(self) -> None:
        """Start in a thread."""
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        try:
            while not self._is_over:
                part = self._left.get_nowait()
                for left in reversed(range(TRIES)):
                    try:
                        self._make(part)
                        break
                    except (EOFError, OSError, pickle.UnpicklingError):
                        if self._is_over:
                            return
                        self._replace(part, is_last=not left)
        except queue.Empty:
            return
        except BaseException as error:
            self._news.put(error)

    def _make(self, part: Part) -> None:
        process = self._started()
        if process is None or process.stdin is None or process.stdout is None:
            raise EOFError
        pickle.dump(part, process.stdin)
        process.stdin.flush()
        while True:
            event = pickle.load(process.stdout)
            self._news.put(event)
            if isinstance(event, (Done, Failed)):
                return

    def _started(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._process is None and not self._is_over:
                # A fresh interpreter with the same modules: no fork, and this program's own main
                # module is not run again.
                start = (
                    f"import sys; sys.path[:] = {sys.path!r}; "
                    "from arborand.corpus.engines import serve; serve()"
                )
                self._process = subprocess.Popen(
                    [sys.executable, "-c", start],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    start_new_session=True,  # Ctrl-C must reach only this process
                )
                pickle.dump(self._job, self._process.stdin)  # type: ignore[arg-type]
            return self._process

    def _replace(self, part: Part, *, is_last: bool) -> None:
        """Clean up after a process that died."""
        with self._lock:
            process, self._process = self._process, None
        status = None if process is None else _ended(process)
        if is_last:
            reason = f"its process died {TRIES} times (exit status {status}): out of memory?"
            self._news.put(record_failure(self._job, part, reason))

    def end(self) -> None:
        """End the process, which removes its temporary files when its standard input closes."""
        with self._lock:
            self._is_over = True
            process = self._process
        if process is not None:
            _ended(process)


def _ended(process: subprocess.Popen[bytes]) -> int:
    """Close the pipes of a process, which ends it, and wait until it has ended."""
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):  # flushing what was not sent yet
                stream.close()
    try:
        return process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def rank_and_world(
    rank: int | None, world: int | None, environment: Mapping[str, str] = os.environ
) -> tuple[int, int]:
    """Find the rank of this process, and the number of processes.

    Raises
    ------
    ArborandError
        If they are not known, or make no sense.
    """
    if rank is None and world is None:
        for rank_name, world_name in _RANKS:
            if rank_name in environment and world_name in environment:
                rank, world = _started_as(rank_name, world_name, environment)
                break
    if rank is None or world is None:
        names = ", ".join(f"{rank_name} and {world_name}" for rank_name, world_name in _RANKS)
        raise ArborandError(
            "the rank of this process in the array is not known: give --rank and --world, or set "
            f"{names}"
        )
    if not 0 <= rank < world:
        raise ArborandError(f"rank {rank} of {world}: expected a rank from 0 to {world - 1}")
    return rank, world


def _started_as(rank_name: str, world_name: str, environment: Mapping[str, str]) -> tuple[int, int]:
    """Read rank and world from environment variables, which may contain anything."""
    given = {name: environment[name] for name in (rank_name, world_name)}
    if rank_name == "SLURM_ARRAY_TASK_ID":  # --array=1-9:2 starts at 1, in steps of 2
        for name, usual in (("SLURM_ARRAY_TASK_MIN", "0"), ("SLURM_ARRAY_TASK_STEP", "1")):
            given[name] = environment.get(name, usual)
    try:
        place, world, least, step = (*map(int, given.values()), 0, 1)[:4]
        rank, rest = divmod(place - least, step)
        if rest or not 0 <= rank < world:
            raise ValueError("they do not form an array without gaps")
    except (ValueError, ZeroDivisionError) as error:
        values = ", ".join(f"{name}={value}" for name, value in given.items())
        raise ArborandError(
            f"{values} does not give the rank of this process ({error}): give --rank and --world"
        ) from error
    return rank, world


# ---- a process that makes parts for another


# How often progress is reported, in seconds.
_INTERVAL = 0.1


def serve() -> None:
    """Make parts until standard input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output printed by libraries must not mix with answers
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
        """Let the other process show a warning, but only the first: many sentences may cause it."""
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
                answer(Progress(name, count))

        answer(run_part(job, part, advance))


def _listen(tasks: queue.SimpleQueue[Any]) -> None:
    try:
        while True:
            tasks.put(pickle.load(sys.stdin.buffer))
    except (EOFError, OSError, pickle.UnpicklingError):
        _go()


def _go() -> None:
    remove_own_temporaries()
    os._exit(1)


# ---- Ray


# How many tasks per processor are submitted at a time: enough to keep the cluster busy.
_WINDOW = 4
# How long to wait for results before checking whether the cluster has grown, in seconds.
_PATIENCE = 5.0
# How long a cluster may take to answer, in seconds.
_ANSWER = 10.0


def run_on_ray(job: Job, parts: Sequence[Part], tell: Tell, address: str | None) -> None:
    """Make parts on Ray, which repeats tasks whose worker or node died.

    Parameters
    ----------
    job, parts, tell
        See :mod:`arborand.corpus.engines`.
    address : str or None
        The address of a cluster.  If None, Ray is started on this machine, and stopped at the end.
        A program that is already connected to Ray keeps its connection.
    """
    ray: Any = required("ray", "--engine ray", "cli,ray")
    is_ours = not ray.is_initialized()
    if is_ours:
        _connect(ray, address)
    try:
        _run(ray, job, parts, tell)
    finally:
        if is_ours:
            ray.shutdown()


def _check_address(address: str) -> None:
    """Raise an error if nothing listens at an address: Ray itself would wait several minutes."""
    if address == "auto":
        address = os.environ.get("RAY_ADDRESS", "")
    host, _, port = address.removeprefix("ray://").partition("/")[0].rpartition(":")
    if not (host and port.isdecimal()):  # Ray resolves it, or reports what is wrong
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER).close()
    except (OSError, OverflowError, UnicodeError) as error:
        raise ArborandError(f"Ray cannot be reached at {address}: {error}") from error


def _connect(ray: Any, address: str | None) -> None:
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        options["include_dashboard"] = False
    else:
        _check_address(address)
    for left in reversed(range(TRIES)):
        try:
            ray.init(address=address or "local", **options)
            return
        except Exception as error:  # Ray has no exception type of its own for this
            ray.shutdown()
            # A busy machine may take longer to start Ray than Ray waits.
            if not left or address is not None:
                what = "started here" if address is None else f"reached at {address}"
                raise ArborandError(f"Ray cannot be {what}: {error}") from error


def _run(ray: Any, job: Job, parts: Sequence[Part], tell: Tell) -> None:
    task = ray.remote(max_retries=TRIES, num_cpus=job.work.threads)(run_part)
    shared = ray.put(job)
    left = list(reversed(parts))
    going: dict[Any, Part] = {}
    try:
        while left or going:
            window = max(1, int(_WINDOW * ray.cluster_resources().get("CPU", 1)))
            while left and len(going) < window:
                part = left.pop()
                going[task.remote(shared, part)] = part
            ready, _ = ray.wait(list(going), num_returns=1, timeout=_PATIENCE)
            for reference in ready:
                part = going.pop(reference)
                try:
                    outcome = ray.get(reference)
                except ray.exceptions.RayError as error:
                    outcome = record_failure(job, part, f"Ray gave up: {error}")
                tell(outcome)
                if isinstance(outcome, Failed):
                    return
    finally:
        for reference in going:
            ray.cancel(reference, force=True)
