"""The comparison with gold trees on pages: of `show`, and of `evaluate -o evaluation.html`."""

import re
from functools import partial

import numpy as np
import pytest

from arborand import DependencyTrees, pad
from arborand.evaluation import evaluate
from arborand.pictures import evaluation_page
from arborand.pictures.markup import percent
from tests.command_line import Corpus, call, gold_file, random_corpus

NUM_SENTENCES, NUM_WITHOUT_GOLD = 40, 6


@pytest.fixture
def arborand(monkeypatch, capsysbinary):
    return partial(call, monkeypatch, capsysbinary)


def make_corpus(folder):
    """Make scores with gold: some heads open, some sentences without any, one without a tree."""
    rng = np.random.default_rng(3)
    corpus = random_corpus(NUM_SENTENCES, seed=5, longest=14)
    scores, lengths = pad(corpus.matrices)
    distribution = DependencyTrees(2.0 * scores, lengths=lengths)
    gold = distribution.sample(rng=7)
    gold[rng.random(gold.shape) < 0.05] = -1
    gold[20, 1 : lengths[20] + 1] = 0
    assert lengths[20] > 1
    gold[:: NUM_SENTENCES // NUM_WITHOUT_GOLD][:NUM_WITHOUT_GOLD] = -1
    rows = [heads[1 : n + 1].tolist() for heads, n in zip(gold, lengths, strict=True)]
    Corpus(corpus.sent_ids, [2.0 * matrix for matrix in corpus.matrices]).save(
        folder / "scores.npz"
    )
    gold_file(folder / "gold.conllu", corpus, rows)
    has_gold = (gold >= 0).any(axis=1)
    assert has_gold.sum() == NUM_SENTENCES - NUM_WITHOUT_GOLD
    return evaluate(distribution[has_gold], gold[has_gold]).summary()


@pytest.fixture
def compared(tmp_path):
    return make_corpus(tmp_path)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Make a page of sentences and a page of its own, with the same evaluation."""
    from arborand.pictures import Picture, page

    folder = tmp_path_factory.mktemp("pages")
    summary = make_corpus(folder)
    trees = DependencyTrees(np.random.default_rng(1).normal(size=(6, 6)))
    draws = trees.sample_without_replacement(4, rng=0)
    shown = [Picture(trees, list("abcde"), f"s{i}", draws, trees.arc_marginals()) for i in (1, 2)]
    texts = {
        "sentences": "".join(page(shown, title="t", evaluation=summary, num_sentences=99)),
        "alone": evaluation_page(summary, title="t"),
    }
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, "utf-8")
    return folder


def read(browser, path):
    """Read what the section says, as a reader does."""
    browser.open(path)
    return browser.evaluate("""(() => {
        const section = document.querySelector(".evaluation");
        if (!section) return null;
        const texts = (root, selector) =>
            [...root.querySelectorAll(selector)].map((e) => e.textContent);
        return {
            said: texts(section, "p").join(" "),
            facts: Object.fromEntries([...section.querySelectorAll("dl div")].map((div) =>
                [div.querySelector("dt").textContent, div.querySelector("dd").textContent])),
            titles: texts(section, "thead th"),
            rows: [...section.querySelectorAll("tbody tr")].map((row) => texts(row, "th, td")),
            points: section.querySelectorAll("svg.calibration circle").length,
        };
    })()""")


def check(found, summary, scope):
    """Compare what a page says with the library's numbers."""
    said = found["said"].replace("\xa0", " ")
    assert said.startswith(
        f"Over {scope}: {summary.num_words} words with a gold head; {summary.num_open} words "
        "without one are not counted."
    )
    assert "In 1 sentence, the gold heads are not a tree of this kind" in said
    assert found["facts"] == {
        "UAS of the best tree": percent(summary.best_attachment_score),
        "UAS of the minimum-risk tree": percent(summary.minimum_risk_attachment_score),
        "its expected UAS, by the scores": percent(summary.claimed_attachment_score),
        "expected UAS of a random tree": percent(summary.expected_attachment_score),
        "log-probability of gold, mean": f"{summary.mean_log_prob:.2f}\xa0nats "
        f"({percent(np.exp(summary.mean_log_prob))})",
    }
    table = summary.calibration
    assert len(found["titles"]) == 5
    assert found["rows"] == [
        [
            f"{100 * table.edges[b]:g} to {100 * table.edges[b + 1]:g}\xa0%",
            f"{table.num_arcs[b]:,}",
            percent(table.mean_probability[b]) if table.num_arcs[b] else "",
            f"{table.num_right[b]:,}",
            percent(table.share_right[b]) if table.num_arcs[b] else "",
        ]
        for b in range(len(table.num_arcs))
    ]
    assert found["points"] == (table.num_arcs > 0).sum()
    sure = table.edges[:-1] >= 0.9
    count, right = table.num_arcs[sure].sum(), table.num_right[sure].sum()
    assert 0 < right < count
    mean = percent(table.probability_sums[sure].sum() / count).replace("\xa0", " ")
    share = percent(right / count).replace("\xa0", " ")
    assert (
        f"Of the {count} heads that the scores give 90 % or more ({mean} on average), {share} are "
        "right."
    ) in said


def test_a_page_compares_all_sentences_with_gold_shown_or_not(
    arborand, browser, compared, tmp_path
):
    out = tmp_path / "page.html"
    files = (tmp_path / "scores.npz", "--conllu", tmp_path / "gold.conllu")
    result = arborand("show", *files, "--max-sentences", 3, "--num-draws", 2, "-o", out)
    assert (result.status, result.err) == (0, "")
    others = "the others have no gold heads, or cannot be used"
    scope = f"34 of the 40 sentences of the corpus ({others})"
    check(read(browser, out), compared, scope)
    assert browser.evaluate("document.querySelectorAll('.sentence').length") == 3
    # Neither order nor conditions decide what is compared.
    options = ("--sort", "length", "--filter", "length < 5", "--num-draws", 2)
    assert arborand("show", *files, *options, "-o", out).status == 0
    check(read(browser, out), compared, scope)


def test_evaluate_writes_a_page_of_its_own(arborand, browser, compared, tmp_path):
    out = tmp_path / "evaluation.html"
    files = (tmp_path / "scores.npz", "--conllu", tmp_path / "gold.conllu")
    result = arborand("evaluate", *files, "-o", out)
    assert result.status == 0
    assert f"written: {out}" in result.out.decode()
    summary = evaluate_all(tmp_path)
    check(read(browser, out), summary, "all 40 sentences of the corpus")
    assert browser.evaluate("document.title") == "scores.npz"
    assert browser.evaluate("document.querySelector('details').open")
    assert browser.evaluate("document.querySelectorAll('script').length") == 0
    assert browser.requests == [out.as_uri()]
    assert browser.errors == []
    assert '"command": "arborand evaluate scores.npz' in out.read_text("utf-8").replace(
        "\\u002d", "-"
    )
    to_pipe = arborand("evaluate", *files, "-o", "-", "--format", "html")
    assert to_pipe.out == out.read_bytes()


def evaluate_all(folder):
    """Evaluate a corpus as the command does: sentences without gold heads count as sentences."""
    from arborand.corpus.computations import Setting
    from arborand.corpus.reports import Comparison
    from arborand.corpus.shards import open_inputs
    from arborand.corpus.stream import open_corpus

    comparison = Comparison(Setting("dependency", False, 1))
    with (
        open_inputs([str(folder / "scores.npz")], str(folder / "gold.conllu")) as inputs,
        open_corpus(inputs.parts, inputs.conllu) as corpus,
    ):
        for run in corpus.runs():
            list(comparison(run))
    return comparison.summary


@pytest.mark.parametrize(
    "options",
    [
        ("--no-evaluate", "--conllu", "gold.conllu"),
        ("--sent-id", "s-3", "--conllu", "gold.conllu"),
        ("--keep-heads", "--conllu", "gold.conllu", "--on-error", "skip"),
        ("--conllu", "words.conllu"),
        (),
    ],
)
def test_where_there_is_nothing_to_compare_there_is_no_section(
    arborand, compared, tmp_path, options, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    text = (tmp_path / "gold.conllu").read_text()
    words = re.sub(r"\t\w+\tdep\t", "\t_\tdep\t", text)
    assert words != text
    (tmp_path / "words.conllu").write_text(words)
    result = arborand("show", "scores.npz", *options, "--num-draws", 2, "-o", "page.html")
    assert result.status == 0, result.err
    assert '<section class="evaluation"' not in (tmp_path / "page.html").read_text("utf-8")


def test_sentences_that_cannot_be_compared_do_not_stop_the_page(
    arborand, browser, compared, tmp_path
):
    corpus = random_corpus(NUM_SENTENCES, seed=5, longest=14)
    corpus.matrices[31][:, 1] = -np.inf  # its first word has no head
    corpus.save(tmp_path / "broken.npz")
    path = tmp_path / "gold.conllu"
    blocks = path.read_text().split("\n\n")
    path.write_text("\n\n".join(blocks[:36]) + "\n\n")  # gold ends here
    out = tmp_path / "page.html"
    options = ("--max-sentences", 3, "--num-draws", 2, "--conllu", path, "-o", out)
    result = arborand("show", tmp_path / "broken.npz", *options)
    assert result.status == 0
    assert result.err.startswith("arborand: the comparison with gold leaves these out:\n  s-31: ")
    said = read(browser, out)["said"]
    with_gold = sum(bool(re.search(r"\t\d+\tdep\t", block)) for block in blocks[:36])
    assert f"Over {with_gold - 1} of the 40 sentences" in said


def test_the_table_opens_by_a_key_and_is_closed_before(browser, pages):
    browser.open_live(pages / "sentences.html")
    seen = "document.querySelector('.calibration table').checkVisibility()"
    assert not browser.evaluate(seen)
    browser.evaluate("document.querySelector('.evaluation summary').focus()")
    browser.press("Enter")
    assert browser.evaluate(seen)
    assert browser.errors == []


@pytest.mark.parametrize("scripts", [True, False])
def test_paper_gets_the_table_and_the_plot(browser, pages, scripts):
    browser.open(pages / "sentences.html", scripts=scripts)
    seen = """[...document.querySelectorAll(".calibration :is(table, svg)")].map((element) =>
        element.checkVisibility())"""
    height = "document.querySelector('.evaluation details').getBoundingClientRect().height"
    assert browser.evaluate(seen) == [False, False]
    assert browser.evaluate(height) < 60
    browser.emulate("print")
    assert browser.evaluate(seen) == [True, True]
    assert browser.evaluate(height) > 300
    browser.emulate()


@pytest.mark.parametrize("name", ["sentences", "alone"])
@pytest.mark.parametrize("width", [320, 390, 1300])
def test_the_section_fits_the_window(browser, pages, name, width):
    browser.open(pages / f"{name}.html", width=width)
    browser.evaluate("document.querySelector('.evaluation details').open = true")
    browser.settle()
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    cut, cued = browser.evaluate("""(() => {
        const pane = document.querySelector(".calibration .scroll");
        const bar = getComputedStyle(pane).overflowX;
        return [pane.scrollWidth > pane.clientWidth + 2,
            pane.classList.contains("more-right") || bar === "scroll"];
    })()""")
    assert cued or not cut


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["sentences", "alone"])
def test_all_of_it_can_be_seen_in_light_and_dark(browser, pages, name, scheme):
    from tests.contract.test_pictures_in_browser import CONTRAST

    browser.open(pages / f"{name}.html", prefers_color_scheme=scheme)
    browser.evaluate("document.querySelector('.evaluation details').open = true")
    texts, marks = browser.evaluate(
        """(() => {CONTRAST
        const all = (selector) => [...document.querySelectorAll(`.evaluation ${selector}`)];
        const own = (element) => getComputedStyle(element);
        return [
            all("p, dt, dd, small, h2, summary, caption, th, td").map((e) => own(e).color)
                .concat(all("svg text").map((e) => own(e).fill))
                .map((color) => contrast(color, paper)),
            [own(all(".diagonal")[0]).stroke, own(all("circle")[0]).fill]
                .map((color) => contrast(color, paper)),
        ];
    })()""".replace("CONTRAST", CONTRAST)
    )
    assert len(texts) > 80
    assert min(texts) >= 4.5
    assert min(marks) >= 3.0
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == (
        "rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 26)"
    )


def test_a_screen_reader_is_told_what_the_table_and_the_plot_are(browser, pages):
    browser.open(pages / "alone.html")
    told = browser.told("image")
    title = "Compared with gold trees: 78.6\xa0% of the heads are right"
    assert ("region", title, "") in told
    assert ("table", "Of the arcs in each probability range, how many are right?", "") in told
    names = [name for role, name, _ in told if role == "columnheader"]
    assert names == ["probability", "arcs", "on average", "right", "share right"]
    rows = [name.replace("\xa0", " ") for role, name, _ in told if role == "rowheader"]
    assert len(rows) == 14
    assert rows[-1] == "99 to 100 %"
    [(_, name, description)] = [node for node in told if node[0] == "image"]
    assert name == "How many arcs of each probability are right"
    assert "dashed diagonal" in description


def test_nothing_in_a_title_can_run(browser, compared, tmp_path):
    from tests.contract.test_page_in_browser import PAYLOADS

    path = tmp_path / "hostile.html"
    path.write_text(evaluation_page(compared, title=" ".join(PAYLOADS)), "utf-8")
    browser.open(path)
    browser.settle()
    assert browser.evaluate("window.pwned === undefined")
    assert browser.evaluate("document.querySelectorAll('img, script, h1 *').length") == 0
    assert browser.evaluate("document.querySelectorAll('svg').length") == 1
    assert browser.errors == []
    assert browser.requests == [path.as_uri()]
