"""Scores of supar's biaffine parsers.

arborand score corpus.conllu -o scores.npz --parser scores_from_supar:scores --model MODEL

A torch hook records what the network returns while supar predicts.  supar sorts sentences by length
into buckets, which tell which sentence the scores belong to.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator
from typing import Any

from arborand.parsers import Scored, Unparsed


def scores(
    sentences: Iterator[Unparsed], model: str | None, *, at_once: str = "1000"
) -> Iterator[Scored]:
    """Score sentences; `model` is a file, or a name that supar knows."""
    # supar 1.1.4 stores more than tensors: load only models that you trust.
    os.environ.setdefault("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    from supar import Parser

    parser = Parser.load(model)
    while chunk := list(itertools.islice(sentences, int(at_once))):
        yield from _scored(parser, chunk)


def _scored(parser: Any, chunk: list[Unparsed]) -> list[Scored]:
    kept: list[Any] = []

    def keep(module: Any, inputs: Any, output: Any) -> None:
        # (batch, dependent, head) and (batch, dependent, head, label), padded
        turned = (scores.transpose(1, 2).cpu().numpy() for scores in (output[0], output[-1]))
        kept.extend(zip(*turned, strict=True))

    hook = parser.model.register_forward_hook(keep)
    with tempfile.NamedTemporaryFile("w", suffix=".conllu", encoding="utf-8") as file:
        file.write("".join(sentence.conllu for sentence in chunk))
        file.flush()
        parsed = parser.predict(file.name, verbose=False, tree=True, proj=False)
    hook.remove()
    places = itertools.chain.from_iterable(parsed.buckets.values())
    found: dict[int, Scored] = {}
    for i, (arcs, labels) in zip(places, kept, strict=True):
        n = len(chunk[i].words) + 1
        names = parser.REL.vocab.itos
        found[i] = Scored(arcs[:n, :n], labels[:n, :n], names, parsed.sentences[i].arcs)
    return [found[i] for i in range(len(chunk))]
