"""Conditions on trees: arcs that they must contain, and arcs that they may contain.

A condition becomes a mask of the remaining arcs. The trees over these arcs are exactly the trees
that meet the condition: a word with only one possible arc left has that arc in every tree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from arborand import _core, inference
from arborand.arguments import check_arcs, list_arcs
from arborand.errors import InvalidTreeError, NoTreeError
from arborand.kinds import TreeKind, do_cross
from arborand.trees import check_integers
from arborand.validation import Graphs, find_unreachable, has_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from arborand.inference import Normaliser


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on the trees of some graphs, already checked.

    Attributes
    ----------
    include, exclude : list of (head, dependent)
        For a single graph.
    heads : ndarray of int, shape (num_graphs, m), or None
        The given heads; -1 for words whose head is not given.
    allowed : ndarray of bool, shape (num_graphs, m, m), or None
    allowed_name : str
        The argument that `allowed` comes from.
    """

    include: Sequence[tuple[int, int]] = ()
    exclude: Sequence[tuple[int, int]] = ()
    heads: NDArray[np.intp] | None = None
    allowed: NDArray[np.bool_] | None = None
    allowed_name: str = "allowed"

    def given_heads(self, graph: int) -> list[tuple[int, int]]:
        """List the arcs that `heads` requires in one graph."""
        if self.heads is None:
            return []
        row = self.heads[graph]
        return [(int(row[j]), int(j)) for j in np.flatnonzero(row >= 0)]


def check_heads(heads: ArrayLike, graphs: Graphs, name: str = "heads") -> NDArray[np.intp]:
    """Return partial annotations: the head of each word, or -1."""
    array = check_integers(heads, name)
    expected = (*graphs.batch_shape, graphs.size)
    if array.shape != expected:
        is_without_root = array.shape == (*graphs.batch_shape, graphs.size - 1)
        root = ", and -1 for the root in front" if is_without_root else ""
        raise InvalidTreeError(
            f"{name} has shape {array.shape}: expected {expected}, one entry for each node, with "
            f"-1 where the head is unknown{root}"
        )
    flat = array.astype(np.intp).reshape(-1, graphs.size)
    node = np.arange(graphs.size)
    is_word = (node > 0) & (node <= graphs.lengths[:, None])
    possible = (flat >= 0) & (flat <= graphs.lengths[:, None]) & (flat != node) & is_word
    bad = ~(possible | (flat == -1))
    if bad.any():
        graph, dependent = (int(i) for i in np.argwhere(bad)[0])
        index = [*map(int, np.unravel_index(graph, graphs.batch_shape)), dependent]
        where = f"{name}{index} is {int(flat[graph, dependent])}"
        num_words = int(graphs.lengths[graph])
        if not 1 <= dependent <= num_words:
            what = "the root (node 0)" if dependent == 0 else "a padding node"
            raise InvalidTreeError(f"{where}: the entry of {what} must be -1")
        raise InvalidTreeError(
            f"{where}: the head of node {dependent} must be another node, 0 (the root) to "
            f"{num_words}, or -1 if it is unknown"
        )
    return flat


def check_allowed(allowed: ArrayLike, graphs: Graphs) -> NDArray[np.bool_]:
    """Return a mask of allowed arcs."""
    try:
        array: NDArray[Any] = np.array(allowed)
    except ValueError:
        raise TypeError(
            "allowed cannot be read as an array: all rows must have the same length"
        ) from None
    if array.dtype != np.bool_:
        raise TypeError(
            f"allowed must be an array of bool, but its dtype is {array.dtype}: if 0 "
            "forbids an arc, pass allowed != 0"
        )
    expected = (*graphs.batch_shape, graphs.size, graphs.size)
    if array.shape != expected:
        raise ValueError(
            f"allowed has shape {array.shape}: expected {expected}, True where [head, dependent] "
            "may be an arc"
        )
    return array.reshape(-1, graphs.size, graphs.size)


