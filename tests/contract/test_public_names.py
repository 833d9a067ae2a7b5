"""What users rely on: names, signatures, documentation, pickles, shapes, the cost of import."""

import copy
import importlib.metadata
import importlib.resources
import inspect
import pickle
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import arborand
from arborand import (
    DependencyTrees,
    InvalidTreeError,
    InvalidWeightsError,
    NoTreeError,
    SpanningTrees,
    SupportExhaustedError,
)
from tests.kinds import ALL_KINDS, KINDS, PROJECTIVE_KINDS
from tests.random_graphs import dense_scores

ROOT = Path(__file__).parents[2]
PUBLIC_NAMES = {
    "ArborandError",
    "BestTree",
    "BestTrees",
    "BiasedSamplerWarning",
    "DependencyTrees",
    "Draw",
    "Draws",
    "InvalidTreeError",
    "InvalidWeightsError",
    "LabelledTrees",
    "NoTreeError",
    "PrecisionError",
    "ProjectiveDependencyTrees",
    "ProjectiveSpanningTrees",
    "SpanningTrees",
    "SparseSpanningTrees",
    "SupportExhaustedError",
    "SuspiciousWeightsWarning",
    "TooMuchWorkError",
    "WalkTooLongError",
    "__version__",
    "pad",
}

SAMPLE_OPTIONS = "*, method=None, rng=None, workers=1, first_graph=0, first_draw=0"
# Without annotations; what follows the * is keyword-only.
SIGNATURES = {
    "__init__": "(self, log_weights, *, lengths=None, orientation='head,dependent')",
    "from_weights": "(weights, *, lengths=None, orientation='head,dependent')",
    "log_partition": "(self, *, workers=1)",
    "arc_marginals": "(self, *, workers=1)",
    "root_marginals": "(self, *, workers=1)",
    "entropy": "(self, *, workers=1)",
    "mean_hitting_time": "(self, *, workers=1)",
    "log_prob": "(self, heads)",
    "sample": f"(self, size=None, {SAMPLE_OPTIONS})",
    "sample_and_log_prob": f"(self, size=None, {SAMPLE_OPTIONS})",
    "condition": "(self, *, include=(), exclude=(), heads=None, allowed=None)",
    "log_evidence": "(self, *, include=(), exclude=(), heads=None, allowed=None, workers=1)",
    "best_tree": "(self, *, workers=1)",
    "best_trees": "(self, k, *, workers=1, on_exhausted='return')",
    "iterate_best_trees": "(self)",
    "minimum_risk_tree": "(self, *, workers=1)",
    "expected_attachment_score": "(self, heads, *, workers=1)",
    "joint_probability": "(self, arcs, *, given=())",
}
NUMBERS = ["log_partition", "entropy", "mean_hitting_time"]


def public_members(kind):
    return {name: member for name, member in inspect.getmembers(kind) if not name.startswith("_")}


def without_annotations(function):
    signature = inspect.signature(function)
    parameters = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))


# ---- names and signatures -----------------------------------------------------------------------


