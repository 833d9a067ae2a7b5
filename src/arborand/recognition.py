"""Recognise what people pass by mistake, by its type or shape, and say what to pass instead.

Objects of other libraries are recognised by name; no library is imported.  Most functions return
the end of a sentence that begins with the name of an argument, or None.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


# The types that lists of numbers consist of.
_READABLE = (float, int, list, tuple, np.ndarray)


def foreign_object(value: object) -> str | None:
    """Recognise an object that NumPy cannot read as numbers, or reads as something else."""
    if isinstance(value, str | bytes | os.PathLike):
        return (
            f"is {value!r}, which is a name and not an array: read the file first, for instance "
            "with numpy.load, or use the arborand command, which reads files"
        )
    if isinstance(value, list | tuple) and len(value):
        found = None if type(value[0]) in _READABLE else foreign_object(value[0])
        return None if found is None else f"is a {type(value).__name__} whose first element {found}"
    families = _families(value)
    if "numpy.NpzFile" in families:
        return (
            "is an open .npz file: pass one of its arrays, file['name']; to read the scores of "
            "sentences of different lengths, use arborand.formats.read_scores"
        )
    if hasattr(value, "read") and hasattr(value, "close"):
        return "is an open file: read it first, for instance with numpy.load"
    if hasattr(value, "__next__"):
        return (
            f"is an iterator ({type(value).__name__}): pass list(iterator), or arborand.pad("
            "iterator) if the matrices have different sizes"
        )
    if "networkx.Graph" in families:
        return (
            "is a NetworkX graph: use SparseSpanningTrees.from_networkx, or "
            "SpanningTrees.from_weights(networkx.to_numpy_array(graph)), in which node 0 is the "
            "root"
        )
    if "scipy" in families and hasattr(value, "tocoo"):
        return (
            "is a SciPy sparse matrix: use SparseSpanningTrees.from_scipy, or "
            "SpanningTrees.from_weights(matrix.toarray()), in which node 0 is the root"
        )
    if "jax.Tracer" in families:
        return (
            "is a JAX tracer, which has no numbers while a function is compiled or "
            "differentiated: use the class of the same name in arborand.jax"
        )
    return _unreadable_tensor(value) if "torch.Tensor" in families else None


def _families(value: object) -> set[str]:
    """List the classes of an object as package.Name, and the packages."""
    kinds = [(kind.__module__.partition(".")[0], kind.__name__) for kind in type(value).__mro__]
    return {f"{package}.{name}" for package, name in kinds} | {package for package, _ in kinds}


def _unreadable_tensor(tensor: Any) -> str | None:
    if tensor.requires_grad:
        return (
            "is a torch tensor that requires grad, but no gradient flows through NumPy: use the "
            "class of the same name in arborand.torch, or pass tensor.detach()"
        )
    if str(tensor.dtype) == "torch.bfloat16":
        return "is a torch tensor of bfloat16, which NumPy does not support: pass tensor.float()"
    if str(tensor.layout) != "torch.strided":
        return "is a sparse torch tensor: pass tensor.to_dense()"
    if tensor.device.type != "cpu":
        return f"is a torch tensor on the device {tensor.device}: pass tensor.cpu()"
    return None


def unknown_numbers(array: NDArray[Any]) -> str | None:
    """Recognise numbers of a type that NumPy itself lacks."""
    if array.dtype.name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        return (
            f"has the dtype {array.dtype.name}, which NumPy does not compute with: pass "
            "array.astype(numpy.float32)"
        )
    return None


def unequal_matrices(value: object) -> str | None:
    """Recognise a list of square matrices of different sizes."""
    if not isinstance(value, list | tuple):
        return None
    try:
        shapes = {np.shape(matrix) for matrix in value}
    except ValueError:  # an element is ragged itself
        return None
    if len(shapes) > 1 and all(len(shape) == 2 and shape[0] == shape[1] for shape in shapes):
        return (
            f"holds {len(value)} matrices of different sizes: pad them with "
            "array, lengths = arborand.pad(matrices), and pass lengths=lengths too"
        )
    return None


def edge_list(array: NDArray[Any]) -> bool:
    """Return whether an array could be a list of edges (node, node, weight)."""
    if array.ndim != 2 or array.shape[1] not in (2, 3) or len(array) == 0:
        return False
    ends, weights = array[:, :2], array[:, 2:]
    return bool(
        (ends >= 0).all()
        and (ends < 2**31).all()
        and (ends == np.floor(ends)).all()
        and (ends[:, 0] != ends[:, 1]).all()
        # A square array may be a matrix of scores; it counts only if its weights are not integers.
        and (array.shape[0] != array.shape[1] or (weights != np.floor(weights)).any())
    )


def strange_shape(array: NDArray[Any], *, are_logarithms: bool) -> str | None:
    """Recognise arrays that are not square."""
    shape = array.shape
    if len(shape) >= 3 and shape[-3] == shape[-2] != shape[-1]:
        over = "scipy.special.logsumexp(array, axis=-1)" if are_logarithms else "array.sum(-1)"
        return (
            f"has shape {shape}: its last axis seems to hold labels; sum over them first, with "
            f"{over}"
        )
    if edge_list(array):
        return (
            f"has shape {shape} and seems to be a list of edges (node, node, weight): use "
            "SparseSpanningTrees.from_edges, or write the weights into a matrix, "
            "weights[head, dependent]"
        )
    return None


def foreign_generator(value: object) -> str | None:
    """Recognise the random generators of other libraries."""
    families = _families(value)
    if "torch.Generator" in families:
        return "is a torch.Generator: pass an integer, for instance generator.initial_seed()"
    if "numpy.RandomState" in families or "numpy.BitGenerator" in families:
        return (
            f"is a numpy.random.{type(value).__name__}: pass numpy.random.default_rng(seed), "
            "or the seed itself"
        )
    if "random.Random" in families:
        return "is a random.Random: pass an integer, for instance generator.getrandbits(64)"
    if "jax" in families or "jaxlib" in families:
        return "is a JAX key: pass an integer, for instance one drawn with jax.random.bits"
    return None
