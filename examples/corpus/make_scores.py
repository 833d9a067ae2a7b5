"""Make the scores of the example corpus from its trees: ``python make_scores.py``.

A stand-in for a parser's output.  The score of an arc depends on what a parser could have learnt:
the two parts of speech, the distance, the annotated head and, where a sentence can be read in two
ways, the other head (``AltHead`` in the last column of the CoNLL-U file), each with some noise.
The numbers come from a fixed seed, so the file is the same each time.

sentences.npz and choices.npz hold ``lengths`` (words per sentence), ``scores`` (log-weights, the
matrices of shape (n + 1, n + 1) one after the other, row by row, ``[head, dependent]``) and
``sent_ids``.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FOLDER = Path(__file__).parent
FILES = ("sentences", "choices")
SEED = 64707

ANNOTATED = 6.5  # what the annotated head gains over any other of its part of speech
SPREAD = 1.1  # standard deviation of the blur, in nats
PER_WORD = 0.22  # what an arc loses for each word it passes over
OTHER_READING = (0.2, 1.6)  # how far the other reading is behind the annotated one

# The parts of speech that heads of each part of speech usually have, the likeliest first.
USUAL_HEADS = {
    "ADJ": ("NOUN", "VERB"),
    "ADP": ("NOUN", "VERB"),
    "ADV": ("VERB", "ADJ"),
    "AUX": ("VERB",),
    "DET": ("NOUN",),
    "NOUN": ("VERB", "NOUN"),
    "NUM": ("NOUN",),
    "PART": ("NOUN", "VERB"),
    "PRON": ("VERB", "NOUN"),
    "PUNCT": ("VERB",),
    "SCONJ": ("VERB",),
    "VERB": ("ROOT", "NOUN", "VERB"),
}
USUAL, UNUSUAL = (2.6, 2.0, 1.4), -1.0


class Word(NamedTuple):
    """A line of the CoNLL-U file, as far as it matters here."""

    part_of_speech: str
    head: int
    other_head: int | None


def read_sentences(path: Path) -> list[tuple[str, list[Word]]]:
    """Read the id and the words of every sentence."""
    sentences = []
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        words = []
        for line in block.splitlines():
            if line.startswith("# sent_id = "):
                sent_id = line.removeprefix("# sent_id = ")
            elif not line.startswith("#"):
                columns = line.split("\t")
                extra = dict(pair.split("=") for pair in columns[9].split("|") if "=" in pair)
                other = int(extra["AltHead"]) if "AltHead" in extra else None
                words.append(Word(columns[3], int(columns[6]), other))
        sentences.append((sent_id, words))
    return sentences


def score_sentence(words: list[Word], rng: np.random.Generator) -> NDArray[np.float32]:
    """Score all arcs between the words of a sentence."""
    size = len(words) + 1
    parts_of_speech = ["ROOT", *(word.part_of_speech for word in words)]
    scores = rng.normal(0.0, SPREAD, (size, size))
    for dependent, word in enumerate(words, start=1):
        usual = USUAL_HEADS[word.part_of_speech]
        for head in range(size):
            part_of_speech = parts_of_speech[head]
            known = part_of_speech in usual
            scores[head, dependent] += USUAL[usual.index(part_of_speech)] if known else UNUSUAL
            if head > 0:
                scores[head, dependent] -= PER_WORD * (abs(head - dependent) - 1)
        others = np.delete(scores[:, dependent], [word.head, dependent])
        scores[word.head, dependent] = max(scores[word.head, dependent], others.mean()) + ANNOTATED
        if word.other_head is not None:
            behind = rng.uniform(*OTHER_READING)
            scores[word.other_head, dependent] = scores[word.head, dependent] - behind
    scores[:, 0] = 0.0  # nothing reads column 0 and the diagonal
    np.fill_diagonal(scores, 0.0)
    return scores.astype(np.float32).round(3)


def make(path: Path) -> dict[str, NDArray[np.generic]]:
    """Score a whole file."""
    rng = np.random.Generator(np.random.Philox(SEED))
    sentences = read_sentences(path)
    matrices = [score_sentence(words, rng) for _, words in sentences]
    return {
        "lengths": np.array([len(words) for _, words in sentences], dtype=np.int32),
        "scores": np.concatenate([matrix.ravel() for matrix in matrices]),
        "sent_ids": np.array([sent_id for sent_id, _ in sentences]),
    }


if __name__ == "__main__":
    for name in FILES:
        np.savez(FOLDER / f"{name}.npz", **make(FOLDER / f"{name}.conllu"))  # type: ignore[arg-type]
