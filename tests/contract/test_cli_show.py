"""Which sentences `show` shows, in which order, and in which formats."""

import html
import json
import re
import shlex
from functools import partial

import numpy as np
import pytest

from arborand import DependencyTrees
from arborand.pictures import figures
from tests.command_line import CORPUS, call, conllu_of, random_corpus

SCORES, CONLLU = CORPUS / "sentences.npz", CORPUS / "sentences.conllu"


@pytest.fixture
def arborand(monkeypatch, capsysbinary):
    return partial(call, monkeypatch, capsysbinary)


@pytest.fixture
def corpus(tmp_path):
    corpus = random_corpus(30, seed=1)
    corpus.save(tmp_path / "scores.npz")
    (tmp_path / "corpus.conllu").write_text(conllu_of(corpus))
    return corpus


@pytest.fixture
def show(arborand, corpus, tmp_path):
    """Show the corpus: the ids in their order, and what the page says about them."""

    def shown(*options, status=0):
        out = tmp_path / "page.html"
        gold = ("--conllu", tmp_path / "corpus.conllu")
        arguments = ("--num-draws", 2, *gold, *options, "-o", out)
        result = arborand("show", tmp_path / "scores.npz", *arguments)
        assert result.status == status, result.err
        if status:
            return re.sub(r"[^\S ]*\n\s*|│", " ", result.err)
        text = out.read_text(encoding="utf-8")
        said = re.search(r'<p class="selection">(.*?)</p>', text)
        return re.findall(r"<h2.*?><bdi>(.*?)</bdi>", text), said and said[1]

    return shown


def measures(corpus):
    """Compute what sentences are sorted by, in the library."""
    for sent_id, matrix in zip(corpus.sent_ids, corpus.matrices, strict=True):
        trees = DependencyTrees(matrix)
        chain = np.arange(-1, len(matrix) - 1)
        yield (
            sent_id,
            {
                "entropy": float(trees.entropy()),
                "length": len(matrix) - 1,
                "disagreement": int((trees.best_tree() != chain).sum()),
            },
        )


@pytest.mark.parametrize(
    ("order", "words"),
    [
        ("entropy", "the most uncertain first"),
        ("length", "the longest first"),
        ("disagreement", "those whose best tree differs most from the gold tree first"),
    ],
)
def test_sentences_are_sorted(show, corpus, order, words):
    known = dict(measures(corpus))
    # Of equals, the first in the file comes first.
    expected = sorted(known, key=lambda sent_id: -known[sent_id][order])
    assert show("--sort", order, "--max-sentences", 7) == (
        expected[:7],
        f"7 of 30 sentences, {words}",
    )
    assert show("--sort", order, "--max-sentences", 99)[0] == expected


def test_the_order_of_the_file_needs_no_words_unless_some_are_left_out(show, corpus):
    assert show("--max-sentences", 30) == (corpus.sent_ids, None)
    assert show("--max-sentences", 3) == (
        corpus.sent_ids[:3],
        "3 of 30 sentences, in the order of the file",
    )


def test_sentences_are_filtered(show, corpus):
    known = dict(measures(corpus))
    short = [s for s, m in known.items() if m["length"] <= 5]
    assert 3 < len(short) < 25
    everything = ("--max-sentences", 99)
    assert show("--filter", "length <= 5", *everything) == (
        short,
        f"{len(short)} of {len(short)} sentences with length &lt;= 5, in the order of the file",
    )
    both = [s for s in short if known[s]["entropy"] > 1.0]
    assert 0 < len(both) < len(short)
    found, said = show("--filter", "length<=5", "--filter", "entropy>1", *everything)
    assert found == both
    assert "length &lt;= 5 and entropy &gt; 1" in said
    wrong = [s for s, m in known.items() if m["disagreement"] == 2]
    assert show("--filter", "disagreement = 2", *everything)[0] == wrong
    found, said = show("--filter", "word = W9", "--sort", "length", "--max-sentences", 2)
    long = sorted((s for s in known if known[s]["length"] >= 9), key=lambda s: -known[s]["length"])
    assert found == long[:2]
    assert said == f"2 of {len(long)} sentences with word = W9, the longest first"
    assert show("--filter", "length > 1000") == (
        [],
        "0 of 0 sentences with length &gt; 1000, in the order of the file",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--filter", "lenght > 3"), "'lenght > 3' is not a condition"),
        (("--filter", "length"), "'length' is not a condition"),
        (("--filter", "length > x"), "'x' is not a number"),
        (("--filter", "length > nan"), "'nan' is not a number"),
        (("--filter", "word > x"), "a word can only be compared by ="),
        (("--filter", "word == x"), "'word == x' is not a condition"),
    ],
)
def test_what_cannot_be_asked_for_is_said(show, options, message):
    assert message in re.sub(r"\s+", " ", show(*options, status=2))


