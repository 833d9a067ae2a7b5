"""Decisions on a page, without a page: questions, storage, files, links and saving, in Node."""

import base64
import io
import json
import zlib

import numpy as np
import pytest

from arborand import DependencyTrees, LabelledTrees, SpanningTrees
from arborand.formats import write_scores
from arborand.formats.conllu import read_annotations
from examples.first_trees import FOLDER, read_corpus
from tests import random_graphs
from tests.command_line import call
from tests.contract.test_page_choices import data_of, read_page
from tests.universal_dependencies import violations

CORPUS = read_corpus(FOLDER / "corpus")
SCRIPTS = (
    *(
        "markup.js",
        "numbers.js",
        "projective.js",
        "trees.js",
        "choices.js",
        "decisions.js",
        "corpus.js",
        "queue.js",
    ),
    "conllu.js",
)
# A storage as browsers have it.
STORAGE = """const makeStorage = (kept = {}) => ({
    kept,
    getItem: (key) => kept[key] ?? null,
    setItem: (key, value) => { kept[key] = value; },
    removeItem: (key) => { delete kept[key]; },
});"""


def run(node, body, **argument):
    """Run the body of a function in Node; `given` holds the arguments."""
    return node(SCRIPTS, f"async (given) => {{ {STORAGE} {body} }}", argument)


# ---- questions


@pytest.mark.parametrize("kind", [DependencyTrees, SpanningTrees])
def test_an_answer_removes_the_entropy_of_its_word_on_average(node, kind):
    data = data_of(CORPUS[0], kind)
    found = run(
        node,
        """const made = new choices.Choices(choices.readSentence(given.data));
        return given.data.tokens.map((_, i) => {
            const rows = made.headsOf(i + 1).filter(({ p }) => p > 0);
            const left = queue.consequences(made, i + 1, rows.map(({ head }) => head));
            const mean = rows.reduce((sum, { p }, k) => sum + p * left[k].entropy, 0);
            return [made.now.entropy - mean, made.values[i + 1], left.map((one) => one.entropy),
                rows.map(({ head }) => head)];
        });""",
        data=data,
    )
    trees = kind(CORPUS[0].log_weights)
    for word, (removed, value, left, heads) in enumerate(found, start=1):
        assert removed == pytest.approx(value, abs=1e-9)
        for entropy, head in zip(left, heads, strict=True):
            after = trees.condition(include=[(head, word)]).entropy()
            assert entropy == pytest.approx(float(after), abs=1e-9)


def test_the_words_that_an_answer_settles_are_named(node):
    # The verb is either of two; whichever it is, the other depends on it.
    scores = np.full((4, 4), -6.0)
    scores[0, 1] = scores[0, 2] = scores[1, 2] = scores[2, 1] = scores[2, 3] = 3.0
    found = run(
        node,
        """const made = new choices.Choices(choices.readSentence(given.data));
        return queue.consequences(made, 1, [0, 2, 3]);""",
        data=data_of(type("S", (), {"log_weights": scores, "tokens": list("abc"), "sent_id": "x"})),
    )
    assert [one["settled"] for one in found[:2]] == [[2], [2]]
    assert found[0]["entropy"] < 0.1


def test_the_queue_asks_for_the_largest_entropy_of_the_corpus_and_again_after_each_answer(node):
    sentences = CORPUS[:4]
    found = run(
        node,
        """const made = new corpus.Corpus(given.data, new decisions.Store(makeStorage()));
        const asked = new queue.Queue(made), answers = [asked.progress()];
        for (let step = 0; step < 6; ++step) {
            const question = asked.next();
            const here = made.choicesOf(question.index);
            const [{ head }] = here.headsOf(question.word);
            here.decide([{ kind: "fix", head, dependent: question.word }]);
            answers.push({ ...question, head, progress: asked.progress() });
        }
        return answers;""",
        data=[data_of(sentence) for sentence in sentences],
    )
    start, *steps = found
    trees = [DependencyTrees(sentence.log_weights) for sentence in sentences]
    assert start["before"] == pytest.approx(sum(float(t.entropy()) for t in trees), abs=1e-6)
    assert start["left"] == start["before"]
    for step in steps:
        values = [-np.sum(np.where(m > 0, m * np.log(np.where(m > 0, m, 1.0)), 0.0), axis=0)
                  for m in (t.arc_marginals() for t in trees)]  # fmt: skip
        best = max(range(len(trees)), key=lambda i: values[i].max())
        assert (step["index"], step["word"]) == (best, int(values[best].argmax()))
        assert step["value"] == pytest.approx(values[best].max(), abs=1e-4)
        trees[best] = trees[best].condition(include=[(step["head"], step["word"])])
        left = sum(float(t.entropy()) for t in trees)
        assert step["progress"]["left"] == pytest.approx(left, abs=1e-6)
        open_words = sum(int((v >= 0.2).sum()) for v in values)
        assert step["progress"]["questions"] <= open_words


