"""What distributions return: rows of trees, and trees as matrices."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from arborand.torch.conversion import to_tensor


class _Rows:
    """Rows of trees: those beyond the number of a graph's trees hold heads of -1."""

    __slots__ = ()
    heads: Tensor

    def __len__(self) -> int:
        return len(self.heads)

    @property
    def mask(self) -> Tensor:
        """Which rows are trees, shape ``(K, *batch_shape)``: False where a graph has no more."""
        return self.heads[..., 1] >= 0


@dataclass(frozen=True, slots=True, eq=False)
class Draws(_Rows):
    """Distinct trees in the order of their draw: the tensors of :class:`arborand.Draws`.

    No gradient flows through them; for gradients, pass their heads to the distribution's
    `log_prob`.  A row without a tree, because its graph has fewer, gets the log-probability -inf
    and the gradient 0.

    Attributes
    ----------
    heads : Tensor of int64, shape ``(K, *batch_shape, m)``
    log_prob, log_remaining, perturbed_log_prob : Tensor of float64, shape ``(K, *batch_shape)``
    num_drawn : Tensor of int64, shape batch_shape
    exhausted : Tensor of bool, shape batch_shape
    mask : Tensor of bool, shape ``(K, *batch_shape)``
        Which rows are trees.
    labels : Tensor of int64, in the shape of `heads`, or None
        The label of each word's arc, of `LabelledTrees`.
    """

    heads: Tensor
    log_prob: Tensor
    log_remaining: Tensor
    perturbed_log_prob: Tensor
    num_drawn: Tensor
    exhausted: Tensor
    labels: Tensor | None = None


@dataclass(frozen=True, slots=True, eq=False)
class BestTrees(_Rows):
    """The best trees, in order: the tensors of :class:`arborand.BestTrees`.

    Attributes
    ----------
    heads : Tensor of int64, shape ``(K, *batch_shape, m)``
    log_prob : Tensor of float64, shape ``(K, *batch_shape)``
    num_found : Tensor of int64, shape batch_shape
    exhausted : Tensor of bool, shape batch_shape
    mask : Tensor of bool, shape ``(K, *batch_shape)``
        Which rows are trees.
    labels : Tensor of int64, in the shape of `heads`, or None
        The label of each word's arc, of `LabelledTrees`.
    """

    heads: Tensor
    log_prob: Tensor
    num_found: Tensor
    exhausted: Tensor
    labels: Tensor | None = None


Answer = TypeVar("Answer", Draws, BestTrees)


def to_tensors(found: Any, answer: type[Answer], like: Tensor) -> Answer:
    """Give an answer of arborand on the device of a tensor, with integers in int64."""

    def tensor(array: Any) -> Any:
        if array is None:
            return None
        is_integer = np.issubdtype(np.asarray(array).dtype, np.integer)
        return to_tensor(np.asarray(array), like, torch.int64 if is_integer else None)

    return answer(*(tensor(getattr(found, field.name)) for field in fields(answer)))


def arc_indicators(heads: Tensor, *, dtype: torch.dtype | None = None) -> Tensor:
    """Make the matrix of each tree: 1 where [head, dependent] is one of its arcs, else 0.

    Parameters
    ----------
    heads : Tensor of int, shape (..., m)
        -1 for the root, for padding and for unknown heads.
    dtype : torch.dtype, optional
        By default torch's default.

    Returns
    -------
    Tensor, shape (..., m, m)

    Examples
    --------
    >>> arc_indicators(torch.tensor([-1, 2, 0])).tolist()
    [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    node = torch.arange(heads.shape[-1], device=heads.device)
    return (heads[..., None, :] == node[:, None]).to(dtype or torch.get_default_dtype())
