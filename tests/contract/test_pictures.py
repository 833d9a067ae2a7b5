"""Pictures: what is drawn is what the distribution says, and nothing in a word can break the page.

What needs eyes is in test_pictures_in_browser.py; here the markup is read as markup.
"""

import base64
import dataclasses
import hashlib
import html
import json
import math
import re
import subprocess
import sys
import weakref
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from itertools import pairwise, permutations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from arborand import DependencyTrees, InvalidTreeError, NoTreeError, SpanningTrees
from arborand.enumeration import tree_law
from arborand.paper import reference
from arborand.paper.illustrations import conditioning_steps, loop_erased_walk
from arborand.paper.illustrations.graph_drawing import GraphDrawing
from arborand.pictures import (
    Display,
    Picture,
    arc_diagram,
    arc_text,
    coverage_plot,
    distribution_html,
    draws_html,
    page,
)
from arborand.pictures.markup import percent
from arborand.pictures.plots import wilson_interval
from tests import random_graphs

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "<script>window.pwned=1</script>",
    '"><img src=x onerror="window.pwned=1">',
    "'onload='window.pwned=1",
    "&lt;",
    "a\x00b\x1b\ud800",
    "</svg></main></body>",
]


def scores(num_words, seed=0, spread=1.5):
    return np.random.default_rng(seed).normal(0.0, spread, (num_words + 1, num_words + 1))


def picture(num_words=5, seed=0, k=20, kind=DependencyTrees, tokens=None, sent_id="s"):
    trees = kind(scores(num_words, seed))
    tokens = tokens or [f"w{i}" for i in range(1, num_words + 1)]
    draws = trees.sample_without_replacement(k, rng=seed)
    return Picture(trees, tokens, sent_id, draws, trees.arc_marginals())


def arcs_of(svg):
    """Read a diagram: {(head, dependent): (role, opacity)}."""
    found = {}
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        kind, _, role = group.get("class", "").partition(" ")
        if kind == "arc":
            arc = tuple(map(int, group.get("data-arc").split("-")))
            assert arc not in found
            found[arc] = (role, float(group.get("opacity")))
    return found


def words_of(svg):
    """Read a diagram: its words from left to right, with their places."""
    texts = [t for t in ElementTree.fromstring(svg).iter(f"{SVG}text") if t.get("class") == "form"]
    return sorted((float(text.get("x")), text.text) for text in texts)


class Reader(HTMLParser):
    """Checks that elements are closed in the order they were opened, and collects them."""

    VOID = frozenset({"meta", "link", "br", "input"})

    def __init__(self, document):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.text = [], [], []
        self.feed(document)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def all(self, tag, kind=None):
        return [
            a for t, a in self.elements if t == tag and (kind is None or a.get("class") == kind)
        ]


# ---- arcs


def test_a_diagram_has_the_arcs_of_its_tree_and_no_others():
    heads = [-1, 2, 0, 2, 5, 3]
    found = arcs_of(arc_diagram(list("abcde"), heads))
    assert found == {(h, d): ("tree", 1.0) for d, h in enumerate(heads) if d}


def test_arcs_are_the_more_opaque_the_more_probable_they_are():
    marginals = SpanningTrees(scores(6)).arc_marginals()
    found = arcs_of(arc_diagram(list("abcdef"), marginals=marginals, threshold=0.02))
    expected = {tuple(arc) for arc in np.argwhere(marginals >= 0.02).tolist()}
    assert set(found) == expected
    assert len(expected) > 10
    ordered = sorted(found, key=lambda arc: marginals[arc])
    opacities = [found[arc][1] for arc in ordered]
    assert opacities == sorted(opacities)
    assert opacities[-1] > 2 * opacities[0] > 0.2
    assert {role for role, _ in found.values()} == {"candidate"}


def test_a_tree_is_drawn_in_full_however_improbable():
    trees = DependencyTrees(scores(5, spread=8.0))
    marginals = trees.arc_marginals()
    heads = np.array([-1, 0, 1, 2, 3, 4])
    assert min(marginals[h, d] for d, h in enumerate(heads) if d) < 0.01
    found = arcs_of(arc_diagram(list("abcde"), heads, marginals))
    assert all(found[h, d] == ("tree", 1.0) for d, h in enumerate(heads.tolist()) if d)


