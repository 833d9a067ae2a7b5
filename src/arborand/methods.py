"""The one list of sampling methods, and the gate for their names.

The options and help texts of the command line and the error messages are made from this list; the
docstrings and the tables of the guide are compared with it by the tests.  A method is added here,
and nowhere else in the package.
"""

from __future__ import annotations

from dataclasses import dataclass

from arborand.errors import BiasedSamplerWarning, warn_caller
from arborand.kinds import TreeKind


@dataclass(frozen=True, slots=True)
class Method:
    """One way to draw trees.

    Attributes
    ----------
    name : str
        What users pass as ``method=`` or ``--method``.
    summary : str
        What it does.
    only : TreeKind or None
        The one kind of tree it draws; None if it draws all.
    is_biased : bool
        Whether its draws do *not* follow the distribution.
    """

    name: str
    summary: str
    only: TreeKind | None = None
    is_biased: bool = False

    def __str__(self) -> str:
        return f"{self.name}{self.restrictions}: {self.summary}"

    @property
    def restrictions(self) -> str:
        """What sets it apart, in brackets after a space; empty if nothing does."""
        words = [] if self.only is None else [f"{self.only.noun}s only"]
        words += ["biased"] * self.is_biased
        return f" ({', '.join(words)})" if words else ""


# The order is that of enum class Method in the core.
WITH_REPLACEMENT = (
    Method(
        "wilson",
        "loop-erased random walks; for dependency trees after drawing the root's child by its "
        "exact marginal",
    ),
    Method(
        "wilson_reject",
        "loop-erased random walks, repeated until a single arc leaves the root",
        only=TreeKind.DEPENDENCY,
    ),
    Method(
        "colbourn",
        "the ancestral sampler: one head after the other from its exact conditional distribution",
    ),
    Method(
        "wilson_rc",
        "the paper's sampler, which draws the root's child by weight instead of by marginal",
        only=TreeKind.DEPENDENCY,
        is_biased=True,
    ),
)
WITHOUT_REPLACEMENT = (
    Method(
        "rejection",
        "draw with replacement and drop repeats, until a new tree would take a thousand tries on "
        "average; then partition",
    ),
    Method(
        "partition",
        "draw from the space of the trees not yet drawn, kept as a union of disjoint parts",
    ),
)

# With replacement, the cheapest.  Wilson's walk takes a microsecond at 50 words, the ancestral
# sampler sixty; on graphs where it would walk forever its budget makes it at most twice as slow.
# Rejection saves the root's marginals, which pays only for a few draws from large graphs.  But a
# rule that depended on the number of draws would break the promise that the first 10 of 1000 draws
# are the same as a draw of 10, and one that depended on other graphs of the batch would make draws
# depend on them.
DEFAULT_METHOD = "wilson"
# Without replacement, both: see `without_replacement.switch_below`.
DEFAULT_WITHOUT_REPLACEMENT = "rejection, then partition"


def names(methods: tuple[Method, ...]) -> tuple[str, ...]:
    """List the names of some methods."""
    return tuple(method.name for method in methods)


def check_method(name: str | None, methods: tuple[Method, ...], *, kind: TreeKind) -> None:
    """Check the name of a method, or None, and warn if the method is biased."""
    if name is None:
        return
    allowed = [m for m in methods if m.only in (None, kind)]
    chosen = next((method for method in allowed if method.name == name), None)
    if chosen is None:
        how = "with" if methods is WITH_REPLACEMENT else "without"
        why = "is unknown"
        if name in names(methods):
            why = "only draws dependency trees"
        elif name in names(WITH_REPLACEMENT + WITHOUT_REPLACEMENT):
            why = f"does not draw {how} replacement"
        listed = ", ".join(repr(method.name) for method in allowed)
        raise ValueError(f"method {name!r} {why}: use one of {listed}, or leave it out")
    if chosen.is_biased:
        exact = " or ".join(repr(method.name) for method in methods if not method.is_biased)
        message = f"method {name!r} is biased: {chosen.summary}; use {exact} for exact draws"
        warn_caller(BiasedSamplerWarning(message))
