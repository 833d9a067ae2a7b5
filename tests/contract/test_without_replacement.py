"""Draws without replacement: distinct to the last tree, and every number that comes with them."""

from dataclasses import FrozenInstanceError, fields
from itertools import islice
from math import log

import mpmath
import numpy as np
import pytest

from arborand import (
    DependencyTrees,
    Draws,
    SpanningTrees,
    SupportExhaustedError,
    _core,
    without_replacement,
)
from arborand.distinct import room_for
from arborand.enumeration import tree_law
from arborand.paper import reference
from arborand.randomness import stream_key
from arborand.trees import is_tree
from tests.contract.test_sampling import ENDLESS_GRAPHS, padded_batch
from tests.high_precision import by_enumeration
from tests.kinds import KINDS, is_single_root, trees_of
from tests.processes import interrupt
from tests.random_graphs import (
    dense_scores,
    heavy_tails,
    mutual_pairs,
    negligible_roots,
    one_tree,
    sparse_scores,
)

EACH_METHOD = pytest.mark.parametrize("method", [None, "rejection", "partition"])
EPSILON = np.finfo(np.float64).eps
NUMBERS = ("log_prob", "log_remaining", "perturbed_log_prob")


def assert_same_draws(one, other):
    for field in fields(Draws):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))


def assert_all_different(heads):
    assert len({row.tobytes() for row in heads}) == len(heads)


def small_batch(kind):
    """Make six graphs of 1 to 4 words: from 1 tree to 125."""
    return padded_batch(kind, (2, 3), 4)


# ---- the end of the support ---------------------------------------------------------------------


@KINDS
@EACH_METHOD
@pytest.mark.parametrize("scores", [dense_scores(1, 4), sparse_scores(2, 6, 0.3)])
def test_all_trees_come_out_and_then_it_says_so(kind, method, scores):
    trees = trees_of(kind, scores)
    for k, exhausted in ((len(trees), False), (len(trees) + 1, True), (10 * len(trees), True)):
        draws = kind(scores).sample_without_replacement(k, rng=k, method=method)
        assert sorted(draws.heads.tolist()) == sorted(trees)
        assert draws.heads.dtype == np.int32
        assert len(draws) == draws.num_drawn == len(trees)
        assert bool(draws.exhausted) is exhausted


@KINDS
@EACH_METHOD
def test_an_enormous_k_takes_no_memory_of_its_own(kind, method):
    scores = dense_scores(1, 3)
    expected = kind(scores).sample_without_replacement(100, rng=1, method=method)
    for k in (1001, 10**9, 10**18, 10**30):
        draws = kind(scores).sample_without_replacement(k, rng=1, method=method)
        assert_same_draws(draws, expected)
        # Neither the answer nor what it is a view of has room for more.
        assert draws.heads.base is None or draws.heads.base.size < 1000


