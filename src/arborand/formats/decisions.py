"""Decisions about the trees of a corpus, as the page of ``arborand show`` exports them.

A JSON file lists fixed and forbidden arcs, by the id and the words of the sentence.  Arcs are pairs
(head, dependent); a fixed arc may have its label as a third entry.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from arborand.errors import FormatError, IgnoredDecisionsWarning, NoTreeError
from arborand.formats.inputs import parse_json, shown_name

if TYPE_CHECKING:
    import os
    from collections.abc import Collection

    from numpy.typing import NDArray

    from arborand.distributions import TreeDistribution
    from arborand.formats.records import Sentences

_FORMAT = 1


@dataclass(frozen=True)
class _Entry:
    words: list[str]
    fixed: list[list[Any]]
    forbidden: list[list[Any]]


@dataclass(frozen=True)
class Decisions:
    """A file of decisions.

    Attributes
    ----------
    name : str
        The name of the file, without folders.
    digest : str
        Its SHA-256.
    """

    name: str
    digest: str
    _by_id: dict[str, list[_Entry]]

    def without_sentence(self, sent_ids: Collection[str]) -> list[str]:
        """List the ids that are not among these."""
        return [sent_id for sent_id in self._by_id if sent_id not in sent_ids]

    def apply(
        self,
        distribution: TreeDistribution,
        run: Sentences,
        label_scores: NDArray[Any] | None = None,
    ) -> TreeDistribution:
        """Condition the distribution of a run, a batch, on the decisions.

        Decisions about other words, and those that no tree meets, are ignored with a warning, and
        so are labels that an arc cannot have.

        Parameters
        ----------
        distribution : TreeDistribution
        run : Sentences
        label_scores : ndarray, shape (len(run), m, m, L), optional
            Where a fixed arc has a label, all others become -inf in this array.  The weights of the
            trees need not change: all that are left have the arc, so they lose the same factor.
        """
        size = distribution.log_weights.shape[-1]
        allowed = np.ones((len(run), size, size), dtype=bool)
        for i, (sent_id, tokens) in enumerate(zip(run.sent_ids, run.tokens, strict=True)):
            entries = self._by_id.get(sent_id, [])
            length = int(run.lengths[i])
            same = [
                entry
                for entry in entries
                if len(entry.words) == length and (tokens is None or tokens == entry.words)
            ]
            if entries and not same:
                self._ignore(sent_id, "they are about other words")
            for entry in same[:1]:
                try:
                    mask = _allowed(entry, length, size)
                    distribution[i].condition(allowed=mask)
                except IndexError:
                    self._ignore(sent_id, "they are about arcs that it does not have")
                except NoTreeError as error:
                    self._ignore(sent_id, f"no tree has them: {error}")
                else:
                    allowed[i] = mask
                    self._keep_labels(entry, run, i, label_scores)
        return distribution if allowed.all() else distribution.condition(allowed=allowed)

    def _keep_labels(
        self, entry: _Entry, run: Sentences, i: int, label_scores: NDArray[Any] | None
    ) -> None:
        """Leave the fixed arcs of a sentence only the labels that were decided."""
        if label_scores is None and run.label_names:
            return  # the trees alone are wanted
        for head, dependent, *labels in entry.fixed:
            for name in labels:
                others = np.array([label != name for label in run.label_names], dtype=bool)
                if label_scores is None or others.all():
                    reason = "the scores have no such label"
                elif (label_scores[i, head, dependent, ~others] == -np.inf).all():
                    reason = "the scores rule it out"
                else:
                    label_scores[i, head, dependent, others] = -np.inf
                    continue
                what = f"the label {name!r} of {head} -> {dependent}"
                self._ignore(run.sent_ids[i], reason, what)

    def _ignore(self, sent_id: str, why: str, what: str = "") -> None:
        whose = f"of {self.name} about sentence {sent_id!r}"
        ignored = f"{what} in the decisions {whose} is" if what else f"the decisions {whose} are"
        warnings.warn(f"{ignored} ignored: {why}", IgnoredDecisionsWarning, stacklevel=2)


def _allowed(entry: _Entry, num_words: int, size: int) -> NDArray[np.bool_]:
    """Turn decisions into a mask of the arcs that are left."""
    for head, dependent, *_ in (*entry.fixed, *entry.forbidden):
        if not (0 <= head <= num_words and 1 <= dependent <= num_words):
            raise IndexError
    allowed = np.ones((size, size), dtype=bool)
    for head, dependent, *_ in entry.fixed:
        allowed[:, dependent] = False
        allowed[head, dependent] = True
    for head, dependent, *_ in entry.forbidden:
        allowed[head, dependent] = False
    return allowed


def read_decisions(path: str | os.PathLike[str]) -> Decisions:
    """Read a file of decisions.

    Raises
    ------
    FormatError
        If it contains anything else; the message has the number of the entry.
    """
    name, data = shown_name(Path(path)), Path(path).read_bytes()
    try:
        file = parse_json(data)
    except ValueError as error:
        raise FormatError(f"{name} is not a JSON file: {error}") from error
    if not (isinstance(file, dict) and file.get("arborand") == "decisions"):
        raise FormatError(
            f"{name} does not contain decisions: export them from a page of arborand show"
        )
    version = file.get("format")
    if (type(version), version) != (int, _FORMAT) or not isinstance(file.get("sentences"), list):
        raise FormatError(
            f"{name} has the format {version!r:.40}: this version reads format {_FORMAT}"
        )
    by_id: dict[str, list[_Entry]] = {}
    for number, entry in enumerate(file["sentences"], start=1):
        if not _is_entry(entry):
            raise FormatError(
                f"{name}: entry {number} needs a sent_id, its words, and fixed and forbidden arcs, "
                "pairs of a head and a dependent"
            )
        made = _Entry(entry["words"], entry["fixed"], entry["forbidden"])
        others = by_id.setdefault(entry["sent_id"], [])
        if any(other.words == made.words and other != made for other in others):
            raise FormatError(
                f"{name}: entry {number} decides about sentence {entry['sent_id']!r} again, in "
                "another way: keep one of the two"
            )
        others.append(made)
    return Decisions(name, sha256(data).hexdigest(), by_id)


def _is_entry(entry: Any) -> bool:
    if not (isinstance(entry, dict) and isinstance(entry.get("sent_id"), str)):
        return False
    words, fixed, forbidden = (entry.get(key) for key in ("words", "fixed", "forbidden"))
    if not (isinstance(words, list) and isinstance(fixed, list) and isinstance(forbidden, list)):
        return False
    are_words = all(isinstance(word, str) for word in words)
    return are_words and all(map(_is_arc, (*fixed, *forbidden)))


def _is_arc(arc: Any) -> bool:
    if not (isinstance(arc, list) and len(arc) in (2, 3)):
        return False
    are_nodes = all(type(node) is int for node in arc[:2])
    return are_nodes and all(isinstance(label, str) for label in arc[2:])
