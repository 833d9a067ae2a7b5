"""Nothing lost, nothing half-made: jobs that are killed, interrupted, or out of disk space."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

from arborand import corpus
from arborand.corpus import engines, storage
from arborand.corpus import job as jobs
from arborand.corpus.engines import Progress
from arborand.errors import OutputError
from tests import faults
from tests.command_line import call, conllu_of, random_corpus, without_times

KILLED = -9
FORMATS = ("parquet", "jsonl", "conllu", "npz")


@pytest.fixture(scope="module")
def runs():
    """Run commands with faults; all tests share the process that they are forked from."""
    with subprocess.Popen(
        [sys.executable, faults.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def answer(*argv: object, fault: list | None = None) -> tuple[int, str, int]:
            entry = {"argv": [str(word) for word in argv], "fault": fault}
            process.stdin.write(json.dumps(entry) + "\n")
            process.stdin.flush()
            return tuple(json.loads(process.stdout.readline()))

        yield answer
        process.stdin.close()


def save_shards(folder: Path, *, count: int = 4, seed: int = 4) -> Path:
    """Write a corpus in several files, of several formats; and the words of all of it."""
    shards = folder / "scores"
    shards.mkdir(parents=True)
    words = []
    for i in range(count):
        part = random_corpus(9, seed=seed + i, longest=9)
        part.sent_ids[:] = [f"s-{i}-{j}" for j in range(9)]
        part.save(shards / f"shard-{i}.npz")
        words.append(conllu_of(part))
    (folder / "words.conllu").write_text("".join(words))
    return shards


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    return save_shards(tmp_path_factory.mktemp("corpus"))


def content(folder: Path) -> dict[str, bytes]:
    """Read all files of a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def same_but_times(out: Path, whole: Path) -> bool:
    """Compare two folders; the inputs may have been written again in between."""
    return without_times(content(out)) == without_times(content(whole))


def asides(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if storage.is_temporary(path.name)]


def visible_is_right(folder: Path, whole: dict[str, bytes]) -> bool:
    """Tell whether everything under a final name is what it will be at the end."""
    return all(
        whole.get(name) == data
        for name, data in content(folder).items()
        if not storage.is_temporary(name.rpartition("/")[2])
    )


def sample(shards: Path, out: object, kind: str, *options: object) -> list[object]:
    words = ["--conllu", shards.parent / "words.conllu"] if kind == "conllu" else []
    options = ("-k", 5, "--seed", 1, "--format", kind, *words, *options)
    return ["sample", shards, *options, "-o", f"{out}/"]


# ---- kill -9