def test_skipped_questions_come_back_only_when_they_are_asked_for_again(node):
    found = run(
        node,
        """const made = new corpus.Corpus(given.data, new decisions.Store(makeStorage()));
        const asked = new queue.Queue(made), seen = [];
        for (let question; (question = asked.next()); asked.skip(question))
            seen.push([question.index, question.word, question.value]);
        const { numSkipped } = asked;
        asked.askAgain();
        return { seen, numSkipped, again: asked.next(), near: asked.next(1) };""",
        data=[data_of(sentence) for sentence in CORPUS[:3]],
    )
    values = [value for _, _, value in found["seen"]]
    assert values == sorted(values, reverse=True)
    assert min(values) >= 0.2
    assert len(found["seen"]) == len({(i, j) for i, j, _ in found["seen"]}) == found["numSkipped"]
    assert [found["again"]["index"], found["again"]["word"]] == found["seen"][0][:2]
    assert found["near"]["index"] == 1


def test_likely_answers_are_counted_until_little_entropy_is_left(node):
    for seed in range(3):
        scores = 2.0 * random_graphs.one_tree(seed, 12, 3.0)
        sentence = type("S", (), {"log_weights": scores, "sent_id": "x",
                                  "tokens": [f"w{i}" for i in range(12)]})  # fmt: skip
        count = run(
            node,
            "return queue.answersNeeded(new choices.Choices(choices.readSentence(given.data)));",
            data=data_of(sentence),
        )
        trees, whole, expected = (
            DependencyTrees(scores), float(DependencyTrees(scores).entropy()), 0,
        )  # fmt: skip
        while float(trees.entropy()) > 0.05 * whole:
            marginals = trees.arc_marginals()
            logs = np.log(np.where(marginals > 0, marginals, 1.0))
            word = int((-marginals * logs).sum(axis=0).argmax())
            trees = trees.condition(include=[(int(marginals[:, word].argmax()), word)])
            expected += 1
        assert count == expected > 1


# ---- storage


def test_decisions_survive_a_visit_by_the_sentences_id_and_words(node):
    data = [data_of(sentence) for sentence in CORPUS[:2]]
    other = {**data[0], "tokens": [*data[0]["tokens"][:-1], "!"]}
    found = run(
        node,
        """const storage = makeStorage();
        const visit = (data) => new corpus.Corpus(data, new decisions.Store(storage));
        const first = visit(given.data);
        first.choicesOf(0).decide([{ kind: "fix", head: 4, dependent: 11, label: "nmod" },
            { kind: "forbid", head: 4, dependent: 7 }]);
        const second = visit(given.data);
        second.openKept();
        const kept = { decided: second.decided, state: second.choicesOf(0).state,
            canUndo: second.choicesOf(0).canUndo, other: [...second.ofOtherScores] };
        const words = visit([given.other]).choicesOf(0).count;
        second.choicesOf(0).reset();
        const keys = Object.keys(storage.kept).length;
        return { kept, words, keys, left: visit(given.data).choicesOf(0).count };""",
        data=data,
        other=other,
    )
    assert found["kept"] == {
        "decided": [0],
        "state": {"fixed": [[4, 11, "nmod"]], "forbidden": [[4, 7]]},
        "canUndo": False,
        "other": [],
    }
    assert (found["words"], found["keys"], found["left"]) == (0, 0, 0)


def test_where_the_scores_have_changed_decisions_stay_and_the_page_knows(node):
    changed = type("S", (), {"log_weights": CORPUS[0].log_weights + 0.125 * np.eye(13)[::-1],
                             "tokens": CORPUS[0].tokens, "sent_id": CORPUS[0].sent_id})  # fmt: skip
    ruled_out = CORPUS[0].log_weights.copy()
    ruled_out[4, 11] = -np.inf
    impossible = type("S", (), {"log_weights": ruled_out, "tokens": CORPUS[0].tokens,
                                "sent_id": CORPUS[0].sent_id})  # fmt: skip
    found = run(
        node,
        """const storage = makeStorage();
        const visit = (data) => new corpus.Corpus([data], new decisions.Store(storage));
        visit(given.before).choicesOf(0).toggleFixed(4, 11);
        return given.after.map((data) => {
            const made = visit(data), { count } = made.choicesOf(0);
            const { length } = Object.keys(storage.kept);
            return [count, [...made.ofOtherScores], [...made.refused], length];
        });""",
        before=data_of(CORPUS[0]),
        after=[data_of(changed), data_of(impossible)],
    )
    assert found == [[1, [0], [], 1], [0, [0], [0], 1]]


