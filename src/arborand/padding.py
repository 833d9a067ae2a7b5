"""Put matrices of different sizes into one padded array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arborand.errors import InvalidWeightsError
from arborand.recognition import foreign_object, unknown_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray


def pad(matrices: Iterable[ArrayLike]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Put matrices of different sizes into one array, for a batch.

    Parameters
    ----------
    matrices : iterable of array_like, shape (n + 1, n + 1) each
        Log-weights or weights.

    Returns
    -------
    array : ndarray of float64, shape (number of matrices, m, m)
        m is the size of the largest matrix; smaller ones are padded with -inf.
    lengths : ndarray of int32, shape (number of matrices,)
        The number of words of each matrix, without the root.

    Raises
    ------
    InvalidWeightsError
        If one of them is not a square matrix of at least 2 rows.
    TypeError
        If one of them is not an array of real numbers.

    Examples
    --------
    >>> from arborand import DependencyTrees, pad
    >>> array, lengths = pad([[[0, 1, 2], [0, 0, 3], [0, 4, 0]], [[0, 5], [0, 0]]])
    >>> array.shape, lengths.tolist()
    ((2, 3, 3), [2, 1])
    >>> DependencyTrees(array, lengths=lengths)
    DependencyTrees(batch of shape (2,), 1 to 2 words, 5 arcs)
    """
    if isinstance(matrices, memoryview):  # which cannot be iterated over
        matrices = np.asarray(matrices)
    checked = [_matrix(matrix, i) for i, matrix in enumerate(matrices)]
    sizes = [len(matrix) for matrix in checked]
    most = max(sizes, default=2)
    array = np.full((len(checked), most, most), -np.inf)
    for target, matrix in zip(array, checked, strict=True):
        target[: len(matrix), : len(matrix)] = matrix
    return array, np.array(sizes, dtype=np.int32) - np.int32(1)


def _matrix(values: ArrayLike, index: int) -> NDArray[np.float64]:
    name = f"matrices[{index}]"
    found = foreign_object(values)
    if found is not None:
        raise TypeError(f"{name} {found}")
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, whose mask would be lost: fill it in")
    try:
        matrix = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(
            f"{name} cannot be read as an array ({error}): all rows must have one length"
        ) from error
    # Numbers that NumPy itself does not have can be converted.
    if matrix.dtype.kind not in "biuf" and unknown_numbers(matrix) is None:
        raise TypeError(f"{name} must be real numbers, but their dtype is {matrix.dtype}")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        raise InvalidWeightsError(
            f"{name} has shape {matrix.shape}: expected (n + 1, n + 1) for a graph of n words, n "
            "at least 1"
        )
    return matrix.astype(np.float64)
