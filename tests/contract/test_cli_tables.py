"""Tables fit the terminal: no number is cut, no id is dropped, and the text is shown if known."""

import json
import math
import re
from functools import partial

import numpy as np
import pytest
from rich.cells import cell_len

from arborand import DependencyTrees
from arborand.cli.tables import Column, fitted, shorten_end, shorten_middle
from tests.command_line import CORPUS, call, random_corpus

SCORES, CONLLU = CORPUS / "sentences.npz", CORPUS / "sentences.conllu"
# As in UD_English-EWT; they differ at their ends.
LONG = "weblog-blogspot.com_nominations_20041117172713_ENG_20041117_172713-{:04}"
TEXT = "It seems that they were inclined to answer before anybody asked them anything"
FOOTERS = ("arborand ", "entropy 0:", "entropy:")
WIDTHS = pytest.mark.parametrize("width", [80, 120])


@pytest.fixture
def arborand(monkeypatch, capsysbinary):
    return partial(call, monkeypatch, capsysbinary)


@pytest.fixture
def terminal(arborand, monkeypatch):
    """Run a command in a terminal of some width; its lines, without colours and footers."""

    def lines(width, *arguments):
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("FORCE_COLOR", "1")
        result = arborand(*arguments)
        assert result.status == 0, result.err
        plain = re.sub(r"\x1b\[[0-9;]*m", "", result.out.decode())
        return [line.rstrip() for line in plain.splitlines() if not line.startswith(FOOTERS)]

    return lines


@pytest.fixture
def long_ids(tmp_path):
    """Sentences of 13 words with ids of 70 characters, scores that are all alike, and words."""
    made = random_corpus(4, seed=2, longest=1)
    matrices = [np.full((14, 14), 0.25 * i) for i in range(4)]
    matrices[3][0, 2] = 40.0  # one that is nearly certain of its root
    made = type(made)([LONG.format(i) for i in range(4)], matrices)
    made.save(tmp_path / "scores.npz")
    words = enumerate(TEXT.split(), 1)
    block = "".join(f"{j}\t{word}\t_\t_\t_\t_\t{j - 1}\tdep\t_\t_\n" for j, word in words)
    blocks = [f"# sent_id = {sent_id}\n{block}\n" for sent_id in made.sent_ids]
    (tmp_path / "corpus.conllu").write_text("".join(blocks))
    return made, tmp_path


@WIDTHS
@pytest.mark.parametrize("command", ["entropy", "logz"])
def test_each_sentence_has_a_line_that_fits(terminal, long_ids, command, width):
    made, folder = long_ids
    files = (folder / "scores.npz", "--conllu", folder / "corpus.conllu")
    titles, *lines = [line for line in terminal(width, command, *files) if "left out" not in line]
    assert len(lines) == 4
    for i, line in enumerate(lines):
        assert cell_len(line) <= width
        assert re.match(rf" weblog-.*…\S+-000{i} ", line)
        assert " It seems that" in line
        # Only ids and texts are shortened.
        assert line.count("…") == 2 or width == 120
    number = "entropy (nats)" if command == "entropy" else "log Z"
    assert number in titles
    values = [DependencyTrees(m) for m in made.matrices]
    exact = [v.entropy() if command == "entropy" else v.log_partition() for v in values]
    for line, value in zip(lines, exact, strict=True):
        assert f" {value:.6g} " in line


def test_what_was_left_out_is_said_and_comes_back_with_room(terminal, long_ids):
    folder = long_ids[1]
    files = (folder / "scores.npz", "--conllu", folder / "corpus.conllu")
    narrow = terminal(80, "entropy", *files)
    assert "single-root share" not in narrow[0]
    assert narrow[-1] == "log Z, single-root share: left out, to fit into 80 columns"
    wide = terminal(140, "entropy", *files)
    assert "single-root share" in wide[0]
    assert not any("left out" in line for line in wide)
    # Without a terminal, everything is there as it is.
    tiny = terminal(30, "entropy", *files)
    assert all(cell_len(line) <= 30 for line in tiny[:-1])
    assert "entropy (nats)" in tiny[0]


def test_a_pipe_gets_everything(arborand, long_ids, monkeypatch):
    made, folder = long_ids
    monkeypatch.setenv("COLUMNS", "80")
    result = arborand(
        "entropy", folder / "scores.npz", "--conllu", folder / "corpus.conllu"
    ).out.decode()
    assert all(sent_id in result for sent_id in made.sent_ids)
    assert TEXT in result
    assert "single-root share" in result


