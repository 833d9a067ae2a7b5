"""What an adapter takes and what it yields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray


class Unparsed(NamedTuple):
    """A sentence that is to be scored.

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
        Log-weights ``[head, dependent]``, node 0 is the root.  Anything may be added to a column:
        no tree becomes more probable by it.  The diagonal and column 0 are not read.
    labels : ndarray, shape (n + 1, n + 1, L), or None
        Scores ``[head, dependent, label]``; their softmax is P(label | arc).
    label_names : sequence of str, or None
        The names of the L labels; the same for all sentences.
    heads : sequence of int, or None
        The parser's own tree by these scores, the heads of the words 1 to n, before any repair.  It
        is compared with the best tree of the scores.
    repaired : bool
        Whether the parser then changes its tree by something that the scores do not know.
    """

    arcs: NDArray[Any]
    labels: NDArray[Any] | None = None
    label_names: Sequence[str] | None = None
    heads: Sequence[int] | None = None
    repaired: bool = False


class Adapter(Protocol):
    """The function that an adapter is."""

    def __call__(
        self, sentences: Iterator[Unparsed], model: str | None, **options: str
    ) -> Iterator[Scored]:
        """Score sentences.

        Load the model once, read as many sentences as make a batch, and yield their scores in
        order: then memory does not grow with the corpus.

        Parameters
        ----------
        sentences : iterator of Unparsed
        model : str or None
            What ``--model`` says.
        **options : str
            What ``--option NAME=VALUE`` says.
        """
