"""The words of a corpus whose heads the scores are least sure of."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arborand.formats.records import WORDS, Rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arborand.corpus.computations import Setting
    from arborand.formats.records import Sentences

ROOT = "ROOT"


class Word(NamedTuple):
    """A word with its two likeliest heads.

    Attributes
    ----------
    sent_id : str
    length : int
        How many words its sentence has.
    number : int
        Its place in the sentence, from 1.
    form : str
        The word, or its number if the words are not known.
    entropy : float
        That of its head, in nats: what one would learn, on average, by being told the head.
    heads : tuple of int
        The two likeliest, 0 for the root; one if there is no other node.
    head_forms : tuple of str
    probabilities : tuple of float
    """

    sent_id: str
    length: int
    number: int
    form: str
    entropy: float
    heads: tuple[int, ...]
    head_forms: tuple[str, ...]
    probabilities: tuple[float, ...]


class UncertainWords:
    """Keeps the words with the largest entropies of all runs; a computation without rows."""

    def __init__(self, setting: Setting, most: int) -> None:
        self.setting = setting
        self.most = most
        # The smallest entropy is in front; of equals, the last in the corpus.
        self._kept: list[tuple[float, int, int, Word]] = []

    def __call__(self, run: Sentences) -> Iterator[Rows]:
        """Look at the words of a run."""
        marginals = self.setting.distribution(run).arc_marginals(workers=self.setting.workers)
        with np.errstate(divide="ignore", invalid="ignore"):
            entropies = np.where(marginals > 0, -marginals * np.log(marginals), 0.0).sum(axis=-2)
        for i, length in enumerate(run.lengths.tolist()):
            for number in range(1, length + 1):
                key = (float(entropies[i, number]), -(run.first + i), -number)
                is_full = len(self._kept) == self.most
                if is_full and key < self._kept[0][:3]:
                    continue
                names = [ROOT, *(run.tokens[i] or map(str, range(1, length + 1)))]
                column = marginals[i, : length + 1, number]
                heads = [h for h in np.argsort(-column, kind="stable").tolist() if h != number][:2]
                word = Word(
                    run.sent_ids[i],
                    length,
                    number,
                    names[number],
                    key[0],
                    tuple(heads),
                    tuple(names[head] for head in heads),
                    tuple(column[heads].tolist()),
                )
                (heapq.heapreplace if is_full else heapq.heappush)(self._kept, (*key, word))
        return iter(())

    def words(self) -> list[Word]:
        """List the words, the least certain first."""
        return [word for *_, word in sorted(self._kept, key=lambda item: item[:3], reverse=True)]


def word_rows(words: list[Word]) -> Rows:
    """Make a row of each word."""

    def second(values: tuple[object, ...]) -> object:
        return values[1] if len(values) > 1 else ""

    table = [
        [
            *(word.number, word.form, word.entropy),
            *(word.heads[0], word.head_forms[0], word.probabilities[0]),
            *(second(word.heads), second(word.head_forms), second(word.probabilities)),
        ]
        for word in words
    ]
    cells = np.array(table, dtype=object).reshape(len(words), len(WORDS.columns))
    return Rows(
        [word.sent_id for word in words],
        np.array([word.length for word in words], dtype=np.int32),
        np.ones(len(words), dtype=np.int64),
        dict(zip(WORDS.columns, cells.T, strict=True)),
    )
