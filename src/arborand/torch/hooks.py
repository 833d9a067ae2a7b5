"""Everything private in torch that the front end uses, and what happens if it is missing.

Each name stands for a question that torch's public interface does not answer.  If torch no longer
has the private name, the fallback here is slower or refuses more, but is never wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import forward_ad

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

# How many modes watch operators, for instance to trace them.  Fallback: one, so that the shortcut
# around torch's operators is never taken, which costs a few microseconds per call.
num_dispatch_modes: Callable[[], int] = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 1)

# Whether transforms of torch.func are active.  Fallback: yes, with the same cost, and operators of
# torch.ops.arborand refuse to be differentiated.
are_transforms_active: Callable[[], bool] = getattr(
    torch._C, "_are_functorch_transforms_active", lambda: True
)

# Whether a backward pass may be followed by another through the same graph.  Fallback: yes, so that
# a gradient that was computed beforehand is copied.
keeps_graph: Callable[[], bool] = getattr(
    torch._C._autograd, "_get_current_graph_task_keep_graph", lambda: True
)

# Whether a backward pass continues to a node.  Fallback: yes, so that Hessian-vector products of
# the entropy and of variances are refused if scores and directions are leaves of the same graph.
will_execute: Callable[[Any], bool] = getattr(
    torch._C, "_will_engine_execute_node", lambda node: True
)


def nested_forward_derivatives() -> AbstractContextManager[None]:
    """Allow forward derivatives to be differentiated in forward mode again.

    Torch switches them off while it computes one, and would take the next one to be 0.  Fallback:
    no forward derivatives at all.
    """
    switch = getattr(forward_ad, "_set_fwd_grad_enabled", None)
    if switch is None:
        raise NotImplementedError(
            f"torch {torch.__version__} has no switch for nested forward derivatives, which would "
            "be 0 without it: use reverse mode"
        )
    answer: AbstractContextManager[None] = switch(True)
    return answer


def below_autograd(operator: Any, keys: Any, arguments: tuple[Any, ...]) -> Any:
    """Call an operator as if nothing were differentiated.

    Fallback: operators of torch.ops.arborand, and so compiled functions, raise AttributeError;
    everything else works.
    """
    with torch._C._AutoDispatchBelowAutograd():
        return operator.redispatch(keys & torch._C._after_autograd_keyset, *arguments)


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def is_differentiated_by_func() -> bool:
    """Whether ``torch.func`` differentiates what is being compiled.

    Fallback: yes if any transform is active, so that ``vmap`` also breaks compiled graphs.
    """
    functorch: Any = getattr(torch._C, "_functorch", None)
    if not hasattr(functorch, "get_interpreter_stack"):
        return are_transforms_active()
    return any(
        interpreter.key() != functorch.TransformType.Vmap
        for interpreter in functorch.get_interpreter_stack() or ()
    )


def break_graph(reason: str) -> None:
    """End a compiled graph, and refuse ``fullgraph=True``.

    Fallback: the reason is raised as an error.
    """
    if not hasattr(torch._dynamo, "graph_break"):
        raise NotImplementedError(reason)
    torch._dynamo.graph_break(msg=reason)
