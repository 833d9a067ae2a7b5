"""The check of a corpus: every sentence passes the gate, and no two share an id."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from arborand.corpus.computing import Gate
from arborand.corpus.passing import NoOutput
from arborand.corpus.plan import Part, open_shard
from arborand.corpus.reading import part_runs
from arborand.corpus.running import run_to_writer
from arborand.corpus.work import Work
from arborand.formats.records import LOG_PARTITION
from arborand.formats.scores import open_scores

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from arborand.corpus.computing import Setting
    from arborand.corpus.passing import Skipped
    from arborand.corpus.plan import Shard
    from arborand.corpus.running import Inputs
    from arborand.formats.records import Rows


@dataclass(frozen=True)
class Findings:
    """What a check has found.

    Attributes
    ----------
    problems : list of Skipped
        The sentences that cannot be used.
    lengths : dict from number of words to number of usable sentences that have so many
    doubled_ids : dict from sent_id to the numbers of its sentences, or None
        The ids that several sentences share; None if no sentence has an id.
    """

    problems: list[Skipped]
    lengths: dict[int, int]
    doubled_ids: dict[str, list[int]] | None


def check_corpus(inputs: Inputs, setting: Setting, advance: Callable[[int], object]) -> Findings:
    """Look at every number of every sentence, and at all ids."""
    tally = _Tally()
    problems = run_to_writer(
        Work("check", Gate(setting), LOG_PARTITION, {}),
        inputs,
        tally.begin,
        advance=advance,
    )
    doubled_ids = None
    if any(map(_has_ids, inputs.shards)):
        bad = np.array([problem.number for problem in problems], dtype=np.int64)
        good = np.setdiff1d(np.arange(1, inputs.num_sentences + 1), bad, assume_unique=True)
        tally.add_ids([problem.sent_id for problem in problems])
        doubled_ids = _named(inputs.shards, _shared(tally.digests, np.concatenate([good, bad])))
    return Findings(problems, tally.lengths, doubled_ids)


class _Tally(NoOutput):
    """Counts sentences by their lengths, and keeps 16 bytes of each for its id."""

    def __init__(self) -> None:
        self.lengths: dict[int, int] = {}
        self.digests = bytearray()

    def write(self, rows: Rows) -> None:
        for length in rows.lengths.tolist():
            self.lengths[length] = self.lengths.get(length, 0) + 1
        self.add_ids(rows.sent_ids)

    def add_ids(self, sent_ids: list[str]) -> None:
        for sent_id in sent_ids:
            self.digests += blake2b(sent_id.encode(), digest_size=16).digest()


def _has_ids(shard: Shard) -> bool:
    with open_shard(shard) as file, open_scores(file) as scores:
        return scores.has_sent_ids


def _shared(digests: bytearray, numbers: NDArray[np.int64]) -> set[int]:
    """Find the numbers of the sentences whose id another one has, too."""
    halves = np.frombuffer(bytes(digests), dtype=np.uint64).reshape(-1, 2)
    order = np.lexsort(halves.T)
    is_same = (halves[order[1:]] == halves[order[:-1]]).all(axis=1)
    return {*numbers[order[1:][is_same]].tolist(), *numbers[order[:-1][is_same]].tolist()}


def _named(shards: list[Shard], numbers: set[int]) -> dict[str, list[int]]:
    """Look up the ids of sentences: the numbers of those of each id."""
    found: dict[str, list[int]] = {}
    parts = [Part("", shard, 0, shard.num_sentences) for shard in shards] if numbers else []
    for run in part_runs(parts, None, None):
        for number, sent_id in enumerate(run.sent_ids, run.first + 1):
            if number in numbers:
                found.setdefault(sent_id, []).append(number)
    return found
