"""Scores of a real parser of stanza: our best tree is its own, labels included."""

import re
from functools import partial

import numpy as np
import pytest
import torch
from stanza.models.common.utils import unsort
from stanza.models.depparse.data import DataLoader
from stanza.models.depparse.trainer import Trainer
from stanza.utils.conll import CoNLL

from arborand import DependencyTrees
from arborand.errors import ArborandError
from arborand.formats import read_scores
from arborand.parsers import UntestedVersionWarning, score
from arborand.parsers import stanza as adapter
from tests.command_line import call
from tests.fronts.parsers.treebank import write_treebank

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.fixture
def arborand(monkeypatch, capsysbinary):
    return partial(call, monkeypatch, capsysbinary)


@pytest.fixture(scope="session")
def scored(toy):
    """Score the test sentences: scores, report, and stanza's trainer."""
    report = score(toy / "test.conllu", toy / "scores.npz", model=str(toy / "parser.pt"))
    trainer = Trainer.load(str(toy / "parser.pt"), pretrain=None, device="cpu")
    return list(read_scores(toy / "scores.npz")), report, trainer


def own_parses(trainer, path, **options):
    """Parse with stanza's own code: lists of heads and relations, in order."""
    document = CoNLL.conll2doc(str(path))
    batches = DataLoader(
        document,
        5000,
        trainer.args,
        None,
        vocab=trainer.vocab,
        evaluation=True,
        sort_during_eval=True,
    )
    found = []
    with torch.no_grad():
        for batch in batches:
            found += trainer.predict(batch, **options)
    return unsort(found, batches.data_orig_idx)


def test_the_parser_has_learnt_something_and_is_unsure_of_something(scored, toy):
    sentences, _, _ = scored
    gold = CoNLL.conll2doc(str(toy / "test.conllu")).sentences
    best = [DependencyTrees(s.log_weights.astype(np.float64)) for s in sentences]
    right = sum(
        int(trees.best_tree()[j + 1] == word.head)
        for trees, sentence in zip(best, gold, strict=True)
        for j, word in enumerate(sentence.words)
    )
    assert right > 0.7 * sum(len(sentence.words) for sentence in gold)
    assert max(float(trees.entropy()) for trees in best) > 0.5


def test_the_best_tree_is_stanzas_own_with_its_labels(scored, toy):
    sentences, report, trainer = scored
    own = own_parses(trainer, toy / "test.conllu")
    assert len(sentences) == len(own) == 80
    for sentence, parse in zip(sentences, own, strict=True):
        heads = DependencyTrees(sentence.log_weights.astype(np.float64)).best_tree()[1:].tolist()
        assert heads == [int(head) for head, _ in parse]
        arcs = [sentence.label_scores[h, j] for j, h in enumerate(heads, 1)]
        assert [sentence.label_names[int(arc.argmax())] for arc in arcs] == [r for _, r in parse]
    assert (report.num_sentences, report.num_compared, report.num_same) == (80, 80, 80)
    assert report.has_labels


def test_ids_words_and_names_come_with_the_scores(scored, toy):
    sentences, *_ = scored
    assert [s.sent_id for s in sentences] == [f"toy-3-{i}" for i in range(1, 81)]
    document = CoNLL.conll2doc(str(toy / "test.conllu"))
    assert [s.tokens for s in sentences] == [[w.text for w in s.words] for s in document.sentences]
    assert {"nsubj", "obj", "nmod", "obl", "root"} <= set(sentences[0].label_names)
    assert all(s.label_names == sentences[0].label_names for s in sentences)
    assert "<PAD>" not in sentences[0].label_names
    for sentence in sentences:
        # Normalised, and nothing where there is no arc.
        assert np.exp(sentence.label_scores).sum(-1) == pytest.approx(1.0, abs=1e-4)
        assert (sentence.log_weights[:, 0] == -np.inf).all()
        assert (np.diag(sentence.log_weights) == -np.inf).all()


