"""The command that shows where two parsers differ: compare."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from arborand.cli import options
from arborand.cli.jobs import (
    check_files,
    check_selection,
    choose_format,
    say_selected,
    write_lines,
)
from arborand.cli.tables import (
    SENTENCE,
    TEXT,
    Column,
    plain_percent,
    print_facts,
    print_sentences,
    print_table,
    say_source,
    six_digits,
)
from arborand.cli.terminal import (
    list_skipped,
    note,
    note_gold_without_tree,
    progress,
    say_written,
)
from arborand.corpus.computations import Setting, Work
from arborand.corpus.contrast import CONTRAST, Contrast, FirstLines, Order, Second
from arborand.corpus.execution import run_to_writer
from arborand.corpus.shards import open_inputs, shard_sha256
from arborand.corpus.storage import is_folder, write_output
from arborand.corpus.stream import has_ids
from arborand.formats.inputs import visible

if TYPE_CHECKING:
    from arborand.corpus.contrast import Totals
    from arborand.formats.records import Rows

# How many sentences a table lists if nobody says how many.
_LINES = 20


@dataclass(frozen=True)
class Compared(options.Selecting):
    """Which sentences are compared; they are sorted by what was found."""

    sort: Order = "kl"  # type: ignore[assignment]


@options.command(
    first=options.argument("A", "Scores of the first parser: a file, a folder or a pattern."),
    second=options.argument("B", "Scores of the second parser, for the same sentences."),
    conllu=options.option(
        "Words and, if there are any, gold heads, matched by sent_id or position.",
        "Scores",
        metavar="FILE",
    ),
    sort=options.option(
        "Sort by kl (of A from B), heads (that differ), length or file (the order of A).",
        "Which sentences",
        metavar="MEASURE",
    ),
    max_sentences=options.option(
        f"List at most this many; by default {_LINES} on the terminal, otherwise all.",
        "Which sentences",
        min=1,
    ),
    output=options.output(
        "Write a file (the ending sets the format), or '-' (standard output). A .json file also "
        "has the totals."
    ),
    format_=options.formats(CONTRAST),
    workers=options.option("Use N threads.", "Running", min=1),
)
def compare(
    first: str,
    second: str,
    conllu: str | None = None,
    trees: options.TreeKind = "dependency",
    projective: bool = False,
    weights: bool = False,
    orientation: options.Orientation = "head,dependent",
    output: str | None = None,
    format_: options.Format | None = None,
    workers: int = 1,
    on_error: options.OnError = "stop",
    *,
    selecting: Compared,
) -> None:
    """Show where two parsers differ and, with gold heads, who is right there.

    For each sentence: the Kullback-Leibler divergence of the first distribution from the second,
    and of the second from the first, in nats; how many words have different heads in the two
    best trees; and the expected agreement, the share of words that get the same head if a tree is
    drawn from each.
    With gold heads: how many heads each best tree gets right. The totals also say who is
    right where the best trees differ, and whose probabilities are better calibrated.

    Examples
    --------
      arborand compare stanza.npz supar.npz --conllu gold.conllu
      arborand compare a.npz b.npz --sort heads --max-sentences 5
      arborand compare a.npz b.npz --conllu gold.conllu -o differences.json
    """
    if output is not None and is_folder(output):
        raise typer.BadParameter("a comparison is one file, not a folder", param_hint="--output")
    check_files([first, second], conllu, output)
    chosen = choose_format(output, options.Running(format_=format_), CONTRAST)
    # What is sorted is what was found; only --sent-id and --filter choose what is compared.
    named = options.Selecting(selecting.sent_id, selecting.filter_)
    selection = check_selection(named, conllu)
    most = selecting.max_sentences or (_LINES if output is None else None)
    setting = Setting(trees, weights, workers, orientation=orientation, projective=projective)
    described: dict[str, Any] = {
        "": Path(second).name,
        **setting.described,
        "sort": selecting.sort,
        "reverse": selecting.reverse,
        "max-sentences": selecting.max_sentences,
    }
    lines = FirstLines(selecting.sort, reverse=selecting.reverse, most=most)
    with open_inputs([first], conllu) as ours, open_inputs([second]) as theirs:
        by_id = all(map(has_ids, [*ours.shards, *theirs.shards]))
        contrast = Contrast(setting, Second(theirs.shards, by_id=by_id))
        work = Work("compare", contrast, CONTRAST, described).selecting(selection)
        with progress("compare", ours.num_sentences) as advance:
            skip = on_error == "skip"
            tally = run_to_writer(work, ours, lines.begin, skip=skip, advance=advance)
        names = [ours.shards[0].shown, theirs.shards[0].shown]
        lines.provenance["second"] = {"name": names[1], "sha256": shard_sha256(theirs.shards[0])}
        total = ours.num_sentences
    totals = contrast.totals
    if output != "-":
        _print_totals(totals, names)
    if output is None:
        _print_lines(lines.lines(), has_gold=bool(totals.first.num_words))
        say_source(lines.provenance)
    elif chosen == "json":
        result = {
            "arborand": "comparison",
            **totals.as_dict(),
            "sentences": [_as_dict(one) for one in lines.lines()],
            "provenance": lines.provenance,
        }
        text = json.dumps(result, ensure_ascii=False, allow_nan=False, indent=1)
        write_output(output, (text, "\n"))
    else:
        write_lines(output, chosen, CONTRAST, lines.provenance, lines.lines())
    if output is not None:
        say_written(output)
    if conllu is not None and not totals.first.num_words:
        note(f"{conllu} has no gold heads: there is nothing to judge by")
    if totals.first.num_no_trees:
        count = totals.first.num_no_trees
        note_gold_without_tree(setting.kind, f"{count} sentence{'s' if count > 1 else ''}")
    if totals.num_infinite:
        note(
            "the divergence is infinite, because one parser rules out what the other allows, in "
            f"{totals.num_infinite} sentence{'s' if totals.num_infinite > 1 else ''}: left out of "
            "the mean"
        )
    say_selected(tally, total)
    list_skipped(tally.skipped)


def _as_dict(rows: Rows) -> dict[str, Any]:
    """Write a line for JSON: None for what is not a finite number."""
    numbers = {name: float(column[0]) for name, column in rows.columns.items()}
    return {
        "sent_id": rows.sent_ids[0],
        "length": int(rows.lengths[0]),
        **{name: value if math.isfinite(value) else None for name, value in numbers.items()},
    }


def _print_totals(totals: Totals, names: list[str]) -> None:
    found = totals.as_dict()

    def share(count: float, of: int) -> str:
        return plain_percent(count / of) if of else ""

    over = f"mean over {totals.num_sentences - totals.num_infinite:,} sentences"
    lines = [
        ("sentences", f"{totals.num_sentences:,}", ""),
        ("words", f"{totals.num_words:,}", ""),
        ("KL of A from B, in nats", six_digits(found["mean_kl_to_second"]), over),
        ("KL of B from A: back", six_digits(found["mean_kl_to_first"]), over),
        (
            "different heads in best trees",
            f"{totals.different_heads:,}",
            share(totals.different_heads, totals.num_words),
        ),
        (
            "expected agreement",
            share(totals.expected_agreement, totals.num_words),
            "heads of random trees",
        ),
    ]
    print_facts(dict(zip("AB", names, strict=True)))
    print_table(["<", ">", ""], lines)
    if not totals.first.num_words:
        return
    both = (totals.first, totals.second)
    uas = [share(one.best_right, one.num_words) for one in both]
    where = f"{totals.first_only + totals.second_only + totals.neither:,} words"
    calibration = [
        "" if one.calibration is None else f"{100 * one.calibration.error:.1f} %" for one in both
    ]
    judged = [
        ("correct heads (UAS)", *uas, f"of {totals.first.num_words:,} words"),
        (
            "correct where heads differ",
            f"{totals.first_only:,}",
            f"{totals.second_only:,}",
            f"of {where}; neither: {totals.neither:,}",
        ),
        (
            "mean log-probability of gold",
            *(six_digits(one.mean_log_prob) for one in both),
            f"over {totals.first.num_trees:,} and {totals.second.num_trees:,} sentences",
        ),
        ("expected calibration error", *calibration, "per word; 0: perfect"),
    ]
    print_table(["<", ">A", ">B", ""], judged)


def _print_lines(lines: list[Rows], *, has_gold: bool) -> None:
    columns = [
        SENTENCE,
        Column("words", leaves=4),
        Column("KL"),
        Column("KL back", leaves=6),
        Column("heads", leaves=3),
        Column("agreement", leaves=5),
        *([Column("A right", leaves=2), Column("B right", leaves=2)] if has_gold else []),
        TEXT,
    ]
    table = []
    for rows in lines:
        value = {name: float(column[0]) for name, column in rows.columns.items()}
        length = int(rows.lengths[0])
        cells = [
            visible(rows.sent_ids[0]),
            str(length),
            f"{value['kl_to_second']:.4g}",
            f"{value['kl_to_first']:.4g}",
            f"{value['different_heads']:.0f}",
            plain_percent(min(1.0, value["expected_agreement"] / length)),
        ]
        if has_gold:
            words = f"{value['gold_words']:.0f}"
            cells += [f"{value[f'{who}_correct']:.0f}/{words}" for who in ("first", "second")]
        tokens = rows.tokens[0] if rows.tokens else None
        table.append([*cells, visible(" ".join(tokens or ()))])
    print_sentences(columns, table)
