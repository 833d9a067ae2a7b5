"""Between tensors and arrays: the one place where precision and devices are decided.

The core works in float64 on the CPU, and reads and writes float32, too.  Tensors of other devices
are moved there by `to_array`, which waits for them, and answers are moved back by `to_tensor`.
Scores in float64 give answers in float64; all shorter ones give float32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

Called = TypeVar("Called", bound="Callable[..., Any]")

_SHORT = (torch.bfloat16, torch.float16)


def not_compiled(function: Called) -> Called:
    """Keep ``torch.compile`` out of a function: it would look into NumPy's calls, and fail."""
    return cast("Called", torch.compiler.disable(function))


def answer_dtype(dtype: torch.dtype) -> torch.dtype:
    """Tell in which precision answers to scores of a given one are given."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def to_array(tensor: Tensor) -> NDArray[Any]:
    """Read a tensor as an array: in place, if it is on the CPU and no shorter than float32."""
    tensor = tensor.detach()
    if not tensor.is_cpu:
        tensor = tensor.cpu()
    if tensor.dtype in _SHORT:
        tensor = tensor.float()
    if tensor.is_neg():  # torch keeps a sign apart from the numbers, which arrays cannot
        tensor = tensor.resolve_neg()
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


def to_tensor(array: NDArray[Any], like: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """Give an answer, which is nobody else's array, on the device of a tensor."""
    tensor = torch.from_numpy(array)
    if not like.is_cpu or dtype is not None:
        tensor = tensor.to(like.device, dtype)
    return tensor


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
