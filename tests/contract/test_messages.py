"""What a newcomer tries first: each mistake gets one sentence with argument, finding and remedy."""

import io
import pathlib

import numpy as np
import pytest
import scipy.sparse

from arborand import (
    DependencyTrees,
    InvalidTreeError,
    InvalidWeightsError,
    LabelledTrees,
    NoTreeError,
    SpanningTrees,
    SparseSpanningTrees,
    estimators,
    pad,
)
from arborand.evaluation import evaluate
from tests.kinds import KINDS
from tests.random_graphs import dense_scores

NAMES = pytest.mark.parametrize(
    ("constructor", "name"), [("__call__", "log_weights"), ("from_weights", "weights")]
)


def make(kind, constructor, *arguments, **options):
    return (kind if constructor == "__call__" else kind.from_weights)(*arguments, **options)


def foreign(module, name, base=object, **members):
    """Make an object as another library would, without that library."""
    kind = type(name, (base,), {"__module__": module, **members})
    return kind()


def tensor(**properties):
    class Device:
        type = properties.pop("device", "cpu")

        def __str__(self):
            return f"{self.type}:0"

    def unreadable(self, dtype=None, copy=None):
        raise TypeError("can't convert this tensor to numpy")

    defaults = {"requires_grad": False, "dtype": "torch.float32", "layout": "torch.strided"}
    return foreign(
        "torch", "Tensor", __array__=unreadable, device=Device(), **{**defaults, **properties}
    )


class Graph:
    """Like a graph of NetworkX: iterating over it gives its nodes."""

    __module__ = "networkx.classes.graph"

    def __iter__(self):
        return iter(range(34))

    def __len__(self):
        return 34


# ---- objects that are no matrices ---------------------------------------------------------------


@KINDS
@NAMES
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("scores.npy", r"is 'scores.npy', which is a name and not an array: .*numpy\.load"),
        (b"scores.npy", "is b'scores.npy', which is a name"),
        (pathlib.Path("scores.npy"), r"scores\.npy.*, which is a name and not an array"),
        (Graph(), r"NetworkX graph: use SparseSpanningTrees\.from_networkx, or .*from_weights"),
        (
            scipy.sparse.csr_array(np.ones((3, 3))),
            r"is a SciPy sparse matrix: use SparseSpanningTrees\.from_scipy, or .*toarray",
        ),
        (scipy.sparse.coo_matrix(np.ones((3, 3))), "is a SciPy sparse matrix"),
        (foreign("jax._src.core", "Tracer"), r"is a JAX tracer.*arborand\.jax"),
        (
            foreign("jax._src.interpreters.partial_eval", "DynamicJaxprTracer",
                    type(foreign("jax._src.core", "Tracer"))),
            r"is a JAX tracer.*arborand\.jax",
        ),
        (
            tensor(requires_grad=True),
            r"requires grad, but no gradient flows .*: use .* arborand\.torch, or pass tensor\.det",
        ),
        (tensor(dtype="torch.bfloat16"), r"of bfloat16.*: pass tensor\.float\(\)"),
        (tensor(layout="torch.sparse_coo"), r"sparse torch tensor: pass tensor\.to_dense\(\)"),
        (tensor(device="cuda"), r"on the device cuda:0: pass tensor\.cpu\(\)"),
        (
            [np.zeros((3, 3)), np.zeros((2, 2)), np.zeros((5, 5))],
            r"holds 3 matrices of different sizes: pad them with .*arborand\.pad.*lengths=lengths",
        ),
        ({(0, 1): 1.0}, "must be an array of real numbers, but its dtype is object"),
        (
            foreign("numpy.lib.npyio", "NpzFile"),
            r"is an open \.npz file: pass one of its arrays, file\['name'\]; .*read_scores",
        ),
        (io.BytesIO(), r"is an open file: read it first, for instance with numpy\.load"),
        (iter([[0.0]]), r"is an iterator \(list_iterator\): pass list\(iterator\), or arbor"),
        (
            [tensor(requires_grad=True)],
            "is a list whose first element is a torch tensor that requires grad",
        ),
        ((foreign("jax._src.core", "Tracer"),), "is a tuple whose first element is a JAX tracer"),
        (["scores.npy"], "is a list whose first element is 'scores.npy', which is a name"),
    ],
)  # fmt: skip
def test_what_is_not_an_array_names_the_right_call(kind, constructor, name, value, message):
    with pytest.raises(TypeError, match=f"^{name} .*{message}"):
        make(kind, constructor, value)


