"""The table of derivatives, by a front of NumPy: both modes of each rule, by finite differences."""

import math

import numpy as np
import pytest

from arborand import InvalidTreeError, InvalidWeightsError
from arborand.derivatives import OPERATIONS, Direction, Gradient, Refused
from arborand.enumeration import dependency_trees, spanning_trees
from arborand.kinds import TreeKind
from arborand.trees import is_projective

KINDS = pytest.mark.parametrize("kind", TreeKind)
LENGTHS = np.array([4, 3])
RANDOM = np.random.default_rng(0)
X, Y, U, V = RANDOM.normal(size=(4, 2, 5, 5))
X[0, 1, 2] = -math.inf
ALLOWED = np.ones(X.shape, dtype=bool)
ALLOWED[0, 0, 1] = ALLOWED[1, 2, 3] = False


class NumPyFront:
    """Operations without machinery: a name gives the computation itself."""

    where = staticmethod(np.where)

    def __getattr__(self, name):
        return OPERATIONS[name].compute

    @staticmethod
    def is_arc(log_weights, lengths):
        node = np.arange(log_weights.shape[-1])
        is_node = node <= lengths[..., None]
        inside = is_node[..., None] & is_node[..., None, :]
        return (log_weights > -math.inf) & (node > 0) & (node != node[:, None]) & inside

    @staticmethod
    def sums_over_trees(values, heads):
        chosen = np.take_along_axis(
            np.broadcast_to(values, (3, *values.shape)), np.maximum(heads, 0)[..., None, :], -2
        )[..., 0, :]
        return np.where(heads >= 0, chosen, 0.0).sum(-1)

    @staticmethod
    def sums_over_arcs(weights, heads, like):
        node = np.arange(heads.shape[-1])
        has_arc = heads[..., None, :] == node[:, None]
        return (weights[..., None, None] * has_arc).sum(0)


FRONT = NumPyFront()


def heads_of(kind):
    first = [[-1, 0, 3, 1, 1], [-1, 2, 0, 2, -1]]
    outside = [[-1, 0, 1, 2, 3], [-1, 0, 1, 2, -1]]  # the first has the arc 1 -> 2
    last = first if kind.has_single_root else [[-1, 0, 0, 1, 1], [-1, 0, 0, 0, -1]]
    return np.array([first, outside, last])


def arguments_of(name, kind):
    arrays = {
        "log_partition": (X,),
        "arc_marginals": (X,),
        "arc_covariances": (X, U),
        "arc_cumulants": (X, U, V),
        "entropy": (X,),
        "entropy_gradient": (X,),
        "entropy_gradient_tangents": (X, U),
        "renyi_entropy": (X,),
        "renyi_entropy_gradient": (X,),
        "log_prob": (X, heads_of(kind)),
        "log_evidence": (X, ALLOWED),
        "kl_divergence": (X, Y),
    }[name]
    if name == "kl_divergence":
        return (*arrays, LENGTHS, LENGTHS, kind, kind, 1)
    order = (1.5,) if name.startswith("renyi") else ()
    called = ("heads",) if name == "log_prob" else ()
    return (*arrays, LENGTHS, kind, 1, *order, *called)


CASES = [
    (name, place)
    for name, operation in OPERATIONS.items()
    for place, rule in enumerate(operation.rules.values())
    if rule is not None and name != "checked"
]


def moved(arguments, place, step):
    return [*arguments[:place], arguments[place] + step, *arguments[place + 1 :]]


