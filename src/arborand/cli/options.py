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
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from arborand.corpus.computations import Setting
from arborand.corpus.execution import Execution
from arborand.corpus.selection import Order, Selection, parse_condition
from arborand.formats.outputs import formats_of
from arborand.methods import DEFAULT_METHOD, WITH_REPLACEMENT, WITHOUT_REPLACEMENT, names

_SCORES = "Scores"
_TREES = "Random trees"
_OUTPUT = "Output"
_RUNNING = "Running"
_JOBS = "Jobs that write a folder (-o OUT/)"
_SENTENCES = "Which sentences"
# Their order in help texts; those of a single command come before.
SECTIONS = (_SENTENCES, _SCORES, _OUTPUT, _RUNNING, _JOBS)

TreeKind = Literal["dependency", "spanning"]
Orientation = Literal["head,dependent", "dependent,head"]
OnError = Literal["stop", "skip"]
Relations = Literal["keep"]
Format = Literal["conllu", "json", "html", "jsonl", "csv", "tsv", "parquet", "npz", "safetensors"]
if TYPE_CHECKING:
    from arborand.formats.records import Layout

    Method = str
else:
    Method = Literal[names(WITH_REPLACEMENT + WITHOUT_REPLACEMENT)]
METHOD_HELP = (
    f"{', '.join(m.name + m.restrictions for m in WITH_REPLACEMENT)}; default: {DEFAULT_METHOD}. "
    f"Distinct trees: {', '.join(names(WITHOUT_REPLACEMENT))}; default: whichever is faster."
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


def output(text: str) -> Any:
    """Describe the option for where an output goes."""
    return option(text, _OUTPUT, "-o", metavar="OUT")


def number_of_trees(text: str, panel: str, *decls: str) -> Any:
    """Describe an option that is a number of trees."""
    return option(text, panel, *decls, min=1, max=_MOST_TREES)


_SHARED = {
    "scores": argument(
        "SCORES", "Files, folders, patterns or URLs of scores; '-' is standard input."
    ),
    "sent_id": option("Take the sentence with this id; may be repeated.", _SENTENCES, metavar="ID"),
    "filter_": option(
        "Only if 'entropy > 2', 'length <= 40', 'word = saw' or, with gold heads, "
        "'disagreement >= 1'; may be repeated.",
        _SENTENCES,
        metavar="CONDITION",
    ),
    "sort": option(
        "Sort by entropy, length or disagreement (with gold heads), largest first.",
        _SENTENCES,
        metavar="MEASURE",
        show_default=False,
    ),
    "reverse": option("Reverse the order.", _SENTENCES),
    "max_sentences": option("Take at most this many.", _SENTENCES, min=1),
    "conllu": option(
        "Words and other columns, matched by sent_id or position.", _SCORES, metavar="FILE"
    ),
    "decisions": option("Apply decisions exported from a page of show.", _SCORES, metavar="FILE"),
    "keep_heads": option("Keep the heads in --conllu; a HEAD of '_' is unknown.", _SCORES),
    "relations": option(
        "Let trees without labels keep the DEPREL of --conllu where the HEAD is the same.",
        _OUTPUT,
        metavar="keep",
    ),
    "trees": option("dependency (one root arc) or spanning.", _SCORES, metavar="KIND"),
    "projective": option("Use only trees without crossing arcs.", _SCORES),
    "weights": option("Read plain weights (0: no arc), not log-weights.", _SCORES),
    "orientation": option(
        "Read rows and columns as head,dependent (the default) or dependent,head.",
        _SCORES,
        metavar="AXES",
        show_default=False,
    ),
    "num_trees": number_of_trees("Draw this many trees per sentence.", _TREES, "-k"),
    "without_replacement": option("Draw distinct trees, at most as many as there are.", _TREES),
    "method": option(METHOD_HELP, _TREES, metavar="NAME"),
    "seed": option("The same seed gives the same trees.", _TREES, min=0),
    "output": output(
        "Write a file (the ending sets the format), a folder (OUT/) of parts, or '-' (standard "
        "output). By default, a table."
    ),
    "workers": option(
        "Use N processes (if OUT is a folder) or N threads.",
        _RUNNING,
        min=1,
        max=_MOST_WORKERS,
    ),
    "on_error": option("Stop at a sentence that cannot be used, or skip it.", _RUNNING),
    "restart": option("Start over: discard what another job wrote to the folder.", _JOBS),
    "part_sentences": option("Split a single file into parts of N sentences.", _JOBS, min=1),
    "engine": option("Run on: local, array (SLURM, MPI) or ray.", _JOBS, metavar="NAME"),
    "rank": option("For array: the number of this process, if not detected.", _JOBS, min=0),
    "world": option("For array: the number of processes, if not detected.", _JOBS, min=1),
    "address": option("For ray: the address of a cluster, if not this machine.", _JOBS),
}


def formats(*layouts: Layout) -> Any:
    """Describe the option for the format of an output with rows of these layouts."""
    accepted = "; or ".join(", ".join(formats_of(layout)) for layout in layouts)
    return option(f"If the ending does not say: {accepted}.", _OUTPUT, metavar="NAME")


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
    projective: bool = False
    weights: bool = False
    orientation: Orientation = "head,dependent"

    def __post_init__(self) -> None:
        if self.keep_heads and self.conllu is None:
            raise ValueError("there are no heads to keep: name their file with --conllu")

    @property
    def setting(self) -> Setting:
        """The same, for computations."""
        return Setting(
            self.trees, self.weights, 1, self.keep_heads, self.orientation, self.projective
        )


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


def _placeholder(hint: Any) -> str:
    """Name what an option takes: one of a few words, a number, or anything."""
    kinds = [kind for kind in get_args(hint) if kind is not type(None)]
    if get_origin(hint) is Literal:
        return "|".join(map(str, kinds))
    if kinds and get_origin(hint) is not list:
        return _placeholder(kinds[0])
    return "N" if hint is int else "TEXT"


def command(**own: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Describe the parameters of a command: by `own`, or as in the table.

    A parameter that is a dataclass stands for its fields, each an option.
    """

    def described(name: str, hint: Any, default: Any) -> inspect.Parameter:
        info = copy(own.get(name) or _SHARED[name])
        if isinstance(info, typer.models.OptionInfo):
            info.metavar = info.metavar or _placeholder(hint)
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