def test_numbers_that_numpy_does_not_have():
    bfloat16 = np.dtype([("bfloat16", np.uint16)])

    class Array(np.ndarray):
        """As ml_dtypes makes them: a type of the kind V with a name of its own."""

        @property
        def dtype(self):
            return type("Dtype", (), {"name": "bfloat16", "kind": "V", "itemsize": 2})()

    from arborand.recognition import unknown_numbers

    found = unknown_numbers(np.zeros((3, 3), bfloat16).view(Array))
    assert found == (
        "has the dtype bfloat16, which NumPy does not compute with: pass "
        "array.astype(numpy.float32)"
    )
    assert unknown_numbers(np.zeros(3)) is None


def test_an_open_npz_file_is_recognised(tmp_path):
    np.savez(tmp_path / "scores.npz", scores=np.zeros((3, 3)))
    with (
        np.load(tmp_path / "scores.npz") as file,
        pytest.raises(TypeError, match=r"^log_weights is an open \.npz file"),
    ):
        SpanningTrees(file)


@KINDS
def test_tensors_that_numpy_can_read_are_read(kind):
    scores = dense_scores(0, 3)
    readable = tensor()
    type(readable).__array__ = lambda self, dtype=None, copy=None: scores
    np.testing.assert_array_equal(kind(readable).log_weights, kind(scores).log_weights)


# ---- shapes -------------------------------------------------------------------------------------


@KINDS
def test_an_axis_of_labels(kind):
    scores = np.zeros((2, 5, 5, 37))
    with pytest.raises(InvalidWeightsError, match=r"\(2, 5, 5, 37\): its last axis .*logsumexp"):
        kind(scores)
    with pytest.raises(InvalidWeightsError, match=r"labels; .* array\.sum\(-1\)"):
        kind.from_weights(scores)
    assert "(2, 37)" in repr(kind(np.moveaxis(scores, -1, 1)))


@KINDS
def test_lists_of_edges(kind):
    edges = [[0, 1, 0.5], [1, 2, 0.7], [2, 3, 1.5], [0, 3, 1.0]]
    for columns in (2, 3):
        with pytest.raises(InvalidWeightsError, match=r"\(4, .\) and seems to be a list of edges"):
            kind(np.array(edges)[:, :columns])
    with pytest.raises(InvalidWeightsError, match="not square"):
        kind(np.array(edges) - 0.5)


# ---- orientation --------------------------------------------------------------------------------


@KINDS
@NAMES
def test_the_other_orientation(kind, constructor, name):
    scores = np.exp(dense_scores(0, 4))[None].repeat(2, axis=0)
    turned = scores.swapaxes(-1, -2)
    expected = make(kind, constructor, scores, lengths=[4, 3]).log_weights
    for given, orientation in ((turned, "dependent,head"), (scores, "head,dependent")):
        found = make(kind, constructor, given, lengths=[4, 3], orientation=orientation)
        np.testing.assert_array_equal(found.log_weights, expected)
        assert found.log_weights.flags.c_contiguous
    with pytest.raises(
        ValueError, match=rf"^orientation is 'rows': use 'head,dependent' for {name}\[head, dep"
    ):
        make(kind, constructor, scores, orientation="rows")


@KINDS
def test_errors_name_entries_as_the_caller_has_them(kind):
    scores = np.zeros((4, 4))
    scores[3, 1] = np.nan  # dependent 3, head 1
    with pytest.raises(InvalidWeightsError, match=r"log_weights\[3, 1\] is nan, on the arc 1 -> 3"):
        kind(scores, orientation="dependent,head")
    with pytest.raises(InvalidWeightsError, match=r"^weights\[1, 2\] is -1.0: .* negative"):
        kind.from_weights([[1, 1, 1], [1, 1, -1.0], [1, 1, 1]], orientation="dependent,head")


