"""Work on a page that is to last, in a real browser: questions, storage, links and saving."""

import io
import json

import numpy as np
import pytest

from arborand import DependencyTrees
from arborand.formats.conllu import parse_block, read_annotations
from arborand.pictures import Picture, page
from examples.first_trees import FOLDER, read_corpus
from tests import random_graphs
from tests.command_line import call
from tests.contract.test_page_in_browser import (
    PAYLOADS,
    choose,
    make_picture,
    push,
    rows,
    text,
    write,
)
from tests.universal_dependencies import violations

pytestmark = pytest.mark.slow

CORPUS = read_corpus(FOLDER / "corpus")
CONLLU = FOLDER / "corpus" / "sentences.conllu"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


def shown(sentences=CORPUS, **more):
    return [make_picture(s.log_weights, s.tokens, sent_id=s.sent_id, **more) for s in sentences]


@pytest.fixture(scope="module")
def corpus_page(folder):
    """Write a page of the whole corpus, whose file has something odd between its sentences."""
    original = CONLLU.read_bytes().replace(
        b"\n\n# sent_id = en-2", b"\n\n# no words\n\n\n# sent_id = en-2"
    )
    (folder / "corpus.conllu").write_bytes(original)
    pictures = []
    for picture in shown():
        start = original.index(f"# sent_id = {picture.sent_id}\n".encode())
        stop = original.index(b"\n\n", start) + 1
        pictures.append(Picture(**{**vars(picture), "place": (start, stop)}))
    return write(folder, "corpus", pictures, conllu=original, file_name="my corpus.conllu")


def news(browser):
    return text(browser, ".news")


def best_question(sentences, states):
    """Find the most valuable question by the library: (section, word, value)."""
    best = (0, 0, -1.0)
    for number, sentence in enumerate(sentences, start=1):
        fixed = states.get(number, [])
        marginals = DependencyTrees(sentence.log_weights).condition(include=fixed).arc_marginals()
        logs = np.log(np.where(marginals > 0, marginals, 1.0))
        entropies = -(marginals * logs).sum(axis=0)
        if entropies.max() > best[2] + 1e-6:
            best = (number, int(entropies.argmax()), float(entropies.max()))
    return best


def asked(browser):
    """Read the question: (section, word, value)."""
    return tuple(
        browser.evaluate("""(() => {
            const word = document.querySelector(".main .word.selected");
            return [Number(word.closest(".sentence").id.slice(1)), Number(word.dataset.word),
                document.querySelector(".heads-panel .value").textContent];
        })()""")
    )


# ---- questions


def test_keys_alone_answer_the_most_valuable_question_of_the_corpus_and_then_the_next(
    browser, corpus_page
):
    browser.open_live(corpus_page)
    browser.press("d")
    states = {}
    for rank in (1, 2, 1, 1):
        section, word, value = best_question(CORPUS, states)
        assert asked(browser) == (section, word, f"settles {value:.2f}\xa0nats on average")
        assert text(browser, ".heads-panel h3").endswith("depend on?")
        box = browser.evaluate("""(() => {
            const panel = document.querySelector(".heads-panel").getBoundingClientRect();
            const word = document.querySelector(".word.selected").getBoundingClientRect();
            return [panel.top, panel.bottom, word.top, word.bottom, innerHeight];
        })()""")
        assert 0 < box[2] < box[3] <= box[0] < box[1] <= box[4]  # word and question are in sight
        head = rows(browser)[rank - 1][0]
        trees = DependencyTrees(CORPUS[section - 1].log_weights)
        left = trees.condition(include=[*states.get(section, []), (head, word)])
        notes = browser.evaluate(
            "[...document.querySelectorAll('.heads-panel .left')].map((e) => e.textContent)"
        )
        assert notes[rank - 1].startswith(f"leaves {float(left.entropy()):.2f}\xa0nats")
        browser.press(str(rank))
        states.setdefault(section, []).append((head, word))
        last = section
    before = asked(browser)
    browser.press("s")
    assert asked(browser)[:2] != before[:2]
    # Undo goes back to the sentence of the last answer.
    browser.press("u")
    states[last].pop()
    section, word, _ = best_question(CORPUS, states)
    assert asked(browser)[:2] == (section, word)
    # The best tree is right: one key, and the sentence is settled.
    browser.press("b")
    assert text(browser, f"#s{section} .rest .best") == "100\xa0%"
    assert asked(browser)[0] != section
    browser.press("Escape")
    assert browser.evaluate("document.querySelector('.heads-panel').hidden")
    assert browser.evaluate("document.activeElement.textContent") == "Decide"
    assert browser.errors == []