@KINDS
@pytest.mark.parametrize(("name", "place"), CASES)
def test_both_modes_of_each_rule_are_finite_differences(name, place, kind):
    operation, arguments = OPERATIONS[name], arguments_of(name, kind)
    num_arrays = len(operation.rules)
    answer = operation.compute(*arguments)
    tangent = np.random.default_rng(1).normal(size=X.shape)
    tangents = [tangent if i == place else None for i in range(num_arrays)]
    is_wanted = [i == place for i in range(num_arrays)]
    weights = np.random.default_rng(2).normal(size=answer.shape)
    if isinstance(list(operation.rules.values())[place], Refused):
        with pytest.raises(NotImplementedError, match="is differentiated for the"):
            operation.tangent(FRONT, tangents, arguments, answer)
        with pytest.raises(NotImplementedError, match="is differentiated for the"):
            operation.cotangents(FRONT, weights, is_wanted, arguments, answer)
        return
    step = 1e-4
    near, far = (
        [operation.compute(*moved(arguments, place, sign * h * tangent)) for sign in (1, -1)]
        for h in (step, 2 * step)
    )
    with np.errstate(invalid="ignore"):  # -inf has no differences
        # Richardson: the error is of order step^4, beside rounding of 1e-16 / step.
        exact = (8 * (near[0] - near[1]) - (far[0] - far[1])) / (12 * step)
    exact = np.where(np.isinf(answer), 0.0, exact)
    found = operation.tangent(FRONT, tangents, arguments, answer)
    assert np.abs(exact).max() > 1e-3
    assert np.allclose(found, exact, rtol=0, atol=1e-9)
    gradients = operation.cotangents(FRONT, weights, is_wanted, arguments, answer)
    assert [gradient is not None for gradient in gradients] == is_wanted
    assert gradients[place].shape == X.shape
    is_arc = FRONT.is_arc(arguments[place], LENGTHS)
    reverse = np.where(is_arc, gradients[place] * tangent, 0.0).sum()
    assert reverse == pytest.approx((weights * found).sum(), rel=1e-11)
    assert not gradients[place][~is_arc].any()


@KINDS
@pytest.mark.parametrize("order", [0.0, 0.3, 1.0 - 1e-5, 1.0 - 1e-7, 1.0, 1.0 + 1e-7, 2.0, 40.0])
def test_gradients_of_renyi_entropies_of_any_order(kind, order):
    trees = dependency_trees if kind.has_single_root else spanning_trees
    listed = [tree for tree in trees(X[0]) if is_projective(tree[0]) or not kind.is_projective]
    chance = np.exp([log_weight for _, log_weight in listed])
    chance /= chance.sum()
    has_arc = np.array([heads[None] == np.arange(5)[:, None] for heads, _ in listed])
    marginals = np.tensordot(chance, has_arc, 1)
    if order == 1.0:
        slope = -chance * (np.log(chance) + 1)
    elif order == 0.0:
        slope = 0 * chance
    else:  # d/dp of log(sum p^a) / (1 - a)
        slope = order / (1 - order) * chance**order / (chance**order).sum()
    centred = has_arc - marginals
    exact = np.tensordot(slope, centred, 1)
    found = OPERATIONS["renyi_entropy_gradient"].compute(X[:1], LENGTHS[:1], kind, 1, order)[0]
    # The enumeration divides by 1 - a what it has rounded, and cancels.
    tolerance = 1e-8 if abs(order - 1) < 1e-3 else 1e-12
    assert np.allclose(found, exact, rtol=0, atol=tolerance)


@KINDS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_answer_has_the_precision_of_the_scores(kind, dtype):
    for name in OPERATIONS.keys() - {"checked"}:
        arguments = [
            argument.astype(dtype) if getattr(argument, "dtype", None) == np.float64 else argument
            for argument in arguments_of(name, kind)
        ]
        assert OPERATIONS[name].compute(*arguments).dtype == dtype


@KINDS
def test_a_value_with_its_gradient_is_what_two_operations_give(kind):
    pairs = [
        (operation, rule)
        for operation in OPERATIONS.values()
        for rule in operation.rules.values()
        if isinstance(rule, Gradient) and rule.with_value is not None
    ]
    assert [operation.name for operation, _ in pairs] == ["log_partition", "entropy"]
    for operation, rule in pairs:
        value, gradient = rule.with_value(X, LENGTHS, kind, 1)
        assert np.allclose(value, operation.compute(X, LENGTHS, kind, 1), rtol=1e-13)
        assert np.array_equal(gradient, OPERATIONS[rule.of].compute(X, LENGTHS, kind, 1))


