"""Diagrams of the page and of Python have the same coordinates: layout.js in Node, layout.py."""

import numpy as np
import pytest

from arborand import DependencyTrees
from arborand.pictures.arcs import select_arcs
from arborand.pictures.layout import (
    LABEL_SIZE,
    MARGIN,
    ROOT_LABEL,
    ROOT_ROOM,
    ROOT_TOP,
    Layout,
    slots,
)
from arborand.pictures.markup import brief_percent, text_width
from tests import random_graphs

SCRIPTS = ("markup.js", "layout.js")
LAY_OUT = """({ cases, widths }) => cases.map(({ sentence, arcs, room, numRows }) => {
    const words = sentence.tokens.map((_, i) => i + 1);
    const wanted = { words, arcs, room: room ?? Infinity, numRows };
    const found = layout.layOut(sentence, wanted, (text) => widths[text] ?? 60);
    const named = ({ arc, ...rest }) => ({ arc: [arc.head, arc.dependent], ...rest });
    const lines = found.lines.map(({ words, top, rootTop, ground }) =>
        ({ words, top, rootTop, ground }));
    return {
        width: found.width,
        height: found.height,
        lines,
        words: found.words.map(({ word, x, line }) => [word, x, line.ground]),
        arcs: found.arcs.map((arc) => named({ arc, strokes: arc.strokes })),
        labels: found.labels.map(named),
    };
})"""
# Both sides do the same few operations on doubles, in a different order here and there.
CLOSE = {"rtol": 0.0, "atol": 1e-9}


def make_case(seed, num_words, room=None, right_to_left=False, below=0):
    """Make a sentence with words of all lengths, its arcs, and the room that it gets."""
    rng = np.random.default_rng(seed)
    tokens = ["w" + "o" * int(rng.integers(0, 30)) + "rd" for _ in range(num_words)]
    rows = [["NOUN", "a-longer-relation"][row % 2] for row in range(below)]
    trees = DependencyTrees(2.0 * random_graphs.one_tree(seed, num_words, 3.0))
    return {
        "tokens": tokens,
        "slots": [round(slot) for slot in slots(tokens, [[row] * num_words for row in rows])],
        "arcs": select_arcs(trees.best_tree().astype(np.intp), trees.arc_marginals()),
        "right_to_left": right_to_left,
        "num_rows": 1 + below,
        "room": room,
    }


ONE_LINE = [
    make_case(seed, num_words, right_to_left=seed % 3 == 2, below=seed % 3)
    for seed, num_words in enumerate((1, 2, 3, 5, 8, 13, 20, 40, 75, 147))
]
SEVERAL_LINES = [
    make_case(100 + seed, num_words, room, right_to_left=seed % 3 == 2, below=seed % 3)
    for seed, (num_words, room) in enumerate(
        (num_words, room) for room in (1300, 700) for num_words in (20, 30, 45, 75, 147)
    )
]


def lay_out(node, cases):
    widths = {text: text_width(text, LABEL_SIZE) for text in label_texts()}
    sent = [
        {
            "sentence": {
                "tokens": case["tokens"],
                "slots": case["slots"],
                "rtl": case["right_to_left"],
            },
            "arcs": [
                {"head": a.head, "dependent": a.dependent, "p": a.probability, "role": a.role}
                for a in case["arcs"]
            ],
            "room": case["room"],
            "numRows": case["num_rows"],
        }
        for case in cases
    ]
    return node(SCRIPTS, LAY_OUT, {"cases": sent, "widths": widths})


def label_texts():
    return {"root", *(brief_percent(p) for p in np.linspace(0.0, 1.0, 2001).tolist())}


def expected_points(layout, arc):
    """Return the points of an arc as the page has them: those of root arcs are two."""
    points = layout.curve(arc)
    return points if arc.head else (points[0], points[-1])


def test_sentences_on_one_line_have_the_same_coordinates(node):
    num_labels = 0
    for case, found in zip(ONE_LINE, lay_out(node, ONE_LINE), strict=True):
        layout = Layout(case["slots"], case["arcs"], right_to_left=case["right_to_left"])
        assert found["width"] == pytest.approx(layout.width, abs=1e-9)
        assert found["height"] == pytest.approx(layout.height(case["num_rows"]), abs=1e-9)
        assert [word for word, _, _ in found["words"]] == list(range(1, len(case["slots"]) + 1))
        for word, x, ground in found["words"]:
            np.testing.assert_allclose((x, ground), (layout.middles[word], layout.ground), **CLOSE)
        for arc, drawn in zip(case["arcs"], found["arcs"], strict=True):
            (stroke,) = drawn["strokes"]
            assert drawn["arc"] == [arc.head, arc.dependent]
            np.testing.assert_allclose(stroke["points"], expected_points(layout, arc), **CLOSE)
        for label, drawn in zip(layout.labels(), found["labels"], strict=True):
            assert drawn["arc"] == [label.arc.head, label.arc.dependent]
            assert drawn["text"] == label.text
            np.testing.assert_allclose((drawn["x"], drawn["y"]), (label.x, label.y), **CLOSE)
            num_labels += label.arc.head > 0
    assert num_labels > 50


def test_each_line_of_a_broken_sentence_has_the_coordinates_of_its_words_alone(node):
    for case, found in zip(SEVERAL_LINES, lay_out(node, SEVERAL_LINES), strict=True):
        assert len(found["lines"]) > 1
        strokes = {tuple(drawn["arc"]): drawn["strokes"] for drawn in found["arcs"]}
        x_of = {word: x for word, x, _ in found["words"]}
        bottom = 0.0
        for line in found["lines"]:
            first, last = line["words"][0], line["words"][-1]
            inside = [
                arc._replace(head=max(arc.head - first + 1, 0), dependent=arc.dependent - first + 1)
                for arc in case["arcs"]
                if first <= arc.dependent <= last and (arc.head == 0 or first <= arc.head <= last)
            ]
            alone = Layout(
                case["slots"][first - 1 : last], inside, right_to_left=case["right_to_left"]
            )
            # The line may be elsewhere, and higher where arcs lead to other lines.
            move_x = x_of[first] - alone.middles[1]
            move_y = line["ground"] - alone.ground
            assert line["top"] >= alone.ground - ROOT_ROOM - 1e-9
            assert line["rootTop"] == pytest.approx(bottom + ROOT_TOP, abs=1e-9)
            assert line["ground"] == pytest.approx(bottom + ROOT_ROOM + line["top"], abs=1e-9)
            for word in line["words"]:
                assert x_of[word] == pytest.approx(alone.middles[word - first + 1] + move_x)
            for arc in inside:
                head = arc.head + first - 1 if arc.head else 0
                (stroke,) = strokes[head, arc.dependent + first - 1]
                points = np.add(expected_points(alone, arc), (move_x, move_y))
                if not arc.head:
                    points[0][1] = line["rootTop"]
                np.testing.assert_allclose(stroke["points"], points, **CLOSE)
            bottom = line["ground"] + alone.height(case["num_rows"]) - alone.ground
        assert found["height"] == pytest.approx(bottom, abs=1e-9)
        for drawn in found["labels"]:
            if drawn["arc"][0] == 0:
                line = next(one for one in found["lines"] if drawn["arc"][1] in one["words"])
                assert drawn["y"] - line["rootTop"] == pytest.approx(ROOT_LABEL - ROOT_TOP)
        assert min(x_of.values()) > MARGIN
