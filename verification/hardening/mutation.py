"""Do the tests notice small errors?  `make mutants` makes each of them and looks.

A copy of the working tree, in build/mutants, is changed by one mutant at a time, compiled (for one
instruction set, with little optimisation) and given to the tests that the mutant names. A mutant
that passes them survives; survivors are listed by name, and are a failure.

    make mutants                       all of them
    make mutants MUTANTS="--list"      their names
    make mutants MUTANTS="'a name'"    one of them
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from arborand import _core
from verification.hardening.source_mutants import MODULE, MUTANTS, PACKAGE, Mutant

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "build" / "mutants" / "source"
BUILD = ROOT / "build" / "mutants" / "cmake"
TOOLS = Path(sys.executable).parent
HANGS = 600  # seconds after which the tests of a mutant count as having noticed it
CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT)  # are noticed, too


def copy_sources() -> None:
    """Bring the copy up to date; files that are the same stay as old as they are."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout
    names = {name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()}
    for name in names:
        old, new = SOURCE / name, ROOT / name
        if not old.exists() or old.read_bytes() != new.read_bytes():
            old.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(new, old)
    for path in [path for path in SOURCE.rglob("*") if path.is_file()]:
        if str(path.relative_to(SOURCE)) not in names:
            path.unlink()


def build(*targets: str) -> None:
    """Compile what changed."""
    cmake = str(TOOLS / "cmake")
    if not (BUILD / "build.ninja").exists():
        subprocess.run(
            [
                *(cmake, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={TOOLS / 'ninja'}"),
                *("-DCMAKE_BUILD_TYPE=Release", f"-DPython_EXECUTABLE={sys.executable}"),
                *("-DARBORAND_TEST_CORE=ON", "-DARBORAND_AVX2=OFF", "-DARBORAND_OPTIMISATION=-O1"),
                # Errors in what is only there for AVX2 must be built to be noticed.
                f"-DCMAKE_CXX_FLAGS={'-mavx2' if _core.instruction_set() == 'avx2' else ''}",
                *("-S", str(SOURCE), "-B", str(BUILD)),
            ],
            stdout=subprocess.DEVNULL,
            check=True,
        )
    finished = subprocess.run(
        [cmake, "--build", str(BUILD), "--target", *targets],
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode != 0:
        raise RuntimeError(finished.stdout)
    for library in BUILD.glob("_core*.so"):
        shutil.copyfile(library, SOURCE / "src" / "arborand" / library.name)


def tests_pass(tests: tuple[str, ...]) -> bool:
    """Run tests on the copy, until one fails."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(SOURCE / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "ARBORAND_CORE_PARTS": str(BUILD),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    try:
        finished = subprocess.run(
            command, cwd=SOURCE, env=environment, capture_output=True, timeout=HANGS, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    if -finished.returncode in CRASHES:
        return False
    if finished.returncode not in (0, 1) and b"Timeout" not in finished.stdout + finished.stderr:
        raise RuntimeError(finished.stdout.decode() + finished.stderr.decode())
    return finished.returncode == 0


def survives(mutant: Mutant) -> bool:
    """Make the error in the copy, ask the tests, and undo it."""
    path = SOURCE / mutant.file
    original = path.read_text()
    if original.count(mutant.text) != 1:
        raise RuntimeError(f"its text occurs {original.count(mutant.text)} times in {mutant.file}")
    path.write_text(original.replace(mutant.text, mutant.replacement))
    try:
        if mutant in MODULE:
            build("_core")
        elif mutant not in PACKAGE:
            build("core_parts")
        return tests_pass(mutant.tests)
    finally:
        path.write_text(original)


def main() -> None:
    """Try the mutants, and report those that survive."""
    parser = argparse.ArgumentParser(description="Break the code and see whether tests notice.")
    parser.add_argument("names", nargs="*", help="of mutants; by default all")
    parser.add_argument("--list", action="store_true", help="list their names")
    arguments = parser.parse_args()
    known = {mutant.name: mutant for mutant in MUTANTS}
    if arguments.list:
        print("\n".join(known))
        return
    unknown = [name for name in arguments.names if name not in known]
    if unknown:
        sys.exit(f"no mutant is called {unknown[0]!r}: see --list")
    chosen = [mutant for mutant in MUTANTS if mutant.name in (arguments.names or known)]

    SOURCE.mkdir(parents=True, exist_ok=True)
    copy_sources()
    build("_core", "core_parts")
    print("without any mutant, the tests must pass", flush=True)
    for tests in dict.fromkeys(mutant.tests for mutant in chosen):
        if not tests_pass(tests):
            sys.exit(f"{' '.join(tests)} does not pass without any mutant")
    survivors, defects = [], []
    for mutant in chosen:
        start = time.perf_counter()
        try:
            outcome = "SURVIVED" if survives(mutant) else "killed"
        except RuntimeError as error:
            outcome = f"cannot be tried: {error}"
            defects.append(mutant.name)
        if outcome == "SURVIVED":
            survivors.append(mutant.name)
        print(f"{time.perf_counter() - start:6.1f} s  {mutant.name}: {outcome}", flush=True)
    print(f"{len(chosen) - len(survivors) - len(defects)} of {len(chosen)} mutants were killed")
    for name in survivors:
        print(f"survived: {name}")
    sys.exit(1 if survivors or defects else 0)


if __name__ == "__main__":
    main()
