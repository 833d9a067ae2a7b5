"""Results do not depend on the floating-point environment of the caller, who gets it back.

Some libraries set a rounding mode or flush-to-zero for the whole thread and leave it so.
"""

import signal
import threading
import warnings

import numpy as np
import pytest

from arborand import DependencyTrees, SpanningTrees, _core
from tests import floating_point
from tests.floating_point import environment
from tests.kinds import KINDS
from tests.random_graphs import dense_scores, heavy_tails, mutual_pairs, sparse_scores

pytestmark = pytest.mark.skipif(
    not floating_point.is_known(), reason="the layout of this machine's environment is not known"
)
each_setting = pytest.mark.parametrize("setting", floating_point.SETTINGS)

GRAPHS = {
    "dense": dense_scores(1, 9, 3.0),
    "sparse": sparse_scores(2, 7, 0.4),
    "larger": dense_scores(3, 40, 1.0),
    "with subnormal weights": dense_scores(4, 6, 300.0),
    "pairs bound by e^400": mutual_pairs(3, 6, 400.0),
    "scores of 1e300": heavy_tails(5, 3, 1e300),
}
each_graph = pytest.mark.parametrize("scores", GRAPHS.values(), ids=GRAPHS)


def numbers(distribution):
    """Ask for every number there is."""
    yield distribution.log_partition()
    yield distribution.arc_marginals()
    yield distribution.root_marginals()
    yield distribution.entropy()
    yield distribution.mean_hitting_time()
    if isinstance(distribution, SpanningTrees):
        yield distribution.expected_walk_steps()


def draws(distribution):
    """Draw in every way there is, and ask for the probabilities."""
    methods = ["wilson", "colbourn"]
    if isinstance(distribution, DependencyTrees):
        methods += ["wilson_reject", "wilson_rc"]
    with warnings.catch_warnings(category=UserWarning, action="ignore"):  # wilson_rc is biased
        for method in methods:
            heads = distribution.sample(20, rng=1, method=method)
            yield heads
            yield distribution.log_prob(heads)
    for method in ("rejection", "partition", None):
        found = distribution.sample_without_replacement(6, rng=2, method=method)
        yield from (found.heads, found.log_prob, found.log_remaining, found.perturbed_log_prob)


def everything(kind, scores, weights):
    """Collect the bytes of all answers, from new objects: answers are remembered."""
    distribution = kind(scores)
    answers = [*numbers(distribution), *draws(distribution), kind.from_weights(weights).log_weights]
    return [np.asarray(answer).tobytes() for answer in answers]


def as_weights(scores):
    """Turn scores into weights, tiny ones into subnormal weights."""
    weights = np.exp(np.clip(scores, -700, 700))
    weights[(weights > 0) & (weights < 1e-200)] = 5e-324
    return weights


def test_the_settings_are_felt():
    # Without this the tests below could pass because nothing was set.
    def rounded():
        return tuple(
            (np.array([1.0, 1.0, -1.0, 1e-308]) / np.array([3.0, 10.0, 3.0, 1e10])).tolist()
        )

    results = {rounded()}
    for setting in floating_point.SETTINGS:
        with environment(setting):
            results.add(rounded())
    assert len(results) == 5


@KINDS
@each_setting
@each_graph
def test_results_do_not_depend_on_the_environment(kind, setting, scores):
    weights = as_weights(scores)
    expected = everything(kind, scores, weights)
    with environment(setting):
        found = everything(kind, scores, weights)
    assert found == expected


def test_results_of_threads_do_not_depend_on_the_environment():
    batch = np.stack([GRAPHS["dense"]] * 6)
    expected = [DependencyTrees(batch).entropy(), DependencyTrees(batch).sample(300, rng=3)]
    with environment("upward"):
        found = DependencyTrees(batch).entropy(workers=3)
        heads = DependencyTrees(batch).sample(300, rng=3, workers=3)
    np.testing.assert_array_equal(found, expected[0])
    np.testing.assert_array_equal(heads, expected[1])


