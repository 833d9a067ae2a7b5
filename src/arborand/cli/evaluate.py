"""The command that compares scores with gold trees: evaluate."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from arborand.cli import options
from arborand.cli.jobs import check_files, check_selection, choose_format, note_absent, say_selected
from arborand.cli.tables import plain_percent, print_table, six_digits
from arborand.cli.terminal import (
    list_skipped,
    listed,
    note,
    note_gold_without_tree,
    progress,
    say_written,
)
from arborand.corpus.computations import Setting, Work
from arborand.corpus.execution import run_to_file, run_to_writer
from arborand.corpus.reports import Comparison
from arborand.corpus.shards import open_inputs
from arborand.corpus.storage import is_folder, write_output
from arborand.corpus.stream import NoOutput, as_comment
from arborand.errors import FormatError
from arborand.formats.decisions import read_decisions
from arborand.formats.inputs import visible
from arborand.formats.records import EVALUATION

if TYPE_CHECKING:
    from arborand.evaluation import Calibration, Summary

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
    output=options.output("Write a file (the ending sets the format), or '-' (standard output)."),
    format_=options.formats(EVALUATION),
    workers=options.option("Use N threads.", "Running", min=1),
    plot=options.option("Also plot the calibration: .svg, .png or .pdf.", "Output", metavar="FILE"),
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

    Reports the share of correct heads (UAS) of the best tree, of the minimum-risk tree and of
    random trees, also by relation and by sentence length; if the scores have labels, the share
    of correct heads with their relations (LAS); the log-probability of the gold tree; and the
    calibration: of the arcs with a probability of 90 %, how many are correct? A .json file and
    a page (.html) have all of this. In the other formats, each sentence has a line.

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
        check_files(scores, conllu, target, decisions)
    kind = "svg" if plot is None else Path(plot).suffix.lower().removeprefix(".")
    if kind not in ("svg", "png", "pdf") or (plot is not None and is_folder(plot)):
        raise typer.BadParameter(f"{plot!r} is not .svg, .png or .pdf", param_hint="--plot")
    if kind != "svg":
        from arborand.pictures.figures import check_figures

        check_figures()
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
    note_absent(scores, conllu, decisions)
    work = Work("evaluate", comparison, EVALUATION, setting.described).selecting(selection)
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
        total, title = inputs.num_sentences, inputs.name
    summary = comparison.summary
    if summary.num_sentences and not summary.num_words:
        raise FormatError(f"{gold} has no heads: there is nothing to compare with")
    if output != "-":
        _print_summary(summary, comparison)
    if output is not None and chosen == "json":
        result = {
            "arborand": "evaluation",
            **summary.as_dict(),
            **comparison.as_dict(),
            "provenance": unwritten.provenance,
        }
        text = json.dumps(result, ensure_ascii=False, allow_nan=False, indent=2)
        write_output(output, (text, "\n"))
    elif output is not None and chosen == "html":
        from arborand.pictures import evaluation_page

        document = evaluation_page(summary, title=title, num_sentences=total)
        write_output(output, (document, as_comment(unwritten.provenance)))
    if output is not None:
        say_written(output)
    if plot is not None and summary.calibration is not None:
        from arborand.pictures import calibration_plot, figure

        svg = calibration_plot(summary.calibration)
        write_output(plot, (svg, "\n") if kind == "svg" else (figure(svg, kind),))
        say_written(plot)
    if comparison.unknown:
        names = sorted(comparison.unknown, key=lambda name: (-comparison.unknown[name], name))
        note(
            f"the scores have no label for {len(names)} of gold's relations, so these are never "
            f"right: {', '.join(map(visible, names))}"
        )
    no_trees, impossible = comparison.no_trees, comparison.impossible
    if no_trees.count:
        note_gold_without_tree(setting.kind, listed(no_trees.first, no_trees.count))
    if impossible.count:
        note(
            "the gold tree has probability 0, because the scores rule out one of its arcs, in "
            f"{listed(impossible.first, impossible.count)}: left out of the mean log-probability"
        )
    say_selected(tally, total)
    list_skipped(tally.skipped)


def _print_summary(summary: Summary, comparison: Comparison) -> None:
    left_out = f"{summary.num_open:,} without one are not counted" if summary.num_open else ""
    uas = {
        "correct heads (UAS): best tree": summary.best_attachment_score,
        "  minimum-risk tree": summary.minimum_risk_attachment_score,
        "  random trees, on average": summary.expected_attachment_score,
        "  minimum-risk tree, as the scores expect": summary.claimed_attachment_score,
    }
    if comparison.words.labels_right is not None:
        share = comparison.words.labels_right / comparison.words.num_words
        uas["  with relations (LAS): best labelled tree"] = share
    mean = six_digits(summary.mean_log_prob)
    lines = [
        ("sentences", f"{summary.num_sentences:,}", ""),
        ("words with a gold head", f"{summary.num_words:,}", left_out),
        *((name, _percent(share), "") for name, share in uas.items()),
        ("mean log-probability of the gold tree", mean, f"over {summary.num_trees:,} sentences"),
    ]
    print_table(["", ">", ""], lines)
    if summary.calibration is not None:
        _print_calibration(summary.calibration)
    _print_attachment(comparison)


def _print_calibration(calibration: Calibration) -> None:
    bins = [
        (
            f"{100 * line.low:g} to {100 * line.high:g} %",
            f"{line.num_arcs:,}",
            _percent(line.mean_probability),
            f"{line.num_right:,}",
            _percent(line.share_right),
        )
        for line in calibration.bins()
    ]
    titles = [">probability", ">arcs", ">mean probability", ">correct arcs", ">share"]
    print_table(titles, bins, _CALIBRATION)


def _print_attachment(comparison: Comparison) -> None:
    """Print attachment scores by sentence length and by relation."""
    facts = comparison.as_dict()
    has_labels = comparison.words.labels_right is not None
    for key, title in (("by_length", "words in the sentence"), ("by_relation", "gold relation")):
        lines: Any = facts.get(key, [])
        scores = ["unlabelled_attachment_score", "labelled_attachment_score"][: 1 + has_labels]
        cells = [
            (
                visible(line[key.removeprefix("by_")]),
                f"{line['num_words']:,}",
                *(_percent(line[score]) for score in scores),
            )
            for line in lines
        ]
        if cells:
            print_table([title, ">words", ">UAS", ">LAS"][: 3 + has_labels], cells)


def _percent(share: float) -> str:
    return "" if math.isnan(share) else plain_percent(share)
