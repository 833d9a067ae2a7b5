"""How much slower is the core without AVX2, and on ARM?  `make instruction-sets` prints it.

The kernels and `speed.cpp` are compiled by GCC and by Clang (zig's), for this machine and for ARM.
Here processor time is measured, as a multiple of the time that AVX2 takes. ARM is emulated, so its
instructions are counted instead, by a plugin of QEMU's user mode. All answers must be the same.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "instruction_sets"
QUESTIONS = [
    (question, words)
    for words in (20, 40, 50)
    for question in ("log_partition", "marginals", "sample")
]
GRAPHS = 64  # that speed.cpp asks
EMULATOR = "qemu-aarch64"
ROUNDS = 9  # of which the fastest counts: others may use the machine


def run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program, and stop with all it says if it fails."""
    finished = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | environment
    )
    if finished.returncode != 0:
        sys.exit(f"{finished.stdout}{finished.stderr}\n{' '.join(command)} failed")
    return finished


def build(name: str, compiler: str, *options: str) -> list[str]:
    """Compile `speed.cpp` and the kernels; return the command that runs it."""
    tools = Path(sys.executable).parent
    cmake, folder = str(tools / "cmake"), str(BUILD / name)
    run(
        [
            *(cmake, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}"),
            *("-DCMAKE_BUILD_TYPE=Release", "-DARBORAND_MODULE=OFF", "-DARBORAND_TEST_CORE=ON"),
            *("-DCMAKE_EXE_LINKER_FLAGS=-static", *options, "-S", str(ROOT), "-B", folder),
        ],
        CXX=compiler,
    )
    run([cmake, "--build", folder, "--target", "speed"])
    return [f"{folder}/speed"]


def microseconds(program: list[str], kernels: str, question: str, words: int) -> float:
    """Measure the processor time of an answer."""
    times = str(max(1, 40_000 // words**2))
    command = [*program, kernels, question, str(words), times]
    return min(float(run(command).stdout.split()[0]) for _ in range(ROUNDS))


def instructions(program: list[str], question: str, words: int) -> float:
    """Count the instructions of an answer: those of one round more."""
    counter = str(BUILD / "count_instructions.so")
    source = str(Path(__file__).with_name("count_instructions.c"))
    run(["cc", "-shared", "-fPIC", "-O2", source, "-o", counter])
    emulator = [EMULATOR, "-plugin", counter]
    one, two = (
        int(run([*emulator, *program, "baseline", question, str(words), times]).stderr)
        for times in ("1", "2")
    )
    return (two - one) / GRAPHS


def check_answers(programs: dict[str, list[str]]) -> None:
    """Stop unless all programs give the same answers."""
    for question, words in QUESTIONS:
        found = {
            name: run([*program, question, str(words), "1"]).stdout.split()[1]
            for name, program in programs.items()
        }
        if len(set(found.values())) > 1:
            sys.exit(f"{question} of {words} words differs: {found}")


def main() -> None:
    """Compile, compare the answers, then print both tables."""
    import ziglang  # part of the dependency group `cross`, and needed for nothing else

    zig = f"{Path(ziglang.__file__).parent / 'zig'} c++ -target"
    here = {
        "GCC": build("x86_64-gcc", "g++"),
        "Clang": build("x86_64-clang", f"{zig} x86_64-linux-musl", "-DARBORAND_AVX2=OFF"),
    }
    if missing := [
        tool for tool in (EMULATOR, "aarch64-linux-gnu-g++") if shutil.which(tool) is None
    ]:
        print(f"LEFT OUT: ARM, because {' and '.join(missing)} cannot be found", end=" ")
        print("(Debian, Ubuntu: apt-get install qemu-user g++-aarch64-linux-gnu)")
        arm = {}
    else:
        system = ("-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64")
        arm = {
            "GCC": build("aarch64-gcc", "aarch64-linux-gnu-g++", *system),
            "Clang": build("aarch64-clang", f"{zig} aarch64-linux-musl", *system),
        }
    check_answers(
        {
            "GCC, avx2": [*here["GCC"], "avx2"],
            **{f"{name}, baseline": [*program, "baseline"] for name, program in here.items()},
            **{f"ARM, {name}": [EMULATOR, *program, "baseline"] for name, program in arm.items()},
        }
    )
    print("all answers are the same")
    print("x86-64: time without AVX2, as a multiple of GCC's time with it")
    for question, words in QUESTIONS:
        best = microseconds(here["GCC"], "avx2", question, words)
        ratios = {
            name: microseconds(program, "baseline", question, words) / best
            for name, program in here.items()
        }
        print(
            f"  {question:13} {words} words: GCC {ratios['GCC']:.2f}, Clang {ratios['Clang']:.2f}"
        )
    if arm:
        print("ARM: instructions of an answer, in thousands")
    for question, words in QUESTIONS if arm else ():
        gcc, clang = (instructions(arm[name], question, words) for name in ("GCC", "Clang"))
        print(
            f"  {question:13} {words} words: GCC {gcc / 1000:.1f}, Clang {clang / 1000:.1f}, "
            f"ratio {gcc / clang:.2f}"
        )


if __name__ == "__main__":
    main()