@each_setting
@pytest.mark.parametrize("workers", [1, 3])
def test_scores_in_float32_are_converted_as_if_there_were_no_environment(setting, workers):
    scores = np.random.default_rng(1).normal(scale=30.0, size=(20, 9, 9)).astype(np.float32)

    def solved():
        values, gradients = np.empty(20, np.float32), np.empty_like(scores)
        _core.log_partition(_core.Batch(scores, None, 1), workers, values, gradients)
        return values.tobytes(), gradients.tobytes()

    expected = solved()
    with environment(setting):
        found = solved()
    assert found == expected
    assert solved() == expected  # also by threads that were made in between


@each_setting
@each_graph
def test_the_environment_is_given_back(setting, scores):
    with environment(setting):
        before = floating_point.control()
        for kind in (DependencyTrees, SpanningTrees):
            everything(kind, scores, as_weights(scores))
        after = floating_point.control()
    # Flags that NumPy puts up are in the control word of x86, too.
    assert after & ~floating_point.ALL_FLAGS == before & ~floating_point.ALL_FLAGS


def calls():
    """Give one call into every kernel, past the Python package, whose own arithmetic sets flags."""
    scores = GRAPHS["pairs bound by e^400"][np.newaxis]
    batch = DependencyTrees(scores)._graphs.batch
    size = batch.size
    parts, shift, one = np.empty((1, 4)), np.empty((1, size)), np.empty(1)
    heads = np.zeros((3, 1, size), dtype=np.int32)
    distinct = np.zeros((1, 3, size), dtype=np.int32)
    drawn, count = np.empty((1, 3, 3)), np.empty(1, dtype=np.int64)
    square, row, log_probs = np.empty((1, size, size)), np.empty((1, size)), np.empty((3, 1))
    return {
        "normalise": lambda: _core.normalise(batch, 1, parts, shift),
        "arc_marginals": lambda: _core.log_partition(batch, 1, None, square),
        "root_marginals": lambda: _core.root_marginals(batch, 1, row, one),
        "entropy": lambda: _core.entropy(batch, 1, one, None),
        "mean_hitting_time": lambda: _core.mean_hitting_time(batch, 1, one),
        "sample": lambda: _core.sample(batch, 1, 2, 1, 2, 0, 0, -1, heads),
        "log_prob": lambda: _core.log_prob(batch, parts, shift, heads, log_probs),
        "sample_distinct": lambda: _core.sample_distinct(
            batch, 1, 1, 2, 0, np.ones(1), -1, distinct, drawn, count
        ),
        "logarithms": lambda: _core.logarithms(np.array([5e-324, 0.0, 3.0, np.inf, -1.0])),
    }


@pytest.mark.parametrize("name", calls())
@pytest.mark.parametrize("which", [0, floating_point.ALL_FLAGS])
def test_flags_are_given_back(name, which):
    # This graph leaves the range of double on the way, which raises flags inside.
    call = calls()[name]
    calls()["normalise"]()
    floating_point.raise_flags(which)
    call()
    found = floating_point.flags()
    floating_point.raise_flags(0)
    assert found == which


def test_the_environment_is_given_back_after_an_interrupt():
    def work_until_interrupted():
        timer.start()
        while True:
            DependencyTrees(scores).arc_marginals()

    scores = dense_scores(1, 700)
    main = threading.main_thread().ident
    timer = threading.Timer(0.2, lambda: signal.pthread_kill(main, signal.SIGINT))
    with environment("upward"):
        before = floating_point.control()
        with pytest.raises(KeyboardInterrupt):
            work_until_interrupted()
        after = floating_point.control()
    timer.join()
    assert after & ~floating_point.ALL_FLAGS == before & ~floating_point.ALL_FLAGS


def test_a_signal_handler_cannot_change_the_results():
    scores = dense_scores(1, 700)
    expected = DependencyTrees(scores).arc_marginals()
    handled = []

    def handler(number, frame):
        floating_point.set_mode("downward")
        floating_point.raise_flags(floating_point.ALL_FLAGS)
        handled.append(number)

    old = signal.signal(signal.SIGALRM, handler)
    with environment("nearest"):  # takes back what the handler sets
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
            # Until the clock has rung in the middle of some call: how soon is the machine's affair.
            while len(handled) < 20:
                found = DependencyTrees(scores).arc_marginals()
                np.testing.assert_array_equal(found, expected)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, old)
