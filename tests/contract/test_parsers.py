"""Scores from anybody's parser: the protocol of one function, and what is checked about it."""

import itertools
import re
import sys
from functools import partial

import numpy as np
import pytest

from arborand import DependencyTrees
from arborand.errors import ArborandError, FormatError, SentenceError
from arborand.formats import read_scores
from arborand.parsers import Scored, find_adapter, score
from tests.command_line import CORPUS, call

CONLLU = CORPUS / "sentences.conllu"
NAMES = ("det", "nsubj", "root")


@pytest.fixture
def arborand(monkeypatch, capsysbinary):
    return partial(call, monkeypatch, capsysbinary)


def scored(sentence, **changes):
    """Score a sentence at random, but always in the same way."""
    rng = np.random.default_rng(len(sentence.conllu))
    size = len(sentence.words) + 1
    arcs = rng.normal(0, 3, (size, size)).astype(np.float32)
    labels = rng.normal(0, 1, (size, size, len(NAMES))).astype(np.float32)
    heads = DependencyTrees(arcs.astype(np.float64)).best_tree()[1:].tolist()
    return Scored(arcs, labels, NAMES, heads)._replace(**changes)


def changed(scores, place, value):
    scores[place] = value
    return scores


def random_parser(sentences, model, **options):
    assert model == "a model"
    assert options in ({}, {"temperature": "2"})
    return map(scored, sentences)


def test_a_function_is_all_it_takes(tmp_path):
    out = tmp_path / "scores.npz"
    report = score(CONLLU, out, parser=random_parser, model="a model", temperature="2")
    assert (report.num_sentences, report.num_compared, report.num_same) == (12, 12, 12)
    assert (report.num_repaired, report.has_labels) == (0, True)
    found = list(read_scores(out))
    assert found[0].sent_id == "en-1"
    assert found[0].tokens[:3] == ["She", "painted", "the"]
    assert found[0].label_names == NAMES
    for sentence in found:
        size = len(sentence.tokens) + 1
        assert sentence.log_weights.shape == (size, size)
        assert sentence.log_weights.dtype == np.float32
        assert np.isfinite(sentence.log_weights[:, 1:]).sum() == (size - 1) ** 2
        assert (sentence.log_weights[:, 0] == -np.inf).all()


def test_the_parser_gets_blocks_of_conllu(tmp_path):
    given = []

    def parser(sentences, model):
        for sentence in sentences:
            given.append(sentence)
            yield scored(sentence)

    score(CONLLU, tmp_path / "s.npz", parser=parser)
    text = "".join(sentence.conllu for sentence in given)
    assert text.strip() == CONLLU.read_text(encoding="utf-8").strip()
    for sentence in given:
        ids = [line.split("\t")[0] for line in sentence.conllu.splitlines() if "\t" in line]
        assert len(sentence.words) == sum(number.isdigit() for number in ids)


def test_sentences_are_read_and_written_as_the_parser_goes(tmp_path):
    """No more is held than the parser holds: it looks two sentences ahead, and so does the file."""
    path = tmp_path / "long.conllu"
    block = "1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n\n"
    path.write_text(block * 2000)
    read = written = 0

    def parser(sentences, model):
        nonlocal read, written
        for _ in sentences:
            read += 1
            assert read <= written + 2
            yield Scored(np.zeros((2, 2), dtype=np.float32))

    def advance(count):
        nonlocal written
        written = count

    report = score(path, tmp_path / "s.npz", parser=parser, advance=advance)
    assert report.num_sentences == 2000
    assert (report.num_compared, report.has_labels) == (0, False)
    assert [s.sent_id for s in read_scores(tmp_path / "s.npz")][:2] == ["1", "2"]


def test_repairs_and_ties_are_counted_not_refused(tmp_path):
    def parser(sentences, model):
        for number, sentence in enumerate(sentences):
            size = len(sentence.words) + 1
            chain = list(range(size - 1))  # as good as the best where all scores are equal
            yield Scored(np.zeros((size, size)), heads=chain, repaired=number % 3 == 0)

    report = score(CONLLU, tmp_path / "s.npz", parser=parser)
    assert (report.num_sentences, report.num_repaired) == (12, 4)
    assert report.num_same < report.num_compared == 12


