"""What users of labelled trees rely on: shapes, seeds, batches, copies, errors."""

import copy
import inspect
import pickle
import tracemalloc
import warnings

import numpy as np
import pytest

from arborand import (
    DependencyTrees,
    InvalidTreeError,
    InvalidWeightsError,
    LabelledTrees,
    NoTreeError,
    SpanningTrees,
    SupportExhaustedError,
    SuspiciousWeightsWarning,
)
from tests.kinds import ALL_KINDS

NAMES = ["nsubj", "obj", "root"]


def scores_of(seed=0, num_words=4, num_labels=3, batch_shape=()):
    shape = (*batch_shape, num_words + 1, num_words + 1, num_labels)
    return np.random.default_rng(seed).normal(size=shape)


@pytest.fixture
def batch():
    """Return a padded batch: its scores and lengths."""
    return scores_of(batch_shape=(2, 2)), np.array([[4, 1], [3, 2]])


# ---- names --------------------------------------------------------------------------------------


def test_public_methods_are_documented():
    for name, member in inspect.getmembers(LabelledTrees):
        if name[0] == "_":
            continue
        text = inspect.getdoc(member)
        assert text.split("\n")[0].endswith("."), name
        if callable(member):
            assert "\nExamples\n--------\n" in text, name


@ALL_KINDS
def test_what_it_is_made_of(kind):
    d = LabelledTrees(scores_of(), kind=kind, labels=NAMES)
    assert repr(d) == f"LabelledTrees({kind.__name__}, 4 words, 16 arcs, 3 labels)"
    assert type(d.trees) is kind
    assert (d.labels, d.num_labels, d.batch_shape, int(d.lengths)) == (tuple(NAMES), 3, (), 4)
    assert LabelledTrees(scores_of()).labels is None
    assert type(LabelledTrees(scores_of()).trees) is DependencyTrees
    words = np.arange(1, 5)
    best = d.log_weights.max(axis=-1).max(axis=0)[words].sum()
    assert d.log_partition() == pytest.approx(d.trees.log_partition() + best, rel=1e-14)
    assert (d.log_weights[:, 0] == -np.inf).all()
    assert (d.log_weights[np.diag_indices(5)] == -np.inf).all()
    with pytest.raises(ValueError, match="read-only"):
        d.log_weights[0, 1, 0] = 1


def test_the_callers_array_is_copied_and_left_alone():
    scores = scores_of()
    given = scores.copy()
    d = LabelledTrees(scores)
    np.testing.assert_array_equal(scores, given)
    before = d.label_marginals()
    scores[:] = 7
    np.testing.assert_array_equal(d.label_marginals(), before)
    given.flags.writeable = False
    np.testing.assert_array_equal(LabelledTrees(given).label_marginals(), before)


def test_float32_stays_float32():
    scores = scores_of(num_words=100, num_labels=50).astype(np.float32)
    tracemalloc.start()
    d = LabelledTrees(scores)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert d.log_weights.dtype == np.float32
    assert used < 1.2 * scores.nbytes
    exact = LabelledTrees(scores.astype(np.float64))
    np.testing.assert_array_equal(d.log_partition(), exact.log_partition())
    np.testing.assert_array_equal(d.label_marginals(), exact.label_marginals())
    assert LabelledTrees(np.zeros((2, 2, 1), int)).log_weights.dtype == np.float64
    assert d.condition(labels=[-1] * 100 + [3]).log_weights.dtype == np.float32


def test_orientation():
    scores = scores_of()
    turned = LabelledTrees(scores.swapaxes(0, 1), orientation="dependent,head")
    expected = LabelledTrees(scores)
    np.testing.assert_array_equal(turned.log_weights, expected.log_weights)
    np.testing.assert_array_equal(turned.label_marginals(), expected.label_marginals())


# ---- batches and copies -------------------------------------------------------------------------