def check_condition(
    graphs: Graphs,
    include: Iterable[tuple[int, int]] = (),
    exclude: Iterable[tuple[int, int]] = (),
    heads: ArrayLike | None = None,
    allowed: ArrayLike | None = None,
    allowed_name: str = "allowed",
) -> Condition:
    """Check all arguments of a condition."""
    include, exclude = list_arcs(include, "include"), list_arcs(exclude, "exclude")
    if graphs.batch_shape and (include or exclude):
        raise TypeError(
            f"{'include' if include else 'exclude'} takes arcs of a single graph, but this is a "
            f"batch of shape {graphs.batch_shape}; use heads or allowed, or index it first"
        )
    num_words = 0 if graphs.batch_shape else int(graphs.lengths[0])
    return Condition(
        check_arcs(include, "include", num_words),
        check_arcs(exclude, "exclude", num_words),
        None if heads is None else check_heads(heads, graphs),
        None if allowed is None else check_allowed(allowed, graphs),
        allowed_name,
    )


def condition(graphs: Graphs, asked: Condition) -> Graphs:
    """Restrict graphs to the trees that meet a condition; if there are none, say why."""
    log_weights = np.where(allowed_arcs(graphs, asked), graphs.log_weights, -np.inf)
    batch, found = _core.Batch.check(log_weights, graphs.lengths, graphs.kind)
    if batch is not None:
        return Graphs(batch, graphs.batch_shape, graphs.kind)
    graph = 0 if found is None else found[1]
    raise _contradiction(graphs, asked, log_weights[graph], graph)


def log_evidence(
    graphs: Graphs, normaliser: Normaliser, asked: Condition, workers: int = 1
) -> NDArray[np.float64]:
    """Compute the log-probability that a tree meets a condition: -inf if none does."""
    log_weights = np.where(allowed_arcs(graphs, asked), graphs.log_weights, -np.inf)
    possible = np.array(
        [
            has_tree(left, num_words, graphs.kind)
            for left, num_words in zip(log_weights, graphs.lengths, strict=True)
        ],
        dtype=bool,
    )
    log_weights[~possible] = graphs.log_weights[~possible]
    left = inference.normalise(graphs.with_log_weights(log_weights), workers)
    answer = np.full(len(log_weights), -np.inf)
    for graph in map(int, np.flatnonzero(possible)):
        # Shifts may be large, and most are the same: added up exactly, they cancel.
        terms = (
            *left.column_shift[graph],
            *-normaliser.column_shift[graph],
            *left.parts[graph, 1:],
            *-normaliser.parts[graph, 1:],
        )
        answer[graph] = min(0.0, exact_sum(terms))
    return answer.reshape(graphs.batch_shape)[()]


def exact_sum(terms: Sequence[float]) -> float:
    """Add up floats with a single rounding; inf or -inf if the sum is beyond all floats."""
    try:
        return math.fsum(terms)
    except OverflowError:  # in a partial sum, or in the result
        total = sum(map(Fraction, map(float, terms)), Fraction(0))
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def allowed_arcs(graphs: Graphs, asked: Condition) -> NDArray[np.bool_]:
    """Mark the arcs that a condition does not forbid: shape (num_graphs, m, m)."""
    left = np.ones((len(graphs), graphs.size, graphs.size), dtype=bool)
    if asked.allowed is not None:
        left &= asked.allowed
    if asked.heads is not None:
        node = np.arange(graphs.size)
        left &= (asked.heads[:, None, :] < 0) | (asked.heads[:, None, :] == node[:, None])
    for head, dependent in asked.include:
        left[0, :head, dependent] = False
        left[0, head + 1 :, dependent] = False
    for head, dependent in asked.exclude:
        left[0, head, dependent] = False
    return left


