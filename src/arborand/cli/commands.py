"""The commands that go through a corpus: sample, best, marginals, logz, entropy."""

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
            rich_help_panel=options.RANDOM_TREES,
        ),
    ] = 1,
    without_replacement: Annotated[
        bool,
        typer.Option(
            "--without-replacement",
            help="Distinct trees, until a sentence has no more.",
            rich_help_panel=options.RANDOM_TREES,
        ),
    ] = False,
    method: Annotated[
        options.Method | None,
        typer.Option(
            "--method",
            help=options.METHOD_HELP,
            rich_help_panel=options.RANDOM_TREES,
            show_default=False,
        ),
    ] = None,
    seed: options.Seed = None,
    conllu: options.Conllu = None,
    keep_heads: options.KeepHeads = False,
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
    setting = _setting(run, conllu, keep_heads=keep_heads)
    compute: Computation
    if without_replacement:
        compute = computing.SamplingWithoutReplacement(setting, num_trees, method, seed)
    else:
        compute = computing.Sampling(setting, num_trees, method or DEFAULT_METHOD, seed)
    drawing = Drawing(
        num_trees,
        seed,
        method or (DEFAULT_WITHOUT_REPLACEMENT if without_replacement else DEFAULT_METHOD),
        {
            "num-trees": num_trees,
            "without-replacement": without_replacement,
            "method": method,
            "seed": seed,
            "keep-heads": keep_heads,
        },
    )
    _go_through("sample", layouts.TREES, compute, scores, run, conllu=conllu, drawing=drawing)


@options.spread
def best(
    scores: options.Scores,
    num_trees: Annotated[
        int,
        typer.Option(
            "--num-trees",
            "-k",
            min=1,
            max=options.MOST_TREES,
            help="Trees for each sentence, from the best one on.",
            rich_help_panel="Best trees",
        ),
    ] = 1,
    minimum_risk: Annotated[
        bool,
        typer.Option(
            "--minimum-risk",
            help="The tree with the most expected correct arcs, instead of the most probable one.",
            rich_help_panel="Best trees",
        ),
    ] = False,
    conllu: options.Conllu = None,
    keep_heads: options.KeepHeads = False,
    *,
    run: options.Run,
) -> None:
    r"""Find the best trees of every sentence, in order.

    The best tree is the most probable one. The order is exact: by the real sum of
    the scores, and for equal sums by the heads of words 1, 2, and so on. It depends
    on the scores alone.

    [bold]Examples[/bold]

      The best tree of each sentence, with the corpus' own columns:
      [cyan]arborand best scores.npz --conllu corpus.conllu -o best.conllu[/cyan]

      The five best readings, as a table:
      [cyan]arborand best scores.npz -k 5 --conllu corpus.conllu[/cyan]

      Complete a partial annotation, in which open heads are '_':
      [cyan]arborand best scores.npz --conllu partial.conllu --keep-heads \
          -o complete.conllu[/cyan]
    """
    if minimum_risk and num_trees > 1:
        raise typer.BadParameter(
            "there is one tree of least risk: leave out -k", param_hint="--minimum-risk"
        )
    setting = _setting(run, conllu, keep_heads=keep_heads)
    described = {
        "num-trees": num_trees,
        "minimum-risk": minimum_risk,
        "keep-heads": keep_heads,
    }
    _go_through(
        "best",
        layouts.BEST_TREES,
        computing.BestTrees(setting, num_trees, minimum_risk),
        scores,
        run,
        conllu=conllu,
        described=described,
        num_trees=num_trees,
    )


@options.spread
def marginals(
    scores: options.Scores,
    conllu: options.Conllu = None,
    keep_heads: options.KeepHeads = False,
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
        computing.Marginals(_setting(run, conllu, keep_heads=keep_heads)),
        scores,
        run,
        conllu=conllu,
        described={"keep-heads": keep_heads},
    )


@options.spread
def logz(
    scores: options.Scores,
    conllu: options.Conllu = None,
    keep_heads: options.KeepHeads = False,
    *,
    run: options.Run,
) -> None:
    """Compute log Z of every sentence.

    That is the logarithm of the summed weights of all its trees; with
    [cyan]--keep-heads[/cyan], of those that have the given heads.

    [bold]Examples[/bold]

      [cyan]arborand logz scores.npz[/cyan]

      [cyan]arborand logz scores.npz --trees spanning -o logz.jsonl[/cyan]
    """
    _go_through(
        "logz",
        layouts.LOG_PARTITION,
        computing.LogPartition(_setting(run, conllu, keep_heads=keep_heads)),
        scores,
        run,
        conllu=conllu,
        described={"keep-heads": keep_heads},
    )


@options.spread
def entropy(
    scores: options.Scores,
    conllu: options.Conllu = None,
    keep_heads: options.KeepHeads = False,
    num_draws: options.Retired = None,
    seed: options.RetiredSeed = None,
    *,
    run: options.Run,
) -> None:
    """Say how sure the scores are of every sentence.

    log Z; the entropy of the trees, in nats; the probability of the best tree; and
    the single-root share: the probability that a random spanning tree has only
    one arc from the root.

    The entropy is 0 if one tree has all the probability. It is 0.69 if the scores
    are as unsure as between two equally probable trees, and 2.3 as between ten: e
    to the power of the entropy is that number of trees.

    [bold]Examples[/bold]

      [cyan]arborand entropy scores.npz[/cyan]

      [cyan]arborand entropy scores.npz --conllu corpus.conllu[/cyan]

      [cyan]arborand entropy scores.npz -o entropy.csv[/cyan]
    """
    for name, value in (("--num-draws", num_draws), ("--seed", seed)):
        if value is not None:
            note(
                f"{name} has no effect, and goes with the next release: the best tree is found "
                "exactly, without random trees"
            )
    _go_through(
        "entropy",
        layouts.ENTROPY,
        computing.Entropy(_setting(run, conllu, keep_heads=keep_heads)),
        scores,
        run,
        conllu=conllu,
        described={"keep-heads": keep_heads},
    )


@dataclass(frozen=True)
class Drawing:
    """What a command draws, for the record: how many trees per sentence, from what, by what."""

    num_trees: int
    seed: int
    method: str
    described: dict[str, Any]


def _setting(run: options.Run, conllu: str | None, *, keep_heads: bool) -> computing.Setting:
    options.check_keep_heads(conllu, keep_heads=keep_heads)
    return computing.Setting(run.trees == "dependency", run.weights, run.workers, keep_heads)


def _go_through(
    command: str,
    layout: Layout,
    compute: Computation,
    scores: str,
    run: options.Run,
    *,
    conllu: str | None = None,
    drawing: Drawing | None = None,
    described: dict[str, Any] | None = None,
    num_trees: int = 0,
) -> None:
    """Compute something for every sentence of a corpus and write it."""
    check_streams(scores, conllu, run.output)
    chosen = chosen_format(run.output, run.format_, layout, resume=run.resume, restart=run.restart)
    if drawing is not None:
        described, num_trees = drawing.described, drawing.num_trees
    with open_corpus(scores, conllu) as corpus:
        record = provenance(
            command,
            {**(described or {}), "trees": run.trees, "weights": run.weights},
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
            num_trees=num_trees,
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