def test_what_another_tree_has_not_is_told_apart_without_colour_too():
    svg = arc_diagram(list("abc"), [-1, 2, 0, 2], compare_to=[-1, 2, 0, 1])
    assert {arc: role for arc, (role, _) in arcs_of(svg).items()} == {
        (2, 1): "tree",
        (0, 2): "tree",
        (2, 3): "other",
    }
    dashed = [
        group.get("data-arc")
        for group in ElementTree.fromstring(svg).iter(f"{SVG}g")
        for path in group.findall(f"{SVG}path")
        if path.get("stroke-dasharray")
    ]
    assert dashed == ["2-3"]


@pytest.mark.parametrize(("letters", "unit"), [(1, ""), (8, " nats")])
def test_uncertain_words_are_marked_with_the_entropy_of_their_head(letters, unit):
    """With its unit, unless the words are too narrow: their marks would run together."""
    marginals = DependencyTrees(scores(7, spread=9.0)).arc_marginals()
    entropies = scipy.stats.entropy(marginals[:, 1:])
    assert entropies.min() < 0.2 < entropies.max()
    svg = arc_diagram([letters * letter for letter in "abcdefg"], marginals=marginals)
    marked = {}
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        if group.get("class") == "word":
            texts = {t.get("class"): t.text for t in group.findall(f"{SVG}text")}
            assert (group.find(f"{SVG}rect") is not None) == ("entropy" in texts)
            marked[int(group.get("data-word"))] = texts.get("entropy")
    expected = {j + 1: f"{e:.1f}{unit}" if e >= 0.2 else None for j, e in enumerate(entropies)}
    assert marked == expected


def test_words_stand_in_the_order_of_reading():
    assert [w for _, w in words_of(arc_diagram(["One", "two", "."]))] == ["One", "two", "."]
    arabic = ["قرأت", "الطالبة", "الكتاب", "."]
    assert [w for _, w in words_of(arc_diagram(arabic))] == arabic[::-1]
    assert [w for _, w in words_of(arc_diagram(["a", "b"], right_to_left=True))] == ["b", "a"]
    assert [w for _, w in words_of(arc_diagram(arabic, right_to_left=False))] == arabic


def test_wide_scripts_get_more_room():
    def gaps(tokens):
        places = [x for x, _ in words_of(arc_diagram(tokens))]
        return np.diff(places)

    assert gaps(["漢字漢字", "漢字漢字"])[0] > 1.4 * gaps(["abcd", "abcd"])[0]
    # Accents that are characters of their own take none.
    assert gaps(["e\u0301" * 9, "x"])[0] == gaps(["e" * 9, "x"])[0]


def test_hostile_words_are_words():
    svg = arc_diagram(HOSTILE, marginals=DependencyTrees(scores(len(HOSTILE))).arc_marginals())
    tree = ElementTree.fromstring(svg.encode())  # well-formed, and can be written
    assert {e.tag.removeprefix(SVG) for e in tree.iter()} == {
        "svg", "style", "rect", "g", "path", "text", "title",
    }  # fmt: skip
    shown = [text for _, text in words_of(svg)]
    assert shown[0] == "<script>window.pwned=1</scr…"
    assert shown[3:5] == ["&lt;", "a\ufffdb\ufffd\ufffd"]
    # What a long word loses to the picture is still in its title.
    assert any(HOSTILE[1] in (title.text or "") for title in tree.iter(f"{SVG}title"))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"heads": [-1, 0]}, InvalidTreeError, r"heads has shape \(2,\), but there are 2 tokens"),
        ({"heads": [-1, 2, 1]}, InvalidTreeError, "cycle"),
        ({"heads": [-1, 0, 1], "compare_to": [-1]}, InvalidTreeError, "compare_to has shape"),
        ({"heads": [-1, 0, 1], "compare_to": [-1, 2, 1]}, InvalidTreeError, "^compare_to is not"),
        ({"marginals": np.zeros((2, 2))}, ValueError, r"marginals has shape \(2, 2\)"),
        ({"marginals": np.full((3, 3), 2.0)}, ValueError, "not probabilities"),
        ({"marginals": np.full((3, 3), np.nan)}, ValueError, "not probabilities"),
    ],
)
def test_bad_arguments_of_diagrams_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        arc_diagram(["a", "b"], **arguments)


# ---- numbers


