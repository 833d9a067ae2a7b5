"""Runs checks of the long suite: their seeds, their second chance, and their processes.

Seeds
-----
A run has one seed. Every graph and every attempt of every check gets its own from it and its name,
so that a check alone, in any order, on any number of processes, repeats what it did in the run.

The second chance
-----------------
A check whose p-value is below the level is run once more, on the same graph, with a new seed and
ten times the draws, and only if that fails too it has failed. What this does to the error rates:

* *False alarms.* The attempts are independent, so both fail with probability at most level^2. The
  run as a whole raises a false alarm with probability at most m * (ALPHA_RUN / m)^2 =
  ALPHA_RUN^2 / m, instead of ALPHA_RUN. Were the level of a test off by a factor of 2 so far in its
  tail, this would be off by 4.
* *Misses.* A real bias has to be found twice. But the second attempt has ten times the evidence:
  what the first finds with a chance of 99 % the second all but always finds. The table of powers
  counts both.
* A mutant that is not rejected is given ten trials, whose p-values are combined. A mutant is still
  only rejected at 1e-12.

Whatever raises an exception has failed, mutants included.
"""

from __future__ import annotations

import multiprocessing
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from hashlib import sha256

from arborand import SuspiciousWeightsWarning
from verification.goodness_of_fit import Fit, Verdict
from verification.high_precision import Accuracy
from verification.ledger import ALPHA_RUN
from verification.long_suite import LongCheck
from verification.power import MORE_DRAWS, Power
from verification.random_graphs import graph_of

FEWER_DRAWS = 10
"""What a quick run divides the draws by."""


@dataclass(frozen=True)
class Attempt:
    """One verdict.

    Attributes
    ----------
    seed : int
        Of the draws.
    num_draws : int
        Of trees, pairs of trees, or sequences.
    p_value : float
        0 if an exception was raised.
    report : str
        The evidence in words.
    seconds : float
        What it took.
    is_uniform : bool
        Whether p-values of this test are uniform, if the library is right: those of single G
        tests are, those of families and of exact tests are on the safe side.
    error : float or None
        The largest error found, where accuracy is checked.
    has_raised : bool
        Whether there was an exception instead of a verdict.
    """

    seed: int
    num_draws: int
    p_value: float
    report: str
    seconds: float
    is_uniform: bool = False
    error: float | None = None
    has_raised: bool = False


@dataclass(frozen=True)
class Outcome:
    """What became of a check.

    Attributes
    ----------
    name, group, graph_name : str
        Of the check.
    is_mutant : bool
        Whether a rejection was wanted.
    has_passed : bool
        Of the last attempt.
    attempts : tuple of Attempt
        One, or two.
    power : Power or None
        What the first attempt would have found.
    """

    name: str
    group: str
    graph_name: str
    is_mutant: bool
    has_passed: bool
    attempts: tuple[Attempt, ...]
    power: Power | None = field(default=None)


@dataclass(frozen=True)
class Settings:
    """What all checks of a run share.

    Attributes
    ----------
    seed : int
        Where all randomness comes from.
    level : float
        The p-value below which a check fails.
    is_quick : bool
        Whether to make a tenth of the draws.
    """

    seed: int
    level: float
    is_quick: bool = False


def level_of(suite: Sequence[LongCheck]) -> float:
    """Share the false alarms of a run between all checks that may raise one.

    Parameters
    ----------
    suite : sequence of LongCheck
        The whole suite, also if only some of it is run: a check alone is the check of the run.

    Returns
    -------
    float
        The p-value below which a check fails.
    """
    return ALPHA_RUN / max(1, sum(check.num_draws > 0 and not check.is_mutant for check in suite))


def seed_of(run_seed: int, about: str) -> int:
    """Derive a seed from that of the run.

    Parameters
    ----------
    run_seed : int
        The printed seed.
    about : str
        What the seed is for.

    Returns
    -------
    int
        63 bits of a hash.
    """
    return int.from_bytes(sha256(f"{run_seed}: {about}".encode()).digest()[:8], "big") >> 1


def run_check(check: LongCheck, settings: Settings) -> Outcome:
    """Run a check, and once more if it fails.

    Parameters
    ----------
    check : LongCheck
        The check.
    settings : Settings
        Of the run.

    Returns
    -------
    Outcome
        What became of it.
    """
    num_draws = check.num_draws
    if settings.is_quick and num_draws > 1:
        num_draws //= FEWER_DRAWS
    attempts = [_attempt(check, num_draws, settings, "first attempt")]
    if not _is_good(check, attempts[0], settings) and num_draws > 0:
        attempts.append(_attempt(check, MORE_DRAWS * num_draws, settings, "second attempt"))
    return Outcome(
        check.name,
        check.group,
        check.graph_name,
        check.is_mutant,
        _is_good(check, attempts[-1], settings),
        tuple(attempts),
        None if attempts[-1].has_raised else _power_of(check, num_draws, settings),
    )


def run_checks(
    checks: Sequence[LongCheck], settings: Settings, *, workers: int
) -> Iterator[Outcome]:
    """Run checks, on several processes if asked to, and yield outcomes as they come.

    Parameters
    ----------
    checks : sequence of LongCheck
        The checks.
    settings : Settings
        Of the run.
    workers : int
        Number of processes.

    Yields
    ------
    Outcome
        One for each check.
    """
    if workers == 1:
        yield from (run_check(check, settings) for check in checks)
        return
    # Fresh processes: no thread of this one, and no memory, is copied in the middle of something.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        waiting = [pool.submit(run_check, check, settings) for check in checks]
        try:
            for future in as_completed(waiting):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _attempt(check: LongCheck, num_draws: int, settings: Settings, which: str) -> Attempt:
    seed = seed_of(settings.seed, f"{check.name}, {which}")
    start = time.perf_counter()
    try:
        graph = graph_of(check.graph_name, seed_of(settings.seed, check.graph_name))
        with warnings.catch_warnings():
            # Graphs at the ends of float64's range look odd, and are meant to.
            warnings.simplefilter("ignore", SuspiciousWeightsWarning)
            verdict = check.experiment.run(graph, num_draws, seed)
    except Exception:
        seconds = time.perf_counter() - start
        return Attempt(seed, num_draws, 0.0, traceback.format_exc(), seconds, has_raised=True)
    return Attempt(
        seed,
        num_draws,
        float(verdict.p_value),
        verdict.report(),
        time.perf_counter() - start,
        _is_uniform(check, verdict),
        verdict.worst if isinstance(verdict, Accuracy) else None,
    )


def _is_good(check: LongCheck, attempt: Attempt, settings: Settings) -> bool:
    return not attempt.has_raised and check.passes(attempt.p_value, settings.level)


def _is_uniform(check: LongCheck, verdict: Verdict) -> bool:
    return (
        not check.is_mutant
        and isinstance(verdict, Fit)
        and verdict.degrees_of_freedom > 0
        and verdict.rare is None
    )


def _power_of(check: LongCheck, num_draws: int, settings: Settings) -> Power | None:
    graph = graph_of(check.graph_name, seed_of(settings.seed, check.graph_name))
    return check.experiment.power(graph, num_draws, settings.level)
