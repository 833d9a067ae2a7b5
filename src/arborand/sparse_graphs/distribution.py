"""The facade of sparse graphs: how they are made, their probabilities, and draws from them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from arborand.arguments import (
    check_count,
    check_index,
    check_integer,
    check_size,
    check_work,
    check_workers,
    explain_arguments,
)
from arborand.distributions import SpanningTrees, check_single_graph
from arborand.errors import InvalidTreeError, InvalidWeightsError, PrecisionError
from arborand.randomness import Seed, stream_key
from arborand.sparse_graphs.edges import (
    Edges,
    check_edge_weights,
    check_endpoints,
    check_killing,
)
from arborand.sparse_graphs.rooted_graph import MAX_WORK, RootedGraph
from arborand.sparse_graphs.sources import read_networkx, read_scipy

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

# The largest graph for which a message proposes a matrix of all pairs of nodes: 72 MB.
_MOST_NODES_OF_A_MATRIX = 3000
# Those of the positive numbers of float64.
_LEAST_LOGARITHM = math.log(np.finfo(np.float64).smallest_subnormal)
_LARGEST_LOGARITHM = math.log(np.finfo(np.float64).max)


@explain_arguments
class SparseSpanningTrees:
    r"""The distribution over the spanning trees, or forests, of a large sparse graph.

    :math:`P(t) \propto \prod_{e \in t} w_e` over all spanning trees of an undirected graph, or over
    those of a directed graph that lead away from a root.  Make one with `from_edges`, `from_scipy`,
    `from_networkx` or `from_dense`.

    Notes
    -----
    Memory is proportional to the number of edges: 8 bytes for each direction of an edge, 32 if
    weights differ, in addition to a copy of the given arrays (8 to 24 bytes per edge).  Parallel
    edges are kept apart.  Self-loops are in no tree and are dropped.

    Examples
    --------
    The four spanning trees of a square, each with the same probability:

    >>> trees = SparseSpanningTrees.from_edges([0, 1, 2, 3], [1, 2, 3, 0], directed=False)
    >>> trees
    SparseSpanningTrees(4 nodes, 4 edges, undirected)
    >>> float(np.exp(trees.log_partition()).round(6))
    4.0
    >>> trees.sample(2, rng=0).shape
    (2, 4)
    """

    _graph: RootedGraph
    _source: Any  # the NetworkX graph it was made from
    _keys: list[tuple[Any, ...]] | None  # its edges

    def __init__(self, *arguments: Any, **options: Any) -> None:
        del arguments, options
        raise TypeError(
            "make one with from_edges, from_scipy, from_networkx or from_dense; a matrix of scores "
            "goes to SpanningTrees"
        )

    # ---- constructors

    @classmethod
    def from_edges(
        cls,
        heads: ArrayLike,
        dependents: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        log_weights: ArrayLike | None = None,
        num_nodes: int | None = None,
        root: int | None = None,
        directed: bool = True,
        killing: ArrayLike | None = None,
        log_killing: ArrayLike | None = None,
    ) -> Self:
        """Make a distribution from arrays of edges between nodes 0 to num_nodes - 1.

        Parameters
        ----------
        heads, dependents : array_like of int, shape (num_edges,)
            The ends of each edge.  A directed edge leads from its head to its dependent, away from
            the root.  For an undirected edge, the order does not matter.
        weights, log_weights : array_like, shape (num_edges,), optional
            The weight of each edge, not negative, or its logarithm; by default all are 1.
        num_nodes : int, optional
            By default, one more than the largest node that has an edge.
        root : int, optional
            The root of all trees.  Required for a directed graph.
        directed : bool
            Whether edges have a direction.
        killing, log_killing : array_like, shape (num_nodes,), or a number, optional
            Draw spanning *forests*: a node may be the root of its own tree, with this weight, as if
            it had an arc from a root outside the graph.

        Raises
        ------
        InvalidWeightsError
            If the arrays do not describe a graph.
        NoTreeError
            If there is no spanning tree; its `unreachable` lists the nodes that cannot be reached.
        TypeError
            If an array has the wrong type, or two arguments that exclude each other are given:
            weights and their logarithms, or `root` and `killing`.

        Examples
        --------
        >>> trees = SparseSpanningTrees.from_edges([0, 0, 1], [1, 2, 2], [1.0, 2.0, 3.0], root=0)
        >>> trees.sample(rng=0).tolist()
        [-1, 0, 0]
        """
        ends = check_endpoints(heads, dependents, num_nodes)
        values = check_edge_weights(
            weights,
            log_weights,
            len(ends[0]),
            lambda e: f"the edge {ends[0][e]} -> {ends[1][e]}",
        )
        nodes = range(ends[2])
        edges = Edges(
            ends[0],
            ends[1],
            *values,
            nodes,
            is_undirected=not directed,
            goes_both_ways=not directed,
            log_killing=check_killing(killing, log_killing, nodes),
        )
        return cls._of(edges, root)

    @classmethod
    def from_scipy(
        cls,
        matrix: Any,
        *,
        root: int | None = None,
        directed: bool = True,
        killing: ArrayLike | None = None,
    ) -> Self:
        """Make a distribution from a sparse matrix of weights.

        Parameters
        ----------
        matrix : scipy.sparse array or matrix of any format, shape (num_nodes, num_nodes)
            ``[head, dependent]``, not negative.  A stored 0 does not count as an edge.  Entries
            that a COO matrix stores twice are parallel edges.
        root : int, optional
            Required for a directed graph.
        directed : bool
            If False, the matrix must be symmetric.
        killing : array_like, shape (num_nodes,), or a number, optional
            As in `from_edges`.

        Notes
        -----
        Edges are numbered as in ``matrix.tocoo()``.  For logarithms of weights use `from_edges`,
        because here a stored 0 would mean a weight of 1.

        Examples
        --------
        >>> from scipy.sparse import csr_array
        >>> square = csr_array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
        >>> SparseSpanningTrees.from_scipy(square, directed=False)
        SparseSpanningTrees(4 nodes, 8 entries, undirected)
        """
        edges = read_scipy(matrix, directed=directed, killing=killing)
        return cls._of(edges, root)

    @classmethod
    def from_networkx(
        cls,
        graph: Any,
        *,
        weight: str | None = None,
        log_weight: str | None = None,
        root: Hashable | None = None,
        killing: str | Mapping[Hashable, float] | float | None = None,
    ) -> Self:
        """Make a distribution from a NetworkX graph of any kind.

        Parameters
        ----------
        graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
            An edge (u, v) of a directed graph leads from the head u to the dependent v.
        weight, log_weight : str, optional
            The edge attribute that holds the weights, or their logarithms; by default all are 1.
        root : node, optional
            Required for a directed graph.
        killing : str, mapping from nodes to weights, or a number, optional
            As in `from_edges`; a string names a node attribute.

        Notes
        -----
        Nodes are numbered as in ``list(graph)``, edges as in ``graph.edges``.

        Examples
        --------
        >>> import networkx as nx
        >>> trees = SparseSpanningTrees.from_networkx(nx.petersen_graph())
        >>> int(np.exp(trees.log_partition()).round())
        2000
        """
        edges, keys = read_networkx(graph, weight, log_weight, killing)
        index = None
        if root is not None:
            if root not in graph:
                raise InvalidWeightsError(f"root is {root!r}, which is not a node of the graph")
            index = edges.nodes.index(root)
        return cls._of(edges, index, graph, keys)

    @classmethod
    def from_dense(cls, trees: SpanningTrees) -> Self:
        """Convert a distribution over the trees of a dense graph; node 0 stays the root.

        Examples
        --------
        >>> dense = SpanningTrees.from_weights([[0, 1, 2], [0, 0, 3], [0, 4, 0]])
        >>> SparseSpanningTrees.from_dense(dense)
        SparseSpanningTrees(3 nodes, 4 edges, directed, root 0)
        """
        if not isinstance(trees, SpanningTrees):
            raise TypeError(f"trees must be SpanningTrees, not {type(trees).__name__}")
        check_single_graph(trees, "from_dense")
        size = int(trees.lengths) + 1
        scores = trees.log_weights[:size, :size]
        heads, dependents = np.nonzero(scores > -np.inf)
        return cls.from_edges(
            heads, dependents, log_weights=scores[heads, dependents], num_nodes=size, root=0
        )

    @classmethod
    def _of(
        cls,
        edges: Edges,
        root: int | None,
        source: Any = None,
        keys: list[tuple[Any, ...]] | None = None,
    ) -> Self:
        self = cls.__new__(cls)
        self._graph = RootedGraph(edges, None if root is None else check_integer(root, "root"))
        if keys is not None and len(keys) != len(edges.heads):  # from somebody else's pickle
            raise InvalidWeightsError(f"{len(keys)} keys name {len(edges.heads)} edges")
        self._source, self._keys = source, keys
        return self

    # ---- data

    @property
    def nodes(self) -> Sequence[Hashable]:
        """The label of each node, in the order of the entries of heads."""
        return self._graph.edges.nodes

    @property
    def num_nodes(self) -> int:
        """The number of nodes."""
        return len(self._graph.edges.nodes)

    @property
    def num_edges(self) -> int:
        """The number of edges given, including those that were dropped."""
        return len(self._graph.edges.heads)

    @property
    def root(self) -> Hashable | None:
        """The label of the root, or None if none was given."""
        return None if self._graph.root is None else self._graph.edges.nodes[self._graph.root]

    def __repr__(self) -> str:
        edges = self._graph.edges
        noun = "edges" if edges.goes_both_ways or not edges.is_undirected else "entries"
        words = [f"{self.num_nodes} nodes", f"{self.num_edges} {noun}"]
        words.append("undirected" if edges.is_undirected else "directed")
        if self._graph.root is not None:
            words.append(f"root {edges.name(self._graph.root)}")
        if edges.log_killing is not None:
            words.append("forests")
        return f"{type(self).__name__}({', '.join(words)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return self._of, (self._graph.edges, self._graph.root, self._source, self._keys)

    def __getattr__(self, name: str) -> Any:
        kind = type(self).__name__
        if name.startswith("_") or not hasattr(SpanningTrees, name):
            raise AttributeError(f"{kind} has no attribute {name!r}", name=name, obj=self)
        instead = "trees, nodes = to_dense() makes SpanningTrees, which have it"
        if self.num_nodes > _MOST_NODES_OF_A_MATRIX:
            instead = (
                "SpanningTrees have it (to_dense), but their matrix of all pairs of "
                f"{self.num_nodes} nodes takes {8 * self.num_nodes**2 / 2**30:.1f} GiB"
            )
        raise AttributeError(f"{kind} has no {name}: {instead}", name=name, obj=self)

    # ---- probabilities and best trees

    def log_partition(self, *, max_work: float = MAX_WORK) -> float:
        r"""Compute log Z, the logarithm of the total weight of all trees.

        Parameters
        ----------
        max_work : float
            The largest number of updates that elimination may take, at about 1e9 per second.

        Raises
        ------
        TooMuchWorkError
            If it would take more.  By default, grids and road networks of a million nodes are
            feasible.  Random graphs of more than about ten thousand nodes are not, because they
            fill in.
        PrecisionError
            If a graph of more than 300 nodes has a log-weight of more than 1e13 or less than
            -1e13, which would leave no digits.  This holds for all methods that eliminate.

        Notes
        -----
        Uses elimination without subtraction, in minimum-degree order.  The error is about 1e-13,
        relative to the larger of 1 and the result, whatever the weights.

        Examples
        --------
        >>> square = SparseSpanningTrees.from_edges([0, 1, 2, 3], [1, 2, 3, 0], directed=False)
        >>> round(square.log_partition(), 6)
        1.386294
        """
        return self._graph.log_partition(check_work(max_work))

    def log_prob(self, heads: ArrayLike, *, max_work: float = MAX_WORK) -> NDArray[np.float64]:
        """Compute the log-probability of trees.

        Parameters
        ----------
        heads : array_like of int, shape (..., num_nodes)
            Trees as `sample` returns them.  Parallel edges count together.  If no root was given,
            the root of an undirected tree may be any node.
        max_work : float
            As in `log_partition`.

        Returns
        -------
        ndarray of float64, shape (...)
            -inf for a tree with an arc that is not in the graph.

        Raises
        ------
        InvalidTreeError
            If heads are not a tree; the message names the node.

        Examples
        --------
        >>> square = SparseSpanningTrees.from_edges([0, 1, 2, 3], [1, 2, 3, 0], directed=False)
        >>> float(np.exp(square.log_prob([-1, 0, 1, 2])).round(6))
        0.25
        """
        array = np.array(heads)  # a copy: another thread may write to the caller's
        if array.dtype.kind not in "iu":
            raise TypeError(f"heads must be integers, but their dtype is {array.dtype}")
        if array.ndim < 1 or array.shape[-1] != self.num_nodes:
            raise InvalidTreeError(
                f"heads has shape {array.shape}: expected (..., {self.num_nodes}), one entry per "
                "node"
            )
        limit = check_work(max_work)
        trees, sums = self._check_trees(array, "heads")
        answer = self._graph.log_probabilities(trees, sums, limit)
        shaped: NDArray[np.float64] = answer.reshape(array.shape[:-1])[()]
        return shaped

    def _check_trees(
        self, heads: NDArray[np.integer[Any]], name: str
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return trees in rows, and the log-weights of their arcs, each in two parts."""
        if heads.size and (heads.max() >= self.num_nodes or heads.min() < -1):
            index = np.argwhere((heads >= self.num_nodes) | (heads < -1))[0]
            raise InvalidTreeError(
                f"heads{index.tolist()} is {heads[tuple(index)]}: a head is a node, 0 to "
                f"{self.num_nodes - 1}, or -1 at a root"
            )
        trees = np.ascontiguousarray(heads.reshape(-1, self.num_nodes), dtype=np.int32)
        sums = np.empty((len(trees), 2))
        tree, node, finding = self._graph.core.tree_log_weights(
            trees, -1 if self._graph.root is None else self._graph.root, sums
        )
        if finding:
            raise InvalidTreeError(f"tree {tree} of {name}: {self._not_a_tree(node, finding)}")
        return trees, sums

    def _not_a_tree(self, node: int, finding: int) -> str:
        name = self._graph.edges.name(node)
        if finding == 1:
            return f"node {name} is its own head"
        if finding == 2:
            if self._graph.root is None:
                return f"node {name} has no head (-1), but another node has none either"
            root = self._graph.edges.name(self._graph.root)
            return f"the root, {root}, and no other node must have the entry -1"
        return f"node {name} does not lead to a root, but into a cycle"

    def expected_walk_steps(self, *, max_work: float = MAX_WORK) -> float:
        """Compute the expected number of steps that the walks take to draw one tree.

        Notes
        -----
        Exact, by elimination; takes three times the work of `log_partition`.

        Examples
        --------
        >>> square = SparseSpanningTrees.from_edges([0, 1, 2, 3], [1, 2, 3, 0], directed=False)
        >>> round(square.expected_walk_steps(), 6)
        5.0
        """
        return self._graph.expected_walk_steps(check_work(max_work))

    def root_marginals(self, *, max_work: float = MAX_WORK) -> NDArray[np.float64]:
        """Compute, for each node, the probability that it is a child of the root.

        For forests: the probability that it is the root of its own tree.  The relative error is
        about 1e-13, however small the probability.

        Raises
        ------
        ValueError
            If the graph has neither a root nor killing weights.

        Examples
        --------
        Two nodes have three spanning forests: both on their own, or one of them under the other.

        >>> trees = SparseSpanningTrees.from_edges([0], [1], directed=False, killing=1.0)
        >>> trees.root_marginals().round(6).tolist()
        [0.666667, 0.666667]
        """
        if self._graph.root is None and self._graph.edges.log_killing is None:
            raise ValueError("there is no root: pass root= or killing= when making the graph")
        return self._graph.root_marginals(check_work(max_work))

    def edge_marginals(self, *, max_work: float = MAX_WORK) -> NDArray[np.float64]:
        """Compute the probability that each edge is in the tree.

        For an undirected edge, this is its weight times the effective resistance between its ends.

        Returns
        -------
        ndarray of float64, shape (num_edges,)
            In the order of the input; 0 for self-loops, for edges of weight 0 and for those that
            lead to the root.

        Raises
        ------
        PrecisionError
            If a graph of more than 300 nodes has weights so far apart that some marginal may be off
            by more than 1e-6.

        Notes
        -----
        For up to 300 nodes, a dense matrix is used, and the relative error is about 1e-12 whatever
        the weights.  For more nodes, entries of the inverse Laplacian are used, with twice the work
        of `log_partition`.  These are differences.  Their absolute error is about 1e-15 times the
        number of levels of the elimination, times the expected number of times that a walk takes
        the edge: below 1e-11 for moderate weights.

        For trees, the probabilities sum to the number of nodes minus one; for forests, together
        with `root_marginals`, to the number of nodes.  An edge of a symmetric matrix counts twice
        in that sum, because both of its entries have its probability.

        Examples
        --------
        >>> square = SparseSpanningTrees.from_edges([0, 1, 2, 3], [1, 2, 3, 0], directed=False)
        >>> square.edge_marginals().round(6).tolist()
        [0.75, 0.75, 0.75, 0.75]
        >>> trees = SparseSpanningTrees.from_edges([0, 0, 1], [1, 2, 2], [1.0, 1.0, 3.0], root=0)
        >>> trees.edge_marginals().round(6).tolist()
        [1.0, 0.25, 0.75]
        """
        return self._graph.edge_marginals(check_work(max_work))

    def entropy(self, *, max_work: float = MAX_WORK) -> float:
        """Compute the entropy of the trees, in nats.

        Its exponential is the effective number of trees.  As in `log_prob`, trees that differ only
        in parallel edges count as one.

        Raises
        ------
        PrecisionError
            If a graph of more than 300 nodes has weights so far apart that the entropy may be off
            by more than 1e-6 (relative to the entropy, if it is larger than 1).

        Notes
        -----
        For up to 300 nodes, a dense matrix is used, with a relative error of about 1e-12.  For more
        nodes, the entropy is log Z minus the mean log-weight of a tree, with a relative error of
        about 1e-12 for moderate weights.

        Examples
        --------
        >>> square = SparseSpanningTrees.from_edges([0, 1, 2, 3], [1, 2, 3, 0], directed=False)
        >>> float(np.exp(square.entropy()).round(6))
        4.0
        """
        return self._graph.entropy(check_work(max_work))

    def best_tree(self) -> NDArray[np.int32]:
        r"""Find the most probable tree or forest: the maximum arborescence or spanning tree.

        Returns
        -------
        ndarray of int32, shape (num_nodes,)
            Its heads, as `sample` returns them.

        Notes
        -----
        Trees are compared by the exact sum of their log-weights.  Directed graphs use Edmonds'
        algorithm with mergeable heaps, in :math:`O(m \log n)` time; undirected ones use Kruskal's
        algorithm.  Parallel edges count together, as in `log_prob`.

        If several trees are best, the choice does not depend on the order of the edges.  For up to
        300 nodes it is the tree whose heads come first, with the root before all other nodes.

        Examples
        --------
        >>> trees = SparseSpanningTrees.from_edges(
        ...     [0, 0, 1, 2], [1, 2, 2, 1], [1.0, 2.0, 4.0, 5.0], root=0
        ... )
        >>> trees.best_tree().tolist()
        [-1, 2, 0]
        """
        return self._graph.best_heads()

    # ---- random trees

    def sample(
        self,
        size: int | tuple[int, ...] | None = None,
        *,
        rng: Seed = None,
        workers: int = 1,
        first_draw: int = 0,
        max_steps: int | None = None,
        max_work: float = MAX_WORK,
    ) -> NDArray[np.int32]:
        """Draw trees, each with its exact probability.

        Parameters
        ----------
        size : int, tuple of int or None
            The number of draws; None draws one tree and adds no axis.
        rng : int, numpy.random.Generator, numpy.random.SeedSequence or None
            The source of randomness.
        workers : int
            Threads that share the draws; the trees do not depend on it.
        first_draw : int
            Skip this many draws: the result is the end of a longer sequence of draws.
        max_steps : int, optional
            The number of steps that the walks of one tree may take; by default about 128 per arc.
            Half of them are for the plain walk, the other half for one that jumps over pairs of
            nodes that would trap it.
        max_work : float
            The work that elimination may take if a walk is abandoned; see `log_partition`.

        Returns
        -------
        ndarray of int32, shape ``(*size, num_nodes)``
            ``heads``: the index of the head of each node; -1 for the root, and for all roots of a
            forest.  If no root was given, -1 marks the node where the walks end.

        Raises
        ------
        WalkTooLongError
            If a walk did not end within `max_steps` and elimination would exceed `max_work`.
        PrecisionError
            If a walk did not end within `max_steps`, and elimination would have no digits left,
            because of a log-weight of more than 1e13 or less than -1e13.

        Notes
        -----
        Trees are drawn by loop-erased walks.  The time of a step is mostly spent waiting for
        memory, so several draws are walked side by side.  The same rng gives the same trees; the
        first 10 of 1000 draws are the same as a draw of 10.

        Examples
        --------
        >>> square = SparseSpanningTrees.from_edges([0, 1, 2, 3], [1, 2, 3, 0], directed=False)
        >>> bool((square.sample(100, rng=0)[:10] == square.sample(10, rng=0)).all())
        True
        """
        shape = check_size(size)
        heads, _ = self._graph.draw(
            math.prod(shape),
            key=stream_key(rng),
            workers=check_workers(workers),
            first_draw=check_index(first_draw, "first_draw"),
            max_steps=None if max_steps is None else check_count(max_steps, "max_steps", 0),
            max_work=check_work(max_work),
        )
        return heads.reshape(*shape, self.num_nodes)

    def sample_edges(
        self,
        size: int | tuple[int, ...] | None = None,
        *,
        rng: Seed = None,
        workers: int = 1,
        first_draw: int = 0,
        max_steps: int | None = None,
        max_work: float = MAX_WORK,
    ) -> NDArray[np.int32]:
        """Draw trees as edges: those that `sample` would draw from the same `rng`.

        Returns
        -------
        ndarray of int32, shape ``(*size, num_nodes)``
            For each node, the index of the edge to its head, in the order of the given arrays, of
            ``graph.edges`` (with keys), or of ``matrix.tocoo()``; -1 if it has no head.  One of
            several parallel edges is drawn in proportion to the weights.

        Examples
        --------
        >>> pair = SparseSpanningTrees.from_edges([0, 0], [1, 1], [1.0, 3.0], root=0)
        >>> edges = pair.sample_edges(1000, rng=0)
        >>> float((edges[:, 1] == 1).mean().round(2))
        0.75
        """
        shape = check_size(size)
        key = stream_key(rng)
        first_draw = check_index(first_draw, "first_draw")
        heads, _ = self._graph.draw(
            math.prod(shape),
            key=key,
            workers=check_workers(workers),
            first_draw=first_draw,
            max_steps=None if max_steps is None else check_count(max_steps, "max_steps", 0),
            max_work=check_work(max_work),
        )
        edges = np.empty_like(heads)
        draws = np.arange(first_draw, first_draw + len(heads), dtype=np.uint64)
        self._graph.core.edges_of(heads, *key, draws, edges)
        return edges.reshape(*shape, self.num_nodes)

    # ---- conversion

    def to_networkx(self, heads: ArrayLike | None = None, *, edges: ArrayLike | None = None) -> Any:
        """Make a NetworkX graph of each tree, with the weights and attributes of its edges.

        Parameters
        ----------
        heads : array_like of int, shape (num_nodes,) or (num_trees, num_nodes), optional
            Trees as `sample` returns them.
        edges : array_like of int, shape (num_nodes,) or (num_trees, num_nodes), optional
            Trees as `sample_edges` returns them, which tells parallel edges apart.

        Returns
        -------
        networkx.Graph, DiGraph, MultiGraph or MultiDiGraph, or a list of them
            Directed or not, and with parallel edges or not, like the graph that the distribution
            was made from.  If it was not made from a NetworkX graph, each edge has the attribute
            ``weight``, or ``log_weight`` if logarithms were given.

        Raises
        ------
        InvalidTreeError
            If heads or edges are not a tree of the graph.

        Examples
        --------
        >>> import networkx as nx
        >>> trees = SparseSpanningTrees.from_networkx(nx.cycle_graph(["a", "b", "c"]))
        >>> nx.is_tree(trees.to_networkx(trees.sample(rng=0)))
        True
        >>> len(trees.to_networkx(trees.sample(5, rng=0)))
        5
        """
        return self._convert(heads, edges, self._networkx_tree)

    def _networkx_tree(self, heads: NDArray[np.int32], edges: NDArray[np.integer[Any]]) -> Any:
        import networkx

        chosen = edges[heads >= 0]
        if self._source is not None and self._keys is not None:
            # Not the class of the source, which may need arguments or forbid changes.
            name = "Multi" if self._source.is_multigraph() else ""
            name += "DiGraph" if self._source.is_directed() else "Graph"
            tree = getattr(networkx, name)()
            tree.add_nodes_from(self._source.nodes(data=True))
            keys = [self._keys[edge] for edge in chosen.tolist()]
            tree.add_edges_from((*key, self._source.edges[key]) for key in keys)
            return tree
        tree = networkx.Graph() if self._graph.edges.is_undirected else networkx.DiGraph()
        tree.add_nodes_from(self.nodes)
        given = self._graph.edges
        name = "weight"
        values = np.ones(len(chosen))
        if given.weights is not None:
            values = given.weights[chosen]
        elif given.log_weights is not None:
            name, values = "log_weight", given.log_weights[chosen]
        ends = given.heads[chosen].tolist(), given.dependents[chosen].tolist()
        tree.add_weighted_edges_from(zip(*ends, values.tolist(), strict=True), weight=name)
        return tree

    def to_scipy(self, heads: ArrayLike | None = None, *, edges: ArrayLike | None = None) -> Any:
        """Make a sparse array of each tree: the weight of each arc at ``[head, dependent]``.

        Parameters
        ----------
        heads, edges : array_like of int, shape (num_nodes,) or (num_trees, num_nodes), optional
            As in `to_networkx`.

        Returns
        -------
        scipy.sparse.csr_array, shape (num_nodes, num_nodes), or a list of them

        Raises
        ------
        InvalidTreeError
            If heads or edges are not a tree of the graph.
        PrecisionError
            If the weight of an edge, given by its logarithm, does not fit into float64.

        Examples
        --------
        >>> path = SparseSpanningTrees.from_edges([0, 1], [1, 2], [2.0, 3.0], root=0)
        >>> path.to_scipy(path.sample(rng=0)).toarray().tolist()
        [[0.0, 2.0, 0.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]]
        """
        return self._convert(heads, edges, self._scipy_tree)

    def _scipy_tree(self, heads: NDArray[np.int32], edges: NDArray[np.integer[Any]]) -> Any:
        from scipy.sparse import csr_array

        dependents = np.flatnonzero(heads >= 0)
        weights = [self._weight(edge) for edge in edges[dependents].tolist()]
        return csr_array(
            (np.array(weights, dtype=np.float64), (heads[dependents], dependents)),
            shape=(self.num_nodes, self.num_nodes),
        )

    def to_dense(self) -> tuple[SpanningTrees, list[Hashable]]:
        """Make the same distribution over a dense graph, whose node 0 is the root.

        Returns
        -------
        trees : SpanningTrees
        nodes : list
            The label of each of its nodes.  For forests the root is a node outside the graph, with
            the label None.

        Raises
        ------
        InvalidWeightsError
            If the graph is a single node, and there are no forests.

        Examples
        --------
        >>> trees, nodes = SparseSpanningTrees.from_edges([1, 1], [0, 2], root=1).to_dense()
        >>> trees, nodes
        (SpanningTrees(2 words, 2 arcs), [1, 0, 2])
        """
        if self._graph.core.num_nodes == 1:
            raise InvalidWeightsError(
                "a single node has no dense graph, which needs a root and at least one other node"
            )
        root = self._graph.walk_root if self._graph.root is None else self._graph.root
        scores, order = self._graph.matrix(root)
        labels = [None if i == self.num_nodes else self.nodes[i] for i in order.tolist()]
        return SpanningTrees(scores), labels

    def _weight(self, edge: int) -> float:
        edges = self._graph.edges
        if edges.weights is not None:
            return float(edges.weights[edge])
        if edges.log_weights is None:
            return 1.0
        logarithm = float(edges.log_weights[edge])
        if not _LEAST_LOGARITHM <= logarithm <= _LARGEST_LOGARITHM:
            head, dependent = edges.name(edges.heads[edge]), edges.name(edges.dependents[edge])
            raise PrecisionError(
                f"the weight of the edge {head} -> {dependent}, e^{logarithm}, does not fit into "
                "float64; to_networkx keeps its logarithm"
            )
        return math.exp(logarithm)

    def _convert(
        self,
        heads: ArrayLike | None,
        edges: ArrayLike | None,
        make: Callable[[NDArray[np.int32], NDArray[np.integer[Any]]], Any],
    ) -> Any:
        """Convert each tree, given as the head of each node and the edge that leads to it."""
        if (heads is None) == (edges is None):
            raise TypeError("pass either heads or edges")
        name, given = ("heads", heads) if edges is None else ("edges", edges)
        array = np.array(given)
        if array.ndim not in (1, 2) or array.shape[-1] != self.num_nodes:
            raise InvalidTreeError(
                f"{name} has shape {array.shape}: expected one tree, shape ({self.num_nodes},), or "
                f"several, shape (num_trees, {self.num_nodes})"
            )
        if array.dtype.kind not in "iu":
            raise TypeError(f"{name} must be integers, but their dtype is {array.dtype}")
        if edges is None:
            trees, _ = self._check_trees(array, name)
            chosen: NDArray[np.integer[Any]] = self._find_edges(trees, array.shape)
        else:
            chosen = array.reshape(-1, self.num_nodes)
            trees, _ = self._check_trees(self._find_heads(chosen, array.shape), name)
        made = [make(*tree) for tree in zip(trees, chosen, strict=True)]
        return made[0] if array.ndim == 1 else made

    def _find_edges(self, trees: NDArray[np.int32], shape: tuple[int, ...]) -> NDArray[np.int32]:
        """Return the edge from each node to its head; `shape` is what the caller gave."""
        found = np.empty_like(trees)
        self._graph.core.edges_of(trees, 0, 0, np.zeros(len(trees), np.uint64), found)
        missing = np.argwhere((found < 0) & (trees >= 0))
        if len(missing):
            tree, node = missing[0].tolist()
            where = [node] if len(shape) == 1 else [tree, node]
            raise InvalidTreeError(
                f"heads{where} is {trees[tree, node]}: the graph has no edge between "
                f"{self._graph.edges.name(node)} and node {trees[tree, node]}"
            )
        return found

    def _find_heads(
        self, edges: NDArray[np.integer[Any]], shape: tuple[int, ...]
    ) -> NDArray[np.int32]:
        """Return the head to which the edge of each node leads."""
        trees, dependents = np.nonzero(edges != -1)
        chosen = edges[trees, dependents]
        ends = self._graph.edges
        wrong = (chosen < 0) | (chosen >= self.num_edges)
        if not wrong.any():
            wrong = ends.dependents[chosen] != dependents
            if ends.goes_both_ways:
                wrong &= ends.heads[chosen] != dependents
        if wrong.any():
            at = int(np.argmax(wrong))
            tree, node = int(trees[at]), int(dependents[at])
            where = [node] if len(shape) == 1 else [tree, node]
            raise InvalidTreeError(
                f"edges{where} is {chosen[at]}: expected the index of an edge from node "
                f"{ends.name(node)} to its head, or -1"
            )
        heads = np.full(edges.shape, -1, dtype=np.int32)
        is_forward = ends.dependents[chosen] == dependents
        heads[trees, dependents] = np.where(is_forward, ends.heads[chosen], ends.dependents[chosen])
        return heads
