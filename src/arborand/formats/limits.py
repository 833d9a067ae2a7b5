"""How much a single sentence or string of a file may ask for.

A few compressed bytes can stand for gigabytes.  What a file declares is therefore compared with
these limits before memory is taken.  Both can be raised, by an environment variable.
"""

from __future__ import annotations

import os

from arborand.errors import FormatError

WORDS_VARIABLE = "ARBORAND_MAX_WORDS"
CHARACTERS_VARIABLE = "ARBORAND_MAX_CHARACTERS"
# A matrix of 5,000 words takes 200 MB.
_DEFAULTS = {WORDS_VARIABLE: 5_000, CHARACTERS_VARIABLE: 1_000}


def max_words() -> int:
    """Look up how many words a sentence may have."""
    return _limit(WORDS_VARIABLE)


def max_characters() -> int:
    """Look up how many characters a sentence id or a token may have."""
    return _limit(CHARACTERS_VARIABLE)


def too_many_words(count: object) -> str:
    """Say that a sentence is too long, and what to do."""
    return f"it has {count} words, and sentences {_refused(WORDS_VARIABLE)}"


def too_many_characters(count: object) -> str:
    """Say that a string is too long, and what to do."""
    return f"of {count} characters, and strings {_refused(CHARACTERS_VARIABLE)}"


def _refused(variable: str) -> str:
    return f"of more than {_limit(variable)} are refused: set {variable} to raise this limit"


def _limit(variable: str) -> int:
    text = os.environ.get(variable, "")
    if not text:
        return _DEFAULTS[variable]
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise FormatError(f"{variable} is {text!r}: expected a number below 10 ** 9, as in 20000")
    return int(text)
