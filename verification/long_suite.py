"""The long suite: what ``python -m verification`` runs, with fresh seeds and more draws.

The register of the test suite (``checks``) has fixed seeds, so that a failure is a bug and not bad
luck, and so it sees the same draws every time. This suite sees others in every run, and on random
graphs as well as those of the catalogue. Its groups, a class each:

=====================  ===========================================================================
:class:`FullLaw`       every tree of a small graph is drawn as often as it should be
:class:`LargeGraph`    arcs and pairs of arcs of graphs of 50 to 200 words
:class:`Neighbours`    draws that follow each other, and draws of neighbouring graphs, are
                       independent: all pairs of trees of a small graph
:class:`Agreement`     the same on large graphs: how often two draws agree on a head
:class:`Ordered`       draws without replacement, in order
:class:`Inclusion`     draws without replacement, whatever their order
:class:`Perturbed`     perturbed log-probabilities of draws without replacement
:class:`Accurate`      log Z and marginals against high precision, on scores of any size (there
                       against mpmath, too), and on the very graphs of :class:`LargeGraph` and
                       :class:`Agreement`
:class:`AnyScores`     every number of small and middling graphs, on scores from 1e-320 to 1.7e308
:class:`WholeOrder`    best trees of small graphs are in order, to the last one
:class:`Certificate`   best trees found in double are those found in exact numbers
:class:`NoneMissing`   the best trees of large graphs hold all better ones that can be drawn
:class:`Planted`       mutants are rejected, their sound twins accepted
=====================  ===========================================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import stats

from arborand import DependencyTrees, SpanningTrees, sampling
from arborand.kinds import TreeKind
from arborand.randomness import stream_key
from arborand.validation import check_log_weights
from verification import power
from verification.any_scores import FAMILIES as SCORES
from verification.any_scores import judge_any_scores
from verification.best_order import (
    FAMILIES,
    judge_certificate,
    judge_no_tree_is_missing,
    judge_whole_order,
)
from verification.goodness_of_fit import (
    MIN_EXPECTED,
    CountFit,
    Family,
    Verdict,
    binomial_test,
    g_test,
)
from verification.goodness_of_fit import Cell as Count
from verification.graphs import CATALOGUE, Graph
from verification.high_precision import Pair, accuracy_of
from verification.judges import (
    judge_consecutive,
    judge_inclusion,
    judge_ordered,
    judge_perturbed,
    judge_trees,
)
from verification.laws import (
    FloatArray,
    HeadsArray,
    IndexArray,
    inclusion_probabilities,
    law_of,
    ordered_law,
)
from verification.library import draw_distinct, neighbouring_graphs, ordered_sampler, sampler
from verification.library_checks import KINDS, METHODS
from verification.mutants import ALPHA_MUTANT, MUTANTS
from verification.power import Power
from verification.random_graphs import EXTREME, LARGE, LISTABLE
from verification.trials import generator

_CHUNK = 20_000  # draws held in memory at a time, of graphs of 200 words; even, to keep pairs


class Experiment(Protocol):
    """What a check of the long suite does; it can be pickled, to be run by another process."""

    def run(self, graph: Graph, num_draws: int, seed: int) -> Verdict:
        """Draw, with randomness from the seed alone, and judge."""

    def power(self, graph: Graph, num_draws: int, level: float) -> Power | None:
        """Find the smallest bias that this number of draws would show at a level."""


@dataclass(frozen=True)
class LongCheck:
    """One check of the long suite.

    Attributes
    ----------
    name : str
        Unique; says what is judged, on which graph.
    group : str
        Which part of the report it belongs to.
    graph_name : str
        A graph of the catalogue, or a family and a number; see ``random_graphs``.
    experiment : Experiment
        What is done.
    num_draws : int
        How much of it; 0 if nothing is drawn and a second attempt would be the first again.
    is_mutant : bool
        Whether the verdict must be a rejection, below ``ALPHA_MUTANT``.
    """

    name: str
    group: str
    graph_name: str
    experiment: Experiment
    num_draws: int
    is_mutant: bool = False

    def passes(self, p_value: float, level: float) -> bool:
        """Tell whether a p-value is what is expected of this check."""
        return p_value < ALPHA_MUTANT if self.is_mutant else p_value >= level


# ---- with replacement ----


@dataclass(frozen=True)
class FullLaw:
    """Draws of a method, with a forced step budget or its own, against the law over all trees."""

    single_root: bool
    method: str
    step_budget: int | None = None

    def run(self, graph: Graph, num_draws: int, seed: int) -> Verdict:
        """Draw and judge."""
        draw = sampler(self.method, single_root=self.single_root, step_budget=self.step_budget)
        draws = draw(graph.log_weights, num_draws, seed)
        return judge_trees(draws, law_of(graph, single_root=self.single_root))

    def power(self, graph: Graph, num_draws: int, level: float) -> Power | None:
        """Find the smallest change of one tree's probability, or what else it could be."""
        law = law_of(graph, single_root=self.single_root).probabilities
        if len(law) == 1:
            return power.of_certain_outcome(num_draws, outcome="the only tree of the graph")
        return power.of_changed_outcome(law, num_draws, level, bias="probability of one tree")


