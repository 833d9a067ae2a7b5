"""Compile and run floor.cpp."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from arborand import _core
from benchmarks.measure import ROOT

COMPILER = shlex.split(os.environ.get("CXX", "c++"))
# Those of the kernels in CMakeLists.txt, for the instruction set that this machine uses.
_OPTIONS = ("-std=c++17", "-O3", "-Wno-psabi", "-ffp-contract=off", "-fno-math-errno")
_INSTRUCTION_SETS: dict[str, tuple[str, ...]] = {"baseline": (), "avx2": ("-mavx2",)}


def compile_floor(program: Path) -> None:
    """Compile the program against the core's headers."""
    source, include = ROOT / "benchmarks" / "floor.cpp", ROOT / "src" / "core"
    options = (*_OPTIONS, *_INSTRUCTION_SETS[_core.instruction_set()], f"-I{include}")
    subprocess.run([*COMPILER, *options, str(source), "-o", str(program)], check=True)


def measure_floor(repetitions: int, milliseconds: float) -> list[dict[str, Any]]:
    """Compile the program, run it, and return its lines."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "floor"
        compile_floor(program)
        printed = subprocess.run(
            [program, str(repetitions), str(milliseconds)],
            check=True,
            capture_output=True,
            text=True,
        )
    return [json.loads(line) for line in printed.stdout.splitlines()]
