"""What an adapter takes and what it yields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray


class Unparsed(NamedTuple):
    """A sentence to be scored.

    Attributes
    ----------
    sent_id : str
    words : list of str
        Without multiword tokens and empty nodes.
    conllu : str
        Its block of the CoNLL-U file: comments and ten columns, multiword tokens and empty nodes
        included, with an empty line at the end.
    """

    sent_id: str
    words: list[str]
    conllu: str


class Scored(NamedTuple):
    """What a parser says about a sentence of n words.

    Attributes
    ----------
    arcs : ndarray, shape (n + 1, n + 1)
        Log-weights ``[head, dependent]``; node 0 is the root.  Adding a constant to a column
        changes no tree's probability.  -inf rules an arc out; NaN and +inf are refused.  The
        diagonal and column 0 are not read.
    labels : ndarray, shape (n + 1, n + 1, L), or None
        Scores ``[head, dependent, label]``; their softmax is P(label | arc).
    label_names : sequence of str, or None
        The names of the L labels; the same for all sentences.
    heads : sequence of int, or None
        The tree that the parser itself decodes from these scores, before any repair: the heads of
        words 1 to n.  It is compared with the best tree of the scores.
    repaired : bool
        Whether the parser then changes its tree by rules that are not part of the scores.
    """

    arcs: NDArray[Any]
    labels: NDArray[Any] | None = None
    label_names: Sequence[str] | None = None
    heads: Sequence[int] | None = None
    repaired: bool = False


class Adapter(Protocol):
    """The function that an adapter provides."""

    def __call__(
        self, sentences: Iterator[Unparsed], model: str | None, **options: str
    ) -> Iterator[Scored]:
        """Score sentences.

        Load the model once, read one batch of sentences at a time, and yield their scores in order,
        so that memory does not grow with the corpus.

        Parameters
        ----------
        sentences : iterator of Unparsed
        model : str or None
            The value of ``--model``.
        **options : str
            The values of ``--option NAME=VALUE``.
        """
