"""The page computes what the library computes: trees.js in a real browser against NumPy.

$ARBORAND_REAL_SCORES may name an .npz file of a parser's scores (`lengths` and `scores`, matrices
one after the other); its first 300 sentences are then taken instead of generated ones.
"""

import base64
import json
import os

import numpy as np
import pytest

from arborand import DependencyTrees, NoTreeError, ProjectiveDependencyTrees, SpanningTrees
from arborand.pictures.markup import asset
from examples.first_trees import FOLDER, read_corpus
from tests import random_graphs
from tests.kinds import ALL_KINDS, is_projective, is_single_root, trees_of

# Both sides lose a few units in the last place for each word; scores themselves are exact.
CLOSE = 1e-9
SOLVE_ONE = """({ n, single, projective, scores, fixed, forbidden }) => {
    const bytes = Uint8Array.from(atob(scores), (c) => c.charCodeAt(0));
    const graph = { n, single, projective, scores: new Float64Array(bytes.buffer) };
    const before = graph.scores.slice();
    const found = trees.solve(graph, fixed, forbidden);
    if (graph.scores.some((x, i) => !Object.is(x, before[i]))) throw Error("changed");
    if (found.leftOut) return found;
    return {
        ...found,
        share: trees.share(found, trees.solve(graph)),
        heads: [...found.heads],
        safest: [...trees.minimumRisk(graph, found)],
        marginals: [...found.marginals],
    };
}"""


@pytest.fixture(scope="module")
def solve(browser, tmp_path_factory):
    """Run trees.js on (kind, log_weights, fixed, forbidden), many at a time."""
    path = tmp_path_factory.mktemp("trees") / "trees.html"
    script = "".join(map(asset, ("numbers.js", "projective.js", "trees.js")))
    path.write_text(f"<!doctype html><title>trees</title><script>{script}</script>")
    browser.open(path)

    def solved(cases):
        sent = [
            {
                "n": len(log_weights) - 1,
                "single": is_single_root(kind),
                "projective": is_projective(kind),
                "scores": base64.b64encode(np.asarray(log_weights, "<f8").tobytes()).decode(),
                "fixed": fixed,
                "forbidden": forbidden,
            }
            for kind, log_weights, fixed, forbidden in cases
        ]
        answers = []
        for start in range(0, len(sent), 20):  # each answer well within the browser's patience
            part = json.dumps(json.dumps(sent[start : start + 20]))
            answers += browser.evaluate(f"JSON.parse({part}).map({SOLVE_ONE})")
        return answers

    return solved


def choices(kind, log_weights, count, rng):
    """Choose arcs of a drawn tree, and likely arcs that it does not have: always possible."""
    trees = kind(log_weights)
    heads = trees.sample(rng=int(rng.integers(1 << 31)))
    marginals = trees.arc_marginals()
    words = 1 + rng.permutation(len(heads) - 1)[:count]
    fixed, forbidden = [], []
    for position, word in enumerate(words.tolist()):
        column = marginals[:, word].copy()
        column[heads[word]] = 0.0
        if position % 2 == 0:
            fixed.append([int(heads[word]), word])
        elif column.max() > 0.0:
            forbidden.append([int(column.argmax()), word])
    return fixed, forbidden


def with_trees(graphs):
    """Leave out graphs all of whose trees have crossing arcs, where none may cross."""
    for kind, log_weights in graphs:
        try:
            kind(log_weights)
        except NoTreeError:
            assert is_projective(kind)
            continue
        yield kind, log_weights


def check(solve, graphs, counts=(0, 1, 4), seed=0):
    """Compare everything that the page shows with the library's answers."""
    rng = np.random.default_rng(seed)
    cases = [
        (kind, log_weights, *choices(kind, log_weights, count, rng))
        for kind, log_weights in with_trees(graphs)
        for count in counts
    ]
    for (kind, log_weights, fixed, forbidden), found in zip(cases, solve(cases), strict=True):
        whole = kind(log_weights)
        trees = whole.condition(include=fixed, exclude=forbidden)
        size = len(log_weights)
        marginals = np.array(found["marginals"]).reshape(size, size)
        expected = trees.arc_marginals()
        np.testing.assert_allclose(marginals, expected, rtol=0.0, atol=CLOSE)
        seen = expected > 1e-290
        np.testing.assert_allclose(marginals[seen], expected[seen], rtol=CLOSE)
        log_z = float(trees.log_partition())
        assert found["logZ"] == pytest.approx(log_z, rel=1e-12, abs=CLOSE)
        entropy = float(trees.entropy())
        assert found["entropy"] == pytest.approx(entropy, rel=CLOSE, abs=CLOSE)
        evidence = float(np.exp(whole.log_evidence(include=fixed, exclude=forbidden)))
        assert found["share"] == pytest.approx(evidence, rel=1e-9, abs=1e-300)
        heads = np.array(found["heads"])
        best = float(trees.log_prob(trees.best_tree()))
        assert float(trees.log_prob(heads)) == pytest.approx(best, rel=CLOSE, abs=CLOSE)
        safest = trees.expected_attachment_score(trees.minimum_risk_tree())
        assert trees.expected_attachment_score(found["safest"]) == pytest.approx(safest, abs=CLOSE)
        assert found["bestProbability"] == pytest.approx(np.exp(best), rel=1e-8, abs=1e-300)
    return len(cases)