def test_progress_and_the_answers_that_a_sentence_needs_are_shown(browser, corpus_page):
    browser.open_live(corpus_page)
    assert text(browser, ".progress").endswith("0\u202f% settled")
    entropies = [float(DependencyTrees(s.log_weights).entropy()) for s in CORPUS]
    browser.press("d")
    section, _, _ = asked(browser)
    browser.wait_for(lambda: text(browser, ".needed") != "")
    assert "settle this sentence" in text(browser, ".needed")
    browser.press("b")
    share = round(100 * entropies[section - 1] / sum(entropies))
    assert text(browser, ".progress").endswith(f"{share}\u202f% settled")


def test_a_word_that_is_chosen_by_hand_ends_the_questions(browser, corpus_page):
    browser.open_live(corpus_page)
    browser.press("d")
    section, _, _ = asked(browser)
    other = 1 if section != 1 else 2
    choose(browser, 3, other)
    assert browser.evaluate("document.querySelector('.decide').getAttribute('aria-pressed')") == (
        "false"
    )
    assert text(browser, ".heads-panel h3").startswith("Head of ")


def test_questions_that_were_skipped_are_asked_again_when_no_others_are_left(browser, folder):
    log_weights = np.full((5, 5), -np.inf)
    # Words 1 and 4 may depend on word 2 or word 3; the others are certain.
    for head, word, score in [(0, 2, 0), (2, 3, 0), (2, 1, 0), (3, 1, 0.1), (2, 4, 0), (3, 4, 0.5)]:
        log_weights[head, word] = score
    browser.open_live(write(folder, "two questions", [make_picture(log_weights)]))
    browser.press("d")
    assert asked(browser)[1] == 1
    browser.press("s", "Escape")
    choose(browser, 4)
    push(browser, "fix", 2)
    browser.press("d")
    assert news(browser) == "Only the question that you skipped is left."
    browser.press("d")
    assert asked(browser)[1] == 1
    browser.press("1")
    assert news(browser) == "Nothing is left to ask: every head is clear."
    assert browser.errors == []


def test_a_screen_reader_is_told_the_question(browser, corpus_page):
    browser.open_live(corpus_page)
    browser.press("d")
    told = browser.told("dialog")
    names = [name for role, name, _ in told if role == "button"]
    assert any(", leaves " in name for name in names)
    assert {"b The best tree is right", "s Skip", "u Undo", "Stop deciding"} <= set(names)
    assert any(role == "dialog" and name.startswith("Heads of ") for role, name, _ in told)


def test_a_finger_answers_on_a_phone(browser, corpus_page):
    browser.open_live(corpus_page, width=390, height=844, touch=True)

    def middle(selector):
        return browser.evaluate(f"""(() => {{
            const box = document.querySelector('{selector}').getBoundingClientRect();
            return [box.x + 20, box.y + box.height / 2];
        }})()""")

    browser.tap(*middle(".decide"))
    section, word, _ = asked(browser)
    sheet = browser.evaluate("""(() => {
        const panel = document.querySelector(".heads-panel").getBoundingClientRect();
        const word = document.querySelector(".word.selected").getBoundingClientRect();
        return [panel.left, innerWidth - panel.right, innerHeight - panel.bottom,
            panel.top - word.bottom, document.querySelector(".choose").offsetHeight];
    })()""")
    assert [round(x) for x in sheet[:3]] == [0, 0, 0]
    assert sheet[3] >= 0
    assert sheet[4] >= 44
    browser.tap(*middle(".heads-panel .choose"))
    assert browser.evaluate(f"document.querySelectorAll('#s{section} .chip').length") == 1
    assert asked(browser)[:2] != (section, word)


