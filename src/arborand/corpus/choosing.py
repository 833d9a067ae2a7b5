"""Which sentences of a corpus are shown, and in which order."""

from __future__ import annotations

import heapq
import operator
import re
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Literal, NamedTuple

from arborand.corpus.comparing import gold_heads
from arborand.errors import ArborandError, FormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from arborand.corpus.computing import Setting
    from arborand.corpus.reading import Corpus
    from arborand.formats.records import Sentences

Order = Literal["file", "entropy", "length", "disagreement"]
MEASURES = ("entropy", "length", "disagreement")
# How a page says in which order its sentences are.
_FIRST = {
    "file": "in the order of the file",
    "entropy": "the most uncertain first",
    "length": "the longest first",
    "disagreement": "those whose best tree differs most from the gold tree first",
}
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
}
_CONDITION = re.compile(r"\s*(\w+)\s*(<=|>=|<|>|=)\s*(.*\S)\s*")


class Condition(NamedTuple):
    """What is asked of a sentence, such as ``entropy > 2`` or ``word = saw``."""

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
        If it is none.
    """
    match = _CONDITION.fullmatch(text)
    if match is None or match[1] not in (*MEASURES, "word"):
        raise ValueError(
            f"{text!r} is no condition: expected one of {', '.join(MEASURES)}, compared by <, <=, "
            "=, >= or > with a number, or word = WORD"
        )
    condition = Condition(match[1], match[2], match[3])
    if condition.measure == "word":
        if condition.comparison != "=":
            raise ValueError(f"{text!r}: a word can only be compared by =")
    else:
        try:
            float(condition.value)
        except ValueError:
            raise ValueError(f"{text!r}: {condition.value!r} is no number") from None
    return condition


@dataclass(frozen=True)
class Choice:
    """Which sentences to show: those `wanted`, or the first in an order that meet conditions."""

    most: int
    order: Order = "file"
    conditions: tuple[Condition, ...] = ()
    wanted: tuple[str, ...] = ()

    @property
    def needs_gold(self) -> bool:
        """Whether gold heads have to be there."""
        named = {self.order, *(condition.measure for condition in self.conditions)}
        return "disagreement" in named

    @property
    def is_plain(self) -> bool:
        """Whether the first sentences of the file are asked for, whatever they are."""
        return self.order == "file" and not self.conditions

    def choose(
        self,
        corpus: Corpus,
        setting: Setting,
        fault: Callable[[Sentences, Exception], None],
    ) -> tuple[Iterable[Sentences], str | None]:
        """Choose among the sentences of a corpus, as runs of one, and say which ones they are.

        No more than `most` sentences are held at a time.  Nothing is said where sentences were
        named, or all are shown in their order.

        Parameters
        ----------
        corpus, setting
        fault : function
            Is told of sentences that cannot be used.
        """
        if self.wanted:
            return chosen_sentences(corpus, self.wanted, self.most), None
        if self.is_plain:
            total = corpus.scores.num_sentences
            shown = min(total, self.most)
            selection = None if shown == total else self._described(shown, total)
            return chosen_sentences(corpus, (), self.most), selection
        kept: list[tuple[float, int, Sentences]] = []
        count = 0
        for one in chain.from_iterable(run.one_by_one() for run in corpus.runs()):
            try:
                measured = _Measured(one, setting)
                if not all(measured.meets(condition) for condition in self.conditions):
                    continue
                rank = 0.0 if self.order == "file" else measured.value(self.order)
            except (ArborandError, MemoryError) as error:
                fault(one, error)
                continue
            count += 1
            # The best of a heap is its last to go: of equals, the first in the file.
            heapq.heappush(kept, (rank, -one.first, one))
            if len(kept) > self.most:
                heapq.heappop(kept)
        kept.sort(key=lambda item: (-item[0], -item[1]))
        return [one for _, _, one in kept], self._described(len(kept), count)

    def _described(self, shown: int, count: int) -> str:
        met = " and ".join(map(str, self.conditions))
        which = f" with {met}" if met else ""
        return f"{shown} of {count} sentences{which}, {_FIRST[self.order]}"


class _Measured:
    """A sentence with what conditions and orders ask of it, computed when it is asked for."""

    def __init__(self, sentence: Sentences, setting: Setting) -> None:
        sentence.check_usable()
        self._sentence = sentence
        self._setting = setting

    def meets(self, condition: Condition) -> bool:
        if condition.measure == "word":
            words = self._sentence.tokens[0] or ()
            return condition.value.casefold() in (word.casefold() for word in words)
        compare = _COMPARISONS[condition.comparison]
        return compare(self.value(condition.measure), float(condition.value))

    def value(self, measure: str) -> float:
        if measure == "length":
            return float(self._sentence.lengths[0])
        if measure == "entropy":
            return float(self._setting.distribution(self._sentence)[0].entropy())
        gold = gold_heads(self._sentence)
        if gold is None:
            return -1.0  # after all others
        best = self._setting.distribution(self._sentence)[0].best_tree()
        return float((best[: len(gold)] != gold).sum())


def chosen_sentences(corpus: Corpus, wanted: Collection[str], most: int) -> Iterator[Sentences]:
    """Read some sentences, one by one: the wanted ones, or the first ones if none are named."""
    sentences = chain.from_iterable(run.one_by_one() for run in corpus.runs())
    if not wanted:
        yield from islice(sentences, most)
        return
    left = set(wanted)
    for one in sentences:
        if one.sent_ids[0] in left:
            left.discard(one.sent_ids[0])
            yield one
        if not left:
            return
    raise FormatError(
        f"{corpus.scores.file.name} has no sentence {', '.join(map(repr, sorted(left)))}"
    )
