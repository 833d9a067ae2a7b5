"""From a CoNLL-U file to a file of scores, with an adapter, whose results are checked."""

from __future__ import annotations

import importlib
import itertools
import math
import operator
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from arborand.distributions import DependencyTrees
from arborand.errors import ArborandError, FormatError, SentenceError
from arborand.formats import write_scores
from arborand.formats.conllu import read_annotations
from arborand.formats.inputs import open_input
from arborand.parsers.protocol import Scored, Unparsed
from arborand.trees import is_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from arborand.parsers.protocol import Adapter

ADAPTERS = ("stanza",)
# What follows the last thing that an adapter yields.
_END: Any = object()


@dataclass
class Report:
    """Counts of what was scored.

    Attributes
    ----------
    num_sentences : int
    num_compared : int
        The number of sentences for which the parser gave its own tree.
    num_same : int
        How often that tree is the best tree of the scores.
    num_repaired : int
        The number of sentences whose tree the parser then changes by other means.
    has_labels : bool
    """

    num_sentences: int = 0
    num_compared: int = 0
    num_same: int = 0
    num_repaired: int = 0
    has_labels: bool = False


def find_adapter(name: str) -> Adapter:
    """Find an adapter: one of ours by its name, or any other by ``module:function``.

    Raises
    ------
    ArborandError
        If there is none.

    Examples
    --------
    >>> find_adapter("arborand.parsers.stanza:scores") is find_adapter("stanza")
    True
    """
    module, colon, function = name.partition(":")
    if not colon:
        if name not in ADAPTERS:
            raise ArborandError(
                f"there is no parser {name!r}: use {', '.join(ADAPTERS)}, or module:function for a "
                "function of your own"
            )
        module, function = f"arborand.parsers.{name}", "scores"
    if not module or module.startswith("."):
        raise ArborandError(f"--parser {name}: {module!r} is not the name of a module")
    if os.getcwd() not in sys.path:  # people keep their own modules there
        sys.path.insert(0, os.getcwd())
    try:
        found = getattr(importlib.import_module(module), function)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise  # a module that this one needs is missing
        raise ArborandError(f"--parser {name}: there is no module {module!r}") from error
    except AttributeError as error:
        raise ArborandError(f"--parser {name}: {module} has no {function!r}") from error
    if not callable(found):
        raise ArborandError(f"--parser {name}: {function!r} is not a function")
    adapter: Adapter = found
    return adapter


def score(
    conllu: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    parser: str | Adapter = "stanza",
    model: str | None = None,
    labels: bool = True,
    advance: Callable[[int], object] = lambda count: None,
    **options: str,
) -> Report:
    r"""Score the sentences of a CoNLL-U file with a parser, and write the scores to a file.

    Parameters
    ----------
    conllu : path
        The sentences: words, and whatever else the parser reads.
    output : path
        Ends with ``.npz``, ``.parquet`` or ``.safetensors``.  The file appears when it is complete.
    parser : str or function
        ``stanza``, ``module:function``, or a function; see :class:`Adapter`.
    model : str, optional
        For stanza: a file, or a language whose models were downloaded.
    labels : bool
        Whether to write label scores, if the parser provides them.
    advance : function
        Called after every sentence with the number of sentences so far.
    **options
        Further options of the adapter.

    Returns
    -------
    Report

    Raises
    ------
    SentenceError
        If the scores of a sentence contradict the parser's own tree, or do not fit its words.
    FormatError, OutputError
        If the sentences cannot be read, or the scores cannot be written.
    ArborandError
        If there is no such parser or model.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> def indifferent(sentences, model):
    ...     for sentence in sentences:
    ...         yield Scored(np.zeros((len(sentence.words) + 1,) * 2))
    >>> with TemporaryDirectory() as folder:
    ...     corpus = Path(folder, "corpus.conllu")
    ...     _ = corpus.write_text("1\tRun" + "\t_" * 8 + "\n\n")
    ...     score(corpus, Path(folder, "scores.npz"), parser=indifferent).num_sentences
    1
    """
    adapter = find_adapter(parser) if isinstance(parser, str) else parser
    report = Report()
    with open_input(conllu) as file, file.path.open("rb") as handle:
        asked, kept = itertools.tee(_sentences(read_annotations(handle, file.name)))
        checked = _checked(kept, adapter(asked, model, **options), report, advance)
        first = next(checked, None)
        if first is None:
            raise FormatError(f"{file.name} has no sentences")
        names = (
            tuple(first[1].label_names or ()) if labels and first[1].labels is not None else None
        )
        report.has_labels = names is not None
        whole = itertools.chain([first], checked)
        # Written sentence by sentence, so no more is held in memory than the adapter holds.
        ids, words, arcs, label_scores = itertools.tee(whole, 4)
        write_scores(
            output,
            (_arcs(one) for _, one in arcs),
            sent_ids=(sentence.sent_id for sentence, _ in ids),
            words=(sentence.words for sentence, _ in words),
            label_scores=None if names is None else _labels(label_scores, names),
            label_names=names,
        )
    return report


