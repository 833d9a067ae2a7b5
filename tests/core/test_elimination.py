"""Censoring of small walks, judged by exact linear algebra on fractions."""

from fractions import Fraction

import numpy as np
import pytest

UNIT = Fraction(1, 2**53)


def solved(matrix, right):
    """Solve a linear system of fractions; `right` has several columns."""
    rows = [[*row, *more] for row, more in zip(matrix, right, strict=True)]
    for k in range(len(rows)):
        pivot = next(i for i in range(k, len(rows)) if rows[i][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        for i in range(len(rows)):
            if i != k and rows[i][k] != 0:
                factor = rows[i][k]
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k], strict=True)]
    return [row[len(matrix) :] for row in rows]


def landings(rows, count):
    """Where the walk from each of the first `count` nodes first lands outside them.

    The last two columns are the root, at order 0 and at order 1: the first-order part of a chance
    whose denominators are all of order 0 is the chance to walk into the vanishing weights.
    """
    matrix, right = [], []
    for j in range(count):
        *steps, at_once, first_order = (Fraction(float(x)) for x in rows[j])
        steps[j] = Fraction(0)
        total = sum(steps) + at_once
        matrix.append([(i == j) - steps[i] / total for i in range(count)])
        right.append([x / total for x in (*steps[count:], at_once, first_order)])
    return solved(matrix, right)


def reordered(rows, survivor):
    """Put a node last."""
    order = [j for j in range(len(rows)) if j != survivor] + [survivor]
    return rows[np.ix_(order, [*order, len(rows), len(rows) + 1])], order


def random_rows(seed, size, *, single_root, density=1.0, scale=0.0):
    generator = np.random.default_rng(seed)
    rows = generator.integers(1, 10, (size, size + 2)) * 2.0 ** np.round(
        generator.normal(size=(size, size + 2)) * scale
    )
    rows *= generator.random(rows.shape) < density
    # A circle keeps every node within reach of every other.
    rows[np.arange(size), (np.arange(size) + 1) % size] += 1
    np.fill_diagonal(rows, 0)
    rows[:, -2 if not single_root else -1] += 1
    rows[:, -1 if not single_root else -2] = 0
    return rows


CASES = [
    (seed, size, single_root, density, scale)
    for seed, (density, scale) in enumerate([(1.0, 0.0), (0.4, 0.0), (1.0, 60.0), (0.5, 30.0)])
    for size in range(1, 7)
    for single_root in (False, True)
]


@pytest.mark.parametrize("by_four", [False, True])
@pytest.mark.parametrize(("seed", "size", "single_root", "density", "scale"), CASES)
def test_survivors_of_small_sets(parts, seed, size, single_root, density, scale, by_four):
    rows = random_rows(seed, size, single_root=single_root, density=density, scale=scale)
    chances, escapes, orders, alive = parts.survivors(rows, by_four=by_four)
    assert alive
    order = 1 if single_root else 0
    assert orders.tolist() == [order] * size
    for node in range(size):
        moved, names = reordered(rows, node)
        to_root = [row[order - 2] for row in landings(moved, size - 1)]
        exact = [Fraction(0)] * size
        for place, name in enumerate(names[:-1]):
            exact[name] = to_root[place]
        own = sum(Fraction(float(rows[node, i])) * exact[i] for i in range(size) if i != node)
        escape = own + Fraction(float(rows[node, order - 2]))
        # A number passes at most five censorings of at most a dozen roundings each.
        bound = 60 * UNIT
        assert abs(Fraction(escapes[node]) - escape) <= bound * escape
        for i in range(size):
            assert abs(Fraction(chances[node, i]) - exact[i]) <= bound * exact[i]


def test_a_walk_that_cannot_leave_is_a_dead_end(parts):
    rows = np.array([[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]])
    for by_four in (False, True):
        *_, alive = parts.survivors(rows, by_four=by_four)
        assert not alive


def test_a_node_whose_only_way_out_vanishes_takes_the_one_factor(parts):
    # Node 1 leads to the root alone: once it is censored, node 0 reaches the root at order 0.
    rows = np.array([[0.0, 2.0, 0.0, 5.0], [0.0, 0.0, 0.0, 3.0]])
    for by_four in (False, True):
        chances, escapes, orders, alive = parts.survivors(rows, by_four=by_four)
        assert alive
        assert (escapes[0], orders[0], chances[0, 1]) == (2.0, 0, 1.0)
        # Node 1 survives: node 0 always comes back to it, but for the vanishing 5 / 2.
        assert (escapes[1], orders[1], chances[1, 0]) == (3.0, 1, 2.5)


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("scale", [0.0, 20.0])
@pytest.mark.parametrize(("size", "count"), [(2, 1), (5, 4), (9, 5), (13, 8), (20, 11), (17, 16)])
def test_censored_nodes_land_where_they_should(parts, size, count, scale, single_root):
    rows = random_rows(size, size, single_root=single_root, scale=scale)
    found, product, first_order, dead_end = parts.absorb(rows, count)
    assert not dead_end
    assert first_order == 0  # some node is left to walk to
    exact = landings(rows, count)
    # Each of the censorings rounds an entry a few times, and sums of rows once more.
    bound = 10 * (count + 4) * UNIT
    for j in range(count):
        for share, expected in zip(found[j], exact[j], strict=True):
            assert abs(Fraction(share) - expected) <= bound * expected
    # Z of the censored nodes is the determinant of their Laplacian.
    assert abs(product - determinant(rows, count)) <= bound * product


def determinant(rows, count):
    matrix = [[-Fraction(float(rows[j, i])) for i in range(count)] for j in range(count)]
    for j in range(count):
        others = sum(Fraction(float(x)) for i, x in enumerate(rows[j][:-2]) if i != j)
        matrix[j][j] = others + Fraction(float(rows[j][-2]))
    result = Fraction(1)
    for k in range(count):
        result *= matrix[k][k]
        for i in range(k + 1, count):
            factor = matrix[i][k] / matrix[k][k]
            matrix[i] = [x - factor * y for x, y in zip(matrix[i], matrix[k], strict=True)]
    return result


# ---- what is divided out before


def test_the_shift_of_masked_root_arcs_keeps_the_low_part(parts):
    # All differences are -1e30 in double; only their low parts tell the columns apart.
    scores = np.full((3, 3), -np.inf)
    scores[0, 1:] = -1e30
    scores[2, 1], scores[1, 2] = 5000.0, 0.0
    columns, (root, rest) = parts.shift(scores)
    assert columns.tolist() == [0.0, 5000.0, 0.0]
    best = max(Fraction(scores[0, j]) - Fraction(columns[j]) for j in (1, 2))
    assert Fraction(root) + Fraction(rest) == best


@pytest.mark.parametrize("order", [1, -1])
def test_the_shift_of_root_arcs_is_the_largest_exact_difference(parts, order):
    for seed in range(50):
        generator = np.random.default_rng(seed)
        scores = generator.choice([1.0, 1e8, 1e16, 1e24], (6, 6)) * generator.normal(size=(6, 6))
        np.fill_diagonal(scores, -np.inf)
        scores[0] -= 1e30
        scores = np.ascontiguousarray(scores[:, [0, *range(1, 6)[::order]]])
        for j in range(1, 6):
            scores[j, j] = -np.inf
        columns, (root, rest) = parts.shift(scores)
        exact = [Fraction(scores[0, j]) - Fraction(columns[j]) for j in range(1, 6)]
        assert Fraction(root) + Fraction(rest) == max(exact)