def test_public_names():
    assert set(arborand.__all__) == PUBLIC_NAMES
    assert list(arborand.__all__) == sorted(arborand.__all__)
    assert all(hasattr(arborand, name) for name in PUBLIC_NAMES)
    others = {
        name
        for name, value in vars(arborand).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert others == PUBLIC_NAMES - {"__version__"}


def test_the_version_is_that_of_the_installed_package():
    assert arborand.__version__ == importlib.metadata.version("arborand")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert arborand.__version__ == project["version"]
    with pytest.raises(AttributeError, match="'arborand' has no attribute 'version'"):
        arborand.version  # noqa: B018


@KINDS
@pytest.mark.parametrize(("method", "signature"), SIGNATURES.items())
def test_signatures(kind, method, signature):
    assert without_annotations(getattr(kind, method)) == signature


@PROJECTIVE_KINDS
def test_projective_trees_have_all_but_what_belongs_to_walks(kind):
    difference = public_members(kind).keys() ^ public_members(DependencyTrees).keys()
    assert difference == {"joint_marginals", "mean_hitting_time"}
    for name, member in public_members(DependencyTrees).items():
        if callable(member) and name not in difference:
            expected = without_annotations(member).replace("method=None, ", "")
            assert without_annotations(getattr(kind, name)) == expected, name


def test_walks_are_counted_for_spanning_trees_only():
    # Every other public name is in both kinds.
    difference = public_members(SpanningTrees).keys() ^ public_members(DependencyTrees).keys()
    assert difference == {"expected_walk_steps"}
    assert without_annotations(SpanningTrees.expected_walk_steps) == "(self, *, workers=1)"


@ALL_KINDS
def test_everything_after_the_object_and_one_argument_is_keyword_only(kind):
    for name, member in public_members(kind).items():
        if not callable(member):
            continue
        positional = [
            parameter
            for parameter in inspect.signature(member).parameters.values()
            if parameter.kind is not parameter.KEYWORD_ONLY and parameter.name != "self"
        ]
        # A covariance is of two things alike.
        assert len(positional) <= 1 + (name == "covariance"), name


# ---- documentation ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(PUBLIC_NAMES - {"__version__"}))
def test_public_names_are_documented(name):
    first_line = getattr(arborand, name).__doc__.split("\n")[0]
    assert first_line.endswith(".")
    assert len(first_line.split()) > 4


@ALL_KINDS
def test_public_methods_are_documented(kind):
    for name, member in [(kind.__name__, kind), *public_members(kind).items()]:
        text = inspect.getdoc(member)
        assert text, name
        assert text.split("\n")[0].endswith("."), name
        if callable(member):
            assert "\nExamples\n--------\n" in text, name
            assert ">>> " in text, name


def test_types_are_published():
    package = importlib.resources.files("arborand")
    assert package.joinpath("py.typed").is_file()
    assert "def log_partition" in package.joinpath("_core.pyi").read_text()


# ---- copies -------------------------------------------------------------------------------------


def duplicates(original):
    yield copy.copy(original)
    yield copy.deepcopy(original)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        yield pickle.loads(pickle.dumps(original, protocol))


@ALL_KINDS
def test_distributions_can_be_copied_and_pickled(kind):
    scores = dense_scores(0, 4)[None, None].repeat(2, axis=1)
    scores[..., 2, 3] = -np.inf
    batch = kind(scores, lengths=[[4, 3]])
    for original in (batch, batch[0, 1], kind(scores[0, 0]), kind(np.zeros((0, 3, 3)))):
        original.log_partition()  # whatever it remembers must not break the copy
        for duplicate in duplicates(original):
            assert type(duplicate) is kind
            assert duplicate.batch_shape == original.batch_shape
            for name in ("log_weights", "lengths"):
                expected = getattr(original, name)
                np.testing.assert_array_equal(getattr(duplicate, name), expected, strict=True)
                assert not getattr(duplicate, name).flags.writeable
            np.testing.assert_array_equal(duplicate.log_partition(), original.log_partition())
            np.testing.assert_array_equal(duplicate.arc_marginals(), original.arc_marginals())


@pytest.mark.parametrize(
    "error",
    [
        InvalidWeightsError("message"),
        InvalidTreeError("message"),
        NoTreeError("message", (2, 3), (0, 1)),
        SupportExhaustedError("message", 16),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_can_be_copied_and_pickled(error):
    # They have to: errors of a process pool travel in pickles.
    for duplicate in duplicates(error):
        assert type(duplicate) is type(error)
        assert str(duplicate) == "message"
        assert vars(duplicate) == vars(error)


# ---- batches as containers ----------------------------------------------------------------------


@KINDS
def test_repr(kind):
    name = kind.__name__
    scores = np.zeros((4, 4))
    assert repr(kind(scores)) == f"{name}(3 words, 9 arcs)"
    assert repr(kind(scores, lengths=2)) == f"{name}(2 words, 4 arcs)"
    scores[1, 2] = -np.inf
    assert repr(kind(scores)) == f"{name}(3 words, 8 arcs)"
    batch = kind(np.zeros((2, 3, 5, 5)), lengths=[[1, 2, 4], [3, 3, 3]])
    assert repr(batch) == f"{name}(batch of shape (2, 3), 1 to 4 words, 48 arcs)"
    assert repr(kind(np.zeros((0, 5, 5)))) == f"{name}(batch of shape (0,), no graphs)"


@KINDS
@pytest.mark.parametrize(
    "index",
    [
        0,
        -1,
        np.int64(1),
        (1, 2),
        (slice(None), 1),
        slice(1, None),
        slice(None, None, -1),
        [1, 0, 1],
        (..., 0),
        (None, 0),
        np.array([[True, False, True], [False, True, False]]),
    ],
    ids=str,
)
def test_batches_are_indexed_like_arrays(kind, index):
    scores = np.random.default_rng(0).normal(size=(2, 3, 5, 5))
    lengths = np.array([[1, 2, 4], [3, 4, 2]])
    batch = kind(scores, lengths=lengths)
    part = batch[index]
    assert type(part) is kind
    assert part.batch_shape == lengths[index].shape
    np.testing.assert_array_equal(part.lengths, lengths[index])
    np.testing.assert_array_equal(part.log_partition(), batch.log_partition()[index])
    # The index is for the axes of the batch, whatever it would do to a longer array.
    graph = np.arange(6).reshape(2, 3)[index]
    marginals = batch.arc_marginals().reshape(6, 5, 5)
    np.testing.assert_array_equal(part.arc_marginals(), marginals[graph])


@KINDS
def test_batches_have_a_length_and_can_be_iterated(kind):
    batch = kind(np.random.default_rng(0).normal(size=(3, 2, 4, 4)))
    assert len(batch) == 3
    assert [part.batch_shape for part in batch] == [(2,)] * 3
    assert np.array_equal([part.entropy() for part in batch], batch.entropy())
    with pytest.raises(IndexError):
        batch[3]


@KINDS
def test_single_graphs_are_not_containers(kind):
    single = kind(np.zeros((3, 3)))
    with pytest.raises(TypeError, match="single graph has no length"):
        len(single)
    with pytest.raises(TypeError, match="single graph cannot be indexed"):
        single[0]


# ---- answers ------------------------------------------------------------------------------------


@KINDS
def test_answers_for_a_single_graph(kind):
    single = kind(np.zeros((4, 4), np.float32))
    for name in NUMBERS:
        assert type(getattr(single, name)()) is np.float64, name
    assert type(single.log_prob([-1, 0, 1, 1])) is np.float64
    assert type(single.joint_probability([(0, 1)])) is float
    for answer, shape in [
        (single.arc_marginals(), (4, 4)),
        (single.root_marginals(), (4,)),
        (single.log_prob([[-1, 0, 1, 1]] * 2), (2,)),
        (single.log_weights, (4, 4)),
    ]:
        assert answer.dtype == np.float64
        assert answer.shape == shape
    assert (single.lengths.dtype, single.lengths.shape) == (np.int32, ())


@KINDS
@pytest.mark.parametrize("batch_shape", [(1,), (3,), (2, 3)])
def test_answers_for_a_batch(kind, batch_shape):
    batch = kind(np.zeros((*batch_shape, 4, 4), np.float32))
    heads = np.broadcast_to([-1, 0, 1, 1], (5, 7, *batch_shape, 4))
    answers = [
        *((getattr(batch, name)(), batch_shape) for name in NUMBERS),
        (batch.arc_marginals(), (*batch_shape, 4, 4)),
        (batch.root_marginals(), (*batch_shape, 4)),
        (batch.log_prob(heads), (5, 7, *batch_shape)),
        (batch.log_prob(heads[0, 0]), batch_shape),
        (batch.log_weights, (*batch_shape, 4, 4)),
    ]
    for answer, shape in answers:
        assert type(answer) is np.ndarray
        assert answer.dtype == np.float64
        assert answer.shape == shape
    assert (batch.lengths.dtype, batch.lengths.shape) == (np.int32, batch_shape)


# ---- import -------------------------------------------------------------------------------------


def run_python(script):
    command = [sys.executable, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_import_leaves_out_all_that_a_session_may_never_use():
    script = (
        "import sys, arborand\n"
        "print(*sorted(name for name in sys.modules if name.startswith('arborand.')))\n"
    )
    # No front end, no judge: what distributions need, and that is small.
    imported = {name.split(".")[1] for name in run_python(script).split()}
    assert imported.isdisjoint({"cli", "enumeration", "estimators", "formats", "paper", "pictures"})


def test_numpy_is_the_only_package_that_is_imported():
    script = (
        "import sys, numpy, numpy.random\n"
        "before = set(sys.modules)\n"
        "import arborand\n"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})\n"
    )
    imported = set(run_python(script).split()) - sys.stdlib_module_names
    assert imported - {"numpy"} == {"arborand"}


def test_numpy_is_the_only_package_that_is_required():
    required = [
        requirement
        for requirement in importlib.metadata.requires("arborand")
        if "extra ==" not in requirement
    ]
    assert [re.match(r"[\w-]+", requirement)[0] for requirement in required] == ["numpy"]