@pytest.mark.parametrize(
    "kept",
    ["", "null", "7", "[]", '{"fixed": 3}', '{"fixed": [[1, "x"]], "forbidden": []}', "{",
     '{"fixed": [[99, 1]], "forbidden": []}', '{"fixed": [[1, 2, 3]], "forbidden": []}',
     '{"fixed": [[4, 11, "a\\tb"]], "forbidden": []}', '{"__proto__": {"fixed": []}}'],
)  # fmt: skip
def test_damaged_storage_is_like_none(node, kept):
    found = run(
        node,
        """const storage = makeStorage();
        const first = new corpus.Corpus([given.data], new decisions.Store(storage));
        first.choicesOf(0).toggleFixed(4, 11);
        for (const key of Object.keys(storage.kept)) storage.kept[key] = given.kept;
        const made = new corpus.Corpus([given.data], new decisions.Store(storage));
        made.openKept();
        return made.choicesOf(0).count;""",
        data=data_of(CORPUS[0]),
        kept=kept,
    )
    assert found == 0


def test_a_browser_that_keeps_nothing_is_told_apart(node):
    found = run(
        node,
        """const full = { getItem: () => null, setItem: () => { throw new Error("full"); } };
        return [full, null].map((storage) => {
            const made = new corpus.Corpus([given.data], new decisions.Store(storage));
            const isDone = made.choicesOf(0).toggleFixed(4, 11);
            return [isDone, made.choicesOf(0).count, made.store.isFailing];
        });""",
        data=data_of(CORPUS[0]),
    )
    assert found == [[True, 1, True]] * 2


# ---- files


def test_decisions_are_exported_and_imported_and_what_does_not_fit_is_named(node):
    data = [data_of(sentence) for sentence in CORPUS[:3]]
    written, again = run(
        node,
        """const first = new corpus.Corpus(given.data, new decisions.Store(makeStorage()));
        first.choicesOf(0).toggleFixed(4, 11);
        first.choicesOf(1).toggleForbidden(2, 1);
        const text = first.toFile();
        const second = new corpus.Corpus(given.data, new decisions.Store(makeStorage()));
        const taken = second.take(text), states = [0, 1].map((i) => second.choicesOf(i).state);
        return [text, [taken, ...states]];""",
        data=data,
    )
    file = json.loads(written)
    assert file["arborand"] == "decisions"
    assert [entry["sent_id"] for entry in file["sentences"]] == ["en-1", "en-2"]
    assert file["sentences"][0]["words"] == CORPUS[0].tokens
    assert file["sentences"][0]["fixed"] == [[4, 11]]
    assert again == [
        {"taken": ["en-1", "en-2"], "refused": [], "ofOtherScores": [], "missing": [],
         "differing": [], "damaged": []},
        {"fixed": [[4, 11]], "forbidden": []},
        {"fixed": [], "forbidden": [[2, 1]]},
    ]  # fmt: skip
    good, other = file["sentences"]
    cycle = {**good, "fixed": [[7, 4], [4, 7]]}
    strange = {**other, "sent_id": "<img src=x>"}
    differing = {**data[2], "sent_id": "en-3", "words": ["other"], "fixed": [], "forbidden": []}
    file["sentences"] = [cycle, strange, differing, 5, {"sent_id": "z"}, {**other, "scores": "?"}]
    found = run(
        node,
        """const made = new corpus.Corpus(given.data, new decisions.Store(makeStorage()));
        return [made.take(given.text), made.decided];""",
        data=data,
        text=json.dumps(file),
    )
    third = data[2]["id"]
    expected = {
        "taken": ["en-2"], "refused": ["en-1"], "ofOtherScores": ["en-2"],
        "missing": ["<img src=x>"], "differing": [], "damaged": ["entry 4", "z"],
    }  # fmt: skip
    expected["differing" if third == "en-3" else "missing"].append("en-3")
    assert found == [expected, [1]]


