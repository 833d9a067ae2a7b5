"""The command that makes pictures: show."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from arborand.cli import options
from arborand.cli.jobs import check_files, check_selection
from arborand.cli.terminal import by_reason, list_skipped, note, progress, say_written
from arborand.corpus.execution import StoppedError
from arborand.corpus.job import SKIP_HINT
from arborand.corpus.reports import compare_corpus, gold_heads
from arborand.corpus.selection import Selected, Selection, reason_of
from arborand.corpus.shards import open_inputs
from arborand.corpus.storage import write_output
from arborand.corpus.stream import as_comment, open_corpus
from arborand.errors import ArborandError, SentenceError
from arborand.methods import DEFAULT_WITHOUT_REPLACEMENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arborand.corpus.computations import Setting
    from arborand.corpus.stream import Corpus
    from arborand.evaluation import Summary
    from arborand.formats.conllu import Annotation
    from arborand.formats.records import Sentences
    from arborand.pictures import Picture

_DIAGRAMS = ("svg", "png", "pdf")


@dataclass(frozen=True)
class Shown(options.Selecting):
    """Which sentences are shown; a page of all of them would be too long."""

    max_sentences: int | None = 20


@options.command(
    output=options.output(
        "Write a page (.html) or the diagram of one sentence (.svg, .png, .pdf); '-' is standard "
        "output."
    ),
    explore=options.option(
        "Whether readers of the page can fix and forbid heads; it then contains the scores.",
        "Output",
        "--explore/--no-explore",
    ),
    evaluate=options.option(
        "Whether the page compares the whole corpus with the gold heads in --conllu.",
        "Output",
        "--evaluate/--no-evaluate",
    ),
    num_draws=options.number_of_trees(
        "Draw this many distinct trees per sentence, to see how much they cover.", "Output"
    ),
    title=options.option("Set the page's title; by default, the file's name.", "Output"),
    seed=options.option("The same seed gives the same trees.", "Output", min=0),
)
def show(
    scores: list[str],
    output: str,
    explore: bool = True,
    evaluate: bool = True,
    num_draws: int = 50,
    title: str | None = None,
    seed: int = 0,
    on_error: options.OnError = "stop",
    *,
    selecting: Shown,
    reading: options.Reading,
) -> None:
    r"""Show what the scores are uncertain about, on one self-contained page.

    The page shows the words with their arcs, darker if they are more probable; the uncertain
    words; and the best trees, with what each changes. Readers can fix and forbid heads, and
    see what follows. With --conllu, each sentence and the whole corpus are compared with the
    gold trees. The page loads nothing from the network.

    Examples
    --------
      arborand show scores.npz --conllu corpus.conllu -o corpus.html
      # the most uncertain sentences of at most 40 words
      arborand show scores.npz --conllu corpus.conllu -o unsure.html \
          --sort entropy --filter 'length <= 40'
      arborand show scores.npz --conllu corpus.conllu --sent-id s-3 -o s-3.pdf
    """
    from arborand.pictures import arc_diagram, page
    from arborand.pictures.figures import check_figures, figure

    check_files(scores, reading.conllu, output)
    kind = "html" if output == "-" else Path(output).suffix.lower().removeprefix(".")
    if kind not in ("html", "htm", *_DIAGRAMS):
        raise typer.BadParameter(
            f"{output!r} is neither a page (.html) nor a diagram (.svg, .png or .pdf)",
            param_hint="--output",
        )
    if kind in ("png", "pdf"):
        check_figures()
    selection = check_selection(selecting, reading.conllu) or Selection()
    skipped: list[list[str]] = []

    def fault(one: Sentences, error: Exception) -> None:
        reason = reason_of(error, one, num_draws)
        if on_error == "stop":
            stopped = SentenceError(one.sent_ids[0], one.first, reason)
            raise StoppedError(f"{stopped}\n({SKIP_HINT})") from error
        skipped.append([one.sent_ids[0], reason])

    with (
        open_inputs(scores, reading.conllu) as inputs,
        open_corpus(inputs.parts, inputs.conllu) as corpus,
    ):
        total = inputs.num_sentences
        if kind in _DIAGRAMS and len(selection.wanted) != 1 and total != 1:
            raise typer.BadParameter(
                f"a .{kind} shows one sentence, and {inputs.name} has {total}: name one with "
                "--sent-id, or write a page (.html)",
                param_hint="--output",
            )
        selected = Selected(selection, corpus.runs(), reading.setting)
        # The page says how many were found before it shows the first, unless that is known.
        chosen = iter(selected) if selection.is_plain else iter(list(selected))

        def pictures() -> Iterator[Picture]:
            num_drawn = 0
            for one in chain.from_iterable(run.one_by_one() for run in chosen):
                try:
                    yield _picture_of(one, reading.setting, num_draws, seed)
                    num_drawn += 1
                except (ArborandError, MemoryError) as error:
                    fault(one, error)
            if kind in _DIAGRAMS and not num_drawn:
                reasons = by_reason(skipped) or ["no sentence meets the conditions"]
                raise StoppedError(f"there is nothing to draw: {reasons[0].strip()}")

        described: dict[str, Any] = {
            "num-draws": num_draws,
            "seed": seed,
            **reading.setting.described,
            **selection.options,
        }
        record = corpus.record("show", described, seed, DEFAULT_WITHOUT_REPLACEMENT)
        parts: Iterator[str | bytes]
        if kind in _DIAGRAMS:
            diagrams = (
                arc_diagram(picture.tokens, picture.distribution.best_tree(), picture.marginals)
                for picture in pictures()
            )
            if kind == "svg":
                parts = chain(diagrams, (as_comment(record),))
            else:
                parts = (figure(svg, kind) for svg in diagrams)
        else:
            is_compared = evaluate and not (selection.wanted or reading.keep_heads)
            document = page(
                pictures(),
                title=title or inputs.name,
                selection=selected.described(total),
                explore=explore,
                command=_best_command(scores, reading, selecting.sent_id),
                evaluation=_evaluation(corpus, total, reading) if is_compared else None,
                num_sentences=total,
                **_original(corpus, inputs.name),
            )
            parts = chain(document, (as_comment(record),))
        write_output(output, parts)
    say_written(output)
    list_skipped(skipped)


def _picture_of(sentence: Sentences, setting: Setting, num_draws: int, seed: int) -> Picture:
    """Gather what a picture shows of a run of one sentence.

    Raises
    ------
    SentenceError
        If the sentence cannot be used.
    """
    from arborand.pictures import Picture

    sentence.check_usable()
    distribution = setting.distribution(sentence)[0]
    draws = distribution.sample_without_replacement(num_draws, rng=seed, first_graph=sentence.first)
    annotation = sentence.annotations[0] if sentence.annotations else None
    gold, label_scores = gold_heads(sentence), setting.label_scores(sentence)
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
        place=annotation.place if annotation else None,
        label_log_weights=None if label_scores is None else label_scores[0],
        label_names=sentence.label_names,
    )


def _original(corpus: Corpus, name: str) -> dict[str, Any]:
    """Give the page the CoNLL-U file, for readers to save with their decisions."""
    if corpus.words is None:
        return {"file_name": f"{Path(name).stem}.conllu"}
    return {"conllu": corpus.words.path.read_bytes(), "file_name": corpus.words.name}


def _column(annotation: Annotation | None, name: str) -> list[str] | None:
    """Read a column of a CoNLL-U file, if anything is in it."""
    values = [] if annotation is None else annotation.column(name)
    return values if any(value != "_" for value in values) else None


def _best_command(
    scores: list[str], reading: options.Reading, sent_ids: list[str] | None
) -> str | None:
    """Write the command that finds the best trees of the same sentences."""
    if "-" in (*scores, reading.conllu):
        return None
    words = ["arborand", "best", *scores]
    words += [] if reading.conllu is None else ["--conllu", reading.conllu]
    words += ["--keep-heads"] if reading.keep_heads else []
    words += ["--trees", reading.trees]
    words += ["--projective"] if reading.projective else []
    words += ["--weights"] if reading.weights else []
    if reading.orientation != options.Reading.orientation:
        words += ["--orientation", reading.orientation]
    for sent_id in sent_ids or ():
        words += ["--sent-id", sent_id]
    return shlex.join(words)


def _evaluation(corpus: Corpus, total: int, reading: options.Reading) -> Summary | None:
    """Compare all sentences of a corpus that have gold heads, shown or not; None if none has."""
    with progress("compare with gold", total) as advance:
        summary, skipped = compare_corpus(corpus, reading.setting, advance)
    if skipped:
        note("\n".join(["the comparison with gold leaves these out:", *by_reason(skipped)]))
    return summary
