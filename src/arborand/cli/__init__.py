"""The command line: corpora in, trees, numbers and pictures out.

``arborand.cli.app`` holds the commands; it is only imported when one is run, because it needs what
comes with ``pip install 'arborand[cli]'``.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line, and leave with its exit status.

    0: done.  1: the data, a file or the disk made it fail, and the message says why.  2: the
    command was not understood.  130: interrupted.
    """
    try:
        _run()
    except KeyboardInterrupt:  # outside the command, which says more
        sys.exit(130)


def _run() -> None:
    try:
        from arborand.cli.app import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "arborand":
            raise
        print(
            f"arborand: the command line needs {error.name}: pip install 'arborand[cli]'",
            file=sys.stderr,
        )
        sys.exit(1)
    run()
