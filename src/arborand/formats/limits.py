"""How much a single sentence or string of a file may ask for.

A few compressed bytes can stand for gigabytes.  What a file declares is therefore compared with
these limits before memory is taken.  Both can be raised, by an environment variable.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from arborand.errors import FormatError


class Limit(NamedTuple):
    """A limit: its variable, what it is if that is not set, and what exceeds it, in words."""

    variable: str
    default: int
    exceeding: str

    @property
    def most(self) -> int:
        """The limit that holds now."""
        text = os.environ.get(self.variable, "")
        if not text:
            return self.default
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise FormatError(
                f"{self.variable} is {text!r}: expected a number below 10 ** 9, as in 20000"
            )
        return int(text)

    def exceeded_by(self, count: object) -> str:
        """Say what is too large, and what to do."""
        return (
            f"{self.exceeding.format(count)} of more than {self.most} are refused: set "
            f"{self.variable} to raise this limit"
        )


# A matrix of 5,000 words takes 200 MB.
WORDS = Limit("ARBORAND_MAX_WORDS", 5_000, "it has {} words, and sentences")
# Of a sentence id, or of a token.
CHARACTERS = Limit("ARBORAND_MAX_CHARACTERS", 1_000, "of {} characters, and strings")
