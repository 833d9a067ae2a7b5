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

from arborand import BiasedSamplerWarning, DependencyTrees, SpanningTrees
from arborand.methods import WITH_REPLACEMENT, WITHOUT_REPLACEMENT

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
        if method.single_root_only and not single_root:
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
    return found


def committed():
    """Read the file: its version and its values."""
    golden = json.loads(FILE.read_text())
    return golden["version"], golden["values"]


def main():
    """Write the values of today, under a new version if they differ."""
    version, values = committed() if FILE.exists() else (0, None)
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
    FILE.write_text(f'{{"version": {version + 1}, "values": {{\n' + ",\n".join(lines) + "\n}}\n")
    print(
        f"{FILE.name} has version {version + 1} now. Say in CHANGELOG.md, under Unreleased, what "
        f'changed and why, beginning with "Golden values, version {version + 1}".'
    )


if __name__ == "__main__":
    main()
