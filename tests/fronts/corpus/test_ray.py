"""Ray makes the parts of a job: the same bytes, whoever dies.

Ray runs on loopback, keeps its files in the test's folder, and is stopped by the test.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import ray
from ray.cluster_utils import Cluster

from arborand import corpus
from arborand.corpus import engines, storage
from arborand.corpus.job import run_part as make_part
from arborand.errors import ArborandError
from tests.command_line import random_corpus
from tests.fronts.corpus.shards import content, patiently, save_shards

pytestmark = pytest.mark.filterwarnings("ignore")
# Not 127.0.0.1: Ray takes that for "here", and looks up another address of this machine instead.
LOOPBACK = {"node_ip_address": "127.0.0.2"}
LIST = ("ps", "-eo", "args")


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    return save_shards(tmp_path_factory.mktemp("corpus") / "scores")


@pytest.fixture(scope="module")
def whole(shards, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "out"
    corpus.run("sample", shards, folder, num_trees=20, seed=1)
    return content(folder)


def new_cluster() -> Cluster:
    head = {"num_cpus": 0, "include_dashboard": False, **LOOPBACK}
    started = Cluster(initialize_head=True, head_node_args=head)
    try:
        for _ in range(2):
            started.add_node(num_cpus=1, **LOOPBACK)
        started.wait_for_nodes()
    except BaseException:
        started.shutdown()
        raise
    return started


@pytest.fixture
def cluster(tmp_path_factory, monkeypatch):
    """Start a head without processors and two nodes with one each."""
    # A short name: sockets are in it.
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path_factory.mktemp("r")))
    started = patiently(new_cluster)
    ray.init(
        address=started.address,
        _node_ip_address=LOOPBACK["node_ip_address"],
        log_to_driver=False,
        logging_level="ERROR",
    )
    yield started
    ray.shutdown()
    started.shutdown()


def workers_of(cluster) -> list[int]:
    """List the processes that the nodes of this cluster have started."""
    nodes = {
        process.process.pid
        for node in cluster.list_all_nodes()
        for process in node.all_processes.get("raylet", ())
    }
    found = []
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except (OSError, ValueError):
            continue
        if entry.name.isdigit() and int(fields[1]) in nodes:
            found.append(int(entry.name))
    return found


def is_task(process: int) -> bool:
    try:
        return b"run_part" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:  # it has just ended
        return False


def run(shards, out, **options):
    return corpus.run("sample", shards, out, num_trees=20, seed=1, engine="ray", **options)


def settled(shards, out):
    """Read a complete output once nobody writes to it.

    A worker may live longer than its node or driver.  What it leaves goes with the next run.
    """
    while corpus.read_status(str(out)).has_writers:
        time.sleep(0.01)
    made = []
    run(shards, out, tell=made.append)
    assert made == []
    return content(out)


def test_ray_makes_the_bytes_of_one_process(cluster, shards, whole, tmp_path):
    assert run(shards, tmp_path / "out").is_complete
    assert content(tmp_path / "out") == whole
    assert ray.is_initialized()  # a connection that was there stays


def test_workers_and_nodes_that_are_killed_cost_only_their_tasks(
    cluster, shards, whole, tmp_path, monkeypatch
):
    out, first, go = (tmp_path / name for name in ("out", "first", "go"))

    def run_part(job, part):
        """Make a part; all but the first stop halfway until somebody has been killed."""
        try:
            first.touch(exist_ok=False)
        except FileExistsError:
            return make_part(job, part, lambda count: wait_for(go))
        return make_part(job, part)

    def wait_for(path):
        while not path.exists():
            time.sleep(0.01)

    monkeypatch.setattr(engines, "run_part", run_part)
    killed = []

    def kill(event):
        if len(killed) == 0:
            while not any(storage.is_temporary(path.name) for path in out.rglob("*")):
                time.sleep(0.01)
            found = [process for process in workers_of(cluster) if is_task(process)]
            for process in found:
                os.kill(process, signal.SIGKILL)
            killed.append(len(found))
            go.touch()
        elif len(killed) == 1:
            cluster.remove_node(cluster.list_all_nodes()[-1], allow_graceful=False)
            killed.append("a node")

    assert run(shards, out, tell=kill).is_complete
    assert killed[0] > 0
    assert killed[1] == "a node"
    assert settled(shards, out) == whole


def test_an_error_in_a_sentence_is_not_repeated_and_cancels_the_rest(cluster, tmp_path):
    shards = save_shards(tmp_path / "scores", 12)
    bad = random_corpus(20, seed=3)
    bad.matrices[4][0, 1] = np.nan
    bad.save(shards / "shard-1.npz")
    made = []
    with pytest.raises(corpus.StoppedError, match=r"shard-1\.npz: sentence 's-4' \(number"):
        run(shards, tmp_path / "out", tell=made.append)
    failed = [event for event in made if not hasattr(event, "marker")]
    assert [event.part for event in failed] == ["shard-1.parquet"]
    status = run(shards, tmp_path / "out", on_error="skip")
    assert [one.sent_id for one in status.skipped] == ["s-4"]


def test_no_more_tasks_wait_than_the_cluster_can_take(cluster, shards, tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "_WINDOW", 1)
    waiting = []
    wait = ray.wait

    def counted(references, **options):
        waiting.append(len(references))
        return wait(references, **options)

    monkeypatch.setattr(ray, "wait", counted)
    assert run(shards, tmp_path / "out").is_complete
    assert max(waiting) == 2  # processors


def test_a_driver_that_is_killed_is_followed_by_another(cluster, shards, whole, tmp_path):
    command = [sys.executable, "-m", "arborand", "sample", shards, "-k", "20", "--seed", "1"]
    command += ["--engine", "ray", "--address", cluster.address, "-o", f"{tmp_path}/out/"]
    with subprocess.Popen(command) as driver:
        while driver.poll() is None and not list((tmp_path / "out").glob("*.parquet")):
            time.sleep(0.01)
        driver.kill()
    assert list((tmp_path / "out").glob("*.parquet"))
    assert subprocess.run(command, check=False).returncode == 0
    assert settled(shards, tmp_path / "out") == whole


def test_without_an_address_ray_is_started_and_stopped(shards, whole, tmp_path, tmp_path_factory):
    folder = tmp_path_factory.mktemp("r")
    command = [sys.executable, "-m", "arborand", "sample", shards, "-k", "20", "--seed", "1"]
    command += ["--engine", "ray", "-o", f"{tmp_path}/out/"]
    environment = {**os.environ, "RAY_TMPDIR": str(folder), "RAY_ADDRESS": ""}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert content(tmp_path / "out") == whole
    assert "Traceback" not in done.stderr
    # Its processes end on their own, some later than others.
    while str(folder) in subprocess.run(LIST, capture_output=True, text=True, check=True).stdout:
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("address", "tries", "message"),
    [
        (None, 3, "Ray cannot be started here: too slow"),
        ("auto", 1, "Ray cannot be reached at auto: too slow"),
    ],
)
def test_a_ray_that_does_not_answer_is_named(
    address, tries, message, shards, tmp_path, monkeypatch
):
    calls = []

    def init(**options):
        calls.append(options)
        raise Exception("too slow")

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(ArborandError, match=message):
        run(shards, tmp_path / "out", address=address)
    assert len(calls) == tries


@pytest.mark.parametrize("form", ["127.0.0.1:{}", "ray://127.0.0.1:{}", "ray://[::1]:{}", "auto"])
def test_an_address_where_nobody_listens_is_named_at_once(form, shards, tmp_path, monkeypatch):
    with socket.socket() as taken:  # nobody else gets the port, and nobody listens there
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        address = form.format(port)
        monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{port}")
        monkeypatch.setattr(ray, "init", lambda **options: pytest.fail("Ray is asked"))
        named = f"127.0.0.1:{port}" if form == "auto" else re.escape(address)
        with pytest.raises(ArborandError, match=f"Ray cannot be reached at {named}: "):
            run(shards, tmp_path / "out", address=address)
