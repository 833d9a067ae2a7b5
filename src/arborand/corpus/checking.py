"""The check of a corpus: every sentence passes the gate, and no two share an id."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from arborand.corpus.computing import Gate
from arborand.corpus.passing import NoOutput
from arborand.corpus.plan import open_shard
from arborand.corpus.running import run_to_writer
from arborand.corpus.work import Work
from arborand.formats.rows import LOG_PARTITION
from arborand.formats.scores import open_scores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from arborand.corpus.computing import Setting
    from arborand.corpus.passing import Skipped
    from arborand.corpus.plan import Shard
    from arborand.corpus.running import Inputs
    from arborand.formats.rows import Rows


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
        skip=True,
        may_skip_all=True,
        advance=advance,
    )
    return Findings(problems, tally.lengths, _doubled_ids(inputs.shards))


class _Tally(NoOutput):
    """Counts sentences by their lengths."""

    def __init__(self) -> None:
        self.lengths: dict[int, int] = {}

    def write(self, rows: Rows) -> None:
        for length in rows.lengths.tolist():
            self.lengths[length] = self.lengths.get(length, 0) + 1


def _all_ids(shards: list[Shard]) -> Iterator[str]:
    for shard in shards:
        with open_shard(shard) as file, open_scores(file) as scores:
            if scores.has_sent_ids:
                yield from chain.from_iterable(scores.sent_ids())
            else:  # their numbers, which nothing else has
                yield from (f"\0{shard.first + i}" for i in range(scores.num_sentences))


def _doubled_ids(shards: list[Shard]) -> dict[str, list[int]] | None:
    """Find the ids that several sentences share, in 16 bytes of memory per sentence."""
    digests = bytearray()
    has_ids = False
    for sent_id in _all_ids(shards):
        has_ids = has_ids or not sent_id.startswith("\0")
        digests += blake2b(sent_id.encode(), digest_size=16).digest()
    if not has_ids:
        return None
    halves = np.frombuffer(bytes(digests), dtype=np.uint64).reshape(-1, 2)
    order = np.lexsort(halves.T)
    is_same = (halves[order[1:]] == halves[order[:-1]]).all(axis=1)
    shared = {*order[1:][is_same].tolist(), *order[:-1][is_same].tolist()}
    found: dict[str, list[int]] = {}
    for index, sent_id in enumerate(_all_ids(shards) if shared else ()):
        if index in shared:
            found.setdefault(sent_id, []).append(index + 1)
    return found
