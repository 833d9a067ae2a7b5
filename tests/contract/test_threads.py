"""Threads end well whatever goes wrong, and long work lets other threads of Python run."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from arborand import DependencyTrees, _core
from tests.processes import run_script
from tests.random_graphs import dense_scores

HERE = Path(__file__).parent
CORE = HERE.parents[1] / "src" / "core"
TIMEOUT = 120  # seconds: only reached by a program that hangs


def compiled(name, tmp_path_factory, *options):
    target = tmp_path_factory.mktemp("threads") / name
    compiler = os.environ.get("CXX", "c++")
    usual = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{CORE}"]
    command = [compiler, *usual, *options, str(HERE / f"{name}.cpp"), "-o", str(target)]
    subprocess.run(command, check=True, timeout=TIMEOUT)
    return target


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Compile threads.cpp."""
    return compiled("threads", tmp_path_factory)


def outcome(program, *case):
    finished = subprocess.run(
        [str(program), *map(str, case)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.strip()


@pytest.mark.slow
def test_threads_that_cannot_be_made_are_done_without(program):
    # The call itself needs memory for its lists; then each thread does.
    outcomes = [outcome(program, "without_memory", number) for number in range(1, 25)]
    # Two allocations for each thread but the caller's.
    assert outcomes.count("ok, although an allocation failed") == 2 * 3
    assert set(outcomes) == {
        "bad_alloc",
        "ok, although an allocation failed",
        "ok, and no allocation failed",
    }


@pytest.mark.parametrize("number", [1, 2, 3, 17, 64])
def test_pieces_of_work_that_get_no_memory_end_the_call(program, number):
    assert outcome(program, "without_memory_in_pieces", number) == "bad_alloc"
    assert outcome(program, "without_memory_in_pieces", 65) == "ok, and no allocation failed"


@pytest.mark.parametrize("where", ["throws_in_a_thread", "throws_in_the_caller"])
def test_what_a_piece_of_work_throws_is_thrown_to_the_caller(program, where):
    assert outcome(program, where) == "runtime_error"


@pytest.mark.parametrize("failure", ["status_in_a_thread", "error_in_a_thread"])
def test_what_fails_in_a_thread_is_told_and_ends_the_others(program, failure):
    assert outcome(program, failure) == "ok"


def test_the_caller_listens_while_others_finish(program):
    assert outcome(program, "interrupted_while_others_finish") == "interrupted"


# ---- threads that wait for the next call ----


LINUX = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are in /proc")


@LINUX
def test_threads_wait_for_the_next_call_no_more_than_there_are_processors(program):
    assert outcome(program, "two_calls") == "ok"


@LINUX
def test_no_thread_that_waits_is_there_when_the_program_forks(program):
    assert outcome(program, "a_fork_after_a_call") == "ok"


def test_a_fork_during_a_call_harms_neither_the_call_nor_the_child(program):
    assert outcome(program, "a_fork_during_a_call") == "ok"


@pytest.mark.parametrize("case", ["a_handler_forks", "a_handler_forks_and_raises"])
def test_a_child_does_not_wait_for_threads_that_it_does_not_have(program, case):
    assert outcome(program, case) == "ok"


def test_a_thread_that_would_be_ended_stays_while_others_use_its_stack(program):
    assert outcome(program, "the_caller_is_ended") == "ok"


@LINUX
def test_threads_run_where_their_caller_may_run_now(program):
    assert outcome(program, "standing") == "ok"


def test_threads_that_wait_take_no_time(program):
    assert outcome(program, "rest_after_a_call") == "ok"


def test_calls_at_once_do_not_share_threads(program):
    assert outcome(program, "calls_at_once") == "ok"


def test_signals_are_left_to_the_threads_of_python(program):
    assert outcome(program, "signals") == "ok"


def test_threads_that_wait_have_an_environment_of_their_own(program):
    assert outcome(program, "environment") == "ok"


# ---- the global interpreter lock ----


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_program_may_end_while_a_daemon_thread_works(workers):
    script = f"""
        import threading, time
        import numpy as np
        from arborand import DependencyTrees
        large = DependencyTrees(np.zeros((200, 301, 301)))
        is_begun = threading.Event()

        def work():
            while True:
                is_begun.set()
                large.arc_marginals(workers={workers})

        threading.Thread(target=work, daemon=True).start()
        is_begun.wait()
        time.sleep(0.1)
        print(1)
    """
    for _ in range(3):
        assert run_script(script) == 1  # which minds how it ended


@pytest.fixture(scope="module")
def slow_exit(tmp_path_factory):
    """Compile slow_exit.cpp."""
    return compiled("slow_exit", tmp_path_factory, "-shared", "-fPIC")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_thread_may_look_for_signals_after_the_interpreter_has_ended(slow_exit, workers):
    # The thread is held in the middle of its work while Python ends. Let go, it looks for signals
    # at once, and the process is there for another while.
    script = f"""
        import ctypes, threading, time
        import numpy as np
        from arborand import DependencyTrees
        large = DependencyTrees(np.zeros((100, 301, 301)))
        hold = ctypes.PyDLL({str(slow_exit)!r}).hold_until_the_end
        hold.argtypes = [ctypes.c_ulong]
        is_begun = threading.Event()

        def work():
            while True:
                is_begun.set()
                large.arc_marginals(workers={workers})

        worker = threading.Thread(target=work, daemon=True)
        worker.start()
        is_begun.wait()
        time.sleep(0.2)
        print(int(worker.is_alive()), flush=True)
        hold(worker.ident)  # who calls has the GIL, so the worker is without
    """
    assert run_script(script) == 1  # which minds how it ended


LARGE = 300  # words
MANY = 20_000  # trees, or entries


def long_calls():
    """Give a call of some hundredths of a second into every kernel, and nothing but that call.

    NumPy lets go of the lock, too, where it fills or copies an array.
    """
    large = DependencyTrees(dense_scores(1, LARGE))
    batch, size = large._graphs.batch, LARGE + 1
    one, row, square = np.empty(1), np.empty((1, size)), np.empty((1, size, size))
    parts, shift, log_probs = np.empty((1, 4)), np.empty((1, size)), np.empty((MANY, 1))
    _core.normalise(batch, 1, parts, shift)
    heads = np.empty((MANY, 1, size), dtype=np.int32)
    heads[:] = large.sample(rng=0)
    few_heads, distinct = heads[:3].copy(), heads[:3].copy().reshape(1, 3, size)
    drawn = np.empty((1, 3, 3)), np.empty(1, dtype=np.int64)
    numbers, always = np.full(200 * MANY, 3.0), np.ones(1)
    many = np.zeros((50, size, size))
    return {
        "normalise": lambda: _core.normalise(batch, 1, parts, shift),
        "arc_marginals": lambda: _core.log_partition(batch, 1, None, square),
        "root_marginals": lambda: _core.root_marginals(batch, 1, row, one),
        "entropy": lambda: _core.entropy(batch, 1, one, None),
        "mean_hitting_time": lambda: _core.mean_hitting_time(batch, 1, one),
        "sample": lambda: _core.sample(batch, 1, 2, 1, 2, 0, 0, -1, few_heads),
        "sample_distinct": lambda: _core.sample_distinct(
            batch, 1, 1, 2, 0, always, -1, distinct, *drawn
        ),
        "log_prob": lambda: _core.log_prob(batch, parts, shift, heads, log_probs),
        "logarithms": lambda: _core.logarithms(numbers),
        "check": lambda: _core.Batch.check(many, None, 1),
    }


@pytest.mark.parametrize("name", long_calls())
def test_other_threads_run_during_long_work(name):
    call = long_calls()[name]
    is_inside, was_seen_inside, is_over = False, threading.Event(), False

    def work():
        nonlocal is_inside, is_over
        try:
            for _ in range(1000):  # as long as it takes the others to look, on a busy machine
                is_inside = True
                call()
                is_inside = False
                if was_seen_inside.is_set():
                    break
        finally:
            is_over = True

    # From here on a thread of Python gives way only where it waits, or lets go of the lock itself.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000.0)
    try:
        worker = threading.Thread(target=work)
        worker.start()
        while not is_over:
            if is_inside:
                was_seen_inside.set()
            time.sleep(0.0005)
        worker.join()
    finally:
        sys.setswitchinterval(interval)
    assert was_seen_inside.is_set()
