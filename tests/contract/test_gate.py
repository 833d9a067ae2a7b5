"""The gate: what it lets through unchanged, and what it refuses, by class, message and attributes.

Every message must name the argument, what was found and what to do instead.
"""

import itertools
import pickle
import re
import warnings

import numpy as np
import pytest

from arborand import (
    ArborandError,
    DependencyTrees,
    InvalidTreeError,
    InvalidWeightsError,
    NoTreeError,
    SpanningTrees,
    SupportExhaustedError,
    pad,
)
from arborand.enumeration import count_trees
from tests.kinds import KINDS, is_single_root
from tests.random_graphs import dense_scores, sparse_scores

NAN, INF = np.nan, np.inf
QUESTIONS = ["log_partition", "arc_marginals", "root_marginals", "entropy", "mean_hitting_time"]
HAS_LONG_DOUBLE = np.finfo(np.longdouble).max > np.finfo(np.float64).max


def refused(error, call, *parts):
    """Check that a call raises exactly this error, with all parts of its message; return it."""
    with pytest.raises(error) as caught:
        call()
    assert caught.type is error
    for part in parts:
        assert re.search(part, str(caught.value)), f"{part!r} not in {caught.value}"
    return caught.value


def padded(graphs, filler, size):
    """Put graphs into one batch, with a filler wherever nothing may be read."""
    batch = np.full((len(graphs), size, size), filler)
    for target, graph in zip(batch, graphs, strict=True):
        nodes = len(graph)
        target[:nodes, :nodes] = graph
        target[:, 0] = filler
        np.fill_diagonal(target, filler)
    return batch


# ---- the family of errors -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [InvalidWeightsError, NoTreeError, InvalidTreeError, SupportExhaustedError]
)
def test_errors_have_one_root_and_are_value_errors(error):
    assert issubclass(error, ArborandError)
    assert issubclass(error, ValueError)


# ---- what is let through ------------------------------------------------------------------------

REAL_TYPES = [
    np.bool_,
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    np.float16,
    np.float32,
    ">f8",
    np.longdouble,
]


@KINDS
@pytest.mark.parametrize("dtype", REAL_TYPES, ids=str)
def test_any_real_type_is_read_as_its_values(kind, dtype):
    values = np.array([[9, 1, 0, 1], [9, 9, 1, 1], [9, 1, 9, 0], [9, 0, 1, 9]]).astype(dtype)
    as_doubles = values.astype(np.float64)
    np.testing.assert_array_equal(
        kind(values).log_weights, kind(as_doubles).log_weights, strict=True
    )
    np.testing.assert_array_equal(
        kind.from_weights(values).log_weights, kind.from_weights(as_doubles).log_weights
    )


def layouts(array):
    """Return the same values in every memory order there is."""
    holes = np.full((2 * len(array), 3 * len(array)), NAN)
    holes[::2, ::3] = array
    read_only = array.copy()
    read_only.flags.writeable = False
    unaligned = np.zeros(array.nbytes + 1, np.uint8)[1:].view(np.float64).reshape(array.shape)
    unaligned[...] = array
    return {
        "Fortran": np.asfortranarray(array),
        "strided": holes[::2, ::3],
        "backwards": array[::-1, ::-1].copy()[::-1, ::-1],
        "transposed": array.T.copy().T,
        "read-only": read_only,
        "unaligned": unaligned,
        "nested lists": array.tolist(),
        "nested tuples": tuple(map(tuple, array.tolist())),
        "list of rows": list(array),
    }


@KINDS
@pytest.mark.parametrize("layout", layouts(np.zeros((1, 1))))
def test_any_memory_order_is_read_alike(kind, layout):
    scores = dense_scores(0, 4)
    given = layouts(scores)[layout]
    np.testing.assert_array_equal(kind(given).log_weights, kind(scores).log_weights)
    weights = np.exp(scores)
    np.testing.assert_array_equal(
        kind.from_weights(layouts(weights)[layout]).log_weights,
        kind.from_weights(weights).log_weights,
    )


@KINDS
def test_one_graph_repeated_without_memory_of_its_own(kind):
    scores = dense_scores(0, 3)
    batch = kind(np.broadcast_to(scores, (5, 4, 4)))
    assert batch.batch_shape == (5,)
    assert (batch.log_partition() == kind(scores).log_partition()).all()