def test_words_and_ids_are_exported_as_they_are_whatever_characters_they_have(
    node, monkeypatch, capsysbinary, tmp_path
):
    words = ["a\x07b", "\x01", "\x85\ufffe</script>", "\ufffd", "e"]
    scores = 2.0 * random_graphs.one_tree(1, 5, 3.0)
    sentence = type("S", (), {"log_weights": scores, "tokens": words, "sent_id": "s\x1b1"})
    data = data_of(sentence)
    text, taken, names = run(
        node,
        """const storage = makeStorage();
        const visit = () => new corpus.Corpus(given.data, new decisions.Store(storage));
        const first = visit();
        first.choicesOf(0).toggleFixed(0, 2);
        const text = first.toFile(), again = visit();
        again.openKept();
        if (again.decided.length !== 1) throw new Error("not kept");
        again.choicesOf(0).reset();
        return [text, visit().take(text).taken, first.choicesOf(0).sentence.names];""",
        data=[data],
    )
    entry = json.loads(text)["sentences"][0]
    assert (entry["sent_id"], entry["words"]) == ("s\x1b1", words)
    assert taken == ["s\x1b1"]
    assert names[1:4] == ["a\ufffdb", "\ufffd (2)", "\ufffd\ufffd</script>"]
    # So the commands find the sentence again.
    (tmp_path / "d.json").write_text(text, "utf-8")
    write_scores(tmp_path / "s.npz", [scores], sent_ids=["s\x1b1"], words=[words])
    files, out = (tmp_path / "s.npz", "--decisions", tmp_path / "d.json"), tmp_path / "best.npz"
    assert "ignored" not in call(monkeypatch, capsysbinary, "best", *files, "-o", out).err
    with np.load(out) as found:
        assert found["heads"][1] == 0


def test_a_file_that_decides_twice_about_one_sentence_is_refused(node):
    entry = {"sent_id": "a", "words": ["b"], "fixed": [[0, 1]], "forbidden": []}
    for other, expected in (
        ({**entry, "fixed": []},
         "Entry 3 decides about sentence a again, in another way: keep one of the two."),
        (entry, "read"),
    ):  # fmt: skip
        file = {"arborand": "decisions", "format": 1,
                "sentences": [entry, {**entry, "words": ["c"]}, other]}  # fmt: skip
        found = run(
            node,
            """try {
                decisions.fromFile(given.text, []);
                return "read";
            } catch (error) {
                return error.message;
            }""",
            text=json.dumps(file),
        )
        assert found == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "It is not a JSON file."),
        ("[1]", "It does not contain decisions of arborand."),
        ('{"arborand": "trees"}', "It does not contain decisions of arborand."),
        (
            '{"arborand": "decisions", "format": 2, "sentences": []}',
            "It has the format 2, but this page reads format 1.",
        ),
    ],
)
def test_other_files_are_refused_with_a_reason(node, text, message):
    found = run(
        node,
        "try { decisions.fromFile(given.text, []); } catch (error) { return error.message; }",
        text=text,
    )
    assert found == message


# ---- links


def test_an_address_holds_a_sentence_and_its_choices(node):
    states = [
        ("en-horse", {"fixed": [[3, 2]], "forbidden": []}),
        ("a&b=c #1,2:3", {"fixed": [[0, 1], [4, 2, "acl:relcl"]], "forbidden": [[2, 5], [3, 5]]}),
        ("", {"fixed": [], "forbidden": []}),
    ]
    found = run(
        node,
        """return given.states.map(([id, state]) => {
            const hash = decisions.toAddress(id, state);
            return [hash, decisions.fromAddress(hash)];
        });""",
        states=states,
    )
    assert found[0] == [
        "#id=en-horse&fix=2:3",
        {"id": "en-horse", "state": {"fixed": [[3, 2]], "forbidden": []}},
    ]
    assert found[1][1] == {"id": states[1][0], "state": states[1][1]}
    assert found[2][1] is None


@pytest.mark.parametrize(
    ("address", "state"),
    [
        ("#id=x&fix=2:a", None),
        ("#id=x&fix=2", None),
        ("#id=x&fix=-1:2", None),
        ("#id=x&other=3", None),
        ("#id=x&fix=2:3,&not=", {"fixed": [[3, 2]], "forbidden": []}),
    ],
)
def test_what_an_address_does_not_say_clearly_is_left_out(node, address, state):
    found = run(node, "return decisions.fromAddress(given.address);", address=address)
    assert found == {"id": "x", "state": state}
    assert run(node, "return decisions.fromAddress('#s5');") is None
    assert run(node, "return decisions.fromAddress('#id=%zz');") is None


# ---- saving

ORIGINAL = (
    "# sent_id = a\n# text = Don't sleep now .\n"
    "1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tDo\tdo\tAUX\t_\tA=B\t3\taux\t3:aux\t_\n"
    "2\tn't\tnot\tPART\t_\t_\t3\tadvmod\t3:advmod\tX=Y\n"
    "3\tsleep\tsleep\tVERB\t_\t_\t0\troot\t0:root\t_\n"
    "3.1\tx\tx\tVERB\t_\t_\t_\t_\t0:root\t_\n"
    "4\tnow\tnow\tADV\t_\t_\t3\tadvmod\t3:advmod\t_\n"
    "5\t.\t.\tPUNCT\t_\t_\t3\tpunct\t3:punct\t_\n"
)


