"""Where two files of scores for the same sentences differ, and which one is right there.

Sentences of the second file are found by their ids, in any order; or by their place, if one of the
files has no ids.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from arborand.corpus.computations import given_heads, sentence_rows
from arborand.corpus.selection import Largest
from arborand.corpus.shards import Part
from arborand.corpus.stream import Corpus, NoOutput
from arborand.errors import FormatError
from arborand.evaluation import Summary, evaluate
from arborand.formats.records import Layout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from arborand.corpus.computations import Setting
    from arborand.corpus.shards import Shard
    from arborand.formats.records import Rows, Sentences

# The last five are empty without gold.  KL is in nats; the others are counts of words.
CONTRAST = Layout(
    "contrast",
    (
        "kl_to_second",
        "kl_to_first",
        "different_heads",
        "expected_agreement",
        "gold_words",
        "first_correct",
        "second_correct",
        "first_log_prob",
        "second_log_prob",
    ),
)
# The place of an id that several sentences share.
_SHARED = -1
Order = Literal["kl", "heads", "length", "file"]


class Second:
    """The sentences of the second corpus, read sequentially while they are in the same order.

    In another order, up to the whole corpus is read for each run of the first.
    """

    def __init__(self, shards: list[Shard], *, by_id: bool) -> None:
        self.name = (
            shards[0].shown if len(shards) == 1 else f"the second input ({len(shards)} files)"
        )
        self._shards = shards
        self._total = sum(shard.num_sentences for shard in shards)
        # For each sentence, the number of the one in the first corpus that has its id.
        self._partners = np.full(self._total, -1, dtype=np.int64)
        self._places: dict[str, int] | None = None
        if by_id:
            self._places = {}
            for run in self._runs(0):
                for place, sent_id in enumerate(run.sent_ids, run.first):
                    self._places[sent_id] = _SHARED if sent_id in self._places else place
        self._open: Iterator[Sentences] = iter(())
        self._run: Sentences | None = None

    def like(self, run: Sentences) -> Sentences:
        """Find the sentences of the second corpus that correspond to a run.

        Raises
        ------
        FormatError
            If one is missing, shares its id with another, or has a different number of words.
        """
        places = [self._place(run, i) for i in range(len(run))]
        found: dict[int, NDArray[Any]] = {}
        # In the order of the second corpus, so each of its runs is read at most once.
        for i in sorted(range(len(run)), key=places.__getitem__):
            # Copied, because a view would keep its whole run in memory.
            found[i] = self._one(run, i, places[i]).scores.copy()
        return replace(run, scores=np.concatenate([found[i] for i in range(len(run))]))

    def _one(self, run: Sentences, i: int, place: int) -> Sentences:
        one = self._at(place)
        one.check_usable()
        if one.lengths[0] != run.lengths[i]:
            raise FormatError(
                f"{self.name} has scores for {one.lengths[0]} words, the first file for "
                f"{run.lengths[i]}"
            )
        return one

    def _place(self, run: Sentences, i: int) -> int:
        number, sent_id = run.first + i, run.sent_ids[i]
        if self._places is None:
            if number >= self._total:
                plural = "s" if self._total != 1 else ""
                raise FormatError(f"{self.name} has only {self._total} sentence{plural}")
            return number
        place = self._places.get(sent_id)
        if place is None:
            raise FormatError(f"{self.name} has no sentence with this sent_id")
        if place == _SHARED or self._partners[place] not in (-1, number):
            raise FormatError(
                "several sentences have this sent_id, so it does not tell which of them to compare"
            )
        self._partners[place] = number
        return place

    def _at(self, place: int) -> Sentences:
        # What is probably in the next run is not worth opening the file again.
        if self._run is None or not 0 <= place - self._run.first < 2 * len(self._run):
            self._open = self._runs(place)
            self._run = next(self._open)
        while place >= self._run.first + len(self._run):
            self._run = next(self._open)
        return self._run.part(place - self._run.first, place - self._run.first + 1)

    def _runs(self, place: int) -> Iterator[Sentences]:
        """Read the sentences, starting at a place."""
        parts = [
            Part("", shard, max(0, place - shard.first), shard.num_sentences)
            for shard in self._shards
            if shard.first + shard.num_sentences > place
        ]
        return Corpus(parts).runs()


@dataclass(frozen=True)
class Totals:
    """What was found in all sentences.

    Attributes
    ----------
    num_sentences, num_words : int
    kl_to_second, kl_to_first : float
        Summed over the sentences for which both are finite.
    num_infinite : int
        The number of sentences for which one of them is not.
    different_heads : int
    expected_agreement : float
        The expected number of words with the same head in a random tree of each.
    first, second : Summary
        The comparisons with gold.
    first_only, second_only, neither : int
        Among the words with a gold head and different heads in the best trees: which is right.
    """

    num_sentences: int = 0
    num_words: int = 0
    kl_to_second: float = 0.0
    kl_to_first: float = 0.0
    num_infinite: int = 0
    different_heads: int = 0
    expected_agreement: float = 0.0
    first: Summary = Summary()  # noqa: RUF009, frozen
    second: Summary = Summary()  # noqa: RUF009
    first_only: int = 0
    second_only: int = 0
    neither: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, for JSON; without gold, omit comparisons with it."""
        num_finite = self.num_sentences - self.num_infinite
        answer: dict[str, Any] = {
            "num_sentences": self.num_sentences,
            "num_words": self.num_words,
            "mean_kl_to_second": _mean(self.kl_to_second, num_finite),
            "mean_kl_to_first": _mean(self.kl_to_first, num_finite),
            "num_infinite": self.num_infinite,
            "different_heads": self.different_heads,
            "expected_agreement": self.expected_agreement,
        }
        if self.first.num_words:
            names = ("first_only", "second_only", "neither")
            answer["gold"] = {
                **{name: getattr(self, name) for name in names},
                "first": self.first.as_dict(),
                "second": self.second.as_dict(),
            }
        return answer