def test_what_is_said_to_be_linear_is():
    for operation in OPERATIONS.values():
        arguments = (
            (X, np.isnan(X), "{}")
            if operation.name == "checked"
            else arguments_of(operation.name, TreeKind.DEPENDENCY)
        )
        for place, rule in enumerate(operation.rules.values()):
            if not (isinstance(rule, Direction) and rule.is_linear):
                continue
            values = np.where(np.isinf(arguments[place]), 0.0, arguments[place])
            one, two = (
                (
                    operation.compute(*moved(arguments, place, factor * values - arguments[place]))
                    for factor in (1.0, 2.0)
                )
                if operation.name != "checked"
                else (values, 2 * values)
            )
            assert np.allclose(two, 2 * one, rtol=1e-12, atol=1e-14)
            unread = [*arguments[:place], None, *arguments[place + 1 :]]
            rule.of(FRONT, U, *unread)  # does not look at it


def test_trees_that_do_not_exist_have_no_probability_and_no_gradient():
    operation = OPERATIONS["log_prob"]
    heads = heads_of(TreeKind.DEPENDENCY)
    heads[1, 1] = -1
    arguments = (X, heads, LENGTHS, TreeKind.DEPENDENCY, 1, "heads")
    answer = operation.compute(*arguments)
    assert answer[1, 1] == -math.inf
    assert np.isfinite(answer[0]).all()
    weights = np.zeros((3, 2))
    weights[1, 1] = 1.0
    (gradient, _) = operation.cotangents(FRONT, weights, [True, False], arguments, answer)
    assert not gradient.any()


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        (np.array([[-1, 0, 1, 1, 1], [-1, 0, -100, 1, -1]]), r"value\[1, 2\] is -100"),
        (np.array([-1, 0, 7, 1, 1]), r"value\[2\] is 7"),
        (np.array([[[-1, 2, 1, 0, 0]]]), r"value\[0, 0\] is not a tree: .* cycle 1 -> 2 -> 1"),
    ],
)
def test_what_is_no_tree_is_named_by_its_place_in_the_array_of_the_caller(heads, message):
    with pytest.raises(InvalidTreeError, match=message):
        OPERATIONS["log_prob"].compute(X, heads, LENGTHS, TreeKind.SPANNING, 1, "value")


def test_values_are_refused_with_the_sentence_of_the_gate():
    for name in ("log_partition", "arc_marginals", "kl_divergence"):
        arguments = list(arguments_of(name, TreeKind.DEPENDENCY))
        arguments[0] = np.where(np.isinf(X), math.nan, X)
        with pytest.raises(InvalidWeightsError, match=r"log_weights\[0, 1, 2\] is nan"):
            OPERATIONS[name].compute(*arguments)
    direction = U.copy()
    direction[1, 0, 2] = math.nan
    with pytest.raises(ValueError, match=r"direction\[1, 0, 2\] is nan"):
        OPERATIONS["arc_covariances"].compute(X, direction, LENGTHS, TreeKind.DEPENDENCY, 1)


@pytest.mark.parametrize(("mode", "given"), [("tangent", (U, None)), ("cotangents", np.ones(2))])
def test_an_infinite_divergence_has_no_derivative(mode, given):
    operation = OPERATIONS["kl_divergence"]
    arguments = list(arguments_of("kl_divergence", TreeKind.SPANNING))
    arguments[1] = np.where(np.isinf(X[::-1]), X[::-1], Y)
    answer = operation.compute(*arguments)
    assert np.isinf(answer).tolist() == [False, True]
    is_wanted = [[True, False]] if mode == "cotangents" else []
    with pytest.raises(ValueError, match=r"kl_divergence\[1\] is infinite"):
        getattr(operation, mode)(FRONT, given, *is_wanted, arguments, answer)
