"""The facade for projective trees: those without crossing arcs."""

from __future__ import annotations

from arborand.arguments import explain_arguments
from arborand.distributions import DependencyTrees, SpanningTrees, TreeDistribution
from arborand.kinds import TreeKind


@explain_arguments
class ProjectiveSpanningTrees(TreeDistribution):
    r"""The distribution over the projective spanning trees of a weighted graph.

    :math:`P(t) = \prod_{i \to j \in t} w_{ij} / Z` over the spanning trees without crossing arcs.
    The nodes stand in a line, the root first, and the arcs are drawn above them.

    Parameters
    ----------
    log_weights, lengths, orientation
        As for :class:`SpanningTrees`.

    Raises
    ------
    InvalidWeightsError
        If the array does not describe a graph: wrong shape, NaN, +inf, or lengths that do not fit.
    NoTreeError
        If there is no such tree: the root cannot reach some nodes, or every tree has crossing arcs.

    Notes
    -----
    Offers everything that :class:`SpanningTrees` does, except what belongs to random walks
    (`mean_hitting_time`, `expected_walk_steps`, `method=`) and `joint_marginals`.  The best trees
    take as long as those of :class:`ProjectiveDependencyTrees`.

    Examples
    --------
    >>> d = ProjectiveSpanningTrees([[0, 0, 0, 0]] * 4)
    >>> d
    ProjectiveSpanningTrees(3 words, 9 arcs)
    >>> len(d.best_trees(99)), float(d.log_prob([-1, 3, 0, 2]))  # 1 <- 3 and 0 -> 2 cross
    (12, -inf)
    """

    _kind = TreeKind.PROJECTIVE_SPANNING


@explain_arguments
class ProjectiveDependencyTrees(TreeDistribution):
    r"""The distribution over the projective dependency trees of a sentence.

    :math:`P(t) = \prod_{i \to j \in t} w_{ij} / Z` over the spanning trees without crossing arcs in
    which exactly one arc leaves the root.

    Parameters
    ----------
    log_weights, lengths, orientation
        As for :class:`DependencyTrees`.

    Raises
    ------
    InvalidWeightsError
        If the array does not describe a graph: wrong shape, NaN, +inf, or lengths that do not fit.
    NoTreeError
        If there is no such tree: the root cannot reach some nodes, or every tree has crossing arcs.

    Notes
    -----
    Offers everything that :class:`DependencyTrees` does, except what belongs to random walks
    (`mean_hitting_time`, `method=`) and `joint_marginals`.

    `best_tree` takes :math:`O(n^2)` time if the best of all trees is projective.  Otherwise it
    takes :math:`O(n^3)`, unless trees are tied, or so close that rounding could decide.  Then, and
    always in `best_trees` and `iterate_best_trees`, sums are integers of more than
    :math:`n \log_2 n` bits: :math:`O(n^4 \log n)` time and :math:`O(n^3 \log n)` memory, and
    :math:`O(n^3 \log n)` time for each further tree.  Above about 1,480 words, or fewer if the
    scores range widely, these integers would be too long, and a ``MemoryError`` is raised.
    `minimum_risk_tree` takes as long as `best_tree`, after :math:`O(n^3)` for the marginals.

    Examples
    --------
    >>> d = ProjectiveDependencyTrees([[0, 0, 0, 0]] * 4)
    >>> d.arc_marginals()[0].round(4).tolist()  # the middle word is least often the root's
    [0.0, 0.4286, 0.1429, 0.4286]
    """

    _kind = TreeKind.PROJECTIVE_DEPENDENCY


# The class of each kind of tree.
CLASSES: dict[TreeKind, type[TreeDistribution]] = {
    maker._kind: maker
    for maker in (
        SpanningTrees,
        DependencyTrees,
        ProjectiveSpanningTrees,
        ProjectiveDependencyTrees,
    )
}
