"""Golden draws and numbers: what every method gave for a few graphs, to the last bit.

The values in golden.json are compared exactly by tests/contract/test_golden.py, so that no change
of the random streams or of the arithmetic goes unnoticed. Where a change is meant, ``make golden``
writes the new values under the next version; CHANGELOG.md then has to say so, by that version.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np

from arborand import (
    BiasedSamplerWarning,
    DependencyTrees,
    LabelledTrees,
    ProjectiveDependencyTrees,
    ProjectiveSpanningTrees,
    SpanningTrees,
    SparseSpanningTrees,
)
from arborand.methods import WITH_REPLACEMENT, WITHOUT_REPLACEMENT
from arborand.sparse_graphs.drawing import Budgets

FILE = Path(__file__).with_name("golden.json")
NUM_DRAWS = 4
SEED = 2021


def scores(seed, num_words, scale, *, density=1.0):
    """Make scores that are the same wherever they are made: multiples of 2^-20, from raw bits."""
    size = num_words + 1
    bits = np.random.Philox(key=seed).random_raw(2 * size * size).reshape(2, size, size)
    signed = (bits[0] >> np.uint64(43)).astype(np.int64) - 2**20
    values = signed * (scale / 2**20)
    keep = bits[1] >> np.uint64(44) < density * 2**20
    keep[np.arange(num_words), np.arange(num_words) + 1] = True  # one tree is always possible
    return np.where(keep, values, -np.inf)


def graphs():
    """Name the graphs: log-weights, or weights where they are integers."""
    masked = scores(4, 5, 2.0)
    masked[0] = -1e30
    masked[:, 0] = 0.0  # never read; but if it held scores, they would look transposed
    masked[3, 1], masked[2, 4] = 5000.0, -1e9
    return {
        "ordinary": scores(1, 5, 4.0),
        "sparse": scores(2, 9, 4.0, density=0.3),
        "far apart": scores(3, 6, 1024.0),
        "masked": masked,
        "70 words": scores(5, 70, 4.0),
        "sharp": scores(10, 12, 32.0),
        "weights": np.arange(36).reshape(6, 6) % 7,
    }


def numbers_of(distribution):
    """List what a distribution knows of itself."""
    small = distribution.log_weights.shape[-1] <= 10
    known = {
        "log_partition": distribution.log_partition(),
        "entropy": distribution.entropy(),
        "mean_hitting_time": distribution.mean_hitting_time(),
        "root_marginals": distribution.root_marginals(),
        # Of a large graph the marginals of the first words are enough.
        "arc_marginals": distribution.arc_marginals()[:, : None if small else 3],
    }
    return {name: value.tolist() for name, value in known.items()}


def draws_of(distribution, single_root):
    """Draw by every method, with and without replacement."""
    found = {}
    for method in WITH_REPLACEMENT:
        if method.only is not None and not single_root:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BiasedSamplerWarning)
            heads = distribution.sample(NUM_DRAWS, rng=SEED, method=method.name)
        found[method.name] = {
            "heads": heads.tolist(),
            "log_prob": distribution.log_prob(heads).tolist(),
        }
    for name in [None, *(method.name for method in WITHOUT_REPLACEMENT)]:
        draws = distribution.sample_without_replacement(NUM_DRAWS, rng=SEED, method=name)
        found[f"without replacement, {name or 'default'}"] = {
            "heads": draws.heads.tolist(),
            "log_prob": draws.log_prob.tolist(),
            "log_remaining": draws.log_remaining.tolist(),
            "perturbed_log_prob": draws.perturbed_log_prob.tolist(),
        }
    return found


def projective_answers(distribution):
    """List what a distribution over projective trees knows and draws."""
    draws = distribution.sample_without_replacement(NUM_DRAWS, rng=SEED)
    known = {
        "log_partition": distribution.log_partition(),
        "entropy": distribution.entropy(),
        "root_marginals": distribution.root_marginals(),
        "arc_marginals": distribution.arc_marginals()[:, :3],
        "draws": distribution.sample(NUM_DRAWS, rng=SEED),
        "without replacement": draws.heads,
        "log_remaining": draws.log_remaining,
        "best_trees": distribution.best_trees(NUM_DRAWS).heads,
    }
    return {name: value.tolist() for name, value in known.items()}


def edge_lists():
    """Name the sparse graphs: edges that are the same wherever they are made."""
    grid = [(i, i + 1) for i in range(24) if i % 5 < 4] + [(i, i + 5) for i in range(20)]
    heads, dependents = np.array(grid).T
    scores_of_grid = scores(6, len(grid), 3.0)[0, 1:]
    scores_of_grid[::4] = 9.0  # pairs that catch a walk
    killing = np.full(25, -np.inf)
    killing[[0, 7, 24]] = [0.0, -2.0, 1.5]
    matrix = scores(7, 8, 2.0, density=0.4)
    ends = np.argwhere(np.isfinite(matrix))
    ends = ends[ends[:, 0] != ends[:, 1]]
    twice = np.concatenate([ends, ends[::2]])  # every other arc has a parallel one
    log_weights = np.concatenate([matrix[tuple(ends.T)], matrix[tuple(ends[::2].T)] / 2])
    return {
        "grid": SparseSpanningTrees.from_edges(heads, dependents, directed=False),
        "weighted grid": SparseSpanningTrees.from_edges(
            heads, dependents, log_weights=scores_of_grid, directed=False, root=12
        ),
        "forest": SparseSpanningTrees.from_edges(
            heads, dependents, log_weights=scores_of_grid, directed=False, log_killing=killing
        ),
        "parallel arcs": SparseSpanningTrees.from_edges(*twice.T, log_weights=log_weights, root=0),
    }


def answers_of(trees):
    """List what a sparse graph knows of itself, and trees by every stage of a draw."""
    heads = trees.sample(NUM_DRAWS, rng=SEED)
    found = {
        "log_partition": trees.log_partition(),
        "log_prob": trees.log_prob(heads).tolist(),
        "expected_walk_steps": trees.expected_walk_steps(),
        "edge_marginals": trees.edge_marginals().tolist(),
        "entropy": trees.entropy(),
        "best_tree": trees.best_tree().tolist(),
        "sample": heads.tolist(),
        "sample_edges": trees.sample_edges(NUM_DRAWS, rng=SEED).tolist(),
    }
    for stage, budgets in {"jumps": Budgets(0, 10**6), "elimination": Budgets(0, 0)}.items():
        drawn, _ = trees._graph.draw(NUM_DRAWS, key=(SEED, 1), budgets=budgets)
        found[f"draws by {stage}"] = drawn.tolist()
    return found


def labelled_answers(kind):
    """Draw and list labelled trees.

    NumPy's exp differs between machines in the last digit, so numbers are rounded.
    """
    matrices = [scores(seed, 6, 4.0, density=0.7) for seed in range(20, 25)]
    labelled = LabelledTrees(np.stack(matrices, axis=-1), kind=kind)
    heads, labels = labelled.sample(NUM_DRAWS, rng=SEED)
    draws = labelled.sample_without_replacement(NUM_DRAWS, rng=SEED)
    best = labelled.best_trees(NUM_DRAWS)
    return {
        "log_partition": round(float(labelled.log_partition()), 10),
        "sample": [heads.tolist(), labels.tolist()],
        "without replacement": [draws.heads.tolist(), draws.labels.tolist()],
        "perturbed_log_prob": draws.perturbed_log_prob.round(10).tolist(),
        "best_trees": [best.heads.tolist(), best.labels.tolist()],
    }


def compute():
    """Compute all values: graph, kind of tree, question."""
    found = {}
    for name, matrix in graphs().items():
        for kind in (SpanningTrees, DependencyTrees):
            made = kind.from_weights if matrix.dtype.kind == "i" else kind
            distribution = made(matrix)
            found[f"{name}, {kind.__name__}"] = {
                **numbers_of(distribution),
                **draws_of(distribution, kind is DependencyTrees),
            }
        for kind in (ProjectiveSpanningTrees, ProjectiveDependencyTrees):
            made = kind.from_weights if matrix.dtype.kind == "i" else kind
            found[f"{name}, {kind.__name__}"] = projective_answers(made(matrix))
    for name, trees in edge_lists().items():
        found[f"{name}, SparseSpanningTrees"] = answers_of(trees)
    for kind in (SpanningTrees, DependencyTrees):
        found[f"labelled, {kind.__name__}"] = labelled_answers(kind)
    return found


def committed():
    """Read the file: its version and its values."""
    golden = json.loads(FILE.read_text())
    return golden["version"], golden["values"]


def main():
    """Write the values of today, under a new version if one of them has changed."""
    version, values = committed() if FILE.exists() else (0, {})
    found = json.loads(json.dumps(compute()))
    if found == values:
        print(f"the golden values are those of version {version}: nothing to do")
        return
    lines = [
        f"{json.dumps(name)}: {{\n"
        + ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in entry.items())
        + "\n}"
        for name, entry in found.items()
    ]
    # Graphs and questions that are new change nothing for anybody.
    kept = all(
        found.get(name, {}).get(question) == value
        for name, entry in values.items()
        for question, value in entry.items()
    )
    version += not kept
    FILE.write_text(f'{{"version": {version}, "values": {{\n' + ",\n".join(lines) + "\n}}\n")
    print(f"{FILE.name} has version {version} now.")
    if not kept:
        print(
            "Say in CHANGELOG.md, under Unreleased, what changed and why, beginning with "
            f'"Golden values, version {version}".'
        )


if __name__ == "__main__":
    main()
