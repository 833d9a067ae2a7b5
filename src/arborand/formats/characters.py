"""Characters that must not reach a terminal as they are.

File names, sentence ids and words come from anywhere.  An escape sequence in one of them could
clear the screen, rename the window or fake a line of output.
"""

from __future__ import annotations

import re

# Control characters, line and paragraph separators, halves of surrogate pairs, and what changes the
# direction of the text that follows.  Joiners stay: words of many languages contain them.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str, *, keep: str = "") -> str:
    r"""Write a string so that a terminal shows it and does nothing else.

    Parameters
    ----------
    text : str
    keep : str
        Unsafe characters that are meant, such as the line ends of a message.

    Examples
    --------
    >>> print(visible("a\x1b[31mb"))
    a\x1b[31mb
    """
    return _UNSAFE.sub(lambda found: found[0] if found[0] in keep else _escaped(found[0]), text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()
