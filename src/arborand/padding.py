"""Matrices of several sizes as one array: a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arborand.errors import InvalidWeightsError
from arborand.recognition import foreign_object

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
        m is the size of the largest; what is left of a smaller one's place is -inf.
    lengths : ndarray of int32, shape (number of matrices,)
        The number of words of each, without the root.

    Raises
    ------
    InvalidWeightsError
        If one of them is not a square matrix of at least 2 rows.

    Examples
    --------
    >>> from arborand import DependencyTrees, pad
    >>> array, lengths = pad([[[0, 1, 2], [0, 0, 3], [0, 4, 0]], [[0, 5], [0, 0]]])
    >>> array.shape, lengths.tolist()
    ((2, 3, 3), [2, 1])
    >>> DependencyTrees(array, lengths=lengths)
    DependencyTrees(batch of shape (2,), 1 to 2 words, 5 arcs)
    """
    checked = [_matrix(matrix, i) for i, matrix in enumerate(matrices)]
    sizes = [len(matrix) for matrix in checked]
    most = max(sizes, default=2)
    array = np.full((len(checked), most, most), -np.inf)
    for target, matrix in zip(array, checked, strict=True):
        target[: len(matrix), : len(matrix)] = matrix
    return array, np.array(sizes, dtype=np.int32) - np.int32(1)


def _matrix(values: ArrayLike, index: int) -> NDArray[np.float64]:
    found = foreign_object(values)
    if found is not None:
        raise TypeError(f"matrices[{index}] {found}")
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        raise InvalidWeightsError(
            f"matrices[{index}] has shape {matrix.shape}: expected (n + 1, n + 1) for a graph of n "
            "words, n at least 1"
        )
    return matrix
