"""Losses, derivatives and draws in compiled functions of JAX, against the torch front and NumPy.

One thread.  Answers are checked against those of NumPy's classes before they are timed.  SynJax is
compared where a checkout is at hand, and has no right answers at its defaults.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks import graphs
from benchmarks.answers import number_objection
from benchmarks.measure import Settings, Side, compare, duration
from benchmarks.report import Report

TITLE = "Compiled functions in JAX"
_ROUNDING = 1e-5  # of float32, in which both fronts answer


def run(settings: Settings) -> Report:
    """Measure the fixed cost of a call, losses with gradients, a Hessian and draws."""
    import jax

    report = Report("jax_front", TITLE, settings)
    table = report.table(
        "In compiled functions, on one core", ("what", "time", "ratio", "compared with")
    )

    def add(text: str, ours: Side, theirs: Side, name: str, bound: float) -> None:
        found = compare({"ours": ours, name: theirs}, settings)
        ratio = found.ratio("ours", name)
        table.rows.append([text, duration(found.median("ours")), str(ratio), name])
        report.claim(f"{text}: time over that of {name}", ratio, bound, at_most=True)

    one, ten = (graphs.random(n, count=1)[0].astype(np.float32) for n in (5, 10))
    batch = graphs.random(39, count=64).astype(np.float32)
    done = jax.block_until_ready
    floor = jax.jit(lambda x: x.sum() + 1)
    log_partition = _compiled(lambda d: d.log_partition())
    add(
        "log Z of 5 words",
        Side(lambda: done(log_partition(one)), _like(one, "log_partition"), 1),
        Side(lambda: done(floor(one)), None, 1),
        "a sum of the scores plus 1",
        2.0,
    )
    for loss, bound in (("log_partition", 1.1), ("entropy", 1.2)):
        gradient = jax.jit(jax.grad(partial(_total, loss)))
        expected = "arc_marginals" if loss == "log_partition" else "entropy_gradient"
        add(
            f"{loss} of 64 sentences of 39 words, with its gradient",
            Side(partial(_waited_for, gradient, batch), _like(batch, expected), 64),
            Side(partial(_in_torch, loss, batch), _like(batch, expected), 64),
            "arborand.torch",
            bound,
        )
    direction = np.random.default_rng(0).normal(size=ten.shape).astype(np.float32)
    hessian = jax.jit(jax.hessian(partial(_total, "log_partition")))
    derivative = _compiled(lambda d: d.arc_covariances(direction))
    add(
        "the Hessian of log Z of 10 words",
        Side(lambda: done(hessian(ten)), None, 1),
        Side(lambda: done(derivative(ten)), None, 1),
        "one derivative of the marginals",
        8.0,
    )
    draw = _compiled(lambda d: d.sample(jax.random.key(0)))
    add(
        "one draw of each of 64 sentences of 39 words",
        Side(lambda: done(draw(batch)), None, 64),
        Side(partial(_numpy_draw, batch), None, 64),
        "NumPy's sample",
        1.5,
    )
    _add_synjax(report, settings, batch)
    return report


def _waited_for(function: Any, scores: Any) -> Any:
    import jax

    return jax.block_until_ready(function(scores))


def _compiled(ask: Any) -> Any:
    import jax

    from arborand.jax import DependencyTrees

    return jax.jit(lambda scores: ask(DependencyTrees(scores)))


def _total(loss: str, scores: Any) -> Any:
    from arborand.jax import DependencyTrees

    return getattr(DependencyTrees(scores), loss)().sum()


def _in_torch(loss: str, batch: Any) -> Any:
    import torch

    from arborand.torch import DependencyTrees

    torch.set_num_threads(1)
    leaf: Any = torch.tensor(batch).requires_grad_()
    getattr(DependencyTrees(leaf), loss)().sum().backward()
    return leaf.grad.numpy()


def _numpy_draw(batch: Any) -> Any:
    from arborand import DependencyTrees

    return DependencyTrees(batch).sample(rng=1)


def _like(scores: Any, name: str) -> Any:
    """Compare an answer with that of NumPy's class."""
    from arborand import DependencyTrees

    expected = getattr(DependencyTrees(scores), name)()
    return lambda found: number_objection(np.asarray(found, np.float64), expected, _ROUNDING)


def _add_synjax(report: Report, settings: Settings, batch: Any) -> None:
    import jax

    text, name = (
        "log Z of 64 sentences of 39 words, with its gradient: time over SynJax's",
        "synjax",
    )
    try:
        import synjax
    except ImportError:
        report.skip(text, 1.0, "synjax is not installed", at_most=True)
        return

    def total(scores: Any) -> Any:
        trees = synjax.SpanningTreeCRF(
            scores, directed=True, projective=False, single_root_edge=True
        )
        return trees.log_partition().sum()

    ours = jax.jit(jax.grad(partial(_total, "log_partition")))
    theirs, objection = jax.jit(jax.grad(total)), _like(batch, "arc_marginals")
    sides = {
        "ours": Side(lambda: jax.block_until_ready(ours(batch)), objection, 64),
        name: Side(lambda: jax.block_until_ready(theirs(batch)), objection, 64),
    }
    found = compare(sides, settings)
    if name in found.wrong:
        report.skip(text, 1.0, f"synjax is wrong: {found.wrong[name]}", at_most=True)
    else:
        report.claim(text, found.ratio("ours", name), 1.0, at_most=True)
