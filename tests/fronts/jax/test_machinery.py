"""Keys, maps, threads, exported and cached programs; and how compiled functions reach the core."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import arborand
from arborand.jax import DependencyTrees, SpanningTrees, hooks
from tests.fronts.jax.graphs import LENGTHS, OTHER, PLAIN, SCORES, VALUES, WAYS

KEYS = jax.random.split(jax.random.key(1), 3)


# ---- vmap

DRAWS = {
    "sample": lambda s, key: DependencyTrees(s).sample(key, (5,)),
    "distinct": lambda s, key: DependencyTrees(s).sample_without_replacement(key, 4),
    "of batches": lambda s, key: SpanningTrees(jnp.stack([s, s + s.T])).sample(key, (2,)),
    "with workers": lambda s, key: DependencyTrees(s, workers=2).sample(key, (130,)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", DRAWS)
def test_mapped_draws_are_those_of_single_calls(name, way):
    draw = DRAWS[name]

    def equal(found, calls):
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *calls)
        jax.tree.map(np.testing.assert_array_equal, found, stacked)

    equal(
        way(jax.vmap(draw))(VALUES, KEYS), [draw(s, k) for s, k in zip(VALUES, KEYS, strict=True)]
    )
    one_key = jax.vmap(draw, (0, None))
    equal(way(one_key)(VALUES, KEYS[0]), [draw(s, KEYS[0]) for s in VALUES])
    one_graph = jax.vmap(draw, (None, 0))
    equal(way(one_graph)(VALUES[0], KEYS), [draw(VALUES[0], k) for k in KEYS])
    twice = jax.vmap(jax.vmap(draw, (0, None)), (None, 0))
    equal(way(twice)(VALUES, KEYS), [one_key(VALUES, k) for k in KEYS])


def test_draws_differ_between_keys_and_between_draws():
    heads = DependencyTrees(VALUES).sample(KEYS[0], (50,))
    assert len({bytes(np.asarray(h)) for h in heads[:, 0]}) > 10
    assert (heads != DependencyTrees(VALUES).sample(KEYS[1], (50,))).any()
    # Equal graphs of a batch have streams of their own.
    same = DependencyTrees(np.broadcast_to(VALUES[0], (2, 6, 6))).sample(KEYS[0], (50,))
    assert (same[:, 0] != same[:, 1]).any()


def test_old_keys_work_too():
    old, new = jax.random.PRNGKey(5), jax.random.key(5)
    d = DependencyTrees(VALUES)
    np.testing.assert_array_equal(d.sample(old, (3,)), d.sample(new, (3,)))


MAPPED = {
    "entropy": lambda s, n: DependencyTrees(s, lengths=n).entropy(),
    "kl_divergence": lambda s, n: DependencyTrees(s, lengths=n).kl_divergence(
        SpanningTrees(OTHER[0], lengths=n)
    ),
    "best_trees": lambda s, n: DependencyTrees(s, lengths=n).best_trees(3).log_prob,
    "minimum_risk_tree": lambda s, n: DependencyTrees(s, lengths=n).minimum_risk_tree(),
    "expectation": lambda s, n: DependencyTrees(s, lengths=n).expectation(VALUES[0]),
    "variance": lambda s, n: DependencyTrees(s, lengths=n).variance(
        np.stack([VALUES[0], OTHER[0]], -1)
    ),
    "log_prob": lambda s, n: DependencyTrees(s, lengths=n).log_prob(
        jnp.stack([DependencyTrees(s, lengths=n).best_tree(), jnp.full(6, -1)])
    ),
    "condition": lambda s, n: DependencyTrees(s, lengths=n).condition(
        heads=jnp.array([-1, 0, -1, -1, -1, -1])
    ).entropy(),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MAPPED)
def test_mapped_answers_are_those_of_single_calls(name, way):
    function = MAPPED[name]
    found = way(jax.vmap(function))(VALUES, LENGTHS)
    expected = jnp.stack([function(s, n) for s, n in zip(VALUES, LENGTHS, strict=True)])
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("way", WAYS)
def test_trees_are_mapped_without_their_graph(way):
    heads = DependencyTrees(PLAIN).sample(KEYS[0], (4, 2))
    expected = DependencyTrees(PLAIN).log_prob(heads)
    found = way(jax.vmap(lambda h: DependencyTrees(PLAIN).log_prob(h), 1, 1))(heads)
    np.testing.assert_array_equal(found, expected)
    batch = DependencyTrees(VALUES)
    heads = batch.sample(KEYS[0], (4,))
    found = way(jax.vmap(lambda s, h: DependencyTrees(s).log_prob(h), (0, 1), 1))(VALUES, heads)
    np.testing.assert_allclose(found, batch.log_prob(heads), rtol=1e-14)


# ---- threads


def test_workers_do_not_show():
    alone, shared = (
        jax.jit(
            lambda s, w=w: jax.value_and_grad(
                lambda s: DependencyTrees(s, workers=w).entropy().sum()
            )(s)
        )(np.tile(VALUES, (5, 1, 1)))
        for w in (1, 2)
    )
    jax.tree.map(np.testing.assert_array_equal, alone, shared)


def test_several_threads_compute_at_the_same_time():
    """Handlers release nothing and take nothing: neither do those of Python lock each other out."""
    function = jax.jit(
        lambda s, key: (
            DependencyTrees(s).entropy(),
            DependencyTrees(s).best_trees(2).log_prob,
            DependencyTrees(s).sample(key, (3,)),
        )
    )
    batches = [VALUES + i for i in range(4)]
    expected = [function(batch, KEYS[0]) for batch in batches]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            found = list(pool.map(lambda batch: function(batch, KEYS[0]), batches))
            jax.tree.map(np.testing.assert_array_equal, found, expected)


# ---- programs that leave the process


def run(code, **environment):
    answer = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "JAX_PLATFORMS": "cpu", **environment},
    )
    assert answer.returncode == 0, answer.stderr[-2000:]
    return answer.stdout.strip()


needs_ffi = pytest.mark.skipif(
    hooks.ROUTE != "ffi", reason="programs that call back to Python stay in their process"
)

EVERYTHING = """
import jax, jax.numpy as jnp, numpy as np
jax.config.update("jax_enable_x64", True)
from arborand.jax import DependencyTrees
def everything(scores, key):
    d = DependencyTrees(scores)
    draws = d.sample_without_replacement(key, 3)
    loss = jax.grad(lambda s: DependencyTrees(s).variance(scores * scores).sum())(scores)
    known = d.condition(heads=jnp.array([-1, 2, -1, -1, -1, -1]))
    return (d.sample(key), draws.log_prob, d.best_trees(2).heads, loss, known.entropy(),
            d.kl_divergence(known), d.renyi_entropy(2.0), d.minimum_risk_tree())
