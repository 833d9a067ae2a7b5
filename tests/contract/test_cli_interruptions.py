"""Nothing lost, nothing half-made: killed runs, full disks, memory that does not grow."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from arborand.formats import containers, read_trees, sentences
from tests import interruptions
from tests.command_line import call, conllu_of, random_corpus

KILLED = -9


@pytest.fixture(scope="module")
def runs():
    """Run commands with faults; all tests share the process that they are forked from."""
    with subprocess.Popen(
        [sys.executable, interruptions.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:

        def answers(entries: list[dict]) -> list[tuple[int, str]]:
            found = []
            for entry in entries:
                process.stdin.write(json.dumps(entry) + "\n")
                process.stdin.flush()
                found.append(tuple(json.loads(process.stdout.readline())))
            return found

        yield answers
        process.stdin.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    corpus = random_corpus(45, seed=4)
    corpus.save(folder / "scores.npz")
    (folder / "corpus.conllu").write_text(conllu_of(corpus))
    corpus.matrices[30][0, 1] = np.nan
    corpus.save(folder / "bad.npz")
    return folder


FAULTS = [
    ["killed while writing", 1],
    ["killed while writing", 9],
    ["killed after a checkpoint", 6],
    ["killed before the end", 0],
    ["killed after the end", 0],
    ["interrupted", 5],
]


@pytest.mark.parametrize(
    ("command", "ending"),
    [
        ("sample", "conllu"),
        ("sample", "jsonl"),
        ("sample", "parquet"),
        ("sample", "npz"),
        ("distinct", "parquet"),
        ("skipping", "jsonl"),
        ("marginals", "npz"),
        ("convert", "safetensors"),
    ],
)
def test_a_run_that_was_killed_is_continued_to_the_same_bytes(
    command, ending, runs, folder, tmp_path
):
    scores, conllu = str(folder / "scores.npz"), str(folder / "corpus.conllu")
    arguments = {
        "sample": ["sample", scores, "-k", "5", "--seed", "1", "--conllu", conllu],
        "distinct": ["sample", scores, "-k", "5", "--seed", "1", "--without-replacement"],
        "skipping": ["sample", str(folder / "bad.npz"), "--seed", "1", "--on-error", "skip"],
        "marginals": ["marginals", scores],
        "convert": ["convert", scores],
    }[command]

    def entry(name: str, fault: list | None = None, *options: str) -> dict:
        target = [str(tmp_path / f"{name}.{ending}")]
        target = target if command == "convert" else ["-o", *target]
        return {"argv": [*arguments, *target, *options], "fault": fault}

    entries = [entry("whole")]
    for i, fault in enumerate(FAULTS):
        entries += [entry(f"cut{i}", fault), entry(f"cut{i}", None, "--resume")]
    # Killed, continued, killed again, continued again.
    entries += [
        entry("twice", ["killed after a checkpoint", 3]),
        entry("twice", ["killed while writing", 4], "--resume"),
        entry("twice", None, "--resume"),
    ]
    whole, *results, first, second, third = runs(entries)
    assert whole[0] == 0
    for i, fault in enumerate(FAULTS):
        (status, message), (resumed, problem) = results[2 * i : 2 * i + 2]
        if fault[0] == "interrupted":
            assert status == 130
            assert "interrupted; continue with --resume" in message
        else:
            assert (fault, status) == (fault, KILLED)
        assert (fault, resumed, problem) == (fault, 0, whole[1])
    assert [first[0], second[0], third[0]] == [KILLED, KILLED, 0]
    expected = (tmp_path / f"whole.{ending}").read_bytes()
    names = {
        f"whole.{ending}",
        f"twice.{ending}",
        *(f"cut{i}.{ending}" for i in range(len(FAULTS))),
    }
    assert {path.name for path in tmp_path.iterdir()} == names
    for name in names:
        assert (name, (tmp_path / name).read_bytes() == expected) == (name, True)


def test_nothing_appears_under_the_final_name_before_the_end(runs, folder, tmp_path):
    old = tmp_path / "t.parquet"
    old.write_bytes(b"the result of yesterday")
    scores = str(folder / "scores.npz")
    argv = ["sample", scores, "-k", "5", "--seed", "1", "-o", str(old)]
    [killed] = runs([{"argv": argv, "fault": ["killed before the end", 0]}])
    assert killed[0] == KILLED
    assert old.read_bytes() == b"the result of yesterday"
    again, restarted = runs([{"argv": argv}, {"argv": [*argv, "--restart"]}])
    assert again[0] == 1
    assert "continue it with --resume, or discard it with --restart" in again[1]
    assert restarted == (0, "")
    assert len(list(read_trees(old))) == 45
    assert list(tmp_path.iterdir()) == [old]


def test_another_command_does_not_continue_a_run(runs, folder, tmp_path):
    scores, bad = str(folder / "scores.npz"), str(folder / "bad.npz")
    out = ["-o", str(tmp_path / "t.jsonl")]
    results = runs(
        [
            {
                "argv": ["sample", scores, "-k", "5", "--seed", "1", *out],
                "fault": ["killed after a checkpoint", 4],
            },
            {"argv": ["sample", scores, "-k", "5", "--seed", "2", *out, "--resume"]},
            {"argv": ["sample", scores, "-k", "6", "--seed", "1", *out, "--resume"]},
            {"argv": ["sample", bad, "-k", "5", "--seed", "1", *out, "--resume"]},
            {"argv": ["marginals", scores, *out, "--resume"]},
            # Without a seed, that of the unfinished run is taken.
            {"argv": ["sample", scores, "-k", "5", *out, "--resume", "--workers", "2"]},
        ]
    )
    assert [status for status, _ in results] == [KILLED, 1, 1, 1, 1, 0]
    assert "seed was 1 and is 2" in results[1][1]
    assert "command was 'arborand sample scores.npz --num-trees 5" in results[2][1]
    assert "input sha256 was" in results[3][1]
    assert "holds was 'trees' and is 'marginals'" in results[4][1]


@pytest.mark.parametrize("ending", ["conllu", "jsonl", "parquet", "npz"])
def test_a_full_disk_is_one_message_and_can_be_continued(ending, runs, folder, tmp_path):
    scores = str(folder / "scores.npz")
    argv = ["sample", scores, "-k", "20", "--seed", "1", "-o"]
    whole, full, resumed = runs(
        [
            {"argv": [*argv, str(tmp_path / f"whole.{ending}")]},
            {"argv": [*argv, str(tmp_path / f"full.{ending}")], "fault": ["full disk", 25_000]},
            {"argv": [*argv, str(tmp_path / f"full.{ending}"), "--resume"]},
        ]
    )
    assert whole == (0, "")
    assert full[0] == 1
    assert "File too large (after sentence 's-" in full[1]
    assert "add --resume" in full[1]
    assert "Traceback" not in full[1]
    assert resumed == (0, "")
    assert {path.name for path in tmp_path.iterdir()} == {f"whole.{ending}", f"full.{ending}"}
    expected = (tmp_path / f"whole.{ending}").read_bytes()
    assert (tmp_path / f"full.{ending}").read_bytes() == expected


def test_a_disk_that_is_full_at_the_last_moment_is_one_message_too(
    folder, tmp_path, monkeypatch, capsysbinary
):
    def full(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    out = tmp_path / "s.safetensors"
    with monkeypatch.context() as patch:
        patch.setattr(containers, "create_anew", full)
        result = call(patch, capsysbinary, "convert", folder / "scores.npz", out)
    assert (result.status, out.exists()) == (1, False)
    assert "No space left on device" in result.err
    assert "add --resume" in result.err
    again = call(monkeypatch, capsysbinary, "convert", folder / "scores.npz", out, "--resume")
    assert (again.status, list(tmp_path.iterdir())) == (0, [out])


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_a_full_device_behind_a_pipe_is_one_message(ending, folder):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "arborand", "sample", folder / "scores.npz", "-k", "50",
             "-o", "-", "--format", ending],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_cut_off_in_the_middle_leaves_nothing_under_the_final_name(
    folder, tmp_path, monkeypatch, capsysbinary
):
    # Stored, not compressed, and with its directory intact: only the reading can find it out.
    whole = (folder / "scores.npz").read_bytes()
    with zipfile.ZipFile(folder / "scores.npz") as archive:
        middle = archive.getinfo("scores.npy").header_offset + 20_000
    damaged = tmp_path / "damaged.npz"
    damaged.write_bytes(whole[:middle] + bytes(1000) + whole[middle + 1000 :])
    out = tmp_path / "t.parquet"
    monkeypatch.setattr(sentences, "RUN_VALUES", 700)
    result = call(monkeypatch, capsysbinary, "sample", damaged, "--seed", 1, "-o", out)
    assert result.status == 1
    assert "damaged.npz: scores is truncated or damaged: Bad CRC-32" in result.err
    assert "(after sentence 's-" in result.err
    assert not out.exists()


# ---- memory

LIMIT = 400 << 20


def limited(kind: int, limit: int) -> None:
    resource.setrlimit(kind, (limit, limit))


def run_limited(*arguments: object, kind: int = resource.RLIMIT_AS, limit: int = LIMIT) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "arborand", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=partial(limited, kind, limit),
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"},
    )
    assert (done.returncode, done.stderr) == (0, "")


def write_sparse_npy(path: Path, num_sentences: int, size: int) -> None:
    """Write a stack of matrices of zeros that takes no space on the disk."""
    header = {"descr": "<f8", "fortran_order": False, "shape": (num_sentences, size, size)}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + num_sentences * size * size * 8)


def test_a_corpus_larger_than_the_address_space_is_sampled(tmp_path):
    scores, out = tmp_path / "scores.npy", tmp_path / "trees.jsonl"
    write_sparse_npy(scores, 3300, 128)
    assert scores.stat().st_size > LIMIT
    run_limited("sample", scores, "-k", 1, "--seed", 1, "-o", out)
    with out.open() as lines:
        assert sum(1 for _ in lines) == 1 + 3300


def test_memory_does_not_grow_with_the_number_of_trees(tmp_path):
    np.save(tmp_path / "one.npy", np.zeros((501, 501)))
    peaks = []
    for num_trees in (1_000, 40_000):
        out = tmp_path / f"{num_trees}.parquet"
        arguments = ("sample", tmp_path / "one.npy", "-k", num_trees, "--seed", 1, "-o", out)
        command = [sys.executable, "-m", "arborand", *map(str, arguments)]
        with subprocess.Popen(command) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        assert pyarrow.parquet.ParquetFile(out).metadata.num_rows == num_trees
        peaks.append(usage.ru_maxrss / 1024)
    # The heads of 40,000 trees alone are 80 MB; with the copies that writing takes, 240 MB.
    assert peaks[1] - peaks[0] < 60


@pytest.mark.parametrize("ending", ["npz", "parquet", "safetensors"])
def test_a_corpus_larger_than_the_memory_is_read(ending, tmp_path):
    count, size = 13_500, 64
    scores = tmp_path / f"scores.{ending}"
    kind, limit = resource.RLIMIT_AS, LIMIT
    if ending == "npz":
        with zipfile.ZipFile(scores, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name, dtype, shape in (
                ("lengths", "<i8", (count,)),
                ("log_weights", "<f8", (count, size, size)),
            ):
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    header = {"descr": dtype, "fortran_order": False, "shape": shape}
                    np.lib.format.write_array_header_1_0(member, header)
                    if name == "lengths":
                        member.write(np.full(count, size - 1, dtype="<i8").tobytes())
                        continue
                    for _ in range(count // 100):
                        member.write(bytes(100 * size * size * 8))
    elif ending == "parquet":
        # pyarrow itself takes about 300 MB of addresses.
        limit = LIMIT + (200 << 20)
        count = 20_000
        kind_of_row = pyarrow.schema([("log_weights", pyarrow.list_(pyarrow.float64()))])
        with pyarrow.parquet.ParquetWriter(scores, kind_of_row, compression="zstd") as writer:
            zeros = pyarrow.array(np.zeros(4000 * size * size))
            ends = pyarrow.array(np.arange(0, 4000 * size * size + 1, size * size, dtype=np.int32))
            rows = pyarrow.table([pyarrow.ListArray.from_arrays(ends, zeros)], schema=kind_of_row)
            for _ in range(count // 4000):
                writer.write_table(rows, row_group_size=4000)
    else:
        # The library maps the file, which takes addresses but no memory.
        kind = resource.RLIMIT_DATA
        header = json.dumps(
            {
                "log_weights": {
                    "dtype": "F64",
                    "shape": [count, size, size],
                    "data_offsets": [0, count * size * size * 8],
                }
            }
        ).encode()
        with scores.open("wb") as file:
            file.write(len(header).to_bytes(8, "little") + header)
            file.truncate(file.tell() + count * size * size * 8)
    assert count * size * size * 8 > limit
    run_limited("check", scores, kind=kind, limit=limit)
