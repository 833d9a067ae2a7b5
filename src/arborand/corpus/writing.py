"""The rows of some parts, computed or converted, into one writer."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arborand.corpus.passing import pass_over
from arborand.corpus.plan import listing_digest, open_shard
from arborand.corpus.provenance import provenance
from arborand.corpus.reading import part_runs
from arborand.errors import FormatError, SentenceError
from arborand.formats.conllu import open_annotations
from arborand.formats.inputs import InputFile
from arborand.formats.trees import layout_of, open_trees

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from arborand.corpus.passing import Passage
    from arborand.corpus.plan import Part, Shard
    from arborand.corpus.work import Work
    from arborand.formats.conllu import Annotation, AnnotationFile
    from arborand.formats.records import Layout, Rows, Writer


def write_rows(
    work: Work,
    parts: Sequence[Part],
    file: InputFile | None,
    conllu: Shard | None,
    begin: Callable[[Layout, dict[str, Any]], Writer],
    passage: Passage,
    *,
    skip: bool = False,
    overlap: bool = True,
    advance: Callable[[int], object] = lambda count: None,
) -> None:
    """Compute the rows of parts, and write them.

    Parameters
    ----------
    work : Work
    parts : sequence of Part
        At least one.
    file : InputFile or None
        The shard of the only part, opened; None if there are several.
    conllu : Shard or None
        The file that has the words.
    begin : function from layout and provenance to Writer
    passage, skip, overlap, advance
        See :func:`arborand.corpus.passing.pass_over`.
    """
    with ExitStack() as stack:
        words = None if conllu is None else stack.enter_context(open_shard(conllu))
        record = _record(work, parts, file, words)
        if work.layout is None or work.compute is None:
            _convert_trees(parts, file, words, record, begin, passage, advance)
            return
        with _completed(begin(work.layout, record)) as writer:
            runs = part_runs(parts, file, words, num_trees=work.num_trees, scale=work.run_scale)
            pass_over(
                runs,
                work.compute,
                writer,
                passage,
                num_trees=work.num_trees,
                skip=skip or work.command == "check",
                overlap=overlap,
                advance=advance,
            )


@contextmanager
def _completed(writer: Writer) -> Iterator[Writer]:
    try:
        yield writer
        writer.close()
    except BaseException:
        writer.discard()
        raise


def _record(
    work: Work, parts: Sequence[Part], file: InputFile | None, words: InputFile | None
) -> dict[str, Any]:
    """Say where the output comes from."""
    shards = [part.shard for part in parts]
    name = Path(shards[0].folder).name or "."
    read = file or InputFile(Path(), name, "", listing_digest(shards))
    inputs = {"input": read} if words is None else {"input": read, "conllu": words}
    record = provenance(
        work.command, work.options, inputs=inputs, seed=work.seed, method=work.method
    )
    if file is None:  # the digest is that of the list of files
        record["input"]["files"] = len(shards)
    return record


def _convert_trees(
    parts: Sequence[Part],
    file: InputFile | None,
    words: InputFile | None,
    record: dict[str, Any],
    begin: Callable[[Layout, dict[str, Any]], Writer],
    passage: Passage,
    advance: Callable[[int], object],
) -> None:
    """Write trees as they are, with the words and columns of a CoNLL-U file if there is one."""
    with ExitStack() as stack:
        annotations = None
        if words is not None:
            annotations = stack.enter_context(open_annotations(words, by_sent_id=True))
        writer: Writer | None = None
        index = 0
        for part in parts:
            opened = open_shard(part.shard) if file is None else nullcontext(file)
            with opened as input_file, open_trees(input_file) as trees:
                if writer is None:
                    if trees.provenance is not None:
                        record["source"] = trees.provenance
                    writer = stack.enter_context(_completed(begin(layout_of(trees), record)))
                last: Annotation | None = None
                for rows in trees.rows():
                    if annotations is not None:
                        rows, last = _annotated(rows, annotations, last, index)
                    index += len(rows.sent_ids)
                    writer.write(rows)
                    passage.num_sentences += len(rows.sent_ids) - int(rows.first_sample > 0)
                    passage.num_rows += int(rows.num_rows.sum())
                    advance(passage.num_sentences)


def _annotated(
    rows: Rows, annotations: AnnotationFile, last: Annotation | None, index: int
) -> tuple[Rows, Annotation | None]:
    """Add words and columns to trees; `last` is what the sentence before had."""
    found: list[Annotation | None] = []
    for i, sent_id in enumerate(rows.sent_ids):
        if not (i == 0 and rows.first_sample):
            try:
                last = annotations.find(sent_id, index + i, int(rows.lengths[i]))
            except FormatError as error:
                raise SentenceError(sent_id, index + i, str(error)) from error
        found.append(last)
    tokens = [None if note is None else note.tokens for note in found]
    return replace(rows, tokens=tokens, annotations=found), last