def fill(node, block, words):
    """Fill a block: `words` are [word, head, label, by, likeliest label]."""
    return run(
        node,
        """return conllu.fill(given.block, new Map(given.words.map(([word, head, ...more]) => {
            const [label, by, likeliest] = more.map((one) => one ?? undefined);
            return [word, { head, label, by, likeliest }];
        })));""",
        block=block,
        words=words,
    )


def test_a_new_head_replaces_what_it_makes_wrong_and_nothing_else(node):
    block = ORIGINAL
    assert fill(node, block, []) == block
    assert fill(node, block, [[1, 3], [3, 0]]) == block  # decided as in the file
    assert fill(node, block, [[4, 2]]) == (
        "# sent_id = a\n# text = Don't sleep now .\n"
        "1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "1\tDo\tdo\tAUX\t_\tA=B\t3\taux\t_\t_\n"
        "2\tn't\tnot\tPART\t_\t_\t3\tadvmod\t_\tX=Y\n"
        "3\tsleep\tsleep\tVERB\t_\t_\t0\troot\t_\t_\n"
        "4\tnow\tnow\tADV\t_\t_\t2\t_\t_\t_\n"
        "5\t.\t.\tPUNCT\t_\t_\t3\tpunct\t_\t_\n"
    )
    # A new relation makes the enhanced graph as wrong as a new head.
    assert fill(node, block, [[4, 3, "obl"]]) == fill(node, block, [[4, 2]]).replace(
        "2\t_\t_\t_", "3\tobl\t_\t_"
    )


def test_a_confirmed_head_keeps_its_line_unless_another_relation_was_decided(node):
    confirmed = [[4, 3, None, None, "obl"], [3, 0, None, None, "root:x"], [1, 3, "aux"]]
    assert fill(node, ORIGINAL, confirmed) == ORIGINAL
    signed = fill(node, ORIGINAL, [[4, 3, None, "decided", "obl"], [2, 3, None, "best", "obl"]])
    assert signed == (
        ORIGINAL.replace("3:advmod\t_", "3:advmod\tHead=decided").replace("X=Y", "X=Y|Head=best")
    )
    # An old signature is replaced, whoever signed.
    assert fill(node, signed, [[4, 3, None, "best"], [2, 3, None, "best"]]) == signed.replace(
        "Head=decided", "Head=best"
    )
    new = fill(node, ORIGINAL, [[4, 2, None, None, "obl"]]).splitlines()
    assert new[-2].split("\t")[6:9] == ["2", "obl", "_"]


def test_root_stands_exactly_beside_head_0(node):
    filled = fill(node, ORIGINAL, [[3, 1, "root"], [1, 0, "nsubj"], [2, 0, "root:x"]])
    columns = [line.split("\t") for line in filled.splitlines() if line[0] in "123"][1:]
    assert [line[6:8] for line in columns] == [["0", "root"], ["0", "root:x"], ["1", "_"]]


def test_line_ends_and_short_lines_are_kept(node):
    assert fill(node, "# sent_id = b\r\n1\tHa\t_\r\n2\t!\r\n", [[1, 0], [2, 1, "punct"]]) == (
        "# sent_id = b\r\n1\tHa\t_\t_\t_\t_\t0\troot\t_\t_\r\n2\t!\t_\t_\t_\t_\t1\tpunct\t_\t_\r\n"
    )
    assert fill(node, "1\tHe\n2\tsees", [[2, 0]]) == "1\tHe\n2\tsees\t_\t_\t_\t_\t0\troot\t_\t_"


@pytest.mark.parametrize(
    ("heads", "is_sound"),
    [([2, 0, 2], True), ([None, 0, None], True), ([2, 1, 0], False), ([0, 0, 1], False),
     ([2, None, 9], False), ([2, 3, 1], False), ([None, 1, 2], True)],
)  # fmt: skip
def test_heads_that_contradict_each_other_are_noticed(node, heads, is_sound):
    found = run(
        node,
        "return conllu.isSound(given.heads.map((head) => head ?? NaN), true);",
        heads=[-1, *heads],
    )
    assert found is is_sound


SAVE = """const file = await conllu.unpack(given.deflated);
const made = new corpus.Corpus(given.data, new decisions.Store(makeStorage()));
given.steps.forEach((steps, index) => steps.length && made.choicesOf(index).decide(steps));
return given.options.map((options) => {
    const { bytes, changed, unsound } = conllu.save(file, made.decided.map((index) => ({
        id: given.data[index].id, choices: made.choicesOf(index),
        start: given.places[index][0], stop: given.places[index][1],
    })), options);
    return [Buffer.from(bytes).toString("base64"), changed.map(({ id }) => id),
        unsound.map(({ id }) => id)];
});"""