def test_repairs_are_counted(scored, toy, monkeypatch):
    _, report, trainer = scored
    own = own_parses(trainer, toy / "test.conllu")
    repaired = own_parses(trainer, toy / "test.conllu", resolve_head_constraints=True)
    changed = sum(
        [h for h, _ in a] != [h for h, _ in b] for a, b in zip(own, repaired, strict=True)
    )
    assert report.num_repaired == changed
    # A repair that always changes something is seen, too, and never gets into the scores.
    from stanza.models.depparse import model

    def turned(scores, labels, tree, vocab):
        heads = np.array(tree)
        root = int(np.flatnonzero(heads[1:] == 0)[0]) + 1
        other = 1 if root != 1 else 2
        heads[root], heads[other] = other, 0
        return heads, [0] * (len(heads) - 1)

    monkeypatch.setattr(model, "resolve_head_constraint_violations", turned)
    again = score(toy / "test.conllu", toy / "again.npz", model=str(toy / "parser.pt"))
    assert (again.num_repaired, again.num_same) == (80, 80)


def test_batches_and_what_shares_them_do_not_matter(scored, toy, monkeypatch):
    sentences, _, _ = scored
    monkeypatch.setattr(adapter, "_SENTENCES", 7)
    options = {"model": str(toy / "parser.pt"), "batch_words": "30"}
    report = score(toy / "test.conllu", toy / "small.parquet", **options)
    assert report.num_same == 80
    for one, other in zip(sentences, read_scores(toy / "small.parquet"), strict=True):
        assert one.sent_id == other.sent_id
        a, b = (
            DependencyTrees(s.log_weights.astype(np.float64)).arc_marginals() for s in (one, other)
        )
        # stanza computes in float32, and padding changes how its sums are grouped.
        np.testing.assert_allclose(a, b, atol=1e-4)


def test_models_that_read_backwards_are_turned_round(toy, monkeypatch):
    """The same network, told that it reads from right to left: nonsense, but stanza's nonsense."""
    load = Trainer.load

    def backwards(filename, **options):
        return load(filename, **{**options, "args": {"reversed": True}})

    monkeypatch.setattr(Trainer, "load", staticmethod(backwards))
    report = score(toy / "dev.conllu", toy / "reversed.npz", model=str(toy / "parser.pt"))
    assert report.num_same == report.num_sentences == 20
    trainer = backwards(str(toy / "parser.pt"), pretrain=None, device="cpu")
    for sentence, parse in zip(
        read_scores(toy / "reversed.npz"), own_parses(trainer, toy / "dev.conllu"), strict=True
    ):
        heads = DependencyTrees(sentence.log_weights.astype(np.float64)).best_tree()[1:]
        assert heads.tolist() == [int(head) for head, _ in parse]


