"""Damaged files by the thousand: none may end a command in anything but a message.

``make fuzz-files`` makes 10,000 mutants of every kind of file that is read, and runs ``check`` or
``convert`` on each.  A mutant is a finding if it gives a traceback, kills the process, keeps it
busy for a minute, or makes it take more than 512 MB.  The tests run a few mutants of each kind.

Archives and headers are taken apart and put together again, with the right checksums, so that
damage reaches what lies behind them.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import io
import itertools
import json
import multiprocessing
import os
import re
import resource
import sys
import tempfile
import traceback
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow
import pyarrow.parquet
import typer
from safetensors.numpy import save as save_tensors

from arborand.cli.files import check, convert
from arborand.errors import ArborandError
from arborand.formats import records
from tests.command_line import conllu_of, random_corpus

MEMORY = 512 << 20
SECONDS = 60
_PORTION = 250

# What a parser may trip over, instead of a number.
_NUMBERS = [
    *(b"0", b"-1", b"4.5", b"1e400", b"99999999999", b"4294967296", b"9223372036854775808"),
    *(b"-9223372036854775809", b"1" + b"0" * 5000, b"NaN", b"Infinity", b"null", b"true"),
    *(b'"x"', b"[]", b"{}", b"[" * 2000, b'{"a":' * 2000, b'"\\ud800"', b"\xff", b"\x1b[31m", b""),
]


class Kind(NamedTuple):
    """A kind of file: a good one, how to damage it, and the command that reads it."""

    good: bytes
    mutate: Callable[[np.random.Generator, bytes], bytes]
    command: Callable[[Path], None]


# ---- damage


def damaged_bytes(rng: np.random.Generator, data: bytes) -> bytes:
    """Flip, cut, repeat, move or overwrite bytes; or replace a number in the text."""
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        size = len(changed)
        if not size:
            break
        # Half of the damage goes to the first or last bytes, where headers and directories are.
        place = int(rng.integers(size))
        if rng.random() < 0.5:
            near = int(rng.integers(min(size, 400)))
            place = near if rng.random() < 0.5 else size - 1 - near
        length = int(rng.integers(1, 17))
        way = int(rng.integers(8))
        if way == 0:
            changed[place] ^= 1 << int(rng.integers(8))
        elif way == 1:
            changed[place : place + length] = rng.bytes(length)
        elif way == 2:
            del changed[place : place + length]
        elif way == 3:
            changed[place:place] = changed[place : place + 20 * length]
        elif way == 4:
            del changed[place:]
        elif way == 5:
            width = int(rng.choice([1, 2, 4, 8]))
            value = int(rng.choice([0, 1, 127, 128, 255, 1 << 15, 1 << 31, (1 << 63) - 1]))
            number = (value - int(rng.integers(2))) % (1 << 8 * width)
            changed[place : place + width] = number.to_bytes(width, "little")
        else:
            numbers = list(re.finditer(rb"-?\d+(\.\d+)?(e-?\d+)?", bytes(changed)))
            if numbers:
                found = numbers[int(rng.integers(len(numbers)))]
                changed[found.start() : found.end()] = _NUMBERS[int(rng.integers(len(_NUMBERS)))]
    return bytes(changed)


def damaged_archive(rng: np.random.Generator, data: bytes) -> bytes:
    """Damage the members of an archive and pack them again, or the archive itself."""
    if rng.random() < 0.4:
        return damaged_bytes(rng, data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    place = int(rng.integers(len(members)))
    name, content = members[place]
    way = rng.random()
    if way < 0.85:
        members[place] = (name, damaged_bytes(rng, content))
    elif way < 0.9:
        members.append((name, content))
    elif way < 0.95:
        other = damaged_bytes(rng, name.encode()).decode("latin-1").replace("\0", "?")
        members[place] = (other or "x", content)
    else:
        del members[place]
    packed = io.BytesIO()
    methods = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA]
    method = int(rng.choice(methods, p=[0.48, 0.48, 0.04]))
    with warnings.catch_warnings(), zipfile.ZipFile(packed, "w", method) as archive:
        warnings.simplefilter("ignore")  # two members of one name
        for name, content in members:
            archive.writestr(name, content)
    return packed.getvalue()


def damaged_tensors(rng: np.random.Generator, data: bytes) -> bytes:
    """Damage the header of a safetensors file, whose length stays right, or the file itself."""
    if rng.random() < 0.4:
        return damaged_bytes(rng, data)
    size = int.from_bytes(data[:8], "little")
    header = damaged_bytes(rng, data[8 : 8 + size])
    return len(header).to_bytes(8, "little") + header + data[8 + size :]


# ---- good files


def kinds() -> dict[str, Kind]:
    """Make a good file of every kind that is read."""
    corpus = random_corpus(12, seed=3, longest=6)
    ids = np.array([f"s-{i} é" for i in range(12)])
    ragged = {"lengths": corpus.lengths, "scores": corpus.flat.astype(np.float32)}
    padded = {"lengths": corpus.lengths, "log_weights": np.nan_to_num(corpus.padded)}
    stack = io.BytesIO()
    np.save(stack, padded["log_weights"])
    archives = {}
    for name, save, arrays in (
        ("npz", np.savez, ragged),
        ("npz compressed", np.savez_compressed, ragged),
        ("npz padded", np.savez, padded),
    ):
        file = io.BytesIO()
        save(file, sent_ids=ids, **arrays)
        archives[name] = file.getvalue()
    tensors = save_tensors(ragged, {"sent_ids": json.dumps(ids.tolist())})
    rows = pyarrow.table(
        {
            "sent_id": ids,
            "length": corpus.lengths,
            "log_weights": [m.reshape(-1) for m in corpus.matrices],
            "tokens": [[f"w{i}" for i in range(n)] for n in corpus.lengths],
        }
    )
    answer = {
        "npy": Kind(stack.getvalue(), damaged_bytes, _check),
        **{name: Kind(good, damaged_archive, _check) for name, good in archives.items()},
        "safetensors": Kind(tensors, damaged_tensors, _check),
        "parquet": Kind(_parquet(rows), damaged_bytes, _check),
        "parquet with checksums": Kind(
            _parquet(rows, write_page_checksum=True, compression="zstd"), damaged_bytes, _check
        ),
        "conllu of scores": Kind(conllu_of(corpus).encode(), damaged_bytes, _check_words),
    }
    with tempfile.TemporaryDirectory() as folder:
        scores = corpus.save(Path(folder) / "scores.npz")
        for name, mutate in (
            ("trees.jsonl", damaged_bytes),
            ("trees.conllu", damaged_bytes),
            ("trees.npz", damaged_archive),
            ("trees.parquet", damaged_bytes),
        ):
            _draw(scores, Path(folder) / name)
            good = (Path(folder) / name).read_bytes()
            answer[name] = Kind(good, mutate, _convert)
        plain = _parquet(pyarrow.parquet.read_table(Path(folder) / "trees.parquet"))
        answer["trees.parquet without checksums"] = Kind(plain, damaged_bytes, _convert)
    return answer


def _parquet(table: pyarrow.Table, **options: object) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file, row_group_size=7, **options)
    return file.getvalue()


def _draw(scores: Path, out: Path) -> None:
    from arborand.cli.commands import sample

    with contextlib.redirect_stdout(io.StringIO()):
        sample(scores=[str(scores)], num_trees=3, seed=1, output=str(out))


# ---- commands


def _check(path: Path) -> None:
    check(scores=[str(path)])


def _check_words(path: Path) -> None:
    scores = path.with_name("scores.npz")
    if not scores.exists():
        random_corpus(12, seed=3, longest=6).save(scores)
    check(scores=[str(scores)], conllu=str(path))


def _convert(path: Path) -> None:
    for ending in (".jsonl", ".npz"):
        convert(source=[str(path)], output=str(path.with_name("out" + ending)))


def examine(kind: Kind, data: bytes, path: Path) -> str:
    """Run the command on a mutant; empty if it ended as it should, else what happened."""
    path.write_bytes(data)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            kind.command(path)
    except (ArborandError, typer.Exit):
        return ""
    except BaseException:  # a panic in a Rust library is not an Exception
        return traceback.format_exc()
    return ""


def mutant(name: str, kind: Kind, number: int) -> bytes:
    """Make the mutant of this number: always the same one."""
    rng = np.random.default_rng([number, *name.encode()])
    return kind.mutate(rng, kind.good)


# ---- thousands of them


def _portion(name: str, kind: Kind, numbers: range, folder: str, sender: object) -> None:
    """Examine some mutants in a process that may die."""
    warnings.simplefilter("error")
    records.RUN_VALUES = 2000
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    for number in numbers:
        sender.send(("begins", number, ""))
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        found = examine(kind, mutant(name, kind, number), Path(folder) / "mutant")
        faulthandler.cancel_dump_traceback_later()
        taken = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10) - before
        if taken > MEMORY:
            found = found or f"took {taken >> 20} MB"
            before += taken
        if found:
            sender.send(("found", number, found))


def fuzz(name: str, kind: Kind, count: int) -> dict[int, str]:
    """Examine many mutants of one kind; what was found, by number."""
    findings: dict[int, str] = {}
    context = multiprocessing.get_context("fork")
    start = 0
    while start < count:
        numbers = range(start, min(start + _PORTION, count))
        with tempfile.TemporaryDirectory() as folder:
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_portion, args=(name, kind, numbers, folder, sender))
            process.start()
            sender.close()
            last = start
            with contextlib.suppress(EOFError):
                for event, number, text in iter(receiver.recv, None):
                    last = number
                    if event == "found":
                        findings[number] = text
            process.join()
        start = numbers.stop
        if process.exitcode:
            findings[last] = f"the process died: exit status {process.exitcode}"
            start = last + 1
    return findings


def main() -> None:
    """Examine mutants of every kind, or of some."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="mutants of each kind")
    parser.add_argument("--kind", action="append", help="one kind; may be given more than once")
    parser.add_argument("--keep", type=Path, help="a folder for the files that were found")
    chosen = parser.parse_args()
    total = 0
    for name, kind in kinds().items():
        if chosen.kind and name not in chosen.kind:
            continue
        findings = fuzz(name, kind, chosen.count)
        total += len(findings)
        print(f"{name}: {chosen.count} mutants, {len(findings)} findings", flush=True)
        for number, text in itertools.islice(findings.items(), 5):
            print(f"  mutant {number}: {text}")
            if chosen.keep:
                chosen.keep.mkdir(exist_ok=True)
                (chosen.keep / f"{name}-{number}").write_bytes(mutant(name, kind, number))
    sys.exit(total > 0)


if __name__ == "__main__":
    main()