def save(node, steps, *options, original=None):
    """Save the bundled corpus with decisions: [(bytes, changed ids, unsound ids), ...]."""
    original = original or (FOLDER / "corpus" / "sentences.conllu").read_bytes()
    places, start = [], 0
    for block in original.rstrip(b"\n").split(b"\n\n"):
        places.append([start, start + len(block) + 1])
        start += len(block) + 2
    found = run(
        node,
        SAVE,
        data=[data_of(sentence) for sentence in CORPUS],
        steps=steps + [[]] * (len(CORPUS) - len(steps)),
        places=places,
        deflated=base64.b64encode(zlib.compress(original)).decode(),
        options=options,
    )
    return original, [(base64.b64decode(data), *names) for data, *names in found]


def test_the_whole_corpus_is_saved_and_what_nobody_decided_about_is_as_it_was(node):
    original, [(untouched, changed, _)] = save(node, [], {})
    assert untouched == original
    assert changed == []
    step = [{"kind": "fix", "head": 4, "dependent": 11}]
    original, [kept, completed, signed] = save(
        node, [step], {}, {"isComplete": True}, {"isComplete": True, "isSigned": True}
    )
    before = original.split(b"\n\n")
    for data, changed, unsound in (kept, completed, signed):
        after = data.split(b"\n\n")
        assert after[1:] == before[1:]
        assert after[0] != before[0]
        assert (changed, unsound) == (["en-1"], [])
        assert violations(data.decode()) == []
        first = next(read_annotations(io.BytesIO(data), "saved"))
        trees = DependencyTrees(CORPUS[0].log_weights).condition(include=[(4, 11)])
        expected = next(read_annotations(io.BytesIO(original), "original")).heads
        expected[10] = 4
        assert first.heads == (expected if data is kept[0] else trees.best_tree().tolist()[1:])
        assert first.column("DEPREL")[10] == "_"
    misc = next(read_annotations(io.BytesIO(signed[0]), "saved")).column("MISC")
    assert [("Head=decided" in cell, "Head=best" in cell) for cell in misc] == [
        (word == 11, word != 11) for word in range(1, 13)
    ]


def test_kept_lines_that_contradict_decisions_are_named(node):
    # In the file "painted" is the root; now "boat" is, and "painted" hangs from it.
    step = [{"kind": "fix", "head": 0, "dependent": 4}]
    _, [kept, completed] = save(node, [step], {}, {"isComplete": True})
    assert kept[2] == ["en-1"]
    assert completed[2] == []
    heads = next(read_annotations(io.BytesIO(completed[0]), "saved")).heads
    assert (heads[3], heads.count(0)) == (0, 1)


# ---- labels

NAMES = ["nsubj", "obj", "obl", "nmod", "root", "<b>x</b>", "punct"]


def labelled_data(seed=0, sharpness=2.0):
    """Make labels for the first sentence: its data, the labelled trees, the labels' scores."""
    size = len(CORPUS[0].tokens) + 1
    scores = sharpness * np.random.default_rng(seed).normal(size=(size, size, len(NAMES)))
    trees = DependencyTrees(CORPUS[0].log_weights)
    labelled = LabelledTrees.from_trees(trees, scores, labels=NAMES)
    return data_of(CORPUS[0], label_log_weights=scores, label_names=NAMES), labelled, scores


def test_labels_are_those_of_the_library_up_to_what_is_lumped_together(node):
    data, labelled, scores = labelled_data()
    found = run(
        node,
        """const made = new choices.Choices(choices.readSentence(given.data));
        const before = { entropy: made.entropy, values: made.values, relations: made.relations,
            labels: made.labelsOf(4, 11), share: made.share };
        made.decide([{ kind: "fix", head: 4, dependent: 11 }]);
        const head = { entropy: made.entropy, values: made.values };
        made.decide([{ kind: "fix", head: 4, dependent: 11, label: "obl" }]);
        return { before, head, label: { entropy: made.entropy, values: made.values,
            relations: made.relations, share: made.share, written: made.labelToWrite(4, 11) } };""",
        data=data,
    )
    # A label of less than one percent adds at most -p log p to an entropy, and loses less.
    lumped = 13 * 0.05
    entropy = float(labelled.entropy())
    assert found["before"]["entropy"] == pytest.approx(entropy, abs=lumped)
    joint = labelled.label_marginals()
    terms = np.where(joint > 0, -joint * np.log(np.where(joint > 0, joint, 1.0)), 0.0)
    np.testing.assert_allclose(found["before"]["values"], terms.sum(axis=(0, 2)), atol=0.05)
    given = joint[4, 11] / joint[4, 11].sum()
    listed = {one["label"]: one["p"] for one in found["before"]["labels"]}
    assert set(listed) == {NAMES[i] for i in np.flatnonzero(given >= 0.01)}
    for label, p in listed.items():
        assert p == pytest.approx(given[NAMES.index(label)], abs=1e-5)
    chances = [one["p"] for one in found["before"]["labels"]]
    assert chances == sorted(chances, reverse=True)
    best = labelled.trees.best_tree()
    likeliest = [NAMES[int(scores[best[j], j].argmax())] for j in range(1, 13)]
    assert [text.split()[0] for text in found["before"]["relations"]] == likeliest
    # With a head, the question of its label is left; with the label, nothing.
    assert found["head"]["values"][11] == pytest.approx(-(given * np.log(given)).sum(), abs=0.05)
    assert found["label"]["values"][11] == 0
    fixed = labelled.condition(heads=np.where(np.arange(13) == 11, 4, -1))
    chance = float(np.exp(labelled.trees.log_evidence(include=[(4, 11)])))
    assert found["head"]["entropy"] == pytest.approx(float(fixed.entropy()), abs=lumped)
    assert found["label"]["share"] == pytest.approx(chance * given[NAMES.index("obl")], rel=1e-3)
    assert found["label"]["relations"][10] == found["label"]["written"] == "obl"


