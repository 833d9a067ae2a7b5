"""The arguments and options of the commands: names, types and help texts.

A command is a function with plain parameters.  The table below describes those that several
commands have; :func:`command` looks them up by their names.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, is_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from arborand.corpus.computations import Setting
from arborand.corpus.execution import Execution
from arborand.corpus.selection import Order, Selection, parse_condition
from arborand.methods import DEFAULT_METHOD, WITH_REPLACEMENT, WITHOUT_REPLACEMENT, names

_SCORES = "Scores"
_TREES = "Random trees"
_OUTPUT = "Output"
_RUNNING = "Running"
_SENTENCES = "Which sentences"

TreeKind = Literal["dependency", "spanning"]
Orientation = Literal["head,dependent", "dependent,head"]
OnError = Literal["stop", "skip"]
Format = Literal["conllu", "json", "html", "jsonl", "csv", "tsv", "parquet", "npz", "safetensors"]
if TYPE_CHECKING:
    Method = str
else:
    Method = Literal[names(WITH_REPLACEMENT + WITHOUT_REPLACEMENT)]
METHOD_HELP = (
    f"With replacement: {', '.join(m.name + m.restrictions for m in WITH_REPLACEMENT)}; "
    f"{DEFAULT_METHOD} if none is named. Without: {', '.join(names(WITHOUT_REPLACEMENT))}; "
    "whichever is faster, if none is named."
)
# The numbers of trees are stored as int32; no machine has more threads.
_MOST_TREES = (1 << 31) - 1
_MOST_WORKERS = 1024


def argument(metavar: str, text: str) -> Any:
    """Describe an argument."""
    return typer.Argument(metavar=metavar, help=text)


def option(text: str, panel: str | None = None, *decls: str, **settings: Any) -> Any:
    """Describe an option; its long name is the parameter's, unless `decls` has another."""
    return typer.Option(..., *decls, help=text, rich_help_panel=panel, **settings)


def number_of_trees(text: str, panel: str, *decls: str) -> Any:
    """Describe an option that is a number of trees."""
    return option(text, panel, *decls, min=1, max=_MOST_TREES)


ONE_FILE = argument(
    "SCORES",
    "Scores of a corpus: .npy, .npz, .safetensors or .parquet; '-' reads standard input.",
)
_SHARED = {
    "scores": argument(
        "SCORES",
        "Scores of a corpus: files, folders or patterns of .npy, .npz, .safetensors and "
        ".parquet, here or at s3://, gs://, hdfs://; '-' reads standard input.",
    ),
    "trees": option(
        "dependency: exactly one arc leaves the root. spanning: any number may.", _SCORES
    ),
    "weights": option(
        "The numbers are plain weights (0: no arc), not log-weights (-inf: no arc).", _SCORES
    ),
    "orientation": option(
        "What rows and columns of a matrix stand for. Many parsers use dependent,head.", _SCORES
    ),
    "conllu": option(
        "Words and other columns, matched by sent_id (by position, if scores have no ids).",
        _SCORES,
        metavar="FILE",
    ),
    "keep_heads": option(
        "Keep the heads that --conllu gives; words whose HEAD is '_' are free.", _SCORES
    ),
    "sent_id": option("A sentence to take; may be repeated.", _SENTENCES, metavar="ID"),
    "filter_": option(
        "Only sentences such as 'entropy > 2', 'length <= 40', 'word = saw' or, with gold heads in "
        "--conllu, 'disagreement >= 1'; may be repeated.",
        _SENTENCES,
        metavar="CONDITION",
    ),
    "sort": option(
        "What comes first: the most uncertain, the longest, or those whose best tree differs "
        "most from the gold heads in --conllu.",
        _SENTENCES,
    ),
    "reverse": option("Turn the order around.", _SENTENCES),
    "max_sentences": option("Take this many sentences at most.", _SENTENCES, min=1, metavar="N"),
    "num_trees": number_of_trees("Trees for each sentence.", _TREES, "-k"),
    "without_replacement": option("Distinct trees, as many as a sentence has.", _TREES),
    "method": option(METHOD_HELP, _TREES),
    "seed": option(
        "The same seed gives the same trees. Without one, a fresh seed is drawn and recorded.",
        _TREES,
        min=0,
    ),
    "output": option(
        "Where to write: a file, whose ending tells the format, or a folder (OUT/) of parts, so "
        "that the job can be resumed. '-' is standard output. Without it: a table.",
        _OUTPUT,
        "-o",
        metavar="OUT",
    ),
    "format_": option(
        "The format, if the ending does not tell; of the parts of a folder: parquet by default.",
        _OUTPUT,
    ),
    "restart": option("Discard what another job has written to the output folder.", _OUTPUT),
    "part_sentences": option("Split a single file into parts of N sentences.", _OUTPUT, min=1),
    "workers": option(
        "Processes for the parts of a folder, else threads. The output does not depend on them.",
        _RUNNING,
        min=1,
        max=_MOST_WORKERS,
    ),
    "engine": option(
        "Who makes the parts of a folder: this machine, one process of many started with the "
        "same command (SLURM, MPI), or a Ray cluster.",
        _RUNNING,
    ),
    "rank": option(
        "array: the number of this process, if SLURM, OpenMPI or PMI do not tell.", _RUNNING, min=0
    ),
    "world": option("array: how many processes there are.", _RUNNING, min=1),
    "address": option(
        "ray: the address of a cluster. Without it, Ray is started here, and stopped.", _RUNNING
    ),
    "on_error": option(
        "What to do with a sentence that cannot be used: stop, or skip it and list it at the end.",
        _RUNNING,
    ),
}