@KINDS
@pytest.mark.parametrize("junk", [NAN, INF, -INF, 1e300, -1e300, 0.0])
def test_column_zero_diagonal_and_padding_are_ignored_whatever_they_hold(kind, junk):
    graphs = [dense_scores(seed, length) for seed, length in enumerate([3, 1, 5])]
    batch = kind(padded(graphs, junk, 6), lengths=[3, 1, 5])
    clean = kind(padded(graphs, -INF, 6), lengths=[3, 1, 5])
    np.testing.assert_array_equal(batch.log_weights, clean.log_weights)
    for question in QUESTIONS:
        np.testing.assert_array_equal(getattr(batch, question)(), getattr(clean, question)())
    ignored = np.isneginf(padded([graph * 0 for graph in graphs], -INF, 6))
    assert (batch.log_weights[ignored] == -INF).all()
    assert np.isfinite(batch.log_weights[~ignored]).all()


@KINDS
@pytest.mark.parametrize("junk", [NAN, INF, -1.0, -INF, 1e300, 0.0])
def test_plain_weights_ignore_the_same_entries(kind, junk):
    graphs = [np.exp(dense_scores(seed, length)) for seed, length in enumerate([2, 4])]
    batch = kind.from_weights(padded(graphs, junk, 5), lengths=[2, 4])
    clean = kind.from_weights(padded(graphs, 0.0, 5), lengths=[2, 4])
    np.testing.assert_array_equal(batch.log_weights, clean.log_weights)


@KINDS
@pytest.mark.skipif(not HAS_LONG_DOUBLE, reason="long double is double here")
def test_long_doubles_beyond_doubles_are_ignored_or_named_like_infinities(kind):
    scores = np.zeros((3, 3), np.longdouble)
    scores[:, 0] = np.longdouble("1e4000")
    assert kind(scores).log_weights[1, 2] == 0
    scores[0, 1] = np.longdouble("1e4000")
    refused(InvalidWeightsError, lambda: kind(scores), r"log_weights\[0, 1\] is inf")


@KINDS
def test_plain_weights_become_their_logarithms(kind):
    weights = np.array([[0, 2.0, 0.5], [0, 0, 3.0], [0, -0.0, 0]])
    expected = np.array([[-INF, np.log(2.0), np.log(0.5)], [-INF, -INF, np.log(3.0)], [-INF] * 3])
    np.testing.assert_array_equal(kind.from_weights(weights).log_weights, expected)


GRAPHS_OF_ALL_SORTS = {
    "dense": np.random.default_rng(1).uniform(0.1, 3.0, size=(6, 6)),
    "of two words": np.array([[0.0, 0.5, 0.25], [1.0, 0.0, 2.0], [1.5, 0.75, 0.0]]),
    "with 0": np.random.default_rng(2).integers(0, 3, size=(9, 9)) * 0.5 + np.eye(9, k=1),
    "nearly 0": np.full((5, 5), 5e-324),
    "minus 0": np.where(np.eye(7, dtype=bool) | (np.arange(7) == 3), -0.0, 1.5) + np.eye(7, k=1),
    "large": np.random.default_rng(3).uniform(0.0, 1.79e308, size=(23, 23)),
    "junk where nothing is read": np.where(np.eye(8, dtype=bool), NAN, 2.0),
    "negative where nothing is read": np.where(np.arange(8) == 0, -1.0, 2.0),
    "bad": np.where(np.arange(25).reshape(5, 5) == 7, -3.0, 1.0),
    "not a number": np.where(np.arange(25).reshape(5, 5) == 7, NAN, 1.0),
    "infinite": np.where(np.arange(25).reshape(5, 5) == 7, INF, 1.0),
    "without a tree": np.where(np.arange(6) == 2, 0.0, 1.0) * np.ones((6, 1)),
    "like an adjacency matrix": np.ones((5, 5)) - np.eye(5) - np.eye(5, k=2) - np.eye(5, k=-2),
    "whose scores are an adjacency matrix": np.exp(np.eye(5, k=1) + np.eye(5, k=-1)),
    "of no words": np.ones((1, 1)),
    "not square": np.ones((4, 3)),
}