@KINDS
def test_an_empty_row_of_the_root(kind):
    weights = np.ones((4, 4))
    weights[0] = 0
    with pytest.raises(NoTreeError, match=r"row 0 is empty, and column 0 is not: .*orientation="):
        kind.from_weights(weights)
    with np.errstate(divide="ignore"), pytest.raises(NoTreeError, match="row 0 is empty, and col"):
        kind(np.log(weights))
    weights[:, 0] = 0
    with pytest.raises(NoTreeError, match="row 0 is empty: it holds the arcs from the root") as no:
        kind.from_weights(weights)
    assert no.value.unreachable == (1, 2, 3)
    with pytest.raises(NoTreeError, match="column 0 is empty: it holds the arcs from the root"):
        kind.from_weights(weights, orientation="dependent,head")


# ---- lengths ------------------------------------------------------------------------------------


@KINDS
def test_batches_without_a_tree_ask_for_lengths(kind):
    scores = np.full((2, 4, 4), -np.inf)
    scores[0], scores[1, :3, :3] = 0, 0
    with pytest.raises(NoTreeError, match=r"item \[1\].*node 3;.*if the batch is padded, pass len"):
        kind(scores)
    with pytest.raises(NoTreeError) as caught:
        kind(scores, lengths=[3, 3])
    assert "padded" not in str(caught.value)
    with pytest.raises(NoTreeError) as caught:
        kind(scores[1])
    assert "padded" not in str(caught.value)


@KINDS
def test_masks_are_not_lengths(kind):
    mask = np.ones((2, 3), dtype=bool)
    with pytest.raises(TypeError, match=r"^lengths must be integers.*bool: .*pass mask\.sum\(-1\)"):
        kind(np.zeros((2, 4, 4)), lengths=mask)


@KINDS
def test_lengths_that_count_the_root(kind):
    with pytest.raises(InvalidWeightsError, match=r"lengths\[1\] is 4: .*pass lengths - 1"):
        kind(np.zeros((2, 4, 4)), lengths=[3, 4])
    with pytest.raises(InvalidWeightsError) as caught:
        kind(np.zeros((2, 4, 4)), lengths=[1, 4])  # a graph of no words
    assert "lengths - 1" not in str(caught.value)


# ---- arguments by other names -------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: d.sample(3, seed=0), r"\.sample has no argument seed: it is called rng"),
        (lambda d: d.sample(num_samples=3), r"\.sample has no .* num_samples: it is called size"),
        (lambda d: d.sample(3, metod="wilson"), r"\.sample has no .* metod: it is called method"),
        (
            lambda d: d.sample(3, 4),
            r"\.sample takes 1 positional argument, but got 2; pass the others by name",
        ),
        (lambda d: d.entropy(2), r"\.entropy takes no positional arguments, but got 1; .* work"),
        (
            lambda d: d.log_prob([-1, 0, 1], True),
            r"\.log_prob takes 1 positional argument, but got 2$",
        ),
        (
            lambda d: d.sample_without_replacement(3, seed=1),
            r"\.sample_without_replacement has no argument seed: it is called rng",
        ),
        (lambda d: d.best_trees(n=3), r"\.best_trees has no argument n: it is called k"),
        (lambda d: d.entropy(colour=1), r"\.entropy has no argument colour: it takes workers="),
        (
            lambda d: type(d)(d.log_weights, multiroot=True),
            " has no argument multiroot: the class decides: SpanningTrees allows several",
        ),
        (
            lambda d: type(d).from_weights(np.ones((3, 3)), single_root=True),
            r"\.from_weights has no argument single_root: the class decides",
        ),
        (
            lambda d: type(d)(d.log_weights, [2]),
            " takes 1 positional argument, but got 2; pass the others by name: lengths=, orient",
        ),
        (lambda d: type(d)(d.log_weights, mask=[2]), " has no argument mask: it is called lengths"),
        (lambda d: type(d)(scores=1), " has no argument scores: it is called log_weights"),
    ],
)
def test_arguments_of_other_libraries_are_answered_by_their_names_here(kind, call, message):
    with pytest.raises(TypeError, match=f"^{kind.__name__}{message}"):
        call(kind(np.zeros((3, 3))))


