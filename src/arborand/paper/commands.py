"""The commands that repeat the paper: its runtime experiment and its two illustrations."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import typer

from arborand.cli import options
from arborand.cli.jobs import check_files
from arborand.cli.terminal import note, say_written
from arborand.corpus.computations import Setting
from arborand.corpus.selection import Selected, Selection
from arborand.corpus.shards import open_inputs
from arborand.corpus.storage import make_folder, write_output
from arborand.corpus.stream import open_corpus
from arborand.errors import ArborandError, FormatError, SentenceError
from arborand.formats.inputs import required

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from arborand.paper.illustrations import WalkPicture

FigureKind = Literal["png", "pdf"]
_FOLDER = options.option("Where the files go.", None, "-o", metavar="FOLDER")
# How many seeds are tried to find a walk with a loop.
_MOST_TRIES = 2000


@options.command(
    output=_FOLDER,
    quick=options.option("Smaller graphs and fewer of them: under a minute."),
    seed=options.option("The same seed gives the same graphs; times depend on the machine.", min=0),
)
def experiment(output: Path, quick: bool = False, seed: int = 0) -> None:
    """Repeat the paper's runtime experiment, for every method.

    Measures the average time per tree of the paper's algorithms in plain NumPy and of the core,
    on random complete graphs of growing size, with 20 random trees of each, and fits lines. Also
    measures the time of distinct trees against their number. Writes experiment.csv, .png, .svg,
    and .txt, which compares the slopes with the paper's and says what to expect. Needs
    matplotlib (the extra 'plot').

    Examples
    --------
      arborand experiment --quick -o results
    """
    from arborand.paper import experiment as paper

    # Checked before the work instead of after it.
    required("matplotlib", "the experiment's figure", "cli,plot")
    make_folder(output)
    plan = paper.QUICK if quick else paper.FULL
    rng = np.random.default_rng(seed)
    measured: tuple[list[paper.Measurement], list[paper.Measurement]] = ([], [])
    for measurements, experiment in zip(
        measured, (paper.with_replacement, paper.without_replacement), strict=True
    ):
        for measurement in experiment(plan, rng):
            measurements.append(measurement)
            if sys.stderr.isatty():  # experiment.csv has them all
                size, seconds = measurement.size, measurement.seconds
                note(f"{measurement.curve}, size {size}: {seconds:.2e} s per tree")
    paths = paper.write(output, *measured)
    typer.echo(paper.report(*map(paper.curves, measured)))
    for path in paths:
        say_written(path)


@options.command(
    output=_FOLDER,
    sent_id=options.option("The sentence, of at most 12 words. Default: the first.", metavar="ID"),
    also=options.option("Also write the pictures in this format. Needs the extra 'plot'."),
    seed=options.option(
        "The same seed gives the same pictures. Default: 0, and for the walk the first one that "
        "erases a loop.",
        min=0,
    ),
)
def illustrate(
    scores: list[str],
    output: Path,
    sent_id: str | None = None,
    also: FigureKind | None = None,
    seed: int | None = None,
    trees: options.TreeKind = "dependency",
    weights: bool = False,
    conllu: str | None = None,
) -> None:
    """Draw the paper's two illustrations from actual runs, and two on grids.

    Draws a loop-erased walk (walk.svg), with the loops that it erases and the spanning tree that
    remains, whatever --trees says; the ancestral sampler step by step (conditioning.svg), with
    the heads it chooses from; a loop-erased walk on a grid (grid_walk.svg); and a uniform
    spanning tree of a grid as a maze (maze.svg). In the .html files, the arrow keys step through
    the same runs. Existing files of these names are replaced.

    Examples
    --------
      arborand illustrate scores.npz --sent-id s-3 -o pictures
    """
    from arborand.paper.illustrations import conditioning_steps, grid_walk
    from arborand.pictures import maze
    from arborand.pictures.figures import check_figures, figure

    check_files(scores, conllu)
    if also:
        check_figures()
    setting = Setting(trees, weights, 1)
    with (
        open_inputs(scores, conllu) as inputs,
        open_corpus(inputs.parts, inputs.conllu) as corpus,
    ):
        selection = Selection((sent_id,) if sent_id else (), most=1)
        sentence = next(iter(Selected(selection, corpus.runs(), setting)), None)
        if sentence is None:
            raise FormatError(f"{inputs.name} has no sentences")
        sentence.check_usable()
        labels = sentence.tokens[0] or None
        try:
            distribution = setting.distribution(sentence)[0]
            walk = _walk(distribution.log_weights, seed, labels)
            steps = conditioning_steps(
                distribution.log_weights,
                rng=seed or 0,
                single_root=setting.kind.has_single_root,
                labels=labels,
            )
        except (ArborandError, ValueError) as error:
            raise SentenceError(sentence.sent_ids[0], sentence.first, str(error)) from error
    make_folder(output)
    on_grid = grid_walk(5, 5, rng=seed or 0)
    files: dict[str, bytes] = {
        f"{name}.{suffix}": getattr(picture, suffix).encode()
        for name, picture in (("walk", walk), ("conditioning", steps), ("grid_walk", on_grid))
        for suffix in ("svg", "html")
    }
    files["maze.svg"] = maze(20, 32, rng=seed or 0).encode()
    for name in [name for name in files if name.endswith(".svg")]:
        if also:
            files[f"{name.removesuffix('.svg')}.{also}"] = figure(files[name].decode(), also)
    for name, content in files.items():
        write_output(output / name, [content])
        say_written(output / name)


def _walk(
    log_weights: NDArray[np.float64], seed: int | None, labels: Sequence[str] | None
) -> WalkPicture:
    """Walk with the given seed, or with the first one whose walks erase a loop."""
    from arborand.paper.illustrations import loop_erased_walk

    for attempt in range(_MOST_TRIES if seed is None else 0):
        picture = loop_erased_walk(log_weights, rng=attempt, labels=labels)
        if any(walk.cycles for walk in picture.walks):
            return picture
    return loop_erased_walk(log_weights, rng=seed or 0, labels=labels)