@pytest.mark.slow
def test_a_job_killed_at_30_random_points_ends_in_the_same_bytes(runs, shards, tmp_path):
    seed = int.from_bytes(os.urandom(4), "little")
    rng = np.random.default_rng(seed)
    torn, undisturbed = 0, {}
    for kind in FORMATS:
        status, message, num_events = runs(*sample(shards, tmp_path / kind, kind))
        assert (status, message) == (0, "")
        undisturbed[kind] = content(tmp_path / kind), num_events
    for number, kind in enumerate(FORMATS * 8):
        expected, last = undisturbed[kind]
        out = tmp_path / f"{kind}-{number}"
        point = int(rng.integers(1, last + 1))
        status, message, reached = runs(*sample(shards, out, kind), fault=["killed", point])
        state = f"seed {seed}, {kind}, event {point} of {last}, left {asides(out)}"
        print(state, [name for name in content(out) if name.endswith(".done")])
        assert (status, reached) == (KILLED, point), state
        assert visible_is_right(out, expected), state
        torn += len(asides(out)) > 0
        # Never refused, however soon; and now and then killed again.
        if number % 4 == 0:
            runs(*sample(shards, out, kind), fault=["killed", int(rng.integers(1, 20))])
            assert visible_is_right(out, expected), state
        status, message, _ = runs(*sample(shards, out, kind))
        assert status == 0, (state, message)
        assert content(out) == expected, state
    assert torn >= 20, f"seed {seed}"


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(("fault", "status"), [("terminated", 143), ("interrupted", 130)])
def test_an_interrupted_job_leaves_nothing_half_made(fault, status, kind, runs, shards, tmp_path):
    whole, out = tmp_path / "whole", tmp_path / "out"
    *_, num_events = runs(*sample(shards, whole, kind))
    assert num_events > 8
    for point in (3, num_events // 2):
        found, message, _ = runs(*sample(shards, out, kind), fault=[fault, point])
        assert (found, "Traceback" in message) == (status, False), message
        assert asides(out) == []
        assert visible_is_right(out, content(whole))
    assert runs(*sample(shards, out, kind))[0] == 0
    assert content(out) == content(whole)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_full_disk_is_one_message_and_what_is_finished_is_kept(kind, runs, shards, tmp_path):
    whole, out = tmp_path / "whole", tmp_path / "out"
    command = [*sample(shards, whole, kind)[:-1], f"{whole}/"]
    assert runs(*command)[0] == 0
    sizes = sorted(len(data) for name, data in content(whole).items() if name.endswith(kind))
    status, message, _ = runs(*sample(shards, out, kind), fault=["full disk", sizes[-1] - 1])
    assert status == 1
    assert re.search(rf"{re.escape(str(out))}/shard-\d\.{kind}: File too large", message)
    assert "rerun the same command to resume" in message
    assert "Traceback" not in message
    assert asides(out) == []
    assert runs(*sample(shards, out, kind))[0] == 0
    assert content(out) == content(whole)


def test_a_full_disk_names_the_file_or_the_folder_for_temporary_files(
    runs, shards, tmp_path, monkeypatch
):
    out = tmp_path / "t.jsonl"
    status, message, _ = runs("sample", shards, "--seed", 1, "-o", out, fault=["full disk", 1000])
    assert (status, message) == (1, f"arborand: {out}: File too large\n")
    pytest.importorskip("fsspec")

    def full(*arguments):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(jobs._Hashed, "write", full)
    with pytest.raises(corpus.StoppedError, match=f"^{tempfile.gettempdir()}: No space left"):
        corpus.run("sample", shards, "memory://full/", seed=1)


def test_a_file_is_whole_or_not_there(runs, shards, tmp_path):
    old = tmp_path / "t.parquet"
    old.write_bytes(b"the result of yesterday")
    command = ("sample", shards, "-k", 5, "--seed", 1, "-o", old)
    for fault in ("terminated", "interrupted", "killed"):
        assert runs(*command, fault=[fault, 1])[0] != 0
        assert old.read_bytes() == b"the result of yesterday"
    assert len(asides(tmp_path)) == 1  # of the run that was killed
    assert runs(*command)[0] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


# ---- processes


def test_parts_of_workers_that_are_killed_are_made_again(shards, tmp_path, monkeypatch):
    corpus.run("sample", shards, tmp_path / "whole", num_trees=5, seed=1)
    processes, made, number = [], [], itertools.count()

    class Recorded(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            if next(number) == 1:  # it is caught with its part, however fast the first one is
                self.send_signal(signal.SIGSTOP)
            processes.append(self)

    monkeypatch.setattr(engines.subprocess, "Popen", Recorded)

    def kill(event):
        made.append(event)
        if len(made) == 1:
            while len(processes) < 2:
                time.sleep(0.01)
            for process in processes:
                process.send_signal(signal.SIGKILL)
            # What it would have left if it had been killed while it wrote.
            left = f".arborand-{storage._machine()}-{processes[1].pid}-{0:016x}"
            (tmp_path / "out" / left).write_bytes(b"half of a part")

    status = corpus.run(
        "sample", shards, tmp_path / "out", num_trees=5, seed=1, workers=2, tell=kill
    )
    assert status.is_complete
    assert len(processes) > 2
    assert all(process.returncode is not None for process in processes)
    assert content(tmp_path / "out") == content(tmp_path / "whole")
    assert asides(tmp_path / "out") == []


def test_a_worker_that_dies_again_and_again_ends_the_job(shards, tmp_path, monkeypatch):
    start = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"

    class Mortal(subprocess.Popen):
        def __init__(self, arguments, **options):
            super().__init__([*arguments[:-1], start], **options)

    monkeypatch.setattr(engines.subprocess, "Popen", Mortal)
    with pytest.raises(corpus.StoppedError, match=r"process died 3 times \(exit status -9\)"):
        corpus.run("sample", shards, tmp_path / "out", seed=1, workers=2)
    failed = corpus.read_status(str(tmp_path / "out")).failed
    assert failed
    assert all("process died 3 times" in reason for reason in failed.values())


def children_of(process: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except (OSError, ValueError):
            continue
        if entry.name.isdigit() and int(fields[1]) == process and fields[0] != "Z":
            found.append(int(entry.name))
    return found


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="lists processes by /proc")
@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_end_with_their_driver(fault, tmp_path):
    scores, out = tmp_path / "scores", tmp_path / "out"
    scores.mkdir()
    for i in range(2):  # more work than any machine does while a test runs
        np.save(scores / f"{i}.npy", np.zeros((20_000, 9, 9)))
    command = [sys.executable, "-m", "arborand", "sample", scores, "-k", "100000", "--seed", "1"]
    command += ["--workers", "2", "--format", "jsonl", "-o", f"{out}/"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as driver:
        workers: list[int] = []
        while len(workers) < 2 or len(asides(out)) < 2:
            assert driver.poll() is None, driver.stderr.read()
            workers = children_of(driver.pid)
            time.sleep(0.01)
        driver.send_signal(fault)
        driver.communicate()
    while any(map(is_running, workers)):
        time.sleep(0.01)
    assert asides(out) == []
    assert [name for name in content(out) if not name.startswith("_")] == []


@pytest.mark.slow
def test_two_runs_of_one_job_at_once_are_harmless(shards, tmp_path):
    corpus.run("sample", shards, tmp_path / "whole", num_trees=50, seed=1)
    command = [sys.executable, "-m", "arborand", "sample", shards, "-k", "50", "--seed", "1"]
    command += ["-o", f"{tmp_path / 'out'}/"]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(2)]
    for one in both:
        _, message = one.communicate()
        assert one.returncode == 0, message
    assert content(tmp_path / "out") == content(tmp_path / "whole")


def test_a_name_that_vanishes_while_it_is_written_costs_one_more_try(shards, tmp_path, monkeypatch):
    corpus.run("sample", shards, tmp_path / "whole", num_trees=5, seed=1)
    replace, lost = os.replace, []

    def fail_once(source, target):
        if str(target).endswith("shard-2.parquet") and not lost:
            lost.append(source)
            os.unlink(source)
        replace(source, target)

    monkeypatch.setattr(storage.os, "replace", fail_once)
    corpus.run("sample", shards, tmp_path / "out", num_trees=5, seed=1)
    assert len(lost) == 1
    assert content(tmp_path / "out") == content(tmp_path / "whole")


# ---- inputs and outputs that change


@pytest.fixture
def job(tmp_path, monkeypatch, capsysbinary):
    """Make a corpus, the folder of an undisturbed run, and a way to run the job."""
    shards = save_shards(tmp_path / "corpus")
    corpus.run("sample", shards, tmp_path / "whole", num_trees=5, seed=1)

    def again(*options: object):
        arguments = ("-k", 5, "--seed", 1, *options, "-o", f"{tmp_path / 'out'}/")
        return call(monkeypatch, capsysbinary, "sample", shards, *arguments)

    return shards, again


def test_a_shard_that_vanishes_or_changes_is_named(job, tmp_path):
    shards, again = job
    assert again().status == 0
    expected = content(tmp_path / "out")
    (tmp_path / "out" / "shard-1.parquet").unlink()
    shard, aside = shards / "shard-3.npz", tmp_path / "aside.npz"
    shard.rename(aside)
    result = again()
    assert result.status == 1
    assert "belongs to another job: inputs files was 4 and is 3" in result.err
    assert "the input of 'shard-3.parquet' is missing" in result.err
    random_corpus(9, seed=99).save(shard)
    result = again()
    assert result.status == 1
    assert "the input of 'shard-3.parquet' has changed" in result.err
    aside.replace(shard)
    aside.write_bytes(shard.read_bytes())
    (shards / "shard-4.npz").write_bytes(shard.read_bytes())
    assert "the input of 'shard-4.parquet' is new" in again().err
    (shards / "shard-4.npz").unlink()
    result = again()
    assert (result.status, "3 of 4 parts already exist" in result.err) == (0, True)
    assert content(tmp_path / "out") == expected == content(tmp_path / "whole")


def test_a_shard_that_changes_after_the_plan_is_named(job, tmp_path):
    shards, _ = job
    good = (shards / "shard-3.npz").read_bytes()

    def change(event):
        random_corpus(9, seed=99).save(shards / "shard-3.npz")

    with pytest.raises(corpus.StoppedError, match=r"shard-3\.npz has changed since"):
        corpus.run("sample", shards, tmp_path / "out", num_trees=5, seed=1, tell=change)
    (shards / "shard-3.npz").write_bytes(good)
    assert list(corpus.read_status(str(tmp_path / "out")).failed) == ["shard-3.parquet"]
    corpus.run("sample", shards, tmp_path / "out", num_trees=5, seed=1)
    assert same_but_times(tmp_path / "out", tmp_path / "whole")


def save_scores(path, seed, count=40, *, bounds=True):
    """Write Parquet whose footer tells nothing of the scores but, with `bounds`, the extremes."""
    rng = np.random.default_rng(seed)
    stack = rng.uniform(-1, 1, (count, 25)).astype("f4")
    stack[0, :2] = -1, 1
    table = pyarrow.table({"sent_id": list(map(str, range(count))), "log_weights": list(stack)})
    options = {"use_dictionary": ["sent_id"], "write_statistics": bounds, "compression": "none"}
    pyarrow.parquet.write_table(table, path, **options)


@pytest.mark.parametrize("where", ["", "memory://"])
@pytest.mark.parametrize("bounds", [True, False])
def test_a_shard_whose_footer_stays_the_same_is_compared_by_its_bytes(
    bounds, where, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("scores").mkdir()
    for seed, name in enumerate("ab"):
        save_scores(f"scores/{name}.parquet", seed, bounds=bounds)

    def run():
        if where:
            memory = pytest.importorskip("fsspec").filesystem("memory")
            memory.pipe({f"/changing/{p.name}": p.read_bytes() for p in Path("scores").iterdir()})
        scores = f"{where}changing/" if where else "scores"
        return corpus.run("sample", scores, "out", num_trees=3, seed=1)

    run()
    before, changed = content(Path("out")), Path("scores/b.parquet")
    good = changed.read_bytes()
    save_scores(changed, 9, bounds=bounds)
    footer = int.from_bytes(good[-8:-4], "little") + 8
    assert changed.read_bytes()[-footer:] == good[-footer:]
    assert changed.stat().st_size == len(good)
    assert changed.read_bytes() != good
    for missing in (("out/_SUCCESS",), ("out/a.parquet",)):
        for name in missing:
            Path(name).unlink(missing_ok=True)
        with pytest.raises(OutputError, match=r"job: the input of 'b\.parquet' has changed"):
            run()
    # Only the time differs: it is the same job.
    changed.write_bytes(good)
    read, sha256_of = [], jobs.shard_sha256
    monkeypatch.setattr(jobs, "shard_sha256", lambda shard: read.append(1) or sha256_of(shard))
    assert run().is_complete
    assert read
    assert without_times(content(Path("out"))) == without_times(before)


def test_what_was_not_written_since_is_not_read(job, tmp_path, monkeypatch):
    _, again = job
    assert again().status == 0
    (tmp_path / "out" / "shard-1.parquet").unlink()
    monkeypatch.setattr(jobs, "shard_sha256", lambda shard: pytest.fail("it is read"))
    assert again().status == 0


@pytest.mark.parametrize("moment", ["between two parts", "within a part"])
def test_a_file_that_changes_while_its_parts_are_made_is_named(moment, tmp_path, monkeypatch):
    scores, out = tmp_path / "scores.parquet", tmp_path / "out"
    save_scores(scores, 0)
    good, is_within = scores.read_bytes(), moment == "within a part"
    run = partial(corpus.run, "sample", scores, seed=1, part_sentences=10)
    run(tmp_path / "whole")

    def change(event):
        if event.part == "scores-00001.parquet" and isinstance(event, Progress) == is_within:
            save_scores(scores, 9)

    with pytest.raises(corpus.StoppedError, match=r"scores\.parquet has changed since"):
        run(out, tell=change)
    parts = [f"scores-0000{i}.parquet" for i in range(4)]
    made = parts[: 1 if is_within else 2]
    assert sorted(path.name for path in out.glob("*.parquet")) == made
    with pytest.raises(OutputError, match=r"the input of 'scores-00000\.parquet'"):
        run(out)
    scores.write_bytes(good)
    assert run(out).is_complete
    assert same_but_times(out, tmp_path / "whole")


def test_a_damaged_shard_in_the_middle_stops_the_job_and_keeps_the_others(job, tmp_path):
    shards, again = job
    good = (shards / "shard-2.npz").read_bytes()
    damaged = bytearray(good)
    damaged[len(good) // 2] ^= 0xFF  # its directory, at the end, is as it was
    (shards / "shard-2.npz").write_bytes(damaged)
    result = again("--on-error", "skip")
    assert result.status == 1
    assert "shard-2.npz: scores is truncated or damaged" in result.err
    assert sorted(path.name for path in (tmp_path / "out").glob("*.parquet")) == [
        "shard-0.parquet",
        "shard-1.parquet",
    ]
    (shards / "shard-2.npz").write_bytes(good)
    assert again().status == 0
    assert same_but_times(tmp_path / "out", tmp_path / "whole")


def test_an_output_that_is_read_only_is_one_message(job, tmp_path, monkeypatch):
    _, again = job
    open_file = os.open

    def refuse(path, flags, *others, **options):
        if flags & os.O_CREAT and str(path).startswith(str(tmp_path / "out")):
            raise OSError(30, os.strerror(30), str(path))
        return open_file(path, flags, *others, **options)

    with monkeypatch.context() as patch:
        patch.setattr(storage.os, "open", refuse)
        result = again()
    assert result.status == 1
    assert f"{tmp_path}/out/_arborand/job.json: Read-only file system" in result.err
    assert "Traceback" not in result.err
    assert again().status == 0
    assert content(tmp_path / "out") == content(tmp_path / "whole")
    # What is finished needs no writing.
    with monkeypatch.context() as patch:
        patch.setattr(storage.os, "open", refuse)
        result = again()
    assert (result.status, result.out.decode()) == (0, f"written: {tmp_path}/out/ (4 parts)\n")
    assert result.err == "arborand: 4 of 4 parts already exist\n"


# ---- jobs that are discarded


def same_sizes(folder: Path) -> Path:
    """Make shards whose parts have the same size whatever the seed."""
    folder.mkdir()
    for name in "abc":
        np.save(folder / f"{name}.npy", np.zeros((30, 3, 3)))
    return folder


@pytest.mark.parametrize("where", ["", "memory://"])
@pytest.mark.parametrize("moment", ["within a part", "after a part", "after the last part"])
@pytest.mark.parametrize("same", [True, False])
def test_what_is_left_of_a_discarded_job_never_appears(same, moment, where, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scores, names = same_sizes(Path("scores")), {"a.npz", "b.npz", "c.npz"}
    options = {"format": "npz", "num_trees": 2}
    out = f"{where}{tmp_path.name}/out" if where else "out"
    if where:
        pytest.importorskip("fsspec").filesystem("memory").mkdir(f"/{tmp_path.name}")
    new = 1 if same else 2
    corpus.run("sample", scores, "whole", seed=new, **options)
    happened = []

    def discard(event):
        part, is_within = ("c" if "last" in moment else "b"), moment == "within a part"
        if (
            event.part == f"{part}.npz"
            and isinstance(event, Progress) == is_within
            and not happened
        ):
            happened.append(event)
            status = corpus.run("sample", scores, out, seed=new, restart=True, **options)
            assert status.is_complete

    old = partial(corpus.run, "sample", scores, out, seed=1, tell=discard, **options)
    if same:  # the other run has made the same
        assert old().is_complete
    else:
        with pytest.raises(OutputError, match=r"another job now: .* discarded with --restart$"):
            old()
    assert happened
    folder = fsspec_content(out) if where else content(Path(out))
    assert folder == content(Path("whole"))
    assert {name for name in folder if name.endswith(".npz")} == names


def fsspec_content(where: str) -> dict[str, bytes]:
    memory = pytest.importorskip("fsspec").filesystem("memory")
    root = "/" + where.partition("://")[2]
    return {name.removeprefix(f"{root}/"): memory.cat(name) for name in memory.find(root)}


@pytest.mark.slow
def test_a_command_says_that_it_discards_what_another_run_is_making(tmp_path):
    scores, out = same_sizes(tmp_path / "scores"), tmp_path / "out"
    corpus.run("sample", scores, tmp_path / "whole", seed=2)
    command = [sys.executable, "-m", "arborand", "sample", scores, "-o", f"{out}/"]
    endless = [*command, "-k", "30000000", "--seed", "1", "--format", "jsonl"]
    with subprocess.Popen(endless) as old:
        try:
            while not asides(out):
                assert old.poll() is None
                time.sleep(0.01)
            new = [*command, "--seed", "2", "--restart"]
            done = subprocess.run(new, check=True, stderr=subprocess.PIPE, text=True)
            assert "another run was writing to" in done.stderr
            assert "both write the same" not in done.stderr
            assert content(out) == content(tmp_path / "whole")
        finally:
            old.kill()


def test_a_job_that_is_half_discarded_can_be_discarded(tmp_path, monkeypatch):
    scores, out = same_sizes(tmp_path / "scores"), tmp_path / "out"
    run = partial(corpus.run, "sample", scores, format="npz")
    run(tmp_path / "whole", seed=2)
    remove = storage.Folder.remove
    for left in range(1, 8):
        run(out, seed=1, restart=True)
        count = itertools.count()

        def killed(self, name, count=count, left=left):
            if next(count) == left:
                raise KeyboardInterrupt
            remove(self, name)

        with monkeypatch.context() as patch:
            patch.setattr(storage.Folder, "remove", killed)
            with pytest.raises(KeyboardInterrupt):
                run(out, seed=2, restart=True)
        assert not corpus.read_status(str(out)).is_complete
        with pytest.raises(OutputError, match="discarded was True"):
            run(out, seed=2)
        run(out, seed=2, restart=True)
        assert content(out) == content(tmp_path / "whole")


@pytest.mark.slow
def test_a_part_that_is_lost_makes_a_job_incomplete(job, tmp_path, monkeypatch, capsysbinary):
    _, again = job
    assert again().status == 0
    (tmp_path / "out" / "shard-1.parquet").unlink()
    assert not corpus.read_status(str(tmp_path / "out")).is_complete
    shown = call(monkeypatch, capsysbinary, "status", tmp_path / "out")
    assert shown.status == 1
    assert " parts      3 of 4 " in shown.out.decode()
    assert "not complete: rerun the original command to resume" in shown.out.decode()
    assert again().status == 0
    assert call(monkeypatch, capsysbinary, "status", tmp_path / "out").status == 0
    assert content(tmp_path / "out") == content(tmp_path / "whole")
