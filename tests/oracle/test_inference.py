"""log Z, marginals, entropies, conditionals and hitting times against exact answers.

The judges are lists of all trees in exact fractions (up to five words), closed formulas, and the
paper's formulas in plain NumPy (on graphs where those lose nothing). Then what must not change an
answer: the batch around a graph, the number of workers, the instruction set, threads, a fork.
Extreme scores have a file of their own.
"""

import concurrent.futures
import functools
import itertools
import math
import os
import subprocess
import sys
import textwrap

import mpmath
import numpy as np
import pytest

from arborand import DependencyTrees, NoTreeError, SpanningTrees, _core
from arborand.paper import reference
from tests.exact_fractions import ExactLaw
from tests.kinds import KINDS, is_single_root
from tests.random_graphs import (
    dense_scores,
    mutual_pairs,
    sparse_integers,
    sparse_scores,
)

# What the library promises of every number, relative to itself.
PROMISED = 1e-13
EPSILON = np.finfo(np.float64).eps

SMALL_GRAPHS = [
    pytest.param(kind, weights, id=f"{kind.__name__}-{num_words}-{density}-{seed}")
    for kind in (SpanningTrees, DependencyTrees)
    for num_words, density in itertools.product(range(1, 6), (0.4, 0.7, 1.0))
    for seed in range(4)
    if ExactLaw(kind, weights := sparse_integers(seed, num_words, density)).trees
]
ON_SMALL_GRAPHS = pytest.mark.parametrize(("kind", "weights"), SMALL_GRAPHS)


def assert_close(found, exact, relative=PROMISED):
    """Compare entry by entry, relative to the entry: exact zeros must be found as zeros."""
    np.testing.assert_allclose(found, exact, rtol=relative, atol=0)


def everything(distribution, **options):
    """Ask all there is to ask, for comparisons bit by bit."""
    answers = [
        distribution.log_partition(**options),
        distribution.arc_marginals(**options),
        distribution.root_marginals(**options),
        distribution.entropy(**options),
        distribution.mean_hitting_time(**options),
    ]
    if isinstance(distribution, SpanningTrees):
        answers.append(distribution.expected_walk_steps(**options))
    return answers