@KINDS
@pytest.mark.parametrize("name", GRAPHS_OF_ALL_SORTS)
@pytest.mark.parametrize("are_weights", [False, True])
def test_a_single_array_passes_at_once_exactly_as_it_would_step_by_step(kind, are_weights, name):
    weights = GRAPHS_OF_ALL_SORTS[name]
    with np.errstate(divide="ignore", invalid="ignore"):
        array = weights if are_weights else np.log(np.where(weights == -1.0, NAN, weights))
    make = kind.from_weights if are_weights else kind

    def outcome(values):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                made = make(values)
            except (InvalidWeightsError, NoTreeError) as error:
                return str(error), []
        answer = made.log_weights.tobytes(), made.lengths.tolist(), made.batch_shape
        return answer, [str(warning.message) for warning in caught]

    # One call into the core takes an array in C order only.
    assert outcome(array) == outcome(np.asfortranarray(array))


@KINDS
@pytest.mark.parametrize("constructor", ["__call__", "from_weights"])
def test_the_callers_arrays_are_neither_modified_nor_kept(kind, constructor):
    make = kind if constructor == "__call__" else kind.from_weights
    given = np.exp(dense_scores(0, 4))[None].repeat(2, axis=0)
    given[0, 0, 0] = given[1, 4, 4] = NAN
    lengths = np.array([4, 3], dtype=np.int32)
    before, lengths_before = given.copy(), lengths.copy()
    distribution = make(given, lengths=lengths)
    marginals, log_partition = distribution.arc_marginals(), distribution.log_partition().copy()
    np.testing.assert_array_equal(given, before)
    np.testing.assert_array_equal(lengths, lengths_before)
    assert given.flags.writeable
    assert lengths.flags.writeable
    given[...], lengths[...] = NAN, 1
    np.testing.assert_array_equal(distribution.arc_marginals(), marginals)
    np.testing.assert_array_equal(distribution.log_partition(), log_partition)
    assert distribution.lengths.tolist() == [4, 3]


@KINDS
def test_what_was_let_through_is_frozen(kind):
    batch = kind(np.zeros((4, 2, 3, 3)))
    single = kind(np.zeros((3, 3)))
    for distribution in [
        single,
        batch,
        batch[0],
        batch[0, 0],
        batch[:2],
        batch[[0, 2]],
        batch[..., 1],
        kind.from_weights(np.ones((2, 3, 3))),
        single.condition(include=[(0, 1)]),
    ]:
        for array in (distribution.log_weights, distribution.lengths):
            assert not array.flags.writeable
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 1
    for name in ("log_weights", "lengths", "batch_shape"):
        with pytest.raises(AttributeError):
            setattr(single, name, None)


def owners(array):
    """List an array, what its memory belongs to, what that belongs to, and so on."""
    while array is not None:
        yield array
        array = getattr(array, "obj" if isinstance(array, memoryview) else "base", None)


@KINDS
def test_what_was_let_through_cannot_be_thawed(kind):
    batch = kind(np.zeros((4, 2, 3, 3)))
    distributions = [
        batch,
        batch[0],
        batch[0, 0],
        batch[:2],
        batch[[0, 2]],
        kind(np.zeros((0, 3, 3))),
    ]
    distributions += [kind.from_weights(np.ones((3, 3))), pickle.loads(pickle.dumps(batch))]
    for distribution in distributions:
        graphs = distribution._graphs
        arrays = [
            distribution.log_weights,
            distribution.lengths,
            graphs.log_weights,
            graphs.lengths,
        ]
        for owner in (owner for array in arrays for owner in owners(array)):
            if isinstance(owner, np.ndarray):
                with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
                    owner.setflags(write=True)
                with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
                    owner.view().flags.writeable = True
            # Whatever else is asked for the memory, it is not for writing.
            assert memoryview(owner).readonly
            assert not np.asarray(owner).flags.writeable
            assert not np.frombuffer(owner, np.uint8).flags.writeable or not owner.nbytes


@KINDS
def test_answers_belong_to_the_caller(kind):
    distribution = kind(dense_scores(0, 3)[None].repeat(2, axis=0))
    for question in QUESTIONS:
        answer = getattr(distribution, question)()
        expected = answer.copy()
        answer[...] = -7.0
        np.testing.assert_array_equal(getattr(distribution, question)(), expected, question)


