"""What the tests of engines and object stores share."""

from __future__ import annotations

from pathlib import Path

from tests.command_line import random_corpus


def save_shards(folder: Path, count: int = 6) -> Path:
    """Write a corpus in several files."""
    folder.mkdir()
    for i in range(count):
        part = random_corpus(20, seed=i, longest=9)
        part.sent_ids[:] = [f"s-{i}-{j}" for j in range(20)]
        part.save(folder / f"shard-{i}.npz")
    return folder


def content(folder: Path) -> dict[str, bytes]:
    """Read all files of a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def patiently(start):
    """Start Ray: on a busy machine it may take longer than the half minute that it gives itself."""
    import ray

    for left in reversed(range(10)):
        try:
            return start()
        except Exception as error:
            is_late = isinstance(error, TimeoutError) or "timed out during startup" in str(error)
            if not left or not is_late:
                raise
            ray.shutdown()
    raise AssertionError