@dataclass(frozen=True)
class Neighbours:
    """Pairs of draws that follow each other, or of neighbouring graphs of a batch."""

    single_root: bool
    method: str
    step_budget: int | None = None
    of_graphs: bool = False

    def run(self, graph: Graph, num_draws: int, seed: int) -> Verdict:
        """Draw and judge."""
        draw = (
            neighbouring_graphs(self.method, single_root=self.single_root)
            if self.of_graphs
            else sampler(self.method, single_root=self.single_root, step_budget=self.step_budget)
        )
        draws = draw(graph.log_weights, num_draws, seed)
        return judge_consecutive(draws, law_of(graph, single_root=self.single_root))

    def power(self, graph: Graph, num_draws: int, level: float) -> Power | None:
        """Find the smallest share of repeated draws."""
        law = law_of(graph, single_root=self.single_root).probabilities
        return power.of_repeated_draws(law, num_draws // 2, level)


# ---- large graphs ----


@dataclass(frozen=True)
class ArcsAndPairs:
    """Exact probabilities of a large graph, grouped so that draws can refute them.

    Attributes
    ----------
    groups : tuple of ndarray of int64
        For each word, the group of each head; -1 where there is no arc.
    laws : tuple of ndarray of float64
        For each word, the probability of each group.
    pairs : tuple of ((head, dependent), (head, dependent))
        Some pairs of arcs.
    joint : ndarray of float64, shape (pairs,)
        Their probabilities.
    """

    groups: tuple[IndexArray, ...]
    laws: tuple[FloatArray, ...]
    pairs: tuple[Pair, ...]
    joint: FloatArray


NUM_PAIRS = 60
_PAIR_SEED = 2021  # which pairs are looked at is part of the check, not of the draws


@dataclass(frozen=True)
class LargeGraph:
    """Draws from a large graph against the exact marginals of its arcs and of pairs of arcs.

    The marginals are the library's own, from `arc_marginals` and `joint_probability`, which share
    no code with the walks; :class:`Accurate` compares every one of them, of the same graphs in the
    same run, with high precision.
    """

    single_root: bool
    method: str

    def run(self, graph: Graph, num_draws: int, seed: int) -> Verdict:
        """Draw and judge."""
        exact = self._exact(graph, num_draws)
        size = graph.num_words + 1
        heads_drawn = np.zeros((size, size), dtype=np.int64)
        pairs_drawn = np.zeros(len(exact.pairs), dtype=np.int64)
        for draws in _in_chunks(graph, self.single_root, self.method, num_draws, seed):
            for word in range(1, size):
                heads_drawn[:, word] += np.bincount(draws[:, word], minlength=size)
            for pair, ((h, d), (i, e)) in enumerate(exact.pairs):
                pairs_drawn[pair] += np.count_nonzero((draws[:, d] == h) & (draws[:, e] == i))
        members: list[tuple[str, Verdict]] = []
        for word, (group, law) in enumerate(zip(exact.groups, exact.laws, strict=True), start=1):
            drawn = heads_drawn[:, word]
            fit = g_test(
                np.bincount(group[group >= 0], drawn[group >= 0], len(law)).astype(np.int64),
                law,
                outside={"an absent arc": int(drawn[group < 0].sum())},
            )
            members.append((f"the head of word {word}, in groups of rare heads", fit))
        for arcs, count, chance in zip(exact.pairs, pairs_drawn, exact.joint, strict=True):
            name = f"the arcs {arcs[0]} and {arcs[1]} together"
            members.append((name, binomial_test(int(count), num_draws, chance, outcome=name)))
        return Family(tuple(members))

    def power(self, graph: Graph, num_draws: int, level: float) -> Power | None:
        """Find the smallest change of one arc's probability."""
        exact = self._exact(graph, num_draws)
        own_level = level / (len(exact.laws) + len(exact.pairs))
        found = [
            one
            for law in exact.laws
            if (one := power.of_changed_outcome(law, num_draws, own_level, bias="")) is not None
        ]
        pairs = power.of_changed_events(exact.joint, num_draws, own_level, bias="")
        found += [] if pairs is None else [pairs]
        return Power(
            "probability of one arc, group of rare arcs, or pair of arcs",
            min(one.easiest for one in found),
            max(one.hardest for one in found),
        )

    def _exact(self, graph: Graph, num_draws: int) -> ArcsAndPairs:
        distribution = (DependencyTrees if self.single_root else SpanningTrees)(graph.log_weights)
        marginals = distribution.arc_marginals()
        grouped = [_group_heads(column, num_draws) for column in marginals.T[1:]]
        pairs = pairs_of(graph, single_root=self.single_root)
        return ArcsAndPairs(
            tuple(group for group, _ in grouped),
            tuple(law for _, law in grouped),
            pairs,
            np.minimum([distribution.joint_probability(pair) for pair in pairs], 1.0),
        )


def pairs_of(graph: Graph, *, single_root: bool) -> tuple[Pair, ...]:
    """Choose pairs of arcs that happen: two arcs each of some trees.

    Parameters
    ----------
    graph : Graph
        A large graph.
    single_root : bool
        Whether exactly one arc must leave the root.

    Returns
    -------
    tuple of ((head, dependent), (head, dependent))
        Always the same ones for the same graph.
    """
    rng = generator(_PAIR_SEED)
    distribution = (DependencyTrees if single_root else SpanningTrees)(graph.log_weights)
    pairs = []
    for heads in distribution.sample(NUM_PAIRS, method="colbourn", rng=rng):
        first, second = 1 + rng.choice(graph.num_words, size=2, replace=False)
        pairs.append(((int(heads[first]), int(first)), (int(heads[second]), int(second))))
    return tuple(pairs)


@dataclass(frozen=True)
class Agreement:
    """How often two successive draws from a large graph give a word the same head."""

    single_root: bool
    method: str

    def run(self, graph: Graph, num_draws: int, seed: int) -> Verdict:
        """Draw and judge."""
        agreed = np.zeros(graph.num_words, dtype=np.int64)
        for draws in _in_chunks(graph, self.single_root, self.method, num_draws, seed):
            agreed += np.count_nonzero(draws[0::2, 1:] == draws[1::2, 1:], axis=0)
        members: list[tuple[str, Verdict]] = []
        for word, (count, chance) in enumerate(
            zip(agreed, self._chances(graph), strict=True), start=1
        ):
            name = f"successive draws agree on the head of word {word}"
            fit = binomial_test(int(count), num_draws // 2, float(chance), outcome=name)
            members.append((name, fit))
        return Family(tuple(members))

    def power(self, graph: Graph, num_draws: int, level: float) -> Power | None:
        """Find the smallest share of repeated draws."""
        chances = self._chances(graph)
        return power.of_agreement(chances, num_draws // 2, level / len(chances))

    def _chances(self, graph: Graph) -> FloatArray:
        distribution = (DependencyTrees if self.single_root else SpanningTrees)(graph.log_weights)
        squares: FloatArray = np.sum(distribution.arc_marginals()[:, 1:] ** 2, axis=0)
        return np.minimum(squares, 1.0)


def _in_chunks(
    graph: Graph, single_root: bool, method: str, num_draws: int, seed: int
) -> Iterator[HeadsArray]:
    """Make the draws of one call bit by bit: draw i does not depend on how they are split."""
    graphs = check_log_weights(graph.log_weights, None, kind=TreeKind(single_root))
    for first in range(0, num_draws, _CHUNK):
        size = min(_CHUNK, num_draws - first)
        heads, _ = sampling.sample(
            graphs, size, method=method, key=stream_key(seed), first_draw=first
        )
        yield heads


def _group_heads(marginals: FloatArray, num_draws: int) -> tuple[IndexArray, FloatArray]:
    """Merge the rarer heads of a word, likely ones first, until each group can be expected."""
    group = np.full(len(marginals), -1, dtype=np.int64)
    law: list[float] = []
    is_open = False
    for head in np.argsort(-marginals, kind="stable"):
        if marginals[head] == 0.0:
            break
        if not is_open:
            law.append(0.0)
        group[head] = len(law) - 1
        law[-1] += float(marginals[head])
        is_open = num_draws * law[-1] < MIN_EXPECTED
    return group, np.array(law) / sum(law)


# ---- without replacement ----


@dataclass(frozen=True)
class Ordered:
    """Ordered draws of a few trees without replacement."""

    single_root: bool
    method: str | None
    length: int
    switch_after: int | None = None

    def run(self, graph: Graph, num_draws: int, seed: int) -> Verdict:
        """Draw and judge."""
        draw = ordered_sampler(
            self.method, single_root=self.single_root, switch_after=self.switch_after
        )
        draws = draw(graph.log_weights, num_draws, self.length, seed)
        return judge_ordered(draws, law_of(graph, single_root=self.single_root))

    def power(self, graph: Graph, num_draws: int, level: float) -> Power | None:
        """Find the smallest change of one sequence's probability."""
        law = law_of(graph, single_root=self.single_root).probabilities
        return power.of_changed_outcome(
            ordered_law(law, self.length), num_draws, level, bias="probability of one sequence"
        )


@dataclass(frozen=True)
class Inclusion:
    """Which trees are among the first, for sequences too long to tabulate."""

    single_root: bool
    method: str | None
    length: int

    def run(self, graph: Graph, num_draws: int, seed: int) -> Verdict:
        """Draw and judge."""
        draw = ordered_sampler(self.method, single_root=self.single_root)
        draws = draw(graph.log_weights, num_draws, self.length, seed)
        return judge_inclusion(draws, law_of(graph, single_root=self.single_root))

    def power(self, graph: Graph, num_draws: int, level: float) -> Power | None:
        """Find the smallest change of one tree's inclusion probability."""
        law = law_of(graph, single_root=self.single_root).probabilities
        inclusion = np.minimum(inclusion_probabilities(law, self.length), 1.0)
        own_level = level / (len(inclusion) + 2)
        return power.of_changed_events(
            inclusion, num_draws, own_level, bias="chance of one tree to be included"
        )


@dataclass(frozen=True)
class Perturbed:
    """Perturbed log-probabilities of all trees."""

    single_root: bool
    method: str | None

    def run(self, graph: Graph, num_draws: int, seed: int) -> Verdict:
        """Draw and judge."""
        law = law_of(graph, single_root=self.single_root)
        draws = draw_distinct(
            graph.log_weights,
            num_draws,
            law.num_trees,
            seed,
            single_root=self.single_root,
            method=self.method,
        )
        return judge_perturbed(np.swapaxes(draws.heads, 0, 1), draws.perturbed_log_prob.T, law)

    def power(self, graph: Graph, num_draws: int, level: float) -> Power | None:
        """Bound the smallest distance from the law of Gumbel variables."""
        num_members = law_of(graph, single_root=self.single_root).num_trees + 1
        return power.of_distance(num_draws, level / num_members)


# ---- without draws ----


@dataclass(frozen=True)
class Accurate:
    """Accuracy of log Z, of all marginals and of pairs of arcs; only the graph is random."""

    single_root: bool
    has_pairs: bool = False
    with_mpmath: bool = False

    def run(self, graph: Graph, num_draws: int, seed: int) -> Verdict:
        """Compare with high precision."""
        del num_draws, seed
        pairs = pairs_of(graph, single_root=self.single_root) if self.has_pairs else ()
        return accuracy_of(
            graph.log_weights,
            single_root=self.single_root,
            pairs=pairs,
            with_mpmath=self.with_mpmath,
        )

    def power(self, graph: Graph, num_draws: int, level: float) -> Power | None:
        """Nothing is left to chance."""
        del graph, num_draws, level
        return None


@dataclass(frozen=True)
class AnyScores:
    """All numbers that distributions give, on random graphs of a family of scores of any size."""

    single_root: bool
    family: str

    def run(self, graph: Graph, num_draws: int, seed: int) -> Verdict:
        """Compare `num_draws` graphs with balls."""
        del graph
        return judge_any_scores(self.family, num_draws, seed, single_root=self.single_root)

    def power(self, graph: Graph, num_draws: int, level: float) -> Power | None:
        """One error beyond what is promised is enough."""
        del graph, num_draws, level
        return None


# ---- best trees ----


@dataclass(frozen=True)
class WholeOrder:
    """All trees of small random graphs of a family, in order."""

    single_root: bool
    family: str

    def run(self, graph: Graph, num_draws: int, seed: int) -> Verdict:
        """Compare `num_draws` graphs with lists of all trees."""
        del graph
        return judge_whole_order(self.family, num_draws, seed, single_root=self.single_root)

    def power(self, graph: Graph, num_draws: int, level: float) -> Power | None:
        """One difference is enough."""
        del graph, num_draws, level
        return None


@dataclass(frozen=True)
class Certificate:
    """The best trees of random graphs of a family, with doubles and without."""

    single_root: bool
    family: str

    def run(self, graph: Graph, num_draws: int, seed: int) -> Verdict:
        """Compare `num_draws` graphs."""
        del graph
        return judge_certificate(self.family, num_draws, seed, single_root=self.single_root)

    def power(self, graph: Graph, num_draws: int, level: float) -> Power | None:
        """One difference is enough."""
        del graph, num_draws, level
        return None


@dataclass(frozen=True)
class NoneMissing:
    """The best trees of a large graph, against as many draws without replacement."""

    single_root: bool

    def run(self, graph: Graph, num_draws: int, seed: int) -> Verdict:
        """Find and draw `num_draws` trees."""
        return judge_no_tree_is_missing(
            graph.log_weights, num_draws, seed, single_root=self.single_root
        )

    def power(self, graph: Graph, num_draws: int, level: float) -> Power | None:
        """One missing tree is enough."""
        del graph, num_draws, level
        return None


# ---- the harness itself ----


@dataclass(frozen=True)
class Planted:
    """A mutant, or its twin without the fault.

    Both come with their own number of draws; more of them are made as so many trials, whose
    p-values are combined as Fisher did.
    """

    mutant_name: str
    is_twin: bool

    def run(self, graph: Graph, num_draws: int, seed: int) -> Verdict:
        """Put it through its trial, `num_draws` times."""
        del graph
        mutant = next(one for one in MUTANTS if one.name == self.mutant_name)
        judge = mutant.twin if self.is_twin else mutant.trial
        if num_draws <= 1:
            return judge(seed)
        seeds = generator(seed).integers(2**63, size=num_draws)
        p_values = [judge(int(one)).p_value for one in seeds]
        combined = stats.combine_pvalues(np.maximum(p_values, 1e-300)).pvalue
        surprising = sum(p < ALPHA_MUTANT for p in p_values)
        return CountFit(float(combined), Count(f"of {num_draws} trials, rejected", surprising, 0.0))

    def power(self, graph: Graph, num_draws: int, level: float) -> Power | None:
        """Mutants are what power is for."""
        del graph, num_draws, level
        return None


# ---- the suite ----

FEW_STEPS = 6
"""A step budget that small graphs' walks often spend."""

_RANDOM_GRAPHS = tuple(f"{family}#{number}" for family in LISTABLE for number in (1, 2))

_WAYS = tuple(
    (single_root, method, budget)
    for single_root in (False, True)
    for method in METHODS[single_root]
    for budget in ((None,) if method == "colbourn" else (None, FEW_STEPS))
)


def _way(single_root: bool, method: str, budget: int | None) -> str:
    forced = "" if budget is None else f" within {budget} steps"
    return f"{KINDS[single_root]}, {method}{forced}"


def _can(graph_name: str, single_root: bool) -> bool:
    return (
        not single_root or graph_name not in CATALOGUE or CATALOGUE[graph_name].has_dependency_trees
    )


FULL_LAWS = tuple(
    LongCheck(
        f"full law: {_way(*way)}, {graph_name}",
        "full law of small graphs",
        graph_name,
        FullLaw(*way),
        600_000,
    )
    for graph_name in (*CATALOGUE, *_RANDOM_GRAPHS)
    for way in _WAYS
    if _can(graph_name, way[0])
)

# Ancestral draws cost O(n^3), walks some microseconds.
_LARGE_DRAWS = {
    50: {"wilson": 400_000, "wilson_reject": 160_000, "colbourn": 32_000},
    100: {"wilson": 240_000, "wilson_reject": 120_000, "colbourn": 8_000},
    200: {"wilson": 80_000, "wilson_reject": 40_000, "colbourn": 3_200},
}

_LARGE = tuple(
    (name, int(name.rpartition("_")[2]), single_root, method)
    for name in LARGE
    for single_root in (False, True)
    for method in METHODS[single_root]
)

LARGE_GRAPHS = tuple(
    LongCheck(
        f"arcs and pairs: {KINDS[single_root]}, {method}, {name}",
        "arcs and pairs of arcs of large graphs",
        name,
        LargeGraph(single_root, method),
        _LARGE_DRAWS[num_words][method],
    )
    for name, num_words, single_root, method in _LARGE
)

INDEPENDENCE = (
    *(
        LongCheck(
            f"independence: {_way(*way)}, {graph_name}, successive draws",
            "independence of successive draws",
            graph_name,
            Neighbours(*way),
            800_000,
        )
        for graph_name in ("skewed_3", "lopsided_root_4", "shifted_columns_3#1")
        for way in _WAYS
    ),
    *(
        LongCheck(
            f"independence: {KINDS[single_root]}, {method}, skewed_3, neighbouring graphs",
            "independence of successive draws",
            "skewed_3",
            Neighbours(single_root, method, of_graphs=True),
            800_000,
        )
        for single_root in (False, True)
        for method in METHODS[single_root]
    ),
    *(
        LongCheck(
            f"independence: {KINDS[single_root]}, {method}, {name}, successive draws",
            "independence of successive draws",
            name,
            Agreement(single_root, method),
            _LARGE_DRAWS[num_words][method],
        )
        for name, num_words, single_root, method in _LARGE
        if num_words == 50
    ),
)

_PAIRS_ON = (
    "flat_3",
    "skewed_4",
    "sparse_5",
    "two_islands_4",
    "dominant_4",
    "near_deterministic_4",
    "bound_pair_4",
    "normal_4#1",
    "far_apart_4#1",
    "one_tree_ahead_4#1",
)

_DISTINCT = "draws without replacement"

WITHOUT_REPLACEMENT = (
    *(
        LongCheck(
            f"without replacement: {KINDS[single_root]}, {method}, {name}, ordered pairs",
            _DISTINCT,
            name,
            Ordered(single_root, method, 2),
            240_000,
        )
        for name in _PAIRS_ON
        for single_root in (False, True)
        for method in ("rejection", "partition", None)
        if _can(name, single_root)
    ),
    *(
        LongCheck(
            f"without replacement: {KINDS[single_root]}, {name}, ordered triples, "
            f"switch after {switch_after}",
            _DISTINCT,
            name,
            Ordered(single_root, "rejection", 3, switch_after),
            240_000,
        )
        for name in ("skewed_3", "shifted_columns_3#1")
        for single_root in (False, True)
        for switch_after in range(4)
    ),
    *(
        LongCheck(
            f"without replacement: {KINDS[single_root]}, {method}, skewed_3, {what}",
            _DISTINCT,
            "skewed_3",
            experiment,
            240_000,
        )
        for single_root in (False, True)
        for method in ("rejection", "partition", None)
        for what, experiment in (
            ("inclusion among five", Inclusion(single_root, method, 5)),
            ("perturbed log-probabilities", Perturbed(single_root, method)),
        )
    ),
)

ACCURACY = (
    *(
        LongCheck(
            f"accuracy: {KINDS[single_root]}, {name}",
            "accuracy on the large graphs",
            name,  # of a graph, as in LARGE_GRAPHS: the same name is the same graph
            Accurate(single_root, has_pairs=True),
            0,
        )
        for name in LARGE
        for single_root in (False, True)
    ),
    *(
        LongCheck(
            f"accuracy: {KINDS[single_root]}, {family}",
            "accuracy on extreme scores",
            f"{family}#1",
            Accurate(single_root, with_mpmath=True),
            0,
        )
        for family in EXTREME
        for single_root in (False, True)
    ),
)

ANY_SCORES = tuple(
    LongCheck(
        f"any scores: {KINDS[single_root]}, {family}",
        "any finite scores",
        "one_word_1",  # makes its own graphs
        AnyScores(single_root, family),
        640,
    )
    for family in SCORES
    for single_root in (False, True)
)

BEST_TREES = (
    *(
        LongCheck(
            f"best trees: {KINDS[single_root]}, {family}, {what}",
            "best trees",
            "one_word_1",  # makes its own graphs
            experiment(single_root, family),
            num_graphs,
        )
        for family in FAMILIES
        for single_root in (False, True)
        for what, experiment, num_graphs in (
            ("whole order", WholeOrder, 60),
            ("with and without doubles", Certificate, 12_000),
        )
    ),
    *(
        LongCheck(
            f"best trees: {KINDS[single_root]}, {name}, none missing",
            "best trees",
            name,
            NoneMissing(single_root),
            500,
        )
        for name in LARGE
        for single_root in (False, True)
    ),
)

HARNESS = tuple(
    LongCheck(
        f"{'twin accepted' if is_twin else 'mutant rejected'}: {mutant.name}",
        "sound twins of the mutants" if is_twin else "mutants",
        "one_word_1",
        Planted(mutant.name, is_twin),
        1,
        is_mutant=not is_twin,
    )
    for mutant in MUTANTS
    for is_twin in (False, True)
)

SUITE: tuple[LongCheck, ...] = (
    *FULL_LAWS,
    *LARGE_GRAPHS,
    *INDEPENDENCE,
    *WITHOUT_REPLACEMENT,
    *ACCURACY,
    *ANY_SCORES,
    *BEST_TREES,
    *HARNESS,
)
"""Every check of the long suite."""
