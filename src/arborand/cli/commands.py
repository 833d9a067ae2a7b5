"""The commands that go through a corpus: sample, marginals, logz, entropy."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arborand.cli import computing, options
from arborand.cli.options import Format, Method, OnError
from arborand.cli.running import list_skipped, note, open_corpus, process
from arborand.cli.tables import TableOutput
from arborand.formats import rows as layouts
from arborand.formats.creating import OutputError
from arborand.formats.journal import recorded_seed
from arborand.formats.outputs import is_stream, open_output, output_format
from arborand.formats.provenance import provenance

if TYPE_CHECKING:
    from arborand.cli.running import Computation, Corpus
    from arborand.formats.outputs import Output
    from arborand.formats.rows import Layout

# The methods that only make sense where a single arc leaves the root.
_SINGLE_ROOT = ("wilson_reject", "wilson_rc")
# How distinct trees are drawn where no method is named.
_DISTINCT = "rejection, then partition"


def sample(
    scores: options.Scores,
    num_trees: Annotated[
        int,
        typer.Option(
            "--num-trees", "-k", min=1, help="Trees for each sentence.", rich_help_panel="Drawing"
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
        Method | None,
        typer.Option(
            "--method",
            help="With replacement: wilson (default), wilson_reject, colbourn, or the paper's "
            "biased wilson_rc. Without: rejection or partition (default: both, as it pays).",
            rich_help_panel="Drawing",
            show_default=False,
        ),
    ] = None,
    seed: options.Seed = None,
    trees: options.Trees = "dependency",
    weights: options.Weights = False,
    conllu: options.Conllu = None,
    output: options.Out = None,
    format_: options.OutFormat = None,
    resume: options.Resume = False,
    restart: options.Restart = False,
    workers: options.Workers = 1,
    on_error: options.OnBad = "stop",
) -> None:
    r"""Draw random trees for every sentence, each with its exact probability.

    The trees of a sentence depend on its scores, its place in the corpus, the
    seed and the method; not on the number of workers, nor on whether the run
    was interrupted and resumed.

    [bold]Examples[/bold]

      A hundred trees a sentence, into a Parquet file:
      [cyan]arborand sample scores.npz -k 100 --seed 1 -o trees.parquet[/cyan]

      Ten different readings of each sentence, with the corpus' own columns:
      [cyan]arborand sample scores.npz -k 10 --without-replacement \
          --conllu corpus.conllu -o readings.conllu[/cyan]

      Go on after an interruption (the result is the same, byte by byte):
      [cyan]arborand sample scores.npz -k 100 --seed 1 -o trees.parquet --resume[/cyan]

      In a pipe:
      [cyan]cat scores.npz | arborand sample - --format jsonl -o - | head[/cyan]
    """
    allowed = options.WITHOUT_REPLACEMENT if without_replacement else options.WITH_REPLACEMENT
    if method is not None and method not in allowed:
        kind = "without" if without_replacement else "with"
        raise typer.BadParameter(
            f"{method} does not draw {kind} replacement: use {', '.join(allowed)}",
            param_hint="--method",
        )
    if method in _SINGLE_ROOT and trees != "dependency":
        raise typer.BadParameter(
            f"{method} only draws dependency trees", param_hint="--method / --trees"
        )
    if method == "wilson_rc":
        note("wilson_rc is the paper's biased sampler: it draws the root's child by weight")
    if seed is None and resume and output is not None:
        seed = recorded_seed(Path(output))
    if seed is None:
        seed = secrets.randbits(63)
    setting = computing.Setting(trees == "dependency", weights, workers)
    compute: Computation
    if without_replacement:
        compute = computing.SamplingWithoutReplacement(setting, num_trees, method, seed)
        name = method or _DISTINCT
    else:
        name = method or "wilson"
        compute = computing.Sampling(setting, num_trees, name, seed)
    _go_through(
        "sample",
        layouts.TREES,
        compute,
        scores=scores,
        conllu=conllu,
        described={
            "num-trees": num_trees,
            "without-replacement": without_replacement,
            "method": method,
            "seed": seed,
            "trees": trees,
            "weights": weights,
        },
        seed=seed,
        method=name,
        num_trees=num_trees,
        output=output,
        format_=format_,
        resume=resume,
        restart=restart,
        workers=workers,
        on_error=on_error,
    )


def marginals(
    scores: options.Scores,
    trees: options.Trees = "dependency",
    weights: options.Weights = False,
    conllu: options.Conllu = None,
    output: options.Out = None,
    format_: options.OutFormat = None,
    resume: options.Resume = False,
    restart: options.Restart = False,
    workers: options.Workers = 1,
    on_error: options.OnBad = "stop",
) -> None:
    """Compute the probability of every arc of every sentence.

    A matrix a sentence, row: head, column: dependent, node 0: the root. Each
    entry is right to about 13 digits, however small. On the terminal: the
    likeliest heads of each word.

    [bold]Examples[/bold]

      [cyan]arborand marginals scores.npz -o marginals.npz[/cyan]

      [cyan]arborand marginals scores.npz --conllu corpus.conllu | less[/cyan]
    """
    setting = computing.Setting(trees == "dependency", weights, workers)
    _go_through(
        "marginals",
        layouts.MARGINALS,
        computing.Marginals(setting),
        scores=scores,
        conllu=conllu,
        described={"trees": trees, "weights": weights},
        output=output,
        format_=format_,
        resume=resume,
        restart=restart,
        workers=workers,
        on_error=on_error,
    )


def logz(
    scores: options.Scores,
    trees: options.Trees = "dependency",
    weights: options.Weights = False,
    output: options.Out = None,
    format_: options.OutFormat = None,
    resume: options.Resume = False,
    restart: options.Restart = False,
    workers: options.Workers = 1,
    on_error: options.OnBad = "stop",
) -> None:
    """Compute log Z of every sentence.

    That is the logarithm of the summed weights of all its trees.

    [bold]Examples[/bold]

      [cyan]arborand logz scores.npz[/cyan]

      [cyan]arborand logz scores.npz --trees spanning -o logz.jsonl[/cyan]
    """
    setting = computing.Setting(trees == "dependency", weights, workers)
    _go_through(
        "logz",
        layouts.LOG_PARTITION,
        computing.LogPartition(setting),
        scores=scores,
        conllu=None,
        described={"trees": trees, "weights": weights},
        output=output,
        format_=format_,
        resume=resume,
        restart=restart,
        workers=workers,
        on_error=on_error,
    )


def entropy(
    scores: options.Scores,
    num_draws: Annotated[
        int,
        typer.Option(
            "--num-draws",
            min=1,
            help="Distinct trees to draw; the best of them is the best known.",
            rich_help_panel="Drawing",
        ),
    ] = 10,
    seed: options.FixedSeed = 0,
    trees: options.Trees = "dependency",
    weights: options.Weights = False,
    output: options.Out = None,
    format_: options.OutFormat = None,
    resume: options.Resume = False,
    restart: options.Restart = False,
    workers: options.Workers = 1,
    on_error: options.OnBad = "stop",
) -> None:
    """Say how sure the scores are of every sentence.

    log Z; the entropy of the trees, in nats; the probability of the best tree
    known, which is the most probable one of a few distinct draws (a lower bound
    for that of the best tree); and the share of single-root trees in the mass of
    all spanning trees: how often a draw of a spanning tree would be accepted as a
    dependency tree.

    [bold]Examples[/bold]

      [cyan]arborand entropy scores.npz[/cyan]

      [cyan]arborand entropy scores.npz --num-draws 100 -o entropy.parquet[/cyan]
    """
    setting = computing.Setting(trees == "dependency", weights, workers)
    _go_through(
        "entropy",
        layouts.ENTROPY,
        computing.Entropy(setting, num_draws, seed),
        scores=scores,
        conllu=None,
        described={
            "num-draws": num_draws,
            "seed": seed,
            "trees": trees,
            "weights": weights,
        },
        seed=seed,
        method=_DISTINCT,
        num_trees=num_draws,
        output=output,
        format_=format_,
        resume=resume,
        restart=restart,
        workers=workers,
        on_error=on_error,
    )


def _go_through(
    command: str,
    layout: Layout,
    compute: Computation,
    *,
    scores: str,
    conllu: str | None,
    described: dict[str, Any],
    output: str | None,
    format_: Format | None,
    resume: bool,
    restart: bool,
    workers: int,
    on_error: OnError,
    seed: int | None = None,
    method: str | None = None,
    num_trees: int = 0,
) -> None:
    """Compute something for every sentence of a corpus and write it."""
    check_streams(scores, conllu, output)
    chosen = chosen_format(output, format_, layout, resume=resume, restart=restart)
    with open_corpus(scores, conllu) as corpus:
        record = provenance(command, described, inputs=corpus.inputs, seed=seed, method=method)
        target: Output
        if output is None:
            target = TableOutput(layout, record)
        else:
            target = open_output(output, chosen, layout, record, resume=resume, restart=restart)
        _report(
            corpus,
            process(
                corpus,
                compute,
                target,
                num_trees=num_trees,
                workers=workers,
                skip=on_error == "skip",
                what=command,
                quiet=output is None,
            ),
        )


def _report(corpus: Corpus, skipped: list[list[str]]) -> None:
    if corpus.scores.num_sentences == 0:
        note(f"{corpus.scores.file.name} has no sentences")
    list_skipped(skipped)


def check_streams(scores: str, conllu: str | None, output: str | None = None) -> None:
    """Refuse to read two files from one pipe, and to write over what is read."""
    for source in (scores, conllu):
        if source is not None and output is not None and _is_same_file(source, output):
            raise typer.BadParameter(
                f"{output!r} is the file that is read: choose another name", param_hint="--output"
            )
    if scores == "-" and conllu == "-":
        raise typer.BadParameter(
            "standard input can be the scores or the CoNLL-U file, not both", param_hint="--conllu"
        )


def _is_same_file(source: str, output: str) -> bool:
    try:
        return Path(source).samefile(output)
    except OSError:  # one of them is no file, or not there
        return False


def chosen_format(
    output: str | None, format_: Format | None, layout: Layout, *, resume: bool, restart: bool
) -> str:
    """Settle the format before anything is read; empty for a table on the terminal."""
    if resume and restart:
        raise typer.BadParameter(
            "an unfinished output is either continued or discarded", param_hint="--resume"
        )
    if output is None:
        for name, given in (("--format", format_), ("--resume", resume), ("--restart", restart)):
            if given:
                raise typer.BadParameter("goes with -o OUT", param_hint=name)
        return ""
    if resume and is_stream(output):
        raise typer.BadParameter("a pipe cannot be continued", param_hint="--resume")
    try:
        return output_format(output, format_, layout)
    except OutputError as error:
        raise typer.BadParameter(str(error), param_hint="--output / --format") from error
