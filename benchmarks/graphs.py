"""The graphs that are measured on: made up here, or read from a parser's scores.

All are arrays of log-weights, ``[head, dependent]``, node 0 the root; column 0 and the diagonal are
-inf, for those peers that read them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def flat(num_words: int, count: int = 1) -> Floats:
    """Make graphs whose arcs all weigh the same: no tree is special."""
    return _without_unread(np.zeros((count, num_words + 1, num_words + 1)))


def random(num_words: int, count: int = 1, *, spread: float = 1.0, seed: int = 0) -> Floats:
    """Make graphs with independent normal scores."""
    rng = np.random.default_rng([seed, num_words, count])
    return _without_unread(spread * rng.normal(size=(count, num_words + 1, num_words + 1)))


def peaked(num_words: int, count: int = 1, *, seed: int = 0, margin: float = 5.0) -> Floats:
    """Make graphs like those of a trained parser: sure of most heads, unsure of some.

    A random tree gets scores that give each of its arcs a chance of some 95 % among the heads of
    its dependent, but for every tenth word, which has a rival of about the same score.  The best
    tree then has a probability of some 60 % at 10 words and 20 % at 30.  A larger `margin` makes
    the tree's arcs surer and rivals rarer.
    """
    rng = np.random.default_rng([seed, num_words, count, 1])
    shape = (count, num_words + 1, num_words + 1)
    scores = 1.5 * rng.normal(size=shape)
    for graph in scores:
        order = 1 + rng.permutation(num_words)
        for place, dependent in enumerate(order):
            # The first hangs on the root, each other on one of those before it.
            head = 0 if place == 0 else order[rng.integers(place)]
            best = np.log(num_words + 1) + margin + rng.normal()
            graph[head, dependent] = best
            if rng.random() < 1 / (2 * margin):
                graph[rng.integers(num_words + 1), dependent] = best + rng.normal()
    return _without_unread(scores)


def sharp(num_words: int, count: int = 1, *, seed: int = 0) -> Floats:
    """Make graphs like those of a parser that has seen its sentences before: hardly any doubt."""
    return peaked(num_words, count, seed=seed, margin=14.0)


def symmetric(num_words: int, *, spread: float = 1.0, seed: int = 0) -> Floats:
    """Make one graph whose arcs weigh the same both ways, as peers for undirected graphs need."""
    rng = np.random.default_rng([seed, num_words, 2])
    scores = spread * rng.normal(size=(num_words + 1, num_words + 1))
    scores = np.triu(scores, 1)
    made: Floats = _without_unread((scores + scores.T)[None])[0]
    return made


def weights(scores: Floats) -> Floats:
    """Turn scores into weights, the largest into each word 1: a kindness to plain formulas.

    Scaling all arcs into a word changes no probability, and keeps determinants in range.
    """
    with np.errstate(invalid="ignore"):  # column 0 is all -inf
        made: Floats = np.nan_to_num(np.exp(scores - scores.max(axis=-2, keepdims=True)))
    return made


def _without_unread(scores: Floats) -> Floats:
    node = np.arange(scores.shape[-1])
    scores[:, :, 0] = -np.inf
    scores[:, node, node] = -np.inf
    return scores


# ---- a parser's scores


@dataclass(frozen=True)
class Sentences:
    """The scores of many sentences, one matrix each.

    Attributes
    ----------
    name : str
    matrices : list of ndarray, shape (n + 1, n + 1)
    """

    name: str
    matrices: list[Floats]

    @property
    def lengths(self) -> NDArray[np.int32]:
        """The number of words of each sentence."""
        return np.array([len(matrix) - 1 for matrix in self.matrices], dtype=np.int32)

    def padded(self) -> tuple[Floats, NDArray[np.int32]]:
        """Give all sentences as one batch, and their lengths."""
        size = max(len(matrix) for matrix in self.matrices)
        batch = np.full((len(self.matrices), size, size), -np.inf)
        for padded, matrix in zip(batch, self.matrices, strict=True):
            padded[: len(matrix), : len(matrix)] = matrix
        return batch, self.lengths

    def first(self, count: int) -> Sentences:
        """Give the first sentences only."""
        return Sentences(self.name, self.matrices[:count])


def has_sentences(file: Path) -> bool:
    """Say whether an ``.npz`` file holds what `read_sentences` needs."""
    with np.load(file) as stored:
        return {"lengths", "offsets", "scores"} <= set(stored.files)


def read_sentences(path: Path | None, *, max_words: int = 10**9) -> list[Sentences]:
    """Read scores from an ``.npz`` file, or from all such files of a folder.

    A file holds ``lengths`` (words of each sentence), ``offsets`` into ``scores``, and ``scores``:
    the (n + 1, n + 1) matrices one after the other, row by row.  Files without these are passed
    over.  Without a path, sentences are made up: 500 of 3 to 40 words, peaked.
    """
    if path is None:
        rng = np.random.default_rng(20)
        lengths = 3 + rng.poisson(11.0, size=500)
        return [Sentences("made up", [peaked(int(n), seed=i)[0] for i, n in enumerate(lengths)])]
    files = sorted(path.glob("*.npz")) if path.is_dir() else [path]
    found = []
    for file in files:
        if not has_sentences(file):
            continue
        with np.load(file) as stored:
            scores, offsets, lengths = stored["scores"], stored["offsets"], stored["lengths"]
        matrices = [
            scores[begin : begin + (n + 1) ** 2].astype(np.float64).reshape(n + 1, n + 1)
            for begin, n in zip(offsets.tolist(), lengths.tolist(), strict=False)
            if n <= max_words
        ]
        found.append(Sentences(file.stem, matrices))
    if not found:
        raise ValueError(f"no scores in {path.name}: expected lengths, offsets and scores in .npz")
    return found
