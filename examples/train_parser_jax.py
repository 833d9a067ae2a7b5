"""Train a small dependency parser with arborand.jax: ``python examples/train_parser_jax.py``.

A biaffine parser over words and their neighbours learns to score arcs from any CoNLL-U file.  The
whole step is one compiled function: scores, loss, gradient and Adam.  The objectives:

    likelihood   minus the log-probability of the annotated tree
    entropy      the same, minus a reward for staying uncertain
    risk         the expected number of wrong heads, estimated from distinct draws (REINFORCE)

Some sentences are held out for testing.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from arborand.jax import DependencyTrees
from arborand.jax.estimators import expectation_without_replacement

CORPUS = Path(__file__).parent / "corpus" / "sentences.conllu"
WIDTH = 64


class Batch(NamedTuple):
    """Padded sentences; node 0 is the root.  Unknown words, and padding, have the number 0."""

    words: Any  # (sentences, m)
    tags: Any  # (sentences, m)
    heads: Any  # (sentences, m), -1 for the root and in the padding
    lengths: Any  # (sentences,)


def read_conllu(path: Path) -> list[list[list[str]]]:
    """Read the rows of each sentence; multiword tokens and empty nodes are left out."""
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    return [
        [row for row in (line.split("\t") for line in block.splitlines()) if row[0].isdigit()]
        for block in blocks
    ]


def number(sentences: Sequence[Sequence[Sequence[str]]], field: int) -> dict[str, int]:
    """Give a number to each value of a field; 1 is the root."""
    values = sorted({row[field].lower() for rows in sentences for row in rows})
    return {value: i for i, value in enumerate(values, start=2)}


def make_batch(
    sentences: Sequence[Sequence[Sequence[str]]], words: dict[str, int], tags: dict[str, int]
) -> Batch:
    """Turn sentences into arrays."""
    lengths = np.array([len(rows) for rows in sentences], np.int32)
    shape = (len(sentences), int(lengths.max()) + 1)
    batch = Batch(np.zeros(shape, int), np.zeros(shape, int), np.full(shape, -1), lengths)
    for i, rows in enumerate(sentences):
        batch.words[i, : len(rows) + 1] = [1, *(words.get(row[1].lower(), 0) for row in rows)]
        batch.tags[i, : len(rows) + 1] = [1, *(tags.get(row[3].lower(), 0) for row in rows)]
        batch.heads[i, 1 : len(rows) + 1] = [int(row[6]) for row in rows]
    return batch


def make_parameters(key: Any, num_words: int, num_tags: int) -> dict[str, Any]:
    """Draw the parameters of the parser."""
    shapes = {
        "words": (num_words, WIDTH),
        "tags": (num_tags, WIDTH),
        "mixing": (5 * WIDTH, 2 * WIDTH),
        "as_head": (2 * WIDTH, WIDTH),
        "as_dependent": (2 * WIDTH, WIDTH),
        "agreement": (WIDTH, WIDTH),
        "head_score": (WIDTH, 1),
    }
    keys = jax.random.split(key, len(shapes))
    return {
        name: jax.random.normal(k, shape) / shape[0] ** 0.5
        for k, (name, shape) in zip(keys, shapes.items(), strict=True)
    }


def parse(parameters: dict[str, Any], batch: Batch) -> DependencyTrees:
    """Give the distribution over the trees of each sentence, from scores [head, dependent]."""
    nodes = parameters["words"][batch.words] + parameters["tags"][batch.tags]
    padded = jnp.pad(nodes, ((0, 0), (2, 2), (0, 0)))
    m = nodes.shape[1]
    neighbours = jnp.concatenate([padded[:, i : i + m] for i in range(5)], -1)
    states = jax.nn.relu(neighbours @ parameters["mixing"])
    heads = jax.nn.relu(states @ parameters["as_head"])
    dependents = jax.nn.relu(states @ parameters["as_dependent"])
    scores = heads @ parameters["agreement"] @ jnp.swapaxes(dependents, -1, -2)
    return DependencyTrees(scores + heads @ parameters["head_score"], lengths=batch.lengths)


def loss_of(parameters: dict[str, Any], batch: Batch, key: Any, objective: str) -> Any:
    """Compute what is minimised."""
    trees = parse(parameters, batch)
    if objective == "risk":
        # Padding is -1 on both sides, so that it is never wrong.
        return expectation_without_replacement(
            trees, lambda drawn: (drawn != batch.heads).sum(-1).astype(jnp.float32), key, 8
        ).mean()
    reward = 0.1 * trees.entropy() if objective == "entropy" else 0.0
    return (-trees.log_prob(batch.heads) - reward).mean()


@partial(jax.jit, static_argnames="objective")
def update(state: Any, batch: Batch, key: Any, step: Any, *, objective: str) -> Any:
    """Make one step of Adam; the state is the parameters and the means of gradients and squares."""
    parameters, means, squares = state
    loss, gradient = jax.value_and_grad(loss_of)(parameters, batch, key, objective)
    means = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, means, gradient)
    squares = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, squares, gradient)

    def moved(parameter: Any, mean: Any, square: Any) -> Any:
        mean, square = mean / (1 - 0.9**step), square / (1 - 0.999**step)
        return parameter - 5e-3 * mean / (jnp.sqrt(square) + 1e-8)

    return (jax.tree.map(moved, parameters, means, squares), means, squares), loss


def attachment_score(parameters: dict[str, Any], batch: Batch) -> float:
    """Compute the share of words with the right head in the best tree."""
    heads = jax.jit(lambda p, b: parse(p, b).best_tree())(parameters, batch)
    is_word = batch.heads >= 0  # padding must not count as right
    return float(((heads == batch.heads) & is_word).sum() / is_word.sum())


def main(arguments: Sequence[str] | None = None) -> list[float]:
    """Read, train, compare; return the loss of each step."""
    command = argparse.ArgumentParser(description="Train a small dependency parser with JAX.")
    command.add_argument("corpus", type=Path, nargs="?", default=CORPUS, help="a CoNLL-U file")
    objectives = ("likelihood", "entropy", "risk")
    command.add_argument("--objective", choices=objectives, default=objectives[0])
    command.add_argument("--warm-up", type=int, default=20, help="steps of likelihood before risk")
    command.add_argument("--held-out", type=float, default=0.2, help="share of the sentences")
    command.add_argument("--steps", type=int, default=100)
    command.add_argument("--seed", type=int, default=0)
    options = command.parse_args(arguments)

    sentences = read_conllu(options.corpus)
    num_training = len(sentences) - int(len(sentences) * options.held_out)
    training, held_out = sentences[:num_training], sentences[num_training:]
    words, tags = number(training, 1), number(training, 3)
    batch = make_batch(training, words, tags)
    key = jax.random.key(options.seed)
    parameters = make_parameters(key, len(words) + 2, len(tags) + 2)
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    state, losses = (parameters, zeros, zeros), []
    for step in range(1, options.steps + 1):
        # Risk is flat where a parser is sure and wrong: it has to start from something sensible.
        warming_up = options.objective == "risk" and step <= options.warm_up
        objective = "likelihood" if warming_up else options.objective
        state, loss = update(state, batch, jax.random.fold_in(key, step), step, objective=objective)
        losses.append(float(loss))
        if step % max(1, options.steps // 10) == 0:
            print(f"step {step:4d}   loss {losses[-1]:9.4f}", flush=True)
    for name, part in (("training", training), ("held out", held_out)):
        if part:
            score = attachment_score(state[0], make_batch(part, words, tags))
            print(f"{name}   UAS {score:6.1%}")
    return losses


if __name__ == "__main__":
    main()
