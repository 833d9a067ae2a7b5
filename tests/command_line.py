"""What the tests of files and of the command line share."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CORPUS = Path(__file__).parent.parent / "examples" / "corpus"


class Result(NamedTuple):
    """How a command ended."""

    status: int
    out: bytes
    err: str


class Corpus(NamedTuple):
    """Scores of a few sentences."""

    sent_ids: list[str]
    matrices: list[NDArray[np.float64]]

    @property
    def lengths(self) -> NDArray[np.int32]:
        return np.array([len(matrix) - 1 for matrix in self.matrices], dtype=np.int32)

    @property
    def flat(self) -> NDArray[np.float64]:
        return np.concatenate([np.empty(0), *(matrix.reshape(-1) for matrix in self.matrices)])

    @property
    def padded(self) -> NDArray[np.float64]:
        size = int(self.lengths.max()) + 1
        padded = np.full((len(self.matrices), size, size), np.nan)  # padding is never read
        for matrix, target in zip(self.matrices, padded, strict=True):
            target[: len(matrix), : len(matrix)] = matrix
        return padded

    def save(self, path: Path) -> Path:
        sent_ids = np.array(self.sent_ids, dtype=str)
        np.savez(path, lengths=self.lengths, scores=self.flat, sent_ids=sent_ids)
        return path


def random_corpus(num_sentences: int, *, seed: int = 0, longest: int = 12) -> Corpus:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest + 1, num_sentences)
    return Corpus(
        [f"s-{i}" for i in range(num_sentences)],
        [rng.normal(0, 2, (n + 1, n + 1)) for n in lengths],
    )


def without_times(files: dict[str, bytes]) -> dict[str, object]:
    """Leave out of markers when the inputs were written, which no part depends on."""
    found: dict[str, object] = dict(files)
    for name, data in files.items():
        if name.endswith(".done"):
            marker = json.loads(data)
            assert marker["input"].pop("modified")
            found[name] = marker
    return found


def conllu_of(corpus: Corpus) -> str:
    """Write a CoNLL-U file for a corpus: words w1, w2, ... under the root."""
    blocks = []
    for sent_id, length in zip(corpus.sent_ids, corpus.lengths, strict=True):
        lines = [f"# sent_id = {sent_id}", f"# text = {sent_id} 100% text"]
        for i in range(1, length + 1):
            columns = (i, f"w{i}", f"l{i}", "NOUN", "NN", "A=B|C=D", i - 1, "dep", "_", "X=%d|Y=1")
            lines.append("\t".join(map(str, columns)))
        blocks.append("\n".join(lines) + "\n\n")
    return "".join(blocks)


def gold_file(path: Path, corpus: Corpus, gold: Sequence[Sequence[int]]) -> Path:
    """Write gold heads: '_' where they are -1; a multiword token and an empty node in each."""
    blocks = []
    for sent_id, heads in zip(corpus.sent_ids, gold, strict=True):
        lines = [f"# sent_id = {sent_id}", "1-2\tw\t_\t_\t_\t_\t_\t_\t_\t_"]
        for i, head in enumerate(heads, 1):
            column = "_" if head < 0 else head
            lines.append(f"{i}\tw{i}\t_\t_\t_\t_\t{column}\tdep\t_\t_")
        lines.append(f"{len(heads)}.1\tempty\t_\t_\t_\t_\t_\t_\t1:dep\t_")
        blocks.append("\n".join(lines) + "\n\n")
    path.write_text("".join(blocks))
    return path


def save_rows(path: Path, kind: str, layout, provenance: dict, *portions) -> Path:
    """Write rows in some format."""
    from arborand.formats.outputs import open_writer

    with path.open("wb") as file:
        writer = open_writer(file, kind, layout, provenance, spool=None)
        try:
            for rows in portions:
                writer.write(rows)
            writer.close()
        finally:
            writer.discard()
    return path


def call(monkeypatch, capsysbinary, *arguments: object, stdin: bytes = b"") -> Result:
    """Run the command line in this process."""
    from arborand.cli import main

    monkeypatch.setattr(sys, "argv", ["arborand", *map(str, arguments)])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
    status = 0
    capsysbinary.readouterr()
    try:
        main()
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 0
    out, err = capsysbinary.readouterr()
    return Result(status, out, err.decode())