@KINDS
@pytest.mark.parametrize("batch_shape", [(0,), (0, 3), (3, 0)])
def test_empty_batches_have_empty_answers(kind, batch_shape):
    for lengths in [None, np.zeros(batch_shape, int), *([[]] if batch_shape == (0,) else [])]:
        batch = kind(np.zeros((*batch_shape, 4, 4)), lengths=lengths)
        assert batch.batch_shape == batch_shape
        assert batch.lengths.shape == batch_shape
        assert batch.log_partition(workers=3).shape == batch_shape
        assert batch.entropy().shape == batch_shape
        assert batch.mean_hitting_time().shape == batch_shape
        assert batch.arc_marginals().shape == (*batch_shape, 4, 4)
        assert batch.root_marginals().shape == (*batch_shape, 4)
        assert batch.log_prob(np.zeros((7, *batch_shape, 4), int)).shape == (7, *batch_shape)
    assert kind.from_weights(np.zeros((*batch_shape, 4, 4))).batch_shape == batch_shape


@KINDS
def test_batches_may_have_any_number_of_axes(kind):
    scores = np.random.default_rng(0).normal(size=(2, 1, 3, 5, 5))
    lengths = np.array([[[4, 2, 1]], [[3, 3, 4]]], dtype=np.uint8)
    batch = kind(scores, lengths=lengths)
    assert batch.batch_shape == (2, 1, 3)
    np.testing.assert_array_equal(batch.lengths, lengths)
    for index in np.ndindex(2, 1, 3):
        nodes = lengths[index] + 1
        single = kind(scores[index][:nodes, :nodes])
        assert batch.log_partition()[index] == single.log_partition()


@KINDS
def test_a_single_graph_may_be_padded_too(kind):
    scores = dense_scores(0, 5)
    assert kind(scores, lengths=3).log_partition() == kind(scores[:4, :4]).log_partition()
    assert kind(scores, lengths=3).batch_shape == ()


# ---- weights that are no graph ------------------------------------------------------------------

BOTH_CONSTRUCTORS = pytest.mark.parametrize(
    ("constructor", "name"), [("__call__", "log_weights"), ("from_weights", "weights")]
)


def make(kind, constructor, *arguments, **options):
    return (kind if constructor == "__call__" else kind.from_weights)(*arguments, **options)


@KINDS
@BOTH_CONSTRUCTORS
@pytest.mark.parametrize(
    ("values", "found", "remedy"),
    [
        pytest.param(np.zeros(()), r"shape \(\)", r"expected \(n \+ 1, n \+ 1\)", id="number"),
        pytest.param(np.zeros(4), r"shape \(4,\)", r"\(\.\.\., m, m\)", id="vector"),
        pytest.param([], r"shape \(0,\)", r"expected \(n \+ 1, n \+ 1\)", id="nothing"),
        pytest.param(np.zeros((3, 4)), r"shape \(3, 4\).*not square", "root included", id="flat"),
        pytest.param(np.zeros((2, 4, 3)), r"\(2, 4, 3\).*not square", "each node", id="batch"),
        pytest.param(np.zeros((3, 0)), r"\(3, 0\).*not square", "one row", id="no columns"),
        pytest.param(np.zeros((1, 1)), r"\(1, 1\).*leaves no words", "at least a 2 x 2", id="root"),
        pytest.param(np.zeros((0, 0)), r"\(0, 0\).*no words", "at least one word", id="no nodes"),
        pytest.param(np.zeros((5, 1, 1)), r"\(5, 1, 1\).*no words", "2 x 2", id="batch of roots"),
    ],
)
def test_wrong_shapes(kind, constructor, name, values, found, remedy):
    refused(
        InvalidWeightsError, lambda: make(kind, constructor, values), rf"^{name} has", found, remedy
    )


@KINDS
@BOTH_CONSTRUCTORS
@pytest.mark.parametrize(
    "values",
    [
        np.zeros((3, 3), complex),
        np.zeros((3, 3), object),
        np.full((3, 3), "1"),
        np.zeros((3, 3), "datetime64[s]"),
        np.zeros((3, 3), "timedelta64[s]"),
        [[0, 1, None], [0, 0, 1], [0, 1, 0]],
        [[0, 1j], [0, 0]],
        None,
        {(0, 1): 1.0},
    ],
    ids=lambda values: str(getattr(values, "dtype", type(values).__name__)),
)
def test_wrong_types(kind, constructor, name, values):
    dtype = np.asarray(values).dtype
    found = re.escape(f"its dtype is {dtype}")
    refused(TypeError, lambda: make(kind, constructor, values), f"^{name} must be", found, "pass")