def _labels(
    pairs: Iterator[tuple[Unparsed, Scored]], names: tuple[str, ...]
) -> Iterator[NDArray[Any]]:
    for number, (sentence, one) in enumerate(pairs):
        if one.labels is None:
            reason = "the parser gave no label scores here, but did for the first sentence"
            raise SentenceError(sentence.sent_id, number, reason)
        if tuple(one.label_names or ()) != names:
            reason = (
                "the parser's label names differ from those of the first sentence: they must be "
                "the same, in the same order"
            )
            raise SentenceError(sentence.sent_id, number, reason)
        yield _floats(one.labels)


def _sentences(annotations: Iterator[Any]) -> Iterator[Unparsed]:
    for number, annotation in enumerate(annotations, 1):
        lines = [*annotation.comments, *("\t".join(line) for line in annotation.lines)]
        sent_id = str(number) if annotation.sent_id is None else annotation.sent_id
        yield Unparsed(sent_id, annotation.tokens, "\n".join(lines) + "\n\n")


def _checked(
    sentences: Iterator[Unparsed],
    scored: Iterator[Any],
    report: Report,
    advance: Callable[[int], object],
) -> Iterator[tuple[Unparsed, Scored]]:
    """Check and count what an adapter yields."""
    try:
        scored = iter(scored)
    except TypeError as error:
        raise ArborandError(
            f"the parser returned {scored!r:.60}: it must yield one Scored per sentence"
        ) from error
    for number, sentence in enumerate(sentences):
        one = next(scored, _END)
        if one is _END:
            raise ArborandError(
                f"the parser gave scores for {number} sentences, but there are more: it must yield "
                "one Scored per sentence, in order"
            )
        _check(sentence, one, number, report)
        advance(report.num_sentences)
        yield sentence, one
    if next(scored, _END) is not _END:
        raise ArborandError(
            f"the parser gave more scores than there are sentences ({report.num_sentences})"
        )


def _check(sentence: Unparsed, one: Any, number: int, report: Report) -> None:
    size = len(sentence.words) + 1

    def fail(reason: str) -> SentenceError:
        return SentenceError(sentence.sent_id, number, reason)

    def check(values: Any, what: str, shape: tuple[int, ...], whose: str) -> None:
        try:
            array = np.asarray(values)
        except (TypeError, ValueError, RuntimeError) as error:
            raise fail(f"the parser's {what} scores are not an array: {error}") from error
        if array.shape != shape:
            raise fail(
                f"the parser's {what} scores have shape {array.shape}: expected {shape}, for "
                f"{whose}"
            )
        if array.dtype.kind not in "iuf":
            raise fail(f"the parser's {what} scores are of type {array.dtype}: expected numbers")

    if not isinstance(one, Scored):
        raise fail(f"the parser gave {one!r:.60}: expected a Scored")
    check(one.arcs, "arc", (size, size), f"{size - 1} words and the root")
    arcs = _arcs(one)
    _check_finite(arcs, arcs, "arc", fail)
    if one.labels is not None:
        names = len(one.label_names or ())
        check(one.labels, "label", (size, size, names), f"{names} label names")
        _check_finite(_floats(one.labels), arcs, "label", fail)
    report.num_sentences += 1
    report.num_repaired += one.repaired
    if one.heads is None:
        return
    arcs = arcs.astype(np.float64)
    try:
        own = np.array([-1, *map(operator.index, one.heads)])
    except TypeError as error:
        raise fail(f"the parser's own heads are {one.heads!r:.60}: expected integers") from error
    if len(own) != size or (own[1:] < 0).any() or (own[1:] >= size).any():
        raise fail(
            f"the parser's own heads are {own[1:].tolist()}, for {size - 1} words: expected one "
            f"head for each word, from 0 to {size - 1}"
        )
    values = arcs[own[1:], np.arange(1, size)]
    if not np.isfinite(values).all():
        word = int(np.flatnonzero(~np.isfinite(values))[0]) + 1
        raise fail(
            f"the parser's own tree has the arc {own[word]} -> {word}, whose score is "
            f"{values[word - 1]}: these are not the scores that the tree was decoded from"
        )
    best = DependencyTrees(arcs).best_tree()
    ours = math.fsum(arcs[best[1:], np.arange(1, size)])
    is_dependency_tree = (own[1:] == 0).sum() == 1 and bool(is_tree(own))
    if is_dependency_tree and math.fsum(values) > ours:
        raise fail(
            f"the parser's own tree has the score {math.fsum(values):.9g}, but the best tree only "
            f"{ours:.9g}: these are not the scores that the tree was decoded from (transposed?)"
        )
    report.num_compared += 1
    report.num_same += bool((best == own).all())


def _check_finite(
    scores: NDArray[Any], arcs: NDArray[Any], what: str, fail: Callable[[str], SentenceError]
) -> None:
    """Check the scores of arcs, or of the labels of arcs that are not ruled out."""
    bad = np.isnan(scores) | (scores == np.inf)
    bad[arcs == -np.inf] = False
    if bad.any():
        place = np.argwhere(bad)[0].tolist()
        raise fail(
            f"the parser's {what} scores{place} are {scores[tuple(place)]}: expected finite "
            "numbers, or -inf for what is ruled out"
        )


def _floats(values: Any) -> NDArray[Any]:
    array = np.array(values)
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def _arcs(one: Scored) -> NDArray[Any]:
    """Remove what is not an arc: words as their own heads, and heads of the root."""
    arcs = _floats(one.arcs)
    np.fill_diagonal(arcs, -np.inf)
    arcs[:, 0] = -np.inf
    return arcs