@pytest.mark.parametrize(
    ("method", "bytes_per_tree"), [("best_trees", 8), ("sample_without_replacement", 24)]
)
def test_answers_above_two_gibibytes_are_refused_before_memory_is_taken(method, bytes_per_tree):
    most = 2**31 // (4 * 41 + bytes_per_tree)
    iterator = "iterate_" + method.removeprefix("sample_")
    for k in (most + 1, 2**32, 10**30, 10**400):
        for scores in (np.zeros((41, 41)), np.zeros((201, 201))):
            with pytest.raises(ValueError, match=rf"^k is {k}: .* GiB; .* with {iterator}\(\)$"):
                getattr(DependencyTrees(scores), method)(k)
    # A batch counts with all its graphs.
    with pytest.raises(ValueError, match=rf"^k is 900: the answer would take .* {iterator}\(\)$"):
        getattr(DependencyTrees(np.zeros((20_000, 41, 41))), method)(900)
    # What there is decides, and not what is asked for.
    graphs = DependencyTrees(np.zeros((41, 41)))._graphs
    assert room_for(most, graphs, bytes_per_tree // 8, iterator) == most
    few = getattr(DependencyTrees(np.zeros((2, 4, 4))), method)(10**400)
    assert len(few) == 9


@KINDS
def test_k_of_zero(kind):
    for distribution in (kind(dense_scores(1, 3)), small_batch(kind)):
        draws = distribution.sample_without_replacement(0, rng=1)
        size = distribution.log_weights.shape[-1]
        assert len(draws) == 0
        assert draws.heads.shape == (0, *distribution.batch_shape, size)
        for name in NUMBERS:
            assert getattr(draws, name).shape == (0, *distribution.batch_shape)
        assert not np.any(draws.exhausted)
        assert not np.any(draws.num_drawn)


@KINDS
def test_raising_instead(kind):
    scores = dense_scores(1, 3)
    count = len(trees_of(kind, scores))
    distribution = kind(scores)
    draws = distribution.sample_without_replacement(count, rng=1, on_exhausted="raise")
    assert len(draws) == count
    message = (
        f"k is {count + 1}, but the graph has only {count} trees; ask for fewer, or pass "
        "on_exhausted='return'"
    )
    with pytest.raises(SupportExhaustedError) as caught:
        distribution.sample_without_replacement(count + 1, rng=1, on_exhausted="raise")
    assert str(caught.value) == message
    assert caught.value.num_trees == count


def test_raising_names_the_first_graph_that_is_exhausted():
    batch = small_batch(SpanningTrees)
    counts = {
        item: len(trees_of(SpanningTrees, batch.log_weights[item][: n + 1, : n + 1]))
        for item, n in np.ndenumerate(batch.lengths)
    }
    first = next(item for item, count in counts.items() if count < 10)
    with pytest.raises(SupportExhaustedError) as raised:
        batch.sample_without_replacement(10, rng=1, on_exhausted="raise")
    assert f"graph of batch item [{first[0]}, {first[1]}] has only {counts[first]} tree" in str(
        raised.value
    )
    assert raised.value.num_trees == counts[first]


@KINDS
@EACH_METHOD
def test_graphs_of_a_batch_end_at_different_times(kind, method):
    batch = small_batch(kind)
    draws = batch.sample_without_replacement(20, rng=1, method=method)
    for item in np.ndindex(2, 3):
        size = int(batch.lengths[item]) + 1
        trees = trees_of(kind, batch.log_weights[item][:size, :size])
        num_drawn = min(20, len(trees))
        assert draws.num_drawn[item] == num_drawn
        assert draws.exhausted[item] == (len(trees) < 20)
        own = draws.heads[:num_drawn, *item, :size]
        assert_all_different(own)
        assert all(heads in trees for heads in own.tolist())
        assert np.all(draws.heads[num_drawn:, *item] == -1)
        assert np.all(draws.heads[:, *item, size:] == -1)
        for name in NUMBERS:
            numbers = getattr(draws, name)[:, *item]
            assert np.all(numbers[num_drawn:] == -np.inf)
            assert np.all(np.isfinite(numbers[:num_drawn]))


@KINDS
@pytest.mark.parametrize("method", [None, "partition"])
def test_sixteen_thousand_trees_to_the_last(kind, method):
    scores = dense_scores(7, 6, 2.0)
    trees, probabilities = tree_law(scores, single_root=is_single_root(kind))
    assert len(trees) == (7776 if is_single_root(kind) else 16807)
    draws = kind(scores).sample_without_replacement(20_000, rng=1, method=method)
    order = np.lexsort(draws.heads.T[::-1])
    np.testing.assert_array_equal(draws.heads[order], trees)
    np.testing.assert_allclose(np.exp(draws.log_prob[order]), probabilities, rtol=1e-12)
    assert draws.exhausted


# ---- the numbers --------------------------------------------------------------------------------

NUMBERED_GRAPHS = {
    "dense": dense_scores(1, 4),
    "sparse": sparse_scores(2, 6, 0.3),
    "peaked": one_tree(3, 4, 8.0),
    "bound pairs": mutual_pairs(4, 4, 60.0),
    "tiny roots": negligible_roots(5, 4, -300.0),
}
each_numbered_graph = pytest.mark.parametrize(
    "scores", NUMBERED_GRAPHS.values(), ids=NUMBERED_GRAPHS
)


@KINDS
@EACH_METHOD
@each_numbered_graph
def test_log_prob_is_that_of_the_full_distribution(kind, method, scores):
    distribution = kind(scores)
    draws = distribution.sample_without_replacement(200, rng=1, method=method)
    np.testing.assert_allclose(
        draws.log_prob, distribution.log_prob(draws.heads), rtol=1e-13, atol=1e-13
    )
    assert np.exp(draws.log_prob).sum() == pytest.approx(1.0, rel=1e-12)


@KINDS
@EACH_METHOD
@each_numbered_graph
def test_log_remaining_is_the_mass_of_the_trees_to_come(kind, method, scores):
    draws = kind(scores).sample_without_replacement(200, rng=1, method=method)
    trees, _ = tree_law(scores, single_root=is_single_root(kind))
    assert len(draws) == len(trees)
    # Every tree comes, so those that are left are those that follow: summed from the last one on.
    # The law of the list would do for most, but on some of these graphs it underflows.
    with mpmath.workdps(50):
        log_partition = by_enumeration(scores, single_root=is_single_root(kind)).log_partition
        exact = [exact_log_prob(scores, heads, log_partition) for heads in draws.heads]
        masses = np.cumsum([mpmath.exp(x) for x in reversed(exact)])[::-1]
        for log_remaining, mass in zip(draws.log_remaining, masses, strict=True):
            # While repeats are rejected what remains is 1 minus what was drawn, a sum of numbers
            # that are right to a few 1e-16: that counts where rejection goes on to the bitter end.
            allowed = max(1e-12, 4e-15 / mass) if method == "rejection" else 1e-12
            if mass < 1e-3:  # where no method rejects
                allowed = 1e-12
            assert abs(mpmath.exp(mpmath.mpf(float(log_remaining))) / mass - 1) < allowed
    assert draws.log_remaining[0] == 0
    assert not np.signbit(draws.log_remaining[0])


def exact_log_prob(scores, heads, log_partition):
    arcs = [mpmath.mpf(float(scores[heads[j], j])) for j in range(1, len(scores))]
    return mpmath.fsum(arcs) - log_partition


@KINDS
@EACH_METHOD
@each_numbered_graph
def test_perturbed_values_decrease(kind, method, scores):
    draws = kind(scores).sample_without_replacement(200, rng=1, method=method)
    assert np.all(np.diff(draws.perturbed_log_prob) < 0)


@KINDS
def test_perturbed_values_continue_the_race(kind):
    # Waiting times in the race are exponential, at the rate of what remains: the numbers behind
    # them, read off Philox by NumPy, are those of the perturbation stream.
    draws = kind(dense_scores(1, 4)).sample_without_replacement(30, rng=5)
    arrivals = np.exp(-draws.perturbed_log_prob)
    waits = np.diff(arrivals, prepend=0.0) * np.exp(draws.log_remaining)
    key = np.random.SeedSequence(5).generate_state(2, np.uint64)
    for draw, wait in enumerate(waits):
        number = np.random.Philox(key=key, counter=[0, 2, 0, draw]).random_raw()
        # A difference of arrivals loses what it is smaller than they are.
        assert wait == pytest.approx(-log(((number >> 11) + 0.5) / 2**53), rel=1e-9)


@KINDS
@EACH_METHOD
def test_a_tree_of_nearly_all_the_mass_hides_no_other(kind, method):
    scores = one_tree(1, 4, 46.5)
    single_root = is_single_root(kind)
    with mpmath.workdps(50):
        log_partition = by_enumeration(scores, single_root=single_root).log_partition
        draws = kind(scores).sample_without_replacement(125, rng=1, method=method)
        assert_all_different(draws.heads)
        assert len(draws) == (64 if single_root else 125)
        for heads, log_prob in zip(draws.heads, draws.log_prob, strict=True):
            exact = exact_log_prob(scores, heads, log_partition)
            assert abs(log_prob - exact) <= 1e-12 * max(1, abs(exact))
        rest = -mpmath.expm1(exact_log_prob(scores, draws.heads[0], log_partition))
        assert 1e-20 < rest < 1e-18
        # The paper's algorithm subtracts the first tree's weight from Z, and nothing is left.
        weights = np.exp(scores)
        drawn = reference.swor(weights, 125, np.random.default_rng(1), single_root=single_root)
        assert len(drawn) < len(draws) / 2


# ---- the same trees, however they are asked for -------------------------------------------------


@KINDS
@EACH_METHOD
def test_a_longer_sequence_continues_a_shorter_one(kind, method):
    for distribution in (kind(dense_scores(1, 4)), kind(dense_scores(2, 12)), small_batch(kind)):
        longer = distribution.sample_without_replacement(100, rng=3, method=method)
        shorter = distribution.sample_without_replacement(10, rng=3, method=method)
        for name in ("heads", *NUMBERS):
            np.testing.assert_array_equal(getattr(shorter, name), getattr(longer, name)[:10])


@KINDS
@EACH_METHOD
def test_iteration_gives_the_same_sequence(kind, method):
    for distribution in (kind(dense_scores(1, 4)), small_batch(kind)):
        draws = distribution.sample_without_replacement(300, rng=3, method=method)
        steps = list(distribution.iterate_without_replacement(rng=3, method=method))
        assert len(steps) == len(draws)
        for position, step in enumerate(steps):
            for name in ("heads", *NUMBERS):
                np.testing.assert_array_equal(getattr(step, name), getattr(draws, name)[position])


@KINDS
@EACH_METHOD
def test_workers_change_nothing(kind, method):
    batch = small_batch(kind)
    expected = batch.sample_without_replacement(20, rng=3, method=method)
    for workers in (2, 3, 16):
        draws = batch.sample_without_replacement(20, rng=3, method=method, workers=workers)
        assert_same_draws(draws, expected)


@KINDS
@EACH_METHOD
def test_a_batch_can_be_split(kind, method):
    # Graphs of very different sizes: what is cheapest for one is not for the other.
    scores = np.zeros((3, 41, 41))
    scores[0, :4, :4] = dense_scores(1, 3)
    scores[1, :5, :5] = dense_scores(2, 4)
    scores[2] = dense_scores(3, 40)
    batch = kind(scores, lengths=[3, 4, 40])
    whole = batch.sample_without_replacement(16, rng=3, method=method)
    for graph in range(3):
        part = batch[graph].sample_without_replacement(16, rng=3, method=method, first_graph=graph)
        np.testing.assert_array_equal(part.heads, whole.heads[: len(part), graph])
        step = next(
            batch[graph].iterate_without_replacement(rng=3, method=method, first_graph=graph)
        )
        np.testing.assert_array_equal(step.heads, whole.heads[0, graph])


@KINDS
def test_rejection_gives_the_draws_of_sample_without_their_repeats(kind):
    distribution = kind(dense_scores(1, 4))
    with_replacement = distribution.sample(1000, rng=3, method="wilson").tolist()
    different = list(dict.fromkeys(map(tuple, with_replacement)))
    draws = distribution.sample_without_replacement(10, rng=3, method="rejection")
    assert list(map(tuple, draws.heads.tolist())) == different[:10]


@KINDS
@EACH_METHOD
def test_instruction_sets_give_the_same_draws(kind, method):
    best = _core.instruction_set()
    if best == "baseline":
        pytest.skip("this machine has one instruction set only")
    for scores in (dense_scores(1, 21), sparse_scores(2, 13), heavy_tails(3, 5, 300.0)):
        draws = kind(scores).sample_without_replacement(20, rng=1, method=method)
        try:
            _core.use_instruction_set("baseline")
            others = kind(scores).sample_without_replacement(20, rng=1, method=method)
        finally:
            _core.use_instruction_set(best)
        assert_same_draws(draws, others)


# ---- laziness -----------------------------------------------------------------------------------


class CountingCore:
    """The core, with a count of the trees that iterators are asked for."""

    def __init__(self, monkeypatch):
        self.num_trees = 0
        counter = self

        class Iterator(_core.DistinctIterator):
            def draw(self, heads, numbers):
                counter.num_trees += len(heads)
                return super().draw(heads, numbers)

        monkeypatch.setattr(_core, "DistinctIterator", Iterator)


@KINDS
def test_iteration_is_lazy(kind, monkeypatch):
    counted = CountingCore(monkeypatch)
    draws = kind(np.zeros((61, 61))).iterate_without_replacement(rng=1)
    assert counted.num_trees == 0
    next(draws)
    assert counted.num_trees == 1
    assert_all_different([draw.heads for draw in islice(draws, 500)])
    assert counted.num_trees <= 501 + 128


@KINDS
def test_iteration_reads_its_arguments_at_once(kind):
    generator, control = np.random.default_rng(1), np.random.default_rng(1)
    distribution = kind(dense_scores(1, 4))
    draws = distribution.iterate_without_replacement(rng=generator)
    control.integers(2**64, size=2, dtype=np.uint64)
    assert generator.random() == control.random()
    list(draws)
    assert generator.random() == control.random()
    with pytest.raises(ValueError, match="method 'gumbel' is unknown"):
        distribution.iterate_without_replacement(method="gumbel")
    with pytest.raises(TypeError, match="rng must be an integer seed"):
        distribution.iterate_without_replacement(rng="1")


@KINDS
@pytest.mark.parametrize("failure", [KeyboardInterrupt, MemoryError])
def test_an_iterator_that_was_interrupted_does_not_look_exhausted(kind, failure, monkeypatch):
    class Interrupted(_core.DistinctIterator):
        def draw(self, heads, numbers):
            if len(heads) > 2:
                raise failure
            return super().draw(heads, numbers)

    monkeypatch.setattr(_core, "DistinctIterator", Interrupted)
    draws = kind(np.zeros((7, 7))).iterate_without_replacement(rng=1)
    assert iter(draws) is draws
    first = [next(draws) for _ in range(3)]
    assert_all_different([draw.heads for draw in first])
    with pytest.raises(failure):
        next(draws)
    for _ in range(3):
        with pytest.raises(failure, match="cannot continue; make a new one"):
            next(draws)


# ---- draws in vain ------------------------------------------------------------------------------


def count_repeats(distribution, k, *, below, most_repeats=-1):
    """Draw k trees of one graph by rejection, and count the draws that were in vain."""
    graphs = distribution._graphs
    heads = np.empty((1, k, graphs.size), dtype=np.int32)
    num_drawn = np.zeros(1, dtype=np.int64)
    num_repeats = _core.sample_distinct(
        graphs.batch,
        1,
        *stream_key(0),
        0,
        np.array([below]),
        -1,
        heads,
        np.empty((1, k, 3)),
        num_drawn,
        most_repeats,
    )
    return num_repeats, int(num_drawn[0])


@KINDS
@pytest.mark.parametrize("most_repeats", [0, 1, 7, 1000])
def test_rejection_gives_way_for_good_after_draws_in_vain(kind, most_repeats):
    # One tree has all the mass but e^-40, and the rule asks for rejection down to less than none.
    scores = np.full((4, 4), -40.0)
    scores[0, 1] = scores[1, 2] = scores[2, 3] = 0.0
    num_trees = len(trees_of(kind, scores))
    num_repeats, num_drawn = count_repeats(
        kind(scores), num_trees, below=-1.0, most_repeats=most_repeats
    )
    assert (num_repeats, num_drawn) == (most_repeats, num_trees)


@pytest.mark.parametrize("seed", [2, 5, 10, 14, 15, 18])
def test_scores_beyond_all_masses_are_not_drawn_in_vain_for_long(seed):
    # The mass that is left is wrong by all its digits: it was 65,536 draws per graph once.
    scores = np.round(np.random.default_rng(seed).normal(size=(3, 3)) * 3) * 1e20 / 3
    distribution = SpanningTrees(scores)
    (below,) = without_replacement.switch_below(None, distribution._graphs)
    num_repeats, num_drawn = count_repeats(distribution, 2, below=below)
    assert num_drawn == 2
    assert num_repeats <= 16 / below


@KINDS
@pytest.mark.parametrize("num_words", [2, 5, 20, 60])
def test_draws_in_vain_cost_no_more_than_a_few_draws_from_the_partition(kind, num_words):
    # The bound looks at the graph alone: sixteen times the tries that a draw from the partition
    # is worth, per tree.
    distribution = kind(dense_scores(num_words, num_words, 6.0))
    (below,) = without_replacement.switch_below(None, distribution._graphs)
    num_repeats, num_drawn = count_repeats(distribution, 50, below=below)
    assert num_repeats <= num_drawn * 16 / below
    for k in (1, 2, 5, 20):  # and so a longer sequence continues a shorter one
        longer = distribution.sample_without_replacement(50, rng=0)
        shorter = distribution.sample_without_replacement(k, rng=0)
        np.testing.assert_array_equal(shorter.heads, longer.heads[:k])


# ---- arguments ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"k": -1}, ValueError, "k is -1: it must be at least 0"),
        ({"k": 1.0}, TypeError, r"k must be an integer, not float \(1\.0\)"),
        ({"k": True}, TypeError, "k must be an integer, not True"),
        ({"k": None}, TypeError, "k must be an integer, not NoneType"),
        (
            {"method": "wilson"},
            ValueError,
            "method 'wilson' does not draw without replacement: use one of 'rejection',",
        ),
        ({"on_exhausted": "stop"}, ValueError, "on_exhausted is 'stop': use 'return' or 'raise'"),
        ({"workers": 0}, ValueError, "workers is 0: it must be at least 1 thread"),
        ({"rng": -1}, ValueError, "rng is -1: a seed must not be negative"),
        ({"first_graph": -1}, ValueError, "first_graph is -1: it must be between 0 and"),
        ({"first_graph": 0.5}, TypeError, "first_graph must be an integer, not float"),
    ],
)
def test_arguments_that_are_none(options, error, message):
    options = {"k": 3, "rng": 1} | options
    with pytest.raises(error, match=message):
        SpanningTrees(dense_scores(1, 4)).sample_without_replacement(**options)