@WIDTHS
@pytest.mark.parametrize("command", ["best", "sample", "marginals"])
def test_tables_of_a_sentence_fit_under_its_id_and_text(terminal, long_ids, command, width):
    made, folder = long_ids
    files = (folder / "scores.npz", "--conllu", folder / "corpus.conllu")
    options = () if command == "marginals" else ("-k", 3)
    seed = ("--seed", 1) if command == "sample" else ()
    lines = terminal(width, command, *files, *options, *seed)
    assert all(cell_len(line) <= width for line in lines)
    headings = [line for line in lines if line.endswith("(13 words)")]
    assert len(headings) == 4
    for i, heading in enumerate(headings):
        assert re.match(rf"weblog-blogspot.*-000{i}  \(13 words\)$", heading)
        assert (made.sent_ids[i] in heading) == (width == 120)
    assert sum(line.startswith("It seems that they") for line in lines) == 4


@WIDTHS
def test_the_words_of_a_corpus_fit(terminal, long_ids, width):
    folder = long_ids[1]
    files = (folder / "scores.npz", "--conllu", folder / "corpus.conllu")
    titles, *lines = terminal(width, "entropy", *files, "--words")
    assert titles.split() == ["sentence", "word", "entropy", "head", "or"]
    assert len(lines) == 20
    for line in lines:
        assert cell_len(line) <= width
        assert re.search(r" \d\.\d{3} .* [\d.]+ % .* [\d.]+ %$", line)


@WIDTHS
def test_evaluations_checks_and_pages_fit(terminal, width, tmp_path):
    for command in (
        ("evaluate", SCORES, "--conllu", CONLLU),
        ("check", SCORES, "--conllu", CONLLU),
        ("show", SCORES, "--num-draws", 2, "--max-sentences", 2, "-o", tmp_path / "p.html"),
    ):
        lines = terminal(width, *command)
        assert lines
        assert all(cell_len(line) <= width for line in lines if not line.startswith("written"))
        assert not any("…" in line for line in lines)


# ---- what the best trees change


def test_other_trees_are_told_by_what_they_change(terminal):
    options = ("--conllu", CONLLU, "--sent-id", "en-1", "-k", 3)
    heading, text, titles, *rest = terminal(120, "best", SCORES, *options)
    assert heading == "en-1  (12 words)"
    assert text == "She painted the boat in the harbour with a small brush ."
    assert titles.split() == ["rank", "probability", "cumulative", "head→word"]
    assert "the (3)" in rest[0]  # a word that occurs twice is told apart
    assert "instead" not in rest[0]
    second, third = (re.split(r"\s{2,}", line.strip()) for line in rest[-2:])
    assert second == ["2", "19.4 %", "76.7 %", "instead boat→brush"]
    assert third[:3] == ["3", "14.6 %", "91.3 %"]
    assert third[3].startswith("instead ")


def test_a_line_never_ends_within_an_arc(terminal):
    """Words that occur twice have their number after a space."""
    for width in (60, 80):
        options = ("--conllu", CONLLU, "--sent-id", "en-1", "-k", 2)
        _, _, _, *lines = terminal(width, "best", SCORES, *options)
        arcs = [arc for line in lines for arc in re.split(r"\s{2,}", line.strip()) if "→" in arc]
        assert len(arcs) == 13
        assert {"boat→the (3)", "harbour→the (6)", "instead boat→brush"} <= set(arcs)


def test_cumulative_probabilities_end_at_one(terminal, tmp_path):
    np.savez(tmp_path / "s.npz", lengths=[2], scores=np.zeros(9))
    lines = terminal(80, "best", tmp_path / "s.npz", "-k", 9)
    assert re.match(r" +1 +50\.0 % +50\.0 %  ", lines[2])
    assert re.match(r" +2 +50\.0 % +100 %  instead ", lines[3])


def test_draws_that_repeat_the_first_say_so(terminal, tmp_path):
    np.savez(tmp_path / "s.npz", lengths=[1], scores=np.zeros(4))
    lines = terminal(80, "sample", tmp_path / "s.npz", "-k", 2, "--seed", 1)
    assert lines[1].split() == ["tree", "probability", "head→word"]
    assert lines[2].split() == ["1", "100", "%", "ROOT→1"]
    assert lines[3].endswith("the same as tree 1")


def test_trees_that_come_in_portions_are_told_by_the_first_of_all(terminal, monkeypatch, tmp_path):
    from arborand.corpus import computations

    monkeypatch.setattr(computations, "DRAW_VALUES", 8)
    scores = np.zeros((4, 4))
    np.save(tmp_path / "s.npy", scores)
    lines = terminal(80, "sample", tmp_path / "s.npy", "-k", 30, "--seed", 1)
    assert sum("(3 words)" in line for line in lines) == 1
    trees = [line for line in lines if re.match(r" +\d+ +11\.1 %", line)]
    assert len(trees) == 30
    assert all(("instead" in t) or ("the same" in t) for t in trees[1:])


