"""Between tensors and arrays: the one place where precision and devices are decided.

The core computes in float64 on the CPU, and also reads and writes float32.  `to_array` moves
tensors there from other devices, and waits for them; `to_tensor` moves answers back.  Scores in
float64 give answers in float64; all shorter types give float32.  Only `Draws` and `BestTrees` hold
float64 in any case.
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
    """Keep ``torch.compile`` out of a function: it would trace into NumPy's calls, and fail."""
    return cast("Called", torch.compiler.disable(function))


def answer_dtype(dtype: torch.dtype) -> torch.dtype:
    """Return the precision of answers, from that of the scores."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def to_array(tensor: Tensor) -> NDArray[Any]:
    """Read a tensor as an array: in place, if it is on the CPU and no shorter than float32."""
    tensor = tensor.detach()
    if not tensor.is_cpu:
        tensor = tensor.cpu()
    if tensor.dtype in _SHORT:
        tensor = tensor.float()
    if tensor.is_neg():  # torch can store a sign apart from the numbers, NumPy cannot
        tensor = tensor.resolve_neg()
    array: NDArray[Any]
    try:
        array = tensor.numpy()
    except RuntimeError:  # inside a transform of torch.func
        array = np.from_dlpack(_without_transforms(tensor))
    return array


def _without_transforms(tensor: Tensor) -> Tensor:
    """Unwrap a tensor of ``torch.func``: what needs an array has no derivatives anyway."""
    plain: Tensor = torch.func.debug_unwrap(tensor)
    if plain.shape != tensor.shape:
        raise NotImplementedError(
            "best trees, distinct draws and conditions cannot be mapped by torch.func.vmap: use a "
            "distribution over the whole batch"
        )
    return plain


def to_tensor(array: NDArray[Any], like: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """Move an answer, an array that nobody else holds, to the device of a tensor."""
    tensor = torch.from_numpy(array)
    if not like.is_cpu or dtype is not None:
        tensor = tensor.to(like.device, dtype)
    return tensor


def draw_key(generator: torch.Generator | None) -> Tensor:
    """Draw the key of a call: two integers of 64 bits, from torch's own source of randomness.

    Without a generator, the CPU's default one is used, so that a seed gives the same trees whatever
    the device of the scores.
    """
    if generator is not None and not isinstance(generator, torch.Generator):
        raise TypeError(
            f"generator must be a torch.Generator or None, not {type(generator).__name__}; for a "
            "seed, pass torch.Generator().manual_seed(seed)"
        )
    device = torch.device("cpu") if generator is None else generator.device
    return torch.randint(-(2**63), 2**63 - 1, (2,), generator=generator, device=device)


def key_words(key: Tensor) -> tuple[int, int]:
    """Convert a key to what the core takes."""
    first, second = (int(word) % 2**64 for word in key.tolist())
    return first, second