@pytest.mark.parametrize("every", [1, 2])
def test_the_models_of_a_language_tag_what_has_no_tags(scored, toy, tmp_path, monkeypatch, every):
    """Its pipeline is stanza's own; a stand-in has the same parser, and a tagger that knows all."""
    import stanza

    sentences, _, trainer = scored
    tagged = (toy / "test.conllu").read_text()
    columns = r"^(\d+\t\w+|\d+\t\.)\t\S+\t\S+\t\S+"
    blocks = [f"{block}\n\n" for block in tagged.strip().split("\n\n")]
    for i in range(0, len(blocks), every):
        blocks[i] = re.sub(columns, r"\1\t_\t_\t_", blocks[i], flags=re.M)
    (tmp_path / "untagged.conllu").write_text("".join(blocks))
    tags = {one.sent_id: one for one in CoNLL.conll2doc(input_str=tagged).sentences}
    asked = []

    class Tagger:
        def process(self, document):
            asked.append(len(document.sentences))
            for ours in document.sentences:
                for word, known in zip(ours.words, tags[ours.sent_id].words, strict=True):
                    word.upos, word.xpos, word.lemma = known.upos, known.xpos, known.lemma

    class Depparse:
        pretrain = None

    Depparse.trainer = trainer

    class Pipeline:
        def __init__(self, language, **options):
            assert language == "en"
            assert options["tokenize_pretokenized"]
            assert options["download_method"] is None
            self.processors = {"pos": Tagger(), "lemma": Tagger(), "depparse": Depparse()}

    monkeypatch.setattr(stanza, "Pipeline", Pipeline)
    monkeypatch.chdir(tmp_path)
    report = score("untagged.conllu", "scores.npz", model="en")
    assert asked == [80 // every, 80 // every]
    assert report.num_same == 80
    for one, other in zip(sentences, read_scores("scores.npz"), strict=True):
        np.testing.assert_allclose(one.log_weights, other.log_weights, atol=1e-5)


# ---- the command


def test_the_command_writes_scores_that_the_others_read(arborand, toy, tmp_path):
    bare = write_treebank(tmp_path / "bare.conllu", 12, seed=4, annotated=False)
    out = tmp_path / "scores.npz"
    result = arborand("score", bare, "-o", out, "--parser", "stanza", "--model", toy / "parser.pt")
    assert result.status == 0, result.err
    assert result.out.decode().strip() == f"written: {out}"
    assert "12 sentences; the best tree is the parser's own in 12 of 12" in result.err
    assert arborand("check", out, "--conllu", bare).status == 0
    assert b"toy-4-1" in arborand("entropy", out, "--sort", "entropy").out
    labelled, plain = out.stat().st_size, tmp_path / "plain.npz"
    options = ("--model", toy / "parser.pt", "--no-labels")
    assert arborand("score", bare, "-o", plain, *options).status == 0
    assert plain.stat().st_size < labelled / 2
    assert next(iter(read_scores(plain))).label_scores is None


def test_a_folder_becomes_a_folder_and_is_resumed(arborand, toy, tmp_path):
    (tmp_path / "in").mkdir()
    for seed in (5, 6):
        write_treebank(tmp_path / "in" / f"part{seed}.conllu", 4, seed=seed)
    command = ("score", tmp_path / "in", "-o", f"{tmp_path}/out/", "--model", toy / "parser.pt")
    assert arborand(*command).status == 0
    first = (tmp_path / "out" / "part5.npz").read_bytes()
    (tmp_path / "out" / "part6.npz").unlink()
    result = arborand(*command)
    assert result.status == 0
    assert "part5.npz already exists: skipped" in result.err
    assert result.out.decode().strip().endswith("part6.npz")
    assert (tmp_path / "out" / "part5.npz").read_bytes() == first
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["part5.npz", "part6.npz"]


# ---- what goes wrong


def test_an_untested_version_is_named(monkeypatch, toy):
    import stanza

    monkeypatch.setattr(stanza, "__version__", "1.99.0")
    with pytest.warns(UntestedVersionWarning, match=r"tested with stanza 1\.15, not with 1\.99\.0"):
        score(toy / "dev.conllu", toy / "x.npz", model=str(toy / "parser.pt"))


def test_sentences_without_tags_are_named(toy, tmp_path):
    path = tmp_path / "untagged.conllu"
    path.write_text("# sent_id = u\n1\tHello\t_\t_\t_\t_\t_\t_\t_\t_\n\n")
    with pytest.raises(ArborandError, match=r"'u' has no tags .*tag the file first"):
        score(path, tmp_path / "x.npz", model=str(toy / "parser.pt"))
    assert not (tmp_path / "x.npz").exists()


def test_models_without_arc_scores_are_refused(toy, monkeypatch):
    class TransitionParser(torch.nn.Module):
        pass

    class Other:
        model = TransitionParser()

    monkeypatch.setattr(Trainer, "load", staticmethod(lambda *_, **__: Other()))
    with pytest.raises(ArborandError, match="a TransitionParser, which does not score every arc"):
        score(toy / "dev.conllu", toy / "x.npz", model=str(toy / "parser.pt"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "stanza needs a model: --model names a file, or a language"),
        (("--model", "xx-nobody"), "neither a file nor a language for which stanza has models"),
        (("--model", "xx-nobody", "--option", "device"), "'device' is not NAME=VALUE"),
    ],
)
def test_models_that_are_not_there_are_named(
    arborand, toy, tmp_path, monkeypatch, options, message
):
    monkeypatch.setenv("STANZA_RESOURCES_DIR", str(tmp_path))
    result = arborand("score", toy / "dev.conllu", "-o", tmp_path / "x.npz", *options)
    assert result.status in (1, 2)
    assert message in re.sub(r"[\s│]+", " ", result.err)
    assert "Traceback" not in result.err


def test_transposed_scores_are_refused(toy, monkeypatch, tmp_path):
    """Scores of which stanza's own tree is not the best would be another distribution."""
    one = adapter._Parser._one

    def lowered(self, arcs, labels, own, repaired):
        scored = one(self, arcs, labels, own, repaired)
        arcs = scored.arcs.copy()
        arcs[scored.heads[0], 1] = -np.inf
        return scored._replace(arcs=arcs)

    monkeypatch.setattr(adapter._Parser, "_one", lowered)
    with pytest.raises(
        ArborandError, match="these are not the scores that the tree was decoded from"
    ):
        score(toy / "dev.conllu", tmp_path / "x.npz", model=str(toy / "parser.pt"))
