"""Pictures in a real browser: what a reader sees, hears and can do with keys alone.

Skipped where there is no Chromium; with ARBORAND_REQUIRE_CHROMIUM set, that is a failure instead.
"""

import base64
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from arborand import DependencyTrees, SpanningTrees
from arborand.paper.illustrations import conditioning_steps, loop_erased_walk
from arborand.pictures import Picture, page
from examples.first_trees import FOLDER, pictures, read_corpus

pytestmark = pytest.mark.slow

LONG = 75
HOSTILE = [
    "<script>window.pwned=1</script>",
    '"><img src=x onerror="window.pwned=1">',
    "</script><script>window.pwned=1</script>",
    "\u202eevil",
]
WIDE = [
    "Wide",
    "\uff57\uff49\uff44\uff45",
    "漢字漢字漢字",
    "WWWWMMMM",
    "हिन्दी",
    "한국어",
    "😀😀😀",
    "m\u0301" * 12,
]
HEBREW = ["שלום", "לכולם", "אנחנו", "קוראים", "ספר", "ישן"]


@pytest.fixture(scope="module")
def corpus_page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "corpus.html"
    path.write_text(
        "".join(page(pictures(read_corpus(FOLDER / "corpus")), title="Corpus")), "utf-8"
    )
    return path


def hard_cases():
    """Yield sentences that pages break on."""
    rng = np.random.default_rng(0)
    words = ("uncertain words of all lengths in a sentence that does not want to end " * 6).split()
    cases = [
        ("long", words[:LONG], DependencyTrees),
        ("hostile <b>", HOSTILE, SpanningTrees),
        ("wide", WIDE, DependencyTrees),
        ("hebrew", HEBREW, DependencyTrees),
        ("long hebrew", HEBREW * 6, DependencyTrees),
        ("one", ["Go"], DependencyTrees),
    ]
    for sent_id, tokens, kind in cases:
        size = len(tokens) + 1
        trees = kind(rng.normal(0.0, 3.0, (size, size)))
        draws = trees.sample_without_replacement(12, rng=0)
        yield Picture(trees, tokens, sent_id, draws, trees.arc_marginals())


@pytest.fixture(scope="module")
def hard_page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "hard.html"
    path.write_text("".join(page(hard_cases(), title="Hard <cases>")), "utf-8")
    return path


@pytest.fixture(scope="module")
def steps_pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("steps")
    scores = np.random.default_rng(5).normal(0.0, 1.0, (6, 6))
    runs = {
        "walk": loop_erased_walk(scores, rng=0, labels=["<script>1</script>", "b", "c", "d", "e"]),
        "conditioning": conditioning_steps(scores, rng=0, single_root=True),
    }
    for name, run in runs.items():
        (folder / f"{name}.html").write_text(run.html, "utf-8")
        (folder / f"{name}.svg").write_text(run.svg, "utf-8")
    return folder


def focused(browser):
    """Say which word or tree of which sentence has the focus, counted from 1."""
    return browser.evaluate("""(() => {
        const section = document.activeElement.closest(".sentence");
        if (!section) return null;
        const word = document.activeElement.closest(".word");
        if (word) return [section.id, "word", Number(word.dataset.word)];
        const trees = [...section.querySelectorAll("button.tree-head")];
        return [section.id, "tree", trees.indexOf(document.activeElement) + 1];
    })()""")


# Relative luminance and contrast as the Web Content Accessibility Guidelines define them.
CONTRAST = """
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const known = new Map();
const rgb = (color) => {
    if (!known.has(color)) {
        canvas.fillStyle = color;
        canvas.fillRect(0, 0, 1, 1);
        known.set(color, [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3));
    }
    return known.get(color);
};
const light = (color) => rgb(color).map((v) => v / 255).map(
    (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const contrast = (a, b) => {
    const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
};
const paper = getComputedStyle(document.body).backgroundColor;
"""


# ---- loading


