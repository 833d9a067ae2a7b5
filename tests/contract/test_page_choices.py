"""The state of the choices on a page, without a page: choices.js in Node against the library."""

import json
import re

import numpy as np
import pytest

from arborand import DependencyTrees
from arborand.pictures import Picture, page
from arborand.pictures.arcs import head_entropy
from examples.first_trees import FOLDER, read_corpus
from tests.kinds import ALL_KINDS

CORPUS = read_corpus(FOLDER / "corpus")
SCRIPTS = ("markup.js", "numbers.js", "projective.js", "trees.js", "choices.js")
# Call methods one after the other, and look at everything after each.
PLAY = """({ data, steps, trees: shown }) => {
    const made = new choices.Choices(choices.readSentence(data)), events = [];
    made.listen((event) => events.push(event));
    const look = (returned) => ({
        returned,
        events: events.splice(0),
        state: made.state,
        count: made.count,
        canUndo: made.canUndo,
        share: made.share,
        marginals: [...made.now.marginals],
        heads: [...made.now.heads],
        entropies: [...made.headEntropies],
        facts: data.scores ? made.facts(made.now) : null,
        decided: [...made.decided].sort((a, b) => a - b),
        reattached: made.before && made.reattached,
        moved: made.before && made.moved(0.02),
        listed: data.tokens.map((_, i) => made.headsOf(i + 1)),
        chances: (shown || []).map((tree) => made.chanceOf(tree)),
    });
    return [look(null), ...steps.map(([method, ...args]) => {
        try {
            return look(made[method](...args));
        } catch (error) {
            return look(`${error.name}: ${error.message}`);
        }
    })];
}"""


def data_of(sentence, kind=DependencyTrees, **options):
    """Read what a page holds of a sentence."""
    explore = options.pop("explore", True)
    trees = kind(sentence.log_weights)
    draws = trees.sample_without_replacement(3, rng=0)
    shown = Picture(
        trees, sentence.tokens, sentence.sent_id, draws, trees.arc_marginals(), **options
    )
    return read_page("".join(page([shown], title="t", explore=explore)))


def read_page(document):
    """Read what a page holds of its first sentence."""
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', document)[1])


def play(node, data, *steps, trees=()):
    return node(SCRIPTS, PLAY, {"data": data, "steps": steps, "trees": trees})


def decision(kind, head, dependent):
    return {"kind": kind, "head": head, "dependent": dependent}


def check(seen, trees):
    """Compare an answer with the library's for the same choices."""
    fixed, forbidden = (list(map(tuple, seen["state"][key])) for key in ("fixed", "forbidden"))
    left = trees.condition(include=fixed, exclude=forbidden)
    marginals = left.arc_marginals()
    np.testing.assert_allclose(np.ravel(seen["marginals"]), marginals.ravel(), atol=1e-9)
    np.testing.assert_allclose(seen["entropies"], head_entropy(marginals), atol=1e-9)
    assert seen["heads"] == left.best_tree().tolist()
    assert seen["count"] == len(fixed) + len(forbidden)
    share = float(np.exp(trees.log_evidence(include=fixed, exclude=forbidden)))
    assert seen["share"] == pytest.approx(share, rel=1e-9)
    assert seen["facts"]["entropy"] == pytest.approx(float(left.entropy()), abs=1e-9)
    assert seen["facts"]["logZ"] == pytest.approx(float(left.log_partition()), abs=1e-9)
    best = float(np.exp(left.log_prob(left.best_tree())))
    assert seen["facts"]["bestProbability"] == pytest.approx(best, rel=1e-9)


@ALL_KINDS
def test_each_step_gives_what_the_library_says_of_the_trees_that_are_left(node, kind):
    trees = kind(CORPUS[0].log_weights)
    seen = play(
        node,
        data_of(CORPUS[0], kind),
        ["toggleFixed", 4, 11],
        ["toggleForbidden", 4, 7],
        ["toggleFixed", 2, 4],
        ["undo"],
        ["reset"],
        ["undo"],
        ["toggleFixed", 4, 11],
        ["toggleForbidden", 4, 7],
    )
    for one in seen:
        check(one, trees)
    both = {"fixed": [[4, 11]], "forbidden": [[4, 7]]}
    assert [one["state"] for one in seen] == [
        {"fixed": [], "forbidden": []},
        {"fixed": [[4, 11]], "forbidden": []},
        both,
        {"fixed": [[4, 11], [2, 4]], "forbidden": [[4, 7]]},
        both,
        {"fixed": [], "forbidden": []},
        both,
        {"fixed": [], "forbidden": [[4, 7]]},
        {"fixed": [], "forbidden": []},
    ]
    assert [one["decided"] for one in seen] == [
        [],
        [11],
        [7],
        [4],
        [4],
        [7, 11],
        [7, 11],
        [11],
        [7],
    ]
    assert [one["canUndo"] for one in seen] == [False, *[True] * 8]
    assert all(one["returned"] is True for one in seen[1:])
    told = [event["kind"] for one in seen for event in one["events"]]
    assert told == ["decided"] * 3 + ["undone", "reset", "undone"] + ["decided"] * 2
    assert seen[1]["events"][0]["decisions"] == [decision("fix", 4, 11)]
    assert seen[7]["events"][0]["decisions"] == [decision("free", 4, 11)]
    assert seen[8]["events"][0]["decisions"] == [decision("allow", 4, 7)]


