"""The distributions of JAX give what those of NumPy give, called as they are and compiled."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import arborand
from arborand import InvalidTreeError, InvalidWeightsError, NoTreeError
from arborand.jax import (
    BestTrees,
    DependencyTrees,
    Draws,
    LabelledTrees,
    SpanningTrees,
    arc_indicators,
)
from tests.fronts.jax.graphs import KINDS, LENGTHS, OTHER, SCORES, VALUES, WAYS

ROUNDING = {"rtol": 1e-13, "atol": 1e-15}  # one sum more or less
KEY = jax.random.key(3)
HEADS = np.array([[-1, 2, 0, 4, -1, -1], [-1] * 6, [-1] * 6])

NUMBERS = {
    "log_partition": lambda d: d.log_partition(),
    "arc_marginals": lambda d: d.arc_marginals(),
    "root_marginals": lambda d: d.root_marginals(),
    "entropy": lambda d: d.entropy(),
    "renyi_entropy(0)": lambda d: d.renyi_entropy(0),
    "renyi_entropy(1)": lambda d: d.renyi_entropy(1),
    "renyi_entropy(2.5)": lambda d: d.renyi_entropy(2.5),
    "renyi_entropy(inf)": lambda d: d.renyi_entropy(float("inf")),
    "expectation": lambda d: d.expectation(VALUES),
    "expectation of vectors": lambda d: d.expectation(np.stack([VALUES, OTHER], -1)),
    "variance": lambda d: d.variance(VALUES),
    "covariance": lambda d: d.covariance(VALUES, OTHER),
    "arc_covariances": lambda d: d.arc_covariances(VALUES),
    "kl_divergence": lambda d: d.kl_divergence(type(d)(OTHER, lengths=LENGTHS)),
    "cross_entropy": lambda d: d.cross_entropy(type(d)(OTHER, lengths=LENGTHS)),
    "log_evidence": lambda d: d.log_evidence(heads=HEADS),
    "condition(heads)": lambda d: d.condition(heads=HEADS).arc_marginals(),
    "condition(allowed)": lambda d: d.condition(allowed=VALUES > -2).entropy(),
    "best_tree": lambda d: d.best_tree(),
    "best_trees": lambda d: d.best_trees(2).heads,
    "minimum_risk_tree": lambda d: d.minimum_risk_tree(),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize(("ours", "theirs"), KINDS)
def test_answers_are_those_of_the_library(ours, theirs, name, way):
    ask = NUMBERS[name]
    found = way(lambda scores: ask(ours(scores, lengths=LENGTHS)))(SCORES)
    expected = ask(theirs(SCORES, lengths=LENGTHS))
    assert found.shape[: expected.ndim] == expected.shape or name == "best_trees"
    np.testing.assert_allclose(found[: len(expected)], expected, **ROUNDING)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("ours", "theirs"), KINDS)
def test_variances_and_covariances_have_trailing_axes(ours, theirs, way):
    several = np.stack([VALUES, OTHER, VALUES + OTHER], -1)
    d = theirs(SCORES, lengths=LENGTHS)
    found = way(lambda s: ours(s, lengths=LENGTHS).covariance(several, several[..., ::-1]))(SCORES)
    expected = [d.covariance(several[..., i], several[..., 2 - i]) for i in range(3)]
    np.testing.assert_allclose(found, np.stack(expected, -1), rtol=1e-11, atol=1e-13)
    found = way(lambda s: ours(s, lengths=LENGTHS).variance(several))(SCORES)
    expected = [d.variance(several[..., i]) for i in range(3)]
    np.testing.assert_allclose(found, np.stack(expected, -1), rtol=1e-11, atol=1e-13)


def test_a_nearly_certain_tree_keeps_its_small_variance():
    scores = np.zeros((4, 4))
    scores[0, 1] = scores[1, 2] = scores[2, 3] = 300.0
    values = np.arange(16.0).reshape(4, 4)
    expected = arborand.DependencyTrees(scores).variance(values)
    assert 0 < expected < 1e-100
    np.testing.assert_allclose(DependencyTrees(scores).variance(values), expected, rtol=1e-12)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("ours", "theirs"), KINDS)
def test_trees_drawn_are_trees_with_their_log_probability(ours, theirs, way):
    heads = way(lambda s: ours(s, lengths=LENGTHS).sample(KEY, (4, 2)))(SCORES)
    assert (heads.shape, heads.dtype) == ((4, 2, 3, 6), jnp.int32)
    d = theirs(SCORES, lengths=LENGTHS)
    expected = d.log_prob(np.asarray(heads))  # which refuses what is not a tree
    assert np.isfinite(expected).all()
    found = way(lambda s, h: ours(s, lengths=LENGTHS).log_prob(h))(SCORES, heads)
    np.testing.assert_allclose(found, expected, **ROUNDING)


@pytest.mark.parametrize("way", WAYS)
def test_the_trees_of_a_key_are_those_of_its_bits(way):
    """The stream is that of the library, with 128 bits drawn from the key as its key."""
    words = np.asarray(jax.random.bits(KEY, (4,), jnp.uint32))
    key = tuple(int(word) for word in words.view(np.uint64))
    graphs = arborand.DependencyTrees(SCORES, lengths=LENGTHS)._graphs
    expected = arborand.sampling.sample(graphs, 7, key=key)[0]
    found = way(lambda s: DependencyTrees(s, lengths=LENGTHS).sample(KEY, (7,)))(SCORES)
    np.testing.assert_array_equal(found, expected)
    # Golden: the same on every machine, and in every version of the stream.
    flat = DependencyTrees(np.zeros((6, 6))).sample(jax.random.key(7), (2,))
    assert flat.tolist() == GOLDEN


GOLDEN = [[-1, 3, 4, 0, 1, 2], [-1, 2, 4, 0, 5, 3]]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("ours", "theirs"), KINDS)
def test_distinct_draws_have_as_many_rows_as_were_asked_for(ours, theirs, way):
    k = 8
    draws = way(lambda s: ours(s, lengths=LENGTHS).sample_without_replacement(KEY, k))(SCORES)
    d = theirs(SCORES, lengths=LENGTHS)
    words = np.asarray(jax.random.bits(KEY, (4,), jnp.uint32))
    key = tuple(int(word) for word in words.view(np.uint64))
    expected = arborand.without_replacement.sample_without_replacement(d._graphs, k, key=key)
    np.testing.assert_array_equal(draws.heads, expected.heads)
    np.testing.assert_allclose(draws.log_prob, expected.log_prob, **ROUNDING)
    np.testing.assert_array_equal(draws.log_remaining, expected.log_remaining)
    np.testing.assert_array_equal(draws.perturbed_log_prob, expected.perturbed_log_prob)
    np.testing.assert_array_equal(draws.num_drawn, expected.num_drawn)
    np.testing.assert_array_equal(draws.exhausted, expected.exhausted)
    assert draws.num_drawn[2] == 1  # one word has one tree
    assert draws.heads[1:, 2].tolist() == [[-1] * 6] * (k - 1)
    np.testing.assert_array_equal(draws.is_drawn[:, 2], np.arange(k) < 1)
    assert (draws.log_prob[1:, 2] == -jnp.inf).all()


@pytest.mark.parametrize("way", WAYS)
def test_best_trees_beyond_the_last_are_marked(way):
    best = way(lambda s: DependencyTrees(s).best_trees(4))(np.zeros((3, 3)))
    assert best.heads.tolist() == [[-1, 0, 1], [-1, 2, 0], [-1] * 3, [-1] * 3]
    assert best.is_found.tolist() == [True, True, False, False]
    assert (int(best.num_found), bool(best.exhausted)) == (2, True)
    np.testing.assert_allclose(jnp.exp(best.log_prob), [0.5, 0.5, 0, 0], rtol=1e-14)


@pytest.mark.parametrize("way", WAYS)
def test_no_trees_can_be_asked_for(way):
    def ask(scores):
        d = DependencyTrees(scores, lengths=LENGTHS)
        return d.best_trees(0), d.sample_without_replacement(KEY, 0)

    best, draws = way(ask)(VALUES)
    for found, count in ((best, best.num_found), (draws, draws.num_drawn)):
        assert (found.heads.shape, found.log_prob.shape) == ((0, 3, 6), (0, 3))
        assert count.tolist() == [0, 0, 0]


def test_arcs_are_included_and_excluded():
    d = DependencyTrees(SCORES[0])
    expected = arborand.DependencyTrees(SCORES[0])
    arcs = {"include": [(0, 2)], "exclude": [(2, 1), (4, 5)]}
    found = jax.jit(lambda s: DependencyTrees(s).condition(**arcs).arc_marginals())(SCORES[0])
    np.testing.assert_allclose(found, expected.condition(**arcs).arc_marginals(), **ROUNDING)
    np.testing.assert_allclose(d.log_evidence(**arcs), expected.log_evidence(**arcs), rtol=1e-12)
    assert d.log_evidence(include=[(1, 2), (2, 1)]) == -jnp.inf
    with pytest.raises(NoTreeError, match="no tree is left"):
        d.condition(include=[(1, 2), (2, 1)])
    with pytest.raises(ValueError, match="include contains"):
        d.condition(include=[(0, 9)])
    with pytest.raises(TypeError, match="exclude takes arcs of a single graph"):
        DependencyTrees(SCORES, lengths=LENGTHS).condition(exclude=[(0, 1)])


def test_a_mapped_condition_takes_arcs_of_each_graph():
    def entropy(scores):
        return DependencyTrees(scores).condition(include=[(0, 1)]).entropy()

    expected = [
        arborand.DependencyTrees(scores).condition(include=[(0, 1)]).entropy() for scores in VALUES
    ]
    np.testing.assert_allclose(jax.vmap(entropy)(VALUES), expected, rtol=1e-12)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["include", "exclude"])
@pytest.mark.parametrize("arc", [(0, 4), (1, 3), (3, 4), (4, 1)])
def test_arcs_of_the_padding_are_refused(way, name, arc):
    evidence = way(lambda s: DependencyTrees(s, lengths=jnp.array(2)).log_evidence(**{name: [arc]}))
    message = rf"{name} contains \({arc[0]}, {arc[1]}\), which is not an arc of a graph with 2 "
    with pytest.raises((ValueError, jax.errors.JaxRuntimeError), match=message):
        jax.block_until_ready(evidence(np.zeros((5, 5))))


def test_a_contradiction_is_explained():
    arcs = {"include": [(1, 2), (2, 1)]}
    with pytest.raises(NoTreeError, match="include has the cycle 1 -> 2 -> 1"):
        DependencyTrees(np.zeros((4, 4))).condition(**arcs)
    mapped = jax.vmap(lambda s: DependencyTrees(s).condition(**arcs).entropy())
    with pytest.raises(NoTreeError, match="include has the cycle 1 -> 2 -> 1"):
        mapped(np.zeros((2, 4, 4)))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("given", "answer"),
    [
        (jnp.bfloat16, jnp.float32),
        (jnp.float16, jnp.float32),
        (jnp.float32, jnp.float32),
        (jnp.float64, jnp.float64),
    ],
)
def test_answers_are_in_float32_unless_scores_are_in_float64(given, answer, way):
    scores = jnp.asarray(SCORES, given)
    exact = arborand.DependencyTrees(np.asarray(scores, np.float64), lengths=LENGTHS)

    def of(ask):
        return way(lambda s: ask(DependencyTrees(s, lengths=LENGTHS)))(scores)

    for ask in (lambda d: d.log_partition(), lambda d: d.entropy(), lambda d: d.arc_marginals()):
        found = of(ask)
        assert found.dtype == answer
        # Rounded once, from the right number.
        np.testing.assert_array_equal(found, ask(exact).astype(answer))
    gradient = way(jax.grad(lambda s: DependencyTrees(s, lengths=LENGTHS).log_partition().sum()))
    assert gradient(scores).dtype == given
    assert of(lambda d: d.sample_without_replacement(KEY, 2)).log_remaining.dtype == answer


def test_float32_is_the_default_without_x64():
    jax.config.update("jax_enable_x64", False)
    try:
        found = jax.jit(lambda s: DependencyTrees(s).entropy())(SCORES[0])
        draws = jax.jit(lambda s: DependencyTrees(s).sample_without_replacement(KEY, 2))(SCORES[0])
    finally:
        jax.config.update("jax_enable_x64", True)
    assert (found.dtype, draws.log_prob.dtype) == (jnp.float32, jnp.float32)
    np.testing.assert_allclose(found, arborand.DependencyTrees(SCORES[0]).entropy(), rtol=1e-6)


@pytest.mark.parametrize("x64", [False, True])
def test_integers_of_more_bits_do_not_wrap_around(x64):
    heads = np.array([-1, 2**32, 1])
    jax.config.update("jax_enable_x64", x64)
    try:
        d = DependencyTrees(np.zeros((3, 3)))
        with pytest.raises(InvalidTreeError, match=r"heads\[1\]"):
            d.log_prob(heads)
        with pytest.raises(InvalidTreeError, match=r"heads\[1\]"):
            d.log_prob(heads.tolist())
        with pytest.raises(InvalidTreeError, match=r"heads\[0\]"):
            d.log_prob(np.array([2**32 - 1, 0, 1], np.uint32))
        with pytest.raises(InvalidTreeError, match=r"heads\[1\]"):
            d.log_evidence(heads=heads)
        with pytest.raises(InvalidWeightsError, match="lengths"):
            DependencyTrees(np.zeros((3, 3)), lengths=2**32 + 1).entropy()
    finally:
        jax.config.update("jax_enable_x64", True)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", [(0,), (2, 0), (2, 1, 2)])
def test_batches_of_any_shape(shape, way):
    scores = np.broadcast_to(VALUES[0], (*shape, 6, 6))
    assert way(lambda s: DependencyTrees(s).log_partition())(scores).shape == shape
    gradient = jax.grad(lambda s: DependencyTrees(s).entropy().sum())
    assert way(gradient)(scores).shape == scores.shape
    assert way(lambda s: DependencyTrees(s).sample(KEY, (3,)))(scores).shape == (3, *shape, 6)
    draws = way(lambda s: DependencyTrees(s).sample_without_replacement(KEY, 3))(scores)
    assert draws.heads.shape == (3, *shape, 6)
    assert way(lambda s: DependencyTrees(s).best_trees(2).log_prob)(scores).shape == (2, *shape)
    assert way(lambda s: DependencyTrees(s).minimum_risk_tree())(scores).shape == (*shape, 6)
    assert way(lambda s: DependencyTrees(s).sample(KEY, (0,)))(scores).shape == (0, *shape, 6)
    assert jax.vmap(lambda s: DependencyTrees(s).sample(KEY))(scores).shape == (*shape, 6)


def test_the_orientation_can_be_given():
    turned = np.swapaxes(SCORES, -1, -2)
    found = DependencyTrees(turned, lengths=LENGTHS, orientation="dependent,head").arc_marginals()
    np.testing.assert_array_equal(found, DependencyTrees(SCORES, lengths=LENGTHS).arc_marginals())
    with pytest.raises(ValueError, match="orientation is 'columns'"):
        DependencyTrees(SCORES, orientation="columns")


# ---- pytrees


def test_distributions_are_frozen_pytrees():
    d = DependencyTrees(SCORES, lengths=LENGTHS, workers=2)
    leaves, structure = jax.tree.flatten(d)
    assert [leaf.shape for leaf in leaves] == [(3, 6, 6), (3,)]
    again = jax.tree.unflatten(structure, leaves)
    assert (type(again), again.workers) == (DependencyTrees, 2)
    assert len(jax.tree.leaves(SpanningTrees(SCORES))) == 1
    assert jax.tree.unflatten(structure, [None, None]).log_weights is None  # not looked at
    with pytest.raises(AttributeError, match="frozen"):
        d.log_weights = SCORES
    with pytest.raises(AttributeError, match="frozen"):
        del d.workers
    np.testing.assert_array_equal(jax.jit(lambda d: d.entropy())(d), d.entropy())
    by_graph = jax.vmap(lambda d: d.entropy())(d)
    np.testing.assert_array_equal(by_graph, d.entropy())
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(d)]
    assert paths[0] == ".log_weights"


def test_draws_and_best_trees_are_pytrees():
    d = DependencyTrees(SCORES, lengths=LENGTHS)
    draws = jax.tree.map(lambda leaf: leaf[:1], d.sample_without_replacement(KEY, 2))
    assert isinstance(draws, Draws)
    assert draws.heads.shape == (1, 3, 6)
    assert isinstance(jax.tree.map(lambda leaf: leaf, d.best_trees(2)), BestTrees)


def test_batches_can_be_indexed():
    d = DependencyTrees(SCORES, lengths=LENGTHS)
    assert (len(d), d.batch_shape, d[1].batch_shape) == (3, (3,), ())
    assert d[1].entropy() == d.entropy()[1]
    np.testing.assert_array_equal(d[::2].entropy(), d.entropy()[::2])
    np.testing.assert_array_equal(jax.jit(lambda d, i: d[i].entropy())(d, 1), d.entropy()[1])
    with pytest.raises(IndexError):
        d[0, 0]
    with pytest.raises(TypeError, match="a single graph cannot be indexed"):
        d[0][0]
    with pytest.raises(TypeError, match="a single graph has no length"):
        len(d[0])


def test_an_index_outside_the_batch_is_refused():
    d = DependencyTrees(VALUES, lengths=LENGTHS)
    for index in (3, -4, np.int64(7), (..., 3), np.array([0, 3]), jnp.array(3)):
        with pytest.raises(IndexError, match="out of bounds"):
            d[index]
        with pytest.raises(IndexError, match="out of bounds"):
            LabelledTrees(np.zeros((3, 4, 4, 2)))[index]


def test_a_batch_is_a_sequence_of_graphs():
    d = DependencyTrees(VALUES, lengths=LENGTHS)
    assert [int(one.lengths) for one in d] == LENGTHS.tolist()
    assert len(list(LabelledTrees(np.zeros((3, 4, 4, 2))))) == 3
    total = jax.jit(lambda d: sum(one.log_partition() for one in d))(d)
    np.testing.assert_allclose(total, d.log_partition().sum(), rtol=1e-14)


def test_what_it_says_of_itself():
    assert repr(DependencyTrees(SCORES[0])) == "DependencyTrees(5 words)"
    padded = SpanningTrees(SCORES, lengths=LENGTHS)
    assert repr(padded) == "SpanningTrees(batch of shape (3,), up to 5 words)"
    assert repr(SpanningTrees(np.zeros((2, 2)))) == "SpanningTrees(1 word)"


def test_indicators_of_arcs():
    assert arc_indicators(np.array([-1, 2, 0])).tolist() == [[0, 0, 1], [0, 0, 0], [0, 1, 0]]
    assert arc_indicators(np.array([-1, 0]), dtype=jnp.int32).dtype == jnp.int32


# ---- errors that need no look at values: raised where the mistake is, compiled or not

PAIR = DependencyTrees(SCORES, lengths=LENGTHS)
MISTAKES = [
    (lambda: DependencyTrees(np.zeros((3, 4))), InvalidWeightsError, r"has shape \(3, 4\)"),
    (lambda: DependencyTrees(np.zeros((1, 1))), InvalidWeightsError, "at least one word"),
    (lambda: DependencyTrees(np.zeros((3, 3), complex)), TypeError, "dtype is complex128"),
    (lambda: DependencyTrees(SCORES, lengths=[5.0, 3, 1]), TypeError, "lengths must be integers"),
    (lambda: DependencyTrees(SCORES, lengths=[5]), InvalidWeightsError, r"lengths has shape \(1,"),
    (lambda: DependencyTrees(SCORES, workers=0), ValueError, "workers is 0"),
    (lambda: DependencyTrees(SCORES, length=LENGTHS), TypeError, "lengths"),
    (lambda: PAIR.log_prob(np.zeros((3, 6))), TypeError, "heads must be integers"),
    (lambda: PAIR.log_prob(np.zeros((3, 5), int)), InvalidTreeError, r"expected \(..., 3, 6\)"),
    (lambda: PAIR.kl_divergence(PAIR[0]), ValueError, r"have shape \(6, 6\): expected \(3, 6, 6"),
    (lambda: PAIR.kl_divergence(SCORES), TypeError, "distribution of arborand.jax, not ndarray"),
    (lambda: PAIR.expectation(VALUES[0]), ValueError, r"arc_values has shape \(6, 6\): expected"),
    (
        lambda: PAIR.covariance(*(jnp.stack([VALUES] * n, -1) for n in (2, 3))),
        ValueError,
        "other has shape .* whose axes after those of the arcs do not fit",
    ),
    (lambda: PAIR.expectation(1j * VALUES), TypeError, "arc_values must hold real numbers"),
    (lambda: PAIR.arc_covariances(VALUES[..., None]), ValueError, "direction has shape"),
    (lambda: PAIR.condition(allowed=VALUES), TypeError, "allowed must be an array of bool"),
    (lambda: PAIR.condition(allowed=VALUES[0] > 0), ValueError, "^allowed has shape"),
    (lambda: PAIR.condition(heads=HEADS[0]), InvalidTreeError, "^heads has shape"),
    (lambda: PAIR.condition(heads=VALUES[..., 0]), TypeError, "^heads must be integers"),
    (lambda: PAIR.sample(KEY, (2,), method="willson"), ValueError, "did you mean|willson"),
    (lambda: PAIR.sample(KEY, (-1,)), ValueError, "shape is -1"),
    (lambda: PAIR.sample_without_replacement(KEY, -1), ValueError, "k is -1"),
    (lambda: PAIR.best_trees(2.0), TypeError, "k must be"),
    (lambda: PAIR.renyi_entropy(-1), ValueError, "order is -1"),
    (lambda: PAIR.sample(3), TypeError, "key"),
]


@pytest.mark.parametrize(("call", "error", "message"), MISTAKES)
def test_mistakes_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


# ---- errors on values: the gate's own when called as it is, its sentence when compiled


def wrong(**entries):
    scores = np.array(np.random.default_rng(5).normal(size=(3, 6, 6)))
    for value, place in entries.values():
        scores[place] = value
    return scores


def evidence(scores):
    return DependencyTrees(scores).condition(heads=jnp.full((3, 6), -1).at[2, 1].set(7))


VALUE_MISTAKES = {
    "nan": (
        wrong(a=(np.nan, (1, 2, 3))),
        lambda s: DependencyTrees(s).log_partition(),
        InvalidWeightsError,
        r"log_weights\[1, 2, 3\] is nan, on the arc 2 -> 3: every arc needs a finite score",
    ),
    "inf": (
        wrong(a=(np.inf, (2, 0, 3))),
        lambda s: DependencyTrees(s).arc_marginals(),
        InvalidWeightsError,
        r"log_weights\[2, 0, 3\] is inf",
    ),
    "no tree": (
        wrong(a=(-np.inf, (2, slice(None), 4))),
        lambda s: SpanningTrees(s).entropy(),
        NoTreeError,
        r"in batch item \[2\] has no spanning tree: the root \(node 0\) cannot reach node 4",
    ),
    "no single root": (
        wrong(a=(-np.inf, (0, slice(1, None), slice(None)))),
        lambda s: DependencyTrees(s).sample(KEY),
        NoTreeError,
        r"in batch item \[0\] has spanning trees, but no dependency tree",
    ),
    "lengths": (
        wrong(),
        lambda s: DependencyTrees(s, lengths=jnp.array([5, 6, 1])).log_partition(),
        InvalidWeightsError,
        r"lengths\[1\] is 6: a graph padded to 6 nodes has 1 to 5 words",
    ),
    "a direction": (
        wrong(),
        lambda s: DependencyTrees(s).arc_covariances(s.at[1, 2, 3].set(jnp.nan)),
        ValueError,
        r"direction\[1, 2, 3\] is nan, on the arc 2 -> 3",
    ),
    "heads": (
        wrong(),
        lambda s: DependencyTrees(s).log_prob(jnp.array([[-1, 0, 1, 1, 5, 4]] * 3)),
        InvalidTreeError,
        r"heads\[0\] is not a tree: it has the cycle 4 -> 5 -> 4",
    ),
    "values": (
        wrong(),
        lambda s: DependencyTrees(s).expectation(s.at[1, 2, 3].set(jnp.nan)),
        ValueError,
        r"arc_values\[1, 2, 3\] is nan, on an arc of some tree",
    ),
    "a condition": (wrong(), evidence, InvalidTreeError, r"heads\[2, 1\] is 7"),
    "an infinite divergence": (
        wrong(),
        lambda s: jax.grad(
            lambda s: DependencyTrees(s).kl_divergence(DependencyTrees(
                jnp.asarray(OTHER).at[1, 2, 3].set(-jnp.inf))).sum()
        )(s),
        ValueError,
        r"kl_divergence\[1\] is infinite, and has no derivative",
    ),
    "best trees": (
        wrong(a=(np.nan, (1, 2, 3))),
        lambda s: DependencyTrees(s).best_trees(2),
        InvalidWeightsError,
        r"log_weights\[1, 2, 3\] is nan",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUE_MISTAKES)
def test_errors_on_values_have_one_sentence(name):
    scores, function, error, message = VALUE_MISTAKES[name]
    with pytest.raises(error, match=message):
        jax.block_until_ready(function(jnp.asarray(scores)))
    with pytest.raises(jax.errors.JaxRuntimeError, match=f"{error.__name__}: .*{message}"):
        jax.block_until_ready(jax.jit(function)(jnp.asarray(scores)))


def test_errors_of_mapped_calls_name_the_graph():
    scores = wrong(a=(np.nan, (1, 2, 3)))
    mapped = jax.vmap(lambda s: DependencyTrees(s).entropy())
    with pytest.raises(InvalidWeightsError, match=r"log_weights\[1, 2, 3\] is nan"):
        mapped(scores)
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"log_weights\[1, 2, 3\] is nan"):
        jax.block_until_ready(jax.jit(mapped)(scores))