def test_iteration_refuses_a_graph_index_that_is_none():
    with pytest.raises(ValueError, match="first_graph is -1: it must be between 0 and"):
        SpanningTrees(dense_scores(1, 4)).iterate_without_replacement(rng=1, first_graph=-1)


def test_numpy_integers_are_numbers_of_trees():
    distribution = SpanningTrees(dense_scores(1, 4))
    assert_same_draws(
        distribution.sample_without_replacement(np.int16(5), rng=1),
        distribution.sample_without_replacement(5, rng=1),
    )


def test_draws_are_frozen():
    draws = SpanningTrees(dense_scores(1, 4)).sample_without_replacement(3, rng=1)
    with pytest.raises(FrozenInstanceError):
        draws.heads = None


# ---- it always ends -----------------------------------------------------------------------------


@KINDS
@EACH_METHOD
@pytest.mark.parametrize(
    "scores",
    [*ENDLESS_GRAPHS.values(), one_tree(5, 20, 100.0)],
    ids=[*ENDLESS_GRAPHS, "one tree with all the mass"],
)
def test_hostile_graphs_give_different_trees_too(kind, method, scores):
    draws = kind(scores).sample_without_replacement(50, rng=1, method=method)
    assert len(draws) == 50
    assert_all_different(draws.heads)
    assert is_tree(draws.heads, single_root=is_single_root(kind)).all()
    # Where a tree's mass is below the rounding of what remains, it takes nothing visible away.
    assert np.all(np.diff(draws.log_remaining) < 4 * EPSILON)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    "call",
    [
        "pairs(2).sample_without_replacement(1_000_000, method='rejection', {rest})",
        "flat(2).sample_without_replacement(1_000_000, method='partition', {rest})",
        # A long sequence beside a short one: the thread that listens has little to do itself.
        "flat(2, lengths=[1, 100]).sample_without_replacement("
        "1_000_000, method='partition', {rest})",
    ],
    ids=["rejection", "partition", "one of two graphs"],
)
def test_ctrl_c_interrupts_distinct_draws(call, workers):
    # Left alone, each of the calls takes longer than a script may take.
    setup = """
        import numpy as np
        from arborand import DependencyTrees
        def flat(count, lengths=None):
            return DependencyTrees(np.zeros((count, 101, 101)), lengths=lengths)
        def pairs(count):  # bound to each other, so that no walk ends within its budget
            scores = np.zeros((count, 101, 101))
            for word in range(1, 100, 2):
                scores[:, word, word + 1] = scores[:, word + 1, word] = 60.0
            return DependencyTrees(scores)
    """
    assert interrupt(setup, call.format(rest=f"rng=1, workers={workers}"))


