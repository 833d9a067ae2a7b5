"""What all methods of second order have in common: shapes, types, workers, inputs, Ctrl-C."""

import numpy as np
import pytest

from arborand import DependencyTrees, SpanningTrees
from tests.kinds import KINDS
from tests.processes import interrupt
from tests.random_graphs import dense_scores

M = 5

# By name: the call, and the axes of the answer behind those of the batch.
METHODS = {
    "arc_covariances": (lambda d, v: d.arc_covariances(v), (M, M)),
    "entropy_gradient": (lambda d, _: d.entropy_gradient(), (M, M)),
    "expectation": (lambda d, v: d.expectation(v), ()),
    "variance": (lambda d, v: d.variance(v), ()),
    "covariance": (lambda d, v: d.covariance(v, v[..., ::-1, :]), ()),
    "renyi_entropy": (lambda d, _: d.renyi_entropy(0.5), ()),
    "renyi_entropy, infinite": (lambda d, _: d.renyi_entropy(np.inf), ()),
    "kl_divergence": (lambda d, v: d.kl_divergence(type(d)(v)), ()),
    "cross_entropy": (lambda d, v: d.cross_entropy(type(d)(v)), ()),
}
EACH = pytest.mark.parametrize("name", METHODS)


def values(*shape):
    return np.random.default_rng(3).normal(size=(*shape, M, M))


@KINDS
@EACH
@pytest.mark.parametrize("batch_shape", [(), (1,), (2, 3), (0,), (2, 0)])
def test_answers_have_the_shape_of_the_batch(kind, name, batch_shape):
    call, axes = METHODS[name]
    found = call(kind(values(*batch_shape)), values(*batch_shape))
    assert found.dtype == np.float64
    assert found.shape == (*batch_shape, *axes)
    if not batch_shape and not axes:
        assert isinstance(found, np.float64)
    assert np.isfinite(found).all()


@EACH
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_, ">f8"])
def test_values_of_any_real_type_are_taken(name, dtype):
    call, _ = METHODS[name]
    trees = SpanningTrees(dense_scores(1, M - 1))
    given = (4 * values()).astype(dtype)
    np.testing.assert_array_equal(call(trees, given), call(trees, given.astype(np.float64)))


@EACH
def test_inputs_may_be_lists_read_only_or_strided_and_are_left_alone(name):
    call, _ = METHODS[name]
    trees = DependencyTrees(dense_scores(2, M - 1))
    plain = values()
    expected = call(trees, plain)
    strided = np.zeros((2 * M, 3 * M))[::2, ::3]
    strided[:] = plain
    frozen = plain.copy()
    frozen.flags.writeable = False
    scores = trees.log_weights.copy()
    for given in (strided, frozen, np.asfortranarray(plain)):
        before = given.copy()
        np.testing.assert_array_equal(call(trees, given), expected)
        np.testing.assert_array_equal(given, before)
    np.testing.assert_array_equal(trees.log_weights, scores)


@pytest.mark.parametrize("name", ["arc_covariances", "variance", "expectation", "covariance"])
def test_values_of_a_wrong_shape_or_type_are_refused(name):
    call, _ = METHODS[name]
    trees = SpanningTrees(values(2))
    with pytest.raises(ValueError, match=r"has shape \(5, 5\): expected \(2, 5, 5\)"):
        call(trees, values())
    with pytest.raises(ValueError, match=r"has shape \(2, 4, 4\)"):
        call(trees, values(2)[:, 1:, 1:])
    with pytest.raises(TypeError, match="array of real numbers, but its dtype is complex128"):
        call(trees, values(2).astype(complex))


@pytest.mark.parametrize(
    ("method", "argument"),
    [
        ("arc_covariances", "direction"),
        ("variance", "arc_values"),
        ("expectation", "arc_values"),
        ("covariance", "arc_values"),
        ("covariance", "other"),
    ],
)
def test_values_that_are_no_array_are_refused(method, argument):
    call = getattr(SpanningTrees(values()), method)
    others = {"arc_values": values(), "other": values()} if method == "covariance" else {}
    with pytest.raises(TypeError, match=f"^{argument} cannot be read as an array"):
        call(**{**others, argument: [[1, 2], [3]]})
    with pytest.raises(TypeError, match=f"^{argument} is a masked array"):
        call(**{**others, argument: np.ma.masked_array(values(), values() > 0)})


@pytest.mark.parametrize(
    "call",
    [
        lambda d, w: d.arc_covariances(values(), workers=w),
        lambda d, w: d.entropy_gradient(workers=w),
        lambda d, w: d.expectation(values(), workers=w),
        lambda d, w: d.variance(values(), workers=w),
        lambda d, w: d.covariance(values(), values(), workers=w),
        lambda d, w: d.renyi_entropy(2, workers=w),
        lambda d, w: d.kl_divergence(d, workers=w),
        lambda d, w: d.cross_entropy(d, workers=w),
    ],
)
def test_the_number_of_workers_is_checked(call):
    trees = SpanningTrees(values())
    with pytest.raises(ValueError, match="workers is 0"):
        call(trees, 0)
    with pytest.raises(TypeError, match="workers must be an integer"):
        call(trees, 1.5)


@pytest.mark.parametrize("order", [np.nan, -1e-300, -np.inf])
def test_orders_that_are_not_orders_are_refused(order):
    with pytest.raises(ValueError, match=f"order is {order}"):
        SpanningTrees(values()).renyi_entropy(order)


def test_joint_marginals_are_of_one_graph():
    with pytest.raises(TypeError, match="joint_marginals takes a single graph"):
        SpanningTrees(values(2)).joint_marginals()


# Forty graphs of 300 words take long where there are masks, or the range of doubles is left.
@pytest.mark.parametrize(
    "call",
    [
        "wide.arc_covariances(values)",
        "d.entropy_gradient()",
        "d.renyi_entropy(0.5)",
        "d.kl_divergence(SpanningTrees(scores + 0.1 * values))",
    ],
)
def test_ctrl_c_ends_long_work(call):
    setup = """
        import numpy as np
        from arborand import SpanningTrees
        values = np.random.default_rng(0).normal(size=(40, 301, 301))
        scores = np.where(values > 1, -1e30, values)
        d = SpanningTrees(scores)
        wide = SpanningTrees(300 * values)
    """
    assert interrupt(setup, call)
