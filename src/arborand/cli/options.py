"""The arguments and options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from arborand.methods import DEFAULT_METHOD, WITH_REPLACEMENT, WITHOUT_REPLACEMENT, names

_SCORES = "Scores"
RANDOM_TREES = "Random trees"
_OUTPUT = "Output"
_RUNNING = "Running"


TreeKind = Literal["dependency", "spanning"]
OnError = Literal["stop", "skip"]
Format = Literal["conllu", "json", "jsonl", "csv", "tsv", "parquet", "npz", "safetensors"]
# The numbers of trees are stored as int32; no machine has more threads.
MOST_TREES = (1 << 31) - 1
_MOST_WORKERS = 1024
if TYPE_CHECKING:
    Method = str
else:
    Method = Literal[names(WITH_REPLACEMENT + WITHOUT_REPLACEMENT)]
METHOD_HELP = (
    f"With replacement: {', '.join(m.name + m.restrictions for m in WITH_REPLACEMENT)}; "
    f"{DEFAULT_METHOD} if none is named. Without: {', '.join(names(WITHOUT_REPLACEMENT))}; "
    "both, as it pays, if none is named."
)

Scores = Annotated[
    str,
    typer.Argument(
        metavar="SCORES",
        help="Scores of a corpus: .npy, .npz, .safetensors or .parquet; '-' reads standard input.",
        show_default=False,
    ),
]
Trees = Annotated[
    TreeKind,
    typer.Option(
        "--trees",
        help="dependency: exactly one arc leaves the root. spanning: any number may.",
        rich_help_panel=_SCORES,
    ),
]
Weights = Annotated[
    bool,
    typer.Option(
        "--weights",
        help="The numbers are plain weights (0: no arc), not log-weights (-inf: no arc).",
        rich_help_panel=_SCORES,
    ),
]
Conllu = Annotated[
    str | None,
    typer.Option(
        "--conllu",
        metavar="FILE",
        help="Words and other columns, matched by sent_id (in order, where scores have no ids).",
        rich_help_panel=_SCORES,
        show_default=False,
    ),
]
KeepHeads = Annotated[
    bool,
    typer.Option(
        "--keep-heads",
        help="Keep the heads that --conllu gives; words whose HEAD is '_' are free.",
        rich_help_panel=_SCORES,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        min=0,
        help="The same seed gives the same trees. Without one, a fresh seed is taken and recorded.",
        rich_help_panel=RANDOM_TREES,
        show_default=False,
    ),
]
FixedSeed = Annotated[
    int,
    typer.Option(
        "--seed", min=0, help="The same seed gives the same trees.", rich_help_panel=RANDOM_TREES
    ),
]
Retired = Annotated[int | None, typer.Option("--num-draws", hidden=True)]
RetiredSeed = Annotated[int | None, typer.Option("--seed", hidden=True)]
GraphSeed = Annotated[
    int,
    typer.Option(
        "--seed", min=0, help="The same seed gives the same graphs; times are your machine's."
    ),
]
Out = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT",
        help="Where to; its ending tells the format. '-' is standard output. None: a table.",
        rich_help_panel=_OUTPUT,
        show_default=False,
    ),
]
OutFormat = Annotated[
    Format | None,
    typer.Option(
        "--format",
        help="The format, whatever the ending.",
        rich_help_panel=_OUTPUT,
        show_default=False,
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Continue the unfinished output of an earlier run of the same command.",
        rich_help_panel=_OUTPUT,
    ),
]
Restart = Annotated[
    bool,
    typer.Option(
        "--restart",
        help="Discard the unfinished output of an earlier run.",
        rich_help_panel=_OUTPUT,
    ),
]
Workers = Annotated[
    int,
    typer.Option(
        "--workers",
        min=1,
        max=_MOST_WORKERS,
        help="Threads. The output does not depend on it.",
        rich_help_panel=_RUNNING,
    ),
]
OnBad = Annotated[
    OnError,
    typer.Option(
        "--on-error",
        help="A sentence that cannot be used: stop there, or skip it and list it at the end.",
        rich_help_panel=_RUNNING,
    ),
]


@dataclass(frozen=True)
class Run:
    """The options of every command that goes through a corpus."""

    trees: Trees = "dependency"
    weights: Weights = False
    output: Out = None
    format_: OutFormat = None
    resume: Resume = False
    restart: Restart = False
    workers: Workers = 1
    on_error: OnBad = "stop"


def check_keep_heads(conllu: str | None, *, keep_heads: bool) -> None:
    """Refuse to keep heads that no file gives."""
    if keep_heads and conllu is None:
        raise typer.BadParameter(
            "there are no heads to keep: name the file that has them with --conllu",
            param_hint="--keep-heads",
        )


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take a dataclass of options, its last parameter, as options of their own."""
    hints = get_type_hints(command, include_extras=True)
    *own, last = inspect.signature(command).parameters.values()
    group = hints[last.name]
    group_hints = get_type_hints(group, include_extras=True)
    shared = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=group_hints[field.name],
        )
        for field in fields(group)
    ]

    @wraps(command)
    def called(**values: Any) -> None:
        chosen = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values, **{last.name: chosen})

    parameters = [p.replace(annotation=hints[p.name]) for p in own] + shared
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return called
