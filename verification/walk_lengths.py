r"""How long Wilson's walks take: exact laws, and the library's counts judged against them.

Let P be the walk among the words that are not in the tree at the start, killed where it enters the
tree. All the walks together erase some loops and leave the m arcs of a tree, one for each of those
words. The loops are independent of the tree, and the weights of all the collections of loops with a
factor z for each step sum to :math:`1 / \det(I - zP)` (the loop expansion of a determinant). So the
number of steps S has the generating function

.. math:: E[z^S] = z^m \det(I - P) / \det(I - zP),

whatever the order of the words. Two derivatives at z = 1 give

.. math:: E[S] = \mathrm{tr}\,(I - P)^{-1}, \qquad \mathrm{Var}[S] = \mathrm{tr}\,P(I - P)^{-2}.

Spanning trees start with the root alone. For dependency trees ``wilson`` starts with the root's
child c. Let pi be the stationary law of the walk among all words, and h(i, j) the mean number of
steps from i to j. Entry j of that trace is the mean number of visits to j, from j, before c, which
is :math:`\pi_j (h(j, c) + h(c, j))`. The Markov chain tree theorem gives c the law :math:`\pi_c
w_{\rho c} / s_c`, normalised, where :math:`s_c` sums the weights of all words as heads of c. If
every word has the same share of root weight, that is pi itself, and

.. math:: E[S] = \sum_{jc} \pi_c \pi_j (h(j, c) + h(c, j)) = 2 H

exactly, H being the paper's mean hitting time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from verification.goodness_of_fit import BinomialFit, Cell, CountFit, binomial_test
from verification.graphs import Graph, graph
from verification.laws import FloatArray, arc_marginals, law_of
from verification.library import ENDLESS, draw
from verification.trials import Trial


@dataclass(frozen=True)
class StepLaw:
    """The law of the number of steps for one tree: a mixture over the root's child.

    Attributes
    ----------
    walks : list of (float, ndarray)
        A probability, and the walk P that is then taken.
    """

    walks: list[tuple[float, FloatArray]]

    @property
    def mean(self) -> float:
        """The expected number of steps."""
        return sum(chance * float(np.trace(_visits(walk))) for chance, walk in self.walks)

    @property
    def variance(self) -> float:
        """The variance of the number of steps."""
        second_moment = sum(
            chance * (np.trace(walk @ _visits(walk) @ _visits(walk)) + np.trace(_visits(walk)) ** 2)
            for chance, walk in self.walks
        )
        return float(second_moment - self.mean**2)

    def chances(self, num_terms: int) -> FloatArray:
        """Give the probabilities of 0, 1, 2, .. steps."""
        chances = np.zeros(num_terms)
        for chance, walk in self.walks:
            num_arcs = len(walk)
            chances[num_arcs:] += chance * _loop_law(walk, num_terms - num_arcs)
        return chances

    def chance_of_more_than(self, num_steps: int) -> float:
        """Sum the probabilities of all larger numbers of steps."""
        return 1.0 - float(self.chances(num_steps + 1).sum())


def step_law(target: Graph, *, single_root: bool) -> StepLaw:
    """Find out how many steps the method ``wilson`` takes.

    Parameters
    ----------
    target : Graph
        A graph whose walks end.
    single_root : bool
        Whether dependency trees are drawn.

    Returns
    -------
    StepLaw
        The law, from the list of all trees.
    """
    scores = target.log_weights[:, 1:].T  # from word to head
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    if not single_root:
        return StepLaw([(1.0, (weights / weights.sum(axis=1, keepdims=True))[:, 1:])])
    among_words = weights[:, 1:]
    totals = among_words.sum(axis=1, keepdims=True)
    # A word without a head among the words is the root's child, and takes no steps.
    transitions = among_words / np.where(totals > 0, totals, 1.0)
    walks = []
    for child, chance in enumerate(arc_marginals(law_of(target, single_root=True))[0, 1:]):
        others = [word for word in range(target.num_words) if word != child]
        if chance > 0:
            walks.append((float(chance), transitions[np.ix_(others, others)]))
    return StepLaw(walks)


def _visits(walk: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.inv(np.eye(len(walk)) - walk))


def _loop_law(walk: FloatArray, num_terms: int) -> FloatArray:
    """Probabilities that 0, 1, 2, .. steps are erased: the series of det(I - P) / det(I - zP)."""
    # det(zI - P) by falling powers is det(I - zP) by rising ones.
    determinant = np.atleast_1d(np.poly(np.linalg.eigvals(walk))).real
    series = np.zeros(max(num_terms, 0))
    for term in range(len(series)):
        known = min(term, len(determinant) - 1)
        earlier = series[term - known : term][::-1]
        series[term] = (term == 0) - determinant[1 : known + 1] @ earlier
    return np.asarray(series * determinant.sum())


# ---- the library's counts ----


def judge_total(total: int, num_draws: int, mean: float, variance: float) -> CountFit:
    """Test a sum of independent counts by the normal law.

    Parameters
    ----------
    total : int
        The sum.
    num_draws : int
        How many counts it has.
    mean, variance : float
        Of one count.

    Returns
    -------
    CountFit
        The p-value is of both tails. For N counts of skewness g it is off by a factor of about
        exp(g z^3 / (6 sqrt N)) at z standard deviations: numbers of steps have g below 4, so that
        with N = 1e6 and z = 6 it is right within 15 %.
    """
    deviation = (total - num_draws * mean) / np.sqrt(num_draws * variance)
    return CountFit(
        float(2 * stats.norm.sf(abs(deviation))),
        Cell(f"steps of {num_draws} trees", total, num_draws * mean),
    )


def steps_trial(
    graph_name: str,
    *,
    single_root: bool,
    num_draws: int,
    predict: Callable[[FloatArray], float],
) -> Trial:
    """Prepare to judge what the library says about the mean number of steps, by counting them.

    Parameters
    ----------
    graph_name : str
        A graph of the catalogue whose walks end.
    single_root : bool
        Whether dependency trees are drawn.
    num_draws : int
        The number of trees.
    predict : callable
        From log-weights to the mean number of steps.

    Returns
    -------
    callable
        From a seed to a verdict.
    """
    target = graph(graph_name)

    def run(seed: int) -> CountFit:
        _, counts = draw(
            target.log_weights,
            num_draws,
            seed,
            single_root=single_root,
            method="wilson",
            step_budget=ENDLESS,
        )
        law = step_law(target, single_root=single_root)
        return judge_total(counts.steps, num_draws, predict(target.log_weights), law.variance)

    return run


def fallback_trial(
    graph_name: str, *, single_root: bool, num_draws: int, step_budget: int
) -> Trial:
    """Prepare to judge how often walks spend their budget.

    Parameters
    ----------
    graph_name : str
        A graph of the catalogue whose walks end.
    single_root : bool
        Whether dependency trees are drawn.
    num_draws : int
        The number of trees.
    step_budget : int
        The budget.

    Returns
    -------
    callable
        From a seed to a verdict.
    """
    target = graph(graph_name)

    def run(seed: int) -> BinomialFit:
        _, counts = draw(
            target.log_weights,
            num_draws,
            seed,
            single_root=single_root,
            method="wilson",
            step_budget=step_budget,
        )
        chance = step_law(target, single_root=single_root).chance_of_more_than(step_budget)
        outcome = f"walks of more than {step_budget} steps"
        return binomial_test(counts.ancestral, num_draws, chance, outcome=outcome)

    return run


def acceptance_trial(graph_name: str, *, num_draws: int) -> Trial:
    """Prepare to judge how many walks ``wilson_reject`` takes.

    A walk is accepted if its spanning tree has a single arc out of the root.

    Parameters
    ----------
    graph_name : str
        A graph of the catalogue whose walks end.
    num_draws : int
        The number of trees.

    Returns
    -------
    callable
        From a seed to a verdict.
    """
    target = graph(graph_name)

    def run(seed: int) -> CountFit:
        _, counts = draw(
            target.log_weights,
            num_draws,
            seed,
            single_root=True,
            method="wilson_reject",
            step_budget=ENDLESS,
        )
        law = law_of(target, single_root=False)
        is_accepted = np.count_nonzero(law.trees == 0, axis=1) == 1
        chance = float(law.probabilities[is_accepted].sum())
        rejected = counts.walks - num_draws
        at_most = float(stats.nbinom.cdf(rejected, num_draws, chance))
        at_least = float(stats.nbinom.sf(rejected - 1, num_draws, chance))
        return CountFit(
            min(1.0, 2 * min(at_most, at_least)),
            Cell(f"walks for {num_draws} trees", counts.walks, num_draws / chance),
        )

    return run
