"""The command line: ``python -m benchmarks [names] [--quick] [--scores PATH]``."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from pathlib import Path

from benchmarks import documentation
from benchmarks.measure import RESULTS, ROOT, Settings
from benchmarks.report import describe_machine

# In this order; each is a module with run(settings) -> Report.
NAMES = (
    "gate",
    "inference",
    "second_order",
    "torch_front",
    "sampling",
    "sharp",
    "without_replacement",
    "best",
    "projective",
    "labelled",
    "peers",
    "estimators",
    "sparse",
    "command_line",
    "corpus",
    "page",
    "jax_front",  # last: JAX minds if others fork in its process
)
# Where runs write that are quick, or of made-up scores: they never stand in for committed results.
OTHER_RESULTS = ROOT / "build" / "benchmarks"
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for, write results, and bring the documentation up to date."""
    options = _parser().parse_args(arguments)
    if options.list:
        for name in NAMES:
            print(f"{name:22} {_summary(name)}")
        return 0
    if options.documentation:
        documentation.update(options.results or RESULTS)
        return 0
    unknown = [name for name in options.names if name not in NAMES]
    if unknown:
        print(f"no benchmark is called {', '.join(unknown)}; see --list", file=sys.stderr)
        return 2
    if options.scores is not None and not options.scores.exists():
        print(f"--scores: there is nothing at {options.scores}", file=sys.stderr)
        return 2
    if any(os.environ.get(name) != "1" for name in _ONE_THREAD):
        # The libraries read these when they are loaded: begin again with them set.
        environment = {**os.environ, **dict.fromkeys(_ONE_THREAD, "1")}
        given = sys.argv[1:] if arguments is None else arguments
        os.execve(sys.executable, [sys.executable, "-m", "benchmarks", *given], environment)
    is_for_pages = options.scores is not None and not options.quick
    results = options.results or (RESULTS if is_for_pages else OTHER_RESULTS)
    settings = Settings(options.quick, options.scores, results)
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > 0.5 * cores:
        print(f"load {load:.1f} on {cores} cores: two workers cannot be told from one now")
    for name in options.names or NAMES:
        _run(name, settings)
    if is_for_pages and results.resolve() == RESULTS:
        documentation.update(results)
    else:
        print(f"results are in {results}; the documentation is as it was")
    return 0


def _run(name: str, settings: Settings) -> None:
    module = importlib.import_module(f"benchmarks.{name}")
    begin = time.perf_counter()
    machine = describe_machine()
    print(f"{name}: ", end="", flush=True)
    report = module.run(settings)
    report.write(machine)
    print(f"{time.perf_counter() - begin:.0f} s", flush=True)
    for claim in report.claims:
        print("   ", " | ".join(claim.cells()), flush=True)


def _summary(name: str) -> str:
    module = importlib.import_module(f"benchmarks.{name}")
    return (module.__doc__ or "").strip().splitlines()[0]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure speed side by side; with a parser's scores, write benchmarks/results "
        "and docs/how_fast.md.",
    )
    parser.add_argument("names", nargs="*", metavar="name", help="which benchmarks; all if none")
    parser.add_argument("--list", action="store_true", help="say which there are")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small sizes and few rounds: does it work, not how fast",
    )
    parser.add_argument(
        "--scores",
        type=Path,
        default=Path(os.environ["SCORES"]) if os.environ.get("SCORES") else None,
        help="a parser's scores: an .npz file or a folder of them (default: $SCORES, else made up)",
    )
    parser.add_argument(
        "--results",
        type=Path,
        help="where to write (default: benchmarks/results if there are a parser's scores, and not "
        "--quick; else build/benchmarks, and the documentation is left alone)",
    )
    parser.add_argument(
        "--documentation",
        action="store_true",
        help="only write the pages again from the results that are there",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
