"""The command that compares scores with gold trees: evaluate."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from arborand.cli import options
from arborand.cli.jobs import check_files, check_selection, choose_format, note_absent, say_selected
from arborand.cli.tables import plain_percent, print_table
from arborand.cli.terminal import list_skipped, listed, note, progress, say_written
from arborand.corpus.computations import Setting, Work
from arborand.corpus.execution import run_to_file, run_to_writer
from arborand.corpus.reports import Comparison
from arborand.corpus.shards import open_inputs
from arborand.corpus.storage import is_folder, write_output
from arborand.corpus.stream import NoOutput, as_comment
from arborand.errors import FormatError
from arborand.formats.decisions import read_decisions
from arborand.formats.records import EVALUATION

if TYPE_CHECKING:
    from arborand.evaluation import Summary

# The formats that hold the summary; the others hold a line for each sentence.
_WHOLE = ("json", "html")
_CALIBRATION = "Calibration: of the arcs in each probability range, how many are correct?"


@options.command(
    conllu=options.option(
        "The file with the gold heads, matched by sent_id, or by position if scores have no ids. "
        "Words whose HEAD is '_' are not counted.",
        "Scores",
        metavar="GOLD",
    ),
    output=options.option(
        "A file, whose ending tells the format; '-' for standard output.",
        "Output",
        "-o",
        metavar="OUT",
    ),
    format_=options.formats(EVALUATION),
    workers=options.option("Threads.", "Running", min=1),
    plot=options.option("Also draw the calibration, as .svg.", "Output", metavar="FILE"),
)
def evaluate(
    scores: list[str],
    conllu: str,
    trees: options.TreeKind = "dependency",
    projective: bool = False,
    weights: bool = False,
    orientation: options.Orientation = "head,dependent",
    decisions: str | None = None,
    output: str | None = None,
    format_: options.Format | None = None,
    plot: str | None = None,
    workers: int = 1,
    on_error: options.OnError = "stop",
    *,
    selecting: options.Selecting,
) -> None:
    """Compare scores with gold trees: how accurate and how well calibrated they are.

    The share of correct heads (UAS) of the best tree, of the minimum-risk tree and of random
    trees; the log-probability of the gold tree; and the calibration: of the arcs with a
    probability of 90 %, how many are correct? A .json file and a page (.html) have all of
    this. In the other formats, each sentence has a line.

    Examples
    --------
      arborand evaluate scores.npz --conllu gold.conllu
      arborand evaluate scores.npz --conllu gold.conllu -o evaluation.html
      arborand evaluate scores.npz --conllu gold.conllu -o sentences.csv
      arborand evaluate scores.npz --conllu gold.conllu --plot calibration.svg
    """
    if output is not None and is_folder(output):
        raise typer.BadParameter("an evaluation is one file, not a folder", param_hint="--output")
    for target in (output, plot):
        check_files(scores, conllu, target)
    if plot is not None and Path(plot).suffix.lower() != ".svg":
        raise typer.BadParameter(f"{plot!r} is not .svg", param_hint="--plot")
    selection = check_selection(selecting, conllu)
    chosen = choose_format(output, options.Running(format_=format_), EVALUATION)
    decided = None if decisions is None else read_decisions(decisions)
    setting = Setting(
        trees,
        weights,
        workers,
        orientation=orientation,
        projective=projective,
        decisions=decided,
    )
    comparison = Comparison(setting)
    described: dict[str, Any] = {
        "trees": trees,
        "projective": projective,
        "weights": weights,
        "orientation": orientation,
    }
    if decided is not None:
        described |= {"decisions": decided.name, "decisions-sha256": decided.digest}
        note_absent(scores, decisions)
    work = Work("evaluate", comparison, EVALUATION, described)
    if selection is not None:
        work = work.selecting(selection)
    unwritten = NoOutput()
    with (
        open_inputs(scores, conllu, output) as inputs,
        progress("evaluate", inputs.num_sentences) as advance,
    ):
        skip = on_error == "skip"
        if output is None or chosen in _WHOLE:
            tally = run_to_writer(work, inputs, unwritten.begin, skip=skip, advance=advance)
        else:
            tally = run_to_file(work, inputs, output, chosen, skip=skip, advance=advance)
        gold = "" if inputs.conllu is None else inputs.conllu.shown
        total, names = inputs.num_sentences, [shard.shown for shard in inputs.shards]
        title = names[0] if len(names) == 1 else f"{len(names)} files"
    summary = comparison.summary
    if summary.num_sentences and not summary.num_words:
        raise FormatError(f"{gold} has no heads: there is nothing to compare with")
    if output != "-":
        _print_summary(summary)
    if output is not None and chosen == "json":
        result = {"arborand": "evaluation", **summary.as_dict(), "provenance": unwritten.provenance}
        text = json.dumps(result, ensure_ascii=False, allow_nan=False, indent=2)
        write_output(output, (text, "\n"))
    elif output is not None and chosen == "html":
        from arborand.pictures import evaluation_page

        document = evaluation_page(summary, title=title, num_sentences=total)
        write_output(output, (document, as_comment(unwritten.provenance)))
    if output is not None:
        say_written(output)
    if plot is not None and summary.calibration is not None:
        from arborand.pictures import calibration_plot

        write_output(plot, (calibration_plot(summary.calibration), "\n"))
        say_written(plot)
    no_trees, impossible = comparison.no_trees, comparison.impossible
    if no_trees.count:
        note(
            f"the gold heads are not a {trees} tree (a cycle, or more than one root) in "
            f"{listed(no_trees.first, no_trees.count)}: the heads count, but there is no "
            "log-probability"
        )
    if impossible.count:
        note(
            "the gold tree has probability 0, because the scores rule out one of its arcs, in "
            f"{listed(impossible.first, impossible.count)}: left out of the mean log-probability"
        )
    say_selected(tally, total)
    list_skipped(tally.skipped)


def _print_summary(summary: Summary) -> None:
    left_out = f"{summary.num_open:,} without one are not counted" if summary.num_open else ""
    uas = {
        "correct heads (UAS): best tree": summary.best_attachment_score,
        "  minimum-risk tree": summary.minimum_risk_attachment_score,
        "  random trees, on average": summary.expected_attachment_score,
        "  minimum-risk tree, as the scores expect": summary.claimed_attachment_score,
    }
    mean = f"{summary.mean_log_prob:.6g}"
    lines = [
        ("sentences", f"{summary.num_sentences:,}", ""),
        ("words with a gold head", f"{summary.num_words:,}", left_out),
        *((name, _percent(share), "") for name, share in uas.items()),
        ("mean log-probability of the gold tree", mean, f"over {summary.num_trees:,} sentences"),
    ]
    print_table(["", ">", ""], lines)
    if summary.calibration is None:
        return
    bins = [
        (
            f"{100 * line.low:g} to {100 * line.high:g} %",
            f"{line.num_arcs:,}",
            _percent(line.mean_probability),
            f"{line.num_right:,}",
            _percent(line.share_right),
        )
        for line in summary.calibration.bins()
    ]
    titles = [">probability", ">arcs", ">mean probability", ">correct arcs", ">share"]
    print_table(titles, bins, _CALIBRATION)


def _percent(share: float) -> str:
    return "" if math.isnan(share) else plain_percent(share)