@KINDS
@pytest.mark.parametrize("arc", [(0, 1), (0, 3), (2, 1), (3, 2)])
@pytest.mark.parametrize(("value", "found"), [(NAN, "nan"), (INF, "inf")])
def test_scores_that_are_not_finite(kind, arc, value, found):
    scores = np.zeros((4, 4))
    scores[arc] = value
    where = rf"^log_weights\[{arc[0]}, {arc[1]}\] is {found}, on the arc {arc[0]} -> {arc[1]}"
    refused(InvalidWeightsError, lambda: kind(scores), where, "finite score, or -inf to forbid it")
    where = where.replace("log_weights", "weights")
    refused(
        InvalidWeightsError,
        lambda: kind.from_weights(np.where(scores == 0, 1.0, scores)),
        where,
        "finite weight, or 0 to forbid it",
    )


@KINDS
def test_scores_that_are_not_finite_in_a_batch(kind):
    scores = np.zeros((2, 3, 4, 4))
    scores[1, 0, 3, 1], scores[1, 2, 0, 1] = NAN, INF
    refused(InvalidWeightsError, lambda: kind(scores), r"^log_weights\[1, 0, 3, 1\] is nan")
    scores[1, 0, 3, 1] = 0
    refused(InvalidWeightsError, lambda: kind(scores), r"^log_weights\[1, 2, 0, 1\] is inf")


@KINDS
@pytest.mark.parametrize("value", [-1.0, -5e-324, -INF, -1e300])
def test_negative_weights(kind, value):
    weights = np.ones((2, 4, 4))
    weights[1, 2, 3] = value
    refused(
        InvalidWeightsError,
        lambda: kind.from_weights(weights),
        re.escape(f"weights[1, 2, 3] is {value}"),
        "must not be negative",
        "use 0 to forbid an arc, or pass logarithms",
    )


@KINDS
def test_negative_integers(kind):
    refused(
        InvalidWeightsError,
        lambda: kind.from_weights([[0, 1, 1], [0, 0, -2], [0, 1, 0]]),
        r"weights\[1, 2\] is -2",
    )


@KINDS
@BOTH_CONSTRUCTORS
def test_lengths_are_keyword_only(kind, constructor, name):
    called = kind.__name__ + ("" if constructor == "__call__" else r"\.from_weights")
    refused(
        TypeError,
        lambda: make(kind, constructor, np.ones((2, 3, 3)), [2, 2]),
        f"^{called} takes 1 positional argument, but got 2; pass the others by name: lengths=",
    )


# ---- lengths ------------------------------------------------------------------------------------


@KINDS
@BOTH_CONSTRUCTORS
@pytest.mark.parametrize(
    ("lengths", "found", "remedy"),
    [
        ([2, 2], r"shape \(2,\)", "one number of words for each graph"),
        (2, r"shape \(\), but the batch has shape \(3,\)", "for each graph"),
        ([[2, 2, 2]], r"shape \(1, 3\)", "for each graph"),
        ([], r"shape \(0,\)", "for each graph"),
        ([1, 0, 3], r"lengths\[1\] is 0", "1 to 3 words .the root is not counted."),
        ([1, 3, 4], r"lengths\[2\] is 4", "padded to 4 nodes has 1 to 3 words"),
        ([-1, 3, 4], r"lengths\[0\] is -1", "1 to 3 words"),
        (np.array([1, 2, 2**63], np.uint64), r"lengths\[2\] is 9223372036854775808", "1 to 3"),
        (np.array([1, 2, 2**32 + 1]), r"lengths\[2\] is 4294967297", "1 to 3"),
    ],
)
def test_lengths_that_do_not_fit(kind, constructor, name, lengths, found, remedy):
    refused(
        InvalidWeightsError,
        lambda: make(kind, constructor, np.ones((3, 4, 4)), lengths=lengths),
        "^lengths",
        found,
        remedy,
    )


@KINDS
@BOTH_CONSTRUCTORS
@pytest.mark.parametrize(
    ("lengths", "dtype"), [([2.0, 1.0], "float64"), ([True, True], "bool"), (["2", "1"], "<U1")]
)
def test_lengths_that_are_not_integers(kind, constructor, name, lengths, dtype):
    refused(
        TypeError,
        lambda: make(kind, constructor, np.ones((2, 4, 4)), lengths=lengths),
        f"^lengths must be integers, but their dtype is {dtype}",
    )