def answers(d):
    """Ask everything that has an answer for each graph, draws aside."""
    size = d.log_weights.shape[-2]
    values, other = np.random.default_rng(5).normal(size=(2, 5, 5, 3))[:, :size, :size]
    values, other = (np.broadcast_to(v, d.log_weights.shape) for v in (values, other))
    reversed_scores = LabelledTrees(
        np.where(d.log_weights > -np.inf, -d.log_weights, -np.inf),
        kind=type(d.trees),
        lengths=d.lengths,
    )
    return {
        "log_partition": d.log_partition(),
        "label_marginals": d.label_marginals(),
        "entropy": d.entropy(),
        "expectation": d.expectation(values),
        "variance": d.variance(values),
        "covariance": d.covariance(values, other),
        "kl_divergence": d.kl_divergence(reversed_scores),
        "cross_entropy": d.cross_entropy(reversed_scores),
        "best_tree": np.stack(d.best_tree(), axis=-1),
        "minimum_risk_tree": np.stack(d.minimum_risk_tree(), axis=-1),
    }


@ALL_KINDS
def test_a_batch_is_its_graphs_one_by_one(kind, batch):
    scores, lengths = batch
    d = LabelledTrees(scores, kind=kind, lengths=lengths)
    found = answers(d)
    for index in np.ndindex(2, 2):
        size = lengths[index] + 1
        alone = answers(LabelledTrees(scores[index][:size, :size], kind=kind))
        part = answers(d[index])
        for name, answer in alone.items():
            np.testing.assert_array_equal(part[name], found[name][index], err_msg=name)
            cut = tuple(
                slice(size) if i < 2 and n == 5 else slice(None)
                for i, n in enumerate(part[name].shape)
            )
            np.testing.assert_allclose(part[name][cut], answer, rtol=1e-12, err_msg=name)
    heads, labels = d.best_tree()
    assert ((heads == -1) == (labels == -1)).all()
    columns = d.label_marginals().sum(axis=(-1, -3))[0, 1]
    np.testing.assert_allclose(columns, [0, 1, 0, 0, 0], rtol=1e-14)


@ALL_KINDS
def test_sequences_of_a_batch(kind, batch):
    scores, lengths = batch
    d = LabelledTrees(scores, kind=kind, lengths=lengths)
    k = 30  # more than the labelled trees of one word
    drawn = d.sample_without_replacement(k, rng=3, first_graph=5)
    best = d.best_trees(k)
    for graph, index in enumerate(np.ndindex(2, 2)):
        alone = d[index].sample_without_replacement(k, rng=3, first_graph=5 + graph)
        for name in ("heads", "labels", "log_prob", "log_remaining", "perturbed_log_prob"):
            of_batch = getattr(drawn, name)[(slice(None), *index)]
            np.testing.assert_array_equal(of_batch[: len(alone)], getattr(alone, name))
        assert drawn.num_drawn[index] == len(alone)
        assert drawn.exhausted[index] == alone.exhausted == (len(alone) < k)
        alone = d[index].best_trees(k)
        np.testing.assert_array_equal(
            best.labels[(slice(None), *index)][: len(alone)], alone.labels
        )
        np.testing.assert_array_equal(
            best.log_prob[(slice(None), *index)][: len(alone)], alone.log_prob
        )
        assert best.num_found[index] == len(alone)
    missing = ~(np.arange(len(best))[:, None, None] < best.num_found)
    assert missing.any()
    assert (best.heads[missing] == -1).all()
    assert (best.labels[missing] == -1).all()
    assert (best.log_prob[missing] == -np.inf).all()
    one_by_one = d.iterate_best_trees()
    for i in range(6):
        step = next(one_by_one)
        np.testing.assert_array_equal(step.heads, best.heads[i])
        np.testing.assert_array_equal(step.labels, best.labels[i])
        np.testing.assert_array_equal(step.log_prob, best.log_prob[i])