def _sum(values: NDArray[np.float64]) -> float:
    with np.errstate(over="ignore"):  # beyond float64, it is infinite
        return float(values.sum())


def _mean(total: float, count: int) -> float | None:
    """Divide, if there is a number to write."""
    return total / count if count and math.isfinite(total) else None


class Contrast:
    """Compares the runs of a corpus with the same sentences of another; a computation."""

    def __init__(self, setting: Setting, second: Second) -> None:
        self.setting = setting
        self.totals = Totals()
        self._second = second

    def __call__(self, run: Sentences) -> Iterator[Rows]:
        """Compare a run."""
        workers = self.setting.workers
        ours = self.setting.distribution(run)
        theirs = self.setting.distribution(self._second.like(run))
        kl = [a.kl_divergence(b, workers=workers) for a, b in ((ours, theirs), (theirs, ours))]
        best = [one.best_tree(workers=workers) for one in (ours, theirs)]
        differs = best[0] != best[1]
        marginals = [one.arc_marginals(workers=workers) for one in (ours, theirs)]
        # Padding, like the root, has no arcs.
        agreement = (marginals[0] * marginals[1]).sum(axis=(1, 2))
        gold = given_heads(run, best[0].shape[-1])
        found = [evaluate(one, gold, workers=workers) for one in (ours, theirs)]
        # Nothing fails from here on, so every sentence is counted once.
        right = [differs & (gold >= 0) & (one == gold) for one in best]
        is_finite = np.isfinite(kl[0]) & np.isfinite(kl[1])
        totals = self.totals
        self.totals = Totals(
            totals.num_sentences + len(run),
            totals.num_words + int(run.lengths.sum()),
            totals.kl_to_second + _sum(kl[0][is_finite]),
            totals.kl_to_first + _sum(kl[1][is_finite]),
            totals.num_infinite + int((~is_finite).sum()),
            totals.different_heads + int(differs.sum()),
            totals.expected_agreement + _sum(agreement),
            totals.first.plus(found[0]),
            totals.second.plus(found[1]),
            totals.first_only + int(right[0].sum()),
            totals.second_only + int(right[1].sum()),
            totals.neither + int((differs & (gold >= 0) & ~right[0] & ~right[1]).sum()),
        )
        columns: dict[str, NDArray[Any]] = {
            "kl_to_second": kl[0],
            "kl_to_first": kl[1],
            "different_heads": differs.sum(axis=1),
            "expected_agreement": agreement,
            "gold_words": found[0].num_words,
            "first_correct": found[0].best_right,
            "second_correct": found[1].best_right,
            "first_log_prob": found[0].log_prob,
            "second_log_prob": found[1].log_prob,
        }
        yield sentence_rows(run, {name: c.astype(np.float64) for name, c in columns.items()})


class FirstLines(NoOutput):
    """Keeps the first lines in a given order."""

    def __init__(self, order: Order, *, reverse: bool, most: int | None) -> None:
        self._column = {"kl": "kl_to_second", "heads": "different_heads"}.get(order)
        self._order = order
        self._sign = -1 if reverse else 1
        self._count = 0
        self._kept: Largest[Rows] = Largest(most)

    def write(self, rows: Rows) -> None:
        """Keep the lines that come first; ties are broken by the order in the file."""
        for i in range(len(rows.sent_ids)):
            rank = 0.0
            if self._column is not None:
                rank = float(rows.columns[self._column][i])
            elif self._order == "length":
                rank = float(rows.lengths[i])
            key = (self._sign * rank, -self._sign * self._count)
            self._count += 1
            if self._kept.takes(key):
                self._kept.add(key, rows.part(CONTRAST, i, i + 1))

    def lines(self) -> list[Rows]:
        """List the lines in their order."""
        return self._kept.items()
