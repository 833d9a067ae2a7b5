"""What a job does to every sentence: a command with its options, ready to be sent anywhere."""

from __future__ import annotations

import os
from dataclasses import dataclass, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from arborand.arguments import check_choice, check_count
from arborand.corpus import computing
from arborand.errors import ArborandError
from arborand.formats import records as layouts
from arborand.kinds import TreeKind
from arborand.methods import (
    DEFAULT_METHOD,
    DEFAULT_WITHOUT_REPLACEMENT,
    WITH_REPLACEMENT,
    WITHOUT_REPLACEMENT,
    check_method,
)
from arborand.validation import HEAD_DEPENDENT, ORIENTATIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from arborand.corpus.passing import Computation
    from arborand.formats.records import Layout

_SCORES = {"trees", "weights", "orientation", "keep_heads"}
# The options of each command.
OPTIONS = {
    "sample": _SCORES | {"num_trees", "without_replacement", "method", "seed"},
    "best": _SCORES | {"num_trees", "minimum_risk"},
    **dict.fromkeys(("marginals", "logz", "entropy", "check"), _SCORES),
    "convert": set(),
}


@dataclass(frozen=True)
class Work:
    """A command with its options.

    Attributes
    ----------
    command : str
    compute : Computation or None
        None for trees that are converted, and until it is known what is.
    layout : Layout or None
        What is written; None for ``convert`` until its inputs are known.
    options : dict
        The options that matter for what is written, in the order of the record.
    num_trees : int
        Per sentence; 0 if no trees are written.
    seed, method
        None where nothing is drawn.
    """

    command: str
    compute: Computation | None
    layout: Layout | None
    options: dict[str, Any]
    num_trees: int = 0
    seed: int | None = None
    method: str | None = None

    @property
    def threads(self) -> int:
        """How many threads may work on a run."""
        return int(getattr(getattr(self.compute, "setting", None), "workers", 1))

    @property
    def run_scale(self) -> int:
        """How much more than usual a run may hold."""
        # More threads than processors need no more memory.
        threads = min(self.threads, os.cpu_count() or 1)
        return threads * int(getattr(self.compute, "run_scale", 1))

    def with_threads(self, count: int) -> Work:
        """Let so many threads work on a run."""
        setting = getattr(self.compute, "setting", None)
        if setting is None or not is_dataclass(self.compute):  # it adds up what it computes
            return self
        setting = replace(setting, workers=count)
        return replace(self, compute=replace(self.compute, setting=setting))

    def for_inputs(self, layout: Layout) -> Work:
        """Let a conversion copy what its inputs hold."""
        if self.layout is not None:
            return self
        compute = None if layout.name == "trees" else computing.Copy(layout.dtype)
        return replace(self, compute=compute, layout=layout)

    def with_seed(self, seed: int) -> Work:
        """Draw from this seed."""
        return replace(
            self,
            compute=replace(self.compute, seed=seed),  # type: ignore[type-var]
            options={**self.options, "seed": seed},
            seed=seed,
        )


def make_work(
    command: str,
    *,
    trees: str = "dependency",
    weights: bool = False,
    orientation: str = HEAD_DEPENDENT,
    keep_heads: bool = False,
    num_trees: int = 1,
    without_replacement: bool = False,
    method: str | None = None,
    seed: int | None = None,
    minimum_risk: bool = False,
) -> Work:
    """Make the work of a command.

    A sample whose `seed` is None needs one (``with_seed``) before it can be drawn.
    """
    check_choice(trees, "trees", ("dependency", "spanning"))
    check_choice(orientation, "orientation", ORIENTATIONS)
    check_count(num_trees, "num_trees", 0)
    if command not in OPTIONS:
        raise ArborandError(f"there is no command {command!r}: use {', '.join(OPTIONS)}")
    if minimum_risk and num_trees > 1:
        raise ValueError(f"there is one tree of least risk, and {num_trees} are asked for")
    if command == "convert":
        return Work(command, None, None, {})
    if command == "sample":
        seed = None if seed is None else check_count(seed, "seed", 0)
        methods = WITHOUT_REPLACEMENT if without_replacement else WITH_REPLACEMENT
        check_method(method, methods, kind=TreeKind[trees.upper()])
    setting = computing.Setting(trees == "dependency", weights, 1, keep_heads, orientation)
    common = {"keep-heads": keep_heads, "trees": trees, "weights": weights}
    if orientation != HEAD_DEPENDENT:
        common["orientation"] = orientation
    if command == "sample":
        described = {
            "num-trees": num_trees,
            "without-replacement": without_replacement,
            "method": method,
            "seed": seed,
            **common,
        }
        compute: Computation
        if without_replacement:
            compute = computing.SamplingWithoutReplacement(setting, num_trees, method, seed or 0)
            method = method or DEFAULT_WITHOUT_REPLACEMENT
        else:
            method = method or DEFAULT_METHOD
            compute = computing.Sampling(setting, num_trees, method, seed or 0)
        return Work(command, compute, layouts.TREES, described, num_trees, seed, method)
    if command == "best":
        described = {"num-trees": num_trees, "minimum-risk": minimum_risk, **common}
        compute = computing.BestTrees(setting, num_trees, minimum_risk)
        return Work(command, compute, layouts.BEST_TREES, described, num_trees)
    makers: dict[str, tuple[Callable[..., Computation], Layout]] = {
        "marginals": (computing.Marginals, layouts.MARGINALS),
        "logz": (computing.LogPartition, layouts.LOG_PARTITION),
        "entropy": (computing.Entropy, layouts.ENTROPY),
        "check": (computing.Check, layouts.FINDINGS),
    }
    make, layout = makers[command]
    return Work(command, make(setting), layout, common)