def assert_same_bits(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


def undirected(edges, num_vertices):
    """Read an undirected graph as scores: both arcs of each edge, vertex 0 the root."""
    scores = np.full((num_vertices, num_vertices), -np.inf)
    for a, b in edges:
        scores[a, b] = scores[b, a] = 0.0
    return scores


# ---- exact fractions ----------------------------------------------------------------------------


def test_small_graphs_include_dense_and_sparse_ones_of_both_kinds():
    densities = {
        (kind, np.count_nonzero(weights[:, 1:]) < weights.shape[0] * (weights.shape[0] - 1) / 2)
        for kind, weights in (case.values for case in SMALL_GRAPHS)
    }
    assert densities == set(itertools.product((SpanningTrees, DependencyTrees), (False, True)))


@ON_SMALL_GRAPHS
def test_log_partition_is_exact(kind, weights):
    # log Z may be small where Z is near 1; Z itself is what is right to the promised accuracy.
    found = math.exp(kind.from_weights(weights).log_partition())
    assert_close(found, ExactLaw(kind, weights).partition)


@ON_SMALL_GRAPHS
def test_marginals_are_exact_and_zero_where_no_tree_goes(kind, weights):
    distribution = kind.from_weights(weights)
    exact = ExactLaw(kind, weights).arc_marginals()
    assert_close(distribution.arc_marginals(), exact)
    assert_close(distribution.root_marginals(), exact[0])


@ON_SMALL_GRAPHS
def test_entropy_is_exact(kind, weights):
    # A sum of differences of logarithms of up to log 9^5 each, all rounded.
    exact = ExactLaw(kind, weights).entropy()
    assert kind.from_weights(weights).entropy() == pytest.approx(exact, rel=PROMISED, abs=PROMISED)


@ON_SMALL_GRAPHS
def test_probabilities_of_all_trees_are_exact(kind, weights):
    law = ExactLaw(kind, weights)
    exact = [weight / law.partition for weight in law.tree_weights]
    assert_close(np.exp(kind.from_weights(weights).log_prob(law.trees)), exact)


@pytest.mark.parametrize(("kind", "weights"), SMALL_GRAPHS[::3])
def test_joint_and_conditional_probabilities_of_pairs_are_exact(kind, weights):
    law = ExactLaw(kind, weights)
    distribution = kind.from_weights(weights)
    for one, other in itertools.product(law.arcs(), repeat=2):
        joint = law.probability([one, other])
        assert_close(distribution.joint_probability([one, other]), float(joint))
        if given := law.probability([other]):
            found = distribution.joint_probability([one], given=[other])
            assert_close(found, float(joint / given))
        else:
            with pytest.raises(NoTreeError):
                distribution.joint_probability([one], given=[other])


@ON_SMALL_GRAPHS
def test_conditioned_distributions_are_exact(kind, weights):
    law = ExactLaw(kind, weights)
    distribution = kind.from_weights(weights)
    generator = np.random.default_rng(0)
    arcs = law.arcs()
    for _ in range(10):
        chosen = [arcs[k] for k in generator.permutation(len(arcs))]
        include, exclude = chosen[:1], chosen[1:3]
        mass = law.probability(include, exclude)
        if not mass:
            with pytest.raises(NoTreeError):
                distribution.condition(include=include, exclude=exclude)
            continue
        conditioned = distribution.condition(include=include, exclude=exclude)
        assert type(conditioned) is kind
        marginals = conditioned.arc_marginals()
        for arc in arcs:
            exact = law.probability([*include, arc], exclude) / mass
            assert_close(marginals[arc], float(exact))


@ON_SMALL_GRAPHS
def test_mean_hitting_time_is_exact(kind, weights):
    exact = ExactLaw(kind, weights).mean_hitting_time()
    assert_close(kind.from_weights(weights).mean_hitting_time(), float(exact))


@ON_SMALL_GRAPHS
def test_expected_walk_steps_are_exact(kind, weights):
    if kind is SpanningTrees:
        exact = ExactLaw(kind, weights).expected_walk_steps()
        assert_close(kind.from_weights(weights).expected_walk_steps(), float(exact))
    else:
        assert not hasattr(kind, "expected_walk_steps")


# ---- the paper's formulas -----------------------------------------------------------------------

# Weights between 1/2 and 3/2: entries of the inverse Laplacian are at most about 4 (n <= 100), the
# marginals made of their differences at least about 1 / 3n, so that the formula keeps all but three
# or four of its sixteen digits.
AGREEMENT = 1e-11

# All sizes up to 40, because the recursion halves them in all ways; then a few of many blocks.
SIZES = [*range(1, 41), 63, 64, 65, 100]


def even_weights(num_words):
    return np.random.default_rng(num_words).uniform(0.5, 1.5, (num_words + 1, num_words + 1))


@KINDS
@pytest.mark.parametrize("num_words", SIZES)
def test_core_agrees_with_the_inverse_laplacian_where_that_is_accurate(kind, num_words):
    weights = even_weights(num_words)
    single_root = is_single_root(kind)
    distribution = kind.from_weights(weights)
    expected = reference.marginals(weights, single_root=single_root)
    marginals = distribution.arc_marginals()
    assert_close(marginals, expected, AGREEMENT)
    assert_close(distribution.root_marginals(), expected[0], AGREEMENT)
    _, log_determinant = np.linalg.slogdet(reference.laplacian(weights, single_root=single_root))
    log_partition = distribution.log_partition()
    assert log_partition == pytest.approx(log_determinant, rel=AGREEMENT, abs=AGREEMENT)
    scores = np.log(weights[:, 1:])
    entropy = log_partition - (expected[:, 1:] * scores).sum()
    assert distribution.entropy() == pytest.approx(entropy, rel=AGREEMENT, abs=AGREEMENT)


@pytest.mark.parametrize("num_words", SIZES)
def test_hitting_times_agree_with_linear_solves(num_words):
    weights = even_weights(num_words)
    expected = reference.mean_hitting_time(reference.walk_transitions(weights))
    assert_close(DependencyTrees.from_weights(weights).mean_hitting_time(), expected, AGREEMENT)
    steps = SpanningTrees.from_weights(weights).expected_walk_steps()
    assert_close(steps, reference.expected_walk_steps(weights), AGREEMENT)


# ---- closed formulas ----------------------------------------------------------------------------


@pytest.mark.parametrize("num_words", [1, 2, 3, 5, 10, 37, 100, 300])
def test_complete_graphs(num_words):
    scores = np.zeros((num_words + 1, num_words + 1))
    spanning, dependency = SpanningTrees(scores), DependencyTrees(scores)
    log_spanning = (num_words - 1) * math.log(num_words + 1)
    log_dependency = (num_words - 1) * math.log(num_words)
    assert spanning.log_partition() == pytest.approx(log_spanning, rel=PROMISED, abs=EPSILON)
    assert dependency.log_partition() == pytest.approx(log_dependency, rel=PROMISED, abs=EPSILON)
    # All trees are alike, so the entropy is log Z too.
    assert spanning.entropy() == pytest.approx(log_spanning, rel=PROMISED, abs=PROMISED)
    assert dependency.entropy() == pytest.approx(log_dependency, rel=PROMISED, abs=PROMISED)
    # By symmetry an undirected edge, of which there are n(n+1)/2, is in a tree with chance
    # n / (n(n+1)/2); the root's arcs have one direction, all others two.
    is_word_arc = ~np.eye(num_words, dtype=bool)
    marginals = spanning.arc_marginals()[:, 1:]
    assert_close(marginals[0], 2 / (num_words + 1))
    assert_close(marginals[1:][is_word_arc], 1 / (num_words + 1))
    assert_close(dependency.root_marginals()[1:], 1 / num_words)


def test_share_of_spanning_trees_with_a_single_root():
    for num_words in range(1, 61):
        scores = np.zeros((num_words + 1, num_words + 1))
        difference = DependencyTrees(scores).log_partition() - SpanningTrees(scores).log_partition()
        share = (num_words / (num_words + 1)) ** (num_words - 1)
        # Both logarithms are below 60 log 61 < 250 and rounded.
        assert math.exp(difference) == pytest.approx(share, rel=2 * 250 * EPSILON)


PETERSEN = [
    edge for k in range(5) for edge in [(k, (k + 1) % 5), (k, k + 5), (k + 5, (k + 2) % 5 + 5)]
]


@pytest.mark.parametrize(
    ("edges", "num_vertices", "num_trees"),
    [
        pytest.param(PETERSEN, 10, 2000, id="Petersen"),
        pytest.param(list(itertools.product(range(3), range(3, 7))), 7, 432, id="K_{3,4}"),
        pytest.param([(k, k + 1) for k in range(9)], 10, 1, id="path"),
        pytest.param([(k, (k + 1) % 10) for k in range(10)], 10, 10, id="cycle"),
    ],
)
def test_counts_of_undirected_graphs(edges, num_vertices, num_trees):
    scores = undirected(edges, num_vertices)
    assert_close(math.exp(SpanningTrees(scores).log_partition()), num_trees)


def test_count_of_a_large_grid():
    side = 40
    # Kirchhoff's theorem with the grid's eigenvalues: the product of all but the zero one, over
    # the number of vertices. 30 digits, because each factor is exact to that many.
    with mpmath.workdps(30):
        cosine = [mpmath.cos(mpmath.pi * k / side) for k in range(side)]
        factors = [4 - 2 * a - 2 * b for a, b in itertools.product(cosine, repeat=2)]
        exact = mpmath.fsum(map(mpmath.log, factors[1:])) - mpmath.log(side**2)
    vertex = functools.partial(np.ravel_multi_index, dims=(side, side))
    edges = [
        (vertex((a, b)), vertex(other))
        for a, b in itertools.product(range(side), repeat=2)
        for other in [(a + 1, b), (a, b + 1)]
        if max(other) < side
    ]
    found = SpanningTrees(undirected(edges, side**2)).log_partition()
    assert found == pytest.approx(float(exact), rel=PROMISED)
    assert round(float(exact), 4) == 1794.2382  # the figure in the literature


def test_edges_of_undirected_graphs_are_used_as_often_as_their_effective_resistance_says():
    num_vertices = 9
    weights = np.random.default_rng(0).integers(0, 5, (num_vertices, num_vertices))
    weights = np.triu(weights, 1) + np.triu(weights, 1).T
    laplacian = np.diag(weights.sum(axis=0)) - weights
    inverse = np.linalg.pinv(laplacian)
    diagonal = np.diag(inverse)
    resistance = diagonal[:, None] + diagonal - 2 * inverse
    marginals = SpanningTrees.from_weights(weights).arc_marginals()
    assert_close(marginals + marginals.T, weights * resistance, AGREEMENT)
    assert marginals.sum() == pytest.approx(num_vertices - 1, rel=PROMISED)


# ---- sums, zeros and signs ----------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("scale", [1, 30, 300])
@pytest.mark.parametrize("num_words", [1, 2, 7, 30, 130])
@pytest.mark.parametrize("draw", [dense_scores, sparse_scores])
def test_marginals_are_probabilities(kind, num_words, scale, draw):
    distribution = kind(draw(num_words, num_words, scale=scale))
    marginals = distribution.arc_marginals()
    assert not np.isnan(marginals).any()
    assert (marginals >= 0).all()
    # A normalised column, rounded entry by entry and added up again.
    rounding = num_words * EPSILON
    np.testing.assert_allclose(marginals[:, 1:].sum(axis=0), 1, rtol=0, atol=rounding)
    assert (marginals[:, 0] == 0).all()
    assert (np.diag(marginals) == 0).all()
    assert (marginals[distribution.log_weights == -np.inf] == 0).all()
    root_marginals = distribution.root_marginals()
    assert_close(root_marginals, marginals[0])
    if kind is DependencyTrees:
        # Each root marginal has its own error here; they were not normalised together.
        assert root_marginals.sum() == pytest.approx(1, abs=PROMISED)
    assert distribution.entropy() >= 0


@KINDS
def test_arcs_that_no_tree_can_use_are_exactly_zero(kind):
    # Words 1 and 2 can only reach the root through 3: arcs from 1 or 2 to 3 close a cycle.
    scores = np.full((5, 5), -np.inf)
    scores[0, 3] = scores[3, [1, 2, 4]] = scores[1, [2, 3]] = scores[2, [1, 3]] = 0.0
    scores[4, 1] = 0.0
    marginals = kind(scores).arc_marginals()
    assert marginals[1, 3] == marginals[2, 3] == 0
    assert marginals[0, 3] == marginals[3, 4] == 1
    expected = {tuple(arc) for arc in np.argwhere(scores == 0)} - {(1, 3), (2, 3)}
    assert {tuple(arc) for arc in np.argwhere(marginals)} == expected


def test_second_root_arcs_are_exactly_zero_in_dependency_trees():
    # Word 2 has no other head than the root; so no other word can hang there.
    scores = dense_scores(0, 4)
    scores[1:, 2] = -np.inf
    assert DependencyTrees(scores).root_marginals().tolist() == [0, 0, 1, 0, 0]
    assert (SpanningTrees(scores).root_marginals()[1:] > 0).all()


def test_log_prob_outside_the_support_is_minus_infinity():
    scores = dense_scores(0, 3)
    scores[1, 2] = -np.inf
    two_roots, forbidden, fine = [-1, 0, 0, 1], [-1, 0, 1, 1], [-1, 2, 0, 1]
    found = DependencyTrees(scores).log_prob([two_roots, forbidden, fine])
    assert np.isneginf(found).tolist() == [True, True, False]
    found = SpanningTrees(scores).log_prob([two_roots, forbidden, fine])
    assert np.isneginf(found).tolist() == [False, True, False]


# ---- what must not matter -----------------------------------------------------------------------


def mixed_batch(num_graphs=24, most_words=20):
    """Graphs of all lengths, half of them for unbounded doubles; padding full of junk."""
    generator = np.random.default_rng(0)
    size = most_words + 1
    scores = generator.normal(size=(num_graphs, size, size))
    scores[::2] *= 400
    lengths = generator.integers(1, most_words + 1, num_graphs)
    for graph, length in zip(scores, lengths, strict=True):
        graph[length + 1 :] = np.nan
        graph[:, length + 1 :] = np.inf
    return scores, lengths


@KINDS
def test_a_batch_gives_the_bits_of_its_graphs(kind):
    scores, lengths = mixed_batch()
    together = everything(kind(scores, lengths=lengths))
    for k, length in enumerate(lengths):
        nodes = length + 1
        alone = everything(kind(scores[k, :nodes, :nodes]))
        for one, other in zip(together, alone, strict=True):
            cut = (slice(nodes),) * np.ndim(other)
            np.testing.assert_array_equal(one[k][cut], other)
            assert np.count_nonzero(one[k]) == np.count_nonzero(other)  # padding is 0


@KINDS
def test_log_prob_of_a_batch_is_that_of_its_graphs(kind):
    scores, lengths = mixed_batch()
    nodes = np.arange(scores.shape[-1])
    chain = np.where(nodes <= lengths[:, None], nodes - 1, -1)
    star = np.where((nodes > 1) & (nodes <= lengths[:, None]), 1, chain)
    trees = np.array([chain, star, chain])
    found = kind(scores, lengths=lengths).log_prob(trees)
    assert found.shape == trees.shape[:-1]
    for k, length in enumerate(lengths):
        alone = kind(scores[k, : length + 1, : length + 1])
        # Only the order in which the arcs' scores are added may differ: padding is added as 0.
        assert_close(found[:, k], alone.log_prob(trees[:, k, : length + 1]), length * EPSILON)


@KINDS
def test_a_batch_of_two_axes_gives_the_bits_of_one(kind):
    scores, lengths = mixed_batch()
    flat = everything(kind(scores, lengths=lengths))
    square = everything(
        kind(scores.reshape(4, 6, *scores.shape[1:]), lengths=lengths.reshape(4, 6))
    )
    assert_same_bits([answer.reshape(24, *answer.shape[2:]) for answer in square], flat)


@KINDS
@pytest.mark.parametrize("workers", [2, 5, 100])
def test_workers_give_the_same_bits(kind, workers):
    scores, lengths = mixed_batch()
    one = everything(kind(scores, lengths=lengths), workers=1)
    assert_same_bits(everything(kind(scores, lengths=lengths), workers=workers), one)


@pytest.fixture
def baseline_kernels():
    """Switch to the kernels that run anywhere, and back."""
    usual = _core.instruction_set()
    if usual == "baseline":
        pytest.skip("this machine has the baseline kernels only")
    yield lambda: _core.use_instruction_set("baseline")
    _core.use_instruction_set(usual)
    assert _core.instruction_set() == usual


@KINDS
@pytest.mark.parametrize("num_words", [1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 40, 150, 300])
def test_instruction_sets_give_the_same_bits(kind, num_words, baseline_kernels):
    # 300 words: enough for the blocked and packed loops. The second graph needs unbounded doubles.
    graphs = [sparse_scores(1, num_words, 0.8), mutual_pairs(2, min(num_words, 50), 800)]
    usual = [everything(kind(scores)) for scores in graphs]
    baseline_kernels()
    assert _core.instruction_set() == "baseline"
    for scores, expected in zip(graphs, usual, strict=True):
        assert_same_bits(everything(kind(scores)), expected)


@KINDS
def test_threads_may_share_a_distribution(kind):
    scores, lengths = mixed_batch()
    expected = everything(kind(scores, lengths=lengths))
    shared = kind(scores, lengths=lengths)  # nothing is computed before the threads start
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(everything, shared, workers=2) for _ in range(32)]
        for future in futures:
            assert_same_bits(future.result(), expected)