@KINDS
def test_length_of_a_single_graph_that_does_not_fit(kind):
    call = lambda: kind(np.zeros((4, 4)), lengths=4)  # noqa: E731
    refused(InvalidWeightsError, call, "^lengths is 4", "1 to 3 words")


# ---- graphs without trees -----------------------------------------------------------------------


@KINDS
def test_all_unreachable_nodes_are_listed(kind):
    scores = np.zeros((6, 6))
    scores[[0, 1, 4]] = -INF  # 0, 1 and 4 are nobody's heads, but
    scores[0, [1, 4]] = 0.0  # the root is that of 1 and 4
    error = refused(
        NoTreeError,
        lambda: kind(scores),
        "^log_weights has no spanning tree",
        r"cannot reach nodes 2, 3, 5;",
        "give each an arc from a node that the root reaches",
    )
    assert error.unreachable == (2, 3, 5)
    assert error.batch_index == ()


@KINDS
def test_one_unreachable_node(kind):
    weights = np.ones((3, 3))
    weights[:, 2] = 0
    error = refused(NoTreeError, lambda: kind.from_weights(weights), "^weights has", "node 2;")
    assert error.unreachable == (2,)


@KINDS
def test_the_right_batch_item_is_named(kind):
    scores = np.zeros((2, 3, 5, 5))
    scores[1, 1, :, 3:] = -INF
    scores[1, 2, :, 1] = -INF
    lengths = np.full((2, 3), 4)
    error = refused(
        NoTreeError,
        lambda: kind(scores, lengths=lengths),
        r"in batch item \[1, 1\]",
        "nodes 3, 4;",
    )
    assert error.batch_index == (1, 1)
    assert error.unreachable == (3, 4)
    # Padding is not missed: with two words, item [1, 1] is fine, and the next one is named.
    lengths[1, 1] = 2
    error = refused(NoTreeError, lambda: kind(scores, lengths=lengths), r"item \[1, 2\]", "node 1;")
    assert error.batch_index == (1, 2)
    assert all(isinstance(node, int) for node in (*error.batch_index, *error.unreachable))


def test_arcs_from_padding_reach_nobody():
    scores = np.full((4, 4), -INF)
    scores[0, 1] = 0.0
    scores[0, 3] = scores[3, 2] = 0.0  # node 3 is padding
    assert refused(NoTreeError, lambda: SpanningTrees(scores, lengths=2)).unreachable == (2,)


@pytest.mark.parametrize("batch", [False, True])
def test_spanning_trees_without_dependency_trees(batch):
    scores = np.zeros((4, 4))
    scores[1:, 1:] = -INF
    scores[1, 2] = 0.0  # 3 hangs under the root alone, and so does 1
    scores = np.stack([np.zeros((4, 4)), scores]) if batch else scores
    assert np.isfinite(SpanningTrees(scores).log_partition()).all()
    error = refused(
        NoTreeError,
        lambda: DependencyTrees(scores),
        "^log_weights",
        "has spanning trees, but no dependency tree",
        r"add arcs between the words, or allow several arcs from the root \(SpanningTrees\)",
    )
    assert error.unreachable == ()
    assert error.batch_index == ((1,) if batch else ())


def has_arc_matrices(num_words):
    """List every graph of a number of words."""
    slots = [(i, j) for i in range(num_words + 1) for j in range(1, num_words + 1) if i != j]
    for chosen in itertools.product([False, True], repeat=len(slots)):
        has_arc = np.zeros((num_words + 1, num_words + 1), dtype=bool)
        has_arc[tuple(np.transpose(slots))] = chosen
        yield has_arc


def random_arc_matrices(num_words, count):
    generator = np.random.default_rng(num_words)
    densities = generator.uniform(0.15, 0.6, (count, 1, 1))
    return generator.random((count, num_words + 1, num_words + 1)) < densities


def reachable(has_arc):
    """Follow arcs from the root as often as there are nodes."""
    arcs = has_arc.astype(int)
    arcs[:, 0] = 0
    steps = np.linalg.matrix_power(arcs + np.eye(len(arcs), dtype=int), len(arcs))
    return steps[0] > 0