@pytest.mark.parametrize("heads", [[0, 0, 0], [2, 1, 1]], ids=["three roots", "a cycle"])
def test_what_the_parser_decodes_need_not_be_a_tree(tmp_path, heads):
    """Greedy heads score more than any tree, rightly."""
    path = tmp_path / "three.conllu"
    path.write_text("".join(f"{i}\tw\t_\tX\t_\t_\t_\t_\t_\t_\n" for i in (1, 2, 3)) + "\n")
    arcs = np.zeros((4, 4))
    arcs[heads, [1, 2, 3]] = 5.0
    report = score(
        path, tmp_path / "s.npz", parser=lambda s, m: [Scored(arcs, heads=heads) for _ in s]
    )
    assert (report.num_compared, report.num_same) == (1, 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda s: scored(s, arcs=np.zeros((3, 3))),
            r"'en-1' \(number 1\): the parser's arc scores have shape \(3, 3\): expected \(13,",
        ),
        (
            lambda s: scored(s, labels=np.zeros((13, 13, 2))),
            r"label scores have shape \(13, 13, 2\): expected \(13, 13, 3\), for 3 label names",
        ),
        (
            lambda s: scored(s) if s.sent_id == "en-1" else scored(s, labels=None),
            r"'en-2' \(number 2\): the parser gave no label scores here, but did for the first",
        ),
        (lambda s: scored(s, heads=[1, 2]), r"the parser's own heads are \[1, 2\], for 12 words"),
        (lambda s: scored(s, heads=[99] * 12), "the parser's own heads are"),
        (lambda s: scored(s, heads=[1.0] * 12), r"own heads are \[1\.0, .*: expected integers"),
        (lambda s: scored(s, heads=5), "own heads are 5: expected integers"),
        (lambda s: scored(s, heads=[[1], [2, 3]]), "own heads are .*: expected integers"),
        (lambda s: scored(s).arcs, r"'en-1' .*: the parser gave array\(.*: expected a Scored"),
        (lambda s: None, r"'en-1' \(number 1\): the parser gave None: expected a Scored"),
        (lambda s: scored(s, arcs="x"), r"arc scores have shape \(\)"),
        (lambda s: scored(s, arcs=[[1], [2, 3]]), "arc scores are not an array"),
        (lambda s: scored(s, arcs=np.ones((13, 13), bool)), "arc scores are of type bool"),
        (
            lambda s: scored(s, arcs=changed(scored(s).arcs, (0, 3), np.nan)),
            r"arc scores\[0, 3\] are nan: expected finite numbers, or -inf",
        ),
        (
            lambda s: scored(s, arcs=changed(scored(s).arcs, (2, 3), np.inf)),
            r"arc scores\[2, 3\] are inf",
        ),
        (
            lambda s: scored(s, labels=changed(scored(s).labels, (2, 3, 1), np.nan)),
            r"label scores\[2, 3, 1\] are nan",
        ),
        (
            lambda s: scored(s, heads=[1, *scored(s).heads[1:]]),
            "own tree has the arc 1 -> 1, whose score is -inf: these are not the scores",
        ),
    ],
)
def test_what_does_not_fit_names_the_sentence(tmp_path, change, message):
    with pytest.raises(SentenceError, match=message):
        score(CONLLU, tmp_path / "s.npz", parser=lambda sentences, model: map(change, sentences))
    assert list(tmp_path.iterdir()) == []


def test_integers_are_scores_and_what_is_not_read_may_be_anything(tmp_path):
    def parser(sentences, model):
        for sentence in sentences:
            size = len(sentence.words) + 1
            arcs = np.arange(size * size).reshape(size, size)
            labels = np.ones((size, size, 2), dtype=int)
            if sentence.sent_id != "en-1":
                arcs, labels = arcs.astype(float), labels.astype(float)
                arcs[:, 0] = arcs[1, 1] = labels[1, 1] = labels[:, 0] = labels[2, 3] = np.nan
                arcs[2, 3] = -np.inf
            yield Scored(arcs, labels, ["a", "b"])

    score(CONLLU, tmp_path / "s.npz", parser=parser)
    first, second, *_ = read_scores(tmp_path / "s.npz")
    assert first.log_weights[0, 1:4].tolist() == [1, 2, 3]
    assert first.label_scores[0, 1].tolist() == [1, 1]
    assert second.log_weights[2, 3] == -np.inf


def test_a_tree_that_scores_higher_than_our_best_is_refused(tmp_path, monkeypatch):
    """It cannot be, if the scores are those that are decoded: here the comparison is made wrong."""
    monkeypatch.setattr(
        DependencyTrees, "best_tree", lambda self, **_: np.arange(-1, len(self.log_weights) - 1)
    )
    with pytest.raises(SentenceError, match=r"own tree has the score .* but the best tree only"):
        score(CONLLU, tmp_path / "s.npz", parser=lambda s, m: (scored_alone(one) for one in s))


def scored_alone(sentence):
    """Make the tree under the last word the best one."""
    size = len(sentence.words) + 1
    arcs = np.zeros((size, size))
    heads = [size - 1] * (size - 2) + [0]
    arcs[heads, np.arange(1, size)] = 3.0
    return Scored(arcs, heads=heads)


@pytest.mark.parametrize(
    ("parser", "message"),
    [
        (lambda s, m: [scored(next(s))], "gave scores for 1 sentences, but there are more"),
        (
            lambda s, m: [*map(scored, s), Scored(np.zeros((2, 2)))],
            "gave more scores than there are sentences",
        ),
        (lambda s, m: None, "the parser returned None: it must yield one Scored per sentence"),
    ],
)
def test_as_many_scores_as_sentences_are_expected(tmp_path, parser, message):
    with pytest.raises(ArborandError, match=message):
        score(CONLLU, tmp_path / "s.npz", parser=parser)
    assert list(tmp_path.iterdir()) == []


