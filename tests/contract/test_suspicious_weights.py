"""Log-weights that are sound but look like a mistake: one warning each, none for real scores."""

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

from arborand import DependencyTrees, SpanningTrees, SuspiciousWeightsWarning, pad
from tests.kinds import KINDS
from tests.random_graphs import dense_scores, heavy_tails, mutual_pairs, one_tree, sparse_scores

ROOT = Path(__file__).parents[2]
MASKS = [-1e4, -65504.0, -1e9, -1e10, np.finfo(np.float32).min, -1e300]


def padded(mask, sizes=(6, 4, 3)):
    """Pad graphs by a large negative number instead of leaving them to `lengths`."""
    batch = np.full((len(sizes), max(sizes), max(sizes)), float(mask))
    for seed, (target, size) in enumerate(zip(batch, sizes, strict=True)):
        target[:size, :size] = dense_scores(seed, size - 1, 3.0)
    return batch


def club(num_nodes=8, seed=0):
    """Make a symmetric adjacency matrix of a connected graph with few edges."""
    adjacency = np.zeros((num_nodes, num_nodes), dtype=int)
    generator = np.random.default_rng(seed)
    for node in range(1, num_nodes):
        other = generator.integers(node)
        adjacency[node, other] = adjacency[other, node] = 1
    return adjacency


# ---- what is warned about -----------------------------------------------------------------------


def test_booleans_are_not_scores():
    is_edge = np.random.default_rng(0).random((5, 5)) > 0.5
    is_edge[0] = True
    with pytest.warns(SuspiciousWeightsWarning, match="array of booleans.*use from_weights"):
        SpanningTrees(is_edge)
    SpanningTrees.from_weights(is_edge)  # without a warning, which would be an error


@KINDS
@pytest.mark.parametrize("mask", MASKS)
def test_padding_without_lengths(kind, mask):
    with pytest.warns(
        SuspiciousWeightsWarning,
        match=r"log_weights\[1\] gives all heads of nodes 4, 5 the same score, -.*unless lengths",
    ):
        kind(padded(mask))


@KINDS
def test_lengths_that_count_the_root(kind):
    with pytest.warns(
        SuspiciousWeightsWarning, match=r"\[1\].*node 4 the same.*root is not counted"
    ):
        kind(padded(-1e9, (7, 4, 3)), lengths=[5, 4, 3])


@KINDS
@pytest.mark.parametrize("scale", [1, 3, 0.25], ids=["ones", "integers", "fractions"])
def test_symmetric_adjacency_matrices(kind, scale):
    with pytest.warns(SuspiciousWeightsWarning, match=r"adjacency matrix.*use from_weights"):
        kind(club() * scale)


@KINDS
def test_directed_adjacency_matrices(kind):
    directed = np.triu(club())  # the last node is nobody's head
    directed[1, 0] = 1
    with pytest.warns(SuspiciousWeightsWarning, match="adjacency matrix"):
        kind(directed)


@KINDS
@pytest.mark.parametrize("empty", [0.0, *MASKS])
def test_scores_of_dependent_and_head_with_an_empty_row_of_the_root(kind, empty):
    scores = dense_scores(0, 5)
    scores[0] = empty  # the root has no head
    with pytest.warns(SuspiciousWeightsWarning, match=r"row 0.*orientation='dependent,head'"):
        kind(scores)
    assert_silent(lambda: kind(scores, orientation="dependent,head"))


@KINDS
def test_three_edges_are_not_a_matrix(kind):
    with pytest.warns(SuspiciousWeightsWarning, match="list of edges"):
        kind([[0, 1, 0.5], [1, 2, 0.7], [0, 2, 1.5]])


@KINDS
def test_a_suspicion_changes_nothing(kind):
    with pytest.warns(SuspiciousWeightsWarning):
        suspected = kind(club())
    expected = club().astype(float)
    expected[:, 0] = -np.inf
    np.fill_diagonal(expected, -np.inf)
    np.testing.assert_array_equal(suspected.log_weights, expected)


@KINDS
def test_the_warning_is_for_the_line_that_made_the_distribution(kind):
    with pytest.warns(SuspiciousWeightsWarning) as caught:
        kind(padded(-1e9))
    (warning,) = caught
    assert warning.filename == __file__