@pytest.mark.parametrize(
    ("probability", "words"),
    [
        (0.0, "0 %"),
        (1.0, "100 %"),
        (0.43210, "43.2 %"),
        (0.9994, "99.9 %"),
        (0.99951, "> 99.9 %"),
        (1 - 1e-16, "> 99.9 %"),
        (0.00312, "0.3 %"),
        (0.000312, "1 in 3,200"),
        (0.00099999, "1 in 1,000"),
        (9.96e-8, "1 in 10 million"),
        (2.1e-9, "1 in 480 million"),
        (1.01e-9, "1 in 990 million"),
        (1.0000001e-9, "1 in 10⁹"),
        (4.9e-200, "1 in 2 \u00d7 10¹⁹⁹"),
        (5e-324, "1 in 10³⁰⁸ or more"),
    ],
)
def test_probabilities_are_written_so_that_none_looks_like_0_or_1(probability, words):
    assert percent(probability).replace("\xa0", " ") == words


def test_the_plot_rises_to_what_the_trees_cover():
    probabilities = np.array([0.2, 0.4, 0.1])

    def heights(svg):
        paths = ElementTree.fromstring(svg).iter(f"{SVG}path")
        line = next(path.get("d") for path in paths if path.get("class") == "line")
        ground = float(line.split("V")[0].split()[-1])
        return ground - np.array([float(v) for v in re.findall(r"V([\d.]+)", line)])

    full = heights(coverage_plot(np.log([1.0])))[0]
    np.testing.assert_allclose(
        heights(coverage_plot(np.log(probabilities))) / full, [0.2, 0.6, 0.7], atol=0.002
    )
    # Of a long sentence a draw covers next to nothing: then the scale ends there, and says so.
    little = coverage_plot(np.log(probabilities * 1e-9))
    np.testing.assert_allclose(heights(little) / full, [2 / 7, 6 / 7, 1.0], atol=0.01)
    assert little.replace("\xa0", " ").count("1 in 1.4 \u00d7 10⁹") == 3
    assert "there are no others" in coverage_plot([0.0], exhausted=True)
    assert "0 trees cover" in coverage_plot([])


# ---- the page


def test_a_page_is_written_one_sentence_at_a_time():
    seen, alive = [], []

    def pictures():
        for i in range(5):
            one = picture(sent_id=f"s{i}")
            seen.append(i)
            alive.append(weakref.ref(one))
            yield one
            del one

    chunks = page(pictures(), title="t")
    assert next(chunks).startswith("<!doctype html>")
    assert seen == []
    while len(seen) < 3:
        chunk = next(chunks)
    assert "s2" in chunk
    assert [ref() is None for ref in alive[:2]] == [True, True]


def test_a_page_is_well_formed_and_has_what_it_should():
    pictures = [picture(n, seed=n, sent_id=f"s-{n}") for n in (1, 2, 6)]
    document = "".join(page(pictures, title="A & B", num_trees=4, provenance={"seed": "<7>"}))
    reader = Reader(document)
    identifiers = [a["id"] for _, a in reader.elements if "id" in a]
    assert len(identifiers) == len(set(identifiers))
    assert len(reader.all("section")) == 3
    assert {"A & B", "<7>", "s-1", "s-2", "s-6"} <= set(reader.text)
    images = [a for a in reader.all("svg") if "aria-hidden" not in a]
    assert all(a.get("role") == "img" and a["aria-label"] for a in images)
    assert all(a["aria-label"] for a in reader.all("button"))
    assert len(images) == 3
    # One tree, two trees, and the four best of many.
    assert len(reader.all("li", "card")) == 1 + 2 + 4


def data_of(document):
    """Read what the scripts are given, sentence by sentence."""
    blocks = re.findall(r'<script type="application/json">(.*?)</script>', document, re.DOTALL)
    return [json.loads(block) for block in blocks]


def test_the_best_trees_are_shown_in_order_whatever_was_drawn():
    one = picture(6, seed=3, k=2)
    document = "".join(page([one], title="t", num_trees=5))
    best = one.distribution.best_trees(5)
    assert not np.array_equal(best.heads[:2], one.draws.heads)
    (data,) = data_of(document)
    assert data["best"] == best.heads[0].tolist()
    for heads, log_prob, (probability, changes) in zip(
        best.heads, best.log_prob, data["trees"], strict=True
    ):
        again = best.heads[0].copy()
        for word, head in changes:
            again[word] = head
        assert again.tolist() == heads.tolist()
        assert probability == pytest.approx(math.exp(log_prob), rel=1e-5)
    shown = re.findall(r'class="chance">(.*?)<', document)
    assert shown == [percent(math.exp(log_prob)) for log_prob in best.log_prob]
    assert "The best 5 trees" in document
    assert "likeliest tree" not in document


def bare_arcs(document):
    """Count the arcs of the static diagram by role."""
    groups = re.findall(r'<g class="arc (\w+)">(.*?)</g>', document)
    return {role: paths.count("<path") for role, paths in groups}


