"""The gates for small arguments: counts, indices, sizes, threads, choices and arcs.

Each function returns the argument in its plain form, or raises an error that names it.

Weights have a gate of their own (``validation.py``), and so do trees (``trees.py``), method names
(``methods.py``) and sources of randomness (``randomness.py``).
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Class = TypeVar("Class", bound=type)

_ROOT_ARCS = (
    "the class decides: SpanningTrees allows several arcs from the root, DependencyTrees one"
)
# Names that other libraries use for the same argument; ours comes first.
_SAME = (
    ("rng", "generator", "seed", "random_state", "key"),
    ("lengths", "length", "mask", "seq_lens", "sentence_lengths"),
    ("size", "sample_shape", "k", "num_samples", "n", "num_draws", "num_trees", "shape"),
    ("workers", "num_workers", "n_jobs", "threads"),
    ("log_weights", "scores", "arc_scores", "logits", "potentials"),
    ("method", "algorithm", "sampler"),
)
_CHOICE_OF_CLASS = ("multiroot", "multi_root", "single_root", "one_root")


def explain_arguments(kind: Class) -> Class:
    """Make the public methods of a class answer an unknown argument by naming the right one.

    Python's own message would name the class that defines the method, which users never see.
    """
    for name, member in list(vars(kind).items()):
        if name.startswith("_") and name != "__init__":
            continue
        if isinstance(member, FunctionType):
            setattr(kind, name, _explained(member))
        elif isinstance(member, classmethod):
            setattr(kind, name, classmethod(_explained(member.__func__)))
    return kind


def _explained(function: Callable[..., Any]) -> Callable[..., Any]:
    parameters = list(inspect.signature(function).parameters.values())
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return function  # it takes anything, and raises its own errors
    names = frozenset(parameter.name for parameter in parameters[1:])
    most = sum(parameter.kind is parameter.POSITIONAL_OR_KEYWORD for parameter in parameters)

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        if len(arguments) > most or (options and not names.issuperset(options)):
            raise TypeError(_explanation(function.__name__, arguments, options, parameters[1:]))
        return function(*arguments, **options)

    function.__qualname__ = function.__name__  # for Python's message about a missing argument
    return call


def _explanation(
    method: str,
    arguments: tuple[Any, ...],
    options: dict[str, Any],
    parameters: list[inspect.Parameter],
) -> str:
    owner = arguments[0] if isinstance(arguments[0], type) else type(arguments[0])
    called = owner.__name__ if method == "__init__" else f"{owner.__name__}.{method}"
    positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    keywords = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    every = ", ".join([*positional, *(f"{name}=" for name in keywords)]) or "no argument"
    unknown = next((name for name in options if name not in {*positional, *keywords}), None)
    if unknown is None:
        plural = "" if len(positional) == 1 else "s"
        named = ", ".join(f"{name}=" for name in keywords)
        return (
            f"{called} takes {len(positional) or 'no'} positional argument{plural}, but got "
            f"{len(arguments) - 1}{f'; pass the others by name: {named}' if named else ''}"
        )
    if unknown in _CHOICE_OF_CLASS:
        return f"{called} has no argument {unknown}: {_ROOT_ARCS}"
    import difflib  # on the way to an error only

    known = [*positional, *keywords]
    meant = [name for names in _SAME if unknown in names for name in names if name in known]
    meant = meant or difflib.get_close_matches(unknown, known, 1)
    hint = f"it is called {meant[0]}" if meant else f"it takes {every}"
    return f"{called} has no argument {unknown}: {hint}"


def check_integer(value: object, name: str) -> int:
    """Return an integer of any type, but not a bool."""
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(
            f"{name} must be an integer, not {type(value).__name__} ({value!r})"
        ) from None


def check_count(value: object, name: str, least: int) -> int:
    """Return a count of at least `least`."""
    count = check_integer(value, name)
    if count < least:
        raise ValueError(f"{name} is {count}: it must be at least {least}")
    return count


def check_index(value: object, name: str) -> int:
    """Return the index of a graph or of a draw."""
    index = check_integer(value, name)
    if not 0 <= index < 2**63:
        raise ValueError(f"{name} is {index}: it must be between 0 and 2**63 - 1")
    return index


def check_size(size: int | tuple[int, ...] | None) -> tuple[int, ...]:
    """Return a size, in NumPy's conventions, as a tuple."""
    if size is None:
        return ()
    if isinstance(size, list):
        raise TypeError(f"size is the list {size}: pass a tuple, {tuple(size)}")
    axes = size if isinstance(size, tuple) else (size,)
    shape = tuple(check_integer(axis, "size") for axis in axes)
    if any(axis < 0 for axis in shape):
        raise ValueError(f"size is {size}: the number of draws must not be negative")
    if math.prod(max(axis, 1) for axis in shape) >= 2**48:
        raise ValueError(
            f"size is {size}: too many trees for memory; draw them in parts, using first_draw"
        )
    return shape


def _check_number(value: object, name: str) -> float:
    """Return a real number, but not a bool."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, int | float | np.integer | np.floating
    ):
        raise TypeError(f"{name} must be a number, not {type(value).__name__} ({value!r})")
    return float(value)


def check_order(order: object) -> float:
    """Return the order of a Renyi entropy."""
    number = _check_number(order, "order")
    if not number >= 0:
        raise ValueError(f"order is {order}: a Renyi entropy has an order from 0 to infinity")
    return number


def check_work(max_work: object) -> float:
    """Return a limit on the work of elimination."""
    number = _check_number(max_work, "max_work")
    if not number >= 0:
        raise ValueError(
            f"max_work is {max_work}: it limits the updates of elimination; use 0 or more"
        )
    return number


def check_workers(workers: object) -> int:
    """Return a number of threads."""
    if type(workers) is int and workers == 1:  # the usual case: keep short calls short
        return 1
    number = check_integer(workers, "workers")
    if number < 1:
        raise ValueError(f"workers is {number}: it must be at least 1 thread")
    return min(number, 1024)


def check_choice(value: str, name: str, choices: tuple[str, ...]) -> str:
    """Return the value if it is one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} is {value!r}: use {' or '.join(map(repr, choices))}")
    return value


def list_arcs(arcs: Iterable[tuple[int, int]], name: str) -> list[tuple[int, int]]:
    """Return what should be arcs as a list."""
    if isinstance(arcs, memoryview):  # which cannot be iterated over
        arcs = np.asarray(arcs).tolist()
    try:
        iterator = iter(arcs)
    except TypeError:
        raise TypeError(
            f"{name} must be a list of (head, dependent) pairs, not {arcs!r}; use [] for no arcs"
        ) from None
    return list(iterator)


def check_arcs(arcs: Iterable[tuple[int, int]], name: str, num_words: int) -> list[tuple[int, int]]:
    """Return a list of (head, dependent) pairs, each a possible arc of the graph."""
    checked = []
    for arc in list_arcs(arcs, name):
        try:
            head, dependent = arc
        except (TypeError, ValueError):
            raise TypeError(f"{name} must contain (head, dependent) pairs, not {arc!r}") from None
        head = check_integer(head, f"the head of {arc!r} in {name}")
        dependent = check_integer(dependent, f"the dependent of {arc!r} in {name}")
        if not (0 <= head <= num_words and 1 <= dependent <= num_words) or head == dependent:
            raise ValueError(
                f"{name} contains {arc!r}, which is not an arc of a graph with {num_words} words: "
                f"the head must be 0 (the root) to {num_words}, the dependent 1 to {num_words}, "
                "and they must differ"
            )
        checked.append((head, dependent))
    return checked
