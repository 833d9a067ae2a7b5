"""Labelled trees against the list of all of them, in exact sums of scores and many digits."""

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from arborand import LabelledTrees, labellings
from tests.kinds import ALL_KINDS, trees_of

DIGITS = 60
CASES = pytest.mark.parametrize(
    ("family", "num_words", "num_labels", "seed"),
    [
        (family, num_words, num_labels, seed)
        for seed, (family, (num_words, num_labels)) in enumerate(
            itertools.product(
                ["normal", "ties", "sparse", "masked", "peaked", "float32"],
                [(1, 1), (1, 4), (2, 3), (3, 2), (4, 1)],
            )
        )
    ],
)


def scores_of(family, num_words, num_labels, seed):
    """Draw scores; column 0 and the diagonal hold junk, and one tree is always possible."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(num_words + 1, num_words + 1, num_labels))
    if family == "ties":
        scores = rng.integers(0, 2, scores.shape) / 10
    if family == "sparse":
        scores[rng.random(scores.shape) < 0.35] = -np.inf
        words = np.arange(num_words)
        scores[words, words + 1, 0] = 0.25
    if family == "masked":
        scores[rng.random(scores.shape[:2]) < 0.4] -= 1e9
    if family == "peaked":
        scores *= 40
    if family == "float32":
        scores = scores.astype(np.float32)
    scores[:, 0] = np.nan
    scores[np.diag_indices(num_words + 1)] = np.inf
    return scores


class LabelledLaw:
    """Every labelled tree with its exact score and its probability, the best first."""

    def __init__(self, kind, scores):
        size = len(scores)
        scores = np.array(scores, np.float64)
        scores[:, 0] = scores[np.diag_indices(size)] = -np.inf
        rows = []
        for heads in trees_of(kind, scores.max(axis=-1)):
            options = [np.flatnonzero(scores[heads[j], j] > -np.inf) for j in range(1, size)]
            for labels in itertools.product(*options):
                exact = sum(
                    (Fraction(float(scores[heads[j], j, labels[j - 1]])) for j in range(1, size)),
                    Fraction(0),
                )
                rows.append((exact, tuple(heads), (-1, *map(int, labels))))
        rows.sort(key=lambda row: (-row[0], row[1], row[2]))
        self.scores, self.size = scores, size
        self.in_order = [row[1:] for row in rows]
        with mpmath.workdps(DIGITS):
            weights = [mpmath.exp(_mpf(row[0] - rows[0][0])) for row in rows]
            scale = mpmath.fsum(weights)
            self.log_partition = mpmath.log(scale) + _mpf(rows[0][0])
            self.log_chance = {
                row[1:]: _mpf(row[0] - rows[0][0]) - mpmath.log(scale) for row in rows
            }
            self.chance = {
                tree: weight / scale for tree, weight in zip(self.in_order, weights, strict=True)
            }

    def given(self, is_met):
        """Return the probability of what meets a condition, and the law given it."""
        with mpmath.workdps(DIGITS):
            kept = {tree: p for tree, p in self.chance.items() if is_met(*tree)}
            total = mpmath.fsum(kept.values())
            return total, {tree: p / total for tree, p in kept.items()}

    def mean(self, function, chance=None):
        with mpmath.workdps(DIGITS):
            chance = self.chance if chance is None else chance
            return mpmath.fsum(p * function(*tree) for tree, p in chance.items())

    def label_marginals(self, chance=None):
        table = np.full(self.scores.shape, mpmath.mpf(0), dtype=object)
        with mpmath.workdps(DIGITS):
            for (heads, labels), p in (self.chance if chance is None else chance).items():
                for j in range(1, self.size):
                    table[heads[j], j, labels[j]] += p
        return table

    def arc_sum(self, values):
        return lambda heads, labels: mpmath.fsum(
            float(values[heads[j], j, labels[j]]) for j in range(1, self.size)
        )

    def distance(self):
        """Return how far the arcs of a likely tree are below the best scores of their words."""
        best = self.scores.max(axis=-1).max(axis=0)
        heads, labels = self.in_order[0]
        return sum(best[j] - self.scores[heads[j], j, labels[j]] for j in range(1, self.size))


def _mpf(fraction):
    return mpmath.mpf(fraction.numerator) / fraction.denominator


def as_pair(heads, labels):
    return tuple(map(int, heads)), tuple(map(int, labels))


@pytest.fixture(params=[True, False], ids=["joint", "from_trees"])
def made(request):
    """Return what makes a distribution and the law that judges it, of either constructor."""

    def make(kind, *case):
        scores = scores_of(*case)
        if request.param:
            return LabelledTrees(scores, kind=kind), LabelledLaw(kind, scores)
        arcs = np.where(np.isnan(scores[..., 0]), 0.0, scores.max(axis=-1)).astype(float)
        trees = kind(arcs)
        best = trees.log_weights[:, 1:].max(axis=0)
        arcs[:, 1:] -= best
        # Joint scores are rounded, and least if they are relative to the best of each word.
        law = LabelledLaw(kind, LabelledTrees.from_trees(kind(arcs), scores).log_weights)
        with mpmath.workdps(DIGITS):
            law.log_partition += mpmath.fsum(map(float, best))
        return LabelledTrees.from_trees(trees, scores), law

    return make


def tolerance(law):
    # The log-weights of from_trees are themselves rounded, hence the scores' size.
    largest = np.abs(law.scores[np.isfinite(law.scores)]).max()
    return 1e-13 + 1.2e-16 * max(float(law.distance()), largest * law.size)


@ALL_KINDS
@CASES
def test_numbers(kind, made, family, num_words, num_labels, seed):
    d, law = made(kind, family, num_words, num_labels, seed)
    close = tolerance(law)
    assert abs(d.log_partition() - law.log_partition) <= close * max(1, abs(law.log_partition))
    marginals = d.label_marginals()
    for index, p in np.ndenumerate(law.label_marginals()):
        assert abs(marginals[index] - p) <= 4 * close * p + 1e-290, index
    np.testing.assert_allclose(d.arc_marginals(), marginals.sum(axis=-1), rtol=1e-14, atol=1e-300)
    np.testing.assert_array_equal(d.root_marginals(), d.trees.root_marginals())
    entropy = -law.mean(lambda *tree: law.log_chance[tree])
    assert abs(d.entropy() - entropy) <= 1e-12 * max(1, entropy) + 10 * close
    heads, labels = (np.array(part) for part in zip(*law.in_order, strict=True))
    for found, tree in zip(d.log_prob(heads, labels), law.in_order, strict=True):
        expected = law.log_chance[tree]
        assert abs(found - expected) <= 4 * close * max(1, abs(expected)), tree


@ALL_KINDS
@CASES
def test_sums_over_labelled_arcs(kind, made, family, num_words, num_labels, seed):
    d, law = made(kind, family, num_words, num_labels, seed)
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, *law.scores.shape))
    f, g = law.arc_sum(first), law.arc_sum(second)
    first[law.scores == -np.inf] = np.nan  # not read
    mean = law.mean(f)
    expected = law.mean(lambda *tree: (f(*tree) - mean) * g(*tree))
    variance = law.mean(lambda *tree: (f(*tree) - mean) ** 2)
    close = 30 * tolerance(law)
    assert abs(d.expectation(first) - mean) <= close
    assert abs(d.covariance(first, second) - expected) <= close
    assert abs(d.variance(first) - variance) <= close
    assert d.variance(first) >= 0


@ALL_KINDS
@CASES
def test_the_best_are_in_exact_order_to_the_last(kind, made, family, num_words, num_labels, seed):
    d, law = made(kind, family, num_words, num_labels, seed)
    found = d.best_trees(len(law.in_order) + 3)
    assert [as_pair(*t) for t in zip(found.heads, found.labels, strict=True)] == law.in_order
    assert found.num_found == len(law.in_order)
    assert found.exhausted
    np.testing.assert_array_equal(found.log_prob, d.log_prob(found.heads, found.labels))
    assert as_pair(*d.best_tree()) == law.in_order[0]
    first = itertools.islice(d.iterate_best_trees(), 50)
    assert [as_pair(t.heads, t.labels) for t in first] == law.in_order[:50]
    short = d.best_trees(7)
    np.testing.assert_array_equal(short.labels, found.labels[:7])


@ALL_KINDS
@CASES
def test_least_risk(kind, made, family, num_words, num_labels, seed):
    d, law = made(kind, family, num_words, num_labels, seed)
    marginals = law.label_marginals()

    def correct(heads, labels):
        return mpmath.fsum(marginals[heads[j], j, labels[j]] for j in range(1, law.size))

    found = as_pair(*d.minimum_risk_tree())
    assert found in law.chance
    assert correct(*found) >= max(correct(*tree) for tree in law.in_order) - 10 * tolerance(law)


@ALL_KINDS
@CASES
def test_distinct_draws_go_on_to_the_last(kind, made, family, num_words, num_labels, seed):
    d, law = made(kind, family, num_words, num_labels, seed)
    draws = d.sample_without_replacement(len(law.in_order) + 1, rng=seed)
    found = [as_pair(*t) for t in zip(draws.heads, draws.labels, strict=True)]
    assert sorted(found) == sorted(law.in_order)
    assert draws.exhausted
    close = 20 * tolerance(law)
    with mpmath.workdps(DIGITS):
        remaining = dict(law.chance)
        for i, tree in enumerate(found):
            expected = mpmath.log(mpmath.fsum(remaining.values()))
            assert abs(draws.log_remaining[i] - expected) <= close * max(1, abs(expected))
            expected = law.log_chance[tree]
            assert abs(draws.log_prob[i] - expected) <= close * max(1, abs(expected))
            del remaining[tree]
    assert (np.diff(draws.perturbed_log_prob) < 0).all()
    # New trees come as they do without labels.
    new = list(dict.fromkeys(tuple(heads) for heads, _ in found))
    alone = d.trees.sample_without_replacement(len(new), rng=seed).heads
    assert new == [tuple(map(int, heads)) for heads in alone]
    lazily = itertools.islice(d.iterate_without_replacement(rng=seed), 20)
    assert [as_pair(t.heads, t.labels) for t in lazily] == found[:20]


def condition_of(law, d, seed):
    """Draw a condition that some labelled tree meets: arguments, and whether a tree meets it."""
    rng = np.random.default_rng(seed)
    heads, labels = law.in_order[rng.integers(len(law.in_order))]
    given = np.where(rng.random(law.size) < 0.3, heads, -1)
    asked = np.where(rng.random(law.size) < 0.4, labels, -1)
    allowed = rng.random(law.scores.shape) < 0.7
    for j in range(1, law.size):
        allowed[heads[j], j, labels[j]] = True

    def is_met(tree, chosen):
        return all(
            given[j] in (-1, tree[j])
            and asked[j] in (-1, chosen[j])
            and allowed[tree[j], j, chosen[j]]
            for j in range(1, law.size)
        )

    return {"heads": given, "labels": asked, "allowed": allowed}, is_met


@ALL_KINDS
@CASES
def test_conditions(kind, made, family, num_words, num_labels, seed):
    d, law = made(kind, family, num_words, num_labels, seed)
    asked, is_met = condition_of(law, d, seed)
    evidence, chance = law.given(is_met)
    close = 50 * tolerance(law)
    log_evidence = mpmath.log(evidence)
    assert abs(d.log_evidence(**asked) - log_evidence) <= close * max(1, abs(log_evidence))
    conditioned = d.condition(**asked)
    marginals = conditioned.label_marginals()
    for index, p in np.ndenumerate(law.label_marginals(chance)):
        assert abs(marginals[index] - p) <= close * p + 1e-290, index
    found = conditioned.best_trees(len(chance) + 1)
    pairs = [as_pair(*t) for t in zip(found.heads, found.labels, strict=True)]
    assert sorted(pairs) == sorted(chance)
    # Conditions of labels alone, of arcs alone, and both after each other are the same.
    steps = d.condition(labels=asked["labels"]).condition(allowed=asked["allowed"])
    steps = steps.condition(heads=asked["heads"])
    np.testing.assert_allclose(steps.label_marginals(), marginals, rtol=close, atol=1e-290)


@ALL_KINDS
def test_an_allowed_arc_may_have_any_label(kind):
    scores = scores_of("normal", 3, 3, 0)
    d = LabelledTrees(scores, kind=kind)
    allowed = np.random.default_rng(0).random((4, 4)) < 0.8
    allowed[[0, 1, 2], [1, 2, 3]] = True
    np.testing.assert_allclose(
        d.log_evidence(allowed=allowed), d.trees.log_evidence(allowed=allowed), rtol=1e-13
    )
    np.testing.assert_allclose(
        d.condition(allowed=allowed).arc_marginals(),
        d.trees.condition(allowed=allowed).arc_marginals(),
        rtol=1e-13,
    )


@ALL_KINDS
@CASES
def test_divergences(kind, made, family, num_words, num_labels, seed):
    d, law = made(kind, family, num_words, num_labels, seed)
    other, other_law = made(kind, family, num_words, num_labels, seed + 1000)
    found = d.kl_divergence(other)
    if set(law.in_order) <= set(other_law.in_order):
        expected = law.mean(lambda *tree: law.log_chance[tree] - other_law.log_chance[tree])
        close = 1e-12 + 30 * (tolerance(law) + tolerance(other_law))
        assert abs(found - expected) <= close * max(1, abs(expected))
    else:
        assert found == np.inf
    assert d.kl_divergence(d) == 0
    np.testing.assert_array_equal(d.cross_entropy(other), d.entropy() + found)


@ALL_KINDS
def test_a_divergence_is_infinite_if_the_other_lacks_a_tree_however_improbable(kind):
    scores = np.zeros((4, 4, 2))
    scores[0, 1, 1] = -1000.0
    scores[1, 2] = -2000.0
    for arc in ((0, 1), (1, 2), (3, 2)):
        other = scores.copy()
        other[(*arc, 1)] = -np.inf
        for p, q in itertools.product(range(2), repeat=2):
            d, e = (
                (LabelledTrees(s, kind=kind), LabelledTrees.from_trees(kind(s.max(axis=-1)), s))[i]
                for i, s in ((p, scores), (q, other))
            )
            assert d.kl_divergence(e) == d.cross_entropy(e) == np.inf
            assert e.kl_divergence(d) < np.inf


@ALL_KINDS
def test_a_label_of_an_arc_in_no_tree_may_be_missing(kind):
    scores = np.zeros((3, 3, 2))
    scores[0, 2] = -np.inf  # only under 1: no tree has the arc 2 -> 1
    other = scores.copy()
    other[2, 1, 1] = -np.inf
    found = LabelledTrees(scores, kind=kind).kl_divergence(LabelledTrees(other, kind=kind))
    assert found == 0.0


def test_small_divergences_keep_digits():
    scores = scores_of("normal", 2, 3, 0)
    for distance in (1e-3, 1e-5, 1e-7):
        close = LabelledTrees(scores + distance * scores_of("normal", 2, 3, 1))
        law = LabelledLaw(type(close.trees), scores)
        other = LabelledLaw(type(close.trees), close.log_weights)
        expected = law.mean(lambda *t: law.log_chance[t] - other.log_chance[t])  # noqa: B023
        found = LabelledTrees(scores).kl_divergence(close)
        assert abs(found - expected) <= 1e-14 / distance * expected


@ALL_KINDS
def test_log_weights_of_from_trees_have_the_law_of_the_trees(kind):
    arcs = np.random.default_rng(0).normal(size=(4, 4))
    trees = kind(arcs)
    d = LabelledTrees.from_trees(trees, scores_of("normal", 3, 3, 1))
    assert d.trees is trees
    assert d.log_partition() == trees.log_partition()
    again = LabelledTrees(d.log_weights, kind=kind)
    np.testing.assert_allclose(again.label_marginals(), d.label_marginals(), rtol=1e-13)


@ALL_KINDS
@pytest.mark.parametrize("common", [0.0, 1e9, -1e12, 1e15, 1e17, 1e300])
def test_scores_that_all_arcs_of_a_word_share_cost_labels_no_digits(kind, common):
    scores = scores_of("normal", 3, 2, 0)[..., ::-1]
    shared = [0.0, common, -common, common]
    d = LabelledTrees.from_trees(kind(np.zeros((4, 4)) + shared), scores)
    law = LabelledLaw(kind, LabelledTrees.from_trees(kind(np.zeros((4, 4))), scores).log_weights)
    asked, is_met = condition_of(law, d, 0)
    evidence, chance = law.given(is_met)
    assert abs(d.log_evidence(**asked) - mpmath.log(evidence)) <= 1e-13
    conditioned = d.condition(**asked)
    steps = d.condition(labels=asked["labels"]).condition(allowed=asked["allowed"])
    for found in (conditioned, steps.condition(heads=asked["heads"])):
        marginals = found.label_marginals()
        for index, p in np.ndenumerate(law.label_marginals(chance)):
            assert abs(marginals[index] - p) <= 1e-13 * p, index
        total = sum(map(mpmath.mpf, shared)) + law.log_partition + mpmath.log(evidence)
        assert abs(found.log_partition() - total) <= 1e-13 * max(1, abs(total))
    best = d.best_trees(999)
    assert [as_pair(*t) for t in zip(best.heads, best.labels, strict=True)] == law.in_order


@pytest.mark.parametrize("gap", [500.0, 1e5, 1e15, 1.7e308])
def test_scores_far_below_the_best(gap):
    # The only tree has one arc far below the best of its word, and labels farther below.
    scores = np.full((3, 3, 3), -np.inf)
    scores[0, 1] = [0.5, 0.25, -gap]
    scores[1, 2] = [-gap, -gap, -np.inf]
    scores[2, 1] = [3.0, 1.0, 2.0]
    d = LabelledTrees(scores)
    law = LabelledLaw(type(d.trees), scores)
    found = d.sample_without_replacement(99, rng=0)
    pairs = [as_pair(*t) for t in zip(found.heads, found.labels, strict=True)]
    assert sorted(pairs) == sorted(law.in_order)
    for index, p in np.ndenumerate(law.label_marginals()):
        assert abs(d.label_marginals()[index] - p) <= 1e-13 * p + 1e-290


@ALL_KINDS
def test_labels_may_be_further_apart_than_the_largest_number(kind):
    scores = np.zeros((2, 2, 2))
    scores[0, 1] = [1.7e308, -1.7e308]
    for d in (
        LabelledTrees(scores, kind=kind),
        LabelledTrees.from_trees(kind(np.zeros((2, 2))), scores),
    ):
        assert -np.inf < d.log_evidence(labels=[-1, 1]) <= -1.7e308
        assert d.log_evidence(labels=[-1, 0]) == 0.0
        assert d.condition(labels=[-1, 1]).best_tree()[1].tolist() == [-1, 1]
        assert d.best_trees(9).labels.tolist() == [[-1, 0], [-1, 1]]


@ALL_KINDS
@pytest.mark.filterwarnings("error")
def test_distinct_trees_whose_probabilities_are_below_all_numbers(kind):
    scores = np.zeros((3, 3, 2))
    scores[..., 1] = -1.7e308
    for d in (
        LabelledTrees(scores, kind=kind),
        LabelledTrees.from_trees(kind(np.zeros((3, 3))), scores),
    ):
        best = d.best_trees(99)
        every = {as_pair(*t) for t in zip(best.heads, best.labels, strict=True)}
        draws = d.sample_without_replacement(99, rng=0)
        found = [as_pair(*t) for t in zip(draws.heads, draws.labels, strict=True)]
        assert set(found) == every == set(LabelledLaw(kind, scores).in_order)
        assert len(found) == len(every)
        assert (np.diff(draws.perturbed_log_prob) <= 0).all()


@pytest.mark.parametrize("family", ["close", "equal", "far", "low"])
def test_parts_are_taken_in_proportion_to_their_masses(family, monkeypatch):
    monkeypatch.setattr(labellings, "_LONGEST_LIST", 8)
    rng = np.random.default_rng(0)
    parts, left = labellings._Parts(), []

    def add(name):
        log_mass = {
            "close": rng.normal(),
            "equal": -1e17,
            "far": 50 * rng.normal(),
            "low": -1.7e308 * rng.random(),
        }[family]
        parts.add(log_mass, name)
        left.append((log_mass, name))

    for name in range(120):
        add(name)
    for name in range(120, 270):
        if name % 3 == 0:
            add(name)
        left.sort()
        weights = [mpmath.exp(log_mass - left[-1][0]) for log_mass, _ in left]
        total = mpmath.fsum(weights)
        numbers = rng.integers(2**64, size=2, dtype=np.uint64)
        if name % 2:
            numbers[0] >>= np.uint64(rng.integers(64))
        uniform = (mpmath.mpf(int(numbers[0])) * 2**64 + int(numbers[1])) / 2**128
        passed, place = weights[0], 0
        while passed <= uniform * total:
            place += 1
            passed += weights[place]
        expected = mpmath.log(total) + left[-1][0]
        log_mass, found = parts.take(numbers)
        assert found == left.pop(place)[1]
        assert abs(log_mass - expected) <= 1e-13 + 1.2e-16 * abs(expected)
        assert max(map(len, parts._lists)) <= 8  # so that little is added up again
    while parts:
        parts.take(np.zeros(2, np.uint64))
        left.pop()
    assert not left
