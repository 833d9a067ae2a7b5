"""Between tensors and checked graphs: the one place where precision and devices are decided.

The core works in float64 on the CPU.  Tensors of other devices are moved there, and answers moved
back.  Scores in float64 give answers in float64; all shorter ones give float32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import torch
from torch import Tensor

from arborand import _core
from arborand.kinds import TreeKind
from arborand.validation import check_log_weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from arborand.validation import Graphs

Called = TypeVar("Called", bound="Callable[..., Any]")


def not_compiled(function: Called) -> Called:
    """Keep ``torch.compile`` out of a function: it would look into NumPy's calls, and fail."""
    return cast("Called", torch.compiler.disable(function))


def answer_dtype(dtype: torch.dtype) -> torch.dtype:
    """Tell in which precision answers to scores of a given one are given."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def to_array(tensor: Tensor) -> NDArray[Any]:
    """Read a tensor as an array; its numbers become float64 where they are checked."""
    # Torch may keep a sign apart from the numbers, where arrays have no place for it.
    tensor = tensor.detach().cpu().resolve_neg()
    if tensor.dtype == torch.bfloat16:  # which NumPy does not have
        tensor = tensor.float()
    array: NDArray[Any]
    try:
        array = tensor.numpy()
    except RuntimeError:  # torch.func is looking on
        array = np.from_dlpack(_without_transforms(tensor))
    return array


def _without_transforms(tensor: Tensor) -> Tensor:
    """Read through the wrappers of ``torch.func``: what asks for an array has no derivatives."""
    plain: Tensor = torch.func.debug_unwrap(tensor)
    if plain.shape != tensor.shape:
        raise NotImplementedError(
            "best trees, distinct draws and conditions are not mapped by torch.func.vmap: ask a "
            "distribution over the whole batch for them"
        )
    return plain


def to_graphs(log_weights: Tensor, lengths: Tensor | None, kind: int) -> Graphs:
    """Let scores through the gate of the library: errors on values are raised here."""
    return check_log_weights(
        to_array(log_weights),
        None if lengths is None else to_array(lengths),
        kind=TreeKind(kind),
    )


def value_and_gradient(
    compute: Callable[..., None],
    log_weights: Tensor,
    lengths: Tensor | None,
    kind: int,
    workers: int,
    *,
    gradient: bool,
) -> tuple[Tensor, Tensor | None]:
    """Let the core look at scores and compute a number per graph, and its gradient, in one go.

    The scores are read where they are, and the answers written where they stay.  If the core finds
    anything wrong, the gate is asked what it is.
    """
    scores = _on_cpu(log_weights, answer_dtype(log_weights.dtype))
    slope = torch.empty_like(scores) if gradient else None
    array = scores.numpy()
    numbers = np.empty(array.shape[:-2], array.dtype)  # in a third of the time torch takes
    num_words = None if lengths is None else _on_cpu(lengths, torch.int64).numpy()
    try:
        batch = _core.Batch(array, num_words, kind)
        compute(batch, workers, numbers, None if slope is None else slope.numpy())
    except _core.RefusedScores:
        to_graphs(log_weights, lengths, kind)
        raise RuntimeError("log_weights were changed while they were read") from None
    value = torch.from_numpy(numbers)
    if not log_weights.is_cpu:
        value = value.to(log_weights.device)
        slope = None if slope is None else slope.to(log_weights.device)
    return value, slope


def _on_cpu(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """Give a tensor as the core reads it; most are such ones, and asking torch takes its time."""
    tensor = tensor.detach()
    if tensor.dtype != dtype or not tensor.is_cpu:
        tensor = tensor.to("cpu", dtype)
    if tensor.is_neg():
        tensor = tensor.resolve_neg()
    return tensor.contiguous()


def to_tensor(array: Any, like: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """Give an answer on the device of the scores, in the precision that goes with theirs."""
    return torch.as_tensor(
        array, device=like.device, dtype=answer_dtype(like.dtype) if dtype is None else dtype
    )


def draw_key(generator: torch.Generator | None) -> Tensor:
    """Draw the key of a call: two integers of 64 bits, from torch's own source of randomness.

    Without a generator they come from the CPU's, so that a seed gives the same trees whatever the
    device of the scores.
    """
    if generator is not None and not isinstance(generator, torch.Generator):
        raise TypeError(
            f"generator must be a torch.Generator or None, not {type(generator).__name__}; a seed "
            "becomes one by torch.Generator().manual_seed(seed)"
        )
    device = torch.device("cpu") if generator is None else generator.device
    return torch.randint(-(2**63), 2**63 - 1, (2,), generator=generator, device=device)


def key_words(key: Tensor) -> tuple[int, int]:
    """Read a key as the core takes it."""
    first, second = (int(word) % 2**64 for word in key.tolist())
    return first, second