def test_a_file_without_sentences_is_named(tmp_path):
    (tmp_path / "none.conllu").write_text("# only a comment\n")
    with pytest.raises(FormatError, match=r"none\.conllu has no sentences"):
        score(tmp_path / "none.conllu", tmp_path / "s.npz", parser=random_parser, model="a model")


# ---- found by name


@pytest.mark.parametrize("other", [NAMES[::-1], ("a", "b", "c")])
def test_label_names_are_those_of_the_first_sentence(tmp_path, other):
    out = tmp_path / "s.npz"

    def parser(sentences, model):
        for number, sentence in enumerate(sentences):
            yield scored(sentence, label_names=list(NAMES) if number < 2 else other)

    with pytest.raises(
        SentenceError, match=r"'de-1' \(number 3\): the parser's label names differ"
    ):
        score(CONLLU, out, parser=parser)
    assert not out.exists()
    score(CONLLU, out, parser=parser, labels=False)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("spacy", "there is no parser 'spacy': use stanza, or module:function"),
        ("no_such_module:scores", "there is no module 'no_such_module'"),
        ("math:no_such_function", "math has no 'no_such_function'"),
        ("math:pi", "'pi' is not a function"),
        (":scores", "--parser :scores: '' is not the name of a module"),
        ("..my:scores", r"--parser \.\.my:scores: '\.\.my' is not the name of a module"),
    ],
)
def test_parsers_that_are_not_there_are_named(name, message):
    with pytest.raises(ArborandError, match=message):
        find_adapter(name)


def test_modules_are_found_beside_the_file(tmp_path, monkeypatch, arborand):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "my_own_parser.py").write_text(
        "import numpy\n"
        "from arborand.parsers import Scored\n"
        "def scores(sentences, model, scale='1'):\n"
        "    for sentence in sentences:\n"
        "        size = len(sentence.words) + 1\n"
        "        yield Scored(float(scale) * numpy.ones((size, size)))\n"
    )
    command = ("score", CONLLU, "-o", "s.npz", "--parser", "my_own_parser:scores")
    result = arborand(*command, "--option", "scale=3")
    assert result.status == 0, result.err
    assert result.out == b"written: s.npz\n"
    assert result.err == "arborand: sentences.conllu: 12 sentences\n"
    assert next(iter(read_scores("s.npz"))).log_weights[0, 1] == 3.0


def with_any_option(sentences, model, /, *, parser="", labels="", conllu="", **more):
    assert (model, parser, labels, conllu, more) == ("m", "1", "2", "3", {"model": "4"})
    return map(scored, sentences)


def test_options_may_have_any_name(arborand, tmp_path):
    parser = ("--parser", "tests.contract.test_parsers:with_any_option", "--model", "m")
    given = [
        ("--option", f"{name}={i}") for i, name in enumerate(("parser", "labels", "conllu"), 1)
    ]
    options = (*itertools.chain(*given), "--option", "model=4")
    result = arborand("score", CONLLU, "-o", tmp_path / "s.npz", *parser, *options)
    assert result.status == 0, result.err


@pytest.mark.parametrize("option", ["nosuch=1", "model=1", "sentences=1"])
def test_options_that_a_parser_does_not_take_are_named(arborand, tmp_path, option):
    parser = ("--parser", "tests.contract.test_parsers:without_options")
    out = tmp_path / "s.npz"
    result = arborand("score", CONLLU, "-o", out, *parser, "--option", option)
    assert result.status == 2
    message = re.sub(r"[\s│]+", " ", result.err)
    assert "cannot be called with the sentences, the model and these options" in message
    assert f"'{option.partition('=')[0]}'" in message
    assert not out.exists()


def without_options(sentences, model):
    return map(scored, sentences)


@pytest.mark.parametrize(
    ("source", "output", "message"),
    [
        (CONLLU, "s.conllu", "'s.conllu' does not end with .npz, .parquet, .safetensors"),
        (CONLLU, "scores/", "a folder: name a file such as scores.npz"),
        (CORPUS, "s.npz", "is a folder: name a folder for the scores, such as scores/"),
    ],
)
def test_outputs_that_do_not_fit_are_refused(arborand, source, output, message):
    result = arborand(
        "score", source, "-o", output, "--parser", "tests.contract.test_parsers:scored"
    )
    assert result.status == 2
    assert message in re.sub(r"[\s│]+", " ", result.err)


def test_a_folder_without_sentences_is_named(arborand, tmp_path):
    (tmp_path / "in").mkdir()
    parser = ("--parser", "tests.contract.test_parsers:random_parser")
    result = arborand("score", tmp_path / "in", "-o", f"{tmp_path}/out/", *parser)
    assert result.status == 1
    assert "has no .conllu files" in result.err
