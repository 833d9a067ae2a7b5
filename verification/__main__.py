"""The command line: ``python -m verification [names] [--seed N] [--quick] [--publish]``."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path

from verification import publishing, report, sources
from verification.long_suite import SUITE, LongCheck
from verification.runner import Outcome, Settings, level_of, run_checks

_ABOUT = """\
Draw trees for some minutes and judge them; write a report. The exit status is 0 if every check
passed, 1 if one failed (twice: the second time with ten times the draws), 2 for bad arguments.
"""


def main(
    arguments: Sequence[str] | None = None,
    suite: Sequence[LongCheck] = SUITE,
    docs: Path = publishing.DOCS,
) -> int:
    """Run the checks that were asked for.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the command line.
    suite : sequence of LongCheck, optional
        What there is to run.
    docs : pathlib.Path, optional
        Where a report is published.

    Returns
    -------
    int
        The exit status.
    """
    options = _parser().parse_args(arguments)
    checks = [check for check in suite if _is_selected(check.name, options.names)]
    if not checks:
        print(f"no check is called {' or '.join(options.names)}; see --list", file=sys.stderr)
        return 2
    if options.list:
        for check in checks:
            print(check.name)
        return 0
    if options.workers < 1 or (options.seed is not None and options.seed < 0):
        print("--workers must be at least 1, and --seed at least 0", file=sys.stderr)
        return 2
    if options.publish and (options.quick or len(checks) < len(suite)):
        print("only a run of all checks with all draws can be published", file=sys.stderr)
        return 2
    if not sources.is_installed():
        print("the installed library is not that of src/: install it again", file=sys.stderr)
        if options.publish:
            return 2
    seed = secrets.randbits(63) if options.seed is None else options.seed
    settings = Settings(seed, level_of(suite), options.quick)
    print(f"seed {seed}; {len(checks)} checks, each at level {settings.level:.3g}", flush=True)
    started, date = time.perf_counter(), f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    fingerprints = sources.fingerprints()
    print(sources.compare(docs / report.REPORT, fingerprints), flush=True)
    outcomes: dict[str, Outcome] = {}
    for outcome in run_checks(checks, settings, workers=options.workers):
        outcomes[outcome.name] = outcome
        _say(outcome, len(outcomes), len(checks), options.verbose)
    run = report.Run(
        settings,
        tuple(outcomes[check.name] for check in checks),
        len(suite),
        options.workers,
        time.perf_counter() - started,
        date,
        fingerprints,
    )
    path = report.write(run, options.output)
    if options.publish:
        path = publishing.publish(run, docs)
    print(f"{len(outcomes) - len(run.failures)} passed, {len(run.failures)} failed; {path}")
    return int(bool(run.failures))


def _say(outcome: Outcome, done: int, total: int, is_verbose: bool) -> None:
    was_easy = outcome.has_passed and len(outcome.attempts) == 1
    if was_easy and not is_verbose:
        if done % 50 == 0:
            print(f"[{done}/{total}]", flush=True)
        return
    verdict = "passed" if outcome.has_passed else "FAILED"
    for attempt in outcome.attempts:
        print(
            f"[{done}/{total}] {outcome.name}: p = {attempt.p_value:.3g}, "
            f"{attempt.num_draws} draws, {attempt.seconds:.1f} s"
        )
        if not was_easy:
            print(f"{attempt.report}")
    print(f"[{done}/{total}] {outcome.name}: {verdict}", flush=True)


def _is_selected(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatch(name, pattern) or pattern in name for pattern in patterns)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m verification", description=_ABOUT)
    parser.add_argument(
        "names", nargs="*", help="parts of names, or patterns like 'full law*colbourn*'"
    )
    parser.add_argument("--list", action="store_true", help="print the names and do nothing")
    parser.add_argument("--seed", type=int, help="of the whole run (default: a fresh one, printed)")
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)"
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the draws")
    parser.add_argument("--verbose", action="store_true", help="print every verdict")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("build/verification"),
        help="directory of the report (default: %(default)s)",
    )
    parser.add_argument(
        "--publish",
        action="store_true",
        help="write the report into docs/ as well, and its numbers into docs/is_it_exact.md",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
