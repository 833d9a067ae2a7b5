"""The page in a browser: what a choice takes at 75 words, and the first view of 300 sentences.

The claims: a click computes and redraws everything in 60 ms; a page of 300 sentences of 15 words
has less than 3 MB, and shows its first sentence within a second.

A click is timed from the event to the finished layout, in the page.  The first view is the first
contentful paint, as the browser reports it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from arborand import DependencyTrees
from arborand.pictures import Picture, page
from benchmarks.measure import Settings, median_interval
from benchmarks.report import Report
from tests.chromium import Browser, find_chromium

TITLE = "The page in a browser"
_CLICK_MS, _FIRST_VIEW_MS, _MEGABYTES = 60.0, 1000.0, 3.0
_WORDS = ("time", "person", "year", "way", "thing", "world", "life", "hand", "eye", "place")
# Choose a word, and fix its second head; the time is that of the second click, with its layout.
_CLICK = """((j) => {
    document.querySelector(`.main .word[data-word="${j}"]`)
        .dispatchEvent(new MouseEvent("click", { bubbles: true }));
    const button = document.querySelectorAll(".heads-panel .choose")[1];
    document.body.offsetHeight;
    const begin = performance.now();
    button.click();
    document.body.offsetHeight;
    const took = performance.now() - begin;
    document.querySelector(".heads-panel .close").click();
    return took;
})"""


def run(settings: Settings) -> Report:
    """Time clicks and first views."""
    report = Report("page", TITLE, settings)
    chromium = find_chromium()
    claims = (
        ("milliseconds for a choice, computed and redrawn, at 75 words", _CLICK_MS),
        ("milliseconds to the first view of 300 sentences", _FIRST_VIEW_MS),
        ("megabytes of a page of 300 sentences, 15 words on average", _MEGABYTES),
    )
    if chromium is None:
        for text, bound in claims:
            report.skip(text, bound, "no Chromium", at_most=True)
        return report
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        long = _write(folder / "long.html", [75])
        large = _write(folder / "large.html", _lengths())
        with Browser(chromium, folder / "profile") as browser:
            browser.open_live(long)
            clicks = [float(browser.evaluate(f"{_CLICK}({j})")) for j in range(1, 41)]
            views = []
            for _ in range(settings.min_rounds):
                browser.open_live(large)
                paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
                views.append(float(browser.evaluate(paint)))
        megabytes = large.stat().st_size / 1e6
    # The first clicks are slower, until the browser has compiled the script.
    measured = (
        median_interval(clicks[10:]),
        median_interval(views),
        median_interval([megabytes] * settings.min_rounds),
    )
    for (text, bound), value in zip(claims, measured, strict=True):
        report.claim(text, value, bound, at_most=True)
    return report


def _lengths() -> list[int]:
    """Draw the lengths of 300 sentences: 15 words on average, up to 60."""
    lengths = np.clip(np.random.default_rng(15).gamma(2.2, 6.4, 300), 2, 60).astype(int)
    return [int(length) for length in lengths + round(15 - lengths.mean())]


def _write(path: Path, lengths: list[int]) -> Path:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(page(_pictures(lengths), title="Benchmark"))
    return path


def _pictures(lengths: list[int]) -> Iterator[Picture]:
    rng = np.random.default_rng(1)
    for number, length in enumerate(lengths):
        scores = rng.normal(0.0, 2.0, (length + 1, length + 1))
        for word in range(1, length + 1):  # every word has a favourite head before it
            scores[rng.integers(0, word), word] += rng.gamma(4.0, 2.0)
        trees = DependencyTrees(scores.astype(np.float32))
        tokens = [_WORDS[(number + 7 * i) % len(_WORDS)] for i in range(length)]
        draws = trees.sample_without_replacement(20, rng=0)
        yield Picture(trees, tokens, f"sentence-{number}", draws, trees.arc_marginals())