def test_ctrl_c_interrupts_the_switch():
    # Rejection finds 30,000 trees in no time; taking them out of the partition takes minutes.
    setup = """
        import numpy as np
        from arborand import without_replacement
        from arborand.kinds import TreeKind
        from arborand.validation import check_log_weights
        graphs = check_log_weights(np.zeros((301, 301)), None, kind=TreeKind.SPANNING)
    """
    call = (
        "without_replacement.sample_without_replacement(graphs, 30_001, method='rejection', "
        "key=(1, 2), switch_after=30_000)"
    )
    assert interrupt(setup, call, after=1.5)


# ---- the rule that switches ---------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("switch_after", [0, 1, 5, 15, 16, 100])
def test_a_forced_switch_gives_all_trees_too(kind, switch_after):
    scores = dense_scores(1, 3)
    draws = without_replacement.sample_without_replacement(
        kind(scores)._graphs,
        100,
        method="rejection",
        key=stream_key(1),
        switch_after=switch_after,
    )
    assert sorted(draws.heads.tolist()) == sorted(trees_of(kind, scores))


def test_the_sequence_up_to_the_switch_is_that_of_rejection():
    distribution = DependencyTrees(dense_scores(1, 9))
    draws = distribution.sample_without_replacement(50, rng=1, method="rejection")
    for switch_after in (0, 1, 20):
        switched = without_replacement.sample_without_replacement(
            distribution._graphs,
            50,
            method="rejection",
            key=stream_key(1),
            switch_after=switch_after,
        )
        same = np.all(switched.heads == draws.heads, axis=1)
        assert np.all(same[:switch_after])
        assert not np.all(same)


@KINDS
@pytest.mark.parametrize("scale", [1e18, 1e20, 1e100, 1e300])
def test_it_ends_where_scores_are_too_large_to_know_the_mass(kind, scale):
    # Rejection would draw the one certain tree for ever, if it did not count its repeats.
    for seed in range(3):
        distribution = kind(np.random.default_rng(seed).uniform(-1, 1, (7, 7)) * scale)
        draws = distribution.sample_without_replacement(3, rng=1)
        assert len({tuple(heads) for heads in draws.heads.tolist()}) == 3
        assert np.all(is_tree(draws.heads))
