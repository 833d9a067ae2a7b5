"""Labelled trees that torch can train with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import torch
from torch import Size, Tensor

from arborand.arguments import explain_arguments
from arborand.label_formulas import LabelFormulas
from arborand.randomness import Key
from arborand.torch.answers import BestTrees, Draws, to_tensors
from arborand.torch.arguments import check_integers, check_tensor
from arborand.torch.conversion import answer_dtype, draw_key, key_words, not_compiled, to_array
from arborand.torch.distributions import DependencyTrees, TreeDistribution
from arborand.torch.operations import front
from arborand.validation import HEAD_DEPENDENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    import arborand


@explain_arguments
class LabelledTrees(LabelFormulas):
    """The distribution over trees whose arcs have labels, with gradients to all scores.

    Parameters
    ----------
    log_weights : Tensor of floats, shape ``(*batch_shape, m, m, L)``
        ``log_weights[head, dependent, label]``, as for :class:`arborand.LabelledTrees`.
    kind : class
        The kind of tree: a distribution of ``arborand.torch``.
    labels : sequence of str, optional
        The names of the labels.
    lengths, orientation, workers
        As for the distributions without labels.

    Examples
    --------
    >>> scores = torch.zeros(3, 3, 2, requires_grad=True)
    >>> d = LabelledTrees(scores)
    >>> loss = -d.log_prob(torch.tensor([-1, 0, 1]), torch.tensor([-1, 1, 0]))
    >>> round(loss.exp().item(), 4)  # one of two trees and four labellings
    8.0
    >>> loss.backward()
    >>> scores.grad[0, 1].tolist()  # the marginals of 0 -> 1, less what is right
    [0.25, -0.75]
    """

    _xp = torch
    _front = front
    _check_array = staticmethod(check_tensor)
    _check_integers = staticmethod(check_integers)

    def __init__(
        self,
        log_weights: Tensor,
        *,
        kind: type[TreeDistribution] = DependencyTrees,
        labels: Sequence[str] | None = None,
        lengths: Tensor | Sequence[int] | int | None = None,
        orientation: str = HEAD_DEPENDENT,
        workers: int = 1,
    ) -> None:
        if not (isinstance(kind, type) and issubclass(kind, TreeDistribution)):
            raise TypeError(f"kind must be a class of arborand.torch, not {kind!r}")
        scores = _floats(log_weights, "log_weights")
        self._from_scores(scores, kind, labels, lengths, orientation, workers)

    @classmethod
    def from_trees(
        cls,
        trees: TreeDistribution,
        label_log_weights: Tensor,
        *,
        labels: Sequence[str] | None = None,
    ) -> Self:
        """Add labels to the arcs of a distribution: P(label | arc) is the softmax of their scores.

        Examples
        --------
        >>> d = LabelledTrees.from_trees(DependencyTrees(torch.zeros(3, 3)), torch.zeros(3, 3, 2))
        >>> round(d.entropy().exp().item(), 4)
        8.0
        """
        if not isinstance(trees, TreeDistribution):
            raise TypeError(
                f"trees must be a distribution of arborand.torch, not {type(trees).__name__}"
            )
        scores = _floats(label_log_weights, "label_log_weights")
        return cls.__new__(cls)._from_trees(trees, scores, labels)

    # ---- draws and best trees

    @not_compiled
    def sample(
        self,
        sample_shape: Sequence[int] = Size(),
        *,
        generator: torch.Generator | None = None,
        method: str | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Draw labelled trees: heads, drawn by ``trees.sample``, and labels.

        Examples
        --------
        >>> heads, labels = LabelledTrees(torch.zeros(3, 3, 2)).sample((5,))
        >>> heads.shape == labels.shape
        True
        """
        heads = self.trees.sample(sample_shape, generator=generator, method=method)
        key = Key(key_words(draw_key(generator)))
        return heads, self.trees._integers(self._of_arrays()._labels_of(to_array(heads), key))

    @not_compiled
    def sample_without_replacement(
        self, k: int, *, generator: torch.Generator | None = None, method: str | None = None
    ) -> Draws:
        """Draw k distinct labelled trees, or all if there are fewer.

        Examples
        --------
        >>> draws = LabelledTrees(torch.zeros(3, 3, 2)).sample_without_replacement(9)
        >>> draws.labels.shape, draws.log_prob.exp().sum().round(decimals=4).item()
        (torch.Size([8, 3]), 1.0)
        """
        key = Key(key_words(draw_key(generator)))
        drawn = self._of_arrays().sample_without_replacement(k, rng=key, method=method)
        return to_tensors(drawn, Draws, self.trees.log_weights)

    @not_compiled
    def best_trees(self, k: int) -> BestTrees:
        """Find the k best labelled trees, in order, or all if there are fewer.

        Examples
        --------
        >>> LabelledTrees(torch.zeros(3, 3, 2)).best_trees(2).labels.tolist()
        [[-1, 0, 0], [-1, 0, 1]]
        """
        return to_tensors(self._of_arrays().best_trees(k), BestTrees, self.trees.log_weights)

    # ---- implementation

    @not_compiled
    def _find(self, name: str) -> tuple[Tensor, Tensor]:
        heads, labels = getattr(self._of_arrays(), name)(workers=self.trees.workers)
        return self.trees._integers(heads), self.trees._integers(labels)

    def _of_arrays(self) -> arborand.LabelledTrees:
        return self._on_host(*map(to_array, self._given))

    def _range(self, stop: int) -> Tensor:
        return torch.arange(stop, device=self._log_chances.device)

    def _log_prob_of_trees(self, heads: Tensor) -> Tensor:
        log_prob: Tensor = self.trees._log_prob(heads, "heads")
        return log_prob

    def _divergence(self, other: Self) -> Tensor:
        return torch.distributions.kl_divergence(self.trees, other.trees)


def _floats(scores: Tensor, name: str) -> Tensor:
    """Check the scores of labels, and convert them to the precision of answers."""
    check_tensor(scores, name)
    return scores.to(answer_dtype(scores.dtype))
