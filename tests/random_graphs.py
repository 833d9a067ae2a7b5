"""Graphs for tests: ordinary ones, and those that break what is usually done with them.

Everything is drawn from the seed given. Column 0 and the diagonal hold junk unless said otherwise,
because nothing may read them.
"""

import numpy as np

NO_ARC = -np.inf


def dense_scores(seed, num_words, scale=1.0):
    """Draw normal scores of a standard deviation on all arcs."""
    return scale * np.random.default_rng(seed).normal(size=(num_words + 1, num_words + 1))


def sparse_scores(seed, num_words, density=0.3, scale=1.0):
    """Draw normal scores on some arcs; a random path of all words keeps one tree possible."""
    generator = np.random.default_rng(seed)
    shape = (num_words + 1, num_words + 1)
    keep = generator.random(shape) < density
    path = [0, *(1 + generator.permutation(num_words))]
    keep[path[:-1], path[1:]] = True
    return np.where(keep, scale * generator.normal(size=shape), NO_ARC)


def sparse_integers(seed, num_words, density):
    """Draw integer weights 1..9 on some arcs; there may be no tree."""
    generator = np.random.default_rng(seed)
    shape = (num_words + 1, num_words + 1)
    return generator.integers(1, 10, shape) * (generator.random(shape) < density)


def mutual_pairs(seed, num_words, bond):
    """Bind words 1 and 2, 3 and 4, ... to each other by arcs of weight e^bond."""
    scores = dense_scores(seed, num_words)
    for word in range(1, num_words, 2):
        scores[word, word + 1] = scores[word + 1, word] = bond
    return scores


def negligible_roots(seed, num_words, root_score):
    """Give root arcs weights around e^root_score."""
    scores = dense_scores(seed, num_words)
    scores[0] += root_score
    return scores


def one_tree(seed, num_words, gap):
    """Raise the arcs of one random dependency tree above all others by a gap."""
    scores = dense_scores(seed, num_words)
    generator = np.random.default_rng(seed)
    order = 1 + generator.permutation(num_words)
    scores[0, order[0]] += gap
    for position in range(1, num_words):
        scores[order[generator.integers(position)], order[position]] += gap
    return scores


def nested_traps(seed, num_words, depth):
    """Make words 1..k a trap for every k: it takes a factor e^depth to get out to word k + 1."""
    scores = dense_scores(seed, num_words)
    node = np.arange(num_words + 1)
    scores -= depth * np.maximum(node[:, None], node)
    scores[0] -= depth * num_words
    return scores


def three_gates(seed, num_words, gate):
    """Let the walk out of a circle of words through three gates of e^-gate in a row, no other way.

    Words 1 and 2 stand between the gates; all others form the circle. Once 1 and 2 are censored
    the way out has a weight of e^(-3 gate), or e^(-2 gate) up to the root's own arc, although no
    score is below -gate.
    """
    scores = np.full((num_words + 1, num_words + 1), NO_ARC)
    circle = np.arange(3, num_words + 1)
    for turn in (-1, 1):
        scores[np.roll(circle, turn), circle] = dense_scores(seed, num_words)[turn, circle]
    scores[0, 1] = scores[1, 2] = scores[2, 3] = -gate
    scores[3, 1] = scores[3, 2] = 0.0
    return scores


def skewed_columns(seed, num_words, offset):
    """Add +offset, 0 or -offset to all arcs into a word: no probability changes."""
    columns = np.random.default_rng(seed).choice([-offset, 0.0, offset], num_words + 1)
    return dense_scores(seed, num_words) + columns


def heavy_tails(seed, num_words, scale):
    """Draw Cauchy scores: a few arcs are out of all proportion."""
    return scale * np.random.default_rng(seed).standard_cauchy((num_words + 1, num_words + 1))
