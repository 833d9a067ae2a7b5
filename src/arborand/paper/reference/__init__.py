r"""The algorithms of "Efficient Sampling of Dependency Structures", line by line in plain NumPy.

Source: Ran Zmigrod, Tim Vieira and Ryan Cotterell, *Efficient Sampling of Dependency Structures*,
EMNLP 2021, the corrected version (in which Theorem 2 says that ``wilson_rc`` is biased). Figures,
equations, theorems and lines are cited by the numbers they have there; every numbered line of a
figure counts, comments included.

This package has one file per algorithm.  It is meant to be read next to the paper and to judge
faster code, from which it imports nothing.  It is slow, and it keeps the numerical weaknesses of
the formulas as printed (inverse Laplacians lose small marginals to cancellation, determinants
overflow, ``swor`` subtracts). Each docstring ends with a list of the places where the code deviates
from what the paper prints.

====================== ============================================================
paper                  here
====================== ============================================================
G, w_{i->j}            ``weights[i, j]``: head i, dependent j, non-negative, (n+1, n+1)
rho (root), N          node 0, and n words 1..n
t                      ``heads``, int32, (n+1,): ``heads[j]`` is j's head, ``heads[0]`` is -1
e = (i -> j)           ``edge = (i, j)``
w(t)                   `tree_weight`
w'_{i->j}              `stochastic`
pi, h(i, j), H         `stationary_distribution`, `hitting_times`, `mean_hitting_time`
T(G) / D(G)            ``single_root=False`` / ``single_root=True``
L, L^e_[:,j], Z        `laplacian`, `edge_column`, `partition_function`
B = L^-T               `inverse_transpose`
p(i -> j)              `marginals`; for one j, `edge_marginals` (the figures' m)
1 + u^T B_[:,j]        `determinant_ratio`
D, Z_D                 `SworState.D`, `SworState.Z_D`
p(i -> j | D)          `edge_marginals_swor`
sample_edge'           `sample_edge_swor`
condition'             `condition_swor`
"sample from"          `categorical`
====================== ============================================================

Vectors and matrices over the words (L, B, u) have N rows in the paper, numbered from 1; row i is
index ``i - 1`` here. What the paper keeps in global variables is passed and returned here, and no
argument is modified. Column 0 and the diagonal of ``weights`` are ignored.
"""

from arborand.paper.reference.figure_2_wilson import (
    wilson,
)
from arborand.paper.reference.figure_3_wilson_rc import (
    wilson_rc,
)
from arborand.paper.reference.figure_5_colbourn import (
    colbourn,
    condition,
    determinant_ratio,
    edge_column,
    sample_edge,
)
from arborand.paper.reference.figure_7_swor import (
    SworState,
    condition_swor,
    edge_marginals_swor,
    sample_edge_swor,
    swor,
)
from arborand.paper.reference.graphs import (
    THEOREM_2_GRAPH,
    NoMassLeftError,
    categorical,
    stochastic,
    tree_weight,
)
from arborand.paper.reference.matrix_tree_theorem import (
    edge_marginals,
    inverse_transpose,
    laplacian,
    marginals,
    partition_function,
)
from arborand.paper.reference.walk_lengths import (
    expected_walk_steps,
    hitting_times,
    mean_hitting_time,
    stationary_distribution,
    walk_transitions,
)
from arborand.paper.reference.wilson_rc_repaired import (
    wilson_rejection,
    wilson_root_marginal,
)

__all__ = [
    "THEOREM_2_GRAPH",
    "NoMassLeftError",
    "SworState",
    "categorical",
    "colbourn",
    "condition",
    "condition_swor",
    "determinant_ratio",
    "edge_column",
    "edge_marginals",
    "edge_marginals_swor",
    "expected_walk_steps",
    "hitting_times",
    "inverse_transpose",
    "laplacian",
    "marginals",
    "mean_hitting_time",
    "partition_function",
    "sample_edge",
    "sample_edge_swor",
    "stationary_distribution",
    "stochastic",
    "swor",
    "tree_weight",
    "walk_transitions",
    "wilson",
    "wilson_rc",
    "wilson_rejection",
    "wilson_root_marginal",
]