def _contradiction(
    graphs: Graphs, asked: Condition, left: NDArray[np.float64], graph: int
) -> NoTreeError:
    """Say, in the caller's terms, why no tree of a graph meets the condition."""
    batch_index = tuple(int(i) for i in np.unravel_index(graph, graphs.batch_shape))
    where = f" in batch item {list(batch_index)}" if batch_index else ""
    num_words = int(graphs.lengths[graph])
    left = left[: num_words + 1, : num_words + 1]

    def error(reason: str, words: tuple[int, ...] = ()) -> NoTreeError:
        return NoTreeError(f"no tree is left{where}: {reason}", words, batch_index)

    given = [(arc, "include") for arc in asked.include]
    given += [(arc, "heads") for arc in asked.given_heads(graph)]
    head_of: dict[int, tuple[int, str]] = {}
    for (head, dependent), name in given:
        arc, both = f"{head} -> {dependent}", (head, dependent) if head else (dependent,)
        if graphs.log_weights[graph, head, dependent] == -np.inf:
            return error(f"{name} requires the arc {arc}, which the graph does not have", both)
        if (head, dependent) in asked.exclude:
            return error(f"{name} requires the arc {arc}, but exclude forbids it", both)
        if asked.allowed is not None and not asked.allowed[graph, head, dependent]:
            forbids = f"{asked.allowed_name} forbids it"
            return error(f"{name} requires the arc {arc}, but {forbids}", both)
        other, other_name = head_of.setdefault(dependent, (head, name))
        if other != head:
            names = name if other_name == name else f"{other_name} and {name}"
            reason = f"word {dependent} has two heads, {other} and {head}, in {names}"
            return error(reason, (dependent,))
    involved = list(dict.fromkeys(name for _, name in given))
    names = f"{' and '.join(involved)} {'have' if len(involved) > 1 else 'has'}"
    for start in head_of:
        path = [start]
        while path[-1] in head_of and path.count(path[-1]) == 1:
            path.append(head_of[path[-1]][0])
        if path.count(path[-1]) > 1:
            cycle = path[path.index(path[-1]) + 1 :][::-1]  # from head to dependent
            first = cycle.index(min(cycle))
            cycle = [*cycle[first:], *cycle[:first]]
            shown = " -> ".join(map(str, [*cycle, cycle[0]]))
            return error(f"{names} the cycle {shown}", tuple(cycle))
    roots = sorted(dependent for dependent, (head, _) in head_of.items() if head == 0)
    if graphs.kind.has_single_root and len(roots) > 1:
        count = "two" if len(roots) == 2 else str(len(roots))
        arcs = " and ".join(f"0 -> {dependent}" for dependent in roots)
        reason = f"{names} {count} root arcs, {arcs}; a dependency tree has one"
        return error(reason, tuple(roots))
    crossing = _first_crossing(head_of) if graphs.kind.is_projective else None
    if crossing is not None:
        (head, word), (other_head, other) = crossing
        arcs = f"{head} -> {word} and {other_head} -> {other}"
        words = tuple(sorted({head, word, other_head, other} - {0}))
        return error(f"{names} the crossing arcs {arcs}; a projective tree has none", words)
    headless = tuple(int(j) for j in 1 + np.flatnonzero((left[:, 1:] == -np.inf).all(axis=0)))
    if headless:
        verb = "are" if len(headless) > 1 else "is"
        return error(f"{_words(headless)} {verb} left without a head", headless)
    lost = find_unreachable(left > -np.inf)
    if lost:
        return error(f"the root cannot reach {_words(lost)} over the remaining arcs", lost)
    wider = TreeKind.DEPENDENCY if graphs.kind.has_single_root else TreeKind.SPANNING
    if graphs.kind.is_projective and has_tree(left, num_words, wider):
        return error("every tree over the remaining arcs has crossing arcs")
    return error(
        "no single word with an arc from the root reaches all other words over the remaining arcs; "
        "a dependency tree has one root arc"
    )


def _first_crossing(
    head_of: dict[int, tuple[int, str]],
) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Find two arcs of a partial tree that cross, as (head, dependent)."""
    arcs = [(head, word) for word, (head, _) in sorted(head_of.items())]
    return next((pair for pair in combinations(arcs, 2) if do_cross(*pair)), None)


def _words(words: tuple[int, ...]) -> str:
    return f"word{'s' if len(words) > 1 else ''} {', '.join(map(str, words))}"
