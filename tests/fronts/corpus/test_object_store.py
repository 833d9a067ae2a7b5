"""S3 through pyarrow.fs, against a server on loopback: the same bytes, nothing half-made."""

from __future__ import annotations

import subprocess
import sys
import time

import pyarrow.fs
import pytest
from moto.server import ThreadedMotoServer

from arborand import corpus
from tests.command_line import without_times
from tests.fronts.corpus.shards import content, save_shards

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    return save_shards(tmp_path_factory.mktemp("corpus") / "scores")


@pytest.fixture
def store(monkeypatch, shards):
    """Start an object store, and put the shards into it."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    s3 = pyarrow.fs.S3FileSystem(
        endpoint_override=f"{host}:{port}",
        scheme="http",
        access_key="x",
        secret_key="x",
        region="us-east-1",
        allow_bucket_creation=True,
        connect_timeout=60,  # seconds, on a busy machine
        request_timeout=60,
    )
    s3.create_dir("corpus")
    pyarrow.fs.copy_files(str(shards), "corpus/scores", destination_filesystem=s3)
    yield s3
    server.stop()


def objects(s3, folder: str) -> dict[str, bytes]:
    found = {}
    for info in s3.get_file_info(pyarrow.fs.FileSelector(folder, recursive=True)):
        if info.is_file:
            with s3.open_input_stream(info.path) as file:
                found[info.path.removeprefix(f"{folder}/")] = file.read()
    return found


def test_objects_are_the_bytes_of_files(store, shards, tmp_path):
    corpus.run("sample", shards, tmp_path / "whole", num_trees=5, seed=1)
    expected = without_times(content(tmp_path / "whole"))
    run = ("sample", "s3://corpus/scores/", "s3://corpus/trees/")
    options = {"num_trees": 5, "seed": 1, "format": "parquet"}
    assert corpus.run(*run, **options, workers=2).is_complete
    assert without_times(objects(store, "corpus/trees")) == expected
    store.delete_file("corpus/trees/shard-2.parquet")
    made = []
    assert corpus.run(*run, **options, tell=made.append).is_complete
    assert {event.part for event in made} == {"shard-2.parquet"}
    assert without_times(objects(store, "corpus/trees")) == expected
    with pytest.raises(Exception, match="seed was 1 and is 2"):
        corpus.run(*run, **{**options, "seed": 2})
    corpus.run(*run, **{**options, "seed": 2}, restart=True)
    assert objects(store, "corpus/trees").keys() == expected.keys()
    status = corpus.read_status("s3://corpus/trees/")
    assert status.identity["seed"] == 2
    patterns = corpus.run("sample", "s3://corpus/scores/shard-[01].npz", tmp_path / "two", seed=1)
    assert patterns.num_parts == 2


def test_a_killed_job_shows_nothing_half_made(store, shards, tmp_path):
    corpus.run("sample", shards, tmp_path / "whole", num_trees=200, seed=1, format="jsonl")
    expected = without_times(content(tmp_path / "whole"))
    command = [sys.executable, "-m", "arborand", "sample", "s3://corpus/scores/", "-k", "200"]
    command += ["--seed", "1", "--format", "jsonl", "-o", "s3://corpus/killed/"]
    for number in (1, 3):
        with subprocess.Popen(command) as driver:
            while driver.poll() is None and _num_parts(store) < number:
                time.sleep(0.01)
            driver.kill()
        assert _num_parts(store) >= number
        found = without_times(objects(store, "corpus/killed"))
        assert all(expected[name] == data for name, data in found.items())
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, "parts already exist" in done.stderr) == (0, True), done.stderr
    assert without_times(objects(store, "corpus/killed")) == expected


def _num_parts(s3):
    selector = pyarrow.fs.FileSelector("corpus/killed", allow_not_found=True, recursive=True)
    return sum(info.path.endswith(".jsonl") for info in s3.get_file_info(selector))


def test_one_file_goes_to_and_comes_from_a_store(store, shards, tmp_path):
    command = [sys.executable, "-m", "arborand", "sample", "-k", "2", "--seed", "1"]
    subprocess.run([*command, shards, "-o", tmp_path / "t.parquet"], check=True)
    subprocess.run([*command, "s3://corpus/scores/", "-o", "s3://corpus/t.parquet"], check=True)
    with store.open_input_stream("corpus/t.parquet") as file:
        assert file.read() == (tmp_path / "t.parquet").read_bytes()