# ---- the first screen


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_the_diagram_is_in_the_first_screen(
    browser, tmp_path, monkeypatch, capsysbinary, width, height
):
    path = tmp_path / "gold.html"
    scores = FOLDER / "corpus" / "sentences.npz"
    done = call(monkeypatch, capsysbinary, "show", scores, "--conllu", CONLLU, "-o", path)
    assert done.status == 0
    for scheme in ("light", "dark"):
        browser.open_live(path, width=width, height=height, prefers_color_scheme=scheme)
        top, bottom, scrolled = browser.evaluate("""(() => {
            const box = document.querySelector("#s1 .main").getBoundingClientRect();
            return [box.top, box.bottom, document.documentElement.scrollWidth];
        })()""")
        assert top < 300
        assert bottom < height
        assert scrolled <= width


@pytest.mark.parametrize("word", [2, 12])
def test_the_list_opens_where_there_is_room(browser, folder, word):
    scores = 2.0 * random_graphs.one_tree(5, 12, 3.0)
    path = write(folder, "room", [make_picture(scores)])
    for height in (900, 420):
        browser.open_live(path, width=1300, height=height)
        choose(browser, word)
        box = browser.evaluate("""(() => {
            const panel = document.querySelector(".heads-panel").getBoundingClientRect();
            const word = document.querySelector(".word.selected").getBoundingClientRect();
            const apart = panel.left >= word.right || panel.right <= word.left
                || panel.top >= word.bottom;
            return [panel.left, innerWidth - panel.right, panel.top,
                innerHeight - panel.bottom, apart];
        })()""")
        assert min(box[:4]) >= 0
        assert box[4]


# ---- what lasts


def test_decisions_survive_a_reload_and_links_restore_a_state(browser, corpus_page):
    browser.open_live(corpus_page)
    choose(browser, 11)
    push(browser, "fix", 4)
    push(browser, "forbid", 2)
    address = browser.evaluate("location.hash")
    assert address == "#id=en-1&fix=11:4&not=11:2"
    browser.open_live(corpus_page, remember=True)
    chips = "[...document.querySelectorAll('#s1 .chip')].map((chip) => chip.textContent)"
    assert browser.evaluate(chips) == ["brush depends on boat ✕", "brush not on painted ✕"]
    assert text(browser, ".keeping summary") == "Save (1)"
    # The link gives the state to somebody who has decided nothing, at its sentence.
    browser.open_live(corpus_page, fragment=address.replace("en-1", "en-2"))
    browser.wait_for(lambda: browser.evaluate("Boolean(document.querySelector('#s2 .chip'))"))
    assert browser.evaluate("document.querySelectorAll('#s2 .chip').length") == 2
    assert "from the link" in text(browser, "#s2 .status")
    assert browser.evaluate("document.querySelector('#s2').getBoundingClientRect().top") < 120
    # A link does not replace what was kept.
    browser.open_live(corpus_page, remember=True)
    browser.open_all()
    assert browser.evaluate("document.querySelectorAll('#s2 .chip').length") == 0
    browser.open_live(corpus_page, fragment="#id=nobody&fix=1:2")
    assert news(browser) == "This page has no sentence nobody."
    browser.open_live(corpus_page, fragment="#id=en-1&fix=99:2")
    assert "not possible in this sentence" in text(browser, "#s1 .status")
    assert browser.errors == []


def test_where_the_scores_have_changed_the_page_says_so(browser, folder, corpus_page):
    browser.open_live(corpus_page)
    choose(browser, 11)
    push(browser, "fix", 4)
    sentence = CORPUS[0]
    other = make_picture(
        sentence.log_weights + 0.5 * np.eye(13)[::-1], sentence.tokens, sent_id="en-1"
    )
    browser.open_live(write(folder, "rescored", [other]), remember=True)
    assert news(browser) == (
        "The scores have changed since you decided about en-1. Your decisions are kept."
    )
    assert browser.evaluate("document.querySelectorAll('#s1 .chip').length") == 1