def test_the_static_diagram_has_the_best_tree_and_all_arcs_that_matter():
    one = picture(7, seed=4, k=1)
    found = bare_arcs("".join(page([one], title="t")))
    best = one.distribution.best_tree()
    others = one.marginals >= 0.1
    others[best[1:], np.arange(1, 8)] = False
    assert found == {"tree": 7, "candidate": int(others.sum())}
    assert found["candidate"] > 3


def test_the_gold_tree_is_compared_with_the_best_and_the_safest():
    plain = picture(7, seed=4)
    trees = plain.distribution
    gold = trees.best_trees(9).heads[8].copy()
    one = dataclasses.replace(
        plain, gold_heads=gold.tolist(), parts_of_speech=list("ABCDEFG"), relations=["<r>"] * 7
    )
    document = "".join(page([one], title="t"))
    Reader(document)
    facts = dict(re.findall(r'data-fact="([\w-]+)"><dt>[^<]*</dt><dd>([^<]*)</dd>', document))
    assert facts["gold"] == percent(math.exp(trees.log_prob(gold)))
    for name, tree in (("best", trees.best_tree()), ("risk", trees.minimum_risk_tree())):
        right = int((tree == gold)[1:].sum())
        assert facts[f"{name}-right"] == f"{right} of 7 words, {percent(right / 7)}"
    differs = int((trees.best_tree() != gold)[1:].sum())
    assert bare_arcs(document)["gold"] == differs > 0
    assert "&lt;r&gt;" in document
    assert "<r>" not in document
    assert '<div data-fact="gold">' not in page_of(plain)


def page_of(one):
    return "".join(page([one], title="t"))


def test_a_gold_tree_that_cannot_be_has_probability_zero():
    plain = picture(3, seed=1)
    document = page_of(dataclasses.replace(plain, gold_heads=[-1, 0, 0, 1]))
    assert 'data-fact="gold"><dt>the gold tree</dt><dd>0\xa0%' in document


def test_the_running_text_is_that_of_the_corpus():
    plain = picture(3, seed=1, tokens=["do", "n't", "."])
    assert '<p class="text">do n&#x27;t .</p>' in page_of(plain)
    assert '<p class="text">don&#x27;t.</p>' in page_of(dataclasses.replace(plain, text="don't."))


def test_scores_are_in_the_page_exactly_or_not_at_all():
    for matrix in (scores(4), scores(4).astype(np.float32).astype(float)):
        trees = SpanningTrees(matrix)
        draws = trees.sample_without_replacement(3, rng=0)
        one = Picture(trees, list("abcd"), "s", draws, trees.arc_marginals())
        (data,) = data_of(page_of(one))
        kind = {4: "<f4", 8: "<f8"}[data["bytes"]]
        stored = np.frombuffer(base64.b64decode(data["scores"]), kind).astype(float)
        np.testing.assert_array_equal(stored, trees.log_weights.ravel())
        assert data["single"] is False
        (without,) = data_of("".join(page([one], title="t", explore=False)))
        assert "scores" not in without
        assert "without the scores" in without["reason"]
        drawn = {(h, d): p for h, d, p in without["arcs"]}
        assert drawn == {
            tuple(arc): pytest.approx(one.marginals[tuple(arc)], abs=1e-4)
            for arc in np.argwhere(one.marginals >= 0.01).tolist()
        }


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda m: m, None),
        (lambda m: m * (1e6 / np.ptp(m[:, 1:])), None),
        (lambda m: np.where(m > 2.0, -1e9, m), None),
        (lambda m: np.where(m > 2.0, -np.inf, m), None),
        (lambda m: m * 1e7, "more than 1,000,000 apart"),
        (lambda m: np.where(m > 2.0, -1e12, m), "more than 1,000,000 apart"),
    ],
)
def test_exploring_is_off_beyond_what_it_was_tried_on(change, reason):
    trees = SpanningTrees(change(scores(6)))
    draws = trees.sample_without_replacement(3, rng=0)
    one = Picture(trees, list("abcdef"), "s", draws, trees.arc_marginals())
    (data,) = data_of(page_of(one))
    assert (reason or "None") in str(data.get("reason"))
    assert ("scores" in data) == (reason is None)


def test_sentences_of_more_than_200_words_are_not_explored():
    for num_words, is_explored in ((200, True), (201, False)):
        one = picture(num_words, k=2)
        (data,) = data_of(page_of(one))
        assert ("scores" in data) == is_explored
        assert ("201 words, and the limit is 200" in data.get("reason", "")) != is_explored


