"""The arguments and options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from arborand.corpus.running import PART_SENTENCES
from arborand.methods import DEFAULT_METHOD, WITH_REPLACEMENT, WITHOUT_REPLACEMENT, names

_SCORES = "Scores"
RANDOM_TREES = "Random trees"
_OUTPUT = "Output"
_RUNNING = "Running"


TreeKind = Literal["dependency", "spanning"]
OnError = Literal["stop", "skip"]
Engine = Literal["local", "array", "ray"]
Format = Literal["conllu", "json", "html", "jsonl", "csv", "tsv", "parquet", "npz", "safetensors"]
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
Corpus = Annotated[
    list[str],
    typer.Argument(
        metavar="SCORES",
        help="Scores of a corpus: files, folders or patterns of .npy, .npz, .safetensors and "
        ".parquet, here or at s3://, gs://, hdfs://; '-' reads standard input.",
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
        help="Where to: a file, whose ending tells the format, or a folder (OUT/) of parts that "
        "can be continued. '-' is standard output. None: a table.",
        rich_help_panel=_OUTPUT,
        show_default=False,
    ),
]
OutFormat = Annotated[
    Format | None,
    typer.Option(
        "--format",
        help="The format, whatever the ending; of the parts of a folder: parquet, if not given.",
        rich_help_panel=_OUTPUT,
        show_default=False,
    ),
]
Resume = Annotated[bool, typer.Option("--resume", hidden=True)]
Restart = Annotated[
    bool,
    typer.Option(
        "--restart",
        help="Discard what another job has written to the output folder.",
        rich_help_panel=_OUTPUT,
    ),
]
PartSentences = Annotated[
    int,
    typer.Option(
        "--part-sentences",
        min=1,
        help="Divide a single file into parts of so many sentences.",
        rich_help_panel=_OUTPUT,
    ),
]
Workers = Annotated[
    int,
    typer.Option(
        "--workers",
        min=1,
        max=_MOST_WORKERS,
        help="Processes for the parts of a folder, threads otherwise. "
        "The output does not depend on it.",
        rich_help_panel=_RUNNING,
    ),
]
ChosenEngine = Annotated[
    Engine,
    typer.Option(
        "--engine",
        help="Who makes the parts of a folder: this machine, one process of many that were started "
        "alike (SLURM, MPI), or a Ray cluster.",
        rich_help_panel=_RUNNING,
    ),
]
Rank = Annotated[
    int | None,
    typer.Option(
        "--rank",
        min=0,
        help="array: which process this is, where SLURM, OpenMPI or PMI do not say.",
        rich_help_panel=_RUNNING,
        show_default=False,
    ),
]
World = Annotated[
    int | None,
    typer.Option(
        "--world",
        min=1,
        help="array: how many processes there are.",
        rich_help_panel=_RUNNING,
        show_default=False,
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        help="ray: the address of a cluster. None: Ray is started here, and stopped.",
        rich_help_panel=_RUNNING,
        show_default=False,
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
class Running:
    """The options of every command that writes what it makes of a corpus."""

    format_: OutFormat = None
    resume: Resume = False
    restart: Restart = False
    part_sentences: PartSentences = PART_SENTENCES
    workers: Workers = 1
    engine: ChosenEngine = "local"
    rank: Rank = None
    world: World = None
    address: Address = None
    on_error: OnBad = "stop"


@dataclass(frozen=True)
class Run(Running):
    """The options of every command that computes something of a corpus."""

    trees: Trees = "dependency"
    weights: Weights = False
    output: Out = None


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
        given = {field.name for field in fields(group)} & values.keys()
        chosen = group(**{name: values.pop(name) for name in given})
        command(**values, **{last.name: chosen})

    parameters = [p.replace(annotation=hints[p.name]) for p in own] + shared
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return called
