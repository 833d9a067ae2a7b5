"""Selects sentences of a corpus: by id, by conditions, the first few in some order.

Every command selects in the same way.  A sentence keeps its place in the corpus, so what is
computed for it does not depend on which others were selected.
"""

from __future__ import annotations

import heapq
import math
import operator
import re
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np

from arborand.corpus.computations import given_heads
from arborand.errors import ArborandError, FormatError, SentenceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from arborand.corpus.computations import Setting
    from arborand.formats.records import Layout, Rows, Sentences

Order = Literal["file", "entropy", "length", "disagreement"]
MEASURES = ("entropy", "length", "disagreement")
# The description of each order, and of its reverse.
_FIRST = {
    "file": ("in the order of the file", "the last first"),
    "entropy": ("the most uncertain first", "the most certain first"),
    "length": ("the longest first", "the shortest first"),
    "disagreement": (
        "those whose best tree differs most from the gold tree first",
        "those whose best tree differs least from the gold tree first",
    ),
}
_COMPARISONS: dict[str, Callable[[Any, float], NDArray[np.bool_]]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
}
Item = TypeVar("Item")
_CONDITION = re.compile(r"\s*(\w+)\s*(<=|>=|<|>|=(?!=))\s*(.*\S)\s*")


class Condition(NamedTuple):
    """A condition on sentences, such as ``entropy > 2`` or ``word = saw``."""

    measure: str
    comparison: str
    value: str

    def __str__(self) -> str:
        return f"{self.measure} {self.comparison} {self.value}"


def parse_condition(text: str) -> Condition:
    """Read a condition.

    Raises
    ------
    ValueError
        If the text is not a condition.
    """
    match = _CONDITION.fullmatch(text)
    if match is None or match[1] not in (*MEASURES, "word"):
        raise ValueError(
            f"{text!r} is not a condition: expected one of {', '.join(MEASURES)}, compared by <, "
            "<=, =, >= or > with a number, or word = WORD"
        )
    condition = Condition(match[1], match[2], match[3])
    if condition.measure == "word":
        if condition.comparison != "=":
            raise ValueError(f"{text!r}: a word can only be compared by =")
    else:
        try:
            number = float(condition.value)
        except ValueError:
            number = math.nan
        if math.isnan(number):
            raise ValueError(f"{text!r}: {condition.value!r} is not a number")
    return condition


@dataclass(frozen=True)
class Selection:
    """Which sentences to process, and in which order; all of them by default.

    Attributes
    ----------
    wanted : tuple of str
        Take only the sentences with these ids.
    conditions : tuple of Condition
        Take only sentences that meet all of these.
    order : Order
    reverse : bool
        Reverse the order.
    most : int or None
        The maximum number of sentences.
    """

    wanted: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    order: Order = "file"
    reverse: bool = False
    most: int | None = None

    @property
    def measures(self) -> set[str]:
        """The measures that must be computed for each sentence."""
        return {self.order, *(condition.measure for condition in self.conditions)} - {"file"}

    @property
    def needs_gold(self) -> bool:
        """Whether gold heads are required."""
        return "disagreement" in self.measures

    @property
    def is_sorted(self) -> bool:
        """Whether the order of the sentences may differ from that of the file."""
        return self.order != "file" or self.reverse

    @property
    def is_plain(self) -> bool:
        """Whether simply the first sentences of the file are requested."""
        return not (self.is_sorted or self.conditions or self.wanted)

    @property
    def options(self) -> dict[str, Any]:
        """The command-line options for this selection."""
        return {
            "sent-id": list(self.wanted) or None,
            "filter": list(map(str, self.conditions)) or None,
            "sort": self.order if self.order != "file" else None,
            "reverse": self.reverse,
            "max-sentences": self.most,
        }

    def described(self, taken: int, met: int) -> str:
        """Say how many sentences were taken, out of how many, and in which order."""
        asked = " and ".join(map(str, self.conditions))
        which = f" with {asked}" if asked else ""
        return f"{taken:,} of {met:,} sentences{which}, {_FIRST[self.order][self.reverse]}"