def test_a_sentence_of_a_padded_batch_looks_like_itself():
    matrix = scores(4)
    batch = np.full((2, 8, 8), 0.0)
    batch[1, :5, :5] = matrix
    padded = DependencyTrees(batch, lengths=[7, 4])[1]
    alone = DependencyTrees(matrix)

    def document(trees):
        draws = trees.sample_without_replacement(5, rng=0)
        return "".join(
            page([Picture(trees, list("abcd"), "s", draws, trees.arc_marginals())], title="t")
        )

    assert document(padded) == document(alone)


def test_nothing_is_loaded_and_only_the_one_script_may_run():
    document = "".join(page([picture(tokens=HOSTILE[:5], sent_id=HOSTILE[0])], title=HOSTILE[5]))
    reader = Reader(document)
    kinds = [a.get("type") for a in reader.all("script")]
    # Data, which no browser runs: of the sentence, and the corpus; and the script.
    assert kinds == ["application/json", "application/json", None]
    script = document.rpartition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = next(a["content"] for a in reader.all("meta") if "http-equiv" in a)
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    for tag, attributes in reader.elements:
        assert tag not in ("img", "iframe", "object", "embed", "base")
        assert not any(name.startswith("on") or name == "src" for name in attributes)
        assert attributes.get("href", "#").startswith(("#", "data:,"))
    assert not re.search(r"@import|url\(", document)


def test_a_page_without_trees_says_so():
    document = "".join(page([picture(k=0)], title="t", num_trees=0))
    Reader(document)
    assert "No trees were requested" in document


def test_pictures_that_do_not_fit_together_are_refused():
    one, other = picture(3), picture(4)
    parts = (one.distribution, one.tokens, "s-9", one.draws, one.marginals)

    def changed(index, value):
        return Picture(*parts[:index], value, *parts[index + 1 :])

    with pytest.raises(
        ValueError, match=r"tokens has 4 words, but the distribution of 's-9' has 3"
    ):
        changed(1, other.tokens)
    with pytest.raises(ValueError, match="draws has heads of shape"):
        changed(3, other.draws)
    with pytest.raises(ValueError, match="marginals has shape"):
        changed(4, other.marginals)
    with pytest.raises(ValueError, match="is a batch of shape"):
        changed(0, DependencyTrees(np.zeros((2, 4, 4))))
    with pytest.raises(InvalidTreeError, match="gold_heads has shape"):
        dataclasses.replace(one, gold_heads=[-1, 0])
    with pytest.raises(InvalidTreeError, match=r"^gold_heads is not a tree: .* cycle"):
        dataclasses.replace(one, gold_heads=[-1, 2, 1, 0])
    with pytest.raises(ValueError, match="relations has 1 entries, but 's' has 3 words"):
        dataclasses.replace(one, relations=["x"])


# ---- notebooks


def test_a_notebook_shows_a_distribution_and_its_draws():
    trees = DependencyTrees(scores(5))
    shown = distribution_html(trees)
    Reader(shown)
    assert f"{float(trees.log_partition()):.4f}" in shown
    assert f"{float(trees.entropy()):.3f} nats" in shown
    svg = re.search(r"<svg.*</svg>", shown)[0]
    marginals = trees.arc_marginals()
    assert set(arcs_of(svg)) == {tuple(arc) for arc in np.argwhere(marginals >= 0.01).tolist()}

    draws = trees.sample_without_replacement(15, rng=0)
    shown = draws_html(draws)
    Reader(shown)
    assert "15 distinct trees" in shown
    assert "and 5 more" in shown
    diagrams = re.findall(r"<svg.*?</svg>", shown)
    assert len(diagrams) == 10
    for heads, svg in zip(draws.heads.tolist(), diagrams, strict=False):
        assert set(arcs_of(svg)) == {(h, d) for d, h in enumerate(heads) if d}
    everything = draws_html(DependencyTrees(scores(2)).sample_without_replacement(9, rng=0))
    assert "2 distinct trees, 100\xa0% of the probability; there are no others" in everything


def test_a_notebook_shows_batches_briefly_and_large_graphs_cheaply():
    batch = DependencyTrees(np.zeros((3, 7, 4, 4)))
    shown = distribution_html(batch)
    Reader(shown)
    assert shown.count("<tr>") == 11
    assert "and 11 more" in shown
    shown = draws_html(batch.sample_without_replacement(100, rng=0))
    Reader(shown)
    assert "9 to 9 distinct trees for each of 21 graphs; 21 have no more" in shown
    large = distribution_html(SpanningTrees(np.zeros((302, 302))))
    assert "SpanningTrees(301 words, 90601 arcs)" in large
    assert "log Z" not in large
    long = distribution_html(SpanningTrees(random_graphs.one_tree(1, 61, 3.0)))
    assert long.count('class="form"') == 61