@pytest.mark.parametrize(
    ("method", "bytes_per_tree"), [("best_trees", 0), ("sample_without_replacement", 24)]
)
def test_answers_above_two_gibibytes_are_refused_before_memory_is_taken(method, bytes_per_tree):
    most = 2**31 // (8 * 21 + bytes_per_tree)
    many = LabelledTrees(np.zeros((21, 21, 3)))
    iterator = "iterate_" + method.removeprefix("sample_")
    for k in (most + 1, 10**20, 10**400):
        with pytest.raises(ValueError, match=rf"^k is {k}: .* GiB; .* with {iterator}\(\)$"):
            getattr(many, method)(k)
    # A batch counts with all its graphs.
    batch = LabelledTrees(np.zeros((20_000, 11, 11, 2)))
    with pytest.raises(ValueError, match=rf"^k is 1300: the answer would take .* {iterator}\(\)$"):
        getattr(batch, method)(1300)
    # What there is decides, and not what is asked for.
    few = np.zeros((2, 3, 3, 2))
    few[0, 0, 1, 1] = few[:, 2, 1] = -np.inf
    found = getattr(LabelledTrees(few), method)(10**400)
    assert found.labels.shape == (4, 2, 3)
    assert np.count_nonzero(found.labels[:, :, 1] >= 0, axis=0).tolist() == [2, 4]
    assert found.exhausted.all()
    assert getattr(LabelledTrees(few[:0]), method)(10**400).labels.shape == (0, 0, 3)


@ALL_KINDS
def test_draws_depend_on_the_seed_alone(kind, batch):
    scores, lengths = batch
    d = LabelledTrees(scores, kind=kind, lengths=lengths)
    heads, labels = d.sample((50, 2), rng=7)
    assert heads.shape == labels.shape == (50, 2, 2, 2, 5)
    np.testing.assert_array_equal(heads, d.trees.sample((50, 2), rng=7))
    assert np.isfinite(d.log_prob(heads, labels)).all()
    flat_heads, flat_labels = (a.reshape(100, 2, 2, 5) for a in (heads, labels))
    for options, part in [
        ({"size": 10}, (slice(10),)),
        ({"size": 4, "first_draw": 37}, (slice(37, 41),)),
        ({"size": 100, "workers": 2}, (slice(None),)),
    ]:
        again = d.sample(rng=7, **options)
        np.testing.assert_array_equal(again[0], flat_heads[part])
        np.testing.assert_array_equal(again[1], flat_labels[part])
    part = d[1].sample(100, rng=7, first_graph=2)
    np.testing.assert_array_equal(part[1], flat_labels[:, 1])
    one = d.sample(rng=7)
    np.testing.assert_array_equal(one[1], flat_labels[0])
    # A generator is advanced once, as for trees.
    first, second = (np.random.default_rng(3) for _ in range(2))
    np.testing.assert_array_equal(d.sample(3, rng=first)[0], d.trees.sample(3, rng=second))
    assert first.bit_generator.state == second.bit_generator.state
    assert (d.sample(100, rng=8)[1] != flat_labels).any()