@KINDS
@pytest.mark.parametrize(
    "call",
    [
        lambda d: type(d)(),
        lambda d: type(d).from_weights(),
        lambda d: d.log_prob(),
        lambda d: d.log_prob(1, 2),
        lambda d: d.joint_probability(),
        lambda d: d.condition(what=1),
    ],
)
def test_private_classes_are_never_named(kind, call):
    with pytest.raises(TypeError) as caught:
        call(kind(np.zeros((3, 3))))
    assert "TreeDistribution" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: d.sample(3, seed=0), r"\.sample has no argument seed: it is called rng"),
        (
            lambda d: d.sample_edges(seed=0),
            r"\.sample_edges has no argument seed: it is called rng",
        ),
        (lambda d: d.sample(num_samples=3), r"\.sample has no .* num_samples: it is called size"),
        (
            lambda d: d.log_partition(1e9),
            r"\.log_partition takes no .* pass the others by name: max_work=",
        ),
        (
            lambda d: type(d).from_edges([0], [1], [1.0], 2),
            r"\.from_edges takes 3 positional arguments, but got 4; pass .* by name: log_weights=",
        ),
    ],
)
def test_sparse_graphs_explain_their_arguments_too(call, message):
    with pytest.raises(TypeError, match=f"^SparseSpanningTrees{message}"):
        call(SparseSpanningTrees.from_edges([0, 0, 1], [1, 2, 2], root=0))


def test_sparse_graphs_are_not_made_from_matrices():
    for arguments in ((), (np.zeros((3, 3)),)):
        with pytest.raises(TypeError, match=r"from_edges, from_scipy, .* goes to SpanningTrees"):
            SparseSpanningTrees(*arguments)


def test_walks_are_explained_too():
    with pytest.raises(TypeError, match=r"^SpanningTrees\.expected_walk_steps takes no positional"):
        SpanningTrees(np.zeros((3, 3))).expected_walk_steps(2)


# ---- randomness and sizes -----------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize(
    ("rng", "message"),
    [
        (foreign("torch._C", "Generator"), r"is a torch\.Generator: .*generator\.initial_seed\(\)"),
        (np.random.RandomState(0), r"is a numpy\.random\.RandomState: pass numpy\.random\.default"),
        (np.random.PCG64(0), r"is a numpy\.random\.PCG64: pass numpy\.random\.default_rng"),
        (__import__("random").Random(0), r"is a random\.Random: pass an integer"),
        (foreign("jaxlib._jax", "ArrayImpl"), "is a JAX key: pass an integer"),
        (0.5, "must be an integer seed.* not float"),
    ],
)
def test_other_sources_of_randomness(kind, rng, message):
    with pytest.raises(TypeError, match=f"^rng {message}"):
        kind(np.zeros((3, 3))).sample(rng=rng)


@KINDS
def test_sizes_are_tuples(kind):
    with pytest.raises(TypeError, match=r"^size is the list \[2, 3\]: pass a tuple, \(2, 3\)"):
        kind(np.zeros((3, 3))).sample([2, 3])


@KINDS
def test_no_draws_of_too_many(kind):
    for size in (2**48, (0, 2**62)):
        with pytest.raises(ValueError, match=r"^size is .*: too many trees for memory; draw th"):
            kind(np.zeros((3, 3))).sample(size)
    large, small = kind(np.zeros((61, 61))), kind(np.zeros((3, 3)))
    for name in ("best_trees", "sample_without_replacement"):
        with pytest.raises(ValueError, match=r"^k is 10+: the answer would take .* GiB"):
            getattr(large, name)(10**30)
        assert len(getattr(small, name)(10**30)) == (3 if kind is SpanningTrees else 2)


# ---- heads --------------------------------------------------------------------------------------


@KINDS
def test_ragged_heads(kind):
    with pytest.raises(
        InvalidTreeError, match=r"^heads holds trees of different lengths: pad .*-1"
    ):
        kind(np.zeros((3, 3))).log_prob([[-1, 0, 1], [-1, 0]])