class Largest(Generic[Item]):
    """Keeps the items with the largest keys, in bounded memory; no two keys are equal."""

    def __init__(self, most: int | None) -> None:
        self._most = most  # None: all of them
        self._kept: list[tuple[tuple[float, ...], Item]] = []  # a heap: the smallest key is first

    def takes(self, key: tuple[float, ...]) -> bool:
        """Tell whether an item with this key would be kept."""
        return len(self._kept) != self._most or key > self._kept[0][0]

    def add(self, key: tuple[float, ...], item: Item) -> None:
        """Keep an item whose key `takes` accepts."""
        is_full = len(self._kept) == self._most
        (heapq.heapreplace if is_full else heapq.heappush)(self._kept, (key, item))

    def items(self) -> list[Item]:
        """List what was kept, the largest key first."""
        return [item for _, item in sorted(self._kept, key=lambda kept: kept[0], reverse=True)]


class Selected:
    """The sentences that a selection takes, as an iterator of runs that also counts them.

    A sentence that cannot be measured is passed on with its fault, for the caller to raise or skip.
    If sentences are sorted, or counted before the first few are taken, those that are kept are held
    in memory: at most as many as were requested.

    Attributes
    ----------
    num_read : int
        The sentences that were read.
    num_met : int
        Those that were wanted and met all conditions.
    num_taken : int
    num_without_gold : int
        Those without gold heads, if disagreement was requested.
    """

    def __init__(
        self, selection: Selection, runs: Iterable[Sentences], setting: Setting | None
    ) -> None:
        self.selection = selection
        self.num_read = self.num_met = self.num_taken = self.num_without_gold = 0
        self._setting = setting
        self._runs = runs

    def __iter__(self) -> Iterator[Sentences]:
        selection = self.selection
        runs: Iterable[Sentences] = self._counted()
        if selection.wanted:
            runs = _named(runs, selection.wanted)
        if selection.is_sorted or (selection.conditions and selection.most is not None):
            yield from self._first(runs)
            return
        for run, _ in self._meeting(runs):
            if selection.most is not None:
                run = run.part(0, min(len(run), selection.most - self.num_taken))
            self.num_taken += len(run)
            yield run
            if self.num_taken == selection.most:
                return

    def described(self, total: int) -> str | None:
        """Say what was taken out of `total` sentences.

        None if sentences were requested by id, or if all of them are taken in file order.
        """
        selection = self.selection
        if selection.wanted and not (selection.conditions or selection.is_sorted):
            return None
        if selection.is_plain:
            taken = min(total, selection.most or total)
            return None if taken == total else selection.described(taken, total)
        text = selection.described(self.num_taken, self.num_met)
        if self.num_without_gold:
            text += f" ({self.num_without_gold:,} have no gold heads)"
        return text

    def _counted(self) -> Iterator[Sentences]:
        for run in self._runs:
            self.num_read += len(run)
            yield run

    def _first(self, runs: Iterable[Sentences]) -> Iterator[Sentences]:
        """Take the first sentences in order, as runs of one; ties are broken by place in file."""
        kept: Largest[Sentences] = Largest(self.selection.most)
        sign = -1 if self.selection.reverse else 1
        for run, ranks in self._meeting(runs):
            if ranks is None:
                yield run
                continue
            for i, rank in enumerate(ranks.tolist()):
                # Sentences without a rank come last in either direction.
                key = (-math.inf if math.isnan(rank) else sign * rank, -sign * (run.first + i))
                if kept.takes(key):
                    one = run.part(i, i + 1)
                    # Copied, because a view would keep its whole run in memory.
                    kept.add(key, replace(one, scores=one.scores.copy()))
        taken = kept.items()
        self.num_taken = len(taken)
        yield from taken

    def _meeting(
        self, runs: Iterable[Sentences]
    ) -> Iterator[tuple[Sentences, NDArray[np.float64] | None]]:
        """Yield the sentences that meet all conditions, with their ranks; None for a fault."""
        for run, values in self._measured(runs):
            if values is None:
                yield run, None
                continue
            is_kept = np.ones(len(run), dtype=bool)
            for condition in self.selection.conditions:
                is_kept &= _meets(condition, values, run.tokens)
            self.num_met += int(is_kept.sum())
            ranks = values.get(self.selection.order, np.zeros(len(run)))
            for start, stop in spans(is_kept.tolist()):
                yield run.part(start, stop), ranks[start:stop]

    def _measured(
        self, runs: Iterable[Sentences]
    ) -> Iterator[tuple[Sentences, dict[str, NDArray[np.float64]] | None]]:
        """Measure runs as a whole; if something is wrong with a sentence, one by one."""
        names = self.selection.measures
        for run in runs:
            if not names:
                yield run, {}
                continue
            try:
                run.check_usable()
                values = self._values(run, names)
            except (ArborandError, MemoryError) as error:
                reason = reason_of(error, run)
            else:
                yield run, values
                continue
            if len(run) == 1:
                yield replace(run, faults={0: reason}), None
            else:  # find the sentence that failed
                yield from self._measured(run.one_by_one())

    def _values(self, run: Sentences, names: set[str]) -> dict[str, NDArray[np.float64]]:
        if "word" in names:
            _check_words(run.tokens)
        values = {"length": run.lengths.astype(np.float64)}
        if names <= {"length", "word"}:
            return values
        assert self._setting is not None
        distribution = self._setting.distribution(run)
        workers = self._setting.workers
        if "entropy" in names:
            values["entropy"] = distribution.entropy(workers=workers)
        if "disagreement" in names:
            gold = given_heads(run, distribution.log_weights.shape[-1])
            is_given = gold >= 0
            differs = is_given & (gold != distribution.best_tree(workers=workers))
            has_gold = is_given.any(axis=1)
            self.num_without_gold += int((~has_gold).sum())
            values["disagreement"] = np.where(has_gold, differs.sum(axis=1), np.nan)
        return values


