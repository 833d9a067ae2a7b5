"""The gold trees of a corpus, and how well all its sentences agree with them."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from arborand.corpus.computing import Comparison
from arborand.corpus.passing import NoOutput, Passage, pass_over
from arborand.corpus.reading import open_corpus
from arborand.errors import FormatError, InvalidTreeError
from arborand.trees import check_trees

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from arborand.corpus.computing import Setting
    from arborand.corpus.passing import Skipped
    from arborand.corpus.reading import Corpus
    from arborand.evaluation import Summary
    from arborand.formats.conllu import Annotation
    from arborand.formats.records import Sentences


def gold_heads(sentence: Sentences) -> NDArray[np.intp] | None:
    """Read the tree that a CoNLL-U file gives a sentence, if it gives one."""
    annotation = sentence.annotations[0] if sentence.annotations else None
    if annotation is None:
        return None
    try:
        return check_trees(np.array([-1, *annotation.heads], dtype=np.intp))
    except (FormatError, InvalidTreeError):  # a head is missing, or they are no tree
        return None


def compare_corpus(
    corpus: Corpus, setting: Setting, advance: Callable[[int], object]
) -> tuple[Summary | None, list[Skipped]]:
    """Compare all sentences that have gold heads with them; no summary if none has any.

    Sentences that cannot be used are left out, and listed.
    """
    if corpus.annotations is None:
        return None, []
    comparison, passage = Comparison(setting), Passage()
    with open_corpus(corpus.scores.file, corpus.annotations.file) as again:
        runs = _with_gold(again.runs())
        pass_over(runs, comparison, NoOutput(), passage, skip=True, advance=advance)
    return comparison.summary if comparison.summary.num_words else None, passage.skipped


def _with_gold(runs: Iterable[Sentences]) -> Iterator[Sentences]:
    """Leave out sentences without a gold head: all that is asked about gold would be empty."""

    def has_gold(annotation: Annotation | None) -> bool:
        return annotation is not None and any(head != "_" for head in annotation.column("HEAD"))

    for run in runs:
        start = 0
        for is_kept, same in groupby(run.annotations, has_gold):
            stop = start + len(list(same))
            if is_kept:
                yield run.part(start, stop)
            start = stop