scores = np.random.default_rng(1).normal(size=(6, 6))
words = np.asarray([0, 1], np.uint32)
"""


@needs_ffi
def test_exported_programs_run_in_another_process(tmp_path):
    path = tmp_path / "program"
    run(
        EVERYTHING
        + f"""
from jax import export
from arborand.jax.hooks import HANDLERS
allowed = [export.DisabledSafetyCheck.custom_call(f"arborand_{{name}}") for name in HANDLERS]
function = jax.jit(lambda s, words: everything(s, jax.random.wrap_key_data(words)))
open({str(path)!r}, "wb").write(
    export.export(function, disabled_checks=allowed)(scores, words).serialize())
"""
    )
    found = run(
        EVERYTHING
        + f"""
from jax import export
program = export.deserialize(bytearray(open({str(path)!r}, "rb").read()))
found = program.call(scores, words)
expected = everything(jnp.asarray(scores), jax.random.wrap_key_data(jnp.asarray(words)))
jax.tree.map(np.testing.assert_array_equal, found, expected)
print("equal")
"""
    )
    assert found == "equal"


@needs_ffi
def test_shapes_of_exported_programs_may_be_open():
    from jax import export

    allowed = [export.DisabledSafetyCheck.custom_call("arborand_log_partition")]
    (count,) = export.symbolic_shape("b")
    program = export.export(
        jax.jit(jax.grad(lambda s: DependencyTrees(s).log_partition().sum())),
        disabled_checks=allowed,
    )(jax.ShapeDtypeStruct((count, 6, 6), jnp.float64))
    for number in (1, 3):
        found = program.call(VALUES[:number])
        expected = arborand.DependencyTrees(VALUES[:number]).arc_marginals()
        np.testing.assert_allclose(found, expected, rtol=1e-14)


@needs_ffi
def test_compiled_programs_are_cached(tmp_path):
    code = (
        EVERYTHING
        + f"""
jax.config.update("jax_compilation_cache_dir", {str(tmp_path)!r})
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
from jax._src import monitoring
hits = []
monitoring.register_event_listener(lambda event, **_: hits.append(event))
jax.block_until_ready(jax.jit(everything)(scores, jax.random.key(0)))
print(hits.count("/jax/compilation_cache/cache_hits"))
"""
    )
    first = int(run(code))
    assert any("everything" in path.name for path in tmp_path.iterdir())
    assert int(run(code)) > first


# ---- routes


def test_the_route_is_the_one_that_was_asked_for():
    lowered = jax.jit(lambda s: DependencyTrees(s).log_partition()).lower(PLAIN).as_text()
    assert ("arborand_log_partition" in lowered) == (hooks.ROUTE == "ffi")
    assert ("callback" in lowered) == (hooks.ROUTE == "callback")


def test_unknown_routes_are_refused():
    code = "import arborand.jax"
    answer = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "ARBORAND_JAX_ROUTE": "direct"},
    )
    assert 'ARBORAND_JAX_ROUTE is "direct": use "ffi" or "callback"' in answer.stderr


@needs_ffi
def test_what_is_asked_often_is_computed_without_python(monkeypatch):
    names = []
    for name, compute in hooks._computations.items():
        monkeypatch.setitem(
            hooks._computations,
            name,
            lambda *a, name=name, compute=compute, **s: (names.append(name), compute(*a, **s))[1],
        )

    def often(scores, key):
        d = DependencyTrees(scores)
        third = jax.jvp(lambda s: DependencyTrees(s).variance(scores), (scores,), (scores,))
        second = jax.jvp(jax.grad(lambda s: DependencyTrees(s).entropy()), (scores,), (scores,))
        return d.sample(key, (2,)), d.expectation(scores), d.log_partition(), third, second

    jax.block_until_ready(jax.jit(often)(jnp.asarray(PLAIN), KEYS[0]))
    assert names == []
    jax.block_until_ready(jax.jit(lambda s: DependencyTrees(s).best_tree())(PLAIN))
    assert names == ["best_trees"]


def test_callers_arrays_are_left_alone():
    scores, lengths = SCORES.copy(), LENGTHS.copy()
    scores.flags.writeable = lengths.flags.writeable = False
    for way in WAYS:
        way(lambda s, n: DependencyTrees(s, lengths=n).arc_marginals())(scores, lengths)
    np.testing.assert_array_equal(scores, SCORES)


def test_a_tracer_is_told_where_to_go():
    with pytest.raises(TypeError, match=r"is a JAX tracer.*arborand\.jax"):
        jax.jit(lambda scores: arborand.DependencyTrees(scores).entropy())(PLAIN)