def test_forbidding_a_fixed_head_frees_the_word_and_fixing_a_forbidden_one_allows_it(node):
    steps = [[f"toggle{kind}", 4, 11] for kind in ("Fixed", "Forbidden", "Fixed")]
    _, *seen = play(node, data_of(CORPUS[0]), *steps)
    assert [one["state"] for one in seen] == [
        {"fixed": [[4, 11]], "forbidden": []},
        {"fixed": [], "forbidden": [[4, 11]]},
        {"fixed": [[4, 11]], "forbidden": []},
    ]


def test_a_list_of_decisions_is_one_step(node):
    decisions = [
        decision("fix", 4, 11),
        decision("forbid", 4, 7),
        decision("forbid", 4, 11),  # frees the word
        decision("fix", 2, 11),
        decision("forbid", 2, 4),
        decision("fix", 2, 4),  # allows the arc again
    ]
    start, decided, undone = play(node, data_of(CORPUS[0]), ["decide", decisions], ["undo"])
    assert decided["state"] == {"fixed": [[2, 11], [2, 4]], "forbidden": [[4, 7], [4, 11]]}
    assert decided["events"] == [{"kind": "decided", "decisions": decisions}]
    check(decided, DependencyTrees(CORPUS[0].log_weights))
    assert undone["state"] == start["state"]
    assert not undone["canUndo"]


def test_a_state_that_was_kept_as_json_can_be_restored(node):
    data = data_of(CORPUS[0])
    *_, kept = play(node, data, ["toggleFixed", 4, 11], ["toggleForbidden", 4, 7])
    state = json.loads(json.dumps(kept["state"]))
    _, _, restored, undone = play(node, data, ["toggleFixed", 0, 2], ["restore", state], ["undo"])
    assert restored["events"][0]["kind"] == "restored"
    assert undone["state"] == {"fixed": [[0, 2]], "forbidden": []}
    for key in ("state", "marginals", "heads", "share", "facts"):
        assert restored[key] == kept[key]


def test_decisions_that_no_tree_satisfies_change_nothing_and_name_the_words_left_out(node):
    cycle = {"fixed": [[7, 4], [4, 7]], "forbidden": []}
    _, before, *refused = play(
        node,
        data_of(CORPUS[0]),
        ["toggleFixed", 4, 11],
        ["decide", [decision("fix", 7, 4), decision("fix", 4, 7)]],
        ["restore", cycle],
    )
    for one in refused:
        assert one["returned"] is False
        (event,) = one["events"]
        assert event["kind"] == "refused"
        assert event["leftOut"][:2] == [4, 7]
        for key in before.keys() - {"events", "returned"}:
            assert one[key] == before[key]
    assert [len(one["events"][0]["leftOut"]) for one in refused] == [3, 2]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (decision("fix", 13, 1), "RangeError: no arc 13-1 in this sentence"),
        (decision("fix", 1, 13), "RangeError: no arc 1-13 in this sentence"),
        (decision("forbid", 3, 0), "RangeError: no arc 3-0 in this sentence"),
        (decision("fix", 3, 3), "RangeError: no arc 3-3 in this sentence"),
        (decision("fix", "3", 4), "RangeError: no arc 3-4 in this sentence"),
        (decision("fix", 1.5, 4), "RangeError: no arc 1.5-4 in this sentence"),
        (decision("love", 3, 4), 'TypeError: a decision cannot be of the kind "love"'),
    ],
)
def test_decisions_about_something_else_are_errors_and_change_nothing(node, wrong, message):
    start, after = play(node, data_of(CORPUS[0]), ["decide", [decision("fix", 4, 11), wrong]])
    assert after.pop("returned") == message
    assert start.pop("returned") is None
    assert after == start


