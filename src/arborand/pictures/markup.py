"""What all pictures share: escaped text, numbers in readable form, widths of words."""

from __future__ import annotations

import base64
import hashlib
import html
import math
import re
import unicodedata
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# What XML forbids, the other control characters, and halves of surrogate pairs.
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
LONGEST_WORD = 28  # characters

FONT_FAMILY = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'Liberation Sans', sans-serif"
# Blue, vermilion and amber of Okabe and Ito's palette, which colour-blind readers can tell apart;
# the first two are darkened to a contrast of 4.5 on white.  theme.css has the same colours.
BLUE, VERMILION, AMBER, INK, GREY = "#0068a5", "#b84a00", "#e69f00", "#1c2127", "#5c6670"


def escape(text: str) -> str:
    """Make any text safe inside elements and quoted attributes of HTML and SVG.

    Examples
    --------
    >>> escape('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    return html.escape(printable(text), quote=True)


def printable(text: str) -> str:
    """Replace characters that documents must not contain."""
    return UNPRINTABLE.sub("\ufffd", text)


def shorten(word: str, most: int = LONGEST_WORD) -> str:
    """Cut a word, such as a web address, that would push all others off the screen."""
    return word if len(word) <= most else word[: most - 1] + "…"


def percent(probability: float) -> str:
    r"""Write a probability so that it looks like 0 or 1 only if it is.

    Examples
    --------
    >>> for p in (0.4318, 0.00031, 0.000000072, 3e-15, 0.99996, 1.0):
    ...     print(percent(p).replace("\xa0", " ").replace("\xd7", "x"))
    43.2 %
    1 in 3,200
    1 in 14 million
    1 in 3.3 x 10¹⁴
    > 99.9 %
    100 %
    """
    if probability in (0.0, 1.0):
        return f"{100 * probability:.0f}\u00a0%"
    if probability > 0.9995:
        return ">\u00a099.9\u00a0%"
    if probability >= 0.001:
        return f"{100 * probability:.1f}\u00a0%"
    return f"1\u00a0in\u00a0{large_number(1.0 / probability)}"


def without_rounding(total: float) -> float:
    """Return 1 for a sum of probabilities that is less than 1 only because they are rounded."""
    return 1.0 if total > 1.0 - 1e-12 else total


def large_number(value: float) -> str:
    r"""Write a large number with two digits.

    Examples
    --------
    >>> [large_number(x).replace("\xa0", " ") for x in (1234.0, 5.67e6, 1e12)]
    ['1,200', '5.7 million', '10¹²']
    """
    if value == math.inf:
        return "10³⁰⁸\u00a0or\u00a0more"
    rounded = float(f"{value:.2g}")
    if rounded < 1e6:
        return f"{rounded:,.0f}"
    if rounded < 1e9:
        return f"{rounded / 1e6:g}\u00a0million"
    mantissa, exponent = f"{rounded:.1e}".split("e")
    power = "10" + str(int(exponent)).translate(_SUPERSCRIPTS)
    return power if mantissa == "1.0" else f"{float(mantissa):g}\u00a0\u00d7\u00a0{power}"


def brief_percent(probability: float) -> str:
    r"""Write a probability for a label that has space for about three characters.

    Examples
    --------
    >>> [brief_percent(p).replace("\u202f", " ") for p in (0.4318, 0.004, 0.997)]
    ['43 %', '< 1 %', '> 99 %']
    """
    if probability < 0.01:
        return "<\u202f1\u202f%"
    if 0.99 < probability < 1.0:
        return ">\u202f99\u202f%"
    return f"{100 * probability:.0f}\u202f%"


def text_width(text: str, size: float) -> float:
    """Estimate the width of text in a sans-serif font, generously, as a multiple of the font size.

    The reader's fonts are unknown.  An estimate that is too wide costs a little space; one that is
    too narrow makes words overlap.
    """
    return size * sum(map(_advance, text))


def _advance(character: str) -> float:
    code = ord(character)
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    if code >= 0x1F000:  # emoji
        return 1.4
    if unicodedata.east_asian_width(character) in "WF":
        return 1.02
    if 0x0900 <= code <= 0x109F:  # the scripts of India and their neighbours
        return 0.85
    if character in "iljtfrI.,:;!'|()[]/ \u2019\u202f":
        return 0.42
    if character in "mwMW@%—…":
        return 1.0
    return 0.76 if character.isupper() else 0.64


def is_right_to_left(tokens: Sequence[str]) -> bool:
    """Tell whether most words that have a direction run from right to left.

    Examples
    --------
    >>> is_right_to_left(["قرأت", "الكتاب", "."]), is_right_to_left(["We", "read", "."])
    (True, False)
    """
    balance = 0
    for token in tokens:
        directions = {unicodedata.bidirectional(character) for character in token}
        balance += bool(directions & {"R", "AL"}) - ("L" in directions)
    return balance > 0


def distinct_names(tokens: Sequence[str]) -> list[str]:
    """Name the words for running text: those that occur more than once get their number.

    Examples
    --------
    >>> distinct_names(["the", "dog", "the"])
    ['the (1)', 'dog', 'the (3)']
    """
    counts: dict[str, int] = {}
    for token in tokens:
        counts[token] = counts.get(token, 0) + 1
    return [
        f"{shorten(token)} ({number})" if counts[token] > 1 else shorten(token)
        for number, token in enumerate(tokens, start=1)
    ]


def svg_picture(
    kind: str, label: str, width: float, height: float, body: str, attributes: str = ""
) -> str:
    """Write a whole SVG on white paper; `label` is what a screen reader says."""
    return (
        f'<svg class="{kind}" xmlns="http://www.w3.org/2000/svg" role="img" '
        f'aria-label="{escape(label)}" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="{FONT_FAMILY}"{attributes}>'
        f'<rect class="paper" width="100%" height="100%" fill="#fff"/>{body}</svg>'
    )


def document_head(title: str, style: str, script: str) -> str:
    """Write the head of a document that loads nothing and runs only this script.

    The content security policy identifies the script by its digest.  So no other script can run,
    whatever the words of a sentence contain.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>{style}</style></head><body>"
    )


def asset(name: str, package: str = "arborand.pictures") -> str:
    """Read a style sheet or script from the folder of a package's modules."""
    return files(package).joinpath(name).read_text(encoding="utf-8")
