"""The commands that go through a corpus: sample, marginals, logz, entropy."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arborand.cli import computing, options
from arborand.cli.messages import list_skipped, note, say_written
from arborand.cli.running import open_corpus, process
from arborand.cli.streams import check_streams, chosen_format
from arborand.cli.tables import TableOutput
from arborand.formats import rows as layouts
from arborand.formats.journal import recorded_seed
from arborand.formats.outputs import open_output
from arborand.formats.provenance import provenance
from arborand.methods import (
    DEFAULT_METHOD,
    DEFAULT_WITHOUT_REPLACEMENT,
    WITH_REPLACEMENT,
    WITHOUT_REPLACEMENT,
    names,
)

if TYPE_CHECKING:
    from arborand.cli.running import Computation
    from arborand.formats.outputs import Output
    from arborand.formats.rows import Layout


@options.spread
def sample(
    scores: options.Scores,
    num_trees: Annotated[
        int,
        typer.Option(
            "--num-trees",
            "-k",
            min=1,
            max=options.MOST_TREES,
            help="Trees for each sentence.",
            rich_help_panel="Drawing",
        ),
    ] = 1,
    without_replacement: Annotated[
        bool,
        typer.Option(
            "--without-replacement",
            help="Distinct trees, until a sentence has no more.",
            rich_help_panel="Drawing",
        ),
    ] = False,
    method: Annotated[
        options.Method | None,
        typer.Option(
            "--method",
            help=options.METHOD_HELP,
            rich_help_panel="Drawing",
            show_default=False,
        ),
    ] = None,
    seed: options.Seed = None,
    conllu: options.Conllu = None,
    *,
    run: options.Run,
) -> None:
    r"""Draw random trees for every sentence, each with its exact probability.

    The trees of a sentence depend on its scores, its place in the corpus, the
    seed and the method; not on the number of workers, nor on whether the run
    was interrupted and resumed.

    [bold]Examples[/bold]

      A hundred trees per sentence, into a Parquet file:
      [cyan]arborand sample scores.npz -k 100 --seed 1 -o trees.parquet[/cyan]

      Ten different readings of each sentence, with the corpus' own columns:
      [cyan]arborand sample scores.npz -k 10 --without-replacement \
          --conllu corpus.conllu -o readings.conllu[/cyan]

      Go on after an interruption (the result is the same, byte by byte):
      [cyan]arborand sample scores.npz -k 100 --seed 1 -o trees.parquet --resume[/cyan]

      In a pipe:
      [cyan]cat scores.npz | arborand sample - --format jsonl -o - | head[/cyan]
    """
    methods = WITHOUT_REPLACEMENT if without_replacement else WITH_REPLACEMENT
    chosen = next((known for known in methods if known.name == method), None)
    if method is not None and chosen is None:
        kind = "without" if without_replacement else "with"
        raise typer.BadParameter(
            f"{method} does not draw {kind} replacement: use {', '.join(names(methods))}",
            param_hint="--method",
        )
    if chosen is not None and chosen.single_root_only and run.trees != "dependency":
        raise typer.BadParameter(
            f"{method} only draws dependency trees", param_hint="--method / --trees"
        )
    if chosen is not None and chosen.is_biased:
        note(f"{method} is biased: {chosen.summary}")
    if seed is None and run.resume and run.output is not None:
        seed = recorded_seed(Path(run.output))
    if seed is None:
        seed = secrets.randbits(63)
    compute: Computation
    if without_replacement:
        compute = computing.SamplingWithoutReplacement(_setting(run), num_trees, method, seed)
    else:
        compute = computing.Sampling(_setting(run), num_trees, method or DEFAULT_METHOD, seed)
    drawing = Drawing(
        num_trees,
        seed,
        method or (DEFAULT_WITHOUT_REPLACEMENT if without_replacement else DEFAULT_METHOD),
        {
            "num-trees": num_trees,
            "without-replacement": without_replacement,
            "method": method,
            "seed": seed,
        },
    )
    _go_through("sample", layouts.TREES, compute, scores, run, conllu=conllu, drawing=drawing)


@options.spread
def marginals(
    scores: options.Scores,
    conllu: options.Conllu = None,
    *,
    run: options.Run,
) -> None:
    """Compute the probability of every arc of every sentence.

    One matrix per sentence, row: head, column: dependent, node 0: the root. Each
    entry is right to about 13 digits, however small. On the terminal: the
    likeliest heads of each word.

    [bold]Examples[/bold]

      [cyan]arborand marginals scores.npz -o marginals.npz[/cyan]

      [cyan]arborand marginals scores.npz --conllu corpus.conllu | less[/cyan]
    """
    _go_through(
        "marginals",
        layouts.MARGINALS,
        computing.Marginals(_setting(run)),
        scores,
        run,
        conllu=conllu,
    )


@options.spread
def logz(
    scores: options.Scores,
    *,
    run: options.Run,
) -> None:
    """Compute log Z of every sentence.

    That is the logarithm of the summed weights of all its trees.

    [bold]Examples[/bold]

      [cyan]arborand logz scores.npz[/cyan]

      [cyan]arborand logz scores.npz --trees spanning -o logz.jsonl[/cyan]
    """
    _go_through("logz", layouts.LOG_PARTITION, computing.LogPartition(_setting(run)), scores, run)


@options.spread
def entropy(
    scores: options.Scores,
    num_draws: Annotated[
        int,
        typer.Option(
            "--num-draws",
            min=1,
            max=options.MOST_TREES,
            help="Distinct trees to draw; the best of them is the best known.",
            rich_help_panel="Drawing",
        ),
    ] = 10,
    seed: options.FixedSeed = 0,
    conllu: options.Conllu = None,
    *,
    run: options.Run,
) -> None:
    """Say how sure the scores are of every sentence.

    log Z; the entropy of the trees, in nats; the probability of the best tree
    known, which is the most probable one of a few distinct draws (a lower bound
    for that of the best tree); and the share of single-root trees in the mass of
    all spanning trees: how often a draw of a spanning tree would be accepted as a
    dependency tree.

    [bold]Examples[/bold]

      [cyan]arborand entropy scores.npz[/cyan]

      [cyan]arborand entropy scores.npz --conllu corpus.conllu[/cyan]

      [cyan]arborand entropy scores.npz --num-draws 100 -o entropy.csv[/cyan]
    """
    compute = computing.Entropy(_setting(run), num_draws, seed)
    drawing = Drawing(
        num_draws, seed, DEFAULT_WITHOUT_REPLACEMENT, {"num-draws": num_draws, "seed": seed}
    )
    _go_through("entropy", layouts.ENTROPY, compute, scores, run, conllu=conllu, drawing=drawing)


@dataclass(frozen=True)
class Drawing:
    """What a command draws, for the record: how many trees per sentence, from what, by what."""

    num_trees: int
    seed: int
    method: str
    described: dict[str, Any]


def _setting(run: options.Run) -> computing.Setting:
    return computing.Setting(run.trees == "dependency", run.weights, run.workers)


def _go_through(
    command: str,
    layout: Layout,
    compute: Computation,
    scores: str,
    run: options.Run,
    *,
    conllu: str | None = None,
    drawing: Drawing | None = None,
) -> None:
    """Compute something for every sentence of a corpus and write it."""
    check_streams(scores, conllu, run.output)
    chosen = chosen_format(run.output, run.format_, layout, resume=run.resume, restart=run.restart)
    described = {} if drawing is None else drawing.described
    with open_corpus(scores, conllu) as corpus:
        record = provenance(
            command,
            {**described, "trees": run.trees, "weights": run.weights},
            inputs=corpus.inputs,
            seed=None if drawing is None else drawing.seed,
            method=None if drawing is None else drawing.method,
        )
        target: Output
        if run.output is None:
            target = TableOutput(layout, record)
        else:
            target = open_output(
                run.output, chosen, layout, record, resume=run.resume, restart=run.restart
            )
        skipped = process(
            corpus,
            compute,
            target,
            num_trees=0 if drawing is None else drawing.num_trees,
            workers=run.workers,
            skip=run.on_error == "skip",
            what=command,
            quiet=run.output is None,
        )
        if corpus.scores.num_sentences == 0:
            note(f"{corpus.scores.file.name} has no sentences")
    if run.output is not None:
        say_written(run.output)
    list_skipped(skipped)