def test_a_notebook_shows_words_alive_where_scripts_run_and_as_a_picture_elsewhere():
    trees = DependencyTrees(scores(len(HOSTILE)))
    shown = Display(trees, HOSTILE)._repr_html_()
    still, _, live = shown.partition("<iframe")
    Reader(still.partition('<div class="arborand-display"><div>')[2].removesuffix("</div>"))
    drawn = [text for _, text in words_of(re.search(r"<svg.*</svg>", still)[0])]
    assert drawn[0] == "<script>window.pwned=1</scr…"
    assert "<script" not in shown  # the page in the frame is an attribute, escaped
    document = html.unescape(re.search(r'srcdoc="([^"]*)"', live)[1])
    assert document.startswith("<!doctype html>")
    assert 'sandbox="allow-scripts allow-downloads"' in live
    with pytest.raises(ValueError, match="words has 2 words, but the graph has 3"):
        Display(DependencyTrees(scores(3)), ["a", "b"])
    with pytest.raises(TypeError, match="index it first"):
        Display(DependencyTrees(np.zeros((2, 4, 4))))
    longest = Display(SpanningTrees(random_graphs.one_tree(1, 201, 3.0)))._repr_html_()
    assert "<iframe" not in longest
    assert longest.count('class="form"') == 201


def test_entropies_of_neighbours_do_not_touch():
    shown = distribution_html(DependencyTrees(np.zeros((9, 9))))
    texts = re.findall(r'<text class="entropy"[^>]*>([^<]*)<', shown)
    assert texts == ["2.1"] * 8  # numbers are narrow: there is no room for the unit


# ---- terminals


def read_arcs(drawing, tokens):
    """Follow each line from its tip back to its beginning, and return heads."""
    *lines, words = drawing.splitlines()
    lines = [line.ljust(len(words) + 4) for line in lines]
    middles, at = [], 0
    for token in tokens:
        at = words.index(token, at)
        middles.append(at + (len(token) - 1) // 2)
        at += len(token)
    heads = [-1]
    for middle in middles:
        row = len(lines) - 1
        assert lines[row][middle] == "▾"
        while row > 0 and lines[row - 1][middle] in "│┼":
            row -= 1
        if row == 0 or lines[row - 1][middle] not in "┌┐":
            heads.append(0)
            continue
        row, column = row - 1, middle
        step = 1 if lines[row][column] == "┌" else -1
        column += step
        while lines[row][column] in "─┼":
            column += step
        assert lines[row][column] in ("┐┤" if step > 0 else "┌├")
        heads.append(middles.index(column + step) + 1)
    return heads


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.integers(1, 12), st.integers(0, 2**32 - 1), st.booleans())
def test_a_tree_can_be_read_back_from_its_drawing_in_characters(num_words, seed, single_root):
    kind = DependencyTrees if single_root else SpanningTrees
    heads = kind(np.zeros((num_words + 1, num_words + 1))).sample(rng=seed)
    tokens = [f"{'x' * (1 + (seed >> i) % 5)}{chr(97 + i)}" for i in range(num_words)]
    drawing = arc_text(tokens, heads)
    assert read_arcs(drawing, tokens) == heads.tolist()
    assert all(line == line.rstrip() for line in drawing.splitlines())


def test_wide_characters_take_two_columns_of_a_terminal():
    narrow = arc_text(["aaaa", "bb"], [-1, 0, 1]).splitlines()
    wide = arc_text(["漢字", "か"], [-1, 0, 1]).splitlines()
    assert narrow[:-1] == wide[:-1]


@pytest.mark.parametrize("draw", [arc_text, arc_diagram])
def test_a_text_must_be_split_into_words(draw):
    with pytest.raises(TypeError, match="tokens is the string 'a b': pass a list of words"):
        draw("a b", [-1, 0, 1])


# ---- the paper's illustrations


@pytest.mark.parametrize("seed", range(25))
def test_walks_are_those_of_the_papers_algorithm(seed):
    matrix = scores(6, seed)
    run = loop_erased_walk(matrix, rng=np.random.default_rng(seed))
    expected = reference.wilson(np.exp(matrix), np.random.default_rng(seed))
    np.testing.assert_array_equal(run.heads, expected)
    assert math.isclose(run.log_prob, float(SpanningTrees(matrix).log_prob(expected)))


