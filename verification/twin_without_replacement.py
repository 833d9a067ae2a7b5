"""The twin of the draws without replacement: rejection, then a partition of what is left.

The trees not yet drawn are a disjoint union of subspaces "the first words have these heads, the
next word has none of those". A draw picks a subspace in proportion to its mass, draws a tree in
it, and splits it along that tree. The mass of a new subspace is the chance of its prefix times the
*sum* of the conditionals that are still open: never one minus something.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from verification.laws import FloatArray
from verification.twin_ancestral import (
    UNDECIDED,
    decide_heads,
    in_double_or_unbounded,
    shifted_partition,
    shifts,
)
from verification.twin_numbers import (
    PERTURBATIONS,
    SUBSPACES,
    Arithmetic,
    CompensatedSum,
    Key,
    Numbers,
    Stream,
    UnboundedDouble,
    draw_index,
    exact_difference,
    exp,
    log,
    log1p,
)
from verification.twin_popping import PoppingSampler

# Rejection gives way to the partition after this multiple of the repeats in a row that a new tree
# takes on average where rejection stops anyway; and after this number of repeats in any case.
PATIENCE = 16.0
MOST_REPEATS = 1 << 16


class Draw(NamedTuple):
    """One tree, and what is known about it; see :class:`arborand.Draws`."""

    heads: list[int]
    log_prob: float
    log_remaining: float
    perturbed_log_prob: float


@dataclass
class Subspace:
    """The trees with a prefix, without those that continue it by one of some heads.

    Attributes
    ----------
    heads : list of int
        The heads of nodes 0 to some node; the next one is open.
    chance : UnboundedDouble
        The chance of those heads.
    continued : dict
        From each head of the open node that is taken to the index of the subspace behind it.
    mass : UnboundedDouble
        The chance of all that is left.
    """

    heads: list[int]
    chance: UnboundedDouble
    mass: UnboundedDouble
    continued: dict[int, int] = field(default_factory=dict)


class Path(NamedTuple):
    """A tree drawn in a subspace, and for every open word what was passed by."""

    heads: list[int]
    kept: list[UnboundedDouble]  # the conditional of its head
    passed: list[UnboundedDouble]  # the sum of the conditionals of all heads that are still open


class DistinctTrees:
    """The sequence of different trees of one graph.

    Parameters
    ----------
    log_weights : ndarray of float64, shape (words + 1, words + 1)
        Scores; -inf where there is no arc, in column 0 and on the diagonal.
    single_root : bool
        Whether dependency trees are drawn.
    key : tuple of two int
        The key of the call.
    graph : int
        The index of the graph.
    switch_below : float
        The mass below which repeats are no longer rejected.
    switch_after : int, optional
        The number of trees after which they are not, whatever the mass.
    most_repeats : int, optional
        The number of repeats in a row after which they are not.
    """

    def __init__(
        self,
        log_weights: FloatArray,
        *,
        single_root: bool,
        key: Key,
        graph: int,
        switch_below: float,
        switch_after: int | None = None,
        most_repeats: int | None = None,
    ) -> None:
        self.log_weights = log_weights
        self.single_root = single_root
        self.num_nodes = len(log_weights)
        self.key, self.graph = key, graph
        self.switch_below, self.switch_after = switch_below, switch_after
        if most_repeats is None:
            is_bounded = switch_below * MOST_REPEATS > PATIENCE
            most_repeats = int(PATIENCE / switch_below) if is_bounded else MOST_REPEATS
        self.most_repeats = most_repeats
        self.sampler = PoppingSampler(log_weights, single_root=single_root, method="wilson")
        self.column_shift, self.root_shift = shifts(log_weights, single_root=single_root)
        self.partition = shifted_partition(log_weights, single_root=single_root)
        self.trees: list[list[int]] = []
        self.num_tries = 0
        self.covered = CompensatedSum()
        self.log_arrival = -math.inf
        self.subspaces: list[Subspace] = []

    def next(self) -> Draw | None:
        """Draw the next tree; None if there is none."""
        if not self.subspaces and not self.stops_rejecting():
            log_remaining = log1p(-self.covered.value)
            new = self.draw_new()
            if new is not None:
                return self.describe(new, log_remaining)
        if not self.subspaces:
            self.begin_partition()
        remaining = SumTree([subspace.mass for subspace in self.subspaces])
        if not remaining.total:
            return None
        log_remaining = remaining.total.log()
        return self.describe(self.draw_in_partition(remaining), log_remaining)

    def describe(self, heads: list[int], log_remaining: float) -> Draw:
        """Remember a tree, and collect what is known of it."""
        self.trees.append(heads)
        log_remaining = min(log_remaining, 0.0)
        log_prob = self.log_prob(heads)
        self.covered.add(exp(log_prob))
        return Draw(heads, log_prob, log_remaining, self.perturb(log_remaining))

    # ---- what is known about a tree

    def log_prob(self, heads: list[int]) -> float:
        """Compute the log-probability of a tree: shifted scores minus the shifted log Z."""
        total = CompensatedSum()
        for word in range(1, self.num_nodes):
            score, shift = float(self.log_weights[heads[word], word]), self.column_shift[word]
            total.add(*exact_difference(score, float(shift)))
            if heads[word] == 0 and self.single_root:
                total.add(-self.root_shift[0])
        high, low = self.partition.log_parts()
        total.add(-high, -(low + self.root_shift[1]))
        return min(total.value, 0.0)

    def perturb(self, log_remaining: float) -> float:
        """Run the race behind the order: trees not yet drawn arrive at the rate of their mass."""
        number = Stream(self.key, self.graph, len(self.trees) - 1, PERTURBATIONS).next()
        uniform = ((number >> 12) + 0.5) * 2.0**-52
        log_wait = log(-log(uniform)) - log_remaining
        later, sooner = max(log_wait, self.log_arrival), min(log_wait, self.log_arrival)
        self.log_arrival = later + log1p(exp(sooner - later))
        return -self.log_arrival

    # ---- rejection

    def stops_rejecting(self) -> bool:
        """Decide whether it is time for the partition."""
        is_late = self.switch_after is not None and len(self.trees) >= self.switch_after
        return is_late or 1.0 - self.covered.value <= self.switch_below

    def draw_new(self) -> list[int] | None:
        """Draw with replacement until the tree is new; None after too many repeats."""
        for _ in range(self.most_repeats):
            heads = self.sampler.draw(Stream(self.key, self.graph, self.num_tries))
            self.num_tries += 1
            if heads not in self.trees:
                return heads
        return None

    # ---- partition

    def begin_partition(self) -> None:
        """Start with all trees, and take out those drawn so far as if they had been drawn here."""
        self.subspaces = [Subspace([-1], UnboundedDouble(1.0, 0.0), UnboundedDouble(1.0, 0.0))]
        for heads in self.trees:
            at = self.subspace_of(heads)
            self.split(at, self.follow(self.subspaces[at], heads))

    def subspace_of(self, heads: list[int]) -> int:
        """Find the subspace that a tree is in."""
        at = 0
        while heads[len(self.subspaces[at].heads)] in self.subspaces[at].continued:
            at = self.subspaces[at].continued[heads[len(self.subspaces[at].heads)]]
        return at

    def draw_in_partition(self, remaining: SumTree) -> list[int]:
        """Draw a subspace, a tree in it, and take the tree out."""
        stream = Stream(self.key, self.graph, len(self.trees), SUBSPACES)
        at = remaining.draw(stream)
        path = self.follow(self.subspaces[at], stream)
        self.split(at, path)
        return path.heads

    def follow(self, subspace: Subspace, source: Stream | list[int]) -> Path:
        """Draw a tree in a subspace, or follow a given one, and record what it passes by."""
        open_word = len(subspace.heads)
        start = source.position if isinstance(source, Stream) else 0

        def record(walk: Numbers, numbers: Arithmetic) -> Path:
            heads = subspace.heads + [UNDECIDED] * (self.num_nodes - open_word)
            path = Path(heads, [], [])
            if isinstance(source, Stream):
                source.position = start

            def choose(word: int, chances: Numbers) -> int:
                if word == open_word:
                    chances[list(subspace.continued)] = numbers.zero
                if not isinstance(source, Stream):
                    head = source[word]
                elif word == open_word:
                    # What is left may be a tiny part of 1: scale it up before drawing from it.
                    head = draw_index(chances / numbers.total(chances), source)
                else:
                    head = draw_index(chances, source)
                path.kept.append(UnboundedDouble.of(chances[head]))
                chances[head] = numbers.zero
                path.passed.append(UnboundedDouble.of(numbers.total(chances)))
                return head

            decide_heads(walk, numbers, heads, choose)
            return path

        return in_double_or_unbounded(self.log_weights, record, single_root=self.single_root)

    def split(self, at: int, path: Path) -> None:
        """Replace a subspace by what is left of it without a tree."""
        subspace = self.subspaces[at]
        for word, kept, passed in zip(
            range(len(subspace.heads), self.num_nodes), path.kept, path.passed, strict=True
        ):
            subspace.mass = subspace.chance * passed
            if word + 1 == self.num_nodes:
                subspace.continued[path.heads[word]] = -1
                return
            subspace.continued[path.heads[word]] = len(self.subspaces)
            subspace = Subspace(path.heads[: word + 1], subspace.chance * kept, UnboundedDouble())
            self.subspaces.append(subspace)


class SumTree:
    """Masses added up in pairs, and pairs of pairs, up to a power of two.

    Parameters
    ----------
    masses : list of UnboundedDouble
        The masses.
    """

    def __init__(self, masses: list[UnboundedDouble]) -> None:
        self._levels = [masses]
        while len(masses) > 1:
            masses = [*masses, UnboundedDouble()] if len(masses) % 2 else masses
            self._levels[-1] = masses
            masses = [masses[i] + masses[i + 1] for i in range(0, len(masses), 2)]
            self._levels.append(masses)

    @property
    def total(self) -> UnboundedDouble:
        """The sum of all masses."""
        return self._levels[-1][0]

    def draw(self, stream: Stream) -> int:
        """Draw an index in proportion to the masses, by one choice between two after the other."""
        at = 0
        for level in reversed(self._levels[:-1]):
            left, right = level[2 * at], level[2 * at + 1]
            if left and right:
                both = left + right
                at = 2 * at + draw_index([left / both, right / both], stream)
            else:
                at = 2 * at + bool(right)
        return at
