"""The commands that compute something for every sentence of a corpus."""

from __future__ import annotations

import typer

from arborand.cli import options
from arborand.cli.jobs import list_words, note_absent, run_command
from arborand.formats.records import BEST_TREES, ENTROPY, LOG_PARTITION, MARGINALS, TREES

# How many words are listed if nobody says how many.
_WORDS = 20


@options.command(format_=options.formats(TREES))
def sample(
    scores: list[str],
    num_trees: int = 1,
    without_replacement: bool = False,
    method: options.Method | None = None,
    seed: int | None = None,
    relations: options.Relations | None = None,
    *,
    run: options.Run,
) -> None:
    r"""Draw exact random trees for every sentence.

    The trees of a sentence depend on its scores, its position in the corpus, the seed and the
    method. They do not depend on the number of workers or on interruptions.

    Examples
    --------
      # a hundred trees per sentence, as a Parquet file
      arborand sample scores.npz -k 100 --seed 1 -o trees.parquet
      # ten different readings of each sentence, with the corpus's own columns
      arborand sample scores.npz -k 10 --without-replacement \
          --conllu corpus.conllu -o readings.conllu
      # a folder of files, on two processors; rerun it to resume
      arborand sample scores/ -k 100 --seed 1 --workers 2 -o trees/
    """
    run_command(
        "sample",
        scores,
        run,
        num_trees=num_trees,
        without_replacement=without_replacement,
        method=method,
        seed=seed,
        relations=relations,
    )


@options.command(
    format_=options.formats(BEST_TREES),
    num_trees=options.number_of_trees(
        "Find this many trees per sentence, the best one first.", "Best trees", "-k"
    ),
    minimum_risk=options.option(
        "Find the tree with the most expected correct arcs (minimum Bayes risk) instead.",
        "Best trees",
    ),
)
def best(
    scores: list[str],
    num_trees: int = 1,
    minimum_risk: bool = False,
    decisions: str | None = None,
    relations: options.Relations | None = None,
    *,
    run: options.Run,
) -> None:
    r"""Find the best trees of every sentence, in order.

    The best tree is the most probable one. The order is exact: by the unrounded sum of the
    scores, with ties broken by the heads of words 1, 2, and so on. On the terminal, the first
    tree is shown in full, the others by what differs.

    Examples
    --------
      # the five best trees of one sentence
      arborand best scores.npz --sent-id s-3 -k 5 --conllu corpus.conllu
      # the best tree of each sentence, with the corpus's own columns
      arborand best scores.npz --conllu corpus.conllu -o best.conllu
      # complete a partial annotation, in which open heads are '_'
      arborand best scores.npz --conllu partial.conllu --keep-heads \
          -o complete.conllu
      # the best trees that agree with decisions made on a page of show
      arborand best scores.npz --decisions corpus.decisions.json -o decided.conllu
    """
    note_absent(scores, run.conllu, decisions)
    run_command(
        "best",
        scores,
        run,
        num_trees=num_trees,
        minimum_risk=minimum_risk,
        decisions=decisions,
        relations=relations,
    )


@options.command(format_=options.formats(MARGINALS))
def marginals(scores: list[str], *, run: options.Run) -> None:
    """Compute the probability of every arc of every sentence.

    The result is one matrix per sentence, with a row for each head and a column for each
    dependent; node 0 is the root. Each entry is accurate to about 13 digits, however small. On
    the terminal, the likeliest heads of each word are listed.

    Examples
    --------
      arborand marginals scores.npz -o marginals.npz
      arborand marginals scores.npz --sent-id s-3 --conllu corpus.conllu
    """
    run_command("marginals", scores, run)


@options.command(format_=options.formats(LOG_PARTITION))
def logz(scores: list[str], *, run: options.Run) -> None:
    """Compute log Z of every sentence.

    log Z is the logarithm of the total weight of all trees of the sentence; with --keep-heads,
    of those that have the given heads.

    Examples
    --------
      arborand logz scores.npz
      arborand logz scores.npz --trees spanning -o logz.jsonl
    """
    run_command("logz", scores, run)


@options.command(
    format_=options.formats(ENTROPY),
    words=options.option(
        "List the words of the whole corpus whose heads are least certain, with their two "
        "likeliest heads (jsonl, csv, tsv).",
        "Words",
    ),
    max_words=options.option(f"List this many words. [{_WORDS}]", "Words", min=1),
)
def entropy(
    scores: list[str], words: bool = False, max_words: int | None = None, *, run: options.Run
) -> None:
    """Report how certain the scores are about each sentence, or each word.

    For a sentence: log Z; the entropy of its trees, in nats; the probability of the best tree;
    and the single-root share, the probability that a random spanning tree has only one arc
    from the root. The entropy is 0 if one tree has all the probability. At 0.69 the scores are
    as uncertain as a choice between two equally probable trees, at 2.3 as a choice among ten:
    e to the power of the entropy is the effective number of trees.

    Examples
    --------
      # the ten least certain sentences, and the twenty least certain words
      arborand entropy scores.npz --sort entropy --max-sentences 10
      arborand entropy scores.npz --conllu corpus.conllu --words
      arborand entropy scores.npz -o entropy.csv
    """
    if words:
        list_words(scores, run, max_words or _WORDS)
    elif max_words is not None:
        raise typer.BadParameter("needs --words", param_hint="--max-words")
    else:
        run_command("entropy", scores, run)