def erase_loops(path):
    """Erase cycles in the order in which they arise: an independent way to what remains."""
    kept = []
    for node in path:
        if node in kept:
            del kept[kept.index(node) :]
        kept.append(node)
    return tuple(kept)


def test_cycles_are_erased_as_they_close():
    num_cycles, num_nested = 0, 0
    for seed in range(40):
        matrix = scores(5, seed)
        matrix[0] -= 1.0  # for longer walks
        run = loop_erased_walk(matrix, rng=seed)
        weights = np.exp(matrix)
        np.fill_diagonal(weights, 0.0)
        tree = {0}
        for walk in run.walks:
            assert walk.path[-1] in tree
            assert not tree & set(walk.path[:-1])
            for (here, there), chance in zip(pairwise(walk.path), walk.chances, strict=True):
                assert math.isclose(chance, weights[there, here] / weights[:, here].sum())
            for begin, end in walk.cycles:
                assert walk.path[begin - 1] == walk.path[end]
                within = [(b, e) for b, e in walk.cycles if begin <= b and e < end]
                num_nested += len(within)
                # Without the cycles that lie in it, a cycle visits no node twice.
                nodes = [
                    walk.path[position]
                    for position in range(begin, end + 1)
                    if not any(b <= position <= e for b, e in within)
                ]
                assert len(nodes) == len(set(nodes))
            num_cycles += len(walk.cycles)
            assert walk.remaining == erase_loops(walk.path)
            assert all(run.heads[j] == i for j, i in pairwise(walk.remaining))
            tree.update(walk.remaining)
        assert tree == set(range(6))
    assert num_cycles > 40
    assert num_nested > 10


def test_the_picture_of_a_walk_shows_every_visit_and_every_cycle():
    matrix = scores(5, 5)
    matrix[0] -= 1.0
    run = loop_erased_walk(matrix, rng=0, labels=["<a>", "b", "c", "d", "e"])
    tree = ElementTree.fromstring(run.svg)
    kinds = [group.get("class") for group in tree.iter(f"{SVG}g")]
    visits = [node for walk in run.walks for node in walk.path]
    remaining = [node for walk in run.walks if walk.cycles for node in walk.remaining]
    assert sum(kind is not None and kind.startswith("node") for kind in kinds) == (
        len(visits) + len(remaining) + 6  # and the tree at the end
    )
    erased = sum(len(walk.path) - len(walk.remaining) for walk in run.walks)
    assert kinds.count("node gone") == erased > 0
    assert kinds.count("line drawn") == 5
    assert len([r for r in tree.iter(f"{SVG}rect") if r.get("class") == "cycle"]) == sum(
        len(walk.cycles) for walk in run.walks
    )
    texts = [text.text for text in tree.iter(f"{SVG}text")]
    assert "<a>" in texts
    document = Reader(run.html)
    # The beginning, each step, and the end.
    assert len(document.all("li", "step")) == 2 + sum(len(walk.chances) for walk in run.walks)
    assert " is erased." in "".join(document.text)
    assert run._repr_html_() == run.svg


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_conditioning_follows_the_ancestral_sampler(single_root, seed):
    matrix = scores(4, seed)
    kind = DependencyTrees if single_root else SpanningTrees
    run = conditioning_steps(matrix, rng=seed, single_root=single_root)
    trees = kind(matrix)
    np.testing.assert_array_equal(run.heads, trees.sample(method="colbourn", rng=seed))
    assert math.isclose(math.exp(run.log_prob), run.conditionals.prod(), rel_tol=1e-12)
    assert math.isclose(run.log_prob, float(trees.log_prob(run.heads)), rel_tol=1e-12)
    # The conditional probabilities, from the list of all trees.
    listed, probabilities = tree_law(matrix, single_root=single_root)
    for k in range(5):
        given = (listed[:, 1 : k + 1] == run.heads[1 : k + 1]).all(axis=1)
        for dependent in range(1, 5):
            mass = np.bincount(listed[given, dependent], weights=probabilities[given], minlength=5)
            np.testing.assert_allclose(
                run.marginals[k][:, dependent], mass / mass.sum(), rtol=1e-10, atol=1e-15
            )