@KINDS
@pytest.mark.parametrize(
    "graphs",
    [
        *(pytest.param([*has_arc_matrices(n)], id=f"all of {n} words") for n in (1, 2, 3)),
        pytest.param(random_arc_matrices(4, 2000), id="random, 4 words"),
        pytest.param(random_arc_matrices(7, 500), id="random, 7 words"),
    ],
)
def test_the_gate_is_exact(kind, graphs):
    # A graph passes if and only if it has a tree, and else exactly the right nodes are named.
    passed = 0
    for has_arc in graphs:
        scores = np.where(has_arc, 0.0, -INF)
        if count_trees(has_arc, single_root=is_single_root(kind)):
            assert kind(scores).batch_shape == ()
            passed += 1
        else:
            error = refused(NoTreeError, lambda scores=scores: kind(scores))
            assert error.unreachable == tuple(np.flatnonzero(~reachable(has_arc)))
    assert 0 < passed < len(graphs)


# ---- other arguments ----------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize(
    ("heads", "found"),
    [
        ([-1, 0, 1], r"shape \(3,\): expected \(4,\)"),
        ([[-1, 0, 1, 1, 1]], r"shape \(1, 5\): expected \(4,\)"),
        (3, r"shape \(\): expected \(4,\)"),
        ([[], []], r"shape \(2, 0\): expected \(4,\)"),
    ],
)
def test_log_prob_of_the_wrong_shape(kind, heads, found):
    distribution = kind(np.zeros((4, 4)))
    refused(InvalidTreeError, lambda: distribution.log_prob(heads), "^heads has", found, "draws")


@KINDS
def test_log_prob_of_the_wrong_batch(kind):
    batch = kind(np.zeros((2, 3, 3)))
    refused(
        InvalidTreeError,
        lambda: batch.log_prob([[-1, 0, 1]] * 3),
        r"heads has shape \(3, 3\): expected \(2, 3\)",
    )


@KINDS
@pytest.mark.parametrize(
    ("heads", "found"),
    [
        ([-1, 2, 1, 0], "cycle 1 -> 2 -> 1"),
        ([-1, 0, 2, 1], r"heads\[2\] is 2: node 2 cannot be its own head"),
        ([-1, 0, 4, 1], r"heads\[2\] is 4: the head of node 2 must be 0 .the root. to 3"),
        ([0, 0, 1, 1], r"heads\[0\] is 0: the entry of the root"),
    ],
)
def test_log_prob_of_something_that_is_not_a_tree(kind, heads, found):
    distribution = kind(np.zeros((4, 4)))
    refused(InvalidTreeError, lambda: distribution.log_prob(heads), found)


@KINDS
def test_log_prob_of_heads_that_are_not_integers(kind):
    distribution = kind(np.zeros((3, 3)))
    call = lambda: distribution.log_prob([-1.0, 0.0, 1.0])  # noqa: E731
    refused(TypeError, call, "heads must be integers, but their dtype is float64")


@KINDS
def test_log_prob_in_a_padded_batch_reads_padding(kind):
    batch = kind(np.zeros((2, 4, 4)), lengths=[3, 2])
    assert np.isfinite(batch.log_prob([[-1, 0, 1, 1], [-1, 0, 1, -1]])).all()
    refused(
        InvalidTreeError,
        lambda: batch.log_prob([[-1, 0, 1, 1], [-1, 0, 1, 1]]),
        r"heads\[1, 3\] is 1: the entry of a padding node must be -1 .this tree has 2 words",
    )


@KINDS
@pytest.mark.parametrize("question", QUESTIONS)
def test_workers(kind, question):
    def ask(**options):
        return getattr(kind(np.zeros((2, 3, 3))), question)(**options)

    for workers in (1, 2, np.int64(3), 10**6, 2**40):
        np.testing.assert_array_equal(ask(workers=workers), ask())
    for workers in (0, -1):
        refused(ValueError, lambda w=workers: ask(workers=w), f"^workers is {workers}: .* least 1")
    for workers in (1.0, "2", None, True):
        refused(TypeError, lambda w=workers: ask(workers=w), "^workers must be an integer")


