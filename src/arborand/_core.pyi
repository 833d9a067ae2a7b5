"""
The compiled core of arborand.  Arguments are not checked: validation.py is the gate.
"""

from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


def instruction_set() -> str:
    """The name of the instruction set the kernels were compiled for."""

def use_instruction_set(name: str) -> None:
    """Choose the kernels by name; for tests that compare instruction sets."""

def logarithms(numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

def inspect(log_weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], lengths: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], single_root: bool, are_weights: bool = False) -> tuple[int, int, int, int]: ...

def suspect(log_weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[int, int]: ...

@overload
def frozen(array: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> Annotated[NDArray[numpy.float64], dict(writable=False)]: ...

@overload
def frozen(array: Annotated[NDArray[numpy.int32], dict(order='C', device='cpu')]) -> Annotated[NDArray[numpy.int32], dict(writable=False)]: ...

def log_partition(log_weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], single_root: bool, workers: int, parts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], column_shift: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> None: ...

def log_prob(log_weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], single_root: bool, parts: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], column_shift: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], heads: Annotated[NDArray[numpy.int32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> int: ...

def arc_marginals(log_weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], single_root: bool, workers: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')]) -> None: ...

def root_marginals(log_weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], single_root: bool, workers: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], expected_steps: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

def entropy(log_weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], single_root: bool, workers: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

def mean_hitting_time(log_weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], workers: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

def sample(log_weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], single_root: bool, workers: int, method: int, key0: int, key1: int, first_graph: int, first_draw: int, step_budget: int, heads: Annotated[NDArray[numpy.int32], dict(shape=(None, None, None), order='C', device='cpu')]) -> tuple[int, int, int]: ...

def sample_distinct(log_weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], single_root: bool, workers: int, key0: int, key1: int, first_graph: int, switch_below: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], switch_after: int, heads: Annotated[NDArray[numpy.int32], dict(shape=(None, None, None), order='C', device='cpu')], numbers: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], num_drawn: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], most_repeats: int = -1) -> int: ...

class DistinctIterator:
    """Draws without replacement from one graph, a few at a time."""

    def __init__(self, log_weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], lengths: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], single_root: bool, key0: int, key1: int, graph: int, switch_below: float, switch_after: int) -> None: ...

    def draw(self, heads: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], numbers: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')]) -> int: ...