def test_disagreement_needs_gold(arborand, tmp_path):
    for options in (("--sort", "disagreement"), ("--filter", "disagreement > 1")):
        result = arborand("show", SCORES, *options, "-o", tmp_path / "p.html")
        assert result.status == 2
        assert "gold trees" in result.err


def test_sentences_without_gold_come_last_in_disagreement(show, corpus, tmp_path):
    path = tmp_path / "corpus.conllu"
    blocks = path.read_text().split("\n\n")
    # The first of all would be the longest: take its heads away.
    first = show("--sort", "disagreement", "--max-sentences", 1)[0][0]
    number = corpus.sent_ids.index(first)
    blocks[number] = re.sub(r"\t\d+\tdep", "\t_\tdep", blocks[number])
    path.write_text("\n\n".join(blocks))
    assert show("--sort", "disagreement", "--max-sentences", 99)[0][-1] == first


def test_faulty_sentences_are_skipped_while_sorting(arborand, corpus, tmp_path):
    corpus.matrices[4][:, 1] = np.nan
    corpus.save(tmp_path / "scores.npz")
    options = ("--sort", "entropy", "--num-draws", 2, "-o", tmp_path / "page.html")
    result = arborand("show", tmp_path / "scores.npz", *options)
    assert result.status == 1
    assert "s-4" in result.err
    result = arborand("show", tmp_path / "scores.npz", *options, "--on-error", "skip")
    assert result.status == 0
    assert result.err.count("s-4") == 1


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_a_diagram_of_a_skipped_sentence_is_an_error(arborand, corpus, tmp_path, ending):
    corpus.matrices[4][:, 1] = np.nan
    corpus.save(tmp_path / "scores.npz")
    out = tmp_path / f"x.{ending}"
    skip = ("--sent-id", "s-4", "--on-error", "skip", "-o", out)
    result = arborand("show", tmp_path / "scores.npz", *skip)
    assert result.status == 1
    assert "there is nothing to draw: s-4: log_weights[0, 1] is nan" in " ".join(result.err.split())
    assert result.out == b""
    assert not out.exists()
    none = ("--sent-id", "s-3", "--filter", "length > 1000", "-o", out)
    result = arborand("show", tmp_path / "scores.npz", *none)
    assert result.status == 1
    assert "there is nothing to draw: no sentence meets the conditions" in result.err


def test_the_page_has_the_text_labels_and_gold_of_the_corpus(arborand, tmp_path):
    out = tmp_path / "page.html"
    options = ("--conllu", CONLLU, "--sent-id", "en-1", "-o", out)
    assert arborand("show", SCORES, *options).status == 0
    text = out.read_text(encoding="utf-8")
    assert '<p class="text">She painted the boat in the harbour with a small brush.</p>' in text
    data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', text)[1])
    assert data["upos"][:3] == ["PRON", "VERB", "DET"]
    assert data["deprel"][:3] == ["nsubj", "root", "det"]
    assert data["gold"] == [-1, 2, 0, 4, 2, 7, 7, 4, 11, 11, 11, 2, 2]
    # Heads that are kept are no gold to compare with.
    assert arborand("show", SCORES, *options, "--keep-heads").status == 0
    assert '"gold":' not in out.read_text(encoding="utf-8")


def test_the_command_of_a_page_reads_the_same_sentences(arborand, tmp_path):
    out, gold = tmp_path / "page.html", ("--conllu", CONLLU)
    ids = ("--sent-id", "en-1", "--sent-id", "en-2")
    others = ("--trees", "spanning", "--projective", "--weights", "--orientation", "dependent,head")
    for options, expected in (
        ((), ("--trees", "dependency")),
        (gold, (*gold, "--trees", "dependency")),
        ((*gold, "--keep-heads", *ids), (*gold, "--keep-heads", "--trees", "dependency", *ids)),
        (others, others),
    ):
        arborand("show", SCORES, *options, "--max-sentences", 2, "-o", out, "--on-error", "skip")
        text = out.read_text(encoding="utf-8")
        command = html.unescape(re.search(r'data-command="([^"]*)"', text)[1])
        assert shlex.split(command) == ["arborand", "best", str(SCORES), *map(str, expected)]


def test_a_page_can_do_without_the_scores(arborand, tmp_path):
    out = tmp_path / "page.html"
    assert arborand("show", SCORES, "--no-explore", "-o", out).status == 0
    text = out.read_text(encoding="utf-8")
    assert '"scores":' not in text.partition("<script>")[0]
    assert "made without the scores" in text
    assert arborand("show", SCORES, "-o", out).status == 0
    assert '"scores":' in out.read_text(encoding="utf-8").partition("<script>")[0]