@KINDS
def test_heads_that_are_not_an_array(kind):
    def unreadable(self, dtype=None, copy=None):
        raise TypeError("the conversion method was called on a traced array")

    tracer = foreign("jax._src.core", "Tracer", __array__=unreadable)
    unknown = foreign("somewhere", "Array", __array__=unreadable)
    distribution = kind(np.zeros((3, 3)))
    for ask in (distribution.log_prob, lambda heads: distribution.condition(heads=heads)):
        with pytest.raises(TypeError, match=r"^heads is a JAX tracer.*arborand\.jax"):
            ask(tracer)
        with pytest.raises(TypeError, match=r"^heads cannot be read as an array \(the conversion"):
            ask(unknown)


@KINDS
def test_heads_without_the_root(kind):
    distribution = kind(np.zeros((4, 4)))
    for heads in ([2, 0, 2], [[2, 0, 2], [0, 1, 1]]):
        with pytest.raises(InvalidTreeError, match=r"put -1 for the root in front.*from_conll"):
            distribution.log_prob(heads)


# ---- the padding helper -------------------------------------------------------------------------


@KINDS
def test_padded_matrices_are_a_batch(kind):
    graphs = [dense_scores(seed, n) for seed, n in enumerate([3, 1, 5])]
    array, lengths = pad(graphs)
    assert (array.shape, array.dtype) == ((3, 6, 6), np.float64)
    assert (lengths.tolist(), lengths.dtype) == ([3, 1, 5], np.int32)
    batch = kind(array, lengths=lengths)
    for single, graph in zip(batch, graphs, strict=True):
        assert single.log_partition() == kind(graph).log_partition()
    weights, lengths = pad(iter(np.exp(graph) for graph in graphs))
    np.testing.assert_allclose(
        kind.from_weights(weights, lengths=lengths).log_partition(), batch.log_partition()
    )


def test_nothing_can_be_padded():
    array, lengths = pad([])
    assert DependencyTrees(array, lengths=lengths).batch_shape == (0,)


@pytest.mark.parametrize(
    ("matrix", "error", "message"),
    [
        (np.zeros((3, 4)), InvalidWeightsError, r"matrices\[1\] has shape \(3, 4\): expected"),
        (np.zeros((1, 1)), InvalidWeightsError, r"matrices\[1\] has shape \(1, 1\)"),
        (np.zeros((2, 3, 3)), InvalidWeightsError, r"matrices\[1\] has shape \(2, 3, 3\)"),
        ("scores.npy", TypeError, r"matrices\[1\] is 'scores.npy', which is a name"),
        ([[1.0, 2.0], [3.0]], TypeError, r"matrices\[1\] cannot .*: all rows must have the same"),
        (
            [["1", "2"], ["3", "4"]],
            TypeError,
            r"matrices\[1\] must be an array of real numbers, .* <U1",
        ),
        (
            [[None, 1.0], [1.0, 1.0]],
            TypeError,
            r"matrices\[1\] must be an array of real numbers, .* object",
        ),
        (
            np.ones((2, 2), complex),
            TypeError,
            r"matrices\[1\] must be an array of real numbers, .* complex128",
        ),
        (np.ma.zeros((2, 2)), TypeError, r"matrices\[1\] is a masked array, whose mask would be"),
    ],
)
def test_matrices_that_cannot_be_padded(matrix, error, message):
    with pytest.raises(error, match=f"^{message}"):
        pad([np.zeros((2, 2)), matrix])


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("evaluate", lambda d: evaluate(d, [-1, 0, 1])),
        ("expectation", lambda d: estimators.expectation(d, len, 1)),
        ("sum_and_sample", lambda d: estimators.sum_and_sample(d, len, 1, 1)),
        ("kl_divergence", DependencyTrees(np.zeros((3, 3))).kl_divergence),
    ],
)
def test_what_takes_trees_without_labels_says_where_to_get_them(name, call):
    takes = f"^{name} takes a distribution, such as DependencyTrees, not"
    labelled = LabelledTrees(np.zeros((3, 3, 2)))
    with pytest.raises(TypeError, match=f"{takes} LabelledTrees; pass its .trees"):
        call(labelled)
    with pytest.raises(TypeError, match=f"{takes} ndarray; make one from the log-weights"):
        call(labelled.log_weights)