def grab(browser):
    """Let the page hand its files over instead of saving them."""
    browser.evaluate("""(() => {
        globalThis.files = [];
        URL.createObjectURL = (blob) => (files.push(blob), "blob:x");
        HTMLAnchorElement.prototype.click = function () { files.at(-1).fileName = this.download; };
    })()""")


def saved(browser, button=".save"):
    """Press a button of the menu: the bytes, and the name of the file."""
    count = browser.evaluate("files.length")
    browser.evaluate(f"document.querySelector('.keeping {button}').click()")
    browser.wait_for(lambda: browser.evaluate("files.length") > count)
    data = browser.evaluate(
        "files.at(-1).arrayBuffer().then((b) => [...new Uint8Array(b)]).then((b) => b)"
    )
    return bytes(data), browser.evaluate("files.at(-1).fileName")


def test_the_whole_corpus_is_saved_byte_for_byte_but_for_what_was_decided(
    browser, corpus_page, folder
):
    browser.open_live(corpus_page)
    grab(browser)
    original = (folder / "corpus.conllu").read_bytes()
    assert saved(browser) == (original, "my_corpus.decided.conllu")
    choose(browser, 11)
    push(browser, "fix", 4)
    data, _ = saved(browser)
    before, after = original.split(b"\n"), data.split(b"\n")
    (changed,) = [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
    assert after[changed].split(b"\t")[:2] == [b"11", b"brush"]
    assert after[changed].split(b"\t")[6:8] == [b"4", b"_"]
    assert "1 sentence changed" in news(browser)
    browser.evaluate("document.querySelector('.keeping input[type=checkbox]').click()")
    data, _ = saved(browser)
    trees = DependencyTrees(CORPUS[0].log_weights).condition(include=[(4, 11)])
    first = next(read_annotations(io.BytesIO(data), "saved"))
    assert first.heads == trees.best_tree().tolist()[1:]
    text_ = data.decode().replace("# no words\n\n\n", "")
    assert violations(text_) == []


def test_without_a_file_the_sentences_are_saved_with_heads_that_were_given_before(browser, folder):
    scores = CORPUS[0].log_weights
    given = np.full(len(scores), -1)
    given[[7, 2]] = [2, 0]
    trees = DependencyTrees(scores).condition(heads=given)
    draws = trees.sample_without_replacement(5, rng=0)
    picture = Picture(trees, CORPUS[0].tokens, "a\tb", draws, trees.arc_marginals())
    browser.open_live(write(folder, "given", [picture]))
    grab(browser)
    choose(browser, 11)
    push(browser, "fix", 4)
    data, _ = saved(browser)
    annotation = parse_block(data.strip(b"\n").splitlines(keepends=True), "saved")
    given[11] = 4
    assert annotation.given_heads == given[1:].tolist()
    assert annotation.sent_id == "a\tb"  # which a comment cannot hold as it is


def test_decisions_are_exported_and_imported(browser, corpus_page, tmp_path):
    browser.open_live(corpus_page)
    grab(browser)
    choose(browser, 11)
    push(browser, "fix", 4)
    data, name = saved(browser, ".export")
    assert name == "my_corpus.decisions.json"
    file = json.loads(data)
    hostile = [{**file["sentences"][0], "sent_id": payload} for payload in PAYLOADS]
    file["sentences"] += hostile[:3]
    path = tmp_path / "<img src=x onerror=window.pwned=1>.json"
    path.write_text(json.dumps(file), "utf-8")
    browser.open_live(corpus_page)
    node = browser.call("DOM.getDocument")["root"]["nodeId"]
    found = browser.call("DOM.querySelector", nodeId=node, selector=".keeping input[type=file]")
    for target, said in (
        (path, "Imported the decisions about 1 sentence. Not on this page: "),
        (CONLLU, "sentences.conllu was not imported. It is not a JSON file."),
    ):
        browser.call("DOM.setFileInputFiles", files=[str(target)], nodeId=found["nodeId"])
        browser.wait_for(lambda said=said: news(browser).startswith(said))
    assert browser.evaluate("document.querySelectorAll('#s1 .chip').length") == 1
    assert browser.evaluate("document.querySelectorAll('img').length") == 0
    assert browser.evaluate("window.pwned === undefined")
    assert browser.errors == []


def test_a_page_without_scores_has_nothing_to_decide(browser, folder):
    path = folder / "off.html"
    path.write_text("".join(page(shown(CORPUS[:2]), title="off", explore=False)), "utf-8")
    browser.open_live(path)
    assert browser.evaluate("document.querySelectorAll('.keeping, .decide').length") == 0
    browser.press("d", "s", "1")
    assert browser.errors == []


# ---- labels


@pytest.fixture(scope="module")
def labelled_page(folder):
    sentence, names = CORPUS[0], ["nsubj", "obl", "nmod", *PAYLOADS[:3]]
    rng = np.random.default_rng(4)
    scores = 2.0 * rng.normal(size=(13, 13, len(names)))
    scores[:, 11, 1] += 3.0
    scores[4, 11, 2] = scores[4, 11, 1]
    more = {"label_log_weights": scores, "label_names": names, "relations": ["dep"] * 12}
    picture = make_picture(sentence.log_weights, sentence.tokens, sent_id="en-1", **more)
    return write(folder, "labelled", [picture, *shown(CORPUS[1:3])]), scores, names


def test_a_words_label_is_shown_with_its_probability_and_can_be_fixed(browser, labelled_page):
    path, scores, names = labelled_page
    browser.open_live(path)
    below = browser.evaluate(
        "[...document.querySelectorAll('#s1 .main .word[data-word=\"11\"] .below')]"
        ".map((row) => [row.getAttribute('class'), row.textContent])"
    )
    best = DependencyTrees(CORPUS[0].log_weights).best_tree()
    chances = np.exp(scores[best[11], 11]) / np.exp(scores[best[11], 11]).sum()
    label = names[int(chances.argmax())]
    assert below[0] == ["below relation", f"{label} {100 * chances.max():.0f}\u202f%"]
    assert below[1] == ["below gold", "◆ dep"]
    choose(browser, 11)
    push(browser, "fix", 4)
    offered = browser.evaluate(
        "[...document.querySelectorAll('.label-choice')].map((b) => b.textContent)"
    )
    chances = np.exp(scores[4, 11]) / np.exp(scores[4, 11]).sum()
    order = [i for i in np.argsort(-chances, kind="stable") if chances[i] >= 0.01]
    assert offered == [f"{names[i]} {100 * chances[i]:.1f}\xa0%" for i in order]
    browser.evaluate("document.querySelector('[data-key=\"label-nmod\"]').click()")
    browser.settle()
    assert text(browser, "#s1 .chip") == "brush depends on boat as nmod ✕"
    assert browser.evaluate("location.hash") == "#id=en-1&fix=11:4:nmod"
    assert text(browser, "#s1 .main .word[data-word='11'] .relation") == "nmod"
    grab(browser)
    data, _ = saved(browser)
    line = next(line for line in data.decode().splitlines() if line.startswith("11\t"))
    assert line.split("\t")[6:8] == ["4", "nmod"]
    assert browser.evaluate("document.querySelectorAll('img').length") == 0
    assert browser.evaluate("window.pwned === undefined")
    assert browser.errors == []


def test_where_labels_have_scores_the_next_question_may_be_the_relation(browser, labelled_page):
    path, *_ = labelled_page
    browser.open_live(path)
    browser.press("d")
    section, word, _ = asked(browser)
    assert section == 1  # the only sentence with labels has the largest entropies
    browser.press("1")
    seen = []
    for _ in range(40):
        title = text(browser, ".heads-panel h3")
        seen.append(title)
        if title.startswith("What is the relation of "):
            break
        browser.press("1")
    assert seen[-1].startswith("What is the relation of ")
    _, word, _ = asked(browser)
    # What is no relation is listed, and cannot be chosen.
    label = browser.evaluate("document.querySelector('.label-choice:enabled').dataset.key")[6:]
    assert " " not in label
    browser.press("1")
    assert f"{word}:" in browser.evaluate("location.hash")
    assert label in browser.evaluate("decodeURIComponent(location.hash)")
    assert browser.errors == []


def test_300_sentences_with_40_labels_are_a_page_of_less_than_five_megabytes(folder):
    rng = np.random.default_rng(15)
    lengths = np.clip(rng.gamma(2.2, 6.4, 300), 2, 60).astype(int)
    lengths += round(15 - lengths.mean())
    names = [f"label{i}" for i in range(40)]

    def pictures():
        for number, n in enumerate(lengths.tolist()):
            scores = (2.0 * random_graphs.one_tree(number, n, 4.0)).astype(np.float32)
            labels = rng.normal(0.0, 2.0, (n + 1, n + 1, 40))
            labels[:, np.arange(n + 1), rng.integers(0, 40, n + 1)] += 8.0
            more = {"label_log_weights": labels, "label_names": names}
            tokens = [f"word{i}" for i in range(n)]
            yield make_picture(scores.astype(float), tokens, sent_id=f"weblog_{number:04}", **more)

    assert write(folder, "large", pictures()).stat().st_size < 5_000_000


@pytest.mark.parametrize("sort", ["file", "length"])
def test_the_page_of_the_command_line_saves_the_file_it_was_made_of(
    browser, tmp_path, monkeypatch, capsysbinary, sort
):
    # Lines end as they like, and there is more in the file than the page shows.
    original = CONLLU.read_bytes().replace(
        b"\n\n# sent_id = en-2", b"\r\n\r\n# x\n\n# sent_id = en-2"
    )
    gold, path = tmp_path / "gold.conllu", tmp_path / "page.html"
    gold.write_bytes(original)
    done = call(
        monkeypatch, capsysbinary, "show", FOLDER / "corpus" / "sentences.npz", "--conllu", gold,
        "-o", path, "--sort", sort, "--max-sentences", 5,
    )  # fmt: skip
    assert done.status == 0
    browser.open_live(path)
    grab(browser)
    assert saved(browser) == (original, "gold.decided.conllu")
    data = json.loads(text(browser, "#s2 script"))
    choose(browser, 1, 2)
    head = next(head for head, *_ in rows(browser) if head != data["gold"][1])
    push(browser, "fix", head)
    changed, _ = saved(browser)
    before, after = original.split(b"\n"), changed.split(b"\n")
    lines = [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
    (line,) = lines
    assert after[line].split(b"\t")[:2] == [b"1", data["tokens"][0].encode()]
    block = changed[: changed.index(after[line])].rpartition(b"# sent_id = ")[2]
    assert block.split()[0].decode() == data["id"]


def test_dense_rows_are_capped_and_say_how_many_arcs_are_left_out(browser, folder):
    scores = 2.0 * random_graphs.one_tree(75, 75, 3.0)
    browser.open_live(write(folder, "dense", [make_picture(scores)]))
    words, drawn, counts = browser.evaluate("""(() => {
        const svg = document.querySelector("#s1 .main svg");
        const line = [...svg.querySelectorAll(".word")].map((word) =>
            [Number(word.dataset.word), word.querySelector(".form").getAttribute("y")]);
        const arcs = [...svg.querySelectorAll(".arc.candidate")].map((arc) => arc.dataset.arc);
        const labels = [...svg.querySelectorAll(".label")].map((label) =>
            [label.dataset.arc, label.textContent]);
        return [line, arcs, labels];
    })()""")
    line = dict(words)
    trees = DependencyTrees(scores)
    marginals, best = trees.arc_marginals(), trees.best_tree()
    sides: dict = {}
    for head, word in np.argwhere(marginals >= 0.1).tolist():
        if head and line[head] != line[word] and best[word] != head:
            sides.setdefault((line[word], head > word), []).append((head, word))
    assert max(map(len, sides.values())) > 7
    shown = {tuple(map(int, arc.split("-"))) for arc in drawn}
    for arcs in sides.values():
        seen = [arc for arc in arcs if arc in shown]
        assert len(seen) == min(len(arcs), 7)
        if len(arcs) > 7:
            rest = len(arcs) - 6
            last = min(seen, key=lambda arc: marginals[arc])
            assert [f"{last[0]}-{last[1]}", f"and {rest} more"] in counts
