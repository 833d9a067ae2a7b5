"""The picture of a sentence of a corpus: its scores, draws, words and gold tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arborand.corpus.comparing import gold_heads
from arborand.pictures.page import Picture

if TYPE_CHECKING:
    from arborand.corpus.computing import Setting
    from arborand.formats.conllu import Annotation
    from arborand.formats.sentences import Sentences


def picture_of(sentence: Sentences, setting: Setting, num_draws: int, seed: int) -> Picture:
    """Gather what a picture shows of a run of one sentence.

    Raises
    ------
    SentenceError
        If the sentence cannot be used.
    """
    sentence.check_usable()
    distribution = setting.distribution(sentence)[0]
    draws = distribution.sample_without_replacement(num_draws, rng=seed, first_graph=sentence.first)
    annotation = sentence.annotations[0] if sentence.annotations else None
    gold = gold_heads(sentence)
    return Picture(
        distribution=distribution,
        tokens=sentence.tokens[0] or [str(i) for i in range(1, int(sentence.lengths[0]) + 1)],
        sent_id=sentence.sent_ids[0],
        draws=draws,
        marginals=distribution.arc_marginals(),
        text=annotation.comment("text") if annotation else None,
        gold_heads=None if gold is None or setting.keep_heads else gold.tolist(),
        parts_of_speech=_column(annotation, "UPOS"),
        relations=_column(annotation, "DEPREL"),
    )


def _column(annotation: Annotation | None, name: str) -> list[str] | None:
    """Read a column of a CoNLL-U file, if anything is in it."""
    values = [] if annotation is None else annotation.column(name)
    return values if any(value != "_" for value in values) else None
