"""Is it true that a seed gives the same trees on every machine?  `make portability` finds out.

The core and `digest.cpp` are compiled for this machine by its own compiler, and for ARM by zig's,
and run here, ARM by QEMU's user mode. Every answer of the core on a few hundred graphs must have
the same bits everywhere, with each instruction set. For macOS and Windows, which cannot be run
here, the program is compiled and linked.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "portability"
SHOWN = 20  # differences, at most


@dataclass(frozen=True)
class Target:
    """A machine to compile for: zig's name of it, and CMake's words for system and processor."""

    triple: str
    system: str
    processor: str
    emulator: str | None = None


TARGETS = (
    Target("aarch64-linux-musl", "Linux", "aarch64", "qemu-aarch64"),
    Target("aarch64-macos", "Darwin", "arm64"),
    Target("x86_64-macos", "Darwin", "x86_64"),
    Target("x86_64-windows-gnu", "Windows", "AMD64"),
)


def build(name: str, *options: str) -> Path:
    """Compile the program in a folder of its own, with the options of the core itself."""
    folder = BUILD / name
    tools = Path(sys.executable).parent
    cmake = [str(tools / "cmake")]
    configure = [
        *cmake,
        *("-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}", "-DCMAKE_BUILD_TYPE=Release"),
        *("-DARBORAND_MODULE=OFF", "-DARBORAND_TEST_CORE=ON", *options),
        *("-S", str(ROOT), "-B", str(folder)),
    ]
    for command in (configure, [*cmake, "--build", str(folder), "--target", "digest"]):
        finished = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        if finished.returncode != 0:
            sys.exit(f"{finished.stdout}\nit does not compile for {name}")
    return folder / ("digest.exe" if (folder / "digest.exe").exists() else "digest")


def build_for(target: Target) -> Path:
    """Compile for another machine."""
    import ziglang  # part of the dependency group `cross`, and needed for nothing else

    zig = Path(ziglang.__file__).parent / "zig"
    return build(
        target.triple,
        f"-DCMAKE_CXX_COMPILER={zig};c++;-target;{target.triple}",
        f"-DCMAKE_SYSTEM_NAME={target.system}",
        f"-DCMAKE_SYSTEM_PROCESSOR={target.processor}",
    )


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
    emulators = {target.emulator for target in TARGETS if target.emulator}
    missing = sorted(name for name in emulators if shutil.which(name) is None)
    if missing:
        sys.exit(f"{missing[0]} is not installed (Debian, Ubuntu: apt-get install qemu-user)")
    compiler = os.environ.get("CXX", "c++")
    native = build("native", f"-DCMAKE_CXX_COMPILER={compiler}")
    found = {f"this machine, {name}": answers([str(native), name]) for name in ("baseline", "avx2")}
    for target in TARGETS:
        program = build_for(target)
        if target.emulator is None:
            print(f"{target.triple}: compiled")
        else:
            found[target.triple] = answers([target.emulator, str(program), "baseline"])

    expected = found["this machine, baseline"]
    assert expected is not None
    same = True
    for machine, digests in found.items():
        if digests is None:
            print(f"{machine}: there is none")
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
