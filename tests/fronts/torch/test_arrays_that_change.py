"""Tensors of the caller that change after they were checked."""

import numpy as np
import pytest
import torch

from arborand.torch import DependencyTrees

X = torch.randn(2, 4, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("make", [torch.tensor, np.array], ids=["tensor", "array"])
def test_lengths_are_those_that_were_checked(make):
    lengths = make([3, 2])
    trees = DependencyTrees(X, lengths=lengths)
    expected = trees.log_partition()
    lengths[1] = 99
    assert trees.lengths.tolist() == [3, 2]
    assert torch.equal(trees.log_partition(), expected)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_gradients_read_the_heads_that_were_checked(dtype):
    heads = torch.tensor([[-1, 2, 0, 2], [-1, 0, 1, 1]], dtype=dtype)

    def gradient(change):
        scores = X.clone().requires_grad_()
        given = heads.clone()
        answer = DependencyTrees(scores).log_prob(given)
        change(given.numpy())  # behind torch's back
        answer.sum().backward()
        return scores.grad

    expected = gradient(lambda array: None)
    assert torch.equal(gradient(lambda array: array.fill(77)), expected)


def test_answers_that_are_too_large_are_refused():
    trees = DependencyTrees(torch.zeros(41, 41))
    with pytest.raises(ValueError, match=r"^k is 4294967296: .* with iterate_best_trees\(\)$"):
        trees.best_trees(2**32)
    with pytest.raises(ValueError, match=r"^k is .* with iterate_without_replacement\(\)$"):
        trees.sample_without_replacement(2**32)