def test_nothing_but_the_page_is_asked_for_and_nothing_goes_wrong(
    browser, corpus_page, hard_page, steps_pages
):
    for path in [corpus_page, hard_page, *sorted(steps_pages.glob("*"))]:
        browser.open(path)
        browser.evaluate("new Promise(r => setTimeout(r, 50))")
        assert browser.requests == [path.as_uri()]
        assert browser.errors == []


def test_hostile_words_are_shown_and_not_run(browser, hard_page):
    browser.open(hard_page)
    assert browser.evaluate("window.pwned === undefined")
    shown = browser.evaluate("document.querySelector('#s2 .text').textContent")
    assert shown == " ".join(HOSTILE)
    # One script, the data of each sentence, and the corpus.
    assert browser.evaluate("document.querySelectorAll('script:not([type])').length") == 1
    assert browser.evaluate("document.querySelectorAll('script').length") == 1 + 6 + 1
    assert browser.evaluate("document.querySelector('h1').textContent") == "Hard <cases>"


def test_the_policy_stops_scripts_that_are_not_the_pages_own(browser, corpus_page, tmp_path):
    # Were a word ever to get through as markup, it still could not run.
    text = corpus_page.read_text("utf-8").replace(
        "<main>", '<main><script>window.pwned = 1</script><p onclick="1" id="p">x</p>', 1
    )
    path = tmp_path / "injected.html"
    path.write_text(text, "utf-8")
    browser.open(path)
    assert browser.evaluate("window.pwned === undefined")
    assert any("Content Security Policy" in error for error in browser.errors)


# ---- what is seen


@pytest.mark.parametrize("name", ["corpus_page", "hard_page"])
def test_words_do_not_run_into_each_other_or_off_the_picture(browser, request, name):
    path = request.getfixturevalue(name)
    browser.open(path)
    browser.open_all()
    found = browser.evaluate("""[...document.querySelectorAll("svg.arcs")].flatMap((svg) => {
        const view = svg.viewBox.baseVal, lines = new Map();
        for (const text of svg.querySelectorAll("text.form")) {
            const box = text.getBBox(), y = Math.round(text.getAttribute("y"));
            lines.set(y, [...(lines.get(y) || []), [box.x, box.x + box.width]]);
        }
        return [...lines.values()].map((boxes) => {
            boxes.sort((a, b) => a[0] - b[0]);
            const gaps = boxes.slice(1).map((box, i) => box[0] - boxes[i][1]);
            return [boxes[0][0], view.width - boxes.at(-1)[1], Math.min(...gaps, 99)];
        });
    })""")
    assert len(found) > 20
    left, right, gaps = np.array(found).T
    assert left.min() >= 0
    assert right.min() >= 0
    assert gaps.min() >= 4


@pytest.mark.parametrize("scripts", [True, False])
def test_what_stands_below_short_words_does_not_run_together(browser, tmp_path, scripts):
    trees = DependencyTrees(np.random.default_rng(2).normal(size=(31, 31)))
    draws = trees.sample_without_replacement(2, rng=0)
    words = [str(i) for i in range(1, 31)]
    path = tmp_path / "short.html"
    shown = Picture(trees, words, "s", draws, trees.arc_marginals())
    path.write_text("".join(page([shown], title="Short")), "utf-8")
    if scripts:
        browser.open_live(path)
    else:
        browser.open(path, scripts=False)
    boxes = browser.evaluate("""[...document.querySelectorAll(
        ".main .entropy, .main .below tspan")].map((label) => {
            const box = label.ownerSVGElement && label.getExtentOfChar(0);
            return [box.y, box.x, box.x + label.getComputedTextLength()];
        })""")
    assert len(boxes) > 20
    boxes.sort()
    for (y, _, right), (next_y, left, _) in pairwise(boxes):
        assert y != next_y or right + 1 < left
    browser.open(path)


