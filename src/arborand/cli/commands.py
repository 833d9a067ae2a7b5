"""The commands that compute something for every sentence of a corpus."""

from __future__ import annotations

import typer

from arborand.cli import options
from arborand.cli.jobs import list_words, run_command

# How many words are listed if nobody says how many.
_WORDS = 20


@options.command()
def sample(
    scores: list[str],
    num_trees: int = 1,
    without_replacement: bool = False,
    method: options.Method | None = None,
    seed: int | None = None,
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

      A folder of shards on two processors. After an interruption, rerun the same
      command to resume; the result is the same, byte for byte:
      [cyan]arborand sample scores/ -k 100 --seed 1 --workers 2 -o trees/[/cyan]

      In a pipe:
      [cyan]cat scores.npz | arborand sample - --format jsonl -o - | head[/cyan]
    """
    run_command(
        "sample",
        scores,
        run,
        num_trees=num_trees,
        without_replacement=without_replacement,
        method=method,
        seed=seed,
    )


@options.command(
    num_trees=options.number_of_trees(
        "How many trees per sentence, starting with the best one.", "Best trees", "-k"
    ),
    minimum_risk=options.option(
        "The tree with the most expected correct arcs, instead of the most probable one.",
        "Best trees",
    ),
)
def best(
    scores: list[str], num_trees: int = 1, minimum_risk: bool = False, *, run: options.Run
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
    run_command("best", scores, run, num_trees=num_trees, minimum_risk=minimum_risk)


@options.command()
def marginals(scores: list[str], *, run: options.Run) -> None:
    """Compute the probability of every arc of every sentence.

    One matrix per sentence, row: head, column: dependent, node 0: the root. Each
    entry is right to about 13 digits, however small. On the terminal: the
    likeliest heads of each word.

    [bold]Examples[/bold]

      [cyan]arborand marginals scores.npz -o marginals.npz[/cyan]

      [cyan]arborand marginals scores.npz --conllu corpus.conllu | less[/cyan]
    """
    run_command("marginals", scores, run)


@options.command()
def logz(scores: list[str], *, run: options.Run) -> None:
    """Compute log Z of every sentence.

    That is the logarithm of the summed weights of all its trees; with
    [cyan]--keep-heads[/cyan], of those that have the given heads.

    [bold]Examples[/bold]

      [cyan]arborand logz scores.npz[/cyan]

      [cyan]arborand logz scores.npz --trees spanning -o logz.jsonl[/cyan]
    """
    run_command("logz", scores, run)


@options.command(
    words=options.option(
        "List the words of the whole corpus whose heads are least certain, with their two "
        "likeliest heads.",
        "Words",
    ),
    max_words=options.option("How many words to list.", "Words", min=1, metavar="N"),
)
def entropy(
    scores: list[str], words: bool = False, max_words: int | None = None, *, run: options.Run
) -> None:
    """Report how certain the scores are about each sentence.

    log Z; the entropy of the trees, in nats; the probability of the best tree; and
    the single-root share: the probability that a random spanning tree has only
    one arc from the root.

    The entropy is 0 if one tree has all the probability. At 0.69 the scores are as
    uncertain as a choice between two equally probable trees, at 2.3 as a choice
    among ten: e to the power of the entropy is the effective number of trees.

    [bold]Examples[/bold]

      The ten sentences that the scores are least certain about:
      [cyan]arborand entropy scores.npz --sort entropy --max-sentences 10[/cyan]

      The twenty words whose heads are least certain:
      [cyan]arborand entropy scores.npz --conllu corpus.conllu --words[/cyan]

      [cyan]arborand entropy scores.npz -o entropy.csv[/cyan]
    """
    if words:
        list_words(scores, run, max_words or _WORDS)
    elif max_words is not None:
        raise typer.BadParameter("goes with --words", param_hint="--max-words")
    else:
        run_command("entropy", scores, run)