@ALL_KINDS
def test_draws_with_their_log_probabilities(kind, batch):
    scores, lengths = batch
    d = LabelledTrees(scores, kind=kind, lengths=lengths)
    options = {"rng": 3, "first_graph": 2, "first_draw": 5, "workers": 2}
    heads, labels, log_prob = d.sample_and_log_prob((2, 3), **options)
    for found, expected in zip((heads, labels), d.sample((2, 3), **options), strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(log_prob, d.log_prob(heads, labels))
    assert log_prob.shape == (2, 3, 2, 2)


def test_notebooks_show_arcs_and_facts():
    d = LabelledTrees(scores_of(batch_shape=(2,)))
    shown = d[0]._repr_html_()
    assert "LabelledTrees(DependencyTrees, 4 words, 16 arcs, 3 labels)" in shown
    assert f"{d[0].entropy():.3f} nats" in shown
    assert f"{d[0].log_partition():.4f}" in shown
    assert "<svg" in shown
    assert all(f"{entropy:.3f}" in d._repr_html_() for entropy in d.entropy())


def test_far_draws_have_streams_of_their_own():
    d = LabelledTrees(np.zeros((3, 3, 50)))
    _, far = d.sample(4, rng=0, first_draw=2**62, first_graph=2**62)
    _, near = d.sample(4, rng=0)
    assert (far != near).any()


def test_integers_of_numpy():
    d = LabelledTrees(scores_of())
    _, labels = d.sample(5, rng=0, first_graph=7, first_draw=3)
    _, found = d.sample(5, rng=0, first_graph=np.int32(7), first_draw=np.int32(3))
    np.testing.assert_array_equal(found, labels)


def test_methods_of_sampling():
    d = LabelledTrees(scores_of())
    heads, _ = d.sample(5, method="colbourn", rng=1)
    np.testing.assert_array_equal(heads, d.trees.sample(5, method="colbourn", rng=1))


@ALL_KINDS
def test_copies_and_pickles(kind, batch):
    scores, lengths = batch
    trees = kind(scores[..., 0], lengths=lengths)
    for d in (
        LabelledTrees(scores, kind=kind, lengths=lengths, labels=NAMES),
        LabelledTrees.from_trees(trees, scores, labels=NAMES),
    ):
        d.entropy()
        for duplicate in (copy.copy(d), copy.deepcopy(d), pickle.loads(pickle.dumps(d))):
            assert repr(duplicate) == repr(d)
            assert duplicate.labels == d.labels
            np.testing.assert_array_equal(duplicate.log_weights, d.log_weights)
            np.testing.assert_array_equal(duplicate.label_marginals(), d.label_marginals())
            np.testing.assert_array_equal(duplicate.log_partition(), d.log_partition())


@ALL_KINDS
def test_copies_and_parts_of_a_condition_keep_the_scores(kind, batch):
    scores, lengths = batch
    d = LabelledTrees.from_trees(kind(scores[..., 0] + 3.0, lengths=lengths), scores)
    labels = np.where(np.arange(5) == 1, 2, np.full((2, 2, 5), -1))
    conditioned = d.condition(labels=labels)
    expected = np.where(conditioned.log_weights > -np.inf, d.log_weights, -np.inf)
    log_partition = d.log_partition() + d.log_evidence(labels=labels)
    for found in (conditioned, pickle.loads(pickle.dumps(conditioned))):
        np.testing.assert_allclose(found.log_weights, expected, atol=1e-13)
        np.testing.assert_allclose(found.log_partition(), log_partition, atol=1e-13)
        np.testing.assert_allclose(found[0].log_weights, expected[0], atol=1e-13)
        np.testing.assert_allclose(found[0, 1].log_partition(), log_partition[0, 1], atol=1e-13)


def test_containers():
    d = LabelledTrees(scores_of(batch_shape=(3,)))
    assert len(d) == 3
    assert [part.batch_shape for part in d] == [()] * 3
    np.testing.assert_array_equal(d[[2, 0]].entropy(), d.entropy()[[2, 0]])
    with pytest.raises(TypeError, match="single graph has no length"):
        len(d[0])
    with pytest.raises(TypeError, match="single graph cannot be indexed"):
        d[0][0]
    empty = LabelledTrees(np.zeros((0, 3, 3, 2)))
    assert empty.label_marginals().shape == (0, 3, 3, 2)
    assert empty.log_partition().shape == (0,)
    assert empty.sample(2, rng=0)[1].shape == (2, 0, 3)
    assert empty.best_trees(2).labels.shape == (0, 0, 3)


def test_numbers_of_a_single_graph_are_scalars():
    d = LabelledTrees(scores_of())
    for answer in (d.log_partition(), d.entropy(), d.kl_divergence(d), d.log_evidence()):
        assert type(answer) is np.float64
    assert type(d.log_prob(*d.best_tree())) is np.float64


def test_a_masked_label_is_never_drawn():
    scores = scores_of()
    scores[..., 1] = -np.inf
    d = LabelledTrees(scores)
    assert (d.sample(500, rng=0)[1] != 1).all()
    assert (d.label_marginals()[..., 1] == 0).all()
    assert d.log_prob([-1, 0, 1, 1, 1], [-1, 0, 0, 1, 0]) == -np.inf


def test_conditions_that_some_graphs_of_a_batch_do_not_meet():
    scores = scores_of(batch_shape=(2,))
    scores[1, :, 2, 0] = -np.inf
    d = LabelledTrees(scores)
    labels = np.full((2, 5), -1)
    labels[:, 2] = 0
    found = d.log_evidence(labels=labels)
    assert np.isfinite(found[0])
    assert found[1] == -np.inf
    with pytest.raises(NoTreeError, match=r"batch item \[1\]: word 2 is left without a head"):
        d.condition(labels=labels)


@ALL_KINDS
def test_divergences_of_batches_with_different_padding(kind, batch):
    scores, lengths = batch
    padded = np.zeros((2, 2, 7, 7, 3))
    padded[:, :, :5, :5] = scores
    d, other = LabelledTrees(scores + 1, kind=kind, lengths=lengths), scores[::-1, ::-1] * 0.5
    short = LabelledTrees(other, kind=kind, lengths=lengths)
    padded[:, :, :5, :5] = other
    long = LabelledTrees(padded, kind=kind, lengths=lengths)
    np.testing.assert_allclose(d.kl_divergence(long), d.kl_divergence(short), rtol=1e-13)
    np.testing.assert_allclose(long.kl_divergence(d), short.kl_divergence(d), rtol=1e-13)


def test_a_warning_about_the_trees_is_not_repeated():
    scores = np.random.default_rng(0).normal(size=(5, 5))
    scores[:, 4] = -1e9
    with pytest.warns(SuspiciousWeightsWarning):
        trees = DependencyTrees(scores)
    with pytest.warns(SuspiciousWeightsWarning):
        joint = LabelledTrees(scores[..., None] + np.zeros(2))
    for d in (joint, LabelledTrees.from_trees(trees, np.zeros((5, 5, 2)))):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            d.best_tree()
            d.log_evidence(labels=[-1, 0, -1, -1, -1])
            d.condition(labels=[-1, 0, -1, -1, -1]).minimum_risk_tree()


# ---- errors -------------------------------------------------------------------------------------

D = LabelledTrees(np.zeros((3, 3, 2)))
ONLY = LabelledTrees(np.full((3, 3, 2), [0, -np.inf]))
TREES = SpanningTrees(np.zeros((3, 3)))
WITH_NAN = np.zeros((3, 3, 2))
WITH_NAN[1, 2, 1] = np.nan
WITHOUT = np.zeros((3, 3, 2))
WITHOUT[1, 2] = -np.inf


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: LabelledTrees(np.zeros((3, 3))), InvalidWeightsError, r"shape \(3, 3\): expected"),
        (lambda: LabelledTrees(np.zeros((3, 3, 0))), InvalidWeightsError, "at least one of each"),
        (lambda: LabelledTrees(np.zeros((3, 4, 2))), InvalidWeightsError, r"\(n \+ 1, n \+ 1, L\)"),
        (lambda: LabelledTrees(np.zeros((1, 1, 2))), InvalidWeightsError, "at least one of each"),
        (lambda: LabelledTrees("scores.npz"), TypeError, "log_weights is 'scores.npz'"),
        (lambda: LabelledTrees(WITH_NAN), InvalidWeightsError, r"log_weights\[1, 2\] is nan"),
        (lambda: LabelledTrees(np.full((3, 3, 2), -np.inf)), NoTreeError, "row 0 is empty"),
        (lambda: LabelledTrees(WITHOUT, lengths=5), InvalidWeightsError, "lengths"),
        (lambda: LabelledTrees(WITHOUT, kind=dict), TypeError, "kind must be a class such as"),
        (lambda: LabelledTrees(WITHOUT, kind=TREES), TypeError, "kind must be a class such as"),
        (lambda: LabelledTrees(WITHOUT, labels=["a"]), ValueError, "labels has 1 names, but"),
        (lambda: LabelledTrees(WITHOUT, labels=["a", "a"]), ValueError, "the name 'a' twice"),
        (lambda: LabelledTrees(WITHOUT, labels=[1, 2]), TypeError, "labels must be strings"),
        (lambda: LabelledTrees(WITHOUT, orientation="x"), ValueError, "orientation is 'x'"),
        (lambda: LabelledTrees(WITHOUT, single_root=True), TypeError, "no argument single_root"),
        (lambda: LabelledTrees.from_trees(WITHOUT, WITHOUT), TypeError, "trees must be a distrib"),
        (
            lambda: LabelledTrees.from_trees(TREES, np.zeros((4, 4, 2))),
            InvalidWeightsError,
            r"label_log_weights has shape \(4, 4, 2\): expected .* \(3, 3\), plus an axis",
        ),
        (
            lambda: LabelledTrees.from_trees(TREES, WITHOUT),
            InvalidWeightsError,
            r"highest score in label_log_weights\[1, 2\] is -inf, but the trees have this arc",
        ),
        (
            lambda: LabelledTrees.from_trees(TREES, WITH_NAN),
            InvalidWeightsError,
            r"highest score in label_log_weights\[1, 2\] is nan",
        ),
        (lambda: D.log_prob([-1, 0, 1], [-1, 0, 2]), InvalidTreeError, r"labels\[2\] is 2: labels"),
        (lambda: D.log_prob([-1, 0, 1], [0, 0, 1]), InvalidTreeError, r"labels\[0\] is 0: .* -1"),
        (lambda: D.log_prob([-1, 0, 1], [0, 1]), InvalidTreeError, r"labels has shape \(2,\)"),
        (lambda: D.log_prob([-1, 2, 1], [-1, 0, 1]), InvalidTreeError, "cycle"),
        (lambda: D.log_prob([-1, 0, 1], [-1.0, 0, 1]), TypeError, "labels must be integers"),
        (
            lambda: D.condition(labels=[-1, 2, -1]),
            InvalidTreeError,
            r"labels\[1\] is 2: .*-1 to 1",
        ),
        (lambda: D.condition(heads=[-1, 2, 1]), NoTreeError, "heads has the cycle"),
        (
            lambda: D.condition(allowed=np.ones((3, 3))),
            TypeError,
            "allowed must be an array of bool",
        ),
        (
            lambda: D.condition(allowed=np.ones((3, 3, 3), bool)),
            ValueError,
            r"allowed has shape \(3, 3, 3\): expected \(3, 3, 2\), .* or \(3, 3\)",
        ),
        (lambda: D.expectation(np.zeros((3, 3))), ValueError, r"arc_values has shape \(3, 3\)"),
        (lambda: D.variance(WITH_NAN), ValueError, r"arc_values\[1, 2, 1\] is nan"),
        (lambda: D.covariance(np.zeros((3, 3, 2)), WITH_NAN), ValueError, r"other\[1, 2"),
        (lambda: D.kl_divergence(TREES), TypeError, "other must be LabelledTrees, not Spanning"),
        (
            lambda: D.kl_divergence(LabelledTrees(np.zeros((3, 3, 3)))),
            ValueError,
            "other differs .* number of labels, 3 instead of 2",
        ),
        (
            lambda: LabelledTrees(WITHOUT, labels=("a", "b")).kl_divergence(
                LabelledTrees(WITHOUT, labels=("a", "c"))
            ),
            ValueError,
            r"other differs .* in its labels, \('a', 'c'\) instead of \('a', 'b'\)",
        ),
        (
            lambda: ONLY.condition(heads=[-1, 0, -1], labels=[-1, 1, -1]),
            NoTreeError,
            "heads requires the arc 0 -> 1, but labels forbids it",
        ),
        (
            lambda: ONLY.condition(heads=[-1, 0, -1], allowed=np.arange(18).reshape(3, 3, 2) > 4),
            NoTreeError,
            "heads requires the arc 0 -> 1, but allowed forbids it",
        ),
        (
            lambda: ONLY.condition(
                heads=[-1, 0, -1], labels=[-1, 1, -1], allowed=np.ones((3, 3), bool)
            ),
            NoTreeError,
            "heads requires the arc 0 -> 1, but labels or allowed forbids it",
        ),
        (
            lambda: D.condition(allowed=[[True], [True, False]]),
            TypeError,
            "allowed cannot be read as an array: all rows must have the same length",
        ),
        (lambda: LabelledTrees(WITHOUT, labels=5), TypeError, "labels must be strings, the names"),
        (lambda: D.best_trees(-1), ValueError, "k is -1"),
        (
            lambda: D.best_trees(9, on_exhausted="raise"),
            SupportExhaustedError,
            "has only 8 trees",
        ),
        (
            lambda: D.sample_without_replacement(9, on_exhausted="raise"),
            SupportExhaustedError,
            "has only 8 trees",
        ),
        (lambda: D.best_trees(9, on_exhausted="x"), ValueError, "on_exhausted is 'x'"),
        (lambda: D.sample(2, rng=-1), ValueError, "rng is -1"),
        (lambda: D.sample(2, first_draw=-1), ValueError, "first_draw is -1"),
        (lambda: D.sample(2, seed=1), TypeError, "it is called rng"),
    ],
)
def test_errors_name_the_argument(call, error, message):
    with pytest.raises(error, match=message):
        call()
