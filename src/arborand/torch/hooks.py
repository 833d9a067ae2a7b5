"""Everything private of torch that the front leans on, and what happens where torch lacks it.

Each name stands for a question that torch answers nowhere in public.  Where the answer is gone from
torch, the one given here is slower or refuses more, but never wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import forward_ad

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

# How many modes watch operators, for instance to trace them.  Otherwise: some, so that the short
# way round torch's operators is never taken, which costs some microseconds per call.
num_dispatch_modes: Callable[[], int] = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 1)

# Whether transforms of torch.func are active.  Otherwise: yes, with the same cost, and operators of
# torch.ops.arborand refuse to be differentiated.
are_transforms_active: Callable[[], bool] = getattr(
    torch._C, "_are_functorch_transforms_active", lambda: True
)

# Whether a backward pass may be followed by another through the same graph.  Otherwise: yes, so
# that a gradient that was computed beforehand is copied.
keeps_graph: Callable[[], bool] = getattr(
    torch._C._autograd, "_get_current_graph_task_keep_graph", lambda: True
)

# Whether a backward pass goes on to a node.  Otherwise: yes, so that Hessian-vector products of the
# entropy and of variances are refused where scores and directions are leaves of one graph.
will_execute: Callable[[Any], bool] = getattr(
    torch._C, "_will_engine_execute_node", lambda node: True
)


def nested_forward_derivatives() -> AbstractContextManager[None]:
    """Let forward derivatives be differentiated forwards again.

    Torch switches them off while it asks for one, and would take the next one for 0.  Otherwise:
    no forward derivatives at all.
    """
    switch = getattr(forward_ad, "_set_fwd_grad_enabled", None)
    if switch is None:
        raise NotImplementedError(
            f"torch {torch.__version__} has no switch for nested forward derivatives, which would "
            "be 0 without it: use reverse ones"
        )
    answer: AbstractContextManager[None] = switch(True)
    return answer


def below_autograd(operator: Any, keys: Any, arguments: tuple[Any, ...]) -> Any:
    """Call an operator as it is called where nothing is differentiated.

    Otherwise: operators of torch.ops.arborand, and so compiled functions, raise AttributeError; all
    else works.
    """
    with torch._C._AutoDispatchBelowAutograd():
        return operator.redispatch(keys & torch._C._after_autograd_keyset, *arguments)


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def is_differentiated_by_func() -> bool:
    """Whether ``torch.func`` differentiates what is being compiled.

    Otherwise: yes where any transform is active, so that ``vmap`` breaks compiled graphs, too.
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

    Otherwise: the reason is raised.
    """
    if not hasattr(torch._dynamo, "graph_break"):
        raise NotImplementedError(reason)
    torch._dynamo.graph_break(msg=reason)
