"""Deliberately wrong samplers, which the harness must reject, next to their sound twins.

A harness that has never rejected anything has shown nothing. Each mutant carries one fault that
was seen in real software or is easily made, and is otherwise the same code as its twin: the twin
has to be accepted on the same graph with the same number of draws, so that it is the fault that
is rejected. One mutant is in the library, under its own name: the paper's biased ``wilson_rc``.
The first ones are small samplers of their own (``faults``); the last are slips in the twin of the
compiled core (``twin_faults``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from arborand.paper import reference
from verification.faults import (
    always_the_same,
    by_alias_tables,
    child_then_walk,
    clipped,
    each_twice,
    floored,
    leaky,
    listed,
    listed_without_replacement,
    next_in_line,
    one_word_at_a_time,
    transposed,
    walk,
    with_replacement,
)
from verification.goodness_of_fit import Verdict
from verification.graphs import Graph, graph
from verification.judges import (
    judge_arcs_of,
    judge_consecutive,
    judge_inclusion,
    judge_perturbed,
)
from verification.laws import law_of
from verification.library import ENDLESS
from verification.sharp_checks import sharp_trial
from verification.sparse_checks import graph_trial, judge_edges
from verification.sparse_graphs import HEAVY_ROOT_4, PARALLEL, QUIET_4, SIDE_DOORS_4, TWO_PAIRS_4
from verification.trials import Trial, ordered_trial, repeat_draw, trial
from verification.twin_faults import (
    ForgetsAtTheSwitch,
    KeepsFinishedWalks,
    KeepsMasses,
    PerturbsAfterwards,
    RepeatsLastWalk,
    StartsAgain,
    twin_distinct,
    twin_ordered_sampler,
    twin_sampler,
)
from verification.twin_popping import (
    DeviatesOnce,
    ForgetsTheChild,
    KeepsWhatFollows,
    PoppingSampler,
)
from verification.twin_projective import Chart, ForgetsTheRest, SplitsEvenly
from verification.twin_projective import twin_sampler as projective_twin_sampler
from verification.twin_sparse import (
    CountsArcs,
    CountsJumps,
    ForgetsDetours,
    JumpsOntoThePath,
    JumpsThroughTheRoot,
    ShiftedAliases,
    SparseTwin,
    TakesAnyHead,
    sparse_twin_sampler,
)
from verification.twin_walks import TreeSampler
from verification.twin_without_replacement import DistinctTrees

ALPHA_MUTANT = 1e-12
"""A mutant's p-value must be below this: luck does not explain a rejection.