@dataclass(frozen=True)
class Running(Execution):
    """The options of every command that writes what it makes of a corpus."""

    format_: Format | None = None


@dataclass(frozen=True)
class Reading:
    """What the scores of a corpus mean, and where its words and heads are."""

    conllu: str | None = None
    keep_heads: bool = False
    trees: TreeKind = "dependency"
    weights: bool = False
    orientation: Orientation = "head,dependent"

    def __post_init__(self) -> None:
        if self.keep_heads and self.conllu is None:
            raise ValueError("there are no heads to keep: name their file with --conllu")

    @property
    def setting(self) -> Setting:
        """The same, for computations."""
        return Setting(self.trees, self.weights, 1, self.keep_heads, self.orientation)

    @property
    def described(self) -> dict[str, Any]:
        """The same, for the record of where an output comes from."""
        names = ("keep_heads", "trees", "weights", "orientation")
        return {name.replace("_", "-"): getattr(self, name) for name in names}


@dataclass(frozen=True)
class Selecting:
    """Which sentences of a corpus are meant."""

    sent_id: list[str] | None = None
    filter_: list[str] | None = None
    sort: Order = "file"
    reverse: bool = False
    max_sentences: int | None = None

    def __post_init__(self) -> None:
        self.selection  # noqa: B018, raises an error if a condition is none

    @property
    def selection(self) -> Selection | None:
        """The same, for computations; None if all sentences are meant."""
        selection = Selection(
            tuple(dict.fromkeys(self.sent_id or ())),
            tuple(map(parse_condition, self.filter_ or ())),
            self.sort,
            self.reverse,
            self.max_sentences,
        )
        return None if selection == Selection() else selection


@dataclass(frozen=True)
class Run(Selecting, Reading, Running):
    """The options of every command that computes something of a corpus."""

    output: str | None = None
    on_error: OnError = "stop"

    def __post_init__(self) -> None:
        Selecting.__post_init__(self)
        Reading.__post_init__(self)
        Running.__post_init__(self)


def command(**own: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Describe the parameters of a command: by `own`, or as in the table.

    A parameter that is a dataclass stands for its fields, each an option.
    """

    def described(name: str, hint: Any, default: Any) -> inspect.Parameter:
        info = copy(own.get(name) or _SHARED[name])
        if isinstance(info, typer.models.OptionInfo):
            decls = tuple(info.param_decls or ())
            if not any(decl.startswith("--") for decl in decls):
                info.param_decls = (f"--{name.rstrip('_').replace('_', '-')}", *decls)
        annotation = Annotated[hint, info]
        kind = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(name, kind, default=default, annotation=annotation)

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(function)
        parameters, groups = [], {}
        for parameter in inspect.signature(function).parameters.values():
            name, hint = parameter.name, hints[parameter.name]
            if not (isinstance(hint, type) and is_dataclass(hint)):
                parameters.append(described(name, hint, parameter.default))
                continue
            groups[name] = types = get_type_hints(hint)
            # Those of the class itself come before those of its bases.
            fields = [
                field for kind in inspect.getmro(hint) for field in inspect.get_annotations(kind)
            ]
            parameters += [described(f, types[f], getattr(hint, f)) for f in dict.fromkeys(fields)]

        @wraps(function)
        def called(**values: Any) -> None:
            for name, types in groups.items():
                given = {field: values.pop(field) for field in types.keys() & values.keys()}
                try:
                    values[name] = hints[name](**given)
                except ValueError as error:  # options that contradict each other
                    raise typer.BadParameter(str(error)) from error
            function(**values)

        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return called

    return decorate