# ---- the words that are least certain


def entropies(matrices):
    """Compute the entropy of each head by its definition."""
    for i, matrix in enumerate(matrices):
        marginals = DependencyTrees(matrix).arc_marginals()
        for j in range(1, len(matrix)):
            column = [p for p in marginals[:, j].tolist() if p > 0]
            yield -math.fsum(p * math.log(p) for p in column), i, j, marginals[:, j]


def test_the_words_that_are_least_certain_are_listed_with_two_heads(arborand, tmp_path):
    made = random_corpus(12, seed=3, longest=7)
    scores = made.save(tmp_path / "scores.npz")
    out = tmp_path / "words.jsonl"
    assert arborand("entropy", scores, "--words", "--max-words", 25, "-o", out).status == 0
    found = [json.loads(line) for line in out.read_text().splitlines()[1:]]
    expected = sorted(entropies(made.matrices), key=lambda one: (-one[0], one[1], one[2]))[:25]
    assert [(r["sent_id"], r["word"]) for r in found] == [
        (made.sent_ids[i], j) for _, i, j, _ in expected
    ]
    for row, (entropy, _, _, column) in zip(found, expected, strict=True):
        assert row["entropy"] == pytest.approx(entropy, rel=1e-12)
        first, second = np.argsort(-column)[:2]
        assert (row["head"], row["second_head"]) == (first, second)
        assert row["probability"] == pytest.approx(column[first], rel=1e-12)
        assert row["second_probability"] == pytest.approx(column[second], rel=1e-12)
    # Sentences are selected as anywhere else.
    only = ("--sent-id", found[3]["sent_id"])
    assert arborand("entropy", scores, "--words", *only, "-o", out).status == 0
    kept = [json.loads(line)["sent_id"] for line in out.read_text().splitlines()[1:]]
    assert set(kept) == {found[3]["sent_id"]}


def test_a_word_with_one_head_has_no_second(arborand, tmp_path):
    np.savez(tmp_path / "s.npz", lengths=[1], scores=np.zeros(4))
    out = tmp_path / "w.csv"
    assert arborand("entropy", tmp_path / "s.npz", "--words", "-o", out).status == 0
    titles, line = out.read_text().splitlines()
    assert titles.startswith("sent_id,length,word,form,entropy,head,head_form,probability,second")
    assert line == "1,1,1,1,0.0,0,ROOT,1.0,,,"
    assert " 1 " in arborand("entropy", tmp_path / "s.npz", "--words").out.decode()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--max-words", 3), "needs --words"),
        (("--words", "-o", "out/"), "one file, not a folder"),
        (("--words", "-o", "w.npz"), "words cannot be written as npz: use jsonl, csv, tsv"),
    ],
)
def test_what_words_cannot_be_asked_for_is_said(arborand, options, message):
    result = arborand("entropy", SCORES, *options)
    assert result.status == 2
    assert message in re.sub(r"[\s│]+", " ", result.err)


# ---- how lines are fitted


def test_texts_are_shortened_to_the_character():
    assert shorten_middle("abcdefghij", 10) == "abcdefghij"
    assert shorten_middle("abcdefghij", 6) == "ab…hij"
    assert shorten_end("abcdefghij", 6) == "abcde…"
    for width in range(1, 12):
        for shorten in (shorten_middle, shorten_end):
            assert cell_len(shorten("日本語の長い文です", width)) <= width


def test_columns_leave_in_their_order_and_numbers_are_whole():
    columns = [
        Column("id", "id", least=4),
        Column("first", leaves=2),
        Column("second", leaves=1),
        Column("text", "text", least=4),
    ]
    line = ["0123456789", "1234567", "7654321", "some text that is long"]
    found = {}
    for width in range(12, 70):
        kept, ((*cells,),) = fitted(columns, [line], width)
        found[width] = [column.title for column in kept]
        assert (
            sum(max(cell_len(c), len(k.title)) + 2 for c, k in zip(cells, kept, strict=True))
            <= width
        )
        assert all(c in line for c, k in zip(cells, kept, strict=True) if k.kind == "number")
    orders = [found[w] for w in found]
    assert orders[0] == ["id", "text"]
    assert orders[-1] == ["id", "first", "second", "text"]
    assert ["id", "second", "text"] in orders
    assert ["id", "first", "text"] not in orders