def real_or_generated(count):
    """Read a parser's scores, or make scores with the look of them: sharp, and some undecided."""
    path = os.environ.get("ARBORAND_REAL_SCORES")
    if path:
        with np.load(path, allow_pickle=False) as file:
            lengths, scores = file["lengths"][:count].astype(int), file["scores"]
        begin = 0
        for length in lengths:
            end = begin + (length + 1) ** 2
            yield scores[begin:end].reshape(length + 1, length + 1).astype(float)
            begin = end
        return
    rng = np.random.default_rng(300)
    for seed in range(count):
        num_words = int(np.clip(rng.gamma(1.6, 8.0), 1, 40))
        scores = random_graphs.one_tree(seed, num_words, rng.uniform(1.0, 8.0))
        yield (2.0 * scores + rng.normal(0.0, 3.0, num_words + 1)).astype(np.float32).astype(float)


@ALL_KINDS
def test_the_bundled_corpus(solve, kind):
    graphs = [(kind, s.log_weights) for s in read_corpus(FOLDER / "corpus")]
    assert check(solve, graphs) >= 36


def test_300_sentences_of_a_parser(solve):
    kinds = (DependencyTrees, ProjectiveDependencyTrees, SpanningTrees)
    graphs = [(kinds[i % 3], s) for i, s in enumerate(real_or_generated(300))]
    assert check(solve, graphs, counts=(3,)) == 300


@ALL_KINDS
def test_long_sentences(solve, kind):
    graphs = [(kind, random_graphs.dense_scores(n, n, 3.0)) for n in (75, 147)]
    check(solve, graphs, counts=(4,))


@ALL_KINDS
def test_sparse_graphs(solve, kind):
    rng = np.random.default_rng(1)
    graphs = []
    for seed in range(60):
        num_words = int(rng.integers(1, 14))
        density = rng.uniform(0.0, 0.6)
        graphs.append((kind, random_graphs.sparse_scores(seed, num_words, density, 2.0)))
    check(solve, graphs, counts=(0, 3))


@ALL_KINDS
@pytest.mark.parametrize("scale", [100.0, 3000.0, 1e6])
def test_scores_that_are_far_apart(solve, kind, scale):
    rng = np.random.default_rng(2)
    graphs = []
    for seed in range(16):
        num_words = int(rng.integers(1, 24))
        make = random_graphs.dense_scores if seed % 2 else random_graphs.sparse_scores
        scores = make(seed, num_words)
        present = np.isfinite(scores)
        widest = np.ptp(scores[present]) or 1.0
        scores[present] *= scale / widest
        graphs.append((kind, scores))
    graphs.append((kind, random_graphs.nested_traps(1, 12, scale / 12)))
    graphs.append((kind, random_graphs.three_gates(1, 9, scale)))
    graphs.append((kind, random_graphs.negligible_roots(1, 9, -scale)))
    check(solve, graphs, counts=(0, 2))


@ALL_KINDS
def test_masks_of_a_thousand_million(solve, kind):
    rng = np.random.default_rng(3)
    graphs = []
    for seed in range(24):
        num_words = int(rng.integers(2, 16))
        scores = random_graphs.dense_scores(seed, num_words, 3.0)
        scores[rng.random(scores.shape) < 0.4] = -1e9
        if seed % 3 == 0:  # a word that only masked arcs reach
            scores[:, rng.integers(1, num_words + 1)] = -1e9
        if seed % 4 == 0:  # no root arc that is not masked
            scores[0] = -1e9
        graphs.append((kind, scores))
    check(solve, graphs, counts=(0, 2))


@ALL_KINDS
def test_choices_that_no_tree_has_are_refused_with_the_words_they_leave_out(solve, kind):
    rng = np.random.default_rng(4)
    cases, expected = [], []
    for seed in range(150):
        num_words = int(rng.integers(2, 7))
        scores = random_graphs.sparse_scores(seed, num_words, rng.uniform(0.0, 0.7))
        np.fill_diagonal(scores, -np.inf)
        if not list(with_trees([(kind, scores)])):
            continue
        arcs = [arc for arc in np.argwhere(np.isfinite(scores)).tolist() if arc[1]]
        words = rng.permutation(num_words)[:2] + 1
        fixed = [arc for word in words for arc in arcs if arc[1] == word][:2]
        forbidden = [arc for arc in arcs if rng.random() < 0.2 and arc not in fixed]
        cases.append((kind, scores, fixed, forbidden))
        try:
            kind(scores).condition(include=fixed, exclude=forbidden)
            expected.append(True)
        except NoTreeError:
            expected.append(False)
    found = solve(cases)
    assert ["leftOut" not in answer for answer in found] == expected
    assert 20 < sum(expected) < len(expected) - 20
    for answer, (_, scores, _, _) in zip(found, cases, strict=True):
        if "leftOut" in answer:
            assert answer["leftOut"] == sorted(set(answer["leftOut"]))
            assert set(answer["leftOut"]) <= set(range(1, len(scores)))


@ALL_KINDS
def test_the_best_tree_is_the_best_of_all_trees(solve, kind):
    rng = np.random.default_rng(5)
    cases = []
    for seed in range(200):
        num_words = int(rng.integers(1, 5))
        scores = random_graphs.sparse_scores(seed, num_words, rng.uniform(0.2, 1.0))
        if seed % 3 == 0:  # ties
            scores = np.round(scores)
        cases.append((kind, scores, [], []))
    cases = [(*graph, [], []) for graph in with_trees(case[:2] for case in cases)]
    assert len(cases) > 100
    for (_, scores, _, _), found in zip(cases, solve(cases), strict=True):
        totals = {
            tuple(heads): sum(scores[head, j] for j, head in enumerate(heads) if j)
            for heads in trees_of(kind, scores)
        }
        chosen = totals[tuple(found["heads"])]
        assert chosen == pytest.approx(max(totals.values()), abs=1e-12)