def _named(runs: Iterable[Sentences], wanted: Iterable[str]) -> Iterator[Sentences]:
    """Take the sentences with the given ids, and read no further than needed."""
    left = set(wanted)
    for run in runs:
        for i, sent_id in enumerate(run.sent_ids):
            if sent_id in left:
                left.discard(sent_id)
                yield run.part(i, i + 1)
        if not left:
            return
    raise FormatError(f"no sentence has the sent_id {', '.join(map(repr, sorted(left)))}")


def select_rows(selection: Selection, portions: Iterable[Rows], layout: Layout) -> Iterator[Rows]:
    """Take the trees of selected sentences, in file order; only words can be measured."""
    left, taken, is_kept = set(selection.wanted), 0, False
    for rows in portions:
        if "word" in selection.measures:
            _check_words(rows.tokens or [None])
        kept = []
        for i, sent_id in enumerate(rows.sent_ids):
            if i or not rows.first_sample:  # otherwise, it continues the previous sentence
                is_kept = not selection.wanted or sent_id in left
                values = {"length": rows.lengths[i : i + 1].astype(np.float64)}
                tokens = rows.tokens[i : i + 1] or [None]
                is_kept = is_kept and all(
                    _meets(condition, values, tokens)[0] for condition in selection.conditions
                )
                is_kept = is_kept and taken != selection.most
                taken += is_kept
                left -= {sent_id}
            kept.append(is_kept)
        ends = np.concatenate([[0], np.cumsum(rows.num_rows)])
        for start, stop in spans(kept):
            yield rows.part(layout, int(ends[start]), int(ends[stop]))
    if left:
        raise FormatError(f"no sentence has the sent_id {', '.join(map(repr, sorted(left)))}")


def _check_words(tokens: Sequence[Sequence[str] | None]) -> None:
    if None in tokens:
        raise FormatError(
            "a condition on words needs words, which are not known here: name the file that has "
            "them with --conllu"
        )


def _meets(
    condition: Condition,
    values: dict[str, NDArray[np.float64]],
    tokens: Sequence[Sequence[str] | None],
) -> NDArray[np.bool_]:
    """Tell which sentences meet a condition."""
    if condition.measure == "word":
        word = condition.value.casefold()
        return np.array([word in (w.casefold() for w in words or ()) for words in tokens])
    return _COMPARISONS[condition.comparison](values[condition.measure], float(condition.value))


def spans(is_kept: Iterable[bool]) -> Iterator[tuple[int, int]]:
    """Find the stretches of consecutive items that are kept."""
    start = 0
    for kept, same in groupby(is_kept):
        stop = start + len(list(same))
        if kept:
            yield start, stop
        start = stop


def reason_of(error: BaseException, sentence: Sentences, num_trees: int = 0) -> str:
    """Say why a sentence cannot be used."""
    if isinstance(error, MemoryError):
        reason = f"not enough memory for {sentence.lengths[0]} words"
        if num_trees > 1:
            reason += f" and {num_trees} trees of them: ask for fewer trees"
        return reason
    return error.reason if isinstance(error, SentenceError) else str(error)
