"""Full devices, damaged inputs, and memory that does not grow with the corpus."""

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

from arborand.formats import arrays, records
from tests.command_line import call, random_corpus
from tests.processes import run_script

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    random_corpus(45, seed=4).save(folder / "scores.npz")
    return folder


def test_a_disk_that_is_full_at_the_last_moment_is_one_message(
    folder, tmp_path, monkeypatch, capsysbinary
):
    def full(self):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "s.safetensors")

    out = tmp_path / "s.safetensors"
    with monkeypatch.context() as patch:
        patch.setattr(arrays.SafetensorsWriter, "close", full)
        result = call(patch, capsysbinary, "convert", folder / "scores.npz", out)
    assert (result.status, list(tmp_path.iterdir())) == (1, [])
    assert "No space left on device" in result.err
    again = call(monkeypatch, capsysbinary, "convert", folder / "scores.npz", out)
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
    monkeypatch.setattr(records, "RUN_VALUES", 700)
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


def write_sparse_npy(path: Path, num_records: int, size: int) -> None:
    """Write a stack of matrices of zeros that takes no space on the disk."""
    header = {"descr": "<f8", "fortran_order": False, "shape": (num_records, size, size)}
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + num_records * size * size * 8)


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
    for num_trees in (10_000, 50_000):  # the first fill a row group already
        out = tmp_path / f"{num_trees}.parquet"
        arguments = ("sample", tmp_path / "one.npy", "-k", num_trees, "--seed", 1, "-o", out)
        peak = run_script(
            f"""
            import contextlib, io, sys
            from arborand.cli import main
            from tests.processes import peak_memory
            sys.argv = {["arborand", *map(str, arguments)]!r}
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
                main()
            print(peak_memory())
            """
        )
        assert pyarrow.parquet.ParquetFile(out).metadata.num_rows == num_trees
        peaks.append(peak / 1024)
    # The heads of 40,000 trees more are 80 MB; with the copies that writing takes, 240 MB.
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
