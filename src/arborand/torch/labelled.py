"""Labelled trees that torch can train with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Size, Tensor

from arborand.arguments import check_choice, explain_arguments
from arborand.label_formulas import LabelFormulas
from arborand.labelled import check_names
from arborand.randomness import Key
from arborand.torch.arguments import check_lengths, check_tensor
from arborand.torch.conversion import draw_key, key_words, not_compiled, to_array
from arborand.torch.distributions import DependencyTrees, TreeDistribution
from arborand.validation import DEPENDENT_HEAD, HEAD_DEPENDENT, ORIENTATIONS

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
        Which trees: a distribution of ``arborand.torch``.
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
        check_tensor(log_weights, "log_weights")
        check_choice(orientation, "orientation", ORIENTATIONS)
        if not (isinstance(kind, type) and issubclass(kind, TreeDistribution)):
            raise TypeError(f"kind must be a class of arborand.torch, not {kind!r}")
        scores = log_weights.transpose(-2, -3) if orientation == DEPENDENT_HEAD else log_weights
        self._check_shape(scores, "log_weights", None)
        self.labels = check_names(labels, scores.shape[-1])
        words = None if lengths is None else check_lengths(lengths, scores[..., 0])
        self._from_scores(scores, kind, words, workers=workers)

    @classmethod
    def from_trees(
        cls,
        trees: TreeDistribution,
        label_log_weights: Tensor,
        *,
        labels: Sequence[str] | None = None,
    ) -> Self:
        """Give the arcs of a distribution labels: P(label | arc) is the softmax of their scores.

        Examples
        --------
        >>> d = LabelledTrees.from_trees(DependencyTrees(torch.zeros(3, 3)), torch.zeros(3, 3, 2))
        >>> round(d.entropy().exp().item(), 4)
        8.0
        """
        if not isinstance(trees, TreeDistribution):
            raise TypeError(f"trees must be of arborand.torch, not a {type(trees).__name__}")
        check_tensor(label_log_weights, "label_log_weights")
        self = cls.__new__(cls)
        self._from_trees(trees, label_log_weights)
        self.labels = check_names(labels, self.num_labels)
        return self

    # ---- what it draws and finds: heads and labels, tensors of int64

    @not_compiled
    def sample(
        self,
        sample_shape: Sequence[int] = Size(),
        *,
        generator: torch.Generator | None = None,
        method: str | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Draw labelled trees; the heads are those that ``trees.sample`` draws.

        Examples
        --------
        >>> heads, labels = LabelledTrees(torch.zeros(3, 3, 2)).sample((5,))
        >>> heads.shape == labels.shape
        True
        """
        options: dict[str, Any] = {} if method is None else {"method": method}
        heads = self.trees.sample(sample_shape, generator=generator, **options)
        key = Key(key_words(draw_key(generator)))
        labels = self._of_arrays(joint=False)._labels_of(to_array(heads), key)
        return heads, self.trees._integers(labels)

    @not_compiled
    def sample_without_replacement(
        self, k: int, *, generator: torch.Generator | None = None, method: str | None = None
    ) -> tuple[Tensor, Tensor]:
        """Draw k distinct labelled trees; rows of -1 where a graph has fewer."""
        key = Key(key_words(draw_key(generator)))
        drawn = self._of_arrays(joint=False).sample_without_replacement(k, rng=key, method=method)
        return self.trees._integers(drawn.heads), self.trees._integers(drawn.labels)

    @not_compiled
    def best_tree(self) -> tuple[Tensor, Tensor]:
        """Find the best labelled tree."""
        heads, labels = self._of_arrays().best_tree(workers=self.trees.workers)
        return self.trees._integers(heads), self.trees._integers(labels)

    @not_compiled
    def best_trees(self, k: int) -> tuple[Tensor, Tensor]:
        """Find the k best labelled trees, in order; rows of -1 where a graph has fewer."""
        found = self._of_arrays().best_trees(k)
        return self.trees._integers(found.heads), self.trees._integers(found.labels)

    @not_compiled
    def minimum_risk_tree(self) -> tuple[Tensor, Tensor]:
        """Find the labelled tree with the largest expected number of correct labelled arcs."""
        heads, labels = self._of_arrays().minimum_risk_tree(workers=self.trees.workers)
        return self.trees._integers(heads), self.trees._integers(labels)

    # ---- how it is done

    def _of_arrays(self, *, joint: bool = True) -> arborand.LabelledTrees:
        scores = self._joint if joint else None
        return self._on_host(
            to_array(self.trees.log_weights),
            to_array(self.lengths),
            to_array(self._log_chances),
            None if scores is None else to_array(scores),
        )

    @staticmethod
    def _constant(array: Tensor) -> Tensor:
        return array.detach()

    @staticmethod
    def _integers(array: Tensor) -> Tensor:
        return torch.as_tensor(array).to(torch.int64)

    @staticmethod
    def _divergence(trees: TreeDistribution, other: TreeDistribution) -> Tensor:
        return torch.distributions.kl_divergence(trees, other)
