"""What the command ``arborand`` starts with.

A package of its own, because importing arborand takes long enough to be interrupted.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; whenever it is interrupted, end with status 130 and no traceback."""
    try:
        from arborand.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)
