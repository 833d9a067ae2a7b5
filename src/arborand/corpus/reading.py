"""The sentences of a corpus, with what a CoNLL-U file says about them, in runs of bounded size."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from arborand.corpus.plan import open_shard
from arborand.errors import FormatError
from arborand.formats.conllu import open_annotations
from arborand.formats.scores import open_scores

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arborand.corpus.plan import Part
    from arborand.formats.conllu import Annotation, AnnotationFile
    from arborand.formats.inputs import InputFile
    from arborand.formats.records import ScoresFile, Sentences


@dataclass(frozen=True)
class Corpus:
    """The scores of a corpus, with what a CoNLL-U file says about its sentences."""

    scores: ScoresFile
    annotations: AnnotationFile | None

    @property
    def inputs(self) -> dict[str, InputFile]:
        """All files, by role."""
        files = {"input": self.scores.file}
        if self.annotations is not None:
            files["conllu"] = self.annotations.file
        return files

    def runs(
        self,
        start: int = 0,
        stop: int | None = None,
        *,
        before: int = 0,
        num_trees: int = 0,
        scale: int = 1,
    ) -> Iterator[Sentences]:
        """Read some sentences of the file, numbered as in a corpus with so many `before` it."""
        for run in self.scores.runs(start, num_trees=num_trees, scale=scale):
            if stop is not None and run.first >= stop:
                return
            if stop is not None and run.first + len(run) > stop:
                run = run.part(0, stop - run.first)
            if before:
                ids = run.sent_ids
                if not self.scores.has_sent_ids:
                    ids = [str(before + run.first + i + 1) for i in range(len(run))]
                run = replace(run, first=before + run.first, sent_ids=ids)
            yield run if self.annotations is None else _annotated(run, self.annotations)


def _annotated(run: Sentences, file: AnnotationFile) -> Sentences:
    """Add what a CoNLL-U file says about some sentences."""
    sent_ids, tokens = list(run.sent_ids), list(run.tokens)
    annotations: list[Annotation | None] = [None] * len(run)
    faults = dict(run.faults)
    for i, sent_id in enumerate(run.sent_ids):
        try:
            annotation = file.find(sent_id, run.first + i, int(run.lengths[i]))
        except FormatError as error:
            faults.setdefault(i, str(error))
            continue
        annotations[i] = annotation
        tokens[i] = annotation.tokens
        if annotation.sent_id is not None:
            sent_ids[i] = annotation.sent_id
    return replace(run, sent_ids=sent_ids, tokens=tokens, annotations=annotations, faults=faults)


@contextmanager
def open_corpus(scores: str | InputFile, conllu: str | InputFile | None) -> Iterator[Corpus]:
    """Open the scores of a corpus and, if given, its CoNLL-U file."""
    with open_scores(scores) as file:
        if conllu is None:
            yield Corpus(file, None)
        else:
            with open_annotations(conllu, by_sent_id=file.has_sent_ids) as annotations:
                yield Corpus(file, annotations)


def part_runs(
    parts: Sequence[Part],
    file: InputFile | None,
    conllu: InputFile | None,
    *,
    num_trees: int = 0,
    scale: int = 1,
) -> Iterator[Sentences]:
    """Read the sentences of parts, one part after the other; `file` is the only one's, opened."""
    with ExitStack() as stack:
        annotations: AnnotationFile | None = None
        for part in parts:
            opened = open_shard(part.shard) if file is None else nullcontext(file)
            with opened as input_file, open_scores(input_file) as scores:
                if conllu is not None and annotations is None:
                    annotations = stack.enter_context(
                        open_annotations(conllu, by_sent_id=scores.has_sent_ids)
                    )
                stop = None if part.stop == part.shard.num_sentences else part.stop
                yield from Corpus(scores, annotations).runs(
                    part.start, stop, before=part.shard.first, num_trees=num_trees, scale=scale
                )
