"""The core draws the same projective trees as its twin in plain Python, from the same numbers."""

import numpy as np
import pytest

from arborand import sampling
from arborand.randomness import stream_key
from tests.kinds import PROJECTIVE_KINDS, is_single_root
from tests.random_graphs import dense_scores, heavy_tails, mutual_pairs, sparse_scores
from verification import twin_projective
from verification.twin_ancestral import make_walk
from verification.twin_numbers import DOUBLE

GRAPHS = {
    **{f"{n} words": dense_scores(n, n, 2.0) for n in range(1, 13)},
    "sharp": dense_scores(0, 20, 8.0),
    "very sharp": dense_scores(1, 20, 100.0),
    "flat": np.zeros((9, 9)),
    "sparse": sparse_scores(3, 9, 0.6),
    "pairs bound by e^60": mutual_pairs(2, 6, 60.0),
    "pairs bound by e^400": mutual_pairs(3, 6, 400.0),
    "heavy tails": heavy_tails(4, 5, 300.0),
    "scores of 1e11": heavy_tails(5, 3, 1e11),
}


@PROJECTIVE_KINDS
@pytest.mark.parametrize("name", GRAPHS)
def test_same_trees(kind, name):
    try:
        graphs = kind(GRAPHS[name])._graphs
    except ValueError:
        pytest.skip("all its trees have crossing arcs")
    key = stream_key(5)
    heads, counts = sampling.sample(graphs, 20, key=key, first_graph=3, first_draw=7)
    assert counts.ancestral == 20
    expected = twin_projective.sample(
        graphs.log_weights[0],
        20,
        single_root=is_single_root(kind),
        key=key,
        first_graph=3,
        first_draw=7,
    )
    np.testing.assert_array_equal(heads, expected)


@PROJECTIVE_KINDS
def test_the_same_bits_of_log_partition(kind):
    for num_words in (1, 2, 5, 9, 14):
        d = kind(dense_scores(num_words, num_words))
        walk = make_walk(d._graphs.log_weights[0], DOUBLE, single_root=is_single_root(kind))
        chart = twin_projective.Chart(walk, DOUBLE, single_root=is_single_root(kind))
        # Z of the shifted scores, of which the normaliser holds the logarithm.
        parts = d._normaliser().parts[0]
        assert parts[1] + parts[2] == pytest.approx(float(np.log(chart.right[0, -1])), abs=1e-13)