@pytest.mark.parametrize("orientation", ["head,dependent", "dependent,head"])
def test_the_page_gives_root_to_arcs_from_the_root_alone_as_the_commands_do(
    node, monkeypatch, capsysbinary, tmp_path, orientation
):
    scores, labels = np.zeros((4, 4)), np.zeros((4, 4, 3))
    scores[2, 1] = scores[0, 2] = scores[2, 3] = 3.0
    scores[3, 2], scores[0, 3] = 2.0, 1.0
    labels[:, 1], labels[:, 3], labels[:, 2] = [0, 5, 0], [0, 0, 5], [6, 0, 4]
    names = ["root", "nsubj", "ccomp"]
    if orientation == "dependent,head":
        scores, labels = scores.T, labels.swapaxes(0, 1)
    write_scores(
        tmp_path / "r.npz", [scores], sent_ids=["s-1"], words=[["Dogs", "bark", "loudly"]],
        label_scores=[labels], label_names=names,
    )  # fmt: skip
    files = (tmp_path / "r.npz", "--orientation", orientation)
    page, npz = tmp_path / "r.html", tmp_path / "marginals.npz"
    assert call(monkeypatch, capsysbinary, "show", *files, "-o", page).status == 0
    assert call(monkeypatch, capsysbinary, "marginals", *files, "-o", npz).status == 0
    with np.load(npz) as computed:
        joint = computed["label_marginals"].reshape(4, 4, 3)
    found = run(
        node,
        """const made = new choices.Choices(choices.readSentence(given.data));
        const { values } = made, seen = [0, 1, 2, 3].map((head) => [1, 2, 3].map((word) =>
            Object.fromEntries(made.labelsOf(head, word).map(({ label, p }) => [label, p]))));
        made.decide([{ kind: "fix", head: 3, dependent: 2 }]);
        return [values, seen, made.relations];""",
        data=read_page(page.read_text("utf-8")),
    )
    values, listed, relations = found
    for head in range(4):
        for word in range(1, 4):
            if head != word:
                given = joint[head, word] / joint[head, word].sum()
                expected = {n: p for n, p in zip(names, given, strict=True) if p >= 0.01}
                assert listed[head][word - 1] == pytest.approx(expected, abs=1e-5)
    terms = np.where(joint > 0, -joint * np.log(np.where(joint > 0, joint, 1.0)), 0.0)
    np.testing.assert_allclose(values, terms.sum(axis=(0, 2)), atol=0.05)
    assert [text.split()[0] for text in relations] == ["nsubj", "ccomp", "root"]


def test_a_fixed_label_does_not_change_the_probabilities_of_trees(node):
    data, *_ = labelled_data()
    whole = DependencyTrees(CORPUS[0].log_weights)
    best = whole.condition(include=[(4, 11)]).best_trees(3)
    trees = [
        {"p": float(np.exp(whole.log_prob(heads))), "heads": heads.tolist()} for heads in best.heads
    ]
    for label in ({}, {"label": "obl"}):
        found = run(
            node,
            """const made = new choices.Choices(choices.readSentence(given.data));
            made.decide([{ kind: "fix", head: 4, dependent: 11, ...given.label }]);
            return given.trees.map((tree) => made.chanceOf(tree));""",
            data=data,
            trees=trees,
            label=label,
        )
        assert found == pytest.approx(np.exp(best.log_prob).tolist(), rel=1e-9)


