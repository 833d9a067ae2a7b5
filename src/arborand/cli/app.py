"""The commands, put together, and what happens when one fails."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from arborand import __version__
from arborand.cli import commands, files, show
from arborand.cli.messages import note
from arborand.errors import ArborandError
from arborand.paper import commands as paper

app = typer.Typer(
    name="arborand",
    rich_markup_mode="rich",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"arborand {__version__}")
        raise typer.Exit


@app.callback(
    epilog="The exit status is 0 if all went well, 1 if the data, a file or the disk did not allow "
    "it, 2 if the command was not understood, 130 if it was interrupted."
)
def arborand(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Exact random trees of the arc scores of a corpus.

    Scores come in as .npy, .npz, .safetensors or .parquet; trees go out as
    CoNLL-U, .parquet, .jsonl or .npz, or as a table on the terminal.
    Memory does not grow with the corpus. An output appears under its name
    when it is complete; an interrupted run is continued with [cyan]--resume[/cyan].

    [bold]Examples[/bold]

      [cyan]arborand check scores.npz[/cyan]

      [cyan]arborand sample scores.npz -k 100 --seed 1 -o trees.parquet[/cyan]

      [cyan]arborand entropy scores.npz[/cyan]

      [cyan]arborand show scores.npz --conllu corpus.conllu -o corpus.html[/cyan]
    """
    del version


for _command in (
    commands.sample,
    commands.marginals,
    commands.logz,
    commands.entropy,
    show.show,
    files.convert,
    files.check,
    paper.experiment,
    paper.illustrate,
):
    app.command()(_command)


def run() -> None:
    """Run the command line; end with one clear message instead of a traceback."""
    try:
        typer.main.get_command(app)(prog_name="arborand")
    except (ArborandError, ModuleNotFoundError) as error:
        if isinstance(error, ModuleNotFoundError) and "arborand[cli]" not in str(error):
            raise
        _fail(str(error))
    except MemoryError:
        _fail("not enough memory")
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}")


def _fail(message: str) -> None:
    note(message)
    sys.exit(1)
