"""The command that makes pictures: show."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from arborand.cli import options
from arborand.cli.messages import list_skipped, say_written
from arborand.cli.streams import check_streams
from arborand.corpus import computing
from arborand.corpus.reading import chosen_sentences, open_corpus
from arborand.errors import ArborandError
from arborand.formats.creating import write_aside
from arborand.formats.inputs import SentenceError
from arborand.formats.outputs import is_stream
from arborand.formats.provenance import provenance
from arborand.methods import DEFAULT_WITHOUT_REPLACEMENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arborand.formats.sentences import Sentences


def show(
    scores: options.Scores,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="Where to: a page (.html), or one diagram (.svg). '-' is standard output.",
            show_default=False,
        ),
    ],
    sent_id: Annotated[
        list[str] | None,
        typer.Option(
            "--sent-id",
            metavar="ID",
            help="The sentences to show; may be given more than once. Default: the first ones.",
            show_default=False,
        ),
    ] = None,
    max_sentences: Annotated[
        int, typer.Option("--max-sentences", min=1, help="How many sentences at most.")
    ] = 20,
    num_draws: Annotated[
        int,
        typer.Option(
            "--num-draws",
            min=1,
            max=options.MOST_TREES,
            help="Distinct trees to draw for each sentence, to see how much they cover.",
            rich_help_panel="Drawing",
        ),
    ] = 50,
    title: Annotated[
        str | None,
        typer.Option(
            "--title", help="The page's title. Default: the file's name.", show_default=False
        ),
    ] = None,
    seed: options.FixedSeed = 0,
    trees: options.Trees = "dependency",
    weights: options.Weights = False,
    conllu: options.Conllu = None,
    keep_heads: options.KeepHeads = False,
    on_error: options.OnBad = "stop",
) -> None:
    """Draw pictures of what the scores are unsure of: one self-contained page.

    The words with their arcs, as dark as they are probable; the best trees, side
    by side; the uncertain words; and how much of the mass the trees of a draw
    without replacement cover. The page loads nothing from anywhere.

    [bold]Examples[/bold]

      [cyan]arborand show scores.npz --conllu corpus.conllu -o corpus.html[/cyan]

      [cyan]arborand show scores.npz --conllu corpus.conllu --sent-id s-3 -o s-3.svg[/cyan]
    """
    from arborand.pictures import Picture, arc_diagram, page

    check_streams(scores, conllu, output)
    options.check_keep_heads(conllu, keep_heads=keep_heads)
    kind = "html" if output == "-" else Path(output).suffix.lower().removeprefix(".")
    if kind not in ("html", "htm", "svg"):
        raise typer.BadParameter(f"{output!r} is neither .html nor .svg", param_hint="--output")
    wanted = list(dict.fromkeys(sent_id or ()))
    if kind == "svg":
        max_sentences = 1
        if len(wanted) > 1:
            raise typer.BadParameter("a .svg shows one sentence", param_hint="--sent-id")
    skipped: list[list[str]] = []
    setting = computing.Setting(trees == "dependency", weights, 1, keep_heads)
    with open_corpus(scores, conllu) as corpus:
        chosen = chosen_sentences(corpus, wanted, max_sentences)

        def pictures() -> Iterator[Picture]:
            for run in chosen:
                try:
                    yield _picture(run, setting, num_draws, seed)
                except (ArborandError, MemoryError) as error:
                    reason = error.reason if isinstance(error, SentenceError) else str(error)
                    if isinstance(error, MemoryError):
                        reason = f"not enough memory for {num_draws} draws: ask for fewer"
                    if on_error == "stop":
                        raise SentenceError(run.sent_ids[0], run.first, reason) from error
                    skipped.append([run.sent_ids[0], reason])

        described: dict[str, Any] = {
            "num-draws": num_draws,
            "seed": seed,
            "trees": trees,
            "weights": weights,
            "keep-heads": keep_heads,
        }
        record = provenance(
            "show",
            described,
            inputs=corpus.inputs,
            seed=seed,
            method=DEFAULT_WITHOUT_REPLACEMENT,
        )
        parts: Iterator[str]
        if kind == "svg":
            parts = (
                arc_diagram(
                    picture.tokens,
                    picture.distribution.best_tree(),
                    picture.marginals,
                )
                for picture in pictures()
            )
        else:
            parts = page(pictures(), title=title or corpus.scores.file.name)
        text = (part.encode() for part in (*parts, _comment(record)))

        def write(file: IO[bytes]) -> None:
            for part in text:
                file.write(part)

        if output == "-":
            write(sys.stdout.buffer)
        elif is_stream(output):
            with open(output, "wb") as stream:
                write(stream)
        else:
            write_aside(Path(output), write)
    say_written(output)
    list_skipped(skipped)


def _picture(run: Sentences, setting: computing.Setting, num_draws: int, seed: int) -> Any:
    from arborand.pictures import Picture

    if run.faults:
        raise SentenceError(run.sent_ids[0], run.first, run.faults[0])
    distribution = setting.distribution(run)[0]
    draws = distribution.sample_without_replacement(num_draws, rng=seed, first_graph=run.first)
    tokens = run.tokens[0] or [str(i) for i in range(1, int(run.lengths[0]) + 1)]
    return Picture(
        distribution=distribution,
        tokens=tokens,
        sent_id=run.sent_ids[0],
        draws=draws,
        marginals=distribution.arc_marginals(),
    )


def _comment(record: dict[str, Any]) -> str:
    """Write provenance as a comment of HTML and of XML, where two hyphens would end it."""
    text = json.dumps(record, sort_keys=True).replace("-", "\\u002d")
    return f"\n<!-- arborand {text} -->\n"