def test_nothing_is_undone_or_reset_where_nothing_was_decided(node):
    _, *seen = play(node, data_of(CORPUS[0]), ["undo"], ["reset"])
    assert [one["returned"] for one in seen] == [False, False]
    assert [one["events"] for one in seen] == [[], []]


def test_heads_of_a_word_are_listed_given_all_other_choices(node):
    trees = DependencyTrees(CORPUS[0].log_weights)
    *_, seen = play(
        node,
        data_of(CORPUS[0]),
        ["toggleFixed", 4, 11],
        ["toggleForbidden", 2, 11],
        ["toggleForbidden", 4, 7],
    )
    others = trees.condition(exclude=[(4, 7)]).arc_marginals()
    given = trees.condition(include=[(4, 11)], exclude=[(2, 11)]).arc_marginals()
    for word, marginals in ((11, others), (7, given)):
        listed = seen["listed"][word - 1]
        order = np.argsort(-marginals[:, word], kind="stable").tolist()
        assert [row["head"] for row in listed] == [head for head in order if head != word]
        np.testing.assert_allclose(
            [row["p"] for row in listed],
            [marginals[row["head"], word] for row in listed],
            atol=1e-9,
        )


def test_consequences_elsewhere_are_those_of_the_last_step(node):
    trees = DependencyTrees(CORPUS[0].log_weights)
    _, first, second = play(node, data_of(CORPUS[0]), ["toggleFixed", 4, 11], ["toggleFixed", 7, 4])
    conditions = [[], [(4, 11)], [(4, 11), (7, 4)]]
    answers = [trees.condition(include=fixed) for fixed in conditions]
    for seen, before, after in zip((first, second), answers, answers[1:], strict=False):
        changed = np.flatnonzero(before.best_tree() != after.best_tree()).tolist()
        assert seen["reattached"] == changed
        moves = np.abs(after.arc_marginals() - before.arc_marginals())
        totals = moves.sum(axis=0) / 2
        expected = [
            (word, int(moves[:, word].argmax()))
            for word in np.argsort(-totals, kind="stable").tolist()
            if totals[word] >= 0.02 and word not in seen["decided"]
        ]
        assert [(one["dependent"], one["head"]) for one in seen["moved"]] == expected
        np.testing.assert_allclose(
            [one["total"] for one in seen["moved"]],
            totals[[word for word, _ in expected]],
            atol=1e-9,
        )
    assert second["moved"]


def test_trees_and_gold_get_their_probability_given_the_choices(node):
    trees = DependencyTrees(CORPUS[0].log_weights)
    best = trees.best_trees(4)
    gold = best.heads[2]
    shown = [
        {"p": float(np.exp(log_prob)), "heads": heads.tolist()}
        for heads, log_prob in zip(best.heads, best.log_prob, strict=True)
    ]
    data = data_of(CORPUS[0], gold_heads=gold.tolist())
    seen = play(node, data, ["toggleFixed", 4, 11], ["toggleForbidden", 4, 7], trees=shown)
    for one in seen:
        state = one["state"]
        left = trees.condition(include=state["fixed"], exclude=state["forbidden"])
        for tree, chance in zip(shown, one["chances"], strict=True):
            expected = float(np.exp(left.log_prob(tree["heads"])))
            assert (chance or 0.0) == pytest.approx(expected, rel=1e-9)
            assert (chance is None) == (expected == 0.0)
        facts = one["facts"]
        expected = float(np.exp(left.log_prob(gold)))
        assert facts["goldProbability"] == pytest.approx(expected, rel=1e-9)
        assert facts["bestRight"] == int((left.best_tree() == gold)[1:].sum())
        assert facts["minimumRiskRight"] == int((left.minimum_risk_tree() == gold)[1:].sum())
    assert None in seen[-1]["chances"]


def test_a_sentence_without_scores_has_its_probabilities_and_no_choices(node):
    (seen,) = play(node, data_of(CORPUS[0], explore=False))
    trees = DependencyTrees(CORPUS[0].log_weights)
    marginals = trees.arc_marginals()
    rounded = np.where(marginals >= 0.01, marginals, 0.0)
    np.testing.assert_allclose(seen["marginals"], rounded.ravel(), atol=5.1e-5)
    np.testing.assert_allclose(seen["entropies"], head_entropy(marginals), atol=5.1e-5)
    assert (seen["heads"], seen["share"]) == (trees.best_tree().tolist(), 1)
