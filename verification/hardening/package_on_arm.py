"""Does the package itself work on ARM?  `make portability` finds out.

Debian's Python for ARM is unpacked into a folder, and the packages that the tests need into another
one. The wheel of arborand is made here by a cross-compiler. QEMU's user mode then runs tests, those
of the golden values among them. Both folders are kept for the next time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NoReturn

from verification.hardening.portability import BUILD, ROOT, missing, run

FOLDER = BUILD / "arm64"
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
# Programs, and their packages in Debian.
TOOLS = {
    "apt-get": "apt",
    "mmdebstrap": "mmdebstrap",
    "aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu",
    "qemu-aarch64": "qemu-user",
}
# None that starts Python again, which QEMU would have to do, or measures memory, which is QEMU's.
TESTS = [
    "tests/contract/test_golden.py",
    "tests/contract/test_batches.py",
    "tests/contract/test_methods.py",
    "tests/oracle/test_enumeration.py",
    "tests/unit/test_trees.py",
]
SHOW_MACHINE = "import arborand, platform; print(platform.machine(), arborand.__file__)"


def leave_out(reason: str) -> NoReturn:
    """Say that nothing was tested, and why: what a machine lacks is no error."""
    print(f"LEFT OUT: the package on ARM, because {reason}")
    sys.exit(0)


def debian() -> tuple[str, str]:
    """Ask apt which Debian this machine has, and where its packages come from."""
    listed = run(
        [
            *("apt-get", "indextargets", "--format", "$(CODENAME) $(REPO_URI)"),
            *("Created-By: Packages", "Origin: Debian", "Component: main"),
        ]
    )
    for line in listed.splitlines():
        codename, mirror = line.split()
        if "-" not in codename:  # updates alone are not a whole Debian
            return codename, mirror
    leave_out("apt gets no packages from Debian on this machine")


def root_for_arm() -> Path:
    """Return a folder with Debian's Python for ARM, its headers and what it needs."""
    codename, mirror = debian()
    root = FOLDER / codename
    if not root.exists():
        print(f"unpacking Debian {codename} for ARM", flush=True)
        archive = FOLDER / f"{codename}.tar"
        run(
            [
                *("mmdebstrap", "--variant=extract", "--architectures=arm64"),
                *("--include=python3,libpython3-dev,libstdc++6", codename, str(archive), mirror),
            ]
        )
        unpacked = FOLDER / "unpacked"
        shutil.rmtree(unpacked, ignore_errors=True)
        unpacked.mkdir()
        run(["tar", "--extract", "--file", str(archive), "--exclude=./dev", "-C", str(unpacked)])
        archive.unlink()
        unpacked.rename(root)  # whole, or not there
    return root


def packages_for_arm(version: str) -> Path:
    """Return a folder with NumPy and what else the tests need, for ARM and a version of Python."""
    folder = FOLDER / f"packages-{version}"
    wanted = ROOT / "pyproject.toml"
    if not folder.exists() or folder.stat().st_mtime < wanted.stat().st_mtime:
        print(f"installing packages for ARM and Python {version}", flush=True)
        unpacked = FOLDER / "unpacked"
        shutil.rmtree(unpacked, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)
        run(
            [
                *PIP,
                *("install", "--target", str(unpacked), "--python-version", version),
                *("--platform", "manylinux2014_aarch64", "--platform", "manylinux_2_28_aarch64"),
                *("--only-binary=:all:", "numpy>=2", "--group", f"{wanted}:test"),
            ]
        )
        unpacked.touch()
        unpacked.rename(folder)
    return folder


def package_for_arm(root: Path, version: str) -> Path:
    """Compile the package for ARM, with the headers in `root`; return the folder it is in."""
    print("compiling the package for ARM", flush=True)
    headers = root / "usr" / "include"
    wheels = FOLDER / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    run(
        [*PIP, "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", str(wheels), str(ROOT)],
        {
            "CXX": "aarch64-linux-gnu-g++",
            "CXXFLAGS": f"-idirafter {headers}",  # Python.h includes a header for each machine
            "CMAKE_ARGS": f"-DPython_INCLUDE_DIR={headers / f'python{version}'}",
            "_PYTHON_HOST_PLATFORM": "linux-aarch64",
            "SETUPTOOLS_EXT_SUFFIX": f".cpython-{version.replace('.', '')}-aarch64-linux-gnu.so",
        },
    )
    folder = FOLDER / "package"
    shutil.rmtree(folder, ignore_errors=True)
    (wheel,) = wheels.iterdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def main() -> None:
    """Prepare, compile and test; exit with an error if a test fails."""
    for tool, source in TOOLS.items():
        if absent := missing(tool, source):
            leave_out(absent)
    FOLDER.mkdir(parents=True, exist_ok=True)
    root = root_for_arm()
    (python,) = (root / "usr" / "bin").glob("python3.??")
    version = python.name.removeprefix("python")
    here = f"3.{sys.version_info.minor}"
    if version != here:
        leave_out(f"Debian's Python is {version}, while the one that builds it here is {here}")
    package = package_for_arm(root, version)
    environment = os.environ | {
        "PYTHONPATH": f"{package}{os.pathsep}{packages_for_arm(version)}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    emulated = ["qemu-aarch64", "-L", str(root), str(python)]
    machine = run([*emulated, "-c", SHOW_MACHINE], environment).split()
    assert machine == ["aarch64", str(package / "arborand" / "__init__.py")], machine
    print("testing the package on ARM", flush=True)
    tests = [*emulated, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
    sys.exit(subprocess.run(tests, env=environment, cwd=ROOT, check=False).returncode)


if __name__ == "__main__":
    main()
