"""The page as a place to work, in a real browser.

Whatever a choice changes on the page is what the library says of the trees that are left.
"""

import json
import re
import sys

import numpy as np
import pytest

from arborand import DependencyTrees
from arborand.pictures import Picture, page
from arborand.pictures.arcs import head_entropy
from arborand.pictures.markup import large_number, percent
from examples.first_trees import FOLDER, pictures, read_corpus
from tests import random_graphs
from tests.kinds import ALL_KINDS

pytestmark = pytest.mark.slow

CORPUS = read_corpus(FOLDER / "corpus")
COMMAND = "arborand sample 'my scores.npz' --seed 1"


def make_picture(log_weights, tokens=None, kind=DependencyTrees, sent_id="s", **more):
    trees = kind(log_weights)
    tokens = tokens or [f"word{i}" for i in range(1, len(log_weights))]
    draws = trees.sample_without_replacement(9, rng=0)
    return Picture(trees, tokens, sent_id, draws, trees.arc_marginals(), **more)


def write(folder, name, shown, **options):
    path = folder / f"{name}.html"
    path.write_text("".join(page(shown, title=name, **options)), "utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def corpus_page(folder):
    return write(folder, "corpus", pictures(CORPUS), command=COMMAND)


def sharp(seed, num_words):
    """Make scores of which some words are sure and some are not."""
    return 2.0 * random_graphs.one_tree(seed, num_words, 3.0)


@pytest.fixture(scope="module")
def long_page(folder):
    lengths = {"thirty": 30, "seventy-five": 75, "very long": 147, "too long": 523}
    shown = (
        make_picture(sharp(n, n), [f"w{'o' * (i % 9)}rd{i}" for i in range(n)], sent_id=name)
        for name, n in lengths.items()
    )
    return write(folder, "long", shown)


# ---- what a reader does and sees


def choose(browser, word, section=1):
    """Choose a word with the mouse."""
    x, y = browser.evaluate(f"""(() => {{
        const word = document.querySelector('#s{section} .main .word[data-word="{word}"] .form');
        word.scrollIntoView({{ block: "center", inline: "center" }});
        const box = word.getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2];
    }})()""")
    browser.click(x, y)


def rows(browser):
    """Read the list of heads: [head, share, is it fixed, is it forbidden]."""
    return browser.evaluate("""[...document.querySelectorAll(".heads-panel li")].map((li) => [
        Number(li.querySelector(".choose").dataset.key.split("-")[1]),
        li.querySelector(".share").textContent,
        li.querySelector(".choose").getAttribute("aria-pressed") === "true",
        li.querySelector(".forbid").getAttribute("aria-pressed") === "true",
    ])""")


def push(browser, kind, head):
    """Press the button of a head: fix it, or forbid it."""
    browser.evaluate(f"document.querySelector('.heads-panel [data-key=\"{kind}-{head}\"]').click()")
    browser.settle()


def text(browser, selector):
    return browser.evaluate(f"document.querySelector({json.dumps(selector)}).textContent")


def facts(browser, section=1):
    """Read the facts of a sentence, without what they were before."""
    return dict(
        browser.evaluate(f"""[...document.querySelectorAll("#s{section} [data-fact]")]
        .map((fact) => [fact.dataset.fact, fact.querySelector("dd").firstChild.textContent])""")
    )


def drawn_arcs(browser, section=1):
    """Read the large diagram: {(head, dependent): (role, opacity)}."""
    found = browser.evaluate(f"""[
        ...document.querySelectorAll("#s{section} .main g.arc")
    ].map((g) => [g.dataset.arc, g.classList[1], Number(g.getAttribute("opacity"))])""")
    return {tuple(map(int, arc.split("-"))): (role, opacity) for arc, role, opacity in found}


def check_all(browser, trees, fixed, forbidden, section=1):
    """Compare all that the page shows of a sentence on one line with the library's answers."""
    left = trees.condition(include=fixed, exclude=forbidden)
    marginals = left.arc_marginals()
    best = left.best_tree()
    entropy = float(left.entropy())
    number = np.exp(entropy)
    assert facts(browser, section) == {
        "words": str(len(best) - 1),
        "best": percent(float(np.exp(left.log_prob(best)))),
        "entropy": f"{entropy:.2f}\xa0nats",
        "equally": (f"{number:.1f}" if number < 100 else large_number(number))
        + " equally likely trees",
        "log-z": f"{float(left.log_partition()):.2f}",
    }
    if fixed or forbidden:
        share = float(np.exp(trees.log_evidence(include=fixed, exclude=forbidden)))
        words = "these choices together: " if len(fixed) + len(forbidden) > 1 else "this choice: "
        assert text(browser, f"#s{section} .evidence") == words + percent(share)
    else:
        assert text(browser, f"#s{section} .evidence").startswith("Choose a word")
    browser.press("Escape")  # with a word chosen, more of its arcs are drawn
    roles = {}
    for head, word in np.argwhere(marginals >= 0.01).tolist():
        roles[head, word] = "tree" if best[word] == head else "candidate"
    roles |= {(int(best[word]), word): "tree" for word in range(1, len(best))}
    roles |= {tuple(arc): "fixed" for arc in fixed}
    roles |= {tuple(arc): "forbidden" for arc in forbidden}
    drawn = drawn_arcs(browser, section)
    assert {arc: role for arc, (role, _) in drawn.items()} == roles
    for arc, (role, opacity) in drawn.items():
        if role == "candidate":
            assert opacity == pytest.approx(0.14 + 0.86 * marginals[arc], abs=0.0051)
    unsure = browser.evaluate(f"""[
        ...document.querySelectorAll("#s{section} .unsure th")
    ].map((th) => [".link", ".entropy"].map((part) => th.querySelector(part).textContent))""")
    entropies = head_entropy(marginals)
    ranked = [j for j in np.argsort(-entropies, kind="stable") if entropies[j] >= 0.2][:6]
    assert [shown for _, shown in unsure] == [f"{entropies[j]:.1f}\xa0nats" for j in ranked]


def test_a_chosen_word_lists_its_heads_with_the_librarys_probabilities(browser, corpus_page):
    browser.open_live(corpus_page)
    assert browser.evaluate("document.querySelector('.heads-panel').hidden")
    trees = DependencyTrees(CORPUS[0].log_weights)
    marginals = trees.arc_marginals()
    for word in (7, 11, 1):
        choose(browser, word)
        found = rows(browser)
        order = np.argsort(-marginals[:, word], kind="stable").tolist()
        assert [head for head, *_ in found] == order[: len(found)]
        assert [share for _, share, *_ in found] == [
            percent(float(marginals[head, word])) for head, *_ in found
        ]
        assert len(found) == 6
        hidden = text(browser, ".heads-panel .more")
        rest = float(marginals[order[6:], word].sum())
        assert hidden == f"6 more, together {percent(rest)}"
    browser.evaluate("document.querySelector('.heads-panel .more').click()")
    assert len(rows(browser)) == 12
    assert browser.evaluate("document.querySelector('.heads-panel').lastChild.tagName") == "UL"
    # The arcs into the word stand out.
    traced = browser.evaluate("""[...document.querySelectorAll("#s1 .main g.arc.traced")]
        .map((g) => g.dataset.arc.split("-")[1])""")
    assert set(traced) == {"1"}


@ALL_KINDS
def test_everything_follows_a_choice(browser, folder, kind):
    shown = [make_picture(s.log_weights, s.tokens, kind, s.sent_id) for s in CORPUS[:2]]
    browser.open_live(write(folder, f"follow-{kind.__name__}", shown))
    trees = kind(CORPUS[0].log_weights)
    check_all(browser, trees, [], [])
    fixed, forbidden = [], []
    for word, kind_of_choice, rank in ((11, "fix", 1), (7, "forbid", 0), (4, "fix", 1)):
        choose(browser, word)
        head = rows(browser)[rank][0]
        push(browser, kind_of_choice, head)
        (fixed if kind_of_choice == "fix" else forbidden).append((head, word))
        check_all(browser, trees, fixed, forbidden)
    was = browser.evaluate("document.querySelector('#s1 [data-fact=entropy] small').textContent")
    assert was == f" was {float(trees.entropy()):.2f}\xa0nats"
    # Undo and reset lead back the same way.
    browser.evaluate("document.querySelector('#s1 .tools button').click()")
    check_all(browser, trees, fixed[:1], forbidden)
    browser.evaluate("document.querySelectorAll('#s1 .tools button')[1].click()")
    check_all(browser, trees, [], [])
    assert browser.evaluate("document.querySelectorAll('#s1 .chip').length") == 0
    browser.evaluate("document.querySelector('#s1 .tools button').click()")
    check_all(browser, trees, fixed[:1], forbidden)
    # The other sentence knows nothing of it.
    browser.open_all()
    check_all(browser, kind(CORPUS[1].log_weights), [], [], section=2)


def test_chips_say_what_was_chosen_and_take_it_back(browser, corpus_page):
    browser.open_live(corpus_page)
    trees = DependencyTrees(CORPUS[0].log_weights)
    choose(browser, 11)
    push(browser, "fix", 4)
    choose(browser, 7)
    push(browser, "forbid", 4)
    chips = browser.evaluate(
        "[...document.querySelectorAll('#s1 .chip')].map((chip) => chip.textContent)"
    )
    assert chips == ["brush depends on boat ✕", "harbour not on boat ✕"]
    browser.evaluate("document.querySelector('#s1 .chip').click()")
    check_all(browser, trees, [], [(4, 7)])


def test_a_fixed_word_lists_its_heads_given_all_other_choices(browser, corpus_page):
    browser.open_live(corpus_page)
    trees = DependencyTrees(CORPUS[0].log_weights)
    choose(browser, 7)
    push(browser, "fix", 2)
    choose(browser, 11)
    push(browser, "fix", 4)
    others = trees.condition(include=[(2, 7)]).arc_marginals()
    found = rows(browser)
    assert [share for _, share, *_ in found] == [percent(float(others[h, 11])) for h, *_ in found]
    assert [head for head, _, is_fixed, _ in found if is_fixed] == [4]
    assert "given all other choices" in text(browser, ".heads-panel h3")
    # Fixing another head moves the word there; pressing it again frees the word.
    push(browser, "fix", 2)
    assert [head for head, _, is_fixed, _ in rows(browser) if is_fixed] == [2]
    push(browser, "fix", 2)
    check_all(browser, trees, [(2, 7)], [])


def test_fixing_a_forbidden_head_allows_it_again(browser, corpus_page):
    browser.open_live(corpus_page)
    choose(browser, 11)
    push(browser, "forbid", 4)
    push(browser, "fix", 4)
    check_all(browser, DependencyTrees(CORPUS[0].log_weights), [(4, 11)], [])


def test_a_fixed_head_is_listed_however_unlikely(browser, corpus_page):
    browser.open_live(corpus_page)
    choose(browser, 11)
    listed = [head for head, *_ in rows(browser)]
    browser.evaluate("document.querySelector('.heads-panel .more').click()")
    rare = [head for head, *_ in rows(browser)][-1]
    assert rare not in listed
    push(browser, "fix", rare)
    browser.press("Escape")
    choose(browser, 11)
    assert [head for head, _, is_fixed, _ in rows(browser) if is_fixed] == [rare]


def test_choices_that_no_tree_has_are_refused_and_name_the_words_left_out(browser, corpus_page):
    browser.open_live(corpus_page)
    trees = DependencyTrees(CORPUS[0].log_weights)

    def choose_and_fix(word, head):
        choose(browser, word)
        browser.evaluate("document.querySelector('.heads-panel .more')?.click()")
        push(browser, "fix", head)

    choose_and_fix(4, 7)
    choose_and_fix(7, 4)  # a cycle
    refusal = "No tree has these choices together: {} would be left out. Nothing was changed."
    assert text(browser, "#s1 .status") == refusal.format("boat, harbour")
    assert browser.evaluate("document.querySelector('#s1 .status').className") == "status refusal"
    assert browser.evaluate("document.querySelectorAll('#s1 .chip').length") == 1
    check_all(browser, trees, [(7, 4)], [])
    choose_and_fix(2, 0)
    choose_and_fix(4, 0)  # a second root
    assert text(browser, "#s1 .status") == refusal.format("boat")
    check_all(browser, trees, [(7, 4), (0, 2)], [])
    # The last head that is left cannot be forbidden.
    choose(browser, 2)
    browser.evaluate("document.querySelector('.heads-panel .more')?.click()")
    for head in (1, *range(3, 13)):
        push(browser, "forbid", head)
    assert browser.evaluate("document.querySelector('[data-key=\"forbid-0\"]').disabled")


def test_keys_alone_are_enough(browser, corpus_page):
    browser.open_live(corpus_page)
    trees = DependencyTrees(CORPUS[0].log_weights)
    where = "document.activeElement.dataset.key || document.activeElement.dataset.word"
    browser.press("ArrowRight", *["ArrowRight"] * 10, "Enter")
    first, second = [head for head, *_ in rows(browser)][:2]
    assert browser.evaluate(where) == f"fix-{first}"
    browser.press("ArrowDown")
    assert browser.evaluate(where) == f"fix-{second}"
    browser.press("ArrowRight")
    assert browser.evaluate(where) == f"forbid-{second}"
    browser.press("ArrowLeft", "Enter")
    assert browser.evaluate(where) == f"fix-{second}"  # the list is new, the focus stays
    browser.press("Escape")
    assert browser.evaluate(where) == "11"
    check_all(browser, trees, [(second, 11)], [])
    browser.press(*["ArrowLeft"] * 4, "Enter")
    other = rows(browser)[0][0]
    browser.press("Delete", "Escape")
    check_all(browser, trees, [(second, 11)], [(other, 7)])
    browser.press("z", control=True)
    check_all(browser, trees, [(second, 11)], [])
    browser.press("z", control=True)
    check_all(browser, trees, [], [])


def test_a_tap_on_an_arc_lists_heads_and_never_fixes(browser, corpus_page):
    browser.open_live(corpus_page, width=390, height=844, touch=True)
    spot = """(() => {
        const path = document.querySelector('#s1 .main [data-arc="4-7"] .line');
        const point = path.getPointAtLength(path.getTotalLength() * 0.6);
        const { x, y } = point.matrixTransform(path.getScreenCTM());
        return [x, y];
    })()"""
    browser.evaluate("""document.querySelector('#s1 .main .word[data-word="7"]')
        .scrollIntoView({ block: "center", inline: "center" })""")
    browser.tap(*browser.evaluate(spot))
    assert text(browser, ".heads-panel h3") == "Head of harbour"
    assert browser.evaluate("document.querySelector('.marked .choose').dataset.key") == "fix-4"
    assert browser.evaluate("document.querySelectorAll('#s1 .chip').length") == 0
    browser.tap(*browser.evaluate(spot))
    assert browser.evaluate("document.querySelectorAll('#s1 .chip').length") == 0
    # The list is a sheet at the bottom of the screen, with buttons for fingers.
    place = browser.evaluate("""(() => {
        const box = document.querySelector(".heads-panel").getBoundingClientRect();
        const button = document.querySelector(".heads-panel .choose").getBoundingClientRect();
        const word = document.querySelector('#s1 .word[data-word="7"]').getBoundingClientRect();
        return [box.left, innerWidth - box.right, innerHeight - box.bottom, button.height,
            box.top - word.bottom];
    })()""")
    assert [round(x) for x in place[:3]] == [0, 0, 0]
    assert place[3] >= 44
    assert place[4] >= 0  # the word is not covered
    box = browser.evaluate("""(() => {
        const box = document.querySelector('[data-key="fix-2"]').getBoundingClientRect();
        return [box.x + 20, box.y + 10];
    })()""")
    browser.tap(*box)
    assert text(browser, "#s1 .chip") == "harbour depends on painted ✕"


def test_with_a_word_chosen_a_click_fixes_the_arc_that_is_meant(browser, folder):
    path = write(folder, "crowded", [make_picture(sharp(75, 75))])
    browser.open_live(path, height=3000)
    spots = browser.evaluate("""(() => {
        const spots = [];
        for (const arc of document.querySelectorAll("#s1 .main g.arc")) {
            const [head, word] = arc.dataset.arc.split("-").map(Number);
            const path = arc.querySelector(".line");
            if (!head || arc.querySelectorAll(".line").length > 1) continue;
            spots.push([head, word, 0.5 * path.getTotalLength()]);
        }
        return spots;
    })()""")
    assert len(spots) > 60
    hits = 0
    spots = spots[:: len(spots) // 9]
    for head, word, length in spots:
        browser.press("Escape")
        choose(browser, word)
        x, y = browser.evaluate(f"""(() => {{
            const path = document.querySelector('#s1 .main [data-arc="{head}-{word}"] .line');
            const point = path.getPointAtLength({length}).matrixTransform(path.getScreenCTM());
            return [point.x, point.y];
        }})()""")
        before = browser.evaluate("document.querySelectorAll('#s1 .chip.fixed').length")
        browser.click(x, y)
        chip = browser.evaluate("document.querySelector('#s1 .word.selected .chosen')?.textContent")
        pressed = browser.evaluate(
            "document.querySelector('.heads-panel [aria-pressed=true]')?.dataset.key"
        )
        hits += chip == "fixed" and pressed == f"fix-{head}"
        if browser.evaluate("document.querySelectorAll('#s1 .chip.fixed').length") > before:
            browser.evaluate("document.querySelector('#s1 .tools button').click()")
    assert hits == len(spots)


def picture(browser, section=1):
    """Read the whole diagram, as it is, but for which of its words Tab leads to."""
    drawn = browser.evaluate(f"document.querySelector('#s{section} .main').innerHTML")
    assert drawn.count('tabindex="0"') == 1
    return drawn.replace('tabindex="0"', 'tabindex="-1"')


@pytest.mark.parametrize(("width", "num_lines"), [(1300, 3), (500, 1)])
def test_a_picture_that_was_drawn_again_and_again_is_as_one_drawn_anew(
    browser, folder, monkeypatch, width, num_lines
):
    shown = [make_picture(sharp(40, 40))]
    paths = [write(folder, "again", shown)]
    module = sys.modules["arborand.pictures.page"]
    asset = module.asset

    def forgetful(name):
        """Give the scripts, but with none of the last picture kept."""
        return asset(name).replace("}, view.picture);", "}, null);")

    assert sum(forgetful(name) != asset(name) for name in ("explore.js", "diagram.js")) == 1
    monkeypatch.setattr(module, "asset", forgetful)
    paths.append(write(folder, "anew", shown))
    undo, reset = (f"document.querySelectorAll('.tools button')[{i}].click()" for i in (0, 1))
    trace = "document.querySelectorAll('.tree-head')[2].click()"
    seen = []
    for path in paths:
        browser.open_live(path, width=width)
        drawn = [picture(browser)]
        for step in (
            ("fix", 3, 1), ("forbid", 4, 0), ("fix", 20, 2), trace, ("forbid", 21, 1), undo,
            ("fix", 37, 1), ("fix", 3, 0), ("forbid", 11, 0), ("fix", 21, 1), reset,
        ):  # fmt: skip
            if isinstance(step, str):
                browser.evaluate(step)
            else:
                kind, word, rank = step
                choose(browser, word)
                push(browser, kind, rows(browser)[rank][0])
                browser.press("Escape")
            drawn.append(picture(browser))
        seen.append(drawn)
    assert seen[0] == seen[1]
    assert len(set(seen[0])) >= 9
    assert seen[0][-1] == seen[0][0]
    lines = (
        "new Set([...document.querySelectorAll('.main .form')].map((f) => f.y.baseVal[0].value))"
    )
    assert browser.evaluate(f"{lines}.size") == num_lines


def test_nothing_moves_while_the_list_of_a_word_is_open(browser, long_page):
    browser.open_live(long_page)
    browser.evaluate("location.hash = '#s2'")
    for _ in range(3):  # the page looks for the place again in the next frames
        browser.settle()
    places = """[...document.querySelectorAll('#s2 .main .form')].map((form) =>
        [form.getAttribute('x'), form.getAttribute('y')])"""
    choose(browser, 40, 2)
    before = browser.evaluate(places)
    for rank in (1, 2, 0):
        push(browser, "fix", rows(browser)[rank][0])
        assert browser.evaluate(places) == before


def test_what_changed_elsewhere_is_reported_by_the_head_that_moved_most(browser, folder):
    # The verb is either of two; whichever it is, the other depends on it, and "park" follows.
    scores = np.full((4, 4), -2.0)
    scores[0, 1] = scores[0, 2] = 3.0
    scores[1, 2] = scores[2, 1] = 3.0
    scores[1, 3] = scores[2, 3] = 2.0
    scores[1, 3] += 0.5
    browser.open_live(write(folder, "changes", [make_picture(scores, ["saw", "park", "duck"])]))
    choose(browser, 1)
    push(browser, "fix", 0)
    before = DependencyTrees(scores).arc_marginals()
    after = DependencyTrees(scores).condition(include=[(0, 1)]).arc_marginals()
    moved = np.abs(after - before)
    expected = []
    for word in (2, 3):
        if moved[:, word].sum() / 2 >= 0.02:
            head = int(moved[:, word].argmax())
            expected.append((word, head, before[head, word], after[head, word]))
    assert expected
    assert expected[0][0] == 2
    items = browser.evaluate(
        "[...document.querySelectorAll('#s1 .changes li')].map((li) => li.textContent)"
    )
    names = ["the root", "saw", "park", "duck"]
    for item, (word, head, was, now) in zip(items, expected, strict=True):
        assert item.startswith(f"{names[word]} on {names[head]}: ")
        shown = [int(x) for x in re.findall(r"(\d+)\u202f%", item)]
        assert shown == [pytest.approx(100 * was, abs=1), pytest.approx(100 * now, abs=1)]


def test_trees_that_contradict_a_choice_are_ruled_out_and_the_others_gain(browser, corpus_page):
    browser.open_live(corpus_page)
    trees = DependencyTrees(CORPUS[0].log_weights)
    choose(browser, 11)
    push(browser, "fix", 4)
    best = trees.best_trees(6)
    share = float(np.exp(trees.log_evidence(include=[(4, 11)])))
    shown = browser.evaluate(
        "[...document.querySelectorAll('#s1 .card .chance')].map((c) => c.textContent)"
    )
    expected = [
        percent(float(np.exp(log_prob)) / share) if heads[11] == 4 else "ruled out"
        for heads, log_prob in zip(best.heads, best.log_prob, strict=True)
    ]
    assert shown == expected
    assert len(set(expected)) == 3
    # A tree whose arcs stand out is marked until the next choice, which redraws all arcs.
    traced = "document.querySelectorAll('#s1 .card.traced, #s1 [aria-pressed=true]').length"
    browser.evaluate("document.querySelectorAll('#s1 .tree-head')[1].click()")
    assert browser.evaluate(traced) == 2
    browser.evaluate("document.querySelector('#s1 .tools button').click()")
    assert browser.evaluate(traced) == 0


def test_a_tree_shows_the_part_in_which_it_differs(browser, long_page):
    browser.open_live(long_page)
    browser.open_all()
    for section in (1, 2, 3, 4):
        data = json.loads(text(browser, f"#s{section} script"))
        cards = browser.evaluate(f"""[
            ...document.querySelectorAll("#s{section} .card")
        ].map((card) => {{
            const svg = card.querySelector("svg");
            if (!svg) return null;
            const pane = svg.parentElement;
            return [
                [...svg.querySelectorAll(".word")].map((word) => Number(word.dataset.word)),
                [...svg.querySelectorAll(".arc.other")].map((arc) => arc.dataset.arc),
                svg.querySelectorAll(".gap").length,
            ];
        }})""")
        for card, (_, changes) in list(zip(cards, data["trees"], strict=True))[1:]:
            words, others, gaps = card
            for word, head in changes:
                assert {word, head or word, data["best"][word] or word} <= set(words)
                assert f"{head}-{word}" in others
            assert len(others) == len(changes)
            assert gaps >= 1
            assert len(words) <= 9 * len(changes)


# ---- gold


def test_the_gold_tree_follows_choices(browser, folder):
    sentence = CORPUS[1]
    trees = DependencyTrees(sentence.log_weights)
    gold = trees.best_trees(3).heads[2]
    names = [f"r<{i}>" for i in range(1, len(gold))]
    shown = make_picture(
        sentence.log_weights,
        sentence.tokens,
        gold_heads=gold.tolist(),
        parts_of_speech=["X"] * (len(gold) - 1),
        relations=names,
    )
    browser.open_live(write(folder, "gold", [shown]))
    roles = drawn_arcs(browser)
    best = trees.best_tree()
    differs = [word for word in range(1, len(gold)) if gold[word] != best[word]]
    assert {arc for arc, (role, _) in roles.items() if role == "gold"} == {
        (int(gold[word]), word) for word in differs
    }
    colours = browser.evaluate("""["gold", "tree", "candidate"].map((role) =>
        getComputedStyle(document.querySelector(`#s1 .main .arc.${role} .line`)).stroke)""")
    assert len(set(colours)) == 3
    below = browser.evaluate(
        "[...document.querySelectorAll('#s1 .main .below')].map((t) => t.textContent)"
    )
    assert below[:2] == ["X", "◆ r<1>"]  # marked as gold's
    word = differs[0]
    choose(browser, word)
    assert text(browser, ".heads-panel h3").startswith("Head of ")
    assert text(browser, ".heads-panel h3").endswith("(X)")
    assert text(browser, ".gold-mark") == f"gold ◆ r<{word}>"
    marked = browser.evaluate("document.querySelector('.gold-mark').closest('.choose').dataset.key")
    assert marked == f"fix-{gold[word]}"
    push(browser, "fix", int(gold[word]))
    left = trees.condition(include=[(int(gold[word]), word)])
    now = facts(browser)
    assert now["gold"] == percent(float(np.exp(left.log_prob(gold))))
    for name, tree in (("best", left.best_tree()), ("risk", left.minimum_risk_tree())):
        right = int((tree == gold)[1:].sum())
        assert now[f"{name}-right"] == f"{right} of {len(gold) - 1} words, " + percent(
            right / (len(gold) - 1)
        )
    push(browser, "forbid", int(gold[word]))
    assert facts(browser)["gold"] == "0\xa0%"


# ---- limits


def test_a_page_without_scores_says_that_exploring_is_off(browser, folder, long_page):
    shown = [make_picture(CORPUS[0].log_weights, CORPUS[0].tokens)]
    browser.open_live(write(folder, "off", shown, explore=False))
    assert text(browser, "#s1 .status") == (
        "Exploring is off: this page was made without the scores."
    )
    assert browser.evaluate("document.querySelectorAll('#s1 .word[role]').length") == 0
    marginals = DependencyTrees(CORPUS[0].log_weights).arc_marginals()
    assert set(drawn_arcs(browser)) == {
        tuple(arc) for arc in np.argwhere(marginals >= 0.01).tolist()
    }
    browser.open_live(long_page)
    browser.open_all()
    assert "523 words, and the limit is 200" in text(browser, "#s4 .status")
    assert browser.evaluate("document.querySelectorAll('#s3 .word[role=button]').length") == 147


# ---- long sentences


@pytest.mark.parametrize("width", [1300, 800])
def test_long_sentences_are_broken_into_lines_that_fit(browser, long_page, width):
    browser.open_live(long_page, width=width)
    browser.open_all()
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    for section, num_words in ((1, 30), (2, 75), (3, 147), (4, 523)):
        found = browser.evaluate(f"""(() => {{
            const pane = document.querySelector("#s{section} .main"), svg = pane.firstChild;
            const view = svg.viewBox.baseVal, lines = new Map();
            for (const text of svg.querySelectorAll(".form")) {{
                const box = text.getBBox(), y = text.getAttribute("y");
                lines.set(y, [...(lines.get(y) || []), box.x, box.x + box.width]);
            }}
            const outside = [...svg.querySelectorAll("text, path, rect")].filter((part) => {{
                const box = part.getBBox();
                return box.x < -1 || box.x + box.width > view.width + 1
                    || box.y < -1 || box.y + box.height > view.height + 1;
            }}).length;
            return {{
                hidden: pane.scrollWidth - pane.clientWidth,
                spans: [...lines.values()].map((xs) => Math.max(...xs) - Math.min(...xs)),
                words: svg.querySelectorAll(".form").length,
                outside,
                scale: svg.getBoundingClientRect().width / view.width,
                trees: svg.querySelectorAll(".arc.tree").length,
            }};
        }})()""")
        assert found["hidden"] <= 0
        assert found["outside"] == 0
        assert found["scale"] >= 1
        assert (found["words"], found["trees"]) == (num_words, num_words)
        spans = found["spans"]
        assert len(spans) >= num_words * 60 / width / 1.5
        if len(spans) > 2:  # about equally full, but for the last
            assert min(spans[:-1]) > 0.6 * max(spans)


def test_arcs_between_lines_name_the_word_at_their_other_end(browser, long_page):
    browser.open_live(long_page)
    browser.open_all()
    data = json.loads(text(browser, "#s2 script"))
    ends = browser.evaluate("""(() => {
        const svg = document.querySelector("#s2 .main svg"), line = new Map();
        for (const word of svg.querySelectorAll(".word"))
            line.set(word.dataset.word, word.querySelector(".form").getAttribute("y"));
        return [...svg.querySelectorAll(".arc.tree")].map((arc) => {
            const [head, word] = arc.dataset.arc.split("-");
            if (head === "0" || line.get(head) === line.get(word)) return null;
            return [Number(head), Number(word), [...svg.querySelectorAll(
                `.label[data-arc="${arc.dataset.arc}"]`)].map((label) => label.textContent)];
        }).filter(Boolean);
    })()""")
    assert len(ends) > 5
    for head, word, labels in ends:
        # At the word's end stands the head; at the head's, the word or how many more there are.
        stripped = [re.sub(r"[\u2068\u2069]", "", label) for label in labels]

        def named(node):
            return f"{node}\xa0{data['tokens'][node - 1][:7]}"

        assert any(s.startswith(named(head)) for s in stripped)
        assert len(stripped) in (1, 2)
        if len(stripped) == 2:
            assert any(s.startswith((named(word), "and ")) for s in stripped)


def test_on_a_phone_a_diagram_scrolls_and_shows_that_there_is_more(browser, long_page, folder):
    arabic = make_picture(sharp(3, 24), ["كتاب", "جديد"] * 12)
    for path, start, end in (
        (long_page, "more-right", "more-left"),
        (write(folder, "arabic", [arabic]), "more-left", "more-right"),
    ):
        browser.open_live(path, width=390, height=844)
        assert browser.evaluate("document.documentElement.scrollWidth") <= 390
        size = browser.evaluate("""(() => {
            const form = document.querySelector("#s1 .main .form");
            return parseFloat(getComputedStyle(form).fontSize) * form.getScreenCTM().a;
        })()""")
        assert size >= 12
        classes = "[...document.querySelector('#s1 .main').classList]"
        found = browser.evaluate(classes)
        assert start in found
        assert end not in found
        shadow = "getComputedStyle(document.querySelector('#s1 .main')).boxShadow"
        assert browser.evaluate(shadow) != "none"
        browser.evaluate("""(() => {
            const pane = document.querySelector("#s1 .main");
            pane.scrollBy({ left: pane.dir === "rtl" ? -1e6 : 1e6, behavior: "instant" });
        })()""")
        browser.settle()
        found = browser.evaluate(classes)
        assert end in found
        assert start not in found
    # A phone has no keyboard to explain.
    assert browser.evaluate("getComputedStyle(document.querySelector('.keys')).display") == "none"


def test_a_narrower_window_gets_more_lines(browser, long_page):
    browser.open_live(long_page)
    count = (
        "new Set([...document.querySelectorAll('#s1 .form')].map(f => f.getAttribute('y'))).size"
    )
    before = browser.evaluate(count)
    browser.call(
        "Emulation.setDeviceMetricsOverride",
        width=700, height=900, deviceScaleFactor=1, mobile=False,
    )  # fmt: skip
    browser.settle()
    browser.settle()
    assert browser.evaluate(count) > before


# ---- corpora


@pytest.fixture(scope="module")
def large_page(folder):
    """Write a page of 300 sentences of 15 words on average."""
    rng = np.random.default_rng(15)
    lengths = np.clip(rng.gamma(2.2, 6.4, 300), 2, 60).astype(int)
    lengths += round(15 - lengths.mean())
    assert abs(lengths.mean() - 15) < 0.6
    words = ["time", "person", "year", "way", "thing", "world", "life", "hand", "eye", "place"]

    def shown():
        for number, n in enumerate(lengths.tolist()):
            tokens = [words[(number + 7 * i) % len(words)] for i in range(n)]
            scores = 2.0 * random_graphs.one_tree(number, n, 4.0)
            scores = scores.astype(np.float32).astype(float)
            yield make_picture(scores, tokens, sent_id=f"weblog-2004_{number:04}")

    return write(folder, "large", shown(), selection="300 of 2001, the most uncertain first")


def test_300_sentences_are_a_page_of_less_than_three_megabytes(large_page):
    assert large_page.stat().st_size < 3_000_000


def test_sentences_are_drawn_when_they_come_into_view(browser, large_page):
    browser.open_live(large_page)
    browser.settle()
    live = "[...document.querySelectorAll('.sentence.live')].map((s) => s.id)"
    first = browser.evaluate(live)
    assert 1 <= len(first) < 6
    assert text(browser, ".selection") == "300 of 2001, the most uncertain first"
    # The issue asks for one second; a busy machine gets ten times as much.
    painted = browser.evaluate("performance.getEntriesByType('paint').at(-1).startTime")
    assert painted < 10_000
    browser.evaluate("location.hash = '#s250'")
    browser.evaluate("""new Promise((done) => {
        const look = () => document.querySelector("#s250.live") ? done()
            : requestAnimationFrame(look);
        look();
    })""")
    for _ in range(5):
        browser.settle()
    assert len(browser.evaluate(live)) < 20
    assert 0 <= browser.evaluate("document.querySelector('#s250').getBoundingClientRect().top") < 90
    assert browser.evaluate("document.querySelectorAll('.sentences li').length") == 300


def test_a_long_id_does_not_push_the_text_away(browser, folder):
    shown = make_picture(CORPUS[0].log_weights, CORPUS[0].tokens, sent_id="x" * 400)
    browser.open_live(write(folder, "ids", [shown, shown]), width=390)
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
    height = browser.evaluate("document.querySelector('#s1 h2').getBoundingClientRect().height")
    assert height < 40
    assert browser.evaluate("document.querySelector('#s1 h2').title.length") == 400


# ---- words and numbers


def test_the_page_writes_numbers_as_the_library_does(browser, corpus_page):
    browser.open_live(corpus_page)
    rng = np.random.default_rng(0)
    values = [0.0, 1.0, 0.5, 0.9996, 1 - 1e-16, 5e-324, 1e-300]
    values += (10.0 ** rng.uniform(-14, 0, 300)).tolist()
    found = browser.evaluate(f"{json.dumps(values)}.map(markup.percent)")
    assert found == [percent(value) for value in values]
    numbers = [*(10.0 ** rng.uniform(2, 300, 200)).tolist(), 999_499.0, 999_999.0, 1e6, 9.96e8, 1e9]
    found = browser.evaluate(f"{json.dumps(numbers)}.map(markup.largeNumber)")
    assert found == [large_number(number) for number in numbers]


def test_a_choice_is_announced(browser, corpus_page):
    browser.open_live(corpus_page)
    assert (
        browser.evaluate("document.querySelector('#s1 .status').getAttribute('role')") == "status"
    )
    choose(browser, 11)
    push(browser, "fix", 4)
    assert text(browser, "#s1 .status") == (
        "Fixed: brush depends on boat. In the best tree now: brush depends on boat."
    )
    push(browser, "forbid", 2)
    assert text(browser, "#s1 .status").endswith("The best tree stays the same.")
    names = {(role, name) for role, name, _ in browser.told("dialog")}
    assert ("dialog", "Heads of brush") in names
    assert any(role == "button" and name.startswith("Free: brush depends on boat, 25.2")
               for role, name in names)  # fmt: skip
    assert ("button", "Allow painted") in names


# ---- hostile words: every place that text goes to

PAYLOADS = [
    "<img src=x onerror=window.pwned=1>",
    "</script><script>window.pwned=1</script>",
    "<!--<script>",
    '"><svg onload=window.pwned=1>',
    "'; window.pwned=1; '",
    "javascript:window.pwned=1",
    "\\u003cimg src=x onerror=window.pwned=1\\u003e",
    "${window.pwned=1}",
    "\u2028\u2029\x00\x1b\ud800",
]


@pytest.mark.parametrize(
    "sink", ["tokens", "sent_id", "text", "parts_of_speech", "relations", "title", "selection",
             "command", "provenance"],
)  # fmt: skip
def test_nothing_written_anywhere_can_run(browser, tmp_path, sink):
    n = len(PAYLOADS)
    plain = [f"w{i}" for i in range(n)]
    per_word = {name: PAYLOADS if sink == name else plain
                for name in ("tokens", "parts_of_speech", "relations")}  # fmt: skip
    whole = " ".join(PAYLOADS)
    options = {
        "title": whole if sink == "title" else "t",
        "selection": whole if sink == "selection" else None,
        "command": whole if sink == "command" else "arborand sample x.npz",
        "provenance": {whole: whole} if sink == "provenance" else None,
    }
    shown = [
        make_picture(
            random_graphs.dense_scores(1, n),
            per_word["tokens"],
            sent_id=whole if sink == "sent_id" else f"s{i}",
            text=whole if sink == "text" else None,
            gold_heads=[-1, 0, *range(1, n)],
            parts_of_speech=per_word["parts_of_speech"],
            relations=per_word["relations"],
        )
        for i in range(2)
    ]
    path = tmp_path / "hostile.html"
    path.write_text("".join(page(shown, **options)), "utf-8")
    browser.open_live(path)
    elements = (
        "[...document.querySelectorAll('img, iframe, object, embed, svg svg, b[onclick]')].length"
    )
    for word in range(1, n + 1) if sink in per_word else (1, 2):
        choose(browser, word)
        push(browser, "fix", rows(browser)[1][0])
    push(browser, "forbid", rows(browser)[2][0])
    for step in (
        "document.querySelector('.heads-panel .more')?.click()",
        "document.querySelector('.sentences').open = true",
        "document.querySelectorAll('.sentences a')[1].click()",
        "document.querySelector('.keeping').open = true",
        "document.querySelector('.keeping .save').click()",
        "document.querySelector('.keeping .copy')?.click()",
        "document.querySelector('.decide').click()",
        "document.querySelector('#s1 button.tree-head').click()",
    ):
        browser.evaluate(step)
        browser.settle()
    assert browser.evaluate(elements) == 0
    assert browser.evaluate("document.querySelectorAll('script:not([type])').length") == 1
    assert browser.evaluate("window.pwned === undefined")
    assert browser.errors == []
    assert browser.requests == [path.as_uri()]
