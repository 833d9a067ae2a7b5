"""The page about scores from JAX does what it says."""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from arborand import DependencyTrees

PAGE = Path(__file__).parents[2] / "docs" / "is_my_input_right.md"
SCORES = np.random.default_rng(0).normal(size=(3, 6, 6)).astype(np.float32)
ROUNDING = 1e-6  # the callback returns float32


@pytest.fixture(scope="module")
def snippet():
    """Run the block of the page that imports JAX, and give back what it defines."""
    (block,) = re.findall(
        r"```text\n(import jax.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    )
    names = {"scores": jnp.asarray(SCORES[0])}
    exec(block, names)
    return names


def test_the_entropy_is_computed_inside_compiled_functions(snippet):
    expected = DependencyTrees(SCORES).entropy()
    found = [jax.jit(snippet["entropy"])(scores) for scores in SCORES]
    np.testing.assert_allclose(found, expected, rtol=ROUNDING)
    np.testing.assert_allclose(jax.jit(snippet["entropy"])(SCORES), expected, rtol=ROUNDING)
    np.testing.assert_allclose(jax.vmap(snippet["entropy"])(SCORES), expected, rtol=ROUNDING)


def test_trees_are_drawn_inside_compiled_functions(snippet):
    seed = jax.random.bits(jax.random.key(1))
    expected = DependencyTrees(SCORES).sample(rng=int(seed))
    np.testing.assert_array_equal(jax.jit(snippet["sample"])(SCORES, seed), expected)


def test_no_gradient_flows_in_silence(snippet):
    with pytest.raises(ValueError, match="callbacks do not support JVP"):
        jax.grad(snippet["entropy"])(jnp.asarray(SCORES[0]))


def test_a_tracer_is_told_about_the_callback():
    with pytest.raises(TypeError, match=r"is a tracer of JAX.*jax\.pure_callback"):
        jax.jit(lambda scores: DependencyTrees(scores).entropy())(SCORES[0])
