"""Which sources a run is of: fingerprints of harness and library, and those in a report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

import arborand
from arborand import _core

ROOT = Path(__file__).parents[1]
"""Of the repository: the harness is never installed."""

_CODE = (".py", ".hpp", ".cpp")
_COMPILED = "compiled core"


def fingerprints(root: Path = ROOT) -> dict[str, str]:
    """Hash the files that make the verdicts: a seed only repeats a run of the same ones.

    Parameters
    ----------
    root : pathlib.Path, optional
        Of the repository.

    Returns
    -------
    dict of str to str
        The first digits of a hash of the harness, of the library's sources, and of the core as it
        was compiled. Sources have the same one everywhere; another compiler makes another core.
    """
    library = [*_code_in(root / "src" / "core"), *_code_in(root / "src" / "arborand")]
    return {
        # The files beside this one; what lies in folders below gives no verdicts on draws.
        "harness": _hash(sorted((root / "verification").glob("*.py")), root),
        "library": _hash([*library, root / "CMakeLists.txt"], root),
        _COMPILED: _hash([Path(_core.__file__)], Path(_core.__file__).parent),
    }


def is_installed(root: Path = ROOT) -> bool:
    """Tell whether the library that is imported is the one of the sources.

    The modules must be the same; the compiled core does not tell what it was made of, so that it
    must be younger than all of its sources, which is also what ``make`` goes by.

    Parameters
    ----------
    root : pathlib.Path, optional
        Of the repository.

    Returns
    -------
    bool
        Whether verdicts on the one are verdicts on the other.
    """
    here, there = root / "src" / "arborand", Path(arborand.__file__).parent
    modules = [path.relative_to(here) for path in _code_in(here)]
    if modules != [path.relative_to(there) for path in _code_in(there)]:
        return False
    if any((here / name).read_bytes() != (there / name).read_bytes() for name in modules):
        return False
    made_of = [root / "CMakeLists.txt", *_code_in(root / "src" / "core")]
    compiled = Path(_core.__file__).stat().st_mtime
    return all(path.stat().st_mtime <= compiled for path in made_of)


def compare(report: Path, now: Mapping[str, str]) -> str:
    """Say whether a report is of the current sources.

    Parameters
    ----------
    report : pathlib.Path
        A report, which need not be there.
    now : mapping of str to str
        What :func:`fingerprints` returned.

    Returns
    -------
    str
        One line. Another compiled core of the same sources is not worth a word.
    """
    if not report.is_file():
        return f"there is no report in {report}"
    row = re.search(r"^\| fingerprints \|.*$", report.read_text(encoding="utf-8"), re.MULTILINE)
    then = dict(re.findall(r"([a-z ]+) `([0-9a-f]+)`", row[0])) if row else {}
    then = {what.strip(): text for what, text in then.items()}
    others = [
        f"another {what} ({then.get(what, 'unknown')} then, {text} now)"
        for what, text in now.items()
        if what != _COMPILED and then.get(what) != text
    ]
    return f"{report} is of {' and of '.join(others) or 'the current sources'}"


def _code_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in _CODE)


def _hash(paths: Iterable[Path], root: Path) -> str:
    digest = sha256()
    for path in paths:
        content = path.read_bytes()
        # With its length: no file can pass for the end of one and the beginning of the next.
        digest.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:12]