# ---- diagrams of one sentence


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_a_diagram_of_several_sentences_asks_which(arborand, tmp_path, ending):
    out = tmp_path / f"x.{ending}"
    for options in ((), ("--sent-id", "en-1", "--sent-id", "en-2")):
        result = arborand("show", SCORES, *options, "-o", out)
        assert result.status == 2
        message = re.sub(r"[\s│]+", " ", result.err)
        assert f"a .{ending} shows one sentence, and sentences.npz has 12" in message
        assert "--sent-id" in message
    assert list(tmp_path.iterdir()) == []
    np.savez(tmp_path / "one.npz", lengths=[2], scores=np.zeros(9))
    if ending == "svg":
        assert arborand("show", tmp_path / "one.npz", "-o", out).status == 0
        assert out.read_bytes().startswith(b"<svg")


HEADS = {"png": b"\x89PNG\r\n\x1a\n", "pdf": b"%PDF"}


@pytest.mark.parametrize("ending", ["png", "pdf"])
def test_diagrams_are_written_as_png_and_pdf(arborand, tmp_path, ending):
    out = tmp_path / f"x.{ending}"
    options = ("--conllu", CONLLU, "--sent-id", "en-2", "-o", out)
    result = arborand("show", SCORES, *options)
    assert (result.status, result.err) == (0, "")
    content = out.read_bytes()
    assert content.startswith(HEADS[ending])
    if ending == "png":
        assert arborand("show", SCORES, *options[:-1], tmp_path / "x.svg").status == 0
        svg = (tmp_path / "x.svg").read_text(encoding="utf-8")
        size = [
            int(re.search(rf'<svg[^>]* {side}="(\d+)"', svg)[1]) for side in ("width", "height")
        ]
        assert [int.from_bytes(content[at : at + 4]) for at in (16, 20)] == [2 * s for s in size]


def test_without_what_draws_figures_it_is_said_what_to_install(arborand, tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "find_spec", lambda name: None)
    for arguments in (
        ("show", SCORES, "--sent-id", "en-2", "-o", tmp_path / "x.png"),
        ("illustrate", SCORES, "--sent-id", "fi-1", "--also", "pdf", "-o", tmp_path / "folder"),
    ):
        result = arborand(*arguments)
        assert result.status == 1
        assert "pip install 'arborand[plot]'" in result.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("svg", "kind", "message"),
    [
        ("<svg", "png", "svg cannot be drawn: the document does not have a root node$"),
        ("<p/>", "pdf", "svg cannot be drawn: "),
        ('<svg xmlns="http://www.w3.org/2000/svg"/>', "gif", "kind"),
    ],
)
def test_what_cannot_be_drawn_is_refused(svg, kind, message):
    with pytest.raises(ValueError if kind == "gif" else figures.FigureError, match=message):
        figures.figure(svg, kind)


@pytest.mark.slow
def test_illustrations_are_written_as_png_too(arborand, tmp_path):
    options = ("--sent-id", "fi-1", "--also", "png", "-o", tmp_path)
    assert arborand("illustrate", SCORES, "--conllu", CONLLU, *options).status == 0
    for path in tmp_path.glob("*.svg"):
        assert path.with_suffix(".png").read_bytes().startswith(HEADS["png"])
    assert len(list(tmp_path.glob("*.png"))) == 4


@pytest.mark.slow
def test_figures_look_as_in_a_browser(tmp_path, browser):
    """Compare where there is ink: lines, marks and letters are at the same places."""
    matplotlib_image = pytest.importorskip("matplotlib.image")
    from arborand.pictures import arc_diagram, maze

    marginals = DependencyTrees(random_corpus(1, seed=2).matrices[0]).arc_marginals()
    tokens = [f"w{i}" for i in range(1, len(marginals))]
    page, shot, drawn = (tmp_path / name for name in ("x.html", "shot.png", "drawn.png"))
    for svg in (arc_diagram(tokens, marginals=marginals), maze(6, 8, rng=0)):
        page.write_text(f"<style>body{{margin:0}}svg{{display:block}}</style>{svg}")
        browser.open(page)
        browser.screenshot(shot)
        drawn.write_bytes(figures.figure(svg, "png"))
        inks = []
        for path, block in ((shot, 4), (drawn, 8)):
            dark = 1.0 - matplotlib_image.imread(path)[:, :, :3].mean(axis=2)
            height, width = (side // block for side in dark.shape)
            blocks = dark[: height * block, : width * block]
            inks.append(blocks.reshape(height, block, width, block).mean(axis=(1, 3)))
        seen, ink = inks
        seen = seen[: ink.shape[0], : ink.shape[1]]
        # Fonts differ a little, lines do not.
        assert np.corrcoef(seen.ravel(), ink.ravel())[0, 1] > 0.9
