"""The gates for tensors: they check everything except values.

Values are checked when they are used, by the gates of the library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Size, Tensor

from arborand.errors import InvalidTreeError, InvalidWeightsError

if TYPE_CHECKING:
    from collections.abc import Sequence

# The dtypes of scores.
_DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


def check_tensor(given: Tensor, name: str) -> Tensor:
    """Check that an argument is a tensor."""
    if not isinstance(given, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, not {type(given).__name__}")
    return given


def check_integers(given: Tensor, name: str) -> Tensor:
    """Check that an argument is a tensor of integers."""
    check_tensor(given, name)
    if given.is_floating_point() or given.is_complex() or given.dtype == torch.bool:
        raise TypeError(f"{name} must hold integers, but its dtype is {given.dtype}")
    return given


def check_scores(log_weights: Tensor) -> Tensor:
    """Check the type and shape of scores."""
    if not isinstance(log_weights, Tensor):
        raise TypeError(
            f"log_weights must be a torch.Tensor, not {type(log_weights).__name__}; for "
            "arrays, use the class of the same name in arborand"
        )
    if log_weights.dtype not in _DTYPES:
        raise TypeError(
            "log_weights must hold float64, float32, bfloat16 or float16, but its dtype is "
            f"{log_weights.dtype}"
        )
    shape = tuple(log_weights.shape)
    if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] < 2:
        raise InvalidWeightsError(
            f"log_weights has shape {shape}: expected (*batch_shape, m, m), one row and one column "
            "for each node, the root and at least one word"
        )
    return log_weights


def check_lengths(lengths: Tensor | Sequence[int] | int, log_weights: Tensor) -> Tensor:
    """Check the numbers of words, and copy them to the device of the scores."""
    batch_shape = log_weights.shape[:-2]
    device = log_weights.device
    tensor = torch.as_tensor(lengths, device=device).clone()  # so that nobody else can write to it
    if not (isinstance(lengths, Tensor) or tensor.numel()):
        tensor = tensor.to(torch.int64)  # torch makes an empty list floats
    if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool:
        raise TypeError(
            f"lengths must be integers, but their dtype is {tensor.dtype}; for a mask of "
            "words, pass mask.sum(-1)"
        )
    if tensor.shape != batch_shape:
        raise InvalidWeightsError(
            f"lengths has shape {tuple(tensor.shape)}, but the batch has shape "
            f"{tuple(batch_shape)}: give one number of words for each graph"
        )
    return tensor


def check_heads(value: Tensor, name: str, event_shape: Size) -> None:
    """Check the type and shape of heads."""
    check_integers(value, name)
    if value.shape[-1:] != event_shape:
        raise InvalidTreeError(
            f"{name} has shape {tuple(value.shape)}: expected (..., {event_shape[0]}), one head "
            "for each node, -1 for the root"
        )
