"""Parts as tasks of Ray: on a cluster, or on a Ray that is started here and stopped again."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Any

from arborand.corpus.task import TRIES, Failed, record_failure, run_part
from arborand.errors import ArborandError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arborand.corpus.engines import Tell
    from arborand.corpus.plan import Part
    from arborand.corpus.task import Job

# How many tasks per processor wait in the cluster: enough to keep it busy, however many parts.
_WINDOW = 4
# How long to wait for news before looking again whether the cluster has grown, in seconds.
_PATIENCE = 5.0
# How long a cluster may take to answer, in seconds.
_ANSWER = 10.0


def run_on_ray(job: Job, parts: Sequence[Part], tell: Tell, address: str | None) -> None:
    """Make parts on Ray, which repeats the tasks of workers and nodes that die.

    Parameters
    ----------
    job, parts, tell
        See :mod:`arborand.corpus.engines`.
    address : str or None
        Of a cluster.  None: Ray is started on this machine, and stopped at the end.  A program that
        is connected to Ray already keeps its connection.
    """
    try:
        import ray
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "--engine ray needs ray: pip install 'arborand[cli,ray]'", name=error.name
        ) from error
    is_ours = not ray.is_initialized()
    if is_ours:
        _connect(ray, address)
    try:
        _run(ray, job, parts, tell)
    finally:
        if is_ours:
            ray.shutdown()


def _check_address(address: str) -> None:
    """Raise an error if nobody listens at an address: Ray itself would wait for many minutes."""
    if address == "auto":
        address = os.environ.get("RAY_ADDRESS", "")
    host, _, port = address.removeprefix("ray://").partition("/")[0].rpartition(":")
    if not (host and port.isdecimal()):  # Ray finds it, or says what is wrong with it
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER).close()
    except (OSError, OverflowError, UnicodeError) as error:
        raise ArborandError(f"Ray cannot be reached at {address}: {error}") from error


def _connect(ray: Any, address: str | None) -> None:
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is not None:
        _check_address(address)
    if address is None:
        options["include_dashboard"] = False
    for left in reversed(range(TRIES)):
        try:
            ray.init(address=address or "local", **options)
            return
        except Exception as error:  # whatever it raises: Ray has no type of its own for it
            ray.shutdown()
            # A busy machine may take longer than Ray waits for itself.
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
                    outcome = record_failure(job, part, f"Ray gave it up: {error}")
                tell(outcome)
                if isinstance(outcome, Failed):
                    return
    finally:
        for reference in going:
            ray.cancel(reference, force=True)
