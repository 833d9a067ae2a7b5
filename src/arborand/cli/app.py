"""The commands, put together, and what happens when one fails."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arborand import __version__, _core
from arborand.cli import commands, compare, evaluate, files, score, show
from arborand.cli.help import Command, Commands
from arborand.cli.terminal import note
from arborand.corpus.job import described
from arborand.errors import (
    ArborandError,
    BiasedSamplerWarning,
    IgnoredDecisionsWarning,
    SuspiciousWeightsWarning,
    UntestedVersionWarning,
)
from arborand.formats.inputs import visible
from arborand.paper import commands as paper

if TYPE_CHECKING:
    from collections.abc import Iterator


class QuotedCommands(Commands):
    """The commands; errors quote what was not understood without its escape sequences."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Parse the options before the command."""
        with _quoted():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        """Parse the options of the command, and run it."""
        with _quoted():
            return super().invoke(ctx)


@contextmanager
def _quoted() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        message = getattr(error, "message", None)
        if isinstance(message, str):
            error.message = visible(message, keep="\n")  # type: ignore[attr-defined]
        raise


app = typer.Typer(
    name="arborand",
    cls=QuotedCommands,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"arborand {__version__} (instruction set: {_core.instruction_set()})")
        raise typer.Exit


@app.callback(
    epilog="arborand COMMAND --help explains a command. The exit status is 0 on success, 1 if the "
    "data, a file or the disk made the command fail, 2 if the command was not understood, 130 if "
    "it was interrupted, 143 if it was terminated."
)
def arborand(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Draw exact random trees from the arc scores of a corpus, and analyse the scores.

    Scores come in as .npy, .npz, .safetensors or .parquet. Trees go out as CoNLL-U,
    .parquet, .jsonl or .npz, numbers as .csv or .tsv, or as tables on the terminal.
    Memory does not grow with the corpus. A file appears when it is complete. A folder
    (-o trees/) gets a part for each file of scores; after an interruption, rerun the
    same command to resume.

    Examples
    --------
      arborand check scores.npz
      arborand entropy scores.npz --sort entropy --max-sentences 10
      arborand best scores.npz -k 5 --conllu corpus.conllu
      arborand sample scores.npz -k 100 --seed 1 -o trees.parquet
      arborand evaluate scores.npz --conllu gold.conllu
      arborand show scores.npz --conllu corpus.conllu -o corpus.html
    """
    del version


for _command in (
    score.score,
    commands.sample,
    commands.best,
    commands.marginals,
    commands.logz,
    commands.entropy,
    evaluate.evaluate,
    compare.compare,
    show.show,
    files.convert,
    files.check,
    files.status,
    paper.experiment,
    paper.illustrate,
):
    app.command(cls=Command)(_command)


def run() -> None:
    """Run the command line; end with one clear message instead of a traceback."""
    if sys.stderr is None:  # closed by the shell
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        _fail("standard output is closed: send it to a file, or to /dev/null")
    # A word that the terminal's encoding lacks is escaped, not an error.
    with suppress(AttributeError):
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        with suppress(ValueError):  # not in the main thread
            signal.signal(signal.SIGTERM, _terminated)
        with _warnings_in_one_line():
            typer.main.get_command(app)(args=sys.argv[1:] or ["--help"], prog_name="arborand")
    except (ArborandError, ModuleNotFoundError, MemoryError, OSError) as error:
        if isinstance(error, ModuleNotFoundError) and "pip install 'arborand[" not in str(error):
            raise
        if isinstance(error, OSError):
            # What a full disk did not take must not be written again when Python ends.
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _fail(described(error))


def _terminated(number: int, frame: object) -> None:
    """End as after Ctrl-C: remove what is half-written, and end the workers."""
    del frame
    note("terminated")
    sys.exit(128 + number)


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Show the library's warnings in one line, those about suspicious scores once."""
    with warnings.catch_warnings():
        in_one_line = (BiasedSamplerWarning, IgnoredDecisionsWarning, UntestedVersionWarning)
        for said in (*in_one_line, SuspiciousWeightsWarning):
            warnings.simplefilter("always", said)
        show_others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, SuspiciousWeightsWarning):
                note(f"{message}; other sentences may look odd as well")
                warnings.simplefilter("ignore", SuspiciousWeightsWarning)
            elif issubclass(category, in_one_line):
                note(str(message))
            else:
                show_others(message, category, *where, **more)

        warnings.showwarning = show
        yield


def _fail(message: str) -> None:
    note(message)
    sys.exit(1)
