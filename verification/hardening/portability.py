"""Is it true that a seed gives the same trees on every machine?  `make portability` finds out.

The core and `digest.cpp` are compiled for this machine by its own compiler, and for ARM by zig's,
and run here, ARM by QEMU's user mode. Every answer of the core on a few hundred graphs must have
the same bits everywhere, with each instruction set. For macOS and Windows, which cannot be run
here, the core is compiled, and not linked.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "portability"
SHOWN = 20  # differences, at most


# zig's names of other machines, and what runs their programs here.
TARGETS = {
    "aarch64-linux-musl": "qemu-aarch64",
    "aarch64-macos": None,
    "x86_64-macos": None,
    "x86_64-windows-gnu": None,
}


def run(command: list[str]) -> str:
    """Run a compiler; what it says matters only if it fails."""
    finished = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if finished.returncode != 0:
        sys.exit(f"{finished.stdout}\n{' '.join(command)} failed")
    return finished.stdout


def build_here() -> Path:
    """Compile the program for this machine, and write down how; return the folder."""
    folder = BUILD / "native"
    tools = Path(sys.executable).parent
    cmake = str(tools / "cmake")
    run(
        [
            *(cmake, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}"),
            *("-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"),
            *("-DARBORAND_MODULE=OFF", "-DARBORAND_TEST_CORE=ON"),
            *(f"-DCMAKE_CXX_COMPILER={os.environ.get('CXX', 'c++')}", "-S", str(ROOT)),
            *("-B", str(folder)),
        ]
    )
    run([cmake, "--build", str(folder), "--target", "digest"])
    return folder


def build_for(target: str, native: Path) -> Path:
    """Compile for another machine with the options used here; link where the result can be run."""
    import ziglang  # part of the dependency group `cross`, and needed for nothing else

    compiler = [str(Path(ziglang.__file__).parent / "zig"), "c++", "-target", target]
    folder = BUILD / target
    folder.mkdir(parents=True, exist_ok=True)
    objects = []
    for entry in json.loads((native / "compile_commands.json").read_text()):
        options = shlex.split(entry["command"])[1:]
        if "tests/core" in entry["file"] or "fuzz" in entry["file"]:
            continue
        if not target.startswith("x86_64"):
            if "-mavx2" in options:
                continue
            options = [option for option in options if option != "-DARBORAND_HAS_AVX2"]
        output = options.index("-o") + 1
        options[output] = str(folder / Path(options[output]).as_posix().replace("/", "_"))
        objects.append(options[output])
        run([*compiler, *options])
    if TARGETS[target]:
        run([*compiler, "-static", *objects, "-o", str(folder / "digest")])
    return folder


def answers(command: list[str]) -> dict[str, str] | None:
    """Run the program: from question to digest, or None where there are no such kernels."""
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode == 2:
        return None
    if finished.returncode != 0:
        sys.exit(f"{finished.stdout}{finished.stderr}\n{' '.join(command)} failed")
    lines = (line.split(" ", 1) for line in finished.stdout.splitlines())
    return {question: digest for digest, question in lines}


def main() -> None:
    """Compile, run, compare; exit with an error if anything differs."""
    missing = [name for name in TARGETS.values() if name and shutil.which(name) is None]
    if missing:
        sys.exit(f"{missing[0]} is not installed (Debian, Ubuntu: apt-get install qemu-user)")
    native = build_here()
    found = {
        f"this machine, {name}": answers([str(native / "digest"), name])
        for name in ("baseline", "avx2")
    }
    for target, emulator in TARGETS.items():
        folder = build_for(target, native)
        if emulator is None:
            print(f"{target}: compiled", flush=True)
        else:
            found[target] = answers([emulator, str(folder / "digest"), "baseline"])

    expected = found["this machine, baseline"]
    assert expected is not None
    same = True
    for machine, digests in found.items():
        if digests is None:
            print(f"{machine}: no such kernels here")
            continue
        different = [
            question for question in expected if digests.get(question) != expected[question]
        ]
        same &= not different and len(digests) == len(expected)
        print(f"{machine}: {len(digests) - len(different)} of {len(expected)} answers are the same")
        for question in different[:SHOWN]:
            print(f"    {question}")
    sys.exit(0 if same else "machines do not agree")


if __name__ == "__main__":
    main()
