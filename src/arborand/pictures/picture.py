"""What is shown for one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from arborand.pictures.arcs import check_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from arborand.distributions import TreeDistribution
    from arborand.without_replacement import Draws


@dataclass(frozen=True, eq=False)
class Picture:
    """What is shown for one sentence.

    Attributes
    ----------
    distribution : SpanningTrees, DependencyTrees or their projective kinds
        The distribution of a single sentence, not a batch.
    tokens : sequence of str
        The words, without the root.
    sent_id : str
    draws : Draws
        From the distribution's `sample_without_replacement`.
    marginals : ndarray, shape (m, m)
        The distribution's `arc_marginals`.
    text : str, optional
        The sentence as running text; by default, the words with spaces between them.
    gold_heads : sequence of int, shape (n + 1,), optional
        The annotated tree, with -1 for the root.
    parts_of_speech, relations : sequence of str, optional
        What is written below the words: UPOS and DEPREL of a CoNLL-U file.
    label_log_weights : ndarray, shape (m, m, L), optional
        ``[head, dependent, label]``: the scores of the labels of each arc.  Their softmax is the
        probability of a label given its arc.
    label_names : sequence of str, optional
        The names of the L labels.
    place : pair of int, optional
        Where its lines begin and end in the `conllu` of the page, in bytes.

    Examples
    --------
    >>> from arborand import DependencyTrees
    >>> d = DependencyTrees([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
    >>> draws = d.sample_without_replacement(5, rng=0)
    >>> picture = Picture(d, ["Trees", "grow"], "t-1", draws, d.arc_marginals())
    >>> from arborand.pictures import page
    >>> "".join(page([picture], title="Two words")).startswith("<!doctype html>")
    True
    """

    distribution: TreeDistribution
    tokens: Sequence[str]
    sent_id: str
    draws: Draws
    marginals: NDArray[np.float64]
    text: str | None = None
    gold_heads: Sequence[int] | None = None
    parts_of_speech: Sequence[str] | None = None
    relations: Sequence[str] | None = None
    place: tuple[int, int] | None = None
    label_log_weights: NDArray[np.floating] | None = None
    label_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        shape = self.distribution.batch_shape
        if shape:
            raise ValueError(
                f"distribution is a batch of shape {shape}: a picture shows one sentence; index it"
            )
        num_words = int(self.distribution.lengths)
        if len(self.tokens) != num_words:
            raise ValueError(
                f"tokens has {len(self.tokens)} words, but the distribution of {self.sent_id!r} "
                f"has {num_words}: give the words without the root"
            )
        size = self.distribution.log_weights.shape[-1]
        if self.draws.heads.shape[1:] != (size,):
            raise ValueError(
                f"draws has heads of shape {self.draws.heads.shape}, but the distribution of "
                f"{self.sent_id!r} has {size} nodes: draw from this distribution"
            )
        if np.shape(self.marginals) != (size, size):
            raise ValueError(
                f"marginals has shape {np.shape(self.marginals)}, but the distribution of "
                f"{self.sent_id!r} has shape {(size, size)}: use its arc_marginals()"
            )
        if self.gold_heads is not None:
            check_tree(np.asarray(self.gold_heads), num_words + 1, "gold_heads")
        if self.label_log_weights is not None:
            expected = (size, size, len(self.label_names or ()))
            if np.shape(self.label_log_weights) != expected:
                raise ValueError(
                    f"label_log_weights has shape {np.shape(self.label_log_weights)}, but "
                    f"{self.sent_id!r} has shape {expected}: head, dependent, label, and as many "
                    "label_names"
                )
        for name in ("parts_of_speech", "relations"):
            column = getattr(self, name)
            if column is not None and len(column) != num_words:
                raise ValueError(
                    f"{name} has {len(column)} entries, but {self.sent_id!r} has {num_words} words"
                )

    def label_probabilities(self) -> NDArray[np.float64] | None:
        """Return the probability of each label given its arc; 0 where there is no arc."""
        if self.label_log_weights is None:
            return None
        size = len(self.tokens) + 1
        scores = np.asarray(self.label_log_weights, dtype=np.float64)[:size, :size]
        best = scores.max(axis=-1, keepdims=True, initial=-np.inf)
        weights = np.exp(scores - np.where(best == -np.inf, 0.0, best))
        totals = weights.sum(axis=-1, keepdims=True)
        chances: NDArray[np.float64] = weights / np.where(totals > 0, totals, 1.0)
        return chances
