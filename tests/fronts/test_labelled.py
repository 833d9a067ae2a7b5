"""Labelled trees of the fronts: values are those of arborand, gradients those of differences."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import arborand
import arborand.jax
import arborand.torch
from tests.kinds import trees_of

jax.config.update("jax_enable_x64", True)


class Torch:
    """Functions of torch, for arrays in and out."""

    name = "torch"
    module = arborand.torch
    array = staticmethod(lambda values: torch.tensor(np.asarray(values)))
    to_numpy = staticmethod(lambda value: value.detach().numpy())
    where = staticmethod(torch.where)
    log_sum_exp = staticmethod(lambda values: values.logsumexp(-1))
    is_tree = staticmethod(lambda rows: rows.mask)
    integers = np.int64

    @staticmethod
    def gradient(function, scores):
        given = torch.tensor(scores, requires_grad=True)
        function(given).sum().backward()
        return given.grad.numpy()

    @staticmethod
    def draw(d, method, *arguments):
        return getattr(d, method)(*arguments, generator=torch.Generator().manual_seed(0))


class Jax:
    """Functions of JAX, for arrays in and out."""

    name = "jax"
    module = arborand.jax
    array = staticmethod(jnp.asarray)
    to_numpy = staticmethod(np.asarray)
    where = staticmethod(jnp.where)
    log_sum_exp = staticmethod(lambda values: jax.nn.logsumexp(values, -1))
    is_tree = staticmethod(
        lambda rows: rows.is_drawn if hasattr(rows, "is_drawn") else rows.is_found
    )
    integers = np.int32

    @staticmethod
    def gradient(function, scores):
        return np.asarray(jax.jit(jax.grad(lambda x: function(x).sum()))(jnp.asarray(scores)))

    @staticmethod
    def draw(d, method, *arguments):
        return getattr(d, method)(jax.random.key(0), *arguments)


FRONTS = pytest.mark.parametrize("front", [Torch, Jax], ids=lambda front: front.name)
KINDS = pytest.mark.parametrize(
    "kind",
    [
        "SpanningTrees",
        "DependencyTrees",
        "ProjectiveSpanningTrees",
        "ProjectiveDependencyTrees",
    ],
)
LENGTHS = [4, 2, 3]


def scores_of(seed=0):
    """Draw scores of a padded batch, with labels and an arc that are missing, and junk."""
    scores = np.random.default_rng(seed).normal(size=(3, 5, 5, 3))
    scores[0, 1, 2] = -np.inf
    scores[:, 2, 1, 0] = -np.inf
    scores[:, :, 0] = np.nan
    scores[1, :, 3:] = np.inf
    return scores


def both(front, kind, scores=None, **options):
    """Make the same distribution twice: of arborand, and of a front."""
    scores = scores_of() if scores is None else scores
    ours = arborand.LabelledTrees(scores, kind=getattr(arborand, kind), lengths=LENGTHS, **options)
    lengths = front.array(LENGTHS)
    theirs = front.module.LabelledTrees(
        front.array(scores), kind=getattr(front.module, kind), lengths=lengths, **options
    )
    return ours, theirs


def from_trees(front, kind):
    scores = np.nan_to_num(scores_of(), nan=0.0, posinf=0.0, neginf=-np.inf)
    scores[0, 1, 2] = 0.5
    arcs = np.random.default_rng(9).normal(size=(3, 5, 5))
    ours = arborand.LabelledTrees.from_trees(
        getattr(arborand, kind)(arcs, lengths=LENGTHS), scores, labels=list("abc")
    )
    theirs = front.module.LabelledTrees.from_trees(
        getattr(front.module, kind)(front.array(arcs), lengths=front.array(LENGTHS)),
        front.array(scores),
        labels=list("abc"),
    )
    return ours, theirs


def same(front, found, expected, rtol=1e-11):
    np.testing.assert_allclose(front.to_numpy(found), expected, rtol=rtol, atol=1e-13)


@FRONTS
@KINDS
@pytest.mark.parametrize("maker", [both, from_trees])
def test_answers_are_those_of_arborand(front, kind, maker):
    ours, theirs = maker(front, kind)
    values, other = np.random.default_rng(1).normal(size=(2, 3, 5, 5, 3))
    for name in ("log_partition", "label_marginals", "arc_marginals", "root_marginals", "entropy"):
        same(front, getattr(theirs, name)(), getattr(ours, name)())
    same(front, theirs.expectation(front.array(values)), ours.expectation(values))
    same(front, theirs.variance(front.array(values)), ours.variance(values))
    pair = [front.array(values), front.array(other)]
    same(front, theirs.covariance(*pair), ours.covariance(values, other))
    heads, labels = ours.sample((4, 2), rng=0)
    given = (front.array(heads), front.array(labels))
    same(front, theirs.log_prob(*given), ours.log_prob(heads, labels))
    assert theirs.num_labels == 3
    assert theirs.labels == ours.labels
    assert repr(theirs).startswith(f"LabelledTrees({kind}, ")


@FRONTS
@KINDS
def test_divergences(front, kind):
    complete = np.random.default_rng(3).normal(size=(2, 3, 5, 5, 3))
    ours, theirs = both(front, kind, complete[0])
    our_other, their_other = both(front, kind, complete[1])
    same(front, theirs.kl_divergence(their_other), ours.kl_divergence(our_other))
    same(front, theirs.cross_entropy(their_other), ours.cross_entropy(our_other))


@FRONTS
@KINDS
@pytest.mark.parametrize("maker", [both, from_trees])
def test_conditions(front, kind, maker):
    ours, theirs = maker(front, kind)
    heads, labels = ours.sample(rng=1)
    allowed = np.ones((3, 5, 5, 3), bool)
    allowed[:, 0, :, 2] = False
    for graph, word in np.argwhere(heads >= 0):  # so that this one meets the condition
        allowed[graph, heads[graph, word], word, labels[graph, word]] = True
    heads[:, 2:] = -1
    labels[:, [0, 1, 3, 4]] = -1
    asked = {"heads": heads, "labels": labels, "allowed": allowed}
    given = {name: front.array(value) for name, value in asked.items()}
    ours_met, theirs_met = ours.condition(**asked), theirs.condition(**given)
    same(front, theirs_met.label_marginals(), ours_met.label_marginals())
    same(front, theirs_met.log_partition(), ours_met.log_partition())
    same(front, theirs.log_evidence(**given), ours.log_evidence(**asked))
    for found, expected in zip(theirs_met.best_tree(), ours_met.best_tree(), strict=True):
        np.testing.assert_array_equal(front.to_numpy(found), expected)


@FRONTS
@KINDS
@pytest.mark.parametrize("maker", [both, from_trees])
def test_trees_that_are_drawn_and_found(front, kind, maker):
    ours, theirs = maker(front, kind)
    for name in ("best_tree", "minimum_risk_tree"):
        for found, expected in zip(getattr(theirs, name)(), getattr(ours, name)(), strict=True):
            np.testing.assert_array_equal(front.to_numpy(found), expected)
    heads, labels = front.draw(theirs, "sample", (2000,))
    alone = front.draw(theirs.trees, "sample", (2000,))
    np.testing.assert_array_equal(front.to_numpy(heads), front.to_numpy(alone))
    # How often a labelled arc was drawn: within 6 standard deviations.
    expected = ours.label_marginals()
    heads, labels = front.to_numpy(heads), front.to_numpy(labels)
    for graph, head, word, label in np.argwhere(expected > 0):
        drawn = (heads[:, graph, word] == head) & (labels[:, graph, word] == label)
        p = expected[graph, head, word, label]
        assert abs(drawn.mean() - p) <= 6 * (p * (1 - p) / 2000) ** 0.5


@FRONTS
@KINDS
@pytest.mark.parametrize("maker", [both, from_trees])
def test_rows_of_trees(front, kind, maker):
    ours, theirs = maker(front, kind)
    expected, found = ours.best_trees(30), theirs.best_trees(30)
    drawn = front.draw(theirs, "sample_without_replacement", 30)
    count = [int(one) for one in expected.num_found]
    assert min(count) < max(count) == 30  # the graph of two words has fewer
    is_tree = np.arange(30)[:, None] < count
    for rows, num_rows, mask in (
        (found, found.num_found, front.is_tree(found)),
        (drawn, drawn.num_drawn, front.is_tree(drawn)),
    ):
        heads, labels = front.to_numpy(rows.heads), front.to_numpy(rows.labels)
        assert (heads.dtype, labels.dtype) == (front.integers, front.integers)
        np.testing.assert_array_equal(front.to_numpy(num_rows), count)
        np.testing.assert_array_equal(front.to_numpy(rows.exhausted), np.array(count) < 30)
        np.testing.assert_array_equal(front.to_numpy(mask), is_tree)
        assert (heads[~is_tree] == -1).all()
        assert (labels[~is_tree] == -1).all()
        trees = [
            np.where(is_tree[..., None], *pair)
            for pair in zip((heads, labels), (expected.heads[0], expected.labels[0]), strict=True)
        ]
        log_prob = np.where(is_tree, ours.log_prob(*trees), -np.inf)
        same(front, rows.log_prob, log_prob)
        same(front, theirs.log_prob(rows.heads, rows.labels), log_prob)
        for graph in range(3):
            pairs = np.concatenate([heads[:, graph], labels[:, graph]], axis=-1)
            assert len(np.unique(pairs[: count[graph]], axis=0)) == count[graph]
    np.testing.assert_array_equal(front.to_numpy(found.heads), expected.heads)
    np.testing.assert_array_equal(front.to_numpy(found.labels), expected.labels)
    # What remains before a draw is what was not drawn; perturbed log-probabilities decrease.
    before = np.exp(front.to_numpy(drawn.log_prob)).cumsum(axis=0)[:-1]
    remaining, perturbed = map(front.to_numpy, (drawn.log_remaining, drawn.perturbed_log_prob))
    np.testing.assert_allclose(
        np.exp(remaining), np.where(is_tree, [np.ones(3), *(1 - before)], 0), atol=1e-11
    )
    assert (perturbed[1:] < perturbed[:-1])[is_tree[1:]].all()
    np.testing.assert_array_equal(perturbed == -np.inf, ~is_tree)


@FRONTS
@pytest.mark.parametrize("maker", [both, from_trees])
def test_graphs_are_taken_out_of_a_batch(front, maker):
    ours, theirs = maker(front, "DependencyTrees")
    for index in (1, slice(2, None), np.array([2, 0]), -1):
        mine, one = ours[index], theirs[index]
        assert one.batch_shape == mine.batch_shape
        assert np.array_equal(one.lengths, mine.lengths)
        np.testing.assert_allclose(front.to_numpy(one.log_partition()), mine.log_partition(), 1e-13)
        np.testing.assert_allclose(
            front.to_numpy(one.label_marginals()), mine.label_marginals(), 1e-12, 1e-300
        )
        assert np.array_equal(one.best_tree()[1], mine.best_tree()[1])
    whole = theirs.condition(allowed=front.array(np.ones((3, 5, 5, 3), bool)))
    same(front, whole[1:].log_partition(), ours[1:].log_partition())
    with pytest.raises(TypeError, match="a single graph cannot be indexed"):
        theirs[0][0]


@FRONTS
def test_jax_has_as_many_rows_as_asked_for_and_torch_as_there_are(front):
    d = front.module.LabelledTrees(front.array(np.zeros((3, 3, 2))))
    for rows in (d.best_trees(10), front.draw(d, "sample_without_replacement", 10)):
        assert bool(rows.exhausted)
        heads, labels, log_prob = map(front.to_numpy, (rows.heads, rows.labels, rows.log_prob))
        assert len(heads) == len(labels) == len(log_prob) == (10 if front is Jax else 8)
        np.testing.assert_allclose(log_prob[:8], -np.log(8), rtol=1e-12)
        assert (heads[8:] == -1).all()
        assert (labels[8:] == -1).all()
        assert (log_prob[8:] == -np.inf).all()


class Law:
    """Every labelled tree of each graph, with its probability as a function of the scores."""

    def __init__(self, kind, scores):
        self.scores, self.listed = scores, []
        for graph, num_words in enumerate(LENGTHS):
            size = num_words + 1
            of_graph = scores[graph, :size, :size]
            arcs = np.where(np.eye(size, dtype=bool), -np.inf, of_graph.max(axis=-1))
            arcs[:, 0] = -np.inf
            for heads in trees_of(getattr(arborand, kind), arcs):
                rows = [np.flatnonzero(of_graph[heads[j], j] > -np.inf) for j in range(1, size)]
                for labels in itertools.product(*rows):
                    self.listed.append((graph, heads, (-1, *labels)))

    def log_sum(self, is_met=lambda *_: True):
        """Add up the weights of what meets a condition: logarithms, and their gradients."""
        values, gradient = np.full(len(LENGTHS), -np.inf), np.zeros(self.scores.shape)
        weights = []
        for graph, heads, labels in self.listed:
            arcs = graph, heads[1:], range(1, len(heads)), labels[1:]
            met = is_met(graph, heads, labels)
            weights.append((self.scores[arcs].sum() if met else -np.inf, arcs))
            values[graph] = np.logaddexp(values[graph], weights[-1][0])
        for log_weight, arcs in weights:
            if log_weight > -np.inf:
                gradient[arcs] += np.exp(log_weight - values[arcs[0]])
        return values, gradient


@FRONTS
@KINDS
@pytest.mark.parametrize("separate", [False, True])
def test_evidence_by_enumeration(front, kind, separate):
    # Graph 0 cannot meet the condition on heads, graph 1 not the one on labels; graph 2 meets all.
    scores = scores_of()
    scores[1, :, 1, 2] = -np.inf
    heads, labels = np.full((2, 3, 5), -1)
    heads[0, [1, 2]] = 2, 1
    labels[1, 1], labels[2, [1, 3]] = 2, (1, 0)
    allowed = np.ones(scores.shape, bool)
    allowed[2, :, 2, 1] = allowed[2, 0, 3] = False
    given = [front.array(one) for one in (heads, labels, allowed)]
    lengths = front.array(LENGTHS)

    def evidence(x):
        if separate:
            kept = np.isfinite(scores)
            x = front.where(front.array(kept), x, -np.inf)
            of_arcs = front.log_sum_exp(front.where(front.array(kept), x, -1e9))
            trees = getattr(front.module, kind)(
                front.where(front.array(kept.any(-1)), of_arcs, -np.inf), lengths=lengths
            )
            d = front.module.LabelledTrees.from_trees(trees, x)
        else:
            d = front.module.LabelledTrees(x, kind=getattr(front.module, kind), lengths=lengths)
        return d.log_evidence(heads=given[0], labels=given[1], allowed=given[2])

    def is_met(graph, tree, chosen):
        return all(
            heads[graph, j] in (-1, tree[j])
            and labels[graph, j] in (-1, chosen[j])
            and allowed[graph, tree[j], j, chosen[j]]
            for j in range(1, len(tree))
        )

    law = Law(kind, scores)
    (values, gradient), (met, met_gradient) = law.log_sum(), law.log_sum(is_met)
    same(front, evidence(front.array(scores)), met - values)
    assert met[0] == met[1] == -np.inf < met[2]
    # What is impossible adds nothing to the gradient.
    expected = np.where((met > -np.inf)[:, None, None, None], met_gradient - gradient, 0.0)
    found = front.gradient(
        lambda x: front.where(front.array(met > -np.inf), evidence(x), 0.0), scores
    )
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    plain = front.gradient(evidence, scores)
    np.testing.assert_array_equal(plain[:2], 0)


@FRONTS
@KINDS
def test_impossible_trees_add_nothing_to_gradients(front, kind):
    scores, lengths = scores_of(), front.array(LENGTHS)
    ours, _ = both(front, kind)
    best = ours.best_tree()
    rows = [np.stack([one, one, np.full_like(one, -1)]) for one in best]
    rows[0][1, 0, 1:], rows[1][1, 0, 1:] = [2, 0, 2, 3], [0, 1, 1, 1]  # 2 -> 1 has no label 0
    assert ours.log_prob(rows[0][1], rows[1][1])[0] == -np.inf
    tree = [front.array(one) for one in rows]

    def log_prob(x):
        d = front.module.LabelledTrees(x, kind=getattr(front.module, kind), lengths=lengths)
        return d.log_prob(*tree)

    found = front.to_numpy(log_prob(front.array(scores)))
    np.testing.assert_allclose(found[0], ours.log_prob(*best), rtol=1e-11)
    assert found[1, 0] == -np.inf
    assert (found[2] == -np.inf).all()
    chosen = np.zeros((3, 3))
    chosen[1, 0] = chosen[2] = 1.0
    gradient = front.gradient(lambda x: log_prob(x) * front.array(chosen), scores)
    np.testing.assert_array_equal(gradient, 0)
    # With possible ones beside them, theirs remains: the indicator less the marginals.
    gradient = front.gradient(log_prob, scores)
    indicator = np.zeros(scores.shape)
    for graph, word in np.argwhere(best[0] >= 0):
        indicator[graph, best[0][graph, word], word, best[1][graph, word]] = 1
    times = np.array([1, 2, 2])[:, None, None, None]
    np.testing.assert_allclose(
        gradient, times * (indicator - ours.label_marginals()), rtol=1e-9, atol=1e-12
    )


@FRONTS
@KINDS
def test_gradients(front, kind):
    scores = scores_of()
    ours, _ = both(front, kind)
    heads, labels = ours.sample(rng=0)
    values = np.random.default_rng(2).normal(size=scores.shape)
    tree = (front.array(heads), front.array(labels))
    questions = {
        "log_partition": lambda d: d.log_partition(),
        "log_prob": lambda d: d.log_prob(*tree),
        "entropy": lambda d: d.entropy(),
        "expectation": lambda d: d.expectation(front.array(values)),
        "log_evidence": lambda d: d.log_evidence(labels=front.array(np.where(labels == 1, 1, -1))),
    }
    lengths = front.array(LENGTHS)

    def asked(name):
        def function(given):
            maker = front.module.LabelledTrees
            kind_of_front = getattr(front.module, kind)
            return questions[name](maker(given, kind=kind_of_front, lengths=lengths))

        return function

    found = front.gradient(asked("log_partition"), scores)
    np.testing.assert_allclose(found, ours.label_marginals(), rtol=1e-10, atol=1e-13)
    is_read = ours.log_weights > -np.inf
    rng = np.random.default_rng(4)
    for name in questions:
        function = asked(name)
        gradient = front.gradient(function, scores)
        assert np.isfinite(gradient).all(), name
        assert (gradient[~is_read] == 0).all(), name
        for index in rng.permutation(np.argwhere(is_read))[:12]:
            step = np.zeros_like(scores)
            step[tuple(index)] = 1e-5
            high, low = (
                front.to_numpy(function(front.array(scores + sign * step))).sum()
                for sign in (1, -1)
            )
            difference = (high - low) / 2e-5
            assert abs(gradient[tuple(index)] - difference) < 2e-6, (name, index)


@FRONTS
def test_gradients_of_separate_scores(front):
    arcs, scores = np.random.default_rng(0).normal(size=(4, 4)), scores_of()[0, :4, :4]
    scores = np.where(np.isfinite(scores), scores, 0.0)
    heads, labels = [-1, 2, 0, 2], [-1, 1, 0, 2]

    def loss(given):
        trees = front.module.DependencyTrees(front.array(arcs))
        d = front.module.LabelledTrees.from_trees(trees, given)
        return d.log_prob(front.array(heads), front.array(labels))

    gradient = front.gradient(loss, scores)
    chances = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    expected = np.zeros_like(scores)
    for j in (1, 2, 3):
        expected[heads[j], j] = -chances[heads[j], j]
        expected[heads[j], j, labels[j]] += 1
    np.testing.assert_allclose(gradient, expected, rtol=1e-12, atol=1e-15)


@FRONTS
def test_float32_scores_give_float32_answers(front):
    scores = scores_of().astype(np.float32)
    ours, theirs = both(front, "DependencyTrees", scores)
    assert front.to_numpy(theirs.log_partition()).dtype == np.float32
    same(front, theirs.label_marginals(), ours.label_marginals(), rtol=2e-5)


@FRONTS
def test_short_floats_are_summed_in_float32(front):
    scores = np.random.default_rng(0).normal(size=(4, 4, 50)).astype(np.float16)
    theirs = front.module.LabelledTrees(front.array(scores))
    expected = arborand.LabelledTrees(scores.astype(np.float64))
    assert front.to_numpy(theirs.entropy()).dtype == np.float32
    same(front, theirs.label_marginals(), expected.label_marginals(), rtol=2e-5)


def test_jax_distinct_draws_have_gradients():
    scores = jnp.asarray(np.random.default_rng(0).normal(size=(3, 3, 2)))

    def log_prob_of_drawn(x):
        draws = arborand.jax.LabelledTrees(x).sample_without_replacement(jax.random.key(0), 3)
        best = arborand.jax.LabelledTrees(x).best_trees(2)
        return draws.log_prob.sum() + best.log_prob.sum()

    def of_the_same(x):
        d, fixed = arborand.jax.LabelledTrees(x), arborand.jax.LabelledTrees(scores)
        draws = fixed.sample_without_replacement(jax.random.key(0), 3)
        best = fixed.best_trees(2)
        of_draws = d.log_prob(draws.heads, draws.labels)
        return of_draws.sum() + d.log_prob(best.heads, best.labels).sum()

    found = jax.jit(jax.grad(log_prob_of_drawn))(scores)
    np.testing.assert_allclose(found, jax.grad(of_the_same)(scores), rtol=1e-12, atol=1e-14)
    assert np.abs(found).max() > 0.1


def test_jax_compiles_and_maps():
    scores = jnp.asarray(np.random.default_rng(0).normal(size=(3, 4, 4, 2)))

    @jax.jit
    def questions(given):
        d = arborand.jax.LabelledTrees(given)
        drawn = d.sample_without_replacement(jax.random.key(2), 40)
        return d.entropy(), d.best_tree(), d.sample(jax.random.key(1), (2,)), drawn, d.best_trees(3)

    together = jax.vmap(questions)(scores)
    for i in range(3):
        alone = questions(scores[i])
        jax.tree.map(
            lambda x, y, i=i: np.testing.assert_allclose(x[i], y, rtol=1e-12), together, alone
        )


@FRONTS
def test_errors(front):
    zeros = front.array(np.zeros((3, 3, 2)))
    maker = front.module.LabelledTrees
    with pytest.raises(arborand.InvalidWeightsError, match=r"shape \(3, 3\): expected"):
        maker(front.array(np.zeros((3, 3))))
    with pytest.raises(ValueError, match="labels has 1 names, but the scores have 2"):
        maker(zeros, labels=["a"])
    with pytest.raises(TypeError, match="kind must be a class of arborand"):
        maker(zeros, kind=arborand.DependencyTrees)
    with pytest.raises(TypeError, match="trees must be a distribution of arborand"):
        maker.from_trees(arborand.DependencyTrees(np.zeros((3, 3))), zeros)
    with pytest.raises(ValueError, match="orientation is 'x'"):
        maker(zeros, orientation="x")
    with pytest.raises(
        arborand.InvalidWeightsError, match=r"\(4, 4, 2\): expected .*, \(3, 3\), plus"
    ):
        maker.from_trees(maker(zeros).trees, front.array(np.zeros((4, 4, 2))))
    scores = np.zeros((3, 3, 2))
    scores[2, 1] = -np.inf
    with pytest.raises(ValueError, match=r"score in label_log_weights\[2, 1\] is not finite"):
        maker.from_trees(maker(zeros).trees, front.array(scores))


@FRONTS
def test_labels_that_do_not_exist_are_refused(front):
    d = front.module.LabelledTrees(front.array(np.zeros((3, 3, 2))))
    heads, open_heads = front.array([-1, 0, 1]), front.array([-1, -1, -1])
    for labels in ([-1, 0, 2], [-1, 0, -1], [-1, 0, -9], [0, 0, 0]):
        with pytest.raises(ValueError, match=r"labels\[\d\] is not a label: .* are 0 to 1"):
            d.log_prob(heads, front.array(labels))
    for labels in ([-1, 0, 2], [-1, 0, -2], [0, 0, 0]):
        with pytest.raises(ValueError, match=r"labels\[\d\] is not a label: .* are -1 to 1"):
            d.log_evidence(heads=open_heads, labels=front.array(labels))
    with pytest.raises(arborand.InvalidTreeError, match="expected the shape of heads"):
        d.log_prob(heads, front.array([-1, 0]))


@FRONTS
def test_heads_that_are_not_trees_are_called_heads(front):
    d = front.module.LabelledTrees(front.array(np.zeros((3, 3, 2))))
    labels = front.array([-1, 0, 0])
    for heads in ([-1, 2, 1], [-1, 0, 5], [-1, 0, -1]):
        with pytest.raises(ValueError, match=r"\bheads\b"):
            d.log_prob(front.array(heads), labels)
    with pytest.raises(ValueError, match=r"^heads .*shape"):
        d.log_prob(front.array([-1, 0]), labels[:2])


@FRONTS
def test_the_biased_method_warns_where_it_is_called(front):
    d = front.module.LabelledTrees(front.array(np.zeros((3, 3, 2))))
    given = () if front is Torch else (jax.random.key(0),)
    for distribution in (d, d.trees):
        with pytest.warns(arborand.BiasedSamplerWarning) as caught:
            distribution.sample(*given, method="wilson_rc")
        assert [warning.filename for warning in caught] == [__file__]


@FRONTS
def test_no_labelled_trees_can_be_asked_for(front):
    d = front.module.LabelledTrees(front.array(np.zeros((2, 3, 3, 2))))
    for rows in (d.best_trees(0), front.draw(d, "sample_without_replacement", 0)):
        assert rows.heads.shape == rows.labels.shape == (0, 2, 3)


@FRONTS
def test_other_labels_cannot_be_compared(front):
    d = front.module.LabelledTrees(front.array(np.zeros((3, 3, 2))), labels=["a", "b"])
    for other in (
        front.module.LabelledTrees(front.array(np.zeros((3, 3, 2))), labels=["b", "a"]),
        front.module.LabelledTrees(front.array(np.zeros((3, 3, 1)))),
    ):
        with pytest.raises(ValueError, match="other differs from this distribution"):
            d.kl_divergence(other)
    with pytest.raises(TypeError, match="other must be LabelledTrees, not DependencyTrees"):
        d.cross_entropy(d.trees)


@FRONTS
def test_a_condition_that_nothing_meets_leaves_no_tree(front):
    d = front.module.LabelledTrees(front.array(np.zeros((3, 3, 2))))
    with pytest.raises(arborand.NoTreeError, match="no tree is left"):
        d.condition(heads=front.array([-1, 2, 1]))


@FRONTS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("common", [1e6, -1e4, 1e30])
def test_common_scores_of_words_cost_conditions_no_digits(front, dtype, common):
    rng = np.random.default_rng(6)
    own, scores = rng.normal(size=(3, 3)), rng.normal(size=(3, 3, 2)).astype(dtype)
    large = np.full((3, 3), common, dtype)
    large[:, 2] *= -2
    large[:, 0] = np.nan  # ignored
    labels = front.array([-1, 0, -1])
    chance = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    for arcs, of_arcs in ((large, np.zeros((3, 3))), (own.astype(dtype), own)):
        kind = front.module.SpanningTrees
        d = front.module.LabelledTrees.from_trees(kind(front.array(arcs)), front.array(scores))
        trees = [(0, 0), (0, 1), (2, 0)]  # the heads of words 1 and 2
        prior = np.exp([of_arcs[h, 1] + of_arcs[k, 2] for h, k in trees])
        both = prior / prior.sum() * [chance[h, 1, 0] for h, _ in trees]
        rtol = 1e-5 if dtype == np.float32 else 1e-12
        same(front, d.log_evidence(labels=labels), np.log(both.sum()), rtol)
        conditioned = d.condition(labels=labels)
        expected = [both[0] + both[1], 0, both[2]] / both.sum()
        same(front, conditioned.arc_marginals()[:, 1], expected, rtol)
        if arcs is not large:
            gained = conditioned.log_partition() - d.log_partition()
            same(front, gained, np.log(both.sum()), rtol)
        assert -1e-6 < d.log_evidence(labels=front.array([-1, -1, -1])) <= 0.0


@FRONTS
@KINDS
def test_divergences_by_enumeration(front, kind):
    # Labels that only one of the two allows, or with a probability that underflows.
    rng = np.random.default_rng(8)
    p, q = rng.normal(size=(2, 3, 4, 4, 3))
    p[0, :, 1:, 0] = q[1, :, 1:, 2] = -np.inf
    p[1, :, 1:, 2] = -np.inf
    p[2, 0, 1, 1] = -1000.0

    def made(scores):
        return front.module.LabelledTrees(scores, kind=getattr(front.module, kind))

    def divergence(pair):
        return made(pair[0]).kl_divergence(made(pair[1]))

    expected, gradient = np.zeros(3), np.zeros((2, *p.shape))
    for graph in range(3):
        trees = [
            (np.array(heads)[1:], np.arange(1, 4), np.array(labels))
            for heads in trees_of(getattr(arborand, kind), np.zeros((4, 4)))
            for labels in itertools.product(range(3), repeat=3)
        ]
        sums = np.array([[one[graph][tree].sum() for tree in trees] for one in (p, q)])
        log_p, log_q = sums - np.logaddexp.reduce(sums, axis=1, keepdims=True)
        is_read = log_p > -np.inf
        chances = np.exp(log_p)
        gap = np.where(is_read, log_p, 0) - np.where(is_read, log_q, 0)
        expected[graph] = (chances * gap).sum()
        for tree, p_tree, q_tree, log_ratio in zip(trees, chances, np.exp(log_q), gap, strict=True):
            gradient[(0, graph, *tree)] += p_tree * (log_ratio - expected[graph])
            gradient[(1, graph, *tree)] += q_tree - p_tree
    pair = np.stack([p, q])
    same(front, divergence(front.array(pair)), expected)
    np.testing.assert_allclose(front.gradient(divergence, pair), gradient, rtol=1e-9, atol=1e-12)


@FRONTS
def test_divergences_are_infinite_if_a_label_of_a_tree_is_not_allowed(front):
    p = np.zeros((2, 2, 2))
    p[0, 1, 1] = -1000.0  # whose probability underflows
    q = p.copy()
    q[0, 1, 1] = -np.inf
    first, other = (front.module.LabelledTrees(front.array(one)) for one in (p, q))
    assert first.kl_divergence(other) == np.inf
    assert other.kl_divergence(first) == 0
    p = np.full((3, 3, 2), -np.inf)
    p[0, 1] = p[1, 2] = p[2, 1] = 0
    q = p.copy()
    q[2, 1, 1] = -np.inf  # which is in no tree

    def divergence(pair):
        first, other = map(front.module.LabelledTrees, pair)
        return first.kl_divergence(other)

    pair = np.stack([p, q])
    assert divergence(front.array(pair)) == 0
    np.testing.assert_array_equal(front.gradient(divergence, pair), 0)


@FRONTS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_divergences_of_close_distributions_are_not_negative(front, dtype):
    rng = np.random.default_rng(0)
    for gap in (0.0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-4):
        p = rng.normal(size=(20, 3, 3, 4))
        trees = front.module.DependencyTrees(front.array(np.zeros((20, 3, 3), dtype)))
        first, other = (
            front.module.LabelledTrees.from_trees(trees, front.array(one.astype(dtype)))
            for one in (p, p + gap * rng.normal(size=p.shape))
        )
        found = front.to_numpy(first.kl_divergence(other))
        assert (found >= 0).all()
        assert (found < 10 * (gap + np.finfo(dtype).eps) ** 2).all()


@FRONTS
def test_arguments_of_wrong_shapes_and_types_are_refused(front):
    one = front.module.LabelledTrees(front.array(np.zeros((3, 3, 2))))
    batch = front.module.LabelledTrees(front.array(np.zeros((4, 3, 3, 2))))
    labels, heads = np.array([-1, 0, 1]), front.array([-1, 0, 1])
    for name in ("condition", "log_evidence"):
        method = getattr(one, name)
        for shape in ((3, 1, 2), (1,), (), (4, 4), (4, 4, 2), (1, 3, 3, 2)):
            with pytest.raises(ValueError, match=r"allowed has shape .*: expected \(3, 3, 2\), .*"):
                method(allowed=front.array(np.ones(shape, bool)))
        for dtype in (np.int64, np.float32):
            with pytest.raises(TypeError, match=r"allowed must be an array of bool.* != 0"):
                method(allowed=front.array(np.ones((3, 3, 2), dtype)))
        with pytest.raises(ValueError, match=r"allowed has shape \(3, 3\): expected \(4, 3, 3, 2"):
            getattr(batch, name)(allowed=front.array(np.ones((3, 3), bool)))
        for given in (labels[:2], labels[0]):
            with pytest.raises(arborand.InvalidTreeError, match=r"labels has shape .*, \(3,\)"):
                method(labels=front.array(given))
        with pytest.raises(arborand.InvalidTreeError, match=r"labels has shape .*, \(4, 3\)"):
            getattr(batch, name)(labels=front.array(labels))
        with pytest.raises(TypeError, match=r"labels must .*integers, .*float"):
            method(labels=front.array([-1, 0.5, -1]))
    with pytest.raises(TypeError, match=r"labels must .*integers, .*float"):
        one.log_prob(heads, front.array([-1.0, 0, 0]))
    with pytest.raises(TypeError, match=r"heads must .*integers, .*float"):
        one.log_prob(front.array([-1.0, 0, 0]), front.array(labels))
    for shape in ((3, 3, 1), (3, 3), (1, 3, 3, 2), ()):
        values = front.array(np.zeros(shape))
        for name, given in (("expectation", [values]), ("covariance", [values, values])):
            with pytest.raises(ValueError, match=r"arc_values has shape .*: expected \(3, 3, 2\)"):
                getattr(one, name)(*given)
        with pytest.raises(ValueError, match=r"other has shape .*: expected \(3, 3, 2\)"):
            one.covariance(front.array(np.zeros((3, 3, 2))), values)
    lists = {"allowed": [[True] * 3] * 3, "labels": labels.tolist()}
    for name, given in lists.items():
        if front is Torch:
            with pytest.raises(TypeError, match=f"^{name} must be a torch.Tensor, not list"):
                one.condition(**{name: given})
        else:
            one.condition(**{name: given})
    values = np.arange(18).reshape(3, 3, 2) + 2**24
    if front is Torch:
        for given in (values, values.tolist()):
            with pytest.raises(TypeError, match=r"^arc_values must be a torch.Tensor, not "):
                one.expectation(given)
    expected = arborand.LabelledTrees(np.zeros((3, 3, 2))).expectation(values)
    same(front, one.expectation(front.array(values)), expected)


def test_jax_checks_shapes_and_types_while_it_compiles():
    d = arborand.jax.LabelledTrees(jnp.zeros((3, 3, 2)))
    evidence = jax.jit(lambda labels, allowed: d.log_evidence(labels=labels, allowed=allowed))
    labels, allowed = jnp.array([-1, 0, -1]), jnp.ones((3, 3), bool)
    np.testing.assert_allclose(evidence(labels, allowed), np.log(0.5))
    with pytest.raises(arborand.InvalidTreeError, match="labels has shape"):
        evidence(labels[:2], allowed)
    with pytest.raises(TypeError, match="allowed must be an array of bool"):
        evidence(labels, allowed * 1)


@FRONTS
@pytest.mark.parametrize("wrong", [np.inf, np.nan])
def test_scores_that_are_not_numbers_are_named(front, wrong):
    scores = np.zeros((3, 3, 2))
    scores[0, 1, 1] = wrong
    d = front.module.LabelledTrees(front.array(scores))
    for method in (d.log_partition, d.best_tree):
        with pytest.raises(arborand.InvalidWeightsError, match=rf"log_weights\[0, 1\] is {wrong}"):
            method()


@FRONTS
def test_classes_of_users(front):
    class Own(front.module.ProjectiveDependencyTrees):
        pass

    if front is Jax:
        Own = arborand.jax.answers.as_pytree(Own)
    d = front.module.LabelledTrees(front.array(np.zeros((3, 3, 2))), kind=Own)
    assert d.best_tree()[0].tolist() == [-1, 0, 1]
    assert len(d.best_trees(99).heads) == (99 if front is Jax else 8)
