"""Losses in torch with their gradients, against what is usually written with determinants.

One thread, batches of 64 sentences of 39 words.  The usual way is the matrix-tree theorem in
float64 with torch's own derivatives; its answers are checked, as ours are, before it is timed.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import arborand
from benchmarks import graphs
from benchmarks.answers import number_objection, same_objection
from benchmarks.measure import (
    Settings,
    Side,
    compare,
    compare_workers,
    duration,
    median_interval,
)
from benchmarks.report import Report

TITLE = "Losses in torch"
_SHAPE = (64, 40)


def run(settings: Settings) -> Report:
    """Measure log Z and entropy with their gradients, the fixed cost of a call, and two workers."""
    import torch  # only here, so that the list of benchmarks can be read without it

    torch.set_num_threads(1)
    report = Report("torch_front", TITLE, settings)
    count, size = _SHAPE
    scores = torch.tensor(graphs.random(size - 1, count=count))
    table = report.table(
        "Value and gradient, per sentence of a batch of 64 with 39 words each",
        ("loss", "arborand.torch", "by determinants", "ratio"),
    )
    for loss, bound in (("log_partition", 0.6), ("entropy", 0.7)):
        found = compare(_sides(loss, scores), settings)
        ratio = found.ratio("ours", "determinants")
        times = (duration(found.median(name)) for name in ("ours", "determinants"))
        table.rows.append([loss, *times, str(ratio)])
        report.claim(
            f"{loss} and its gradient: time over that by determinants", ratio, bound, at_most=True
        )
    _add_peers(report, settings, scores)
    _add_fixed_cost(report, settings)
    _add_workers(report, settings, scores)
    return report


def _sides(loss: str, scores: Any) -> dict[str, Side]:
    trees = arborand.DependencyTrees(scores.numpy())
    expected = {"log_partition": trees.arc_marginals, "entropy": trees.entropy_gradient}[loss]()
    # Determinants in float64 have about nine digits here.
    objection = {
        "ours": lambda found: number_objection(found, expected, 1e-12),
        "determinants": lambda found: number_objection(found, expected, 1e-6),
    }
    by = {"ours": _ours, "determinants": _by_determinants}
    return {
        name: Side(partial(by[name], loss, scores), objection[name], len(scores)) for name in by
    }


def _ours(loss: str, scores: Any, workers: int = 1, kind: str = "DependencyTrees") -> Any:
    import arborand.torch

    leaf = scores.detach().requires_grad_()
    getattr(getattr(arborand.torch, kind)(leaf, workers=workers), loss)().sum().backward()
    return leaf.grad.numpy()


def _by_determinants(loss: str, scores: Any) -> Any:
    """Koo et al. 2007: the root's weights in the place of the Laplacian's first row."""
    import torch

    leaf = scores.detach().requires_grad_()
    ignored = torch.eye(leaf.shape[-1], dtype=torch.bool)
    ignored[:, 0] = True
    clean = leaf.masked_fill(ignored, -torch.inf)
    top = clean.detach().amax(-2, keepdim=True)
    top[..., 0] = 0.0
    weights = (clean - top).exp()
    words = weights[:, 1:, 1:]
    laplacian = torch.diag_embed(words.sum(-2)) - words
    replaced = torch.cat([weights[:, :1, 1:], laplacian[:, 1:]], 1)
    log_partition = torch.linalg.slogdet(replaced).logabsdet + top.sum((-1, -2))
    if loss == "log_partition":
        log_partition.sum().backward()
        return leaf.grad.numpy()
    (marginals,) = torch.autograd.grad(log_partition.sum(), leaf, create_graph=True)
    mean = (marginals * leaf.masked_fill(ignored, 0.0)).sum((-1, -2))
    (gradient,) = torch.autograd.grad((log_partition - mean).sum(), leaf)
    return gradient.numpy()


def _add_peers(report: Report, settings: Settings, scores: Any) -> None:
    table = report.table(
        "log Z and its gradient, in other libraries",
        ("trees", "who", "time", "arborand.torch", "times faster"),
        "All trees: 64 sentences of 39 words. Projective ones: 32.",
    )
    for name, kind, tolerance, bound in (
        ("torch-struct", "DependencyTrees", 1e-3, 2.0),  # it adds 1e-5 to all weights
        ("supar", "DependencyTrees", 1e-6, 2.0),
        ("torch-struct", "ProjectiveDependencyTrees", 1e-9, 50.0),
        ("supar", "ProjectiveDependencyTrees", 1e-9, 50.0),
    ):
        is_projective = kind == "ProjectiveDependencyTrees"
        batch = scores[:32] if is_projective else scores
        trees = "projective trees" if is_projective else "all trees"
        text = f"{trees}, log Z and its gradient: times faster than {name}"
        try:
            theirs = _BY_PEER[name](batch, is_projective)
        except ImportError:
            report.skip(text, bound, f"{name} is not installed", at_most=False)
            continue
        expected = getattr(arborand, kind)(batch.numpy()).arc_marginals()
        ours = partial(_ours, "log_partition", batch, kind=kind)
        sides = {
            "ours": Side(ours, partial(_objection, expected, 1e-12), len(batch)),
            name: Side(theirs, partial(_objection, expected, tolerance), len(batch)),
        }
        found = compare(sides, settings)
        if name in found.wrong:
            report.skip(text, bound, f"{name} is wrong: {found.wrong[name]}", at_most=False)
            continue
        ratio = found.ratio(name, "ours")
        times = (duration(found.median(side)) for side in (name, "ours"))
        table.rows.append([trees, name, *times, str(ratio)])
        report.claim(text, ratio, bound, at_most=False)


def _objection(expected: Any, tolerance: float, found: Any) -> str | None:
    return number_objection(found, expected, tolerance)


def _by_torch_struct(scores: Any, is_projective: bool) -> Any:
    """Its root arcs are on the diagonal."""
    import torch
    from torch_struct import DependencyCRF, NonProjectiveDependencyCRF

    trees = DependencyCRF if is_projective else NonProjectiveDependencyCRF
    word = torch.arange(scores.shape[-1] - 1)
    potentials = scores[:, 1:, 1:].clone()
    potentials[:, word, word] = scores[:, 0, 1:]

    def call() -> Any:
        leaf = potentials.detach().requires_grad_()
        trees(leaf, multiroot=False).partition.sum().backward()
        gradient = torch.zeros_like(scores)
        gradient[:, 1:, 1:] = leaf.grad
        gradient[:, 0, 1:] = leaf.grad[:, word, word]
        gradient[:, word + 1, word + 1] = 0.0
        return gradient.numpy()

    return call


def _by_supar(scores: Any, is_projective: bool) -> Any:
    """Its scores are [dependent, head]."""
    import torch
    from supar.structs import DependencyCRF, MatrixTree

    trees = DependencyCRF if is_projective else MatrixTree
    size = scores.shape[-1]
    turned = scores.transpose(-1, -2).contiguous()
    # What is never read has to be finite all the same: a gradient goes through it.
    turned[~turned.isfinite()] = -100.0
    lengths = torch.full((len(scores),), size - 1)

    def call() -> Any:
        leaf = turned.detach().requires_grad_()
        trees(leaf, lengths, multiroot=False).log_partition.sum().backward()
        return leaf.grad.transpose(-1, -2).numpy()

    return call


_BY_PEER = {"torch-struct": _by_torch_struct, "supar": _by_supar}


def _add_fixed_cost(report: Report, settings: Settings) -> None:
    import torch

    from arborand.torch import DependencyTrees

    scores = torch.tensor(graphs.random(5, count=1)[0])

    def call() -> Any:
        with torch.no_grad():
            return DependencyTrees(scores).log_partition()

    found = compare({"one call": Side(call, None, 1)}, settings)
    table = report.table("Constructor and log_partition() of one sentence", ("words", "time"))
    table.rows.append(["5", duration(found.median("one call"))])
    micro = median_interval([seconds * 1e6 for seconds in found.times["one call"]])
    text = "constructor and log_partition() of a sentence of 5 words: microseconds"
    report.claim(text, micro, 60, at_most=True)


def _add_workers(report: Report, settings: Settings, scores: Any) -> None:
    alone = _ours("log_partition", scores)

    def check(found: Any) -> str | None:
        return same_objection(found, expected=alone)

    speed_up, details = compare_workers(
        lambda workers: _ours("log_partition", scores, workers),
        settings,
        check=check,
        same_check=check,
    )
    report.claim(f"two workers: times faster than one ({details})", speed_up, 1.7, at_most=False)