def start_python(*scripts):
    """Start a process of its own on some lines of Python."""
    imports = "import os, sys\nimport numpy as np\nfrom arborand import *\n"
    command = [sys.executable, "-c", imports + "\n".join(map(textwrap.dedent, scripts))]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_can_continue():
    # In a process of its own, because a process with threads (pytest plugins) may not fork.
    child = start_python("""
        distribution = SpanningTrees(np.zeros((8, 30, 30)))
        before = distribution.arc_marginals(workers=4)
        if os.fork() == 0:
            after = distribution.arc_marginals(workers=4)
            os._exit(0 if np.array_equal(before, after) else 1)
        sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
    """)
    _, errors = child.communicate(timeout=GIVE_UP)
    assert child.returncode == 0, errors


# ---- Ctrl-C -------------------------------------------------------------------------------------

# How much work the library may still do after Ctrl-C, in seconds of processor time of all threads,
# because a busy machine must not fail the test. Each of the calls below takes more than five times
# as much when it is left alone. One score of -1e4 is enough to make a graph leave the range of
# doubles, so that it needs unbounded doubles, which is slow.
PATIENCE = 2.0
GIVE_UP = 120.0  # seconds on the clock: only reached by a call that hangs

LONG_CALLS = {
    "one large graph": """
        distribution = SpanningTrees(np.zeros((4001, 4001), np.float32))
        call = distribution.entropy
    """,
    "one large graph in unbounded doubles": """
        scores = np.zeros((2501, 2501))
        scores[1, 2] = -1e4
        call = SpanningTrees(scores).arc_marginals
    """,
    "many small graphs for two workers": """
        scores = np.zeros((2000, 121, 121))
        scores[:, 1, 2] = -1e4
        batch = SpanningTrees(scores)
        call = lambda: batch.renyi_entropy(2.0, workers=2)  # more than a minute
    """,
    "work left only for the second worker": """
        scores = np.zeros((2, 1801, 1801))
        scores[:, 1, 2] = -1e4
        batch = SpanningTrees(scores, lengths=[200, 1800])
        call = lambda: batch.renyi_entropy(2.0, workers=2)  # minutes
    """,
}


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize("prepare", LONG_CALLS.values(), ids=LONG_CALLS.keys())
def test_ctrl_c_ends_a_long_call(prepare):
    child = start_python(
        prepare,
        """
        import signal, threading, time
        def press():
            global pressed
            pressed = time.process_time()
            os.kill(os.getpid(), signal.SIGINT)
        try:
            threading.Timer(0.7, press).start()  # well into the call
            call()
            print("finished")
        except KeyboardInterrupt:
            print(time.process_time() - pressed)
        """,
    )
    try:
        output, errors = child.communicate(timeout=GIVE_UP)
    except subprocess.TimeoutExpired:
        pytest.fail(f"still at work after {GIVE_UP} s, in spite of Ctrl-C")
    finally:
        child.kill()
        child.communicate()
    assert errors == ""
    assert output != "finished\n"
    assert float(output) < PATIENCE