Nor may luck be needed for one. Where a mutant differs little from its twin, so many trees are drawn
that G is expected to lie at least five of its standard deviations beyond this limit. With n draws
and k degrees of freedom its mean is k + cn and its variance 2k + 4cn, and c is seen in a few runs.
"""


@dataclass(frozen=True)
class Mutant:
    """A fault, and the trial that must uncover it.

    Attributes
    ----------
    name : str
        Unique.
    shows : str
        The bias that the rejection demonstrates.
    trial : callable
        From a seed to a verdict on the faulty sampler.
    twin : callable
        The same for the sampler without the fault.
    """

    name: str
    shows: str
    trial: Trial
    twin: Trial


_dependency_list = partial(listed, single_root=True)
_spanning_list = partial(listed, single_root=False)


def _walks(
    kind: type[TreeSampler],
    graph_name: str,
    *,
    single_root: bool,
    step_budget: int,
    num_draws: int,
) -> Trial:
    made = twin_sampler("wilson", single_root=single_root, step_budget=step_budget, kind=kind)
    return trial(made, graph_name, single_root=single_root, num_draws=num_draws)


def _distinct(kind: type[DistinctTrees]) -> Trial:
    return ordered_trial(
        twin_ordered_sampler(single_root=False, switch_after=1, kind=kind),
        "two_words_2",
        single_root=False,
        num_repeats=1_000,
        length=2,
    )


def _perturbed(seed: int, *, kind: type[DistinctTrees]) -> Verdict:
    target = graph("counter_example_3")
    law = law_of(target, single_root=True)
    draws = twin_distinct(
        target.log_weights, 400, law.num_trees, seed, single_root=True, switch_after=1, kind=kind
    )
    return judge_perturbed(draws.heads, draws.perturbed, law)


def _pops(kind: type[PoppingSampler], target: Graph, *, single_root: bool, num_draws: int) -> Trial:
    made = twin_sampler("wilson", single_root=single_root, kind=partial(kind, pops="always"))
    return sharp_trial(made, target, single_root=single_root, num_draws=num_draws)


def _sparse(
    kind: type[SparseTwin], target: Graph, *, steps: int, popped: int, num_draws: int
) -> Trial:
    made = sparse_twin_sampler(steps=steps, popped=popped, kind=kind)
    return graph_trial(made, target, num_draws=num_draws)


def _projective(kind: type[Chart]) -> Trial:
    made = projective_twin_sampler(kind, single_root=False)
    return trial(made, "skewed_4", single_root=False, projective=True, num_draws=5_000)


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "root drawn by weight",
        "the child of the root needs its marginal, which counts the trees behind it",
        trial(
            partial(child_then_walk, child_by="weight"),
            "lopsided_root_4",
            single_root=True,
            num_draws=20_000,
        ),
        trial(child_then_walk, "lopsided_root_4", single_root=True, num_draws=20_000),
    ),
    Mutant(
        "wilson_rc as published",
        "the paper's own counter-example: 1/2 and 1/2 instead of 2/3 and 1/3",
        trial(
            repeat_draw(reference.wilson_rc), "counter_example_3", single_root=True, num_draws=3_000
        ),
        trial(
            repeat_draw(reference.wilson_root_marginal),
            "counter_example_3",
            single_root=True,
            num_draws=3_000,
        ),
    ),
    Mutant(
        "fallback forgets the child",
        "how often a walk runs out of steps depends on the child, so the tree that replaces it "
        "must have that child",
        trial(
            partial(child_then_walk, max_steps=6, keeps_child=False),
            "lopsided_root_4",
            single_root=True,
            num_draws=40_000,
        ),
        trial(
            partial(child_then_walk, max_steps=6),
            "lopsided_root_4",
            single_root=True,
            num_draws=40_000,
        ),
    ),
    Mutant(
        "probabilities floored",
        "a floor of 1e-4 makes trees that come once in 1e8 draws come once in a thousand; seen by "
        "the exact test of the rare outcomes",
        trial(floored, "near_deterministic_4", single_root=False, num_draws=200_000),
        trial(_spanning_list, "near_deterministic_4", single_root=False, num_draws=200_000),
    ),
    Mutant(
        "scores clipped",
        "at -10 all small root weights become one, and their ratios are lost",
        trial(clipped, "tiny_roots_3", single_root=True, num_draws=20_000),
        trial(_dependency_list, "tiny_roots_3", single_root=True, num_draws=20_000),
    ),
    Mutant(
        "first exit kept",
        "a walk that does not overwrite its loops leaves cycles",
        trial(
            partial(walk, loops="keep first exit"),
            "skewed_4",
            single_root=False,
            num_draws=20_000,
        ),
        trial(walk, "skewed_4", single_root=False, num_draws=20_000),
    ),
    Mutant(
        "loops avoided",
        "a walk that never closes a loop always returns trees, of another law than one that "
        "erases its loops",
        trial(partial(walk, loops="avoid"), "skewed_4", single_root=False, num_draws=20_000),
        trial(walk, "skewed_4", single_root=False, num_draws=20_000),
    ),
    Mutant(
        "alias table off by one",
        "each slot with its neighbour's threshold: all arcs exist, the chances are wrong",
        trial(
            partial(walk, drawer=partial(by_alias_tables, offset=1)),
            "skewed_3",
            single_root=False,
            num_draws=20_000,
        ),
        trial(
            partial(walk, drawer=by_alias_tables),
            "skewed_3",
            single_root=False,
            num_draws=20_000,
        ),
    ),
    Mutant(
        "heads drawn independently",
        "marginals without conditioning close cycles",
        trial(
            partial(one_word_at_a_time, conditions=False),
            "skewed_4",
            single_root=True,
            num_draws=20_000,
        ),
        trial(one_word_at_a_time, "skewed_4", single_root=True, num_draws=20_000),
    ),
    Mutant(
        "heads drawn independently until a tree",
        "retrying makes trees of them, but not the right ones",
        trial(
            partial(one_word_at_a_time, conditions=False, retries=True),
            "skewed_4",
            single_root=True,
            num_draws=20_000,
        ),
        trial(
            partial(one_word_at_a_time, retries=True),
            "skewed_4",
            single_root=True,
            num_draws=20_000,
        ),
    ),
    Mutant(
        "heads drawn independently until a tree, by arcs",
        "the same bias, visible in the arcs alone",
        trial(
            partial(one_word_at_a_time, conditions=False, retries=True),
            "skewed_4",
            single_root=True,
            num_draws=20_000,
            judge=judge_arcs_of,
        ),
        trial(
            partial(one_word_at_a_time, retries=True),
            "skewed_4",
            single_root=True,
            num_draws=20_000,
            judge=judge_arcs_of,
        ),
    ),
    Mutant(
        "arcs reversed",
        "heads and dependents confused: only an asymmetric graph can tell",
        trial(transposed, "skewed_3", single_root=True, num_draws=20_000),
        trial(_dependency_list, "skewed_3", single_root=True, num_draws=20_000),
    ),
    Mutant(
        "absent arcs drawn",
        "one draw in a thousand from the complete graph: a single one is enough",
        trial(leaky, "sparse_5", single_root=False, num_draws=20_000),
        trial(_spanning_list, "sparse_5", single_root=False, num_draws=20_000),
    ),
    Mutant(
        "one tree for all draws",
        "a random key that was used once",
        trial(always_the_same, "skewed_3", single_root=True, num_draws=1_000),
        trial(_dependency_list, "skewed_3", single_root=True, num_draws=1_000),
    ),
    Mutant(
        "random numbers used twice",
        "every draw comes twice: right one by one, wrong in pairs",
        trial(each_twice, "skewed_3", single_root=True, num_draws=20_000, judge=judge_consecutive),
        trial(
            _dependency_list,
            "skewed_3",
            single_root=True,
            num_draws=20_000,
            judge=judge_consecutive,
        ),
    ),
    Mutant(
        "repeats without replacement",
        "draws with replacement sold as different ones",
        ordered_trial(with_replacement, "skewed_3", single_root=True, num_repeats=20_000, length=2),
        ordered_trial(
            listed_without_replacement,
            "skewed_3",
            single_root=True,
            num_repeats=20_000,
            length=2,
        ),
    ),
    Mutant(
        "most probable first",
        "the right trees, sorted: the order of draws has a law too",
        ordered_trial(
            partial(listed_without_replacement, order="most probable first"),
            "skewed_3",
            single_root=True,
            num_repeats=20_000,
            length=2,
        ),
        ordered_trial(
            listed_without_replacement,
            "skewed_3",
            single_root=True,
            num_repeats=20_000,
            length=2,
        ),
    ),
    Mutant(
        "mass of drawn trees given to their neighbour",
        "a repeat moves on to the next tree instead of renormalising",
        ordered_trial(next_in_line, "skewed_3", single_root=True, num_repeats=20_000, length=2),
        ordered_trial(
            listed_without_replacement,
            "skewed_3",
            single_root=True,
            num_repeats=20_000,
            length=2,
        ),
    ),
    Mutant(
        "mass of drawn trees given to their neighbour, by inclusion",
        "the same bias in draws of four trees, whatever their order",
        ordered_trial(
            next_in_line,
            "skewed_3",
            single_root=True,
            num_repeats=20_000,
            length=4,
            judge=judge_inclusion,
        ),
        ordered_trial(
            listed_without_replacement,
            "skewed_3",
            single_root=True,
            num_repeats=20_000,
            length=4,
            judge=judge_inclusion,
        ),
    ),
    Mutant(
        "spent walk keeps its finished part",
        "which walks are finished when the budget is spent depends on what they built: the tree "
        "that replaces them must not keep it",
        _walks(KeepsFinishedWalks, "skewed_3", single_root=False, step_budget=2, num_draws=4_000),
        _walks(TreeSampler, "skewed_3", single_root=False, step_budget=2, num_draws=4_000),
    ),
    Mutant(
        "spent walk started again",
        "children of the root from which walks are long come too seldom",
        _walks(StartsAgain, "lopsided_root_4", single_root=True, step_budget=5, num_draws=4_000),
        _walks(TreeSampler, "lopsided_root_4", single_root=True, step_budget=5, num_draws=4_000),
    ),
    Mutant(
        "last walk repeated instead of all",
        "a tree with a second root arc must be thrown away as a whole",
        trial(
            twin_sampler("wilson_reject", single_root=True, kind=RepeatsLastWalk),
            "skewed_3",
            single_root=True,
            num_draws=4_000,
        ),
        trial(
            twin_sampler("wilson_reject", single_root=True),
            "skewed_3",
            single_root=True,
            num_draws=4_000,
        ),
    ),
    Mutant(
        "drawn trees forgotten at the switch",
        "the partition has to begin without the trees that rejection found",
        _distinct(ForgetsAtTheSwitch),
        _distinct(DistinctTrees),
    ),
    Mutant(
        "subspaces keep the mass of drawn trees",
        "all trees are different, but come from where others were drawn before",
        _distinct(KeepsMasses),
        _distinct(DistinctTrees),
    ),
    Mutant(
        "log-probabilities perturbed afterwards, by distance",
        "each tree's noise has the right law, but not given the order of the trees",
        partial(_perturbed, kind=PerturbsAfterwards),
        partial(_perturbed, kind=DistinctTrees),
    ),
    Mutant(
        "one deviation at most",
        "all nodes step independently: where one takes another than its heaviest step, others may "
        "do so too",
        _pops(DeviatesOnce, QUIET_4, single_root=False, num_draws=4_000),
        _pops(PoppingSampler, QUIET_4, single_root=False, num_draws=4_000),
    ),
    Mutant(
        "any child breaks all cycles",
        "heaviest steps that close a cycle are not a tree because some word hangs from the root",
        _pops(ForgetsTheChild, TWO_PAIRS_4, single_root=True, num_draws=1_000),
        _pops(PoppingSampler, TWO_PAIRS_4, single_root=True, num_draws=1_000),
    ),
    Mutant(
        "popped cycles keep what follows",
        "that a cycle is gone tells nothing about the steps after the first that left it",
        _pops(KeepsWhatFollows, TWO_PAIRS_4, single_root=False, num_draws=10_000),
        _pops(PoppingSampler, TWO_PAIRS_4, single_root=False, num_draws=10_000),
    ),
    Mutant(
        "jumps onto the path",
        "popping the returns of a partner that is on the path keeps heads that the loop through it "
        "would have erased",
        _sparse(JumpsOntoThePath, TWO_PAIRS_4, steps=0, popped=ENDLESS, num_draws=70_000),
        _sparse(SparseTwin, TWO_PAIRS_4, steps=0, popped=ENDLESS, num_draws=70_000),
    ),
    Mutant(
        "jumps through the root",
        "a walk that reaches the root is at its end",
        _sparse(JumpsThroughTheRoot, HEAVY_ROOT_4, steps=0, popped=ENDLESS, num_draws=5_000),
        _sparse(SparseTwin, HEAVY_ROOT_4, steps=0, popped=ENDLESS, num_draws=5_000),
    ),
    Mutant(
        "a jump counted as one step",
        "the number of steps depends on the tree: trees with pairs in them are finished more often",
        _sparse(CountsJumps, SIDE_DOORS_4, steps=0, popped=5, num_draws=20_000),
        _sparse(SparseTwin, SIDE_DOORS_4, steps=0, popped=5, num_draws=20_000),
    ),
    Mutant(
        "a jump counted as two arcs",
        "whether the loop of a pair is jumped over or walked depends on where the walk came from, "
        "and so on the tree: the arcs walked are not a function of the popped cycles",
        _sparse(CountsArcs, SIDE_DOORS_4, steps=0, popped=6, num_draws=35_000),
        _sparse(SparseTwin, SIDE_DOORS_4, steps=0, popped=6, num_draws=35_000),
    ),
    Mutant(
        "put back under any neighbour",
        "a node must not hang on what hangs on it",
        _sparse(TakesAnyHead, graph("skewed_4"), steps=0, popped=0, num_draws=5_000),
        _sparse(SparseTwin, graph("skewed_4"), steps=0, popped=0, num_draws=5_000),
    ),
    Mutant(
        "detours forgotten",
        "an arc between nodes that are joined may still stand for a way through others",
        _sparse(ForgetsDetours, graph("skewed_4"), steps=0, popped=0, num_draws=5_000),
        _sparse(SparseTwin, graph("skewed_4"), steps=0, popped=0, num_draws=5_000),
    ),
    Mutant(
        "sparse alias table off by one",
        "each slot with its neighbour's alias",
        _sparse(ShiftedAliases, graph("skewed_3"), steps=ENDLESS, popped=0, num_draws=5_000),
        _sparse(SparseTwin, graph("skewed_3"), steps=ENDLESS, popped=0, num_draws=5_000),
    ),
    Mutant(
        "projective trees split evenly",
        "what lies between the ends of an arc is split in proportion to what may hang on each side",
        _projective(SplitsEvenly),
        _projective(Chart),
    ),
    Mutant(
        "projective trees without the rest",
        "the farthest dependent counts with all that may hang from it on its far side",
        _projective(ForgetsTheRest),
        _projective(Chart),
    ),
    Mutant(
        "parallel edges merged",
        "one of several edges between two nodes, with its own weight alone",
        partial(judge_edges, graph=PARALLEL, drop_parallel=True),
        partial(judge_edges, graph=PARALLEL),
    ),
)
"""Every mutant. The name is also its seed; see :class:`verification.ledger.Check`."""
