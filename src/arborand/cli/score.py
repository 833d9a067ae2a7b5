"""The command that gets scores out of a parser: score."""

from __future__ import annotations

import inspect
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from arborand.cli import options
from arborand.cli.jobs import check_files
from arborand.cli.terminal import note, progress, say_written
from arborand.corpus.storage import is_folder, make_folder
from arborand.errors import FormatError
from arborand.formats.outputs import formats_of
from arborand.formats.records import scores_layout
from arborand.parsers import find_adapter
from arborand.parsers import score as write_scores_of

if TYPE_CHECKING:
    from arborand.parsers import Report

_ENDINGS = tuple(f".{name}" for name in formats_of(scores_layout(np.dtype("f4"))))


@options.command(
    source=options.argument("FILE", "Sentences in CoNLL-U: a file, or a folder of .conllu files."),
    output=options.output(
        "Write a file of scores (.npz, .parquet, .safetensors) or, if FILE is a folder, a folder "
        "(OUT/); files that already exist are skipped."
    ),
    labels=options.option(
        "Whether to write label scores: one number per arc and label.",
        "Output",
        "--labels/--no-labels",
    ),
    parser=options.option(
        "Use stanza, or your own function (module:function).", "Parser", metavar="NAME"
    ),
    model=options.option(
        "Load this model; for stanza, the file of a trained parser or a downloaded language.",
        "Parser",
        metavar="MODEL",
    ),
    option=options.option(
        "Pass an option to the parser; may be repeated. For stanza: pretrain, forward_charlm and "
        "backward_charlm (files), device, batch_words.",
        "Parser",
        metavar="NAME=VALUE",
    ),
)
def score(
    source: str,
    output: str,
    parser: str = "stanza",
    model: str | None = None,
    option: list[str] | None = None,
    labels: bool = True,
) -> None:
    r"""Score the sentences of a CoNLL-U file with a parser.

    The words, and whatever else the parser reads, such as tags, come from the file. The command
    writes the scores that the parser decodes, before any repair of its tree. It compares the
    parser's own tree with them, sentence by sentence, and fails if that tree scores higher than
    the best tree of the scores, or has an arc without a score. At the end, it reports in how
    many sentences the parser's repair changes the tree.

    Examples
    --------
      arborand score corpus.conllu -o scores.npz --parser stanza --model en
      arborand score corpus.conllu -o scores.npz --model saved_models/parser.pt \
          --option pretrain=vectors.pt
      arborand score treebank/ -o scores/ --model en
      arborand score corpus.conllu -o scores.npz --parser my_parser:scores
    """
    given = _options(option or [])
    adapter = find_adapter(parser)
    files = _files(source, output)
    try:
        with suppress(ValueError):  # compiled functions may have no signature
            inspect.signature(adapter).bind((), model, **given)
    except TypeError as error:
        raise typer.BadParameter(
            f"{parser} cannot be called with the sentences, the model and these options: {error}",
            param_hint="--parser / --option",
        ) from error
    # Bound here, because an option may have the name of an argument of ours.
    adapter = partial(adapter, **given)
    for path, target in files:
        if is_folder(output) and target.exists():
            note(f"{target.name} already exists: skipped")
            continue
        with progress(f"score {path.name}", _num_sentences(path)) as advance:
            report = write_scores_of(
                path, target, parser=adapter, model=model, labels=labels, advance=advance
            )
        say_written(target)
        note(f"{path.name}: {_described(report)}")


def _options(given: list[str]) -> dict[str, Any]:
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise typer.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--option")
        found[name] = value
    return found


def _files(source: str, output: str) -> list[tuple[Path, Path]]:
    """Pair the files to be read with those to be written."""
    if not Path(source).is_dir():
        if is_folder(output):
            raise typer.BadParameter(
                f"{source} is a file, and {output!r} a folder: name a file such as scores.npz",
                param_hint="--output",
            )
        check_files([source], None, output)
        if Path(output).suffix.lower() not in _ENDINGS:
            raise typer.BadParameter(
                f"{output!r} does not end with {', '.join(_ENDINGS)}", param_hint="--output"
            )
        return [(Path(source), Path(output))]
    if not is_folder(output):
        raise typer.BadParameter(
            f"{source} is a folder: name a folder for the scores, such as scores/",
            param_hint="--output",
        )
    found = sorted(Path(source).glob("*.conllu"))
    if not found:
        raise FormatError(f"{source} has no .conllu files")
    make_folder(Path(output))
    return [(path, Path(output) / f"{path.stem}.npz") for path in found]


def _num_sentences(path: Path) -> int:
    """Count the sentences of a file, for the progress."""
    with path.open("rb") as file:
        return sum(line.startswith(b"1\t") for line in file)


def _described(report: Report) -> str:
    """Say how the scores agree with the parser's own trees."""
    total = report.num_sentences
    parts = [f"{total:,} sentence{'' if total == 1 else 's'}"]
    if report.num_compared:
        parts.append(
            f"the best tree is the parser's own in {report.num_same:,} of {report.num_compared:,}"
        )
    if report.num_repaired:
        parts.append(
            f"in {report.num_repaired:,}, the parser then repairs its tree, by rules that the "
            "scores do not include"
        )
    return "; ".join(parts)