def test_labels_that_are_open_need_answers_as_heads_do(node):
    # Heads are clear; each of the labels is one of three.
    scores = np.full((4, 4), -40.0)
    scores[0, 2] = scores[2, 1] = scores[2, 3] = 0.0
    sentence = type("S", (), {"log_weights": scores, "tokens": list("abc"), "sent_id": "x"})
    found = run(
        node,
        """const made = new corpus.Corpus([given.data], new decisions.Store(makeStorage()));
        const asked = new queue.Queue(made), here = made.choicesOf(0), counts = [];
        for (let question; (question = asked.next());) {
            const { word } = question, isHead = here.headOf(word) === undefined;
            counts.push(queue.answersNeeded(here));
            const [{ head }] = here.headsOf(word), [{ label }] = here.labelsOf(head, word);
            here.decide([{ kind: "fix", head, dependent: word, ...(!isHead && { label }) }]);
        }
        const { before, left } = asked.progress();
        return { counts, needed: queue.answersNeeded(here), before, left, state: here.state };""",
        data=data_of(sentence, label_log_weights=np.zeros((4, 4, 3)), label_names=list("xyz")),
    )
    assert found["counts"] == [6, 5, 4, 3, 2, 1]
    assert found["before"] == pytest.approx(3 * np.log(3), abs=1e-6)
    assert (found["needed"], found["left"]) == (0, pytest.approx(0, abs=1e-6))
    assert sorted(found["state"]["fixed"]) == [[0, 2, "x"], [2, 1, "x"], [2, 3, "x"]]


def test_an_answer_settles_the_words_that_are_not_asked_about_after_it(node):
    # As in the test without labels, but whichever verb is the root, the relations stay open.
    scores = np.full((4, 4), -6.0)
    scores[0, 1] = scores[0, 2] = scores[1, 2] = scores[2, 1] = scores[2, 3] = 3.0
    found = run(
        node,
        """const made = new choices.Choices(choices.readSentence(given.data));
        return queue.consequences(made, 1, [0, 2]).map(({ settled }) => settled);""",
        data=data_of(
            type("S", (), {"log_weights": scores, "tokens": list("abc"), "sent_id": "x"}),
            label_log_weights=np.zeros((4, 4, 2)), label_names=["x", "y"],
        ),
    )  # fmt: skip
    assert found == [[], []]


def test_labels_that_are_no_relations_are_refused(node):
    data, *_ = labelled_data()
    found = run(
        node,
        """const made = new choices.Choices(choices.readSentence(given.data));
        return given.labels.map((label) => {
            try {
                return made.decide([{ kind: "fix", head: 4, dependent: 11, label }]);
            } catch (error) {
                return error.message;
            }
        });""",
        data=data,
        labels=["a b", "", "x\ty", 5, "x" * 61, "acl:relcl"],
    )
    assert found[:-1] == [
        f"a label cannot be {json.dumps(label)}" for label in ["a b", "", "x\ty", 5, "x" * 61]
    ]
    assert found[-1] is True


def test_saving_writes_the_labels_that_were_chosen_or_are_likeliest(node):
    data, labelled, scores = labelled_data()
    block = "".join(
        f"{j}\t{word}\t_\t_\t_\t_\t_\t_\t_\t_\n" for j, word in enumerate(CORPUS[0].tokens, 1)
    )
    found = run(
        node,
        """const made = new choices.Choices(choices.readSentence(given.data));
        made.decide([{ kind: "fix", head: 4, dependent: 11, label: "obl" }]);
        const file = new TextEncoder().encode(given.block);
        const { bytes } = conllu.save(file, [{ choices: made, start: 0, stop: file.length }],
            { isComplete: true });
        return new TextDecoder().decode(bytes);""",
        data=data,
        block=block,
    )
    columns = [line.split("\t") for line in found.splitlines()]
    best = labelled.trees.condition(include=[(4, 11)]).best_tree()
    assert [int(line[6]) for line in columns] == best.tolist()[1:]
    for word, line in enumerate(columns, start=1):
        likeliest = NAMES[int(scores[best[word], word].argmax())]
        expected = "root" if best[word] == 0 else "_" if likeliest == "root" else likeliest
        assert line[7] == ("obl" if word == 11 else expected)


def test_saving_guesses_no_relation_of_a_head_that_is_as_it_was(node):
    data, *_ = labelled_data()
    best = data["best"]
    block = "".join(
        f"{j}\t{word}\t_\t_\t_\t_\t{best[j]}\tdep:x\t{best[j]}:dep:x\t_\n"
        for j, word in enumerate(CORPUS[0].tokens, 1)
    )
    found = run(
        node,
        """const made = new choices.Choices(choices.readSentence(given.data));
        made.decide([{ kind: "fix", head: given.data.best[11], dependent: 11 }]);
        const file = new TextEncoder().encode(given.block);
        return [false, true].map((isComplete) => new TextDecoder().decode(conllu.save(file,
            [{ choices: made, start: 0, stop: file.length }], { isComplete }).bytes));""",
        data=data,
        block=block,
    )
    assert found == [block, block]