def test_right_to_left_sentences_begin_at_the_right(browser, hard_page):
    browser.open(hard_page, width=560)
    browser.open_all()
    places = browser.evaluate("""["s4", "s5"].map((id) => {
        const pane = document.querySelector(`#${id} .main`).getBoundingClientRect();
        return [...document.querySelectorAll(`#${id} .main .word`)].map((word) => {
            const box = word.querySelector("text.form").getBoundingClientRect();
            return [Number(word.dataset.word), box.left - pane.left, pane.right - box.right];
        });
    })""")
    for words in places:
        words = np.array(sorted(words))
        assert (np.diff(words[:, 1]) < 0).all()
        # The first word is in view, also where the diagram is wider than the window.
        assert words[0, 2] >= 0
    assert np.array(places[1])[:, 1].min() < 0  # this one is


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_writing_has_enough_contrast(browser, corpus_page, steps_pages, scheme):
    seen = set()
    for path in (corpus_page, steps_pages / "walk.html", steps_pages / "conditioning.html"):
        browser.open(path, prefers_color_scheme=scheme)
        found = browser.evaluate(
            """(() => {CONTRAST
            const cards = getComputedStyle(document.documentElement).getPropertyValue("--card");
            const texts = [...document.querySelectorAll("svg text, p, dt, dd, h1, h2, h3, button, "
                + "th, li, figcaption, kbd, .share, .rank, .chance, select, .hint")];
            return texts.map((text) => {
                const style = getComputedStyle(text);
                const color = text.ownerSVGElement ? style.fill : style.color;
                return [text.className.baseVal ?? text.className,
                    Math.min(contrast(color, paper), contrast(color, cards))];
            });
        })()""".replace("CONTRAST", CONTRAST)
        )
        assert len(found) > 30
        assert min(contrast for _, contrast in found) >= 4.5
        seen.add(browser.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert seen == {"rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 26)"}


def test_marked_words_stay_legible(browser, corpus_page):
    for scheme in ("light", "dark"):
        browser.open_live(corpus_page, prefers_color_scheme=scheme)
        worst = browser.evaluate(
            """(() => {CONTRAST
            const mix = (over, share) => "rgb(" + rgb(paper).map(
                (v, i) => Math.round(v + share * (rgb(over)[i] - v))
            ).join(",") + ")";
            return Math.min(...[...document.querySelectorAll("#s1 .main .word")]
                .filter((word) => word.querySelector(".heat"))
                .map((word) => {
                    const heat = getComputedStyle(word.querySelector(".heat"));
                    const behind = mix(heat.fill, Number(heat.fillOpacity));
                    const form = getComputedStyle(word.querySelector(".form"));
                    return contrast(form.fill, behind);
                }));
        })()""".replace("CONTRAST", CONTRAST)
        )
        assert 4.5 <= worst < 21


def test_paper_gets_light_colours_whole_diagrams_and_no_buttons(browser, hard_page):
    browser.open(hard_page, prefers_color_scheme="dark")
    browser.open_all()
    browser.emulate("print", prefers_color_scheme="dark")
    found = browser.evaluate("""(() => {
        const display = (selector) => getComputedStyle(document.querySelector(selector)).display;
        return {
            paper: getComputedStyle(document.body).backgroundColor,
            hidden: [".bar-top", ".legend", "#s1 .tools", "#s1 .status"].map(display),
            shown: ["#s1 .main", "#s3 .main"].map(display),
        };
    })()""")
    assert found["paper"] == "rgb(255, 255, 255)"
    assert (set(found["hidden"]), set(found["shown"])) == ({"none"}, {"block"})
    printed = base64.b64decode(browser.call("Page.printToPDF")["data"])
    assert printed.startswith(b"%PDF")
    browser.emulate()


def test_paper_gets_whole_diagrams_without_a_script_too(browser, hard_page):
    browser.open(hard_page, scripts=False)
    display = "getComputedStyle(document.querySelector('{}')).display"
    assert browser.evaluate(display.format("#s1 .slices")) == "none"
    browser.emulate("print")
    assert browser.evaluate(display.format("#s1 .main")) == "none"
    assert browser.evaluate(display.format("#s3 .main")) == "block"
    slices, whole = browser.evaluate("""[
        [...document.querySelectorAll("#s1 .slices svg")].map((svg) => {
            const seen = svg.querySelector("use").getBoundingClientRect();
            return [svg.viewBox.baseVal.x, svg.viewBox.baseVal.width, seen.width > 0];
        }),
        document.querySelector("#s1 .main svg").viewBox.baseVal.width,
    ]""")
    # Line by line, without gaps, the whole of it.
    reached = 0
    for left, width, drawn in slices:
        assert left <= reached
        assert drawn
        reached = left + width
    assert abs(reached - whole) <= 1
    assert len(slices) > 2
    browser.emulate()
    browser.open(hard_page)


# ---- keys


def unfold(browser, section=1):
    """Show the facts and the trees of a sentence."""
    browser.evaluate(f"document.querySelector('#s{section} .rest').open = true")
    browser.settle()


def test_arrow_keys_do_what_the_legend_says(browser, corpus_page):
    browser.open_live(corpus_page)
    assert focused(browser) is None
    browser.press("ArrowRight")
    assert focused(browser) == ["s1", "word", 1]
    browser.press("ArrowRight", "ArrowRight")
    assert focused(browser) == ["s1", "word", 3]
    browser.press("ArrowLeft")
    assert focused(browser) == ["s1", "word", 2]
    browser.press("End", "ArrowRight")
    assert focused(browser) == ["s1", "word", 12]
    browser.press("Home", "ArrowLeft")
    assert focused(browser) == ["s1", "word", 1]
    unfold(browser)
    browser.evaluate("document.querySelector('#s1 button.tree-head').focus()")
    browser.press("ArrowRight", "ArrowRight")
    assert focused(browser) == ["s1", "tree", 3]
    browser.press("ArrowLeft")
    assert focused(browser) == ["s1", "tree", 2]
    browser.press("End", "ArrowRight")
    assert focused(browser) == ["s1", "tree", 6]
    browser.press("ArrowDown", "ArrowDown")
    assert focused(browser) == ["s3", "tree", 1]
    browser.press("End", "ArrowUp")
    assert focused(browser) == ["s2", "tree", 1]
    inside = browser.evaluate("""(() => {
        const box = document.activeElement.getBoundingClientRect();
        return box.top >= 0 && box.bottom <= innerHeight;
    })()""")
    assert inside


def test_in_scripts_from_right_to_left_the_arrows_follow_the_eye(browser, hard_page):
    browser.open(hard_page)
    browser.evaluate("document.querySelector('#s4').scrollIntoView()")
    browser.open_all()
    browser.evaluate("document.querySelector('#s4 .word[tabindex=\"0\"]').focus()")
    browser.press("ArrowLeft")
    assert focused(browser) == ["s4", "word", 2]
    browser.press("ArrowRight")
    assert focused(browser) == ["s4", "word", 1]


def test_a_tree_that_has_the_focus_is_traced_in_the_large_diagram(browser, corpus_page):
    browser.open_live(corpus_page)
    unfold(browser)
    browser.evaluate("document.querySelectorAll('#s1 button.tree-head')[1].focus()")
    browser.settle()
    data = json.loads(browser.evaluate("document.querySelector('#s1 script').textContent"))
    heads = list(data["best"])
    for word, head in data["trees"][1][1]:
        heads[word] = head
    traced = """(() => {
        const arcs = [...document.querySelectorAll("#s1 .main .arc")];
        return [
            arcs.filter((arc) => arc.classList.contains("traced")).map((a) => a.dataset.arc),
            arcs.map((arc) => [arc.classList.contains("traced"),
                Number(getComputedStyle(arc).opacity)]),
            document.querySelectorAll('[aria-pressed="true"]').length,
        ];
    })()"""
    found, opacities, pressed = browser.evaluate(traced)
    assert sorted(found) == sorted(f"{h}-{d}" for d, h in enumerate(heads) if d)
    assert len(found) == 12
    assert all((opacity == 1) == on for on, opacity in opacities)
    assert pressed == 1
    browser.press("Escape")
    found, opacities, pressed = browser.evaluate(traced)
    assert (found, pressed) == ([], 0)
    assert any(0.2 < opacity < 0.9 for _, opacity in opacities)  # by probability again


def test_tab_reaches_everything_and_the_focus_can_be_seen(browser, corpus_page):
    browser.open_live(corpus_page)
    unfold(browser)
    stops = []
    for _ in range(14):
        browser.press("Tab")
        stops.append(
            browser.evaluate("""(() => {
                const element = document.activeElement;
                const frame = element.closest(".word")?.querySelector(".frame");
                const style = getComputedStyle(frame || element);
                return [frame ? "word" : element.textContent.slice(0, 11).trim(),
                    parseFloat(frame ? style.strokeWidth : style.outlineWidth)];
            })()""")
        )
    names = [name for name, _ in stops]
    # Previous, Undo and Reset are switched off; a diagram and the trees have a stop each.
    assert names[:11] == [
        "1 of 12",
        "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}",
        "Decide",
        "Save",
        "?",
        "word",
        "The best tr",
        "Best tree 5",
        "brush",
        "harbour",
        "157.4\xa0%",
    ]
    assert [name for name, width in stops if width < 2] == []


def test_the_list_of_sentences_leads_to_them(browser, corpus_page):
    browser.open(corpus_page)
    items = browser.evaluate("""[...document.querySelectorAll(".sentences li")].map((li) => [
        li.querySelector(".id").textContent, li.querySelector(".words").textContent,
        Number(li.querySelector(".bar").style.getPropertyValue("--share"))])""")
    assert len(items) == 12
    assert items[0][0] == "en-1"
    assert items[0][1].startswith("She painted the boat")
    shares = [share for _, _, share in items]
    assert max(shares) == 1.0
    assert 0.0 < min(shares) < 0.9
    browser.evaluate("document.querySelector('.sentences').open = true")
    browser.evaluate("document.querySelectorAll('.sentences a')[4].click()")
    browser.settle()
    top = browser.evaluate("document.querySelector('#s5').getBoundingClientRect().top")
    assert 0 <= top < 120
    assert browser.evaluate("document.activeElement.closest('.sentence').id") == "s5"
    assert browser.evaluate("document.querySelector('.sentences').open") is False
    assert browser.evaluate("document.querySelector('summary + .sheet')") is not None
    title = browser.evaluate("document.querySelector('.sentences summary').textContent")
    assert title == "5 of 12"


def test_sentences_are_found_by_a_word_or_an_id(browser, corpus_page):
    browser.open(corpus_page)

    def search(text):
        return browser.evaluate(f"""(() => {{
            const input = document.querySelector(".sentences input");
            input.value = {json.dumps(text)};
            input.dispatchEvent(new Event("input"));
            return [[...document.querySelectorAll(".sentences li:not([hidden]) .id")]
                .map((id) => id.textContent), document.querySelector(".found").textContent];
        }})()""")

    assert search("BAKERY") == [["en-2"], "1 of 12 sentences"]
    assert search("de-") == [["de-1", "de-2"], "2 of 12 sentences"]
    assert search("nowhere") == [[], "0 of 12 sentences"]
    assert len(search("")[0]) == 12


def test_a_screen_reader_is_told_what_there_is(browser, corpus_page, steps_pages):
    for path in (corpus_page, steps_pages / "walk.html"):
        browser.open(path)
        roles = {}
        for role, name, _ in browser.told("image"):
            roles.setdefault(role, []).append(name)
        for role in ("image", "button", "region", "combobox", "slider", "searchbox"):
            assert all(roles.get(role, ["x"])), role
        assert roles["image"]
        assert roles["button"]
    browser.open_live(corpus_page)
    labels = browser.evaluate("""[
        document.querySelector("#s1 button.tree-head").getAttribute("aria-label"),
        document.querySelector("#s1 .card svg").getAttribute("aria-label"),
        document.querySelector("#s1 .main .word").getAttribute("aria-label"),
    ]""")
    assert labels[0] == "Tree 1 of 6, probability 57.4\xa0%"
    assert labels[1].startswith("Tree 1: She depends on painted; painted depends on the root;")
    assert labels[2] == "She: depends on painted, 99.7\xa0%"


def test_without_scripts_everything_is_there(browser, corpus_page, steps_pages):
    browser.open(corpus_page, scripts=False)
    assert browser.evaluate("document.querySelector('.bar-top')") is None
    for selector, count in ((".card", 72), (".main svg", 12), (".unsure", 12)):
        shown = browser.evaluate(
            f"[...document.querySelectorAll('{selector}')].filter(t => t.getClientRects().length)"
            ".length"
        )
        assert shown == count
    # Nothing is promised that needs a script.
    assert browser.evaluate(
        "[...document.querySelectorAll('.needs-script')].every(t => !t.getClientRects().length)"
    )
    browser.open(steps_pages / "conditioning.html", scripts=False)
    shown = browser.evaluate(
        "[...document.querySelectorAll('.step')].filter(t => t.getClientRects().length).length"
    )
    assert shown == 6
    browser.open(corpus_page)


# ---- steps


def visible_steps(browser):
    return browser.evaluate("""[...document.querySelectorAll(".step").entries()]
        .filter(([, step]) => step.getClientRects().length).map(([i]) => i)""")


@pytest.mark.parametrize("name", ["walk", "conditioning"])
def test_steps_are_gone_through_by_keys_and_buttons(browser, steps_pages, name):
    browser.open(steps_pages / f"{name}.html")
    last = browser.evaluate("document.querySelectorAll('.step').length") - 1
    assert last >= 5
    assert visible_steps(browser) == [0]
    browser.press("ArrowRight", "ArrowRight")
    assert visible_steps(browser) == [2]
    browser.press("ArrowLeft")
    assert visible_steps(browser) == [1]
    browser.press("End", "ArrowRight")
    assert visible_steps(browser) == [last]
    browser.press("Home", "ArrowLeft")
    assert visible_steps(browser) == [0]
    # By buttons, with keys: Tab to Next (First and Back are switched off), Enter to the end.
    browser.press("Tab")
    assert browser.evaluate("document.activeElement.textContent") == "Next"
    browser.press(*["Enter"] * last)
    assert visible_steps(browser) == [last]
    assert browser.evaluate("document.activeElement.textContent") == "Back"
    browser.press("Enter")
    assert visible_steps(browser) == [last - 1]
    # The caption is said aloud.
    said, caption = browser.evaluate("""[document.querySelector("[aria-live]").textContent,
        document.querySelector(".step:not([hidden]) figcaption").textContent]""")
    assert said == caption != ""
    assert browser.evaluate("document.querySelector('input').value") == str(last)


def test_steps_play_by_themselves_until_stopped(browser, steps_pages):
    browser.open(steps_pages / "walk.html")
    button = "[...document.querySelectorAll('button')].find(b => /Play|Pause/.test(b.textContent))"
    browser.evaluate(f"{button}.click()")
    assert browser.evaluate(f"{button}.textContent") == "Pause"
    browser.evaluate("""new Promise((done) => new MutationObserver(done).observe(
        document.querySelector(".step"), { attributes: true }))""")
    assert visible_steps(browser) == [1]
    browser.evaluate(f"{button}.click()")
    assert browser.evaluate(f"{button}.textContent") == "Play"


def test_illustrations_stay_inside_their_frames(browser, steps_pages):
    for path in sorted(steps_pages.glob("*.svg")):
        browser.open(Path(path))
        outside = browser.evaluate("""(() => {
            const frame = document.documentElement.getBoundingClientRect();
            return [...document.querySelectorAll("text, path, rect")].filter((part) => {
                const box = part.getBoundingClientRect();
                return box.left < frame.left - 1 || box.right > frame.right + 1
                    || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
            }).length;
        })()""")
        assert outside == 0
        fits = browser.evaluate("""[...document.querySelectorAll(".node")].map((node) => {
            const text = node.querySelector("text").getBBox();
            return node.querySelector("rect").getBBox().width - text.width;
        })""")
        assert min(fits) >= 4
