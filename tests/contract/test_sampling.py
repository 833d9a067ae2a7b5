"""Draws with replacement: shapes, seeds, errors, reproducibility, and that they always end."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

from arborand import (
    BiasedSamplerWarning,
    DependencyTrees,
    LabelledTrees,
    SpanningTrees,
    _core,
    methods,
    sampling,
)
from arborand.kinds import TreeKind
from arborand.randomness import stream_key
from arborand.trees import is_tree
from tests.kinds import KINDS, is_single_root
from tests.processes import interrupt, run_script
from tests.random_graphs import (
    dense_scores,
    heavy_tails,
    mutual_pairs,
    negligible_roots,
    nested_traps,
    sparse_scores,
)

METHODS = {
    SpanningTrees: ["wilson", "colbourn"],
    DependencyTrees: ["wilson", "wilson_reject", "colbourn", "wilson_rc"],
}
KINDS_AND_METHODS = pytest.mark.parametrize(
    ("kind", "method"), [(kind, method) for kind in METHODS for method in METHODS[kind]]
)
ignore_bias = pytest.mark.filterwarnings("ignore::arborand.BiasedSamplerWarning")


def padded_batch(kind, batch_shape=(2, 3), num_words=6):
    count = int(np.prod(batch_shape))
    scores = np.stack([dense_scores(seed, num_words) for seed in range(count)])
    lengths = 1 + np.arange(count) % num_words
    size = num_words + 1
    return kind(scores.reshape(*batch_shape, size, size), lengths=lengths.reshape(batch_shape))


def assert_are_trees(heads, distribution):
    single_root = isinstance(distribution, DependencyTrees)
    assert is_tree(heads, single_root=single_root, lengths=distribution.lengths).all()


# ---- sizes --------------------------------------------------------------------------------------

SIZES = [
    (None, ()),
    (1, (1,)),
    (7, (7,)),
    (0, (0,)),
    ((), ()),
    ((4,), (4,)),
    ((2, 3), (2, 3)),
    ((2, 0, 3), (2, 0, 3)),
    (np.int64(5), (5,)),
    (np.uint8(5), (5,)),
    ((np.int32(2), 3), (2, 3)),
]


@KINDS
@pytest.mark.parametrize(("size", "shape"), SIZES)
def test_size_follows_numpy(kind, size, shape):
    for distribution in (kind(dense_scores(1, 4)), padded_batch(kind)):
        heads = distribution.sample(size, rng=1)
        num_nodes = distribution.log_weights.shape[-1]
        assert heads.shape == (*shape, *distribution.batch_shape, num_nodes)
        assert heads.dtype == np.int32
        assert heads.flags.c_contiguous
        assert heads.flags.writeable
        assert_are_trees(heads, distribution)


@KINDS
def test_size_only_shapes_the_draws(kind):
    distribution = kind(dense_scores(1, 4))
    flat = distribution.sample(24, rng=1)
    np.testing.assert_array_equal(distribution.sample((2, 3, 4), rng=1).reshape(24, 5), flat)
    np.testing.assert_array_equal(distribution.sample(rng=1), flat[0])


@KINDS
@pytest.mark.parametrize("method", ["wilson", "colbourn"])
def test_padding_and_the_root_are_minus_one(kind, method):
    distribution = padded_batch(kind)
    heads = distribution.sample(20, rng=1, method=method)
    node = np.arange(heads.shape[-1])
    is_word = (node > 0) & (node <= distribution.lengths[..., None])
    assert np.array_equal(heads == -1, np.broadcast_to(~is_word, heads.shape))


@KINDS
def test_an_empty_batch_gives_no_trees(kind):
    assert kind(np.zeros((0, 4, 4))).sample(3, rng=1).shape == (3, 0, 4)


@pytest.mark.parametrize(
    ("size", "error", "message"),
    [
        (-1, ValueError, r"size is -1: the number of draws must not be negative"),
        ((2, -3), ValueError, r"size is \(2, -3\): the number of draws must not be negative"),
        (1.5, TypeError, r"size must be an integer, not float \(1\.5\)"),
        (2.0, TypeError, r"size must be an integer, not float \(2\.0\)"),
        (np.float64(2), TypeError, r"size must be an integer, not float64"),
        (True, TypeError, r"size must be an integer, not True"),
        (np.True_, TypeError, r"size must be an integer, not .*True"),
        ((2, False), TypeError, r"size must be an integer, not False"),
        ("3", TypeError, r"size must be an integer, not str \('3'\)"),
        ([3], TypeError, r"size is the list \[3\]: pass a tuple, \(3,\)"),
    ],
)
def test_sizes_that_are_none(size, error, message):
    with pytest.raises(error, match=message):
        SpanningTrees(dense_scores(1, 4)).sample(size, rng=1)


# ---- other arguments ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["first_graph", "first_draw"])
@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (-1, ValueError, "is -1: it must be between 0 and"),
        (2**63, ValueError, f"is {2**63}: it must be between 0 and"),
        (0.0, TypeError, "must be an integer, not float"),
        (True, TypeError, "must be an integer, not True"),
    ],
)
def test_first_indices_that_are_none(name, value, error, message):
    with pytest.raises(error, match=f"{name} {message}"):
        SpanningTrees(dense_scores(1, 4)).sample(rng=1, **{name: value})


@pytest.mark.parametrize(
    ("workers", "error", "message"),
    [
        (0, ValueError, "workers is 0: it must be at least 1 thread"),
        (-2, ValueError, "workers is -2: it must be at least 1 thread"),
        (1.0, TypeError, "workers must be an integer, not float"),
        (True, TypeError, "workers must be an integer, not True"),
    ],
)
def test_workers_that_are_none(workers, error, message):
    with pytest.raises(error, match=message):
        SpanningTrees(dense_scores(1, 4)).sample(rng=1, workers=workers)


@KINDS
@pytest.mark.parametrize("method", ["gibbs", "Wilson", "", 1, ("wilson",)])
def test_methods_that_are_none(kind, method):
    allowed = ", ".join(map(repr, METHODS[kind]))
    with pytest.raises(ValueError, match=r"method .* is unknown: use one of ") as caught:
        kind(dense_scores(1, 4)).sample(rng=1, method=method)
    assert repr(method) in str(caught.value)
    assert str(caught.value).endswith(f"use one of {allowed}, or leave it out")


@pytest.mark.parametrize("method", ["wilson_reject", "wilson_rc"])
def test_methods_for_dependency_trees_only(method):
    message = (
        f"^method '{method}' only draws dependency trees: use one of 'wilson', 'colbourn', or "
        "leave it out$"
    )
    with pytest.raises(ValueError, match=message):
        SpanningTrees(dense_scores(1, 4)).sample(rng=1, method=method)


@pytest.mark.parametrize("labels", [(), (2,)], ids=["trees", "labelled trees"])
def test_the_biased_method_warns_where_it_is_called(labels):
    kind = LabelledTrees if labels else DependencyTrees
    distribution = kind(np.zeros((5, 5, *labels)))
    with pytest.warns(BiasedSamplerWarning, match="'wilson_rc' is biased: the paper's") as caught:
        distribution.sample(3, rng=1, method="wilson_rc")
    assert [warning.filename for warning in caught] == [__file__]


def test_the_biased_method_warns_there_also_with_log_probabilities():
    distribution = DependencyTrees(dense_scores(1, 4))
    with pytest.warns(BiasedSamplerWarning, match="'wilson_rc' is biased") as caught:
        distribution.sample_and_log_prob(3, rng=1, method="wilson_rc")
    assert [warning.filename for warning in caught] == [__file__]


@ignore_bias
@KINDS
@pytest.mark.parametrize("size", [None, 0, 3, (2, 3), (0, 2)])
def test_log_probabilities_come_with_the_draws(kind, size):
    scores = np.random.default_rng(3).normal(scale=3.0, size=(2, 2, 6, 6))
    batch = kind(scores, lengths=[[5, 3], [1, 4]])
    for distribution in (batch, batch[0], batch[1, 0]):
        for method in (None, *METHODS[kind]):
            options = {"method": method, "rng": 5, "first_graph": 7, "first_draw": 11}
            heads, log_prob = distribution.sample_and_log_prob(size, **options)
            expected = distribution.sample(size, **options)
            np.testing.assert_array_equal(heads, expected, strict=True)
            np.testing.assert_array_equal(log_prob, distribution.log_prob(expected), strict=True)
            assert type(log_prob) is type(distribution.log_prob(expected))


def ragged(scores_of_graphs, dtype):
    lengths = np.array([len(scores) - 1 for scores in scores_of_graphs], dtype=np.int32)
    flat = np.concatenate([scores.ravel() for scores in scores_of_graphs]).astype(dtype)
    size = int(lengths.max()) + 1
    padded = np.full((len(lengths), size, size), -np.inf)
    for graph, scores in zip(padded, scores_of_graphs, strict=True):
        graph[: len(scores), : len(scores)] = scores.astype(dtype)
    return flat, lengths, padded


@ignore_bias
@KINDS_AND_METHODS
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
@pytest.mark.parametrize("workers", [1, 3])
def test_draws_from_scores_as_they_come_are_those_of_a_padded_batch(kind, method, dtype, workers):
    graphs = [dense_scores(seed, 1 + 5 * seed % 17) for seed in range(12)]
    flat, lengths, padded = ragged(graphs, dtype)
    options = {"method": method, "first_graph": 7, "first_draw": 3}
    heads, log_prob = sampling.sample_ragged(
        flat, lengths, 5, kind=kind._kind, key=stream_key(1), workers=workers,
        **options
    )  # fmt: skip
    distribution = kind(padded, lengths=lengths)
    expected, expected_log_prob = distribution.sample_and_log_prob(5, rng=1, **options)
    words = [expected[:, i, 1 : n + 1].ravel() for i, n in enumerate(lengths)]
    np.testing.assert_array_equal(heads, np.concatenate(words))
    np.testing.assert_array_equal(log_prob, expected_log_prob.T.ravel())


def test_heads_of_long_sentences_do_not_fit_into_bytes():
    options = {"kind": TreeKind.DEPENDENCY, "key": stream_key(1), "method": "wilson"}
    for num_words, dtype in ((255, np.uint8), (256, np.int32)):
        flat, lengths, padded = ragged([dense_scores(0, num_words), dense_scores(1, 2)], "f8")
        heads, _ = sampling.sample_ragged(flat, lengths, 3, **options)
        assert heads.dtype == dtype
        expected = DependencyTrees(padded, lengths=lengths).sample(3, rng=1, method="wilson")
        np.testing.assert_array_equal(heads[: 3 * num_words], expected[:, 0, 1:].ravel())
        assert heads.max() == num_words


@pytest.mark.parametrize(
    "wrong",
    [np.nan, np.inf, -np.inf, -1e9, 0.0],
    ids=["not a number", "infinite", "no tree", "padding", "adjacency"],
)
def test_what_the_gate_would_speak_about_is_not_drawn_from(wrong):
    graphs = [dense_scores(seed, 4) for seed in range(3)]
    options = {"kind": TreeKind.DEPENDENCY, "key": stream_key(1), "method": "wilson"}
    assert sampling.sample_ragged(*ragged(graphs, "f8")[:2], 2, **options) is not None
    graphs[1][:, 2] = wrong
    if wrong == 0.0:
        graphs[1] = np.arange(25.0).reshape(5, 5) % 2
    assert sampling.sample_ragged(*ragged(graphs, "f8")[:2], 2, **options) is None


def test_arrays_of_other_sizes_than_the_lengths_ask_for_are_refused():
    flat, lengths, _ = ragged([dense_scores(0, 4), dense_scores(1, 2)], "f8")
    options = {"kind": TreeKind.DEPENDENCY, "key": stream_key(1), "method": "wilson"}
    with pytest.raises(ValueError, match="does not have the size that the lengths require"):
        sampling.sample_ragged(flat[:-1], lengths, 2, **options)


def test_a_refused_call_does_not_advance_the_generator():
    rng = np.random.default_rng(0)
    state = rng.bit_generator.state
    distribution = DependencyTrees(dense_scores(1, 4))
    for wrong in ({"method": "fast"}, {"first_draw": -1}, {"workers": 0}):
        for draw in (distribution.sample, distribution.sample_and_log_prob):
            with pytest.raises(ValueError):  # noqa: PT011, any will do
                draw(3, rng=rng, **wrong)
    for wrong in ({"method": "fast"}, {"first_graph": -1}, {"on_exhausted": "stop"}):
        with pytest.raises(ValueError):  # noqa: PT011
            distribution.sample_without_replacement(3, rng=rng, **wrong)
    assert rng.bit_generator.state == state


def test_no_other_method_warns(recwarn):
    # The suite turns warnings into errors; this test says so without it.
    for kind, names in METHODS.items():
        for method in (*names, None):
            if method != "wilson_rc":
                kind(dense_scores(1, 4)).sample(3, rng=1, method=method)
    assert not recwarn


@KINDS
def test_the_default_method_is_an_exact_one_whatever_the_number_of_draws(kind):
    distribution = kind(np.zeros((4, 4)))
    assert methods.DEFAULT_METHOD != "wilson_rc"
    for size in (1, 500):
        np.testing.assert_array_equal(
            distribution.sample(size, rng=1),
            distribution.sample(size, rng=1, method=methods.DEFAULT_METHOD),
        )


# ---- random numbers -----------------------------------------------------------------------------


@KINDS
def test_integers_of_any_type_are_the_same_seed(kind):
    distribution = kind(dense_scores(1, 8))
    expected = distribution.sample(5, rng=7)
    for same in (np.int64(7), np.uint8(7), np.random.SeedSequence(7)):
        np.testing.assert_array_equal(distribution.sample(5, rng=same), expected)
    assert not np.array_equal(distribution.sample(5, rng=8), expected)


@KINDS
def test_large_seeds_are_seeds(kind):
    distribution = kind(dense_scores(1, 30))
    draws = [distribution.sample(rng=seed) for seed in (1, 1 + 2**64, 1 + 2**128)]
    assert len({heads.tobytes() for heads in draws}) == 3


@pytest.mark.parametrize(
    "bit_generator", [np.random.PCG64, np.random.Philox, np.random.MT19937, np.random.SFC64]
)
@pytest.mark.parametrize("size", [None, 0, 1000])
def test_a_generator_is_advanced_by_two_numbers_a_call(bit_generator, size):
    generator = np.random.Generator(bit_generator(5))
    control = np.random.Generator(bit_generator(5))
    for distribution in (SpanningTrees(dense_scores(1, 8)), padded_batch(DependencyTrees)):
        distribution.sample(size, rng=generator)
        control.integers(2**64, size=2, dtype=np.uint64)
        assert generator.random() == control.random()


@pytest.mark.parametrize(
    "bit_generator", [np.random.PCG64, np.random.Philox, np.random.MT19937, np.random.SFC64]
)
def test_a_generator_gives_the_key_that_the_contract_names(bit_generator):
    control = np.random.Generator(bit_generator(5)).integers(2**64, size=2, dtype=np.uint64)
    assert stream_key(np.random.Generator(bit_generator(5))) == tuple(control.tolist())


@KINDS
def test_a_generator_gives_new_trees_each_time_and_a_seed_the_same(kind):
    distribution = kind(dense_scores(1, 30))
    generator = np.random.default_rng(5)
    first, second = (distribution.sample(rng=generator) for _ in range(2))
    assert not np.array_equal(first, second)
    again = distribution.sample(rng=np.random.default_rng(5))
    np.testing.assert_array_equal(again, first)
    sequence = np.random.SeedSequence(5)
    first, second = (distribution.sample(rng=sequence) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@KINDS
def test_without_a_seed_trees_are_new_each_time(kind):
    # Two of 30 words each: the chance that they agree is below 1e-10.
    distribution = kind(np.zeros((31, 31)))
    assert not np.array_equal(distribution.sample(), distribution.sample(rng=None))


def test_numpys_global_generator_is_left_alone():
    before = np.random.get_state(legacy=False)  # noqa: NPY002
    SpanningTrees(dense_scores(1, 8)).sample(100)
    after = np.random.get_state(legacy=False)  # noqa: NPY002
    np.testing.assert_equal(before, after)


@pytest.mark.parametrize(
    ("rng", "error", "message"),
    [
        (-1, ValueError, "rng is -1: a seed must not be negative"),
        (np.int64(-3), ValueError, "rng is -3: a seed must not be negative"),
        (True, TypeError, "rng must be an integer seed.* or None, not bool"),
        (1.0, TypeError, "rng must be an integer seed.* or None, not float"),
        ("0", TypeError, "rng must be .*, not str"),
        ([1, 2], TypeError, "rng must be .*, not list"),
        (np.random.RandomState(1), TypeError, r"rng is a numpy.random.RandomState: pass numpy"),
        (np.random.Philox(1), TypeError, r"rng is a numpy.random.Philox: pass numpy"),
        (np.random, TypeError, "rng must be .*, not module"),
    ],
)
def test_seeds_that_are_none(rng, error, message):
    with pytest.raises(error, match=message):
        SpanningTrees(dense_scores(1, 4)).sample(rng=rng)


# ---- the same trees, however they are asked for -------------------------------------------------


@ignore_bias
@KINDS_AND_METHODS
def test_draws_do_not_depend_on_the_number_of_workers(kind, method):
    # Threads share out single graphs by 64 draws, batches by graphs: sizes around those borders.
    single, batch = kind(dense_scores(1, 7)), padded_batch(kind, (7,))
    for distribution, sizes in ((single, (1, 63, 64, 65, 300)), (batch, (1, 40))):
        for size in sizes:
            expected = distribution.sample(size, rng=3, method=method)
            for workers in (2, 3, 16):
                heads = distribution.sample(size, rng=3, method=method, workers=workers)
                np.testing.assert_array_equal(heads, expected)


@ignore_bias
@KINDS_AND_METHODS
def test_a_longer_sample_continues_a_shorter_one(kind, method):
    for distribution in (kind(dense_scores(1, 7)), padded_batch(kind)):
        longer = distribution.sample(1000, rng=3, method=method)
        np.testing.assert_array_equal(distribution.sample(10, rng=3, method=method), longer[:10])
        later = distribution.sample(10, rng=3, method=method, first_draw=990)
        np.testing.assert_array_equal(later, longer[990:])


@ignore_bias
@KINDS_AND_METHODS
def test_a_batch_can_be_split(kind, method):
    batch = padded_batch(kind, (2, 3))
    whole = batch.sample(20, rng=3, method=method)
    for index in np.ndindex(2, 3):
        first = int(np.ravel_multi_index(index, (2, 3)))
        part = batch[index].sample(20, rng=3, method=method, first_graph=first)
        np.testing.assert_array_equal(part, whole[:, *index])
        # Padding is no part of a graph either.
        nodes = slice(int(batch.lengths[index]) + 1)
        bare = kind(batch.log_weights[*index, nodes, nodes])
        heads = bare.sample(20, rng=3, method=method, first_graph=first)
        np.testing.assert_array_equal(heads, whole[:, *index, nodes])
    row = batch[1].sample(20, rng=3, method=method, first_graph=3)
    np.testing.assert_array_equal(row, whole[:, 1])


def test_graphs_of_a_batch_have_numbers_of_their_own():
    same = SpanningTrees(np.zeros((2, 31, 31)))
    heads = same.sample(rng=3)
    assert not np.array_equal(heads[0], heads[1])


@pytest.fixture
def instruction_sets():
    best = _core.instruction_set()
    yield ["baseline", best]
    _core.use_instruction_set(best)


@ignore_bias
@KINDS_AND_METHODS
def test_instruction_sets_give_the_same_trees(kind, method, instruction_sets):
    if len(set(instruction_sets)) == 1:
        pytest.skip("this machine has one instruction set only")
    graphs = [
        dense_scores(1, 33, 3.0),
        sparse_scores(2, 21),
        mutual_pairs(3, 10, 60.0),
        heavy_tails(4, 9, 300.0),
    ]
    for scores in graphs:
        answers = []
        for name in instruction_sets:
            _core.use_instruction_set(name)
            assert _core.instruction_set() == name
            answers.append(kind(scores).sample(20, rng=1, method=method))
        np.testing.assert_array_equal(*answers)


def test_unknown_instruction_sets_are_refused():
    usual = _core.instruction_set()
    with pytest.raises(ValueError, match='name is "mmx", which this machine does not support: use'):
        _core.use_instruction_set("mmx")
    assert _core.instruction_set() == usual


def imported_with(name):
    """Import the core in a process of its own, whose environment names an instruction set."""
    return subprocess.run(
        [sys.executable, "-c", "from arborand import _core; print(_core.instruction_set())"],
        env=os.environ | {"ARBORAND_INSTRUCTION_SET": name},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_environment_chooses_the_instruction_set():
    assert imported_with("baseline").stdout == "baseline\n"
    best = imported_with("").stdout.strip()  # as if it were not set
    assert imported_with(best).stdout == f"{best}\n"


def test_an_instruction_set_that_the_machine_lacks_is_an_import_error():
    finished = imported_with("mmx")
    assert finished.returncode != 0
    assert (
        'ImportError: ARBORAND_INSTRUCTION_SET is "mmx", which this machine does not support: use '
        '"baseline"'
    ) in finished.stderr


# ---- it always ends -----------------------------------------------------------------------------

NUM_DRAWS = 200
ENDLESS_GRAPHS = {
    "ten words, root weights of 1e-6": negligible_roots(1, 10, np.log(1e-6)),
    "mutual pairs bound by e^60": mutual_pairs(2, 10, 60.0),
    "nested traps": nested_traps(3, 10, 20.0),
    "60 words, root weights of e^-300": negligible_roots(4, 60, -300.0),
}
each_endless_graph = pytest.mark.parametrize("scores", ENDLESS_GRAPHS.values(), ids=ENDLESS_GRAPHS)


@each_endless_graph
def test_endless_graphs_are_endless(scores):
    # At 1e8 steps a second, 200 plain draws would take from seconds to the age of the universe.
    assert SpanningTrees(scores).expected_walk_steps() > 1e6


@ignore_bias
@KINDS_AND_METHODS
@each_endless_graph
def test_every_method_ends_on_every_graph(kind, method, scores):
    distribution = kind(scores)
    heads, counts = draws_of(distribution, method)
    assert_are_trees(heads, distribution)
    num_words = len(scores) - 1
    # O(n^2) steps and one O(n^3) draw a tree at most: the bound that the documentation promises.
    assert counts.steps <= NUM_DRAWS * (4 * num_words**2 + 256)
    assert counts.ancestral <= NUM_DRAWS
    if kind is SpanningTrees and method == "wilson":
        _, plain = draws_of(distribution, method, pops="never", step_budget=4 * num_words**2)
        assert plain.ancestral > 0.9 * NUM_DRAWS


@pytest.mark.parametrize("name", [name for name in ENDLESS_GRAPHS if "root weights" in name])
def test_small_root_weights_do_not_matter_once_the_child_is_drawn(name):
    heads, counts = draws_of(DependencyTrees(ENDLESS_GRAPHS[name]), "wilson")
    assert counts.ancestral == 0
    # A few steps a word, as on any other graph.
    assert counts.steps < 10 * heads[:, 1:].size


def draws_of(distribution, method, **options):
    return sampling.sample(
        distribution._graphs, NUM_DRAWS, method=method, key=stream_key(1), **options
    )


@KINDS
def test_work_is_counted(kind):
    distribution = kind(dense_scores(1, 6))
    _, counts = draws_of(distribution, "colbourn")
    assert counts == (0, 0, NUM_DRAWS, 0)
    _, counts = draws_of(distribution, "wilson", step_budget=0)
    assert counts == (0, 0, NUM_DRAWS, 0)
    _, counts = draws_of(distribution, "wilson", step_budget=2**62)
    assert counts.walks == NUM_DRAWS
    assert counts.ancestral == 0
    # One step for each arc of a tree, but the one to the root's child that is drawn by itself.
    num_steps_of_tree = 5 if is_single_root(kind) else 6
    assert counts.steps > num_steps_of_tree * NUM_DRAWS
    _, limited = draws_of(distribution, "wilson", step_budget=num_steps_of_tree)
    assert 0 < limited.ancestral < NUM_DRAWS
    assert limited.steps == num_steps_of_tree * NUM_DRAWS


def test_rejected_walks_share_one_budget():
    # Nearly every spanning tree of this graph has several root arcs: most walks are thrown away.
    scores = dense_scores(1, 6)
    scores[0] += 6.0
    _, counts = draws_of(DependencyTrees(scores), "wilson_reject", step_budget=50)
    assert counts.walks > 2 * NUM_DRAWS
    assert counts.ancestral > 0.9 * NUM_DRAWS
    assert counts.steps <= 50 * NUM_DRAWS


# ---- interrupted, in threads, after a fork ------------------------------------------------------

# Left alone, each of these calls takes longer than a script may: one that goes on fails.
LARGE = """
import numpy as np
from arborand import SpanningTrees, DependencyTrees
flat = np.zeros((101, 101))
endless = flat.copy()
endless[0] = -30.0
"""


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    "call",
    [
        "SpanningTrees(endless).sample(2_000_000, rng=1, workers={workers})",
        "DependencyTrees(flat).sample(2_000_000, rng=1, method='colbourn', workers={workers})",
        # One long graph among short ones: the thread that listens has little to do itself.
        "SpanningTrees(np.zeros((4, 101, 101)), lengths=[1, 100, 1, 1]).sample("
        "800_000, rng=1, method='colbourn', workers={workers})",
    ],
    ids=["walks", "ancestral draws", "a batch"],
)
def test_ctrl_c_interrupts_draws(call, workers):
    assert interrupt(LARGE, call.format(workers=workers))


@KINDS
def test_threads_may_use_one_object_at_once(kind):
    batch = padded_batch(kind)
    expected = [batch.sample(200, rng=seed) for seed in range(8)]
    shared = padded_batch(kind)  # nothing computed yet
    barrier = Barrier(8)

    def use(seed):
        barrier.wait()
        heads = shared.sample(200, rng=seed, workers=1 + seed % 2)
        return heads, shared.log_prob(heads), shared.sample_without_replacement(3, rng=seed)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(use, range(8)))
    for seed, (heads, log_prob, draws) in enumerate(answers):
        np.testing.assert_array_equal(heads, expected[seed])
        np.testing.assert_array_equal(log_prob, batch.log_prob(heads))
        again = batch.sample_without_replacement(3, rng=seed)
        np.testing.assert_array_equal(draws.heads, again.heads)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_use_after_fork():
    same, status = run_script(
        """
        import json, os
        import numpy as np
        from arborand import DependencyTrees
        distribution = DependencyTrees(np.zeros((21, 21)))
        before = distribution.sample(500, rng=1, workers=2)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            heads = distribution.sample(500, rng=1, workers=2)
            os.write(writing, b"1" if np.array_equal(heads, before) else b"0")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        answer = os.read(reading, 1)
        after = distribution.sample(500, rng=1, workers=2)
        print(json.dumps([answer == b"1" and bool(np.array_equal(after, before)), status]))
        """
    )
    assert same
    assert status == 0


# ---- memory -------------------------------------------------------------------------------------


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="memory is read from /proc")
@pytest.mark.parametrize(
    ("kind", "method", "num_draws", "num_copies"),
    [
        # Two for the alias tables, of 16 bytes a slot, and one for the rows of the walk.
        ("SpanningTrees", "wilson", 1000, 3),
        ("DependencyTrees", "wilson_reject", 1000, 3),
        # One more to find the root's child.
        ("DependencyTrees", "wilson", 1000, 4),
        # The rows, and halves and quarters of them in the recursion.
        ("SpanningTrees", "colbourn", 1, 2.5),
    ],
)
def test_memory_is_a_few_copies_of_the_weights(kind, method, num_draws, num_copies):
    found = run_script(
        f"""
        import json
        import numpy as np
        import arborand

        def memory(kind):
            with open("/proc/self/status") as status:
                return next(1024 * int(line.split()[1]) for line in status if kind in line)

        scores = np.random.default_rng(1).normal(size=(1001, 1001))
        distribution = arborand.{kind}(scores)
        before = memory("VmRSS")
        heads = distribution.sample({num_draws}, rng=1, method="{method}")
        print(json.dumps((memory("VmHWM") - before - heads.nbytes) / scores.nbytes))
        """
    )
    assert found < num_copies + 0.5