def test_panels_show_candidates_dashed_and_drawn_arcs_solid():
    run = conditioning_steps(scores(4, 2), rng=1, single_root=True)
    tree = ElementTree.fromstring(run.svg)
    panels = [group for group in tree.findall(f"{SVG}g") if group.get("transform")]
    assert len(panels) == 5
    for k, panel in enumerate(panels):
        lines = {}
        for group in panel.iter(f"{SVG}g"):
            kind, _, role = group.get("class", "").partition(" ")
            if kind == "line":
                dashes = group.find(f"{SVG}path").get("stroke-dasharray")
                lines.setdefault(role, []).append(dashes is not None)
        possible = run.marginals[k] > 0
        assert len(lines.get("drawn", [])) == k
        assert not any(lines.get("drawn", []))
        candidates = lines.get("candidate", []) + lines.get("chosen", [])
        assert len(candidates) == (possible[:, k + 1].sum() if k < 4 else 0)
        assert all(candidates)
        assert len(lines.get("chosen", [])) == (k < 4)
        assert len(lines.get("faint", [])) == possible[:, k + 2 :].sum()
        labels = {t.text.replace("\u202f", " ") for t in panel.iter(f"{SVG}text")}
        for chance in run.marginals[k][possible[:, k + 1], k + 1] if k < 4 else []:
            written = f"{100 * chance:.0f} %" if 0.01 <= chance <= 0.99 else " %"
            assert any(written in label for label in labels)
    document = Reader(run.html)
    assert len(document.all("li", "step")) == 5
    assert run._repr_html_() == run.svg


@pytest.mark.parametrize("draw", [loop_erased_walk, conditioning_steps])
def test_illustrations_refuse_what_cannot_be_drawn(draw):
    extra = {} if draw is loop_erased_walk else {"single_root": False}
    with pytest.raises(ValueError, match=r"log_weights has 13 words: .* at most 12"):
        draw(np.zeros((14, 14)), rng=0, **extra)
    with pytest.raises(ValueError, match="labels has 2 names, but log_weights has 3 words"):
        draw(np.zeros((4, 4)), rng=0, labels=["a", "b"], **extra)
    with pytest.raises(ValueError, match="is a batch of shape"):
        draw(np.zeros((2, 4, 4)), rng=0, **extra)
    with pytest.raises(NoTreeError, match="cannot reach"):
        draw(np.full((3, 3), -np.inf), rng=0, **extra)


def test_walks_without_end_are_given_up():
    matrix = np.zeros((4, 4))
    matrix[0] = -20.0
    with pytest.raises(ValueError, match="walks of more than 300 steps"):
        loop_erased_walk(matrix, rng=0)


# ---- what it costs


def test_the_library_does_not_load_pictures_and_pictures_load_nothing_else():
    program = (
        "import sys, arborand\n"
        "assert 'arborand.pictures' not in sys.modules\n"
        "import arborand.pictures\n"
        "files = (getattr(module, '__file__', None) for module in list(sys.modules.values()))\n"
        "found = {path.split('site-packages')[1].split('/')[1] for path in files\n"
        "         if path and 'site-packages' in path}\n"
        "print(sorted(name for name in found if not name.startswith('_')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    # An editable installation keeps arborand itself somewhere else.
    assert done.stdout.strip() in ("['arborand', 'numpy']", "['numpy']")


@pytest.mark.parametrize("straight", [True, False])
@pytest.mark.parametrize("num_words", range(2, 13))
def test_no_arrow_passes_behind_a_node(num_words, straight):
    drawing = GraphDrawing(["root", *map(str, range(1, num_words + 1))])
    for head, word in permutations(range(num_words + 1), 2):
        (x0, y0), (x1, y1), (x2, y2) = drawing._curve(head, word, straight=straight)
        for t in np.linspace(0.0, 1.0, 101):
            a, b, c = (1 - t) ** 2, 2 * t * (1 - t), t * t
            x, y = a * x0 + b * x1 + c * x2, a * y0 + b * y1 + c * y2
            for node, place in enumerate(drawing._places):
                if node not in (head, word):  # a node is a circle of radius 14, stretched
                    beyond = max(0.0, abs(x - place.x) - (place.half_width - 14.0))
                    assert np.hypot(beyond, y - place.y) > 14.0 + 3.0


@pytest.mark.parametrize(("num_right", "count"), [(0, 5), (3, 10), (10, 10), (999, 1000), (1, 1)])
def test_the_interval_of_a_share_ends_where_the_score_test_rejects(num_right, count):
    share, square = num_right / count, 1.959963984540054**2
    for end in wilson_interval(num_right, count):
        assert 0.0 <= end <= 1.0
        assert (share - end) ** 2 == pytest.approx(square * end * (1 - end) / count, abs=1e-12)
