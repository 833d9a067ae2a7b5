"""Is it true that a seed gives the same trees on every machine?  `make portability` finds out.

The core and `digest.cpp` are compiled for this machine by its own compiler, and for ARM and Windows
by zig's, and run here: ARM by QEMU's user mode, Windows by Wine. Every answer of the core on a few
hundred graphs must have the same bits everywhere, with each instruction set. For macOS, which
cannot be run here, the core is compiled, and not linked.
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
PROGRAM = ("kernels.cpp", "digest.cpp", "sparse_answers.cpp")  # not the other programs


# zig's names of other machines, and what runs their programs here, with its package in Debian.
TARGETS = {
    "aarch64-linux-musl": ("qemu-aarch64", "qemu-user"),
    "x86_64-windows-gnu": ("wine", "wine"),
    "aarch64-macos": None,
    "x86_64-macos": None,
}
# Wine keeps its Windows in a folder; the one in the user's home is left alone.
WINE = {"WINEPREFIX": str(BUILD / "wine"), "WINEDEBUG": "-all"}


def missing(tool: str, package: str) -> str | None:
    """Say that a program is not installed, and how to install it."""
    if shutil.which(tool) is not None:
        return None
    return f"{tool} is not installed (Debian, Ubuntu: apt-get install {package})"


def run(command: list[str], environment: dict[str, str] | None = None) -> str:
    """Run a compiler; what it says matters only if it fails."""
    finished = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env=os.environ | (environment or {}),
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


def build_for(target: str, native: Path, link: bool) -> Path:
    """Compile for another machine with the options used here; link what can be run."""
    import ziglang  # part of the dependency group `cross`, and needed for nothing else

    compiler = [str(Path(ziglang.__file__).parent / "zig"), "c++", "-target", target]
    folder = BUILD / target
    folder.mkdir(parents=True, exist_ok=True)
    objects = []
    for entry in json.loads((native / "compile_commands.json").read_text()):
        options = shlex.split(entry["command"])[1:]
        if Path(entry["file"]).name not in PROGRAM:
            continue
        if target != "x86_64-macos":  # ARM has no AVX2, and zig's Windows cannot ask for it
            if "-mavx2" in options:
                continue
            options = [option for option in options if option != "-DARBORAND_HAS_AVX2"]
        output = options.index("-o") + 1
        options[output] = str(folder / Path(options[output]).as_posix().replace("/", "_"))
        objects.append(options[output])
        run([*compiler, *options])
    program = folder / "digest.exe"  # as Windows wants it
    if link:
        run([*compiler, "-static", *objects, "-o", str(program)])
    return program


def answers(command: list[str]) -> dict[str, str] | None:
    """Run the program: from question to digest, or None where there are no such kernels."""
    finished = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | WINE
    )
    if finished.returncode == 2:
        return None
    if finished.returncode != 0:
        sys.exit(f"{finished.stdout}{finished.stderr}\n{' '.join(command)} failed")
    lines = (line.split(" ", 1) for line in finished.stdout.splitlines())
    return {question: digest for digest, question in lines}


def main() -> None:
    """Compile, run, compare; exit with an error if anything differs."""
    native = build_here()
    programs = {"this machine": [str(native / "digest")]}
    for target, emulator in TARGETS.items():
        absent = missing(*emulator) if emulator else "nothing here runs it"
        program = build_for(target, native, link=absent is None)
        print(f"{target}: compiled", flush=True)
        if emulator and absent is None:
            programs[target] = [emulator[0], str(program)]
        else:
            print(f"LEFT OUT: the answers on {target}, because {absent}", flush=True)
    found = {
        f"{machine}, {name}": answers([*program, name])
        for machine, program in programs.items()
        for name in ("baseline", "avx2")
    }

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