def test_the_warning_tells_where_and_survives_pickling():
    batch = padded(-1e9)
    with pytest.warns(SuspiciousWeightsWarning) as caught:
        SpanningTrees(batch)
    (warning,) = caught
    for odd in (warning.message, pickle.loads(pickle.dumps(warning.message))):
        assert odd.batch_index == (1,)
        assert odd.finding.startswith("gives all heads of node")
        assert str(odd) == f"log_weights[1] {odd.finding}"


# ---- what is not --------------------------------------------------------------------------------


def assert_silent(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call()


@KINDS
@pytest.mark.parametrize("value", [0.0, 1.0, -3.5, -1e9, 1e9])
@pytest.mark.parametrize("shape", [(2, 2), (3, 3), (4, 4), (30, 30), (3, 5, 5)])
def test_scores_that_are_all_alike(kind, value, shape):
    assert_silent(lambda: kind(np.full(shape, value)))


@KINDS
@pytest.mark.parametrize("num_words", [1, 2, 3, 5, 12, 40])
def test_random_scores(kind, num_words):
    for seed in range(20):
        for scores in [
            dense_scores(seed, num_words),
            dense_scores(seed, num_words, 30.0),
            dense_scores(seed, num_words).astype(np.float16),
            np.log(np.abs(dense_scores(seed, num_words))),
            np.where(
                sparse_scores(seed, num_words, 0.9) > -np.inf, dense_scores(seed, num_words), -80
            ),
            mutual_pairs(seed, num_words, 400.0),
            one_tree(seed, num_words, 50.0),
            heavy_tails(seed, num_words, 5.0),
        ]:
            junk = scores.astype(np.float64)
            junk[:, 0] = 0.0
            np.fill_diagonal(junk, -1e9)
            for given in (scores, junk):
                assert_silent(lambda given=given: kind(given))


@KINDS
def test_outputs_of_parsers(kind):
    # Biaffine scores as parsers make them: arcs of a gold tree raised, the root's column and the
    # diagonal zero, masked or left as they are, single arcs masked, log-softmax over heads.
    generator = np.random.default_rng(0)
    for num_words in (3, 8, 25):
        raw = one_tree(num_words, num_words, 8.0) + generator.normal(size=(num_words + 1,) * 2)
        shifted = raw - np.logaddexp.reduce(raw, axis=0)
        rounded = np.round(raw, 1)
        some_masked = np.where(generator.random(raw.shape) < 0.3, -1e9, raw)
        some_masked[0] = raw[0]
        for scores in (raw, shifted, rounded, some_masked, np.exp(shifted)):
            for filler in (0.0, -1e9, -np.inf):
                given = scores.copy()
                given[:, 0] = filler
                np.fill_diagonal(given, filler)
                assert_silent(lambda given=given: kind(given))


@KINDS
def test_scores_written_by_hand(kind):
    # As on the pages of the documentation: most are 0, and nothing is in column 0.
    scores = np.zeros((7, 7))
    scores[[2, 0, 4, 2, 4, 5], [1, 2, 3, 4, 5, 6]] = 4.0
    assert_silent(lambda: kind(scores))
    assert_silent(lambda: kind(np.triu(club())))


@KINDS
def test_bundled_scores(kind):
    with np.load(ROOT / "examples" / "corpus" / "sentences.npz") as bundled:
        sizes = bundled["lengths"] + 1
        parts = np.split(bundled["scores"], np.cumsum(sizes**2)[:-1])
    matrices = [part.reshape(size, size) for part, size in zip(parts, sizes, strict=True)]
    for matrix in matrices:
        assert_silent(lambda matrix=matrix: kind(matrix))
    array, lengths = pad(matrices)
    assert_silent(lambda: kind(array, lengths=lengths))


@KINDS
def test_padding_with_lengths(kind):
    for mask in MASKS:
        assert_silent(lambda mask=mask: kind(padded(mask), lengths=[5, 3, 2]))


@KINDS
def test_weights_may_be_an_adjacency_matrix(kind):
    complete = 1 - np.eye(5)
    for weights in (complete, club()) if kind is SpanningTrees else (complete,):
        assert_silent(lambda weights=weights: kind.from_weights(weights))


def test_what_was_warned_about_once_is_quiet_later():
    with pytest.warns(SuspiciousWeightsWarning):
        batch = DependencyTrees(padded(-1e9))
    assert_silent(lambda: pickle.loads(pickle.dumps(batch)))
    assert_silent(lambda: batch[1:])
    assert_silent(lambda: batch[1].condition(exclude=[(0, 1)]))


def test_the_warning_can_be_filtered():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SuspiciousWeightsWarning)
        SpanningTrees(club())
