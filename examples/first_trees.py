"""Draw dependency trees of a few sentences, with and without replacement: ``make run``.

For each sentence, prints the distribution of its trees, how often each tree is among 10,000 draws
and how often it should be, and distinct trees with the probability that they cover.  Then writes a
page of pictures of the whole bundled corpus.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arborand import DependencyTrees
from arborand.pictures import Picture, arc_text, page

FOLDER = Path(__file__).parent
SHOWN = ("en-1", "de-2", "ja-1")
NUM_DRAWS = 10_000
NUM_DISTINCT = 8
SEED = 2025


class Sentence(NamedTuple):
    """A sentence of the corpus with its scores."""

    sent_id: str
    tokens: list[str]
    log_weights: NDArray[np.float64]


def read_corpus(folder: Path, name: str = "sentences") -> list[Sentence]:
    """Read the words from CoNLL-U and the scores, one matrix after the other, from an npz file."""
    tokens = {}
    for block in (folder / f"{name}.conllu").read_text(encoding="utf-8").strip().split("\n\n"):
        lines = block.splitlines()
        sent_id = next(line.split(" = ")[1] for line in lines if line.startswith("# sent_id"))
        tokens[sent_id] = [line.split("\t")[1] for line in lines if not line.startswith("#")]
    sentences, begin = [], 0
    with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
        names, lengths, scores = file["sent_ids"].tolist(), file["lengths"].tolist(), file["scores"]
    for sent_id, length in zip(names, lengths, strict=True):
        end = begin + (length + 1) ** 2
        matrix = scores[begin:end].reshape(length + 1, length + 1).astype(np.float64)
        sentences.append(Sentence(sent_id, tokens[sent_id], matrix))
        begin = end
    return sentences


def tell(sentence: Sentence) -> Iterator[str]:
    """Say everything about one sentence, line by line."""
    tokens = sentence.tokens
    trees = DependencyTrees(sentence.log_weights)
    n = len(tokens)
    entropy = float(trees.entropy())
    yield f"━━ {sentence.sent_id} ━━  {' '.join(tokens)}"
    yield ""
    yield f"   {n} words have {n ** (n - 1):,} dependency trees; each is drawn with its weight / Z,"
    yield (
        f"   log Z = {float(trees.log_partition()):.3f}.  Entropy {entropy:.2f} nats, "
        f"as uncertain as a choice among {math.exp(entropy):.1f} equally likely trees."
    )
    yield ""

    drawn = trees.sample(NUM_DRAWS, rng=SEED)
    distinct, counts = np.unique(drawn, axis=0, return_counts=True)
    exact = np.exp(trees.log_prob(distinct))
    order = np.argsort(-exact)
    yield f"   {NUM_DRAWS:,} draws with replacement gave {len(distinct)} different trees."
    yield ""
    yield "       drawn  (± standard error)   exact"
    for index in order[:5]:
        share, probability = counts[index] / NUM_DRAWS, float(exact[index])
        error = math.sqrt(probability * (1 - probability) / NUM_DRAWS)
        yield (
            f"     {share:7.2%}  (± {error:.2%})          {probability:7.2%}   "
            f"{difference(tokens, distinct[index], distinct[order[0]])}"
        )
    yield ""
    for name, index in zip(("the likeliest", "the runner-up"), order[:2], strict=False):
        yield f"   {name}, {float(exact[index]):.1%}:"
        yield ""
        yield from ("     " + line for line in arc_text(tokens, distinct[index]).splitlines())
        yield ""

    draws = trees.sample_without_replacement(NUM_DISTINCT, rng=SEED)
    covered = np.cumsum(np.exp(draws.log_prob))
    yield f"   {len(draws)} draws without replacement: all distinct, likely ones mostly first."
    yield ""
    yield "     probability   covered"
    for heads, log_prob, mass in zip(draws.heads, draws.log_prob, covered, strict=True):
        changes = difference(tokens, heads, distinct[order[0]])
        yield f"        {math.exp(log_prob):8.3%}   {mass:7.2%}   {changes}"
    yield ""


def difference(tokens: list[str], heads: NDArray[np.int32], likeliest: NDArray[np.int32]) -> str:
    """Say in what a tree differs from the likeliest one."""
    names = ["(root)", *tokens]
    changed = np.flatnonzero(heads != likeliest).tolist()
    if not changed:
        return "the likeliest"
    said = [f"{names[heads[j]]} → {names[j]}" for j in changed]
    return "instead " + ", ".join(said[:3]) + (", …" if len(said) > 3 else "")


def pictures(sentences: list[Sentence]) -> Iterator[Picture]:
    """Make a picture of each sentence when its turn comes."""
    for sentence in sentences:
        trees = DependencyTrees(sentence.log_weights)
        yield Picture(
            trees,
            sentence.tokens,
            sentence.sent_id,
            trees.sample_without_replacement(50, rng=SEED),
            trees.arc_marginals(),
        )


def main() -> None:
    """Print what there is to say, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    default = FOLDER.parent / "build" / "first_trees.html"
    parser.add_argument("--page", type=Path, default=default, help="where to write the pictures")
    path: Path = parser.parse_args().page
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # arcs on a terminal without Unicode
    corpus = read_corpus(FOLDER / "corpus")
    for sentence in corpus:
        if sentence.sent_id in SHOWN:
            print("\n".join(tell(sentence)))
    corpus += read_corpus(FOLDER / "corpus", "choices")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(page(pictures(corpus), title="First trees", provenance={"seed": str(SEED)}))
    print(f"Pictures of all {len(corpus)} sentences: {path.resolve()}")


if __name__ == "__main__":
    main()