@KINDS
@pytest.mark.parametrize("argument", ["include", "exclude", "arcs", "given"])
@pytest.mark.parametrize(
    ("arc", "error", "found"),
    [
        ((1, 1), ValueError, r"\(1, 1\), which is not an arc of a graph with 3 words"),
        ((1, 0), ValueError, r"\(1, 0\).*the dependent 1 to 3"),
        ((4, 1), ValueError, r"\(4, 1\).*the head must be 0 .the root. to 3"),
        ((-1, 1), ValueError, r"\(-1, 1\)"),
        ((0, 4), ValueError, r"\(0, 4\)"),
        ((0, 1, 2), TypeError, r"pairs, not \(0, 1, 2\)"),
        (1, TypeError, "pairs, not 1"),
        ((0.0, 1), TypeError, r"the head of \(0.0, 1\).*must be an integer, not float"),
        ((0, True), TypeError, r"the dependent of \(0, True\).*must be an integer"),
    ],
)
def test_arcs_that_are_none(kind, argument, arc, error, found):
    distribution = kind(np.zeros((5, 5)), lengths=3)
    calls = {
        "include": lambda: distribution.condition(include=[(0, 1), arc]),
        "exclude": lambda: distribution.condition(exclude=[(0, 1), arc]),
        "arcs": lambda: distribution.joint_probability([(0, 1), arc]),
        "given": lambda: distribution.joint_probability([(0, 1)], given=[(2, 1), arc]),
    }
    refused(error, calls[argument], rf"\b{argument}\b", found)


@KINDS
def test_conditions_that_no_tree_meets(kind):
    distribution = kind(sparse_scores(0, 4, 1.0))
    for include, exclude in [
        ([(1, 2), (2, 1)], []),
        ([(0, 1), (2, 1)], []),
        ([(0, 1)], [(0, 1)]),
        ([], [(head, 1) for head in (0, 2, 3, 4)]),
    ]:
        refused(
            NoTreeError,
            lambda i=include, e=exclude: distribution.condition(include=i, exclude=e),
            "include|exclude|no tree is left: word 1 is left without a head",
        )
    two_root_arcs = [(0, 1), (0, 2)]
    assert distribution.joint_probability([(1, 2), (2, 1)]) == 0
    if is_single_root(kind):
        assert distribution.joint_probability(two_root_arcs) == 0
        with pytest.raises(NoTreeError):
            distribution.condition(include=two_root_arcs)
    else:
        assert distribution.joint_probability(two_root_arcs) > 0


@KINDS
@pytest.mark.parametrize("method", ["condition", "joint_probability"])
def test_questions_about_one_graph_are_refused_for_batches(kind, method):
    batch = kind(np.zeros((2, 3, 3)))
    calls = {
        "condition": lambda: batch.condition(include=[(0, 1)]),
        "joint_probability": lambda: batch.joint_probability([(0, 1)]),
    }
    refused(
        TypeError,
        calls[method],
        rf"^({method} takes|include takes arcs of) a single graph",
        r"batch of shape \(2,\)",
        "index it first",
    )


def test_masked_arrays_are_refused():
    scores = np.ma.masked_array(np.zeros((3, 3)), mask=np.eye(3, dtype=bool))
    with pytest.raises(TypeError, match=r"log_weights is a masked array.*fill it first"):
        DependencyTrees(scores)
    with pytest.raises(TypeError, match=r"^weights is a masked array"):
        DependencyTrees.from_weights(scores)


def test_what_numpy_cannot_read_is_named():
    class Tensor:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

    with pytest.raises(TypeError, match=r"log_weights cannot be read.*requires grad.*detach\(\)"):
        DependencyTrees(Tensor())
    with pytest.raises(TypeError, match=r"log_weights cannot be read.*the same length"):
        DependencyTrees([[0.0, 1.0], [0.0]])


def test_memoryviews_of_several_dimensions_are_read_as_arrays():
    scores = dense_scores(0, 3)
    trees, arcs = DependencyTrees(scores), np.array([[2, 1]])
    assert np.array_equal(DependencyTrees(memoryview(scores)).log_weights, trees.log_weights)
    several = np.stack([scores, 2 * scores])
    for matrices in (memoryview(several), [memoryview(one) for one in several]):
        assert np.array_equal(pad(matrices)[0], several)
    for name in ("include", "exclude"):
        given, listed = {name: memoryview(arcs)}, {name: [(2, 1)]}
        assert trees.log_evidence(**given) == trees.log_evidence(**listed)
        answer, expected = trees.condition(**given), trees.condition(**listed)
        assert np.array_equal(answer.log_weights, expected.log_weights)
    with pytest.raises(TypeError, match="include must be a list of"):
        trees.condition(include=memoryview(np.array(1)))
    with pytest.raises(InvalidWeightsError, match=r"^matrices\[0\] has shape \(4,\)"):
        pad(memoryview(scores))
