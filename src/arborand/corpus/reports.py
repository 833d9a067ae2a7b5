"""Reports on a whole corpus: problems, comparison with gold trees, the least certain words."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arborand.corpus.computations import Gate, Work, given_heads, sentence_rows
from arborand.corpus.execution import run_to_writer
from arborand.corpus.selection import Largest, spans
from arborand.corpus.stream import Corpus, NoOutput, Tally, has_ids, open_corpus, process_runs
from arborand.errors import FormatError, InvalidTreeError
from arborand.evaluation import Summary, evaluate
from arborand.formats.records import LOG_PARTITION, WORDS, Rows
from arborand.trees import check_trees

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from arborand.corpus.computations import Setting
    from arborand.corpus.shards import Inputs
    from arborand.corpus.stream import Skipped
    from arborand.formats.conllu import Annotation
    from arborand.formats.decisions import Decisions
    from arborand.formats.records import Sentences

# ---- check


@dataclass(frozen=True)
class Findings:
    """The findings of a check.

    Attributes
    ----------
    problems : list of Skipped
        The sentences that cannot be used.
    lengths : dict from number of words to number of usable sentences of that length
    doubled_ids : dict from sent_id to the numbers of its sentences, or None
        The ids that several sentences share; None if no sentence has an id.
    """

    problems: list[Skipped]
    lengths: dict[int, int]
    doubled_ids: dict[str, list[int]] | None


def check_corpus(inputs: Inputs, setting: Setting, advance: Callable[[int], object]) -> Findings:
    """Check every score of every sentence, and all ids."""
    census = _Census()
    problems = run_to_writer(
        Work("check", Gate(setting), LOG_PARTITION, {}),
        inputs,
        census.begin,
        advance=advance,
    ).skipped
    doubled_ids = None
    if any(map(has_ids, inputs.shards)):
        bad = np.array([problem.number for problem in problems], dtype=np.int64)
        good = np.setdiff1d(np.arange(1, inputs.num_sentences + 1), bad, assume_unique=True)
        census.add_ids([problem.sent_id for problem in problems])
        doubled_ids = _named(inputs, _shared(census.digests, np.concatenate([good, bad])))
    return Findings(problems, census.lengths, doubled_ids)


class _Census(NoOutput):
    """Counts sentences by length, and keeps a 16-byte digest of each id."""

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


def _shared(digests: bytearray, numbers: NDArray[np.int64]) -> set[int]:
    """Find the numbers of the sentences that share their id with another one."""
    halves = np.frombuffer(bytes(digests), dtype=np.uint64).reshape(-1, 2)
    order = np.lexsort(halves.T)
    is_same = (halves[order[1:]] == halves[order[:-1]]).all(axis=1)
    return {*numbers[order[1:][is_same]].tolist(), *numbers[order[:-1][is_same]].tolist()}


def _named(inputs: Inputs, numbers: set[int]) -> dict[str, list[int]]:
    """Look up the ids of sentences: a dict from id to sentence numbers."""
    found: dict[str, list[int]] = {}
    for run in Corpus(inputs.parts).runs() if numbers else ():
        for number, sent_id in enumerate(run.sent_ids, run.first + 1):
            if number in numbers:
                found.setdefault(sent_id, []).append(number)
    return found


def absent_sentences(inputs: Inputs, decisions: Decisions) -> list[str]:
    """List the ids in the decisions that no sentence of the inputs has."""
    with open_corpus(inputs.parts, inputs.conllu) as corpus:
        return decisions.without_sentence({name for run in corpus.runs() for name in run.sent_ids})


# ---- gold trees

# How many sentences of each kind are named.
_NAMED = 3


class Named:
    """The number of sentences of some kind, and the names of the first ones."""

    def __init__(self) -> None:
        self.count = 0
        self.first: list[str] = []

    def add(self, run: Sentences, which: NDArray[np.bool_]) -> None:
        """Add the marked sentences of a run."""
        self.count += int(which.sum())
        for i in np.flatnonzero(which)[: _NAMED - len(self.first)].tolist():
            self.first.append(run.sent_ids[i])


@dataclass
class Attachment:
    """How many words of some kind have the right head, and how many also the right relation.

    Attributes
    ----------
    num_words, heads_right : int
    labels_right : int or None
        None if the scores have no labels.
    """

    num_words: int = 0
    heads_right: int = 0
    labels_right: int | None = None

    def add(self, heads: NDArray[np.bool_], labels: NDArray[np.bool_] | None) -> None:
        """Count words, by whether their head and their labelled arc are right."""
        self.num_words += len(heads)
        self.heads_right += int(heads.sum())
        if labels is not None:
            self.labels_right = (self.labels_right or 0) + int(labels.sum())

    def as_dict(self) -> dict[str, float | int | None]:
        """Return counts and shares: UAS and LAS."""
        labelled = None if self.labels_right is None else self.labels_right / self.num_words
        return {
            "num_words": self.num_words,
            "unlabelled_attachment_score": self.heads_right / self.num_words,
            "labelled_attachment_score": labelled,
        }


# Sentences are counted by their length, up to these numbers of words.
_LENGTHS = (10, 20, 30, 40, 60)


def _length_range(length: int) -> str:
    lows = [1, *(most + 1 for most in _LENGTHS)]
    for low, high in zip(lows, _LENGTHS, strict=False):
        if length <= high:
            return f"{low}-{high}"
    return f"{lows[-1]}-"


class Comparison:
    """The comparison with gold trees, of each sentence and of all sentences so far.

    Attributes
    ----------
    summary : Summary
    words : Attachment
        All words with a gold head and relation; from the best tree, with its labels if scored.
    by_relation, by_length : dict from gold relation, or range of sentence lengths, to Attachment
    unknown : dict from gold relation to number of words
        The relations that the scores have no label for.
    no_trees, impossible : Named
    """

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.summary = Summary()
        self.words = Attachment()
        self.by_relation: dict[str, Attachment] = {}
        self.by_length: dict[str, Attachment] = {}
        self.unknown: dict[str, int] = {}
        self.no_trees, self.impossible = Named(), Named()

    def __call__(self, run: Sentences) -> Iterator[Rows]:
        """Compare a run with the heads of its CoNLL-U file."""
        labelled = self.setting.labelled(run)
        distribution = self.setting.distribution(run) if labelled is None else labelled.trees
        gold = given_heads(run, distribution.log_weights.shape[-1])
        found = evaluate(distribution, gold, workers=self.setting.workers)
        heads, labels = (
            (distribution.best_tree(workers=self.setting.workers), None)
            if labelled is None
            else labelled.best_tree(workers=self.setting.workers)
        )
        # Nothing fails from here on, so every sentence is counted once.
        self.summary = self.summary.plus(found)
        self.no_trees.add(run, ~found.is_tree)
        self.impossible.add(run, found.log_prob == -np.inf)
        columns = {
            "gold_words": found.num_words,
            "best_right": found.best_right,
            "minimum_risk_right": found.minimum_risk_right,
            "expected_right": found.expected_right,
            "claimed_right": found.claimed_right,
            "gold_log_prob": found.log_prob,
        }
        self._count_relations(run, gold, heads, labels)
        numbers = {name: column.astype(np.float64) for name, column in columns.items()}
        yield sentence_rows(run, numbers)

    def _count_relations(
        self,
        run: Sentences,
        gold: NDArray[np.int32],
        heads: NDArray[np.int32],
        labels: NDArray[np.int32] | None,
    ) -> None:
        """Compare the best trees of a run with gold heads and relations."""
        for i, annotation in enumerate(run.annotations):
            if annotation is None:
                continue
            relations = np.array(annotation.column("DEPREL"), dtype=object)
            counted = (gold[i, 1 : len(relations) + 1] >= 0) & (relations != "_")
            word = 1 + np.flatnonzero(counted)
            relations = relations[counted]
            right_heads = heads[i, word] == gold[i, word]
            right_labels = None
            if labels is not None:
                names = np.array([*run.label_names, "_"], dtype=object)
                right_labels = right_heads & (names[labels[i, word]] == relations)
            length = self.by_length.setdefault(_length_range(int(run.lengths[i])), Attachment())
            for attachment in (self.words, length):
                attachment.add(right_heads, right_labels)
            for relation in dict.fromkeys(relations.tolist()):
                same = relations == relation
                of_relation = self.by_relation.setdefault(relation, Attachment())
                of_relation.add(
                    right_heads[same], None if right_labels is None else right_labels[same]
                )
                if labels is not None and relation not in run.label_names:
                    count = self.unknown.get(relation, 0)
                    self.unknown[relation] = count + int(same.sum())

    def as_dict(self) -> dict[str, object]:
        """Return the attachment scores by relation and by length, for JSON."""
        if not self.words.num_words:
            return {}
        # The most frequent relations first.
        by_relation = sorted(
            self.by_relation.items(), key=lambda item: (-item[1].num_words, item[0])
        )
        by_length = sorted(self.by_length.items(), key=lambda item: int(item[0].split("-")[0]))
        return {
            "labelled": self.words.as_dict(),
            "by_relation": [{"relation": name, **one.as_dict()} for name, one in by_relation],
            "by_length": [{"length": name, **one.as_dict()} for name, one in by_length],
            "unknown_relations": self.unknown,
        }


def gold_heads(sentence: Sentences) -> NDArray[np.intp] | None:
    """Read the tree of a sentence in a CoNLL-U file, if there is one."""
    annotation = sentence.annotations[0] if sentence.annotations else None
    if annotation is None:
        return None
    try:
        return check_trees(np.array([-1, *annotation.heads], dtype=np.intp))
    except (FormatError, InvalidTreeError):  # a head is missing, or the heads are not a tree
        return None


def compare_corpus(
    corpus: Corpus, setting: Setting, advance: Callable[[int], object]
) -> tuple[Summary | None, list[Skipped]]:
    """Compare all sentences that have gold heads with these heads; if none has any, no summary.

    Unusable sentences are left out, and listed.
    """
    if corpus.words is None:
        return None, []
    comparison, tally = Comparison(setting), Tally()
    runs = _with_gold(corpus.runs())
    process_runs(runs, comparison, NoOutput(), tally, skip=True, advance=advance)
    return comparison.summary if comparison.summary.num_words else None, tally.skipped


def _with_gold(runs: Iterable[Sentences]) -> Iterator[Sentences]:
    """Leave out sentences without any gold head."""

    def has_gold(annotation: Annotation | None) -> bool:
        return annotation is not None and any(head != "_" for head in annotation.column("HEAD"))

    for run in runs:
        for start, stop in spans(map(has_gold, run.annotations)):
            yield run.part(start, stop)


# ---- words


ROOT = "ROOT"


class Word(NamedTuple):
    """A word with its two likeliest heads.

    Attributes
    ----------
    sent_id : str
    length : int
        The number of words in its sentence.
    number : int
        Its place in the sentence, from 1.
    form : str
        The word, or its number if the words are not known.
    entropy : float
        The entropy of its head, in nats: how much one would learn, on average, from the head.
    heads : tuple of int
        The two likeliest heads, 0 for the root; only one if there is no other node.
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
    """Keeps the words with the largest entropies over all runs; a computation without rows."""

    def __init__(self, setting: Setting, most: int) -> None:
        self.setting = setting
        self._kept: Largest[Word] = Largest(most)

    def __call__(self, run: Sentences) -> Iterator[Rows]:
        """Process the words of a run."""
        marginals = self.setting.distribution(run).arc_marginals(workers=self.setting.workers)
        with np.errstate(divide="ignore", invalid="ignore"):
            entropies = np.where(marginals > 0, -marginals * np.log(marginals), 0.0).sum(axis=-2)
        for i, length in enumerate(run.lengths.tolist()):
            for number in range(1, length + 1):
                # Ties are broken by the order in the corpus.
                key = (float(entropies[i, number]), -(run.first + i), -number)
                if not self._kept.takes(key):
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
                self._kept.add(key, word)
        return iter(())

    def words(self) -> list[Word]:
        """List the words, the least certain first."""
        return self._kept.items()


def word_rows(words: list[Word]) -> Rows:
    """Make one row per word."""

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
